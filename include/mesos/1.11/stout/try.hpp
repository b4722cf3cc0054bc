// SPDX-License-Identifier: Apache-2.0
// A value or an error, laid out as Mesos's own: two options, of which one is set.
#pragma once

#include <string>

#include <stout/error.hpp>
#include <stout/option.hpp>

template <typename T>
class Try
{
public:
  Try(const T& value) : data(value) {}
  Try(const Error& error) : error_(error) {}

  bool isSome() const { return data.isSome(); }
  bool isError() const { return data.isNone(); }

  const T& get() const { return data.get(); }
  const std::string& error() const { return error_.get().message; }

private:
  Option<T> data;
  Option<Error> error_;
};
