// SPDX-License-Identifier: Apache-2.0
// A value, none, or an error: a Try of an Option, as Mesos lays it out.
#pragma once

#include <string>

#include <stout/none.hpp>
#include <stout/option.hpp>
#include <stout/try.hpp>

template <typename T>
class Result
{
public:
  Result(const None&) : data(Option<T>()) {}
  Result(const T& value) : data(Option<T>(value)) {}
  Result(const Error& error) : data(error) {}

  bool isSome() const { return data.isSome() && data.get().isSome(); }
  bool isError() const { return data.isError(); }

  const T& get() const { return data.get().get(); }
  const std::string& error() const { return data.error(); }

private:
  Try<Option<T>> data;
};
