// SPDX-License-Identifier: Apache-2.0
// The answer that Mesos waits for, as something the Rust core can hold and complete once, from any thread. A promise is
// made for each call; the future of it goes to Mesos at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <mesos/slave/isolator.hpp>

#include <process/future.hpp>

#include <stout/nothing.hpp>
#include <stout/option.hpp>

#include "rust/cxx.h"

namespace mesos_gpu {

template <typename T>
class Reply
{
public:
  void fail(rust::Str message) const { promise->fail(std::string(message)); }

  process::Future<T> future() const { return promise->future(); }

protected:
  Reply() : promise(std::make_shared<process::Promise<T>>()) {}

  std::shared_ptr<process::Promise<T>> promise;
};

// Done, nothing to say.
class NothingReply : public Reply<Nothing>
{
public:
  void done() const { promise->set(Nothing()); }
};

// What to add to the launch of a container: the bytes of a ContainerLaunchInfo.
class LaunchReply : public Reply<Option<mesos::slave::ContainerLaunchInfo>>
{
public:
  void launch(rust::Slice<const uint8_t> info) const;
  void nothing() const { promise->set(Option<mesos::slave::ContainerLaunchInfo>()); }
};

// Why a container must die: the bytes of a ContainerLimitation.
class LimitationReply : public Reply<mesos::slave::ContainerLimitation>
{
public:
  void limit(rust::Slice<const uint8_t> limitation) const;
};

// The bytes of a ResourceStatistics.
class UsageReply : public Reply<mesos::ResourceStatistics>
{
public:
  void usage(rust::Slice<const uint8_t> statistics) const;
};

// The bytes of a ContainerStatus.
class StatusReply : public Reply<mesos::ContainerStatus>
{
public:
  void status(rust::Slice<const uint8_t> status) const;
};

} // namespace mesos_gpu
