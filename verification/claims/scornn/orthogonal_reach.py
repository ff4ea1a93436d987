# Claims: sco-3.1-cap · sco-3.2-reach
"""Which orthogonal and unitary matrices a recurrent network can have: scornn, Sections 3.1, 3.2 and 6."""

from __future__ import annotations

import random
from collections.abc import Iterator

from odernn.published.sources import Source
from verification.cases.cayley_reach import (
    LARGEST,
    fixed_signs_case,
    free_signs_case,
    reach_case,
    real_reach_case,
    unitaries,
)
from verification.cases.cayley_statements import Found, Statement, listed, up_to
from verification.cases.scornn_parameters import orthogonal, unitary
from verification.certify.second import cayley as again
from verification.certify.second import rotation_mesh as again_mesh
from verification.claim import BOTH, Attempt, Case, Claim, Parameters
from verification.domains import Budget
from verification.measure import cayley_exact as exact
from verification.measure import reflections, rotation_mesh
from verification.parameters import declared

REFLECTED = 5
"""Sizes n up to here are decided with free entries."""
ROTATED = range(2, 9)
MESHES = 16
"""Meshes of rotations are gone through up to this n."""


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


def mesh_case(missing: int = 0) -> Case:
    """Every unitary matrix as n layers of rotations and n phases.

    With ``missing`` layers fewer, a planted falsehood, an entry that no way through the layers leads to is 0.
    """

    def decide() -> str:
        return listed(
            (
                "G (x, y)ᵀ = (r, 0)ᵀ for a unitary G, r² = |x|² + |y|², and (x, y) H = (0, r), as polynomials",
                rotation_mesh.turns_to_zero(),
            ),
            (
                "along the parallels below the diagonal what such turns made 0 stays 0 until all is, "
                f"n ≤ {MESHES}, and a triangular unitary matrix is diagonal",
                up_to(MESHES, rotation_mesh.ends_triangular),
            ),
            (
                f"they fit into n layers, n ≤ {MESHES}",
                up_to(MESHES, lambda n: rotation_mesh.layers(n) <= n - missing),
            ),
            (
                "a 2 × 2 unitary matrix is a rotation of EURNN times phases, as polynomials: phases go to the right",
                rotation_mesh.phases_move(),
            ),
        )

    def points(budget: Budget, seed: int) -> Iterator[Parameters]:
        return map(exact.complex_text, unitaries(budget, seed))

    def first(p: Parameters) -> Found:
        W = exact.typed_complex(p)
        n = W.nrows() // 2
        beyond = [(i, j) for i, j in rotation_mesh.beyond(n, n - missing) if W[i, j] != 0 or W[n + i, j] != 0]
        if beyond or missing:
            return bool(beyond), f"{len(beyond)} entries that {n - missing} layers make 0 are not 0"
        good = rotation_mesh.is_turned_diagonal(W)
        return not good, f"{'diagonal' if good else 'not diagonal'} after n(n − 1)/2 turns"

    def second(p: Parameters) -> Found:
        W = again.read(p, "W")
        n = len(W)
        beyond = again_mesh.entries_beyond(W, n - missing)
        if beyond or missing:
            return beyond > 0, f"{beyond} entries beyond the layers"
        left, same = again_mesh.entries_left(W), again_mesh.layers_are_the_turns(n, n) and again_mesh.phases_move()
        return left > 0 or not same, f"{left} entries beside the diagonal; the turns are n layers: {same}"

    statement = Statement(
        "W as a product of layers of rotations",
        decide,
        points,
        first,
        second,
        "reached",
        "reached",
        parameters=declared(*unitary("W", LARGEST)),
    )
    return statement.case(f"EURNN, n layers of rotations, n ≤ {LARGEST}", "W is F⁽¹⁾ … F⁽ⁿ⁾ D")


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
