// SPDX-License-Identifier: Apache-2.0
// A real Mesos agent, put together from its exported parts in the order of Mesos's own program: the library of the
// `mesos-scheduler` package has everything but `main`.
#include <unistd.h>

#include "process.hpp"

using namespace testbed;

// Mirrors `Agent` in src/native.rs. Strings that may be null say "not given".
struct testbed_Agent
{
  int argc;
  const char* const* argv;
  const char* id;
  const char* master;
  const char* work_dir;
  const char* resource_estimator;
  const char* qos_controller;
};

namespace {

template <typename T>
T create(const char* name, const Option<std::string>& argument)
{
  return symbol<Try<T> (*)(const Option<std::string>&)>(name)(argument).get();
}

void* containerizer(void* flags, void* fetcher, void* garbage, void* secrets)
{
  using Create = Try<void*> (*)(void*, bool, void*, void*, void*, void*, void*, void*);
  auto create =
      symbol<Create>(SLAVE
                     "13Containerizer6createERKNS1_5FlagsEbPNS1_7FetcherEPNS1_16GarbageCollectorEPNS_14SecretResolver"
                     "EPNS1_16VolumeGidManagerEPNS0_20PendingFutureTrackerEPNS1_9CSIServerE");
  return create(flags, false, fetcher, garbage, secrets, nullptr, nullptr, nullptr).get();
}

void* master_detector(const char* master)
{
  using Create = Try<void*> (*)(const Option<std::string>&, const Option<std::string>&, const Option<Duration>&);
  auto create =
      symbol<Create>(MESOS "6master8detector14MasterDetector6createERK6OptionI" STRING "ESC_RKS3_I8DurationE");
  return create(option(master), option(nullptr), Option<Duration>(Duration{10'000'000'000})).get();
}

int run(const testbed_Agent& given)
{
  void* flags = room(1 << 16);
  symbol<void (*)(void*)>(SLAVE "5FlagsC1Ev")(flags);
  load_flags(virtual_base(flags, 1), "MESOS_", given.argc, given.argv);

  const std::string id = text(given.id);
  const std::string work_dir = text(given.work_dir);
  void* fetcher = room(1 << 12);
  symbol<void (*)(void*, void*)>(SLAVE "7FetcherC1ERKNS1_5FlagsE")(fetcher, flags);
  void* garbage = room(1 << 12);
  symbol<void (*)(void*, const std::string&)>(SLAVE "16GarbageCollectorC1ERK" STRING)(garbage, work_dir);
  auto* secrets = create<void*>(MESOS "14SecretResolver6createERK6OptionI" STRING "E", option(nullptr));
  void* containers = containerizer(flags, fetcher, garbage, secrets);
  void* detector = master_detector(given.master);

  Option<std::string> realm(std::string("mesos-agent-readonly"));
  Option<void*> no_authorizer;
  void* files = room(1 << 12);
  using Files = void (*)(void*, const Option<std::string>&, const Option<void*>&);
  symbol<Files>(INTERNAL "5FilesC1ERK6OptionI" STRING "ERKS2_IPNS_10AuthorizerEE")(files, realm, no_authorizer);
  void* updates = room(1 << 12);
  symbol<void (*)(void*, void*)>(SLAVE "23TaskStatusUpdateManagerC1ERKNS1_5FlagsE")(updates, flags);
  auto* estimator =
      create<void*>(MESOS "5slave17ResourceEstimator6createERK6OptionI" STRING "E", option(given.resource_estimator));
  auto* controller =
      create<void*>(MESOS "5slave13QoSController6createERK6OptionI" STRING "E", option(given.qos_controller));

  void* slave = room(1 << 18);
  std::shared_ptr<void*> no_csi;           // process::Owned<CSIServer>
  Option<std::shared_ptr<void>> no_socket; // Option<Socket>: the socket is one shared pointer
  using Slave =
      void (*)(void*, const std::string&, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*,
               std::shared_ptr<void*>*, const Option<std::shared_ptr<void>>&, const Option<void*>&);
  auto construct = symbol<Slave>(
      SLAVE
      "5SlaveC1ERK" STRING
      "RKNS1_5FlagsEPNS_6master8detector14MasterDetectorEPNS1_13ContainerizerEPNS0_5FilesE"
      "PNS1_16GarbageCollectorEPNS1_23TaskStatusUpdateManagerEPNS_5slave17ResourceEstimatorEPNSQ_13QoSControllerE"
      "PNS_15SecretGeneratorEPNS1_16VolumeGidManagerEPNS0_20PendingFutureTrackerEON7process5OwnedINS1_9CSIServerEEE"
      "RK6OptionINS11_7network8internal6SocketINS17_4unix7AddressEEEERKS16_IPNS_10AuthorizerEE");
  construct(slave, id, flags, detector, containers, files, garbage, updates, estimator, controller, nullptr, nullptr,
            nullptr, &no_csi, no_socket, no_authorizer);
  spawn(slave, false);
  for (;;) {
    pause();
  }
}

} // namespace

// The name that libprocess gives the next agent of this process. Asked for before libprocess starts, since the agent
// answers for the root of its HTTP API.
extern "C" int testbed_agent_id(char* buffer, std::size_t size)
{
  return guarded("name the agent", [&] {
    using Generate = std::string (*)(const std::string&);
    std::string id = symbol<Generate>("_ZN7process2ID8generateERK" STRING)("slave");
    if (id.size() + 1 > size) {
      throw std::runtime_error("its name is too long");
    }
    std::memcpy(buffer, id.c_str(), id.size() + 1);
    return 0;
  });
}

// Runs the agent; returns only when it could not be started.
extern "C" int testbed_agent(const testbed_Agent* given)
{
  return guarded("start the agent", [&] { return run(*given); });
}
