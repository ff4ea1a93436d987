"""Steps with matrix coefficients: the tensor, its identity, its premises, and false readings of the theorem."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from odernn import tableaus
from odernn.exact.algebraic import nearest_float
from odernn.exact.definiteness import certified_inertia, inertia, semidefiniteness
from odernn.exact.linear_algebra import diagonalise, dot, matrix_vector, quadratic_form
from odernn.properties.algebraic_stability import algebraic_stability, burrage_butcher
from odernn.properties.matrix_coefficients.block_tableau import BlockTableau
from odernn.properties.matrix_coefficients.contraction import contraction
from odernn.properties.matrix_coefficients.stage_monotonicity import SlopeRestricted, stage_monotonicity
from odernn.tableaus.methods import form_of, resolve
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau
from tests.processes import loaded_after

Q = fmpq


def integers(rng: random.Random, rows: int, columns: int, largest: int = 4) -> list[list[fmpq]]:
    return [[Q(rng.randint(-largest, largest), rng.randint(1, 3)) for _ in range(columns)] for _ in range(rows)]


def symmetric(rng: random.Random, size: int) -> list[list[fmpq]]:
    S = integers(rng, size, size)
    return [[S[min(i, j)][max(i, j)] for j in range(size)] for i in range(size)]


def random_blocks(seed: int, D: int, widths: tuple[int, ...]) -> BlockTableau:
    rng = random.Random(seed)
    A = [[integers(rng, D, p) for p in widths] for _ in widths]
    return BlockTableau(A, [integers(rng, D, p) for p in widths])


def as_fractions(rows) -> np.ndarray:
    """An array of Fractions: an arithmetic of its own for the oracles."""
    return np.array([[Fraction(int(x.p), int(x.q)) for x in row] for row in rows], dtype=object)


# --- definiteness


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_inertia_by_the_rule_of_signs_equals_congruence_and_floating_point(size):
    rng, seen = random.Random(size), set()
    for trial in range(30):
        S = symmetric(rng, size)
        shift = (-9 * size, 0, 9 * size)[trial % 3]  # beyond all row sums: one definite matrix of each sign
        S = [[x + (shift if i == j else 0) for j, x in enumerate(row)] for i, row in enumerate(S)]
        if trial % 2 == 0:  # a singular one: S restricted by a projection of lower rank
            S = [[x if i and j else Q(0) for j, x in enumerate(row)] for i, row in enumerate(S)]
        found = inertia(S)
        assert found == diagonalise(S).inertia
        values = np.linalg.eigvalsh(as_fractions(S).astype(float))
        largest = max(np.abs(values).max(), 1.0)
        if np.abs(values).min() > 1e-9 * largest:  # eigvalsh is off by a small multiple of 1e-16 of the largest
            assert (found.positive, found.negative) == ((values > 0).sum(), (values < 0).sum())
        seen.add((found.positive > 0, found.negative > 0, found.zero > 0))
    assert len(seen) >= (3 if size == 1 else 4)


@pytest.mark.parametrize("size", [2, 4, 9])
def test_a_decision_has_a_margin_or_a_vector_that_shows_it(size):
    rng, kinds = random.Random(size), set()
    for shift in range(0, 40, 2):
        S = symmetric(rng, size)
        S = [[x + (shift if i == j else 0) for j, x in enumerate(row)] for i, row in enumerate(S)]
        found = semidefiniteness(S)
        kinds.add(found.holds)
        if found:
            lowered = [
                [x - (Q(*found.margin.as_integer_ratio()) if i == j else 0) for j, x in enumerate(row)]
                for i, row in enumerate(S)
            ]
            assert found.margin > 0 and diagonalise(lowered).inertia.negative == 0, "the margin is a lower bound"
        else:
            x = found.witness
            assert quadratic_form(S, x) < 0 and found.margin == quadratic_form(S, x) / dot(x, x)
            assert found.value == diagonalise(S).inertia
    assert kinds == {True, False}


def test_balls_decide_for_every_matrix_within_the_radius_or_not_at_all():
    rng, decided, left = random.Random(3), 0, 0
    for trial in range(60):
        S = symmetric(rng, 3)
        radius = [[Q(rng.randint(0, 3), 1 if trial % 2 else 40)] * 3 for _ in range(3)]
        radius = [[radius[min(i, j)][0] for j in range(3)] for i in range(3)]
        counted, decision = certified_inertia(S, radius), semidefiniteness(S, radius)
        if decision.holds is None:
            left += 1
        else:
            decided += 1
        for _ in range(20):
            signs = [[rng.choice((-1, 0, 1)) for _ in range(3)] for _ in range(3)]
            other = [[S[i][j] + signs[min(i, j)][max(i, j)] * radius[i][j] for j in range(3)] for i in range(3)]
            exact = diagonalise(other).inertia
            assert counted is None or counted[0] == exact
            assert decision.holds is None or decision.holds == exact.is_semidefinite
            if counted is not None:
                smallest = np.abs(np.linalg.eigvalsh(as_fractions(other).astype(float))).min()
                assert counted[1] <= smallest * (1 + 1e-9) + 1e-12, "no matrix meant has a smaller eigenvalue"
            if decision.holds is False:
                assert quadratic_form(other, decision.witness) < 0
    assert decided > 20 and left > 5


def test_a_singular_matrix_of_rounded_numbers_is_undecided_and_of_exact_ones_is_decided():
    S = [[Q(1), Q(1)], [Q(1), Q(1)]]
    tiny = [[Q(1, 2**60)] * 2 for _ in range(2)]
    assert semidefiniteness(S).holds is True and semidefiniteness(S).margin == 0
    assert semidefiniteness(S, tiny).holds is None and certified_inertia(S, tiny) is None
    assert semidefiniteness([[Q(1), Q(1)], [Q(1), Q(1) - Q(1, 10**40)]]).holds is False, "far below a double"
    assert semidefiniteness([[Q(1), Q(1)], [Q(1), Q(1) + Q(1, 10**40)]]).holds is True


# --- the tensor


def tensor_oracle(blocks: BlockTableau, G, *, transposes: bool = True) -> np.ndarray:
    """Block by block, as it is written: M_ij = B_iᵀ G A_ij + A_jiᵀ G B_j − B_iᵀ G B_j."""
    G = as_fractions(G)
    A = [[as_fractions(block) for block in row] for row in blocks.A]
    B = [as_fractions(block) for block in blocks.B]
    t = (lambda X: X.T) if transposes else (lambda X: X)
    s = range(blocks.stages)
    rows = [[t(B[i]) @ G @ A[i][j] + t(A[j][i]) @ G @ B[j] - t(B[i]) @ G @ B[j] for j in s] for i in s]
    return np.block(rows)


SHAPES = [(1, (1,)), (2, (2,)), (2, (2, 2)), (3, (3, 3)), (2, (3, 1)), (3, (2, 4, 1)), (2, (2, 2, 2))]


@pytest.mark.parametrize(("D", "widths"), SHAPES)
def test_the_assembled_tensor_is_symmetric_and_equals_its_blocks(D, widths):
    blocks, G = random_blocks(7, D, widths), symmetric(random.Random(1), D)
    M = blocks.burrage_butcher(G)
    assert (as_fractions(M) == tensor_oracle(blocks, G)).all() and tuple(zip(*M, strict=True)) == M
    assert (blocks.stages, blocks.size, blocks.widths) == (len(widths), D, widths)


def identity_defect(blocks: BlockTableau, G, M: np.ndarray, seed: int) -> Fraction:
    """‖Δ₊‖² − ‖Δ‖² − 2η Σ wᵀ G B g + η² gᵀ M g for random Δ, g, η, all in Fractions."""
    rng = random.Random(seed)
    G, eta = as_fractions(G), Fraction(rng.randint(1, 5), 3)
    A = [[as_fractions(block) for block in row] for row in blocks.A]
    B = [as_fractions(block) for block in blocks.B]
    draw = lambda size: np.array([Fraction(rng.randint(-5, 5)) for _ in range(size)], dtype=object)  # noqa: E731
    d, g = draw(blocks.size), [draw(p) for p in blocks.widths]
    s = range(blocks.stages)
    w = [d + eta * sum(A[i][j] @ g[j] for j in s) for i in s]
    after = d + eta * sum(B[i] @ g[i] for i in s)
    work = 2 * eta * sum(w[i] @ G @ B[i] @ g[i] for i in s)
    joined = np.concatenate(g)
    return after @ G @ after - d @ G @ d - work + eta**2 * (joined @ M @ joined)


@pytest.mark.parametrize(("D", "widths"), SHAPES)
def test_the_energy_identity_holds_exactly_with_transposes_and_fails_without(D, widths):
    blocks, G = random_blocks(11, D, widths), symmetric(random.Random(2), D)
    M = as_fractions(blocks.burrage_butcher(G))
    assert all(identity_defect(blocks, G, M, seed) == 0 for seed in range(10))
    if set(widths) == {D} and D > 1:
        printed = tensor_oracle(blocks, [[Q(int(i == j)) for j in range(D)] for i in range(D)], transposes=False)
        unit = [[Q(int(i == j)) for j in range(D)] for i in range(D)]
        assert any(identity_defect(blocks, unit, printed, seed) != 0 for seed in range(10))


@pytest.mark.parametrize(("D", "widths"), SHAPES)
def test_the_adjoint_of_the_tensor(D, widths):
    """⟨Z, M(G)⟩ = ⟨N(Z), G⟩ for symmetric Z, G."""
    blocks, rng = random_blocks(5, D, widths), random.Random(4)
    for _ in range(5):
        Z, G = symmetric(rng, sum(widths)), symmetric(rng, D)
        M, N = as_fractions(blocks.burrage_butcher(G)), as_fractions(blocks.dual(Z))
        assert (as_fractions(Z) * M).sum() == (N * as_fractions(G)).sum()


def scalar_methods() -> list[ButcherTableau]:
    """Every tableau of coefficients in the catalogue; of partitioned ones both halves."""
    found = []
    for name in tableaus.names():
        method = resolve(tableaus.get(name))
        halves = (method.position, method.momentum) if isinstance(method, PartitionedTableau) else (method,)
        found += [half for half in halves if isinstance(half, ButcherTableau)]
    return found


def test_one_component_is_the_scalar_tensor_of_every_method_of_the_catalogue():
    count = 0
    for method in scalar_methods():
        blocks = BlockTableau([[[[a]] for a in row] for row in method.A], [[[b]] for b in method.b])
        M = blocks.burrage_butcher()
        assert burrage_butcher(method) == M, method.name
        decided = algebraic_stability(method)
        weights = diagonalise(form_of(method).gram).inertia
        if method.is_exact:
            assert bool(blocks.positivity() and weights.is_semidefinite) == bool(decided), method.name
            assert blocks.positivity().value == diagonalise(M).inertia
        count += 1
    assert len(tableaus.names()) == 126 and count >= 126


@pytest.mark.parametrize("name", ["gauss 2", "radau iia 2", "rk4", "lobatto iiic 3", "implicit midpoint", "heun 2"])
def test_with_P_and_G_the_inverse_the_tensor_is_the_scalar_one_times_P(name):
    method, P = tableaus.get(name), ((Q(2), Q(1)), (Q(1), Q(3)))
    blocks = BlockTableau.from_scalar(method, P)
    G = ((Q(3, 5), Q(-1, 5)), (Q(-1, 5), Q(2, 5)))
    table = blocks.burrage_butcher(G)
    scalar = burrage_butcher(method if isinstance(method, ButcherTableau) else method.butcher())
    s = range(blocks.stages)
    assert all(
        table[2 * i + p][2 * j + q] == scalar[i][j] * P[p][q] for i in s for j in s for p in (0, 1) for q in (0, 1)
    )
    assert bool(contraction(blocks, G, "monotone")) == bool(algebraic_stability(method))
    assert not contraction(blocks, None, "monotone"), "in the Euclidean norm ordinary monotone fields may expand"


# --- rounded entries


def _spread(value: float) -> list[list[float]]:
    return [[value, 0.0], [0.0, value]]


def test_doubles_are_roundings_or_the_numbers_themselves():
    method = tableaus.get("gauss 3")
    exact = BlockTableau.from_scalar(method, size=2)
    floats = [[_spread(nearest_float(a)) for a in row] for row in method.A]
    B = [_spread(nearest_float(b)) for b in method.b]
    rounded, given = BlockTableau(floats, B), BlockTableau(floats, B, floats="exact")
    assert exact.positivity().holds is True and exact.positivity().because == "M = 0"
    assert (rounded.is_exact, given.is_exact) == (False, True)
    found = rounded.positivity()
    assert found.holds is None and abs(found.margin) < 1e-15, "M may be zero: undecidable"
    assert given.positivity().holds is False, "the doubles themselves have M ≠ 0 and trace 0"
    distance = [abs(x) for row in given.burrage_butcher() for x in row]
    bounds = [x for row in rounded.roundings() for x in row]
    assert all(a <= b for a, b in zip(distance, bounds, strict=True)), "as M of the exact method is 0"


@pytest.mark.parametrize("seed", range(5))
def test_roundings_bound_what_perturbed_entries_do_to_the_tensor(seed):
    rng = random.Random(seed)
    D, widths = 2, (2, 3)
    A = [[[[rng.uniform(-2, 2) for _ in range(p)] for _ in range(D)] for p in widths] for _ in widths]
    B = [[[rng.uniform(-2, 2) for _ in range(p)] for _ in range(D)] for p in widths]
    blocks, G = BlockTableau(A, B), symmetric(rng, D)
    u = Q(1, 2**53)

    def moved(block):
        return tuple(tuple(x * (1 + u * rng.choice((-1, 1))) for x in row) for row in block)

    other = BlockTableau([[moved(b) for b in row] for row in blocks.A], [moved(b) for b in blocks.B])
    radius, found, reached = blocks.roundings(G), blocks.burrage_butcher(G), Q(0)
    for row, moved_row, reach in zip(found, other.burrage_butcher(G), radius, strict=True):
        for x, y, r in zip(row, moved_row, reach, strict=True):
            assert abs(x - y) <= r
            reached = max(reached, abs(x - y) / r)
    assert reached > Q(1, 10), "the radius is no wild overestimate"


def test_a_clear_no_about_doubles_stands_and_a_close_yes_says_what_it_is_about():
    euler = BlockTableau([[[[0.0]]]], [[[0.1]]])
    assert euler.positivity().holds is False and euler.positivity().exact
    half = BlockTableau([[[[0.5]]]], [[[1.0]]]).positivity()
    assert half.holds is True and not half.exact and half.because.endswith("as printed")
    assert BlockTableau([[[[0.6]]]], [[[1.0]]]).positivity().exact, "far from singular: for all that round to them"


# --- premises


def test_explicit_steps_have_a_semidefinite_tensor_only_without_output():
    """thm-1-expl on random integer tableaus."""
    rng, both = random.Random(9), set()
    for trial in range(40):
        s, D = rng.randint(1, 3), rng.randint(1, 3)
        zero = [[Q(0)] * D for _ in range(D)]
        A = [[integers(rng, D, D) if j < i else zero for j in range(s)] for i in range(s)]
        B = [zero if trial % 2 else integers(rng, D, D) for _ in range(s)]
        blocks = BlockTableau(A, B)
        is_zero = all(x == 0 for block in blocks.B for row in block for x in row)
        found = blocks.positivity([[Q(3 if i == j else 1) for j in range(D)] for i in range(D)])
        assert bool(found) == is_zero
        both.add(is_zero)
    assert both == {True, False}


def test_all_monotone_fields_are_monotone_with_a_weight_only_if_it_is_a_multiple_of_one():
    P = ((Q(2), Q(1)), (Q(1), Q(3)))
    blocks = BlockTableau.from_scalar(tableaus.IMPLICIT_EULER, P)
    assert stage_monotonicity(blocks, ((Q(3), Q(-1)), (Q(-1), Q(2))), 0).value == 5
    for B, G in [(P, None), ((((Q(-1), Q(0)), (Q(0), Q(-1)))), None), (((Q(1), Q(0)), (Q(0), Q(4))), None)]:
        found = stage_monotonicity(BlockTableau([[P]], [B]), G, 0)
        x, f = found.witness
        assert found.holds is False and dot(x, f) <= 0 and dot(x, matrix_vector(B, f)) > 0


@pytest.mark.parametrize("seed", range(6))
def test_a_stage_of_tanh_is_monotone_iff_its_columns_are_opposite_to_its_rows(seed):
    rng = random.Random(seed)
    K = integers(rng, 3, 2)
    multipliers = [Q(rng.randint(0, 3)) for _ in K]
    B = tuple(tuple(-m * K[r][q] for r, m in enumerate(multipliers)) for q in range(2))
    A = tuple((Q(0),) * 3 for _ in range(2))
    stage = SlopeRestricted(tuple(map(tuple, K)), (Q(1),) * 3)
    found = stage_monotonicity(BlockTableau([[A]], [B]), None, 0, stage)
    expected = tuple(m if any(k) else 0 for m, k in zip(multipliers, K, strict=True))
    assert found.holds is True and found.value == expected
    r = next(r for r, k in enumerate(K) if any(k))
    turned = tuple(
        tuple(x + (Q(1, 100) * (-1) ** q * K[r][1 - q] if c == r else 0) for c, x in enumerate(row))
        for q, row in enumerate(B)
    )
    broken = stage_monotonicity(BlockTableau([[A]], [turned]), None, 0, stage)
    x = broken.witness
    g = tuple(row[r] for row in turned)
    assert broken.holds is False and dot(x, g) * dot(x, K[r]) > 0 and broken.margin > 0


def test_a_field_that_pushes_apart_along_its_own_rows_is_refused():
    """G B = +Kᵀ: parallel, but λ = −1."""
    S = ((Q(2), Q(1)), (Q(1), Q(2)))
    midpoint = BlockTableau.from_scalar(tableaus.IMPLICIT_MIDPOINT, size=2)
    found = stage_monotonicity(midpoint, S, 0, SlopeRestricted(S, (Q(1), Q(1))))
    assert found.holds is False and found.margin == 1 and dot(found.witness, S[0]) != 0
    assert contraction(midpoint, S, [SlopeRestricted(S, (Q(1), Q(1)))]).holds is None


def test_linear_components_together_need_a_dissipative_matrix():
    J = ((Q(0), Q(1)), (Q(-1), Q(0)))
    midpoint = BlockTableau.from_scalar(tableaus.IMPLICIT_MIDPOINT, size=2)
    skew = SlopeRestricted(J, (None, None))
    growing = SlopeRestricted(((Q(1, 10), Q(1)), (Q(-1), Q(0))), (None, None))
    assert contraction(midpoint, None, [skew]).holds is True
    assert stage_monotonicity(midpoint, None, 0, growing).holds is False
    tanh = contraction(midpoint, None, [SlopeRestricted(J, (Q(1), Q(1)))])
    assert tanh.holds is None and "G-monotone" in tanh.because, "tanh(J y) is not monotone in this weight"


def test_explicit_euler_contracts_exactly_up_to_its_step():
    """K = −G, slopes ≤ 1: the premise is G ≤ (2/η) I."""
    G = ((Q(2), Q(1)), (Q(1), Q(2)))  # eigenvalues 1, 3
    stage = SlopeRestricted(tuple(tuple(-x for x in row) for row in G), (Q(1), Q(1)))
    euler = BlockTableau.from_scalar(tableaus.EULER, size=2)
    assert contraction(euler, G, [stage], Q(2, 3)).holds is True
    beyond = contraction(euler, G, [stage], Q(2, 3) + Q(1, 10**9))
    assert beyond.holds is None and beyond.margin < 0 and "M + 2Λ/(ηL)" in beyond.because
    assert contraction(euler, G, [stage]).holds is None, "not for every step"


def test_a_weight_that_is_no_norm_is_refused():
    blocks = BlockTableau.from_scalar(tableaus.IMPLICIT_MIDPOINT, size=2)
    for G in ([[1, 0], [0, 0]], [[1, 0], [0, -1]]):
        assert contraction(blocks, G).holds is None and "G > 0" in contraction(blocks, G).because
    for G in ([[1, 2], [0, 1]], [[1]]):
        with pytest.raises(ValueError, match="not a symmetric matrix of D = 2"):
            contraction(blocks, G)


# --- readings of Theorem 1 that are false


J = np.array([[0, 1], [-1, 0]], dtype=object)


def linear_step(blocks: BlockTableau, N: np.ndarray, eta: Fraction) -> np.ndarray:
    """The matrix of the step for f_i(y) = N y, from the stage equations, by elimination in Fractions."""
    D, s = blocks.size, blocks.stages
    A = np.block([[as_fractions(block) for block in row] for row in blocks.A])
    big = np.kron(np.eye(s, dtype=int), N) + 0 * A
    system = np.eye(s * D, dtype=int) - eta * A @ big  # (I − η A N̂) Y = 1 ⊗ y
    Y = solved(system, np.vstack([np.eye(D, dtype=int)] * s) + Fraction(0))
    B = np.hstack([as_fractions(block) for block in blocks.B])
    return np.eye(D, dtype=int) + eta * B @ big @ Y


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    rows = np.hstack([matrix, right]) + Fraction(0)
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i, k] != 0)
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] = rows[k] / rows[k, k]
        for i in range(len(rows)):
            if i != k:
                rows[i] = rows[i] - rows[i, k] * rows[k]
    return rows[:, len(matrix) :]


def alternating_midpoints(p: int) -> BlockTableau:
    """A step of the implicit midpoint rule with P_1 = diag(1, p), then one with P_2 = diag(p, 1)."""
    first, second = ((Q(1), Q(0)), (Q(0), Q(p))), ((Q(p), Q(0)), (Q(0), Q(1)))
    zero = ((Q(0),) * 2,) * 2
    halves = [tuple(tuple(x / 2 for x in row) for row in P) for P in (first, second)]
    return BlockTableau([[halves[0], zero], [first, halves[1]]], [first, second])


def test_theorem_1_with_ordinary_monotonicity_fails_for_one_stage():
    P = ((Q(1), Q(0)), (Q(0), Q(4)))
    blocks = BlockTableau.from_scalar(tableaus.IMPLICIT_MIDPOINT, P)
    assert blocks.positivity().because == "M = 0" and diagonalise(P).inertia.negative == 0
    step = linear_step(blocks, J, Fraction(1))
    assert list(step @ [1, 0]) == [0, -2], "a skew field, and the difference doubles"
    G = ((Q(1), Q(0)), (Q(0), Q(1, 4)))
    assert contraction(blocks, G, "monotone").holds is True
    weight = as_fractions(G)
    assert (step.T @ weight @ step == weight).all(), "in P⁻¹ it is an isometry"


@pytest.mark.parametrize(("p", "eta"), [(4, Fraction(1)), (9, Fraction(1)), (16, Fraction(3, 2)), (25, Fraction(1, 2))])
def test_theorem_1_with_ordinary_monotonicity_fails_in_every_norm_for_two_stages(p, eta):
    """M = 0, B_i > 0, a skew field, and an eigenvalue below −1, for 1/p < η/2 < 1."""
    blocks = alternating_midpoints(p)
    assert blocks.positivity().because == "M = 0"
    assert all(diagonalise(B).inertia.negative == 0 for B in blocks.B)
    step = linear_step(blocks, J, eta)
    determinant = step[0, 0] * step[1, 1] - step[0, 1] * step[1, 0]
    assert determinant == 1 and step[0, 0] + step[1, 1] < -2
    if (p, eta) == (4, 1):
        assert step.tolist() == [[-4, 0], [0, Fraction(-1, 4)]]
    outside = linear_step(blocks, J, Fraction(1, p))
    assert abs(outside[0, 0] + outside[1, 1]) <= 2


# --- the value


def test_shapes_and_entries_that_do_not_fit_are_named():
    one = [[1]]
    with pytest.raises(ValueError, match="A must be 1 × 1 blocks"):
        BlockTableau([], [one])
    with pytest.raises(ValueError, match="is not 1 × 1, which B₁ is"):
        BlockTableau([[[[1, 2]]]], [one])
    with pytest.raises(ValueError, match="B₂ is no matrix of 1 rows"):
        BlockTableau([[one, one], [one, one]], [one, [[1], [2]]])
    with pytest.raises(ValueError, match="not a finite number"):
        BlockTableau([[[[float("nan")]]]], [one])
    with pytest.raises(TypeError, match="not a coefficient"):
        BlockTableau([[[[None]]]], [one])
    with pytest.raises(ValueError, match="exact or doubles"):
        BlockTableau.from_scalar(next(t for t in scalar_methods() if t.digits is not None))
    with pytest.raises(ValueError, match="2 rows but there are 1 slopes"):
        SlopeRestricted(((Q(1),), (Q(1),)), (Q(1),))
    assert repr(random_blocks(1, 2, (2, 3))) == "BlockTableau(2 stages of 2, 3 on 2 components)"


def test_irrational_coefficients_of_two_fields_meet_in_one():
    blocks = BlockTableau([[[["sqrt(2)"]]]], [[["sqrt(3)"]]])
    M = blocks.burrage_butcher()[0][0]
    assert abs(float(M) - (2 * 6**0.5 - 3)) < 1e-12 and blocks.positivity().holds is True


def test_the_exact_algebra_needs_no_torch():
    code = "import odernn.properties.matrix_coefficients.contraction_weight"
    assert loaded_after(code, ("torch", "scipy", "sympy")) == []


def test_every_pair_of_stages_is_in_the_tensor():
    """No block of M is forgotten: each pair of stages moves it."""
    blocks = random_blocks(3, 2, (2, 2, 2))
    M = blocks.burrage_butcher()
    for i, j in itertools.product(range(3), repeat=2):
        A = [list(row) for row in blocks.A]
        A[i][j] = tuple(tuple(x + 1 for x in row) for row in A[i][j])
        changed = BlockTableau(A, blocks.B).burrage_butcher()
        block = [(p, q) for p in range(2) for q in range(2)]
        assert any(changed[2 * i + p][2 * j + q] != M[2 * i + p][2 * j + q] for p, q in block)
