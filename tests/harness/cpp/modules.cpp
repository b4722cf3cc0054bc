// SPDX-License-Identifier: Apache-2.0
#include "modules.hpp"

#include <cstdlib>
#include <stdexcept>

#include "futures.hpp"
#include "symbol.hpp"

using std::string;

using mesos::modules::ModuleManager;

namespace harness {

namespace {

// `ModuleManager::create<T>` for a class of this mangled name.
template <typename T>
Try<T*> make(const string& mangled, const string& name)
{
  using Create = Try<T*> (*)(const string&, const Option<mesos::Parameters>&);
  const auto create = symbol<Create>("_ZN5mesos7modules13ModuleManager6createI" + mangled +
                                     "EE3TryIPT_5ErrorERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
                                     "RK6OptionINS_10ParametersEE");
  return create(name, None());
}

} // namespace

string variable(const string& name)
{
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) {
    throw std::runtime_error("the variable " + name + " is not set: run the tests with cargo");
  }
  return value;
}

string folder()
{
  return variable("HARNESS_FOLDER");
}

string manifest(const string& name)
{
  return folder() + "/modules/" + name;
}

void startMesos()
{
  static const bool started = [] {
    // An empty Option<logging::Flags>, of which only the state is read.
    alignas(16) static unsigned char none[4096];
    new (none) Option<int>();
    using Logging = void (*)(const string&, bool, const void*);
    symbol<Logging>(
        "_ZN5mesos8internal7logging10initializeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEb"
        "RK6OptionINS1_5FlagsEE")("harness", false, none);
    return process::initialize(None(), None(), None());
  }();
  if (!started) {
    throw std::runtime_error("libprocess was running already");
  }
}

Try<mesos::slave::Isolator*> makeIsolator(const string& name)
{
  return make<mesos::slave::Isolator>("NS_5slave8IsolatorE", name);
}

Try<mesos::Hook*> makeHook(const string& name)
{
  return make<mesos::Hook>("NS_4HookE", name);
}

Try<mesos::slave::ResourceEstimator*> makeEstimator(const string& name)
{
  return make<mesos::slave::ResourceEstimator>("NS_5slave17ResourceEstimatorE", name);
}

Try<mesos::slave::QoSController*> makeController(const string& name)
{
  return make<mesos::slave::QoSController>("NS_5slave13QoSControllerE", name);
}

const mesos::modules::ModuleBase* recordOf(const string& name)
{
  for (const auto& known : ModuleManager::moduleBases) {
    if (known.first == name) {
      return known.second;
    }
  }
  return nullptr;
}

mesos::allocator::Allocator* makeAllocator(const string& name)
{
  using Record = mesos::modules::Module<mesos::allocator::Allocator>;
  const auto* record = static_cast<const Record*>(recordOf(name));
  if (record == nullptr || record->kind != string("Allocator")) {
    throw std::runtime_error("the module manager knows no allocator " + name);
  }
  for (const auto& given : ModuleManager::moduleParameters) {
    if (given.first == name) {
      return record->create(given.second);
    }
  }
  return record->create(mesos::Parameters());
}

ModulesTest::ModulesTest(const string& name)
{
  startMesos();
  const Try<Nothing> loaded = ModuleManager::load(manifest(name));
  if (loaded.isError()) {
    throw std::runtime_error("cannot load " + manifest(name) + ": " + loaded.error());
  }
}

mesos::slave::Isolator& ModulesTest::isolator()
{
  if (isolator_ == nullptr) {
    const Try<mesos::slave::Isolator*> made = makeIsolator("mesos_gpu_Isolator");
    if (made.isError()) {
      throw std::runtime_error(made.error());
    }
    const process::Future<Nothing> recovered = made.get()->recover({}, {});
    if (!settled(recovered) || !recovered.isReady()) {
      throw std::runtime_error("the isolator does not recover");
    }
    isolator_ = made.get();
  }
  return *isolator_;
}

} // namespace harness
