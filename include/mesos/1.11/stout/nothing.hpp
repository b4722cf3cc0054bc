// SPDX-License-Identifier: Apache-2.0
// Mesos's "done, nothing to say".
#pragma once

struct Nothing
{};
