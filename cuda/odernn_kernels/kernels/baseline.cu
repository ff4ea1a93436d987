// What the kernels are timed against, and nothing else uses: the structure of the published UnICORNN kernel, in our own
// words. One thread a neuron, float64 inside a float32 recurrence (dt and alpha are doubles), loads where they are
// used, a backward pass that rebuilds the states, atomic sums for the gradients of w and c. Rusch & Mishra 2021.
#include "device.cuh"

namespace odernn {

struct Baseline {
  const float* x;       // (steps, batch, hidden)
  const float* w;       // (hidden,)
  const float* gate;    // (hidden,): sigmoid(c)
  float* y;             // (steps, batch, hidden)
  float* y_last;        // (batch, hidden)
  float* z_last;
  const float* grad_y;  // backward only
  float* grad_x;
  float* grad_w;        // (hidden,), zero before the launch
  float* grad_gate;
  long long steps, batch, hidden;
  double dt, alpha;
};

}  // namespace odernn

extern "C" __global__ void baseline_forward(odernn::Baseline a) {
  const long long columns = a.batch * a.hidden;
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= columns) return;
  const float w = a.w[index % a.hidden], gate = a.gate[index % a.hidden];
  float y = 0, z = 0;
  for (long long n = 0; n < a.steps; ++n) {
    const float s = tanhf(w * y + a.x[n * columns + index]);
    z = static_cast<float>(z - a.dt * gate * (s + a.alpha * y));
    y = static_cast<float>(y + a.dt * gate * z);
    a.y[n * columns + index] = y;
  }
  a.y_last[index] = y;
  a.z_last[index] = z;
}

extern "C" __global__ void baseline_backward(odernn::Baseline a) {
  const long long columns = a.batch * a.hidden;
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= columns) return;
  const float w = a.w[index % a.hidden], gate = a.gate[index % a.hidden];
  float y = a.y_last[index], z = a.z_last[index], p = 0, q = 0, grad_w = 0, grad_gate = 0;
  for (long long n = a.steps - 1; n >= 0; --n) {
    p += a.grad_y[n * columns + index];
    q = static_cast<float>(q + a.dt * gate * p);
    grad_gate = static_cast<float>(grad_gate + a.dt * p * z);
    y = static_cast<float>(y - a.dt * gate * z);
    const float s = tanhf(w * y + a.x[n * columns + index]), slope = 1 - s * s;
    z = static_cast<float>(z + a.dt * gate * (s + a.alpha * y));
    const float grad_x = static_cast<float>(-a.dt * gate * q * slope);
    grad_gate = static_cast<float>(grad_gate - a.dt * q * (s + a.alpha * y));
    grad_w += grad_x * y;
    a.grad_x[n * columns + index] = grad_x;
    p = static_cast<float>(p - a.dt * gate * q * (a.alpha + w * slope));
  }
  atomicAdd(&a.grad_w[index % a.hidden], grad_w);
  atomicAdd(&a.grad_gate[index % a.hidden], grad_gate);
}
