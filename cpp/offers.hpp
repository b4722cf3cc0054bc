// SPDX-License-Identifier: Apache-2.0
// What the core withholds from an offer, taken out of it. Nothing is given back here and nothing is passed on, so an
// exception on the way leaves all as it was.
#pragma once

#include <list>
#include <string>

#include <mesos/allocator/allocator.hpp>

#include "forwarding_allocator.hpp"
#include "mesos-gpu/src/bridge/ffi.rs.h"

namespace mesos_gpu {

// What one agent offers to one role of the framework, and is not to.
struct Withheld
{
  std::string agent; // The bytes of its id.
  mesos::SlaveID id;
  mesos::Resources resources;
  // For how long the framework is not offered it again.
  Option<mesos::Filters> filters;
};

struct Split
{
  // In the order in which the offer was walked.
  std::list<Withheld> withheld;
  // What remains, without agents and roles of which nothing does. Only where something is withheld.
  Offered kept;
};

Split split(const AllocatorCore& core, const mesos::FrameworkID& framework, const Offered& offered);

} // namespace mesos_gpu
