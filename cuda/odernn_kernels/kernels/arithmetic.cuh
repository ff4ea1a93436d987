// Arithmetic with the roundings written out, so that no compiler fuses or splits an operation.
#pragma once
#include "device.cuh"

namespace odernn {

__device__ __forceinline__ float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
__device__ __forceinline__ float plus(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double plus(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ float times(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ float magnitude(float a) { return fabsf(a); }
__device__ __forceinline__ double magnitude(double a) { return fabs(a); }

// tanh to 1.4 ulp, exactly odd, NaN for NaN: an odd polynomial below 0.6, 1 - 2/(e^{2a} + 1) above, without divergence.
__device__ __forceinline__ float hyperbolic_tangent(float x) {
  const float size = fabsf(x);
  const float a = size > 9.02f ? 9.02f : size;  // not fminf, which would drop a NaN
  const float s = times(a, a);
  float low = fused(-0.00588755f, s, 0.02078994f);
  low = fused(low, s, -0.05378220f);
  low = fused(low, s, 0.13331907f);
  low = fused(low, s, -0.33333297f);
  low = fused(times(a, s), low, a);
  // e^v with v = 2a = k ln 2 + r: adding 1.5 * 2^23 leaves k in the low bits.
  const float v = plus(a, a);
  const float shifted = fused(v, 1.44269504f, 12582912.0f);
  const float k = plus(shifted, -12582912.0f);
  float r = fused(k, -0.693359375f, v);
  r = fused(k, 2.12194440e-4f, r);
  float e = fused(0.00138146f, r, 0.00836872f);
  e = fused(e, r, 0.04166839f);
  e = fused(e, r, 0.16666521f);
  e = fused(e, r, 0.49999993f);
  e = plus(fused(times(r, r), e, r), 1.0f);
  const float scale = __uint_as_float((__float_as_uint(shifted) << 23) + 0x3f800000u);
  const float d = fused(e, scale, 1.0f);
  float inverse = reciprocal_guess(d);
  inverse = fused(inverse, fused(-d, inverse, 1.0f), inverse);
  const float high = fused(-2.0f, inverse, 1.0f);
  return copysignf(a < 0.6f ? low : high, x);
}
__device__ __forceinline__ double hyperbolic_tangent(double x) { return tanh(x); }

// A sum whose error does not grow with the number of terms: terms are added up in small blocks, blocks with Kahan's
// correction. No atomics anywhere: a column's sum has one order.
template <typename T>
struct Sum {
  T total = 0, lost = 0, block = 0;
  __device__ __forceinline__ void add(T term) { block = plus(block, term); }
  __device__ __forceinline__ void add_product(T a, T b) { block = fused(a, b, block); }
  __device__ __forceinline__ void close() {
    const T term = plus(block, -lost);
    const T next = plus(total, term);
    lost = plus(plus(next, -total), -term);
    total = next;
    block = 0;
  }
};

}  // namespace odernn
