// SPDX-License-Identifier: Apache-2.0
#include "offers.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "messages.hpp"

using std::string;
using std::vector;

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

// The resources that the verdict names, or nothing of them.
Resources taken(const Resources& offered, const Verdict& verdict)
{
  if (verdict.all) {
    return offered;
  }
  Resources all;
  size_t at = 0;
  auto part = verdict.parts.begin();
  for (const Resource& item : offered) {
    if (part == verdict.parts.end()) {
      break;
    }
    if (at++ == part->index) {
      if (part->whole) {
        all += item;
      } else {
        all += someOf(item, part->amount);
      }
      ++part;
    }
  }
  if (part != verdict.parts.end()) {
    throw std::logic_error("a verdict names a resource that is not offered, or not in their order");
  }
  return all;
}

// Maps cannot be searched here (their hash is Mesos's own), but a copy is walked in the same order as its original.
void take(Offered& kept, const std::list<Withheld>& withheld, const vector<size_t>& places)
{
  auto next = withheld.begin();
  auto place = places.begin();
  size_t at = 0;
  for (auto role = kept.begin(); role != kept.end();) {
    for (auto agent = role->second.begin(); agent != role->second.end(); ++at) {
      if (place == places.end() || at != *place) {
        ++agent;
        continue;
      }
      if (bytesOf(agent->first) != next->agent) {
        throw std::logic_error("a copied offer is in another order");
      }
      if (!next->all) {
        agent->second -= next->resources;
      }
      if (next->all || agent->second.empty()) {
        agent = role->second.erase(agent);
      } else {
        ++agent;
      }
      ++next;
      ++place;
    }
    if (role->second.empty()) {
      role = kept.erase(role);
    } else {
      ++role;
    }
  }
  if (next != withheld.end()) {
    throw std::logic_error("a copied offer is shorter");
  }
}

} // namespace

Split split(const AllocatorCore& core, const mesos::FrameworkID& framework, const Offered& offered, Rows& rows)
{
  Split split;
  const string id = bytesOf(framework);
  if (!core.looks_at(sliceOf(id))) {
    return split;
  }
  rows.agents.clear();
  for (const auto& role : offered) {
    for (const auto& entry : role.second) {
      rows.agents.add(entry.first);
    }
  }
  const rust::Vec<size_t> concerned = core.concerned(sliceOf(id), rows.agents.messages());
  if (concerned.empty()) {
    return split;
  }
  vector<size_t> places;
  auto next = concerned.begin();
  size_t at = 0;
  for (const auto& role : offered) {
    for (const auto& entry : role.second) {
      const size_t place = at++;
      if (next == concerned.end() || place != *next) {
        continue;
      }
      ++next;
      string agent = bytesOf(entry.first);
      rows.resources.clear();
      rows.resources.addAll<Resource>(entry.second);
      const Verdict verdict = core.decide(sliceOf(id), role.first, sliceOf(agent), rows.resources.messages());
      if (verdict.all || !verdict.parts.empty()) {
        split.withheld.push_back({std::move(agent), entry.first, taken(entry.second, verdict),
                                  filtersOf(verdict.refuse_seconds), verdict.all});
        places.push_back(place);
      }
    }
  }
  if (!split.withheld.empty()) {
    split.kept = offered;
    take(split.kept, split.withheld, places);
  }
  return split;
}

} // namespace mesos_gpu
