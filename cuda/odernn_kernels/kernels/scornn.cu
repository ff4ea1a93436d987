// scoRNN with the recurrent matrix on the chip: h_n = modReLU(x_n + W h_{n-1}; b), all steps in one launch.
//
// A block runs SAMPLES sequences; thread i owns unit i of each. W stays in shared memory, n^2 floats: 144 KB at n = 190.
// On the way back g = dE/dh_n is masked where h_n = 0, which is exactly where unit i was silent (|z| + b <= 0 or z = 0),
// so neither z nor masks are kept: dE/dx_n = g_z, and the next g is W^T g_z + dE/dh_{n-1}.
#include "arithmetic.cuh"

namespace odernn {

constexpr int SAMPLES = 4;

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

template <bool BACK>
__device__ __forceinline__ void scornn(const Scornn& a) {
  const int n = static_cast<int>(a.units), i = threadIdx.x;
  const long long sample = static_cast<long long>(blockIdx.x) * SAMPLES, row = a.batch * a.units;
  const int count = a.batch - sample < SAMPLES ? static_cast<int>(a.batch - sample) : SAMPLES;
  float* vectors = shared_memory<float>();              // two of (units, SAMPLES), by turns read and written
  float* matrix = vectors + 2 * n * SAMPLES;            // column j of W (of W^T on the way back) at j n
  for (int k = i; k < n * n; k += blockDim.x) {
    const int target = k / n, source = k % n;
    matrix[BACK ? target * n + source : source * n + target] = a.W[k];
  }
  const bool owns = i < n;
  const long long own = sample * n + i;
  const float bias = owns && !BACK ? a.b[i] : 0.0f;
  float value[SAMPLES], ahead[SAMPLES];
  Sum<float> sum[SAMPLES];
#pragma unroll
  for (int g = 0; g < SAMPLES; ++g) value[g] = owns && g < count ? a.start[own + g * n] : 0.0f;
  auto row_of = [&](long long k) { return BACK ? a.steps - 1 - k : k; };
  auto load = [&](long long k) {
#pragma unroll
    for (int g = 0; g < SAMPLES; ++g)
      ahead[g] = owns && g < count && k < a.steps ? a.x[row_of(k) * row + own + g * n] : 0.0f;
  };
  auto product = [&](const float* vector, float (&to)[SAMPLES]) {
    for (int j = 0; j < n; ++j) {
      const float weight = matrix[j * n + i];
#pragma unroll
      for (int g = 0; g < SAMPLES; ++g) to[g] = fused(weight, vector[j * SAMPLES + g], to[g]);
    }
  };
  load(0);
  for (long long k = 0; k < a.steps; ++k) {
    float* vector = vectors + (k % 2) * n * SAMPLES;
    const long long offset = row_of(k) * row + own;
    float sum_here[SAMPLES];
#pragma unroll
    for (int g = 0; g < SAMPLES; ++g) sum_here[g] = ahead[g];
    load(k + 1);
    if (BACK) {
      // value = dE/dh_n from later steps
#pragma unroll
      for (int g = 0; g < SAMPLES; ++g) {
        if (owns && g < count) {
          const float h = a.states[offset + g * n];
          const float pulled = h == 0.0f ? 0.0f : plus(value[g], sum_here[g]);
          a.rows[offset + g * n] = pulled;
          sum[g].add(h < 0.0f ? -pulled : pulled);
          if (k % 8 == 7) sum[g].close();
          value[g] = pulled;
        }
      }
    }
    if (owns)
#pragma unroll
      for (int g = 0; g < SAMPLES; ++g) vector[i * SAMPLES + g] = value[g];
    // One barrier a step: the other vector is written only after every thread has read it and passed this one.
    __syncthreads();
    if (owns) {
      if (BACK) {
#pragma unroll
        for (int g = 0; g < SAMPLES; ++g) value[g] = 0.0f;
        product(vector, value);
      } else {
        product(vector, sum_here);
#pragma unroll
        for (int g = 0; g < SAMPLES; ++g) {
          const float z = sum_here[g], size = plus(fabsf(z), bias);
          // "not at most": a NaN passes
          value[g] = z == 0.0f || size <= 0.0f ? 0.0f : copysignf(size, z);
          if (g < count) a.rows[offset + g * n] = value[g];
        }
      }
    }
  }
#pragma unroll
  for (int g = 0; g < SAMPLES; ++g) {
    if (!owns || g >= count) continue;
    a.end[own + g * n] = value[g];
    if (BACK) {
      sum[g].close();
      a.grad_b[own + g * n] = sum[g].total;
    }
  }
}

}  // namespace odernn

extern "C" __global__ void __launch_bounds__(256, 1) scornn_forward_f32(odernn::Scornn a) {
  odernn::scornn<false>(a);
}
extern "C" __global__ void __launch_bounds__(256, 1) scornn_backward_f32(odernn::Scornn a) {
  odernn::scornn<true>(a);
}
