// SPDX-License-Identifier: Apache-2.0
// Where this module filters, Mesos's own filter has to be off, or there would be nothing left to filter.
#pragma once

#include <mesos/allocator/allocator.hpp>

namespace mesos_gpu {

// The master's options without Mesos's own filter, for as long as this lives. They are the master's own local object,
// which nobody else looks at meanwhile, and a copy would need the layout of all of it.
class WithoutGpuFilter
{
public:
  explicit WithoutGpuFilter(const mesos::allocator::Options& options)
    : flag(const_cast<bool&>(options.filterGpuResources)), before(flag)
  {
    flag = false;
  }
  WithoutGpuFilter(const WithoutGpuFilter& that) = delete;
  WithoutGpuFilter& operator=(const WithoutGpuFilter& that) = delete;

  ~WithoutGpuFilter() { flag = before; }

private:
  bool& flag;
  const bool before;
};

} // namespace mesos_gpu
