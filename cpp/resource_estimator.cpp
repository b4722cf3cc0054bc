// SPDX-License-Identifier: Apache-2.0
// The estimator as Mesos sees it: which GPUs can be given out a second time. A failure is logged by Mesos, which goes on with
// what it was told before and asks again; a question without an answer would be its last.
#include <memory>
#include <utility>

#include <mesos/slave/resource_estimator.hpp>

#include "mesos_gpu/bytes.hpp"
#include "mesos_gpu/fence.hpp"
#include "mesos_gpu/layout.hpp"
#include "mesos_gpu/oversubscription.hpp"
#include "mesos-gpu/src/bridge/ffi.rs.h"

namespace mesos_gpu {

namespace {

class ResourceEstimator final : public mesos::slave::ResourceEstimator
{
public:
  explicit ResourceEstimator(rust::Box<EstimatorCore> core) : core(std::move(core)) {}

  Try<Nothing> initialize(const Usage::Source& usage) override
  {
    return fencedTry("estimator.initialize", [&] { core->initialize(std::make_unique<Usage>(usage)); });
  }

  process::Future<mesos::Resources> oversubscribable() override
  {
    return fenced<ResourcesReply>("estimator.oversubscribable",
                                  [&](auto reply) { core->oversubscribable(std::move(reply)); });
  }

private:
  rust::Box<EstimatorCore> core;
};

} // namespace

} // namespace mesos_gpu

extern "C" mesos::slave::ResourceEstimator* mesos_gpu_create_resource_estimator(const mesos::Parameters& parameters)
{
  using namespace mesos_gpu;
  return fencedCreate("estimator.create", [&]() -> mesos::slave::ResourceEstimator* {
    requireLayout();
    return new ResourceEstimator(create_estimator(sliceOf(bytesOf(parameters))));
  });
}
