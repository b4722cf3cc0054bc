// SPDX-License-Identifier: Apache-2.0
// The hook as Mesos sees it: it advertises the GPUs of the agent and says in each task's status which of them the task
// has. Hooks are asked on the agent's own thread and answer at once; an error is logged by Mesos and changes nothing.
#include <memory>
#include <string>
#include <utility>

#include <mesos/hook.hpp>

#include "attributes.hpp"
#include "mesos_gpu/bytes.hpp"
#include "mesos_gpu/fence.hpp"
#include "mesos_gpu/layout.hpp"
#include "mesos-gpu/src/bridge/ffi.rs.h"

namespace mesos_gpu {

namespace {

class Hook final : public mesos::Hook
{
public:
  explicit Hook(rust::Box<HookCore> core) : core(std::move(core)) {}

  Result<mesos::Resources> slaveResourcesDecorator(const mesos::SlaveInfo& info) override
  {
    return fencedResult<mesos::Resources>("hook.resources", [&]() -> Result<mesos::Resources> {
      mesos::Resources resources;
      for (const Message& one : core->resources(sliceOf(bytesOf(info)))) {
        resources += messageOf<mesos::Resource>("Resource", {one.bytes.data(), one.bytes.size()});
      }
      return resources;
    });
  }

  // Here and below, an empty answer of the core says that nothing is to be added.
  Result<mesos::Attributes> slaveAttributesDecorator(const mesos::SlaveInfo& info) override
  {
    return fencedResult<mesos::Attributes>("hook.attributes", [&]() -> Result<mesos::Attributes> {
      const rust::Vec<Message> attributes = core->attributes(sliceOf(bytesOf(info)));
      if (attributes.empty()) {
        return None();
      }
      return attributesOf(attributes);
    });
  }

  Result<mesos::TaskStatus> slaveTaskStatusDecorator(const mesos::FrameworkID& framework,
                                                     const mesos::TaskStatus& status) override
  {
    return fencedResult<mesos::TaskStatus>("hook.status", [&]() -> Result<mesos::TaskStatus> {
      const rust::Vec<uint8_t> decorated = core->status(sliceOf(bytesOf(framework)), sliceOf(bytesOf(status)));
      if (decorated.empty()) {
        return None();
      }
      return messageOf<mesos::TaskStatus>("TaskStatus", {decorated.data(), decorated.size()});
    });
  }

private:
  rust::Box<HookCore> core;
};

} // namespace

} // namespace mesos_gpu

extern "C" mesos::Hook* mesos_gpu_create_hook(const mesos::Parameters& parameters)
{
  using namespace mesos_gpu;
  return fencedCreate("hook.create", [&]() -> mesos::Hook* {
    requireLayout();
    return new Hook(create_hook(sliceOf(bytesOf(parameters))));
  });
}
