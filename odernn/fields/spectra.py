"""Norms and eigenvalues of matrices, rounded to the safe side.

The allowance. LAPACK brings a matrix M (m × n, r = min(m, n)) to bidiagonal or tridiagonal form by at most 2r
Householder reflections and iterates on what is left with errors of lower order. A product of k computed reflections
applied to M is exactly orthogonal up to an error E with ‖E‖_F ≤ k c max(m, n) u ‖M‖_F, u = 2⁻⁵³ and c a small integer
(Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., Lemma 19.3); c = 8 is generous. So the numbers
returned are exact for M + E, and by Weyl's inequality each differs from its exact value by at most

    ‖E‖_F ≤ 16 r max(m, n) u ‖M‖_F ≤ 16 m n u √(m n) max |M_ij|,

the last form because it neither overflows nor underflows before M does. At m = n = 128 it is 4e-9 of the largest entry.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

ROUNDING = 2.0**-48
"""Relative allowance for the few float64 operations behind a constant."""

UNIT_ROUNDOFF = 2.0**-53
REFLECTIONS = 16
"""2 reflections a column, each with the constant c = 8."""


class NotFiniteError(ValueError, ArithmeticError):
    """A matrix, or what is made of it, has entries that are not finite: no constant bounds anything then."""


def spectral_norm(M: Tensor) -> float:
    """An upper bound of ‖M‖₂ for M (m, n), exact for M = 0."""
    M = settled("A weight matrix", M)
    return upward(float(torch.linalg.svdvals(M)[0]) + _allowance(M))


def largest_eigenvalue(M: Tensor) -> float:
    """An upper bound of the largest eigenvalue of the symmetric part ½(M + Mᵀ) of M (n, n).

    Forming the symmetric part costs one rounding an entry, ‖·‖_F ≤ u ‖M‖_F, for which the allowance has room.
    """
    M = settled("A weight matrix", M)
    top = float(torch.linalg.eigvalsh(0.5 * (M + M.mT))[-1])
    return upward(top + _allowance(M))


def excess(gamma: float, norm: float) -> float:
    """√(γ² + s²) − γ for γ, s ≥ 0, without cancellation and rounded up: s² / (√(γ² + s²) + γ)."""
    if norm == 0.0:
        return 0.0
    return upward(norm * (norm / (math.hypot(gamma, norm) + gamma)))


def as_used(value: Tensor | float, like: Tensor) -> float:
    """A hyperparameter with the digits that arithmetic in the dtype of ``like`` sees."""
    return float(torch.as_tensor(value, dtype=torch.float64).detach().to(like.dtype))


def upward(value: float) -> float:
    """Above what the few float64 operations behind ``value`` would have given without rounding."""
    return value + ROUNDING * abs(value)


def settled(name: str, value: Tensor) -> Tensor:
    """``value`` in float64 on the CPU, without its graph; NotFiniteError, a ValueError, where it is not finite."""
    value = value.detach().to(device="cpu", dtype=torch.float64)
    if not bool(value.isfinite().all()):
        raise NotFiniteError(
            f"{name} of shape {tuple(value.shape)} holds values that are not finite, so that no constant bounds the "
            "field. Look for the training step after which they appeared."
        )
    return value


def _allowance(M: Tensor) -> float:
    entries = M.numel()
    return REFLECTIONS * entries * UNIT_ROUNDOFF * math.sqrt(entries) * float(M.abs().max())
