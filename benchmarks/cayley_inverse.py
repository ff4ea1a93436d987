"""How long does it take to write an orthogonal matrix as a scaled Cayley map, W = C(A) D?

n = 512, float64, one thread: a Haar matrix, −I, a random permutation and a random reflection. Beside it, as a measure
of n³, one LU solve of the same size, which is what C(A) itself costs. The answer is checked before anything is timed:
W is rebuilt from A and D, |a_ij| ≤ τ, A is skew-symmetric to the last digit.
"""

from __future__ import annotations

import torch
from _harness import interleaved, report
from torch import Tensor

from odernn.orthogonal.signs import DEFAULT_TAU, orthogonality_tolerance, scaled_cayley_inverse

N = 512
SLACK = 2.0**-30
"""Rounding of A around τ: ``scaled_cayley_inverse`` computes A once more from W D after its last exchange."""


def matrices(generator: torch.Generator) -> dict[str, Tensor]:
    """The four kinds of W, (N, N) float64."""
    identity = torch.eye(N, dtype=torch.float64)
    Q, R = torch.linalg.qr(torch.randn(N, N, generator=generator, dtype=torch.float64))
    v = torch.randn(N, generator=generator, dtype=torch.float64)
    return {
        "Haar": Q * R.diagonal().sign(),  # unique with a positive diagonal of R, and then Haar distributed
        "minus identity": -identity,
        "permutation": identity[torch.randperm(N, generator=generator)],
        "Householder": identity - 2.0 * torch.outer(v, v) / (v @ v),
    }


def checked(name: str, W: Tensor) -> tuple[float, int]:
    """max |C(A) D − W| and the number of exchanges; fails if the representation is not what it should be."""
    A, signs, flips = scaled_cayley_inverse(W)
    identity = torch.eye(N, dtype=W.dtype)
    error = float((torch.linalg.solve(identity + A, identity - A) * signs - W).abs().max())
    assert error <= orthogonality_tolerance(N, W.dtype), f"{name}: C(A) D differs from W by {error:.2e}"
    assert torch.equal(A, -A.T), f"{name}: A is not skew-symmetric"
    assert float(A.abs().max()) <= DEFAULT_TAU + SLACK, f"{name}: an entry of A is {float(A.abs().max())}"
    return error, flips


def main() -> None:
    torch.set_num_threads(1)
    cases, checks = {}, {}
    for name, W in matrices(torch.Generator().manual_seed(0)).items():
        checks[name], flips = checked(name, W)
        shifted = W + 2.0 * torch.eye(N, dtype=W.dtype)
        peers = {
            "torch.linalg.solve": lambda W=W, shifted=shifted: torch.linalg.solve(shifted, W),
            "scaled_cayley_inverse": lambda W=W: scaled_cayley_inverse(W),
        }
        cases[f"{name}, n = {N}, exchanges: {flips}"] = interleaved(peers, rounds=7)
    report("cayley_inverse", cases, checks)


if __name__ == "__main__":
    main()
