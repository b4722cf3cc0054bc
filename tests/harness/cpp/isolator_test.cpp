// SPDX-License-Identifier: Apache-2.0
// The isolator's contract with the containerizer, call by call, as the module manager makes it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "container.hpp"
#include "futures.hpp"
#include "modules.hpp"

using std::string;
using std::vector;

namespace harness {

class GpuIsolatorTest : public ModulesTest
{};

TEST_F(GpuIsolatorTest, SupportsNestedAndStandaloneContainers)
{
  EXPECT_TRUE(isolator().supportsNesting());
  EXPECT_TRUE(isolator().supportsStandalone());
}

TEST_F(GpuIsolatorTest, ROOT_CGROUPS_GrantsExactlyTheGpusAskedForAndNamesThem)
{
  Container container(isolator(), "one");
  const Tree launch = container.launched(2);
  ASSERT_EQ(2u, container.gpus().size());
  for (int minor = 0; minor < 4; ++minor) {
    const vector<int> granted = container.gpus();
    const bool has = std::count(granted.begin(), granted.end(), minor) == 1;
    EXPECT_EQ(has ? ENXIO : EPERM, container.opens("/dev/nvidia" + std::to_string(minor))) << minor;
  }
  for (const char* control : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}) {
    EXPECT_EQ(ENXIO, container.opens(control)) << control;
  }
  const string visible = variableOf(launch, "NVIDIA_VISIBLE_DEVICES");
  EXPECT_EQ(0u, visible.find("GPU-")) << visible;
  EXPECT_EQ(1, std::count(visible.begin(), visible.end(), ',')) << visible;
  EXPECT_EQ("PCI_BUS_ID", variableOf(launch, "CUDA_DEVICE_ORDER"));
}

TEST_F(GpuIsolatorTest, ROOT_CGROUPS_OpensNothingToAContainerWithoutGpus)
{
  Container container(isolator(), "none");
  const Tree launch = container.launched(0);
  EXPECT_EQ(vector<string>(), container.rules());
  for (const char* node : {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"}) {
    EXPECT_EQ(EPERM, container.opens(node)) << node;
  }
  EXPECT_EQ(0, container.opens("/dev/null"));
  EXPECT_EQ("void", variableOf(launch, "NVIDIA_VISIBLE_DEVICES"));
}

TEST_F(GpuIsolatorTest, ROOT_CGROUPS_AGrowthKeepsWhatWasHeldAndAShrinkGivesBack)
{
  Container container(isolator(), "grows");
  container.launched(1);
  const vector<int> first = container.gpus();
  ASSERT_TRUE(ready(container.update(3)));
  const vector<int> three = container.gpus();
  ASSERT_EQ(3u, three.size());
  EXPECT_TRUE(std::includes(three.begin(), three.end(), first.begin(), first.end()));
  // The same total changes nothing.
  ASSERT_TRUE(ready(container.update(3)));
  EXPECT_EQ(three, container.gpus());
  ASSERT_TRUE(ready(container.update(1)));
  EXPECT_EQ(first, container.gpus());
  // What was given back can be had by another.
  Container other(isolator(), "other");
  other.launched(3);
  EXPECT_EQ(3u, other.gpus().size());
}

TEST_F(GpuIsolatorTest, ROOT_CGROUPS_AFailedUpdateTakesNothingAway)
{
  Container container(isolator(), "asks");
  container.launched(2);
  const vector<int> before = container.gpus();
  EXPECT_TRUE(failed(container.update(5), "3 more wanted, 2 of 4 free"));
  EXPECT_TRUE(failed(container.update(0.5), "whole numbers"));
  EXPECT_EQ(before, container.gpus());
}

TEST_F(GpuIsolatorTest, ROOT_CGROUPS_AContainerIsPreparedOnce)
{
  Container container(isolator(), "twice");
  container.launched(1);
  EXPECT_TRUE(failed(container.prepare(1), "prepared before"));
  EXPECT_EQ(1u, container.gpus().size());
}

TEST_F(GpuIsolatorTest, ROOT_CGROUPS_ALaunchThatFailsLeavesItsIdAndItsGpus)
{
  Container container(isolator(), "again");
  EXPECT_TRUE(failed(container.prepare(0.1), "whole numbers"));
  EXPECT_TRUE(failed(container.prepare(5), "5"));
  EXPECT_EQ(vector<string>(), container.rules());
  ASSERT_TRUE(ready(container.cleanup()));
  container.launched(4);
  EXPECT_EQ((vector<int>{0, 1, 2, 3}), container.gpus());
}

TEST_F(GpuIsolatorTest, ROOT_CGROUPS_WatchStaysPendingAndStatisticsAreEmpty)
{
  Container container(isolator(), "watched");
  container.launched(1);
  const auto watch = isolator().watch(container.id());
  ASSERT_TRUE(ready(isolator().isolate(container.id(), 1)));
  const auto usage = isolator().usage(container.id());
  ASSERT_TRUE(ready(usage));
  EXPECT_FALSE(Tree::of(usage.get()).has("perf"));
  const auto status = isolator().status(container.id());
  ASSERT_TRUE(ready(status));
  EXPECT_EQ("", text(status.get()));
  // Any answer would kill the container.
  EXPECT_FALSE(settled(watch, std::chrono::milliseconds(300)));
  ASSERT_TRUE(ready(container.cleanup()));
  EXPECT_TRUE(watch.isPending());
}

TEST_F(GpuIsolatorTest, ROOT_CGROUPS_ChildrenLiveOnWhatTheirRootHas)
{
  Container root(isolator(), "root");
  const Tree all = root.launched(2);
  {
    Container first(isolator(), "first", &root);
    Container second(isolator(), "second", &root);
    const string one = variableOf(first.launched(1), "NVIDIA_VISIBLE_DEVICES");
    const string two = variableOf(second.launched(1), "NVIDIA_VISIBLE_DEVICES");
    EXPECT_NE(one, two);
    for (const string& part : {one, two}) {
      EXPECT_NE(string::npos, variableOf(all, "NVIDIA_VISIBLE_DEVICES").find(part)) << part;
    }
    Container third(isolator(), "third", &root);
    EXPECT_TRUE(failed(third.prepare(1), "root"));
    EXPECT_TRUE(failed(first.update(1), "nested"));
  }
  EXPECT_EQ(2u, root.gpus().size());
}

TEST_F(GpuIsolatorTest, ROOT_CGROUPS_RecoveryTakesWhatTheKernelSaysAContainerCanOpen)
{
  const Try<mesos::slave::Isolator*> made = makeIsolator("mesos_gpu_Isolator");
  ASSERT_TRUE(made.isSome()) << made.error();
  mesos::slave::Isolator& fresh = *made.get();
  // Two that ran before this agent: one that it is to go on with, and an orphan.
  Container live(fresh, "live");
  Container orphan(fresh, "orphan");
  live.allow("c 195:1 rw");
  orphan.allow("c 195:2 rw");
  const auto state = message<mesos::slave::ContainerState>(
      "container_id { " + text(live.id()) + " } pid: " + std::to_string(getpid()) + " directory: \"/sandbox\"");
  hashset<mesos::ContainerID> orphans;
  orphans.insert(orphan.id());
  ASSERT_TRUE(ready(fresh.recover({state}, orphans)));
  {
    Container rest(fresh, "rest");
    rest.launched(2);
    EXPECT_EQ((vector<int>{0, 3}), rest.gpus());
    EXPECT_TRUE(failed(rest.update(3), "1 more wanted, 0 of 4 free"));
  }
  // What was recovered is given back as if it had been prepared here.
  ASSERT_TRUE(ready(orphan.cleanup()));
  ASSERT_TRUE(ready(live.update(3)));
  EXPECT_EQ(3u, live.gpus().size());
}

} // namespace harness
