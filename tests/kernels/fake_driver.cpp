// A CUDA driver without a device, for tests of how PyCUDA is used: it keeps a stack of contexts for each thread, refuses
// what a driver refuses, tells stderr what was asked, and runs launches through the emulator (ODERNN_EMULATED names it).
// Entry points that are not here are stubs which fail; the test generates them.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

typedef int Result;
constexpr Result OK = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, NOT_FOUND = 500;

int primary = 0;                                  // its address is the primary context
int retained = 0;
char streams[64];                                 // their addresses are the streams
int made = 0;
thread_local std::vector<void*> contexts;
std::map<std::string, std::string> functions;     // address of the name is the function
std::map<const void*, size_t> shared_limit;

typedef const char* (*Launch)(const char*, const char*, size_t, unsigned, unsigned, size_t, int);

Launch emulated() {
  static Launch found = nullptr;
  if (found == nullptr) {
    void* library = dlopen(std::getenv("ODERNN_EMULATED"), RTLD_NOW);
    if (library != nullptr) found = reinterpret_cast<Launch>(dlsym(library, "odernn_launch"));
  }
  return found;
}

}  // namespace

extern "C" {

Result cuInit(unsigned) { return OK; }
Result cuDriverGetVersion(int* version) { return *version = 13000, OK; }
Result cuDeviceGetCount(int* count) { return *count = 1, OK; }
Result cuDeviceGet(int* device, int index) { return *device = index, OK; }
Result cuDeviceGetName(char* name, int size, int) { return std::snprintf(name, size, "fake"), OK; }
Result cuDeviceComputeCapability(int* major, int* minor, int) {
  const char* capability = std::getenv("ODERNN_FAKE_CAPABILITY");
  return *major = capability == nullptr ? 9 : std::atoi(capability), *minor = 0, OK;
}
Result cuDeviceGetAttribute(int* value, int attribute, int) {
  // COMPUTE_CAPABILITY_MAJOR and _MINOR; MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
  if (attribute == 75 || attribute == 76) {
    int major, minor;
    cuDeviceComputeCapability(&major, &minor, 0);
    *value = attribute == 75 ? major : minor;
  } else {
    *value = attribute == 97 ? 227 * 1024 : 0;
  }
  return OK;
}
Result cuDevicePrimaryCtxRetain(void** context, int) { return ++retained, *context = &primary, OK; }
Result cuDevicePrimaryCtxRelease_v2(int) { return std::fprintf(stderr, "released %d\n", --retained), OK; }
Result cuCtxPushCurrent_v2(void* context) { return contexts.push_back(context), OK; }
Result cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return INVALID_CONTEXT;
  if (context != nullptr) *context = contexts.back();
  return contexts.pop_back(), OK;
}
Result cuCtxGetCurrent(void** context) { return *context = contexts.empty() ? nullptr : contexts.back(), OK; }
Result cuCtxGetDevice(int* device) { return contexts.empty() ? INVALID_CONTEXT : (*device = 0, OK); }
Result cuCtxGetApiVersion(void*, unsigned* version) { return *version = 13000, OK; }
Result cuCtxSynchronize() { return OK; }

Result cuModuleLoadDataEx(void** module, const void* image, unsigned, void*, void*) {
  if (contexts.empty()) return INVALID_CONTEXT;
  if (std::memcmp(image, "\x7f" "ELF", 4) != 0) return 200;
  return *module = &functions, OK;
}
Result cuModuleLoadData(void** module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
Result cuModuleUnload(void*) { return contexts.empty() ? INVALID_CONTEXT : OK; }
Result cuModuleGetFunction(void** function, void*, const char* name) {
  if (contexts.empty()) return INVALID_CONTEXT;
  if (std::strstr(name, "missing") != nullptr) return NOT_FOUND;
  return *function = const_cast<char*>((functions[name] = name).c_str()), OK;
}
Result cuFuncGetAttribute(int* value, int, void*) { return *value = 0, OK; }
Result cuFuncSetAttribute(void* function, int attribute, int value) {
  if (attribute != 8) return INVALID_VALUE;   // MAX_DYNAMIC_SHARED_SIZE_BYTES
  return shared_limit[function] = value, OK;
}
Result cuFuncSetBlockShape(void*, int, int, int) { return contexts.empty() ? INVALID_CONTEXT : OK; }
Result cuGetErrorString(Result error, const char** text) {
  return *text = error == INVALID_CONTEXT ? "invalid device context" : error == NOT_FOUND ? "not found" : "failed", OK;
}
Result cuGetErrorName(Result, const char** text) { return *text = "CUDA_ERROR", OK; }
Result cuStreamCreate(void** stream, unsigned) {
  if (contexts.empty()) return INVALID_CONTEXT;
  return *stream = &streams[made++ % 64], OK;
}
Result cuStreamDestroy_v2(void*) { return OK; }

Result cuLaunchKernel(void* function, unsigned grid, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                      unsigned shared, void* stream, void**, void** extra) {
  if (contexts.empty()) return INVALID_CONTEXT;
  const auto widened = shared_limit.find(function);
  const size_t limit = widened == shared_limit.end() ? 48 * 1024 : widened->second;
  if (shared > limit) return INVALID_VALUE;
  if (extra == nullptr || emulated() == nullptr) return INVALID_VALUE;
  // CU_LAUNCH_PARAM_BUFFER_POINTER, address, CU_LAUNCH_PARAM_BUFFER_SIZE, address of the size
  const size_t size = *static_cast<size_t*>(extra[3]);
  const char* name = static_cast<const char*>(function);
  const char* failure = emulated()(name, static_cast<const char*>(extra[1]), size, grid, threads, shared, 0);
  std::fprintf(stderr, "launched %s %u %u %u %s %zu\n", name, grid, threads, shared,
               stream == nullptr ? "default" : "ours", contexts.size());
  if (failure != nullptr) std::fprintf(stderr, "%s\n", failure);
  return failure == nullptr ? OK : 719;
}

}  // extern "C"
