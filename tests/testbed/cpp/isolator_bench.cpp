// SPDX-License-Identifier: Apache-2.0
// The calls of an isolator module without an agent, each timed from the call until its answer is there. In an agent the
// module's own share of a launch drowns in what processes, cgroups and mounts cost.
#include <sched.h>

#include <chrono>
#include <unordered_set>

#include "allocator.hpp"
#include "process.hpp"

using namespace testbed;
using Clock = std::chrono::steady_clock;

// Not in a namespace without a name: of a class that only this file knows, the compiler knows that nobody implements it.
namespace testbed {

using ContainerId = Message<40>;
using ContainerState = Message<88>;

// The set is only handed over, empty; the hash codes are kept in the nodes, as in Mesos's own.
struct NoHash
{
  std::size_t operator()(const ContainerId&) const { throw std::logic_error("nothing is looked up here"); }
};
struct NoEqual
{
  bool operator()(const ContainerId& left, const ContainerId& right) const { return &left == &right; }
};
using ContainerIds = std::unordered_set<ContainerId, NoHash, NoEqual>;

// `mesos::slave::Isolator`: the order is Mesos's; what is not called here has no arguments.
class Isolator
{
public:
  virtual ~Isolator();
  virtual bool supportsNesting() = 0;
  virtual bool supportsStandalone() = 0;
  virtual Pending recover(const std::vector<ContainerState>& states, const ContainerIds& orphans) = 0;
  virtual Pending prepare(const void* id, const void* config) = 0;
  virtual Pending isolate(const void* id, int pid) = 0;
  virtual Pending watch(const void* id) = 0;
  virtual Pending update(const void* id, const Resources& requests, const void* limits) = 0;
  virtual Pending usage() = 0;
  virtual Pending status() = 0;
  virtual Pending cleanup(const void* id) = 0;
};

// Nothing here is destroyed by its base.
Isolator::~Isolator() = default;

} // namespace testbed

namespace {

double microseconds(Clock::time_point since)
{
  return std::chrono::duration<double, std::micro>(Clock::now() - since).count();
}

// How long it takes from the call to the answer. The wait gives the processor away, since the answer comes from another
// thread, and never sleeps, since that would be longer than what is measured.
template <typename F>
double timed(F call)
{
  const Clock::time_point begin = Clock::now();
  const Pending answer = call();
  while (answer.pending()) {
    sched_yield();
  }
  const double taken = microseconds(begin);
  if (!answer.ready()) {
    throw std::runtime_error("the module answered with a failure");
  }
  return taken;
}

void* id_of(const char* name)
{
  return message("11ContainerID", Bytes().bytes(1, name).done());
}

Resources resources_of(double gpus)
{
  Resources resources;
  resources.add("cpus", 0.1);
  resources.add("mem", 32);
  if (gpus > 0) {
    resources.add("gpus", gpus);
  }
  return resources;
}

} // namespace

// Makes the isolator of a loaded module, which lives as long as the process.
extern "C" int testbed_isolator(
    const char* library, const char* module, const char* parameters, std::size_t size, void** isolator, double* taken)
{
  return guarded("make the isolator", [&] {
    const Clock::time_point begin = Clock::now();
    *isolator = module_of("Isolator", library, module, parameters, size);
    *taken = microseconds(begin);
    return 0;
  });
}

// `states` are serialized messages ContainerState, one after the other, each as long as `sizes` says.
extern "C" int testbed_isolator_recover(
    void* isolator, const char* states, const std::size_t* sizes, std::size_t count, double* taken)
{
  return guarded("recover containers", [&] {
    std::vector<ContainerState> all;
    for (std::size_t i = 0; i < count; ++i) {
      // It is only read, and what it points to lives as long as the process, so it may be copied as it lies in memory.
      all.push_back(*static_cast<ContainerState*>(message("5slave14ContainerState", std::string(states, sizes[i]))));
      states += sizes[i];
    }
    *taken = timed([&] { return static_cast<Isolator*>(isolator)->recover(all, ContainerIds()); });
    return 0;
  });
}

extern "C" int testbed_isolator_prepare(
    void* isolator, const char* id, const char* config, std::size_t size, double* taken)
{
  return guarded("prepare a container", [&] {
    void* container = id_of(id);
    void* told = message("5slave15ContainerConfig", std::string(config, size));
    *taken = timed([&] { return static_cast<Isolator*>(isolator)->prepare(container, told); });
    return 0;
  });
}

extern "C" int testbed_isolator_isolate(void* isolator, const char* id, int pid, double* taken)
{
  return guarded("isolate a container", [&] {
    void* container = id_of(id);
    *taken = timed([&] { return static_cast<Isolator*>(isolator)->isolate(container, pid); });
    return 0;
  });
}

extern "C" int testbed_isolator_update(void* isolator, const char* id, double gpus, double* taken)
{
  return guarded("update a container", [&] {
    void* container = id_of(id);
    const Resources requests = resources_of(gpus);
    void* no_limits = room(256);
    *taken = timed([&] { return static_cast<Isolator*>(isolator)->update(container, requests, no_limits); });
    return 0;
  });
}

extern "C" int testbed_isolator_cleanup(void* isolator, const char* id, double* taken)
{
  return guarded("clean up a container", [&] {
    void* container = id_of(id);
    *taken = timed([&] { return static_cast<Isolator*>(isolator)->cleanup(container); });
    return 0;
  });
}
