// SPDX-License-Identifier: Apache-2.0
// A value or none, laid out as Mesos's own: the state first, the value in place.
#pragma once

#include <new>
#include <utility>

#include <stout/none.hpp>

template <typename T>
class Option
{
public:
  Option() : state(NONE) {}
  Option(const None&) : state(NONE) {}
  Option(const T& value) : state(SOME) { new (&t) T(value); }
  Option(T&& value) : state(SOME) { new (&t) T(std::move(value)); }

  Option(const Option& that) : state(that.state)
  {
    if (that.isSome()) {
      new (&t) T(that.t);
    }
  }

  Option(Option&& that) : state(that.state)
  {
    if (that.isSome()) {
      new (&t) T(std::move(that.t));
    }
  }

  Option& operator=(const Option& that)
  {
    if (this != &that) {
      this->~Option();
      new (this) Option(that);
    }
    return *this;
  }

  ~Option()
  {
    if (isSome()) {
      t.~T();
    }
  }

  bool isSome() const { return state == SOME; }
  bool isNone() const { return state == NONE; }

  const T& get() const { return t; }

private:
  enum State
  {
    SOME = 0,
    NONE = 1,
  };

  State state;

  union {
    T t;
  };
};
