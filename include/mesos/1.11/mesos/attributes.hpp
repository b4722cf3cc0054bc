// SPDX-License-Identifier: Apache-2.0
// Attributes hold one repeated field. The library exports how one is made from such a field and nothing to take it down
// again, so an object of this kind can be named but not yet made here.
#pragma once

namespace mesos {

class Attributes
{
public:
  Attributes() = delete;
  Attributes(const Attributes& that) = default;

private:
  alignas(8) unsigned char room[24];
};

} // namespace mesos
