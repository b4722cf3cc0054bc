// SPDX-License-Identifier: Apache-2.0
#include "messages.hpp"

#include <sstream>

using std::string;
using std::vector;

namespace harness {

namespace {

string trimmed(const string& line)
{
  const std::size_t begin = line.find_first_not_of(' ');
  return begin == string::npos ? "" : line.substr(begin);
}

// Texts are quoted; what the tests look at has nothing in it that is written otherwise than it is.
string unquoted(const string& value)
{
  return value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
}

} // namespace

string resources(const vector<std::pair<string, double>>& amounts)
{
  std::ostringstream fields;
  for (const auto& [name, value] : amounts) {
    fields << "resources { name: \"" << name << "\" type: SCALAR scalar { value: " << value << " } }\n";
  }
  return fields.str();
}

mesos::Resources resourcesOf(const string& fields)
{
  mesos::Resources all;
  // Any message with the field will do.
  for (const Tree& one : Tree::of(message<mesos::SlaveInfo>("hostname: \"any\" " + fields)).all("resources")) {
    const string kept = one.has("revocable") ? " revocable {}" : "";
    all += message<mesos::Resource>("name: \"" + one.at("name").value() + "\" type: SCALAR scalar { value: " +
                                    one.at("scalar").at("value").value() + " }" + kept);
  }
  return all;
}

double amount(const mesos::Resources& resources, const string& name)
{
  double sum = 0;
  for (const mesos::Resource& one : resources) {
    const Tree tree = Tree::of(one);
    if (tree.at("name").value() == name) {
      sum += std::stod(tree.at("scalar").at("value").value());
    }
  }
  return sum;
}

Tree::Tree(const string& printed)
{
  vector<string> lines;
  std::istringstream in(printed);
  for (string line; std::getline(in, line);) {
    lines.push_back(trimmed(line));
  }
  read(lines, 0);
}

std::size_t Tree::read(const vector<string>& lines, std::size_t from)
{
  while (from < lines.size()) {
    const string& line = lines[from++];
    if (line == "}") {
      return from;
    }
    Tree field;
    std::size_t end = line.find(": ");
    if (line.size() > 2 && line.compare(line.size() - 2, 2, " {") == 0) {
      end = line.size() - 2;
      from = field.read(lines, from);
    } else if (end == string::npos) {
      throw std::logic_error("not a line of a printed message: " + line);
    } else {
      field.value_ = unquoted(line.substr(end + 2));
    }
    fields_.emplace_back(line.substr(0, end), field);
  }
  return from;
}

bool Tree::has(const string& name) const
{
  return !all(name).empty();
}

vector<Tree> Tree::all(const string& name) const
{
  vector<Tree> found;
  for (const auto& field : fields_) {
    if (field.first == name) {
      found.push_back(field.second);
    }
  }
  return found;
}

Tree Tree::at(const string& name) const
{
  const vector<Tree> found = all(name);
  if (found.size() != 1) {
    throw std::out_of_range("there are " + std::to_string(found.size()) + " fields " + name + ", not one");
  }
  return found.front();
}

} // namespace harness
