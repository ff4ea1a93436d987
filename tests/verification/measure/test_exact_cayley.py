"""The scaled Cayley transform over the rationals, against oracles by expansion and by trying every signature."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
import torch
from flint import fmpq, fmpq_mat

from odernn.orthogonal.cayley import lu_signs, scaled_cayley
from verification.measure import exact_cayley as exact


def matrix(rows: list[list[object]]) -> fmpq_mat:
    return fmpq_mat(len(rows), len(rows), [fmpq(*Fraction(x).as_integer_ratio()) for row in rows for x in row])  # type: ignore[arg-type]


def rational_skew(n: int, rng: random.Random) -> fmpq_mat:
    A = fmpq_mat(n, n)
    for i, j in itertools.combinations(range(n), 2):
        A[i, j] = fmpq(rng.randint(-9, 9), rng.randint(1, 4))
        A[j, i] = -A[i, j]
    return A


def rational_orthogonal(n: int, seed: int) -> fmpq_mat:
    rng = random.Random(100 * n + seed)
    order = list(range(n))
    rng.shuffle(order)
    P = fmpq_mat(n, n)
    for i, j in enumerate(order):
        P[i, j] = rng.choice((1, -1))
    return exact.cayley(rational_skew(n, rng)) * P


def as_tensor(A: fmpq_mat) -> torch.Tensor:
    return torch.tensor([[int(x.p) / int(x.q) for x in row] for row in A.tolist()], dtype=torch.float64)


def determinant(rows: list[list[Fraction]]) -> Fraction:
    """By expansion along the first row."""
    if not rows:
        return Fraction(1)
    return sum(
        ((-1) ** j * x * determinant([[*row[:j], *row[j + 1 :]] for row in rows[1:]]) for j, x in enumerate(rows[0])),
        Fraction(0),
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_the_transform_is_its_own_inverse_has_determinant_1_and_agrees_with_the_floats(n):
    for seed in range(4):
        A = rational_skew(n, random.Random(seed))
        W = exact.cayley(A)
        assert exact.cayley(W) == A and W.det() == 1 and W.transpose() * W == exact.identity(n)
        floats = scaled_cayley(as_tensor(A), torch.ones(n))
        assert torch.allclose(floats, as_tensor(W), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_image_determinant_is_the_expansion_and_vanishes_for_the_other_determinant(n):
    for seed in range(4):
        W = rational_orthogonal(n, seed)
        plain = [[Fraction(int(x.p), int(x.q)) for x in row] for row in W.tolist()]
        total = Fraction(0)
        for d in itertools.product((1, -1), repeat=n):
            found = exact.image_determinant(W, d)
            rows = [[x * d[j] + (i == j) for j, x in enumerate(row)] for i, row in enumerate(plain)]
            assert Fraction(int(found.p), int(found.q)) == determinant(rows)
            assert 0 <= found <= 2**n
            if W.det() != exact.diagonal(d).det():
                assert found == 0
            total += determinant(rows)
        assert total == 2**n  # the average over all signatures is 1


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_signs_by_elimination_are_admissible_and_those_of_the_floats(n):
    for seed in range(6):
        W = rational_orthogonal(n, seed)
        d = exact.lu_signs(W)
        assert abs((W + exact.diagonal(d)).det()) >= 1
        assert tuple(int(x) for x in lu_signs(as_tensor(W))) == d


def test_minus_the_identity_is_all_minus_and_zero():
    found = exact.bounded_representation(matrix([[-1, 0, 0], [0, -1, 0], [0, 0, -1]]))
    assert found.signs == (-1, -1, -1) and fmpq_mat(3, 3) == found.A and found.flips == 0
    assert found.potential == (8,)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_the_representation_is_bounded_by_1_and_its_potential_grows(n):
    most = 0
    for seed in range(8):
        W = rational_orthogonal(n, seed)
        found = exact.bounded_representation(W)
        assert exact.cayley(found.A) * exact.diagonal(found.signs) == W
        assert all(abs(x) <= 1 for x in found.A.entries()) and found.A.transpose() == fmpq_mat(n, n) - found.A
        assert list(found.potential) == sorted(set(found.potential)) and len(found.potential) == found.flips + 1
        assert found.potential[0] >= 1
        most = max(most, found.flips)
    assert n < 4 or most > 0  # the exchanges were used


def test_the_exchange_matrix_cannot_do_better_than_1():
    W = matrix([[0, 1], [1, 0]])
    sizes = [
        max(abs(x) for x in exact.cayley(W * exact.diagonal(d)).entries())
        for d in itertools.product((1, -1), repeat=2)
        if exact.image_determinant(W, d) != 0
    ]
    assert sizes == [1, 1]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_gradient_is_that_of_autograd_and_twice_that_of_the_frobenius_product(n):
    rng = random.Random(n)
    A, d = rational_skew(n, rng), tuple(rng.choice((1, -1)) for _ in range(n))
    G = matrix([[rng.randint(-3, 3) for _ in range(n)] for _ in range(n)])
    found = exact.gradient(A, d, G)
    entries = [int(A[i, j].p) / int(A[i, j].q) for i, j in itertools.combinations(range(n), 2)]
    free = torch.tensor(entries, dtype=torch.float64, requires_grad=True)
    rows, columns = torch.triu_indices(n, n, 1)
    upper = torch.zeros(n, n, dtype=torch.float64).index_put((rows, columns), free)
    loss = (as_tensor(G) * scaled_cayley(upper - upper.T, torch.tensor(d))).sum()
    (slope,) = torch.autograd.grad(loss, free)
    assert torch.allclose(slope, as_tensor(found)[rows, columns], rtol=1e-12, atol=1e-12)
    assert found.transpose() == fmpq_mat(n, n) - found


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exact.cayley(matrix([[-1, 0], [0, 1]])), "eigenvalue -1"),
        (lambda: exact.cayley(fmpq_mat(2, 3)), "square"),
        (lambda: exact.image_determinant(matrix([[2, 0], [0, 1]]), (1, 1)), "not orthogonal"),
        (lambda: exact.image_determinant(matrix([[0, 1], [1, 0]]), (1,)), "signs are"),
        (lambda: exact.image_determinant(matrix([[0, 1], [1, 0]]), (1, 0)), "signs are"),
        (lambda: exact.lu_signs(matrix([[1, 1], [0, 1]])), "not orthogonal"),
        (lambda: exact.bounded_representation(matrix([[1, 1], [0, 1]])), "not orthogonal"),
        (lambda: exact.gradient(matrix([[0, 1], [1, 0]]), (1, 1), exact.identity(2)), "not skew"),
        (lambda: exact.gradient(matrix([[0, 1], [-1, 0]]), (1, 2), exact.identity(2)), "signs are"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
