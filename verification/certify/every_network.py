"""All networks whose weights lie in a box, under every input, in Arb balls: the two top layers near the start.

p.low ≤ w ≤ p.high, |c| ≤ p.c, |b| ≤ p.b and ‖V^L‖_∞ ≤ p.V in both layers, from zero states, for n ≤ p.N. Since |tanh|
≤ 1, states obey ζ_n = ζ_{n−1} + h(1 + α η_{n−1}), η_n = η_{n−1} + h ζ_n at the largest h whatever the input is; so A of
the top layer is at most p.high η + p.V η + p.b and 1 − A² ≤ σ′ ≤ 1. ``second.every_network`` is the same, typed again.
"""

from __future__ import annotations

from typing import Any

from flint import arb


def _hull(low: Any, high: Any) -> Any:
    return low.union(high)


def _step_sizes(p: Any) -> Any:
    """h = dt σ̂(c) of every c of the box."""
    return _hull(p.dt / (1 + p.c.exp()), p.dt / (1 + (-p.c).exp()))


def slopes(p: Any) -> list[Any]:
    """σ′ of the top layer at step n = 1, …, N, at index n."""
    largest = p.dt / (1 + (-p.c).exp())
    size = abs(p.low).max(abs(p.high))
    eta, zeta = arb(0), arb(0)
    found = [arb(1)]
    for _ in range(round(float(p.N))):
        before = eta
        zeta = zeta + largest * (1 + p.alpha * eta)
        eta = eta + largest * zeta
        argument = size * before + p.V * eta + p.b
        found.append(_hull((1 - argument * argument).max(0), arb(1)))
    return found


def least_jacobian_norm(p: Any) -> Any:
    """A ball around some number ≤ ‖dX^L_N/dX^{L−1}_1‖_∞ / ‖V^L‖_∞ of every network of the box.

    ∂X^{L,i}_N/∂X^{L−1,j}_1 = V_ij M_ij with 2×2 matrices M_ij that depend on neurons i, j; their rows have absolute
    sums of at least r, so that the row i of ‖V^L‖_∞ has one of at least r ‖V^L‖_∞.
    """
    h, bend, one = _step_sizes(p), slopes(p), arb(1)
    kappa = p.alpha + _hull(p.low.min(0), p.high.max(0))
    of_y, of_z = arb(0), arb(0)
    for y, z in ((one, arb(0)), (arb(0), one)):
        top_z = -h * bend[1] * y
        top_y = h * top_z
        for n in range(2, round(float(p.N)) + 1):
            z = z - h * kappa * y
            y = y + h * z
            top_z = top_z - h * (kappa * top_y + bend[n] * y)
            top_y = top_y + h * top_z
        of_y, of_z = of_y + top_y.abs_lower(), of_z + top_z.abs_lower()
    return of_y.max(of_z)
