// SPDX-License-Identifier: Apache-2.0
// A protobuf message as opaque storage of the right size: constructors, destructor and bytes are the library's.
#pragma once

#include <google/protobuf/message_lite.h>

#define MESOS_MESSAGE(Name, Size)                   \
  class Name : public google::protobuf::MessageLite \
  {                                                 \
  public:                                           \
    MESOS_WEAK Name();                              \
    MESOS_WEAK Name(const Name& that);              \
    MESOS_WEAK ~Name();                             \
    MESOS_WEAK void CopyFrom(const Name& that);     \
                                                    \
    Name& operator=(const Name& that)               \
    {                                               \
      CopyFrom(that);                               \
      return *this;                                 \
    }                                               \
                                                    \
  private:                                          \
    alignas(8) unsigned char room[Size];            \
  }
