// SPDX-License-Identifier: Apache-2.0
// Mesos's hash map is the standard one. What stout/hashset.hpp says of the hash holds here as well: it is not noexcept, so
// each node keeps its hash code, and a map can be copied and thinned out without hashing anything.
#pragma once

#include <functional>
#include <unordered_map>

template <typename Key, typename Value, typename Hash = std::hash<Key>, typename Equal = std::equal_to<Key>>
class hashmap : public std::unordered_map<Key, Value, Hash, Equal>
{};
