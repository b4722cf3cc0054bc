// SPDX-License-Identifier: Apache-2.0
// The QoS controller as Mesos sees it: which executors must go. Mesos asks again as soon as it has an answer, a failure
// included, so neither the core nor the fence here answers before there is something to say.
#include <exception>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include <mesos/slave/qos_controller.hpp>

#include "mesos_gpu/bytes.hpp"
#include "mesos_gpu/fence.hpp"
#include "mesos_gpu/layout.hpp"
#include "mesos_gpu/oversubscription.hpp"
#include "mesos-gpu/src/bridge/ffi.rs.h"

namespace mesos_gpu {

namespace {

class QoSController final : public mesos::slave::QoSController
{
public:
  explicit QoSController(rust::Box<ControllerCore> core) : core(std::move(core)) {}

  // Who has what is known from the isolator.
  Try<Nothing> initialize(const Usage::Source&) override
  {
    return fencedTry("controller.initialize", [&] { core->initialize(); });
  }

  process::Future<std::list<mesos::slave::QoSCorrection>> corrections() override
  {
    auto reply = std::make_unique<CorrectionsReply>();
    auto future = reply->future();
    try {
      throwIfTold("controller.corrections");
      core->corrections(std::move(reply));
    } catch (const std::exception& e) {
      core->fail_later(std::move(reply), e.what());
    }
    return future;
  }

private:
  rust::Box<ControllerCore> core;
};

} // namespace

} // namespace mesos_gpu

extern "C" mesos::slave::QoSController* mesos_gpu_create_qos_controller(const mesos::Parameters& parameters)
{
  using namespace mesos_gpu;
  return fencedCreate("controller.create", [&]() -> mesos::slave::QoSController* {
    requireLayout();
    return new QoSController(create_controller(sliceOf(bytesOf(parameters))));
  });
}
