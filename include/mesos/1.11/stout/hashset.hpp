// SPDX-License-Identifier: Apache-2.0
// Mesos's hash set is the standard one. The hash must not be noexcept: the standard library then keeps the hash code in
// each node, which is how the nodes that Mesos hands over are laid out. They are only ever walked here, never looked up.
#pragma once

#include <functional>
#include <unordered_set>

template <typename Elem, typename Hash = std::hash<Elem>, typename Equal = std::equal_to<Elem>>
class hashset : public std::unordered_set<Elem, Hash, Equal>
{};
