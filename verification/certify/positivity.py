"""Is a polynomial with rational coefficients nonnegative on a box? Decided exactly, by Bernstein coefficients.

On [0, 1]^k a polynomial lies between the smallest and the largest of its Bernstein coefficients, and its values at the
corners are among them. A box whose coefficients are all ≥ 0 is done; a negative corner is a point where the polynomial
is negative; any other box is cut in two, once a coarse grid has shown no negative value. A side [a, ∞) becomes [0, 1)
by x = a + t/(1 − t), which multiplies the polynomial by a power of 1 − t > 0. Lorentz 1953, Bernstein Polynomials;
Garloff 1986.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, TypeAlias

import flint
import numpy as np

MOST_BOXES = 2_000
Side: TypeAlias = tuple[int | Fraction, int | Fraction | None]
"""A closed interval; the upper end None is ∞."""


@dataclass(frozen=True)
class Positivity:
    """``holds``: True if proved ≥ 0 on the whole box, False with a ``point`` where it is negative, None: undecided."""

    holds: bool | None
    boxes: int
    point: tuple[Fraction, ...] | None = None


def is_nonnegative(p: Any, box: Sequence[Side], most_boxes: int = MOST_BOXES) -> Positivity:
    """Decide p ≥ 0 on the box, one side for each variable of p."""
    start = _bernstein(p, box)
    if not (start >= 0).all() and (sampled := _negative_sample(p, box)) is not None:
        return Positivity(False, 1, sampled)
    waiting = [(start, tuple((Fraction(0), Fraction(1)) for _ in box))]
    count = 0
    while waiting:
        coefficients, place = waiting.pop(0)
        count += 1
        if (coefficients >= 0).all():
            continue
        if (corner := _negative_corner(coefficients, place, box)) is not None:
            return Positivity(False, count, corner)
        if count >= most_boxes:
            return Positivity(None, count)
        axis = max(
            (k for k in range(len(box)) if coefficients.shape[k] > 1), key=lambda k: (place[k][1] - place[k][0], -k)
        )
        middle = (place[axis][0] + place[axis][1]) / 2
        for half, ends in zip(
            _halves(coefficients, axis), ((place[axis][0], middle), (middle, place[axis][1])), strict=True
        ):
            waiting.append((half, (*place[:axis], ends, *place[axis + 1 :])))
    return Positivity(True, count)


def _negative_sample(p: Any, box: Sequence[Side]) -> tuple[Fraction, ...] | None:
    """A point of a coarse grid inside the box where p < 0, the plainest values first; None if there is none."""
    inner = (Fraction(1, 2), Fraction(15, 16), Fraction(1, 16))
    outer = (Fraction(1), Fraction(16), Fraction(1, 16), Fraction(256))
    axes = [
        [lower + offset for offset in outer]
        if upper is None
        else [lower + (upper - lower) * offset for offset in inner]
        for lower, upper in box
    ]
    for point in itertools.product(*axes):
        if p(*(flint.fmpq(x.numerator, x.denominator) for x in point)) < 0:
            return tuple(map(Fraction, point))
    return None


def _bernstein(p: Any, box: Sequence[Side]) -> np.ndarray:
    """The Bernstein coefficients on [0, 1]^k, an object array of fractions with one axis for each variable."""
    terms = {tuple(map(int, powers)): value for powers, value in p.to_dict().items()}
    shape = [1 + max((powers[k] for powers in terms), default=0) for k in range(len(box))]
    array = np.full(shape, Fraction(0), dtype=object)
    for powers, value in terms.items():
        array[powers] = Fraction(int(value.p), int(value.q))
    for axis, (lower, upper) in enumerate(box):
        array = np.moveaxis(np.tensordot(_to_bernstein(shape[axis] - 1, lower, upper), array, ([1], [axis])), 0, axis)
    return array


def _to_bernstein(degree: int, lower: int | Fraction, upper: int | Fraction | None) -> np.ndarray:
    """The matrix from the coefficients of x^k to the Bernstein coefficients of t."""
    shift = [
        [Fraction(comb(k, j)) * Fraction(lower) ** (k - j) if j <= k else Fraction(0) for k in range(degree + 1)]
        for j in range(degree + 1)
    ]
    if upper is None:
        rise = [[Fraction(int(i == j), comb(degree, j)) for j in range(degree + 1)] for i in range(degree + 1)]
    else:
        width = Fraction(upper) - Fraction(lower)
        rise = [
            [Fraction(comb(i, j), comb(degree, j)) * width**j for j in range(degree + 1)] for i in range(degree + 1)
        ]
    matrix: np.ndarray = np.array(rise, dtype=object).dot(np.array(shift, dtype=object))
    return matrix


def _halves(coefficients: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients on the two halves along one axis (de Casteljau)."""
    row = np.moveaxis(coefficients, axis, 0)
    left, right = [row[0]], [row[-1]]
    while len(row) > 1:
        row = (row[:-1] + row[1:]) * Fraction(1, 2)
        left.append(row[0])
        right.append(row[-1])
    return tuple(np.moveaxis(np.array(half, dtype=object), 0, axis) for half in (left, right[::-1]))  # type: ignore[return-value]


def _negative_corner(
    coefficients: np.ndarray, place: Sequence[tuple[Fraction, Fraction]], box: Sequence[Side]
) -> tuple[Fraction, ...] | None:
    """A corner where the polynomial is negative, in the coordinates of the box; corners at infinity do not count."""
    sizes = coefficients.shape
    for bits in np.ndindex(*(2 for _ in sizes)):
        if coefficients[tuple(-1 if bit else 0 for bit in bits)] >= 0:
            continue
        if any(bit and upper is None and ends[1] == 1 for bit, ends, (_, upper) in zip(bits, place, box, strict=True)):
            continue
        return tuple(_back(ends[bit], *side) for bit, ends, side in zip(bits, place, box, strict=True))
    return None


def _back(t: Fraction, lower: int | Fraction, upper: int | Fraction | None) -> Fraction:
    return Fraction(lower) + (t / (1 - t) if upper is None else (Fraction(upper) - Fraction(lower)) * t)
