// SPDX-License-Identifier: Apache-2.0
// Of the tests that Mesos has for its own GPU isolator, those that look into it without a task: here they go through the
// isolator's interface, since a module has no other. What Mesos's test asserts of its allocator is asserted of grants.
#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "container.hpp"
#include "futures.hpp"
#include "modules.hpp"
#include "machine.hpp"
#include "nvidia_gpu_test.hpp"

using std::string;
using std::unique_ptr;
using std::vector;

namespace harness {

namespace {

constexpr const char* DRIVER = "/usr/local/nvidia";

// The fields of a container whose image has this configuration, and an empty root file system made for it.
string image(const string& name, const string& configuration)
{
  const string root = folder() + "/" + name;
  for (const string& made : {root, root + "/dev", root + "/usr", root + "/usr/local"}) {
    makeFolder(made);
  }
  return "rootfs: \"" + root +
         "\" docker { manifest { id: \"x\" created: \"x\" os: \"linux\" architecture: \"amd64\" " +
         "container_config {} config { " + configuration + " } } }";
}

// Where each mount of a launch comes from, by the place in the image.
std::map<string, string> mounts(const Tree& launch, const string& name)
{
  std::map<string, string> found;
  const string root = folder() + "/" + name;
  for (const Tree& mount : launch.all("mounts")) {
    const string target = mount.at("target").value();
    EXPECT_EQ(0u, target.find(root)) << target;
    found[target.substr(root.size())] = mount.at("source").value();
  }
  return found;
}

} // namespace

// All of them can be had, and no more; what is given back is what can be had again; what is not held is not given back.
TEST_F(NvidiaGpuTest, NVIDIA_GPU_Allocator)
{
  const std::size_t total = nvmlCount();
  ASSERT_LE(1u, total);
  const double all = static_cast<double>(total);

  auto first = std::make_unique<Container>(isolator(), "first");
  first->launched(all);
  const vector<int> every = first->gpus();
  EXPECT_EQ(total, every.size());

  // One more cannot be had, nor more than there are.
  Container second(isolator(), "second");
  EXPECT_TRUE(failed(second.prepare(1), "1 more wanted, 0 of " + std::to_string(total) + " free"));
  EXPECT_TRUE(failed(second.prepare(all + 1), std::to_string(total + 1) + " more wanted"));
  EXPECT_EQ(vector<int>(), second.gpus());

  // The same set again.
  first.reset();
  first = std::make_unique<Container>(isolator(), "first");
  first->launched(all);
  EXPECT_EQ(every, first->gpus());

  // One is given back, and that one can be had.
  ASSERT_TRUE(ready(first->update(all - 1)));
  const vector<int> rest = first->gpus();
  EXPECT_EQ(total - 1, rest.size());
  second.launched(1);
  vector<int> both = rest;
  both.push_back(second.gpus().at(0));
  std::sort(both.begin(), both.end());
  EXPECT_EQ(every, both);

  // What was given back twice is there once, and a stranger gives nothing back.
  ASSERT_TRUE(ready(second.cleanup()));
  ASSERT_TRUE(ready(second.cleanup()));
  ASSERT_TRUE(ready(isolator().cleanup(message<mesos::ContainerID>("value: \"stranger\""))));
  Container third(isolator(), "third");
  third.launched(1);
  Container fourth(isolator(), "fourth");
  EXPECT_TRUE(failed(fourth.prepare(1), "1 more wanted, 0 of"));
  EXPECT_EQ(rest, first->gpus());

  // A GPU that is none, of which a rule was left in a cgroup, is neither taken nor given: the agent knows its own.
  fourth.allow("c 195:99 rw");
  ASSERT_TRUE(ready(fourth.cleanup()));
  EXPECT_TRUE(failed(fourth.prepare(1), "1 more wanted, 0 of"));
}

// The driver's volume is on the host, in the folders in which programs look.
TEST_F(NvidiaGpuTest, ROOT_NVIDIA_GPU_VolumeCreation)
{
  Container container(isolator(), "volume");
  const Tree launch = container.launched(1, image("root", ""));
  const std::map<string, string> mounted = mounts(launch, "root");
  ASSERT_EQ(1u, mounted.count(DRIVER));
  const string host = mounted.at(DRIVER);
  for (const char* below : {"", "/bin", "/lib", "/lib64"}) {
    EXPECT_TRUE(isFolder(host + below)) << host << below;
  }
  EXPECT_TRUE(isFile(host + "/bin/nvidia-smi"));
  EXPECT_TRUE(isFile(host + "/lib64/libnvidia-ml.so.1"));
  // No byte of it is a copy: it is the driver's own file.
  EXPECT_EQ(fileNumber(folder() + "/driver/lib64/libnvidia-ml.so.1"), fileNumber(host + "/lib64/libnvidia-ml.so.1"));
  EXPECT_EQ("", contents(folder() + "/root" + DRIVER + "/bin/nvidia-smi")) << "nothing is copied into the image";
}

// Which images get the driver. Without GPUs the image decides: its label of NVIDIA's, or its variable. With GPUs all get it.
TEST_F(NvidiaGpuTest, ROOT_NVIDIA_GPU_VolumeShouldInject)
{
  const string needed = "Labels { key: \"com.nvidia.volumes.needed\" value: \"nvidia_driver\" }";
  const string others = "Labels { key: \"com.ati.volumes.needed\" value: \"ati_driver\" }";
  struct Case
  {
    string configuration;
    bool gets;
  };
  const vector<Case> cases{
      {needed, true},
      {others, false},
      {"", false},
      {"Env: \"NVIDIA_VISIBLE_DEVICES=all\"", true},
      {"Env: \"NVIDIA_VISIBLE_DEVICES=none\"", true},
      {"Env: \"NVIDIA_VISIBLE_DEVICES=void\"", false},
      {"Env: \"NVIDIA_VISIBLE_DEVICES=\"", false},
      // The variable goes before the label.
      {needed + " Env: \"NVIDIA_VISIBLE_DEVICES=void\"", false},
      {others + " Env: \"NVIDIA_VISIBLE_DEVICES=0\"", true},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const double gpus : {0, 1}) {
      const string name = "inject" + std::to_string(i) + (gpus > 0 ? "with" : "without");
      Container container(isolator(), name);
      const Tree launch = container.launched(gpus, image(name, cases[i].configuration));
      const std::map<string, string> mounted = mounts(launch, name);
      EXPECT_EQ(cases[i].gets || gpus > 0, mounted.count(DRIVER) == 1) << cases[i].configuration << ", gpus: " << gpus;
      // The driver's files open no device.
      EXPECT_EQ(gpus > 0, mounted.count("/dev/nvidiactl") == 1) << cases[i].configuration << ", gpus: " << gpus;
      EXPECT_EQ(static_cast<std::size_t>(gpus), container.gpus().size());
    }
  }
}

} // namespace harness
