"""What statements about scaled Cayley networks are asked at: kinds of parameters beside those of ``parameters``.

    W ∈ ℚ^{n×n}, WᵀW = I  ·  W_re + i W_im unitary  ·  D_re + i D_im of modulus 1  ·  q a distribution  ·  D of the row

Whether a matrix is orthogonal or unitary is decided exactly, over the rationals; drawn ones are Cayley transforms.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from flint import fmpq_mat

from verification.kinds import (
    SIGN,
    SKEW,
    SYMMETRIC,
    Count,
    Kind,
    Listed,
    Matrix,
    NotOfThisKindError,
    Rational,
    Square,
    Structure,
    Values,
    laid_out,
)
from verification.measure import cayley_exact as exact
from verification.measure.exact_cayley import cayley, identity
from verification.parameters import Parameter

Rows: TypeAlias = Sequence[Sequence[Fraction]]


def order(name: str) -> Callable[[Values], int]:
    """The number of rows of a matrix that was read before."""
    return lambda values: len(values[name])


def square_like(name: str, **more: Any) -> Matrix:
    """A square matrix of as many rows as that one."""
    return Matrix(order(name), order(name), **more)


# --- orthogonal matrices


def _exactly(rows: Rows) -> fmpq_mat:
    return exact.square([entry for row in rows for entry in row])


def _rows(matrix: fmpq_mat) -> list[list[Fraction]]:
    return [[Fraction(int(x.p), int(x.q)) for x in row] for row in matrix.tolist()]


def _seeded(rows: Rows) -> random.Random:
    """Drawn entries as the seed of a matrix with a structure."""
    return random.Random(" ".join(str(entry) for row in rows for entry in row))


def _has_minus_one(W: fmpq_mat) -> bool:
    return bool((identity(W.nrows()) + W).det() == 0)


ORTHOGONAL = Structure(
    "orthogonal: WᵀW = I",
    lambda rows: exact.is_orthogonal(_exactly(rows)),
    lambda rows: _rows(exact.rational_orthogonal(len(rows), _seeded(rows))),
)
WITHOUT_MINUS_ONE = Structure(
    "orthogonal, WᵀW = I, without the eigenvalue −1",
    lambda rows: exact.is_orthogonal(_exactly(rows)) and not _has_minus_one(_exactly(rows)),
    lambda rows: _rows(cayley(exact.rational_skew(len(rows), _seeded(rows)))),
)

WITH_TRANSFORM = Structure(
    "without the eigenvalue −1",
    lambda rows: not _has_minus_one(_exactly(rows)),
    lambda rows: [[Fraction(0)] * len(rows) for _ in rows] if _has_minus_one(_exactly(rows)) else rows,
)
"""What has a Cayley transform."""


def orthogonal_of(determinant: int) -> Structure:
    """Orthogonal, and of that determinant."""

    def impose(rows: list[list[Fraction]]) -> list[list[Fraction]]:
        first, *others = ORTHOGONAL.impose(rows)
        good = _exactly([first, *others]).det() == determinant
        return [first if good else [-entry for entry in first], *others]

    return Structure(
        f"{ORTHOGONAL.text}, det W = {determinant}",
        lambda rows: ORTHOGONAL.holds(rows) and _exactly(rows).det() == determinant,
        impose,
    )


def orthogonal(name: str, most: int) -> Parameter:
    """An orthogonal matrix of 1 to ``most`` rows."""
    return Parameter(name, Square(most, structure=ORTHOGONAL))


# --- complex numbers, in two parameters


@dataclass(frozen=True)
class RealPart:
    """Drawn together with the ``imaginary`` part, which waits among the values."""

    of: Kind
    imaginary: str
    drawn: Callable[[random.Random, Values], tuple[Any, Any]]

    def __str__(self) -> str:
        return str(self.of)

    def read(self, text: str, values: Values) -> Any:
        return self.of.read(text, values)

    def write(self, value: Any) -> str:
        return self.of.write(value)

    def show(self, value: Any) -> str:
        return laid_out(self.of, value)

    def draw(self, rng: random.Random, values: Values) -> Any:
        real, values[self.imaginary] = self.drawn(rng, values)
        return real


@dataclass(frozen=True)
class ImaginaryPart:
    """``holds``(real part, this): what both have together."""

    of: Kind
    name: str
    real: str
    text: str
    holds: Callable[[Any, Any], bool]

    def __str__(self) -> str:
        return f"{self.of}; with {self.real} it is {self.text}"

    def read(self, text: str, values: Values) -> Any:
        value = self.of.read(text, values)
        if not self.holds(values[self.real], value):
            raise NotOfThisKindError(f"with {self.real} it is not {self.text}")
        return value

    def write(self, value: Any) -> str:
        return self.of.write(value)

    def show(self, value: Any) -> str:
        return laid_out(self.of, value)

    def draw(self, _rng: random.Random, values: Values) -> Any:
        return values[self.name]


def unitary(name: str, most: int) -> tuple[Parameter, Parameter]:
    """X + iY unitary, of 1 to ``most`` rows, as "W_re" and "W_im"."""
    real, imaginary = f"{name}_re", f"{name}_im"

    def drawn(rng: random.Random, _: Values) -> tuple[Rows, Rows]:
        X, Y = exact.parts(exact.rational_unitary(rng.randint(1, most), rng))
        return _rows(X), _rows(Y)

    def holds(X: Rows, Y: Rows) -> bool:
        return exact.is_orthogonal(exact.embedded(_exactly(X), _exactly(Y)))

    return (
        Parameter(real, RealPart(Square(most), imaginary, drawn)),
        Parameter(imaginary, ImaginaryPart(square_like(real), imaginary, real, "unitary", holds)),
    )


def complex_matrices(first: str, *others: str, most: int) -> tuple[Parameter, ...]:
    """Any matrices of one size, 1 to ``most`` rows, each as a real and an imaginary part."""
    size = f"{first}_re"
    names = [f"{name}_{part}" for name in (first, *others) for part in ("re", "im")]
    return Parameter(size, Square(most)), *(Parameter(name, square_like(size)) for name in names[1:])


def skew_hermitian(name: str, most: int, *, like: str = "") -> tuple[Parameter, Parameter]:
    """A* = −A, of 1 to ``most`` rows or as many as another matrix: a skew real and a symmetric imaginary part."""
    real = f"{name}_re"
    size = square_like(like, structure=SKEW) if like else Square(most, structure=SKEW)
    return Parameter(real, size), Parameter(f"{name}_im", square_like(real, structure=SYMMETRIC))


def phases(name: str, count: Callable[[Values], int]) -> tuple[Parameter, Parameter]:
    """Numbers x + iy of modulus 1: ((1 + it)/(1 − it)) when they are drawn."""
    real, imaginary = f"{name}_re", f"{name}_im"

    def drawn(rng: random.Random, values: Values) -> tuple[list[Fraction], list[Fraction]]:
        tangents = [Fraction(rng.randint(-4, 4), rng.randint(1, 4)) for _ in range(count(values))]
        return [(1 - t * t) / (1 + t * t) for t in tangents], [2 * t / (1 + t * t) for t in tangents]

    def holds(xs: Sequence[Fraction], ys: Sequence[Fraction]) -> bool:
        return all(x * x + y * y == 1 for x, y in zip(xs, ys, strict=True))

    numbers = Listed(Rational(), count)
    return (
        Parameter(real, RealPart(numbers, imaginary, drawn)),
        Parameter(imaginary, ImaginaryPart(numbers, imaginary, real, "a list of numbers of modulus 1", holds)),
    )


# --- distributions, steps, floats, rows of tables

ADD_TO_ONE = Structure(
    "probabilities: together 1",
    lambda rows: all(sum(row) == 1 for row in rows),
    lambda rows: [[entry / sum(row) for entry in row] for row in rows],
)
"""Of every row."""


@dataclass(frozen=True)
class Steps:
    """Numbers step by step, each step as many as ``per`` has entries: 1 to ``most`` steps."""

    per: str
    most: int
    of: Kind

    def __str__(self) -> str:
        return f"1 to {self.most} steps of as many numbers as {self.per} has; each entry is {self.of}"

    def read(self, text: str, values: Values) -> tuple[tuple[Any, ...], ...]:
        columns, length = len(values[self.per]), text.count(" ") + 1
        if length % columns or length > self.most * columns:
            raise NotOfThisKindError(f"it has {length} entries, {self.per} has {columns}")
        return Matrix(length // columns, columns, self.of).read(text, values)

    def write(self, value: Sequence[Sequence[Any]]) -> str:
        return " ".join(self.of.write(entry) for row in value for entry in row)

    def show(self, value: Sequence[Sequence[Any]]) -> str:
        return f"[{'; '.join(' '.join(map(self.of.write, row)) for row in value)}]"

    def draw(self, rng: random.Random, values: Values) -> tuple[tuple[Any, ...], ...]:
        return Matrix(rng.randint(1, self.most), len(values[self.per]), self.of).draw(rng, values)


ABOVE = "above the diagonal, row by row"
"""The order of the free entries of a skew matrix."""


def signs(count: Count) -> Listed:
    """The diagonal of D = diag(±1)."""
    return Listed(SIGN, count)


@dataclass(frozen=True)
class RowOfSigns:
    """One of the diagonals that a case is about, as a tuple of its signs."""

    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return f"one of the {len(self.rows)} rows of signs of this case"

    def read(self, text: str, _: Values) -> tuple[str, ...]:
        row = tuple(text.split(" "))
        if row not in self.rows:
            raise NotOfThisKindError("")
        return row

    def write(self, value: tuple[str, ...]) -> str:
        return " ".join(value)

    def draw(self, rng: random.Random, _: Values) -> tuple[str, ...]:
        return rng.choice(self.rows)


def row_of_signs(rows: Iterable[Iterable[int]]) -> RowOfSigns:
    return RowOfSigns(tuple(tuple(map(str, row)) for row in rows))


@dataclass(frozen=True)
class Repeated:
    """What is printed in the row whose number, from 1 on, is the parameter ``row``."""

    row: str
    texts: tuple[str, ...]

    def __str__(self) -> str:
        return f"what is printed in the row that {self.row} names"

    def read(self, text: str, values: Values) -> str:
        wanted = self.texts[int(values[self.row]) - 1]
        if text != wanted:
            raise NotOfThisKindError(f"that is {wanted}")
        return wanted

    def write(self, value: str) -> str:
        return value

    def draw(self, _rng: random.Random, values: Values) -> str:
        return self.texts[int(values[self.row]) - 1]
