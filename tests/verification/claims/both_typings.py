"""The two typings of one formula at one point: in balls, and in the second back-end's intervals."""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction as Q
from types import SimpleNamespace
from typing import Any

import flint

from odernn.bounds.numbers import BALLS
from verification.cases.inequality import Inequality
from verification.certify.second.intervals import iv, number
from verification.claim import Case

Point = dict[str, str]
"""Parameters by name, as witnesses have them: numbers with spaces between."""


def balls_at(point: Point, lists: Collection[str] = ()) -> SimpleNamespace:
    return _spaced(point, lists, lambda word: BALLS.exact(Q(word)))


def intervals_at(point: Point, lists: Collection[str] = ()) -> SimpleNamespace:
    return _spaced(point, lists, number)


def _spaced(point: Point, lists: Collection[str], make: Callable[[str], Any]) -> SimpleNamespace:
    values = {name: [make(word) for word in text.split()] for name, text in point.items()}
    return SimpleNamespace(texts=point, **{name: v if name in lists else v[0] for name, v in values.items()})


def in_both(
    balls: Callable[[Any], Any], intervals: Callable[[Any], Any], point: Point, lists: Collection[str] = ()
) -> list[list[float]]:
    """What two functions of the parameters give, in 256 bits: a number or several each."""
    with iv.workprec(256), flint.ctx.workprec(256):
        pair = balls(balls_at(point, lists)), intervals(intervals_at(point, lists))
        first, again = (each if isinstance(each, tuple) else (each,) for each in pair)
        return [[float(x.mid()) for x in first], [float(iv.mpf(x).mid) for x in again]]


def both_sides(inequality: Inequality, point: Point) -> list[tuple[Any, Any]]:
    """(left, right), each in balls and in intervals, as floats."""
    return list(zip(*in_both(inequality.balls, inequality.intervals, point, inequality.lists), strict=True))


def inequality_of(case: Case) -> Inequality | None:
    """That of the case's check, behind its declaration and in whatever words; None if there is none."""
    check = getattr(case.check, "check", case.check)
    cells = [cell.cell_contents for cell in getattr(check, "__closure__", None) or ()]
    held = [part for part in (getattr(check, "__self__", None), *cells) if isinstance(part, Inequality)]
    assert len(held) <= 1
    return held[0] if held else None
