// SPDX-License-Identifier: Apache-2.0
// Mesos's length of time: nanoseconds, signed.
#pragma once

#include <cstdint>

class Duration
{
public:
  explicit Duration(int64_t nanoseconds) : nanos(nanoseconds) {}

  int64_t ns() const { return nanos; }

private:
  int64_t nanos;
};
