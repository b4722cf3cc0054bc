// SPDX-License-Identifier: Apache-2.0
// The allocator, as a master drives it: agents and frameworks come, and offers are made by Mesos's own allocator inside.
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "futures.hpp"
#include "messages.hpp"
#include "modules.hpp"

using std::string;
using std::vector;

using mesos::FrameworkID;
using mesos::Resources;
using mesos::SlaveID;
using mesos::allocator::Allocator;

namespace harness {

namespace {

// The whole of the master's options; include/mesos/1.11 has only their head, which is all that a module reads.
struct Options
{
  Duration allocationInterval{20'000'000};
  Option<std::set<string>> fairnessExcludeResourceNames;
  bool filterGpuResources = true;
  // A domain, of which an empty one only needs its state.
  Option<mesos::SlaveInfo_Capability> domain;
  Option<vector<int>> minAllocatableResources;
  std::size_t maxCompletedFrameworks = 50;
  bool publishPerFrameworkMetrics = false;
  Option<string> readonlyHttpAuthenticationRealm;
  Option<void*> authorizer;
  Duration recoveryTimeout{600'000'000'000};
  double recoveryFactor = 0.8;
};
static_assert(sizeof(Options) == 232, "what a master of 1.11 hands over");

// What was offered to a framework, by the name of the resource.
using Seen = std::map<string, double>;

// What the allocator's thread tells, for as long as the process lives.
struct Told
{
  std::mutex mutex;
  std::condition_variable changed;
  std::map<string, Seen> seen;

  void see(const FrameworkID& framework, const hashmap<string, hashmap<SlaveID, Resources>>& offered)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    Seen& all = seen[Tree::of(framework).at("value").value()];
    for (const auto& role : offered) {
      for (const auto& agent : role.second) {
        for (const char* name : {"cpus", "mem", "gpus"}) {
          const double more = amount(agent.second, name);
          if (more > 0) {
            all[name] += more;
          }
        }
      }
    }
    changed.notify_all();
  }
};

} // namespace

class GpuAllocatorTest : public ModulesTest
{
protected:
  explicit GpuAllocatorTest(const string& manifest = "shipped")
    : ModulesTest(manifest), allocator_(makeAllocator("mesos_gpu_Allocator")), told_(*new Told())
  {
    Options options;
    allocator_->initialize(
        reinterpret_cast<const mesos::allocator::Options&>(options),
        [told = &told_](const FrameworkID& framework, const hashmap<string, hashmap<SlaveID, Resources>>& offered) {
          told->see(framework, offered);
        },
        [](const FrameworkID&, const hashmap<SlaveID, mesos::UnavailableResources>&) {});
  }

  void addFramework(const string& name, const string& capability)
  {
    const auto id = message<FrameworkID>("value: \"" + name + "\"");
    const auto info =
        message<mesos::FrameworkInfo>("user: \"u\" name: \"" + name + "\" id { value: \"" + name + "\" } roles: \"" +
                                      name + "\" capabilities { type: MULTI_ROLE } " + capability);
    allocator_->addFramework(id, info, {}, true, mesos::allocator::FrameworkOptions());
  }

  void addAgent(const string& name, const string& fields)
  {
    const auto id = message<SlaveID>("value: \"" + name + "\"");
    const auto info = message<mesos::SlaveInfo>("hostname: \"" + name + "\" id { value: \"" + name + "\" } " + fields);
    vector<mesos::SlaveInfo_Capability> capabilities;
    for (const char* type : {"MULTI_ROLE", "HIERARCHICAL_ROLE", "RESERVATION_REFINEMENT"}) {
      capabilities.push_back(message<mesos::SlaveInfo_Capability>("type: " + string(type)));
    }
    allocator_->addSlave(id, info, capabilities, None(), resourcesOf(fields), {});
  }

  // What a framework has been offered, as soon as there is something.
  Seen offered(const string& framework)
  {
    std::unique_lock<std::mutex> lock(told_.mutex);
    const bool came = told_.changed.wait_for(lock, PATIENCE, [&] { return !told_.seen[framework].empty(); });
    EXPECT_TRUE(came) << framework << " is offered nothing";
    return told_.seen[framework];
  }

  // The same as it is now.
  Seen soFar(const string& framework)
  {
    const std::lock_guard<std::mutex> lock(told_.mutex);
    return told_.seen[framework];
  }

  // The allocator has gone through all that it was told before.
  void settle() { EXPECT_TRUE(ready(allocator_->updateAvailable(message<SlaveID>("value: \"a\""), {}))); }

private:
  Allocator* const allocator_;
  Told& told_;
};

TEST_F(GpuAllocatorTest, AnAgentWithGpusIsForFrameworksThatKnowWhatToDoWithThem)
{
  addFramework("plain", "");
  addAgent("a", resources({{"cpus", 8}, {"mem", 8192}, {"gpus", 4}}));
  settle();
  EXPECT_EQ(Seen(), soFar("plain"));
  addFramework("gpu", "capabilities { type: GPU_RESOURCES }");
  EXPECT_EQ((Seen{{"cpus", 8}, {"mem", 8192}, {"gpus", 4}}), offered("gpu"));
  EXPECT_EQ(Seen(), soFar("plain"));
  // One without GPUs is for everybody.
  addAgent("b", resources({{"cpus", 2}, {"mem", 2048}}));
  EXPECT_EQ((Seen{{"cpus", 2}, {"mem", 2048}}), offered("plain"));
}

class GpuSharingAllocatorTest : public GpuAllocatorTest
{
protected:
  GpuSharingAllocatorTest() : GpuAllocatorTest("sharing") {}
};

TEST_F(GpuSharingAllocatorTest, WhatTheGpusDoNotNeedIsLentAndTheRestStaysForThem)
{
  addFramework("plain", "");
  addAgent("a", resources({{"cpus", 8}, {"mem", 8192}, {"gpus", 4}}));
  // A cpu and a gigabyte stay for each GPU.
  EXPECT_EQ((Seen{{"cpus", 4}, {"mem", 4096}}), offered("plain"));
  addFramework("gpu", "capabilities { type: GPU_RESOURCES }");
  EXPECT_EQ((Seen{{"cpus", 4}, {"mem", 4096}, {"gpus", 4}}), offered("gpu"));
}

} // namespace harness
