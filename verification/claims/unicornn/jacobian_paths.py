# Claims: both-(44)/(17) · both-46 · both-92 · both-46-vs-92 · both-48-50 · sam-49-50-indices · both-96-99 ·
#   both-104
"""Products and sums of Jacobians along the paths of an L-layer UnICORNN: sam (44)-(50), (59), (63), (92)-(99), (104);
icml S(17), S(19)-S(23), S(65)-S(72), S(77).

dX^q_n/dX^l_k of two layers is the total derivative of the recursion unless said otherwise: X^l_k is changed, everything
at earlier times and the layers below it stay, and whatever the recursion makes of it follows. In these identities the
times are k = 1 and n = N, the last step of a shape.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from odernn.published.sources import Source
from verification.cases.identity import PathIdentity
from verification.cases.layer_blocks import BY_V_59, CLIMB, CLIMB_SAM, OWN, THREE_AT_ONCE, gradient_by_V
from verification.cases.path_products import (
    EARLY,
    EARLY_LATE,
    EARLY_LATE_SAM,
    EARLY_SAM,
    EARLY_SAM_EXACT,
    LATE,
    LATE_SAM,
    SUM_OVER_PATHS,
)
from verification.certify.second import exact_network as again
from verification.claim import Claim
from verification.measure import ring_matrices
from verification.measure.exact_network import Layered, Shape
from verification.measure.ring_matrices import Matrix

ONE_LAYER = (*(Shape(1, 1, N) for N in range(1, 5)), Shape(1, 2, 2))
SHORT = (*(Shape(L, 1, N) for L in (1, 2, 3) for N in (1, 2, 3)), Shape(2, 2, 2))
TWO_LAYERS = (Shape(2, 1, 2), Shape(2, 2, 2))
THREE_LAYERS = (Shape(3, 1, 2), Shape(3, 2, 2))


# --- (104): residual stacking


def published_counter(L: int, S: int) -> int:
    """ν = [L/S] if S does not divide L, else [L/S] − 1."""
    return L // S - (L % S == 0)


def _residual_stacking(reading: str, longer: int = 0) -> Callable[[Layered], list[Any]]:
    """(104) at one time n. ``reading`` of the factor dX^{L−(s−1)S}/dX^{L−sS}: "total", "partial" or "skip edge".

    ``weights.skip`` is S of the printed y^{l−S−1}; with ``longer`` = 1, S is the length of an edge, l − S to l.
    """

    def factor(network: Layered, q: int) -> Matrix:
        S = network.weights.skip + longer
        if reading == "total":
            return network.total(q, 1, q - S, 1)
        if reading == "skip edge":
            return network.jump(q, 1)
        return [[0] * (2 * network.neurons) for _ in range(2 * network.neurons)]

    def residual(network: Layered) -> list[Any]:
        L, S = network.layers, network.weights.skip + longer
        nu = published_counter(L, S)
        first = [factor(network, L - (s - 1) * S) for s in range(1, nu + 1)]
        first += [network.climb(l, 1) for l in range(L - nu * S, 1, -1)]
        chain = ring_matrices.product(*(network.climb(l, 1) for l in range(L, 1, -1)))
        right = ring_matrices.plus(ring_matrices.product(*first), chain)
        return ring_matrices.entries(ring_matrices.minus(network.total(L, 1, 1, 1), right))

    return residual


def _residual_stacking_again(reading: str, longer: int = 0) -> Callable[[again.IntervalNetwork], list[Any]]:
    def residual(network: again.IntervalNetwork) -> list[Any]:
        L, S, size = network.L, network.S + longer, 2 * network.m
        nu = L // S if L % S else L // S - 1
        first, chain = again.eye(size), again.eye(size)
        for l in range(2, L - nu * S + 1):
            first = again.mul(network.DE(l, 1), first)
        for s in range(nu, 0, -1):
            q = L - (s - 1) * S
            if reading == "total":
                middle = network.total(q, 1, q - S, 1)
            else:
                middle = network.DE(q, 1, far=True) if reading == "skip edge" else again.zeros(size)
            first = again.mul(middle, first)
        for l in range(2, L + 1):
            chain = again.mul(network.DE(l, 1), chain)
        return again.flat(again.add(network.total(L, 1, 1, 1), again.add(first, chain), -1))

    return residual


STACKED = {
    reading: PathIdentity(
        "icml",
        _residual_stacking(reading),
        _residual_stacking_again(reading),
        f"dX^L_n/dX¹_n against (104), factors over S layers read as {reading}",
    )
    for reading in ("total", "partial", "skip edge")
}
STACKS = (Shape(4, 1, 1, 2), Shape(5, 1, 1, 3))

EDGES_BY_S = PathIdentity(
    "icml",
    _residual_stacking("skip edge", longer=1),
    _residual_stacking_again("skip edge", longer=1),
    "dX^L_n/dX¹_n against (104), factors over S layers read as the edge from l − S to l",
)


def _all_routes(most_skips: int | None = None) -> Callable[[Layered], list[Any]]:
    """dX^L_n/dX¹_n against the sum over the routes with hops of length 1 and S, or those with few skips only."""

    def residual(network: Layered) -> list[Any]:
        L, length = network.layers, network.weights.skip + 1
        total: Matrix | None = None
        for number in range((L - 1) // length + 1 if most_skips is None else most_skips + 1):
            for route in set(itertools.permutations([length] * number + [1] * (L - 1 - length * number))):
                at = 1
                hops: list[Matrix] = []
                for hop in route:
                    at += hop
                    hops.insert(0, network.climb(at, 1) if hop == 1 else network.jump(at, 1))
                along = ring_matrices.product(*hops)
                total = along if total is None else ring_matrices.plus(total, along)
        assert total is not None
        return ring_matrices.entries(ring_matrices.minus(network.total(L, 1, 1, 1), total))

    return residual


def _all_routes_again(most_skips: int | None = None) -> Callable[[again.IntervalNetwork], list[Any]]:
    """By how many skips are left: R_s(l) = DE R_s(l − 1) + Λ-edge R_{s−1}(l − S)."""

    def residual(network: again.IntervalNetwork) -> list[Any]:
        L, length, size = network.L, network.S + 1, 2 * network.m
        most = L if most_skips is None else most_skips
        reach = [[again.zeros(size) for _ in range(most + 1)] for _ in range(L + 1)]
        reach[1][0] = again.eye(size)
        for l in range(2, L + 1):
            for s in range(most + 1):
                reach[l][s] = again.mul(network.DE(l, 1), reach[l - 1][s])
                if s and l > length:
                    reach[l][s] = again.add(
                        reach[l][s], again.mul(network.DE(l, 1, far=True), reach[l - length][s - 1])
                    )
        found = network.total(L, 1, 1, 1)
        for s in range(most + 1):
            found = again.add(found, reach[L][s], -1)
        return again.flat(found)

    return residual


def route_sum(most_skips: int | None = None) -> PathIdentity:
    """The corrected (104): every route, or, which is false where L > S + 1, those with few skips."""
    return PathIdentity(
        "icml",
        _all_routes(most_skips),
        _all_routes_again(most_skips),
        "dX^L_n/dX¹_n against the sum over the routes with hops of length 1 and S",
    )


TWO_ROUTES = (Shape(4, 1, 1, 2), Shape(4, 2, 1, 2), Shape(5, 1, 1, 3))
MORE_ROUTES = (Shape(4, 1, 1, 1), Shape(5, 1, 1, 2), Shape(7, 1, 1, 2))
"""(L, S) = (4, 3), (5, 4); (4, 2), (5, 3), (7, 3) with edges over S layers: 2; 3, 3 and 6 routes."""

_REST = (Shape(2, 1, 1), Shape(2, 2, 1), Shape(3, 1, 1), Shape(3, 2, 1))

CLAIMS = (
    Claim(
        id="both-(44)/(17)",
        source=Source("sam", "(44); icml S(17)"),
        statement="dE_n/dθ = Σ_{l=1..L} Σ_{k=1..n} (dE_n/dX^L_n)(dX^L_n/dX^l_k)(∂⁺X^l_k/∂θ), total derivative in the "
        "middle; θ an entry of w^l, V^l, b^l, c^l",
        semantics="alg",
        cases=tuple(
            SUM_OVER_PATHS[indices].case("L ≤ 3, n ≤ 3", f"dX^L_n/dθ, {indices} indices", SHORT)
            for indices in ("icml", "sam")
        ),
    ),
    Claim(
        id="both-46",
        source=Source("sam", "(46); icml S(19)"),
        statement="dX^L_n/dX^l_k = ∏_{j=k+1..n} dX^L_j/dX^L_{j−1} ∏_{q=l+1..L} dX^q_k/dX^{q−1}_k, 1 ≤ l ≤ L",
        semantics="alg",
        cases=(
            EARLY.case("L = 1, n − k ≤ 3", "(46)", ONE_LAYER),
            EARLY.case("L = 2", "(46), icml indices", TWO_LAYERS),
            EARLY.case("L = 3", "(46), icml indices", THREE_LAYERS),
            EARLY_SAM.case("L = 2", "(46), sam indices, blocks (49), (50)", TWO_LAYERS),
            EARLY_SAM.case("L = 3", "(46), sam indices, blocks (49), (50)", THREE_LAYERS),
            EARLY_SAM_EXACT.case("L = 2", "(46), sam indices, exact blocks", TWO_LAYERS),
        ),
    ),
    Claim(
        id="both-92",
        source=Source("sam", "(92); icml S(65)"),
        statement="L = 3: dX³_n/dX¹_k = (dX³_n/dX²_n)(dX²_n/dX¹_n) ∏_{j=k+1..n} dX¹_j/dX¹_{j−1}",
        semantics="alg",
        cases=(
            LATE.case("L = 3", "(92), icml indices", THREE_LAYERS),
            LATE_SAM.case("L = 3", "(92), sam indices, blocks (49), (50)", THREE_LAYERS),
        ),
    ),
    Claim(
        id="both-46-vs-92",
        source=Source("sam", "(46), (92); icml S(19), S(65)"),
        statement="the product rule (46) with l = 1, L = 3 yields (92): ∏_j dX³_j/dX³_{j−1} (dX³_k/dX²_k)(dX²_k/dX¹_k) "
        "= (dX³_n/dX²_n)(dX²_n/dX¹_n) ∏_j dX¹_j/dX¹_{j−1}",
        semantics="alg",
        cases=(
            EARLY_LATE.case("L = 3", "right sides, icml indices", THREE_LAYERS),
            EARLY_LATE_SAM.case("L = 3", "right sides, sam indices", THREE_LAYERS),
        ),
    ),
    Claim(
        id="both-48-50",
        source=Source("sam", "(47)-(50); icml S(20)-S(23)"),
        statement="icml indices: dX^L_j/dX^L_{j−1} = blockdiag B, B = [[1 − h²κ, h], [−hκ, 1]], κ = α + w σ'(A_{j−1}); "
        "and dX^q_k/dX^{q−1}_k has the blocks D = −h² σ'(A_{k−1}) V, E = −h σ'(A_{k−1}) V",
        semantics="alg",
        cases=(OWN.case("L ≤ 3, m ≤ 2", "B", _REST), CLIMB.case("L ≤ 3, m ≤ 2", "D, E", _REST)),
    ),
    Claim(
        id="sam-49-50-indices",
        source=Source("sam", "(49), (50), (59), (63)"),
        statement="under sam (31) dX^q_k/dX^{q−1}_k has the blocks D = −dt² σ̂² σ'(A_{k−1}) V, E = −dt σ̂ σ'(A_{k−1}) V "
        "(49), (50); dA^{l,i}_{k−1}/dV^l_{p,p̄} = y^{l−1,p̄}_{k−1} (59); |∂⁺z^{l,i}_k/∂V| ≤ dt (1 + α|y^{l,i}_{k−1}| + "
        "max(|y^{l,i}_{k−1}|, |y^{l−1,p̄}_k|, 1)) (63)",
        semantics="alg",
        cases=(
            CLIMB_SAM.case("L ≤ 3, m ≤ 2", "D, E of (49), (50)", _REST),
            BY_V_59.case("L ≤ 3, m ≤ 2", "dA/dV of (59)", _REST),
            gradient_by_V("sam"),
        ),
    ),
    Claim(
        id="both-96-99",
        source=Source("sam", "(93)-(99); icml S(66)-S(72)"),
        statement="dX^q_n/dX^{q−1}_n = dt² G^{q,n} + dt H^{q,n}; H³H² = 0, G³H² = 0; Ḡ = G³G² and H̄ = H³G² vanish "
        "but in the entries (y, y) and (z, y); the product is dt⁴ (Ḡ + dt⁻¹ H̄)",
        semantics="alg",
        cases=(THREE_AT_ONCE.case("L = 3, m ≤ 3", "dX³_n/dX¹_n", (Shape(3, 1, 1), Shape(3, 2, 1), Shape(3, 3, 1))),),
    ),
    Claim(
        id="both-104",
        source=Source("sam", "(104), (105); icml S(77), S(78)"),
        statement="residual form x^l_n = Λ^l y^{l−S}_n + V^l y^{l−1}_n (printed: l − S − 1): dX^L_n/dX¹_n = ∏_{s=1..ν} "
        "dX^{L−(s−1)S}_n/dX^{L−sS}_n ∏_{l=2..L−νS} dX^l_n/dX^{l−1}_n + ∏_{l=1..L−1} dX^{l+1}_n/dX^l_n, ν = [L/S] or "
        "[L/S] − 1",
        semantics="alg",
        cases=(
            *(
                identity.case("(L, S) = (4, 2), (5, 3)", f"(104), {reading}", STACKS)
                for reading, identity in STACKED.items()
            ),
            EDGES_BY_S.case("(L, S) = (4, 3), (5, 4)", "(104), edges l − S", TWO_ROUTES),
            EDGES_BY_S.case("(L, S) = (4, 2), (5, 3), (7, 3)", "(104), edges l − S", MORE_ROUTES),
            route_sum().case("(L, S) = (4, 2), (5, 3), (7, 3)", "all routes, edges l − S", MORE_ROUTES),
        ),
    ),
)
