// SPDX-License-Identifier: Apache-2.0
// The messages between the containerizer and its isolators.
#pragma once

#include <mesos/mesos.hpp>

namespace mesos {
namespace slave {

MESOS_MESSAGE(ContainerConfig, 224);
MESOS_MESSAGE(ContainerLaunchInfo, 280);
MESOS_MESSAGE(ContainerLimitation, 64);
MESOS_MESSAGE(ContainerState, 88);

} // namespace slave
} // namespace mesos
