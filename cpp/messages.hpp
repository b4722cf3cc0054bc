// SPDX-License-Identifier: Apache-2.0
// What Mesos hands over in lists, sets and maps, for the core.
#pragma once

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include <mesos/mesos.hpp>

#include "mesos_gpu/bytes.hpp"
#include "mesos-gpu/src/bridge/ffi.rs.h"

namespace mesos_gpu {

template <typename M>
rust::Vec<uint8_t> vectorOf(const M& message)
{
  const std::string bytes = bytesOf(message);
  rust::Vec<uint8_t> vector;
  vector.reserve(bytes.size());
  std::copy(bytes.begin(), bytes.end(), std::back_inserter(vector));
  return vector;
}

// `M` is named by the caller: what Resources holds only converts to a Resource.
template <typename M, typename Messages>
rust::Vec<Message> allBytesOf(const Messages& messages)
{
  rust::Vec<Message> all;
  for (const M& message : messages) {
    Message one;
    one.bytes = vectorOf(message);
    all.push_back(std::move(one));
  }
  return all;
}

inline rust::Vec<rust::String> textsOf(const std::set<std::string>& texts)
{
  rust::Vec<rust::String> all;
  for (const std::string& text : texts) {
    all.push_back(text);
  }
  return all;
}

// Who has what: of an agent by framework, or of a framework by agent.
template <typename Used>
rust::Vec<Share> sharesOf(const Used& used)
{
  rust::Vec<Share> shares;
  for (const auto& one : used) {
    shares.push_back({vectorOf(one.first), allBytesOf<mesos::Resource>(one.second)});
  }
  return shares;
}

} // namespace mesos_gpu
