# Claims: sam-D.1-a · sam-D.1-b
"""sam-D.1: the state bounds of the SAM report, for α > 0 (32) and for α = 0 (33)."""

from typing import Any

from odernn.bounds import sam
from odernn.published.sources import Source
from verification.cases.chain_ends import sam_state_case, undamped_state_case
from verification.claim import Claim, Hypothesis, Part, StateBound


def _second_energy(s: Any, iv: Any) -> Any:
    """log of 2 m T (1 + 2α dt³) e^{ᾱT}, typed again for intervals."""
    root = iv.sqrt(s.alpha)
    rate = iv.sqrt(iv.sqrt(iv.mpf(96))) * iv.mpf([max(1, root.a), max(1, root.b)])
    return iv.log(2 * s.hidden_size * s.horizon * (1 + 2 * s.alpha * s.dt**3)) + rate * s.horizon


CLAIMS = (
    Claim(
        id="sam-D.1-a",
        source=Source("sam", "(32)"),
        statement="‖y_n^l‖² ≤ (2mT/α)(1 + 2α dt³)e^{ᾱT} and ‖z_n^l‖² ≤ 2mT(1 + 2α dt³)e^{ᾱT} for all n ≤ N, l; "
        "ᾱ = 96^{1/4} max{1, √α}; dt < 1, α > 0, zero initial state, T = N dt",
        semantics="real",
        state_bound=StateBound(
            parts=(
                Part(
                    quantity="position",
                    norm="euclidean",
                    bound=lambda s, numbers: sam.log_position(
                        alpha=s.alpha, dt=s.dt, horizon=s.horizon, hidden_size=s.hidden_size, numbers=numbers
                    ),
                    second_bound=lambda s, iv: (_second_energy(s, iv) - iv.log(s.alpha)) / 2,
                ),
                Part(
                    quantity="momentum",
                    norm="euclidean",
                    bound=lambda s, numbers: sam.log_momentum(
                        alpha=s.alpha, dt=s.dt, horizon=s.horizon, hidden_size=s.hidden_size, numbers=numbers
                    ),
                    second_bound=lambda s, iv: _second_energy(s, iv) / 2,
                ),
            ),
            hypotheses=(
                Hypothesis("α > 0", lambda s: s.alpha, second_margin=lambda s: s.alpha),
                Hypothesis("dt < 1", lambda s: 1 - s.dt, second_margin=lambda s: -(s.dt - 1)),
            ),
        ),
        cases=(sam_state_case("position"), sam_state_case("momentum")),
        dominated_by="thm-S",
    ),
    Claim(
        id="sam-D.1-b",
        source=Source("sam", "(33)"),
        statement="α = 0: ‖y_n^l‖² ≤ 2mT e^{2T} for all n ≤ N, l; dt < 1/2, zero initial state, T = N dt",
        semantics="real",
        state_bound=StateBound(
            parts=(
                Part(
                    quantity="position",
                    norm="euclidean",
                    bound=lambda s, numbers: sam.log_position_undamped(
                        horizon=s.horizon, hidden_size=s.hidden_size, numbers=numbers
                    ),
                    second_bound=lambda s, iv: iv.log(2 * s.hidden_size * s.horizon * iv.exp(2 * s.horizon)) / 2,
                ),
            ),
            hypotheses=(
                Hypothesis(
                    "α = 0",
                    lambda s: -abs(s.alpha),
                    strict=False,
                    second_margin=lambda s: -abs(s.alpha),
                ),
                Hypothesis("dt < 1/2", lambda s: 1 - 2 * s.dt, second_margin=lambda s: 1 - (s.dt + s.dt)),
            ),
        ),
        cases=(undamped_state_case(),),
        dominated_by="thm-S",
    ),
)
