# Claims: thm-J · thm-J-inf · thm-V
"""thm-J, thm-J-inf, thm-V: products of step Jacobians of one neuron, the rates at which they grow, two orbits whose
inputs differ once, and which contributions of early steps can vanish.

Proofs: docs/derivations/jacobian_products.md. They are tried by the searches that try what they repair: words at
resonance, saddles at rest, driven stacks (sam (54), icml S(27), icml App. D, both-novanish).
"""

from __future__ import annotations

from odernn.published.sources import Source
from verification.cases.driven_stacks import FREE, TWO_CONSTANT, UNIT
from verification.cases.growth_factors import RANGE
from verification.cases.orbit_separation import linear_case, separation_case
from verification.cases.step_products import NORM, layer_case, product_case
from verification.cases.vanishing_inputs import saturation_case, size_case, vanishing_case
from verification.cases.word_rates import SWITCHED, form_case, resonance_case, saddle_case
from verification.claim import Claim

_DERIVATION = "docs/derivations/jacobian_products.md"

CLAIMS = (
    Claim(
        id="thm-J",
        source=Source("library", f"{_DERIVATION}, thm-J"),
        statement="(a) ‖B(κ)‖_a = exp asinh(h|κ − a|/(2r_a)) exactly for every 0 < a < 4/h², and log ‖Φ(n,k)‖_a is at "
        "most the sum over the steps; two orbits part no faster. (b) Every word in B(κ₋), B(κ₊) grows at most at the "
        "rate of the best form. (c) It is 2 asinh(h√W/2) where W = −κ₋ > 0, κ₊ ≤ W(3 + h²W/2)/(1 + h²W/2), (e) and so "
        "with 4/h² − κ for κ. (d) κ₋ > 0, a = α + w/2 < 4/h²: at most asinh(h|w|/(4r_a)), and log|ω₂/ω₁| a "
        "quarter period of each. w = 0, αh² < 4: nothing grows",
        semantics="real",
        cases=(
            NORM.case("(a), all a, h, κ", "‖B(κ)‖_a"),
            product_case(),
            form_case(),
            saddle_case(),
            resonance_case(),
            SWITCHED.case("κ₋ > 0, h → 0", "trace of two turns"),
            saddle_case(mirrored=True),
            separation_case("one neuron, periodic input", FREE),
            separation_case("one neuron, 0 < w < 1, periodic input", UNIT),
            separation_case("two layers, constant input", TWO_CONSTANT),
            linear_case(),
        ),
        origin="library",
    ),
    Claim(
        id="thm-J-inf",
        source=Source("library", f"{_DERIVATION}, thm-J-inf"),
        statement="‖dX^L_n/dX^L_k‖_∞ ≤ e^{K(n−k)dt}, K = max(2, ‖w^L‖_∞ + α), for all weights and inputs; and ≤ 1 + "
        "2γ(n−k)dt, γ = K + K²/2, as long as γ(n−k)dt ≤ x₀ = 1.2564…; dt < 1, α ≥ 0",
        semantics="real",
        cases=(layer_case(), layer_case(RANGE)),
        origin="library",
        dominated_by="thm-J",
    ),
    Claim(
        id="thm-V",
        source=Source("library", f"{_DERIVATION}, thm-V"),
        statement="(a) ‖Φ(n,k)‖_a = ‖Φ(n,k)⁻¹‖_a ≥ 1 for all weights and inputs. (b) For 0 < α < −w, αh² < 4, some "
        "inputs make contributions of steps k below a fixed distance from n fall by λ = exp(−2 asinh(h√(|w| − α)/2)) "
        "a step. (c) Every contribution of step k carries σ'(A_{k−1}) ≤ 4e^{−2|A_{k−1}|}",
        semantics="real",
        cases=(size_case(), vanishing_case(), saturation_case()),
        origin="library",
    ),
)
