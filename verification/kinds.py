"""Kinds of parameters: numbers in a range, words, lists, matrices with a structure. Each reads, writes and draws.

p/q with p, q of bounded length  ·  n ∈ {1, …, 9}  ·  Aᵀ = −A  ·  a list as long as another parameter says
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any, Protocol, TypeAlias, runtime_checkable

from verification.spread import Spread, spread_number, spread_whole

Values: TypeAlias = dict[str, Any]
"""What has been read so far, by name: a Fraction, an int, a word, a tuple of numbers, or a tuple of rows."""

Count: TypeAlias = int | str | tuple[int, int] | Callable[[Values], int]
"""How many: so many, as the parameter of that name says, from … to …, or worked out from what was read before."""

MOST_DIGITS = 1_400
"""Of a numerator or a denominator: a float64 has 1,075 bits, a product of a few of them fits."""
MOST_NUMBERS = 4_096
"""In one list or matrix: 64 × 64."""

_IS_NUMBER = re.compile(r"-?[0-9]+(?:[./][0-9]+)?")
_NUMBER = re.compile(rf"(-?[0-9]{{1,{MOST_DIGITS}}})(?:/([0-9]{{1,{MOST_DIGITS}}}))?")


class NotOfThisKindError(Exception):
    """Raised by ``read`` of a kind with the reason; the declaration adds the name and the value."""


class Kind(Protocol):
    """What a parameter is. ``str`` of it completes the sentence "it is …"."""

    def read(self, text: str, values: Values) -> Any:
        """The value; ``NotOfThisKindError`` if the text has none."""

    def write(self, value: Any) -> str:
        """The text of a value: what ``read`` reads back."""

    def draw(self, rng: random.Random, values: Values) -> Any:
        """Some value of the kind, small and simple ones, extreme ones and those between."""


@runtime_checkable
class Arranged(Protocol):
    """A kind whose values are laid out for readers otherwise than they are written in a file: lists and matrices."""

    def show(self, value: Any) -> str:
        """The value as nobody can misread it."""


def laid_out(kind: Kind, value: Any) -> str:
    """The value for readers: a list in parentheses, a matrix in brackets with ";" between its rows, all else as in a
    file.

    >>> laid_out(Matrix(2, 2), ((Fraction(1), Fraction(1, 2)), (Fraction(0), Fraction(-1))))
    '[1 1/2; 0 -1]'
    >>> laid_out(Listed(Rational(), 6), (Fraction(2), *[Fraction(1)] * 5))
    '(2, 5 × 1)'
    """
    if isinstance(kind, Arranged):
        return kind.show(value)
    text = kind.write(value)
    words = text.split(" ")
    return f"({', '.join(_alike(words))})" if len(words) > 1 and all(map(_IS_NUMBER.fullmatch, words)) else text


MOST_ALIKE = 3
"""Entries of a list that are the same and stand side by side: more than so many are counted, "85 × 1"."""


def _alike(entries: Sequence[str]) -> list[str]:
    runs = [(entry, len(list(run))) for entry, run in groupby(entries)]
    return [text for entry, n in runs for text in ([f"{n} × {_enclosed(entry)}"] if n > MOST_ALIKE else [entry] * n)]


def _enclosed(row: str) -> str:
    return f"({row})" if " " in row and row[0] != "[" else row


Layout: TypeAlias = Callable[[Any, Values], str]
"""How a value is laid out, given those read before it: where the kind of a flat list does not know its rows."""


def in_rows(width: Count) -> Layout:
    """A matrix of so many columns: "[1 0; 0 -1]"."""

    def layout(value: Any, values: Values) -> str:
        return _rows_of_texts(_flat(value), _count(width, values)[1])

    return layout


def in_blocks(size: Count) -> Layout:
    """Square matrices of so many rows, in the order in which they stand: "([1 0; 0 1], [0 1; -1 0])"."""

    def layout(value: Any, values: Values) -> str:
        texts, rows = _flat(value), _count(size, values)[1]
        blocks = [texts[start : start + rows * rows] for start in range(0, len(texts), rows * rows)]
        return f"({', '.join(_alike([_rows_of_texts(block, rows) for block in blocks]))})"

    return layout


def _flat(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split()
    return [text for entry in value for text in _flat(entry)] if isinstance(value, Sequence) else [str(value)]


def _rows_of_texts(texts: Sequence[str], width: int) -> str:
    rows = [" ".join(texts[start : start + width]) for start in range(0, len(texts), width)]
    return f"[{'; '.join(_alike(rows))}]"


def _list_of(kind: Kind, value: Sequence[Any]) -> str:
    return f"({', '.join(_alike([laid_out(kind, entry) for entry in value]))})"


def _matrix_of(kind: Kind, value: Sequence[Sequence[Any]]) -> str:
    rows = [" ".join(laid_out(kind, entry) for entry in row) for row in value]
    return f"[{'; '.join(_alike(rows))}]"


def _fraction(text: str) -> Fraction:
    """An integer or p/q in ASCII digits, of at most ``MOST_DIGITS``; no signs but "-", no spaces, no floats."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise NotOfThisKindError(f"numbers are written p or p/q with at most {MOST_DIGITS} digits")
    if match[2] is not None and not int(match[2]):
        raise NotOfThisKindError("a denominator is 0")
    return Fraction(int(match[1]), int(match[2] or 1))


# --- single numbers and words


@dataclass(frozen=True)
class Rational:
    """A rational number: > ``above``, ≥ ``least``, ≤ ``most``, < ``below``, where they are given."""

    above: Fraction | int | None = None
    least: Fraction | int | None = None
    most: Fraction | int | None = None
    below: Fraction | int | None = None
    nonzero: bool = False

    def __str__(self) -> str:
        sides = [(">", self.above), ("≥", self.least), ("≤", self.most), ("<", self.below)]
        limits = [f"{sign} {limit}" for sign, limit in sides if limit is not None]
        limits += ["≠ 0"] * self.nonzero
        return " ".join(["a rational number", " and ".join(limits)]).strip()

    def read(self, text: str, _: Values) -> Fraction:
        value = _fraction(text)
        if not self.admits(value):
            raise NotOfThisKindError("")
        return value

    def admits(self, value: Fraction) -> bool:
        return (
            (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
            and not (self.nonzero and value == 0)
        )

    def write(self, value: Fraction) -> str:
        return str(value)

    def draw(self, rng: random.Random, _: Values) -> Fraction:
        """Uniform between the limits, near one of them, or, where there is none, of any order of magnitude."""
        low = self.least if self.above is None else self.above
        high = self.most if self.below is None else self.below
        if isinstance(rng, Spread) and (spread := spread_number(rng, low, high, self.admits)) is not None:
            return spread
        for _attempt in range(64):
            value = self._drawn(rng, low, high)
            if self.admits(value):
                return value
        raise ValueError(f"nothing was drawn that is {self}")

    @staticmethod
    def _drawn(rng: random.Random, low: Fraction | int | None, high: Fraction | int | None) -> Fraction:
        part = Fraction(rng.randint(0, 64), 64) if rng.random() < 0.7 else Fraction(1, 10 ** rng.randint(1, 12))
        if low is not None and high is not None:
            return low + (high - low) * (part if rng.random() < 0.8 else 1 - part)
        size = part * Fraction(10) ** rng.choice((0, 0, 0, 1, 1, 2, 4, -3))
        if low is not None:
            return low + size
        if high is not None:
            return high - size
        return size if rng.random() < 0.5 else -size


@dataclass(frozen=True)
class Integer:
    """A whole number from ``least`` to ``most``; both are limits of the work as well as of the meaning. ``most`` may
    follow from what was read before.
    """

    least: int
    most: int | Callable[[Values], int]

    def __str__(self) -> str:
        limit = "what the others allow" if callable(self.most) else self.most
        return f"a whole number from {self.least} to {limit}"

    def limit(self, values: Values) -> int:
        return self.most(values) if callable(self.most) else self.most

    def read(self, text: str, values: Values) -> int:
        if re.fullmatch(r"-?[0-9]{1,18}", text) is None or not self.least <= int(text) <= self.limit(values):
            raise NotOfThisKindError("")
        return int(text)

    def write(self, value: int) -> str:
        return str(value)

    def draw(self, rng: random.Random, values: Values) -> int:
        most = self.limit(values)
        if isinstance(rng, Spread):
            return spread_whole(rng, self.least, most)
        near = min(most, self.least + rng.choice((0, 1, 2, 3, 5, 10)))
        between = self.least + int((most - self.least + 1) ** rng.random()) - 1  # of any order of magnitude
        return rng.choice((near, near, near, near, near, near, between, between, between, most))


@dataclass(frozen=True)
class Choice:
    """One of the words: the name of a weight, of a row, of a format."""

    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"one of {', '.join(self.words)}"

    def read(self, text: str, _: Values) -> str:
        if text not in self.words:
            raise NotOfThisKindError("")
        return text

    def write(self, value: str) -> str:
        return value

    def draw(self, rng: random.Random, _: Values) -> str:
        return rng.choice(self.words)


@dataclass(frozen=True)
class Constant:
    """What the case says once and for all: a file may repeat it, and nothing else."""

    value: Fraction | int | str

    def __str__(self) -> str:
        return f"{self.value} in this case"

    def read(self, text: str, _: Values) -> Fraction | int | str:
        same = text == self.value if isinstance(self.value, str) else _fraction(text) == self.value
        if not same:
            raise NotOfThisKindError("")
        return self.value

    def write(self, value: Fraction | int | str) -> str:
        return str(value)

    def draw(self, _rng: random.Random, _: Values) -> Fraction | int | str:
        return self.value


# --- several numbers


def _count(count: Count, values: Values) -> tuple[int, int]:
    """The least and the most of a count, from what has been read."""
    if isinstance(count, tuple):
        return count
    exact = count(values) if callable(count) else values[count] if isinstance(count, str) else count
    return int(exact), int(exact)


def _words(text: str, least: int, most: int) -> list[str]:
    words = text.split(" ") if text else []
    if not least <= len(words) <= min(most, MOST_NUMBERS):
        wanted = str(least) if least == most else f"{least} to {most}"
        raise NotOfThisKindError(f"it has {len(words)} entries instead of {wanted}")
    return words


@dataclass(frozen=True)
class Listed:
    """Numbers or words of one kind, separated by single spaces."""

    of: Kind
    count: Count

    def __str__(self) -> str:
        return f"a list; each entry is {self.of}"

    def read(self, text: str, values: Values) -> tuple[Any, ...]:
        return tuple(self.of.read(word, values) for word in _words(text, *_count(self.count, values)))

    def write(self, value: Sequence[Any]) -> str:
        return " ".join(map(self.of.write, value))

    def show(self, value: Sequence[Any]) -> str:
        return _list_of(self.of, value)

    def draw(self, rng: random.Random, values: Values) -> tuple[Any, ...]:
        least, most = _count(self.count, values)
        return tuple(self.of.draw(rng, values) for _ in range(rng.randint(least, min(most, least + 8))))


@dataclass(frozen=True)
class Structure:
    """What a matrix of rational numbers has beside its size: whether it holds, and a matrix made to have it."""

    text: str
    holds: Callable[[Sequence[Sequence[Fraction]]], bool]
    impose: Callable[[list[list[Fraction]]], list[list[Fraction]]]


ANY = Structure("", lambda rows: True, lambda rows: rows)
SKEW = Structure(
    "skew: Aᵀ = −A",
    lambda rows: all(rows[i][j] == -rows[j][i] for i in range(len(rows)) for j in range(i + 1)),
    lambda rows: [
        [rows[i][j] if i < j else -rows[j][i] if j < i else Fraction(0) for j in range(len(rows))]
        for i in range(len(rows))
    ],
)
SYMMETRIC = Structure(
    "symmetric: Aᵀ = A",
    lambda rows: all(rows[i][j] == rows[j][i] for i in range(len(rows)) for j in range(i)),
    lambda rows: [[rows[min(i, j)][max(i, j)] for j in range(len(rows))] for i in range(len(rows))],
)
STRICTLY_LOWER = Structure(
    "strictly lower triangular: the method is explicit",
    lambda rows: all(rows[i][j] == 0 for i in range(len(rows)) for j in range(i, len(rows))),
    lambda rows: [[entry if j < i else Fraction(0) for j, entry in enumerate(row)] for i, row in enumerate(rows)],
)


@dataclass(frozen=True)
class Matrix:
    """Rational numbers row by row, of so many rows and columns, with a structure."""

    rows: Count
    columns: Count
    of: Kind = Rational()
    structure: Structure = ANY

    def __str__(self) -> str:
        structure = f", {self.structure.text}" if self.structure.text else ""
        return f"a matrix, row by row{structure}; each entry is {self.of}"

    def _shape(self, values: Values) -> tuple[int, int]:
        return _count(self.rows, values)[1], _count(self.columns, values)[1]

    def read(self, text: str, values: Values) -> tuple[tuple[Any, ...], ...]:
        rows, columns = self._shape(values)
        entries = [self.of.read(word, values) for word in _words(text, rows * columns, rows * columns)]
        matrix = tuple(tuple(entries[start : start + columns]) for start in range(0, rows * columns, columns))
        if not self.structure.holds(matrix):
            raise NotOfThisKindError(f"it is not {self.structure.text}")
        return matrix

    def write(self, value: Sequence[Sequence[Any]]) -> str:
        return " ".join(self.of.write(entry) for row in value for entry in row)

    def show(self, value: Sequence[Sequence[Any]]) -> str:
        return _matrix_of(self.of, value)

    def draw(self, rng: random.Random, values: Values) -> tuple[tuple[Any, ...], ...]:
        rows, columns = self._shape(values)
        drawn = [[self.of.draw(rng, values) for _ in range(columns)] for _ in range(rows)]
        return tuple(map(tuple, self.structure.impose(drawn)))


@dataclass(frozen=True)
class Square:
    """A square matrix of rational numbers row by row, whose length says how many rows it has: at most ``most``."""

    most: int
    least: int = 1
    of: Kind = Rational()
    structure: Structure = ANY

    def __str__(self) -> str:
        structure = f", {self.structure.text}" if self.structure.text else ""
        return f"a square matrix of {self.least} to {self.most} rows, row by row{structure}; each entry is {self.of}"

    def read(self, text: str, values: Values) -> tuple[tuple[Any, ...], ...]:
        length = text.count(" ") + 1
        rows = math.isqrt(length)
        if rows * rows != length or not self.least <= rows <= self.most:
            raise NotOfThisKindError(f"it has {length} entries")
        return Matrix(rows, rows, self.of, self.structure).read(text, values)

    def write(self, value: Sequence[Sequence[Any]]) -> str:
        return " ".join(self.of.write(entry) for row in value for entry in row)

    def show(self, value: Sequence[Sequence[Any]]) -> str:
        return _matrix_of(self.of, value)

    def draw(self, rng: random.Random, values: Values) -> tuple[tuple[Any, ...], ...]:
        rows = rng.randint(self.least, self.most)
        return Matrix(rows, rows, self.of, self.structure).draw(rng, values)


@dataclass(frozen=True)
class Rows:
    """Numbers row after row, of one ``width`` and as many rows as one of ``counts``: one, or one for every step."""

    of: Kind
    width: Count
    counts: Callable[[Values], Sequence[int]]
    most: int = MOST_NUMBERS

    def __str__(self) -> str:
        return f"a list of rows; each entry is {self.of}"

    def read(self, text: str, values: Values) -> tuple[tuple[Any, ...], ...]:
        width, length = _count(self.width, values)[1], text.count(" ") + 1
        rows, rest = divmod(length, width)
        if rest or length > self.most or rows not in self.counts(values):
            raise NotOfThisKindError(f"{length} entries are not so many rows of {width} as there may be")
        entries = [self.of.read(word, values) for word in text.split(" ")]
        return tuple(tuple(entries[start : start + width]) for start in range(0, length, width))

    def write(self, value: Sequence[Sequence[Any]]) -> str:
        return " ".join(self.of.write(entry) for row in value for entry in row)

    def show(self, value: Sequence[Sequence[Any]]) -> str:
        return _matrix_of(self.of, value)

    def draw(self, rng: random.Random, values: Values) -> tuple[tuple[Any, ...], ...]:
        """A few rows, as a rule."""
        width = _count(self.width, values)[1]
        counts = list(itertools.islice((count for count in self.counts(values) if count * width <= self.most), 3))
        rows = counts[min(rng.choice((0, 0, 1, 2)), len(counts) - 1)]
        return tuple(tuple(self.of.draw(rng, values) for _ in range(width)) for _ in range(rows))


SIGN = Choice(("1", "-1"))
"""An entry of D = diag(±1)."""
