// SPDX-License-Identifier: Apache-2.0
#include "container.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "futures.hpp"
#include "modules.hpp"

using std::string;
using std::vector;

using mesos::slave::ContainerConfig;
using mesos::slave::ContainerLaunchInfo;

// The isolator only walks sets of containers, so any hash will do for those that are made here.
std::size_t std::hash<mesos::ContainerID>::operator()(const mesos::ContainerID& id) const
{
  return std::hash<string>()(id.SerializePartialAsString());
}

bool std::equal_to<mesos::ContainerID>::operator()(const mesos::ContainerID& left,
                                                   const mesos::ContainerID& right) const
{
  return left.SerializePartialAsString() == right.SerializePartialAsString();
}

namespace harness {

namespace {

void write(const string& path, const char* line)
{
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0 || ::write(file, line, std::strlen(line)) < 0) {
    throw std::runtime_error("cannot write " + string(line) + " to " + path + ": " + std::strerror(errno));
  }
  close(file);
}

mesos::ContainerID idOf(const string& name, const Container* parent)
{
  const string above = parent == nullptr ? "" : " parent { " + text(parent->id()) + " }";
  return message<mesos::ContainerID>("value: \"" + name + "\"" + above);
}

} // namespace

void makeCgroup(const string& path)
{
  if (mkdir(path.c_str(), 0755) != 0) {
    throw std::runtime_error("cannot make the cgroup " + path + ": " + std::strerror(errno));
  }
  write(path + "/devices.deny", "a");
  // Any node may be made; null, zero, full, random, urandom, tty, console, ttys, ptmx and pts may be used.
  for (const char* rule : {"c *:* m", "b *:* m", "c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm",
                           "c 5:0 rwm", "c 5:1 rwm", "c 4:0 rwm", "c 4:1 rwm", "c 5:2 rwm", "c 136:* rwm"}) {
    write(path + "/devices.allow", rule);
  }
}

string contents(const string& path)
{
  std::ifstream file(path);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

Container::Container(mesos::slave::Isolator& isolator, const string& name, const Container* parent)
  : isolator_(isolator),
    nested_(parent != nullptr),
    id_(idOf(name, parent)),
    cgroup_(nested_ ? parent->cgroup_ : variable("HARNESS_DEVICES") + "/" + name)
{
  if (!nested_) {
    makeCgroup(cgroup_);
  }
}

Container::~Container()
{
  settled(cleanup());
  if (!nested_) {
    rmdir(cgroup_.c_str());
  }
}

process::Future<Option<ContainerLaunchInfo>> Container::prepare(double gpus)
{
  return prepare(gpus, "");
}

process::Future<Option<ContainerLaunchInfo>> Container::prepare(double gpus, const string& more)
{
  vector<std::pair<string, double>> amounts{{"cpus", 0.1}, {"mem", 32}};
  if (gpus != 0) {
    amounts.emplace_back("gpus", gpus);
  }
  return isolator_.prepare(id_, message<ContainerConfig>("command_info {} directory: \"" + folder() + "/sandbox\" " +
                                                         resources(amounts) + more));
}

process::Future<Nothing> Container::update(double gpus)
{
  // Limits are of no interest to the isolator, which only has a reference to them.
  alignas(16) static const unsigned char limits[256] = {};
  using Limits = google::protobuf::Map<string, mesos::Value::Scalar>;
  return isolator_.update(id_, resourcesOf(resources({{"cpus", 0.1}, {"gpus", gpus}})),
                          reinterpret_cast<const Limits&>(limits));
}

process::Future<Nothing> Container::cleanup()
{
  return isolator_.cleanup(id_);
}

Tree Container::launched(double gpus, const string& more)
{
  const auto launch = prepare(gpus, more);
  if (const testing::AssertionResult result = ready(launch); !result) {
    throw std::runtime_error(string("the container is not prepared: ") + result.message());
  }
  return launch.get().isSome() ? Tree::of(launch.get().get()) : Tree("");
}

void Container::allow(const string& rule) const
{
  write(cgroup_ + "/devices.allow", rule.c_str());
}

vector<string> Container::rules() const
{
  vector<string> found;
  std::istringstream lines(contents(cgroup_ + "/devices.list"));
  for (string line; std::getline(lines, line);) {
    // GPUs and their control node; the other majors are those that a simulated machine has.
    if (line.rfind("c 195:", 0) == 0 || line.rfind("c 511:", 0) == 0 || line.rfind("c 509:", 0) == 0) {
      found.push_back(line);
    }
  }
  return found;
}

vector<int> Container::gpus() const
{
  vector<int> minors;
  for (const string& rule : rules()) {
    const int minor = rule.rfind("c 195:", 0) == 0 ? std::stoi(rule.substr(6)) : 255;
    // From 254 on they are control nodes.
    if (minor < 254) {
      minors.push_back(minor);
    }
  }
  std::sort(minors.begin(), minors.end());
  return minors;
}

int Container::opens(const string& device) const
{
  const string procs = cgroup_ + "/cgroup.procs";
  const pid_t child = fork();
  if (child == 0) {
    // Only what may be called between fork and exec: the parent has other threads.
    const int file = open(procs.c_str(), O_WRONLY);
    if (file < 0 || ::write(file, "0", 1) != 1) {
      _exit(255);
    }
    _exit(open(device.c_str(), O_RDWR) >= 0 ? 0 : errno);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 255) {
    throw std::runtime_error("cannot look at " + device + " from within " + cgroup_);
  }
  return WEXITSTATUS(status);
}

string variableOf(const Tree& launch, const string& name)
{
  string found;
  if (launch.has("environment")) {
    for (const Tree& one : launch.at("environment").all("variables")) {
      if (one.at("name").value() == name) {
        found = one.at("value").value();
      }
    }
  }
  return found;
}

} // namespace harness
