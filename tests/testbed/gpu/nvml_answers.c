// SPDX-License-Identifier: Apache-2.0
// Asks an NVML what the module and Mesos's own isolator ask, and what they must not be surprised by, and writes down every
// answer: code, value, time. Run once on a machine's NVML and once on the simulated one, it tells what the simulation has
// wrong. Nothing is changed on the GPU; MIG is only asked for.
// It prints lines `call \t code \t kind \t value \t microseconds`: kind `=` where both must answer the same, `~` where the
// value is measured.
#include "nvml_call.h"

static char value[4096];

static void tell(const char* call, int code, const char* kind)
{
  printf("%s\t%d\t%s\t%s\t%.1f\n", call, code, kind, code == 0 || *value == '+' ? value : "",
         microseconds(CLOCK_MONOTONIC) - began);
  *value = '\0';
}

#define SAY(...) snprintf(value, sizeof value, __VA_ARGS__)

static void text(const char* call, const char* name, Device device, unsigned length)
{
  char answer[256] = "";
  int code = CALL(name, (Device, char*, unsigned), device, answer, length);
  SAY("%s", answer);
  tell(call, code, "=");
}

static void number_as(const char* call, const char* name, Device device, const char* kind)
{
  unsigned answer = 0;
  int code = CALL(name, (Device, unsigned*), device, &answer);
  SAY("%u", answer);
  tell(call, code, kind);
}

static void number(const char* name, Device device)
{
  number_as(name, name, device, "=");
}

static void machine(void)
{
  char answer[128] = "";
  int cuda = 0;
  int code = CALL("nvmlSystemGetDriverVersion", (char*, unsigned), answer, 80);
  SAY("%s", answer);
  tell("nvmlSystemGetDriverVersion", code, "=");
  code = CALL("nvmlSystemGetDriverVersion", (char*, unsigned), answer, 4);
  tell("nvmlSystemGetDriverVersion into 4 bytes", code, "=");
  code = CALL("nvmlSystemGetNVMLVersion", (char*, unsigned), answer, 80);
  SAY("%s", answer);
  tell("nvmlSystemGetNVMLVersion", code, "=");
  code = CALL("nvmlSystemGetCudaDriverVersion", (int*), &cuda);
  SAY("%d", cuda);
  tell("nvmlSystemGetCudaDriverVersion", code, "=");
  code = CALL("nvmlSystemGetCudaDriverVersion_v2", (int*), &cuda);
  SAY("%d", cuda);
  tell("nvmlSystemGetCudaDriverVersion_v2", code, "=");
}

static void handles(unsigned count)
{
  Device device = NULL;
  tell("nvmlDeviceGetHandleByIndex_v2 beyond the last",
       CALL("nvmlDeviceGetHandleByIndex_v2", (unsigned, Device*), count, &device), "=");
  tell("nvmlDeviceGetHandleByUUID of nobody",
       CALL("nvmlDeviceGetHandleByUUID", (const char*, Device*), "GPU-00000000-0000-0000-0000-000000000000", &device),
       "=");
  tell("nvmlDeviceGetHandleByUUID of nonsense", CALL("nvmlDeviceGetHandleByUUID", (const char*, Device*), "x", &device),
       "=");
  tell("nvmlDeviceGetHandleByPciBusId_v2 of nobody",
       CALL("nvmlDeviceGetHandleByPciBusId_v2", (const char*, Device*), "0000:fe:1e.0", &device), "=");
}

static void identity(Device device)
{
  struct Pci pci;
  int major = 0, minor = 0;
  number("nvmlDeviceGetIndex", device);
  text("nvmlDeviceGetUUID", "nvmlDeviceGetUUID", device, 96);
  text("nvmlDeviceGetUUID into 10 bytes", "nvmlDeviceGetUUID", device, 10);
  text("nvmlDeviceGetName", "nvmlDeviceGetName", device, 96);
  number("nvmlDeviceGetMinorNumber", device);
  memset(&pci, 0, sizeof pci);
  int code = CALL("nvmlDeviceGetPciInfo_v3", (Device, struct Pci*), device, &pci);
  SAY("%.32s", pci.id);
  tell("nvmlDeviceGetPciInfo_v3", code, "=");
  SAY("%.16s, ids %08x %08x", pci.legacy, pci.ids, pci.subsystem);
  tell("nvmlDeviceGetPciInfo_v3, more of it", code, "=");
  number("nvmlDeviceGetBrand", device);
  code = CALL("nvmlDeviceGetCudaComputeCapability", (Device, int*, int*), device, &major, &minor);
  SAY("%d.%d", major, minor);
  tell("nvmlDeviceGetCudaComputeCapability", code, "=");
  number("nvmlDeviceGetNumaNodeId", device);
  unsigned long mask = 0;
  code = CALL("nvmlDeviceGetMemoryAffinity", (Device, unsigned, unsigned long*, unsigned), device, 1, &mask, 0);
  SAY("%lx", mask);
  tell("nvmlDeviceGetMemoryAffinity", code, "=");
  code = CALL("nvmlDeviceGetTopologyCommonAncestor", (Device, Device, unsigned*), device, device, &pci.domain);
  SAY("%u", pci.domain);
  tell("nvmlDeviceGetTopologyCommonAncestor with itself", code, "=");
}

static void mig(Device device)
{
  unsigned now = 9, next = 9;
  Device part = NULL;
  int code = CALL("nvmlDeviceGetMigMode", (Device, unsigned*, unsigned*), device, &now, &next);
  SAY("%u, then %u", now, next);
  tell("nvmlDeviceGetMigMode", code, "=");
  number("nvmlDeviceGetMaxMigDeviceCount", device);
  code = CALL("nvmlDeviceGetMigDeviceHandleByIndex", (Device, unsigned, Device*), device, 0, &part);
  tell("nvmlDeviceGetMigDeviceHandleByIndex 0", code, "=");
  code = CALL("nvmlDeviceGetMigDeviceHandleByIndex", (Device, unsigned, Device*), device, 99, &part);
  tell("nvmlDeviceGetMigDeviceHandleByIndex 99", code, "=");
  number("nvmlDeviceIsMigDeviceHandle", device);
  number("nvmlDeviceGetGpuInstanceId", device);
  number("nvmlDeviceGetComputeInstanceId", device);
  code = CALL("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", (Device, Device*), device, &part);
  tell("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", code, "=");
}

static void memory(Device device)
{
  unsigned long long old[3] = {0, 0, 0};
  struct
  {
    unsigned version;
    unsigned long long total, reserved, free, used;
  } info;
  memset(&info, 0, sizeof info);
  int code = CALL("nvmlDeviceGetMemoryInfo", (Device, unsigned long long*), device, old);
  SAY("%llu", old[0]);
  tell("nvmlDeviceGetMemoryInfo", code, "=");
  code = CALL("nvmlDeviceGetMemoryInfo_v2", (Device, void*), device, &info);
  tell("nvmlDeviceGetMemoryInfo_v2 of version 0", code, "=");
  info.version = (unsigned)sizeof info | 2U << 24;
  code = CALL("nvmlDeviceGetMemoryInfo_v2", (Device, void*), device, &info);
  SAY("%llu", info.total);
  tell("nvmlDeviceGetMemoryInfo_v2", code, "=");
  SAY("reserved %llu, free %llu, used %llu; of version 1 free %llu, used %llu", info.reserved, info.free, info.used,
      old[1], old[2]);
  tell("nvmlDeviceGetMemoryInfo_v2, more of it", code, "~");
}

static void use(Device device)
{
  static struct Process found[MANY];
  static struct Sample samples[MANY];
  unsigned count = 0, rates[2] = {0, 0};
  int code = processes("nvmlDeviceGetComputeRunningProcesses_v3", device, NULL, &count);
  SAY("+%u", count);
  tell("nvmlDeviceGetComputeRunningProcesses_v3 without room", code, "~");
  count = MANY;
  code = processes("nvmlDeviceGetComputeRunningProcesses_v3", device, found, &count);
  SAY("%u", count);
  tell("nvmlDeviceGetComputeRunningProcesses_v3", code, "~");
  count = MANY;
  code = processes("nvmlDeviceGetComputeRunningProcesses_v2", device, found, &count);
  tell("nvmlDeviceGetComputeRunningProcesses_v2", code, "~");
  count = MANY;
  code = processes("nvmlDeviceGetComputeRunningProcesses", device, found, &count);
  tell("nvmlDeviceGetComputeRunningProcesses", code, "~");
  code = CALL("nvmlDeviceGetUtilizationRates", (Device, unsigned*), device, rates);
  SAY("gpu %u, memory %u", rates[0], rates[1]);
  tell("nvmlDeviceGetUtilizationRates", code, "~");
  const struct
  {
    const char* name;
    unsigned room;
    unsigned long long since;
  } asked[] = {
      {"nvmlDeviceGetProcessUtilization without room", 0, 0},
      {"nvmlDeviceGetProcessUtilization since ever", MANY, 0},
      {"nvmlDeviceGetProcessUtilization since now", MANY, (unsigned long long)microseconds(CLOCK_REALTIME)},
      {"nvmlDeviceGetProcessUtilization since tomorrow", MANY,
       (unsigned long long)microseconds(CLOCK_REALTIME) + 86400000000},
  };
  for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
    count = asked[i].room;
    code = CALL("nvmlDeviceGetProcessUtilization", (Device, struct Sample*, unsigned*, unsigned long long), device,
                asked[i].room == 0 ? NULL : samples, &count, asked[i].since);
    SAY("+%u", count);
    tell(asked[i].name, code, i == 0 ? "=" : "~");
  }
  number_as("nvmlDeviceGetPowerUsage", "nvmlDeviceGetPowerUsage", device, "~");
  unsigned degrees = 0;
  code = CALL("nvmlDeviceGetTemperature", (Device, unsigned, unsigned*), device, 0, &degrees);
  SAY("%u", degrees);
  tell("nvmlDeviceGetTemperature", code, "~");
  code = CALL("nvmlDeviceGetTemperature", (Device, unsigned, unsigned*), device, 7, &degrees);
  tell("nvmlDeviceGetTemperature of sensor 7", code, "=");
}

static void events(Device device)
{
  unsigned long long types = 0;
  void* set = NULL;
  struct
  {
    Device device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
  } event;
  memset(&event, 0, sizeof event);
  int code = CALL("nvmlDeviceGetSupportedEventTypes", (Device, unsigned long long*), device, &types);
  SAY("%llx", types);
  tell("nvmlDeviceGetSupportedEventTypes", code, "=");
  tell("nvmlEventSetCreate", CALL("nvmlEventSetCreate", (void**), &set), "=");
  code = CALL("nvmlDeviceRegisterEvents", (Device, unsigned long long, void*), device, 1ULL << 40, set);
  tell("nvmlDeviceRegisterEvents of a type that is none", code, "=");
  code = CALL("nvmlDeviceRegisterEvents", (Device, unsigned long long, void*), device, types, set);
  tell("nvmlDeviceRegisterEvents", code, "=");
  for (int i = 0; i < 4; i++) {
    code = CALL("nvmlEventSetWait_v2", (void*, void*, unsigned), set, &event, 100);
    SAY("type %llx, data %llx, instances %u %u", event.type, event.data, event.gpu_instance, event.compute_instance);
    // What happens on a machine happens when it will.
    tell("nvmlEventSetWait_v2 for 100 ms", code, "~");
  }
  tell("nvmlEventSetFree", CALL("nvmlEventSetFree", (void*), set), "=");
}

int main(int count, char** arguments)
{
  open_library(count, arguments);
  unsigned devices = 0;
  Device device = NULL;
  tell("nvmlDeviceGetCount_v2 before the start", CALL("nvmlDeviceGetCount_v2", (unsigned*), &devices), "=");
  tell("nvmlInit_v2", CALL("nvmlInit_v2", (void)), "=");
  tell("nvmlInit_v2 again", CALL("nvmlInit_v2", (void)), "=");
  tell("nvmlInitWithFlags 0", CALL("nvmlInitWithFlags", (unsigned), 0), "=");
  machine();
  int code = CALL("nvmlDeviceGetCount_v2", (unsigned*), &devices);
  SAY("%u", devices);
  tell("nvmlDeviceGetCount_v2", code, "=");
  handles(devices);
  for (unsigned i = 0; i < devices; i++) {
    printf("# GPU %u\n", i);
    tell("nvmlDeviceGetHandleByIndex_v2", CALL("nvmlDeviceGetHandleByIndex_v2", (unsigned, Device*), i, &device), "=");
    identity(device);
    memory(device);
    mig(device);
    use(device);
    events(device);
  }
  for (int i = 1; i <= 4; i++) {
    tell(i < 4 ? "nvmlShutdown" : "nvmlShutdown once too often", CALL("nvmlShutdown", (void)), "=");
  }
  tell("nvmlDeviceGetCount_v2 after the end", CALL("nvmlDeviceGetCount_v2", (unsigned*), &devices), "=");
  return 0;
}
