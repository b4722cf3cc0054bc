// SPDX-License-Identifier: Apache-2.0
// What the estimator and the QoS controller hand to the core: the answers that Mesos waits for, and the way to ask Mesos who
// has what.
#pragma once

#include <list>

#include <mesos/mesos.hpp>
#include <mesos/resources.hpp>
#include <mesos/slave/oversubscription.hpp>

#include <process/future.hpp>

#include <stout/lambda.hpp>

#include "mesos_gpu/reply.hpp"
#include "rust/cxx.h"

namespace mesos_gpu {

// Of the core: somebody waits for a ResourceUsage.
struct UsageQuestion;
// Of the core: the bytes of one message of a list.
struct Message;

// What can be given out a second time, as the bytes of each Resource.
class ResourcesReply : public Reply<mesos::Resources>
{
public:
  // Mesos's agent ends itself over a resource that is not revocable, so such a one is refused here.
  void resources(rust::Slice<const Message> resources) const;
};

// Which executors must go, as the bytes of each QoSCorrection.
class CorrectionsReply : public Reply<std::list<mesos::slave::QoSCorrection>>
{
public:
  void corrections(rust::Slice<const Message> corrections) const;
};

// The function with which Mesos tells who has what. It may be called from any thread, and answers later, on one of Mesos's.
class Usage
{
public:
  using Source = lambda::function<process::Future<mesos::ResourceUsage>()>;

  explicit Usage(const Source& source) : source(source) {}

  // The question gets the answer, or why there is none; where Mesos gives it up, it is dropped.
  void ask(rust::Box<UsageQuestion> question) const;

private:
  Source source;
};

} // namespace mesos_gpu
