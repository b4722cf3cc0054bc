// SPDX-License-Identifier: Apache-2.0
#include "mesos_gpu/oversubscription.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "mesos_gpu/bytes.hpp"
#include "mesos_gpu/fence.hpp"
#include "mesos-gpu/src/bridge/ffi.rs.h"

namespace mesos_gpu {

namespace {

template <typename M>
M read(const char* name, const Message& message)
{
  return messageOf<M>(name, rust::Slice<const uint8_t>(message.bytes.data(), message.bytes.size()));
}

// Runs on Mesos's thread, so nothing may be thrown.
void tell(const UsageQuestion& question, const process::Future<mesos::ResourceUsage>& usage) noexcept
{
  try {
    throwIfTold("estimator.usage");
    if (usage.isReady()) {
      question.told(sliceOf(bytesOf(usage.get())));
    } else {
      question.failed(usage.isFailed() ? usage.failure() : "it was discarded");
    }
  } catch (const std::exception& e) {
    question.failed(e.what());
  } catch (...) {
    question.failed("an exception that is no std::exception");
  }
}

} // namespace

void ResourcesReply::resources(rust::Slice<const Message> resources) const
{
  mesos::Resources all;
  for (const Message& one : resources) {
    const mesos::Resource resource = read<mesos::Resource>("Resource", one);
    if (!mesos::Resources::isRevocable(resource)) {
      throw std::runtime_error("the core answered a resource that is not revocable");
    }
    all += resource;
  }
  promise->set(all);
}

void CorrectionsReply::corrections(rust::Slice<const Message> corrections) const
{
  std::list<mesos::slave::QoSCorrection> all;
  for (const Message& one : corrections) {
    all.push_back(read<mesos::slave::QoSCorrection>("QoSCorrection", one));
  }
  promise->set(all);
}

void Usage::ask(rust::Box<UsageQuestion> question) const
{
  source().onAny(
      [question = std::move(question)](const process::Future<mesos::ResourceUsage>& usage) { tell(*question, usage); });
}

} // namespace mesos_gpu
