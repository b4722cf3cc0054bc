// SPDX-License-Identifier: Apache-2.0
// What Mesos hands over in lists, sets and maps, for the core.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <mesos/mesos.hpp>

#include "mesos_gpu/bytes.hpp"
#include "mesos-gpu/src/bridge/ffi.rs.h"

namespace mesos_gpu {

// Messages, or texts, one behind the other, and where each of them ends: for calls that come for each agent in each
// cycle, in which a list of lists would cost more than what is asked.
class Row
{
public:
  template <typename M>
  void add(const M& message)
  {
    if (!message.AppendPartialToString(&all)) {
      throw std::runtime_error("cannot write a message of Mesos as bytes");
    }
    ends.push_back(all.size());
  }

  void addText(const std::string& text)
  {
    all.append(text);
    ends.push_back(all.size());
  }

  // `M` is named by the caller, as in allBytesOf.
  template <typename M, typename Messages>
  static Row of(const Messages& messages)
  {
    Row row;
    row.addAll<M>(messages);
    return row;
  }

  template <typename M, typename Messages>
  void addAll(const Messages& messages)
  {
    for (const M& message : messages) {
      add<M>(message);
    }
  }

  // What was there makes room for what comes, so that in the long run no memory is asked for.
  void clear()
  {
    all.clear();
    ends.clear();
  }

  const std::string& bytes() const { return all; }

  Messages messages() const { return {sliceOf(all), {ends.data(), ends.size()}}; }

private:
  std::string all;
  std::vector<size_t> ends;
};

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
    shares.push_back({one.first.value(), allBytesOf<mesos::Resource>(one.second)});
  }
  return shares;
}

} // namespace mesos_gpu
