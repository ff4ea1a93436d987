"""scoRNN over the rationals: W = C(A) D exactly, states through modReLU, gradients of a loss by backpropagation.

Parameters are text (``verification.claim``):

    A       a_12 a_13 .. a_23 ..: the strict upper triangle, row by row       D   the n signs
    b, h    biases and h_0, n numbers each                                    v   ∂/∂h_t of one term of the loss
    drive   U u_1, U u_2, ..: T n numbers

modReLU(z; b)_i = sign(z_i) max(|z_i| + b_i, 0), derivative 1 where |z_i| + b_i > 0 and z_i ≠ 0, else 0 (definitions of
Helfrich, Willmott, Ye 2018, Sec. 4.1, and of automatic differentiation). ``modrelu_run_second`` is typed apart from it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mat

from verification.claim import Parameters
from verification.exact_text import numbers
from verification.measure import exact_cayley
from verification.measure.exact_cayley import identity


@dataclass(frozen=True)
class ModReLURun:
    """W and, for t = 1..T, the pre-activations z_t and the diagonals of D_t; J = ∂h_T/∂h_0."""

    W: fmpq_mat
    z: tuple[tuple[fmpq, ...], ...]
    active: tuple[tuple[int, ...], ...]
    J: fmpq_mat

    @property
    def silent(self) -> tuple[int, ...]:
        """r_t, the number of units with derivative 0."""
        return tuple(len(diagonal) - sum(diagonal) for diagonal in self.active)


def exact(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def scaled_cayley(free: list[fmpq], signs: list[Any]) -> fmpq_mat:
    """(I + A)⁻¹ (I − A) D."""
    n = len(signs)
    A = fmpq_mat(n, n)
    for entry, (i, j) in zip(free, itertools.combinations(range(n), 2), strict=True):
        A[i, j], A[j, i] = entry, -entry
    return exact_cayley.cayley(A) * exact_cayley.diagonal(signs)


def run(parameters: Parameters) -> ModReLURun:
    """The states and J of the network that the text describes. ValueError where the lengths do not fit."""
    free, signs, b, h, drive = (
        [exact(value) for value in numbers(parameters, name)] for name in ("A", "D", "b", "h", "drive")
    )
    n = len(signs)
    if not (len(b) == len(h) == n and len(free) == n * (n - 1) // 2 and drive and len(drive) % n == 0):
        raise ValueError(f"n = {n} signs do not fit {len(free)} entries of A, {len(b)} biases, {len(h)} states")
    W = scaled_cayley(free, signs)
    J, rows, diagonals = identity(n), [], []
    state = fmpq_mat(n, 1, h)
    for start in range(0, len(drive), n):
        z = [entry + x for entry, x in zip((W * state).entries(), drive[start : start + n], strict=True)]
        diagonal = tuple(int(value != 0 and abs(value) + bias > 0) for value, bias in zip(z, b, strict=True))
        state = fmpq_mat(n, 1, [_modrelu(value, bias) for value, bias in zip(z, b, strict=True)])
        WJ = W * J
        J = fmpq_mat(n, n, [diagonal[i] * WJ[i, j] for i in range(n) for j in range(n)])
        rows.append(tuple(z))
        diagonals.append(diagonal)
    return ModReLURun(W, tuple(rows), tuple(diagonals), J)


def _modrelu(z: fmpq, b: fmpq) -> fmpq:
    size = abs(z) + b
    if z == 0 or size <= 0:
        return fmpq(0)
    return size if z > 0 else -size


def squared_gradients(modrelu: ModReLURun, v: list[Fraction], every: bool) -> list[fmpq]:
    """‖∂L/∂h_t‖² for t = 0..T: L = vᵀh_T, or with ``every`` Σ_{t ≥ 1} vᵀh_t.   backwards, g_{t−1} = Wᵀ D_t g_t (+ v)"""
    n = modrelu.W.nrows()
    g = term = [exact(value) for value in v]
    squares = [_square(g)]
    for t in range(len(modrelu.active), 0, -1):
        passed = [d * entry for d, entry in zip(modrelu.active[t - 1], g, strict=True)]
        g = (modrelu.W.transpose() * fmpq_mat(n, 1, passed)).entries()
        if every and t > 1:
            g = [entry + more for entry, more in zip(g, term, strict=True)]
        squares.append(_square(g))
    return squares[::-1]


def _square(g: list[fmpq]) -> fmpq:
    return sum((entry * entry for entry in g), fmpq(0))


def rational(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
