// SPDX-License-Identifier: Apache-2.0
// A real Mesos master: the library's own "local cluster" with no agents in it.
#include <unistd.h>

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

// The record that a module library exports under the module's name.
struct ModuleRecord
{
  const char* module_api_version;
  const char* mesos_version;
  const char* kind;
  const char* author_name;
  const char* author_email;
  const char* description;
  bool (*compatible)();
  void* (*create)(const void* parameters);
};

// `Allocator::create` is not in the library, so the last step of `--allocator` is taken here; by then the module
// manager has loaded the library and verified the record.
void* allocator(const testbed_Master& given)
{
  if (given.allocator_module == nullptr) {
    return nullptr;
  }
  void* library = dlopen(given.allocator_library, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(text(dlerror()));
  }
  auto* record = static_cast<const ModuleRecord*>(dlsym(library, given.allocator_module));
  if (record == nullptr) {
    throw std::runtime_error(text(dlerror()));
  }
  if (text(record->kind) != "Allocator") {
    throw std::runtime_error(text(given.allocator_module) + " is a module of kind " + text(record->kind));
  }
  void* parameters = room(256);
  symbol<void (*)(void*)>(MESOS "10ParametersC1Ev")(parameters);
  const std::string bytes(given.allocator_parameters, given.allocator_parameters_size);
  using Parse = bool (*)(void*, const std::string&);
  if (!symbol<Parse>("_ZN6google8protobuf11MessageLite15ParseFromStringERK" STRING)(parameters, bytes)) {
    throw std::runtime_error("the parameters of the allocator module cannot be parsed");
  }
  void* created = record->create(parameters);
  if (created == nullptr) {
    throw std::runtime_error("the allocator module created nothing");
  }
  return created;
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
