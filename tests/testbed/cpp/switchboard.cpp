// SPDX-License-Identifier: Apache-2.0
// `mesos-io-switchboard` over the exported server: without it no container can be attached to, and DEBUG containers
// have no output.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "process.hpp"

using namespace testbed;

// Mirrors `Switchboard` in src/native.rs.
struct testbed_Switchboard
{
  int tty;
  int stdin_to;
  int stdout_from;
  int stdout_to;
  int stderr_from;
  int stderr_to;
  const char* socket;
  int wait_for_connection;
  long heartbeat_nanoseconds; // 0: none
};

namespace {

// `Future<Nothing>` is one shared pointer to its data, whose state is an int behind a one-byte lock.
using Future = std::shared_ptr<char>;
constexpr int PENDING = 0, READY = 1;

int state(const Future& future)
{
  return reinterpret_cast<std::atomic<int>*>(future.get() + 4)->load(std::memory_order_acquire);
}

int run(const testbed_Switchboard& given)
{
  sigset_t termination;
  sigemptyset(&termination);
  sigaddset(&termination, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &termination, nullptr);

  using Owned = std::shared_ptr<void*>; // process::Owned<T> is a shared pointer to a pointer
  using Create = Try<Owned> (*)(bool, int, int, int, int, int, const std::string&, bool, Option<Duration>);
  auto create = symbol<Create>(SLAVE "19IOSwitchboardServer6createEbiiiiiRK" STRING "b6OptionI8DurationE");
  Option<Duration> heartbeat =
      given.heartbeat_nanoseconds == 0 ? Option<Duration>() : Option<Duration>(Duration{given.heartbeat_nanoseconds});
  Try<Owned> created = create(given.tty != 0, given.stdin_to, given.stdout_from, given.stdout_to, given.stderr_from,
                              given.stderr_to, text(given.socket), given.wait_for_connection != 0, heartbeat);
  void* server = *created.get();

  std::thread([&] {
    // SIGTERM means: wait no longer for somebody to attach. The future is kept, its callbacks may still run.
    int received;
    sigwait(&termination, &received);
    new Future(symbol<Future (*)(void*)>(SLAVE "19IOSwitchboardServer7unblockEv")(server));
  }).detach();
  Future done = symbol<Future (*)(void*)>(SLAVE "19IOSwitchboardServer3runEv")(server);
  while (state(done) == PENDING) {
    usleep(5000);
  }
  // Not `exit`: libprocess's threads are still running and must not see static objects go.
  _exit(state(done) == READY ? 0 : 1);
}

} // namespace

extern "C" int testbed_io_switchboard(const testbed_Switchboard* given)
{
  return guarded("run the io switchboard", [&] { return run(*given); });
}
