"""The radius of absolute monotonicity R(A, b): up to which step size a method inherits contractivity from Euler's.

    K = ( A  0 ; bᵀ 0 ),     P(r) = K(I + rK)⁻¹,     w(r) = (I + rK)⁻¹1 = 1 − r P(r) 1

(A, b) is *absolutely monotonic at −r* if I + rA is regular, P(r) ≥ 0 and w(r) ≥ 0, entry by entry, and R(A, b) is the
largest r with that on [−r, 0]; 0 if there is none. J. F. B. M. Kraaijevanger, Contractivity of Runge–Kutta methods, BIT
31 (1991) 482–528. If explicit Euler does not increase a convex functional for steps up to τ, the method does not for
steps up to R(A, b)·τ, and for no larger factor in general: the strong-stability-preserving coefficient.

It is enough to ask at one end. If (A, b) is absolutely monotonic at −r, then ‖P(r)‖_∞ ≤ 1/r by w(r) ≥ 0; so for
0 < t ≤ r

    P(t) = P(r)(I − (r − t)P(r))⁻¹ = Σ_k (r − t)ᵏ P(r)^{k+1} ≥ 0,     w(t) = (I − (r − t)P(r))⁻¹ w(r) ≥ 0

and the admissible r are an interval from 0. On it P' = −P² ≤ 0, hence 0 ≤ P(r) ≤ K stays bounded, and det(I + rK),
which is 1 at 0 and 1/det(I − rP), has no zero. Therefore R is the first r where an entry of the **polynomial** matrices
K adj(I + rK) or adj(I + rK)1 becomes negative: a root of a polynomial, isolated by Sturm chains. And R = 0 if and only
if an entry of K is negative, or is 0 where K² is positive, for P = K − rK² + ….
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flint import fmpq, fmpq_poly

from odernn.certificate import Certificate
from odernn.exact.algebraic import exact_rational, quadratic_root, sign
from odernn.exact.coefficients import subscript
from odernn.exact.linear_algebra import (
    Rows,
    Vector,
    characteristic_polynomial,
    determinant,
    entrywise,
    identity,
    inverse,
    is_rational,
    matrix_vector,
    product,
)
from odernn.exact.polynomials import (
    Polynomial,
    RealRoot,
    count_roots,
    degree,
    evaluate,
    gcd,
    polynomial,
    positive_roots,
)
from odernn.exact.text import equals
from odernn.tableaus.families import PolynomialTableau
from odernn.tableaus.methods import AS_PRINTED, Method, form_of, in_stages, is_exact, resolve, roundings
from odernn.tableaus.tableau import ButcherTableau

__all__ = ["PROPERTY", "absolutely_monotonic", "radius_bounds", "radius_of_absolute_monotonicity"]

PROPERTY = "absolute monotonicity R(A,b)"
INFINITY = "∞"
BITS = 128
"""Working precision where a coefficient that is not written out is shown to be negative."""
LARGEST = fmpq(2**20)
"""Bisection ends here: a method with a larger radius is told apart from one with R = ∞ by polynomials only."""


def extended(A: Rows, b: Vector) -> Rows:
    """K = ( A  0 ; bᵀ 0 )."""
    return (*((*row, fmpq(0)) for row in A), (*b, fmpq(0)))


def contractive_parts(K: Rows, r: Any) -> tuple[Rows, Vector] | None:
    """P(r) = K(I + rK)⁻¹ and w(r) = (I + rK)⁻¹1; ``None`` if I + rK is singular."""
    I_rK = entrywise(lambda x, y: x + r * y, identity(len(K)), K)
    if determinant(I_rK) == 0:
        return None
    S = inverse(I_rK)
    return product(K, S), matrix_vector(S, (fmpq(1),) * len(K))


def radius_of_absolute_monotonicity(method: Method) -> Certificate:
    """R(A, b) of the tableau as given: ``value`` is "∞", an exact scalar, or a ``RealRoot`` of degree 3 or more.

    ``holds`` says whether R > 0.

    ``witness`` is the place (from 1, row s + 1 is b) where K or, beyond R, P(r) is negative; (i,) where w(r) is.
    Rounded coefficients: "no" is said only if it holds for all numbers meant; else undecided, with the value of the
    numbers as given. Undecided, too, where the coefficients are not written out and none is negative. TypeError for a
    pair.
    """
    table = in_stages(method)
    if isinstance(table, PolynomialTableau):
        return _not_written_out(table)
    K = _extended(table)
    obstacle = _obstacle(K)
    if obstacle is not None:
        at, text = obstacle
        certificate = Certificate(PROPERTY, False, True, at, text, value=fmpq(0))
        if is_exact(table) or _is_certain(resolve(table), K, at):
            return certificate
        return replace(certificate, holds=None, exact=False, because=f"{text}, but the coefficients are rounded")
    change = _first_change(K)
    if change is None:
        text = f"K(I + rK)⁻¹ ≥ 0 and (I + rK)⁻¹1 ≥ 0 for all r ≥ 0: R = {INFINITY}"
        certificate = Certificate(PROPERTY, True, True, None, text, value=INFINITY)
    else:
        root, place = _closed(change[0]), change[1]
        text = f"K(I + rK)⁻¹ ≥ 0 and (I + rK)⁻¹1 ≥ 0 for 0 ≤ r ≤ R = {root}; then {_entry(place)} < 0"
        certificate = Certificate(PROPERTY, True, True, place, text, value=root)
    if is_exact(table):
        return certificate
    return replace(certificate, holds=None, exact=False, because=certificate.because + AS_PRINTED)


def absolutely_monotonic(method: Method, r: Any) -> Certificate:
    """Whether (A, b) is absolutely monotonic at −r, from the definition; r ≥ 0 rational. No polynomials, one inverse.

    ``witness`` is the place of a negative entry of P(r), or (i,) of w(r), ``margin`` that entry; for the numbers as
    given. ValueError for r < 0 or coefficients that are not written out.
    """
    r = exact_rational(r)
    if r < 0:
        raise ValueError(f"r is {r}, but absolute monotonicity is asked at −r for r ≥ 0. Give a number ≥ 0.")
    K = _extended(in_stages(method))
    name = f"absolutely monotonic at {-r}"
    parts = contractive_parts(K, r)
    if parts is None:
        return Certificate(name, False, True, None, "I + rA is singular")
    P, w = parts
    entries: list[tuple[tuple[int, ...], Any]]
    entries = [((i, j), x) for i, row in enumerate(P, 1) for j, x in enumerate(row, 1)]
    entries += [((i,), x) for i, x in enumerate(w, 1)]
    negative = next(((place, x) for place, x in entries if sign(x) < 0), None)
    if negative is not None:
        place, x = negative
        return Certificate(name, False, True, place, f"{_entry(place)} {equals(x)}", margin=x)
    return Certificate(name, True, True, None, "K(I + rK)⁻¹ ≥ 0 and (I + rK)⁻¹1 ≥ 0")


def radius_bounds(method: Method, bits: int = 40) -> tuple[fmpq, fmpq | None]:
    """lower ≤ R ≤ upper by bisection on the definition, each end an exact decision, upper − lower ≤ 2⁻ᵇⁱᵗˢ.

    ``None`` for ``upper``: absolutely monotonic at −``LARGEST``, which is ``lower``. (0, 2⁻ᵇⁱᵗˢ) is all it can say of
    R = 0. For the numbers as given.
    """
    if not absolutely_monotonic(method, 0):
        return fmpq(0), fmpq(0)
    low, high = fmpq(0), fmpq(1)
    while absolutely_monotonic(method, high):
        if high >= LARGEST:
            return high, None
        low, high = high, 2 * high
    while high - low > fmpq(1, 2**bits):
        middle = (low + high) / 2
        low, high = (middle, high) if absolutely_monotonic(method, middle) else (low, middle)
    return low, high


def _extended(table: Any) -> Rows:
    """K of a method whose coefficients are written out. Raises ValueError if they are not."""
    form = form_of(table)
    if form.modulus is not None:
        raise ValueError(
            f"{table!r}: absolute monotonicity is about the signs of coefficients, and these are not written out."
        )
    return extended(form.operator, form.weights)


def _obstacle(K: Rows) -> tuple[tuple[int, int], str] | None:
    """Why R = 0: an entry of K that is negative, or zero where K² is positive."""
    size = len(K)
    places = [(i, j) for i in range(size) for j in range(size)]
    for i, j in places:
        if sign(K[i][j]) < 0:
            return (i + 1, j + 1), f"R = 0: {_coefficient(i, j, size)} {equals(K[i][j])} < 0"
    square = product(K, K)
    for i, j in places:
        if K[i][j] == 0 and square[i][j] != 0:
            path = f"Σ {'b' if i == size - 1 else 'a'}{'' if i == size - 1 else subscript(i + 1)}ₖaₖ{subscript(j + 1)}"
            return (i + 1, j + 1), f"R = 0: {_coefficient(i, j, size)} = 0, but {path} {equals(square[i][j])}"
    return None


def _is_certain(tableau: ButcherTableau, K: Rows, place: tuple[int, int]) -> bool:
    """Whether the obstacle is there for all coefficients that round to the printed ones; a printed 0 is meant so."""
    dA, db = roundings(tableau)
    errors = extended(dA, db)
    i, j = place[0] - 1, place[1] - 1
    if K[i][j] != 0:
        return sign(K[i][j] + errors[i][j]) < 0

    def certain(m: int, n: int) -> bool:
        return sign(K[m][n] - errors[m][n]) > 0

    return any(certain(i, k) and certain(k, j) for k in range(len(K)))


def _first_change(K: Rows) -> tuple[RealRoot, tuple[int, ...]] | None:
    """The smallest r > 0 where an entry of K adj(I + rK) or adj(I + rK)1 becomes negative, and the first such entry."""
    best: tuple[RealRoot, tuple[int, ...]] | None = None
    known: dict[Polynomial, RealRoot | None] = {}
    for place, entry in _numerators(K):
        if entry not in known:
            known[entry] = _becomes_negative(entry)
        root = known[entry]
        if root is not None and (best is None or _less(root, best[0])):
            best = root, place
    return best


def _numerators(K: Rows) -> Iterator[tuple[tuple[int, ...], Polynomial]]:
    """The entries of K adj(I + rK), then of adj(I + rK)1, as polynomials in r, those that are not 0.

    adj(I + rK) = Σ C_k rᵏ with C_0 = I, C_k = e_k I − K C_{k−1}, and det(I + rK) = Σ e_k rᵏ.
    """
    size = len(K)
    e = tuple((-1) ** k * x for k, x in enumerate(reversed(characteristic_polynomial(K))))
    terms = [identity(size)]
    for k in range(1, size):
        KC = product(K, terms[-1])
        terms.append(tuple(tuple((e[k] if i == j else 0) - x for j, x in enumerate(row)) for i, row in enumerate(KC)))
    left = [product(K, C) for C in terms]
    ones = [matrix_vector(C, (fmpq(1),) * size) for C in terms]
    for i in range(size):
        for j in range(size):
            entry = polynomial([S[i][j] for S in left])
            if entry:
                yield (i + 1, j + 1), entry
    for i in range(size):
        yield (i + 1,), polynomial([v[i] for v in ones])


def _becomes_negative(p: Polynomial) -> RealRoot | None:
    """The first positive root beyond which p is negative; p is positive just right of 0."""
    if degree(p) < 1:
        return None
    roots = positive_roots(p)
    for k, root in enumerate(roots):
        beyond = root.upper + 1 if k + 1 == len(roots) else (root.upper + roots[k + 1].lower) / 2
        if sign(evaluate(p, beyond)) < 0:
            return root
    return None


def _less(one: RealRoot, other: RealRoot) -> bool:
    """Whether one root is smaller than another, of another polynomial."""
    common = gcd(one.polynomial, other.polynomial)
    while not (one.upper < other.lower or other.upper < one.lower):
        low, high = max(one.lower, other.lower), min(one.upper, other.upper)
        if degree(common) > 0 and (evaluate(common, high) == 0 or count_roots(common, low, high) > 0):
            return False  # the one root that both intervals hold
        if one.lower == one.upper and other.lower == other.upper:
            return bool(one.lower < other.lower)
        one, other = one.refined(), other.refined()
    return bool(one.upper < other.lower)


def _closed(root: RealRoot) -> Any:
    """The root as an exact scalar if it is rational, quadratic, or in the field of the coefficients; else as it is."""
    p = root.polynomial
    if degree(p) == 1:
        return -p[0] / p[1]
    if not is_rational(p):
        return root
    for factor, _ in fmpq_poly(list(p)).factor()[1]:
        terms = fmpq_poly(factor) / fmpq_poly(factor).leading_coefficient()
        candidates: list[Any] = []
        if terms.degree() == 1:
            candidates = [-terms[0]]
        elif terms.degree() == 2 and terms[1] * terms[1] > 4 * terms[0]:
            candidates = [quadratic_root(terms, 0), quadratic_root(terms, 1)]
        for x in candidates:
            if root.lower <= x <= root.upper:  # only one root of p is in this interval
                return x
    return root


def _coefficient(i: int, j: int, size: int) -> str:
    return f"b{subscript(j + 1)}" if i == size - 1 else f"a{subscript(i + 1, j + 1)}"


def _entry(place: tuple[int, ...]) -> str:
    inside = ", ".join(map(str, place))
    return f"entry ({inside}) of K(I + rK)⁻¹" if len(place) == 2 else f"entry {inside} of (I + rK)⁻¹1"


def _not_written_out(table: PolynomialTableau) -> Certificate:
    digits = table.enclosures(BITS)
    rows = (*digits.A, digits.b)
    for i, row in enumerate(rows):
        for j, ball in enumerate(row):
            if ball < 0:
                text = f"R = 0: {_coefficient(i, j, len(rows))} ≈ {ball.str(6, radius=False)} < 0"
                return Certificate(PROPERTY, False, True, (i + 1, j + 1), text, value=fmpq(0))
    return Certificate(PROPERTY, None, False, None, "the coefficients are not written out, and none is negative")
