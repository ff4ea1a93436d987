"""Kinds that depend on parameters read before (A = B/2, gates that permute), and numbers short enough to work with."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from verification.certify.float_replay import FORMATS, rounded
from verification.kinds import Integer, Kind, NotOfThisKindError, Rational, Values, laid_out
from verification.parameters import Rule
from verification.spread import Spread, spread_number


class Small(Integer):
    """A whole number that says how much work there is: those that are drawn are small, whatever the most is."""

    def draw(self, rng: random.Random, values: Values) -> int:
        return min(self.limit(values), self.least + rng.choice((0, 0, 1, 2, 4)))


@dataclass(frozen=True)
class Related:
    """What ``kind`` is and ``text`` says: the values that ``impose``, given those read before, leaves as they are."""

    kind: Kind
    text: str
    impose: Callable[[Any, Values], Any]

    def __str__(self) -> str:
        return f"{self.kind}; {self.text}"

    def read(self, text: str, values: Values) -> Any:
        value = self.kind.read(text, values)
        if self.impose(value, values) != value:
            raise NotOfThisKindError(f"it is not so that {self.text}")
        return value

    def write(self, value: Any) -> str:
        return self.kind.write(value)

    def show(self, value: Any) -> str:
        return laid_out(self.kind, value)

    def draw(self, rng: random.Random, values: Values) -> Any:
        return self.impose(self.kind.draw(rng, values), values)


@dataclass(frozen=True)
class FormatNumber:
    """A number of a format of floats, of modulus at most 2^``power``; ≥ ``least``, ≤ ``most`` if they are given."""

    name: str
    power: int
    least: Fraction | int | None = None
    most: Fraction | int | None = None

    def __str__(self) -> str:
        limits = [f"{sign} {limit}" for sign, limit in (("≥", self.least), ("≤", self.most)) if limit is not None]
        return f"a number of {self.name} of modulus at most 2^{self.power}" + "".join(f", {limit}" for limit in limits)

    @property
    def ends(self) -> tuple[Fraction | int, Fraction | int]:
        low, high = -(2**self.power), 2**self.power
        return low if self.least is None else self.least, high if self.most is None else self.most

    def read(self, text: str, values: Values) -> Fraction:
        low, high = self.ends
        value = Rational(least=low, most=high).read(text, values)
        if rounded(value, FORMATS[self.name]) != value:
            raise NotOfThisKindError("")
        return value

    def write(self, value: Fraction) -> str:
        return str(value)

    def draw(self, rng: random.Random, values: Values) -> Fraction:
        low, high = self.ends
        if isinstance(rng, Spread) and (number := spread_number(rng, low, high, self._rounds_within)) is not None:
            return rounded(number, FORMATS[self.name])
        if self.least is None and self.most is None:
            size = Rational().draw(rng, values) * 2 ** rng.choice((0, 0, self.power))
            return rounded(min(max(size, Fraction(low)), Fraction(high)), FORMATS[self.name])
        size = Rational(least=low, most=high).draw(rng, values)
        return min(max(rounded(size, FORMATS[self.name]), Fraction(low)), Fraction(high))

    def _rounds_within(self, value: Fraction) -> bool:
        low, high = self.ends
        return low <= rounded(value, FORMATS[self.name]) <= high


@dataclass(frozen=True)
class OneOf:
    """One of the words that the case knows, or that follow from what was read before."""

    words: Callable[[Values], Sequence[str]]

    def __str__(self) -> str:
        return "a word that this case knows"

    def read(self, text: str, values: Values) -> str:
        known = self.words(values)
        if text not in known:
            some = "; ".join(known[:3]) + "; …" * (len(known) > 3)
            raise NotOfThisKindError(some)
        return text

    def write(self, value: str) -> str:
        return value

    def draw(self, rng: random.Random, values: Values) -> str:
        return rng.choice(self.words(values))


def short(letters: int, *names: str) -> Rule:
    """Numbers of so many letters together, for a check that multiplies them many times over."""
    return Rule(
        f"{', '.join(names)} have at most {letters} letters together",
        lambda values: sum(_letters(values[name]) for name in names if name in values) <= letters,
    )


def _letters(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(map(_letters, value))
    if isinstance(value, Fraction):  # log₁₀ 2 < 1/3
        return (value.numerator.bit_length() + value.denominator.bit_length()) // 3 + 1
    return len(str(value))
