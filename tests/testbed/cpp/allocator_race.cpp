// SPDX-License-Identifier: Apache-2.0
// Agents that go and come back under their ids while an allocator offers them. An agent's removal and return wait in the
// allocator's queue while it makes offers; what is given back of such an offer waits behind them, for an agent that does
// not hold it any more. A master does the same, but not often enough to be sure of it.
#include <unistd.h>

#include <atomic>

#include "allocator.hpp"
#include "process.hpp"

using namespace testbed;

// Mirrors `Given` in src/native/allocator_race.rs.
struct testbed_AllocatorRace
{
  const char* library;
  const char* module;
  const char* parameters; // a serialized mesos::Parameters
  std::size_t parameters_size;
  std::size_t agents;
  std::size_t frameworks;
  std::size_t rounds;
  std::size_t* offered; // agents in all offers
  std::size_t* gpus;    // offered to a last framework, which takes them, after all has come to rest
};

namespace {

// Agents that go before the allocator has time to look at what came back.
constexpr std::size_t AT_ONCE = 20;
constexpr unsigned PAUSE_MICROSECONDS = 1000;
constexpr std::size_t GPUS = 8;
constexpr int PATIENCE = 20000; // times the pause

class Race
{
public:
  explicit Race(const testbed_AllocatorRace& given)
    : given_(given),
      allocator_(
          static_cast<Allocator*>(allocator_of(given.library, given.module, given.parameters, given.parameters_size))),
      capabilities_(agent_capabilities())
  {
    total_.add("cpus", 64);
    total_.add("mem", 262144);
    total_.add("disk", 1e6);
    total_.add("gpus", GPUS);
    for (std::size_t i = 0; i < given.agents; ++i) {
      agents_.push_back(agent_of(i));
    }
  }

  void run()
  {
    start();
    for (std::size_t i = 0; i < given_.frameworks; ++i) {
      add_framework(i, false);
    }
    for (const Member& agent : agents_) {
      add(agent);
    }
    for (std::size_t round = 0; round < given_.rounds; ++round) {
      for (std::size_t i = 0; i < agents_.size(); ++i) {
        allocator_->removeSlave(agents_[i].id);
        add(agents_[i]);
        if (i % AT_ONCE == 0) {
          usleep(PAUSE_MICROSECONDS);
        }
      }
    }
    // What is wrong with a call shows when the allocator comes to it.
    const Pending answer = allocator_->getInverseOfferStatuses();
    while (answer.pending()) {
      usleep(PAUSE_MICROSECONDS);
    }
    *given_.offered = offered_;
    // The others are not given GPUs, but of agents that had just gone, so what was lost is missing now.
    gpus_ = 0;
    add_framework(given_.frameworks, true);
    for (int waited = 0; waited < PATIENCE && gpus_ < GPUS * given_.agents; ++waited) {
      usleep(PAUSE_MICROSECONDS);
    }
    *given_.gpus = gpus_;
  }

private:
  void start()
  {
    auto* options = new (room(sizeof(AllocatorOptions))) AllocatorOptions{};
    options->allocation_interval = 1'000'000;
    options->max_completed_frameworks = 50;
    options->recovery_timeout = 600'000'000'000;
    options->recovery_factor = 0.8;
    allocator_->initialize(
        *options,
        [this](const Id&, const ByRole& offered) {
          for (const auto& role : offered) {
            offered_ += role.second.size();
            for (const auto& agent : role.second) {
              gpus_ += static_cast<std::size_t>(agent.second.gpus());
            }
          }
        },
        [](const Id&, const void*) {});
  }

  void add_framework(std::size_t number, bool gpus)
  {
    const Member framework = framework_of_role(number, number, gpus);
    FrameworkOptions options;
    allocator_->addFramework(framework.id, framework.info, ById(), true, std::move(options));
  }

  void add(const Member& agent)
  {
    allocator_->addSlave(agent.id, agent.info, capabilities_, Option<Message<40>>(), total_, ById());
  }

  const testbed_AllocatorRace& given_;
  Allocator* const allocator_;
  const std::vector<Message<32>> capabilities_;
  Resources total_;
  std::vector<Member> agents_;
  std::atomic<std::size_t> offered_{0};
  std::atomic<std::size_t> gpus_{0};
};

} // namespace

// Starts libprocess itself, with the first message; the modules are loaded.
extern "C" int testbed_allocator_race(const testbed_AllocatorRace* given)
{
  return guarded("race the allocator", [&] {
    // Only errors are logged.
    *symbol<int*>("_ZN3fLI17FLAGS_minloglevelE") = 2;
    // It is referred to by callbacks until the process ends.
    (new Race(*given))->run();
    return 0;
  });
}
