// SPDX-License-Identifier: Apache-2.0
// The messages of Mesos's public interface that a module handles.
#pragma once

#include <functional>
#include <string>

#include <mesos/message.hpp>

namespace mesos {

MESOS_MESSAGE(ContainerID, 40);
MESOS_MESSAGE(ContainerStatus, 72);
MESOS_MESSAGE(Environment, 48);
MESOS_MESSAGE(ExecutorInfo, 136);
MESOS_MESSAGE(FrameworkID, 32);
MESOS_MESSAGE(FrameworkInfo, 224);
MESOS_MESSAGE(Labels, 48);
MESOS_MESSAGE(Parameters, 48);
MESOS_MESSAGE(Resource, 144);
MESOS_MESSAGE(ResourceStatistics, 408);
MESOS_MESSAGE(SlaveInfo, 104);
MESOS_MESSAGE(TaskInfo, 224);
MESOS_MESSAGE(TaskStatus, 136);

class Value_Scalar;

struct Value
{
  using Scalar = Value_Scalar;
};

} // namespace mesos

namespace std {

// Declared only: the sets that Mesos hands over are walked, never searched.
template <>
struct hash<mesos::ContainerID>
{
  size_t operator()(const mesos::ContainerID& id) const;
};

template <>
struct equal_to<mesos::ContainerID>
{
  bool operator()(const mesos::ContainerID& left, const mesos::ContainerID& right) const;
};

} // namespace std
