"""Runge–Kutta steps whose coefficients are matrices: the Burrage–Butcher tensor, and what it implies about contraction.

    Y_i = y + η Σ_j A_ij k_j,     k_i = f_i(Y_i),     y₊ = y + η Σ_i B_i k_i,     A_ij, B_j of shape (D, p_j)
    M_ij = B_iᵀ G A_ij + A_jiᵀ G B_j − B_iᵀ G B_j,     M = [M_ij], (Σp × Σp), assembled before it is tested

Niu, Chuang, Horesh 2019, Definition 1 and (5), with the transposes and the weight G that make M the matrix of

    ‖Δy₊‖_G² = ‖Δy‖_G² + 2η Σ_i ΔY_iᵀ G B_i Δk_i − η² Σ_ij Δk_iᵀ M_ij Δk_j,     ‖x‖_G² = xᵀGx.

Without G and with the ordinary monotonicity of the fields, M ≥ 0 and B_i ≥ 0 do *not* imply contraction. Theorems and
proofs: ``docs/derivations/matrix_coefficients.md``. A weight is sought by ``odernn.properties.contraction_weights``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact import coefficients
from odernn.exact.algebraic import Algebraic, sign
from odernn.exact.coefficients import subscript
from odernn.exact.definiteness import Matrix, semidefiniteness, written
from odernn.exact.linear_algebra import (
    ZERO,
    Rows,
    Vector,
    dot,
    entrywise,
    identity,
    matrix_vector,
    outer,
    product,
    transposed,
)
from odernn.exact.text import equals
from odernn.tableaus.methods import AS_PRINTED, in_stages, is_exact
from odernn.tableaus.tableau import ButcherTableau

if TYPE_CHECKING:
    from odernn.tableaus.methods import Method

DOUBLE = fmpq(1, 2**53)
"""Unit roundoff of a double."""


class _Listable(Protocol):
    def tolist(self) -> Any: ...


class HasMatrices(Protocol):
    """A table of matrix coefficients, as ``odernn.MatrixTableau``: stages by label, and the matrices in full."""

    @property
    def stages(self) -> Mapping[int, object]: ...

    def matrix(self, i: int, j: int | None = None) -> _Listable:
        """A_ij, or B_i without j; ValueError if it is not constant."""


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
        found = _block_rows(given[0], given[1])
        has_floats = any(coefficients.is_float(x) for block in _all_blocks(*given) for row in block for x in row)
        blocks = _in_one_field(found)
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
        found = cls(A, [_times(b, square) for b in tableau.b])
        object.__setattr__(found, "unit_roundoff", None if is_exact(tableau) else DOUBLE)
        return found

    @classmethod
    def from_matrix_tableau(cls, tableau: HasMatrices, *, floats: Literal["rounded", "exact"] = "rounded") -> Self:
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
        found = coefficients.matrix(coefficients.table(G, "G"), "G")
        if len(found) != self.size or found != transposed(found):
            raise ValueError(f"G is not a symmetric matrix of D = {self.size} rows. Give for example identity rows.")
        return found

    def burrage_butcher(self, G: Any = None) -> Rows:
        """M for the weight G, the identity if not given: (Σp × Σp), symmetric, exact for the entries as given."""
        weight, joined = self.weight(G), _side_by_side(self.B)
        half = self._half(weight)
        square = product(transposed(joined), product(weight, joined))
        return entrywise(lambda x, y, z: x + y - z, half, transposed(half), square)

    def roundings(self, G: Any = None) -> Rows | None:
        """How far each entry of M may be off because entries of A and B are rounded; ``None`` if they are exact.

        An entry of a product of two coefficients is off by at most (2u + u²) times the product of their sizes.
        """
        if self.unit_roundoff is None:
            return None
        sizes = replace_blocks(self, lambda x: abs(x))
        weight = entrywise(abs, self.weight(G))
        half, joined = sizes._half(weight), _side_by_side(sizes.B)
        square = product(transposed(joined), product(weight, joined))
        u = self.unit_roundoff
        return entrywise(lambda x, y, z: (2 * u + u * u) * (x + y + z), half, transposed(half), square)

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

    def _half(self, weight: Rows) -> Rows:
        """[B_iᵀ G A_ij]."""
        rows: list[Vector] = []
        for block, row in zip(self.B, self.A, strict=True):
            rows += product(transposed(block), product(weight, _side_by_side(row)))
        return tuple(rows)

    def __repr__(self) -> str:
        return f"BlockTableau({self.stages} stages of {', '.join(map(str, self.widths))} on {self.size} components)"


@dataclass(frozen=True)
class SlopeRestricted:
    """A stage field f(Y) = σ(K Y + drive), σ entrywise, whose slopes are restricted: all (σ_r(a) − σ_r(b))/(a − b).

    K        (p × D), exact
    slopes   (p,): of component r between 0 and slopes[r] > 0; or, for a linear component, ``None``: always 1
    """

    K: Rows
    slopes: tuple[fmpq | None, ...]

    def __post_init__(self) -> None:
        if len(self.K) != len(self.slopes):
            raise ValueError(f"SlopeRestricted: K has {len(self.K)} rows but there are {len(self.slopes)} slopes.")
        if any(slope is not None and sign(slope) <= 0 for slope in self.slopes):
            raise ValueError("SlopeRestricted: a largest slope is not positive. Leave constant components out.")


Fields: TypeAlias = Literal["weighted", "monotone"] | Sequence[SlopeRestricted]
"""Which stage fields are meant: "weighted", those that are G-monotone with weight B_i whatever that says; "monotone",
all with (u − v)ᵀ(f_i(u) − f_i(v)) ≤ 0; or those of given stages with any drives."""


def stage_monotonicity(blocks: BlockTableau, G: Any, i: int, stage: SlopeRestricted | None = None) -> Certificate:
    """Whether (u − v)ᵀ G B_i (f(u) − f(v)) ≤ 0 for all u, v: for one stage with any drive, or all monotone fields.

    i        the stage, from 0.   stage   ``None``: all fields with (u − v)ᵀ(f(u) − f(v)) ≤ 0
    All monotone fields: iff G B_i = β I, β ≥ 0. A stage: if each nonlinear component r has G B_i e_r = −λ_r k_r, λ_r ≥
    0, with k_r the r-th row of K, or k_r = 0, and the linear ones together have G B_i K + (G B_i K)ᵀ ≤ 0; without
    linear components that is also necessary, as far as the slopes of components can be chosen one by one (theorem
    mc-3). ``None`` if linear components may make up for a nonlinear one. ``value`` β, or the λ_r, 0 for linear ones;
    ``margin`` the size of what would have to vanish; ``witness`` of a "no" ΔY with ΔYᵀ G B_i Δf > 0, with Δf for all
    monotone fields. Of rounded coefficients a "no" stands if it holds for all numbers that round to them, else it is
    ``None``; a "yes" is about the numbers as given and not ``exact``.
    """
    scaled = product(blocks.weight(G), blocks.B[i])
    name = f"stage {i + 1} G-monotone with weight B{subscript(i + 1)}"
    found, slope = _all_monotone(scaled, name) if stage is None else _stage_monotone(scaled, stage, name)
    if blocks.is_exact or found.holds is None:
        return found
    if found.holds:
        return replace(found, exact=False, because=found.because + AS_PRINTED)
    x, f = slope
    sizes = product(entrywise(abs, blocks.weight(G)), entrywise(abs, blocks.B[i]))
    slack = DOUBLE * dot(matrix_vector(transposed(sizes), tuple(map(abs, x))), tuple(map(abs, f)))
    if sign(dot(matrix_vector(transposed(scaled), x), f) - slack) > 0:
        return found
    return replace(found, holds=None, exact=False, because=found.because + AS_PRINTED)


def _stage_monotone(scaled: Rows, stage: SlopeRestricted, name: str) -> tuple[Certificate, Any]:
    """The decision for X = G B_i, and of a "no" (ΔY, Δf) with ΔYᵀ X Δf > 0."""
    columns, size = transposed(scaled), len(scaled)
    linear = [r for r, slope in enumerate(stage.slopes) if slope is None]
    # −(X K + (X K)ᵀ) over the linear components: whatever the others do, for their slopes may be 0
    part = tuple(
        tuple(-dot([columns[r][q] for r in linear], [stage.K[r][p] for r in linear]) for p in range(size))
        for q in range(size)
    )
    dissipated = entrywise(lambda x, y: x + y, part, transposed(part))
    if linear:
        found = semidefiniteness(dissipated, name="−GBK − (GBK)ᵀ")
        if not found:
            x = found.witness
            moved = (
                ()
                if x is None
                else tuple(dot(k, x) if s is None else ZERO for k, s in zip(stage.K, stage.slopes, strict=True))
            )
            return replace(found, property=name), (x, moved)
    multipliers = []
    for r, (g, k, slope) in enumerate(zip(columns, stage.K, stage.slopes, strict=True)):
        multiplier = -dot(g, k) / dot(k, k) if slope is not None and any(k) else ZERO
        multipliers.append(multiplier)
        rest = tuple(x + multiplier * y for x, y in zip(g, k, strict=True))
        if slope is None or not any(k) or not (any(rest) or sign(multiplier) < 0):
            continue
        x, value = _pushing(g, k)  # neither g nor k is zero
        text = f"component {r + 1}: G B e ≠ −λ k, x = {written(x)}: (xᵀG B e)(kᵀx) {equals(value)} > 0"
        margin = _largest((rest, (min(multiplier, ZERO),)))
        if linear:
            pushed = entrywise(lambda d, a, b, s=slope: d - s * (a + b), dissipated, outer(g, k), outer(k, g))
            worst = semidefiniteness(pushed)
            if worst.holds is not False:
                text += ", which the linear components may make up for"
                return Certificate(name, None, False, x, text, margin=margin), None
            x = worst.witness
            text = f"component {r + 1} with its largest slope, and the linear ones: x = {written(x)} has xᵀG B Δf > 0"
        moved = tuple(
            dot(row, x) if s is None else (s * dot(row, x) if q == r else ZERO)
            for q, (row, s) in enumerate(zip(stage.K, stage.slopes, strict=True))
        )
        return Certificate(name, False, True, x, text, margin=margin), (x, moved)
    return Certificate(name, True, True, None, "G B = −KᵀΛ, Λ ≥ 0", margin=ZERO, value=tuple(multipliers)), None


def contraction(blocks: BlockTableau, G: Any = None, fields: Fields = "weighted", step: Any = None) -> Certificate:
    """Whether the theorems imply ‖y₊ − y'₊‖_G ≤ ‖y − y'‖_G for all pairs of states and the same drives.

    step None: for every η > 0 (mc-2): G > 0, M ≥ 0, and each stage G-monotone with weight B_i. A number η > 0 with
    given stages (mc-4): instead of M ≥ 0, M + (2/η) diag(λ_r / slope_r) ≥ 0, which explicit steps can satisfy. Always:
    where the stage equations have a solution. ``value``: the premises, each a Certificate; ``None``: the theorems do
    not imply it, which is not a violation. Raises ValueError for a step that is not positive, as all signs turn there.
    """
    weight, factor = blocks.weight(G), positive_step(step)
    check_fields(fields, blocks.stages)
    premises = [weight_is_definite(weight)]
    multipliers: list[tuple[Any, ...]] = []
    if fields != "weighted":
        for i in range(blocks.stages):
            found = stage_monotonicity(blocks, weight, i, None if fields == "monotone" else fields[i])
            premises.append(found)
            multipliers.append(found.value if isinstance(found.value, tuple) else ())
    extra = None
    if factor is not None and not isinstance(fields, str) and all(premises):
        extra = sector_term(multipliers, fields, factor)
    premises.append(blocks.positivity(weight, extra=extra))
    asked = "contraction in ‖·‖_G"
    failed = next((premise for premise in premises if not premise), None)
    if failed is not None:
        words = "is not satisfied" if failed.holds is False else "is undecided"
        text = f"the premise “{failed.property}” {words}: {failed.because}"
        return Certificate(asked, None, False, failed.witness, text, margin=failed.margin, value=tuple(premises))
    first, *fields_hold, last = premises
    whys = ", ".join(dict.fromkeys(premise.because.removesuffix(AS_PRINTED) for premise in fields_hold))
    text = f"{first.property} ({first.because}); " + (f"all stages G-monotone ({whys}); " if fields_hold else "")
    text += f"{last.property} ({last.because})"
    is_certain = all(premise.exact for premise in premises)
    text += "" if is_certain or text.endswith(AS_PRINTED) else AS_PRINTED
    return Certificate(asked, True, is_certain, None, text, margin=premises[-1].margin, value=tuple(premises))


def check_fields(fields: Fields, stages: int) -> None:
    """Raises ValueError for an unknown class of fields, or for another number of them than of stages."""
    if isinstance(fields, str):
        if fields not in ("weighted", "monotone"):
            raise ValueError(f'fields is "{fields}". Give "weighted", "monotone", or one SlopeRestricted a stage.')
    elif len(fields) != stages:
        raise ValueError(f"contraction: {len(fields)} fields for {stages} stages. Give one for each stage.")


def weight_is_definite(G: Rows) -> Certificate:
    """Whether G > 0."""
    found = semidefiniteness(G, name="G")
    if found.holds is not True:
        return replace(found, property="G > 0")
    if found.value.zero == 0:
        return replace(found, property="G > 0")
    return Certificate("G > 0", False, True, None, f"G is singular, inertia {found.value}", margin=ZERO)


def positive_step(step: Any) -> Any:
    """η as an exact number, ``None`` if not given. Raises ValueError if it is not positive."""
    if step is None:
        return None
    found = coefficients.scalar(step, "η")
    if sign(found) <= 0:
        raise ValueError(f"The step η is {step}, but the theorems are about η > 0. Give a positive step.")
    return found


def sector_term(multipliers: Sequence[Sequence[Any]], stages: Sequence[SlopeRestricted], step: Any) -> Rows:
    """(2/η) diag(λ_r / slope_r), 0 for linear components."""
    diagonal = [
        ZERO if slope is None else 2 * multiplier / (step * slope)
        for values, stage in zip(multipliers, stages, strict=True)
        for multiplier, slope in zip(values, stage.slopes, strict=True)
    ]
    return tuple(tuple(d if i == j else ZERO for j in range(len(diagonal))) for i, d in enumerate(diagonal))


def replace_blocks(blocks: BlockTableau, operation: Any) -> BlockTableau:
    """The tableau of operation(entry)."""
    A = [[entrywise(operation, block) for block in row] for row in blocks.A]
    return BlockTableau(A, [entrywise(operation, block) for block in blocks.B])


def _all_monotone(scaled: Rows, name: str) -> tuple[Certificate, Any]:
    """The decision for X = G B_i, and of a "no" (ΔY, Δf) with ΔYᵀ X Δf > 0."""
    size = len(scaled)
    if len(scaled[0]) != size:
        text = f"the stage has {len(scaled[0])} components, the state {size}: a monotone field maps D to D components"
        return Certificate(name, None, False, None, text), None
    beta = scaled[0][0]
    rest = entrywise(lambda x, y: x - beta * y, scaled, identity(size))
    if any(x != 0 for row in rest for x in row) or sign(beta) < 0:
        x, f, value = _monotone_violation(scaled)
        text = f"G B ≠ β I: ΔY = {written(x)}, Δf = {written(f)} have ΔYᵀΔf ≤ 0 and ΔYᵀ G B Δf {equals(value)} > 0"
        return Certificate(name, False, True, (x, f), text, margin=max(_largest(rest), -beta)), (x, f)
    return Certificate(name, True, True, None, f"G B = {beta} I", margin=ZERO, value=beta), None


def _monotone_violation(X: Rows) -> tuple[Vector, Vector, Any]:
    """x, f with xᵀf ≤ 0 and xᵀXf > 0 for X that is not βI with β ≥ 0.

    If there is an x with y = Xᵀx no multiple of x, then f = y − (xᵀy/xᵀx) x has xᵀf = 0 and xᵀXf = |f|² > 0. If there
    is none among e_i, e_i + e_j, then X = βI with β < 0, and f = −x.
    """
    back, size = transposed(X), len(X)
    units = identity(size)
    pairs = (tuple(a + b for a, b in zip(units[i], units[j], strict=True)) for i in range(size) for j in range(i))
    for x in (*units, *pairs):
        y = matrix_vector(back, x)
        ratio = dot(x, y) / dot(x, x)
        f = tuple(a - ratio * b for a, b in zip(y, x, strict=True))
        if any(f):
            return x, f, dot(f, f)
    x = units[0]
    f = tuple(-a for a in x)
    return x, f, dot(matrix_vector(back, x), f)


def _pushing(g: Vector, k: Vector) -> tuple[Vector, Any]:
    """x with (xᵀg)(kᵀx) > 0 for g, k ≠ 0 that are not opposite: x = s g + k, s near |k|/|g|."""
    squares = dot(k, k) / dot(g, g)
    for bits in (8, 24, 48, 96, 192):
        s = _square_root(squares, bits)
        x = tuple(s * a + b for a, b in zip(g, k, strict=True))
        value = dot(x, g) * dot(k, x)
        if sign(value) > 0:
            return x, value
    raise ArithmeticError("The two vectors are opposite to within 192 bits. Check the weight G for a rounding slip.")


def _square_root(value: Any, bits: int) -> fmpq:
    """√value, a little off."""
    rational = value if not isinstance(value, Algebraic) else fmpq(*Fraction(float(value)).as_integer_ratio())
    scaled = (rational * 4**bits).floor()
    return fmpq(max(int(scaled.isqrt()), 1), 2**bits)


def _largest(rows: Matrix) -> Any:
    return max((abs(x) for row in rows for x in row), default=ZERO)


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
    found = [
        tuple(
            tuple(coefficients.scalar(x, f"BlockTableau: {place}: entry ({r}, {c})") for c, x in enumerate(row, 1))
            for r, row in enumerate(coefficients.table(block, place), 1)
        )
        for place, block in zip(places, _all_blocks(A, B), strict=True)
    ]
    shapes = [(len(block), {len(row) for row in block}) for block in found[s * s :]]
    D = shapes[0][0]
    for j, (rows, widths) in enumerate(shapes):
        if rows != D or D == 0 or len(widths) != 1 or 0 in widths:
            raise ValueError(f"BlockTableau: B{subscript(j + 1)} is no matrix of {D} rows. All B have D ≥ 1 rows.")
        width = next(iter(widths))
        for i in range(s):
            block = found[i * s + j]
            if len(block) != D or any(len(row) != width for row in block):
                place = f"BlockTableau: A{subscript(i + 1, j + 1)}"
                raise ValueError(f"{place} is not {D} × {width}, which B{subscript(j + 1)} is.")
    return found


def _in_one_field(blocks: Sequence[Rows]) -> list[Rows]:
    rows = iter(coefficients.in_one_field(*(row for block in blocks for row in block)))
    return [tuple(next(rows) for _ in block) for block in blocks]


__all__ = [
    "BlockTableau",
    "Fields",
    "HasMatrices",
    "SlopeRestricted",
    "check_fields",
    "contraction",
    "positive_step",
    "sector_term",
    "stage_monotonicity",
    "weight_is_definite",
]
