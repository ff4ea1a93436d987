"""Certificates for statements about dt → 0: one violation that holds for *every* step below some dt₀.

"dt ≪ 1 sufficiently small" is read as: for every fixed choice of the remaining data there is a dt₀ below which the
statement holds. It is refuted by one choice of data for which it fails at every small dt. thm-S-limit
(docs/derivations/state_bounds.md) supplies a lower bound on |y_N|, |z_N| that is uniform in dt = T/N; here it is
compared with the claim's bound, evaluated at the ball [0, dt₀].

In a layer l ≥ 2 the drive is the bias alone (V^l = 0), which is the same square wave as long as it does not switch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint

from odernn.bounds import sharp
from odernn.bounds.numbers import BALLS
from verification.certify.balls import lower_end, upper_end
from verification.certify.second import intervals as second
from verification.claim import Claim, Part, Setting
from verification.system import UNICORNN

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
    """``holds``: for every N ≥ T/dt₀ the claim's part is violated at n = N, proved by both back-ends.

    ``may_improve``: a smaller dt₀ could still succeed.
    """

    holds: bool
    data: LimitData
    measured: float
    bound: float
    because: str
    may_improve: bool = False


def certify(claim: Claim, part: Part, data: LimitData) -> LimitOutcome:
    """Halve dt₀ until the violation is uniform in 0 < dt ≤ dt₀, or give up after ``HALVINGS``. Else as ``check``."""
    for _ in range(HALVINGS):
        outcome = check(claim, part, data)
        if outcome.holds or not outcome.may_improve:
            return outcome
        data = replace(data, dt=data.dt / 2)
    return outcome


def check(claim: Claim, part: Part, data: LimitData) -> LimitOutcome:
    """Whether the claim's part fails at every dt ≤ dt₀, by both back-ends, with every premise proved on [0, dt₀].

    Only for UnICORNN's own system and α > 0: thm-S-limit speaks of nothing else.
    """
    failed = LimitOutcome(False, data, 0.0, 0.0, "")
    if claim.bound.system is not UNICORNN or data.alpha <= 0:
        return replace(failed, because="thm-S-limit speaks of UnICORNN with α > 0 only")
    if data.layer > 1 and not _drive_is_constant(data, part.quantity):
        return replace(failed, because=f"layer {data.layer} is driven by its bias, but √α T' exceeds one half-wave")
    with flint.ctx.workprec(BITS):
        setting = _setting(data)
        if not all(hypothesis.holds(hypothesis.margin(setting)) for hypothesis in claim.bound.hypotheses):
            return replace(failed, because="a premise is not proved on 0 < dt ≤ dt₀", may_improve=True)
        measured = _lower_bound(data, part.quantity)
        try:
            bound = part.bound(setting, BALLS)
            confirmed = bool(measured > 0 and measured.log() > bound)
            second_confirms = confirmed and _second_confirms(claim, part, data)
        except TypeError:
            return replace(failed, because="the bound depends on the number of steps itself: no limit argument")
        ends = lower_end(measured), upper_end(bound.exp())
    if not confirmed:
        because = "the uniform lower bound does not exceed the claim's bound"
        return LimitOutcome(False, data, *ends, because, may_improve=True)
    if not second_confirms:
        return LimitOutcome(False, data, *ends, "the second back-end does not confirm", may_improve=True)
    because = f"for every dt ≤ {data.dt}: measured ≥ {ends[0]:.6g} > {ends[1]:.6g} (thm-S-limit)"
    return LimitOutcome(True, data, *ends, because)


def _setting(data: LimitData) -> Setting:
    """The setting for all dt in [0, dt₀] at once, n = N. It has no step count and no effective steps: a bound that asks
    for one fails, rather than being taken at one N.
    """
    exact = BALLS.exact
    horizon = exact(data.horizon)
    return Setting(exact(data.alpha), exact(0).union(exact(data.dt)), None, None, 1, None, horizon, horizon)


def _lower_bound(data: LimitData, quantity: str) -> Any:
    exact = BALLS.exact
    return sharp.uniform_lower_bound(
        alpha=exact(data.alpha),
        horizon=exact(data.horizon),
        dt=exact(data.dt),
        sigma=1 / (1 + (-exact(data.c)).exp()),
        amplitude=exact(data.amplitude),
        quantity=quantity,
        numbers=BALLS,
    )


def _second_confirms(claim: Claim, part: Part, data: LimitData) -> bool:
    """The comparison and every premise on [0, dt₀], in intervals."""
    alpha, horizon, dt, c, amplitude = (
        f"{value.numerator}/{value.denominator}"
        for value in (data.alpha, data.horizon, data.dt, data.c, data.amplitude)
    )
    _, measured = second.uniform_lower_bound(
        alpha=alpha, horizon=horizon, dt=dt, c=c, amplitude=amplitude, quantity=part.quantity, bits=BITS
    )
    iv = second.iv
    with iv.workprec(BITS):
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
        if not all(proved for *_, proved in second.premises_at([setting], claim.bound.second_hypotheses)):
            return False
        return bool(measured > 0 and iv.log(measured).a > part.second_bound(setting, iv).b)


def _drive_is_constant(data: LimitData, quantity: str) -> bool:
    """√α T ≤ π for the position, π/2 for the momentum, proved (σ < 1, so T' < T)."""
    with flint.ctx.workprec(BITS):
        quarter = flint.arb.pi() / 2
        phase = BALLS.exact(data.alpha).sqrt() * BALLS.exact(data.horizon)
        return bool(phase <= (2 * quarter if quantity == "position" else quarter))
