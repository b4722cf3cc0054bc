// SPDX-License-Identifier: Apache-2.0
// Futures as libprocess lays them out: one shared block that holds the state, the result and the callbacks. Mesos
// inlines its side of them, so a promise made here must complete a future exactly as libprocess does: the state changes
// under the spin lock, the callbacks run after it, outside the lock.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <stout/error.hpp>
#include <stout/none.hpp>
#include <stout/result.hpp>

namespace lambda {

// A callback that is called at most once; the virtual table has the two destructors, then the call.
template <typename... Args>
class Callable
{
public:
  virtual ~Callable() = default;
  virtual void operator()(Args&&... args) && = 0;
};

template <typename F, typename... Args>
class CallableFn final : public Callable<Args...>
{
public:
  explicit CallableFn(F f) : f(std::move(f)) {}

  void operator()(Args&&... args) && override { std::move(f)(std::forward<Args>(args)...); }

private:
  F f;
};

template <typename... Args>
using CallableOnce = std::unique_ptr<Callable<Args...>>;

} // namespace lambda

namespace process {

struct Failure
{
  explicit Failure(std::string text) : message(std::move(text)) {}

  std::string message;
};

template <typename T>
class Future
{
public:
  Future() : data(std::make_shared<Data>()) {}

  Future(const T& value) : Future() { set(value); }
  Future(const Failure& failure) : Future() { fail(failure.message); }

  bool isPending() const { return state() == PENDING; }
  bool isReady() const { return state() == READY; }
  bool isFailed() const { return state() == FAILED; }

  const T& get() const { return data->result.get(); }
  const std::string& failure() const { return data->result.error(); }

  // Runs `f` with this future when it is complete, whoever completes it, and at once where it is already. It is kept where
  // libprocess keeps its own, and goes with them unrun where the future is given up.
  template <typename F>
  const Future<T>& onAny(F f) const
  {
    lambda::CallableOnce<const Future<T>&> callback(new lambda::CallableFn<F, const Future<T>&>(std::move(f)));
    if (!kept(callback)) {
      std::move (*callback)(*this);
    }
    return *this;
  }

private:
  template <typename U>
  friend class Promise;

  enum State
  {
    PENDING,
    READY,
    FAILED,
    DISCARDED,
  };

  struct Data
  {
    std::atomic_flag lock = ATOMIC_FLAG_INIT;
    State state = PENDING;
    bool discard = false;
    bool associated = false;
    bool abandoned = false;
    Result<T> result = None();
    std::vector<lambda::CallableOnce<>> onAbandonedCallbacks;
    std::vector<lambda::CallableOnce<>> onDiscardCallbacks;
    std::vector<lambda::CallableOnce<const T&>> onReadyCallbacks;
    std::vector<lambda::CallableOnce<const std::string&>> onFailedCallbacks;
    std::vector<lambda::CallableOnce<>> onDiscardedCallbacks;
    std::vector<lambda::CallableOnce<const Future<T>&>> onAnyCallbacks;

    void clearAllCallbacks()
    {
      onAbandonedCallbacks.clear();
      onDiscardCallbacks.clear();
      onReadyCallbacks.clear();
      onFailedCallbacks.clear();
      onDiscardedCallbacks.clear();
      onAnyCallbacks.clear();
    }
  };

  static_assert(sizeof(Data) == 16 + sizeof(Result<T>) + 6 * sizeof(std::vector<void*>),
                "the shared block must be laid out as libprocess does");

  class Guard
  {
  public:
    explicit Guard(std::atomic_flag& flag) : flag(flag)
    {
      while (flag.test_and_set(std::memory_order_acquire)) {
      }
    }

    ~Guard() { flag.clear(std::memory_order_release); }

  private:
    std::atomic_flag& flag;
  };

  State state() const
  {
    Guard guard(data->lock);
    return data->state;
  }

  bool kept(lambda::CallableOnce<const Future<T>&>& callback) const
  {
    Guard guard(data->lock);
    if (data->state != PENDING) {
      return false;
    }
    data->onAnyCallbacks.push_back(std::move(callback));
    return true;
  }

  bool become(State next, const Result<T>& result) const
  {
    Guard guard(data->lock);
    if (data->state != PENDING) {
      return false;
    }
    data->result.~Result<T>();
    new (&data->result) Result<T>(result);
    data->state = next;
    return true;
  }

  // From here on nobody adds callbacks any more, so they are walked without the lock. The copy of this future keeps the
  // block alive when a callback drops the last other reference to it.
  void finish() const
  {
    const Future<T> self(*this);
    for (auto& callback : self.data->onAnyCallbacks) {
      std::move (*callback)(self);
    }
    self.data->clearAllCallbacks();
  }

  bool set(const T& value) const
  {
    if (!become(READY, Result<T>(value))) {
      return false;
    }
    const Future<T> self(*this);
    for (auto& callback : self.data->onReadyCallbacks) {
      std::move (*callback)(self.data->result.get());
    }
    self.finish();
    return true;
  }

  bool fail(const std::string& message) const
  {
    if (!become(FAILED, Result<T>(Error(message)))) {
      return false;
    }
    const Future<T> self(*this);
    for (auto& callback : self.data->onFailedCallbacks) {
      std::move (*callback)(self.data->result.error());
    }
    self.finish();
    return true;
  }

  std::shared_ptr<Data> data;
};

template <typename T>
class Promise
{
public:
  Promise() = default;
  Promise(const Promise&) = delete;
  Promise& operator=(const Promise&) = delete;

  Future<T> future() const { return f; }

  bool set(const T& value) { return f.set(value); }
  bool fail(const std::string& message) { return f.fail(message); }

private:
  Future<T> f;
};

} // namespace process
