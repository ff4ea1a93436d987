# Claims: thm-G · thm-G-inf · thm-G-input · thm-G-short
"""The library's bounds on gradients of UnICORNN, and the printed ones under the hypotheses that they need.

Tried at the networks at which the published bounds fell, at the rows of Table 6, and by ascent on whole networks.
Proofs: docs/derivations/gradient_bounds.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from odernn.published.networks import ROWS
from odernn.published.sources import Source
from verification.cases.chain_gradients import inputs
from verification.cases.corrected_bounds import (
    direct_case,
    jacobian_case,
    norms_case,
    proof_of_gradient,
    short_case,
    within_case,
)
from verification.cases.gradient_theorems import (
    UNDAMPED,
    OfChain,
    chain_case,
    chains,
    formed,
    network_case,
    row_case,
    with_forms,
)
from verification.cases.network_gradient import THETAS, gradient_parameters
from verification.claim import Claim, Parameters
from verification.measure.corrected_forms import CorrectedGradient
from verification.measure.gradient_forms import ICML_14, ICML_42, ICML_MAIN
from verification.measure.gradient_theorems import GradientTheorem

_PAGE = Source("library", "docs/derivations/gradient_bounds.md")
_SUM = "E = (1/N) Σ_n |y^L_n − ȳ_n|²/2, |ȳ| ≤ Ȳ, |u| ≤ U, p = L − l, m_l = m if l < L, else 1"
G, G_INF = GradientTheorem("thm-G"), GradientTheorem("thm-G-inf")
CLOSED, SUMMAND = CorrectedGradient(), CorrectedGradient(of_one_step=True)
BIAS = gradient_parameters("b", whole="no", fixed=UNDAMPED)
BY_INPUT = gradient_parameters("V", whole="no", layer=lambda _: range(1, 2), fixed=UNDAMPED)


def _formed_chains() -> Iterator[Parameters]:
    return formed(chains())


def _formed_inputs() -> Iterator[Parameters]:
    return formed(inputs())


CLAIMS = (
    Claim(
        id="thm-G",
        source=_PAGE,
        statement="|dE/dθ| ≤ m_l (Ȳ + Ŷ_L)/min r_L · g_θ Π_{q>l} v_q Σ_{j<N} C(j+p, p) e^{jω}, every a in (0, 4/h²): "
        "r = √(a(1−ah²/4)), ω = max_{q≥l} asinh(h|κ−a|/(2r)), κ in {κ₋, κ₊}, v = max h Σ|V|/r, g_b = h, g_w = hŶ_l, "
        f"g_V = hŶ_{{l−1}}, g_c = h(1−σ̂)(1 + αŶ_l + √aẐ_l); |y| ≤ Ŷ, |z| ≤ Ẑ; {_SUM}; α ≥ 0",
        semantics="real",
        origin="library",
        cases=(
            chain_case("free", "|dE/db|, all layers", OfChain(G, "b"), "b", _formed_chains, with_forms(BIAS)),
            chain_case("free", "|dE/dV^1|", OfChain(G, "V"), "V", _formed_inputs, with_forms(BY_INPUT)),
            *(network_case(G, theta) for theta in THETAS),
            *(row_case(row, OfChain(G, theta), theta, has_forms=True) for row in ROWS for theta in ("b", "V")),
        ),
    ),
    Claim(
        id="thm-G-inf",
        source=_PAGE,
        statement="|dE/dθ| ≤ m_l (Ȳ + F)(2 + F_z + (1+α)F + max(F, U)) Π_{q>l}‖V^q‖_∞ ((T + p dt)^{p+1}/(p+1)!) e^{w̄T},"
        f" w̄ = max_{{q≥l}} max(2, ‖w^q‖_∞ + α), |y| ≤ F, |z| ≤ F_z; {_SUM}; α ≥ 0, dt < 1; its steps, each summand "
        "among them; and the form with h, of each θ by itself",
        semantics="real",
        origin="library",
        dominated_by="thm-G",
        cases=(
            chain_case("free", "|dE/dθ|", CLOSED, "b", chains, BIAS, partial(proof_of_gradient, CLOSED)),
            chain_case("free", "|dE/dV^1|", CLOSED, "V", inputs, BY_INPUT, partial(proof_of_gradient, CLOSED)),
            chain_case("free", "|∂E_{k,l}/∂θ|", SUMMAND, "b", chains, BIAS, partial(proof_of_gradient, SUMMAND)),
            jacobian_case(),
            norms_case(),
            direct_case(),
            *(network_case(G_INF, theta) for theta in THETAS),
            *(row_case(row, CLOSED, theta, has_forms=False) for row in ROWS for theta in ("b", "V")),
        ),
    ),
    Claim(
        id="thm-G-input",
        source=_PAGE,
        statement="L = 1, |u_n| ≤ F of sam (42): |dE/dV^1| ≤ T e^{w̄T} (Ȳ + F) Δ, sam (41); α > 0, dt < 1",
        semantics="real",
        origin="library",
        dominated_by="thm-G-inf",
        cases=(within_case(),),
    ),
    Claim(
        id="thm-G-short",
        source=_PAGE,
        statement="βT, γT ≤ x₀ = 1.2564…, the root of e^x = 1 + 2x, θ of layer L, not V^1: icml (12), S(14) and "
        "S(42) hold; α > 0, 0 < dt < 1 (S(27) at short lags: thm-J-inf)",
        semantics="real",
        origin="library",
        dominated_by="thm-G-inf",
        cases=(
            short_case(ICML_MAIN, "|dE/dθ| by (12)"),
            short_case(ICML_14, "|dE/dθ| by S(14)"),
            short_case(ICML_42, "|∂E_{k,l}/∂θ| by S(42)"),
        ),
    ),
)
