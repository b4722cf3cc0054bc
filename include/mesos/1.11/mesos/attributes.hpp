// SPDX-License-Identifier: Apache-2.0
// What an agent says about its machine: one repeated field of Attribute messages.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <mesos/message.hpp>

namespace mesos {

MESOS_MESSAGE(Attribute, 72);

class Attributes
{
public:
  Attributes(const google::protobuf::RepeatedPtrField<Attribute>& attributes) : attributes(attributes) {}

private:
  google::protobuf::RepeatedPtrField<Attribute> attributes;
};

} // namespace mesos
