"""Which stages can be computed one after the other: explicit and diagonally implicit methods, decided exactly.

    explicit: a_ij = 0 for j ≥ i;      diagonally implicit: a_ij = 0 for j > i

Hairer, Nørsett, Wanner 1993, Section II.7, for the stages in the order in which they are written. A pair is explicit on
separable systems if no stage needs itself in a circle.
"""

from __future__ import annotations

from dataclasses import replace

from odernn.certificate import Certificate
from odernn.exact.coefficients import subscript
from odernn.exact.text import equals
from odernn.tableaus.families import PolynomialPair, PolynomialTableau
from odernn.tableaus.methods import Method, about_given, forms_of, in_stages, is_exact, roundings
from odernn.tableaus.tableau import ButcherTableau

BITS = 128
"""Working precision where a zero above the diagonal is excluded by enclosures."""


def places_above(stages: int, above: int) -> list[tuple[int, int]]:
    """(i, j) with j ≥ i + above, from 0: where A of an explicit (0) or diagonally implicit (1) method is 0."""
    return [(i, j) for i in range(stages) for j in range(i + above, stages)]


def explicitness(method: Method) -> Certificate:
    """Whether a_ij = 0 for j ≥ i. ``witness`` is (i, j) of a violation, counted from 1."""
    return _triangular(method, "explicit", 0)


def diagonal_implicitness(method: Method) -> Certificate:
    """Whether a_ij = 0 for j > i. ``witness`` is (i, j) of a violation, counted from 1."""
    return _triangular(method, "diagonally implicit", 1)


def separable_explicitness(method: Method) -> Certificate:
    """Whether the stages of y' = f(z), z' = g(y) can be computed one by one."""
    name = "explicit on separable systems"
    table = in_stages(method)
    if isinstance(table, PolynomialPair):
        return Certificate(name, None, False, None, "the coefficients are not written out")
    sequence = table.separable_order()
    if sequence is None:
        return Certificate(name, False, True, None, "the stages need one another in a circle")
    written = ", ".join(f"{'Y' if kind == 'y' else 'Z'}{subscript(i + 1)}" for kind, i in sequence)
    return about_given(table, Certificate(name, True, True, sequence, f"in the order {written}"))


def _triangular(method: Method, name: str, above: int) -> Certificate:
    """Whether a_ij = 0 for j ≥ i + above. ``witness`` is (i, j) of a violation, counted from 1."""
    relation = "≥" if above == 0 else ">"
    table = in_stages(method)
    if isinstance(table, PolynomialTableau):
        violation, shown = _excluded_zero(table, above)
        if violation is None:
            return Certificate(name, None, False, None, f"a_ij is within 2^-{BITS} of 0 for j {relation} i")
        return Certificate(name, False, True, violation, f"a{subscript(*violation)} ≈ {shown}")
    A, stages = forms_of(table)[0].operator, forms_of(table)[0].dimension
    place = next((place for place in places_above(stages, above) if A[place[0]][place[1]] != 0), None)
    if place is None:
        return about_given(table, Certificate(name, True, True, None, f"a_ij = 0 for j {relation} i"))
    i, j = place
    text = f"a{subscript(i + 1, j + 1)} {equals(A[i][j])}"
    certificate = Certificate(name, False, True, (i + 1, j + 1), text)
    if not isinstance(table, ButcherTableau) or is_exact(table):
        return certificate
    errors = roundings(table)[0]
    if any(abs(A[i][j]) > errors[i][j] for i, j in places_above(stages, above)):
        return certificate
    return replace(certificate, holds=None, exact=False, because=f"{text}, but the coefficients are rounded")


def _excluded_zero(table: PolynomialTableau, above: int) -> tuple[tuple[int, int] | None, str]:
    """A place on or above the diagonal whose enclosure does not hold 0."""
    A = table.enclosures(BITS).A
    for i, j in places_above(table.stages, above):
        if not A[i][j].contains(0):
            return (i + 1, j + 1), A[i][j].str(6, radius=False)
    return None, ""
