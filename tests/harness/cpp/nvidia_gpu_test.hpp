// SPDX-License-Identifier: Apache-2.0
// The suite in which Mesos has the tests of its own GPU isolator. Here it is the module that they are made to hold for, and
// each asserts what Mesos's asserts, or more; where the module answers otherwise on purpose, the test says so.
#pragma once

#include <string>

#include "modules.hpp"

namespace harness {

class NvidiaGpuTest : public ModulesTest
{
protected:
  NvidiaGpuTest() : ModulesTest(needsDriver() ? "driver" : "shipped") {}

private:
  // A simulated machine has its driver's programs in a folder of its own, which has to be named.
  static bool needsDriver()
  {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    return name.find("Volume") != std::string::npos;
  }
};

} // namespace harness
