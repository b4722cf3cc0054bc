// SPDX-License-Identifier: Apache-2.0
// Offers that outlive their callback: ids are copied as Mesos copies them, since their layout is its own.
#pragma once

#include "allocator.hpp"

namespace testbed {

// An offer that its framework holds.
struct Held
{
  Held(const Id& framework_, const Id& agent_, const Resources& resources_) : resources(resources_)
  {
    static auto copy_framework = symbol<void (*)(Id*, const Id&)>(MESOS "11FrameworkIDC1ERKS0_");
    static auto copy_agent = symbol<void (*)(Id*, const Id&)>(MESOS "7SlaveIDC1ERKS0_");
    copy_framework(&framework, framework_);
    copy_agent(&agent, agent_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held()
  {
    static auto end_framework = symbol<void (*)(Id*)>(MESOS "11FrameworkIDD1Ev");
    static auto end_agent = symbol<void (*)(Id*)>(MESOS "7SlaveIDD1Ev");
    end_framework(&framework);
    end_agent(&agent);
  }

  Id framework;
  Id agent;
  Resources resources;
};

} // namespace testbed
