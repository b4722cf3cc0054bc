// SPDX-License-Identifier: Apache-2.0
// The machine as the driver and the file system tell it, for comparison with what the modules say.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>

namespace harness {

// How many GPUs NVML counts.
std::size_t nvmlCount();

void makeFolder(const std::string& path);
bool isFolder(const std::string& path);
bool isFile(const std::string& path);
// What tells one file from every other of its file system.
ino_t fileNumber(const std::string& path);

} // namespace harness
