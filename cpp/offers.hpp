// SPDX-License-Identifier: Apache-2.0
// What the core withholds of an offer. Nothing is given back here, nothing is passed on and nothing is taken out of the
// offer, so an exception on the way leaves all as it was.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <mesos/allocator/allocator.hpp>

#include "forwarding_allocator.hpp"
#include "messages.hpp"
#include "mesos-gpu/src/bridge/ffi.rs.h"

namespace mesos_gpu {

// What one agent offers to one role of the framework, and is not to.
class Withheld
{
public:
  using Role = Offered::iterator;
  using Agent = Offered::mapped_type::iterator;

  Withheld(Role role, Agent agent, const mesos::Resources& resources, Option<mesos::Filters> filters, bool all)
    : resources(resources), filters(filters), role(role), agent(agent), all(all)
  {}

  const mesos::SlaveID& id() const { return agent->first; }

  // Takes it out of the offer, and with it the agent and the role of which nothing remains. Once, and in the order in which
  // the offer was walked.
  void takeOutOf(Offered& offered) const;

  const mesos::Resources resources;
  // For how long the framework is not offered it again.
  const Option<mesos::Filters> filters;

private:
  Role role;
  Agent agent;
  // Whether it is everything, so that nothing of the agent remains.
  bool all;
};

// What one offer after the other is written to. All of it keeps its room: a large piece of memory that is asked for in
// each offer makes the C library put the allocator's small ones in order each time.
struct Rows
{
  Row agents;
  Row resources;
  std::vector<Withheld> withheld;
  // What was taken last, and of what: agents of one kind are offered to one role one after the other.
  std::string before;
  rust::Vec<Part> parts;
  std::unique_ptr<mesos::Resources> taken;
};

// Fills the row of what is withheld, in the order in which the offer was walked.
void decide(const AllocatorCore& core, const mesos::FrameworkID& framework, Offered& offered, Rows& rows);

} // namespace mesos_gpu
