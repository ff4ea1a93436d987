"""Cases that are false at few of their places only: how often does a run find one?

    the check of a case, as it is,  but  "violated", by both back-ends,  where the parameters lie in a box of volume v

A box restricts one to three numbers of the declaration, entries of lists and matrices too, each in linear or in
logarithmic scale, v being its share of the range in those scales (``verification.spread``). What is no number (a graph,
a walk) has no scale: there a *lot* of the places, by a hash of their text, is false.
"""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from verification.cases.related import FormatNumber, Small
from verification.claim import Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.kinds import Integer, Kind, Listed, Matrix, Rational, Rows, Square, Values
from verification.parameters import Declaration, Guarded
from verification.spread import Scale, Spread, scales

SAMPLE = 20
"""Draws from which it is seen which entries are always there."""
REFERENCE = 2000
"""Places among which a region must have one at which the premises hold: a box outside of the rules is no falsehood."""
MOST_ASKED = 20
MOST_ENTRIES = 4
"""Of a list, the first ones, any of which a box may restrict."""
MOST_SIDES = 3


class PlaceRegion(Protocol):
    """Where a planted falsehood is false."""

    @property
    def volume(self) -> float:
        """Its share of all places."""

    def holds(self, values: Values, texts: Parameters) -> bool:
        """Whether a place is in it."""


@dataclass(frozen=True)
class Axis:
    """A number of a declaration: a parameter, or the entry ``index`` of one; between two limits, or without."""

    name: str
    index: int | None
    low: float | None
    high: float | None
    is_whole: bool


@dataclass(frozen=True)
class PlaceSide:
    """low ≤ number < high."""

    axis: Axis
    low: float
    high: float

    def holds(self, values: Values) -> bool:
        value = values.get(self.axis.name)
        if self.axis.index is not None:
            entries = _flat(value)
            value = entries[self.axis.index] if self.axis.index < len(entries) else None
        return value is not None and self.low <= value < self.high


@dataclass(frozen=True)
class PlaceBox:
    """Some numbers restricted, and the share of the volume that is left."""

    sides: tuple[PlaceSide, ...]
    volume: float

    def holds(self, values: Values, _: Parameters) -> bool:
        return all(side.holds(values) for side in self.sides)


@dataclass(frozen=True)
class Lot:
    """That share of the texts of places, whichever a hash says."""

    salt: int
    volume: float

    def holds(self, _: Values, texts: Parameters) -> bool:
        return zlib.crc32(f"{self.salt} {sorted(texts.items())}".encode()) < self.volume * 2**32


# --- the numbers of a declaration


def _flat(value: Any) -> list[Any]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [entry for part in value for entry in _flat(part)]
    return [value]


def _limits(kind: Kind, drawn: Sequence[Values]) -> tuple[float | None, float | None, bool] | None:
    """Least and most of the numbers of a kind, and whether they are whole; None if it has no scale. How much work
    there is (``Small``) is no such number: what is drawn is small on purpose.
    """
    match kind:
        case Small():
            return None
        case Rational():
            ends = (kind.least if kind.above is None else kind.above, kind.most if kind.below is None else kind.below)
            low, high = (None if end is None else float(end) for end in ends)
            return low, high, False
        case FormatNumber():
            return float(kind.ends[0]), float(kind.ends[1]), False
        case Integer():
            return float(kind.least), float(min(kind.limit(values) for values in drawn)), True
    return None


def axes(declaration: Declaration, rng: random.Random) -> tuple[Axis, ...]:
    """The numbers that are there at every place and have a scale, and more than one value."""
    drawn = [declaration.read(declaration.draw(rng)) for _ in range(SAMPLE)]
    return tuple(axis for axis in _all_axes(declaration, drawn) if axis.low is None or axis.low != axis.high)


def _all_axes(declaration: Declaration, drawn: Sequence[Values]) -> Iterator[Axis]:
    for parameter in declaration.parameters:
        if not all(parameter.name in values for values in drawn):
            continue
        kind = parameter.kind
        if not isinstance(kind, Listed | Matrix | Square | Rows):
            if (limits := _limits(kind, drawn)) is not None:
                yield Axis(parameter.name, None, *limits)
            continue
        rows = [_flat(values[parameter.name]) for values in drawn]
        for index in range(min(MOST_ENTRIES, min(map(len, rows)))):
            differ = len({str(row[index]) for row in rows}) > 1  # the diagonal of a skew matrix does not
            if differ and (limits := _limits(kind.of, drawn)) is not None:
                yield Axis(parameter.name, index, *limits)


# --- regions


def drawn_place_region(declaration: Declaration, rng: random.Random, volume: float) -> PlaceRegion:
    """A box of that volume somewhere, its sides equal parts of their ranges; a lot if nothing has a scale.

    Where whole numbers are restricted, to one of them at least, the box is larger if nothing else can make it smaller.
    """
    known = axes(declaration, rng)
    if not known:
        return Lot(rng.randrange(2**32), volume)
    chosen = rng.sample(known, rng.randint(1, min(MOST_SIDES, len(known))))
    sides, rest = [], volume
    for number, axis in enumerate(sorted(chosen, key=lambda axis: not axis.is_whole)):
        part = min(1.0, rest) ** (1 / (len(chosen) - number))
        side, share = _whole_side(axis, rng, part) if axis.is_whole else _side(axis, rng, part)
        sides.append(side)
        rest /= share
    return PlaceBox(tuple(sides), volume / rest)


def _side(axis: Axis, rng: random.Random, part: float) -> tuple[PlaceSide, float]:
    scale: Scale = rng.choice(scales(axis.low, axis.high))
    start = rng.uniform(0, 1 - part)
    return PlaceSide(axis, scale.at(start), scale.at(start + part)), part


def _whole_side(axis: Axis, rng: random.Random, part: float) -> tuple[PlaceSide, float]:
    """From the whole number at one share of the scale to the one at another, and the part that these have."""
    assert axis.low is not None and axis.high is not None
    low, count = int(axis.low), int(axis.high - axis.low) + 1
    is_log, start = rng.random() < 0.5, rng.uniform(0, 1 - part)

    def place(share: float) -> int:
        return int((count + 1) ** share) - 1 if is_log else int(count * share)

    first = min(place(start), count - 1)
    last = max(first + 1, min(place(start + part), count))
    share = math.log((last + 1) / (first + 1), count + 1) if is_log else (last - first) / count
    return PlaceSide(axis, low + first, low + last), share


def places_of(declaration: Declaration, seed: str) -> list[tuple[Values, Parameters]]:
    """``REFERENCE`` places that no search sees, with their texts."""
    source = Spread(f"reference {seed}", REFERENCE)
    texts = [declaration.draw(source) for _ in range(REFERENCE)]
    return [(declaration.read(text), text) for text in texts]


def is_of_the_case(case: Case, region: PlaceRegion, places: Sequence[tuple[Values, Parameters]]) -> bool:
    """Whether the premises of the case hold at one of the places in the region; asked at ``MOST_ASKED`` at most."""
    assert case.check is not None
    inside = [texts for values, texts in places if region.holds(values, texts)]
    return any(all(premise.holds for premise in case.check(texts).premises) for texts in inside[:MOST_ASKED])


# --- the planted case


def planted_in(case: Case, region: PlaceRegion) -> Case:
    """The case, false in the region: wherever its premises hold both back-ends say "violated" there. It asks nothing:
    what is found is found at places that are spread over the declaration, or drawn.
    """
    guarded = case.check
    assert isinstance(guarded, Guarded)
    declaration = guarded.declaration

    def is_false(texts: Parameters) -> bool:
        return region.holds(declaration.read(texts), texts)

    def check(texts: Mapping[str, str]) -> Check:
        said: Check = guarded.check(dict(texts))
        if not is_false(texts):
            return said
        planted = tuple(Opinion(name, True, "in the region") for name in ("planted", "planted again"))
        return replace(said, opinions=planted, apart="", limit="planted" if case.reading == "limit" else "")

    def ask(_: Budget, __: int) -> Attempt:
        return Attempt("nothing of its own", 1, control=1.0)

    def look(texts: Mapping[str, str]) -> bool | None:
        return True if is_false(texts) else guarded.may_fail(texts)

    return replace(case, ask=ask, check=declaration.guards(check, look))
