# Claims: thm-R · thm-R-short · thm-ML
"""The library's theorems on what step k contributes to a gradient: one layer, and all lattice paths of L layers.

Proofs: docs/derivations/multilayer_paths.md. What the source says of the same things is tried on cases of these kinds.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from odernn.published.sources import Source
from verification.cases.lattice_kernels import constant_slope, free_kernel, gegenbauer, peak_case
from verification.cases.lattice_paths import all_paths, contributions, within_a_step
from verification.cases.order import Symbol, order_case
from verification.cases.short_times import factor_case, product_case
from verification.certify.scalar_stack import ScalarStack
from verification.claim import Case, Claim
from verification.measure.exact_network import Shape

PAGE = "docs/derivations/multilayer_paths.md"
PAIRS = ((4, 2), (7, 3))
"""(L, S), edges from l − S to l: of the pairs for the published exponents."""
LONG = "T = {T}, k = 1 + n/16"
CONTRIBUTION = Symbol(symbol="|∂E_k/∂w|")
REMAINDER = Symbol(symbol="|∂E_k/∂w − with S(τ_n, τ_{k−1})|")
PRODUCT = Symbol(symbol="‖dX_n/dX_k − Φ(τ_n, τ_k)‖")
KERNEL = Symbol(symbol="|K − leading|")
FIXED_STEPS = 32

COUPLED = ScalarStack(w=Fraction(1, 2))
"""κ changes along the run, and the run is that of the differential equation up to O(h) only."""
LONGER = replace(COUPLED, horizon=Fraction(4), target=Fraction(4))

ONE_LAYER = (*(Shape(1, 1, N) for N in range(1, 5)), Shape(1, 2, 2), Shape(1, 2, 3))
LAYERS = (
    *(Shape(L, 1, N) for L in (1, 2, 3) for N in (2, 3)),
    Shape(2, 2, 2),
    Shape(3, 2, 2),
    Shape(4, 1, 2),
)
RESIDUAL = (Shape(4, 1, 2, 1), Shape(5, 1, 2, 2))
"""Edges over 2 and 3 layers."""
ONE_STEP = (
    *(Shape(L, m, 1) for L in (2, 3, 4) for m in (1, 2)),
    Shape(4, 2, 1, 1),
    Shape(5, 1, 1, 2),
    Shape(7, 1, 1, 2),
)


def _early(stack: ScalarStack, k: int) -> ScalarStack:
    return replace(stack, offset=k, ratio=Fraction(0))


def _fixed_time_cases() -> tuple[Case, ...]:
    """thm-R as dt → 0: the contribution with S for [B_n … B_k]_12, and the product of Jacobians with Φ."""
    contributions_with_S = [
        order_case(stack, "remainder, S", 2, "at most", domain=domain, **REMAINDER)
        for run in (COUPLED, LONGER)
        for stack, domain in (
            (run, LONG.format(T=run.horizon)),
            (_early(run, 2), f"T = {run.horizon}, k = 2"),
        )
    ]
    products = [
        order_case(_early(run, 1), "Φ", 1, "at most", domain=f"T = {run.horizon}, k = 1", **PRODUCT)
        for run in (COUPLED, LONGER)
    ]
    one = order_case(ScalarStack(), "contribution", 1, "exactly", domain=LONG.format(T=1), **CONTRIBUTION)
    return (*contributions_with_S, *products, one)


def _order_cases() -> tuple[Case, ...]:
    """thm-ML (1): one power of dt at every depth, with residual edges as well."""
    stacks = [(f"L = {L}", ScalarStack(layers=L)) for L in (2, 3, 4)]
    stacks += [(f"edges l − S, L = {L}, S = {S}", ScalarStack(layers=L, skip=S - 1)) for L, S in PAIRS]
    return tuple(
        order_case(stack, "contribution", 1, "exactly", domain=f"{domain}, {LONG.format(T=1)}", **CONTRIBUTION)
        for domain, stack in stacks
    )


def _small_time_cases() -> tuple[Case, ...]:
    """thm-ML (2), (3): t^{2p+1} leads as t = t_n − t_k → 0 at fixed n, p the fewest hops."""
    stacks = [(f"L = {L}", ScalarStack(layers=L), L - 1) for L in (2, 3, 4)]
    stacks += [
        (f"edges l − S, L = {L}, S = {S}", ScalarStack(layers=L, skip=S - 1), hops)
        for (L, S), hops in (((4, 2), 2), ((7, 3), 2))
    ]
    return tuple(
        order_case(
            _early(stack, 1),
            "kernel, leading",
            2 * hops + 2,
            "at most",
            domain=f"{domain}, n = {FIXED_STEPS}, k = 1, T → 0",
            fixed_n=FIXED_STEPS,
            **KERNEL,
        )
        for domain, stack, hops in stacks
    )


CLAIMS = (
    Claim(
        id="thm-R",
        source=Source("library", f"{PAGE}, thm-R"),
        statement="one layer, any 1 ≤ k ≤ n, h, w, σ: ∂E_k/∂w = −h σ′(A_{k−1}) y_{k−1} (y_n − ȳ_n) [B_n ⋯ B_k]_12. "
        "At fixed times, dt → 0: dX_n/dX_k = Φ(τ_n, τ_k) + O(dt), Φ the fundamental matrix of S″ = −(α + wσ′(A))S, and "
        "∂E_k/∂w = −h σ′(A_{k−1}) y_{k−1} (y_n − ȳ_n) S(τ_n, τ_{k−1}) + O(dt²), S = Φ_12; of exact order dt where S "
        "and the other factors do not tend to 0. κ constant, 0 < κh² < 4: [B^m]_12 = sin(mθ)/r_κ, cos θ = 1 − κh²/2",
        semantics="real",
        cases=(
            contributions("icml").case("L = 1, m ≤ 2, n ≤ 4", "∂E_k/∂w with [B_n ⋯ B_k]_12", ONE_LAYER),
            constant_slope().case("all h, κ, m ≤ 10", "[B^m]_12 and its bound 1/r_κ"),
            *_fixed_time_cases(),
        ),
        origin="library",
    ),
    Claim(
        id="thm-R-short",
        source=Source("library", f"{PAGE}, thm-R-short"),
        statement="one layer, κ* = α + |w|, all h < 1, n ≥ k ≥ 1 and σ′ in (0, 1], C of sam (84). With x = √κ*(n−k)h "
        "no entry of dX_n/dX_k − C exceeds the largest of cosh x − 1 + (h√κ*/2) sinh x, (sinh x − x)/√κ* + kh, "
        "√κ*(sinh x − x) + αkh: O(dt) + O(t_n²) at fixed k. With x = √κ*(n−k+1)h the factor [B_n ⋯ B_k]_12 of "
        "∂E_k/∂w is t_nσ̂ up to (sinh x − x)/√κ* + (k−1)h; α > 0",
        semantics="real",
        cases=(product_case(), factor_case()),
        origin="library",
    ),
    Claim(
        id="thm-ML",
        source=Source("library", f"{PAGE}, thm-ML"),
        statement="dX^L_n/dX^l_k is the sum over all monotone lattice paths from (k, l) to (n, L) of products of "
        "blocks, and ∂E_k/∂w^{1,p} = −h σ′(A_{k−1}) y_{k−1} Σ_i (y^{L,i}_n − ȳ^i_n) K_{ip}(n, k), K the same sum in y. "
        "(1) O(dt) for every L, of exact order dt where the limit kernel is not 0; (2), (3) for small t = t_n − t_k "
        "t^{2p+1} leads, p the fewest hops; (4) identical linear neurons: a Gegenbauer polynomial, with a peak of "
        "2|V|^{L−1}T′^{L−1}/((L−1)!(2ω₀)^L) up to partial fractions; (5) within a step h^{2p}, h^{2p−1}",
        semantics="real",
        cases=(
            contributions("icml").case("L ≤ 4, n ≤ 3", "∂E_k/∂w over all paths, icml indices", LAYERS),
            contributions("sam").case("L ≤ 4, n ≤ 3", "∂E_k/∂w over all paths, sam indices", LAYERS),
            contributions("icml").case("(L, S) = (4, 2), (5, 3), n ≤ 2", "∂E_k/∂w over all paths", RESIDUAL),
            all_paths("icml").case("L ≤ 4, n ≤ 3", "dX^L_n/dX^l_k over all paths, icml indices", LAYERS),
            all_paths("sam").case("L ≤ 4, n ≤ 3", "dX^L_n/dX^l_k over all paths, sam indices", LAYERS),
            all_paths("icml").case("(L, S) = (4, 2), (5, 3), n ≤ 2", "dX^L_n/dX^l_k over all paths", RESIDUAL),
            *_order_cases(),
            free_kernel().case("α = w = 0, σ′ = 1, L ≤ 4, n − k < 10", "K in closed form"),
            *_small_time_cases(),
            gegenbauer().case("σ′ = 1, all κ, L ≤ 4, n − k < 10", "K = (−V)^{L−1} h^{2L−1} C^{(L)}_{n−k}"),
            peak_case("at most"),
            peak_case("at least"),
            within_a_step().case("L ≤ 7, one step", "dX^L_n/dX¹_n, entry by entry", ONE_STEP),
        ),
        origin="library",
    ),
)
