// SPDX-License-Identifier: Apache-2.0
#include "startup.hpp"

#include <sys/wait.h>

#include <cstdio>
#include <stdexcept>

#include "futures.hpp"
#include "messages.hpp"
#include "modules.hpp"
#include "symbol.hpp"

using std::string;
using std::vector;

using mesos::internal::HookManager;
using mesos::internal::slave::Containerizer;

namespace harness {

namespace {

constexpr const char* MANIFEST = "--manifest=";
constexpr const char* GPUS = "harness gpus: ";

struct Warnings
{
  vector<Error> list;
};

// The agent's flags, read by Mesos itself from the command line alone.
const mesos::internal::slave::Flags& flagsOf(int argc, char** argv)
{
  alignas(64) static unsigned char room[1 << 16];
  symbol<void (*)(void*)>("_ZN5mesos8internal5slave5FlagsC1Ev")(room);
  // The class derives virtually from the base that reads; its table says how far away that is.
  const long* table = *reinterpret_cast<const long* const*>(room);
  using Load = Try<Warnings> (*)(void*, const Option<string>&, int, const char* const*, bool, bool);
  const auto load = symbol<Load>(
      "_ZN5flags9FlagsBase4loadERK6OptionINSt7__cxx1112basic_stringIcSt11char_traitsIcE"
      "SaIcEEEEiPKPKcbb");
  const Try<Warnings> loaded = load(room + table[-4], None(), argc, argv, false, false);
  if (loaded.isError()) {
    throw std::runtime_error(loaded.error());
  }
  return *reinterpret_cast<const mesos::internal::slave::Flags*>(room);
}

bool named(const vector<string>& flags, const string& flag, const string& name)
{
  for (const string& one : flags) {
    if (one.rfind("--" + flag + "=", 0) == 0 && one.find(name) != string::npos) {
      return true;
    }
  }
  return false;
}

} // namespace

int startLikeAnAgent(int argc, char** argv)
{
  startMesos();
  vector<string> flags;
  vector<char*> mesosFlags{argv[0]};
  string modules;
  for (int i = 1; i < argc; ++i) {
    const string argument = argv[i];
    if (argument.rfind(MANIFEST, 0) == 0) {
      modules = argument.substr(string(MANIFEST).size());
    } else {
      flags.push_back(argument);
      mesosFlags.push_back(argv[i]);
    }
  }
  // The order is the agent's own: modules, hooks, isolators, and then the resources.
  if (!modules.empty()) {
    const Try<Nothing> loaded = mesos::modules::ModuleManager::load(manifest(modules));
    if (loaded.isError()) {
      throw std::runtime_error(loaded.error());
    }
  }
  if (named(flags, "hooks", "mesos_gpu_Hook")) {
    const Try<Nothing> initialized = HookManager::initialize("mesos_gpu_Hook");
    if (initialized.isError()) {
      throw std::runtime_error(initialized.error());
    }
  }
  if (named(flags, "isolation", "mesos_gpu_Isolator")) {
    const Try<mesos::slave::Isolator*> made = makeIsolator("mesos_gpu_Isolator");
    if (made.isError()) {
      throw std::runtime_error(made.error());
    }
  }
  const Try<mesos::Resources> before =
      Containerizer::resources(flagsOf(static_cast<int>(mesosFlags.size()), mesosFlags.data()));
  if (before.isError()) {
    throw std::runtime_error(before.error());
  }
  string fields;
  for (const mesos::Resource& one : before.get()) {
    fields += "resources { " + text(one) + " } ";
  }
  const auto info = message<mesos::SlaveInfo>("hostname: \"localhost\" " + fields);
  const mesos::Resources after = HookManager::slaveResourcesDecorator(info);
  std::printf("%s%g\n", GPUS, amount(after, "gpus"));
  // Mesos's threads are in no hurry to end.
  std::fflush(stdout);
  _exit(0);
}

Start start(const vector<string>& flags, const string& manifest)
{
  string command = "exec '" + variable("HARNESS_PROGRAM") + "' start";
  for (const string& flag : flags) {
    command += " '" + flag + "'";
  }
  if (!manifest.empty()) {
    command += " " + string(MANIFEST) + manifest;
  }
  FILE* output = popen((command + " 2>&1").c_str(), "r");
  if (output == nullptr) {
    throw std::runtime_error("cannot run " + command);
  }
  Start start{false, 0, ""};
  char part[4096];
  while (std::fgets(part, sizeof part, output) != nullptr) {
    start.said += part;
  }
  const int status = pclose(output);
  start.started = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  const std::size_t at = start.said.find(GPUS);
  if (at != string::npos) {
    start.gpus = std::stod(start.said.substr(at + string(GPUS).size()));
  }
  return start;
}

} // namespace harness
