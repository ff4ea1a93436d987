"""The exact supremum of thm-S at exact parameters in both back-ends; thm-S-Q against icml's square root."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from odernn.bounds import sharp
from odernn.bounds.numbers import BALLS
from odernn.published.networks import PublishedRow
from verification.certify.second import intervals as second


def balls(p: Any, quantity: str) -> Any:
    """sup |y_N| or |z_N| at h = σ̂ dt, in balls; N = 0 gives 0."""
    steps = round(float(p.N))
    if not steps:
        return 0 * p.dt
    h = p.sigma * p.dt
    return sharp.log_supremum_at(alpha=p.alpha, step_size=h, steps=steps, quantity=quantity, numbers=BALLS).exp()


def intervals(p: Any, steps: int, quantity: str) -> Any:
    """The same from the response to a unit kick, typed again."""
    h = p.dt * p.sigma
    y, z, total = second.iv.mpf(0), second.iv.mpf(1), second.iv.mpf(0)
    for _ in range(steps):
        z = z - y * p.alpha * h
        y = z * h + y
        total = total + abs(y if quantity == "position" else z)
    return total * h


def square_root_rows(row: PublishedRow, factor: Fraction = Fraction(2)) -> str:
    """Why √α|y_n|, |z_n| ≤ √(factor·(1 + 2βt_n)) for all n ≤ N, c and inputs of a row, or "": exact, by thm-S-Q.

    n²h²/(1 − αh²/4) rises with h < 2/√α and is convex in n, the right side linear: n = 1 and n = N decide.
    """
    alpha, beta = row.alpha, max(1 + 2 * row.alpha, 4 * row.alpha**2)
    for dt in row.dt:
        rest = 1 - alpha * dt**2 / 4
        if not (alpha > 0 and rest > 0):
            return ""
        if any(n * n * dt * dt / rest > factor * (1 + 2 * beta * n * dt) for n in (1, row.steps)):
            return ""
    return f"n²dt²/(1 − α dt²/4) ≤ {factor}(1 + 2βt_n) at n = 1 and n = N, exactly; convex against linear (thm-S-Q)"


def square_root_rows_again(row: PublishedRow, factor: Fraction = Fraction(2)) -> bool:
    """The same without quotients, in intervals: 4n²dt² ≤ factor (1 + 2βn dt)(4 − α dt²), n = 1 and n = N."""
    alpha, times = second.number(str(row.alpha)), second.number(str(factor))
    for text in map(str, row.dt):
        dt = second.number(text)
        room = 4 - alpha * dt**2
        for n in (1, row.steps):
            slopes = (2 * alpha + 1) * n * dt * 2, (2 * alpha) ** 2 * n * dt * 2
            gap = times * room * (1 + max(slopes, key=lambda slope: slope.a)) - (2 * n * dt) ** 2
            if not (alpha.a > 0 and room.a > 0 and gap.a >= 0):
                return False
    return True
