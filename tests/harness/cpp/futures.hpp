// SPDX-License-Identifier: Apache-2.0
// Waiting for a future of Mesos's, as a test waits: with an end, and with words when it comes to nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include <process/future.hpp>

namespace harness {

// Far more than anything needs; the machine may be busy with others.
constexpr std::chrono::seconds PATIENCE{60};

// Whether the future completes within `patience`, whoever completes it.
template <typename T>
bool settled(const process::Future<T>& future, std::chrono::milliseconds patience = PATIENCE)
{
  struct Heard
  {
    std::mutex mutex;
    std::condition_variable changed;
    bool is = false;
  };
  // The callback may run after this has given up.
  auto heard = std::make_shared<Heard>();
  future.onAny([heard](const process::Future<T>&) {
    const std::lock_guard<std::mutex> lock(heard->mutex);
    heard->is = true;
    heard->changed.notify_one();
  });
  std::unique_lock<std::mutex> lock(heard->mutex);
  return heard->changed.wait_for(lock, patience, [&] { return heard->is; });
}

template <typename T>
testing::AssertionResult ready(const process::Future<T>& future)
{
  if (!settled(future)) {
    return testing::AssertionFailure() << "still pending after " << PATIENCE.count() << " s";
  }
  if (future.isFailed()) {
    return testing::AssertionFailure() << "failed: " << future.failure();
  }
  return future.isReady() ? testing::AssertionSuccess() : testing::AssertionFailure() << "discarded";
}

// Whether it fails, and says `why` among other things.
template <typename T>
testing::AssertionResult failed(const process::Future<T>& future, const std::string& why)
{
  if (!settled(future)) {
    return testing::AssertionFailure() << "still pending after " << PATIENCE.count() << " s";
  }
  if (!future.isFailed()) {
    return testing::AssertionFailure() << (future.isReady() ? "ready" : "discarded");
  }
  if (future.failure().find(why) == std::string::npos) {
    return testing::AssertionFailure() << "failed otherwise: " << future.failure();
  }
  return testing::AssertionSuccess();
}

} // namespace harness
