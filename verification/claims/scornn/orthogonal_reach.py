# Claims: sco-3.1-cap · sco-3.2-reach
"""Which orthogonal and unitary matrices a recurrent network can have: scornn, Sections 3.1, 3.2 and 6."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from odernn.published.sources import Source
from verification.cases.cayley_reach import fixed_signs_case, free_signs_case, reach_case, real_reach_case
from verification.cases.cayley_statements import Found, Statement, listed, up_to
from verification.cases.scornn_parameters import orthogonal
from verification.certify.second import cayley as again
from verification.claim import BOTH, Attempt, Case, Claim, Parameters
from verification.domains import Budget
from verification.measure import cayley_exact as exact
from verification.measure import reflections, rotation_mesh
from verification.parameters import declared

REFLECTED = 5
"""Sizes n up to here are decided with free entries."""
ROTATED = range(2, 9)


def householder_case(sign: int = 1) -> Case:
    """W = H_n(u_n) … H_2(u_2) diag(1, .., 1, ±1) for every orthogonal W."""

    def decide() -> str:
        return listed(
            (
                f"H(w − e₁) w = e₁ for |w| = 1 as polynomials, n ≤ {REFLECTED}, and the rest by induction: "
                "the first row of an orthogonal matrix whose first column is e₁ is e₁ᵀ",
                up_to(REFLECTED, lambda n: reflections.reflects_onto_first(n, sign)),
            ),
        )

    def points(_: Budget, seed: int) -> Iterator[Parameters]:
        rng = random.Random(seed)
        for n in range(1, 5):
            yield from ({"W": exact.text(W)} for W in exact.signed_permutations(n))
        for k in range(30):
            yield {"W": exact.text(exact.rational_orthogonal(2 + k % 4, rng))}

    def first(p: Parameters) -> Found:
        factors = reflections.householder_factors(exact.typed(p))
        return factors is None, "no product of them" if factors is None else f"u = {factors[0]}, last sign {factors[1]}"

    def second(p: Parameters) -> Found:
        rest = again.reflected_to_signs(again.read(p, "W"))
        return rest is None, "no product of them" if rest is None else f"last sign {rest}"

    statement = Statement(
        "W as a product of reflections",
        decide,
        points,
        first,
        second,
        "reached",
        "reached",
        parameters=declared(orthogonal("W", REFLECTED)),
    )
    return statement.case(f"oRNN, n reflections and a sign, n ≤ {REFLECTED}", "W is a product of reflections")


def rotation_case(n: int) -> Case:
    """The differential of EURNN with L = n layers has rank n² somewhere: it is not short of parameters."""

    def ask(_: Budget, seed: int) -> Attempt:
        ranks_found = [(reflections.rotation_rank(n, n, seed + k), seed + k) for k in range(3)]
        (rank, parameters), best = max(ranks_found)
        good = rank == n * n == reflections.rotation_rank_again(n, n, best)
        text = f"rank {rank} of {parameters} parameters at an integer point t, modulo a prime, so no less at the point"
        return Attempt(text, 3, found=str(rank), claimed=str(n * n), proof=text if good else "", twice=BOTH)

    return Case(f"EURNN, L = n = {n}", "rank of the differential against n²", ask)


MESH_SEEDS = {"smoke": 2, "standard": 20, "deep": 100}


def mesh_case(missing: int = 0) -> Case:
    """Unitary matrices of n = 2 … 8, drawn by the Haar measure, as n layers of rotations and n phases, in float64.

    ``missing`` layers are left out for a planted falsehood.
    """

    def ask(budget: Budget, seed: int) -> Attempt:
        worst, tried = 0.0, 0
        for n in ROTATED:
            for k in range(MESH_SEEDS[budget.name]):
                W = rotation_mesh.random_unitary(n, seed % 2**31 + k)
                worst = max(worst, rotation_mesh.apart(W, n - missing) / rotation_mesh.rounding(n))
                tried += 1
        return Attempt(
            f"{tried} unitary matrices, n = {ROTATED[0]} to {ROTATED[-1]}, and the product of n layers that their mesh "
            "has: apart by rounding",
            tried,
            log_measured=math.log(max(worst, 5e-324)),
            log_claimed=0.0,
            found=f"{worst:.2g} of 16 n(n − 1) √n eps",
            claimed="at most 16 n(n − 1) √n eps",
        )

    return Case("EURNN, n layers of rotations, n ≤ 8, float64", "W is F⁽¹⁾ … F⁽ⁿ⁾ D", ask)


CLAIMS = (
    Claim(
        id="sco-3.1-cap",
        source=Source("scornn", "Secs 3.1, 3.2, 6"),
        statement="some D in {±1}ⁿ gives W = C(A) D, for every orthogonal W, with or without the eigenvalue −1",
        semantics="real",
        dominated_by="thm-SC-comp",
        cases=(
            free_signs_case(),
            fixed_signs_case("D fixed, the other determinant", (1, 0, 0, -1), (1, 1)),
            fixed_signs_case("D fixed, the same determinant", (-1, 0, 0, -1), (1, 1)),
            fixed_signs_case("D fixed, ρ = n/2, the same determinant", (-1, 0, 0, 1), (1, -1)),
        ),
    ),
    Claim(
        id="sco-3.2-reach",
        source=Source("scornn", "Sec. 3.2"),
        statement="full theoretical capacity of four models: scoRNN, D among its choices, and oRNN give every "
        "orthogonal matrix, the full-capacity uRNN and EURNN with n layers every unitary one",
        semantics="real",
        dominated_by="thm-U2",
        cases=(
            free_signs_case(),
            fixed_signs_case("scoRNN, D fixed, n = 1", (-1,), (1,)),
            fixed_signs_case("scoRNN, D fixed, n = 2", (-1, 0, 0, -1), (1, 1)),
            reach_case(),
            real_reach_case(2),
            householder_case(),
            *map(rotation_case, ROTATED),
            mesh_case(),
        ),
    ),
)
