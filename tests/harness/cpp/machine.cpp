// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

using std::string;

namespace harness {

namespace {

template <typename... Arguments>
void call(void* library, const char* name, Arguments... arguments)
{
  void* address = dlsym(library, name);
  int (*function)(Arguments...) = nullptr;
  std::memcpy(&function, &address, sizeof function);
  const int code = function == nullptr ? -1 : function(arguments...);
  if (code != 0) {
    throw std::runtime_error(string(name) + " answers " + std::to_string(code));
  }
}

struct stat stateOf(const string& path)
{
  struct stat state = {};
  stat(path.c_str(), &state);
  return state;
}

} // namespace

std::size_t nvmlCount()
{
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(dlerror());
  }
  call(library, "nvmlInit_v2");
  unsigned count = 0;
  call(library, "nvmlDeviceGetCount_v2", &count);
  return count;
}

void makeFolder(const string& path)
{
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    throw std::runtime_error("cannot make the folder " + path + ": " + std::strerror(errno));
  }
}

bool isFolder(const string& path)
{
  return S_ISDIR(stateOf(path).st_mode);
}

bool isFile(const string& path)
{
  return S_ISREG(stateOf(path).st_mode);
}

ino_t fileNumber(const string& path)
{
  return stateOf(path).st_ino;
}

} // namespace harness
