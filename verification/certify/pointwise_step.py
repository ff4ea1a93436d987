"""One implicit stage with a pointwise activation, f(y) = ReLU(κ y + b), exactly: in each of its linear regions.

    Y = y + η A f(Y),     y₊ = y + η B f(Y),     A, B ∈ R^{D×D},  κ = ±1

Where a set of components is active f is affine, so that the stage is one linear system a set, and a solution of it is a
stage value iff its pre-activations have the signs of the set. κ = −1 makes (u − v)ᵀ(f(u) − f(v)) ≤ 0, κ = 1 ≥ 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mat

from odernn.exact.definiteness import inertia
from verification.claim import Parameters
from verification.exact_text import matrix_of, number, numbers


@dataclass(frozen=True)
class PointwiseStep:
    """η, A, B and b of a step, κ, and the two states that it moves."""

    eta: fmpq
    A: Any
    B: Any
    b: tuple[fmpq, ...]
    slope: int
    states: tuple[tuple[fmpq, ...], tuple[fmpq, ...]]

    @property
    def size(self) -> int:
        return len(self.b)

    def stage_values(self, state: Sequence[fmpq]) -> tuple[list[list[fmpq]], bool]:
        """(the different solutions of the stage equation, whether the system of every region is regular)."""
        found: list[list[fmpq]] = []
        regular = True
        for active in itertools.product((0, 1), repeat=self.size):
            coupled = self.A * _diagonal([fmpq(x) for x in active]) * self.eta
            system = _diagonal([fmpq(1)] * self.size) - coupled * self.slope
            if system.det() == 0:
                regular = False
                continue
            values = system.solve(_column(state) + coupled * _column(self.b)).entries()
            drives = [self.slope * value + bias for value, bias in zip(values, self.b, strict=True)]
            fits = all(drive >= 0 if on else drive <= 0 for drive, on in zip(drives, active, strict=True))
            if fits and values not in found:
                found.append(values)
        return found, regular

    def moved(self, state: Sequence[fmpq]) -> list[fmpq] | None:
        """y₊; None if the stage equation has not one solution."""
        found, regular = self.stage_values(state)
        if not regular or len(found) != 1:
            return None
        force = [max(self.slope * value + bias, fmpq(0)) for value, bias in zip(found[0], self.b, strict=True)]
        moved: list[fmpq] = (_column(state) + self.B * _column(force) * self.eta).entries()
        return moved

    def squares(self) -> tuple[fmpq, fmpq] | None:
        """‖Δy‖² and ‖Δy₊‖²; None where a stage equation has not one solution."""
        ends = [self.moved(state) for state in self.states]
        if ends[0] is None or ends[1] is None:
            return None
        return _distance(*self.states), _distance(ends[0], ends[1])

    def weights_are_nonnegative(self) -> bool:
        """B = Bᵀ ≥ 0."""
        return self.B.transpose() == self.B and inertia(self.B.tolist()).is_semidefinite

    def tensor_is_nonnegative(self) -> bool:
        """M = BᵀA + AᵀB − BᵀB ≥ 0."""
        flipped = self.B.transpose()
        return bool(
            inertia((flipped * self.A + self.A.transpose() * self.B - flipped * self.B).tolist()).is_semidefinite
        )


def typed(parameters: Parameters, slope: int) -> PointwiseStep:
    """The step of eta, A, B, b and the states u, v."""
    b, u, v = (tuple(map(_exact, numbers(parameters, name))) for name in ("b", "u", "v"))
    A, B = (
        fmpq_mat([[_exact(x) for x in row] for row in matrix_of(numbers(parameters, name), len(b))])
        for name in ("A", "B")
    )
    return PointwiseStep(_exact(number(parameters, "eta")), A, B, b, slope, (u, v))


def linear_piece(parameters: Parameters, slope: int) -> tuple[int, ...] | None:
    """Which components of the stages f_i(Y) = ReLU(slope·Y + b_i) are active around the state y, stage after stage: all
    stages as one of D·S components. None if there is not one solution, or a component of it sits at its kink.
    """
    D, S = (int(number(parameters, name)) for name in ("D", "S"))
    A, b, y = (list(map(_exact, numbers(parameters, name))) for name in ("A", "b", "y"))
    whole = fmpq_mat(D * S, D * S)
    for i, j in itertools.product(range(S), repeat=2):
        for r, c in itertools.product(range(D), repeat=2):
            whole[i * D + r, j * D + c] = A[(i * S + j) * D * D + r * D + c]
    state = tuple(y * S)
    step = PointwiseStep(_exact(number(parameters, "eta")), whole, whole, tuple(b), slope, (state, state))
    found, regular = step.stage_values(state)
    if not regular or len(found) != 1:
        return None
    drives = [slope * value + bias for value, bias in zip(found[0], b, strict=True)]
    return None if 0 in drives else tuple(int(drive > 0) for drive in drives)


def _exact(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _column(values: Sequence[fmpq]) -> fmpq_mat:
    return fmpq_mat([[value] for value in values])


def _diagonal(values: Sequence[fmpq]) -> fmpq_mat:
    return fmpq_mat([[value if i == j else fmpq(0) for j in range(len(values))] for i, value in enumerate(values)])


def _distance(one: Sequence[fmpq], other: Sequence[fmpq]) -> fmpq:
    return sum(((x - y) ** 2 for x, y in zip(one, other, strict=True)), fmpq(0))
