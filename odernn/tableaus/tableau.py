"""Runge-Kutta methods as exact tables of coefficients.

A tableau is data copied from a page. What the page says twice (the abscissae c and the row sums of A) is
compared at construction; what follows from the page (stages, explicitness, consistency) is computed when
asked and never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from flint import fmpq

from odernn import notebook
from odernn.exact import coefficients
from odernn.exact.algebraic import sign
from odernn.exact.coefficients import Entry, Matrix, Row, in_one_field, row, subscript, total
from odernn.published.sources import Source
from odernn.tableaus.stages import StageForm, stagewise

__all__ = [
    "ButcherTableau",
    "Composition",
    "Entry",
    "Matrix",
    "PartitionedTableau",
    "Q",
    "Row",
    "Tableau",
    "composed",
    "subscript",
    "total",
]

Q = fmpq
"""Exact rational number: ``Q(1, 3)`` is one third."""

FLOAT_ULPS = 4
"""How many units in the last place (2⁻⁵² relative) a coefficient given as a float may be off the number meant."""


@dataclass(frozen=True, init=False, repr=False)
class ButcherTableau:
    """A Runge-Kutta method (A, b, c) with exact real coefficients.

        Y_i = y₀ + h Σ_j a_ij f(Y_j),      y₁ = y₀ + h Σ_i b_i f(Y_i),      c = A·1

    A, b        s × s and s entries: ints, Fractions, ``Q(p, q)``, ``Algebraic``, exact strings ("1/2-sqrt(3)/6",
                "0.25", "root(x^3-3*x^2+3/2*x-1/6, 0.4358665)", "cbrt(2)"), arrays. A float stands for the exact
                double it is, and ``is_float`` says that there was one.
    c           the abscissae, where printed: compared with the row sums of A; a disagreement is a misprint in one
                of them. The method is (A, b) alone, so ``.c`` always is A·1, also where c is printed to some digits.
    b_hat       the embedded weights, ``embedded`` their method.
    order, order_hat    what the source *declares*, kept only to be compared with what is computed.
    digits      D if the source prints decimals rounded to D places (write them as strings): then row sums agree if
                they do to s·10⁻ᴰ, for s + 1 numbers, each half a unit off, are off by (s + 1)/2 ≤ s units.

    Irrational entries lie in one number field; where the entries come from several, their common field is built.
    Hairer, Nørsett, Wanner 1993, Definition II.1.1 and condition (II.1.9). Raises ValueError for a wrong shape, a
    wrong row sum, text that is no number, NaN or inf; TypeError for an entry of another kind.
    """

    A: Matrix
    b: Row
    name: str
    source: Source | None
    order: int | None
    b_hat: Row | None
    order_hat: int | None
    digits: int | None
    is_float: bool

    def __init__(
        self,
        A: Any,
        b: Any,
        c: Any = None,
        name: str = "unnamed",
        *,
        source: Source | None = None,
        order: int | None = None,
        b_hat: Any = None,
        order_hat: int | None = None,
        digits: int | None = None,
        is_float: bool = False,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"The name of a tableau is text, not {name!r}. The order is ButcherTableau(A, b, c, name).")
        place = f'Tableau "{name}"'
        rows = coefficients.table(A, place)
        vectors = [
            [] if entries is None else coefficients.listed(entries, label, place)
            for entries, label in ((b, "b"), (b_hat, "b̂"), (c, "c"))
        ]
        floats = any(coefficients.is_float(entry) for entries in (*rows, *vectors) for entry in entries)
        *exact_rows, weights, embedded, abscissae = in_one_field(
            *coefficients.matrix(rows, place),
            *(row(entries, label, place) for entries, label in zip(vectors, ("b", "b̂", "c"), strict=True)),
        )
        fields: dict[str, Any] = {
            "A": tuple(exact_rows),
            "b": weights,
            "name": name,
            "source": source,
            "order": order,
            "b_hat": None if b_hat is None else embedded,
            "order_hat": order_hat,
            "digits": digits,
            "is_float": is_float or floats,
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)
        self._check_shapes(place)
        if c is not None:
            self._check_row_sums(abscissae, place)

    def _check_shapes(self, place: str) -> None:
        s, compare = self.stages, _compare(self.source)
        if s == 0:
            raise ValueError(f"{place}: b is empty, but a method has at least one stage. {compare}")
        rows = len(self.A)
        if rows != s and rows > 0 and all(len(entries) == rows for entries in self.A):
            raise ValueError(
                f"{place}: b has {s} {'entry' if s == 1 else 'entries'} but A is {rows} × {rows}; "
                f"b must have {rows}. {compare}"
            )
        if rows != s:
            raise ValueError(f"{place}: A has {rows} rows but b has {s} entries; A must be {s} × {s}. {compare}")
        for i, entries in enumerate(self.A, 1):
            if len(entries) != s:
                raise ValueError(
                    f"{place}: row {i} of A has {len(entries)} entries but b has {s}; A must be {s} × {s}. {compare}"
                )
        if self.b_hat is not None and len(self.b_hat) != s:
            raise ValueError(f"{place}: b̂ has {len(self.b_hat)} entries but b has {s}. {compare}")

    def _check_row_sums(self, printed: Row, place: str) -> None:
        compare = _compare(self.source)
        if len(printed) != self.stages:
            raise ValueError(f"{place}: c has {len(printed)} entries but b has {self.stages}. {compare}")
        for i, (row_sum, abscissa) in enumerate(zip(self.c, printed, strict=True), 1):
            slack = self._slack([*self.A[i - 1], abscissa])
            if not _within(row_sum - abscissa, slack):
                tolerance = f", not even to {float(slack):.1g}" if slack else ""
                raise ValueError(
                    f"{place}: row {i} of A sums to {row_sum} but c{subscript(i)} = {abscissa}{tolerance}. {compare}"
                )

    def _slack(self, entries: Sequence[Any]) -> Any:
        """How far a sum of these entries may be off: 0 if they are exact."""
        if self.digits is not None:
            return self.stages * Q(1, 10**self.digits)
        if self.is_float:
            return FLOAT_ULPS * total(abs(entry) for entry in entries) * Q(1, 2**52)
        return Q(0)

    @property
    def c(self) -> Row:
        """Abscissae, the row sums of A."""
        return tuple(total(entries) for entries in self.A)

    @property
    def stages(self) -> int:
        """Number of stages s."""
        return len(self.b)

    @property
    def entries(self) -> tuple[Any, ...]:
        """All coefficients of A and b in one row."""
        return tuple(entry for entries in (*self.A, self.b) for entry in entries)

    @property
    def form(self) -> StageForm:
        """The method as linear algebra on its stages, in the basis of stages: what the exact decisions work on."""
        return stagewise(self.A, self.b)

    @property
    def embedded(self) -> ButcherTableau | None:
        """The method (A, b̂) that estimates the error, ``None`` if there is none."""
        if self.b_hat is None:
            return None
        return ButcherTableau(
            self.A,
            self.b_hat,
            name=f"{self.name}, embedded",
            source=self.source,
            order=self.order_hat,
            digits=self.digits,
            is_float=self.is_float,
        )

    @property
    def is_exact(self) -> bool:
        """Whether the coefficients are the numbers meant, not roundings of them."""
        return self.digits is None and not self.is_float

    @property
    def is_explicit(self) -> bool:
        """a_ij = 0 for j ≥ i: each stage uses earlier stages only."""
        return all(self.A[i][j] == 0 for i in range(self.stages) for j in range(i, self.stages))

    @property
    def is_diagonally_implicit(self) -> bool:
        """a_ij = 0 for j > i: each stage solves for itself alone. Explicit methods are included."""
        return all(self.A[i][j] == 0 for i in range(self.stages) for j in range(i + 1, self.stages))

    @property
    def is_singly_diagonally_implicit(self) -> bool:
        """Diagonally implicit with one nonzero diagonal entry γ, but for an explicit first stage (SDIRK, ESDIRK)."""
        diagonal = {self.A[i][i] for i in range(self.stages) if i > 0 or self.A[0][0] != 0}
        return self.is_diagonally_implicit and len(diagonal) == 1 and 0 not in diagonal

    @property
    def is_consistent(self) -> bool:
        """Σ b_i = 1, the condition for order 1; for rounded coefficients as far as they tell."""
        return _within(total(self.b) - 1, self._slack([*self.b, Q(1)]))

    @property
    def is_stiffly_accurate(self) -> bool:
        """a_sj = b_j: the last stage is the new value. Hairer, Wanner 1996, Proposition IV.3.8."""
        return self.A[-1] == self.b

    @property
    def is_fsal(self) -> bool:
        """First same as last: a_sj = b_j and a_1j = 0, so the last slope is the next step's first."""
        return self.stages > 1 and self.is_stiffly_accurate and all(a == 0 for a in self.A[0])

    def __repr__(self) -> str:
        return f'ButcherTableau("{self.name}", {self.stages} stages{_after(self.source)})'

    def _repr_html_(self) -> str:
        return notebook.html("arrays", self)

    def _repr_latex_(self) -> str:
        return notebook.mathematics("arrays", self)


@dataclass(frozen=True)
class PartitionedTableau:
    """A pair of Runge-Kutta methods for y' = f(y, z), z' = g(y, z), y positions, z momenta.

        Y_i = y₀ + h Σ_j a_ij f(Y_j, Z_j),     y₁ = y₀ + h Σ_i b_i f(Y_i, Z_i)     ``position`` = (A, b)
        Z_i = z₀ + h Σ_j â_ij g(Y_j, Z_j),     z₁ = z₀ + h Σ_i b̂_i g(Y_i, Z_i)     ``momentum`` = (Â, b̂)

    Hairer, Lubich, Wanner 2006, eq. (II.2.2). Raises ValueError when the stage counts differ.
    """

    name: str
    source: Source | None
    position: ButcherTableau
    momentum: ButcherTableau
    order: int | None = None

    def __post_init__(self) -> None:
        if self.position.stages != self.momentum.stages:
            raise ValueError(
                f'Tableau "{self.name}": position has {self.position.stages} stages but momentum has '
                f"{self.momentum.stages}; stage i of one is paired with stage i of the other. "
                f"{_compare(self.source)}"
            )
        halves = (self.position, self.momentum)
        rows = [entries for half in halves for entries in (*half.A, half.b, half.b_hat or ())]
        if len(coefficients.fields(entry for entries in rows for entry in entries)) > 1:
            new, size = in_one_field(*rows), self.stages + 2
            for field, half, (*A, b, b_hat) in zip(
                ("position", "momentum"), halves, (new[:size], new[size:]), strict=True
            ):
                object.__setattr__(self, field, replace(half, A=tuple(A), b=b, b_hat=b_hat or None))

    @property
    def stages(self) -> int:
        """Number of stage pairs (Y_i, Z_i)."""
        return self.position.stages

    @property
    def forms(self) -> tuple[StageForm, StageForm]:
        """(position, momentum) as linear algebra on the stages, both in the same basis."""
        return self.position.form, self.momentum.form

    @property
    def digits(self) -> int | None:
        """The fewer of the digits to which the two halves are printed, ``None`` if both are exact."""
        return min((t.digits for t in (self.position, self.momentum) if t.digits is not None), default=None)

    @property
    def is_float(self) -> bool:
        """Whether a coefficient of either half was given as a float."""
        return self.position.is_float or self.momentum.is_float

    @property
    def is_exact(self) -> bool:
        """Whether the coefficients are the numbers meant, not roundings of them."""
        return self.position.is_exact and self.momentum.is_exact

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
        return f'PartitionedTableau("{self.name}", {self.stages} stages{_after(self.source)})'

    def _repr_html_(self) -> str:
        return notebook.html("arrays", self)

    def _repr_latex_(self) -> str:
        return notebook.mathematics("arrays", self)


Tableau: TypeAlias = ButcherTableau | PartitionedTableau


def composed(
    parts: Sequence[tuple[Tableau, Any]],
    name: str,
    *,
    source: Source | None = None,
    order: int | None = None,
    digits: int | None = None,
    is_float: bool = False,
) -> Tableau:
    """The tableau of Φ^{(m)}_{γ_m h} ∘ … ∘ Φ^{(1)}_{γ_1 h}, ``parts`` being (Φ^{(1)}, γ_1), …, the first applied first.

    Block k of A is γ_k A^{(k)} on the diagonal and γ_l 1 b^{(l)ᵀ} to the left, l < k; block k of b is γ_k b^{(k)}.
    One partitioned part makes all partitioned.
    The stages of a later step start where the earlier steps have ended. A float γ, or ``is_float``, makes it a float
    tableau.
    """
    if not parts:
        raise ValueError(f'Composition "{name}": there are no steps to compose. Give at least one step size.')
    is_float = is_float or any(coefficients.is_float(gamma) for _, gamma in parts)
    gammas = row([gamma for _, gamma in parts], "γ", f'Composition "{name}"')
    if any(isinstance(part, PartitionedTableau) for part, _ in parts):
        pairs = [(p.position, p.momentum) if isinstance(p, PartitionedTableau) else (p, p) for p, _ in parts]
        position, momentum = (
            _composed(
                [pair[half] for pair in pairs],
                gammas,
                f"{name}, {kind}",
                source=source,
                digits=digits,
                is_float=is_float,
            )
            for half, kind in enumerate(("position", "momentum"))
        )
        return PartitionedTableau(name, source, position, momentum, order)
    steps = [part for part, _ in parts if isinstance(part, ButcherTableau)]
    return _composed(steps, gammas, name, source=source, order=order, digits=digits, is_float=is_float)


def _composed(steps: Sequence[ButcherTableau], gammas: Row, name: str, **facts: Any) -> ButcherTableau:
    flat = [entries for step in steps for entries in (*step.A, step.b)]
    *entries, gammas = in_one_field(*flat, gammas)
    remaining = iter(entries)
    before: list[Any] = []  # Σ γ_l b^{(l)} so far, as a row
    rows: list[list[Any]] = []
    stages = sum(step.stages for step in steps)
    for step, gamma in zip(steps, gammas, strict=True):
        for _ in range(step.stages):
            start = [*before, *(gamma * a for a in next(remaining))]
            rows.append(start + [Q(0)] * (stages - len(start)))
        before += [gamma * weight for weight in next(remaining)]
    if facts["digits"] is None:
        facts["digits"] = min((step.digits for step in steps if step.digits is not None), default=None)
    facts["is_float"] = facts["is_float"] or any(step.is_float for step in steps)
    return ButcherTableau(rows, before, name=name, **facts)


@dataclass(frozen=True, init=False, repr=False)
class Composition:
    """Φ_{γ_m h} ∘ … ∘ Φ_{γ_1 h}: steps of one base method with fractions of the step size, γ_1 first.

    ``gammas`` are written like any coefficients; ``digits`` if they are printed decimals. ``tableau`` is the equivalent
    method with m times the stages. Σγ = 1 is ``is_consistent``. Hairer, Lubich, Wanner 2006, eq. (II.4.1).
    """

    base: Tableau
    gammas: Row
    name: str
    source: Source | None
    order: int | None
    digits: int | None
    is_float: bool

    def __init__(
        self,
        base: Tableau,
        gammas: Any,
        name: str = "unnamed",
        source: Source | None = None,
        order: int | None = None,
        digits: int | None = None,
    ) -> None:
        place = f'Composition "{name}"'
        gammas = tuple(gammas)
        (values,) = in_one_field(row(gammas, "γ", place))
        if not values:
            raise ValueError(f"{place}: there are no steps to compose. {_compare(source)}")
        floats = any(coefficients.is_float(gamma) for gamma in gammas)
        fields = {
            "base": base,
            "gammas": values,
            "name": name,
            "source": source,
            "order": order,
            "digits": digits,
            "is_float": floats,
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    @property
    def stages(self) -> int:
        """Number of stages of the equivalent tableau, m times those of the base method."""
        return len(self.gammas) * self.base.stages

    @property
    def tableau(self) -> Tableau:
        """The equivalent tableau, partitioned if the base method is."""
        parts = [(self.base, gamma) for gamma in self.gammas]
        return composed(
            parts, self.name, source=self.source, order=self.order, digits=self.digits, is_float=self.is_float
        )

    @property
    def is_consistent(self) -> bool:
        """Σ γ_i = 1 (to the printed digits) and a consistent base method."""
        slack = Q(0) if self.digits is None else len(self.gammas) * Q(1, 10**self.digits)
        return self.base.is_consistent and _within(total(self.gammas) - 1, slack)

    @property
    def is_symmetric_sequence(self) -> bool:
        """γ_i = γ_{m+1−i}: with a symmetric base method the composition is symmetric."""
        return self.gammas == self.gammas[::-1]

    def __repr__(self) -> str:
        return f'Composition("{self.name}", {len(self.gammas)} × {self.base.name}{_after(self.source)})'

    def _repr_html_(self) -> str:
        return notebook.html("arrays", self)

    def _repr_latex_(self) -> str:
        return notebook.mathematics("arrays", self)


def _within(difference: Any, slack: Any) -> bool:
    return sign(abs(difference) - slack) <= 0


def _compare(source: Source | None) -> str:
    return "Correct the entry." if source is None else f"Compare with the source: {source}."


def _after(source: Source | None) -> str:
    return "" if source is None else f", {source}"
