// Equation (U) of odernn/executions/recurrence.py, one column (one neuron of one sample):
//
//     s_n = tanh(w y_{n-1} + x_n),   z_n = z_{n-1} - h (s_n + alpha y_{n-1}),   y_n = y_{n-1} + h z_n
//
// and its costates p_n = dE/dy_n, q_n = dE/dz_n, whose recursion odernn/executions/torch_loop.py states. Every parameter
// block consists of 8-byte fields only, so that the host packs it without padding; offsets are 64-bit.
#pragma once
#include "arithmetic.cuh"

namespace odernn {

constexpr int LANES = 32;   // threads of a block; each owns a column and never speaks to another
constexpr int STAGES = 4;   // groups of rows in the ring
constexpr int ROWS = 8;     // rows a group

template <typename T>
struct Problem {
  const T* x;                // (steps, batch, hidden), contiguous
  const T* w;                // (batch, hidden) with the strides below, 0 where it is broadcast
  const T* h;
  const T* alpha;
  const long long* lengths;  // (batch,), or null: every sample has all steps
  long long steps, batch, hidden;
  long long w_batch, w_hidden, h_batch, h_hidden, alpha_batch, alpha_hidden;
};

template <typename T>
struct Neuron {
  T w, h, alpha;
};

template <typename T>
struct Column : Neuron<T> {
  long long index;   // of this column in a row
  long long width;   // columns in a row
  int steps;         // of all rows
  int length;        // of this sample
};

template <typename T>
__device__ __forceinline__ Column<T> column_of(const Problem<T>& p, long long index) {
  const long long sample = index / p.hidden, neuron = index - sample * p.hidden;
  long long length = p.lengths == nullptr ? p.steps : p.lengths[sample];
  length = length < 0 ? 0 : length > p.steps ? p.steps : length;
  return {{p.w[sample * p.w_batch + neuron * p.w_hidden],
           p.h[sample * p.h_batch + neuron * p.h_hidden],
           p.alpha[sample * p.alpha_batch + neuron * p.alpha_hidden]},
          index,
          p.batch * p.hidden,
          static_cast<int>(p.steps),
          static_cast<int>(length)};
}

template <typename T>
__device__ __forceinline__ T or_zero(const T* values, long long index) {
  return values == nullptr ? T(0) : values[index];
}

// One step of (U), with a weight that need not be the neuron's; returns s_n. Four fused operations lie between s_n and the
// next argument. One would do, w (y + h (z - h alpha y)) + x - w h^2 s, and 12 of 94 cycles less; but it is off by up to
// u |w| (2 Y + 3 h Z) from w y_n + x, where admitted_error has u |w| 3 Y, and h Z may be as large as 2 Y.
template <typename T>
__device__ __forceinline__ T step(const Neuron<T>& c, T weight, T drive, T& y, T& z) {
  const T s = hyperbolic_tangent(fused(weight, y, drive));
  z = fused(-c.h, fused(c.alpha, y, s), z);
  y = fused(c.h, z, y);
  return s;
}

// z_{n-1} from z_n.
template <typename T>
__device__ __forceinline__ T momentum_before(const Neuron<T>& c, T s, T y_before, T z) {
  return fused(c.h, fused(c.alpha, y_before, s), z);
}

// -h kappa_n = dz_n/dy_{n-1}, with kappa_n = alpha + w sech^2.
template <typename T>
__device__ __forceinline__ T pull(const Neuron<T>& c, T weight, T s) {
  return -times(c.h, fused(weight, fused(-s, s, T(1)), c.alpha));
}

// d(y_n, z_n) from d(y_{n-1}, z_{n-1}).
template <typename T>
__device__ __forceinline__ void push(T h, T pulled, T& by_y, T& by_z) {
  by_z = fused(pulled, by_y, by_z);
  by_y = fused(h, by_z, by_y);
}

// The costates p_{n-1}, q_n from p_n with its own dE/dy_n added, and q_{n+1}: the transpose of that.
template <typename T>
__device__ __forceinline__ void push_back(T h, T pulled, T& p, T& q) {
  q = fused(h, p, q);
  p = fused(pulled, q, p);
}

template <typename T>
struct UnitRoundoff;
template <>
struct UnitRoundoff<float> {
  static constexpr float value = 0x1p-24f;
  static constexpr float below = 0x1p-122f;  // 16 times the smallest normal number
};
template <>
struct UnitRoundoff<double> {
  static constexpr double value = 0x1p-53;
  static constexpr double below = 0x1p-1018;
};

// A z_n that was summed back from the last state, held within what y_n = y_{n-1} + h z_n and its roundings say of it.
// With d = (y_n - y_{n-1}) / h it is off by at most 2u |y_n| / h + 4u |d|, also where the rows were rebuilt, rounded from
// float64 or joined at the seams of a scan; twice that is left, and m / |h| for what rows lose below the normal numbers,
// the m of the cpu execution: where h z_n is no number, the rows stand still and say nothing of z_n. On a long saddle,
// where z grows from 1e-7 to 1, a sum alone keeps the rounding of the largest z, and dE/dh is lost. Nothing is done
// where h is 0 or a number is NaN.
template <typename T>
__device__ __forceinline__ T anchored(T per_h, T y_before, T y, T z) {
  const T d = times(plus(y, -y_before), per_h);
  const T least = times(UnitRoundoff<T>::below, magnitude(per_h));
  const T room = fused(T(4) * UnitRoundoff<T>::value, fused(T(2), magnitude(d), magnitude(times(y, per_h))), least);
  const T low = plus(d, -room), high = plus(d, room);
  return z < low ? low : z > high ? high : z;
}

template <typename T>
struct Ring {
  T cell[STAGES][ROWS][LANES];
};

// Gradients of one column, gathered on the way back.
template <typename T>
struct Adjoint {
  T p, q;
  Sum<T> w, h, alpha;

  // From (p_{n+1 -> n}, q_{n+1}) and E's own derivatives to the costates before step n; returns dE/dx_n.
  __device__ __forceinline__ T step(const Neuron<T>& c, T s, T y_before, T z, T grad_y, T grad_z) {
    p = plus(p, grad_y);
    q = fused(c.h, p, plus(q, grad_z));
    const T slope = fused(-s, s, T(1));
    const T pulled = -times(c.h, q);
    const T grad_x = times(pulled, slope);
    w.add_product(grad_x, y_before);
    h.add_product(p, z);
    h.add_product(-q, fused(c.alpha, y_before, s));
    alpha.add_product(pulled, y_before);
    p = fused(pulled, fused(c.w, slope, c.alpha), p);
    return grad_x;
  }
  __device__ __forceinline__ void close() {
    w.close();
    h.close();
    alpha.close();
  }
};

template <typename T>
struct Gradients {
  T* x;                       // (steps, batch, hidden)
  T* w;                       // (batch, hidden) each: one partial a column, summed by the host in a fixed order
  T* h;
  T* alpha;
  T* y0;
  T* z0;
  __device__ __forceinline__ void store(const Column<T>& c, const Adjoint<T>& a) const {
    w[c.index] = a.w.total;
    h[c.index] = a.h.total;
    alpha[c.index] = a.alpha.total;
    y0[c.index] = a.p;
    z0[c.index] = a.q;
  }
};

// Rows [base, base + ROWS) of an array with a row of `row` elements, those below `length`; none if base < 0.
template <typename T>
__device__ __forceinline__ void fetch_rows(T (*cell)[LANES], const T* rows, long long row, long long index, int base,
                                           int length) {
  const T* from = rows + base * row + index;
#pragma unroll
  for (int r = 0; r < ROWS; ++r, from += row)
    copy_async(&cell[r][threadIdx.x], from, base >= 0 && base + r < length);
}

// A column forwards through a ring of groups of ROWS rows: `fetch(stage)` asks for the next group, `advance(r)` takes row
// r of the group at `stage`. Whole groups come without a condition inside, so that their instructions interleave, and
// `finish(n)` after each, with the steps taken so far; then the tail.
template <typename Fetch, typename Advance, typename Finish>
__device__ __forceinline__ void walk(int length, int& stage, Fetch fetch, Advance advance, Finish finish) {
  for (stage = 0; stage < STAGES - 1; ++stage) fetch(stage);
  stage = 0;
  int n = 0;
  for (; n + ROWS <= length; n += ROWS) {
    await_copies<STAGES - 2>();
    fetch((stage + STAGES - 1) % STAGES);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) advance(r);
    stage = (stage + 1) % STAGES;
    finish(n + ROWS);
  }
  await_copies<0>();
  for (int r = 0; n + r < length; ++r) advance(r);
}

// A column backwards through a ring of groups of ROWS rows, the last of which may be short: `fetch(stage)` asks for the
// next group, its rows are gone through by `retreat(base, r)`, downwards, and after each group comes `finish(base)`.
// `stage` is the group's place in the ring.
template <typename Fetch, typename Retreat, typename Finish>
__device__ __forceinline__ void walk_back(int length, int& stage, Fetch fetch, Retreat retreat, Finish finish) {
  stage = 0;
  for (int s = 0; s < STAGES - 1; ++s) fetch(s);
  int base = (length - 1) / ROWS * ROWS;
  if (length % ROWS != 0) {
    await_copies<STAGES - 2>();
    fetch(STAGES - 1);
    for (int r = length - base - 1; r >= 0; --r) retreat(base, r);
    finish(base);
    stage = 1;
    base -= ROWS;
  }
  for (; base >= 0 && length > 0; base -= ROWS) {
    await_copies<STAGES - 2>();
    fetch((stage + STAGES - 1) % STAGES);
#pragma unroll
    for (int r = ROWS - 1; r >= 0; --r) retreat(base, r);
    finish(base);
    stage = (stage + 1) % STAGES;
  }
  await_copies<0>();
}

// Rows from `first` on of one column := 0.
template <typename T>
__device__ __forceinline__ void zero_rows(T* rows, const Column<T>& c, int first) {
  for (long long n = first; n < c.steps; ++n) rows[n * c.width + c.index] = T(0);
}

}  // namespace odernn
