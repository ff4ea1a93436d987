"""All networks of a box of weights once more, in mpmath intervals: derivatives are carried back from step N.

p holds intervals under the names of the box, and the parameters as text in ``texts``.
"""

from __future__ import annotations

from typing import Any

from verification.certify.second.intervals import iv, logistic


def _modulus(x: Any) -> Any:
    """|x| of an interval, from its ends."""
    if x.a >= 0:
        return x
    return -x if x.b <= 0 else iv.mpf([0, max(-x.a, x.b)])


def top_slopes(p: Any, steps: int) -> list[Any]:
    """1 − tanh²A of the top layer at steps 1..N, from |tanh A| ≤ |A|, one after the other."""
    h = p.dt * logistic(p.c)
    reach = max(_modulus(p.low).b, _modulus(p.high).b)
    position = momentum = iv.mpf(0)
    enclosed = []
    for _ in range(steps):
        own = position * reach
        momentum = momentum + (position * p.alpha + 1) * h
        position = position + momentum * h
        A = (own + p.b + position * p.V).b
        enclosed.append(iv.mpf([max(0, (1 - iv.mpf(A) ** 2).a), 1]))
    return enclosed


def least_norm(p: Any) -> Any:
    """A lower bound of ‖dX^L_N/dX^{L−1}_1‖_∞ / ‖V^L‖_∞ over the box, as an interval without width."""
    steps = int(p.texts["N"])
    gains = top_slopes(p, steps)
    h = p.dt * iv.mpf([logistic(-p.c).a, logistic(p.c).b])
    pull = h * iv.mpf([min(0, p.low.a) + p.alpha.a, max(0, p.high.b) + p.alpha.b])
    sums = []
    for seed in ((1, 0), (0, 1)):  # of y^L_N, of z^L_N
        P, Q = iv.mpf(seed[0]), iv.mpf(seed[1])  # by the top layer's state
        R = S = iv.mpf(0)  # by that of the layer below
        for n in range(steps, 0, -1):
            Q = Q + P * h
            R = R - Q * gains[n - 1] * h
            if n > 1:
                P = P - Q * pull
                S = S + R * h
                R = R - S * pull
        sums.append(_modulus(R).a + _modulus(S).a)
    return iv.mpf(max(sums))
