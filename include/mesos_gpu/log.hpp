// SPDX-License-Identifier: Apache-2.0
// One record into the log of the running Mesos, or to standard error where there is none (tests, the operator's tool).
#pragma once

#include <cstdint>
#include <string>

#include "rust/cxx.h"

namespace mesos_gpu {

// `severity`: 0 information, 1 warning, 2 error, as Mesos's log numbers them. `file` must end in a NUL.
void logRecord(int32_t severity, rust::Slice<const uint8_t> file, int32_t line, rust::Str message);

void logError(const std::string& message);

} // namespace mesos_gpu
