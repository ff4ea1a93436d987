# Claims: thm-damp
"""thm-damp: when damped neurons contract, by which DampedUnICORNN(rate=r) is made, and how far inputs move them.

Proofs: docs/derivations/damped_oscillators.md. Tried by single steps, which attain it, words, the neurons of networks
that were trained to forget as little as they can, and forms near the best one.
"""

from __future__ import annotations

from odernn.published.sources import Source
from verification.cases.damped import admitted_case, input_case, outside_case, similarity
from verification.claim import Claim

CLAIMS = (
    Claim(
        id="thm-damp",
        source=Source("library", "docs/derivations/damped_oscillators.md, thm-damp"),
        statement="z₊ = q(z − h(σ(wy + x) + αy)), y₊ = y + hz₊, q = 1/(1 + hγ), 0 < σ' ≤ 1. (a) The step's Jacobian is "
        "√q times an undamped one in other coordinates. (c) With sin²ξ(k) = h²(k(1 + hr) − r(γ − r))/(2D), sin g = h(γ "
        "− 2r − hr²)/D, D = 1 + hγ + (1 + hr)², N steps contract by ρ^N, ρ = 1/(1 + hr), in one form, whatever the "
        "inputs, if ξ(α + w) is within g of ξ(α), and no form contracts them at ρ beyond. (e) Two runs whose drives "
        "differ by δx_n part by at most hq Σ ρ^{N−n}|δx_n| in that form",
        semantics="real",
        cases=(
            similarity().case("all h, q, k", "T M(k) and √q B(κ) T"),
            admitted_case(),
            outside_case(),
            input_case(),
        ),
        origin="library",
    ),
)
