// What the kernels need of a GPU beyond C++, in one place: the emulator (emulator/shim.h) defines the same names on a CPU.
#pragma once

#ifndef ODERNN_EMULATED
namespace odernn {

// The block's dynamic shared memory. Never static: the emulator allocates it per block, filled with NaN, under ASan.
template <typename T>
__device__ __forceinline__ T* shared_memory() {
  extern __shared__ __align__(16) unsigned char storage[];
  return reinterpret_cast<T*>(storage);
}

// to := wanted ? *from : 0, some time before the wait that covers it. `from` is not read unless wanted.
// cp.async and not a prefetch into registers: ptxas sinks those loads next to their use, where DRAM is not hidden.
template <typename T>
__device__ __forceinline__ void copy_async(T* to, const T* from, bool wanted) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = wanted ? static_cast<int>(sizeof(T)) : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(sizeof(T)), "r"(bytes)
               : "memory");
}

// Closes the group of all copies since the last call.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Until all of this thread's groups but the newest PENDING have landed.
template <int PENDING>
__device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// 1/v to 1 ulp, for normal v with a normal inverse.
__device__ __forceinline__ float reciprocal_guess(float v) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

}  // namespace odernn
#endif
