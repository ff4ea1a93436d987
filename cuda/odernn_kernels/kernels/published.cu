// What the kernels are timed against, and nothing else uses: the published UnICORNN kernel (Rusch & Mishra 2021),
// operation by operation and in our own words.
//
// In its order and its types: floats for the states and for tanh, doubles wherever dt or alpha enter, cosh for the slope,
// w and c read once before the loop, x and dE/dy where they are used and through the read-only path, 32-bit strides.
// One thread a (sample, neuron); blocks of min(512, columns) threads forward, min(256, columns) backward. `restrict` as
// there: it is what lets the compiler read ahead of its own stores. Beside the published text, nvcc 13.0 makes the same
// floating-point instructions and the same loads and stores of the loops of it for sm_90, in as many instructions.
#include "device.cuh"

namespace odernn {

struct Published {
  const float* x;       // (steps, batch, hidden)
  const float* w;       // (hidden,)
  const float* c;       // (hidden,): h = dt sigmoid(c)
  const float* y0;      // (batch, hidden); forward only
  const float* z0;
  float* y_last;        // (batch, hidden); written forward, read backward
  float* z_last;
  float* y;             // (steps, batch, hidden); forward only
  const float* grad_y;  // the same; backward only, as all below
  float* grad_x;
  float* grad_w;        // (hidden,), zero before the launch
  float* grad_c;
  long long steps, batch, hidden;
  double dt, alpha;
};

__device__ __forceinline__ float gate_of(float c) { return static_cast<float>(1.0f / (1.0 + expf(-c))); }

__device__ __forceinline__ float gate_slope_of(float c) {
  return static_cast<float>(expf(-c) / ((1.0 + expf(-c)) * (1.0 + expf(-c))));
}

__device__ __forceinline__ void published_forward(const Published& a, const float* __restrict__ x,
                                                  float* __restrict__ rows) {
  const int columns = static_cast<int>(a.batch * a.hidden), steps = static_cast<int>(a.steps);
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= columns) return;
  const int neuron = index % static_cast<int>(a.hidden);
  const float w = a.w[neuron], gate = gate_of(a.c[neuron]);
  float y = a.y0[index], z = a.z0[index];
  x += index;
  rows += index;
  for (int n = 0; n < steps; ++n) {
    z = static_cast<float>(z - a.dt * gate * (tanhf(y * w + *x) + a.alpha * y));
    y = static_cast<float>(y + a.dt * gate * z);
    *rows = y;
    x += columns;
    rows += columns;
  }
  a.y_last[index] = y;
  a.z_last[index] = z;
}

__device__ __forceinline__ void published_backward(const Published& a, const float* __restrict__ x,
                                                   const float* __restrict__ grad_y, float* __restrict__ grad_x) {
  const int columns = static_cast<int>(a.batch * a.hidden), steps = static_cast<int>(a.steps);
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= columns) return;
  const int neuron = index % static_cast<int>(a.hidden);
  const float w = a.w[neuron], c = a.c[neuron], gate = gate_of(c), gate_slope = gate_slope_of(c);
  const double dt = a.dt, alpha = a.alpha;
  x += index + (steps - 1) * columns;
  grad_y += index + (steps - 1) * columns;
  grad_x += index + (steps - 1) * columns;
  float y = a.y_last[index], z = a.z_last[index], p = __ldg(grad_y), q = 0, grad_w = 0, grad_c = 0;
  for (int n = steps - 1; n >= 0; --n) {
    const float by_drift = static_cast<float>(p * dt * gate_slope * z);
    y = static_cast<float>(y - dt * gate * z);
    const float argument = y * w + __ldg(x);
    const double force = tanhf(argument) + alpha * y;
    z = static_cast<float>(z + dt * gate * force);
    q = static_cast<float>(q + p * dt * gate);
    const float slope = 1.0f / (coshf(argument) * coshf(argument));
    grad_w = static_cast<float>(grad_w - q * dt * gate * slope * y);
    grad_c = static_cast<float>(grad_c + (by_drift - q * (dt * gate_slope * force)));
    *grad_x = static_cast<float>(-q * dt * gate * slope);
    if (n == 0) break;
    grad_y -= columns;
    p = static_cast<float>(p + (-q * dt * gate * (slope * w + alpha) + __ldg(grad_y)));
    x -= columns;
    grad_x -= columns;
  }
  atomicAdd(&a.grad_w[neuron], grad_w);
  atomicAdd(&a.grad_c[neuron], grad_c);
}

}  // namespace odernn

extern "C" __global__ void published_forward(odernn::Published a) { odernn::published_forward(a, a.x, a.y); }
extern "C" __global__ void published_backward(odernn::Published a) {
  odernn::published_backward(a, a.x, a.grad_y, a.grad_x);
}
