# Claims: icml-C.1
"""icml-C.1: the state bound of the ICML version (supplement S(7))."""

from typing import Any

from odernn.bounds import icml
from odernn.published.sources import Source
from verification.claim import Claim, Hypothesis, Part, StateBound


def _second_growth(s: Any, iv: Any) -> Any:
    """1 + 2 β t_n, typed again for intervals; ball-free."""
    linear, square = 1 + 2 * s.alpha, 4 * s.alpha**2
    beta = iv.mpf([max(linear.a, square.a), max(linear.b, square.b)])
    return 1 + 2 * beta * s.time


CLAIMS = (
    Claim(
        id="icml-C.1",
        source=Source("icml", "S(7)"),
        statement="max_i |y_n^{l,i}| ≤ √((2/α)(1 + 2βt_n)) and max_i |z_n^{l,i}| ≤ √(2(1 + 2βt_n)) for all n, l; "
        "β = max{1 + 2α, 4α²}; α > 0, zero initial state, dt ≪ 1 sufficiently small",
        semantics="real",
        state_bound=StateBound(
            parts=(
                Part(
                    quantity="position",
                    norm="max",
                    bound=lambda s, numbers: icml.log_position(alpha=s.alpha, time=s.time, numbers=numbers),
                    second_bound=lambda s, iv: iv.log(2 / s.alpha * _second_growth(s, iv)) / 2,
                ),
                Part(
                    quantity="momentum",
                    norm="max",
                    bound=lambda s, numbers: icml.log_momentum(alpha=s.alpha, time=s.time, numbers=numbers),
                    second_bound=lambda s, iv: iv.log(2 * _second_growth(s, iv)) / 2,
                ),
            ),
            hypotheses=(Hypothesis("α > 0", lambda s: s.alpha, second_margin=lambda s: s.alpha),),
            asymptotic=True,
        ),
        dominated_by="thm-S",
    ),
)
