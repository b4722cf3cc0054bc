// SPDX-License-Identifier: Apache-2.0
// The few shapes that a program needs in order to call into Mesos 1.11.0 (x86-64, libstdc++ with the C++11 string),
// in our own words: there are no Mesos headers on this machine. Every name of Mesos is looked up at run time, so that
// the testbed links against nothing and says by name what a library lacks.
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

struct Nothing
{};
struct Error
{
  std::string message;
};
struct Duration
{
  long nanoseconds;
};

// `Option<T>`: a state (0 = something, 1 = nothing), then room for the value.
template <typename T>
class Option
{
public:
  Option() : state_(1) {}
  Option(T value) : state_(0) { new (&value_) T(std::move(value)); }
  Option(const Option& that) : state_(that.state_)
  {
    if (state_ == 0) {
      new (&value_) T(that.value_);
    }
  }
  Option& operator=(const Option&) = delete;
  ~Option()
  {
    if (state_ == 0) {
      value_.~T();
    }
  }
  bool some() const { return state_ == 0; }
  T& get() { return value_; }

private:
  unsigned state_;
  union {
    T value_;
  };
};

// `Try<T>`: the value and the error, either of which is there.
template <typename T>
class Try
{
public:
  T& get()
  {
    if (error_.some()) {
      throw std::runtime_error(error_.get().message);
    }
    return value_.get();
  }

private:
  Option<T> value_;
  Option<Error> error_;
};

// What `FlagsBase::load` answers on success.
struct Warnings
{
  std::vector<Error> list;
};

// Something of the loaded Mesos by its exported name.
template <typename F>
F symbol(const char* name)
{
  void* address = dlsym(RTLD_DEFAULT, name);
  if (address == nullptr) {
    throw std::runtime_error(std::string("this Mesos lacks the symbol ") + name);
  }
  F result;
  static_assert(sizeof result == sizeof address);
  std::memcpy(&result, &address, sizeof result);
  return result;
}

// Zeroed room for an object of Mesos whose true size is smaller. It is never given back: such objects live as long
// as the process.
inline void* room(std::size_t bytes)
{
  void* block = ::operator new(bytes, std::align_val_t(64));
  std::memset(block, 0, bytes);
  return block;
}

// The n-th virtual base of an object, counted from the slot below its offset-to-top.
inline void* virtual_base(void* object, int n)
{
  const long* table = *static_cast<const long* const*>(object);
  return static_cast<char*>(object) + table[-3 - n];
}

inline std::string text(const char* value)
{
  return value == nullptr ? std::string() : std::string(value);
}

inline Option<std::string> option(const char* value)
{
  return value == nullptr ? Option<std::string>() : Option<std::string>(value);
}

} // namespace testbed

// Mangled pieces that occur in many names.
#define MESOS "_ZN5mesos"
#define INTERNAL "_ZN5mesos8internal"
#define SLAVE "_ZN5mesos8internal5slave"
#define STRING "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
