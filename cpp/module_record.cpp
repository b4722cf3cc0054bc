// SPDX-License-Identifier: Apache-2.0
// The texts of the module records (src/bridge/exports.rs), compiled from the headers in use, and the proof that a record
// is laid out as Mesos reads it.
#include <cstddef>

#include <mesos/hook.hpp>
#include <mesos/module/allocator.hpp>
#include <mesos/module/isolator.hpp>
#include <mesos/module/qos_controller.hpp>
#include <mesos/module/resource_estimator.hpp>
#include <mesos/slave/isolator.hpp>
#include <mesos/version.hpp>

extern "C" {
extern const char mesos_gpu_module_api_version[] = MESOS_MODULE_API_VERSION;
extern const char mesos_gpu_mesos_version[] = MESOS_VERSION;
}

namespace {

using Record = mesos::modules::Module<mesos::slave::Isolator>;
using mesos::modules::ModuleBase;

static_assert(sizeof(Record) == 8 * sizeof(void*), "a record is eight pointers");
static_assert(sizeof(mesos::modules::Module<mesos::allocator::Allocator>) == sizeof(Record), "of whatever kind");
static_assert(sizeof(mesos::modules::Module<mesos::slave::ResourceEstimator>) == sizeof(Record), "of whatever kind");
static_assert(sizeof(mesos::modules::Module<mesos::slave::QoSController>) == sizeof(Record), "of whatever kind");
static_assert(sizeof(ModuleBase) == 7 * sizeof(void*), "the factory comes after the seven common ones");
static_assert(offsetof(ModuleBase, moduleApiVersion) == 0 * sizeof(void*), "record layout");
static_assert(offsetof(ModuleBase, mesosVersion) == 1 * sizeof(void*), "record layout");
static_assert(offsetof(ModuleBase, kind) == 2 * sizeof(void*), "record layout");
static_assert(offsetof(ModuleBase, authorName) == 3 * sizeof(void*), "record layout");
static_assert(offsetof(ModuleBase, authorEmail) == 4 * sizeof(void*), "record layout");
static_assert(offsetof(ModuleBase, description) == 5 * sizeof(void*), "record layout");
static_assert(offsetof(ModuleBase, compatible) == 6 * sizeof(void*), "record layout");

} // namespace
