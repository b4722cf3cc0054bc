// SPDX-License-Identifier: Apache-2.0
// Mesos's messages as text, in protobuf's own text form and by the library's own parser: a test says what a message is, and
// reads what came back, by the names of the fields.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mesos.hpp"

namespace harness {

// The library's message behind one that is opaque here.
template <typename M>
google::protobuf::Message& full(const M& message)
{
  return *reinterpret_cast<google::protobuf::Message*>(const_cast<M*>(&message));
}

template <typename M>
M message(const std::string& text)
{
  M made;
  if (!google::protobuf::TextFormat::ParseFromString(text, &full(made))) {
    throw std::invalid_argument("not such a message (the log says why): " + text);
  }
  return made;
}

template <typename M>
std::string text(const M& message)
{
  std::string printed;
  if (!google::protobuf::TextFormat::PrintToString(full(message), &printed)) {
    throw std::logic_error("a message cannot be printed");
  }
  return printed;
}

// The scalar resources `amounts`, such as {{"gpus", 1}}, as fields of a message.
std::string resources(const std::vector<std::pair<std::string, double>>& amounts);

// The same as Mesos's class.
mesos::Resources resourcesOf(const std::string& fields);

// How much of a scalar resource there is, over all roles.
double amount(const mesos::Resources& resources, const std::string& name);

// A printed message as a tree.
class Tree
{
public:
  explicit Tree(const std::string& printed);

  template <typename M>
  static Tree of(const M& message)
  {
    return Tree(text(message));
  }

  bool has(const std::string& name) const;
  // All fields of a name.
  std::vector<Tree> all(const std::string& name) const;
  // The one field of a name; throws when there is none.
  Tree at(const std::string& name) const;
  // What a field that holds no message says, without quotes.
  const std::string& value() const { return value_; }
  bool empty() const { return fields_.empty(); }

private:
  Tree() = default;
  std::size_t read(const std::vector<std::string>& lines, std::size_t from);

  std::string value_;
  std::vector<std::pair<std::string, Tree>> fields_;
};

} // namespace harness
