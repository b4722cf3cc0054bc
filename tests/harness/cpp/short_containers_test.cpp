// SPDX-License-Identifier: Apache-2.0
// Thousands of short containers through one agent's isolator, each with all the calls that Mesos makes for it and a real
// devices cgroup, but without processes: Mesos's own fork would take most of the time. What the agent's process holds must
// not grow with them. HARNESS_CONTAINERS says how many.
#include <dirent.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "container.hpp"
#include "futures.hpp"
#include "modules.hpp"

using std::string;

namespace harness {

namespace {

// Buffers and pools have their sizes after that many.
constexpr int WARM_UP = 1000;

// What a process holds.
struct Held
{
  long rssKib;
  int threads;
  int descriptors;
  int series;
  long checkpointBytes;
};

long field(const string& path, const string& name)
{
  std::ifstream file(path);
  for (string line; std::getline(file, line);) {
    if (line.rfind(name, 0) == 0) {
      return std::stol(line.substr(name.size()));
    }
  }
  throw std::runtime_error(path + " has no " + name);
}

int entries(const string& folder)
{
  DIR* open = opendir(folder.c_str());
  int count = 0;
  while (open != nullptr && readdir(open) != nullptr) {
    ++count;
  }
  closedir(open);
  return count;
}

int series(const string& path)
{
  std::ifstream file(path);
  int count = 0;
  for (string line; std::getline(file, line);) {
    count += line.empty() || line[0] == '#' ? 0 : 1;
  }
  return count;
}

Held held()
{
  // What was freed and kept for the next time is nobody's.
  malloc_trim(0);
  return {field("/proc/self/status", "VmRSS:"), static_cast<int>(field("/proc/self/status", "Threads:")),
          entries("/proc/self/fd"), series(folder() + "/gpus.prom"),
          static_cast<long>(contents(variable("MESOS_WORK_DIR") + "/mesos-gpu/checkpoint.json").size())};
}

// What the process computed so far, in milliseconds.
double computed()
{
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const auto milliseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
}

// The numbers are written by another thread, so their last text may still be on its way: it has come when none comes any more.
Held settled()
{
  const auto until = std::chrono::steady_clock::now() + PATIENCE;
  Held last = held();
  for (int same = 0; same < 5 && std::chrono::steady_clock::now() < until; ++same) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const Held now = held();
    same = now.series == last.series ? same : -1;
    last = now;
  }
  return last;
}

void tell(const char* when, const Held& held)
{
  std::printf("figures: %s: RSS %ld KiB, %d threads, %d descriptors, %d series, checkpoint %ld bytes\n", when,
              held.rssKib, held.threads, held.descriptors, held.series, held.checkpointBytes);
}

} // namespace

class ShortContainersTest : public ModulesTest
{
protected:
  ShortContainersTest() : ModulesTest("numbers") {}

  // The whole life of one, as the containerizer and the agent call it.
  void live(int number)
  {
    Container container(isolator(), "short-" + std::to_string(number));
    ASSERT_TRUE(ready(container.prepare(1)));
    const auto watch = isolator().watch(container.id());
    ASSERT_TRUE(ready(isolator().isolate(container.id(), getpid())));
    ASSERT_TRUE(ready(container.update(2)));
    ASSERT_EQ(2u, container.gpus().size());
    ASSERT_TRUE(ready(isolator().usage(container.id())));
    ASSERT_TRUE(ready(isolator().status(container.id())));
    ASSERT_TRUE(ready(container.update(1)));
    ASSERT_TRUE(watch.isPending());
    ASSERT_TRUE(ready(container.cleanup()));
  }

  // All GPUs are free again, which one container can tell that has them all.
  void settle()
  {
    Container all(isolator(), "all");
    ASSERT_TRUE(ready(all.prepare(4)));
  }
};

TEST_F(ShortContainersTest, ROOT_CGROUPS_ThousandsLeaveNothingBehind)
{
  const char* given = std::getenv("HARNESS_CONTAINERS");
  const int count = given == nullptr ? 2000 : std::atoi(given);
  ASSERT_LT(0, count) << "HARNESS_CONTAINERS is how many";
  for (int i = 0; i < WARM_UP; ++i) {
    ASSERT_NO_FATAL_FAILURE(live(i));
  }
  ASSERT_NO_FATAL_FAILURE(settle());
  const Held before = settled();
  const double computedBefore = computed();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    ASSERT_NO_FATAL_FAILURE(live(WARM_UP + i));
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  const double computing = computed() - computedBefore;
  ASSERT_NO_FATAL_FAILURE(settle());
  const Held after = settled();
  tell("before", before);
  tell("after", after);
  std::printf(
      "figures: %d containers after %d to warm up: RSS %+ld KiB; %.3f ms each, %.3f ms of them on a processor, the "
      "making of the cgroup included\n",
      count, WARM_UP, after.rssKib - before.rssKib, took.count() / count, computing / count);
  EXPECT_LE(after.rssKib - before.rssKib, 1024);
  EXPECT_EQ(before.threads, after.threads);
  EXPECT_EQ(before.descriptors, after.descriptors);
  EXPECT_LT(0, before.series);
  EXPECT_EQ(before.series, after.series);
  EXPECT_LT(0, before.checkpointBytes);
  EXPECT_EQ(before.checkpointBytes, after.checkpointBytes);
}

} // namespace harness
