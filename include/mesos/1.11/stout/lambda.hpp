// SPDX-License-Identifier: Apache-2.0
// Mesos's functions are the standard ones.
#pragma once

#include <functional>

namespace lambda {

using std::function;

} // namespace lambda
