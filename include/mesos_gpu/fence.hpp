// SPDX-License-Identifier: Apache-2.0
// Nothing thrown on our side reaches Mesos: each entry runs inside one of these, which turn an exception into the answer
// that the entry gives for a failure.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <process/future.hpp>

#include <stout/error.hpp>
#include <stout/nothing.hpp>
#include <stout/result.hpp>
#include <stout/try.hpp>

#include "mesos_gpu/log.hpp"

namespace mesos_gpu {

// Throws when a debug build was told to fail at this entry, so that the fences can be tested; nothing in a release build.
void throwIfTold(const char* entry);

// An exception is always a defect, and Mesos keeps some failures to itself (that of a cleanup), so the log has it too.
inline process::Failure thrown(const char* entry, const std::string& what)
{
  const std::string message = std::string(entry) + ": " + what;
  logError(message);
  return process::Failure("mesos_gpu: " + message);
}

// An entry that answers with a future. `call` gets a reply to hand to the core.
template <typename R, typename F>
auto fenced(const char* entry, F call) -> decltype(std::declval<R>().future())
{
  try {
    throwIfTold(entry);
    auto reply = std::make_unique<R>();
    auto future = reply->future();
    call(std::move(reply));
    return future;
  } catch (const std::exception& e) {
    return thrown(entry, e.what());
  } catch (...) {
    return thrown(entry, "an exception that is no std::exception");
  }
}

// An entry that answers at once.
template <typename T, typename F>
Result<T> fencedResult(const char* entry, F call)
{
  try {
    throwIfTold(entry);
    return call();
  } catch (const std::exception& e) {
    return Error(std::string("mesos_gpu: ") + entry + ": " + e.what());
  } catch (...) {
    return Error(std::string("mesos_gpu: ") + entry + ": an exception that is no std::exception");
  }
}

// An entry that does something at once or says why not.
template <typename F>
Try<Nothing> fencedTry(const char* entry, F call)
{
  try {
    throwIfTold(entry);
    call();
    return Nothing();
  } catch (const std::exception& e) {
    return Error(std::string("mesos_gpu: ") + entry + ": " + e.what());
  } catch (...) {
    return Error(std::string("mesos_gpu: ") + entry + ": an exception that is no std::exception");
  }
}

// A factory. Mesos takes null for "cannot be made"; the reason is in the log.
template <typename F>
auto fencedCreate(const char* entry, F make) -> decltype(make())
{
  try {
    throwIfTold(entry);
    return make();
  } catch (const std::exception& e) {
    logError(std::string("cannot create the module: ") + e.what());
  } catch (...) {
    logError("cannot create the module: an exception that is no std::exception");
  }
  return nullptr;
}

} // namespace mesos_gpu
