// Forward in time: one thread a column, the drive through a ring of asynchronous copies.
#include "recurrence.cuh"

namespace odernn {

template <typename T>
struct Forward {
  Problem<T> problem;
  const T* y0;           // (batch, hidden)
  const T* z0;
  T* y;                  // (steps, batch, hidden), zero beyond a sample's length
  T* z;                  // the same; only where rows of z are wanted
  T* y_last;             // (batch, hidden)
  T* z_last;
  T* checkpoints;        // (2, count, batch, hidden): y and z after `every`, 2 `every`, … steps, short of the length
  long long count, every;  // every is a multiple of ROWS
};

enum class Keep { outputs, states, checkpoints };

template <typename T, Keep KEEP>
__device__ __forceinline__ void forward(const Forward<T>& a) {
  const int lane = threadIdx.x;
  const long long index = static_cast<long long>(blockIdx.x) * LANES + lane;
  if (index >= a.problem.batch * a.problem.hidden) return;
  Ring<T>& ring = *shared_memory<Ring<T>>();
  const Column<T> c = column_of(a.problem, index);
  T y = a.y0[index], z = a.z0[index];

  const T* from = a.problem.x + index;
  int asked = 0;
  auto fetch = [&](int stage) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r, from += c.width) copy_async(&ring.cell[stage][r][lane], from, asked + r < c.length);
    asked += ROWS;
    commit_copies();
  };
  T* y_row = a.y + index;
  T* z_row = KEEP == Keep::states ? a.z + index : nullptr;
  auto advance = [&](T drive) {
    step(c, c.w, drive, y, z);
    *y_row = y;
    y_row += c.width;
    if (KEEP == Keep::states) {
      *z_row = z;
      z_row += c.width;
    }
  };

  for (int stage = 0; stage < STAGES - 1; ++stage) fetch(stage);
  int stage = 0, n = 0;
  long long kept = 0, due = a.every;
  // Full groups without a condition inside, so that their instructions interleave; then the tail.
  for (; n + ROWS <= c.length; n += ROWS) {
    await_copies<STAGES - 2>();
    fetch((stage + STAGES - 1) % STAGES);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) advance(ring.cell[stage][r][lane]);
    stage = (stage + 1) % STAGES;
    if (KEEP == Keep::checkpoints && n + ROWS == due && due < c.length) {
      a.checkpoints[kept * c.width + index] = y;
      a.checkpoints[(a.count + kept) * c.width + index] = z;
      ++kept;
      due += a.every;
    }
  }
  await_copies<0>();
  for (int r = 0; n + r < c.length; ++r) advance(ring.cell[stage][r][lane]);
  a.y_last[index] = y;
  a.z_last[index] = z;
  zero_rows(a.y, c, c.length);
  if (KEEP == Keep::states) zero_rows(a.z, c, c.length);
}

// The rows before the last state: y_{n-1} = y_n - h z_n, z_{n-1} = z_n + h (s_n + alpha y_{n-1}). Reading downwards,
// y0 and z0 are outputs here.
template <typename T>
struct Inverse {
  Problem<T> problem;
  const T* y_last;
  const T* z_last;
  T* y;
  T* z;
  T* y0;
  T* z0;
};

template <typename T>
__device__ __forceinline__ void inverse(const Inverse<T>& a) {
  const int lane = threadIdx.x;
  const long long index = static_cast<long long>(blockIdx.x) * LANES + lane;
  if (index >= a.problem.batch * a.problem.hidden) return;
  Ring<T>& ring = *shared_memory<Ring<T>>();
  const Column<T> c = column_of(a.problem, index);
  T y = a.y_last[index], z = a.z_last[index];
  zero_rows(a.y, c, c.length);
  zero_rows(a.z, c, c.length);
  int asked = c.length;
  auto fetch = [&](int stage) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      copy_async(&ring.cell[stage][r][lane], a.problem.x + (asked - r - 1) * c.width + index, asked - r > 0);
    asked -= ROWS;
    commit_copies();
  };
  for (int stage = 0; stage < STAGES - 1; ++stage) fetch(stage);
  int stage = 0;
  for (int n = c.length; n > 0; n -= ROWS) {
    await_copies<STAGES - 2>();
    fetch((stage + STAGES - 1) % STAGES);
    for (int r = 0; r < ROWS && n - r > 0; ++r) {
      const long long row = (n - r - 1) * c.width + index;
      a.y[row] = y;
      a.z[row] = z;
      y = fused(-c.h, z, y);
      const T s = hyperbolic_tangent(fused(c.w, y, ring.cell[stage][r][lane]));
      z = fused(c.h, fused(c.alpha, y, s), z);
    }
    stage = (stage + 1) % STAGES;
  }
  await_copies<0>();
  a.y0[index] = y;
  a.z0[index] = z;
}

}  // namespace odernn

using odernn::Keep;

extern "C" __global__ void __launch_bounds__(32, 1) forward_f32(odernn::Forward<float> a) {
  odernn::forward<float, Keep::outputs>(a);
}
extern "C" __global__ void __launch_bounds__(32, 1) forward_f64(odernn::Forward<double> a) {
  odernn::forward<double, Keep::outputs>(a);
}
extern "C" __global__ void __launch_bounds__(32, 1) forward_states_f32(odernn::Forward<float> a) {
  odernn::forward<float, Keep::states>(a);
}
extern "C" __global__ void __launch_bounds__(32, 1) forward_states_f64(odernn::Forward<double> a) {
  odernn::forward<double, Keep::states>(a);
}
extern "C" __global__ void __launch_bounds__(32, 1) forward_checkpoints_f32(odernn::Forward<float> a) {
  odernn::forward<float, Keep::checkpoints>(a);
}
extern "C" __global__ void __launch_bounds__(32, 1) forward_checkpoints_f64(odernn::Forward<double> a) {
  odernn::forward<double, Keep::checkpoints>(a);
}
extern "C" __global__ void __launch_bounds__(32, 1) inverse_f32(odernn::Inverse<float> a) { odernn::inverse(a); }
extern "C" __global__ void __launch_bounds__(32, 1) inverse_f64(odernn::Inverse<double> a) { odernn::inverse(a); }
