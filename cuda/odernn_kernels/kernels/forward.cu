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
  int stage;
  auto advance = [&](int r) {
    step(c, c.w, ring.cell[stage][r][lane], y, z);
    *y_row = y;
    y_row += c.width;
    if (KEEP == Keep::states) {
      *z_row = z;
      z_row += c.width;
    }
  };

  long long kept = 0, due = a.every;
  auto keep = [&](int n) {
    if (KEEP == Keep::checkpoints && n == due && due < c.length) {
      a.checkpoints[kept * c.width + index] = y;
      a.checkpoints[(a.count + kept) * c.width + index] = z;
      ++kept;
      due += a.every;
    }
  };
  walk(c.length, stage, fetch, advance, keep);
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
  int asked = (c.length - 1) / ROWS * ROWS;
  auto fetch = [&](int stage) {
    fetch_rows(ring.cell[stage], a.problem.x, c.width, index, asked, c.length);
    asked -= ROWS;
    commit_copies();
  };
  int stage;
  auto retreat = [&](int base, int r) {
    const long long row = (base + r) * c.width + index;
    a.y[row] = y;
    a.z[row] = z;
    y = fused(-c.h, z, y);
    const T s = hyperbolic_tangent(fused(c.w, y, ring.cell[stage][r][lane]));
    z = momentum_before(c, s, y, z);
  };
  walk_back(c.length, stage, fetch, retreat, [](int) {});
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
