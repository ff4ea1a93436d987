// scoRNN with the recurrent matrix on the chip: h_n = modReLU(x_n + W h_{n-1}; b), all steps in one launch.
//
// A block runs one sequence. Two lanes share a unit: each keeps half of its row of W (of its column on the way back) in
// registers for the whole sequence and multiplies it with half of the vector, which is all that is read from shared
// memory; the odd lane adds the halves. With W in shared memory every step would read n^2 floats from there.
// On the way back g = dE/dh_n is masked where h_n = 0, which is exactly where unit i was silent (|z| + b <= 0 or z = 0),
// so neither z nor masks are kept: dE/dx_n = g_z, and the next g is W^T g_z + dE/dh_{n-1}.
#include "arithmetic.cuh"

namespace odernn {

constexpr int HALF = 96;      // most weights of a lane
constexpr int PART = 32;      // weights that are skipped together where a unit has fewer
constexpr int APART = 4;      // floats between the halves of the vector: other banks, and still aligned

struct Scornn {
  const float* x;         // (steps, batch, units): the drive; on the way back dE/dh_n
  const float* W;         // (units, units) by rows
  const float* b;         // (units,)
  const float* start;     // (batch, units): h_0; on the way back dE/dh_N beside that of the rows
  const float* states;    // (steps, batch, units): h_n, on the way back only
  float* rows;            // (steps, batch, units): h_n; on the way back dE/dx_n
  float* end;             // (batch, units): h_N; on the way back dE/dh_0
  float* grad_b;          // (batch, units), on the way back only
  long long steps, batch, units;
};

struct alignas(16) Four {
  float a, b, c, d;
};

template <bool BACK>
__device__ __forceinline__ void scornn(const Scornn& a) {
  const int n = static_cast<int>(a.units), i = threadIdx.x / 2, part = threadIdx.x % 2;
  const int half = ((n + 1) / 2 + PART - 1) / PART * PART, length = 2 * half + APART;
  const long long own = static_cast<long long>(blockIdx.x) * n + i, row = a.batch * a.units;
  float* vectors = shared_memory<float>();              // two of `length`, by turns read and written
  for (int k = threadIdx.x; k < 2 * length; k += blockDim.x) vectors[k] = 0.0f;
  float weight[HALF];
#pragma unroll
  for (int k = 0; k < HALF; ++k) {
    const int j = part * half + k;
    weight[k] = i < n && j < n && k < half ? a.W[BACK ? j * n + i : i * n + j] : 0.0f;
  }
  const bool owns = part == 1 && i < n;
  const int mine = i < half ? i : i + APART;
  const float bias = owns && !BACK ? a.b[i] : 0.0f;
  float value = owns ? a.start[own] : 0.0f, ahead = 0.0f, state_ahead = 0.0f;
  Sum<float> sum;
  auto row_of = [&](long long k) { return (BACK ? a.steps - 1 - k : k) * row + own; };
  auto load = [&](long long k) {
    if (!owns || k >= a.steps) return;
    ahead = a.x[row_of(k)];
    if (BACK) state_ahead = a.states[row_of(k)];
  };
  load(0);
  __syncthreads();
  for (long long k = 0; k < a.steps; ++k) {
    float* vector = vectors + (k % 2) * length;
    const float drive = ahead, h = state_ahead;
    load(k + 1);   // arrives while this step is computed
    if (BACK && owns) {
      // value = dE/dh_n from later steps
      const float pulled = h == 0.0f ? 0.0f : plus(value, drive);
      a.rows[row_of(k)] = pulled;
      sum.add(h < 0.0f ? -pulled : pulled);
      if (k % 8 == 7) sum.close();
      value = pulled;
    }
    if (owns) vector[mine] = value;
    // One barrier a step: the other vector is written only after every thread has read it and passed this one.
    __syncthreads();
    const Four* from = reinterpret_cast<const Four*>(vector + part * (half + APART));
    float to[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int first = 0; first < HALF; first += PART) {
      if (first < half) {
#pragma unroll
        for (int j = first; j < first + PART; j += 4) {
          const Four v = from[j / 4];
          to[0] = fused(weight[j], v.a, to[0]);
          to[1] = fused(weight[j + 1], v.b, to[1]);
          to[2] = fused(weight[j + 2], v.c, to[2]);
          to[3] = fused(weight[j + 3], v.d, to[3]);
        }
      }
    }
    const float product = plus(plus(to[0], to[1]), plus(to[2], to[3]));
    const float whole = plus(__shfl_up_sync(0xffffffffu, product, 1), product);
    if (owns && BACK) value = whole;
    if (owns && !BACK) {
      const float z = plus(whole, drive), size = plus(fabsf(z), bias);
      // "not at most": a NaN passes
      value = z == 0.0f || size <= 0.0f ? 0.0f : copysignf(size, z);
      a.rows[row_of(k)] = value;
    }
  }
  if (!owns) return;
  a.end[own] = value;
  if (BACK) {
    sum.close();
    a.grad_b[own] = sum.total;
  }
}

}  // namespace odernn

extern "C" __global__ void __launch_bounds__(384, 1) scornn_forward_f32(odernn::Scornn a) {
  odernn::scornn<false>(a);
}
extern "C" __global__ void __launch_bounds__(384, 1) scornn_backward_f32(odernn::Scornn a) {
  odernn::scornn<true>(a);
}
