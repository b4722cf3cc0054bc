// SPDX-License-Identifier: Apache-2.0
// What the timed allocation cycles are told and tell. src/native/allocator_bench.rs mirrors all of it.
#pragma once

#include <cstddef>

// One cycle in microseconds.
struct testbed_Cycle
{
  double to_last_callback;
  double to_drained;
  double cpu; // of the threads of libprocess
  std::size_t callbacks;
  std::size_t agents; // in all callbacks of the cycle
};

struct testbed_Totals
{
  double cpus;
  double mem;
  double gpus;
};

// Of one allocator.
struct testbed_Measured
{
  testbed_Cycle* cycles; // room for all that are measured
  testbed_Totals total;  // of all agents
  testbed_Totals free;   // offered to a last framework when all others want nothing
};

// A null `module` means Mesos's own allocator.
struct testbed_AllocatorBench
{
  const char* library;
  const char* module;
  const char* parameters; // a serialized mesos::Parameters
  std::size_t parameters_size;
  int filter_gpu_resources;
  int decline; // at once, inside the callback; otherwise offers are held until the cycle is over, but for the warm-up
  std::size_t agents;
  std::size_t frameworks;
  std::size_t roles;
  std::size_t warm_up;
  std::size_t cycles;
  testbed_Measured* measured;
  testbed_Measured* beside; // of Mesos's own allocator, if that is to take turns with the module
  int beside_filters_gpu_resources;
  int beside_is_first;
};
