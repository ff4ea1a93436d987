"""What a user or a catalogue entry may write for a coefficient, and the exact number it stands for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, TypeAlias

from flint import fmpq, fmpz

from odernn.exact.algebraic import Algebraic, NumberField, Scalar

Entry: TypeAlias = Any
"""int, Fraction, Decimal, fmpq, Algebraic, an exact string such as "1/2-sqrt(3)/6", or a float (the exact double)."""
Row: TypeAlias = tuple[Any, ...]
Matrix: TypeAlias = tuple[Row, ...]

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_RATIONAL = re.compile(r"[+-]?\d+(?:\.\d*)?|[+-]?\.\d+|[+-]?\d+/\d+")
_LONGEST = 2000


def subscript(*indices: int) -> str:
    """Indices as a subscript: ``subscript(4)`` is ``"₄"``, ``subscript(1, 12)`` is ``"₁,₁₂"``."""
    separator = "," if any(index > 9 for index in indices) else ""
    return separator.join(str(index).translate(_SUBSCRIPTS) for index in indices)


def total(entries: Iterable[Any]) -> Any:
    """Exact sum; zero for no entries."""
    return sum(entries, fmpq(0))


def is_float(entry: Any) -> bool:
    """Whether the entry is a binary floating-point number: a Python float or a NumPy one."""
    return isinstance(entry, Real) and not isinstance(entry, Integral | Fraction)


def scalar(entry: Any, place: str) -> Scalar:
    """The exact number that an entry stands for; ``place`` opens the message if there is none."""
    if isinstance(entry, fmpq | Algebraic):
        return entry
    if isinstance(entry, fmpz):
        return fmpq(entry)
    if isinstance(entry, str):
        return _from_text(entry, place)
    if isinstance(entry, Integral) and not isinstance(entry, bool):
        return fmpq(int(entry))
    if isinstance(entry, Decimal) or is_float(entry):
        if not math.isfinite(entry):
            raise ValueError(f"{place} is {entry}, which is not a finite number. Correct the entry.")
        entry = Fraction(entry if isinstance(entry, Decimal) else float(entry))
    if isinstance(entry, Fraction):
        return fmpq(entry.numerator, entry.denominator)
    raise TypeError(
        f"{place} is {entry!r} of type {type(entry).__name__}, which is not a coefficient. "
        "Give an int, a Fraction, Q(1, 3), an exact string such as '1/3' or '1/2-sqrt(3)/6', or a float."
    )


def _from_text(text: str, place: str) -> Scalar:
    plain = text.replace(" ", "").replace("\N{MINUS SIGN}", "-")
    try:
        if len(plain) <= _LONGEST and _RATIONAL.fullmatch(plain):
            value = Fraction(plain)
            return fmpq(value.numerator, value.denominator)
        from odernn.exact.expressions import parse  # few tables need it

        return parse(text)
    except (ValueError, ZeroDivisionError) as error:
        reason = "it divides by zero" if isinstance(error, ZeroDivisionError) else str(error).rstrip(".")
        raise ValueError(
            f"{place} is {text!r}, which is not an exact number: {reason}. "
            "Write it as '1/3', '0.25' or '1/2-sqrt(3)/6'."
        ) from None


def listed(entries: Any, label: str, place: str) -> list[Any]:
    """The entries of a list, a tuple or an array; text and single numbers are not lists of numbers."""
    if not isinstance(entries, str | bytes | dict | set) and isinstance(entries, Iterable):
        try:
            return list(entries)
        except TypeError:  # an array without dimensions
            pass
    raise TypeError(f"{place}: {label} is {entries!r}, which is not a list of numbers. Write it as [..., ...].")


def table(rows: Any, place: str) -> list[list[Any]]:
    """The rows of A as given; they may still have different lengths."""
    return [listed(entries, f"row {i} of A", place) for i, entries in enumerate(listed(rows, "A", place), 1)]


def row(entries: Any, label: str, place: str) -> Row:
    """A vector of exact numbers, ``label`` its letter: the messages say b₁, b₂, …"""
    items = listed(entries, label, place)
    return tuple(scalar(entry, f"{place}: {label}{subscript(j)}") for j, entry in enumerate(items, 1))


def matrix(rows: Sequence[Sequence[Any]], place: str) -> Matrix:
    """The rows of A as exact numbers."""
    return tuple(
        tuple(scalar(entry, f"{place}: row {i} of A, a{subscript(i, j)}") for j, entry in enumerate(entries, 1))
        for i, entries in enumerate(rows, 1)
    )


def fields(values: Iterable[Any]) -> set[NumberField]:
    """The number fields that occur; rational numbers have none."""
    return {value.field for value in values if isinstance(value, Algebraic)}


def in_one_field(*rows: Sequence[Any]) -> tuple[Row, ...]:
    """The same rows with all irrational numbers in one field, which is built if there are two or more."""
    values = [value for entries in rows for value in entries]
    if len(fields(values)) > 1:
        from odernn.exact.compositum import unify  # few tables need it

        values = list(unify(values))
    result, start = [], 0
    for entries in rows:
        result.append(tuple(values[start : start + len(entries)]))
        start += len(entries)
    return tuple(result)
