// SPDX-License-Identifier: Apache-2.0
// What Mesos finds by the name of a module, whatever its kind: six texts and a check. The factory follows them, in a record
// of each kind's own.
#pragma once

#define MESOS_MODULE_API_VERSION "2"

namespace mesos {
namespace modules {

struct ModuleBase
{
  const char* moduleApiVersion;
  const char* mesosVersion;
  const char* kind;
  const char* authorName;
  const char* authorEmail;
  const char* description;
  bool (*compatible)();
};

template <typename T>
struct Module;

} // namespace modules
} // namespace mesos
