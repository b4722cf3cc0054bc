// SPDX-License-Identifier: Apache-2.0
// What an agent does at its start until it knows its GPUs, with flags of the test's own. Modules read the flags of the
// process they are in, and share one set of GPUs in it, so each start is a process of its own.
#pragma once

#include <string>
#include <vector>

namespace harness {

// What became of a start.
struct Start
{
  bool started;
  // The agent's resources, or everything that it said.
  double gpus;
  std::string said;
};

// Starts with the agent's flags in `flags` (--name=value), and the modules of a manifest.
Start start(const std::vector<std::string>& flags, const std::string& manifest = "");

// The other side of it: argv[0] is `start`, the rest flags. Prints the resources; 0 when an agent would go on.
int startLikeAnAgent(int argc, char** argv);

} // namespace harness
