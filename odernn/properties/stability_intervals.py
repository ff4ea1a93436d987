"""How far a method is stable along the imaginary and along the negative real axis, exactly.

    β = max{y : |R(iη)| ≤ 1, |η| ≤ y}: first sign change of E(y) = |Q(iy)|² − |P(iy)|²
    r = max{x : |R(−ξ)| ≤ 1, 0 ≤ ξ ≤ x}: first sign change of Q(−x)² − P(−x)²

Hairer, Wanner 1996, Section IV.2 and IV.3. A polynomial has one sign between neighbouring real roots, which Sturm
chains separate; the end is 0, ∞ or a ``RealRoot``: a squarefree polynomial and a rational interval around the root.
"""

from __future__ import annotations

from dataclasses import replace
from math import isqrt
from typing import Any

from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact.algebraic import sign
from odernn.exact.linear_algebra import ZERO
from odernn.exact.polynomials import (
    Polynomial,
    RealRoot,
    add,
    evaluate,
    monic,
    multiply,
    polynomial,
    positive_roots,
    scale_variable,
)
from odernn.properties.linear_stability import INFINITY, FirstNegative, e_polynomial, first_negative
from odernn.properties.stability_function import StabilityFunction, stability_function
from odernn.tableaus.methods import AS_PRINTED, Method, is_exact

BITS = 128
"""An end is enclosed to this many binary places."""


def real_axis_polynomial(R: StabilityFunction) -> Polynomial:
    """Q(−x)² − P(−x)²: |R(−x)| ≤ 1 where it is ≥ 0."""
    P, Q = (scale_variable(side, fmpq(-1)) for side in (R.numerator, R.denominator))
    return add(multiply(Q, Q), multiply(P, P), -1)


def imaginary_stability_interval(method: Method) -> Certificate:
    """The largest β with |R(iy)| ≤ 1 for |y| ≤ β: ``value`` is 0, ∞ or a ``RealRoot`` of a polynomial in y.

    ``holds`` says whether β > 0. Of rounded coefficients it is ``None``: β is that of the numbers as given, and can
    jump from ∞ to anything when coefficients change by less than their roundings. The endpoint is exact: a squarefree
    polynomial and a rational interval around the root.
    """
    bad = first_negative(e_polynomial(stability_function(method)))
    return _interval(method, "imaginary stability interval", "|R(iy)| ≤ 1 for |y| ≤ β", bad, _square_root_of)


def real_stability_interval(method: Method) -> Certificate:
    """The largest r with |R(x)| ≤ 1 for −r ≤ x ≤ 0: ``value`` is 0, ∞ or a ``RealRoot`` of a polynomial in r."""
    bad = first_negative(real_axis_polynomial(stability_function(method)))
    return _interval(method, "real stability interval", "|R(x)| ≤ 1 for -β ≤ x ≤ 0", bad, lambda root: root)


def _interval(method: Method, name: str, text: str, bad: FirstNegative | None, end: Any) -> Certificate:
    if bad is None:
        certificate = Certificate(name, True, True, None, f"{text}, β = {INFINITY}", value=INFINITY)
    elif bad.root is None:
        certificate = Certificate(name, False, True, bad.sample, f"{text}, β = 0", value=fmpq(0))
    else:
        root = end(bad.root)
        certificate = Certificate(name, True, True, root, f"{text}, β = {root}", value=root)
    if is_exact(method):
        return certificate
    return replace(certificate, holds=None, exact=False, because=certificate.because + AS_PRINTED)


def _square_root_of(root: RealRoot) -> RealRoot:
    """The positive y with y² = root."""
    doubled = polynomial([x for k, c in enumerate(root.polynomial) for x in ((c,) if k == 0 else (ZERO, c))])
    scale = 2**BITS
    while True:
        lower = fmpq(isqrt(int(root.lower.p) * scale**2 // int(root.lower.q)), scale)
        upper = fmpq(isqrt(int(root.upper.p) * scale**2 // int(root.upper.q)) + 1, scale)
        if evaluate(doubled, lower) == 0:
            return RealRoot(monic(doubled), lower, lower)
        root_of_y = RealRoot(monic(doubled), lower, upper)
        inside = sum(candidate.lower < upper and candidate.upper > lower for candidate in positive_roots(doubled))
        if inside == 1 and sign(evaluate(doubled, lower)) * sign(evaluate(doubled, upper)) < 0:
            return root_of_y
        root, scale = root.refined(), scale * 2
