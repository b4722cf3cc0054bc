// SPDX-License-Identifier: Apache-2.0
// modules.json, as it is shipped, in Mesos's own module manager: what it loads, and what it refuses.
#include <string>

#include <gtest/gtest.h>

#include "modules.hpp"

using std::string;

using mesos::modules::ModuleManager;

namespace harness {

namespace {

testing::AssertionResult refuses(const Try<Nothing>& loaded, const string& why)
{
  if (loaded.isError() && loaded.error().find(why) != string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << (loaded.isError() ? loaded.error() : "loaded");
}

} // namespace

class GpuModulesTest : public ModulesTest
{};

TEST_F(GpuModulesTest, TheManagerVerifiesWhatModulesJsonNames)
{
  const char* const modules[][2] = {
      {"mesos_gpu_Isolator", "Isolator"},           {"mesos_gpu_Hook", "Hook"},
      {"mesos_gpu_Allocator", "Allocator"},         {"mesos_gpu_ResourceEstimator", "ResourceEstimator"},
      {"mesos_gpu_QoSController", "QoSController"},
  };
  for (const auto& [name, kind] : modules) {
    const auto* record = recordOf(name);
    ASSERT_NE(nullptr, record) << name;
    EXPECT_STREQ(kind, record->kind);
    EXPECT_STREQ("1.11.0", record->mesosVersion);
    EXPECT_STREQ("2", record->moduleApiVersion);
    for (const char* text : {record->authorName, record->authorEmail, record->description}) {
      ASSERT_NE(nullptr, text);
      EXPECT_STRNE("", text);
    }
    // Without a check of its own only an equal version will do, which is what a library bound to layouts needs.
    EXPECT_EQ(nullptr, record->compatible);
  }
  EXPECT_EQ(sizeof modules / sizeof modules[0], ModuleManager::moduleBases.size());
}

TEST_F(GpuModulesTest, TheSameManifestCanBeLoadedAgain)
{
  const Try<Nothing> again = ModuleManager::load(manifest("shipped"));
  EXPECT_TRUE(again.isSome()) << again.error();
}

TEST_F(GpuModulesTest, TheSameModuleWithOtherParametersIsRefused)
{
  EXPECT_TRUE(refuses(ModuleManager::load(manifest("one")), "mesos_gpu_Isolator"));
}

TEST_F(GpuModulesTest, EveryKindIsMadeByItsName)
{
  const auto isolator = makeIsolator("mesos_gpu_Isolator");
  EXPECT_TRUE(isolator.isSome()) << isolator.error();
  const auto hook = makeHook("mesos_gpu_Hook");
  EXPECT_TRUE(hook.isSome()) << hook.error();
  const auto estimator = makeEstimator("mesos_gpu_ResourceEstimator");
  EXPECT_TRUE(estimator.isSome()) << estimator.error();
  const auto controller = makeController("mesos_gpu_QoSController");
  EXPECT_TRUE(controller.isSome()) << controller.error();
  EXPECT_NE(nullptr, makeAllocator("mesos_gpu_Allocator"));
}

TEST_F(GpuModulesTest, AModuleOfAnotherKindIsNotMade)
{
  EXPECT_TRUE(makeIsolator("mesos_gpu_Hook").isError());
  EXPECT_TRUE(makeHook("mesos_gpu_Isolator").isError());
  EXPECT_TRUE(makeController("mesos_gpu_ResourceEstimator").isError());
  EXPECT_TRUE(makeIsolator("mesos_gpu_Nothing").isError());
}

// A factory must not let anything out into Mesos; it answers with nothing, which the manager reports.
class GpuUnknownParameterTest : public ModulesTest
{
protected:
  GpuUnknownParameterTest() : ModulesTest("unknown") {}
};

TEST_F(GpuUnknownParameterTest, NoModuleOfAnAgentIsMade)
{
  const auto made = makeIsolator("mesos_gpu_Isolator");
  ASSERT_TRUE(made.isError());
  EXPECT_NE(string::npos, made.error().find("mesos_gpu_Isolator")) << made.error();
  // The modules of an agent share their parameters, so none of them goes on with what was meant otherwise; the allocator
  // runs in a master and has its own.
  EXPECT_TRUE(makeHook("mesos_gpu_Hook").isError());
  EXPECT_TRUE(makeEstimator("mesos_gpu_ResourceEstimator").isError());
  EXPECT_NE(nullptr, makeAllocator("mesos_gpu_Allocator"));
}

} // namespace harness
