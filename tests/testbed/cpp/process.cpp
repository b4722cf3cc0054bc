// SPDX-License-Identifier: Apache-2.0
// The steps that a master and an agent share: logging, libprocess, modules and hooks, in the order in which the
// programs of Mesos take them.
#include "process.hpp"

namespace testbed {

void load_flags(void* flags_base, const char* prefix, int argc, const char* const* argv)
{
  using Load = Try<Warnings> (*)(void*, const Option<std::string>&, int, const char* const*, bool, bool);
  auto load = symbol<Load>("_ZN5flags9FlagsBase4loadERK6OptionI" STRING "EiPKPKcbb");
  Try<Warnings> loaded = load(flags_base, option(prefix), argc, argv, false, false);
  for (const Error& warning : loaded.get().list) {
    std::fprintf(stderr, "testbed: %s\n", warning.message.c_str());
  }
}

void spawn(void* process, bool manage)
{
  // The UPID comes back through a hidden pointer to room of ours; `Process<T>` derives virtually from `ProcessBase`.
  using Spawn = void* (*)(void*, void*, bool);
  symbol<Spawn>("_ZN7process5spawnEPNS_11ProcessBaseEb")(room(4096), virtual_base(process, 0), manage);
}

} // namespace testbed

using namespace testbed;

// Starts logging and libprocess; `id` names the process that answers for the root of the HTTP API.
extern "C" int testbed_initialize(const char* program, const char* id, const char* realm)
{
  return guarded("start libprocess", [&] {
    Option<int> no_flags; // Option<logging::Flags>, of which an empty one only needs its state.
    void* none = room(4096);
    new (none) Option<int>(no_flags);
    using Logging = void (*)(const std::string&, bool, const void*);
    symbol<Logging>(INTERNAL "7logging10initializeERK" STRING "bRK6OptionINS1_5FlagsEE")(text(program), true, none);

    using Initialize = bool (*)(const Option<std::string>&, const Option<std::string>&, const Option<std::string>&);
    auto initialize = symbol<Initialize>("_ZN7process10initializeERK6OptionI" STRING "ES9_S9_");
    std::string prefix = "mesos-" + text(realm);
    if (!initialize(option(id), Option<std::string>(prefix + "-readwrite"),
                    Option<std::string>(prefix + "-readonly"))) {
      throw std::runtime_error("it was running already");
    }
    void* version = room(1 << 16);
    symbol<void (*)(void*)>(INTERNAL "14VersionProcessC1Ev")(version);
    spawn(version, true);
    return 0;
  });
}

// Loads every module manifest of a folder: of Mesos's loaders, the one that takes the text itself is not exported.
extern "C" int testbed_load_modules(const char* folder)
{
  return guarded("load modules", [&] {
    using Load = Try<Nothing> (*)(const std::string&);
    symbol<Load>(MESOS "7modules13ModuleManager4loadERK" STRING)(text(folder)).get();
    return 0;
  });
}

extern "C" int testbed_initialize_hooks(const char* hooks)
{
  return guarded("initialize hooks", [&] {
    using Initialize = Try<Nothing> (*)(const std::string&);
    symbol<Initialize>(INTERNAL "11HookManager10initializeERK" STRING)(text(hooks)).get();
    return 0;
  });
}
