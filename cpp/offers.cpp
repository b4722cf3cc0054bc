// SPDX-License-Identifier: Apache-2.0
#include "offers.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "messages.hpp"

using std::string;

using mesos::Resource;
using mesos::Resources;

namespace mesos_gpu {

namespace {

// The same resource, of which there is `amount`. A message whose bytes say twice what is to be said once means the last,
// so all else of the resource, known here or not, stays: its reservations, its allocation, its provider.
Resource someOf(const Resource& resource, double amount)
{
  static_assert(sizeof(amount) == 8, "a double of the wire");
  // Resource.scalar is field 3, a message of nine bytes; Value.Scalar.value is its field 1, a double.
  char scalar[11] = {0x1a, 9, 0x09};
  memcpy(scalar + 3, &amount, sizeof(amount));
  string bytes = bytesOf(resource);
  bytes.append(scalar, sizeof(scalar));
  return messageOf<Resource>("Resource", sliceOf(bytes));
}

Option<mesos::Filters> filtersOf(double refuseSeconds)
{
  if (!(refuseSeconds > 0)) {
    return None();
  }
  // Filters.refuse_seconds is field 1, a double.
  unsigned char bytes[9] = {0x09};
  memcpy(bytes + 1, &refuseSeconds, sizeof(refuseSeconds));
  return messageOf<mesos::Filters>("Filters", {bytes, sizeof(bytes)});
}

// The resources that the parts name, or nothing of them.
std::unique_ptr<Resources> partsOf(const Resources& offered, const rust::Vec<Part>& parts)
{
  std::unique_ptr<Resources> all(new Resources());
  size_t at = 0;
  auto part = parts.begin();
  for (const Resource& item : offered) {
    if (part == parts.end()) {
      break;
    }
    if (at++ == part->index) {
      if (part->whole) {
        *all += item;
      } else {
        *all += someOf(item, part->amount);
      }
      ++part;
    }
  }
  if (part != parts.end()) {
    throw std::logic_error("a verdict names a resource that is not offered, or not in their order");
  }
  return all;
}

bool areSame(const rust::Vec<Part>& left, const rust::Vec<Part>& right)
{
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](const Part& one, const Part& other) {
    return one.index == other.index && one.whole == other.whole && one.amount == other.amount;
  });
}

// The resources that the verdict names, of what is in the rows.
const Resources& taken(const Resources& offered, Verdict& verdict, Rows& rows)
{
  if (verdict.all) {
    return offered;
  }
  if (rows.taken == nullptr || rows.before != rows.resources.bytes() || !areSame(rows.parts, verdict.parts)) {
    rows.taken = nullptr;
    rows.before = rows.resources.bytes();
    rows.parts = std::move(verdict.parts);
    rows.taken = partsOf(offered, rows.parts);
  }
  return *rows.taken;
}

} // namespace

void Withheld::takeOutOf(Offered& offered) const
{
  if (!all) {
    agent->second -= resources;
  }
  if (all || agent->second.empty()) {
    role->second.erase(agent);
  }
  if (role->second.empty()) {
    offered.erase(role);
  }
}

void decide(const AllocatorCore& core, const mesos::FrameworkID& framework, Offered& offered, Rows& rows)
{
  rows.withheld.clear();
  const string& id = framework.value();
  if (!core.looks_at(id)) {
    return;
  }
  rows.agents.clear();
  for (const auto& role : offered) {
    for (const auto& entry : role.second) {
      rows.agents.addText(entry.first.value());
    }
  }
  const rust::Vec<size_t> concerned = core.concerned(id, rows.agents.messages());
  auto next = concerned.begin();
  size_t at = 0;
  for (auto role = offered.begin(); role != offered.end() && next != concerned.end(); ++role) {
    for (auto agent = role->second.begin(); agent != role->second.end() && next != concerned.end(); ++agent) {
      if (at++ != *next) {
        continue;
      }
      ++next;
      rows.resources.clear();
      rows.resources.addAll<Resource>(agent->second);
      Verdict verdict = core.decide(id, role->first, agent->first.value(), rows.resources.messages());
      if (verdict.all || !verdict.parts.empty()) {
        rows.withheld.emplace_back(role, agent, taken(agent->second, verdict, rows), filtersOf(verdict.refuse_seconds),
                                   verdict.all);
      }
    }
  }
}

} // namespace mesos_gpu
