"""Exact parameters as text: "3/4", "-2", a list "1 -1/2 3", or a matrix row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from verification.claim import ClaimError, Parameters


def rational(value: Fraction | int | float) -> str:
    """An exact number as text; a float stands for the exact double it is."""
    return str(value if value.__class__ is Fraction else Fraction(value))


def rationals(values: list[Fraction] | tuple[Fraction, ...]) -> str:
    """Several exact numbers as text."""
    return " ".join(map(rational, values))


def brief(value: Fraction) -> str:
    """Six digits, of numbers that no float holds, too."""
    try:
        return f"{float(value):.6g}"
    except OverflowError:
        return f"{Decimal(value.numerator) / Decimal(value.denominator):.5e}"


def number(parameters: Parameters, name: str) -> Fraction:
    """One exact number by name. Raises ClaimError if it is missing or is no number."""
    values = numbers(parameters, name)
    if len(values) != 1:
        raise ClaimError(f'Parameter "{name}" is "{parameters[name]}", but it is one number.')
    return values[0]


def numbers(parameters: Parameters, name: str) -> list[Fraction]:
    """A list of exact numbers by name. Raises ClaimError if it is missing or holds something else."""
    if name not in parameters:
        raise ClaimError(f'Parameter "{name}" is missing. There are: {", ".join(parameters) or "none"}.')
    try:
        return [_exact(word) for word in parameters[name].split()]
    except (ValueError, ZeroDivisionError):
        raise ClaimError(f'Parameter "{name}" is "{parameters[name]}", but it holds exact numbers.') from None


def _exact(word: str) -> Fraction:
    """``Fraction(word)``, without its regular expression where the word is an integer or p/q in plain digits."""
    above, slash, under = word.partition("/")
    if word.isascii() and above.removeprefix("-").isdigit() and under.isdigit() == bool(slash):
        return Fraction(int(above), int(under)) if slash else Fraction(int(above))
    return Fraction(word)


def matrix_of(numbers: Sequence[Fraction], columns: int) -> list[list[Fraction]]:
    """Numbers row by row as a matrix."""
    return [list(numbers[start : start + columns]) for start in range(0, len(numbers), columns)]


def text_of(matrix: Iterable[Iterable[Any]]) -> str:
    """A matrix row by row as the text of a parameter."""
    return " ".join(str(entry) for row in matrix for entry in row)
