"""Which method of the catalogue a table of numbers is nearest to, and coefficient by coefficient by how much it is off.

    distance((A, b), (A', b')) = min over renumberings π of the stages of
                                 max(max |a_ij − a'_π(i)π(j)|, max |b_i − b'_π(i)|)

the largest difference of a coefficient, of methods with the same number of stages. The order of the stages is no part
of a method. Up to ``MOST_RENUMBERED`` stages all renumberings are tried; of larger tables only the given one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import flint
from flint import arb

from odernn import tableaus
from odernn.exact.algebraic import Algebraic, enclosure
from odernn.tableaus import families
from odernn.tableaus.families import PolynomialPair, PolynomialTableau
from odernn.tableaus.methods import Method, in_stages
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau

__all__ = ["Neighbour", "distance", "nearest_methods"]

BITS = 192
"""Working precision of the differences: 10⁻⁴⁰ and less is lost to it."""
MOST_RENUMBERED = 6
"""Up to so many stages, 720 renumberings, all are tried."""


@dataclass(frozen=True)
class Neighbour:
    """A method of the catalogue and the differences to it, given − catalogue, as balls; an exact 0 has radius 0.

    renumbering   stage i (from 0) of the given table is compared with stage ``renumbering[i]`` of the method
    A, b          the differences, of a pair those of both halves, position first, one below the other
    """

    name: str
    renumbering: tuple[int, ...]
    A: tuple[tuple[Any, ...], ...]
    b: tuple[Any, ...]

    @property
    def distance(self) -> Any:
        """The largest absolute difference, as a ball."""
        return _largest([*itertools.chain(*self.A), *self.b])

    @property
    def is_equal(self) -> bool:
        """Whether every coefficient is exactly that of the method."""
        return all(x == 0 for x in (*itertools.chain(*self.A), *self.b))  # a ball with a radius equals no number


def distance(method: Method, other: Method) -> Neighbour:
    """How far a method is from another with the same number of stages, and where.

    Raises ValueError for different numbers of stages or a pair and a single method.
    """
    first, second = _halves(method), _halves(other)
    if len(first) != len(second) or len(first[0][1]) != len(second[0][1]):
        raise ValueError(
            f'"{method.name}" and "{other.name}" cannot be compared: they differ in the number of stages, or one of '
            "them is a pair."
        )
    s = len(first[0][1])
    renumberings = itertools.permutations(range(s)) if s <= MOST_RENUMBERED else iter([tuple(range(s))])
    one, two = _as_floats(first), _as_floats(second)
    best = min(renumberings, key=lambda p: (_rough(one, two, p), p))
    with flint.ctx.workprec(BITS):
        A = tuple(
            tuple(_difference(half[0][i][j], rival[0][best[i]][best[j]]) for j in range(s))
            for half, rival in zip(first, second, strict=True)
            for i in range(s)
        )
        b = tuple(
            _difference(half[1][i], rival[1][best[i]])
            for half, rival in zip(first, second, strict=True)
            for i in range(s)
        )
    return Neighbour(str(other.name), best, A, b)


def nearest_methods(method: Method, count: int = 1) -> tuple[Neighbour, ...]:
    """The methods of the catalogue and of the families with as many stages, the nearest first, at most ``count``.

    Empty if the catalogue has none with so many stages. Of two at one distance the first by name comes first.
    """
    neighbours = [distance(method, other) for other in _rivals(in_stages(method))]
    neighbours.sort(key=lambda neighbour: (float(neighbour.distance.mid()), neighbour.name))
    return tuple(neighbours[:count])


def _rivals(method: Any) -> Iterator[Method]:
    is_pair = isinstance(method, PartitionedTableau | PolynomialPair)
    entries = tableaus.names()
    for name in entries:
        entry = tableaus.get(name)
        if entry.stages == method.stages and isinstance(in_stages(entry), PartitionedTableau) == is_pair:
            yield entry
    for family in ("lobatto iiia-iiib",) if is_pair else families.FAMILIES:
        name = f"{family} {method.stages}"
        if name in entries:
            continue
        try:
            yield tableaus.get(name)
        except ValueError:  # the family begins with more stages
            continue


def _halves(method: Method) -> list[tuple[Sequence[Sequence[Any]], Sequence[Any]]]:
    """(A, b), of a pair both; exact scalars, or balls where the coefficients are not written out."""
    table = in_stages(method)
    parts = (table.position, table.momentum) if isinstance(table, PartitionedTableau | PolynomialPair) else (table,)
    halves: list[tuple[Sequence[Sequence[Any]], Sequence[Any]]] = []
    for part in parts:
        if isinstance(part, PolynomialTableau):
            digits = part.enclosures(BITS)
            halves.append((digits.A, digits.b))
        elif isinstance(part, ButcherTableau):
            halves.append((part.A, part.b))
        else:
            raise TypeError(f"{method!r} of type {type(method).__name__} is no tableau.")
    return halves


def _rough(first: Sequence[Any], second: Sequence[Any], p: Sequence[int]) -> float:
    """The distance under one renumbering, in double precision: only to choose among renumberings."""
    largest = 0.0
    for (A, b), (A2, b2) in zip(first, second, strict=True):
        for i, k in enumerate(p):
            largest = max(largest, abs(b[i] - b2[k]), *(abs(A[i][j] - A2[k][p[j]]) for j in range(len(p))))
    return largest


def _as_floats(halves: Sequence[Any]) -> list[tuple[list[list[float]], list[float]]]:
    def as_float(x: Any) -> float:
        return float(_ball(x).mid())

    return [([[as_float(a) for a in row] for row in A], [as_float(x) for x in b]) for A, b in halves]


def _difference(x: Any, y: Any) -> Any:
    if isinstance(x, arb) or isinstance(y, arb):
        return _ball(x) - _ball(y)
    if x == y:
        return arb(0)
    return _ball(x) - _ball(y)


def _ball(x: Any) -> Any:
    return x if isinstance(x, arb) else enclosure(x, BITS) if isinstance(x, Algebraic) else arb(x)


def _largest(balls: Sequence[Any]) -> Any:
    largest = arb(0)
    with flint.ctx.workprec(BITS):
        for ball in balls:
            largest = largest.max(abs(ball))
    return largest
