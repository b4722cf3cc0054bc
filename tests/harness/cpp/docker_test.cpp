// SPDX-License-Identifier: Apache-2.0
// Mesos's two GPU tests of its Docker client. A module is never asked when Docker runs a container: all it has is the hook
// before Docker's executor, which can only add environment. What those tests assert of a device that was allowed is
// asserted here of the devices that the isolator allows in an image of Docker's.
#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "container.hpp"
#include "futures.hpp"
#include "machine.hpp"
#include "modules.hpp"

using std::string;
using std::vector;

namespace harness {

namespace {

string imaged()
{
  const string root = folder() + "/root";
  for (const string& made : {root, root + "/dev", root + "/usr", root + "/usr/local"}) {
    makeFolder(made);
  }
  return "rootfs: \"" + root +
         "\" docker { manifest { id: \"x\" created: \"x\" os: \"linux\" architecture: \"amd64\" "
         "container_config {} config {} } }";
}

// What it is told before Docker's executor starts.
testing::AssertionResult saysNothingToDocker()
{
  const Try<mesos::Hook*> hook = makeHook("mesos_gpu_Hook");
  if (hook.isError()) {
    return testing::AssertionFailure() << hook.error();
  }
  const auto told = hook.get()->slavePreLaunchDockerTaskExecutorDecorator(None(), mesos::ExecutorInfo(), "container",
                                                                          "/sandbox", "/mnt/mesos/sandbox", None());
  const testing::AssertionResult answered = ready(told);
  if (!answered) {
    return answered;
  }
  return told.get().isNone() ? testing::AssertionSuccess() : testing::AssertionFailure() << "it adds something";
}

} // namespace

class DockerTest : public ModulesTest
{};

// A device that is allowed can be used, and so can what every container may.
TEST_F(DockerTest, ROOT_DOCKER_NVIDIA_GPU_DeviceAllow)
{
  EXPECT_TRUE(saysNothingToDocker());
  Container container(isolator(), "allowed");
  EXPECT_EQ(EPERM, container.opens("/dev/nvidiactl"));
  container.launched(1, imaged());
  EXPECT_EQ(ENXIO, container.opens("/dev/nvidiactl"));
  EXPECT_EQ(0, container.opens("/dev/null"));
  ASSERT_TRUE(ready(container.cleanup()));
  EXPECT_EQ(EPERM, container.opens("/dev/nvidiactl"));
  EXPECT_EQ(0, container.opens("/dev/null"));
}

// What can be seen of the devices from outside: each once, at its path in the image, with the access it has.
TEST_F(DockerTest, ROOT_DOCKER_NVIDIA_GPU_InspectDevices)
{
  EXPECT_TRUE(saysNothingToDocker());
  Container container(isolator(), "inspected");
  const Tree launch = container.launched(1, imaged());
  const string root = folder() + "/root";
  std::map<string, int> shown;
  for (const Tree& mount : launch.all("mounts")) {
    const string target = mount.at("target").value();
    if (target.find(root + "/dev/") == 0) {
      ++shown[target.substr(root.size())];
      // It is the device itself: a node that no rule but the container's own opens.
      EXPECT_NE(0u, fileNumber(mount.at("source").value())) << target;
    }
  }
  ASSERT_EQ(1u, container.gpus().size());
  const string gpu = "/dev/nvidia" + std::to_string(container.gpus().front());
  const std::map<string, int> own{
      {gpu, 1}, {"/dev/nvidia-uvm", 1}, {"/dev/nvidia-uvm-tools", 1}, {"/dev/nvidiactl", 1}};
  EXPECT_EQ(own, shown);
  // Read and write, and no making of nodes beyond what Mesos lets every container.
  vector<string> rules = container.rules();
  std::sort(rules.begin(), rules.end());
  vector<string> expected{"c 195:255 rw", "c 511:0 rw", "c 511:1 rw", "c 195:" + gpu.substr(11) + " rw"};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(expected, rules);
}

} // namespace harness
