// Thousands of trajectories of (U) in one launch, for the search of counterexamples: each thread runs one, with its
// tangent J_n = dstate_n / dstate_0, and keeps maxima only. No history of states is written.
#include "recurrence.cuh"

namespace odernn {

template <typename T>
struct Falsify {
  const T* x;                   // drive of trajectory i at step n + 1: x[n * x_step + i * x_column]; strides may be 0
  const T* w;                   // one value every *_column elements, which may be 0
  const T* h;
  const T* alpha;
  const T* y0;
  const T* z0;
  T* maximum;                   // (4, columns): max |y_n|, max |z_n| over n = 0..steps; last y and z
  double* growth;               // (2, columns): max over n = 0..steps of ln |J_n|, and ln |J_steps|; Frobenius norms
  long long* at;                // (3, columns): the first n that attains each of the three maxima
  T* tangent;                   // (4, columns): J_steps by rows (y, z), over 2^exponent
  long long* exponent;          // (columns,)
  long long steps, columns;
  long long x_step, x_column, w_column, h_column, alpha_column, y0_column, z0_column;
};

template <typename T>
__device__ __forceinline__ void falsify(const Falsify<T>& a) {
  constexpr int RENORMALISED = 4;   // steps between two renormalisations: squares of a growth of 2^15 a step fit float32
  const int lane = threadIdx.x;
  const long long i = static_cast<long long>(blockIdx.x) * LANES + lane;
  if (i >= a.columns) return;
  Ring<T>& ring = *shared_memory<Ring<T>>();
  const Neuron<T> c{a.w[i * a.w_column], a.h[i * a.h_column], a.alpha[i * a.alpha_column]};
  T y = a.y0[i * a.y0_column], z = a.z0[i * a.z0_column];
  T most_y = magnitude(y), most_z = magnitude(z);
  long long at_y = 0, at_z = 0, at_growth = 0, exponent = 0;
  T yy = 1, yz = 0, zy = 0, zz = 1, best = 2;   // the tangent, and the largest squared norm since the last renormalisation
  long long best_at = 0;
  double growth = 0.5;                          // log2 of the largest norm; |I| = sqrt 2

  const T* from = a.x + i * a.x_column;
  const int length = static_cast<int>(a.steps);
  int asked = 0;
  auto fetch = [&](int stage) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r, from += a.x_step) copy_async(&ring.cell[stage][r][lane], from, asked + r < length);
    asked += ROWS;
    commit_copies();
  };
  auto advance = [&](T drive, long long n) {
    const T pulled = pull(c, c.w, step(c, c.w, drive, y, z));
    push(c.h, pulled, yy, zy);
    push(c.h, pulled, yz, zz);
    // "not at most": a NaN replaces the maximum, and as the state stays NaN so does the maximum.
    if (!(magnitude(y) <= most_y)) most_y = magnitude(y), at_y = n;
    if (!(magnitude(z) <= most_z)) most_z = magnitude(z), at_z = n;
    const T square = fused(yy, yy, fused(yz, yz, fused(zy, zy, times(zz, zz))));
    if (!(square <= best)) best = square, best_at = n;
  };
  auto renormalise = [&]() {
    const double reached = static_cast<double>(exponent) + 0.5 * static_cast<double>(log2(best));
    if (!(reached <= growth)) growth = reached, at_growth = best_at;
    T largest = magnitude(yy);
    if (magnitude(yz) > largest) largest = magnitude(yz);
    if (magnitude(zy) > largest) largest = magnitude(zy);
    if (magnitude(zz) > largest) largest = magnitude(zz);
    if (largest > T(0) && largest <= T(1e38)) {   // a power of two: exact. Neither a NaN nor an overflow is hidden
      const int shift = ilogb(largest);
      const T scale = scalbn(T(1), -shift);
      yy *= scale, yz *= scale, zy *= scale, zz *= scale;
      exponent += shift;
    }
    best = 0;
  };
  for (int stage = 0; stage < STAGES - 1; ++stage) fetch(stage);
  int stage = 0, n = 0;
  for (; n + ROWS <= length; n += ROWS) {
    await_copies<STAGES - 2>();
    fetch((stage + STAGES - 1) % STAGES);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      advance(ring.cell[stage][r][lane], n + r + 1);
      if ((r + 1) % RENORMALISED == 0) renormalise();
    }
    stage = (stage + 1) % STAGES;
  }
  await_copies<0>();
  for (int r = 0; n + r < length; ++r) {
    advance(ring.cell[stage][r][lane], n + r + 1);
    renormalise();
  }
  const T square = fused(yy, yy, fused(yz, yz, fused(zy, zy, times(zz, zz))));
  const double ln2 = 0.69314718055994531;
  a.maximum[i] = most_y;
  a.maximum[a.columns + i] = most_z;
  a.maximum[2 * a.columns + i] = y;
  a.maximum[3 * a.columns + i] = z;
  a.growth[i] = ln2 * growth;
  a.growth[a.columns + i] = ln2 * (static_cast<double>(exponent) + 0.5 * static_cast<double>(log2(square)));
  a.at[i] = at_y;
  a.at[a.columns + i] = at_z;
  a.at[2 * a.columns + i] = at_growth;
  a.tangent[i] = yy;
  a.tangent[a.columns + i] = yz;
  a.tangent[2 * a.columns + i] = zy;
  a.tangent[3 * a.columns + i] = zz;
  a.exponent[i] = exponent;
}

}  // namespace odernn

extern "C" __global__ void __launch_bounds__(32, 1) falsify_f32(odernn::Falsify<float> a) { odernn::falsify(a); }
extern "C" __global__ void __launch_bounds__(32, 1) falsify_f64(odernn::Falsify<double> a) { odernn::falsify(a); }
