// SPDX-License-Identifier: Apache-2.0
#include "mesos_gpu/layout.hpp"

#include <cstring>
#include <list>
#include <memory>
#include <set>
#include <stdexcept>

#include <dlfcn.h>

#include <mesos/allocator/allocator.hpp>
#include <mesos/hook.hpp>
#include <mesos/slave/isolator.hpp>
#include <mesos/slave/qos_controller.hpp>
#include <mesos/slave/resource_estimator.hpp>
#include <mesos/version.hpp>

#include "imports.hpp"

using std::string;

namespace mesos_gpu {

namespace {

using process::Future;

// The sizes that the objects of a 1.11 libmesos have. With a real installation's headers these lines check the facts;
// with our own they check our description of them.
static_assert(sizeof(mesos::ContainerID) == 40, "ContainerID");
static_assert(sizeof(mesos::ContainerStatus) == 72, "ContainerStatus");
static_assert(sizeof(mesos::Filters) == 32, "Filters");
static_assert(sizeof(mesos::FrameworkID) == 32, "FrameworkID");
static_assert(sizeof(mesos::Parameters) == 48, "Parameters");
static_assert(sizeof(mesos::Quota) == 944, "Quota");
static_assert(sizeof(mesos::Resource) == 144, "Resource");
static_assert(sizeof(mesos::ResourceStatistics) == 408, "ResourceStatistics");
static_assert(sizeof(mesos::ResourceUsage) == 72, "ResourceUsage");
static_assert(sizeof(mesos::SlaveID) == 32, "SlaveID");
static_assert(sizeof(mesos::SlaveInfo) == 104, "SlaveInfo");
static_assert(sizeof(mesos::TaskStatus) == 136, "TaskStatus");
static_assert(sizeof(mesos::slave::ContainerConfig) == 224, "ContainerConfig");
static_assert(sizeof(mesos::slave::ContainerLaunchInfo) == 280, "ContainerLaunchInfo");
static_assert(sizeof(mesos::slave::ContainerLimitation) == 64, "ContainerLimitation");
static_assert(sizeof(mesos::slave::ContainerState) == 88, "ContainerState");
static_assert(sizeof(mesos::slave::QoSCorrection) == 40, "QoSCorrection");
static_assert(sizeof(mesos::Resources) == 264, "Resources");
static_assert(sizeof(Option<mesos::slave::ContainerLaunchInfo>) == 288, "Option<ContainerLaunchInfo>");
static_assert(sizeof(Result<mesos::Resources>) == 320, "Result<Resources>");
static_assert(sizeof(Result<mesos::Labels>) == 104, "Result<Labels>");
static_assert(sizeof(Result<mesos::TaskStatus>) == 192, "Result<TaskStatus>");
static_assert(sizeof(Result<mesos::Attributes>) == 80, "Result<Attributes>");
static_assert(sizeof(Result<mesos::ResourceUsage>) == 128, "Result<ResourceUsage>");
static_assert(sizeof(Result<std::list<mesos::slave::QoSCorrection>>) == 80, "Result<list<QoSCorrection>>");
static_assert(sizeof(Try<Nothing>) == 48, "Try<Nothing>");
static_assert(sizeof(Result<Nothing>) == 56, "Result<Nothing>");
static_assert(sizeof(Future<Nothing>) == 16, "Future<Nothing>");
static_assert(sizeof(lambda::function<Future<mesos::ResourceUsage>()>) == 32, "function<Future<ResourceUsage>()>");
static_assert(sizeof(hashset<mesos::ContainerID>) == 56, "hashset<ContainerID>");
static_assert(sizeof(hashmap<mesos::SlaveID, mesos::Resources>) == 56, "hashmap<SlaveID, Resources>");
static_assert(sizeof(std::__detail::_Hash_node<std::pair<const mesos::SlaveID, mesos::Resources>, true>) == 312,
              "what a hashmap<SlaveID, Resources> holds");
static_assert(std::__cache_default<mesos::SlaveID, std::hash<mesos::SlaveID>>::value,
              "a hashmap<SlaveID, Resources> keeps the hash codes");
static_assert(sizeof(Option<mesos::Filters>) == 40, "Option<Filters>");
static_assert(sizeof(Option<mesos::Resources>) == 272, "Option<Resources>");
static_assert(sizeof(mesos::allocator::FrameworkOptions) == 56, "FrameworkOptions");
// Options.filterGpuResources comes after these two, so at byte 64.
static_assert(sizeof(Duration) == 8, "Duration");
static_assert(sizeof(Option<std::set<string>>) == 56, "Option<set<string>>");

// How many bytes the constructor of the running library writes, rounded up to whole words. Two different
// patterns tell a byte that was written from one that only looks untouched.
template <typename M>
size_t writtenBy()
{
  constexpr size_t ROOM = sizeof(M) + 256;
  alignas(16) static unsigned char storage[2][ROOM];
  memset(storage[0], 0xa5, ROOM);
  memset(storage[1], 0x5a, ROOM);
  M* first = new (storage[0]) M();
  M* second = new (storage[1]) M();
  size_t last = 0;
  for (size_t i = 0; i < ROOM; ++i) {
    if (storage[0][i] != 0xa5 || storage[1][i] != 0x5a) {
      last = i + 1;
    }
  }
  first->~M();
  second->~M();
  return (last + 7) / 8 * 8;
}

template <typename M>
string differs(const char* name)
{
  const size_t written = writtenBy<M>();
  if (written == sizeof(M)) {
    return "";
  }
  return string(name) + " is " + std::to_string(written) + " bytes there and " + std::to_string(sizeof(M)) + " here";
}

template <typename Id>
bool readsItsText()
{
  Id id;
  const unsigned char text[] = {0x0a, 3, 'a', 'b', 'c'};
  return Id().value().empty() && id.ParsePartialFromArray(text, sizeof(text)) && id.value() == "abc";
}

string idsDiffer()
{
  if (!readsItsText<mesos::FrameworkID>() || !readsItsText<mesos::SlaveID>()) {
    return "an id has its text elsewhere";
  }
  return "";
}

string messagesDiffer()
{
  for (const string& difference : {
           differs<mesos::ContainerID>("ContainerID"),
           differs<mesos::ContainerStatus>("ContainerStatus"),
           differs<mesos::Filters>("Filters"),
           differs<mesos::FrameworkID>("FrameworkID"),
           differs<mesos::Parameters>("Parameters"),
           differs<mesos::Resource>("Resource"),
           differs<mesos::ResourceStatistics>("ResourceStatistics"),
           differs<mesos::ResourceUsage>("ResourceUsage"),
           differs<mesos::SlaveID>("SlaveID"),
           differs<mesos::SlaveInfo>("SlaveInfo"),
           differs<mesos::TaskStatus>("TaskStatus"),
           differs<mesos::slave::ContainerConfig>("ContainerConfig"),
           differs<mesos::slave::ContainerLaunchInfo>("ContainerLaunchInfo"),
           differs<mesos::slave::ContainerLimitation>("ContainerLimitation"),
           differs<mesos::slave::ContainerState>("ContainerState"),
           differs<mesos::slave::QoSCorrection>("QoSCorrection"),
       }) {
    if (!difference.empty()) {
      return difference;
    }
  }
  return "";
}

// How a Resources begins; the room for its first items follows. Read as bytes, since Mesos's own class keeps it private.
struct ResourcesHead
{
  const void* items;
  size_t count;
  size_t capacity;
};

constexpr size_t RESOURCES_IN_PLACE = 15;
static_assert(sizeof(mesos::Resources) == sizeof(ResourcesHead) + RESOURCES_IN_PLACE * sizeof(std::shared_ptr<void>),
              "Resources");

// One resource, taken by the library's constructor, must read back as one and as itself. A Resources that does not must
// not be destroyed either, so it is leaked.
string resourcesDiffer()
{
  mesos::Resource resource;
  const unsigned char cpus[] = {0x0a, 4, 'c', 'p', 'u', 's', 0x10, 0, 0x1a, 9, 0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
  if (!resource.ParsePartialFromArray(cpus, sizeof(cpus))) {
    return "a Resource does not read its own bytes";
  }
  alignas(16) static unsigned char storage[sizeof(mesos::Resources) + 1024];
  auto* resources = new (storage) mesos::Resources(resource);
  ResourcesHead head;
  memcpy(&head, storage, sizeof(head));
  if (head.items != storage + sizeof(head) || head.count != 1 || head.capacity != RESOURCES_IN_PLACE) {
    return "Resources holds its items elsewhere";
  }
  const mesos::Resource& item = *resources->begin();
  if (item.SerializePartialAsString() != resource.SerializePartialAsString()) {
    return "an item of Resources does not begin with its Resource";
  }
  const mesos::Resources copy(*resources);
  *resources -= copy;
  if (!resources->empty() || copy.empty()) {
    return "Resources does not come to nothing when all is taken from it";
  }
  resources->~Resources();
  return "";
}

template <typename F>
F find(const char* name)
{
  F function = nullptr;
  void* address = dlsym(RTLD_DEFAULT, name);
  memcpy(&function, &address, sizeof(function));
  return function;
}

// The library must see our futures as we see them: pending, failed with the text, and ready after its own `set`, which runs
// the callbacks that were left with them.
string futuresDiffer()
{
  const auto fail = find<bool (*)(Future<Nothing>*, const string&)>(
      "_ZN7process6FutureI7NothingE4failERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
  const auto set = find<bool (*)(Future<Nothing>*, const Nothing&)>("_ZN7process6FutureI7NothingE3setERKS1_");
  if (fail == nullptr || set == nullptr) {
    return "Future<Nothing> cannot be completed";
  }
  Future<Nothing> failed;
  Future<Nothing> ready;
  bool heard = false;
  ready.onAny([&heard](const Future<Nothing>& future) { heard = future.isReady(); });
  if (!failed.isPending() || !fail(&failed, "why") || !failed.isFailed() || failed.failure() != "why" ||
      !set(&ready, Nothing()) || !ready.isReady() || fail(&ready, "late") || !ready.isReady() || !heard) {
    return "Future keeps its state elsewhere";
  }
  return "";
}

string importsMissing()
{
  for (const char* name : IMPORTS) {
    if (dlsym(RTLD_DEFAULT, name) == nullptr) {
      return string("it lacks ") + name;
    }
  }
  return "";
}

string findMismatch()
{
  for (string (*check)() : {importsMissing, messagesDiffer, idsDiffer, resourcesDiffer, futuresDiffer}) {
    const string difference = check();
    if (!difference.empty()) {
      return difference;
    }
  }
  return "";
}

} // namespace

string layoutMismatch()
{
  static const string mismatch = findMismatch();
  return mismatch;
}

void requireLayout()
{
  const string mismatch = layoutMismatch();
  if (!mismatch.empty()) {
    throw std::runtime_error("the running libmesos is not laid out as Mesos " MESOS_VERSION
                             ", for which this library was compiled: " +
                             mismatch + "; load the build that was made for this release of Mesos");
  }
}

} // namespace mesos_gpu
