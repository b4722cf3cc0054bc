// SPDX-License-Identifier: Apache-2.0
// Revivals that are passed on later. One clears what its framework was refused, so a framework that revives in every cycle
// would be offered in each what another one waits for.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <mesos/allocator/allocator.hpp>

namespace mesos_gpu {

class Revivals
{
  using Clock = std::chrono::steady_clock;

public:
  using Roles = std::set<std::string>;
  // Revives these roles, all where there are none, and suppresses those, which the framework did since.
  using Pass = std::function<void(const mesos::FrameworkID&, const Roles& revived, const Roles& suppressed)>;

  explicit Revivals(Pass pass) : pass(std::move(pass)) {}
  Revivals(const Revivals& that) = delete;
  Revivals& operator=(const Revivals& that) = delete;

  ~Revivals()
  {
    {
      std::lock_guard<std::mutex> guard(mutex);
      over = true;
    }
    changed.notify_all();
    if (thread.joinable()) {
      thread.join();
    }
  }

  // Whether one of the framework waits already, which this one then becomes part of. `owner` is its id.
  bool joins(const std::string& owner, const Roles& roles)
  {
    std::lock_guard<std::mutex> guard(mutex);
    const auto found = waiting.find(owner);
    if (found != waiting.end()) {
      found->second.revive(roles);
    }
    return found != waiting.end();
  }

  // None of the framework waits yet. The thread goes first: without it nothing would be passed on.
  void keep(const std::string& owner, const mesos::FrameworkID& id, const Roles& roles, double seconds)
  {
    if (!thread.joinable()) {
      thread = std::thread([this] { run(); });
    }
    std::lock_guard<std::mutex> guard(mutex);
    const auto wait = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    waiting.emplace(owner, Waiting{id, Clock::now() + wait, roles.empty(), roles, {}});
    changed.notify_all();
  }

  // No roles are all of the framework's.
  void suppress(const std::string& owner, const Roles& roles)
  {
    std::lock_guard<std::mutex> guard(mutex);
    const auto found = waiting.find(owner);
    if (found != waiting.end() && !found->second.suppress(roles)) {
      waiting.erase(found);
    }
  }

  // What comes next would make the wait pointless.
  void flush(const std::string& owner)
  {
    std::lock_guard<std::mutex> guard(mutex);
    const auto found = waiting.find(owner);
    if (found != waiting.end()) {
      const Waiting one = std::move(found->second);
      waiting.erase(found);
      pass(one.id, one.revived, one.suppressed);
    }
  }

  // After this nothing of the framework is passed on.
  void forget(const std::string& owner)
  {
    std::lock_guard<std::mutex> guard(mutex);
    waiting.erase(owner);
  }

private:
  struct Waiting
  {
    void revive(const Roles& roles)
    {
      if (roles.empty()) {
        all = true;
        revived.clear();
        suppressed.clear();
      }
      for (const std::string& role : roles) {
        suppressed.erase(role);
        if (!all) {
          revived.insert(role);
        }
      }
    }

    // Whether anything is left to be revived.
    bool suppress(const Roles& roles)
    {
      if (roles.empty()) {
        return false;
      }
      for (const std::string& role : roles) {
        revived.erase(role);
        if (all) {
          suppressed.insert(role);
        }
      }
      return all || !revived.empty();
    }

    mesos::FrameworkID id;
    Clock::time_point due;
    bool all;
    Roles revived;
    Roles suppressed;
  };

  // It passes on under the lock, so that nothing that came later overtakes it, above all no removal.
  void run()
  {
    std::unique_lock<std::mutex> lock(mutex);
    while (!over) {
      Clock::time_point next = Clock::now() + std::chrono::hours(1);
      for (auto one = waiting.begin(); one != waiting.end();) {
        if (one->second.due <= Clock::now()) {
          const Waiting due = std::move(one->second);
          one = waiting.erase(one);
          pass(due.id, due.revived, due.suppressed);
        } else {
          next = std::min(next, one->second.due);
          ++one;
        }
      }
      changed.wait_until(lock, next);
    }
  }

  const Pass pass;
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  // By their frameworks' ids.
  std::map<std::string, Waiting> waiting;
  std::thread thread;
};

} // namespace mesos_gpu
