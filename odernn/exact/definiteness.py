"""Is a symmetric matrix positive semi-definite? Decided exactly, or for every matrix within given distances.

Exact entries. All roots of the characteristic polynomial p of a symmetric matrix are real, and then Descartes' rule of
signs is no bound but a count: as many roots are positive as p has changes of sign. So the inertia of a rational matrix
is read off the coefficients of p; matrices over a number field are made diagonal by congruence.

Entries known up to a distance. For any V, Vᵀ S V has the inertia of S if it is regular (Sylvester). V are the
eigenvectors of S in double precision, Vᵀ S V is evaluated in balls, and its Gershgorin discs are disjoint from zero
where the signs of the eigenvalues are certain. A matrix that may be singular is left undecided.

    |x|² = |V y|² ≤ ‖VᵀV‖ |y|²     ⇒     λ_min(S) ≥ λ_min(VᵀSV) / ‖VᵀV‖   where VᵀSV ≥ 0: the margin
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context
from typing import Any, TypeAlias

import flint
import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat

from odernn.certificate import Certificate
from odernn.exact.algebraic import enclosure, sign
from odernn.exact.linear_algebra import Inertia, Rows, Vector, diagonalise, dot, is_rational, quadratic_form
from odernn.exact.text import brief, decimal, equals

Matrix: TypeAlias = Sequence[Sequence[Any]]

PROPERTY = "positive semi-definite"
BITS = 192
"""Working precision of the balls: what is lost to their radii is far below the rounding of the doubles in V."""
LARGEST_EXACT = 64
"""Up to so many rows an undecided case is decided exactly; more take minutes where entries are doubles."""
WITNESS_BITS = 24
DOWN = Context(prec=3, rounding=ROUND_FLOOR)
"""How a lower bound is printed: never larger than it is."""


def inertia(S: Matrix) -> Inertia:
    """How many eigenvalues of a symmetric matrix of exact scalars are positive, negative, zero."""
    if not S or not is_rational(*S):
        return diagonalise(S).inertia
    coefficients = fmpq_mat([list(row) for row in S]).charpoly().coeffs()
    zero = next(k for k, c in enumerate(coefficients) if c != 0)
    signs = [sign(c) for c in coefficients if c != 0]
    positive = sum(a != b for a, b in itertools.pairwise(signs))
    return Inertia(positive, len(S) - positive - zero, zero)


def semidefiniteness(S: Matrix, radius: Matrix | None = None, *, name: str = "S") -> Certificate:
    """Whether S ≥ 0 for the symmetric matrix S of exact scalars; ``value`` is its ``Inertia``.

    radius   nonnegative; the answer is for every symmetric matrix that differs from S by no more, entry by entry, and
             ``None`` if it is not the same for all of them or cannot be told. Not given: zero
    witness  of a "no": x with xᵀSx < 0, exact, for all matrices meant
    margin   of a "yes": a lower bound of the smallest eigenvalue, 0 if S is singular or nearly so; of a "no": xᵀSx/xᵀx
             of S itself; of ``None``: the smallest eigenvalue of S in double precision

    Without radius it is ``None`` only above ``LARGEST_EXACT`` rows, for a matrix that balls do not tell from a singular
    one.
    """
    asked = f"{name} {PROPERTY}"
    if radius is not None and all(reach == 0 for row in radius for reach in row):
        radius = None
    if all(entry == 0 for row in S for entry in row) and radius is None:
        return Certificate(asked, True, True, None, f"{name} = 0", margin=fmpq(0), value=Inertia(0, 0, len(S)))
    violation = _violation(S, radius)
    known = inertia(S) if radius is None and len(S) <= LARGEST_EXACT else None
    if violation is None and known is not None and not known.is_semidefinite:
        violation = diagonalise(S).violation
    if violation is not None:
        x, value = violation
        form = f"({name})" if " " in name else name
        text = f"x = {written(x)}: xᵀ{form}x {equals(value)}"
        if radius is not None:
            text += ", for all numbers that round to the coefficients"
        return Certificate(asked, False, True, x, text, margin=value / dot(x, x), value=known)
    counted = None if known is not None and known.zero else certified_inertia(S, radius)
    if counted is not None and counted[0].is_semidefinite:
        count, lower = counted
        text = f"inertia {count}, smallest eigenvalue ≥ {float(DOWN.create_decimal_from_float(lower)):.3g}"
        return Certificate(asked, True, True, None, text, margin=lower, value=count)
    if known is not None:
        return Certificate(asked, True, True, None, f"inertia {known}", margin=fmpq(0), value=known)
    smallest = _smallest_eigenvalue(S)
    why = "rounding does not tell it from one" if radius is not None else "balls do not tell it from one"
    text = f"singular, or {why}: the smallest eigenvalue is about {smallest:.2g}"
    return Certificate(asked, None, False, None, text, margin=smallest)


def certified_inertia(S: Matrix, radius: Matrix | None = None) -> tuple[Inertia, float] | None:
    """The inertia that all matrices within the distances ``radius`` of S have, and its margin; ``None`` if undecided.

    margin  no matrix meant has an eigenvalue of smaller absolute value. Only regular matrices can be told
    """
    size = len(S)
    _, vectors = np.linalg.eigh(floats(S))
    with flint.ctx.workprec(BITS):
        V = arb_mat([[arb(float(v)) for v in row] for row in vectors])
        turned = V.transpose() * _balls(S, radius) * V
        square = V.transpose() * V
        signs, distances = [], []
        for i in range(size):
            reach = sum((abs(turned[i, j]) for j in range(size) if j != i), arb(0))
            low, high = turned[i, i] - reach, turned[i, i] + reach
            if not (low > 0 or high < 0):
                return None
            signs.append(1 if low > 0 else -1)
            distances.append(float((low if low > 0 else -high).lower().mid()))
        norms = (sum((abs(square[i, j]) for j in range(size)), arb(0)) for i in range(size))
        norm = max(float(value.upper().mid()) for value in norms)
    # the two conversions to a double and the division lose at most 2⁻⁵¹ of the quotient
    margin = min(min(distances) / norm * (1.0 - 2.0**-50), sys.float_info.max)  # beyond the range of a double: inf
    return Inertia(signs.count(1), signs.count(-1), 0), margin


def written(x: Sequence[Any]) -> str:
    """A vector in full if it is short, else its length and largest entry."""
    text = f"({', '.join(map(brief, x))})"
    if len(text) <= 80:
        return text
    place = max(range(len(x)), key=lambda k: abs(x[k]))
    return f"({len(x)} components, the largest x[{place}] ≈ {decimal(x[place])})"


def floats(S: Matrix) -> Any:
    """S / max |s_ij| in doubles; zeros for S = 0. Entries may be beyond the range of a double."""
    largest = max((abs(entry) for row in S for entry in row), default=fmpq(0))
    if largest == 0:
        return np.zeros((len(S), len(S[0]) if S else 0))
    return np.array([[_as_float(entry / largest) for entry in row] for row in S])


def _as_float(value: Any) -> float:
    return float(enclosure(value, 64).mid())


def _violation(S: Matrix, radius: Matrix | None) -> tuple[Vector, Any] | None:
    """x with xᵀSx < 0 for all matrices meant: a unit vector if one does it, else about the lowest eigenvector."""
    size = len(S)
    for i in range(size):
        if sign(S[i][i] + (0 if radius is None else radius[i][i])) < 0:
            return tuple(fmpq(int(i == k)) for k in range(size)), S[i][i]
    _, vectors = np.linalg.eigh(floats(S))
    lowest = vectors[:, 0] / np.abs(vectors[:, 0]).max()
    for bits in (4, WITNESS_BITS, 2 * WITNESS_BITS):
        x = tuple(fmpq(round(float(v) * 2**bits), 2**bits) for v in lowest)
        value = quadratic_form(S, x)
        slack: Any = 0 if radius is None else quadratic_form(radius, tuple(map(abs, x)))
        if sign(value + slack) < 0:
            return x, value
    return None


def _smallest_eigenvalue(S: Matrix) -> float:
    largest = max(abs(entry) for row in S for entry in row)
    return float(np.linalg.eigvalsh(floats(S))[0]) * _as_float(largest)


def _balls(S: Matrix, radius: Matrix | None) -> Any:
    def ball(i: int, j: int) -> Any:
        centre = enclosure(S[i][j], BITS)
        if radius is None or radius[i][j] == 0:
            return centre
        reach = enclosure(radius[i][j], BITS).upper()
        return centre + arb(0, 1) * reach

    return arb_mat([[ball(i, j) for j in range(len(S))] for i in range(len(S))])


__all__ = ["Inertia", "Rows", "certified_inertia", "floats", "inertia", "semidefiniteness", "written"]
