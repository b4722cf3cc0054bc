// SPDX-License-Identifier: Apache-2.0
// The resource estimator and the QoS controller, as the agent polls them: what is idle is offered a second time, and who
// is in the way is named.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "container.hpp"
#include "futures.hpp"
#include "modules.hpp"

using std::string;

using process::Future;

namespace harness {

namespace {

// What the agent would tell of who has what.
Future<mesos::ResourceUsage> nobody()
{
  return message<mesos::ResourceUsage>("");
}

mesos::slave::ResourceEstimator& estimator()
{
  const auto made = makeEstimator("mesos_gpu_ResourceEstimator");
  EXPECT_TRUE(made.isSome()) << made.error();
  const Try<Nothing> initialized = made.get()->initialize(nobody);
  EXPECT_TRUE(initialized.isSome()) << initialized.error();
  return *made.get();
}

mesos::slave::QoSController& controller()
{
  const auto made = makeController("mesos_gpu_QoSController");
  EXPECT_TRUE(made.isSome()) << made.error();
  const Try<Nothing> initialized = made.get()->initialize(nobody);
  EXPECT_TRUE(initialized.isSome()) << initialized.error();
  return *made.get();
}

} // namespace

class GpuOversubscriptionTest : public ModulesTest
{};

TEST_F(GpuOversubscriptionTest, ROOT_CGROUPS_NothingIsOfferedTwiceUnlessAskedFor)
{
  Container owner(isolator(), "owner");
  owner.launched(2);
  const auto offered = estimator().oversubscribable();
  ASSERT_TRUE(ready(offered));
  EXPECT_TRUE(offered.get().empty());
}

TEST_F(GpuOversubscriptionTest, ROOT_CGROUPS_CorrectionsWaitUntilThereIsSomethingToCorrect)
{
  isolator();
  mesos::slave::QoSController& ours = controller();
  const auto asked = ours.corrections();
  EXPECT_FALSE(settled(asked, std::chrono::milliseconds(300)));
}

TEST_F(GpuOversubscriptionTest, ROOT_CGROUPS_NeitherIsInitializedTwice)
{
  isolator();
  EXPECT_TRUE(estimator().initialize(nobody).isError());
  EXPECT_TRUE(controller().initialize(nobody).isError());
}

class GpuIdleTest : public ModulesTest
{
protected:
  GpuIdleTest() : ModulesTest("shared") {}
};

TEST_F(GpuIdleTest, ROOT_CGROUPS_AnIdleHeldGpuIsOfferedAsRevocableAndGivenToAGuest)
{
  Container owner(isolator(), "owner");
  owner.launched(1);
  mesos::slave::ResourceEstimator& ours = estimator();
  const auto until = std::chrono::steady_clock::now() + PATIENCE;
  string offered;
  while (offered.empty() && std::chrono::steady_clock::now() < until) {
    const auto estimate = ours.oversubscribable();
    ASSERT_TRUE(ready(estimate));
    for (const mesos::Resource& one : estimate.get()) {
      // The agent ends itself over one that is not revocable.
      EXPECT_TRUE(mesos::Resources::isRevocable(one));
      EXPECT_EQ(1, amount(estimate.get(), "gpus"));
      offered += text(one);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_NE("", offered) << "no idle GPU was offered";

  Container guest(isolator(), "guest");
  const Tree launch = guest.launched(0,
                                     "resources { name: \"gpus\" type: SCALAR scalar { value: 1 } revocable {} } "
                                     "executor_info { executor_id { value: \"e\" } framework_id { value: \"f\" } type: "
                                     "CUSTOM }");
  EXPECT_EQ(owner.gpus(), guest.gpus());
  EXPECT_EQ(variableOf(launch, "NVIDIA_VISIBLE_DEVICES"), variableOf(launch, "MESOS_GPU_REVOCABLE"));

  // Its owner ends, and another container is to hold it: the guest has to go, and the other waits for that.
  const auto corrections = controller().corrections();
  ASSERT_TRUE(ready(owner.cleanup()));
  Container next(isolator(), "next");
  const auto launched = next.prepare(4);
  ASSERT_TRUE(ready(corrections));
  ASSERT_EQ(1u, corrections.get().size());
  const Tree correction = Tree::of(corrections.get().front());
  EXPECT_EQ("KILL", correction.at("type").value());
  EXPECT_EQ("e", correction.at("kill").at("executor_id").at("value").value());
  EXPECT_EQ("f", correction.at("kill").at("framework_id").at("value").value());
  EXPECT_TRUE(launched.isPending());
  ASSERT_TRUE(ready(guest.cleanup()));
  ASSERT_TRUE(ready(launched));
  EXPECT_EQ(4u, next.gpus().size());
}

} // namespace harness
