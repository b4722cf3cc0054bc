// SPDX-License-Identifier: Apache-2.0
// What the containerizer of an agent calls on each isolator. The order of the functions is the order of the virtual
// table.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include <mesos/mesos.hpp>
#include <mesos/resources.hpp>
#include <mesos/slave/containerizer.hpp>

#include <process/future.hpp>

#include <stout/hashset.hpp>
#include <stout/nothing.hpp>
#include <stout/option.hpp>

namespace mesos {
namespace slave {

class Isolator
{
public:
  virtual ~Isolator() {}

  virtual bool supportsNesting() { return false; }
  virtual bool supportsStandalone() { return false; }

  virtual process::Future<Nothing> recover(const std::vector<ContainerState>& states,
                                           const hashset<ContainerID>& orphans) = 0;

  virtual process::Future<Option<ContainerLaunchInfo>> prepare(const ContainerID& containerId,
                                                               const ContainerConfig& containerConfig) = 0;

  virtual process::Future<Nothing> isolate(const ContainerID& containerId, pid_t pid) = 0;

  virtual process::Future<ContainerLimitation> watch(const ContainerID& containerId) = 0;

  virtual process::Future<Nothing> update(const ContainerID& containerId,
                                          const Resources& resourceRequests,
                                          const google::protobuf::Map<std::string, Value::Scalar>& resourceLimits) = 0;

  virtual process::Future<ResourceStatistics> usage(const ContainerID& containerId) = 0;

  virtual process::Future<ContainerStatus> status(const ContainerID& containerId) = 0;

  virtual process::Future<Nothing> cleanup(const ContainerID& containerId) = 0;
};

} // namespace slave
} // namespace mesos
