// SPDX-License-Identifier: Apache-2.0
// The record of an allocator module.
#pragma once

#include <mesos/allocator/allocator.hpp>
#include <mesos/mesos.hpp>
#include <mesos/module.hpp>

namespace mesos {
namespace modules {

template <>
struct Module<mesos::allocator::Allocator> : ModuleBase
{
  mesos::allocator::Allocator* (*create)(const Parameters& parameters);
};

} // namespace modules
} // namespace mesos
