// Backward in time: costates and gradients, one thread a column. Two ways to know the states:
//
//     stored      y is at hand, and z_{n-1} = z_n + h (s_n + alpha y_{n-1}) is a plain sum from the last z: nothing is
//                 fed back, so tanh leaves the critical path and no rounding is amplified; at every step the sum is held
//                 against the rows of y
//     reversible  y and z are rebuilt from the last state, checked against checkpoints and taken from them; the errors
//                 of y and z enter the gradients by w, h and alpha with weights that are summed up on the way
#include "recurrence.cuh"

namespace odernn {

template <typename T>
struct Stored {
  Problem<T> problem;
  const T* y0;
  const T* y;             // (steps, batch, hidden)
  const T* z_last;        // (batch, hidden), the state after each sample's own last step
  const T* grad_y;        // a row of (batch, hidden) every grad_y_row elements: 0 for one row that serves all steps
  const T* grad_z;        // the same; only where rows of z have a gradient
  const T* grad_y_last;   // (batch, hidden), or null for zeros, as grad_z_last everywhere
  const T* grad_z_last;
  Gradients<T> out;
  long long grad_y_row, grad_z_row;
};

template <typename T, bool WITH_Z>
__device__ __forceinline__ void stored(const Stored<T>& a) {
  const int lane = threadIdx.x;
  const long long index = static_cast<long long>(blockIdx.x) * LANES + lane;
  if (index >= a.problem.batch * a.problem.hidden) return;
  Ring<T>* ring = shared_memory<Ring<T>>();
  Ring<T>&x = ring[0], &before = ring[1], &grad_y = ring[2], &grad_z = ring[WITH_Z ? 3 : 2];
  const Column<T> c = column_of(a.problem, index);
  zero_rows(a.out.x, c, c.length);
  Adjoint<T> adjoint{or_zero(a.grad_y_last, index), or_zero(a.grad_z_last, index), {}, {}, {}};
  const T per_h = T(1) / c.h;
  T y = c.length > 0 ? a.y[(c.length - 1LL) * c.width + index] : T(0), z = a.z_last[index];

  int asked = (c.length - 1) / ROWS * ROWS;  // groups are aligned, so only the first of them can be short
  auto fetch = [&](int stage) {
    fetch_rows(x.cell[stage], a.problem.x, c.width, index, asked, c.length);
    fetch_rows(grad_y.cell[stage], a.grad_y, a.grad_y_row, index, asked, c.length);
    if (WITH_Z) fetch_rows(grad_z.cell[stage], a.grad_z, a.grad_z_row, index, asked, c.length);
    const T* from = a.y + (asked - 1LL) * c.width + index;
    if (asked == 0) from = a.y0 + index;  // y_0 is no row of y
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      copy_async(&before.cell[stage][r][lane], from, asked >= 0 && asked + r < c.length);
      from = asked + r == 0 ? a.y + index : from + c.width;
    }
    asked -= ROWS;
    commit_copies();
  };
  int stage;
  auto retreat = [&](int base, int r) {
    const T y_before = before.cell[stage][r][lane];
    z = anchored(per_h, y_before, y, z);
    const T s = hyperbolic_tangent(fused(c.w, y_before, x.cell[stage][r][lane]));
    a.out.x[(base + r) * c.width + index] =
        adjoint.step(c, s, y_before, z, grad_y.cell[stage][r][lane], WITH_Z ? grad_z.cell[stage][r][lane] : T(0));
    z = momentum_before(c, s, y_before, z);
    y = y_before;
  };
  walk_back(c.length, stage, fetch, retreat, [&](int) { adjoint.close(); });
  a.out.store(c, adjoint);
}

// Sums of |weight| and of |weight * state| over all steps: states off by at most e change a sum of weight * state by at
// most e * alone, which is little only beside `together`. Terms have one sign, so plain sums do.
template <typename T>
struct Weight {
  T alone = 0, together = 0;
  __device__ __forceinline__ void add(T weight, T state) {
    alone = plus(alone, magnitude(weight));
    together = plus(together, magnitude(times(weight, state)));
  }
};

template <typename T>
struct Reversible {
  Problem<T> problem;
  const T* y0;
  const T* z0;
  const T* y_last;
  const T* z_last;
  const T* checkpoints;    // as Forward wrote them
  const T* grad_y;
  const T* grad_y_last;
  const T* grad_z_last;
  Gradients<T> out;
  T* residual;             // (7, batch, hidden): max |rebuilt - kept| over y and z at all checkpoints and at step 0,
                           // then `alone` and `together` of dE/dx_n with y_{n-1}, of h q_n with y_{n-1}, of p_n with z_n
  long long grad_y_row, count, every;
};

template <typename T>
__device__ __forceinline__ void reversible(const Reversible<T>& a) {
  const int lane = threadIdx.x;
  const long long index = static_cast<long long>(blockIdx.x) * LANES + lane;
  if (index >= a.problem.batch * a.problem.hidden) return;
  Ring<T>* ring = shared_memory<Ring<T>>();
  Ring<T>&x = ring[0], &grad_y = ring[1];
  const Column<T> c = column_of(a.problem, index);
  zero_rows(a.out.x, c, c.length);
  Adjoint<T> adjoint{or_zero(a.grad_y_last, index), or_zero(a.grad_z_last, index), {}, {}, {}};
  T y = a.y_last[index], z = a.z_last[index], residual = 0;
  Weight<T> by_w, by_alpha, by_h;

  int asked = (c.length - 1) / ROWS * ROWS;
  auto fetch = [&](int stage) {
    fetch_rows(x.cell[stage], a.problem.x, c.width, index, asked, c.length);
    fetch_rows(grad_y.cell[stage], a.grad_y, a.grad_y_row, index, asked, c.length);
    asked -= ROWS;
    commit_copies();
  };
  auto meet = [&](T known_y, T known_z) {
    const T off_y = magnitude(plus(y, -known_y)), off_z = magnitude(plus(z, -known_z));
    if (!(off_y <= residual)) residual = off_y;  // not fmax: a NaN is kept
    if (!(off_z <= residual)) residual = off_z;
    y = known_y;
    z = known_z;
  };
  // The newest checkpoint before the end, and its number.
  long long kept = c.length > 0 ? (c.length - 1) / a.every : 0, due = kept * a.every;
  int stage;
  auto retreat = [&](int base, int r) {
    const T y_before = fused(-c.h, z, y);
    const T s = hyperbolic_tangent(fused(c.w, y_before, x.cell[stage][r][lane]));
    const T grad = grad_y.cell[stage][r][lane], p = plus(adjoint.p, grad);
    const T grad_x = adjoint.step(c, s, y_before, z, grad, T(0));
    a.out.x[(base + r) * c.width + index] = grad_x;
    by_w.add(grad_x, y_before);
    by_alpha.add(times(c.h, adjoint.q), y_before);
    by_h.add(p, z);
    y = y_before;
    z = momentum_before(c, s, y_before, z);
  };
  auto finish = [&](int base) {
    adjoint.close();
    if (base == due && kept > 0) {
      --kept;
      due -= a.every;
      meet(a.checkpoints[kept * c.width + index], a.checkpoints[(a.count + kept) * c.width + index]);
    }
  };

  walk_back(c.length, stage, fetch, retreat, finish);
  meet(a.y0[index], a.z0[index]);
  T* out = a.residual + index;
  const T found[] = {residual,           by_w.alone, by_w.together, by_alpha.alone,
                     by_alpha.together,  by_h.alone, by_h.together};
#pragma unroll
  for (int i = 0; i < 7; ++i, out += c.width) *out = found[i];
  a.out.store(c, adjoint);
}

}  // namespace odernn

extern "C" __global__ void __launch_bounds__(32, 1) stored_f32(odernn::Stored<float> a) {
  odernn::stored<float, false>(a);
}
extern "C" __global__ void __launch_bounds__(32, 1) stored_f64(odernn::Stored<double> a) {
  odernn::stored<double, false>(a);
}
extern "C" __global__ void __launch_bounds__(32, 1) stored_states_f32(odernn::Stored<float> a) {
  odernn::stored<float, true>(a);
}
// 20 blocks an SM: without that ptxas takes 106 registers where 96 hold everything.
extern "C" __global__ void __launch_bounds__(32, 20) stored_states_f64(odernn::Stored<double> a) {
  odernn::stored<double, true>(a);
}
extern "C" __global__ void __launch_bounds__(32, 1) reversible_f32(odernn::Reversible<float> a) {
  odernn::reversible(a);
}
extern "C" __global__ void __launch_bounds__(32, 1) reversible_f64(odernn::Reversible<double> a) {
  odernn::reversible(a);
}
