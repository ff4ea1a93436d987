"""Runge–Kutta steps whose coefficients are matrices: the Burrage–Butcher tensor M(G), and whether M ≥ 0.

    Y_i = y + η Σ_j A_ij k_j,     k_i = f_i(Y_i),     y₊ = y + η Σ_i B_i k_i,     A_ij, B_j of shape (D, p_j)
    M_ij = B_iᵀ G A_ij + A_jiᵀ G B_j − B_iᵀ G B_j,     M = [M_ij], (Σp × Σp), assembled before it is tested

Niu, Chuang, Horesh 2019, Definition 1 and (5), with the transposes and the weight G that make M the matrix of

    ‖Δy₊‖_G² = ‖Δy‖_G² + 2η Σ_i ΔY_iᵀ G B_i Δk_i − η² Σ_ij Δk_iᵀ M_ij Δk_j,     ‖x‖_G² = xᵀGx.

Without G and with the ordinary monotonicity of the fields, M ≥ 0 and B_i ≥ 0 do *not* imply contraction; the premises
that do are in ``contraction``. Theorems and proofs: ``docs/derivations/matrix_coefficients.md``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self

from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact import coefficients
from odernn.exact.coefficients import subscript
from odernn.exact.definiteness import Matrix, semidefiniteness
from odernn.exact.linear_algebra import (
    ZERO,
    Rows,
    Vector,
    entrywise,
    identity,
    product,
    transposed,
)
from odernn.tableaus.methods import AS_PRINTED, Method, in_stages, is_exact
from odernn.tableaus.tableau import ButcherTableau

DOUBLE = fmpq(1, 2**53)
"""Unit roundoff of a double."""


def tensor_terms(A: Sequence[Sequence[Rows]], B: Sequence[Rows], G: Rows) -> tuple[Rows, Rows, Rows]:
    """[B_iᵀ G A_ij], [A_jiᵀ G B_j] and [B_iᵀ G B_j], each (Σp × Σp), for a symmetric G."""
    joined = _side_by_side(B)
    rows: list[Vector] = []
    for block, row in zip(B, A, strict=True):
        rows += product(transposed(block), product(G, _side_by_side(row)))
    return tuple(rows), transposed(rows), product(transposed(joined), product(G, joined))


def burrage_butcher_tensor(A: Sequence[Sequence[Rows]], B: Sequence[Rows], G: Rows) -> Rows:
    """M = [B_iᵀ G A_ij + A_jiᵀ G B_j − B_iᵀ G B_j]."""
    return entrywise(lambda x, y, z: x + y - z, *tensor_terms(A, B, G))


@dataclass(frozen=True, init=False, repr=False)
class BlockTableau:
    """The coefficients of one step, exact.

    A   S × S blocks, A[i][j] (D × p_j)        B   S blocks, B[j] (D × p_j)
    unit_roundoff  how far each entry may be off the number meant, relative to it; ``None``: not at all. Zeros are meant

    Entries are written as those of a ``ButcherTableau``. Floats are taken for correctly rounded doubles of numbers that
    are not known, or, with ``floats="exact"``, for the numbers themselves. Raises ValueError for shapes that do not
    fit, TypeError for entries that are no numbers.
    """

    A: tuple[tuple[Rows, ...], ...]
    B: tuple[Rows, ...]
    unit_roundoff: fmpq | None

    def __init__(self, A: Any, B: Any, *, floats: Literal["rounded", "exact"] = "rounded") -> None:
        given = [[list(block) for block in row] for row in A], list(B)
        exact = _block_rows(given[0], given[1])
        has_floats = any(coefficients.is_float(x) for block in _all_blocks(*given) for row in block for x in row)
        blocks = _in_one_field(exact)
        s = len(given[1])
        object.__setattr__(self, "A", tuple(tuple(blocks[i * s : (i + 1) * s]) for i in range(s)))
        object.__setattr__(self, "B", tuple(blocks[s * s :]))
        object.__setattr__(self, "unit_roundoff", DOUBLE if has_floats and floats == "rounded" else None)

    @classmethod
    def from_scalar(cls, method: Method, P: Any = None, *, size: int = 1) -> Self:
        """A_ij = a_ij P and B_i = b_i P for a method with a table of coefficients; P the identity of ``size`` rows.

        P is taken for the numbers it is given as, floats too.

        Rounded coefficients of the method stay rounded: of a table printed to d digits entries may be off by a unit of
        the last one, which is more than ``unit_roundoff`` says. Raises ValueError for these, and for partitioned ones.
        """
        tableau = in_stages(method)
        if not isinstance(tableau, ButcherTableau) or tableau.digits is not None:
            raise ValueError(
                f"{method!r} is not one table of scalar coefficients that are exact or doubles. Choose such a "
                "ButcherTableau, or ask odernn.algebraic_stability about the method itself."
            )
        square = identity(size) if P is None else coefficients.matrix(coefficients.table(P, "P"), "P")
        A = [[_times(a, square) for a in row] for row in tableau.A]
        blocks = cls(A, [_times(b, square) for b in tableau.b])
        object.__setattr__(blocks, "unit_roundoff", None if is_exact(tableau) else DOUBLE)
        return blocks

    @classmethod
    def from_matrix_tableau(
        cls, tableau: ConstantCoefficients, *, floats: Literal["rounded", "exact"] = "rounded"
    ) -> Self:
        """The constant coefficients of an ODERNN's table. Raises ValueError if one of them is gated."""
        labels = list(tableau.stages)
        A = [[tableau.matrix(i, j).tolist() for j in labels] for i in labels]
        return cls(A, [tableau.matrix(i).tolist() for i in labels], floats=floats)

    @property
    def stages(self) -> int:
        """S."""
        return len(self.B)

    @property
    def size(self) -> int:
        """D, the number of components of the state."""
        return len(self.B[0])

    @property
    def widths(self) -> tuple[int, ...]:
        """p_1, …, p_S: the numbers of components of the stage slopes."""
        return tuple(len(block[0]) for block in self.B)

    @property
    def is_exact(self) -> bool:
        """Whether the entries are the numbers meant, not roundings of them."""
        return self.unit_roundoff is None

    def weight(self, G: Any = None) -> Rows:
        """G as exact numbers, the identity if not given. Raises ValueError if it is not symmetric of D rows."""
        if G is None:
            return identity(self.size)
        weight = coefficients.matrix(coefficients.table(G, "G"), "G")
        if len(weight) != self.size or weight != transposed(weight):
            raise ValueError(f"G is not a symmetric matrix of D = {self.size} rows. Give for example identity rows.")
        return weight

    def burrage_butcher(self, G: Any = None) -> Rows:
        """M for the weight G, the identity if not given: (Σp × Σp), symmetric, exact for the entries as given."""
        return burrage_butcher_tensor(self.A, self.B, self.weight(G))

    def roundings(self, G: Any = None) -> Rows | None:
        """How far each entry of M may be off because entries of A and B are rounded; ``None`` if they are exact.

        An entry of a product of two coefficients is off by at most (2u + u²) times the product of their sizes.
        """
        if self.unit_roundoff is None:
            return None
        A = [[entrywise(abs, block) for block in row] for row in self.A]
        B = [entrywise(abs, block) for block in self.B]
        u = self.unit_roundoff
        terms = tensor_terms(A, B, entrywise(abs, self.weight(G)))
        return entrywise(lambda x, y, z: (2 * u + u * u) * (x + y + z), *terms)

    def dual(self, Z: Matrix) -> Rows:
        """N (D × D) with ⟨Z, M(G)⟩ = ⟨N, G⟩ for all G, Z (Σp × Σp) symmetric: the adjoint of G ↦ M.

        N = T + Tᵀ − B Z Bᵀ,     T = Σ_ij A_ij Z_ji B_iᵀ,     B = (B_1, …, B_S)
        """
        joined = _side_by_side(self.B)
        stacked = [_side_by_side(row) for row in self.A]
        T: Rows = tuple((ZERO,) * self.size for _ in range(self.size))
        for i, place in enumerate(self.slices()):
            columns = tuple(row[place] for row in Z)
            T = entrywise(lambda x, y: x + y, T, product(product(stacked[i], columns), transposed(self.B[i])))
        square = product(joined, product(Z, transposed(joined)))
        return entrywise(lambda x, y, z: x + y - z, T, transposed(T), square)

    def slices(self) -> tuple[slice, ...]:
        """Where each stage has its rows in M."""
        ends = list(itertools.accumulate(self.widths, initial=0))
        return tuple(slice(a, b) for a, b in itertools.pairwise(ends))

    def positivity(self, G: Any = None, *, extra: Matrix | None = None) -> Certificate:
        """Whether M ≥ 0, or M + extra ≥ 0; ``value`` the ``Inertia``, ``witness`` of a "no" an x with xᵀMx < 0.

        About rounded entries a "no" stands only if it holds for all numbers that round to them; a "yes" that rounding
        might upset is about the entries as they are given, says so, and is not ``exact``.
        """
        M, name = self.burrage_butcher(G), "M"
        if extra is not None:
            M, name = entrywise(lambda x, y: x + y, M, extra), "M + 2Λ/(ηL)"
        if self.is_exact:
            return semidefiniteness(M, name=name)
        meant = semidefiniteness(M, self.roundings(G), name=name)
        if meant.holds is not None:
            return meant
        given = semidefiniteness(M, name=name)
        if given:
            return replace(given, exact=False, because=given.because + AS_PRINTED)
        return meant

    def __repr__(self) -> str:
        return f"BlockTableau({self.stages} stages of {', '.join(map(str, self.widths))} on {self.size} components)"


class ConstantCoefficients(Protocol):
    """What is read of an ODERNN's table: the labels of its stages, and A_ij, or B_i without j, as a full matrix."""

    @property
    def stages(self) -> Iterable[int]: ...

    def matrix(self, i: int, j: int | None = None) -> Any: ...


def _times(factor: Any, square: Rows) -> Rows:
    return entrywise(lambda x: factor * x, square)


def _side_by_side(blocks: Sequence[Rows]) -> Rows:
    return tuple(tuple(itertools.chain.from_iterable(rows)) for rows in zip(*blocks, strict=True))


def _all_blocks(A: Sequence[Sequence[Any]], B: Sequence[Any]) -> list[Any]:
    return [*itertools.chain.from_iterable(A), *B]


def _block_rows(A: Sequence[Sequence[Any]], B: Sequence[Any]) -> list[Rows]:
    """All blocks as exact numbers, A row by row and then B. Raises ValueError for shapes that do not fit."""
    s = len(B)
    if s == 0 or len(A) != s or any(len(row) != s for row in A):
        raise ValueError(f"BlockTableau: B has {s} blocks, so that A must be {s} × {s} blocks, and s at least 1.")
    places = [f"A{subscript(i + 1, j + 1)}" for i in range(s) for j in range(s)]
    places += [f"B{subscript(j + 1)}" for j in range(s)]
    blocks = [
        tuple(
            tuple(coefficients.scalar(x, f"BlockTableau: {place}: entry ({r}, {c})") for c, x in enumerate(row, 1))
            for r, row in enumerate(coefficients.table(block, place), 1)
        )
        for place, block in zip(places, _all_blocks(A, B), strict=True)
    ]
    shapes = [(len(block), {len(row) for row in block}) for block in blocks[s * s :]]
    D = shapes[0][0]
    for j, (rows, widths) in enumerate(shapes):
        if rows != D or D == 0 or len(widths) != 1 or 0 in widths:
            raise ValueError(f"BlockTableau: B{subscript(j + 1)} is no matrix of {D} rows. All B have D ≥ 1 rows.")
        width = next(iter(widths))
        for i in range(s):
            block = blocks[i * s + j]
            if len(block) != D or any(len(row) != width for row in block):
                place = f"BlockTableau: A{subscript(i + 1, j + 1)}"
                raise ValueError(f"{place} is not {D} × {width}, which B{subscript(j + 1)} is.")
    return blocks


def _in_one_field(blocks: Sequence[Rows]) -> list[Rows]:
    rows = iter(coefficients.in_one_field(*(row for block in blocks for row in block)))
    return [tuple(next(rows) for _ in block) for block in blocks]
