// SPDX-License-Identifier: Apache-2.0
// The hook as Mesos sees it: it advertises the GPUs of the agent. Hooks are asked on the agent's own thread and answer at
// once; an error is logged by Mesos and changes nothing.
#include <memory>
#include <string>
#include <utility>

#include <mesos/hook.hpp>

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
