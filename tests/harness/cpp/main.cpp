// SPDX-License-Identifier: Apache-2.0
// The way in, from the program that has opened Mesos. The program is not the tests' own `main`, because Mesos must be in
// the process, with all its names, before anything that is linked against them.
#include <cstdio>
#include <cstring>
#include <exception>

#include <gtest/gtest.h>

#include "startup.hpp"

extern "C" __attribute__((visibility("default"))) int harness_main(int argc, char** argv)
{
  try {
    if (argc > 1 && std::strcmp(argv[1], "start") == 0) {
      return harness::startLikeAnAgent(argc - 1, argv + 1);
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "harness: %s\n", error.what());
  } catch (...) {
    std::fprintf(stderr, "harness: an exception of an unknown type\n");
  }
  return 1;
}
