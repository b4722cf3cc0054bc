// SPDX-License-Identifier: Apache-2.0
// What a role is guaranteed and limited to. Quotas are handed on as they come; of a map of them only the roles are read.
#pragma once

namespace mesos {

struct Quota
{
  Quota() = delete;
  Quota(const Quota& that) = delete;
  Quota& operator=(const Quota& that) = delete;

private:
  alignas(8) unsigned char room[944];
};

} // namespace mesos
