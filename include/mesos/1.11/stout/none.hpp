// SPDX-License-Identifier: Apache-2.0
// Mesos's "no value", convertible to every Option and Result.
#pragma once

struct None
{};
