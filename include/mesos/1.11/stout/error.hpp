// SPDX-License-Identifier: Apache-2.0
// Mesos's error: a text.
#pragma once

#include <string>
#include <utility>

class Error
{
public:
  explicit Error(std::string text) : message(std::move(text)) {}

  std::string message;
};
