"""Kernel and smallest eigenvalues of a clock Hamiltonian, decided over Z with FLINT.

``spectrum`` factors the characteristic polynomial of 2H over Z. All eigenvalues of a symmetric matrix are real, so the
closed form 2 − 2 cos(π/(2(T+1))) is the smallest but 0 iff its minimal polynomial is a factor and no other root lies
between: that is told by balls around all roots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import flint
from flint import arb, fmpz_mat, fmpz_poly

from odernn.bounds.numbers import BALLS
from verification.measure.clock_hamiltonian import Circuit, gap, hamiltonian

BITS = 256


@dataclass(frozen=True)
class Spectrum:
    """nullity: dimension of the kernel; is_positive: whether no eigenvalue is negative; smallest: a ball around the
    least nonzero eigenvalue of H; is_closed_form: whether that is ``gap(T)``, exactly.
    """

    nullity: int
    is_positive: bool
    smallest: arb
    is_closed_form: bool


@lru_cache(maxsize=1024)
def spectrum(circuit: Circuit, word: int, with_input: bool = True) -> Spectrum:
    """Of H, or of H_prop."""
    polynomial = fmpz_mat([list(row) for row in hamiltonian(circuit, word, with_input=with_input)]).charpoly()
    nullity = next(k for k, c in enumerate(polynomial.coeffs()) if c != 0)
    rest = fmpz_poly(polynomial.coeffs()[nullity:])
    # all roots are real: none is negative iff the signs of the coefficients alternate
    alternating = all(c != 0 and (c > 0) == ((rest.degree() - k) % 2 == 0) for k, c in enumerate(rest.coeffs()))
    wanted = _polynomial_of_gap(circuit.steps)
    with flint.ctx.workprec(BITS):
        claimed = 2 * gap(circuit.steps, BALLS)
        factors: Any = [factor for factor, _ in rest.factor()[1]]
        roots = [(factor, root.real) for factor in factors for root, _ in factor.complex_roots()]
        near = [(factor, root) for factor, root in roots if root.overlaps(claimed)]
        others = [root for _, root in roots if not root.overlaps(claimed)]
        exact = len(near) == 1 and near[0][0] in (wanted, -wanted)
        closed = exact and all(bool(root > claimed) for root in others)
        smallest = min((root for _, root in roots), key=float) / 2
    return Spectrum(nullity, alternating, smallest, closed)


def _polynomial_of_gap(steps: int) -> fmpz_poly:
    """The minimal polynomial of 2 − 2 cos(2π/(4(T+1)))."""
    cosine = fmpz_poly.cos_minpoly(4 * (steps + 1))
    return cosine(fmpz_poly([2, -1]))
