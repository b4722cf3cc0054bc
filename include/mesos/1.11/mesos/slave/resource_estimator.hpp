// SPDX-License-Identifier: Apache-2.0
// What the agent asks about resources that it can give out a second time. The order of the functions is the order of the
// virtual table.
#pragma once

#include <mesos/mesos.hpp>
#include <mesos/resources.hpp>

#include <process/future.hpp>

#include <stout/lambda.hpp>
#include <stout/nothing.hpp>
#include <stout/try.hpp>

namespace mesos {
namespace slave {

class ResourceEstimator
{
public:
  virtual ~ResourceEstimator() {}

  virtual Try<Nothing> initialize(const lambda::function<process::Future<ResourceUsage>()>& usage) = 0;

  virtual process::Future<Resources> oversubscribable() = 0;
};

} // namespace slave
} // namespace mesos
