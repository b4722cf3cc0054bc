// SPDX-License-Identifier: Apache-2.0
// The master's own allocator, for ours to stand around.
#pragma once

#include <memory>
#include <string>

#include <mesos/allocator/allocator.hpp>

namespace mesos_gpu {

// Throws when the running library has none that sorts so, or has it laid out in another way than this library was
// compiled for.
std::unique_ptr<mesos::allocator::Allocator> makeInnerAllocator(const std::string& roleSorter,
                                                                const std::string& frameworkSorter);

} // namespace mesos_gpu
