// CUDA's names on a CPU, so that g++ compiles the very kernels: a thread is a fiber, a block is run by one scheduler.
//
// A barrier or shuffle suspends the fiber. The scheduler resumes fibers in one of three orders (ascending, descending,
// shuffled anew each round): kernels whose threads race give different bits. What it finds: wrong results, races that
// any of the orders exposes, barriers and shuffles in divergent branches, deadlocks, a copy that is read before it was
// awaited, shared memory that is read before it was written (NaN) or beyond its size (NaN there, too, and written numbers
// are seen; exactly under ASan), an index beyond an array of known size, a misaligned vector load, an integer that
// overflows. What it cannot find: memory ordering between warps and blocks, accuracy of the hardware's approximations,
// coalescing and bank conflicts, the order of atomics, and, but for ASan, global memory beyond a tensor.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __syncthreads() odernn_shim::barrier(__FILE__, __LINE__, 0)
#define __syncthreads_or(predicate) odernn_shim::barrier(__FILE__, __LINE__, (predicate) != 0)
#define __shfl_up_sync(mask, value, distance) odernn_shim::shuffle_up(__FILE__, __LINE__, mask, value, distance)

namespace odernn_shim {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

enum class State { ready, barrier, shuffle, done };

struct Copy {
  void* to;
  const void* from;
  size_t bytes;
  bool wanted;
};

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  State state = State::ready;
  const char* file = "";
  int line = 0;
  int vote = 0;
  double value = 0, received = 0;
  int source = 0;
  std::vector<Copy> open;                  // copies since the last commit
  std::vector<std::vector<Copy>> pending;  // closed groups that nobody has awaited
  void* fake_stack = nullptr;
};

constexpr size_t STACK = 128 * 1024;
constexpr size_t GUARD = 256;   // bytes behind a block's shared memory, which nobody may write

inline Index thread, block, block_size, grid_size;
inline std::vector<Fiber> fibers;
inline Fiber* current = nullptr;
inline ucontext_t scheduler;
inline char* shared = nullptr;
inline void (*body)(void*) = nullptr;
inline void* argument = nullptr;
inline std::string failure;
#if defined(__SANITIZE_ADDRESS__)
inline const void* scheduler_stack = nullptr;
inline size_t scheduler_size = 0;
inline void* scheduler_fake = nullptr;
#endif

inline void leave(bool for_ever = false) {
  Fiber* self = current;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(for_ever ? nullptr : &self->fake_stack, scheduler_stack, scheduler_size);
#endif
  (void)for_ever;
  swapcontext(&self->context, &scheduler);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(self->fake_stack, &scheduler_stack, &scheduler_size);
#endif
}

inline void enter() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_size);
#endif
  body(argument);
  current->state = State::done;
  leave(true);
}

inline void resume(size_t i) {
  current = &fibers[i];
  thread.x = static_cast<unsigned>(i);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&scheduler_fake, current->stack.get(), STACK);
#endif
  swapcontext(&scheduler, &current->context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(scheduler_fake, nullptr, nullptr);
#endif
}

inline int barrier(const char* file, int line, int vote) {
  Fiber* self = current;
  self->state = State::barrier;
  self->file = file;
  self->line = line;
  self->vote = vote;
  leave();
  return self->vote;
}

template <typename T>
T shuffle_up(const char* file, int line, unsigned mask, T value, int distance) {
  Fiber* self = current;
  const int lane = static_cast<int>(thread.x % 32), me = static_cast<int>(thread.x);
  if (mask != 0xffffffffu) failure = "a shuffle of a part of the warp is not emulated";
  self->state = State::shuffle;
  self->file = file;
  self->line = line;
  self->value = static_cast<double>(value);
  self->source = lane >= distance ? me - distance : me;
  leave();
  return static_cast<T>(self->received);
}

inline std::string where(const Fiber& f) { return std::string(f.file) + ":" + std::to_string(f.line); }

// The fibers of [first, last) that are not done, if all of them wait for `state` at one place; a complaint otherwise.
inline bool all_wait(size_t first, size_t last, State state, bool& any) {
  const Fiber* one = nullptr;
  any = false;
  for (size_t i = first; i < last; ++i) {
    const Fiber& f = fibers[i];
    if (f.state == State::done) continue;
    if (f.state != state) return false;
    if (one != nullptr && (one->line != f.line || std::strcmp(one->file, f.file) != 0)) {
      failure = "divergent: threads of one block wait at " + where(*one) + " and at " + where(f);
      return false;
    }
    one = &f;
    any = true;
  }
  return any;
}

inline bool release() {
  bool any = false, released = false;
  for (size_t first = 0; first < fibers.size(); first += 32) {
    const size_t last = std::min(first + 32, fibers.size());
    if (!all_wait(first, last, State::shuffle, any)) continue;
    for (size_t i = first; i < last; ++i) {
      if (fibers[i].state == State::done) {
        failure = "divergent: a thread ended before a shuffle of its whole warp at " + where(fibers[first]);
        return false;
      }
      fibers[i].received = fibers[static_cast<size_t>(fibers[i].source)].value;
    }
    for (size_t i = first; i < last; ++i) fibers[i].state = State::ready;
    released = true;
  }
  if (!released && failure.empty() && all_wait(0, fibers.size(), State::barrier, any)) {
    int vote = 0;
    for (const Fiber& f : fibers) vote |= f.state == State::done ? 0 : f.vote;
    for (Fiber& f : fibers)
      if (f.state != State::done) f.vote = vote, f.state = State::ready;
    released = true;
  }
  return released;
}

// By itself: getcontext "returns twice", which the compiler holds against everything around it.
__attribute__((noinline)) inline void prepare(Fiber& f) {
  f.stack.reset(new char[STACK]);
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = f.stack.get();
  f.context.uc_stack.ss_size = STACK;
  f.context.uc_link = nullptr;
  makecontext(&f.context, enter, 0);
}

inline bool run_block(size_t threads, int order, std::mt19937& random) {
  fibers.clear();
  fibers.resize(threads);
  std::vector<size_t> turn(threads);
  for (size_t i = 0; i < threads; ++i) {
    turn[i] = order == 1 ? threads - 1 - i : i;
    prepare(fibers[i]);
  }
  for (;;) {
    if (order == 2) std::shuffle(turn.begin(), turn.end(), random);
    bool alive = false;
    for (size_t i : turn)
      if (fibers[i].state == State::ready) resume(i);
    for (const Fiber& f : fibers) alive = alive || f.state != State::done;
    if (!alive) return failure.empty();
    if (!release() || !failure.empty()) {
      if (failure.empty()) {
        failure = "deadlock: threads of one block wait at";
        std::string last;
        for (const Fiber& f : fibers)
          if (f.state != State::done && where(f) != last) failure += " " + (last = where(f));
      }
      return false;
    }
  }
}

inline size_t guard() {
#if defined(__SANITIZE_ADDRESS__)
  return 0;
#else
  return GUARD;
#endif
}

inline const char* launch(void (*kernel)(void*), void* arguments, unsigned grid, unsigned threads, size_t bytes,
                          int order) {
  failure.clear();
  std::mt19937 random(20180523);
  body = kernel;
  argument = arguments;
  grid_size.x = grid;
  block_size.x = threads;
  for (unsigned b = 0; b < grid; ++b) {
    block.x = b;
    void* memory = nullptr;
    // One poisoned allocation a block, of just the size asked for and a guard, which ASan has itself.
    const size_t whole = bytes + guard();
    if (posix_memalign(&memory, 16, whole == 0 ? 16 : whole) != 0) return "out of memory";
    shared = static_cast<char*>(memory);
    std::memset(shared, 0xff, whole);   // NaN as float and as double
    bool good = run_block(threads, order, random);
    for (size_t i = bytes; i < whole && good; ++i)
      if (shared[i] != static_cast<char>(0xff)) {
        failure = "shared memory is written beyond its size, at byte " + std::to_string(i) + " of " +
                  std::to_string(bytes);
        good = false;
      }
    std::free(memory);
    shared = nullptr;
    if (!good) return failure.c_str();
  }
  fibers.clear();
  return nullptr;
}

}  // namespace odernn_shim

#if !defined(__SANITIZE_ADDRESS__)
// What the compiler's checks call (-fsanitize=bounds,alignment,shift,signed-integer-overflow) where they find something;
// the block ends at its next barrier, and the launch says so. Under ASan the sanitizer's own functions abort.
namespace odernn_shim {
struct Place {
  const char* file;
  unsigned line, column;
};
inline void found(const char* what, const void* place) {
  const Place& at = *static_cast<const Place*>(place);
  if (failure.empty()) failure = std::string(what) + " at " + at.file + ":" + std::to_string(at.line);
}
}  // namespace odernn_shim
extern "C" {
__attribute__((used)) inline void __ubsan_handle_out_of_bounds(void* at, uintptr_t) {
  odernn_shim::found("an index is beyond its array", at);
}
__attribute__((used)) inline void __ubsan_handle_type_mismatch_v1(void* at, uintptr_t) {
  odernn_shim::found("a misaligned address", at);
}
__attribute__((used)) inline void __ubsan_handle_shift_out_of_bounds(void* at, uintptr_t, uintptr_t) {
  odernn_shim::found("a shift by more than the width", at);
}
__attribute__((used)) inline void __ubsan_handle_add_overflow(void* at, uintptr_t, uintptr_t) {
  odernn_shim::found("an integer overflows", at);
}
__attribute__((used)) inline void __ubsan_handle_sub_overflow(void* at, uintptr_t, uintptr_t) {
  odernn_shim::found("an integer overflows", at);
}
__attribute__((used)) inline void __ubsan_handle_mul_overflow(void* at, uintptr_t, uintptr_t) {
  odernn_shim::found("an integer overflows", at);
}
__attribute__((used)) inline void __ubsan_handle_negate_overflow(void* at, uintptr_t) {
  odernn_shim::found("an integer overflows", at);
}
}
#endif

#define threadIdx odernn_shim::thread
#define blockIdx odernn_shim::block
#define blockDim odernn_shim::block_size
#define gridDim odernn_shim::grid_size

inline float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline unsigned __float_as_uint(float v) {
  unsigned bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}
inline float __uint_as_float(unsigned bits) {
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
template <typename T>
T __ldg(const T* from) {
  return *from;
}
template <typename T>
T atomicAdd(T* to, T term) {
  const T old = *to;
  *to = old + term;
  return old;
}
using std::ilogb;
using std::log2;
using std::scalbn;

namespace odernn {

template <typename T>
T* shared_memory() {
  return reinterpret_cast<T*>(odernn_shim::shared);
}
// The copy happens when it is awaited and not before: to read the ring earlier is to read NaN or an old row.
template <typename T>
void copy_async(T* to, const T* from, bool wanted) {
  odernn_shim::current->open.push_back({to, from, sizeof(T), wanted});
}
inline void commit_copies() {
  odernn_shim::Fiber& f = *odernn_shim::current;
  f.pending.push_back(std::move(f.open));
  f.open.clear();
}
template <int PENDING>
void await_copies() {
  std::vector<std::vector<odernn_shim::Copy>>& groups = odernn_shim::current->pending;
  while (groups.size() > PENDING) {
    for (const odernn_shim::Copy& c : groups.front())
      if (c.wanted) std::memcpy(c.to, c.from, c.bytes);
      else std::memset(c.to, 0, c.bytes);
    groups.erase(groups.begin());
  }
}
// As far off as the hardware's approximation may be: an ulp, upwards or downwards by the last bit.
inline float reciprocal_guess(float v) {
  const float r = 1.0f / v;
  return std::nextafterf(r, __float_as_uint(v) & 1u ? 0.0f : INFINITY);
}

}  // namespace odernn
