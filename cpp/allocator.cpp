// SPDX-License-Identifier: Apache-2.0
// The allocator as the master sees it. It stands around the master's own, which gets every call as it comes and does all
// the sharing; what the core decides is only which part of an offer is withheld. The master's calls return at once;
// offers come on the inner allocator's thread.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <mesos/allocator/allocator.hpp>

#include "forwarding_allocator.hpp"
#include "inner_allocator.hpp"
#include "messages.hpp"
#include "mesos_gpu/bytes.hpp"
#include "mesos_gpu/failures.hpp"
#include "mesos_gpu/fence.hpp"
#include "mesos_gpu/layout.hpp"
#include "offers.hpp"
#include "removals.hpp"
#include "revivals.hpp"
#include "without_gpu_filter.hpp"
#include "mesos-gpu/src/bridge/ffi.rs.h"

using std::string;
using std::vector;

using mesos::Filters;
using mesos::FrameworkID;
using mesos::FrameworkInfo;
using mesos::Resource;
using mesos::Resources;
using mesos::SlaveID;
using mesos::SlaveInfo;
using mesos::allocator::FrameworkOptions;

namespace mesos_gpu {

namespace {

class Allocator final : public ForwardingAllocator
{
public:
  Allocator(rust::Box<AllocatorCore> core, std::unique_ptr<mesos::allocator::Allocator> inner)
    : ForwardingAllocator(std::move(inner)), core(std::move(core))
  {
    const auto later = [this](const FrameworkID& id, const Roles& revived, const Roles& suppressed) {
      revive(id, revived);
      if (!suppressed.empty()) {
        suppress(id, suppressed);
      }
    };
    revivals.reset(new Revivals(later));
  }

  // Whoever asks the core or the inner allocator goes first, and then that with the thread that asks the core.
  ~Allocator() override
  {
    revivals.reset();
    inner.reset();
  }

  void initialize(const mesos::allocator::Options& options,
                  const OfferCallback& offer,
                  const InverseOfferCallback& inverseOffer) override
  {
    failures.caught("allocator.initialized",
                    [&] { core->initialized(options.allocationInterval.ns(), options.filterGpuResources); });
    const OfferCallback filtered = [this, offer](const FrameworkID& framework, const Offered& offered) {
      pass(offer, framework, offered);
    };
    bool innerFilters = true;
    failures.caught("allocator.inner_filters", [&] { innerFilters = core->inner_filters(); });
    if (innerFilters) {
      inner->initialize(options, filtered, inverseOffer);
    } else {
      const WithoutGpuFilter cleared(options);
      inner->initialize(options, filtered, inverseOffer);
    }
  }

  void recover(const int agents, const hashmap<string, mesos::Quota>& quotas) override
  {
    for (const auto& quota : quotas) {
      failures.caught("allocator.quota_changed", [&] { core->quota_changed(quota.first); });
    }
    inner->recover(agents, quotas);
  }

  // What comes is told to the core before an offer of it can, what goes after the last.
  void addFramework(const FrameworkID& id,
                    const FrameworkInfo& info,
                    const hashmap<SlaveID, Resources>& used,
                    bool active,
                    FrameworkOptions&& options) override
  {
    failures.caught("allocator.framework_added", [&] {
      const auto suppressed = textsOf(options.suppressedRoles);
      core->framework_added(id.value(), sliceOf(bytesOf(info)), suppressed, active, sharesOf(used));
    });
    inner->addFramework(id, info, used, active, std::move(options));
  }

  void removeFramework(const FrameworkID& id) override
  {
    revivals->forget(id.value());
    inner->removeFramework(id);
    failures.caught("allocator.framework_removed", [&] { core->framework_removed(id.value()); });
  }

  void activateFramework(const FrameworkID& id) override
  {
    failures.caught("allocator.framework_active", [&] { core->framework_active(id.value(), true); });
    inner->activateFramework(id);
  }

  // What it was refused ends with this in any case.
  void deactivateFramework(const FrameworkID& id) override
  {
    revivals->flush(id.value());
    inner->deactivateFramework(id);
    failures.caught("allocator.framework_active", [&] { core->framework_active(id.value(), false); });
  }

  void updateFramework(const FrameworkID& id, const FrameworkInfo& info, FrameworkOptions&& options) override
  {
    revivals->flush(id.value());
    failures.caught("allocator.framework_updated", [&] {
      const auto suppressed = textsOf(options.suppressedRoles);
      core->framework_updated(id.value(), sliceOf(bytesOf(info)), suppressed);
    });
    inner->updateFramework(id, info, std::move(options));
  }

  void addSlave(const SlaveID& id,
                const SlaveInfo& info,
                const vector<mesos::SlaveInfo_Capability>& capabilities,
                const Option<mesos::Unavailability>& unavailability,
                const Resources& total,
                const hashmap<FrameworkID, Resources>& used) override
  {
    failures.caught("allocator.agent_added", [&] {
      const auto resources = allBytesOf<Resource>(total);
      core->agent_added(id.value(), sliceOf(bytesOf(info)), resources, sharesOf(used));
    });
    inner->addSlave(id, info, capabilities, unavailability, total, used);
  }

  void removeSlave(const SlaveID& id) override
  {
    removals.remove(*inner, id.value(), id);
    failures.caught("allocator.agent_removed", [&] { core->agent_removed(id.value()); });
  }

  void updateSlave(const SlaveID& id,
                   const SlaveInfo& info,
                   const Option<Resources>& total,
                   const Option<vector<mesos::SlaveInfo_Capability>>& capabilities) override
  {
    if (total.isSome()) {
      failures.caught("allocator.agent_updated",
                      [&] { core->agent_updated(id.value(), allBytesOf<Resource>(total.get())); });
    }
    inner->updateSlave(id, info, total, capabilities);
  }

  void addResourceProvider(const SlaveID& id,
                           const Resources& total,
                           const hashmap<FrameworkID, Resources>& used) override
  {
    failures.caught("allocator.provider_added",
                    [&] { core->provider_added(id.value(), allBytesOf<Resource>(total), sharesOf(used)); });
    inner->addResourceProvider(id, total, used);
  }

  void transitionOfferedToAllocated(const SlaveID& id, const Resources& resources) override
  {
    failures.caught("allocator.used", [&] {
      if (core->watches(id.value(), true)) {
        core->used(id.value(), Row::of<Resource>(resources).messages(), true);
      }
    });
    inner->transitionOfferedToAllocated(id, resources);
  }

  void recoverResources(const FrameworkID& framework,
                        const SlaveID& id,
                        const Resources& resources,
                        const Option<Filters>& filters,
                        bool isAllocated) override
  {
    failures.caught("allocator.recovered", [&] {
      const string& agent = id.value();
      if (!core->watches(agent, isAllocated)) {
        return;
      }
      const Row all = Row::of<Resource>(resources);
      if (isAllocated) {
        core->used(agent, all.messages(), false);
      }
      const string& owner = framework.value();
      const bool refused = filters.isSome();
      const string refusal = refused ? bytesOf(filters.get()) : "";
      if (core->returned(owner, agent, refused, sliceOf(refusal))) {
        core->recovered(owner, agent, all.messages(), refused, sliceOf(refusal));
      }
    });
    inner->recoverResources(framework, id, resources, filters, isAllocated);
  }

  void suppressOffers(const FrameworkID& id, const Roles& roles) override
  {
    revivals->suppress(id.value(), roles);
    suppress(id, roles);
  }

  void reviveOffers(const FrameworkID& id, const Roles& roles) override
  {
    const string& owner = id.value();
    bool waits = revivals->joins(owner, roles);
    failures.caught("allocator.revival_waits", [&] {
      const double seconds = waits ? 0 : core->revival_waits(owner);
      if (seconds > 0) {
        revivals->keep(owner, id, roles, seconds);
        waits = true;
      }
    });
    if (!waits) {
      revive(id, roles);
    }
  }

  void updateQuota(const string& role, const mesos::Quota& quota) override
  {
    failures.caught("allocator.quota_changed", [&] { core->quota_changed(role); });
    inner->updateQuota(role, quota);
  }

private:
  void suppress(const FrameworkID& id, const Roles& roles)
  {
    failures.caught("allocator.suppressed", [&] { core->suppressed(id.value(), textsOf(roles)); });
    inner->suppressOffers(id, roles);
  }

  void revive(const FrameworkID& id, const Roles& roles)
  {
    failures.caught("allocator.revived", [&] { core->revived(id.value(), textsOf(roles)); });
    inner->reviveOffers(id, roles);
  }

  // On the inner allocator's thread. What is withheld is booked as offered there, so it is given back, once. A failure
  // withholds nothing: the framework may then use GPUs that it should not, but no machine lies idle and nothing is lost.
  void pass(const OfferCallback& offer, const FrameworkID& framework, const Offered& lent)
  {
    // A variable of the inner allocator's, made for this call and not looked at after it. To copy what is offered of
    // thousands of agents, to take something of a tenth of them, would be a large part of what sharing costs.
    auto& offered = const_cast<Offered&>(lent);
    if (!failures.caught("allocator.offer", [&] { decide(*core, framework, offered, rows); })) {
      rows.withheld.clear();
    }
    const bool whole = rows.withheld.empty();
    for (const Withheld& one : rows.withheld) {
      removals.unlessRemoved(one.id().value(),
                             [&] { inner->recoverResources(framework, one.id(), one.resources, one.filters, false); });
      one.takeOutOf(offered);
    }
    rows.withheld.clear();
    if (whole || !offered.empty()) {
      offer(framework, offered);
    }
  }

  rust::Box<AllocatorCore> core;
  // Of the inner allocator's thread.
  Rows rows;
  Removals removals;
  std::unique_ptr<Revivals> revivals;
  Failures failures;
};

} // namespace

} // namespace mesos_gpu

extern "C" mesos::allocator::Allocator* mesos_gpu_create_allocator(const mesos::Parameters& parameters)
{
  using namespace mesos_gpu;
  return fencedCreate("allocator.create", [&]() -> mesos::allocator::Allocator* {
    requireLayout();
    rust::Box<AllocatorCore> core = create_allocator(sliceOf(bytesOf(parameters)));
    auto inner = makeInnerAllocator(string(core->role_sorter()), string(core->framework_sorter()));
    return new Allocator(std::move(core), std::move(inner));
  });
}
