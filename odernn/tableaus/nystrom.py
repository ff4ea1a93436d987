"""Runge–Kutta–Nyström methods for y″ = g(y), as exact tables of coefficients.

    Y_i = y₀ + c_i h v₀ + h² Σ_j ā_ij g(Y_j)
    y₁  = y₀ + h v₀ + h² Σ_i b̄_i g(Y_i),      v₁ = v₀ + h Σ_i b_i g(Y_i),      v = y′

E. J. Nyström, Über die numerische Integration von Differentialgleichungen, Acta Soc. Sci. Fennicae 50 (1925); Hairer,
Nørsett, Wanner 1993, Section II.14. Every (partitioned) Runge–Kutta method is one when applied to y′ = v, v′ = g(y):

    Ā = AÂ,     b̄ᵀ = bᵀÂ,     b = b̂,     c = A1          ((A, b) for y, (Â, b̂) for v, Σ b_i = 1)

but not the other way round: there are fewer conditions for an order on y″ = g(y), and more methods satisfy them.

    >>> from odernn import tableaus
    >>> from odernn.tableaus.nystrom import nystrom_method
    >>> nystrom_method(tableaus.STOERMER_VERLET).b_bar
    (1/2, 0)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from odernn import notebook
from odernn.exact import coefficients
from odernn.exact.algebraic import nearest_float
from odernn.exact.coefficients import Matrix, Row, in_one_field, row, total
from odernn.exact.linear_algebra import product
from odernn.published.sources import Source
from odernn.tableaus.methods import Method, in_stages
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau

__all__ = ["NystromTableau", "nystrom_adjoint", "nystrom_method", "nystrom_step"]

Value = TypeVar("Value")


@dataclass(frozen=True, init=False, repr=False)
class NystromTableau:
    """A Runge–Kutta–Nyström method (Ā, b̄, b, c) with exact real coefficients, for y″ = g(y).

    A_bar, b_bar, b, c   s × s, and three times s entries, written like those of a ``ButcherTableau``. Unlike there, c
                         is a coefficient of its own: no sum of others gives it.
    order                what the source *declares*, only to be compared with what is computed
    digits               D if the source prints decimals rounded to D places

    Raises ValueError for a wrong shape or text that is no number, TypeError for an entry of another kind.
    """

    A_bar: Matrix
    b_bar: Row
    b: Row
    c: Row
    name: str
    source: Source | None
    order: int | None
    digits: int | None
    is_float: bool

    def __init__(
        self,
        A_bar: Any,
        b_bar: Any,
        b: Any,
        c: Any,
        name: str = "unnamed",
        *,
        source: Source | None = None,
        order: int | None = None,
        digits: int | None = None,
        is_float: bool = False,
    ) -> None:
        place = f'Nyström tableau "{name}"'
        rows = coefficients.table(A_bar, place)
        vectors = [coefficients.listed(entries, label, place) for entries, label in ((b_bar, "b̄"), (b, "b"), (c, "c"))]
        floats = any(coefficients.is_float(entry) for entries in (*rows, *vectors) for entry in entries)
        s = len(vectors[1])
        _check_shapes(place, s, rows, vectors)
        *exact, position, velocity, abscissae = in_one_field(
            *coefficients.matrix(rows, place),
            *(row(entries, label, place) for entries, label in zip(vectors, ("b̄", "b", "c"), strict=True)),
        )
        fields: dict[str, Any] = {
            "A_bar": tuple(exact),
            "b_bar": position,
            "b": velocity,
            "c": abscissae,
            "name": name,
            "source": source,
            "order": order,
            "digits": digits,
            "is_float": is_float or floats,
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    @property
    def stages(self) -> int:
        """Number of stages s, each an evaluation of g."""
        return len(self.b)

    @property
    def entries(self) -> tuple[Any, ...]:
        """All coefficients in one row."""
        return tuple(entry for entries in (*self.A_bar, self.b_bar, self.b, self.c) for entry in entries)

    @property
    def is_exact(self) -> bool:
        """Whether the coefficients are the numbers meant, not roundings of them."""
        return self.digits is None and not self.is_float

    @property
    def is_explicit(self) -> bool:
        """ā_ij = 0 for j ≥ i."""
        return all(self.A_bar[i][j] == 0 for i in range(self.stages) for j in range(i, self.stages))

    def __repr__(self) -> str:
        where = "" if self.source is None else f", {self.source}"
        return f'NystromTableau("{self.name}", {self.stages} stages{where})'

    def _repr_html_(self) -> str:
        return notebook.html("arrays", self)

    def _repr_latex_(self) -> str:
        return notebook.mathematics("arrays", self)


def _check_shapes(place: str, s: int, rows: list[list[Any]], vectors: list[list[Any]]) -> None:
    if s == 0:
        raise ValueError(f"{place}: b is empty, but a method has at least one stage. Correct the entry.")
    for label, entries in zip(("b̄", "b", "c"), vectors, strict=True):
        if len(entries) != s:
            raise ValueError(f"{place}: {label} has {len(entries)} entries but b has {s}. Correct the entry.")
    if len(rows) != s:
        raise ValueError(f"{place}: Ā has {len(rows)} rows but b has {s} entries; Ā must be {s} × {s}.")
    for i, entries in enumerate(rows, 1):
        if len(entries) != s:
            raise ValueError(f"{place}: row {i} of Ā has {len(entries)} entries but b has {s}; Ā must be {s} × {s}.")


def nystrom_method(method: Method, name: str | None = None) -> NystromTableau:
    """What a Runge–Kutta method, or a pair with positions y and momenta v, does to y′ = v, v′ = g(y).

    A composition is taken as its equivalent tableau. The declared order is not handed on: here it may be higher.
    Raises ValueError where Σ b_i ≠ 1 for the positions (then y₁ has no v₀ with the factor h), TypeError for a family's
    member whose coefficients are not written out.
    """
    table = in_stages(method)
    if not isinstance(table, ButcherTableau | PartitionedTableau):
        raise TypeError(f"{method!r} has no written coefficients. Round it first: method.rounded().")
    position, momentum = (table, table) if isinstance(table, ButcherTableau) else (table.position, table.momentum)
    if not position.is_consistent or (position.is_exact and total(position.b) != 1):
        raise ValueError(f'"{table.name}": Σ b_i = {total(position.b)} for the positions, but it must be 1.')
    digits = table.digits
    if digits is not None:  # of a sum of s products
        size = max(1.0, *(abs(nearest_float(x)) for half in (position, momentum) for x in half.entries))
        digits -= math.ceil(math.log10(4 * table.stages * size))
    return NystromTableau(
        product(position.A, momentum.A),
        product((position.b,), momentum.A)[0],
        momentum.b,
        position.c,
        name=name or f"{table.name} as a Nyström method",
        source=table.source,
        digits=digits,
        is_float=table.is_float,
    )


def nystrom_adjoint(method: NystromTableau) -> NystromTableau:
    """Φ*_h = Φ_{−h}⁻¹: c*_i = 1 − c_k, b*_i = b_k, b̄*_i = b_k − b̄_k, ā*_ij = ā_kl + b_l(1 − c_k) − b̄_l.

    The stages are reversed, k = s + 1 − i, l = s + 1 − j. Solve the step for (y₀, v₀) and write −h for h.
    """
    order = range(method.stages - 1, -1, -1)
    A, b_bar, b, c = method.A_bar, method.b_bar, method.b, method.c
    return NystromTableau(
        [[A[k][j] + b[j] * (1 - c[k]) - b_bar[j] for j in order] for k in order],
        [b[k] - b_bar[k] for k in order],
        [b[k] for k in order],
        [1 - c[k] for k in order],
        name=f"{method.name}, adjoint",
        source=method.source,
        digits=method.digits,
        is_float=method.is_float,
    )


def nystrom_step(
    method: NystromTableau,
    g: Callable[[Value], Value],
    y: Value,
    v: Value,
    h: Any,
    number: Callable[[Any], Any] = nearest_float,
) -> tuple[Value, Value]:
    """(y₁, v₁) from (y₀, v₀) with an explicit method; y, v, h are floats, arrays, tensors, exact numbers.

    g        y ↦ g(y), of the kind of y
    number   what becomes of an exact coefficient before it is multiplied with these; not given: the nearest double

    The abscissae are not asked for times: g(y) is autonomous. Raises ValueError for an implicit method.
    """
    if not method.is_explicit:
        raise ValueError(
            f'Nyström tableau "{method.name}" is implicit: its stages need one another, and are not solved.'
        )
    forces: list[Any] = []
    for c, entries in zip(method.c, method.A_bar, strict=True):
        stage: Any = y + (h * number(c)) * v
        for a, force in zip(entries, forces, strict=False):
            stage = stage + (h * h * number(a)) * force if a != 0 else stage
        forces.append(g(stage))
    position: Any = y + h * v
    velocity: Any = v
    for b_bar, b, force in zip(method.b_bar, method.b, forces, strict=True):
        position = position + (h * h * number(b_bar)) * force
        velocity = velocity + (h * number(b)) * force
    return position, velocity
