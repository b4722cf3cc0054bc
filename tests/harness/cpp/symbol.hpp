// SPDX-License-Identifier: Apache-2.0
// Something of the running libmesos by its exported name, where no declaration of ours would give that name.
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace harness {

template <typename F>
F symbol(const std::string& name)
{
  void* address = dlsym(RTLD_DEFAULT, name.c_str());
  if (address == nullptr) {
    throw std::runtime_error("this Mesos lacks the symbol " + name);
  }
  F found;
  static_assert(sizeof found == sizeof address, "a function or a pointer");
  std::memcpy(&found, &address, sizeof found);
  return found;
}

} // namespace harness
