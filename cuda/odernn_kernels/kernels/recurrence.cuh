// Equation (U) of odernn/recurrence.py, one column (one neuron of one sample):
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
struct Column {
  long long index;   // of this column in a row
  long long width;   // columns in a row
  int steps;         // of all rows
  int length;        // of this sample
  T w, h, alpha;
};

template <typename T>
__device__ __forceinline__ Column<T> column_of(const Problem<T>& p, long long index) {
  const long long sample = index / p.hidden, neuron = index - sample * p.hidden;
  long long length = p.lengths == nullptr ? p.steps : p.lengths[sample];
  length = length < 0 ? 0 : length > p.steps ? p.steps : length;
  return {index,
          p.batch * p.hidden,
          static_cast<int>(p.steps),
          static_cast<int>(length),
          p.w[sample * p.w_batch + neuron * p.w_hidden],
          p.h[sample * p.h_batch + neuron * p.h_hidden],
          p.alpha[sample * p.alpha_batch + neuron * p.alpha_hidden]};
}

// One step of (U).
template <typename T>
__device__ __forceinline__ void step(const Column<T>& c, T weight, T drive, T& y, T& z) {
  const T s = hyperbolic_tangent(fused(weight, y, drive));
  z = fused(-c.h, fused(c.alpha, y, s), z);
  y = fused(c.h, z, y);
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
  __device__ __forceinline__ T step(const Column<T>& c, T s, T y_before, T z, T grad_y, T grad_z) {
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

// Rows from `first` on of one column := 0.
template <typename T>
__device__ __forceinline__ void zero_rows(T* rows, const Column<T>& c, int first) {
  for (long long n = first; n < c.steps; ++n) rows[n * c.width + c.index] = T(0);
}

}  // namespace odernn
