// SPDX-License-Identifier: Apache-2.0
// The points at which the agent and the master ask a hook. The order of the functions is the order of the virtual table;
// a hook that has nothing to say answers none.
#pragma once

#include <map>
#include <string>

#include <mesos/attributes.hpp>
#include <mesos/mesos.hpp>
#include <mesos/resources.hpp>

#include <process/future.hpp>

#include <stout/none.hpp>
#include <stout/nothing.hpp>
#include <stout/option.hpp>
#include <stout/result.hpp>
#include <stout/try.hpp>

namespace mesos {

MESOS_MESSAGE(DockerTaskExecutorPrepareInfo, 40);

class Hook
{
public:
  virtual ~Hook() {}

  virtual Result<Labels> masterLaunchTaskLabelDecorator(const TaskInfo& taskInfo,
                                                        const FrameworkInfo& frameworkInfo,
                                                        const SlaveInfo& slaveInfo)
  {
    (void)taskInfo;
    (void)frameworkInfo;
    (void)slaveInfo;
    return None();
  }

  virtual Result<Resources> masterLaunchTaskResourceDecorator(const TaskInfo& taskInfo, const Resources& slaveResources)
  {
    (void)taskInfo;
    (void)slaveResources;
    return None();
  }

  virtual Result<Labels> slaveRunTaskLabelDecorator(const TaskInfo& taskInfo,
                                                    const ExecutorInfo& executorInfo,
                                                    const FrameworkInfo& frameworkInfo,
                                                    const SlaveInfo& slaveInfo)
  {
    (void)taskInfo;
    (void)executorInfo;
    (void)frameworkInfo;
    (void)slaveInfo;
    return None();
  }

  virtual Try<Nothing> masterSlaveLostHook(const SlaveInfo& slaveInfo)
  {
    (void)slaveInfo;
    return Nothing();
  }

  virtual Result<Environment> slaveExecutorEnvironmentDecorator(const ExecutorInfo& executorInfo)
  {
    (void)executorInfo;
    return None();
  }

  virtual process::Future<Option<DockerTaskExecutorPrepareInfo>> slavePreLaunchDockerTaskExecutorDecorator(
      const Option<TaskInfo>& taskInfo,
      const ExecutorInfo& executorInfo,
      const std::string& containerName,
      const std::string& containerWorkDirectory,
      const std::string& mappedSandboxDirectory,
      const Option<std::map<std::string, std::string>>& env)
  {
    (void)taskInfo;
    (void)executorInfo;
    (void)containerName;
    (void)containerWorkDirectory;
    (void)mappedSandboxDirectory;
    (void)env;
    return Option<DockerTaskExecutorPrepareInfo>();
  }

  virtual Try<Nothing> slavePostFetchHook(const ContainerID& containerId, const std::string& directory)
  {
    (void)containerId;
    (void)directory;
    return Nothing();
  }

  virtual Try<Nothing> slaveRemoveExecutorHook(const FrameworkInfo& frameworkInfo, const ExecutorInfo& executorInfo)
  {
    (void)frameworkInfo;
    (void)executorInfo;
    return Nothing();
  }

  virtual Result<TaskStatus> slaveTaskStatusDecorator(const FrameworkID& frameworkId, const TaskStatus& status)
  {
    (void)frameworkId;
    (void)status;
    return None();
  }

  virtual Result<Resources> slaveResourcesDecorator(const SlaveInfo& slaveInfo)
  {
    (void)slaveInfo;
    return None();
  }

  virtual Result<Attributes> slaveAttributesDecorator(const SlaveInfo& slaveInfo)
  {
    (void)slaveInfo;
    return None();
  }
};

} // namespace mesos
