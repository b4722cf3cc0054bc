// SPDX-License-Identifier: Apache-2.0
// Everything that lives in libmesos is a weak reference: the library then links into programs that are not Mesos (the
// operator's tool, unit tests), and inside Mesos a name that is missing is reported by cpp/layout.cpp instead of ending
// the process at load.
#pragma once

#define MESOS_WEAK __attribute__((weak))
