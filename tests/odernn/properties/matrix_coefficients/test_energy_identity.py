"""The energy identity (thm-E) exactly over Q, and that explicit stages leave no weight (thm-1-expl)."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from flint import fmpq

from odernn.exact.definiteness import semidefiniteness
from odernn.exact.linear_algebra import identity, quadratic_form
from odernn.properties.matrix_coefficients.block_tableau import BlockTableau
from odernn.properties.matrix_coefficients.contraction_weight import contraction_weight


def number(rng: random.Random) -> fmpq:
    return fmpq(rng.randint(-4, 4), rng.randint(1, 4))


def exact(x: Fraction) -> fmpq:
    return fmpq(x.numerator, x.denominator)


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
        before, work, dissipation, after = by_hand(blocks, d, slopes, eta, G)
        assert after == before + work - dissipation
        joined = tuple(itertools.chain(*slopes))
        assert exact(dissipation) == eta * eta * quadratic_form(blocks.burrage_butcher(G), joined)


def test_the_identity_fails_with_another_tensor():
    """The weight I in place of G gives another dissipation, and G's own does not balance the step in I."""
    rng = random.Random(5)
    blocks, G = drawn(rng, 2, (2, 2)), ((fmpq(2), fmpq(1)), (fmpq(1), fmpq(3)))
    d, slopes = [number(rng), number(rng)], [[number(rng), number(rng)] for _ in range(2)]
    before, work, dissipation, after = by_hand(blocks, d, slopes, fmpq(1), identity(2))
    other = quadratic_form(blocks.burrage_butcher(G), tuple(itertools.chain(*slopes)))
    assert exact(dissipation) == quadratic_form(blocks.burrage_butcher(), tuple(itertools.chain(*slopes))) != other
    assert exact(after - before - work) == -exact(dissipation) != -other


@pytest.mark.parametrize("seed", range(8))
def test_explicit_integer_tableaus_have_no_weight(seed):
    """A_ii = 0 and B_i ≠ 0: no G > 0 makes M ≥ 0, and the witness shows it for every G that is tried."""
    rng = random.Random(seed)
    S, D = rng.randint(1, 3), rng.randint(1, 3)
    A = [[[[rng.randint(-3, 3) * (j < i) for _ in range(D)] for _ in range(D)] for j in range(S)] for i in range(S)]
    B = [[[rng.randint(-3, 3) for _ in range(D)] for _ in range(D)] for _ in range(S)]
    B[-1][0][0] = 1
    blocks = BlockTableau(A, B)
    found = contraction_weight(blocks)
    assert found.holds is False and found.exact
    column = next(c for c in range(D) if any(row[c] != 0 for row in B[-1]))
    for _ in range(5):
        C = [[fmpq(rng.randint(-3, 3)) for _ in range(D)] for _ in range(D)]
        G = [
            [sum((a * b for a, b in zip(p, q, strict=True)), fmpq(int(r == s))) for s, q in enumerate(C)]
            for r, p in enumerate(C)
        ]
        M = blocks.burrage_butcher(G)
        place = blocks.slices()[-1].start + column
        assert M[place][place] < 0
        assert semidefiniteness(M).holds is False


def test_the_refusal_names_the_row_of_the_explicit_stage_and_of_a_column_that_is_not_zero():
    half, zero, shift = [["1/2", 0], [0, "1/2"]], [[0, 0], [0, 0]], [[0, 1], [0, 0]]
    found = contraction_weight(BlockTableau([[half, zero], [half, zero]], [half, shift]))
    assert found.holds is False and "for r = 4 and every G > 0" in found.because
    rest = contraction_weight(BlockTableau([[zero, zero], [half, half]], [zero, half]))
    assert "every G > 0" not in rest.because


def test_explicit_steps_without_output_and_implicit_ones_are_not_refused():
    assert contraction_weight(BlockTableau([[[[1]]]], [[[0]]])).holds is True
    assert contraction_weight(BlockTableau([[[["1/2"]]]], [[[1]]])).holds is True
