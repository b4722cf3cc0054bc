// SPDX-License-Identifier: Apache-2.0
// A real Mesos master: the library's own "local cluster" with no agents in it.
#include <unistd.h>

#include "allocator.hpp"
#include "process.hpp"

using namespace testbed;

// Mirrors `Master` in src/native.rs. A null `allocator_module` means Mesos's own allocator.
struct testbed_Master
{
  const char* work_dir;
  const char* allocator_library;
  const char* allocator_module;
  const char* allocator_parameters; // a serialized mesos::Parameters
  std::size_t allocator_parameters_size;
};

namespace {

// `local::Flags`, of which only these two are read.
struct LocalFlags
{
  void* vtable;
  std::string work_dir;
  int num_slaves;
};

// `Allocator::create` is not in the library, so the last step of `--allocator` is taken here. Without a module the
// master makes its own.
void* allocator(const testbed_Master& given)
{
  if (given.allocator_module == nullptr) {
    return nullptr;
  }
  return allocator_of(given.allocator_library, given.allocator_module, given.allocator_parameters,
                      given.allocator_parameters_size);
}

} // namespace

// Runs the master; returns only when it could not be started. Its flags come from MESOS_* variables.
extern "C" int testbed_master(const testbed_Master* given)
{
  return guarded("start the master", [&] {
    auto* flags = static_cast<LocalFlags*>(room(1 << 12));
    new (&flags->work_dir) std::string(text(given->work_dir));
    flags->num_slaves = 0;
    using Launch = void* (*)(void*, LocalFlags*, void*);
    auto launch = symbol<Launch>(INTERNAL "5local6launchERKNS1_5FlagsEPNS_9allocator9AllocatorE");
    launch(room(1 << 12), flags, allocator(*given));
    for (;;) {
      pause();
    }
    return 0;
  });
}
