"""Nonlinear stability, decided exactly: which methods never push two solutions of a monotone problem apart.

    B-stable ⟺ the method with equal stages merged is algebraically stable:  b ≥ 0,  M = BA + AᵀB − bbᵀ ≥ 0

*B-stable*: ‖y₁ − ŷ₁‖ ≤ ‖y₀ − ŷ₀‖ for all autonomous y' = f(y) with (f(y) − f(z))ᵀ(y − z) ≤ 0. *BN-stable*: the
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
from dataclasses import replace

from odernn.certificate import Certificate
from odernn.exact.algebraic import sign
from odernn.exact.coefficients import total
from odernn.exact.linear_algebra import (
    diagonalise,
)
from odernn.properties.algebraic_stability import burrage_butcher, form_slack, stability_as_given
from odernn.properties.equal_within_rounding import near_stages, possible_classes
from odernn.properties.reducibility import Reduction, hs_reduction
from odernn.properties.unstable_problems import an_problem, unstable_problem
from odernn.tableaus.methods import AS_PRINTED, Method, about_given, in_stages, is_exact, roundings
from odernn.tableaus.tableau import ButcherTableau

WHY = "Burrage, Butcher 1979; Crouzeix 1979"
WHY_NOT = "Hundsdorfer, Spijker 1981"


def decided_after_merging(method: Method) -> tuple[Certificate, Reduction]:
    """b ≥ 0 and M ≥ 0 of the method with equal stages merged, and that method."""
    merged = hs_reduction(method)
    return stability_as_given(merged.method), merged


def b_stability(method: Method) -> Certificate:
    """Whether the method is B-stable: algebraic stability after merging equal stages.

    ``witness`` of a "no" is an explicit monotone problem with two numerical solutions that move apart.
    """
    return _on_reduced(method, "B-stable")


def bn_stability(method: Method) -> Certificate:
    """Whether the method is BN-stable; with c = A·1 the same question as B-stability, see the head of this file."""
    return _on_reduced(method, "BN-stable")


def an_stability(method: Method) -> Certificate:
    """Whether |y₁| ≤ |y₀| for every y' = λ(t) y with Re λ ≤ 0, where stages with equal c_i see the same λ.

    Algebraic stability after merging equal stages suffices, and with distinct c_i is necessary. Where c_i coincide, M
    and b are tried on the vectors that are constant where c is; undecided if both are fine there.
    """
    method = in_stages(method)
    verdict, merged = decided_after_merging(method)
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


def _on_reduced(method: Method, property_: str) -> Certificate:
    method = in_stages(method)
    verdict, merged = decided_after_merging(method)
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


# A "no" after merging equal stages, about rounded coefficients. Stages that differ by no more than the roundings may be
# equal in the method that is meant; then only vectors that are constant on them count. A violation on a vector that is
# constant on all stages that may be equal counts for every method that may be meant, if roundings do not explain it.


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
    return bool(sign(value + form_slack(tableau, lifted)) < 0)


def _open(certificate: Certificate, classes: Sequence[Sequence[int]]) -> Certificate:
    """The "no" as an open question; ``margin`` is how negative the form or weight is with stages kept apart."""
    evidence = certificate.value
    violation = evidence.weights.violation or evidence.diagonalisation.violation
    text = f"{certificate.because}, but {near_stages(classes) or 'the coefficients are rounded'}"
    margin = None if violation is None else violation[1]
    return replace(certificate, holds=None, exact=False, because=text, margin=margin)
