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
from odernn.exact.coefficients import subscript
from odernn.exact.text import brief, equals
from odernn.properties import absolute_monotonicity
from odernn.properties.algebraic_stability import (
    BurrageButcher,
    algebraic_stability,
    an_stability,
    b_stability,
    bn_stability,
    possible_classes,
)
from odernn.properties.linear_stability import (
    a_stability,
    i_stability,
    imaginary_stability_interval,
    l_stability,
    limit_at_infinity,
    real_stability_interval,
    stability_function,
)
from odernn.properties.order import embedded_order, first_same_as_last, order, principal_error, stiff_accuracy
from odernn.properties.reducibility import Reduction, dj_reduction, hs_reduction, near_stages
from odernn.properties.simplifying_assumptions import B, C, D, stage_order
from odernn.properties.symmetry import symmetry
from odernn.properties.symplecticity import symplecticity
from odernn.tableaus.families import PolynomialPair, PolynomialTableau
from odernn.tableaus.methods import Method, about_given, forms_of, in_stages, is_exact, resolve, roundings
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau

PARTITIONED = "a question about one Runge–Kutta method, and this is a pair: ask about its .position or its .momentum"
SINGLE = "a question about partitioned methods"
NOT_EMBEDDED = "there are no embedded weights b̂"
NO_TABLE = "the coefficients are not written out, and so nothing is embedded"

INERTIA = "inertia of M"

BITS = 128
"""Working precision where a zero above the diagonal is excluded by enclosures."""


@dataclass(frozen=True)
class Skipped:
    """A question that was not asked, and why it has no meaning for this method."""

    property: str
    because: str


@dataclass(frozen=True)
class Question:
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


def _chosen(properties: tuple[str, ...]) -> tuple[Question, ...]:
    if not properties:
        return _QUESTIONS
    known = {question.property: question for question in _QUESTIONS}
    unknown = [name for name in properties if name not in known]
    if unknown:
        raise ValueError(f'No property is called "{unknown[0]}". There are: {", ".join(known)}.')
    return tuple(known[name] for name in properties)


# The decisions that have no module of their own.


def _consistency(subject: _Method) -> Certificate:
    """Σ b_i = 1; for rounded coefficients as far as they tell."""
    forms = forms_of(subject.table)
    sums = [form.weigh(form.one) for form in forms]
    wrong = next(((k, value) for k, value in enumerate(sums) if value != 1), None)
    letters = ("b",) if len(sums) == 1 else ("b", "b̂")
    holds: bool | None = wrong is None
    because = " = ".join(f"Σ {letter}ᵢ" for letter in letters) + " = 1"
    exact, margin = is_exact(subject.table), None
    if wrong is not None:
        because = f"Σ {letters[wrong[0]]}ᵢ {equals(wrong[1])}"
    if not exact:
        margin = max(abs(float(value - 1)) for value in sums)
        holds = None if subject.table.is_consistent else False
        because = f"Σ bᵢ = 1 to {margin:.1g}, which rounding explains" if holds is None else because
    return Certificate("consistent", holds, exact or holds is False, None, because, margin=margin)


def _triangular(subject: _Method, name: str, above: int) -> Certificate:
    """Whether a_ij = 0 for j ≥ i + above. ``witness`` is (i, j) of a violation, counted from 1."""
    relation = "≥" if above == 0 else ">"
    table = subject.table
    if isinstance(table, PolynomialTableau):
        found, shown = _excluded_zero(table, above)
        if found is None:
            return Certificate(name, None, False, None, f"a_ij is within 2^-{BITS} of 0 for j {relation} i")
        return Certificate(name, False, True, found, f"a{subscript(*found)} ≈ {shown}")
    A, stages = forms_of(table)[0].operator, forms_of(table)[0].dimension
    place = next(((i, j) for i in range(stages) for j in range(i + above, stages) if A[i][j] != 0), None)
    if place is None:
        return about_given(table, Certificate(name, True, True, None, f"a_ij = 0 for j {relation} i"))
    i, j = place
    text = f"a{subscript(i + 1, j + 1)} {equals(A[i][j])}"
    certificate = Certificate(name, False, True, (i + 1, j + 1), text)
    if not isinstance(table, ButcherTableau) or is_exact(table):
        return certificate
    errors = roundings(table)[0]
    if any(abs(A[i][j]) > errors[i][j] for i in range(stages) for j in range(i + above, stages)):
        return certificate
    return replace(certificate, holds=None, exact=False, because=f"{text}, but the coefficients are rounded")


def _excluded_zero(table: PolynomialTableau, above: int) -> tuple[tuple[int, int] | None, str]:
    """A place on or above the diagonal whose enclosure does not hold 0."""
    A = table.enclosures(BITS).A
    for i in range(table.stages):
        for j in range(i + above, table.stages):
            if not A[i][j].contains(0):
                return (i + 1, j + 1), A[i][j].str(6, radius=False)
    return None, ""


def _separably_explicit(subject: _Method) -> Certificate:
    """Whether the stages of y' = f(z), z' = g(y) can be computed one by one."""
    name = "explicit on separable systems"
    table = subject.table
    if isinstance(table, PolynomialPair):
        return Certificate(name, None, False, None, "the coefficients are not written out")
    sequence = table.separable_order()
    if sequence is None:
        return Certificate(name, False, True, None, "the stages need one another in a circle")
    written = ", ".join(f"{'Y' if kind == 'y' else 'Z'}{subscript(i + 1)}" for kind, i in sequence)
    return about_given(table, Certificate(name, True, True, sequence, f"in the order {written}"))


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


def _irreducible(name: str, reduce: Callable[[Method], Reduction], sound: str) -> Callable[[_Method], Certificate]:
    def ask(subject: _Method) -> Certificate:
        found = reduce(subject.table)
        text = sound if found.is_trivial else str(found)
        witness = None if found.is_trivial else found
        certificate = Certificate(name, found.is_trivial, True, witness, text)
        if is_exact(subject.table):
            return certificate
        if not found.is_trivial and reduce is dj_reduction:  # rests on zeros alone, and a printed 0 is meant to be 0
            return certificate
        near = possible_classes(resolve(subject.table)) if reduce is hs_reduction else []
        if near_stages(near):
            return replace(certificate, holds=None, exact=False, because=near_stages(near))
        return about_given(subject.table, certificate)

    return ask


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
    Question("consistent", _consistency, _any),
    Question("order", _of_table(order), _any),
    Question("order on separable systems", _separable(order, "order on separable systems"), _pair),
    Question("stage order", _of_table(stage_order), _one),
    Question("B(p)", _named(B, "B(p)"), _one),
    Question("C(q)", _named(C, "C(q)"), _one),
    Question("D(r)", _named(D, "D(r)"), _one),
    Question("embedded order", _of_table(embedded_order), _with_embedded),
    Question("explicit", lambda subject: _triangular(subject, "explicit", 0), _one),
    Question("explicit on separable systems", _separably_explicit, _pair),
    Question("diagonally implicit", lambda subject: _triangular(subject, "diagonally implicit", 1), _one),
    Question("first same as last", _named(first_same_as_last, "first same as last"), _one),
    Question("stiffly accurate", _of_table(stiff_accuracy), _one),
    Question("R(z)", _stability_function, _one),
    Question("|R(∞)| ≤ 1", _of_table(limit_at_infinity), _one),
    Question("A-stable", _of_table(a_stability), _one),
    Question("I-stable", _of_table(i_stability), _one),
    Question("L-stable", _of_table(l_stability), _one),
    Question("imaginary stability interval", _of_table(imaginary_stability_interval), _one),
    Question("real stability interval", _of_table(real_stability_interval), _one),
    Question(absolute_monotonicity.PROPERTY, _of_table(absolute_monotonicity.radius_of_absolute_monotonicity), _one),
    Question(INERTIA, _inertia, _one),
    Question("algebraically stable", lambda subject: subject.algebraic, _one),
    Question("AN-stable", _of_table(an_stability), _one),
    Question("BN-stable", _of_table(bn_stability), _one),
    Question("B-stable", _of_table(b_stability), _one),
    Question("DJ-irreducible", _irreducible("DJ-irreducible", dj_reduction, "every stage is used"), _one),
    Question("HS-irreducible", _irreducible("HS-irreducible", hs_reduction, "no two stages are equal"), _one),
    Question("symplectic", _of_table(symplecticity), _any),
    Question("symplectic on separable systems", _separable(symplecticity, "symplectic on separable systems"), _pair),
    Question("symmetric", _of_table(symmetry), _any),
    Question("principal error", _of_table(principal_error), _one),
)
"""In the order of a fact sheet."""
