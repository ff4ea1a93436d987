"""Certificates for statements about dt → 0: one violation that holds for *every* step below some dt₀.

"dt ≪ 1 sufficiently small" is read as: for every fixed choice of the remaining data there is a dt₀ below which the
statement holds. It is refuted by one choice of data for which it fails at every small dt. thm-S-limit
(docs/derivations/state_bounds.md) supplies a lower bound on |y_N|, |z_N| that is uniform in dt = T/N; here it is
compared with the claim's bound, evaluated at the ball [0, dt₀].

In a layer l ≥ 2 the drive is the bias alone (V^l = 0), which is the same square wave as long as it does not switch.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
from mpmath import iv

from odernn.bounds import sharp
from odernn.bounds.numbers import BALLS
from verification.certify import second
from verification.certify.balls import lower_end, upper_end
from verification.claim import Claim, Part, Setting

BITS = 256
HALVINGS = 24


@dataclass(frozen=True)
class LimitData:
    """The fixed data: α, T, c of every neuron, amplitude A of the drive, layer; and dt₀. w = 0, hidden size 1."""

    alpha: Fraction
    horizon: Fraction
    c: Fraction
    amplitude: Fraction
    layer: int
    dt: Fraction


@dataclass(frozen=True)
class LimitOutcome:
    """``holds``: for every N ≥ T/dt₀ the claim's part is violated at n = N, proved by both back-ends."""

    holds: bool
    data: LimitData
    measured: float
    bound: float
    because: str


def certify(claim: Claim, part: Part, data: LimitData) -> LimitOutcome:
    """Halve dt₀ until the violation is uniform in 0 < dt ≤ dt₀, or give up after ``HALVINGS``.

    Only for UnICORNN's own system, α > 0; asks the claim's premises on the whole ball (0, dt₀].
    """
    if claim.system.name != "unicornn" or data.alpha <= 0:
        return LimitOutcome(False, data, 0.0, 0.0, "thm-S-limit speaks of UnICORNN with α > 0 only")
    outcome = LimitOutcome(False, data, 0.0, 0.0, "no dt₀ tried")
    for _ in range(HALVINGS):
        outcome = check(claim, part, data)
        if outcome.holds:
            return outcome
        data = LimitData(data.alpha, data.horizon, data.c, data.amplitude, data.layer, data.dt / 2)
    return outcome


def check(claim: Claim, part: Part, data: LimitData) -> LimitOutcome:
    """The same at one given dt₀: both back-ends, premises included."""
    if data.layer > 1 and not _drive_is_constant(data, part.quantity):
        return LimitOutcome(
            False, data, 0.0, 0.0, f"layer {data.layer} is driven by its bias, but √α T' exceeds one half-wave"
        )
    with flint.ctx.workprec(BITS):
        try:
            measured, bound, premises_hold = _first(claim, part, data)
        except TypeError:
            return LimitOutcome(
                False, data, 0.0, 0.0, "the bound depends on the number of steps itself: no limit argument"
            )
        first = bool(measured > 0 and measured.log() > bound)
        ends = lower_end(measured), upper_end(bound.exp())
    if not premises_hold:
        return LimitOutcome(False, data, *ends, "a premise is not proved on 0 < dt ≤ dt₀")
    if not first:
        return LimitOutcome(False, data, *ends, "the uniform lower bound does not exceed the claim's bound")
    if not _second(part, data):
        return LimitOutcome(False, data, *ends, "the second back-end does not confirm")
    because = f"for every dt ≤ {data.dt}: measured ≥ {ends[0]:.6g} > {ends[1]:.6g} (thm-S-limit)"
    return LimitOutcome(True, data, *ends, because)


def _first(claim: Claim, part: Part, data: LimitData) -> tuple[Any, Any, bool]:
    exact = BALLS.exact
    sigma = 1 / (1 + (-exact(data.c)).exp())
    measured = sharp.uniform_lower_bound(
        alpha=exact(data.alpha),
        horizon=exact(data.horizon),
        dt=exact(data.dt),
        sigma=sigma,
        amplitude=exact(data.amplitude),
        quantity=part.quantity,
        numbers=BALLS,
    )
    horizon = exact(data.horizon)
    dt = exact(0).union(exact(data.dt))
    # No step count belongs to a ball of dt: a bound that asks for one fails, rather than being taken at one N.
    setting = Setting(exact(data.alpha), dt, None, None, 1, None, horizon, horizon)
    premises = [premise.holds(premise.margin(setting, BALLS)) for premise in claim.premises]
    return measured, part.bound(setting, BALLS), all(premises)


def _second(part: Part, data: LimitData) -> bool:
    alpha, horizon, dt, c, amplitude = (
        f"{value.numerator}/{value.denominator}"
        for value in (data.alpha, data.horizon, data.dt, data.c, data.amplitude)
    )
    _, measured = second.uniform_lower_bound(
        alpha=alpha, horizon=horizon, dt=dt, c=c, amplitude=amplitude, quantity=part.quantity, bits=BITS
    )
    before = iv.prec
    iv.prec = BITS
    try:
        time = second.number(horizon)
        setting = SimpleNamespace(
            alpha=second.number(alpha),
            dt=iv.mpf([0, second.number(dt).b]),
            step=None,
            steps=None,
            hidden_size=1,
            step_sizes=None,
            time=time,
            horizon=time,
        )
        return bool(measured > 0 and iv.log(measured).a > part.second_bound(setting, iv).b)
    finally:
        iv.prec = before


def _drive_is_constant(data: LimitData, quantity: str) -> bool:
    """√α T ≤ π for the position, π/2 for the momentum, proved (σ < 1, so T' < T)."""
    with flint.ctx.workprec(BITS):
        quarter = flint.arb.pi() / 2
        phase = BALLS.exact(data.alpha).sqrt() * BALLS.exact(data.horizon)
        return bool(phase <= (2 * quarter if quantity == "position" else quarter))
