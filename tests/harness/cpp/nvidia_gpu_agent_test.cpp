// SPDX-License-Identifier: Apache-2.0
// Of the tests that Mesos has for its own GPU isolator, those of what an agent advertises. Each start is one of Mesos's own
// reading of flags, then the modules. `--nvidia_gpu_devices` is the built-in's; here the parameter `gpus` takes its place.
#include <sys/wait.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machine.hpp"
#include "messages.hpp"
#include "modules.hpp"
#include "nvidia_gpu_test.hpp"
#include "startup.hpp"

using std::string;
using std::vector;

namespace harness {

namespace {

// With the module.
vector<string> with(const vector<string>& more)
{
  vector<string> flags{"--isolation=cgroups/devices,filesystem/linux,mesos_gpu_Isolator", "--hooks=mesos_gpu_Hook",
                       "--work_dir=" + variable("MESOS_WORK_DIR")};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

testing::AssertionResult has(const Start& start, double gpus)
{
  if (start.started && start.gpus == gpus) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << (start.started ? "it has " + std::to_string(start.gpus) : "refused") << ":\n"
                                     << start.said;
}

testing::AssertionResult refused(const Start& start, const string& why)
{
  if (!start.started && start.said.find(why) != string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << (start.started ? "started" : "refused for another reason") << ":\n"
                                     << start.said;
}

} // namespace

// Without a word about them in the flags, the agent has the GPUs that NVML counts.
TEST_F(NvidiaGpuTest, NVIDIA_GPU_Discovery)
{
  const double count = static_cast<double>(nvmlCount());
  ASSERT_LE(1, count);
  EXPECT_TRUE(has(start(with({"--resources=cpus:1"}), "shipped"), count));
}

TEST_F(NvidiaGpuTest, ROOT_CGROUPS_NVIDIA_GPU_FlagValidation)
{
  const double count = static_cast<double>(nvmlCount());
  const string work = "--work_dir=" + variable("MESOS_WORK_DIR");
  const string plain = "--isolation=cgroups/devices,filesystem/linux";

  // Without the module nobody brings GPUs, and Mesos takes what --resources says of them.
  EXPECT_TRUE(has(start({work, plain}), 0));
  EXPECT_TRUE(has(start({work, plain, "--resources=cpus:1;gpus:100"}), 100));
  // The devices of the built-in are refused without it, with or without the module.
  EXPECT_TRUE(refused(start({work, plain, "--nvidia_gpu_devices=0"}), "gpu/nvidia"));
  EXPECT_TRUE(refused(start(with({"--nvidia_gpu_devices=0", "--resources=cpus:1;gpus:1"}), "shipped"), "gpus"));

  // With it, all that are there.
  EXPECT_TRUE(has(start(with({"--resources=cpus:1"}), "shipped"), count));
  EXPECT_TRUE(has(start(with({"--resources=cpus:1;gpus:" + std::to_string(nvmlCount())}), "shipped"), count));

  // Chosen ones, with and without their number. The built-in insists on the number; here it is counted.
  EXPECT_TRUE(has(start(with({"--resources=cpus:1;gpus:1"}), "one"), 1));
  EXPECT_TRUE(has(start(with({"--resources=cpus:1"}), "one"), 1));

  // A number that is not that of the chosen ones. With `gpus:0` the built-in hands out none and says nothing; here it is a
  // contradiction like every other.
  const string cure = "leave gpus out of --resources";
  EXPECT_TRUE(refused(start(with({"--resources=cpus:1;gpus:2"}), "one"), cure));
  EXPECT_TRUE(refused(start(with({"--resources=cpus:1;gpus:0"}), "one"), cure));
  EXPECT_TRUE(refused(start(with({"--resources=cpus:1;gpus:0"}), "shipped"), cure));
  EXPECT_TRUE(refused(start(with({"--resources=cpus:1;gpus:1"}), "shipped"), cure));
  const string twice = std::to_string(2 * nvmlCount());
  EXPECT_TRUE(refused(start(with({"--resources=cpus:1;gpus:" + twice}), "shipped"), cure));
  EXPECT_TRUE(refused(start(with({"--resources=cpus:1;gpus:0.5"}), "shipped"), "whole numbers"));

  // One that is named twice.
  EXPECT_TRUE(refused(start(with({}), "twice"), "name each GPU once"));
  // Beside the built-in both would hand out the same GPUs.
  EXPECT_TRUE(refused(start({work, "--isolation=cgroups/devices,gpu/nvidia,mesos_gpu_Isolator"}, "shipped"),
                      "remove gpu/nvidia"));
}

} // namespace harness
