// Long sequences of few columns: a block a column, tiles of 1024 steps one after the other, parallel in time inside.
//
// Forward: multiple shooting. Thread t runs PIECE steps from a guessed state S_t to E_t, with the piece's tangent M_t;
// Newton's correction d_{t+1} = M_t d_t + (E_t - S_{t+1}), d_0 = 0 is an affine scan, and S_{t+1} := E_t + M_t d_t. What
// is scanned vanishes with the error, so its roundings do not stay in the result; after i rounds the first i pieces are
// the sequential ones. The first guess is the oscillator with w = 0, one round of the same. A tile that has not settled
// in time, or is not finite, is run step by step by one thread: slower, never different in meaning. Where that happens
// (the trajectory is chaotic) the next tile is given fewer rounds.
//
// Backward: the costates are linear in the costates, so one scan gives every piece its start.
#include "recurrence.cuh"

namespace odernn {

constexpr int PIECES = 256;   // threads
constexpr int PIECE = 4;      // steps of a thread
constexpr int TILE = PIECES * PIECE;
constexpr int WARPS = PIECES / 32;
constexpr int MAX_ROUNDS = 24;
constexpr int MIN_ROUNDS = 3;
// Largest relative move of a start that counts as settled. Newton squares an error, so what is left is below a rounding
// (3e-5 squared is 1e-9); at 1e-4 it showed (errors 1.4 instead of 1.1e-6), and below 1e-5 the roundings of a tile
// keep starts moving: seen on the emulator at the published alpha and dt.
constexpr float SETTLED = 3e-5f;
constexpr unsigned ALL = 0xffffffffu;

struct Pair {
  float y, z;
};

// v -> M v + r
struct Affine {
  float yy, yz, zy, zz, ry, rz;
  __device__ __forceinline__ Pair operator()(Pair v) const {
    return {fused(yy, v.y, fused(yz, v.z, ry)), fused(zy, v.y, fused(zz, v.z, rz))};
  }
};

// `later` after `earlier`
__device__ __forceinline__ Affine compose(const Affine& later, const Affine& earlier) {
  const Pair r = later({earlier.ry, earlier.rz});
  return {fused(later.yy, earlier.yy, times(later.yz, earlier.zy)),
          fused(later.yy, earlier.yz, times(later.yz, earlier.zz)),
          fused(later.zy, earlier.yy, times(later.zz, earlier.zy)),
          fused(later.zy, earlier.yz, times(later.zz, earlier.zz)), r.y, r.z};
}

__device__ __forceinline__ float from_below(float v, int distance) { return __shfl_up_sync(ALL, v, distance); }

struct Scan {
  Affine warp[WARPS];   // each warp's composition
  float sum[WARPS];
  float total[PIECES][3];
  float drive[TILE];
  Pair state[PIECES + 1];
  Pair end;
  float z;
};

// The value that reaches thread t: the maps of threads 0..t-1, first to last, applied to `start`. Two barriers.
__device__ __forceinline__ Pair arriving(Scan& shared, Affine mine, Pair start) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Affine all = mine;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const Affine below{from_below(all.yy, distance), from_below(all.yz, distance), from_below(all.zy, distance),
                       from_below(all.zz, distance), from_below(all.ry, distance), from_below(all.rz, distance)};
    if (lane >= distance) all = compose(all, below);
  }
  __syncthreads();   // the last call's totals have been read
  if (lane == 31) shared.warp[warp] = all;
  __syncthreads();
  Pair value = start;
  for (int i = 0; i < warp; ++i) value = shared.warp[i](value);
  const Affine before{from_below(all.yy, 1), from_below(all.yz, 1), from_below(all.zy, 1),
                      from_below(all.zz, 1), from_below(all.ry, 1), from_below(all.rz, 1)};
  return lane == 0 ? value : before(value);
}

__device__ __forceinline__ bool is_finite(float v) { return fabsf(v) <= 3.402823466e38f; }

struct ScanForward {
  Problem<float> problem;
  const float* y0;
  const float* z0;
  float* y;             // (steps, batch, hidden), zero beyond a sample's length
  float* y_last;        // (batch, hidden)
  float* z_last;
  long long* rounds;    // (2, batch, hidden) or null: rounds in all tiles, and tiles that were run step by step
};

__device__ __forceinline__ void scan_forward(const ScanForward& a) {
  Scan& shared = *shared_memory<Scan>();
  const int t = threadIdx.x;
  const long long index = blockIdx.x;
  const Column<float> c = column_of(a.problem, index);
  const float* x = a.problem.x + index;
  Pair tile{a.y0[index], a.z0[index]};
  long long rounds = 0, stepped = 0;
  int allowed = MAX_ROUNDS;

  float drive[PIECE], next[PIECE];
  auto load = [&](int first) {
#pragma unroll
    for (int k = 0; k < PIECE; ++k) {
      const int n = first + t * PIECE + k;
      next[k] = n < c.length ? x[n * c.width] : 0.0f;
    }
  };
  load(0);
  for (int first = 0; first < c.length; first += TILE) {
#pragma unroll
    for (int k = 0; k < PIECE; ++k) drive[k] = next[k];
    load(first + TILE);   // arrives while this tile is solved
    const int mine = c.length - first - t * PIECE;   // steps of this thread that exist
    Pair start{0.0f, 0.0f};
    if (t == 0) start = tile;
    bool settled = false;
    for (int round = 0; round < allowed && !settled; ++round) {
      const float weight = round == 0 ? 0.0f : c.w;
      Pair end = start;
      Affine map{1.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f};
#pragma unroll
      for (int k = 0; k < PIECE; ++k) {
        if (k < mine) {
          const float pulled = pull(c, weight, step(c, weight, drive[k], end.y, end.z));
          push(c.h, pulled, map.yy, map.zy);
          push(c.h, pulled, map.yz, map.zz);
        }
      }
      shared.state[t] = start;
      __syncthreads();
      if (t + 1 < PIECES) {
        map.ry = plus(end.y, -shared.state[t + 1].y);
        map.rz = plus(end.z, -shared.state[t + 1].z);
      }
      const Pair d = arriving(shared, map, {0.0f, 0.0f});
      map.ry = end.y;
      map.rz = end.z;
      Pair better = map(d);
      // Piece 0 starts right: its end is taken as it is, also where the tangent overflowed.
      if (d.y == 0.0f && d.z == 0.0f) better = end;
      // Every neighbour read its state before the barriers in `arriving`.
      shared.state[t + 1] = better;
      __syncthreads();
      bool moved = false;
      if (t > 0) {
        const Pair old = start;
        start = shared.state[t];
        const float scale = fused(SETTLED, fabsf(start.y) + fabsf(start.z), 1e-30f);
        moved = !(fabsf(start.y - old.y) + fabsf(start.z - old.z) <= scale);   // also true for a NaN
      }
      settled = __syncthreads_or(moved) == 0 && round > 0;
      ++rounds;
    }
    if (settled) {
      Pair at = start;
#pragma unroll
      for (int k = 0; k < PIECE; ++k) {
        if (k < mine) {
          step(c, c.w, drive[k], at.y, at.z);
          a.y[(first + t * PIECE + k) * c.width + index] = at.y;
        }
      }
      if (t == PIECES - 1) shared.end = at;
    } else {
#pragma unroll
      for (int k = 0; k < PIECE; ++k) shared.drive[t * PIECE + k] = drive[k];
      __syncthreads();
      if (t == 0) {
        ++stepped;
        Pair at = tile;
        for (int k = 0; k < TILE && first + k < c.length; ++k) {
          step(c, c.w, shared.drive[k], at.y, at.z);
          a.y[(first + k) * c.width + index] = at.y;
        }
        shared.end = at;
      }
    }
    allowed = settled ? MAX_ROUNDS : allowed / 2 < MIN_ROUNDS ? MIN_ROUNDS : allowed / 2;
    __syncthreads();
    tile = shared.end;
  }
  for (long long n = c.length + t; n < c.steps; n += PIECES) a.y[n * c.width + index] = 0.0f;
  if (t == 0) {
    a.y_last[index] = tile.y;
    a.z_last[index] = tile.z;
    if (a.rounds != nullptr) {
      a.rounds[index] = rounds;
      a.rounds[c.width + index] = stepped;
    }
  }
}

struct ScanBackward {
  Problem<float> problem;
  const float* y0;
  const float* y;
  const float* z_last;
  const float* grad_y;
  const float* grad_y_last;
  const float* grad_z_last;
  Gradients<float> out;
  long long* stepped;     // (batch, hidden) or null: tiles that were run step by step
  long long grad_y_row;
};

__device__ __forceinline__ void scan_backward(const ScanBackward& a) {
  Scan& shared = *shared_memory<Scan>();
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const long long index = blockIdx.x;
  const Column<float> c = column_of(a.problem, index);
  Adjoint<float> adjoint{or_zero(a.grad_y_last, index), or_zero(a.grad_z_last, index), {}, {}, {}};
  float tile_z = a.z_last[index];
  long long stepped = 0;
  auto y_before = [&](int n) { return n > 1 ? a.y[(n - 2LL) * c.width + index] : a.y0[index]; };
  auto drive = [&](int n) { return a.problem.x[(n - 1LL) * c.width + index]; };
  auto gradient = [&](int n) { return a.grad_y[(n - 1) * a.grad_y_row + index]; };
  const float per_h = 1.0f / c.h;

  // Steps n = top .. top - TILE + 1; thread t has those from top - t PIECE downwards.
  for (int top = c.length; top > 0; top -= TILE) {
    const int mine = top - t * PIECE;
    float before[PIECE], s[PIECE], grad_y[PIECE];
    const float above = mine > 0 ? a.y[(mine - 1LL) * c.width + index] : 0.0f;   // the row of y of this piece's z
    Affine map{1.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f};
    float rise = 0.0f;   // of z over the piece
#pragma unroll
    for (int k = 0; k < PIECE; ++k) {
      const int n = mine - k;
      if (n > 0) {
        before[k] = y_before(n);
        s[k] = hyperbolic_tangent(fused(c.w, before[k], drive(n)));
        grad_y[k] = gradient(n);
        const float pulled = pull(c, c.w, s[k]);
        map.ry = plus(map.ry, grad_y[k]);
        push_back(c.h, pulled, map.yy, map.zy);
        push_back(c.h, pulled, map.yz, map.zz);
        push_back(c.h, pulled, map.ry, map.rz);
        rise = momentum_before(c, s[k], before[k], rise);
      } else {
        before[k] = s[k] = grad_y[k] = 0.0f;
      }
    }
    const Pair start{adjoint.p, adjoint.q};
    const Pair here = arriving(shared, map, start);
    // z at the start of each piece: a plain prefix sum, which is held against the rows of y below.
    float sum = rise;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const float below = from_below(sum, distance);
      if (lane >= distance) sum = plus(sum, below);
    }
    if (lane == 31) shared.sum[warp] = sum;
    const bool lost = __syncthreads_or(!is_finite(here.y) || !is_finite(here.z)) != 0;
    float z = tile_z;
    for (int i = 0; i < warp; ++i) z = plus(z, shared.sum[i]);
    const float below = from_below(sum, 1);
    if (lane > 0) z = plus(z, below);
    if (!lost) {
      adjoint.p = here.y;
      adjoint.q = here.z;
#pragma unroll
      for (int k = 0; k < PIECE; ++k) {
        const int n = mine - k;
        if (n > 0) {
          z = anchored(per_h, before[k], k == 0 ? above : before[k > 0 ? k - 1 : 0], z);
          a.out.x[(n - 1LL) * c.width + index] = adjoint.step(c, s[k], before[k], z, grad_y[k], 0.0f);
          z = momentum_before(c, s[k], before[k], z);
        }
      }
      if (t == PIECES - 1) shared.end = {adjoint.p, adjoint.q}, shared.z = z;
    } else if (t == 0) {
      ++stepped;
      adjoint.p = start.y;
      adjoint.q = start.z;
      z = tile_z;
      float y_after = above;
      for (int n = top; n > 0 && n > top - TILE; --n) {
        const float y = y_before(n), found = hyperbolic_tangent(fused(c.w, y, drive(n)));
        z = anchored(per_h, y, y_after, z);
        a.out.x[(n - 1LL) * c.width + index] = adjoint.step(c, found, y, z, gradient(n), 0.0f);
        z = momentum_before(c, found, y, z);
        y_after = y;
      }
      shared.end = {adjoint.p, adjoint.q}, shared.z = z;
    }
    adjoint.close();
    __syncthreads();
    adjoint.p = shared.end.y;
    adjoint.q = shared.end.z;
    tile_z = shared.z;
  }
  for (long long n = c.length + t; n < c.steps; n += PIECES) a.out.x[n * c.width + index] = 0.0f;
  // The threads' sums, in the order of the threads.
  shared.total[t][0] = adjoint.w.total;
  shared.total[t][1] = adjoint.h.total;
  shared.total[t][2] = adjoint.alpha.total;
  for (int half = PIECES / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half)
      for (int k = 0; k < 3; ++k) shared.total[t][k] = plus(shared.total[t][k], shared.total[t + half][k]);
  }
  if (t == 0) {
    a.out.w[index] = shared.total[0][0];
    a.out.h[index] = shared.total[0][1];
    a.out.alpha[index] = shared.total[0][2];
    a.out.y0[index] = adjoint.p;
    a.out.z0[index] = adjoint.q;
    if (a.stepped != nullptr) a.stepped[index] = stepped;
  }
}

}  // namespace odernn

extern "C" __global__ void __launch_bounds__(256, 1) scan_forward_f32(odernn::ScanForward a) {
  odernn::scan_forward(a);
}
extern "C" __global__ void __launch_bounds__(256, 1) scan_backward_f32(odernn::ScanBackward a) {
  odernn::scan_backward(a);
}
