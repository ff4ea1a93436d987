"""Runge-Kutta methods as exact tables of coefficients.

A tableau is data copied from a page. What the page says twice (the abscissae c and the row sums of A) is
compared at construction; what follows from the page (stages, explicitness, consistency) is computed when
asked and never stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from flint import fmpq, fmpz

Q = fmpq
"""Exact rational number: ``Q(1, 3)`` is one third."""

Entry: TypeAlias = int | Fraction | fmpq | fmpz | str
Row: TypeAlias = tuple[fmpq, ...]
Matrix: TypeAlias = tuple[Row, ...]

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def subscript(*indices: int) -> str:
    """Indices as a subscript: ``subscript(4)`` is ``"₄"``, ``subscript(1, 12)`` is ``"₁,₁₂"``."""
    separator = "," if any(index > 9 for index in indices) else ""
    return separator.join(str(index).translate(_SUBSCRIPTS) for index in indices)


@dataclass(frozen=True)
class Source:
    """Where an entry was copied from: a bibliography key and the place in it."""

    key: str
    where: str

    def __str__(self) -> str:
        return f"{self.key}, {self.where}"


def _exact(entry: Entry | float, place: str) -> fmpq:
    if isinstance(entry, fmpq):
        return entry
    if isinstance(entry, (int, fmpz)):
        return fmpq(entry)
    if isinstance(entry, str):
        try:
            entry = Fraction(entry.replace(" ", ""))
        except (ValueError, ZeroDivisionError):
            raise ValueError(
                f"{place} is {entry!r}, which is not a rational number. Write it as '1/3' or '0.25'."
            ) from None
    if isinstance(entry, Fraction):
        return fmpq(entry.numerator, entry.denominator)
    hint = " a float is already rounded." if isinstance(entry, float) else ""
    raise TypeError(
        f"{place} is {entry!r} of type {type(entry).__name__}, but coefficients are exact:{hint} "
        "Give an int, a Fraction, Q(1, 3) or an exact string such as '1/3'."
    )


def _row(entries: Iterable[Entry], label: str, place: str) -> Row:
    return tuple(_exact(entry, f"{place}: {label}{subscript(j)}") for j, entry in enumerate(entries, 1))


def _matrix(rows: Iterable[Iterable[Entry]], place: str) -> Matrix:
    return tuple(
        tuple(_exact(entry, f"{place}: a{subscript(i, j)}") for j, entry in enumerate(row, 1))
        for i, row in enumerate(rows, 1)
    )


def total(entries: Iterable[fmpq]) -> fmpq:
    """Exact sum; zero for no entries."""
    return sum(entries, Q(0))


@dataclass(frozen=True, init=False, repr=False)
class ButcherTableau:
    """A Runge-Kutta method (A, b, c) with rational coefficients.

        Y_i = y₀ + h Σ_j a_ij f(Y_j),      y₁ = y₀ + h Σ_i b_i f(Y_i),      c = A·1

    ``A`` is s × s, ``b`` has s entries; entries are ints, Fractions, ``Q(p, q)`` or exact strings, never
    floats. ``c``, where the source prints it, is compared with the row sums of A; a disagreement is a
    misprint in one of them. ``order`` is what the source *declares*, kept to be compared with what is
    computed. Hairer, Nørsett, Wanner 1993, Definition II.1.1 and condition (II.1.9). Raises ValueError for a
    wrong shape or a wrong row sum, TypeError for an inexact entry.
    """

    name: str
    source: Source
    A: Matrix
    b: Row
    order: int | None

    def __init__(
        self,
        name: str,
        source: Source,
        A: Sequence[Sequence[Entry]],
        b: Sequence[Entry],
        c: Sequence[Entry] | None = None,
        order: int | None = None,
    ) -> None:
        place = f'Tableau "{name}"'
        fields: dict[str, Any] = {
            "name": name, "source": source, "A": _matrix(A, place), "b": _row(b, "b", place), "order": order,
        }  # fmt: skip
        for field, value in fields.items():
            object.__setattr__(self, field, value)
        self._check_shapes(place)
        if c is not None:
            self._check_row_sums(_row(c, "c", place), place)

    def _check_shapes(self, place: str) -> None:
        s = len(self.b)
        if s == 0:
            raise ValueError(
                f"{place}: b is empty, but a method has at least one stage. Compare with {self.source}."
            )
        if len(self.A) != s:
            raise ValueError(
                f"{place}: A has {len(self.A)} rows but b has {s} entries; A must be {s} × {s}. "
                f"Compare with the source: {self.source}."
            )
        for i, row in enumerate(self.A, 1):
            if len(row) != s:
                raise ValueError(
                    f"{place}: row {i} of A has {len(row)} entries but b has {s}; A must be {s} × {s}. "
                    f"Compare with the source: {self.source}."
                )

    def _check_row_sums(self, printed: Row, place: str) -> None:
        if len(printed) != self.stages:
            raise ValueError(
                f"{place}: c has {len(printed)} entries but b has {self.stages}. "
                f"Compare with the source: {self.source}."
            )
        for i, (row_sum, abscissa) in enumerate(zip(self.c, printed, strict=True), 1):
            if row_sum != abscissa:
                raise ValueError(
                    f"{place}: row {i} of A sums to {row_sum} but c{subscript(i)} = {abscissa}. "
                    f"Compare with the source: {self.source}."
                )

    @property
    def c(self) -> Row:
        """Abscissae, the row sums of A."""
        return tuple(total(row) for row in self.A)

    @property
    def stages(self) -> int:
        """Number of stages s."""
        return len(self.b)

    @property
    def is_explicit(self) -> bool:
        """a_ij = 0 for j ≥ i: each stage uses earlier stages only."""
        return all(self.A[i][j] == 0 for i in range(self.stages) for j in range(i, self.stages))

    @property
    def is_diagonally_implicit(self) -> bool:
        """a_ij = 0 for j > i: each stage solves for itself alone. Explicit methods are included."""
        return all(self.A[i][j] == 0 for i in range(self.stages) for j in range(i + 1, self.stages))

    @property
    def is_consistent(self) -> bool:
        """Σ b_i = 1, the condition for order 1."""
        return bool(total(self.b) == 1)

    def __repr__(self) -> str:
        return f'ButcherTableau("{self.name}", {self.stages} stages, {self.source})'


@dataclass(frozen=True)
class PartitionedTableau:
    """A pair of Runge-Kutta methods for y' = f(y, z), z' = g(y, z), y positions, z momenta.

        Y_i = y₀ + h Σ_j a_ij f(Y_j, Z_j),     y₁ = y₀ + h Σ_i b_i f(Y_i, Z_i)     ``position`` = (A, b)
        Z_i = z₀ + h Σ_j â_ij g(Y_j, Z_j),     z₁ = z₀ + h Σ_i b̂_i g(Y_i, Z_i)     ``momentum`` = (Â, b̂)

    Hairer, Lubich, Wanner 2006, eq. (II.2.2). Raises ValueError when the stage counts differ.
    """

    name: str
    source: Source
    position: ButcherTableau
    momentum: ButcherTableau
    order: int | None = None

    def __post_init__(self) -> None:
        if self.position.stages != self.momentum.stages:
            raise ValueError(
                f'Tableau "{self.name}": position has {self.position.stages} stages but momentum has '
                f"{self.momentum.stages}; stage i of one is paired with stage i of the other. "
                f"Compare with the source: {self.source}."
            )

    @property
    def stages(self) -> int:
        """Number of stage pairs (Y_i, Z_i)."""
        return self.position.stages

    @property
    def is_consistent(self) -> bool:
        """Σ b_i = Σ b̂_i = 1."""
        return self.position.is_consistent and self.momentum.is_consistent

    @property
    def is_explicit(self) -> bool:
        """Whether the stages of *separable* systems y' = f(z), z' = g(y) can be computed one by one."""
        return self.separable_order() is not None

    def separable_order(self) -> tuple[tuple[str, int], ...] | None:
        """An order of evaluation of the stages ``("y", i)`` and ``("z", i)`` (from 0) of a separable system.

        Y_i needs the Z_j with a_ij ≠ 0 and Z_i needs the Y_j with â_ij ≠ 0; ``None`` if these needs form a
        circle.
        """
        matrices = {"y": self.position.A, "z": self.momentum.A}
        partner = {"y": "z", "z": "y"}
        waiting = [(kind, i) for i in range(self.stages) for kind in ("y", "z")]
        done: list[tuple[str, int]] = []
        while waiting:
            for kind, i in waiting:
                needs = [(partner[kind], j) for j in range(self.stages) if matrices[kind][i][j] != 0]
                if all(need in done for need in needs):
                    done.append((kind, i))
                    waiting.remove((kind, i))
                    break
            else:
                return None
        return tuple(done)

    def __repr__(self) -> str:
        return f'PartitionedTableau("{self.name}", {self.stages} stages, {self.source})'
