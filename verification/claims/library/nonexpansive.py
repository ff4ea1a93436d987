# Claims: thm-Lip · thm-in
"""thm-Lip: how far inputs can move a network of soft thresholds and orthogonal maps; thm-in: an implicit step.

Proofs: docs/derivations/nonexpansive.md. Tried by changes that add up, which attain it, and by exact runs at random.
"""

from __future__ import annotations

from odernn.published.sources import Source
from verification.cases.nonexpansive import LAST, MEAN, STACKED, STEP, input_case, rows_case, step_case, threshold_case
from verification.claim import Claim

_DERIVATION = "docs/derivations/nonexpansive.md"

CLAIMS = (
    Claim(
        id="thm-Lip",
        source=Source("library", f"{_DERIVATION}, thm-Lip"),
        statement="(a) modReLU(·; b), b ≤ 0, moves no two real or complex numbers apart. (b) h_n = modReLU(W h_{n−1} + "
        "x_n; b), WᵀW = I, all b ≤ 0: two runs from one h_0 have ‖δh_N‖ ≤ √N ‖δx‖₂, their means part by at most "
        "√((N + 1)(2N + 1)/(6N)) ‖δx‖₂, all rows by ‖δx‖₂/(2 sin(π/(4N + 2))); (c) two such layers by "
        "√(N(N + 1)(2N + 1)/6) ‖δx‖₂ at the end",
        semantics="real",
        cases=(threshold_case(), input_case(LAST), input_case(MEAN), rows_case(), input_case(STACKED)),
        origin="library",
    ),
    Claim(
        id="thm-in",
        source=Source("library", f"{_DERIVATION}, thm-in"),
        statement="x₊ = x + h f(X; u), X = x + a(x₊ − x), ½ ≤ a ≤ 1, f monotone: two steps whose fields differ by e at "
        "one stage have ‖d₊‖ ≤ ‖d‖ + h‖e‖",
        semantics="real",
        cases=(step_case(), STEP.case("all a, d, d₊", "the pairing of a step with its stage")),
        origin="library",
    ),
)
