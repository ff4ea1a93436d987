# Claims: thm-S-exp · thm-S-root · thm-S-span · thm-S-step
"""thm-S-exp, thm-S-root, thm-S-step: what the published energy inequality does give: state bounds with an
exponential at all times, with the square root of 1 + 2βt_n where βT ≤ x₀ = 1.2564… (thm-S'). thm-S-span: how long
the square root bounds what is true, T ≤ 4β(1 − αdt²/4).

Proofs: docs/derivations/state_bounds.md. They are tried by the same adversaries as icml S(7), which they repair.
"""

from __future__ import annotations

from typing import Any

from odernn.bounds import icml, sharp
from odernn.bounds.numbers import Numbers
from odernn.published.sources import Source
from verification.cases.growth_factors import RANGE, exponential_case, linear_case
from verification.cases.square_root_times import span_case, supremum_case
from verification.claim import Claim, Hypothesis, Part, Setting, StateBound

ALPHA_POSITIVE = Hypothesis("α > 0", lambda s: s.alpha, second_margin=lambda s: s.alpha)
STEP_BELOW_ONE = Hypothesis("dt < 1", lambda s: 1 - s.dt, second_margin=lambda s: -(s.dt - 1))
IN_RANGE = (
    Hypothesis(
        f"(1 + 2α)T ≤ {float(RANGE)}",
        lambda s: RANGE.numerator - RANGE.denominator * (1 + 2 * s.alpha) * s.horizon,
        strict=False,
        second_margin=lambda s: RANGE.numerator - (s.horizon + 2 * s.horizon * s.alpha) * RANGE.denominator,
    ),
    Hypothesis(
        f"4α²T ≤ {float(RANGE)}",
        lambda s: RANGE.numerator - RANGE.denominator * 4 * s.alpha * s.alpha * s.horizon,
        strict=False,
        second_margin=lambda s: RANGE.numerator - (2 * s.alpha) ** 2 * s.horizon * RANGE.denominator,
    ),
)


def _beta_again(s: Any, iv: Any) -> Any:
    """max{1 + 2α, 4α²} of intervals."""
    linear, square = 1 + 2 * s.alpha, 4 * s.alpha**2
    return iv.mpf([max(linear.a, square.a), max(linear.b, square.b)])


def _exponential(quantity: str) -> Part:
    def bound(s: Setting, numbers: Numbers) -> Any:
        return sharp.log_exponential_bound(alpha=s.alpha, time=s.time, quantity=quantity, numbers=numbers)

    def second_bound(s: Any, iv: Any) -> Any:
        energy = 2 * iv.exp(_beta_again(s, iv) * s.time)
        return iv.log(iv.sqrt(energy / s.alpha if quantity == "position" else energy))

    return Part(quantity=quantity, norm="max", bound=bound, second_bound=second_bound)


def _square_root(quantity: str) -> Part:
    def bound(s: Setting, numbers: Numbers) -> Any:
        log_bound = icml.log_position if quantity == "position" else icml.log_momentum
        return log_bound(alpha=s.alpha, time=s.time, numbers=numbers)

    def second_bound(s: Any, iv: Any) -> Any:
        energy = 2 + 4 * _beta_again(s, iv) * s.time
        return iv.log(energy / s.alpha if quantity == "position" else energy) / 2

    return Part(quantity=quantity, norm="max", bound=bound, second_bound=second_bound)


CLAIMS = (
    Claim(
        id="thm-S-exp",
        source=Source("library", "docs/derivations/state_bounds.md, thm-S' (for all times)"),
        statement="|y_n| ≤ √(2/α) e^{βt_n/2} and |z_n| ≤ √2 e^{βt_n/2} for all n, l, all weights and inputs, "
        "β = max{1 + 2α, 4α²}; α > 0, dt < 1, zero initial state",
        semantics="real",
        state_bound=StateBound(
            parts=(_exponential("position"), _exponential("momentum")), hypotheses=(ALPHA_POSITIVE, STEP_BELOW_ONE)
        ),
        origin="library",
        dominated_by="thm-S",
    ),
    Claim(
        id="thm-S-root",
        source=Source("library", "docs/derivations/state_bounds.md, thm-S'"),
        statement="|y_n| ≤ √((2/α)(1 + 2βt_n)) and |z_n| ≤ √(2(1 + 2βt_n)) for all n, l, all weights and inputs, where "
        "βT ≤ x₀ = 1.2564312086…, e^{x₀} = 1 + 2x₀; β = max{1 + 2α, 4α²}; α > 0, dt < 1, zero initial state",
        semantics="real",
        state_bound=StateBound(
            parts=(_square_root("position"), _square_root("momentum")),
            hypotheses=(ALPHA_POSITIVE, STEP_BELOW_ONE, *IN_RANGE),
        ),
        origin="library",
        dominated_by="thm-S",
    ),
    Claim(
        id="thm-S-span",
        source=Source("library", "docs/derivations/state_bounds.md, thm-S-span"),
        statement="|y_n| ≤ √((2/α)(1 + 2βt_n)) and |z_n| ≤ √(2(1 + 2βt_n)), icml S(7), for all n, l, all weights and "
        "inputs, where T ≤ 4β(1 − αdt²/4), as t²/(1 − αdt²/4) ≤ 2 + 4βt there; β = max{1 + 2α, 4α²}; α > 0, αdt² < 4, "
        "zero initial state",
        semantics="real",
        cases=(span_case(), supremum_case("position"), supremum_case("momentum")),
        origin="library",
        dominated_by="thm-S",
    ),
    Claim(
        id="thm-S-step",
        source=Source("library", "docs/derivations/state_bounds.md, thm-S'"),
        statement="(1 + β dt)^n ≤ e^{βt_n} for all n and 0 < dt < 1, and ≤ 1 + 2βt_n as long as βt_n ≤ x₀ = "
        "1.2564312086…, e^{x₀} = 1 + 2x₀; β = max{1 + 2α, 4α²}, α > 0",
        semantics="real",
        cases=(exponential_case(), linear_case()),
        origin="library",
    ),
)
