// SPDX-License-Identifier: Apache-2.0
// The nvidia-smi of a simulated driver. Like the real one it finds the driver's libraries by the loader alone, and names
// the GPUs whose nodes it may open.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void* opened(const char* name)
{
  void* library = dlopen(name, RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
  }
  return library;
}

int main(void)
{
  void* nvml = opened("libnvidia-ml.so.1");
  void* cuda = opened("libcuda.so.1");
  if (nvml == NULL || cuda == NULL) {
    return 12;
  }
  const char* version = dlsym(cuda, "simulated_driver_version");
  printf("Driver Version: %s\n", version == NULL ? "unknown" : version);
  for (int minor = 0; minor < 255; minor++) {
    char path[32];
    snprintf(path, sizeof path, "/dev/nvidia%d", minor);
    int node = open(path, O_RDWR);
    // A simulated node has no device behind it: that is said only once the kernel's device control has said yes.
    if (node >= 0 || errno == ENXIO) {
      printf("GPU %d: simulated (%s)\n", minor, path);
    }
    if (node >= 0) {
      close(node);
    }
  }
  return 0;
}
