// SPDX-License-Identifier: Apache-2.0
// The hook, through Mesos's own hook manager where the library has a way in, and through its interface elsewhere.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "container.hpp"
#include "futures.hpp"
#include "machine.hpp"
#include "modules.hpp"

using std::string;

using mesos::internal::HookManager;

namespace harness {

class GpuHookTest : public ModulesTest
{
protected:
  GpuHookTest()
  {
    const Try<Nothing> initialized = HookManager::initialize("mesos_gpu_Hook");
    EXPECT_TRUE(initialized.isSome()) << initialized.error();
  }

  // The hook itself; the manager has its own.
  static mesos::Hook& hook()
  {
    const Try<mesos::Hook*> made = makeHook("mesos_gpu_Hook");
    EXPECT_TRUE(made.isSome()) << made.error();
    return *made.get();
  }
};

TEST_F(GpuHookTest, AddsTheGpusToAnAgentsResourcesAndChangesNoOther)
{
  const string given = resources({{"cpus", 4}, {"mem", 4096}, {"bananas", 7.5}});
  const auto info = message<mesos::SlaveInfo>("hostname: \"localhost\" " + given +
                                              " resources { name: \"ports\" type: RANGES ranges { range { begin: 31000 "
                                              "end: 32000 } } }");
  string after;
  int entries = 0;
  for (const mesos::Resource& one : HookManager::slaveResourcesDecorator(info)) {
    after += "resources { " + text(one) + " } ";
    ++entries;
  }
  EXPECT_EQ(5, entries) << after;
  const mesos::Resources total = HookManager::slaveResourcesDecorator(info);
  int ports = 0;
  for (const mesos::Resource& one : total) {
    ports += Tree::of(one).has("ranges") ? 1 : 0;
  }
  EXPECT_EQ(1, ports) << after;
  const auto scalars = message<mesos::SlaveInfo>("hostname: \"localhost\" " + given);
  const mesos::Resources counted = HookManager::slaveResourcesDecorator(scalars);
  EXPECT_EQ(static_cast<double>(nvmlCount()), amount(counted, "gpus"));
  EXPECT_EQ(4, amount(counted, "cpus"));
  EXPECT_EQ(4096, amount(counted, "mem"));
  EXPECT_EQ(7.5, amount(counted, "bananas"));
}

TEST_F(GpuHookTest, LeavesAttributesAloneUnlessAskedTo)
{
  const auto info = message<mesos::SlaveInfo>(
      "hostname: \"localhost\" attributes { name: \"rack\" type: TEXT text { "
      "value: \"a\" } }");
  EXPECT_FALSE(hook().slaveAttributesDecorator(info).isSome());
  EXPECT_FALSE(hook().slaveAttributesDecorator(info).isError());
}

TEST_F(GpuHookTest, ROOT_CGROUPS_NamesATasksGpusInItsStatusAndKeepsItsLabels)
{
  Container container(isolator(), "task");
  const string executor = "executor_info { executor_id { value: \"e\" } framework_id { value: \"f\" } type: CUSTOM }";
  const Tree launch = container.launched(1, executor);
  const auto status = message<mesos::TaskStatus>(
      "task_id { value: \"t\" } state: TASK_RUNNING executor_id { value: \"e\" } "
      "labels { labels { key: \"k\" value: \"v\" } }");
  const auto framework = message<mesos::FrameworkID>("value: \"f\"");
  const auto labels = [&](const mesos::TaskStatus& decorated) {
    string all;
    for (const Tree& label : Tree::of(decorated).at("labels").all("labels")) {
      all += label.at("key").value() + "=" + label.at("value").value() + " ";
    }
    return all;
  };
  const string uuid = variableOf(launch, "NVIDIA_VISIBLE_DEVICES");
  EXPECT_EQ("k=v nvidia.com/gpu.uuids=" + uuid + " ", labels(HookManager::slaveTaskStatusDecorator(framework, status)));
  // The task of another framework has nothing.
  const auto other = message<mesos::FrameworkID>("value: \"g\"");
  EXPECT_EQ("k=v ", labels(HookManager::slaveTaskStatusDecorator(other, status)));
}

TEST_F(GpuHookTest, HasNothingToSayElsewhere)
{
  mesos::Hook& ours = hook();
  const mesos::TaskInfo task;
  const mesos::FrameworkInfo framework;
  const mesos::SlaveInfo agent;
  const mesos::ExecutorInfo executor;
  EXPECT_FALSE(ours.masterLaunchTaskLabelDecorator(task, framework, agent).isSome());
  EXPECT_FALSE(ours.masterLaunchTaskResourceDecorator(task, mesos::Resources()).isSome());
  EXPECT_FALSE(ours.slaveRunTaskLabelDecorator(task, executor, framework, agent).isSome());
  EXPECT_FALSE(ours.slaveExecutorEnvironmentDecorator(executor).isSome());
  EXPECT_TRUE(ours.masterSlaveLostHook(agent).isSome());
  EXPECT_TRUE(ours.slavePostFetchHook(message<mesos::ContainerID>("value: \"c\""), "/sandbox").isSome());
  EXPECT_TRUE(ours.slaveRemoveExecutorHook(framework, executor).isSome());
}

} // namespace harness
