// SPDX-License-Identifier: Apache-2.0
// What master, agent and the helpers of a container have in common: flags, libprocess, guarded entries.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

#include "abi.hpp"

namespace testbed {

// Reads `--name=value` from `argv` and PREFIX_NAME from the environment into a flags object.
void load_flags(void* flags_base, const char* prefix, int argc, const char* const* argv);

// Hands a `Process<T>` to libprocess.
void spawn(void* process, bool manage);

// No exception may cross into Rust: it is reported, and the program ends with 1.
template <typename F>
int guarded(const char* what, F body) noexcept
{
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "testbed: cannot %s: %s\n", what, error.what());
  } catch (...) {
    std::fprintf(stderr, "testbed: cannot %s: an exception of an unknown type\n", what);
  }
  return 1;
}

} // namespace testbed
