"""The search for a contraction weight: what it finds is right, what it denies is proved, and the rest is left open."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from odernn import tableaus
from odernn.exact.linear_algebra import Rows, diagonalise, identity, inverse, product, transposed
from odernn.exact.matrix_inequalities import Pencil, decide, is_obstruction, is_solution
from odernn.properties.algebraic_stability import algebraic_stability
from odernn.properties.matrix_coefficients.block_tableau import BlockTableau
from odernn.properties.matrix_coefficients.contraction import contraction
from odernn.properties.matrix_coefficients.contraction_weight import (
    NegativeCoupling,
    contraction_weight,
    weight_pencil,
)
from odernn.properties.matrix_coefficients.stage_monotonicity import SlopeRestricted
from odernn.properties.matrix_coefficients.weight_space import weight_basis
from odernn.tableaus.tableau import ButcherTableau

Q = fmpq
GRADIENT = ((Q(2), Q(-1), Q(0)), (Q(-1), Q(3), Q(1)), (Q(0), Q(1), Q(1)))
"""Positive definite: minors 2, 5, 3."""


def rows(values) -> Rows:
    return tuple(tuple(Q(Fraction(x).numerator, Fraction(x).denominator) for x in row) for row in values)


def diagonal(*values) -> Rows:
    return tuple(tuple(Q(x) if i == j else Q(0) for j in range(len(values))) for i, x in enumerate(values))


def regular(seed: int, size: int) -> Rows:
    rng = random.Random(seed)
    W = [[Q(rng.randint(-2, 2)) + (5 if i == j else 0) for j in range(size)] for i in range(size)]
    return tuple(map(tuple, W))


def one_stage(core: Rows, W: Rows) -> BlockTableau:
    """A = W core W⁻¹, B = I: M(G) = GA + AᵀG − G, a Lyapunov inequality for A − I/2."""
    return BlockTableau([[product(product(W, core), inverse(W))]], [identity(len(core))])


def tanh_stage(K: Rows, slope: int = 1) -> SlopeRestricted:
    return SlopeRestricted(K, (Q(slope),) * len(K))


def by_hand(pencil: Pencil, Z) -> list[Fraction]:
    """Σ_b ⟨Z^b, F_k^b⟩ in Fractions, entry by entry."""
    found = []
    for k in range(len(pencil.blocks[0])):
        total = Fraction(0)
        for z, block in zip(Z, pencil.blocks, strict=True):
            for i, row in enumerate(z):
                for j, x in enumerate(row):
                    y = block[k][i][j]
                    total += Fraction(int(x.p), int(x.q)) * Fraction(int(y.p), int(y.q))
        found.append(total)
    return found


def shown_impossible(blocks: BlockTableau, fields, step, Z) -> bool:
    """Z ≥ 0, Z⁰ ≠ 0 and orthogonal to all: congruence and Fractions, not the code that made the decision."""
    pencil = weight_pencil(blocks, weight_basis(blocks, fields), fields, step)
    is_positive = all(diagonalise(z).inertia.negative == 0 for z in Z)
    return is_positive and any(x != 0 for row in Z[0] for x in row) and by_hand(pencil, Z) == [0] * pencil.variables


# --- matrix inequalities


def test_a_solution_and_an_obstruction_exclude_each_other_on_random_pencils():
    rng, count = random.Random(1), {True: 0, False: 0, None: 0}
    for _ in range(40):
        sizes, variables = [rng.randint(1, 3) for _ in range(2)], rng.randint(1, 3)
        blocks = []
        for size in sizes:
            drawn = []
            for _ in range(variables):
                S = [[Q(rng.randint(-3, 3)) for _ in range(size)] for _ in range(size)]
                drawn.append(tuple(tuple(S[i][j] + S[j][i] for j in range(size)) for i in range(size)))
            blocks.append(tuple(drawn))
        pencil = Pencil(tuple(blocks))
        found = decide(pencil)
        count[found.holds] += 1
        if found.holds:
            values = [
                np.linalg.eigvalsh(np.array([[float(x) for x in row] for row in F])) for F in pencil.at(found.witness)
            ]
            assert values[0][0] > 0 and values[1][0] > -1e-9 and is_solution(pencil, found.witness)
        elif found.holds is False:
            assert is_obstruction(pencil, found.witness) and by_hand(pencil, found.witness) == [0] * variables
            assert all(diagonalise(z).inertia.negative == 0 for z in found.witness)
            for _ in range(30):
                v = [Q(rng.randint(-9, 9)) for _ in range(variables)]
                assert not is_solution(pencil, v)
    assert count[True] > 5 and count[False] > 5 and count[None] <= 4


def test_what_is_no_obstruction_is_refused():
    pencil = Pencil(((identity(2), diagonal(1, -1)), (diagonal(1, 0), diagonal(0, 1))))
    zero = diagonal(0, 0)
    assert not is_obstruction(pencil, (zero, zero)), "Z⁰ = 0"
    assert not is_obstruction(pencil, (identity(2), zero)), "not orthogonal to the first"
    assert not is_obstruction(Pencil(((diagonal(1, -1),), (zero,))), (diagonal(-1, -1), zero)), "not ≥ 0"
    assert is_obstruction(Pencil(((diagonal(1, -1),), (zero,))), (diagonal(1, 1), zero))
    assert not is_solution(pencil, (Q(1), Q(1))), "F⁰ = diag(2, 0) is only semi-definite"


# --- coefficients alone


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_a_lyapunov_weight_is_found_where_the_identity_is_none(size, seed):
    rng = random.Random(100 * seed + size)
    core = tuple(
        tuple(Q(3, 4) if i == j else Q(rng.randint(-9, 9), 2) if j > i else Q(0) for j in range(size))
        for i in range(size)
    )
    blocks = one_stage(core, regular(seed, size))
    found = contraction_weight(blocks)
    assert found.holds is True and found.exact
    assert diagonalise(found.witness).inertia.positive == size
    assert diagonalise(blocks.burrage_butcher(found.witness)).inertia.negative == 0
    assert contraction(blocks, found.witness).holds is True


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_a_weight_that_makes_the_tensor_singular_or_zero_is_found_on_its_face(size, seed):
    W = regular(seed, size)
    half = diagonal(Q(1, 2), *[Q(3, 4)] * (size - 1))
    skew = tuple(
        tuple(
            Q(1, 2) if i == j else Q(1) if j == i + 1 and i % 2 == 0 else Q(-1) if i == j + 1 and j % 2 == 0 else Q(0)
            for j in range(size)
        )
        for i in range(size)
    )
    for core in (half, skew):
        blocks = one_stage(core, W)
        found = contraction_weight(blocks)
        M = blocks.burrage_butcher(found.witness)
        assert found.holds is True and diagonalise(M).inertia.negative == 0
        assert diagonalise(M).inertia.zero == (1 if core is half else size)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_a_stage_that_loses_in_one_direction_loses_in_every_weight(size, seed):
    """x = W e_1 has 2·¼ − 1 < 0 for every G: no weight, but G small along x comes as close as one likes."""
    core = diagonal(Q(1, 4), *[Q(3, 4)] * (size - 1))
    blocks = one_stage(core, regular(seed, size))
    found = contraction_weight(blocks)
    assert found.holds is False and found.exact and shown_impossible(blocks, "weighted", None, found.witness)


def test_a_border_case_without_weight_is_left_open_and_says_so():
    """A = I/2 + e_1 e_2ᵀ: M = [[0, g11], [g11, 2 g12]] is ≥ 0 only for g11 = 0, and no Z shows it (mc-7)."""
    blocks = BlockTableau([[((Q(1, 2), Q(1)), (Q(0), Q(1, 2)))]], [identity(2)])
    found = contraction_weight(blocks)
    assert found.holds is None and "does not show that there is none" in found.because and abs(found.margin) < 1e-5
    G = ((Q(1, 1000), Q(1)), (Q(1), Q(1001)))
    assert diagonalise(G).inertia.positive == 2 and diagonalise(blocks.burrage_butcher(G)).inertia.negative == 1


@pytest.mark.parametrize("name", ["euler", "rk4", "heun 2", "lobatto iiia 2", "crouzeix 2"])
def test_explicit_stages_have_no_weight(name):
    method = tableaus.get(name)
    has_explicit_stage = any(method.A[i][i] == 0 and method.b[i] != 0 for i in range(method.stages))
    found = contraction_weight(BlockTableau.from_scalar(method, size=2))
    assert has_explicit_stage == (name != "crouzeix 2") and bool(found) == bool(algebraic_stability(method))
    if has_explicit_stage:
        assert found.holds is False
        blocks = BlockTableau.from_scalar(method, size=2)
        assert shown_impossible(blocks, "weighted", None, found.witness)


def test_rounded_coefficients_leave_a_no_open_unless_zeros_show_it():
    core = ((0.25, 0.0), (0.0, 0.75))
    found = contraction_weight(BlockTableau([[core]], [[[1.0, 0.0], [0.0, 1.0]]]))
    assert found.holds is None and "as printed" in found.because
    assert contraction_weight(BlockTableau([[core]], [[[1.0, 0.0], [0.0, 1.0]]], floats="exact")).holds is False
    explicit = BlockTableau([[[[0.0]]]], [[[0.1]]])
    assert contraction_weight(explicit).holds is False, "zeros are meant"
    yes = contraction_weight(BlockTableau([[[[0.6]]]], [[[1.0]]]))
    assert yes.holds is True and yes.exact


# --- all monotone fields


@pytest.mark.parametrize("name", ["implicit midpoint", "gauss 2", "radau iia 2", "lobatto iiic 3"])
def test_for_all_monotone_fields_the_weight_is_the_inverse_of_P(name):
    P = ((Q(2), Q(1)), (Q(1), Q(3)))
    blocks = BlockTableau.from_scalar(tableaus.get(name), P)
    found = contraction_weight(blocks, "monotone")
    scaled = product(found.witness, P)
    assert found.holds is True and scaled == diagonal(scaled[0][0], scaled[0][0]) and scaled[0][0] > 0


def test_two_weights_that_are_not_multiples_leave_none_for_all_monotone_fields():
    first, second = diagonal(1, 4), diagonal(4, 1)
    zero = diagonal(0, 0)
    half = lambda P: tuple(tuple(x / 2 for x in row) for row in P)  # noqa: E731
    blocks = BlockTableau([[half(first), zero], [first, half(second)]], [first, second])
    assert contraction_weight(blocks).witness == identity(2), "M = 0 for G = I"
    found = contraction_weight(blocks, "monotone")
    assert found.holds is False and "only the solution G = 0" in found.because
    assert weight_basis(blocks, "monotone") == ()


def test_a_negative_weight_of_a_stage_is_no_choice_of_sign_of_G():
    """Midpoint steps of 3/2 and −1/2: M = 0 for every G, but G B_2 = −½ β I."""
    method = ButcherTableau([["3/4", 0], ["3/2", "-1/4"]], ["3/2", "-1/2"])
    blocks = BlockTableau.from_scalar(method, size=2)
    assert blocks.positivity().because == "M = 0" and contraction_weight(blocks).holds is True
    found = contraction_weight(blocks, "monotone")
    assert found.holds is False and shown_impossible(blocks, "monotone", None, found.witness)


def test_a_coefficient_that_is_not_symmetric_has_no_weight_for_all_monotone_fields():
    B = ((Q(1), Q(1)), (Q(0), Q(1)))
    found = contraction_weight(BlockTableau([[B]], [B]), "monotone")
    assert found.holds is False


# --- stages


@pytest.mark.parametrize(
    ("name", "step", "expected"),
    [
        ("implicit midpoint", None, True),
        ("gauss 2", None, True),
        ("radau iia 2", None, True),
        ("euler", None, False),
        ("euler", Q(1, 100), True),
        ("euler", Q(10), False),
        ("rk4", Q(1, 100), True),
        ("heun 2", Q(1, 100), True),
        ("rk4", Q(10), False),
    ],
)
def test_scaled_gradient_fields_have_a_weight_that_is_unique_up_to_a_factor(name, step, expected):
    """tanh(K y) with K = −D S, S > 0 and D > 0 diagonal: G is a multiple of S."""
    K = tuple(tuple(-(r + 1) * x for x in row) for r, row in enumerate(GRADIENT))
    blocks = BlockTableau.from_scalar(tableaus.get(name), size=3)
    fields = [tanh_stage(K)] * blocks.stages
    found = contraction_weight(blocks, fields, step)
    assert found.holds is expected
    if expected:
        ratio = found.witness[0][0] / GRADIENT[0][0]
        assert found.witness == tuple(tuple(ratio * x for x in row) for row in GRADIENT)
        assert contraction(blocks, found.witness, fields, step)
    else:
        assert shown_impossible(blocks, fields, step, found.witness)


def test_the_largest_step_of_explicit_euler_is_decided_to_the_last_digit():
    """K = −S: λ = 1 with G = S, and contraction up to η = 2/‖S‖. S = [[2, 1], [1, 2]]: 2/3."""
    S = ((Q(2), Q(1)), (Q(1), Q(2)))
    fields = [tanh_stage(tuple(tuple(-x for x in row) for row in S))]
    euler = BlockTableau.from_scalar(tableaus.EULER, size=2)
    assert contraction_weight(euler, fields, Q(2, 3)).holds is True
    assert contraction_weight(euler, fields, Q(2, 3) + Q(1, 10**12)).holds is False


def test_a_random_recurrent_matrix_has_no_weight_and_one_entry_shows_it():
    rng = random.Random(5)
    diagonal_seen = pair_seen = 0
    for trial in range(20):
        shift = 6 if trial % 2 else 0  # then the diagonal is negative
        K = rows([[rng.randint(-5, 5) - (shift if i == j else 0) for j in range(6)] for i in range(6)])
        found = contraction_weight(BlockTableau.from_scalar(tableaus.EULER, size=6), [tanh_stage(K)], Q(1, 100))
        shown = found.witness
        assert found.holds is False and isinstance(shown, NegativeCoupling)
        C = K[shown.q][shown.r], K[shown.r][shown.q]
        assert shown.entries == C
        if shown.q == shown.r:
            diagonal_seen += 1
            assert C[0] >= 0
        else:
            pair_seen += 1
            assert (C[0] > 0) - (C[0] < 0) != (C[1] > 0) - (C[1] < 0)
    assert diagonal_seen >= 5 and pair_seen >= 5 and diagonal_seen + pair_seen == 20


def test_a_zero_on_the_diagonal_shows_it_in_any_dimension():
    """K skew, C_rr = 0 (mc-6): above the size that is searched nothing else would say no."""
    size = 12
    K = rows([[(j > i) - (j < i) for j in range(size)] for i in range(size)])
    found = contraction_weight(BlockTableau.from_scalar(tableaus.IMPLICIT_MIDPOINT, size=size), [tanh_stage(K)])
    assert found.holds is False and found.witness == NegativeCoupling(0, 0, 0, (Q(0), Q(0)))


def test_one_zero_of_a_pair_shows_it_too():
    found = contraction_weight(
        BlockTableau.from_scalar(tableaus.IMPLICIT_MIDPOINT, size=2), [tanh_stage(rows([[-5, 1], [0, -5]]))]
    )
    assert found.holds is False and isinstance(found.witness, NegativeCoupling)
    assert set(found.witness.entries) == {0, 1}


def test_signs_alone_do_not_decide_a_circle_of_three_does():
    """K with the right signs, but K_12 K_23 K_31 ≠ K_21 K_32 K_13: no scaling of rows makes it symmetric."""
    K = rows([[-5, 1, 1], [1, -5, 1], [2, 1, -5]])
    blocks = BlockTableau.from_scalar(tableaus.IMPLICIT_MIDPOINT, size=3)
    found = contraction_weight(blocks, [tanh_stage(K)])
    assert found.holds is False and "only the solution" in found.because
    closed = rows([[-5, 1, 1], [1, -5, 1], [1, 1, -5]])
    assert contraction_weight(blocks, [tanh_stage(closed)]).holds is True


def test_a_definite_symmetriser_is_not_enough_if_K_is_indefinite():
    K = rows([[-1, 2], [2, -1]])  # −K has the eigenvalues −1, 3
    blocks = BlockTableau.from_scalar(tableaus.IMPLICIT_MIDPOINT, size=2)
    found = contraction_weight(blocks, [tanh_stage(K)])
    assert found.holds is False and shown_impossible(blocks, [tanh_stage(K)], None, found.witness)


def test_neurons_that_are_not_coupled_are_weighed_one_by_one():
    """K = −diag: every diagonal G is a candidate, and the matrix coefficient chooses among them."""
    K = diagonal(-1, -2, -3)
    stages = [tanh_stage(K)]
    A = rows([["3/4", "1/2", 0], [0, "3/4", "1/3"], [0, 0, "3/4"]])
    blocks = BlockTableau([[A]], [identity(3)])
    assert len(weight_basis(blocks, stages)) == 3
    found = contraction_weight(blocks, stages)
    assert found.holds is True and diagonalise(blocks.burrage_butcher(found.witness)).inertia.negative == 0


def test_wide_stages_and_linear_ones():
    """K of 4 rows on 2 components, B = −Kᵀ Λ: G = I; and a linear stage beside it that only dissipates."""
    K = rows([[1, 0], [1, 1], [0, 1], [2, -1]])
    B = tuple(tuple(-x for x in column) for column in transposed(K))
    A = tuple(tuple(x / 2 for x in row) for row in B)
    blocks = BlockTableau([[A]], [B])
    found = contraction_weight(blocks, [tanh_stage(K)])
    assert found.holds is True and blocks.positivity(found.witness).because == "M = 0"
    linear = SlopeRestricted(rows([[-1, 1], [-1, -1]]), (None, None))
    one = BlockTableau.from_scalar(tableaus.IMPLICIT_MIDPOINT, size=2)
    assert contraction_weight(one, [linear]).holds is True
    growing = SlopeRestricted(rows([[1, 0], [0, -1]]), (None, None))
    none = contraction_weight(one, [growing])
    assert none.holds is False and shown_impossible(one, [growing], None, none.witness)


def test_large_states_without_a_determined_weight_are_not_searched():
    size = 12
    blocks = BlockTableau.from_scalar(tableaus.IMPLICIT_MIDPOINT, size=size)
    found = contraction_weight(blocks)
    assert found.holds is None and "D = 12 > 10" in found.because
    K = tuple(tuple(Q(-3 if i == j else -1 if abs(i - j) == 1 else 0) for j in range(size)) for i in range(size))
    assert contraction_weight(blocks, [tanh_stage(K)]).holds is True, "the stage determines it"


def test_a_tensor_of_many_rows_is_not_assembled_but_signs_are_looked_at():
    size = 70
    blocks = BlockTableau.from_scalar(tableaus.RK4, size=size)
    K = tuple(tuple(Q(-3 if i == j else -1 if abs(i - j) == 1 else 0) for j in range(size)) for i in range(size))
    found = contraction_weight(blocks, [tanh_stage(K)] * 4, Q(1, 100))
    assert found.holds is None and "280 > 256 rows" in found.because
    turned = tuple(tuple(-x if (i, j) == (41, 40) else x for j, x in enumerate(row)) for i, row in enumerate(K))
    assert contraction_weight(blocks, [tanh_stage(turned)] * 4, Q(1, 100)).holds is False


def test_stages_that_do_not_fit_are_refused():
    blocks = BlockTableau.from_scalar(tableaus.IMPLICIT_MIDPOINT, size=2)
    with pytest.raises(ValueError, match="η > 0"):
        contraction_weight(blocks, [tanh_stage(diagonal(-1, -1))], -2)
    with pytest.raises(ValueError, match="shapes"):
        contraction_weight(blocks, [tanh_stage(diagonal(1, 1, 1))])
    with pytest.raises(ValueError, match="0 fields for 1 stages"):
        contraction_weight(blocks, [])


@pytest.mark.parametrize("seed", range(4))
def test_no_slopes_of_the_stages_expand_a_step_that_is_certified(seed):
    """Steps of y₊ = R y with any slopes in [0, L], chosen stage by stage: every certified one has ‖R‖_G ≤ 1."""
    rng, certified = random.Random(seed), 0
    for _ in range(20):
        D, s = rng.randint(1, 3), rng.randint(1, 2)
        W = rows([[rng.randint(-2, 2) for _ in range(D)] for _ in range(D)])
        back = tuple(
            tuple(x + (1 if i == j else 0) for j, x in enumerate(r)) for i, r in enumerate(product(W, transposed(W)))
        )
        K = [rows([[rng.randint(-3, 3) for _ in range(D)] for _ in range(2)]) for _ in range(s)]
        B = [tuple(tuple(-x for x in row) for row in product(back, transposed(k))) for k in K]
        part = lambda block, factor: tuple(tuple(factor * x for x in row) for row in block)  # noqa: E731
        A = [[part(B[j], Q(rng.randint(2, 3), 4) if i == j else Q(int(j < i))) for j in range(s)] for i in range(s)]
        eta = Q(rng.randint(1, 8), 4)
        fields, step = [tanh_stage(k) for k in K], int(eta.p) / int(eta.q)
        found = contraction_weight(BlockTableau(A, B), fields, eta)
        if not found:
            continue
        certified += 1
        root = np.linalg.cholesky(floating(found.witness)).T
        stacked = np.block([[floating(block) for block in row] for row in A])
        for _ in range(40):
            pairs = [np.diag([rng.choice((0, 1, rng.random())) for _ in k]) @ floating(k) for k in K]
            slopes = np.vstack([np.hstack([m if i == j else 0 * m for j in range(s)]) for i, m in enumerate(pairs)])
            inner = np.linalg.solve(np.eye(s * D) - step * stacked @ slopes, np.vstack([np.eye(D)] * s))
            R = np.eye(D) + step * np.hstack([floating(b) for b in B]) @ slopes @ inner
            # stage equations with M ≥ 0 of entries below 1e3: conditions below 1e6, times 1e-16
            assert np.linalg.norm(root @ R @ np.linalg.inv(root), 2) <= 1 + 1e-9
    assert certified >= 5


def floating(block) -> np.ndarray:
    return np.array([[int(x.p) / int(x.q) for x in row] for row in block])
