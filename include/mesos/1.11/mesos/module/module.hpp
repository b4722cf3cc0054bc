// SPDX-License-Identifier: Apache-2.0
// What Mesos finds by the name of a module: six texts, a check and a factory.
#pragma once

#include <mesos/mesos.hpp>

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
struct Module : ModuleBase
{
  T* (*create)(const Parameters& parameters);
};

} // namespace modules
} // namespace mesos
