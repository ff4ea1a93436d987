"""How far a method is stable along the imaginary and along the negative real axis, exactly.

    β = max{y : |R(iη)| ≤ 1, |η| ≤ y}: first sign change of E(y) = |Q(iy)|² − |P(iy)|²
    r = max{x : |R(−ξ)| ≤ 1, 0 ≤ ξ ≤ x}: first sign change of Q(−x)² − P(−x)²

Hairer, Wanner 1996, Section IV.2 and IV.3. A polynomial has one sign between neighbouring real roots, which Sturm
chains separate; the end is 0, ∞ or a ``RealRoot``: a squarefree polynomial and a rational interval around the root.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    root_bound,
    scale_variable,
)
from odernn.properties.stability_function import stability_function
from odernn.tableaus.methods import AS_PRINTED, Method, is_exact

INFINITY = "∞"
BITS = 128
"""An end is enclosed to this many binary places."""


def imaginary_stability_interval(method: Method) -> Certificate:
    """The largest β with |R(iy)| ≤ 1 for |y| ≤ β: ``value`` is 0, ∞ or a ``RealRoot`` of a polynomial in y.

    ``holds`` says whether β > 0. Of rounded coefficients it is ``None``: β is that of the numbers as given, and can
    jump from ∞ to anything when coefficients change by less than their roundings. The endpoint is exact: a squarefree
    polynomial and a rational interval around the root.
    """
    E = stability_function(method).e_polynomial
    bad = first_negative(E)
    return _interval(method, "imaginary stability interval", "|R(iy)| ≤ 1 for |y| ≤ β", bad, _square_root_of)


def real_stability_interval(method: Method) -> Certificate:
    """The largest r with |R(x)| ≤ 1 for −r ≤ x ≤ 0: ``value`` is 0, ∞ or a ``RealRoot`` of a polynomial in r."""
    R = stability_function(method)
    p, q = (scale_variable(side, fmpq(-1)) for side in (R.numerator, R.denominator))
    bad = first_negative(add(multiply(q, q), multiply(p, p), -1))
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


@dataclass(frozen=True)
class FirstNegative:
    """Where a polynomial first gets negative on (0, ∞): just above ``root`` (``None``: above 0), e.g. at ``sample``."""

    root: RealRoot | None
    sample: fmpq


def first_negative(p: Polynomial) -> FirstNegative | None:
    """The polynomial has one sign between neighbouring roots, so one sample in each gap decides p ≥ 0 on (0, ∞)."""
    if not p:
        return None
    roots: list[RealRoot | None] = [None, *positive_roots(p)]
    for before, after in zip(roots, [*roots[1:], None], strict=True):
        low = before.upper if before is not None else fmpq(0)
        high = after.lower if after is not None else max(root_bound(p), 2 * low + 1) * 2
        sample = (low + high) / 2 if after is not None else high
        if before is None and after is None:
            sample = fmpq(1)
        if sign(evaluate(p, sample)) < 0:
            return FirstNegative(before, sample)
    return None


def _square_root_of(root: RealRoot) -> RealRoot:
    """The positive y with y² = root."""
    doubled = polynomial([x for k, c in enumerate(root.polynomial) for x in ((c,) if k == 0 else (ZERO, c))])
    scale = 2**BITS
    while True:
        lower = fmpq(isqrt(int(root.lower.p) * scale**2 // int(root.lower.q)), scale)
        upper = fmpq(isqrt(int(root.upper.p) * scale**2 // int(root.upper.q)) + 1, scale)
        if evaluate(doubled, lower) == 0:
            return RealRoot(monic(doubled), lower, lower)
        found = RealRoot(monic(doubled), lower, upper)
        inside = sum(candidate.lower < upper and candidate.upper > lower for candidate in positive_roots(doubled))
        if inside == 1 and sign(evaluate(doubled, lower)) * sign(evaluate(doubled, upper)) < 0:
            return found
        root, scale = root.refined(), scale * 2
