// SPDX-License-Identifier: Apache-2.0
// Allocation cycles of an allocator without a master, timed: what a decorated allocator costs must not drown in what
// HTTP, agents and schedulers cost.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <random>

#include "allocator.hpp"
#include "allocator_bench.hpp"
#include "held.hpp"
#include "process.hpp"

using namespace testbed;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double REFUSE_SECONDS = 5.0;
// Where declines only come before the measured cycles, none of them ends within these.
constexpr double REFUSE_SECONDS_BEFORE = 3600.0;

double seconds_of(clockid_t clock)
{
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// What all threads but this one, which only waits, have used.
double cpu_of_mesos()
{
  return 1e6 * (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID));
}

double microseconds(Clock::time_point from, Clock::time_point to)
{
  return std::chrono::duration<double, std::micro>(to - from).count();
}

void add(testbed_Totals& sum, const Resources& resources)
{
  sum.cpus += resources.cpus();
  sum.mem += resources.mem();
  sum.gpus += resources.gpus();
}

class Bench
{
public:
  Bench(const testbed_AllocatorBench& given, testbed_Measured& measured, Allocator* allocator)
    : given_(given), measured_(measured), allocator_(allocator), refused_(filters(given)), callbacks_(0)
  {}

  void start(bool filter_gpu_resources)
  {
    initialize(filter_gpu_resources);
    for (std::size_t i = 0; i < given_.frameworks; ++i) {
      add_framework(i, (i / given_.roles) % 2 == 1);
    }
    add_agents();
    settle();
    give_back();
  }

  void cycle(std::size_t number)
  {
    // What lives long, as the filters of declines do, comes to lie between what lives for a cycle. In a master that has run
    // for a while memory is always so; without it the first cycles are a third faster than any later one, until something
    // lives long for the first time.
    declines_ = given_.decline || number < given_.warm_up;
    const testbed_Cycle cycle = measure(number % given_.frameworks);
    if (number >= given_.warm_up) {
      measured_.cycles[number - given_.warm_up] = cycle;
    }
  }

  // Everything must come back: a last framework that takes GPUs is offered each agent whole. The others stay, since what
  // is booked on a framework is free as soon as it leaves, come back or not.
  void look_at_what_is_free()
  {
    for (const void* framework : frameworks_) {
      allocator_->suppressOffers(framework, {});
    }
    settle();
    keep_ = true;
    add_framework(given_.frameworks, true);
    settle();
    std::lock_guard<std::mutex> guard(mutex_);
    for (const Held& offer : held_) {
      add(measured_.free, offer.resources);
    }
  }

private:
  static Option<Message<32>> filters(const testbed_AllocatorBench& given)
  {
    const double seconds = given.decline ? REFUSE_SECONDS : REFUSE_SECONDS_BEFORE;
    return Option<Message<32>>(flat("7Filters", Bytes().scalar(1, seconds).done()));
  }

  void initialize(bool filter_gpu_resources)
  {
    auto* options = new (room(sizeof(AllocatorOptions))) AllocatorOptions{};
    // No cycle comes by itself.
    options->allocation_interval = 3600'000'000'000;
    options->filter_gpu_resources = filter_gpu_resources;
    options->max_completed_frameworks = 50;
    options->per_framework_metrics = true;
    options->recovery_timeout = 600'000'000'000;
    options->recovery_factor = 0.8;
    allocator_->initialize(
        *options, [this](const Id& framework, const ByRole& offered) { take(framework, offered); },
        [](const Id&, const void*) {});
  }

  // Runs on the allocator's thread.
  void take(const Id& framework, const ByRole& offered)
  {
    std::lock_guard<std::mutex> guard(mutex_);
    ++callbacks_;
    for (const auto& role : offered) {
      for (const auto& agent : role.second) {
        ++offered_;
        if (declines_ && !keep_) {
          allocator_->recoverResources(&framework, &agent.first, agent.second, refused_, false);
        } else {
          held_.emplace_back(framework, agent.first, agent.second);
        }
      }
    }
    last_ = Clock::now();
  }

  void add_framework(std::size_t number, bool gpus)
  {
    const Member framework = framework_of_role(number, number % given_.roles, gpus);
    frameworks_.push_back(framework.id);
    FrameworkOptions options;
    allocator_->addFramework(framework.id, framework.info, ById(), true, std::move(options));
  }

  void add_agents()
  {
    const std::vector<Message<32>> capabilities = agent_capabilities();
    Resources plain;
    plain.add("cpus", 64);
    plain.add("mem", 262144);
    plain.add("disk", 1e6);
    Resources with_gpus(plain);
    with_gpus.add("gpus", 8);
    for (std::size_t i = 0; i < given_.agents; ++i) {
      const Resources& total = i % 10 == 0 ? with_gpus : plain;
      const Member agent = agent_of(i);
      agents_.push_back(agent.id);
      allocator_->addSlave(agent.id, agent.info, capabilities, Option<Message<40>>(), total, ById());
      add(measured_.total, total);
    }
  }

  // Returns when all calls so far, the allocation that they asked for, and all give-backs of that are processed. An
  // allocation is a message that the first call behind it queues, so it is done after the second round trip; give-backs
  // are queued while it runs, so they are done after the third. What is asked for, to change nothing of one agent, is the
  // cheapest question that is answered: it is within what is measured.
  void settle()
  {
    for (int round = 0; round < 3; ++round) {
      const Pending answer = allocator_->updateAvailable(agents_.front(), {});
      while (answer.pending()) {
        usleep(50);
      }
    }
  }

  testbed_Cycle measure(std::size_t number)
  {
    {
      std::lock_guard<std::mutex> guard(mutex_);
      callbacks_ = offered_ = 0;
    }
    const double cpu = cpu_of_mesos();
    const Clock::time_point begin = last_ = Clock::now();
    allocator_->reviveOffers(frameworks_[number], {});
    settle();
    tidy();
    const Clock::time_point end = Clock::now();
    const double used = cpu_of_mesos() - cpu;
    const testbed_Cycle cycle{microseconds(begin, last_), microseconds(begin, end), used, callbacks_, offered_};
    give_back();
    return cycle;
  }

  void give_back()
  {
    const Option<Message<32>> none;
    std::deque<Held> held;
    {
      std::lock_guard<std::mutex> guard(mutex_);
      held.swap(held_);
    }
    std::vector<const Held*> order;
    for (const Held& offer : held) {
      order.push_back(&offer);
    }
    std::shuffle(order.begin(), order.end(), random_);
    for (const Held* offer : order) {
      allocator_->recoverResources(&offer->framework, &offer->agent, offer->resources, none, false);
    }
    settle();
    tidy();
  }

  // A line of Mesos's log takes a large piece of memory, which makes the C library put all small pieces in order that were
  // freed until then: milliseconds, which belong to whatever freed them and not to what logs next. A request is logged,
  // and nothing else is done with it; one is not always enough.
  void tidy()
  {
    for (int line = 0; line < 12; ++line) {
      allocator_->requestResources(frameworks_.front(), {});
    }
    settle();
  }

  const testbed_AllocatorBench& given_;
  testbed_Measured& measured_;
  Allocator* const allocator_;
  const Option<Message<32>> refused_;
  std::vector<const void*> frameworks_;
  std::vector<const void*> agents_;
  std::mutex mutex_;
  std::deque<Held> held_;
  Clock::time_point last_;
  std::size_t callbacks_;
  std::size_t offered_ = 0;
  bool keep_ = false;
  std::atomic<bool> declines_{false};
  std::mt19937 random_;
};

Allocator* make(const testbed_AllocatorBench& given)
{
  return static_cast<Allocator*>(
      given.module == nullptr ? built_in_allocator()
                              : allocator_of(given.library, given.module, given.parameters, given.parameters_size));
}

} // namespace

// Starts libprocess itself, with the first message; the modules are loaded. Callbacks refer to what it makes until the
// process ends.
extern "C" int testbed_allocator_bench(const testbed_AllocatorBench* given)
{
  return guarded("measure the allocator", [&] {
    // Only errors are logged.
    *symbol<int*>("_ZN3fLI17FLAGS_minloglevelE") = 2;
    std::vector<Bench*> all;
    const auto own = [&] {
      all.push_back(new Bench(*given, *given->measured, make(*given)));
      all.back()->start(given->filter_gpu_resources != 0);
    };
    const auto beside = [&] {
      all.push_back(new Bench(*given, *given->beside, static_cast<Allocator*>(built_in_allocator())));
      all.back()->start(given->beside_filters_gpu_resources != 0);
    };
    if (given->beside == nullptr) {
      own();
    } else if (given->beside_is_first != 0) {
      beside();
      own();
    } else {
      own();
      beside();
    }
    for (std::size_t number = 0; number < given->warm_up + given->cycles; ++number) {
      for (Bench* bench : all) {
        bench->cycle(number);
      }
      // Who comes first is second the next time.
      std::reverse(all.begin(), all.end());
    }
    for (Bench* bench : all) {
      bench->look_at_what_is_free();
    }
    return 0;
  });
}
