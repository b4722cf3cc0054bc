// SPDX-License-Identifier: Apache-2.0
// The release that this description is laid out for. Mesos loads a module only when the two are equal.
#pragma once

#define MESOS_VERSION "1.11.0"
