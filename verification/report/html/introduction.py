"""What a reader needs before the claims: whose they are, the networks they are about, what the letters stand for."""

from __future__ import annotations

from collections.abc import Iterable

from odernn.published.sources import PAPERS as SOURCES
from verification.readings.reading import KINDS
from verification.report.html.model import Introduced, Introduction
from verification.report.rows.claims import PAPERS

NETWORKS = (
    Introduced(
        "unicornn",
        PAPERS["unicornn"][0],
        (
            "z^l_n = z^l_{n−1} − h [tanh(w y^l_{n−1} + V y^{l−1}_n + b) + α y^l_{n−1}],   y^l_n = y^l_{n−1} + h z^l_n",
            "h = dt σ̂(c) a neuron, σ̂ the logistic function; y^0 = u; 0 at n = 0. "
            "In sam the layer below is read at n − 1.",
        ),
        (
            ("dt, α, N, T", "step size, frequency squared, number of steps, T = N dt; t_n = n dt"),
            ("w, V, b, c", "weights of a layer: one w and c a neuron, input matrix, bias; L layers, X = (y, z)"),
            ("E, ȳ, Ȳ", "the loss (1/N) Σ |y^L_n − ȳ_n|²/2, its targets, and their largest value; θ: any weight"),
            ("β", "max(1 + 2α, 4α²), of icml; sam has ᾱ = 96^{1/4} max(1, √α)"),
            ("γ, w̄", "w̄ = max(2, ‖w^L‖_∞ + α), γ = w̄ + w̄²/2"),
            ("V̄", "the product over layers of max(1, ‖V^l‖_∞)"),
            ("F, F_z, Δ", "the bounds on |y|, |z| that a proposition puts in, and what it makes of them"),
            ("F, Δ of (42)", "in sam: F = √((2mT/α)(1 + 2α dt³) e^{ᾱT}), Δ = 2 + √α F + (2 + α)F; m neurons a layer"),
            ("κ, r_α", "κ = α + wσ′, the stiffness of a step; r_α = √(α(1 − αh²/4)); thm-Q: Q_α = αy² + z² − αhyz"),
            ("saddle", "a neuron at rest with w < −α: κ < 0, and its linear step has a mode that grows"),
            (
                "B^m, W, ρ, q",
                "at a saddle, m equal steps: W = |w| − α, ρ = 2 asinh(h√W/2), q = √(1 + h²W/4), R₀ = Nρ; "
                "[B^m]_12 = sinh(mρ)/(√W q) is how far y goes with z; docs/derivations/jacobian_products.md, thm-J (c)",
            ),
            ("S(79)", "with a number in brackets: equation 79 of the supplement of icml; S alone is the next"),
            (
                "S, Λ^l",
                "a residual connection: layers l > S, S ≥ 2, read Λ^l y^{l−S}_n + V^l y^{l−1}_n in the place of "
                "V^l y^{l−1}_n; the formula prints l − S − 1, and a witness counts like it: skip = 1 is S = 2",
            ),
            (
                "ν",
                "[L/S], less 1 if S divides L: so many residual connections lead down from layer L; a hop is one "
                "connection between layers, over one layer or over S",
            ),
            (
                "Ḡ, H̄",
                "dX^3_n/dX^1_n = dt⁴Ḡ + dt³H̄ without residual connections: the entries (y, y) and (z, y), each of "
                "order 1; there dX^q_n/dX^{q−1}_n = dt²G^q + dt H^q, Ḡ = G³G², H̄ = H³G²",
            ),
        ),
    ),
    Introduced(
        "scornn",
        PAPERS["scornn"][0],
        (
            "h_n = modReLU(W h_{n−1} + U x_n; b),   W = C(A) D,   C(A) = (I + A)⁻¹(I − A)",
            "Aᵀ = −A is trained, D = diag(±1) has ρ entries −1; modReLU(z; b) = sign(z) max(|z| + b, 0).",
        ),
        (),
    ),
    Introduced(
        "odernn",
        PAPERS["odernn"][0],
        (
            "k_i = f_i(y + η Σ_j A_ij k_j),   y₊ = y + η Σ_i B_i k_i, with matrices A_ij, B_i",
            "Condition I: M = (B_iᵀA_ij + A_jiᵀB_j − B_iᵀB_j) ≥ 0; condition II: every B_i ≥ 0; both as reconstructed.",
        ),
        (("Δy", "the difference of two states that take the same step"),),
    ),
    Introduced(
        "complexity",
        PAPERS["complexity"][0],
        (
            "A cyclic graph with a delay σ(e) on every edge; unfolded over time it is a network.",
            "Of cycles: d_r, recurrent depth, the largest ratio of length to time; s, recurrent skip coefficient, the "
            "largest ratio of time to length. Of paths from input to output: d_f, feedforward depth, the largest "
            "length − d_r · time.",
        ),
        (),
    ),
)
WORDS = (
    (
        "one claim",
        "its statement, why it fails or what is meant, what is true instead, and the cases that were tried",
    ),
    (
        "icml-…, sam-…, both-…",
        "printed in icml, in sam, in both; sco-…: in scornn; ode-…: in odernn, the paper; cplx-…: in complexity; the "
        "rest is a number or a word of the place",
    ),
    (
        "thm-…, x-…",
        "a theorem of this library. Its proof is not in this page but in docs/derivations of the repository",
    ),
    ("odernn", "the key of a paper and the name of this program, odernn verify: the paper where a source is named"),
    (
        "published, library",
        "whose statement it is; then of which kind: real, analysis; alg, algebra; comb, counting; slope, a scaling "
        "law; float, floating point; reading, a comparison of text",
    ),
    ("witness", "a few exact numbers at which a claim fails; a script recomputes it with nothing of this program"),
    (
        "where nothing is said",
        "of the network of a witness: one layer, one neuron a layer, α = 1, c = 0 (so h = dt/2), b = 0, V = 1, or 0 "
        "in the first layer where the derivative by it is asked, no input, ȳ = 1, zero states",
    ),
    ("free", "everything is left to the search; printed: at a row of a paper's table of hyperparameters"),
    (
        "(limit)",
        "the statement is about all sufficiently small dt: what refutes it is proved for every smaller dt, too; "
        "(printed): at the published dt",
    ),
    ("slack", "log₁₀(bound/measured), in decades; below 0 the claim is violated"),
    (
        "at 8 drawn places",
        "beside a proof: both back-ends were heard at so many parameters, drawn by seed, and neither contradicts it",
    ),
    (
        "250 places spread",
        "over the declaration: beside a search so many sets of parameters were tried, spread so that each parameter "
        "visits every part of the range that the case declares for it",
    ),
    ("dominated by", "a theorem of this library that says more: a remark, never a verdict"),
    ("fails", "a note, a case that nobody means, in which the statement fails: it counts nowhere"),
    *((f"Note, {kind}", said) for kind, said in KINDS.items()),
)


def introduction(papers: Iterable[str]) -> Introduction:
    """Of the papers, by the names of ``rows.claims.PAPERS``, that have claims in the run."""
    present = set(papers)
    keys = [key for name, (_, keys) in PAPERS.items() if name in present for key in keys]
    networks = tuple(network for network in NETWORKS if network.paper in present)
    return Introduction(tuple((key, SOURCES[key]) for key in keys), networks, WORDS if keys else ())
