// SPDX-License-Identifier: Apache-2.0
// The subcommands of `mesos-containerizer` that the library carries: what runs between an agent's fork and the
// container's own program.
#include "process.hpp"

using namespace testbed;

namespace {

// `Subcommand` is a vtable pointer, a name and a `FlagsBase`; the flags of the launcher follow it.
constexpr std::size_t LAUNCH_FLAGS = 224;

void load(void* flags_base, int argc, const char* const* argv)
{
  load_flags(flags_base, "MESOS_CONTAINERIZER_", argc, argv);
}

} // namespace

extern "C" int testbed_containerizer_launch(int argc, const char* const* argv)
{
  return guarded("launch a container", [&] {
    // The constructor is inline in Mesos's header, so its work is done by hand with the exported vtable and flags.
    char* launcher = static_cast<char*>(room(1 << 16));
    *reinterpret_cast<char**>(launcher) = symbol<char*>("_ZTVN5mesos8internal5slave24MesosContainerizerLaunchE") + 16;
    new (launcher + sizeof(void*)) std::string("launch");
    symbol<void (*)(void*)>(SLAVE "24MesosContainerizerLaunch5FlagsC1Ev")(launcher + LAUNCH_FLAGS);
    load(symbol<void* (*)(void*)>(SLAVE "24MesosContainerizerLaunch8getFlagsEv")(launcher), argc, argv);
    return symbol<int (*)(void*)>(SLAVE "24MesosContainerizerLaunch7executeEv")(launcher);
  });
}

extern "C" int testbed_network_cni_setup(int argc, const char* const* argv)
{
  return guarded("set up the network of a container", [&] {
    void* setup = room(1 << 16);
    symbol<void (*)(void*)>(SLAVE "23NetworkCniIsolatorSetupC1Ev")(setup);
    load(symbol<void* (*)(void*)>(SLAVE "23NetworkCniIsolatorSetup8getFlagsEv")(setup), argc, argv);
    return symbol<int (*)(void*)>(SLAVE "23NetworkCniIsolatorSetup7executeEv")(setup);
  });
}
