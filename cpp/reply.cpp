// SPDX-License-Identifier: Apache-2.0
#include "mesos_gpu/reply.hpp"

#include "mesos_gpu/bytes.hpp"

namespace mesos_gpu {

void LaunchReply::launch(rust::Slice<const uint8_t> info) const
{
  using mesos::slave::ContainerLaunchInfo;
  promise->set(Option<ContainerLaunchInfo>(messageOf<ContainerLaunchInfo>("ContainerLaunchInfo", info)));
}

void LimitationReply::limit(rust::Slice<const uint8_t> limitation) const
{
  promise->set(messageOf<mesos::slave::ContainerLimitation>("ContainerLimitation", limitation));
}

void UsageReply::usage(rust::Slice<const uint8_t> statistics) const
{
  promise->set(messageOf<mesos::ResourceStatistics>("ResourceStatistics", statistics));
}

void StatusReply::status(rust::Slice<const uint8_t> status) const
{
  promise->set(messageOf<mesos::ContainerStatus>("ContainerStatus", status));
}

} // namespace mesos_gpu
