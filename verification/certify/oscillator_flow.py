"""The oscillator y″ = −(tanh(w y + b) + α y) of one neuron and its first variation, enclosed in balls by Taylor series.

    y′ = z,   z′ = −(s + α y),   s = tanh(w y + b):  s′ = w (1 − s²) z,   y = z = 0 at time 0
    Φ(τ, σ): columns (p, p′) with p″ = −(α + w (1 − s²)) p, the identity at τ = σ;  its entry (1, 2) is S(τ, σ)

Time is effective time τ = n h. A step is the series of ``ORDER`` terms and Lagrange's remainder over a box that
Picard's map sends into itself. Source: docs/derivations/multilayer_paths.md, thm-R; the method, Moore 1966.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, ctx

from odernn.bounds.numbers import BALLS

ORDER = 16
LONGEST = Fraction(1, 16)
"""A step of the series is no longer."""
BITS = 192
ATTEMPTS = 30


class NotEnclosedFlowError(ValueError):
    """No box was found that holds a step of the flow: shorten the time or take smaller weights."""


@lru_cache(maxsize=64)
def fundamental_matrix(
    alpha: Fraction, w: Fraction, b: Fraction, start: Fraction, end: Fraction
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Φ(end, start), 0 ≤ start ≤ end in effective time, as balls. Raises NotEnclosedFlowError."""
    with ctx.workprec(BITS):
        numbers = (BALLS.exact(alpha), BALLS.exact(w))
        orbit = _flow([arb(0), arb(0), BALLS.exact(b).tanh()], start, *numbers)
        one, zero = arb(1), arb(0)
        _, _, _, p, dp, q, dq = _flow([*orbit, one, zero, zero, one], end - start, *numbers)
    return (p, q), (dp, dq)


def _flow(state: list[Any], time: Fraction, alpha: Any, w: Any) -> list[Any]:
    count = -(-time // LONGEST) if time else 0
    for _ in range(count):
        state = _step(state, BALLS.exact(time / count), alpha, w)
    return state


def _step(state: list[Any], length: Any, alpha: Any, w: Any) -> list[Any]:
    box = _box(state, length, alpha, w)
    own, far = _series(state, alpha, w, ORDER), _series(box, alpha, w, ORDER + 1)
    after = []
    for coefficients, rest in zip(own, far, strict=True):
        value = rest[ORDER]
        for coefficient in reversed(coefficients[:ORDER]):
            value = value * length + coefficient
        after.append(value)
    return after


def _box(state: Sequence[Any], length: Any, alpha: Any, w: Any) -> list[Any]:
    """Holds the flow from ``state`` on [0, length]: state + [0, length] f(box) lies in its interior."""
    times = arb(0).union(length)
    box = list(state)
    for _ in range(ATTEMPTS):
        wide = [entry + (entry.rad() + arb(1, 1) / 1024) * arb(0, 1) for entry in box]
        image = [x + times * column[1] for x, column in zip(state, _series(wide, alpha, w, 2), strict=True)]
        if all(outer.contains_interior(inner) for outer, inner in zip(wide, image, strict=True)):
            return wide
        box = [outer.union(inner) for outer, inner in zip(wide, image, strict=True)]
    raise NotEnclosedFlowError("No box holds a step of the flow. Take a shorter time or smaller weights.")


def _series(state: Sequence[Any], alpha: Any, w: Any, terms: int) -> list[list[Any]]:
    """Taylor coefficients 0 .. terms − 1 of y, z, s and, where there are any, of (p, p′) for each column."""
    y, z, s, *columns = ([entry] for entry in state)
    pairs = list(zip(columns[::2], columns[1::2], strict=True))
    slope: list[Any] = []
    for i in range(terms - 1):
        slope.append((1 if i == 0 else 0) - sum((s[j] * s[i - j] for j in range(i + 1)), arb(0)))
        y.append(z[i] / (i + 1))
        z.append(-(s[i] + alpha * y[i]) / (i + 1))
        s.append(w * sum((slope[j] * z[i - j] for j in range(i + 1)), arb(0)) / (i + 1))
        for p, dp in pairs:
            pull = alpha * p[i] + w * sum((slope[j] * p[i - j] for j in range(i + 1)), arb(0))
            p.append(dp[i] / (i + 1))
            dp.append(-pull / (i + 1))
    return [y, z, s, *columns]
