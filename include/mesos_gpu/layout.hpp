// SPDX-License-Identifier: Apache-2.0
// Whether the libmesos that is running is laid out as this library was compiled for.
#pragma once

#include <string>

namespace mesos_gpu {

// Empty when it is; else what differs, in words. Constructs objects of the running library in patterned storage and looks
// at what was written, so that a wrong guess is found before anything rests on it.
std::string layoutMismatch();

// Throws with what differs, if anything does. The answer is worked out once.
void requireLayout();

} // namespace mesos_gpu
