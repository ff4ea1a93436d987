# Claims: thm-Q · thm-Q-mod · thm-vol
"""thm-Q, thm-Q-mod, thm-vol: the invariant form of a neuron without σ, the modified Hamiltonian that σ leaves, and the
structure of the layered map.

Proofs: docs/derivations/state_bounds.md (thm-Q, thm-Q-mod), docs/derivations/layer_structure.md (thm-vol).
"""

from __future__ import annotations

from odernn.published.sources import Source
from verification.cases.invariant_form import INVARIANT, SHARP, VALUES, definite_case, modified_case
from verification.cases.layered_maps import (
    ICML_INVERSE,
    ONE_LAYER,
    SAM_INVERSE,
    SYMPLECTIC,
    UNCOUPLED,
    UP_TO_THREE,
    VOLUME,
    VOLUME_SAM,
    full_identity,
)
from verification.claim import Claim

CLAIMS = (
    Claim(
        id="thm-Q",
        source=Source("library", "docs/derivations/state_bounds.md, thm-Q"),
        statement="Q_a(y, z) = a y² + z² − a h y z: (i) Q_a∘B(a) = Q_a; (ii) positive definite exactly for 0 < ah² "
        "< 4; (iii) Q_a(0, 1) = Q_a(h, 1) = 1, Q_a(1, 0) = a; (iv) |y| ≤ √Q_a/r_a, |z| ≤ √Q_a/√(1 − ah²/4), both "
        "sharp; (v) det B(κ) = 1 and B(κ)(0, 1) = (h, 1) for every κ",
        semantics="alg",
        cases=(
            INVARIANT.case("all a, h", "Q_a after B(a)"),
            definite_case(),
            VALUES.case("all a, h, κ", "values and determinant"),
            SHARP.case("all a, h", "Q_a against r_a²y², (1 − ah²/4)z²"),
        ),
        origin="library",
    ),
    Claim(
        id="thm-Q-mod",
        source=Source("library", "docs/derivations/state_bounds.md, thm-Q-mod"),
        statement="constant input, H of (4), w ≠ 0: a step changes H̃ = H − (h/2) z (tanh(wy + x) + αy) by the error of "
        "the trapezoidal rule, at most w²h³|z_n|³/(9√3); so H̃ is kept up to O(h²) and H up to O(h) over t_n of order "
        "1, |H_N − H_0| ≤ (h/2)(|z_0 f_0| + |z_N f_N|) + w²h³Σ|z_n|³/(9√3); tried at h²(α + |w|) ≤ 4",
        semantics="real",
        cases=(modified_case(of_hamiltonian=False), modified_case(of_hamiltonian=True)),
        origin="library",
    ),
    Claim(
        id="thm-vol",
        source=Source("library", "docs/derivations/layer_structure.md, thm-vol"),
        statement="(a) each layer, its input given, is a symplectic map; (b) a step of L layers has determinant 1 and "
        "an inverse, (c) of the form (7) with the indices of icml; (d) the neurons of a layer are uncoupled; (e) a "
        "full W keeps the determinant, and the step is symplectic exactly where diag(h) diag(σ') W is symmetric",
        semantics="alg",
        cases=(
            SYMPLECTIC.case("(a), L = 1, m ≤ 3", "DFᵀ J DF", ONE_LAYER),
            VOLUME.case("(b), L ≤ 3, m ≤ 2", "det DF, icml indices", UP_TO_THREE),
            VOLUME_SAM.case("(b), L ≤ 3, m ≤ 2", "det DF, sam indices", UP_TO_THREE),
            SAM_INVERSE.case("(b), L ≤ 3, m ≤ 2", "inverse, sam indices", UP_TO_THREE),
            ICML_INVERSE.case("(c), L ≤ 3, m ≤ 2", "(7) after (6)", UP_TO_THREE),
            UNCOUPLED.case("(d), 2 ≤ m ≤ 3", "dX_j/dX_{j−1}", ONE_LAYER[1:]),
            full_identity(2).case("(e), m = 2, full W", "det DF, DFᵀ J DF"),
            full_identity(3).case("(e), m = 3, full W", "det DF, DFᵀ J DF"),
        ),
        origin="library",
    ),
)
