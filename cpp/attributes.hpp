// SPDX-License-Identifier: Apache-2.0
// Attributes for Mesos to take over. Mesos deletes the messages that we make, so whether the running library lays them
// out as we do is asked first; only an agent that wants attributes depends on the answer.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>

#include <dlfcn.h>

#include <mesos/attributes.hpp>

#include "mesos_gpu/bytes.hpp"

namespace mesos_gpu {

// How Attributes begins, and what that points to. Read as bytes, since Mesos's own class keeps it private.
struct AttributesHead
{
  const void* arena;
  int current;
  int total;
  const void* block;
};

struct AttributesBlock
{
  int allocated;
  const mesos::Attribute* first;
};

static_assert(sizeof(mesos::Attribute) == 72, "Attribute");
static_assert(sizeof(mesos::Attributes) == sizeof(AttributesHead), "Attributes");

// One attribute that the library's own parser made must read here as one and as itself, and the constructor of another
// must fill exactly our room. What does not is not destroyed either, so it is leaked.
inline std::string attributesDiffer()
{
  using Parse = mesos::Attributes (*)(const std::string&);
  Parse parse = nullptr;
  void* found =
      dlsym(RTLD_DEFAULT, "_ZN5mesos10Attributes5parseERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
  memcpy(&parse, &found, sizeof(parse));
  if (parse == nullptr) {
    return "Attributes cannot be read from a text";
  }

  constexpr size_t SIZE = sizeof(mesos::Attribute);
  for (const unsigned char pattern : {0xa5, 0x5a}) {
    alignas(16) unsigned char storage[SIZE + 64];
    memset(storage, pattern, sizeof(storage));
    auto* attribute = new (storage) mesos::Attribute();
    for (size_t i = SIZE; i < sizeof(storage); ++i) {
      if (storage[i] != pattern) {
        return "Attribute is larger there";
      }
    }
    attribute->~Attribute();
  }

  alignas(16) unsigned char storage[sizeof(mesos::Attributes) + 64];
  auto* attributes = new (storage) mesos::Attributes(parse("a:b"));
  AttributesHead head;
  memcpy(&head, storage, sizeof(head));
  if (head.arena != nullptr || head.current != 1 || head.total < 1 || head.block == nullptr) {
    return "Attributes holds its items elsewhere";
  }
  AttributesBlock block;
  memcpy(&block, head.block, sizeof(block));
  const unsigned char text[] = {0x0a, 1, 'a', 0x10, 3, 0x2a, 3, 0x0a, 1, 'b'};
  if (block.allocated != 1 || bytesOf(*block.first) != std::string(text, text + sizeof(text))) {
    return "an item of Attributes is not an Attribute";
  }
  attributes->~Attributes();
  return "";
}

// The attributes of these bytes, one message each. Throws when the running library has no such attributes.
template <typename Messages>
mesos::Attributes attributesOf(const Messages& messages)
{
  static const std::string difference = attributesDiffer();
  if (!difference.empty()) {
    throw std::runtime_error("the running libmesos is not laid out as this library was compiled for: " + difference);
  }
  google::protobuf::RepeatedPtrField<mesos::Attribute> field;
  for (const auto& one : messages) {
    *field.Add() = messageOf<mesos::Attribute>("Attribute", {one.bytes.data(), one.bytes.size()});
  }
  return mesos::Attributes(field);
}

} // namespace mesos_gpu
