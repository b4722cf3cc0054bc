// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include "mesos_gpu/fence.hpp"
#include "mesos-gpu/src/bridge/ffi.rs.h"

namespace mesos_gpu {

void throwIfTold(const char* entry)
{
  if (fault_told(rust::Str(entry))) {
    throw std::runtime_error(std::string("told to throw in ") + entry);
  }
}

} // namespace mesos_gpu
