// SPDX-License-Identifier: Apache-2.0
// A protobuf message as opaque storage of the right size: constructors, destructor and bytes are the library's.
#pragma once

#include <cstring>
#include <string>

#include <google/protobuf/message_lite.h>

namespace mesos {

// The message of an id has one field, a text, which it points to after its header.
class IdMessage : public google::protobuf::MessageLite
{
public:
  const std::string& value() const
  {
    const std::string* text = nullptr;
    memcpy(&text, reinterpret_cast<const unsigned char*>(this) + 24, sizeof(text));
    return *text;
  }
};

} // namespace mesos

#define MESOS_MESSAGE(Name, Size) MESOS_MESSAGE_OF(google::protobuf::MessageLite, Name, Size)
#define MESOS_ID(Name) MESOS_MESSAGE_OF(mesos::IdMessage, Name, 32)

#define MESOS_MESSAGE_OF(Base, Name, Size)      \
  class Name : public Base                      \
  {                                             \
  public:                                       \
    MESOS_WEAK Name();                          \
    MESOS_WEAK Name(const Name& that);          \
    MESOS_WEAK ~Name();                         \
    MESOS_WEAK void CopyFrom(const Name& that); \
                                                \
    Name& operator=(const Name& that)           \
    {                                           \
      CopyFrom(that);                           \
      return *this;                             \
    }                                           \
                                                \
  private:                                      \
    alignas(8) unsigned char room[Size];        \
  }
