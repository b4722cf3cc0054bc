// SPDX-License-Identifier: Apache-2.0
// Which agents the master has removed and the inner allocator, whose calls queue up, may not have yet. What was allocated
// there goes away with the agent. Giving it back as well would be taken for the agent that came back under the same
// id, which does not hold it, and Mesos ends the master for that.
#pragma once

#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <mesos/allocator/allocator.hpp>

#include <process/future.hpp>

namespace mesos_gpu {

class Removals
{
  using Passed = decltype(std::declval<mesos::allocator::Allocator>().getInverseOfferStatuses());

public:
  // Queues the removal, and after it a question whose answer tells that the removal is through.
  void remove(mesos::allocator::Allocator& inner, const std::string& agent, const mesos::SlaveID& id)
  {
    std::lock_guard<std::mutex> guard(mutex);
    for (auto one = pending.begin(); one != pending.end();) {
      one = one->second.isPending() ? std::next(one) : pending.erase(one);
    }
    inner.removeSlave(id);
    pending.erase(agent);
    pending.emplace(agent, inner.getInverseOfferStatuses());
  }

  // Calls `giveBack`, unless the agent that it is for is on its way out. On the inner allocator's own thread, so that
  // a removal that is through was so before the allocation that is being given back.
  template <typename F>
  void unlessRemoved(const std::string& agent, F giveBack)
  {
    std::lock_guard<std::mutex> guard(mutex);
    const auto found = pending.find(agent);
    if (found == pending.end() || !found->second.isPending()) {
      giveBack();
    }
  }

private:
  std::mutex mutex;
  std::map<std::string, Passed> pending;
};

} // namespace mesos_gpu
