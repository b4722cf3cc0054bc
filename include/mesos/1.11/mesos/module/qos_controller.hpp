// SPDX-License-Identifier: Apache-2.0
// The record of a QoS controller module.
#pragma once

#include <mesos/mesos.hpp>
#include <mesos/module.hpp>
#include <mesos/slave/qos_controller.hpp>

namespace mesos {
namespace modules {

template <>
struct Module<mesos::slave::QoSController> : ModuleBase
{
  mesos::slave::QoSController* (*create)(const Parameters& parameters);
};

} // namespace modules
} // namespace mesos
