"""How the gradient of one neuron grows with the number of steps, at every step dt' ≤ dt at once.

The neuron of ``gradient_growth``: V = 1, c = 0 (h = dt/2), zero inputs and states, ȳ = 1, w < −α. With W = −(α + w),
ρ = 2 asinh(h√W/2) and q = √(1 + h²W/4) its gradient is a sum of geometric series, exactly

    |dE/db| = (1/W) (sinh((N + 1)ρ)/(N sinh ρ) − 1/N − 1).

sinh ρ = h√W q, and ρ/h falls in h, from √W at h = 0. So for every dt' ≤ dt and every N, with τ = N dt'/2 and R = τρ/h
at dt,

    (sinh(R)/R − 1)/(W q)  ≤  |dE/db|  ≤  (sinh(√W (τ + h))/(√W τ) − 1)/W,

the left one as in ``chain_gradients``: at each fixed dt' ≤ dt an exponential of N dt'.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint

from odernn.bounds.numbers import BALLS
from verification.cases.gradient_growth import MOST_GROWTH_STEPS, growth_case, growth_check
from verification.cases.inequality import BITS
from verification.cases.nominate import growth_exponent_in_balls, growth_exponent_in_intervals
from verification.certify.second.intervals import iv
from verification.claim import Case, Check, Parameters
from verification.exact_text import number
from verification.kinds import Constant, Integer
from verification.parameters import Parameter, declared


def small_step_case(alpha: Fraction, w: Fraction, dt: Fraction, *, domain: str, power: int = 3) -> Case:
    """Is |dE/db| at most const · T^power as N → ∞, at every fixed dt' ≤ some dt₀?   α, w constants; dt is a dt₀."""
    of_one = growth_case(alpha, w, dt, domain=domain, power=power)
    constants = (Parameter(name, Constant(value)) for name, value in (("alpha", alpha), ("w", w), ("dt", dt)))
    parameters = declared(*constants, Parameter("steps", Integer(1, MOST_GROWTH_STEPS)))
    return replace(of_one, check=parameters.guards(lambda given: small_step_check(given, power)))


def small_step_check(parameters: Parameters, power: int) -> Check:
    """Doubling T multiplies |dE/db| by more than 2^power: at dt by the recursion, at all dt' ≤ dt by both back-ends."""
    at = growth_check(parameters, power)
    alpha, w, dt = (number(parameters, name) for name in ("alpha", "w", "dt"))
    W, h, steps = -(alpha + w), dt / 2, int(number(parameters, "steps"))
    if W <= 0:
        return replace(at, limit="")
    with flint.ctx.workprec(BITS):
        least, most = _least_in_balls(W, h, 2 * steps * h), _most_in_balls(W, h, steps * h)
        is_above = bool(least > 2**power * most)
        shown = f"at least {least.str(6, radius=False)} at 2T, at most {most.str(6, radius=False)} at T"
    with iv.workprec(BITS):
        again = _least_in_intervals(W, h, 2 * steps) - 2**power * _most_in_intervals(W, h, steps)
        is_above_again = bool(again.a > 0)
    limit = ""
    if is_above and is_above_again:
        limit = (
            f"for every dt' ≤ {dt}: |dE/db| is {shown}, T = {steps * dt}; and for every N (sinh(R)/R − 1)/(W q) or "
            "more, R = N dt' asinh(h√W/2)/h, W = −(α + w): thm-J (c), a gradient at rest"
        )
    return replace(at, limit=limit)


def _least_in_balls(W: Fraction, h: Fraction, time: Fraction) -> Any:
    stiff, step = BALLS.exact(W), BALLS.exact(h)
    R = growth_exponent_in_balls(stiff, step, BALLS.exact(time))
    return (R.sinh() / R - 1) / (stiff * (1 + step**2 * stiff / 4).sqrt())


def _most_in_balls(W: Fraction, h: Fraction, time: Fraction) -> Any:
    stiff = BALLS.exact(W)
    root = stiff.sqrt()
    return ((root * BALLS.exact(time + h)).sinh() / (root * BALLS.exact(time)) - 1) / stiff


def _least_in_intervals(W: Fraction, h: Fraction, steps: int) -> Any:
    stiff, step = (iv.mpf(value.numerator) / value.denominator for value in (W, h))
    exponent = growth_exponent_in_intervals(stiff, step, steps * step)
    up = iv.exp(exponent)
    return ((up - 1 / up) / (2 * exponent) - 1) / iv.sqrt(stiff**2 * (1 + (step / 2) ** 2 * stiff))


def _most_in_intervals(W: Fraction, h: Fraction, steps: int) -> Any:
    """(e^x − e^(−x))/(2 x W) · (N + 1)/N − 1/W at x = √W (N + 1) h."""
    stiff, step = (iv.mpf(value.numerator) / value.denominator for value in (W, h))
    x = (steps + 1) * step * iv.sqrt(stiff)
    up = iv.exp(x)
    return ((up - 1 / up) * (steps + 1) / (2 * x * steps) - 1) / stiff
