// SPDX-License-Identifier: Apache-2.0
// The libcuda of a simulated driver, as far as `cuda_check.c` calls it, so that what runs that program on real GPUs is tried
// where there are none. Device control is real here too: a GPU counts when its node may be opened. Kernels are known by name
// and computed by the processor; nothing of them is read.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum
{
  SUCCESS = 0,
  INVALID_VALUE = 1,
  NOT_INITIALIZED = 3,
  NO_DEVICE = 100,
  NOT_FOUND = 500,
  MINORS = 64
};

static const char DIGITS[] = "0123456789abcdef";
static int devices = -1;

// A simulated node has no device behind it, which is said only once device control has let it through.
static int lets_through(const char* path)
{
  int node = open(path, O_RDWR);
  if (node >= 0) {
    close(node);
  }
  return node >= 0 || errno == ENXIO;
}

EXPORTED int cuInit(unsigned flags)
{
  (void)flags;
  int found = 0;
  for (int minor = 0; minor < MINORS && lets_through("/dev/nvidiactl"); minor++) {
    char path[32];
    snprintf(path, sizeof path, "/dev/nvidia%d", minor);
    found += lets_through(path);
  }
  if (found == 0) {
    return NO_DEVICE;
  }
  devices = found;
  return SUCCESS;
}

EXPORTED int cuDriverGetVersion(int* version)
{
  *version = 13000;
  return SUCCESS;
}

EXPORTED int cuDeviceGetCount(int* count)
{
  if (devices < 0) {
    return NOT_INITIALIZED;
  }
  *count = devices;
  return SUCCESS;
}

EXPORTED int cuDeviceGet(int* device, int ordinal)
{
  if (ordinal < 0 || ordinal >= devices) {
    return INVALID_VALUE;
  }
  *device = ordinal;
  return SUCCESS;
}

EXPORTED int cuDeviceGetName(char* name, int length, int device)
{
  snprintf(name, (size_t)length, "simulated GPU %d", device);
  return SUCCESS;
}

// No simulated driver tells it here, so it is that of the environment: of the GPUs that the container was given.
EXPORTED int cuDeviceGetUuid(unsigned char* uuid, int device)
{
  const char* listed = getenv("NVIDIA_VISIBLE_DEVICES");
  memset(uuid, 0, 16);
  for (int i = 0; listed != NULL && i < device; i++) {
    listed = strchr(listed, ',');
    listed = listed == NULL ? NULL : listed + 1;
  }
  int digits = 0;
  for (const char* at = listed; at != NULL && *at != '\0' && *at != ',' && digits < 32; at++) {
    const char* hex = strchr(DIGITS, *at);
    if (hex != NULL) {
      uuid[digits / 2] = (unsigned char)(uuid[digits / 2] << 4 | (hex - DIGITS));
      digits++;
    }
  }
  return SUCCESS;
}

EXPORTED int cuDeviceTotalMem_v2(size_t* bytes, int device)
{
  (void)device;
  *bytes = (size_t)1 << 30;
  return SUCCESS;
}

EXPORTED int cuCtxCreate_v2(void** context, unsigned flags, int device)
{
  (void)flags;
  *context = &devices;
  return device < devices ? SUCCESS : INVALID_VALUE;
}

EXPORTED int cuCtxDestroy_v2(void* context)
{
  return context == &devices ? SUCCESS : INVALID_VALUE;
}

EXPORTED int cuCtxSynchronize(void)
{
  return SUCCESS;
}

EXPORTED int cuMemAlloc_v2(uint64_t* address, size_t bytes)
{
  *address = (uint64_t)(uintptr_t)malloc(bytes);
  return SUCCESS;
}

EXPORTED int cuMemFree_v2(uint64_t address)
{
  free((void*)(uintptr_t)address);
  return SUCCESS;
}

EXPORTED int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes)
{
  memcpy((void*)(uintptr_t)to, from, bytes);
  return SUCCESS;
}

EXPORTED int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes)
{
  memcpy(to, (const void*)(uintptr_t)from, bytes);
  return SUCCESS;
}

EXPORTED int cuModuleLoadData(void** module, const void* image)
{
  *module = &devices;
  return image == NULL ? INVALID_VALUE : SUCCESS;
}

static const char WORK[] = "work";
static const char SPIN[] = "spin";

EXPORTED int cuModuleGetFunction(void** function, void* module, const char* name)
{
  (void)module;
  const char* known = strcmp(name, WORK) == 0 ? WORK : strcmp(name, SPIN) == 0 ? SPIN : NULL;
  *function = (void*)(uintptr_t)known;
  return known == NULL ? NOT_FOUND : SUCCESS;
}

EXPORTED int cuLaunchKernel(void* function,
                            unsigned blocks,
                            unsigned y,
                            unsigned z,
                            unsigned threads,
                            unsigned v,
                            unsigned w,
                            unsigned shared,
                            void* stream,
                            void** arguments,
                            void** extra)
{
  (void)shared, (void)stream, (void)extra;
  if (y != 1 || z != 1 || v != 1 || w != 1) {
    return INVALID_VALUE;
  }
  if (function == SPIN) {
    struct timespec some = {0, 2000000};
    nanosleep(&some, NULL);
    return SUCCESS;
  }
  uint32_t* values = (uint32_t*)(uintptr_t)*(uint64_t*)arguments[0];
  uint32_t count = *(uint32_t*)arguments[1];
  for (uint32_t i = 0; i < count && i < blocks * threads; i++) {
    values[i] = values[i] * 3 + i;
  }
  return SUCCESS;
}

EXPORTED int cuGetErrorName(int code, const char** name)
{
  *name = code == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_OF_THE_SIMULATION";
  return SUCCESS;
}

// For the nvidia-smi of the simulated driver.
EXPORTED const char simulated_driver_version[] = "simulated";
