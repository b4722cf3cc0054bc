// SPDX-License-Identifier: Apache-2.0
// A repeated field of messages, outside any arena: a block that counts its messages and points to each. The library
// exports none of its functions, so they are written out here; block and messages come from and go to the global
// operators new and delete, since the library takes down what we made, and we what it made.
#pragma once

#include <climits>
#include <cstddef>
#include <new>
#include <stdexcept>

namespace google {
namespace protobuf {

template <typename T>
class RepeatedPtrField
{
public:
  RepeatedPtrField() : arena(nullptr), current(0), total(0), rep(nullptr) {}

  RepeatedPtrField(const RepeatedPtrField& that) : RepeatedPtrField()
  {
    reserve(that.current);
    for (int i = 0; i < that.current; ++i) {
      append(new T(*that.rep->elements[i]));
    }
  }

  RepeatedPtrField& operator=(const RepeatedPtrField& that) = delete;

  ~RepeatedPtrField()
  {
    if (rep == nullptr || arena != nullptr) {
      return;
    }
    for (int i = 0; i < rep->allocated; ++i) {
      delete rep->elements[i];
    }
    ::operator delete(rep);
  }

  // A new message at the end.
  T* Add()
  {
    if (current == total) {
      reserve(total < 4 ? 4 : total * 2);
    }
    append(new T());
    return rep->elements[current - 1];
  }

private:
  struct Rep
  {
    int allocated;
    T* elements[1];
  };

  // Makes room; the messages stay where they are.
  void reserve(int room)
  {
    if (room <= total) {
      return;
    }
    if (room > INT_MAX / 16) {
      throw std::length_error("too many messages for a repeated field");
    }
    Rep* grown = static_cast<Rep*>(::operator new(offsetof(Rep, elements) + static_cast<size_t>(room) * sizeof(T*)));
    grown->allocated = current;
    for (int i = 0; i < current; ++i) {
      grown->elements[i] = rep->elements[i];
    }
    ::operator delete(rep);
    rep = grown;
    total = room;
  }

  void append(T* message)
  {
    rep->elements[current++] = message;
    rep->allocated = current;
  }

  void* arena;
  int current;
  int total;
  Rep* rep;
};

} // namespace protobuf
} // namespace google
