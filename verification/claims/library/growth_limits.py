# Claims: thm-J-growth
"""thm-J-growth: the weights w for which N steps of a neuron grow by at most G, by which UnICORNN(growth=G, steps=N) is
made.

Proof: docs/derivations/jacobian_products.md, thm-J (g). Tried by single steps, which attain it, words at resonance, and
the neurons of networks that were trained to grow.
"""

from __future__ import annotations

from odernn.published.sources import Source
from verification.cases.growth_limits import NARROWER, QUADRATIC, admitted_case, outside_case
from verification.claim import Claim

CLAIMS = (
    Claim(
        id="thm-J-growth",
        source=Source("library", "docs/derivations/jacobian_products.md, thm-J (g)"),
        statement="G > 1, s = sinh(log G/N), α ≥ 0, αh² < 4: for w between the roots of (1 + s²)h²w² + 4s²(h²α − 2)w + "
        "4s²α(h²α − 4), but w = α = 0, N steps grow by at most G in the norm of a = α + w/2, whatever the inputs; one "
        "step with another w exceeds it in its form at N = 1; the interval shrinks as h grows",
        semantics="real",
        cases=(
            QUADRATIC.case("all h, α, w, s", "the quadratic and h²w² − 16s²r_a²"),
            admitted_case(),
            outside_case(),
            NARROWER.case("all h, α, w, s", "the quadratic at a larger h"),
        ),
        origin="library",
    ),
)
