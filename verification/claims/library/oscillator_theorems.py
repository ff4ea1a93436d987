# Claims: thm-C
"""thm-C: the sensitivities and states of the differential equation at all times.

Proof: docs/derivations/sensitivities.md. Tried by the switched runs that try sam (23), (24), (28).
"""

from __future__ import annotations

from fractions import Fraction

from odernn.published.sources import Source
from verification.cases.ode_states import (
    ENERGY,
    MOMENTUM,
    POSITION_ALONE,
    UNDAMPED_MOMENTUM,
    UNDAMPED_POSITION,
    Bound,
    state_case,
)
from verification.cases.ode_theorems import form_case, sensitivity_case, supremum_case
from verification.claim import Claim

SQUARE, FOURTH = Bound(power=2), Bound(Fraction(1, 4), power=4)

CLAIMS = (
    Claim(
        id="thm-C",
        source=Source("library", "docs/derivations/sensitivities.md, thm-C"),
        statement="(a) √E_a(t) ≤ (√E_a(0) + ∫|σ'C|)e^{λ_a t}, E_a = a|y_θ|² + |z_θ|², λ_a = max |κ − a|/(2√a) over κ₋, "
        "κ₊, for all t and a > 0; (b) |y_i| ≤ t²/2, |z_i| ≤ t, α|y|² + |z|² ≤ m t² from rest, α ≥ 0; (c) λ_a is "
        "smallest at a = W = −κ₋, √W, if W > 0 and κ₊ ≤ 3W, else at the mean of κ₋, κ₊ (κ₊ > 0); (d) α > 0: "
        "sup |y_i(t)| = ∫_0^t |sin √α s| ds/√α, sup |z_i(t)| = ∫_0^t |cos √α s| ds over all drives",
        semantics="real",
        cases=(
            sensitivity_case(),
            state_case("all t", POSITION_ALONE, FOURTH, horizon=None),
            state_case("all t", MOMENTUM, SQUARE, horizon=None),
            state_case("all t", ENERGY, SQUARE, horizon=None),
            state_case("all t, α = 0", UNDAMPED_POSITION, FOURTH, horizon=None, undamped=True),
            state_case("all t, α = 0", UNDAMPED_MOMENTUM, SQUARE, horizon=None, undamped=True),
            form_case(),
            supremum_case("|y|"),
            supremum_case("|z|"),
        ),
        origin="library",
    ),
)
