"""Every bound and every premise is typed twice: compared at random settings, in every run.

bound(setting) in balls  ∩  second_bound(setting) in intervals  ≠  ∅
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import flint

from odernn.bounds.numbers import BALLS
from verification.cases.state_bound.ratios import Evidence
from verification.certify.enclosures import are_apart
from verification.certify.second.intervals import iv, number
from verification.claim import Claim, Part, Setting, admissible

BITS, DRAWS, MOST_STEPS = 128, 12, 40


def contradiction(claim: Claim, part: Part, evidence: Evidence) -> str:
    """Where and by how much the two typings differ, of the bound or of a premise; "" if they agree wherever the
    premises hold and both have values.
    """
    rng = random.Random(f"{claim.id} {part.quantity} {part.norm} {evidence.domain} {evidence.layer}")
    with flint.ctx.workprec(BITS), iv.workprec(BITS):
        for where, first, again in _drawn(rng):
            for premise in claim.bound.hypotheses:
                margin, second_margin = premise.margin, premise.second_margin
                if second_margin is not None and (
                    apart := _apart(partial(margin, first), partial(second_margin, again))
                ):
                    return f'the two typings of the hypothesis "{premise.text}" differ at {where}: {apart}'
            is_admitted = all(holds for *_, holds in admissible(claim.bound, first))
            if is_admitted and (
                apart := _apart(partial(part.bound, first, BALLS), partial(part.second_bound, again, iv))
            ):
                return f"the two typings of the bound on {part.symbol} differ at {where}: {apart}"
    return ""


def _apart(one: Callable[[], Any], other: Callable[[], Any]) -> str:
    try:
        ball, interval = flint.arb(one()), iv.mpf(other())
    except (ArithmeticError, ValueError):  # no value there
        return ""
    return f"{float(ball.mid()):.10g} and {float(interval.mid):.10g}" if are_apart(ball, interval) else ""


def _drawn(rng: random.Random) -> Iterator[tuple[str, Setting, Any]]:
    """Settings of one neuron group in both namespaces, α = 0 among them; premises may fail there."""
    for _ in range(DRAWS):
        alpha = rng.choice((Fraction(0), Fraction(rng.randint(1, 400), 16)))
        dt = Fraction(rng.randint(1, 63), 64) / rng.choice((1, 1, 10))
        h = dt * Fraction(rng.randint(1, 64), 64)
        steps = rng.randint(1, MOST_STEPS)
        n, m = rng.randint(1, steps), rng.choice((1, 2, 7))
        first = Setting.of(BALLS, alpha=alpha, dt=dt, step=n, steps=steps, hidden_size=m, step_sizes=[BALLS.exact(h)])
        dt_again = number(str(dt))
        again = SimpleNamespace(
            alpha=number(str(alpha)),
            dt=dt_again,
            step=n,
            steps=steps,
            hidden_size=m,
            step_sizes=[number(str(h))],
            time=n * dt_again,
            horizon=steps * dt_again,
        )
        yield f"α = {alpha}, dt = {dt}, h = {h}, n = {n}, N = {steps}, m = {m}", first, again
