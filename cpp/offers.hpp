// SPDX-License-Identifier: Apache-2.0
// What the core withholds from an offer, taken out of it. Nothing is given back here and nothing is passed on, so an
// exception on the way leaves all as it was.
#pragma once

#include <list>
#include <string>

#include <mesos/allocator/allocator.hpp>

#include "forwarding_allocator.hpp"
#include "messages.hpp"
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
  // Whether it is everything, so that nothing of the agent remains.
  bool all;
};

struct Split
{
  // In the order in which the offer was walked.
  std::list<Withheld> withheld;
  // What remains, without agents and roles of which nothing does. Only where something is withheld.
  Offered kept;
};

// What one offer after the other is written to.
struct Rows
{
  Row agents;
  Row resources;
};

Split split(const AllocatorCore& core, const mesos::FrameworkID& framework, const Offered& offered, Rows& rows);

} // namespace mesos_gpu
