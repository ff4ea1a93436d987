"""Everything that is decided about a method, in one fixed order: what a fact sheet of the method would print.

    >>> from odernn import facts, tableaus
    >>> for certificate in facts(tableaus.IMPLICIT_MIDPOINT)[:3]:
    ...     print(certificate)
    Certificate(consistent: yes, exact, Σ bᵢ = 1)
    Certificate(order: yes, exact, Φ([τ,τ]) − 1/3 = -1/12)
    Certificate(stage order: yes, exact, B(2) and C(1): row 1 of Ac − c²/2 = 1/8)

A question that has no meaning for a method is skipped, and ``skipped`` says why. Nothing is computed before it is
asked for: ``decided`` gives one certificate after the other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from odernn.certificate import Certificate
from odernn.exact.text import brief
from odernn.properties import absolute_monotonicity
from odernn.properties.algebraic_stability import BurrageButcher, algebraic_stability
from odernn.properties.consistency import consistency
from odernn.properties.explicitness import diagonal_implicitness, explicitness, separable_explicitness
from odernn.properties.linear_stability import a_stability, i_stability, l_stability, limit_at_infinity
from odernn.properties.nonlinear_stability import an_stability, b_stability, bn_stability
from odernn.properties.order import embedded_order, order
from odernn.properties.principal_error import principal_error
from odernn.properties.reducibility import dj_irreducibility, hs_irreducibility
from odernn.properties.simplifying_assumptions import B, C, D, stage_order
from odernn.properties.stability_function import stability_function
from odernn.properties.stability_intervals import imaginary_stability_interval, real_stability_interval
from odernn.properties.stiff_accuracy import first_same_as_last, stiff_accuracy
from odernn.properties.symmetry import symmetry
from odernn.properties.symplecticity import symplecticity
from odernn.tableaus.families import PolynomialPair
from odernn.tableaus.methods import Method, in_stages, is_exact, resolve
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau

PARTITIONED = "a question about one Runge–Kutta method, and this is a pair: ask about its .position or its .momentum"
SINGLE = "a question about partitioned methods"
NOT_EMBEDDED = "there are no embedded weights b̂"
NO_TABLE = "the coefficients are not written out, and so nothing is embedded"

INERTIA = "inertia of M"


def facts(method: Method) -> tuple[Certificate, ...]:
    """Every property of the method with its evidence, in the order of ``questions()``."""
    return tuple(decided(method))


def decided(method: Method, *properties: str) -> Iterator[Certificate]:
    """One certificate after the other, each decided when it is asked for; of the named properties only, if any."""
    subject = _Method(method)
    for question in _chosen(properties):
        if question.obstacle(subject) is None:
            yield question.ask(subject)


def skipped(method: Method, *properties: str) -> tuple[Skipped, ...]:
    """The questions that ``facts`` does not ask of this method, with the reasons."""
    subject = _Method(method)
    reasons = ((question.property, question.obstacle(subject)) for question in _chosen(properties))
    return tuple(Skipped(name, reason) for name, reason in reasons if reason is not None)


def questions() -> tuple[str, ...]:
    """The names of all questions, in the order of a fact sheet."""
    return tuple(question.property for question in _QUESTIONS)


@dataclass(frozen=True)
class Skipped:
    """A question that was not asked, and why it has no meaning for this method."""

    property: str
    because: str


@dataclass(frozen=True)
class SheetEntry:
    """``ask`` decides; ``obstacle`` says why the question has no meaning for a method, or ``None``."""

    property: str
    ask: Callable[[_Method], Certificate]
    obstacle: Callable[[_Method], str | None]


class _Method:
    """A method as a table of coefficients where it has one, with what several questions share computed once."""

    def __init__(self, method: Method) -> None:
        self.given = method
        self.table = in_stages(resolve(method))

    @property
    def is_partitioned(self) -> bool:
        return isinstance(self.table, PartitionedTableau | PolynomialPair)

    @functools.cached_property
    def algebraic(self) -> Certificate:
        return algebraic_stability(self.table)


def _chosen(properties: tuple[str, ...]) -> tuple[SheetEntry, ...]:
    if not properties:
        return _QUESTIONS
    known = {question.property: question for question in _QUESTIONS}
    unknown = [name for name in properties if name not in known]
    if unknown:
        raise ValueError(f'No property is called "{unknown[0]}". There are: {", ".join(known)}.')
    return tuple(known[name] for name in properties)


# The questions that are answered by the evidence of others.


def _stability_function(subject: _Method) -> Certificate:
    R = stability_function(subject.table)
    return Certificate("R(z)", True, is_exact(subject.table), None, f"R(z) = {R}", value=R)


def _inertia(subject: _Method) -> Certificate:
    """The inertia of M as ``value``; ``holds`` says whether M ≥ 0, whatever the weights are."""
    evidence = subject.algebraic.value
    assert isinstance(evidence, BurrageButcher)
    text = "M = 0"
    if not evidence.is_zero:
        where = "" if evidence.basis == "stages" else " in the basis 1, x, …"
        text = f"pivots {', '.join(map(brief, evidence.pivots))}{where}"
    violation = evidence.diagonalisation.violation
    witness = None if violation is None else violation[0]
    if not is_exact(subject.table):
        text += ", for the coefficients as printed"
        return Certificate(INERTIA, None, False, witness, text, value=evidence.inertia)
    return Certificate(INERTIA, violation is None, True, witness, text, value=evidence.inertia)


def _separable(decide: Callable[..., Certificate], name: str) -> Callable[[_Method], Certificate]:
    return lambda subject: replace(decide(subject.table, separable=True), property=name)


# What is asked, and of whom.


def _any(subject: _Method) -> str | None:
    return None


def _one(subject: _Method) -> str | None:
    return PARTITIONED if subject.is_partitioned else None


def _pair(subject: _Method) -> str | None:
    return None if subject.is_partitioned else SINGLE


def _with_embedded(subject: _Method) -> str | None:
    if subject.is_partitioned:
        return PARTITIONED
    if not isinstance(subject.table, ButcherTableau):
        return NO_TABLE
    return NOT_EMBEDDED if subject.table.b_hat is None else None


def _of_table(decide: Callable[..., Certificate]) -> Callable[[_Method], Certificate]:
    return lambda subject: decide(subject.table)


def _named(decide: Callable[..., Certificate], name: str) -> Callable[[_Method], Certificate]:
    return lambda subject: replace(decide(subject.table), property=name)


_QUESTIONS = (
    SheetEntry("consistent", _of_table(consistency), _any),
    SheetEntry("order", _of_table(order), _any),
    SheetEntry("order on separable systems", _separable(order, "order on separable systems"), _pair),
    SheetEntry("stage order", _of_table(stage_order), _one),
    SheetEntry("B(p)", _named(B, "B(p)"), _one),
    SheetEntry("C(q)", _named(C, "C(q)"), _one),
    SheetEntry("D(r)", _named(D, "D(r)"), _one),
    SheetEntry("embedded order", _of_table(embedded_order), _with_embedded),
    SheetEntry("explicit", _of_table(explicitness), _one),
    SheetEntry("explicit on separable systems", _of_table(separable_explicitness), _pair),
    SheetEntry("diagonally implicit", _of_table(diagonal_implicitness), _one),
    SheetEntry("first same as last", _named(first_same_as_last, "first same as last"), _one),
    SheetEntry("stiffly accurate", _of_table(stiff_accuracy), _one),
    SheetEntry("R(z)", _stability_function, _one),
    SheetEntry("|R(∞)| ≤ 1", _of_table(limit_at_infinity), _one),
    SheetEntry("A-stable", _of_table(a_stability), _one),
    SheetEntry("I-stable", _of_table(i_stability), _one),
    SheetEntry("L-stable", _of_table(l_stability), _one),
    SheetEntry("imaginary stability interval", _of_table(imaginary_stability_interval), _one),
    SheetEntry("real stability interval", _of_table(real_stability_interval), _one),
    SheetEntry(absolute_monotonicity.PROPERTY, _of_table(absolute_monotonicity.radius_of_absolute_monotonicity), _one),
    SheetEntry(INERTIA, _inertia, _one),
    SheetEntry("algebraically stable", lambda subject: subject.algebraic, _one),
    SheetEntry("AN-stable", _of_table(an_stability), _one),
    SheetEntry("BN-stable", _of_table(bn_stability), _one),
    SheetEntry("B-stable", _of_table(b_stability), _one),
    SheetEntry("DJ-irreducible", _of_table(dj_irreducibility), _one),
    SheetEntry("HS-irreducible", _of_table(hs_irreducibility), _one),
    SheetEntry("symplectic", _of_table(symplecticity), _any),
    SheetEntry("symplectic on separable systems", _separable(symplecticity, "symplectic on separable systems"), _pair),
    SheetEntry("symmetric", _of_table(symmetry), _any),
    SheetEntry("principal error", _of_table(principal_error), _one),
)
"""In the order of a fact sheet."""
