// SPDX-License-Identifier: Apache-2.0
// Of the tests that Mesos has for its own GPU isolator, those that launch tasks: on a real master and agent, with the
// module in the built-in's place. The images are made here and have the names of those that Mesos's tests fetch.
//
// The nvidia-smi of a simulated driver lists the GPUs that the kernel lets it open. It does not fail where there are none,
// as the real one does, so the tasks look at what it lists.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "messages.hpp"
#include "nvidia_gpu_test.hpp"
#include "scheduler.hpp"

using std::string;
using std::vector;

namespace harness {

namespace {

// Fails where no GPU is listed.
const string LISTS_GPUS = "nvidia-smi --list-gpus | grep '^GPU '";
// Fails unless exactly one is.
const string LISTS_ONE = "test \"$(nvidia-smi --list-gpus | grep -c '^GPU ')\" = 1";

// Fails unless the program itself works, and none is.
const string LISTS_NONE = "nvidia-smi | grep '^Driver Version: ' && ! nvidia-smi | grep '^GPU '";

// A command on the host's files: Mesos gives tasks a PATH of its own, and the driver's programs are elsewhere.
string onHost(const string& command)
{
  return "PATH=" + variable("HARNESS_DRIVER") + "/bin:$PATH; " + command;
}

string small(double gpus)
{
  vector<std::pair<string, double>> amounts{{"cpus", 0.1}, {"mem", 32}};
  if (gpus != 0) {
    amounts.emplace_back("gpus", gpus);
  }
  return resources(amounts);
}

string imaged(const string& name)
{
  return "container { type: MESOS mesos { image { type: DOCKER docker { name: \"" + name + "\" } } } }";
}

const vector<string> FINISHED{"TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"};
const vector<string> FAILED{"TASK_STARTING", "TASK_RUNNING", "TASK_FAILED"};

} // namespace

TEST_F(NvidiaGpuTest, ROOT_CGROUPS_NVIDIA_GPU_VerifyDeviceAccess)
{
  Framework framework;
  framework.launch(framework.offer(1), "without", small(0), onHost(LISTS_GPUS));
  EXPECT_EQ(FAILED, framework.states("without"));
  framework.launch(framework.offer(1), "none", small(0), onHost(LISTS_NONE));
  EXPECT_EQ(FINISHED, framework.states("none"));
  // Not even the control node can be opened, which the built-in opens to everyone.
  framework.launch(framework.offer(1), "control", small(0), "exec 3<>/dev/nvidiactl");
  EXPECT_EQ(FAILED, framework.states("control"));

  framework.launch(framework.offer(1), "with", small(1), onHost(LISTS_ONE));
  EXPECT_EQ(FINISHED, framework.states("with"));
  framework.launch(framework.offer(4), "all", small(4), onHost("test \"$(nvidia-smi | grep -c '^GPU ')\" = 4"));
  EXPECT_EQ(FINISHED, framework.states("all"));
}

TEST_F(NvidiaGpuTest, ROOT_CGROUPS_NVIDIA_GPU_FractionalResources)
{
  Framework framework;
  framework.launch(framework.offer(1), "fraction", small(0.1), "true");
  const Tree status = framework.status("fraction");
  EXPECT_EQ("TASK_ERROR", status.at("state").value());
  EXPECT_EQ("REASON_TASK_INVALID", status.at("reason").value());
  EXPECT_NE(string::npos, status.at("message").value().find("unsigned integer")) << status.at("message").value();
  // The agent goes on.
  framework.launch(framework.offer(1), "whole", small(1), onHost(LISTS_ONE));
  EXPECT_EQ(FINISHED, framework.states("whole"));
}

TEST_F(NvidiaGpuTest, ROOT_CGROUPS_NVIDIA_GPU_DefaultExecutorVerifyDeviceAccess)
{
  Framework framework;
  framework.launchGroup(framework.offer(1), "grouped", small(1), onHost(LISTS_ONE));
  EXPECT_EQ(FINISHED, framework.states("grouped"));
  framework.launchGroup(framework.offer(1), "without", small(0), onHost(LISTS_GPUS));
  EXPECT_EQ(FAILED, framework.states("without"));
  framework.launchGroup(framework.offer(1), "none", small(0), onHost(LISTS_NONE));
  EXPECT_EQ(FINISHED, framework.states("none"));
}

// The agent hands out one GPU of its four. The image is local.
TEST_F(NvidiaGpuTest, ROOT_INTERNET_CURL_CGROUPS_NVIDIA_GPU_NvidiaDockerImage)
{
  Framework framework;
  const string image = imaged("nvidia/cuda");
  framework.launchGroup(framework.offer(1), "with", small(1), LISTS_ONE, image);
  EXPECT_EQ(FINISHED, framework.states("with"));
  framework.launchGroup(framework.offer(1), "without", small(0), LISTS_GPUS, image);
  EXPECT_EQ(FAILED, framework.states("without"));
  framework.launchGroup(framework.offer(1), "none", small(0), LISTS_NONE, image);
  EXPECT_EQ(FINISHED, framework.states("none"));
  // Of the four nodes it is shown its own, and without GPUs none; the built-in shows everyone all.
  framework.launch(framework.offer(1), "nodes", small(1), "set -- /dev/nvidia[0-9]*; test $# = 1 && test -c $1", image);
  EXPECT_EQ(FINISHED, framework.states("nodes"));
  framework.launch(framework.offer(1), "no nodes", small(0), "set -- /dev/nvidia*; test ! -e $1", image);
  EXPECT_EQ(FINISHED, framework.states("no nodes"));
}

// An image that asks for the driver by its environment alone; its program loads CUDA by the name that every program uses,
// with and without the environment.
TEST_F(NvidiaGpuTest, ROOT_INTERNET_CURL_CGROUPS_NVIDIA_GPU_TensorflowGpuImage)
{
  Framework framework;
  const string image = imaged("tensorflow/tensorflow:latest-gpu");
  const string loads = "/bin/image-probe | grep -c -o '\"cuda\":{\"Ok\":\"/[^\"]*/libcuda.so' | grep -q 1";
  framework.launch(framework.offer(1), "loads", small(1), loads, image);
  EXPECT_EQ(FINISHED, framework.states("loads"));
  framework.launchGroup(framework.offer(1), "grouped", small(1), loads, image);
  EXPECT_EQ(FINISHED, framework.states("grouped"));
}

} // namespace harness
