"""A proof over a printed row: thm-S, which holds for all weights and inputs, lies below the bound for every n ≤ N.

    sup over weights and inputs of ‖yₙ‖ ≤ thm-S(h, n) ≤ thm-S(dt, n) ≤ bound(n),   h = dt σ̂(c) ≤ dt

The first back-end asks every n in balls; the second one, ``certify.second.state_box``, halves intervals of n.
"""

from __future__ import annotations

from typing import Any

import flint

from odernn.bounds import sharp
from odernn.bounds.numbers import BALLS
from verification.cases.state_bound.ratios import Evidence
from verification.certify.second import state_box
from verification.claim import Claim, Part, Setting, admissible
from verification.domains import FREE, SearchPoint
from verification.system import UNICORNN

BITS = 128


def proof(claim: Claim, part: Part, evidence: Evidence) -> str:
    """The sentence that says what is proved by both back-ends, or ""; nothing is tried off the printed rows.

    Uses the invariant form (α > 0) or the exact supremum (α = 0): both increase with h, so h = dt covers all σ̂(c) ≤ 1,
    provided that the bound does not depend on h: it is given none, and one that asks for it is not proved.
    """
    is_tried = evidence.domain != FREE and claim.origin != "library" and claim.bound.system is UNICORNN
    if not is_tried or len(evidence.points) != 1:
        return ""
    point, layer = evidence.points[0], evidence.layer
    if not (_by_balls(claim, part, point, layer) and _by_intervals(claim, part, point, layer)):
        return ""
    return f"for all weights, inputs, c and n ≤ {point.steps}: thm-S ≤ bound, in balls and in intervals"


def _by_intervals(claim: Claim, part: Part, point: SearchPoint, layer: int) -> bool:
    return state_box.is_below(
        str(point.alpha),
        [str(dt) for dt in point.dt[:layer]],
        steps=point.steps,
        hidden_size=point.hidden_size,
        quantity=part.quantity,
        norm=part.norm,
        bound=part.second_bound,
        premises=claim.bound.second_hypotheses,
    )


def _by_balls(claim: Claim, part: Part, point: SearchPoint, layer: int) -> bool:
    with flint.ctx.workprec(BITS):
        alpha, dt = BALLS.exact(point.alpha), BALLS.exact(point.dt[layer - 1])
        if point.alpha > 0 and not alpha * dt * dt < 4:
            return False
        if not all(_premises_proved(claim, _box_setting(point, number, 1)) for number in range(1, layer + 1)):
            return False
        factor = BALLS.exact(point.hidden_size).log() / 2 if part.norm == "euclidean" else 0
        try:
            return all(
                factor + _theorem(point, dt, n, part.quantity) <= part.bound(_box_setting(point, layer, n), BALLS)
                for n in range(1, point.steps + 1)
            )
        except TypeError:
            return False


def _box_setting(point: SearchPoint, layer: int, n: int) -> Setting:
    """Step n of the row's layer, for every effective step at once: there is no ``step_sizes``."""
    return Setting.of(
        BALLS,
        alpha=point.alpha,
        dt=point.dt[layer - 1],
        step=n,
        steps=point.steps,
        hidden_size=point.hidden_size,
        step_sizes=None,
    )


def _premises_proved(claim: Claim, setting: Setting) -> bool:
    return all(holds for *_, holds in admissible(claim.bound, setting))


def _theorem(point: SearchPoint, dt: Any, n: int, quantity: str) -> Any:
    step = BALLS.exact(n)
    if point.alpha == 0:
        return sharp.log_undamped_supremum(step_size=dt, step=step, quantity=quantity, numbers=BALLS)
    return sharp.log_invariant_bound(
        alpha=BALLS.exact(point.alpha), step_size=dt, step=step, quantity=quantity, numbers=BALLS
    )
