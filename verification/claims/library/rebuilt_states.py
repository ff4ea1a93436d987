# Claims: thm-F
"""thm-F: how far states are from what they were when a layer is stepped back in floating point.

Proofs: docs/derivations/reconstruction.md. Part (c) is an estimate, no bound, and not on trial.
"""

from __future__ import annotations

from odernn.published.networks import ROWS
from odernn.published.sources import Source
from verification.cases.binades import accumulator_case, lemma_case
from verification.cases.rebuilding import chaotic_case, free_case, row_case
from verification.certify.float_replay import FORMATS
from verification.claim import Claim

CLAIMS = (
    Claim(
        id="thm-F",
        source=Source("library", "docs/derivations/reconstruction.md"),
        statement="a neuron run N steps in a format with unit roundoff u and stepped back: ‖x̃_0 − x̂_0‖_a ≤ σ Σ_{j<N} "
        "ρ^j, ρ = e^ω(1 + 2u c_z)/q, σ = {e^ω(δz + 2√a δy) + δz}/q, q = 1 − u[(e^ω + 1)c_z + h(3|w| + 4α)c_y] > 0, "
        "a in (0, 4/h²) (a); fl(fl(y + d) − d) = y unless the exponent grows, y is a power of two or 0, or y + d a tie "
        "(b); fixed accumulators come back exactly (d)",
        semantics="float",
        origin="library",
        cases=(
            *(free_case(name) for name in FORMATS),
            *(chaotic_case(name) for name in FORMATS),
            *(row_case(row, name) for row in ROWS for name in FORMATS),
            *(lemma_case(name) for name in FORMATS),
            accumulator_case(),
        ),
    ),
)
