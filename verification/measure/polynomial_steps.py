"""What one explicit step does to polynomials: its degree, exactly, and the first-order form of a recurrence of order t.

    k_i = f(y + η Σ_{j<i} a_ij k_j),     y₊ = y + η Σ b_i k_i,     f a polynomial of degree q

*Theorem (thm-deg).* If the longest chain of stages i_1, i_2, … with a_{i_{r+1} i_r} ≠ 0 that ends in a stage with
b_i ≠ 0 has n members and q ≥ 2, y₊ has at most the degree qⁿ in y, and has it if no leading terms cancel; if there is
one such chain, none can. On linear fields it has at most the degree 1. Proof: docs/derivations/matrix_coefficients.md,
mc-11.
Niu, Chuang, Horesh 2019, Definition 1, calls n stages an order of nonlinearity instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from flint import fmpq, fmpq_poly

from odernn.tableaus.tableau import ButcherTableau

__all__ = ["companion", "explicit_step", "nested_stages", "step_degree"]

State: TypeAlias = tuple[Any, ...]


def nested_stages(tableau: ButcherTableau) -> int:
    """n, the length of the longest chain of stages that ends in one with b_i ≠ 0; 0 if all b_i are 0.

    Raises ValueError for a method that is not explicit, whose stages are no polynomials.
    """
    lengths: list[int] = []
    for i, row in enumerate(_explicit(tableau)):
        lengths.append(1 + max((lengths[j] for j in range(i) if row[j] != 0), default=0))
    return max((n for n, weight in zip(lengths, tableau.b, strict=True) if weight != 0), default=0)


def step_degree(tableau: ButcherTableau, degree: int) -> int:
    """The degree in y of y₊ for fields of the given degree q, if no leading terms cancel: qⁿ for q ≥ 2, 1 for q ≤ 1.

    Raises ValueError for a method that is not explicit, and for a negative degree.
    """
    if degree < 0:
        raise ValueError(f"degree is {degree}, but a polynomial field has a degree q ≥ 0. Give that.")
    n = nested_stages(tableau)
    return 1 if degree <= 1 else max(1, degree**n if n else 1)


def explicit_step(tableau: ButcherTableau, field: fmpq_poly, step: fmpq | int = 1) -> fmpq_poly:
    """y₊ as a polynomial in y: exact. Rational coefficients only.

    >>> from flint import fmpq_poly
    >>> from odernn import tableaus
    >>> explicit_step(tableaus.EXPLICIT_MIDPOINT, fmpq_poly([0, 0, 1])).degree()
    4

    Raises ValueError for a method that is not explicit or not rational.
    """
    rows = _explicit(tableau)
    if not all(isinstance(x, fmpq) for row in (*rows, tableau.b) for x in row):
        raise ValueError(f'"{tableau.name}" has irrational coefficients. Choose a method with rational ones.')
    y, slopes = fmpq_poly([0, 1]), list[fmpq_poly]()
    for i, row in enumerate(rows):
        slopes.append(field(_moved(y, row[:i], slopes, step)))
    return _moved(y, tableau.b, slopes, step)


def companion(recurrence: Callable[..., Any], order: int) -> Callable[[State], State]:
    """x_{l+1} = F(x_l, …, x_{l−t+1}) as a first-order map of (x_l, …, x_{l−t+1}): F first, then a shift.

    Raises ValueError if the order t is not positive.
    """
    if order < 1:
        raise ValueError(f"order is {order}, but a recurrence looks at t ≥ 1 earlier values. Give a positive order.")

    def step(state: State) -> State:
        if len(state) != order:
            raise ValueError(
                f"the state has {len(state)} values, but the recurrence has the order {order}. Give these."
            )
        return (recurrence(*state), *state[:-1])

    return step


def _moved(y: fmpq_poly, weights: Sequence[Any], slopes: Sequence[fmpq_poly], step: fmpq | int) -> fmpq_poly:
    for weight, slope in zip(weights, slopes, strict=True):
        y = y + step * weight * slope
    return y


def _explicit(tableau: ButcherTableau) -> tuple[tuple[Any, ...], ...]:
    """The rows of A, strictly lower triangular."""
    for i, row in enumerate(tableau.A):
        if any(x != 0 for x in row[i:]):
            raise ValueError(
                f'"{tableau.name}" is not explicit: row {i + 1} of A has an entry on or right of the diagonal, so its '
                "stages are no polynomials. Choose an explicit method."
            )
    rows: tuple[tuple[Any, ...], ...] = tableau.A
    return rows
