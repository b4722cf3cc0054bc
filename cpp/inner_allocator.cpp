// SPDX-License-Identifier: Apache-2.0
#include "inner_allocator.hpp"

#include <cstddef>
#include <cstring>
#include <new>
#include <stdexcept>

#include <dlfcn.h>
#include <link.h>

#include <stout/try.hpp>

using std::string;

using mesos::allocator::Allocator;

namespace mesos_gpu {

namespace {

// The factory of Mesos's public interface. It does not ask the module manager for this name, so it can be called from
// within a module's factory.
constexpr const char* CREATE =
    "_ZN5mesos9allocator9Allocator6createERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES8_S8_";
constexpr const char* BUILT_IN = "HierarchicalDRF";

// Where the factory is not exported, the constructor of what it makes is, for the one sorter that is also exported.
constexpr const char* CONSTRUCT =
    "_ZN5mesos8internal6master9allocator14MesosAllocatorINS2_28HierarchicalAllocatorProcessINS2_9DRFSorterES5_EEEC1Ev";
constexpr const char* DRF = "drf";
constexpr size_t BUILT_IN_SIZE = 2 * sizeof(void*);

// The virtual table after its two destructors.
constexpr const char* SLOTS[] = {
    "initialize",
    "recover",
    "addFramework",
    "removeFramework",
    "activateFramework",
    "deactivateFramework",
    "updateFramework",
    "addSlave",
    "removeSlave",
    "updateSlave",
    "addResourceProvider",
    "activateSlave",
    "deactivateSlave",
    "updateWhitelist",
    "requestResources",
    "updateAllocation",
    "updateAvailable",
    "updateUnavailability",
    "updateInverseOffer",
    "getInverseOfferStatuses",
    "transitionOfferedToAllocated",
    "recoverResources",
    "suppressOffers",
    "reviveOffers",
    "updateQuota",
    "updateWeights",
    "pause",
    "resume",
};
constexpr size_t DESTRUCTORS = 2;
constexpr size_t SLOT_COUNT = DESTRUCTORS + sizeof(SLOTS) / sizeof(SLOTS[0]);
// Before its slots a table has an offset and a type.
constexpr size_t PREFIX = 2;

template <typename F>
F find(const char* name)
{
  F function = nullptr;
  void* address = dlsym(RTLD_DEFAULT, name);
  memcpy(&function, &address, sizeof(function));
  return function;
}

// Mesos calls through the table, so it is never wrong; what may be wrong is our list. The names of the functions in it
// tell, as far as the library exports them.
string tableDiffers(const Allocator& inner)
{
  void* const* table = nullptr;
  memcpy(&table, static_cast<const void*>(&inner), sizeof(table));

  Dl_info info;
  void* found = nullptr;
  const bool exported =
      dladdr1(table, &info, &found, RTLD_DL_SYMENT) != 0 && found != nullptr && info.dli_saddr == table - PREFIX;
  const auto* symbol = static_cast<const ElfW(Sym)*>(found);
  if (exported && symbol->st_size != (PREFIX + SLOT_COUNT) * sizeof(void*)) {
    return "its allocator has " + std::to_string(symbol->st_size / sizeof(void*) - PREFIX) + " functions there and " +
           std::to_string(SLOT_COUNT) + " here";
  }

  for (size_t i = DESTRUCTORS; i < SLOT_COUNT; ++i) {
    if (dladdr(table[i], &info) == 0 || info.dli_sname == nullptr || info.dli_saddr != table[i]) {
      continue;
    }
    const string slot = SLOTS[i - DESTRUCTORS];
    if (string(info.dli_sname).find(std::to_string(slot.size()) + slot + "E") == string::npos) {
      return "function " + std::to_string(i) + " of its allocator is " + info.dli_sname + " there and " + slot +
             " here";
    }
  }
  return "";
}

Allocator* create(const string& roleSorter, const string& frameworkSorter)
{
  const auto factory = find<Try<Allocator*> (*)(const string&, const string&, const string&)>(CREATE);
  if (factory != nullptr) {
    const Try<Allocator*> made = factory(BUILT_IN, roleSorter, frameworkSorter);
    if (made.isError()) {
      throw std::runtime_error("cannot make Mesos's own allocator with role_sorter=" + roleSorter +
                               " and framework_sorter=" + frameworkSorter + ": " + made.error());
    }
    return made.get();
  }

  const auto construct = find<void (*)(void*)>(CONSTRUCT);
  if (construct == nullptr) {
    throw std::runtime_error(string("the running libmesos exports no way to make its own allocator: neither ") +
                             CREATE + " nor " + CONSTRUCT);
  }
  if (roleSorter != DRF || frameworkSorter != DRF) {
    throw std::runtime_error("the running libmesos exports no allocator with role_sorter=" + roleSorter +
                             " and framework_sorter=" + frameworkSorter +
                             ": it does not export mesos::allocator::Allocator::create, and without that only drf can "
                             "be had for both");
  }
  // Room for more than is expected, so that more would be seen; what is not as expected is leaked.
  constexpr size_t ROOM = BUILT_IN_SIZE + 64;
  auto* storage = static_cast<unsigned char*>(::operator new(ROOM));
  memset(storage, 0xa5, ROOM);
  construct(storage);
  for (size_t i = BUILT_IN_SIZE; i < ROOM; ++i) {
    if (storage[i] != 0xa5) {
      throw std::runtime_error(
          "the running libmesos has a larger allocator than the one of the release for which this "
          "library was compiled");
    }
  }
  return reinterpret_cast<Allocator*>(storage);
}

} // namespace

std::unique_ptr<Allocator> makeInnerAllocator(const string& roleSorter, const string& frameworkSorter)
{
  std::unique_ptr<Allocator> inner(create(roleSorter, frameworkSorter));
  const string difference = tableDiffers(*inner);
  if (!difference.empty()) {
    // Even its destructor is called through the table.
    (void)inner.release();
    throw std::runtime_error("the running libmesos is not laid out as this library was compiled for: " + difference);
  }
  return inner;
}

} // namespace mesos_gpu
