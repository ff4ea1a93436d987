"""Faults for the kernels and their launches, each a change of one text: does a test notice?

``tests/kernels/plant.py`` plants them one by one. ``right`` occurs once in ``file`` (a path inside of
cuda/odernn_kernels), so that a fault cannot go stale; what no test can notice has an explanation.
"""

from __future__ import annotations

from dataclasses import dataclass

RING, SCAN, SCORNN = "test_recurrence_kernels", "test_recurrence_kernels", "test_orthogonal_kernel"


@dataclass(frozen=True)
class Fault:
    """``wrong`` in the place of ``right``; ``tests`` are tried first, the other files of tests/kernels after them."""

    what: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]
    explained: str = ""


FAULTS = (
    # --- steps and rows
    Fault("the last step of a tail is left out", "kernels/recurrence.cuh",
          "for (int r = 0; n + r < length; ++r) advance(r);", "for (int r = 0; n + r + 1 < length; ++r) advance(r);",
          (RING,)),
    Fault("the last row of a group is not fetched", "kernels/recurrence.cuh",
          "base >= 0 && base + r < length", "base >= 0 && base + r + 1 < length", (RING,)),
    Fault("rows of y are as far apart as a sample is wide", "kernels/forward.cu",
          "y_row += c.width;", "y_row += a.problem.hidden;", (RING,)),
    Fault("the first row beyond a sample's end is not cleared", "kernels/recurrence.cuh",
          "for (long long n = first; n < c.steps; ++n)", "for (long long n = first + 1; n < c.steps; ++n)", (RING,)),
    Fault("a group is put into the slot that is still being read", "kernels/recurrence.cuh",
          "    fetch((stage + STAGES - 1) % STAGES);\n#pragma unroll\n    for (int r = ROWS - 1; r >= 0; --r)",
          "    fetch(stage);\n#pragma unroll\n    for (int r = ROWS - 1; r >= 0; --r)", (RING,)),
    Fault("a group is read before its copies have landed", "kernels/recurrence.cuh",
          "    await_copies<STAGES - 2>();\n    fetch((stage + STAGES - 1) % STAGES);\n#pragma unroll\n"
          "    for (int r = 0; r < ROWS; ++r) advance(r);",
          "    await_copies<STAGES - 1>();\n    fetch((stage + STAGES - 1) % STAGES);\n#pragma unroll\n"
          "    for (int r = 0; r < ROWS; ++r) advance(r);", (RING,)),
    Fault("an offset of 32 bits: dE/dx of the ring", "kernels/backward.cu",
          "    const T grad_x = adjoint.step(c, s, y_before, z, grad, T(0));\n"
          "    a.out.x[(base + r) * c.width + index]",
          "    const T grad_x = adjoint.step(c, s, y_before, z, grad, T(0));\n"
          "    a.out.x[static_cast<int>((base + r) * c.width + index)]", ("test_large_offsets",)),
    Fault("an offset of 32 bits: rows of scoRNN", "kernels/scornn.cu",
          "return (BACK ? a.steps - 1 - k : k) * row + own;",
          "return static_cast<int>((BACK ? a.steps - 1 - k : k) * row + own);", ("test_large_offsets",)),
    # --- whose numbers
    Fault("w of the first sample for all", "kernels/recurrence.cuh",
          "p.w[sample * p.w_batch + neuron", "p.w[neuron", ("test_broadcasts",)),
    Fault("alpha of a sample by the distance of w", "kernels/recurrence.cuh",
          "sample * p.alpha_batch", "sample * p.w_batch", ("test_broadcasts",)),
    Fault("the length of the first sample for all", "kernels/recurrence.cuh",
          "p.lengths[sample]", "p.lengths[0]", (RING,)),
    Fault("one row of cotangents is read as many: the ring", "kernels/backward.cu",
          "fetch_rows(grad_y.cell[stage], a.grad_y, a.grad_y_row, index, asked, c.length);\n    if (WITH_Z)",
          "fetch_rows(grad_y.cell[stage], a.grad_y, c.width, index, asked, c.length);\n    if (WITH_Z)",
          ("test_broadcasts",)),
    Fault("one row of cotangents is read as many: the scan", "kernels/scan.cu",
          "a.grad_y[(n - 1) * a.grad_y_row + index]", "a.grad_y[(n - 1) * c.width + index]", ("test_broadcasts",)),
    Fault("one row of cotangents is said to be many", "launches.py",
          "return gradient[0].contiguous(), 0", "return gradient[0].contiguous(), like.numel()", ("test_broadcasts",)),
    # --- formulas
    Fault("a costate without alpha", "kernels/recurrence.cuh",
          "p = fused(pulled, fused(c.w, slope, c.alpha), p);", "p = fused(pulled, times(c.w, slope), p);", (RING,)),
    Fault("the sign of a term of dE/dh", "kernels/recurrence.cuh",
          "h.add_product(-q, fused(c.alpha, y_before, s));", "h.add_product(q, fused(c.alpha, y_before, s));", (RING,)),
    Fault("maps of the scan in the other order", "kernels/scan.cu",
          "all = compose(all, below);", "all = compose(below, all);", ("test_accuracy",)),
    Fault("half of the threads' sums are lost", "kernels/scan.cu",
          "for (int half = PIECES / 2; half > 0; half /= 2) {", "for (int half = PIECES / 4; half > 0; half /= 2) {",
          ("test_broadcasts",)),
    Fault("y is kept where z is to be", "kernels/forward.cu",
          "a.checkpoints[(a.count + kept) * c.width + index] = z;",
          "a.checkpoints[(a.count + kept) * c.width + index] = y;", ("test_reconstruction",)),
    Fault("the last state of the exact mode is rounded", "kernels/exact.cu",
          "a.last[c.width + index] = z;", "a.last[c.width + index] = static_cast<float>(z);", ("test_reconstruction",)),
    Fault("the largest y is said to be a step early", "kernels/falsify.cu",
          "most_y = magnitude(y), at_y = n;", "most_y = magnitude(y), at_y = n - 1;", ("test_trajectories",)),
    Fault("a component of the tangent is not renormalised", "kernels/falsify.cu",
          "yy *= scale, yz *= scale, zy *= scale, zz *= scale;", "yy *= scale, yz *= scale, zy *= scale;",
          ("test_trajectories",)),
    Fault("W in the place of its transpose", "kernels/scornn.cu",
          "BACK ? j * n + i : i * n + j", "i * n + j", (SCORNN,)),
    Fault("a silent unit passes its gradient on", "kernels/scornn.cu",
          "h == 0 && !is_linear ? T(0) : plus(value, drive)", "plus(value, drive)", (SCORNN,)),
    # --- the block
    Fault("a barrier less: the starts of pieces", "kernels/scan.cu",
          "shared.state[t + 1] = better;\n      __syncthreads();", "shared.state[t + 1] = better;", (SCAN,)),
    Fault("a barrier less: the vector of scoRNN", "kernels/scornn.cu",
          "    if (owns) vector[mine] = value;\n"
          "    // One barrier a step: the other vector is written only after every thread has read it and passed this "
          "one.\n    __syncthreads();", "    if (owns) vector[mine] = value;", (SCORNN,)),
    Fault("halves of the vector that no load of 16 bytes can read", "kernels/scornn.cu",
          "constexpr int APART = 4;", "constexpr int APART = 2;", (SCORNN,)),
    Fault("too little shared memory", "orthogonal.py",
          "2 * 32 * -(-units // 64) + 4", "2 * 32 * -(-units // 64)", (SCORNN,)),
    # --- accuracy
    Fault("the scan is settled after two rounds", "kernels/scan.cu",
          "settled = __syncthreads_or(moved) == 0 && round > 0;",
          "settled = (__syncthreads_or(moved) == 0 || round > 0) && round > 0;", ("test_accuracy",)),
    Fault("what a sum lost is added with the wrong sign", "kernels/arithmetic.cuh",
          "const T term = plus(block, -lost);", "const T term = plus(block, lost);", ("test_accuracy",)),
)  # fmt: skip
"""In groups: steps and rows, whose numbers, formulas, the block, accuracy."""
