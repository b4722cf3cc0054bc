// SPDX-License-Identifier: Apache-2.0
// The process as an agent would have it when its modules are loaded: libprocess runs, and Mesos's own module manager has
// read a manifest. Modules are then made by their names, through the manager.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "mesos.hpp"

namespace harness {

// A variable that the runner sets for every test.
std::string variable(const std::string& name);

// The folder of this test.
std::string folder();

// Starts what of Mesos must run before anything else; once.
void startMesos();

// The folder that holds one manifest: `shipped` is modules.json as it is, others have parameters.
std::string manifest(const std::string& name);

// ModuleManager::create. The library has it for every kind but Allocator, which only Mesos's own main program makes.
Try<mesos::slave::Isolator*> makeIsolator(const std::string& name);
Try<mesos::Hook*> makeHook(const std::string& name);
Try<mesos::slave::ResourceEstimator*> makeEstimator(const std::string& name);
Try<mesos::slave::QoSController*> makeController(const std::string& name);

// What the manager would do: its own record of the module, made with its own parameters of it.
mesos::allocator::Allocator* makeAllocator(const std::string& name);

// The record that the manager verified and keeps; null where it knows no such module.
const mesos::modules::ModuleBase* recordOf(const std::string& name);

// A test with the modules of a manifest loaded.
class ModulesTest : public testing::Test
{
protected:
  explicit ModulesTest(const std::string& name = "shipped");

  // The isolator, recovered as on a first start.
  mesos::slave::Isolator& isolator();

private:
  mesos::slave::Isolator* isolator_ = nullptr;
};

} // namespace harness
