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
MESOS_MESSAGE(Filters, 32);
MESOS_ID(FrameworkID);
MESOS_MESSAGE(FrameworkInfo, 224);
MESOS_MESSAGE(Labels, 48);
MESOS_MESSAGE(Parameters, 48);
MESOS_MESSAGE(Resource, 144);
MESOS_MESSAGE(ResourceStatistics, 408);
MESOS_MESSAGE(ResourceUsage, 72);
MESOS_ID(SlaveID);
MESOS_MESSAGE(SlaveInfo, 104);
MESOS_MESSAGE(TaskInfo, 224);
MESOS_MESSAGE(TaskStatus, 136);

// Handed on as they come.
class DomainInfo;
class Offer_Operation;
class Request;
class SlaveInfo_Capability;
class Unavailability;
class WeightInfo;

class Value_Scalar;

struct Value
{
  using Scalar = Value_Scalar;
};

} // namespace mesos

namespace std {

// Declared only: the sets and maps that Mesos hands over are walked and copied, never searched.
#define MESOS_DECLARE_HASH(Key)                               \
  template <>                                                 \
  struct hash<Key>                                            \
  {                                                           \
    size_t operator()(const Key& key) const;                  \
  };                                                          \
                                                              \
  template <>                                                 \
  struct equal_to<Key>                                        \
  {                                                           \
    bool operator()(const Key& left, const Key& right) const; \
  }

MESOS_DECLARE_HASH(mesos::ContainerID);
MESOS_DECLARE_HASH(mesos::FrameworkID);
MESOS_DECLARE_HASH(mesos::SlaveID);

#undef MESOS_DECLARE_HASH

} // namespace std
