// Bit-exact reversal in float32: states are float64 multiples of 2^-40, and so is every increment, so that each addition
// is exact while |y|, |z| < 2^12 and the way back meets the very same states. The increments are float32, from the
// same function in both directions. The residual is 0, or the reversal was not exact.
#include "recurrence.cuh"

namespace odernn {

// To a multiple of 2^-40, for |v| < 2^11: the sum lies in [2^12, 2^13), where float64 is spaced that far.
__device__ __forceinline__ double on_grid(double v) { return plus(plus(v, 6144.0), -6144.0); }

__device__ __forceinline__ double kick(const Column<float>& c, float y, float s) {
  return on_grid(-times(c.h, fused(c.alpha, y, s)));
}
__device__ __forceinline__ double drift(const Column<float>& c, double z) {
  return on_grid(times(c.h, static_cast<float>(z)));
}

struct ExactForward {
  Problem<float> problem;
  const float* y0;
  const float* z0;
  float* y;             // (steps, batch, hidden), zero beyond a sample's length
  float* y_last;        // (batch, hidden)
  float* z_last;
  double* last;         // (2, batch, hidden): the same, not rounded
};

__device__ __forceinline__ void exact_forward(const ExactForward& a) {
  const int lane = threadIdx.x;
  const long long index = static_cast<long long>(blockIdx.x) * LANES + lane;
  if (index >= a.problem.batch * a.problem.hidden) return;
  Ring<float>& ring = *shared_memory<Ring<float>>();
  const Column<float> c = column_of(a.problem, index);
  double y = on_grid(a.y0[index]), z = on_grid(a.z0[index]);
  const float* from = a.problem.x + index;
  int asked = 0;
  auto fetch = [&](int stage) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r, from += c.width) copy_async(&ring.cell[stage][r][lane], from, asked + r < c.length);
    asked += ROWS;
    commit_copies();
  };
  float* y_row = a.y + index;
  int stage;
  auto advance = [&](int r) {
    const float seen = static_cast<float>(y);
    z = plus(z, kick(c, seen, hyperbolic_tangent(fused(c.w, seen, ring.cell[stage][r][lane]))));
    y = plus(y, drift(c, z));
    *y_row = static_cast<float>(y);
    y_row += c.width;
  };
  walk(c.length, stage, fetch, advance, [](int) {});
  a.last[index] = y;
  a.last[c.width + index] = z;
  a.y_last[index] = static_cast<float>(y);
  a.z_last[index] = static_cast<float>(z);
  zero_rows(a.y, c, c.length);
}

struct ExactBackward {
  Problem<float> problem;
  const float* y0;
  const float* z0;
  const double* last;
  const float* grad_y;
  const float* grad_y_last;
  const float* grad_z_last;
  Gradients<float> out;
  double* residual;       // (batch, hidden): max(|rebuilt y_0 - y_0|, |rebuilt z_0 - z_0|)
  long long grad_y_row;
};

__device__ __forceinline__ void exact_backward(const ExactBackward& a) {
  const int lane = threadIdx.x;
  const long long index = static_cast<long long>(blockIdx.x) * LANES + lane;
  if (index >= a.problem.batch * a.problem.hidden) return;
  Ring<float>* ring = shared_memory<Ring<float>>();
  const Column<float> c = column_of(a.problem, index);
  zero_rows(a.out.x, c, c.length);
  Adjoint<float> adjoint{or_zero(a.grad_y_last, index), or_zero(a.grad_z_last, index), {}, {}, {}};
  double y = a.last[index], z = a.last[c.width + index];
  int asked = (c.length - 1) / ROWS * ROWS;
  auto fetch = [&](int stage) {
    fetch_rows(ring[0].cell[stage], a.problem.x, c.width, index, asked, c.length);
    fetch_rows(ring[1].cell[stage], a.grad_y, a.grad_y_row, index, asked, c.length);
    asked -= ROWS;
    commit_copies();
  };
  int stage;
  auto retreat = [&](int base, int r) {
    const float z_here = static_cast<float>(z);
    y = plus(y, -drift(c, z));
    const float seen = static_cast<float>(y);
    const float s = hyperbolic_tangent(fused(c.w, seen, ring[0].cell[stage][r][lane]));
    a.out.x[(base + r) * c.width + index] = adjoint.step(c, s, seen, z_here, ring[1].cell[stage][r][lane], 0.0f);
    z = plus(z, -kick(c, seen, s));
  };
  walk_back(c.length, stage, fetch, retreat, [&](int) { adjoint.close(); });
  const double off_y = magnitude(plus(y, -on_grid(a.y0[index]))), off_z = magnitude(plus(z, -on_grid(a.z0[index])));
  a.residual[index] = off_y <= off_z ? off_z : off_y == off_y && off_z != off_z ? off_z : off_y;
  a.out.store(c, adjoint);
}

}  // namespace odernn

extern "C" __global__ void __launch_bounds__(32, 1) exact_forward_f32(odernn::ExactForward a) {
  odernn::exact_forward(a);
}
extern "C" __global__ void __launch_bounds__(32, 1) exact_backward_f32(odernn::ExactBackward a) {
  odernn::exact_backward(a);
}
