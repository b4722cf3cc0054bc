// SPDX-License-Identifier: Apache-2.0
// How the programs here call NVML: by name, so that a function that a library lacks is an answer too, and with the layouts
// that its interface fixes.
#pragma once

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
  MISSING = -1,
  MANY = 256
};

typedef void* Device;

struct Pci
{
  char legacy[16];
  unsigned domain, bus, device, ids, subsystem;
  char id[32];
};

struct Process
{
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

struct Sample
{
  unsigned pid;
  unsigned long long time;
  unsigned sm, memory, encoder, decoder;
};

static void* library;
static double began;

static double microseconds(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void* function(const char* name)
{
  void* found = dlsym(library, name);
  began = microseconds(CLOCK_MONOTONIC);
  return found;
}

// Calls an NVML function by name; -1 when the library has no such function. The second parameter is those of its true type.
#define CALL(name, types, ...)                         \
  ({                                                   \
    union {                                            \
      void* found;                                     \
      int(*call) types;                                \
    } it = {function(name)};                           \
    it.found == NULL ? MISSING : it.call(__VA_ARGS__); \
  })

static int processes(const char* name, Device device, struct Process* found, unsigned* count)
{
  return CALL(name, (Device, unsigned*, struct Process*), device, count, found);
}

// Opens the library that the first argument names; ends the program where there is none.
static void open_library(int count, char** arguments)
{
  setvbuf(stdout, NULL, _IOLBF, 0);
  library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (library == NULL) {
    fprintf(stderr, "%s: %s\n", arguments[0], count > 1 ? dlerror() : "which library?");
    exit(3);
  }
}
