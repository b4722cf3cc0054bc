// SPDX-License-Identifier: Apache-2.0
// A container as Mesos's containerizer makes one, without its processes: a devices cgroup with Mesos's default rules, then
// the isolator's calls. What it may open is asked of the kernel.
#pragma once

#include <string>
#include <vector>

#include "messages.hpp"
#include "mesos.hpp"

namespace harness {

class Container
{
public:
  // A child of `parent` shares its cgroup, as nested containers do by default.
  Container(mesos::slave::Isolator& isolator, const std::string& name, const Container* parent = nullptr);
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;
  // Cleans up as Mesos does, then removes the cgroup.
  ~Container();

  process::Future<Option<mesos::slave::ContainerLaunchInfo>> prepare(double gpus);
  // `more` are further fields of the container's configuration.
  process::Future<Option<mesos::slave::ContainerLaunchInfo>> prepare(double gpus, const std::string& more);
  process::Future<Nothing> update(double gpus);
  process::Future<Nothing> cleanup();

  // Prepares, waits, and gives the launch back as a tree; throws where it fails.
  Tree launched(double gpus, const std::string& more = "");

  // Adds a rule to its devices cgroup, behind the isolator's back.
  void allow(const std::string& rule) const;
  // The lines of its devices cgroup that name an NVIDIA device, such as `c 195:0 rw`.
  std::vector<std::string> rules() const;
  // The minors of the GPUs among them, in order.
  std::vector<int> gpus() const;
  // What a process in its cgroup is answered when it opens a device for reading and writing: 0, or the error's number.
  // A simulated device answers ENXIO once the kernel's device control has let it through, and EPERM otherwise.
  int opens(const std::string& device) const;

  const mesos::ContainerID& id() const { return id_; }
  const std::string& cgroup() const { return cgroup_; }

private:
  mesos::slave::Isolator& isolator_;
  const bool nested_;
  const mesos::ContainerID id_;
  const std::string cgroup_;
};

// A variable of a launch's environment; empty when it is not set.
std::string variableOf(const Tree& launch, const std::string& name);

// Makes a devices cgroup with the rules that Mesos gives every container.
void makeCgroup(const std::string& path);

// A whole file.
std::string contents(const std::string& path);

} // namespace harness
