// SPDX-License-Identifier: Apache-2.0
// The isolator as Mesos sees it: each call becomes bytes and a promise, and returns at once.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <mesos/slave/isolator.hpp>

#include "messages.hpp"
#include "mesos_gpu/bytes.hpp"
#include "mesos_gpu/fence.hpp"
#include "mesos_gpu/layout.hpp"
#include "mesos_gpu/log.hpp"
#include "mesos_gpu/reply.hpp"
#include "mesos-gpu/src/bridge/ffi.rs.h"

using std::string;
using std::vector;

using mesos::ContainerID;
using mesos::slave::ContainerConfig;
using mesos::slave::ContainerLaunchInfo;
using mesos::slave::ContainerLimitation;
using mesos::slave::ContainerState;
using process::Future;

namespace mesos_gpu {

namespace {

class Isolator final : public mesos::slave::Isolator
{
public:
  explicit Isolator(rust::Box<IsolatorCore> core) : core(std::move(core)) {}

  bool supportsNesting() override { return true; }
  bool supportsStandalone() override { return true; }

  Future<Nothing> recover(const vector<ContainerState>& states, const hashset<ContainerID>& orphans) override
  {
    return fenced<NothingReply>("isolator.recover", [&](auto reply) {
      core->recover(allBytesOf<ContainerState>(states), allBytesOf<ContainerID>(orphans), std::move(reply));
    });
  }

  Future<Option<ContainerLaunchInfo>> prepare(const ContainerID& id, const ContainerConfig& config) override
  {
    return fenced<LaunchReply>("isolator.prepare", [&](auto reply) {
      core->prepare(sliceOf(bytesOf(id)), sliceOf(bytesOf(config)), std::move(reply));
    });
  }

  Future<Nothing> isolate(const ContainerID& id, pid_t pid) override
  {
    return fenced<NothingReply>("isolator.isolate",
                                [&](auto reply) { core->isolate(sliceOf(bytesOf(id)), pid, std::move(reply)); });
  }

  Future<ContainerLimitation> watch(const ContainerID& id) override
  {
    return fenced<LimitationReply>("isolator.watch",
                                   [&](auto reply) { core->watch(sliceOf(bytesOf(id)), std::move(reply)); });
  }

  Future<Nothing> update(const ContainerID& id,
                         const mesos::Resources& requests,
                         const google::protobuf::Map<string, mesos::Value::Scalar>&) override
  {
    return fenced<NothingReply>("isolator.update", [&](auto reply) {
      core->update(sliceOf(bytesOf(id)), allBytesOf<mesos::Resource>(requests), std::move(reply));
    });
  }

  Future<mesos::ResourceStatistics> usage(const ContainerID& id) override
  {
    return fenced<UsageReply>("isolator.usage",
                              [&](auto reply) { core->usage(sliceOf(bytesOf(id)), std::move(reply)); });
  }

  Future<mesos::ContainerStatus> status(const ContainerID& id) override
  {
    return fenced<StatusReply>("isolator.status",
                               [&](auto reply) { core->status(sliceOf(bytesOf(id)), std::move(reply)); });
  }

  Future<Nothing> cleanup(const ContainerID& id) override
  {
    return fenced<NothingReply>("isolator.cleanup",
                                [&](auto reply) { core->cleanup(sliceOf(bytesOf(id)), std::move(reply)); });
  }

private:
  rust::Box<IsolatorCore> core;
};

} // namespace

} // namespace mesos_gpu

extern "C" mesos::slave::Isolator* mesos_gpu_create_isolator(const mesos::Parameters& parameters)
{
  using namespace mesos_gpu;
  return fencedCreate("isolator.create", [&]() -> mesos::slave::Isolator* {
    requireLayout();
    return new Isolator(create_isolator(sliceOf(bytesOf(parameters))));
  });
}
