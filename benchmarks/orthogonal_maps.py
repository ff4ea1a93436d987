"""How far from orthogonal is what each map makes, and what does it cost? W = exp(A) and W = C(A) D beside torch's own.

The answer that is checked: ‖WᵀW − I‖₂ in units u, 2⁻²⁴ or 2⁻⁵³, summed in 80 bits, the worst over random skew A with
‖A‖₂ from 10⁻⁶ to 64. The exponential must keep within 2 u. Timed is one call, and one with its backward pass, beside
torch.linalg.matrix_exp in the same dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from _harness import interleaved, report
from torch import Tensor

from odernn.orthogonal.cayley import scaled_cayley
from odernn.orthogonal.unitary import expm_skew

SIZES = {2: 219, 8: 219, 64: 24, 256: 6}
"""Units, and how many norms."""
TIMED = (64, 170, 512)
LARGEST = 2.0
DTYPES = {torch.float32: 2.0**24, torch.float64: 2.0**53}


def skew_of_norm(n: int, norm: float, generator: torch.Generator) -> Tensor:
    """A random skew A with that norm, (n, n) float64."""
    M = torch.randn(n, n, generator=generator, dtype=torch.float64)
    A = M - M.T
    return A * (norm / float(torch.linalg.matrix_norm(A, 2)))


def units(W: Tensor) -> float:
    """‖WᵀW − I‖₂ in units u."""
    wide = W.numpy().astype(np.longdouble)
    return float(np.linalg.norm((wide.T @ wide - np.eye(len(W))).astype(float), 2)) * DTYPES[W.dtype]


def cayley(A: Tensor) -> Tensor:
    """With all signs 1."""
    return scaled_cayley(A, torch.ones(len(A), dtype=A.dtype))


MAPS: dict[str, Callable[[Tensor], Tensor]] = {
    "expm_skew": expm_skew,
    "torch.linalg.matrix_exp": torch.linalg.matrix_exp,
    "scaled_cayley": cayley,
}


def worst_units(generator: torch.Generator) -> dict[str, float]:
    """By map, size and dtype; AssertionError if the exponential leaves more than ``LARGEST``."""
    found: dict[str, float] = {}
    for n, count in SIZES.items():
        for norm in np.geomspace(1e-6, 64.0, count):
            A = skew_of_norm(n, float(norm), generator)
            for dtype in DTYPES:
                for name, made in MAPS.items():
                    key = f"{name}, n = {n}, {str(dtype)[6:]}: ‖WᵀW − I‖₂ in u"
                    found[key] = max(found.get(key, 0.0), units(made(A.to(dtype))))
    wrong = [f"{key}: {value:.3g}" for key, value in found.items() if key.startswith("expm") and value > LARGEST]
    assert not wrong, wrong
    return {key: float(f"{value:.3g}") for key, value in found.items()}


def with_backward(made: Callable[[Tensor], Tensor], A: Tensor) -> Tensor:
    point = A.clone().requires_grad_()
    made(point).sum().backward()
    assert point.grad is not None
    return point.grad


def main() -> None:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    checks = worst_units(generator)
    cases = {}
    for n in TIMED:
        A = skew_of_norm(n, 2.0, generator)
        for dtype in DTYPES:
            for way, call in (("forward", lambda made, A: made(A)), ("forward and backward", with_backward)):
                peers = {name: partial(call, MAPS[name], A.to(dtype)) for name in reversed(list(MAPS)[:2])}
                cases[f"n = {n}, {str(dtype)[6:]}, {way}"] = interleaved(peers, rounds=7)
    report("orthogonal_maps", cases, checks)


if __name__ == "__main__":
    main()
