"""The energy identity (thm-E) exactly over Q, and that explicit stages leave no weight (thm-1-expl)."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from flint import fmpq

from odernn.exact.definiteness import semidefiniteness
from odernn.properties.block_coefficients import BlockTableau
from odernn.properties.contraction_weights import contraction_weight
from odernn.properties.energy_identity import energy_balance, some_weight_is_possible


def number(rng: random.Random) -> fmpq:
    return fmpq(rng.randint(-4, 4), rng.randint(1, 4))


def matrix(rng: random.Random, rows: int, columns: int):
    return [[number(rng) for _ in range(columns)] for _ in range(rows)]


def symmetric(rng: random.Random, size: int):
    M = matrix(rng, size, size)
    return [[M[min(i, j)][max(i, j)] for j in range(size)] for i in range(size)]


def drawn(rng: random.Random, D: int, widths: tuple[int, ...]) -> BlockTableau:
    return BlockTableau([[matrix(rng, D, p) for p in widths] for _ in widths], [matrix(rng, D, p) for p in widths])


def by_hand(blocks, d, slopes, eta, G):
    """(before, work, dissipation, after) with fractions, M entry by entry."""

    def plain(rows):
        return [[Fraction(int(x.p), int(x.q)) for x in row] for row in rows]

    A, B = [[plain(block) for block in row] for row in blocks.A], [plain(block) for block in blocks.B]
    G, (d,), g = plain(G), plain([d]), plain(slopes)
    eta, D, S = Fraction(int(eta.p), int(eta.q)), len(d), len(g)

    def inner(u, v):
        return sum(u[r] * G[r][c] * v[c] for r in range(D) for c in range(D))

    def times(M, v):
        return [sum(x * y for x, y in zip(row, v, strict=True)) for row in M]

    moves = [times(B[i], g[i]) for i in range(S)]
    w = [[d[r] + eta * sum(times(A[i][j], g[j])[r] for j in range(S)) for r in range(D)] for i in range(S)]
    after = [d[r] + eta * sum(move[r] for move in moves) for r in range(D)]
    tensor = sum(
        inner(times(B[i], g[i]), times(A[i][j], g[j]))
        + inner(times(A[j][i], g[i]), times(B[j], g[j]))
        - inner(moves[i], moves[j])
        for i in range(S)
        for j in range(S)
    )
    return inner(d, d), 2 * eta * sum(map(inner, w, moves)), eta**2 * tensor, inner(after, after)


@pytest.mark.parametrize("widths", [(1,), (2,), (2, 2), (1, 3), (2, 2, 2), (3, 1, 2)])
@pytest.mark.parametrize("D", [1, 2, 3])
def test_the_identity_is_exact(D, widths):
    rng = random.Random(f"{D} {widths}")
    for _ in range(5):
        blocks, G, eta = drawn(rng, D, widths), symmetric(rng, D), fmpq(rng.randint(1, 9), 4)
        d, slopes = [number(rng) for _ in range(D)], [[number(rng) for _ in range(p)] for p in widths]
        found = energy_balance(blocks, d, slopes, step=eta, G=G)
        assert found.defect == 0
        terms = (found.before, found.work, found.dissipation, found.after)
        assert [Fraction(int(x.p), int(x.q)) for x in map(fmpq, terms)] == list(by_hand(blocks, d, slopes, eta, G))


def test_the_identity_fails_with_another_tensor():
    """What the defect measures: with the weight I in place of G it is not 0."""
    rng = random.Random(5)
    blocks = drawn(rng, 2, (2, 2))
    d, slopes = [number(rng), number(rng)], [[number(rng), number(rng)] for _ in range(2)]
    one, other = (energy_balance(blocks, d, slopes, G=G) for G in (None, [[2, 1], [1, 3]]))
    assert one.dissipation != other.dissipation
    assert one.after - (one.before + one.work - other.dissipation) != 0


@pytest.mark.parametrize("seed", range(8))
def test_explicit_integer_tableaus_have_no_weight(seed):
    """A_ii = 0 and B_i ≠ 0: no G > 0 makes M ≥ 0, and the witness shows it for every G that is tried."""
    rng = random.Random(seed)
    S, D = rng.randint(1, 3), rng.randint(1, 3)
    A = [[[[rng.randint(-3, 3) * (j < i) for _ in range(D)] for _ in range(D)] for j in range(S)] for i in range(S)]
    B = [[[rng.randint(-3, 3) for _ in range(D)] for _ in range(D)] for _ in range(S)]
    B[-1][0][0] = 1
    blocks = BlockTableau(A, B)
    found = some_weight_is_possible(blocks)
    assert found.holds is False and found.exact
    i, x = found.witness
    for _ in range(5):
        C = [[fmpq(rng.randint(-3, 3)) for _ in range(D)] for _ in range(D)]
        G = [
            [sum((a * b for a, b in zip(p, q, strict=True)), fmpq(int(r == s))) for s, q in enumerate(C)]
            for r, p in enumerate(C)
        ]
        M = blocks.burrage_butcher(G)
        place = blocks.slices()[i - 1]
        block = [row[place] for row in M[place]]
        assert sum(x[r] * block[r][c] * x[c] for r in range(D) for c in range(D)) < 0
        assert semidefiniteness(M).holds is False
    assert contraction_weight(blocks, "weighted").holds is False


def test_the_witness_names_the_explicit_stage_and_a_column_that_is_not_zero():
    half, zero, shift = [["1/2", 0], [0, "1/2"]], [[0, 0], [0, 0]], [[0, 1], [0, 0]]
    found = some_weight_is_possible(BlockTableau([[half, zero], [half, zero]], [half, shift]))
    assert found.holds is False and found.witness == (2, (0, 1))
    assert some_weight_is_possible(BlockTableau([[zero, zero], [half, half]], [zero, half])).holds is None


def test_explicit_steps_without_output_and_implicit_ones_are_not_refused():
    assert some_weight_is_possible(BlockTableau([[[[1]]]], [[[0]]])).holds is True
    assert some_weight_is_possible(BlockTableau([[[["1/2"]]]], [[[1]]])).holds is None


def test_numbers_that_do_not_fit_are_named():
    blocks = BlockTableau([[[[0]]]], [[[1]]])
    with pytest.raises(ValueError, match="difference has 2 entries; the blocks ask for 1"):
        energy_balance(blocks, [1, 2], [[1]])
    with pytest.raises(ValueError, match="slopes has 2 rows for 1 stages"):
        energy_balance(blocks, [1], [[1], [1]])
    with pytest.raises(ValueError, match="slopes of stage 1 has 2 entries"):
        energy_balance(blocks, [1], [[1, 2]])
    with pytest.raises(ValueError, match="positive"):
        energy_balance(blocks, [1], [[1]], step=0)
