"""The worst pair of solutions for a step with matrix coefficients, over the stage fields of a class: a hill climb.

What a field does to two stage values ΔY_i is Δk_i = N_i ΔY_i for some matrix N_i of its class, and every such N_i is
one of a linear field: so the largest ‖Δy₊‖_G/‖Δy‖_G over the class is the largest norm of

    R = I + B (diag(N_i⁻¹) − A)⁻¹ 1 = I + B diag(N_i) (I − A diag(N_i))⁻¹ 1,     η = 1, A = [A_ij], B = [B_i]

over N_i, one for each stage. Classes, with C any matrix, S skew, Q ≥ 0, D ≥ 0 diagonal:

    monotone   N = S − Q                   wᵀN w ≤ 0
    weighted   G B_i N = S − Q             wᵀG B_i N w ≤ 0
    diagonal   N = −D                      entrywise non-increasing
    gradient   N = −B_i⁻¹ Cᵀ D C           f(y) = −B_i⁻¹ Cᵀ σ(C y + …), σ non-decreasing

Control: the trapezoidal rule with the same class and ‖N‖ ≤ ρ. R = (I − N_2/2)⁻¹(I + N_1/2), and ‖(I − N_2/2)⁻¹‖ ≤ 1,
‖(I + N_1/2) x‖² ≤ |x|² + |N_1 x|²/4: the largest norm is √(1 + ρ²/4), at N_2 = 0 and N_1 skew, if there is a skew one
in the class; of symmetric N_1 it is max(1, ρ/2 − 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

FieldClass: TypeAlias = Literal["monotone", "weighted", "diagonal", "gradient"]
CONTROL_RATE = 8.0
RATES = (1e-2, 1e3)
"""Sizes of ‖N‖ at the start of a climb, logarithmic; none grows beyond the largest, where R is off by some 1e-10."""
POPULATION = 48
ROUNDS = {"smoke": 60, "standard": 300, "deep": 1200}


@dataclass(frozen=True, eq=False)
class BlockStep:
    """A (S, S, D, D), B (S, D, D) and the weight G (D, D) of one step with η = 1, in doubles."""

    A: Any
    B: Any
    G: Any

    @property
    def stages(self) -> int:
        return int(self.B.shape[0])

    @property
    def size(self) -> int:
        return int(self.B.shape[1])


@dataclass(frozen=True)
class WorstFields:
    """The largest ‖R‖_G found, its N (S, D, D), how many R were formed, and the control's share of its optimum."""

    ratio: float
    N: Any
    evaluations: int
    control: float


def worst(step: BlockStep, fields: FieldClass, rounds: int, seed: int) -> WorstFields:
    """The worst ratio over the class, and the control of the same climb."""
    ratio, N, count = _climbed(step, fields, rounds, np.random.default_rng(seed), None)
    trapezoidal = _trapezoidal(step.size)
    reached, _, more = _climbed(trapezoidal, fields, rounds, np.random.default_rng(seed), CONTROL_RATE)
    has_skew = fields in ("monotone", "weighted") and step.size > 1
    optimum = math.sqrt(1 + CONTROL_RATE**2 / 4) if has_skew else CONTROL_RATE / 2 - 1
    return WorstFields(ratio, N, count + more, reached / optimum)


def rational_member(N: Any, bits: int = 12) -> tuple[tuple[Fraction, ...], ...]:
    """A rational matrix near N with N + Nᵀ ≤ 0, exactly: S − F Fᵀ, S the skew part, F a root of the other, rounded."""
    scale, size = 2**bits, range(len(N))
    values, vectors = np.linalg.eigh(-(N + N.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    F = [[Fraction(round(float(x) * scale), scale) for x in row] for row in root]
    S = [[Fraction(round(float(N[i, j] - N[j, i]) / 2 * scale), scale) for j in size] for i in size]
    turned = [[S[i][j] if i < j else -S[j][i] if i > j else Fraction(0) for j in size] for i in size]
    return tuple(tuple(turned[i][j] - sum(x * y for x, y in zip(F[i], F[j], strict=True)) for j in size) for i in size)


def norms(step: BlockStep, N: Any) -> Any:
    """‖R‖_G of stage matrices N (n, S, D, D): (n,). R = ∞ where a stage equation is singular to doubles."""
    n, S, D = len(N), step.stages, step.size
    system = np.zeros((n, S, D, S, D))
    for i in range(S):
        for j in range(S):
            system[:, i, :, j, :] = (i == j) * np.eye(D) - step.A[i, j] @ N[:, j]
    ones = np.broadcast_to(np.tile(np.eye(D), (S, 1)), (n, S * D, D))
    Y = np.linalg.solve(system.reshape(n, S * D, S * D), ones).reshape(n, S, D, D)
    R = np.eye(D) + np.einsum("iab,nibc,nicd->nad", step.B, N, Y)
    factor = np.linalg.cholesky(step.G).T
    return np.linalg.norm(factor @ R @ np.linalg.inv(factor), 2, axis=(1, 2))


def _trapezoidal(size: int) -> BlockStep:
    unit, zero = np.eye(size), np.zeros((size, size))
    return BlockStep(np.array([[zero, zero], [unit / 2, unit / 2]]), np.array([unit / 2, unit / 2]), unit)


def _climbed(
    step: BlockStep, fields: FieldClass, rounds: int, generator: np.random.Generator, rate: float | None
) -> tuple[float, Any, int]:
    """A population of raw numbers, each moved where that makes its ratio larger; steps of random sizes."""
    S, D = step.stages, step.size
    raw = generator.standard_normal((POPULATION, S, 2, D, D))
    sizes = np.exp(generator.uniform(math.log(RATES[0]), math.log(RATES[1]), (POPULATION, S, 1, 1, 1)))
    raw = raw * np.sqrt(sizes if rate is None else rate)
    best = norms(step, _members(step, fields, raw, rate))
    for _ in range(rounds):
        length = np.exp(generator.uniform(-6.0, 1.0, (POPULATION, 1, 1, 1, 1)))
        moved = raw * np.exp(length * generator.standard_normal((POPULATION, S, 2, 1, 1)))
        scale = np.abs(raw).mean(axis=(3, 4), keepdims=True)
        moved = moved + length * scale * generator.standard_normal(raw.shape)
        members = norms(step, _members(step, fields, moved, rate))
        better = members > best
        raw[better], best[better] = moved[better], members[better]
    members = _members(step, fields, raw[best.argmax()][None], rate)[0]
    return float(best.max()), members, POPULATION * (rounds + 1)


def _members(step: BlockStep, fields: FieldClass, raw: Any, rate: float | None) -> Any:
    """Matrices of the class from two raw ones, scaled to ‖N‖ ≤ rate if one is given."""
    first, second = raw[:, :, 0], raw[:, :, 1]
    if fields in ("monotone", "weighted"):
        size = np.abs(first).max(axis=(2, 3), keepdims=True) + 1e-300
        N = size * (first - first.swapaxes(2, 3)) - second @ second.swapaxes(2, 3)
        if fields == "weighted":
            N = np.linalg.inv(step.G @ step.B) @ N
    else:
        slopes = np.einsum("nsaa->nsa", first) ** 2
        N = -slopes[..., None] * np.eye(step.size)
        if fields == "gradient":
            N = np.linalg.inv(step.B) @ second.swapaxes(2, 3) @ N @ second / _squared(second)
    most = RATES[1] if rate is None else rate
    return N * np.minimum(1.0, most / (np.linalg.norm(N, 2, axis=(2, 3)) + 1e-300))[..., None, None]


def _squared(C: Any) -> Any:
    return np.linalg.norm(C, 2, axis=(2, 3))[..., None, None] ** 2 + 1e-300
