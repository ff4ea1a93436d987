"""Orthogonal matrices that need large entries: ascent on min over D in {±1}ⁿ of max |a_ij|, W = C(A) D, in floats."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verification.domains import Budget

Array = NDArray[np.float64]
STARTS = {"smoke": 100, "standard": 400, "deep": 2000}
STEPS = {"smoke": 40, "standard": 150, "deep": 500}
SMALLEST_DETERMINANT = 1e-9
"""Below, W D has the eigenvalue −1 to within rounding, and D is left out."""


@dataclass(frozen=True)
class WorstOrthogonal:
    """The largest value found, the W it is of, and how many W were tried."""

    value: float
    W: Array
    evaluations: int


def least_largest(W: Array) -> float:
    """min over D of max |a_ij|, all signatures at once.   (n, n)"""
    n = len(W)
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=n)))
    Z = W[None] * signs[:, None, :]
    regular = np.linalg.det(np.eye(n) + Z) > SMALLEST_DETERMINANT
    Z = Z[regular]
    A = np.linalg.solve(np.eye(n) + Z, np.eye(n) - Z)
    return float(np.abs(A).max(axis=(1, 2)).min())


def worst_orthogonal(n: int, budget: Budget, seed: int) -> WorstOrthogonal:
    """Haar matrices, and from the best of them a random walk with shrinking steps that only goes up."""
    rng = np.random.default_rng([seed, n])
    starts = [_haar(n, rng) for _ in range(STARTS[budget.name])]
    values = [least_largest(W) for W in starts]
    best = int(np.argmax(values))
    W, value = starts[best], values[best]
    for step in range(STEPS[budget.name]):
        size = 0.5 * 0.97**step
        K = np.triu(rng.normal(size=(n, n)) * size, 1)
        K = K - K.T
        moved = np.linalg.solve(np.eye(n) + K, np.eye(n) - K) @ W
        of_moved = least_largest(moved)
        if of_moved > value:
            W, value = moved, of_moved
    return WorstOrthogonal(value, W, STARTS[budget.name] + STEPS[budget.name])


def _haar(n: int, rng: np.random.Generator) -> Array:
    Q, R = np.linalg.qr(rng.normal(size=(n, n)))
    turned: Array = Q * np.sign(np.diag(R))
    return turned
