// SPDX-License-Identifier: Apache-2.0
// Tells for some seconds what the first GPU says of the processes on it: whose, and in which rhythm the samples come that the
// estimate of idle GPUs lives on.
//
//   nvml-watch <library> <seconds>
#include "nvml_call.h"

static void watch(Device device, double seconds)
{
  static struct Process found[MANY];
  static struct Sample samples[MANY];
  unsigned long long last = 0;
  for (double begin = microseconds(CLOCK_MONOTONIC); microseconds(CLOCK_MONOTONIC) - begin < seconds * 1e6;) {
    unsigned count = MANY, rates[2] = {0, 0};
    struct timespec pause = {0, 300000000};
    int code = CALL("nvmlDeviceGetUtilizationRates", (Device, unsigned*), device, rates);
    printf("rates: code %d, gpu %u, memory %u\n", code, rates[0], rates[1]);
    code = processes("nvmlDeviceGetComputeRunningProcesses_v3", device, found, &count);
    printf("running: code %d, count %u", code, count);
    for (unsigned i = 0; code == 0 && i < count; i++) {
      printf("; pid %u, memory %llu, instances %u %u", found[i].pid, found[i].memory, found[i].gpu_instance,
             found[i].compute_instance);
    }
    count = MANY;
    code = CALL("nvmlDeviceGetProcessUtilization", (Device, struct Sample*, unsigned*, unsigned long long), device,
                samples, &count, last);
    printf("\nsamples since %llu: code %d, count %u", last, code, count);
    double now = microseconds(CLOCK_REALTIME);
    for (unsigned i = 0; code == 0 && i < count; i++) {
      printf("; pid %u, %.0f ms ago, sm %u, memory %u", samples[i].pid, (now - (double)samples[i].time) / 1e3,
             samples[i].sm, samples[i].memory);
      last = samples[i].time > last ? samples[i].time : last;
    }
    printf("\n");
    nanosleep(&pause, NULL);
  }
}

int main(int count, char** arguments)
{
  Device device = NULL;
  open_library(count, arguments);
  if (CALL("nvmlInit_v2", (void)) != 0 || CALL("nvmlDeviceGetHandleByIndex_v2", (unsigned, Device*), 0, &device) != 0) {
    return 1;
  }
  watch(device, count > 2 ? atof(arguments[2]) : 1);
  return CALL("nvmlShutdown", (void)) == 0 ? 0 : 1;
}
