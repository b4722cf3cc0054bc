// SPDX-License-Identifier: Apache-2.0
// Mesos's Resources of 1.10 and 1.11: a small vector with room for fifteen shared pointers in place, each to an object
// that begins with the Resource message. The copy constructor and the sums are the library's; the destructor is implicit
// there, so it is written out here.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include <mesos/mesos.hpp>

namespace mesos {

class ResourceConversion;

class Resources
{
  using Item = std::shared_ptr<void>;

public:
  Resources() : items(reinterpret_cast<Item*>(room)), count(0), capacity(IN_PLACE) {}
  MESOS_WEAK Resources(const Resources& that);
  MESOS_WEAK Resources(const Resource& resource);

  Resources& operator=(const Resources& that) = delete;

  ~Resources()
  {
    for (size_t i = 0; i < count; ++i) {
      items[i].~Item();
    }
    if (reinterpret_cast<unsigned char*>(items) != room) {
      ::operator delete(items);
    }
  }

  MESOS_WEAK Resources& operator+=(const Resource& resource);
  MESOS_WEAK Resources& operator-=(const Resources& that);

  MESOS_WEAK static bool isRevocable(const Resource& resource);

  bool empty() const { return count == 0; }

  class const_iterator
  {
  public:
    explicit const_iterator(const Item* item) : item(item) {}

    const Resource& operator*() const { return *static_cast<const Resource*>(item->get()); }
    const_iterator& operator++()
    {
      ++item;
      return *this;
    }
    bool operator!=(const const_iterator& that) const { return item != that.item; }

  private:
    const Item* item;
  };

  const_iterator begin() const { return const_iterator(items); }
  const_iterator end() const { return const_iterator(items + count); }

private:
  static const size_t IN_PLACE = 15;

  Item* items;
  size_t count;
  size_t capacity;
  alignas(Item) unsigned char room[IN_PLACE * sizeof(Item)];
};

} // namespace mesos
