"""Nonlinear stability, decided exactly: which methods never push two solutions of a monotone problem apart.

    M = BA + AᵀB − bbᵀ,   B = diag(b),   m_ij = b_i a_ij + b_j a_ji − b_i b_j

*Algebraically stable*: b_i ≥ 0 for all i and M ≥ 0, for the tableau **as given** (Burrage, Butcher 1979; Crouzeix
1979). *B-stable*: ‖y₁ − ŷ₁‖ ≤ ‖y₀ − ŷ₀‖ for all autonomous y' = f(y) with (f(y) − f(z))ᵀ(y − z) ≤ 0. *BN-stable*: the
same with f(t, y). *AN-stable*: |y₁| ≤ |y₀| for all y' = λ(t)y with Re λ ≤ 0. Which facts are used:

    algebraically stable ⇒ BN-stable ⇒ B-stable and AN-stable      Burrage, Butcher 1979; Crouzeix 1979
    S-irreducible and B-stable ⇒ algebraically stable              Hundsdorfer, Spijker 1981
    c_i distinct and AN-stable ⇒ algebraically stable              Burrage, Butcher 1979

(Hairer, Wanner 1996, Section IV.12.) A method is B-stable iff it is after merging equal stages
(the numerical solution, whose equal stages are equal, is the same), so B-stability is algebraic stability of the
S-reduced method. Here c = A·1, so equal stages have equal c_i and BN-stability is the same question. Unused stages
(DJ) have zero rows in M and zero weights: leaving them out never changes the verdict. That each "no" is true is shown
without any theorem, by a problem: ``odernn.properties.unstable_problems``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact.algebraic import sign
from odernn.exact.coefficients import subscript, total
from odernn.exact.linear_algebra import (
    Diagonalisation,
    Inertia,
    Rows,
    Vector,
    diagonalise,
    entrywise,
    outer,
    product,
    transposed,
)
from odernn.exact.text import brief, equals
from odernn.properties.reducibility import hs_reduction, near_stages, possibly_equal_stages
from odernn.properties.unstable_problems import an_problem, unstable_problem
from odernn.tableaus.methods import AS_PRINTED, Method, about_given, form_of, in_stages, is_exact, resolve, roundings
from odernn.tableaus.stages import StageForm
from odernn.tableaus.tableau import ButcherTableau

PROPERTY = "algebraically stable"
WHY = "Burrage, Butcher 1979; Crouzeix 1979"
WHY_NOT = "Hundsdorfer, Spijker 1981"


@dataclass(frozen=True)
class BurrageButcher:
    """The evidence: the matrix M, and both M and diag(b) made diagonal by congruence.

    ``basis`` says in which basis of the stage space M is written: "stages", or "1, x, …" (polynomials in the
    abscissae).
    """

    matrix: Rows
    diagonalisation: Diagonalisation
    weights: Diagonalisation
    basis: str

    @property
    def inertia(self) -> Inertia:
        """Numbers of positive, negative, zero eigenvalues of M; they do not depend on the basis."""
        return self.diagonalisation.inertia

    @property
    def pivots(self) -> Vector:
        return self.diagonalisation.pivots

    @property
    def is_zero(self) -> bool:
        return all(entry == 0 for row in self.matrix for entry in row)


def burrage_butcher(method: Method) -> Rows:
    """M, in the basis of stages of a tableau, else in that of the form."""
    form = form_of(method)
    GA = product(form.gram, form.operator)
    return entrywise(lambda x, y, z: x + y - z, GA, transposed(GA), outer(form.weights, form.weights))


def algebraic_stability(method: Method) -> Certificate:
    """Whether b_i ≥ 0 and M ≥ 0 for the method as it is given; ``value`` is the ``BurrageButcher`` evidence.

    ``witness`` of a "no": v with vᵀMv < 0, or the stage (from 1) with b_i < 0, or for polynomials u with Σ b_i
    u(c_i)² < 0. A "no" about rounded coefficients stands only if it holds for all numbers that round to them;
    a "yes" is about the numbers as they are given, says so, and is not ``exact``.
    """
    method = in_stages(method)
    certificate = _as_given(method)
    if certificate.holds is not False:
        return certificate
    merged = hs_reduction(method)
    if not merged.is_trivial:
        words = {True: "algebraically stable", False: "not so either", None: "undecided"}
        verdict = words[_as_given(merged.method).holds]
        return _with_remark(certificate, f"; after merging equal stages ({merged}): {verdict}")
    return certificate


def _as_given(method: Method) -> Certificate:
    form = form_of(method)
    M = burrage_butcher(form)
    basis = "stages" if form.modulus is None else "1, x, …"
    evidence = BurrageButcher(M, diagonalise(M), diagonalise(form.gram), basis)
    refusals = [r for r in (_negative_weight(method, form, evidence), _violation(method, evidence)) if r is not None]
    if refusals:
        return min(refusals, key=lambda certificate: certificate.holds is None)  # a certain one, if there is one
    where = "" if basis == "stages" or evidence.is_zero else " in the basis 1, x, …"
    text = "M = 0" if evidence.is_zero else f"pivots {', '.join(map(brief, evidence.pivots))}{where}"
    return about_given(method, Certificate(PROPERTY, True, True, None, text, value=evidence))


def _negative_weight(method: Method, form: StageForm, evidence: BurrageButcher) -> Certificate | None:
    violation = evidence.weights.violation
    if violation is None:
        return None
    u, value = violation
    if form.modulus is not None:
        text = f"u = {_vector(u)} in the basis 1, x, …: Σ bᵢ u(cᵢ)² {equals(value)}"
        return Certificate(PROPERTY, False, True, u, text, value=evidence)
    i = next(i for i, weight in enumerate(form.weights) if sign(weight) < 0)
    tableau = resolve(method)
    slack = roundings(tableau)[1][i] if isinstance(tableau, ButcherTableau) else fmpq(0)
    text = f"b{subscript(i + 1)} {equals(form.weights[i])} < 0"
    return _decided(Certificate(PROPERTY, False, True, i + 1, text, value=evidence), form.weights[i], slack)


def _violation(method: Method, evidence: BurrageButcher) -> Certificate | None:
    violation = evidence.diagonalisation.violation
    if violation is None:
        return None
    v, value = violation
    where = "" if evidence.basis == "stages" else " in the basis 1, x, …"
    text = f"v = {_vector(v)}{where}: vᵀMv {equals(value)}"
    return _decided(Certificate(PROPERTY, False, True, v, text, value=evidence), value, _form_slack(method, v))


def _decided(certificate: Certificate, value: Any, slack: Any) -> Certificate:
    """The "no" if the negative ``value`` stays negative when it is off by ``slack``, else undecided."""
    if sign(value + slack) < 0:
        return certificate
    text = f"{certificate.because}, but the coefficients are rounded: it may be off by {float(slack):.1g}"
    return Certificate(PROPERTY, None, False, certificate.witness, text, margin=value, value=certificate.value)


def _form_slack(method: Method, v: Vector) -> Any:
    """How far vᵀMv may be off because coefficients are rounded; 0 if they are exact."""
    tableau = resolve(method)
    if not isinstance(tableau, ButcherTableau) or tableau.is_exact:
        return fmpq(0)
    dA, db = roundings(tableau)
    A, b, stages = tableau.A, tableau.b, range(tableau.stages)

    def off(x: Any, dx: Any, y: Any, dy: Any) -> Any:
        """|(x ± dx)(y ± dy) − xy|."""
        return abs(x) * dy + abs(y) * dx + dx * dy

    return total(
        abs(v[i] * v[j]) * (2 * off(b[i], db[i], A[i][j], dA[i][j]) + off(b[i], db[i], b[j], db[j]))
        for i in stages
        for j in stages
    )


def _vector(v: Vector) -> str:
    return f"({', '.join(map(brief, v))})"


def _with_remark(certificate: Certificate, remark: str) -> Certificate:
    return Certificate(
        certificate.property,
        certificate.holds,
        certificate.exact,
        certificate.witness,
        certificate.because + remark,
        certificate.margin,
        certificate.value,
    )


def b_stability(method: Method) -> Certificate:
    """Whether the method is B-stable: algebraic stability after merging equal stages.

    ``witness`` of a "no" is an explicit monotone problem with two numerical solutions that move apart.
    """
    return _on_reduced(method, "B-stable")


def bn_stability(method: Method) -> Certificate:
    """Whether the method is BN-stable; with c = A·1 the same question as B-stability, see the head of this file."""
    return _on_reduced(method, "BN-stable")


def _on_reduced(method: Method, property_: str) -> Certificate:
    method = in_stages(method)
    merged = hs_reduction(method)
    verdict = _as_given(merged.method)
    remark = "" if merged.is_trivial else f" after merging equal stages ({merged})"
    if verdict.holds:
        text = f"{verdict.because.removesuffix(AS_PRINTED)}{remark}: {WHY}"
        return about_given(method, Certificate(property_, True, True, None, text, value=verdict.value))
    if verdict.holds is None:
        return Certificate(
            property_, None, False, verdict.witness, f"{verdict.because}{remark}", verdict.margin, verdict.value
        )
    if not is_exact(method):
        classes = possible_classes(method)
        if not _certainly_violated(method, classes):
            return _open(replace(verdict, property=property_, because=verdict.because + remark), classes)
    problem = unstable_problem(merged.method, verdict.value.weights, verdict.value.diagonalisation)
    because = f"{verdict.because}{remark}: {WHY_NOT if problem is None else problem}"
    because += "" if is_exact(method) else AS_PRINTED
    return Certificate(property_, False, True, problem or verdict.witness, because, value=verdict.value)


def an_stability(method: Method) -> Certificate:
    """Whether |y₁| ≤ |y₀| for every y' = λ(t) y with Re λ ≤ 0, where stages with equal c_i see the same λ.

    Algebraic stability after merging equal stages suffices, and with distinct c_i is necessary. Where c_i coincide, M
    and b are tried on the vectors that are constant where c is; undecided if both are fine there.
    """
    method = in_stages(method)
    merged = hs_reduction(method)
    verdict = _as_given(merged.method)
    if verdict.holds is not False:
        text = f"{verdict.because.removesuffix(AS_PRINTED)}: {WHY}"
        return about_given(method, replace(verdict, property="AN-stable", because=text))
    if not is_exact(method):
        classes = possible_classes(method, abscissae_only=True)
        if not _certainly_violated(method, classes):
            return _open(replace(verdict, property="AN-stable"), classes)
    problem = an_problem(merged.method)
    if problem is None:
        text = f"{verdict.because}, but stages with different values of v share an abscissa"
        return Certificate("AN-stable", None, False, verdict.witness, text, value=verdict.value)
    because = str(problem) + ("" if is_exact(method) else AS_PRINTED)
    return Certificate("AN-stable", False, True, problem, because, value=verdict.value)


# A "no" after merging equal stages, about rounded coefficients. Stages that differ by no more than the roundings may be
# equal in the method that is meant; then only vectors that are constant on them count. A violation on a vector that is
# constant on all stages that may be equal counts for every method that may be meant, if roundings do not explain it.


def possible_classes(tableau: ButcherTableau, *, abscissae_only: bool = False) -> list[list[int]]:
    """Classes (from 0) that hold all stages which may be equal, or with ``abscissae_only`` have the same c_i."""
    A, errors = tableau.A, roundings(tableau)[0]
    if abscissae_only:
        A, errors = (tuple((total(row), *[fmpq(0)] * (len(row) - 1)) for row in rows) for rows in (A, errors))
    return possibly_equal_stages([A], [errors])


def _certainly_violated(tableau: ButcherTableau, classes: Sequence[Sequence[int]]) -> bool:
    """Whether a sum of weights or a form vᵀMv, constant on the classes, is negative whatever numbers are meant."""
    errors = roundings(tableau)[1]
    if any(sign(total(tableau.b[i] + errors[i] for i in members)) < 0 for members in classes):
        return True
    M = burrage_butcher(tableau)
    merged = tuple(tuple(total(M[i][j] for i in rows for j in columns) for columns in classes) for rows in classes)
    violation = diagonalise(merged).violation
    if violation is None:
        return False
    v, value = violation
    class_of = {i: k for k, members in enumerate(classes) for i in members}
    lifted = tuple(v[class_of[i]] for i in range(tableau.stages))
    return bool(sign(value + _form_slack(tableau, lifted)) < 0)


def _open(certificate: Certificate, classes: Sequence[Sequence[int]]) -> Certificate:
    """The "no" as an open question; ``margin`` is how negative the form or weight is with stages kept apart."""
    evidence = certificate.value
    violation = evidence.weights.violation or evidence.diagonalisation.violation
    text = f"{certificate.because}, but {near_stages(classes) or 'the coefficients are rounded'}"
    margin = None if violation is None else violation[1]
    return replace(certificate, holds=None, exact=False, because=text, margin=margin)
