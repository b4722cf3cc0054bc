// SPDX-License-Identifier: Apache-2.0
// How an allocator comes into being, with Mesos or with a module, and what it is told.
#include "allocator.hpp"

namespace testbed {

namespace {

// The record that a module library exports under the module's name.
struct ModuleRecord
{
  const char* module_api_version;
  const char* mesos_version;
  const char* kind;
  const char* author_name;
  const char* author_email;
  const char* description;
  bool (*compatible)();
  void* (*create)(const void* parameters);
};

double value(const Resources& resources, const char* name)
{
  Option<double> found = symbol<Option<double> (*)(const Resources*)>(name)(&resources);
  return found.some() ? found.get() : 0.0;
}

} // namespace

void* message(const char* name, const std::string& bytes)
{
  void* made = room(256);
  const std::string constructor = std::string(MESOS) + name + "C1Ev";
  symbol<void (*)(void*)>(constructor.c_str())(made);
  using Parse = bool (*)(void*, const std::string&);
  static auto parse = symbol<Parse>("_ZN6google8protobuf11MessageLite15ParseFromStringERK" STRING);
  if (!parse(made, bytes)) {
    throw std::runtime_error(std::string("the bytes are no message ") + name);
  }
  return made;
}

Message<32> flat(const char* name, const std::string& bytes)
{
  return *static_cast<Message<32>*>(message(name, bytes));
}

void Bytes::varint(unsigned long value)
{
  for (; value > 127; value >>= 7) {
    bytes_ += static_cast<char>(value | 128);
  }
  bytes_ += static_cast<char>(value);
}

Bytes& Bytes::number(int field, unsigned long value)
{
  varint(static_cast<unsigned long>(field) << 3);
  varint(value);
  return *this;
}

Bytes& Bytes::scalar(int field, double value)
{
  varint(static_cast<unsigned long>(field) << 3 | 1);
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  return *this;
}

Bytes& Bytes::bytes(int field, const std::string& value)
{
  varint(static_cast<unsigned long>(field) << 3 | 2);
  varint(value.size());
  bytes_ += value;
  return *this;
}

Resources::Resources(const Resources& that)
{
  static auto copy = symbol<void (*)(Resources*, const Resources&)>(MESOS "9ResourcesC1ERKS0_");
  copy(this, that);
}

Resources::~Resources()
{
  for (std::size_t i = 0; i < size_; ++i) {
    start_[i].~Pointer();
  }
  if (start_ != inside()) {
    ::operator delete(start_);
  }
}

void Resources::add(const std::string& name, double value)
{
  Bytes bytes;
  bytes.bytes(1, name).number(2, 0).bytes(3, Bytes().scalar(1, value).done());
  using Add = void* (*)(Resources*, const void*);
  symbol<Add>(MESOS "9ResourcespLERKNS_8ResourceE")(this, message("8Resource", bytes.done()));
}

double Resources::cpus() const
{
  return value(*this, "_ZNK5mesos9Resources4cpusEv");
}

double Resources::mem() const
{
  // A number of bytes.
  Option<unsigned long> found = symbol<Option<unsigned long> (*)(const Resources*)>("_ZNK5mesos9Resources3memEv")(this);
  return found.some() ? static_cast<double>(found.get()) / (1 << 20) : 0.0;
}

double Resources::gpus() const
{
  return value(*this, "_ZNK5mesos9Resources4gpusEv");
}

FrameworkOptions::FrameworkOptions() : constraints(nullptr)
{
  symbol<void (*)(void*)>(MESOS "9allocator22OfferConstraintsFilterC1Ev")(&constraints);
}

Member framework_of_role(std::size_t number, std::size_t role, bool gpu_resources)
{
  const std::string name = "framework-" + std::to_string(number);
  const std::string id = Bytes().bytes(1, name).done();
  Bytes info;
  info.bytes(1, "user").bytes(2, name).bytes(3, id);
  info.bytes(10, Bytes().number(1, 6).done()); // MULTI_ROLE
  if (gpu_resources) {
    info.bytes(10, Bytes().number(1, 3).done()); // GPU_RESOURCES
  }
  info.bytes(12, "role-" + std::to_string(role));
  return Member{message("11FrameworkID", id), message("13FrameworkInfo", info.done())};
}

Member agent_of(std::size_t number)
{
  const std::string id = Bytes().bytes(1, "8dbf1bf4-166b-4f07-9c79-3569ec8d11eb-S" + std::to_string(number)).done();
  const std::string info = Bytes().bytes(1, "host-" + std::to_string(number)).bytes(6, id).done();
  return Member{message("7SlaveID", id), message("9SlaveInfo", info)};
}

std::vector<Message<32>> agent_capabilities()
{
  std::vector<Message<32>> all;
  for (unsigned long kind : {1, 2, 3}) { // MULTI_ROLE, HIERARCHICAL_ROLE, RESERVATION_REFINEMENT
    all.push_back(flat("20SlaveInfo_Capability", Bytes().number(1, kind).done()));
  }
  return all;
}

// Nothing here is destroyed by its base.
Allocator::~Allocator() = default;

void* built_in_allocator()
{
  void* made = room(1 << 8);
  symbol<void (*)(void*)>(INTERNAL
                          "6master9allocator14MesosAllocatorINS2_28HierarchicalAllocatorProcessINS2_"
                          "9DRFSorterES5_EEEC1Ev")(made);
  return made;
}

void* module_of(const char* kind, const char* library, const char* module, const char* parameters, std::size_t size)
{
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    throw std::runtime_error(text(dlerror()));
  }
  auto* record = static_cast<const ModuleRecord*>(dlsym(opened, module));
  if (record == nullptr) {
    throw std::runtime_error(text(dlerror()));
  }
  if (text(record->kind) != kind) {
    throw std::runtime_error(text(module) + " is a module of kind " + text(record->kind));
  }
  void* created = record->create(message("10Parameters", std::string(parameters, size)));
  if (created == nullptr) {
    throw std::runtime_error("the module " + text(module) + " created nothing");
  }
  return created;
}

void* allocator_of(const char* library, const char* module, const char* parameters, std::size_t size)
{
  return module_of("Allocator", library, module, parameters, size);
}

} // namespace testbed
