// SPDX-License-Identifier: Apache-2.0
// The record of a resource estimator module.
#pragma once

#include <mesos/mesos.hpp>
#include <mesos/module.hpp>
#include <mesos/slave/resource_estimator.hpp>

namespace mesos {
namespace modules {

template <>
struct Module<mesos::slave::ResourceEstimator> : ModuleBase
{
  mesos::slave::ResourceEstimator* (*create)(const Parameters& parameters);
};

} // namespace modules
} // namespace mesos
