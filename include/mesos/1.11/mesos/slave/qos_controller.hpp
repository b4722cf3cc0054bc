// SPDX-License-Identifier: Apache-2.0
// What the agent asks about executors that are in the way of others. The order of the functions is the order of the virtual
// table.
#pragma once

#include <list>

#include <mesos/mesos.hpp>
#include <mesos/slave/oversubscription.hpp>

#include <process/future.hpp>

#include <stout/lambda.hpp>
#include <stout/nothing.hpp>
#include <stout/try.hpp>

namespace mesos {
namespace slave {

class QoSController
{
public:
  virtual ~QoSController() {}

  virtual Try<Nothing> initialize(const lambda::function<process::Future<ResourceUsage>()>& usage) = 0;

  virtual process::Future<std::list<QoSCorrection>> corrections() = 0;
};

} // namespace slave
} // namespace mesos
