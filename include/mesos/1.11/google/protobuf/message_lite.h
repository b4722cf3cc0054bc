// SPDX-License-Identifier: Apache-2.0
// The one thing that is asked of a protobuf message: its bytes. The methods are the library's own, and are called on
// objects that the library's own constructors made.
#pragma once

#include <cstddef>
#include <string>

#include <mesos/weak.hpp>

namespace google {
namespace protobuf {

class MessageLite
{
public:
  MESOS_WEAK std::string SerializePartialAsString() const;
  MESOS_WEAK bool AppendPartialToString(std::string* output) const;
  MESOS_WEAK bool ParsePartialFromArray(const void* data, int size);
};

template <typename Key, typename T>
class Map;

} // namespace protobuf
} // namespace google
