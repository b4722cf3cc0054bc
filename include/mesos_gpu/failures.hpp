// SPDX-License-Identifier: Apache-2.0
// Calls whose failure changes nothing for Mesos, so that the log is all that tells of it. A defect shows at every such
// call, thousands of times a second in a master, so the log gets the first, then at most one a minute.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>

#include "mesos_gpu/fence.hpp"
#include "mesos_gpu/log.hpp"

namespace mesos_gpu {

class Failures
{
  using Clock = std::chrono::steady_clock;

public:
  // Whether `call` came to its end.
  template <typename F>
  bool caught(const char* entry, F call)
  {
    try {
      throwIfTold(entry);
      call();
      return true;
    } catch (const std::exception& e) {
      say(std::string(entry) + ": " + e.what());
    } catch (...) {
      say(std::string(entry) + ": an exception that is no std::exception");
    }
    return false;
  }

private:
  void say(std::string message)
  {
    std::lock_guard<std::mutex> guard(mutex);
    const Clock::time_point now = Clock::now();
    if (said && now - last < std::chrono::minutes(1)) {
      ++unsaid;
      return;
    }
    if (unsaid > 0) {
      message += " (and " + std::to_string(unsaid) + " failures since the last one that was logged)";
    }
    logError(message);
    said = true;
    last = now;
    unsaid = 0;
  }

  std::mutex mutex;
  bool said = false;
  Clock::time_point last;
  uint64_t unsaid = 0;
};

} // namespace mesos_gpu
