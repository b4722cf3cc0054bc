// SPDX-License-Identifier: Apache-2.0
// An allocator of Mesos as its master sees it, so that it can be driven without a master: the interface, the containers
// that cross it, and the few messages that it is told.
#pragma once

#include <functional>
#include <set>
#include <unordered_map>

#include "abi.hpp"

namespace testbed {

// A message of Mesos: room, filled by its exported constructor and from its bytes.
template <std::size_t Size>
struct Message
{
  alignas(8) unsigned char raw[Size];
};

// `name` is the mangled class, such as "7SlaveID". The message lives as long as the process.
void* message(const char* name, const std::string& bytes);

// A message without strings may be copied as it lies in memory.
Message<32> flat(const char* name, const std::string& bytes);

// The bytes of a message, field by field.
class Bytes
{
public:
  Bytes& number(int field, unsigned long value);
  Bytes& scalar(int field, double value);
  Bytes& bytes(int field, const std::string& value);
  const std::string& done() const { return bytes_; }

private:
  void varint(unsigned long value);
  std::string bytes_;
};

// `mesos::Resources`: shared pointers, of which the first fifteen lie in the object itself.
class Resources
{
public:
  Resources() : start_(inside()), size_(0), capacity_(15) {}
  Resources(const Resources& that);
  Resources& operator=(const Resources&) = delete;
  ~Resources();

  // Adds a regular, unreserved scalar.
  void add(const std::string& name, double value);
  double cpus() const;
  double mem() const;
  double gpus() const;

private:
  using Pointer = std::shared_ptr<void>;
  Pointer* inside() { return reinterpret_cast<Pointer*>(inside_); }

  Pointer* start_;
  std::size_t size_;
  std::size_t capacity_;
  alignas(Pointer) unsigned char inside_[15 * sizeof(Pointer)];
};
static_assert(sizeof(Resources) == 264);

using Id = Message<32>;

// The maps are made and looked up by Mesos and only walked here. A hash that may throw makes libstdc++ keep the hash
// codes in the nodes, as it does for Mesos's own hash.
struct Hash
{
  std::size_t operator()(const Id&) const { throw std::logic_error("nothing is looked up here"); }
};
struct Equal
{
  bool operator()(const Id& left, const Id& right) const { return &left == &right; }
};
using ById = std::unordered_map<Id, Resources, Hash, Equal>;
using ByRole = std::unordered_map<std::string, ById>;
using OfferCallback = std::function<void(const Id& framework, const ByRole& offered)>;
using InverseOfferCallback = std::function<void(const Id& framework, const void* unavailable)>;

// `allocator::Options`.
struct AllocatorOptions
{
  long allocation_interval;
  Option<std::set<std::string>> fairness_exclude;
  bool filter_gpu_resources;
  Option<Message<32>> domain;
  Option<std::vector<int>> min_allocatable;
  std::size_t max_completed_frameworks;
  bool per_framework_metrics;
  Option<std::string> realm;
  Option<void*> authorizer;
  long recovery_timeout;
  double recovery_factor;
};
static_assert(sizeof(AllocatorOptions) == 232);

// `allocator::FrameworkOptions`: the suppressed roles and the offer constraints.
struct FrameworkOptions
{
  FrameworkOptions();
  std::set<std::string> suppressed;
  void* constraints;
};
static_assert(sizeof(FrameworkOptions) == 56);

// `Future<T>` of which only the state is of interest.
class Pending
{
public:
  bool pending() const { return state() == 0; }
  bool ready() const { return state() == 1; }

private:
  int state() const { return __atomic_load_n(&data_->state, __ATOMIC_ACQUIRE); }
  struct Data
  {
    unsigned char lock;
    int state;
  };
  std::shared_ptr<Data> data_;
};

// `mesos::allocator::Allocator`: the order is Mesos's; what is not called here has no arguments.
class Allocator
{
public:
  virtual ~Allocator();
  virtual void initialize(const AllocatorOptions&, const OfferCallback&, const InverseOfferCallback&) = 0;
  virtual void recover() = 0;
  virtual void addFramework(const void* id, const void* info, const ById& used, bool active, FrameworkOptions&&) = 0;
  virtual void removeFramework(const void* id) = 0;
  virtual void activateFramework() = 0;
  virtual void deactivateFramework() = 0;
  virtual void updateFramework() = 0;
  virtual void addSlave(const void* id,
                        const void* info,
                        const std::vector<Message<32>>& capabilities,
                        const Option<Message<40>>& unavailability,
                        const Resources& total,
                        const ById& used) = 0;
  virtual void removeSlave(const void* id) = 0;
  virtual void updateSlave() = 0;
  virtual void addResourceProvider() = 0;
  virtual void activateSlave() = 0;
  virtual void deactivateSlave() = 0;
  virtual void updateWhitelist() = 0;
  virtual void requestResources(const void* framework, const std::vector<void*>& requests) = 0;
  virtual void updateAllocation() = 0;
  virtual Pending updateAvailable(const void* agent, const std::vector<void*>& operations) = 0;
  virtual void updateUnavailability() = 0;
  virtual void updateInverseOffer() = 0;
  virtual Pending getInverseOfferStatuses() = 0;
  virtual void transitionOfferedToAllocated() = 0;
  virtual void recoverResources(const void* framework,
                                const void* agent,
                                const Resources&,
                                const Option<Message<32>>& filters,
                                bool allocated) = 0;
  virtual void suppressOffers(const void* framework, const std::set<std::string>& roles) = 0;
  virtual void reviveOffers(const void* framework, const std::set<std::string>& roles) = 0;
  virtual void updateQuota() = 0;
  virtual void updateWeights() = 0;
  virtual void pause() = 0;
  virtual void resume() = 0;
};

// Mesos's own hierarchical DRF allocator.
void* built_in_allocator();

// A framework or an agent, as the allocator is told of it.
struct Member
{
  void* id;
  void* info;
};
Member framework_of_role(std::size_t number, std::size_t role, bool gpu_resources);
Member agent_of(std::size_t number);
std::vector<Message<32>> agent_capabilities();

// What a module of this kind makes. By now the module manager has loaded the library and verified the record.
void* module_of(const char* kind, const char* library, const char* module, const char* parameters, std::size_t size);

// The allocator that a module makes.
void* allocator_of(const char* library, const char* module, const char* parameters, std::size_t size);

} // namespace testbed
