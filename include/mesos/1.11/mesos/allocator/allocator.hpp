// SPDX-License-Identifier: Apache-2.0
// What the master calls on its allocator. The order of the functions is the order of the virtual table; types that an
// allocator around another one only hands on are declared and no more.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <mesos/mesos.hpp>
#include <mesos/quota/quota.hpp>
#include <mesos/resources.hpp>

#include <process/future.hpp>

#include <stout/duration.hpp>
#include <stout/hashmap.hpp>
#include <stout/hashset.hpp>
#include <stout/nothing.hpp>
#include <stout/option.hpp>

namespace mesos {

struct UnavailableResources;

namespace allocator {

class InverseOfferStatus;

// The head of the options; what follows in the master's object is not described, so nothing here can make or copy one.
struct Options
{
  Options() = delete;
  Options(const Options& that) = delete;
  Options& operator=(const Options& that) = delete;

  Duration allocationInterval;
  Option<std::set<std::string>> fairnessExcludeResourceNames;
  bool filterGpuResources;
};

// Which agents a framework wants no offers of. It can be moved, not copied.
class OfferConstraintsFilter
{
public:
  MESOS_WEAK OfferConstraintsFilter();
  MESOS_WEAK OfferConstraintsFilter(OfferConstraintsFilter&& that);
  MESOS_WEAK ~OfferConstraintsFilter();

private:
  void* impl;
};

struct FrameworkOptions
{
  std::set<std::string> suppressedRoles;
  OfferConstraintsFilter offerConstraintsFilter;
};

class Allocator
{
public:
  virtual ~Allocator() {}

  // `offerCallback` gets what is offered to one framework, by role and agent.
  virtual void initialize(
      const Options& options,
      const std::function<void(const FrameworkID&, const hashmap<std::string, hashmap<SlaveID, Resources>>&)>&
          offerCallback,
      const std::function<void(const FrameworkID&, const hashmap<SlaveID, UnavailableResources>&)>&
          inverseOfferCallback) = 0;

  virtual void recover(const int expectedAgentCount, const hashmap<std::string, Quota>& quotas) = 0;

  virtual void addFramework(const FrameworkID& frameworkId,
                            const FrameworkInfo& frameworkInfo,
                            const hashmap<SlaveID, Resources>& used,
                            bool active,
                            FrameworkOptions&& options) = 0;

  virtual void removeFramework(const FrameworkID& frameworkId) = 0;
  virtual void activateFramework(const FrameworkID& frameworkId) = 0;
  virtual void deactivateFramework(const FrameworkID& frameworkId) = 0;

  virtual void updateFramework(const FrameworkID& frameworkId,
                               const FrameworkInfo& frameworkInfo,
                               FrameworkOptions&& options) = 0;

  virtual void addSlave(const SlaveID& slaveId,
                        const SlaveInfo& slaveInfo,
                        const std::vector<SlaveInfo_Capability>& capabilities,
                        const Option<Unavailability>& unavailability,
                        const Resources& total,
                        const hashmap<FrameworkID, Resources>& used) = 0;

  virtual void removeSlave(const SlaveID& slaveId) = 0;

  // No total and no capabilities mean that they stay as they are.
  virtual void updateSlave(const SlaveID& slaveId,
                           const SlaveInfo& slaveInfo,
                           const Option<Resources>& total,
                           const Option<std::vector<SlaveInfo_Capability>>& capabilities) = 0;

  virtual void addResourceProvider(const SlaveID& slaveId,
                                   const Resources& total,
                                   const hashmap<FrameworkID, Resources>& used) = 0;

  virtual void activateSlave(const SlaveID& slaveId) = 0;
  virtual void deactivateSlave(const SlaveID& slaveId) = 0;

  virtual void updateWhitelist(const Option<hashset<std::string>>& whitelist) = 0;

  virtual void requestResources(const FrameworkID& frameworkId, const std::vector<Request>& requests) = 0;

  virtual void updateAllocation(const FrameworkID& frameworkId,
                                const SlaveID& slaveId,
                                const Resources& offeredResources,
                                const std::vector<ResourceConversion>& conversions) = 0;

  virtual process::Future<Nothing> updateAvailable(const SlaveID& slaveId,
                                                   const std::vector<Offer_Operation>& operations) = 0;

  virtual void updateUnavailability(const SlaveID& slaveId, const Option<Unavailability>& unavailability) = 0;

  virtual void updateInverseOffer(const SlaveID& slaveId,
                                  const FrameworkID& frameworkId,
                                  const Option<UnavailableResources>& unavailableResources,
                                  const Option<InverseOfferStatus>& status,
                                  const Option<Filters>& filters) = 0;

  virtual process::Future<hashmap<SlaveID, hashmap<FrameworkID, InverseOfferStatus>>> getInverseOfferStatuses() = 0;

  virtual void transitionOfferedToAllocated(const SlaveID& slaveId, const Resources& resources) = 0;

  // Takes back what was offered, or what was used when `isAllocated`: of one allocation role, and never more than there is.
  virtual void recoverResources(const FrameworkID& frameworkId,
                                const SlaveID& slaveId,
                                const Resources& resources,
                                const Option<Filters>& filters,
                                bool isAllocated) = 0;

  // Here and below, no roles mean all of the framework's.
  virtual void suppressOffers(const FrameworkID& frameworkId, const std::set<std::string>& roles) = 0;
  virtual void reviveOffers(const FrameworkID& frameworkId, const std::set<std::string>& roles) = 0;

  virtual void updateQuota(const std::string& role, const Quota& quota) = 0;
  virtual void updateWeights(const std::vector<WeightInfo>& weights) = 0;

  virtual void pause() = 0;
  virtual void resume() = 0;
};

} // namespace allocator
} // namespace mesos
