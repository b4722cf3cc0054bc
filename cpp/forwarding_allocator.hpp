// SPDX-License-Identifier: Apache-2.0
// An allocator that hands each call on to another one. What stands around it changes a few of these.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <mesos/allocator/allocator.hpp>

namespace mesos_gpu {

// What is offered to one framework, by role and agent.
using Offered = hashmap<std::string, hashmap<mesos::SlaveID, mesos::Resources>>;
using OfferCallback = std::function<void(const mesos::FrameworkID&, const Offered&)>;
using InverseOfferCallback =
    std::function<void(const mesos::FrameworkID&, const hashmap<mesos::SlaveID, mesos::UnavailableResources>&)>;

class ForwardingAllocator : public mesos::allocator::Allocator
{
protected:
  using FrameworkID = mesos::FrameworkID;
  using FrameworkInfo = mesos::FrameworkInfo;
  using FrameworkOptions = mesos::allocator::FrameworkOptions;
  using InverseOfferStatus = mesos::allocator::InverseOfferStatus;
  using Resources = mesos::Resources;
  using Roles = std::set<std::string>;
  using SlaveID = mesos::SlaveID;
  using SlaveInfo = mesos::SlaveInfo;

public:
  explicit ForwardingAllocator(std::unique_ptr<mesos::allocator::Allocator> inner) : inner(std::move(inner)) {}

  void initialize(const mesos::allocator::Options& options,
                  const OfferCallback& offer,
                  const InverseOfferCallback& inverseOffer) override
  {
    inner->initialize(options, offer, inverseOffer);
  }

  void recover(const int agents, const hashmap<std::string, mesos::Quota>& quotas) override
  {
    inner->recover(agents, quotas);
  }

  void addFramework(const FrameworkID& id,
                    const FrameworkInfo& info,
                    const hashmap<SlaveID, Resources>& used,
                    bool active,
                    FrameworkOptions&& options) override
  {
    inner->addFramework(id, info, used, active, std::move(options));
  }

  void removeFramework(const FrameworkID& id) override { inner->removeFramework(id); }
  void activateFramework(const FrameworkID& id) override { inner->activateFramework(id); }
  void deactivateFramework(const FrameworkID& id) override { inner->deactivateFramework(id); }

  void updateFramework(const FrameworkID& id, const FrameworkInfo& info, FrameworkOptions&& options) override
  {
    inner->updateFramework(id, info, std::move(options));
  }

  void addSlave(const SlaveID& id,
                const SlaveInfo& info,
                const std::vector<mesos::SlaveInfo_Capability>& capabilities,
                const Option<mesos::Unavailability>& unavailability,
                const Resources& total,
                const hashmap<FrameworkID, Resources>& used) override
  {
    inner->addSlave(id, info, capabilities, unavailability, total, used);
  }

  void removeSlave(const SlaveID& id) override { inner->removeSlave(id); }

  void updateSlave(const SlaveID& id,
                   const SlaveInfo& info,
                   const Option<Resources>& total,
                   const Option<std::vector<mesos::SlaveInfo_Capability>>& capabilities) override
  {
    inner->updateSlave(id, info, total, capabilities);
  }

  void addResourceProvider(const SlaveID& id,
                           const Resources& total,
                           const hashmap<FrameworkID, Resources>& used) override
  {
    inner->addResourceProvider(id, total, used);
  }

  void activateSlave(const SlaveID& id) override { inner->activateSlave(id); }
  void deactivateSlave(const SlaveID& id) override { inner->deactivateSlave(id); }
  void updateWhitelist(const Option<hashset<std::string>>& hosts) override { inner->updateWhitelist(hosts); }

  void requestResources(const FrameworkID& id, const std::vector<mesos::Request>& requests) override
  {
    inner->requestResources(id, requests);
  }

  void updateAllocation(const FrameworkID& framework,
                        const SlaveID& agent,
                        const Resources& offered,
                        const std::vector<mesos::ResourceConversion>& conversions) override
  {
    inner->updateAllocation(framework, agent, offered, conversions);
  }

  process::Future<Nothing> updateAvailable(const SlaveID& id,
                                           const std::vector<mesos::Offer_Operation>& operations) override
  {
    return inner->updateAvailable(id, operations);
  }

  void updateUnavailability(const SlaveID& id, const Option<mesos::Unavailability>& unavailability) override
  {
    inner->updateUnavailability(id, unavailability);
  }

  void updateInverseOffer(const SlaveID& agent,
                          const FrameworkID& framework,
                          const Option<mesos::UnavailableResources>& resources,
                          const Option<InverseOfferStatus>& status,
                          const Option<mesos::Filters>& filters) override
  {
    inner->updateInverseOffer(agent, framework, resources, status, filters);
  }

  process::Future<hashmap<SlaveID, hashmap<FrameworkID, InverseOfferStatus>>> getInverseOfferStatuses() override
  {
    return inner->getInverseOfferStatuses();
  }

  void transitionOfferedToAllocated(const SlaveID& id, const Resources& resources) override
  {
    inner->transitionOfferedToAllocated(id, resources);
  }

  void recoverResources(const FrameworkID& framework,
                        const SlaveID& agent,
                        const Resources& resources,
                        const Option<mesos::Filters>& filters,
                        bool isAllocated) override
  {
    inner->recoverResources(framework, agent, resources, filters, isAllocated);
  }

  void suppressOffers(const FrameworkID& id, const Roles& roles) override { inner->suppressOffers(id, roles); }
  void reviveOffers(const FrameworkID& id, const Roles& roles) override { inner->reviveOffers(id, roles); }
  void updateQuota(const std::string& role, const mesos::Quota& quota) override { inner->updateQuota(role, quota); }
  void updateWeights(const std::vector<mesos::WeightInfo>& weights) override { inner->updateWeights(weights); }
  void pause() override { inner->pause(); }
  void resume() override { inner->resume(); }

protected:
  std::unique_ptr<mesos::allocator::Allocator> inner;
};

} // namespace mesos_gpu
