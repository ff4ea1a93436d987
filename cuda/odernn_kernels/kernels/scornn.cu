// scoRNN and expRNN with the recurrent matrix on the chip: h_n = modReLU(x_n + W h_{n-1}; b), all steps in one launch;
// without b the activation is the identity.
//
// A block runs one sequence. Two lanes share a unit: each keeps half of its row of W (of its column on the way back) in
// registers for the whole sequence and multiplies it with half of the vector, which is all that is read from shared
// memory; the odd lane adds the halves. With W in shared memory every step would read n^2 floats from there.
// On the way back g = dE/dh_n is masked where h_n = 0, which is exactly where unit i was silent (|z| + b <= 0 or z = 0),
// so neither z nor masks are kept: dE/dx_n = g_z, and the next g is W^T g_z + dE/dh_{n-1}.
#include "arithmetic.cuh"

namespace odernn {

constexpr int PART = 32;      // weights that are skipped together where a unit has fewer
constexpr int APART = 4;      // numbers between the halves of the vector: other banks, and still aligned

template <typename T>
struct Scornn {
  const T* x;             // (steps, batch, units): the drive; on the way back dE/dh_n
  const T* W;             // (units, units) by rows
  const T* b;             // (units,), or nothing
  const T* start;         // (batch, units): h_0; on the way back dE/dh_N beside that of the rows
  const T* states;        // (steps, batch, units): h_n, on the way back only
  T* rows;                // (steps, batch, units): h_n; on the way back dE/dx_n
  T* end;                 // (batch, units): h_N; on the way back dE/dh_0
  T* grad_b;              // (batch, units), on the way back only, and only with b
  long long steps, batch, units;
};

template <typename T>
struct alignas(16) Four {
  T a, b, c, d;
};

// HALF: most weights of a lane.
template <typename T, int HALF, bool BACK>
__device__ __forceinline__ void scornn(const Scornn<T>& a) {
  const int n = static_cast<int>(a.units), i = threadIdx.x / 2, part = threadIdx.x % 2;
  const int half = ((n + 1) / 2 + PART - 1) / PART * PART, length = 2 * half + APART;
  const long long own = static_cast<long long>(blockIdx.x) * n + i, row = a.batch * a.units;
  T* vectors = shared_memory<T>();                      // two of `length`, by turns read and written
  for (int k = threadIdx.x; k < 2 * length; k += blockDim.x) vectors[k] = 0;
  T weight[HALF];
#pragma unroll
  for (int k = 0; k < HALF; ++k) {
    const int j = part * half + k;
    weight[k] = i < n && j < n && k < half ? a.W[BACK ? j * n + i : i * n + j] : T(0);
  }
  const bool owns = part == 1 && i < n;
  const int mine = i < half ? i : i + APART;
  const bool is_linear = a.b == nullptr;
  const T bias = owns && !BACK && !is_linear ? a.b[i] : T(0);
  T value = owns ? a.start[own] : T(0), ahead = 0, state_ahead = 0;
  Sum<T> sum;
  auto row_of = [&](long long k) { return (BACK ? a.steps - 1 - k : k) * row + own; };
  auto load = [&](long long k) {
    if (!owns || k >= a.steps) return;
    ahead = a.x[row_of(k)];
    if (BACK) state_ahead = a.states[row_of(k)];
  };
  load(0);
  __syncthreads();
  for (long long k = 0; k < a.steps; ++k) {
    T* vector = vectors + (k % 2) * length;
    const T drive = ahead, h = state_ahead;
    load(k + 1);   // arrives while this step is computed
    if (BACK && owns) {
      // value = dE/dh_n from later steps
      const T pulled = h == 0 && !is_linear ? T(0) : plus(value, drive);
      a.rows[row_of(k)] = pulled;
      sum.add(h < 0 ? -pulled : pulled);
      if (k % 8 == 7) sum.close();
      value = pulled;
    }
    if (owns) vector[mine] = value;
    // One barrier a step: the other vector is written only after every thread has read it and passed this one.
    __syncthreads();
    const Four<T>* from = reinterpret_cast<const Four<T>*>(vector + part * (half + APART));
    T to[4] = {0, 0, 0, 0};
#pragma unroll
    for (int first = 0; first < HALF; first += PART) {
      if (first < half) {
#pragma unroll
        for (int j = first; j < first + PART; j += 4) {
          const Four<T> v = from[j / 4];
          to[0] = fused(weight[j], v.a, to[0]);
          to[1] = fused(weight[j + 1], v.b, to[1]);
          to[2] = fused(weight[j + 2], v.c, to[2]);
          to[3] = fused(weight[j + 3], v.d, to[3]);
        }
      }
    }
    const T product = plus(plus(to[0], to[1]), plus(to[2], to[3]));
    const T whole = plus(__shfl_up_sync(0xffffffffu, product, 1), product);
    if (owns && BACK) value = whole;
    if (owns && !BACK) {
      const T z = plus(whole, drive), size = plus(magnitude(z), bias);
      // "not at most": a NaN passes
      value = is_linear ? z : z == 0 || size <= 0 ? T(0) : z < 0 ? -size : size;
      a.rows[row_of(k)] = value;
    }
  }
  if (!owns) return;
  a.end[own] = value;
  if (BACK && !is_linear) {
    sum.close();
    a.grad_b[own] = sum.total;
  }
}

}  // namespace odernn

// 384 threads of 168 registers, and 256 of 255: an SM has 65536.
extern "C" __global__ void __launch_bounds__(384, 1) scornn_forward_f32(odernn::Scornn<float> a) {
  odernn::scornn<float, 96, false>(a);
}
extern "C" __global__ void __launch_bounds__(384, 1) scornn_backward_f32(odernn::Scornn<float> a) {
  odernn::scornn<float, 96, true>(a);
}
extern "C" __global__ void __launch_bounds__(256, 1) scornn_forward_f64(odernn::Scornn<double> a) {
  odernn::scornn<double, 64, false>(a);
}
extern "C" __global__ void __launch_bounds__(256, 1) scornn_backward_f64(odernn::Scornn<double> a) {
  odernn::scornn<double, 64, true>(a);
}
