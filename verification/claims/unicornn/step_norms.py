# Claims: icml-(25) · both-51-53 · both-63-65
"""Norms of one step of UnICORNN: Jacobian (sam (51)-(53), icml S(24)-S(26)), direct partials (sam (63)-(65)).

h = σ̂ dt with 0 < σ̂ < 1 is the effective step, B(κ) = [[1 − h²κ, h], [−hκ, 1]] with κ = α + w σ'(A), 0 < σ' ≤ 1.
Everything is a polynomial inequality on a box, after the absolute values and maxima are split into their cases.
"""

from __future__ import annotations

from odernn.published.sources import Source
from verification.cases.one_step_norms import (
    climb_case,
    exponential_case,
    first_case,
    growth_case,
    middle_case,
    partial_case,
    shifted_case,
    taylor_case,
)
from verification.claim import Claim

CLAIMS = (
    Claim(
        id="icml-(25)",
        source=Source("icml", "S(25)"),
        statement="‖dX^L_j/dX^L_{j−1}‖_∞ ≤ 1 + K dt + K²dt²/2 ≤ 1 + γ dt, K = max(2, ‖w^L‖_∞ + α), "
        "γ = K + K²/2; dt < 1",
        semantics="real",
        cases=(taylor_case(norm="‖dX_j/dX_{j−1}‖_∞"), growth_case()),
    ),
    Claim(
        id="both-51-53",
        source=Source("sam", "(51)-(53); icml S(24), S(26)"),
        statement="‖B‖_∞ ≤ max(1 + dt + (|w|+α)dt², 1 + (|w|+α)dt) ≤ 1 + K dt + K²dt²/2, K = max(2, |w|+α); "
        "‖dX^L_j/dX^L_{j−1}‖_∞ ≤ e^{w̄^L dt}, w̄^L = max(2, ‖w^L‖_∞ + α) (52); "
        "‖dX^q_k/dX^{q−1}_k‖_∞ ≤ ‖V^q‖_∞ dt (53); dt < 1",
        semantics="real",
        cases=(first_case(), middle_case(), exponential_case(), climb_case()),
    ),
    Claim(
        id="both-63-65",
        source=Source("sam", "(63)-(65); icml S(36)-S(38)"),
        statement="|∂z_k/∂θ| ≤ dt(1 + α|y_{k−1}| + max(|y_{k−1}|, |y^{l−1}_k|, 1)) (63); |∂y_k/∂θ| ≤ dt|z_k| + "
        "dt²(same bracket) (64); ‖∂X_k/∂θ‖_∞ ≤ dt(2 + ‖z_k‖_∞ + (1+α)‖y_{k−1}‖_∞ + ‖y^{l−1}_k‖_∞) (65), ∂ with "
        "earlier states fixed; dt < 1; also tried: the index k − 1 of y^{l−1} in sam (6), (31), (59), an erratum",
        semantics="real",
        cases=(partial_case("(63)"), partial_case("(64)"), partial_case("(65)"), shifted_case()),
    ),
)
