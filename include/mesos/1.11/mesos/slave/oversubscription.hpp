// SPDX-License-Identifier: Apache-2.0
// What a QoS controller wants of the agent: an executor that it is to kill.
#pragma once

#include <mesos/message.hpp>

namespace mesos {
namespace slave {

MESOS_MESSAGE(QoSCorrection, 40);

} // namespace slave
} // namespace mesos
