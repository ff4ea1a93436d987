"""Algebraic stability, decided exactly: b ≥ 0 and M ≥ 0.

    M = BA + AᵀB − bbᵀ,   B = diag(b),   m_ij = b_i a_ij + b_j a_ji − b_i b_j

A method is *algebraically stable* if b_i ≥ 0 for all i and M is positive semi-definite, for the tableau **as given**
(Burrage, Butcher 1979; Crouzeix 1979; Hairer, Wanner 1996, Section IV.12). What follows for two solutions of a monotone
problem is in ``odernn.properties.nonlinear_stability``. M = 0 is symplecticity.

Decided by LDLᵀ of M and of diag(b) over the field of the coefficients; the evidence are the pivots, or a vector v with
vᵀMv < 0. Inertia does not depend on the basis of the stage space, so that M may be written in any.
"""

from __future__ import annotations

from dataclasses import dataclass
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
)
from odernn.exact.text import brief, equals
from odernn.properties.reducibility import hs_reduction
from odernn.properties.symplecticity import residual
from odernn.tableaus.methods import Method, about_given, form_of, in_stages, resolve, roundings
from odernn.tableaus.stages import StageForm
from odernn.tableaus.tableau import ButcherTableau

PROPERTY = "algebraically stable"


def burrage_butcher(method: Method) -> Rows:
    """M = BA + AᵀB − bbᵀ in the basis of stages of a tableau; else GA' + A'ᵀG − wwᵀ in that of the form."""
    form = form_of(method)
    return residual(form, form)


def algebraic_stability(method: Method) -> Certificate:
    """Whether b_i ≥ 0 and M ≥ 0 for the method as it is given; ``value`` is the ``BurrageButcher`` evidence.

    ``witness`` of a "no": v with vᵀMv < 0, or the stage (from 1) with b_i < 0, or for polynomials u with Σ b_i
    u(c_i)² < 0. A "no" about rounded coefficients stands only if it holds for all numbers that round to them;
    a "yes" is about the numbers as they are given, says so, and is not ``exact``.
    """
    method = in_stages(method)
    certificate = stability_as_given(method)
    if certificate.holds is not False:
        return certificate
    merged = hs_reduction(method)
    if not merged.is_trivial:
        words = {True: "algebraically stable", False: "not so either", None: "undecided"}
        verdict = words[stability_as_given(merged.method).holds]
        return _with_remark(certificate, f"; after merging equal stages ({merged}): {verdict}")
    return certificate


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


def stability_as_given(method: Method) -> Certificate:
    """The decision alone: of a "no" nothing is said about equal stages."""
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
    return _decided(Certificate(PROPERTY, False, True, v, text, value=evidence), value, form_slack(method, v))


def _decided(certificate: Certificate, value: Any, slack: Any) -> Certificate:
    """The "no" if the negative ``value`` stays negative when it is off by ``slack``, else undecided."""
    if sign(value + slack) < 0:
        return certificate
    text = f"{certificate.because}, but the coefficients are rounded: it may be off by {float(slack):.1g}"
    return Certificate(PROPERTY, None, False, certificate.witness, text, margin=value, value=certificate.value)


def form_slack(method: Method, v: Vector) -> Any:
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
