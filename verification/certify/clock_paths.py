"""Clock Hamiltonians of all circuits of T gates at once, over Z: ΣU_l…U_1 ⊗ |l⟩⟨l| makes them paths.

2H is the direct sum over the words z of P_w = Λ + 2w |0⟩⟨0| on the T + 1 states of the clock, Λ the Laplacian of the
path and w the number of bits in which z differs from the input: w = 0 once, and P_w ≥ P_1 for every other w. So P_0 and
P_1 decide kernel and gap for every circuit and every number of bits. docs/derivations/clock_hamiltonian.md.
"""

from __future__ import annotations

from typing import Any

import flint
from flint import fmpz_mat, fmpz_poly

from odernn.bounds.numbers import BALLS
from verification.claim import Decided
from verification.measure.clock_hamiltonian import gap

BITS = 256


def _path(steps: int, wrong: int) -> fmpz_mat:
    """P_w as the sum of its edges."""
    rows = [[0] * (steps + 1) for _ in range(steps + 1)]
    rows[0][0] = 2 * wrong
    for edge in _edges(steps):
        for i, row in enumerate(edge):
            for j, value in enumerate(row):
                rows[i][j] += value
    return fmpz_mat(rows)


def _edges(steps: int) -> list[list[list[int]]]:
    """Of each gate the term that it leaves on the path: (e_l − e_{l−1})(e_l − e_{l−1})ᵀ."""
    size = range(steps + 1)
    return [[[((i == l) - (i == l - 1)) * ((j == l) - (j == l - 1)) for j in size] for i in size] for l in size[1:]]


def _roots(polynomial: fmpz_poly) -> list[tuple[fmpz_poly, Any]]:
    factors: Any = [factor for factor, _ in polynomial.factor()[1]]
    return [(factor, root.real) for factor in factors for root, _ in factor.complex_roots()]


def one_ground_state(steps: int) -> Decided:
    """det P_1 ≠ 0, P_0 has the kernel of (1, …, 1) alone, and no eigenvalue of either is negative."""
    free, priced = (fmpz_mat(_path(steps, wrong)) for wrong in (0, 1))
    ones = fmpz_mat([[1] for _ in range(steps + 1)])
    coefficients = [matrix.charpoly().coeffs() for matrix in (free, priced)]
    # all roots are real: none is negative iff the signs of the coefficients alternate
    alternating = all(int(c) * (-1) ** (len(each) - 1 - k) >= 0 for each in coefficients for k, c in enumerate(each))
    nullities = [next(k for k, c in enumerate(each) if c != 0) for each in coefficients]
    holds = alternating and nullities == [1, 0] and not any((free * ones).entries())
    return Decided(not holds, f"T = {steps}: kernels of P_0, P_1 of dimension {nullities[0]}, {nullities[1]}, P_w ≥ 0")


def smallest_is_the_gap(steps: int, stretch: int = 1) -> Decided:
    """The smallest nonzero root of P_0 and P_1 is 2 − 2 cos(π/(2(T+1))), by its minimal polynomial."""
    wanted = fmpz_poly.cos_minpoly(4 * (steps + 1))(fmpz_poly([2, -1]))
    with flint.ctx.workprec(BITS):
        claimed = 2 * gap(steps, BALLS) * stretch
        nonzero = fmpz_poly(_path(steps, 0).charpoly().coeffs()[1:])
        roots = [*_roots(nonzero), *_roots(fmpz_poly(_path(steps, 1).charpoly().coeffs()))]
        near = [factor for factor, root in roots if root.overlaps(claimed)]
        above = all(bool(root > claimed) for _, root in roots if not root.overlaps(claimed))
        holds = above and len(near) == 1 and near[0] in (wanted, -wanted)
        return Decided(not holds, f"T = {steps}: smallest nonzero eigenvalue {float(claimed) / 2:.9f}, of P_1")


def part_on_the_end(steps: int, share: int = 1) -> Decided:
    """The kernel is Σ U_l…U_1|x⟩⊗|l⟩, on the path (1, …, 1): its part on |T⟩ has ``share``/(T + 1) of the square."""
    kernel, rank = _path(steps, 0).nullspace()
    column = [int(kernel[k, 0]) for k in range(steps + 1)]
    square = sum(x * x for x in column)
    holds = rank == 1 and len(set(column)) == 1 and column[-1] ** 2 * (steps + 1) == share * square
    return Decided(not holds, f"T = {steps}: squared amplitude 1/{steps + 1} on |T⟩")


def terms_are_independent(steps: int, more: int = 0) -> Decided:
    """The T terms of H_prop leave T edges on the path, of rank T (+ ``more``)."""
    rank = fmpz_mat([[entry for row in edge for entry in row] for edge in _edges(steps)]).rank()
    return Decided(rank != steps + more, f"T = {steps}: {rank} independent terms")
