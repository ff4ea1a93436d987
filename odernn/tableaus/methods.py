"""What the exact decisions ask of a method: its linear algebra, its name, and how far its coefficients may be off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact import coefficients
from odernn.exact.linear_algebra import Rows
from odernn.tableaus.families import PolynomialPair, PolynomialTableau
from odernn.tableaus.stages import StageForm, stagewise
from odernn.tableaus.tableau import FLOAT_ULPS, ButcherTableau, Composition, PartitionedTableau

Method: TypeAlias = Any
"""ButcherTableau, PartitionedTableau, PolynomialTableau, PolynomialPair, Composition or StageForm."""

AS_PRINTED = ", for the coefficients as printed"
"""Ends the evidence of a "yes" about rounded coefficients: it is about the numbers as given, and never ``exact``."""
MOST_STAGES_IN_A_QUADRATIC_FIELD = 5  # Lobatto 5; Gauss and Radau end at 3


def resolve(method: Method) -> Method:
    """The method itself, a composition as its equivalent tableau."""
    return method.tableau if isinstance(method, Composition) else method


def form_of(method: Method) -> StageForm:
    """The linear algebra of one Runge–Kutta method. Raises TypeError for a partitioned one, which has two."""
    forms = forms_of(method)
    if len(forms) != 1:
        raise TypeError(
            f"{method!r} is a partitioned method, and this question is about one Runge–Kutta method. "
            "Ask about .position or .momentum."
        )
    return forms[0]


def forms_of(method: Method) -> tuple[StageForm, ...]:
    """One form, or (position, momentum) of a partitioned method, both in the same basis."""
    method = resolve(method)
    if isinstance(method, StageForm):
        return (method,)
    if isinstance(method, PartitionedTableau | PolynomialPair):
        return tuple(method.forms)
    if isinstance(method, ButcherTableau | PolynomialTableau):
        return (method.form,)
    raise TypeError(f"{method!r} of type {type(method).__name__} is no Runge–Kutta method. Give a tableau.")


def in_stages(method: Method) -> Method:
    """The method as a table of coefficients where it has one in a quadratic field, else as it is."""
    method = resolve(method)
    if isinstance(method, PolynomialTableau | PolynomialPair) and method.stages <= MOST_STAGES_IN_A_QUADRATIC_FIELD:
        try:
            return method.butcher()
        except ValueError:  # the abscissae lie in no quadratic field
            return method
    return method


def is_exact(method: Method) -> bool:
    """Whether the coefficients are the numbers meant, not roundings of them."""
    return bool(getattr(resolve(method), "is_exact", True))


def roundings(tableau: ButcherTableau) -> tuple[Rows, tuple[Any, ...]]:
    """How far each entry of A and b may be off the number meant; a printed 0 is meant to be 0."""
    return tuple(tuple(_rounding(tableau, a) for a in row) for row in tableau.A), tuple(
        _rounding(tableau, weight) for weight in tableau.b
    )


def _rounding(tableau: ButcherTableau, entry: Any) -> Any:
    if entry == 0 or tableau.is_exact:
        return fmpq(0)
    if tableau.digits is not None:
        return fmpq(1, 10**tableau.digits)  # a whole unit: some sources truncate
    return abs(entry) * fmpq(FLOAT_ULPS, 2**52)


def about_given(method: Method, certificate: Certificate) -> Certificate:
    """A "yes" as it is said of rounded coefficients: about the numbers as given, and not exact."""
    if is_exact(method) or certificate.holds is not True:
        return certificate
    because = certificate.because.removesuffix(AS_PRINTED) + AS_PRINTED
    return replace(certificate, exact=False, because=because)


def in_one_field(*forms: StageForm) -> tuple[StageForm, ...]:
    """The same forms with the irrational numbers of all of them in one field, so that they may meet.

    Equal numbers of different fields do not compare equal. Forms modulo a polynomial are rational, and stay.
    """
    tables = [form for form in forms if form.modulus is None]
    rows = coefficients.in_one_field(*(row for form in tables for row in (*form.operator, form.weights)))
    remaining = iter(rows)
    unified = []
    for form in forms:
        if form.modulus is None:
            *operator, weights = (next(remaining) for _ in range(form.dimension + 1))
            form = stagewise(operator, weights)
        unified.append(form)
    return tuple(unified)


def direct_sum(first: StageForm, second: StageForm) -> StageForm:
    """Both methods side by side as one of stages, with the difference of their weights. Only in the basis of stages."""
    zeros_right, zeros_left = (fmpq(0),) * second.dimension, (fmpq(0),) * first.dimension
    rows = [row + zeros_right for row in first.operator] + [zeros_left + row for row in second.operator]
    return stagewise(rows, first.weights + tuple(-weight for weight in second.weights))
