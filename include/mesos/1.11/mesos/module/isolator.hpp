// SPDX-License-Identifier: Apache-2.0
// The record of an isolator module.
#pragma once

#include <mesos/mesos.hpp>
#include <mesos/module.hpp>
#include <mesos/slave/isolator.hpp>

namespace mesos {
namespace modules {

template <>
struct Module<mesos::slave::Isolator> : ModuleBase
{
  mesos::slave::Isolator* (*create)(const Parameters& parameters);
};

} // namespace modules
} // namespace mesos
