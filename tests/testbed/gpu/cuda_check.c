// SPDX-License-Identifier: Apache-2.0
// Runs a kernel on every GPU that it is given and checks what comes back: that a node opens shows that the kernel's device
// control lets it through, only this shows that a container can compute. Like any program it finds CUDA by the loader alone.
//
//   cuda-check                 checks, and says so in lines `cuda <key> <value>`
//   cuda-check busy <seconds>  the same, and then keeps the first GPU busy for so long, after the line `cuda busy`
//
// It ends with 0 when all was right, 1 when CUDA refused or computed wrongly, 3 when there is no CUDA to be loaded.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
  COUNT = 1 << 16,
  THREADS = 256,
  BUSY_BLOCKS = 1024
};

typedef struct
{
  unsigned char bytes[16];
} Uuid;

static int (*cuInit)(unsigned);
static int (*cuDriverGetVersion)(int*);
static int (*cuDeviceGetCount)(int*);
static int (*cuDeviceGet)(int*, int);
static int (*cuDeviceGetName)(char*, int, int);
static int (*cuDeviceGetUuid)(Uuid*, int);
static int (*cuDeviceTotalMem)(size_t*, int);
static int (*cuCtxCreate)(void**, unsigned, int);
static int (*cuCtxDestroy)(void*);
static int (*cuCtxSynchronize)(void);
static int (*cuMemAlloc)(uint64_t*, size_t);
static int (*cuMemFree)(uint64_t);
static int (*cuMemcpyHtoD)(uint64_t, const void*, size_t);
static int (*cuMemcpyDtoH)(void*, uint64_t, size_t);
static int (*cuModuleLoadData)(void**, const void*);
static int (*cuModuleGetFunction)(void**, void*, const char*);
static int (*cuLaunchKernel)(
    void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
static int (*cuGetErrorName)(int, const char**);

// Where each goes, and the name under which the driver has it: some got a second layout when addresses grew to 64 bits.
static const struct
{
  const char* name;
  void* place;
} FUNCTIONS[] = {
    {"cuInit", &cuInit},
    {"cuDriverGetVersion", &cuDriverGetVersion},
    {"cuDeviceGetCount", &cuDeviceGetCount},
    {"cuDeviceGet", &cuDeviceGet},
    {"cuDeviceGetName", &cuDeviceGetName},
    {"cuDeviceGetUuid", &cuDeviceGetUuid},
    {"cuDeviceTotalMem_v2", &cuDeviceTotalMem},
    {"cuCtxCreate_v2", &cuCtxCreate},
    {"cuCtxDestroy_v2", &cuCtxDestroy},
    {"cuCtxSynchronize", &cuCtxSynchronize},
    {"cuMemAlloc_v2", &cuMemAlloc},
    {"cuMemFree_v2", &cuMemFree},
    {"cuMemcpyHtoD_v2", &cuMemcpyHtoD},
    {"cuMemcpyDtoH_v2", &cuMemcpyDtoH},
    {"cuModuleLoadData", &cuModuleLoadData},
    {"cuModuleGetFunction", &cuModuleGetFunction},
    {"cuLaunchKernel", &cuLaunchKernel},
    {"cuGetErrorName", &cuGetErrorName},
};

// `work` makes x = 3 x + i of element i; `spin` passes so many cycles of the processor's clock.
static const char KERNELS[] =
    ".version 6.3\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .entry work(.param .u64 values, .param .u32 count)\n"
    "{\n"
    "  .reg .pred %outside;\n"
    "  .reg .b32 %i, %n, %block, %threads, %x;\n"
    "  .reg .b64 %at, %offset;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %threads, %ntid.x;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mad.lo.u32 %i, %block, %threads, %i;\n"
    "  ld.param.u32 %n, [count];\n"
    "  setp.ge.u32 %outside, %i, %n;\n"
    "  @%outside bra done;\n"
    "  ld.param.u64 %at, [values];\n"
    "  cvta.to.global.u64 %at, %at;\n"
    "  mul.wide.u32 %offset, %i, 4;\n"
    "  add.u64 %at, %at, %offset;\n"
    "  ld.global.u32 %x, [%at];\n"
    "  mad.lo.u32 %x, %x, 3, %i;\n"
    "  st.global.u32 [%at], %x;\n"
    "done:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry spin(.param .u64 cycles)\n"
    "{\n"
    "  .reg .pred %more;\n"
    "  .reg .b64 %begin, %now, %passed, %wanted;\n"
    "  ld.param.u64 %wanted, [cycles];\n"
    "  mov.u64 %begin, %clock64;\n"
    "again:\n"
    "  mov.u64 %now, %clock64;\n"
    "  sub.u64 %passed, %now, %begin;\n"
    "  setp.lt.u64 %more, %passed, %wanted;\n"
    "  @%more bra again;\n"
    "  ret;\n"
    "}\n";

static double milliseconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void check(const char* what, int code)
{
  if (code == 0) {
    return;
  }
  const char* name = NULL;
  if (cuGetErrorName(code, &name) != 0 || name == NULL) {
    name = "unknown";
  }
  printf("cuda failed %s with %d %s\n", what, code, name);
  exit(1);
}

static void load(void)
{
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) {
    printf("cuda missing %s\n", dlerror());
    exit(3);
  }
  for (size_t i = 0; i < sizeof FUNCTIONS / sizeof FUNCTIONS[0]; i++) {
    void* found = dlsym(library, FUNCTIONS[i].name);
    if (found == NULL) {
      printf("cuda missing %s in libcuda.so.1\n", FUNCTIONS[i].name);
      exit(3);
    }
    memcpy(FUNCTIONS[i].place, &found, sizeof found);
  }
}

static void tell_identity(int device)
{
  char name[128] = "";
  Uuid id;
  size_t memory = 0;
  check("cuDeviceGetName", cuDeviceGetName(name, sizeof name, device));
  check("cuDeviceGetUuid", cuDeviceGetUuid(&id, device));
  check("cuDeviceTotalMem", cuDeviceTotalMem(&memory, device));
  printf("cuda name %s\ncuda memory %zu\ncuda uuid GPU-", name, memory);
  for (int i = 0; i < 16; i++) {
    printf(i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", id.bytes[i]);
  }
  printf("\n");
}

static void compute(void* module)
{
  static uint32_t values[COUNT];
  uint64_t on_device = 0;
  void* work = NULL;
  uint32_t count = COUNT;
  for (uint32_t i = 0; i < COUNT; i++) {
    values[i] = i * 7 + 1;
  }
  check("cuModuleGetFunction", cuModuleGetFunction(&work, module, "work"));
  check("cuMemAlloc", cuMemAlloc(&on_device, sizeof values));
  check("cuMemcpyHtoD", cuMemcpyHtoD(on_device, values, sizeof values));
  void* arguments[] = {&on_device, &count};
  check("cuLaunchKernel", cuLaunchKernel(work, COUNT / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
  check("cuCtxSynchronize", cuCtxSynchronize());
  memset(values, 0, sizeof values);
  check("cuMemcpyDtoH", cuMemcpyDtoH(values, on_device, sizeof values));
  check("cuMemFree", cuMemFree(on_device));
  for (uint32_t i = 0; i < COUNT; i++) {
    if (values[i] != (i * 7 + 1) * 3 + i) {
      printf("cuda failed element %u is %u, not %u\n", i, values[i], (i * 7 + 1) * 3 + i);
      exit(1);
    }
  }
  printf("cuda checked %u\n", count);
}

static void stay_busy(void* module, double seconds)
{
  void* spin = NULL;
  // Some milliseconds on any clock.
  uint64_t cycles = 2000000;
  void* arguments[] = {&cycles};
  check("cuModuleGetFunction", cuModuleGetFunction(&spin, module, "spin"));
  printf("cuda busy\n");
  for (double begin = milliseconds(); milliseconds() - begin < seconds * 1e3;) {
    check("cuLaunchKernel", cuLaunchKernel(spin, BUSY_BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
    check("cuCtxSynchronize", cuCtxSynchronize());
  }
}

int main(int count, char** arguments)
{
  setvbuf(stdout, NULL, _IOLBF, 0);
  load();
  double begin = milliseconds();
  check("cuInit", cuInit(0));
  int version = 0, devices = 0;
  check("cuDriverGetVersion", cuDriverGetVersion(&version));
  check("cuDeviceGetCount", cuDeviceGetCount(&devices));
  printf("cuda driver %d\ncuda devices %d\ncuda init_ms %.1f\n", version, devices, milliseconds() - begin);
  for (int i = 0; i < devices; i++) {
    int device = 0;
    void *context = NULL, *module = NULL;
    check("cuDeviceGet", cuDeviceGet(&device, i));
    tell_identity(device);
    begin = milliseconds();
    check("cuCtxCreate", cuCtxCreate(&context, 0, device));
    printf("cuda context_ms %.1f\n", milliseconds() - begin);
    begin = milliseconds();
    check("cuModuleLoadData", cuModuleLoadData(&module, KERNELS));
    printf("cuda module_ms %.1f\n", milliseconds() - begin);
    begin = milliseconds();
    compute(module);
    printf("cuda compute_ms %.1f\n", milliseconds() - begin);
    if (i == 0 && count == 3 && strcmp(arguments[1], "busy") == 0) {
      stay_busy(module, atof(arguments[2]));
    }
    check("cuCtxDestroy", cuCtxDestroy(context));
  }
  printf("cuda done\n");
  return devices > 0 ? 0 : 1;
}
