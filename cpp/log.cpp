// SPDX-License-Identifier: Apache-2.0
#include "mesos_gpu/log.hpp"

#include <iostream>

#include <dlfcn.h>

#include <glog/logging.h>

namespace mesos_gpu {

namespace {

// Mesos's log is part of libmesos, so outside Mesos there is none.
bool insideMesos()
{
  static const bool inside = dlsym(RTLD_DEFAULT, "_ZN6google10LogMessageC1EPKcii") != nullptr;
  return inside;
}

} // namespace

void logRecord(int32_t severity, rust::Slice<const uint8_t> file, int32_t line, rust::Str message)
{
  const char* where = reinterpret_cast<const char*>(file.data());
  if (insideMesos()) {
    google::LogMessage(where, line, severity).stream() << "mesos_gpu: " << message;
  } else {
    std::cerr << "mesos_gpu: " << message << std::endl;
  }
}

void logError(const std::string& message)
{
  static const char file[] = "mesos_gpu";
  logRecord(2, {reinterpret_cast<const uint8_t*>(file), sizeof(file)}, 0, message);
}

} // namespace mesos_gpu
