// SPDX-License-Identifier: Apache-2.0
// One record of the log that Mesos writes. The object is built and torn down by the library's own code; the room is
// larger than any version of it.
#pragma once

#include <ostream>

#include <mesos/weak.hpp>

namespace google {

const int INFO = 0;
const int WARNING = 1;
const int ERROR = 2;

class LogMessage
{
public:
  MESOS_WEAK LogMessage(const char* file, int line, int severity);
  MESOS_WEAK ~LogMessage();
  MESOS_WEAK std::ostream& stream();

private:
  alignas(16) unsigned char room[1024];
};

} // namespace google
