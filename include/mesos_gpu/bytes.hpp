// SPDX-License-Identifier: Apache-2.0
// Mesos's messages cross to Rust as wire bytes, in both directions.
#pragma once

#include <climits>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "rust/cxx.h"

namespace mesos_gpu {

template <typename M>
std::string bytesOf(const M& message)
{
  return message.SerializePartialAsString();
}

inline rust::Slice<const uint8_t> sliceOf(const std::string& bytes)
{
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

// Throws when the bytes are not of such a message: the core wrote them, so this is a defect, reported as one.
template <typename M>
M messageOf(const char* name, rust::Slice<const uint8_t> bytes)
{
  M message;
  if (bytes.size() > INT_MAX || !message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw std::runtime_error(std::string("cannot read the bytes of a ") + name + " that the core answered");
  }
  return message;
}

} // namespace mesos_gpu
