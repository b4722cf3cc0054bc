// SPDX-License-Identifier: Apache-2.0
// What the harness calls in a running libmesos and a module does not, so that include/mesos/1.11 says nothing of it: the
// module manager, the hook manager, libprocess, and protobuf's text form. In our own words, like all of that folder.
#pragma once

#include <string>

#include <mesos/allocator/allocator.hpp>
#include <mesos/hook.hpp>
#include <mesos/mesos.hpp>
#include <mesos/module.hpp>
#include <mesos/module/allocator.hpp>
#include <mesos/resources.hpp>
#include <mesos/slave/isolator.hpp>
#include <mesos/slave/qos_controller.hpp>
#include <mesos/slave/resource_estimator.hpp>

#include <process/future.hpp>

#include <stout/hashmap.hpp>
#include <stout/none.hpp>
#include <stout/nothing.hpp>
#include <stout/option.hpp>
#include <stout/try.hpp>

namespace google {
namespace protobuf {

class Message;

class TextFormat
{
public:
  static bool ParseFromString(const std::string& text, Message* message);
  static bool PrintToString(const Message& message, std::string* text);
};

} // namespace protobuf
} // namespace google

namespace mesos {

MESOS_MESSAGE(Offer_Operation, 120);
MESOS_MESSAGE(SlaveInfo_Capability, 32);
MESOS_MESSAGE(Unavailability, 40);

namespace modules {

class ModuleManager
{
public:
  // Loads every manifest of a folder; of its loaders the only one that the library exports.
  static Try<Nothing> load(const std::string& folder);
  static Try<Nothing> unload(const std::string& module);

  static hashmap<std::string, ModuleBase*> moduleBases;
  static hashmap<std::string, Parameters> moduleParameters;
};

} // namespace modules

namespace internal {

class HookManager
{
public:
  static Try<Nothing> initialize(const std::string& hooks);
  static Resources slaveResourcesDecorator(const SlaveInfo& info);
  static Attributes slaveAttributesDecorator(const SlaveInfo& info);
  static TaskStatus slaveTaskStatusDecorator(const FrameworkID& framework, TaskStatus status);
};

namespace slave {

// The agent's flags: storage only, far larger than they are.
class Flags;

class Containerizer
{
public:
  // What an agent with these flags has before its hooks are asked.
  static Try<Resources> resources(const Flags& flags);
};

} // namespace slave
} // namespace internal
} // namespace mesos

namespace process {

bool initialize(const Option<std::string>& delegate,
                const Option<std::string>& readwriteRealm,
                const Option<std::string>& readonlyRealm);

} // namespace process
