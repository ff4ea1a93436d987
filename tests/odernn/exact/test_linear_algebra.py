"""Exact linear algebra and polynomials against sympy, against NumPy at random, and against theorems."""

from __future__ import annotations

import itertools
import random

import numpy
import pytest
import sympy
from flint import fmpq

from odernn.exact.algebraic import Algebraic, root_of, sqrt
from odernn.exact.linear_algebra import (
    Inertia,
    characteristic_polynomial,
    determinant,
    diagonalise,
    dot,
    identity,
    inverse,
    matrix_vector,
    nullspace,
    product,
    quadratic_form,
    rank,
    reduced_echelon,
    solve,
    transposed,
)
from odernn.exact.polynomials import (
    RealRoot,
    add,
    count_roots,
    degree,
    divide,
    evaluate,
    gcd,
    is_hurwitz,
    multiply,
    polynomial,
    positive_roots,
    root_bound,
    root_in_left_half_plane,
    routh_column,
    scale_variable,
    shift_reflect,
    squarefree,
    sturm_chain,
)
from tests.tiers import slow

Q = fmpq
R3 = sqrt(3)
CUBIC = root_of([Q(-1, 6), Q(3, 2), -3, 1], 0.4358665)
SCALARS = {"rational": Q(2, 7), "quadratic": R3, "cubic": CUBIC}


def entry(generator: random.Random, theta: object) -> object:
    return Q(generator.randint(-3, 3), generator.randint(1, 3)) + theta * generator.randint(-2, 2)


def matrix(generator: random.Random, rows: int, columns: int, theta: object) -> list[list[object]]:
    return [[entry(generator, theta) for _ in range(columns)] for _ in range(rows)]


def symmetric(generator: random.Random, size: int, theta: object, *, rank_: int) -> list[list[object]]:
    """Σ ± v vᵀ with ``rank_`` terms; half of the matrices have a zero diagonal where they can."""
    S = [[Q(0)] * size for _ in range(size)]
    for _ in range(rank_):
        v = [entry(generator, theta) for _ in range(size)]
        w = [entry(generator, theta) for _ in range(size)] if generator.random() < 0.5 else v
        sigma = generator.choice((-1, 1))
        S = [[S[i][j] + sigma * (v[i] * w[j] + w[i] * v[j]) for j in range(size)] for i in range(size)]
    return S


def from_roots(*roots: object) -> tuple[object, ...]:
    p: tuple[object, ...] = (Q(1),)
    for root in roots:
        p = multiply(p, (-root, Q(1)))
    return p


@pytest.mark.parametrize("theta", SCALARS.values(), ids=SCALARS)
def test_a_diagonalisation_is_a_congruence_and_has_the_inertia_of_the_eigenvalues(theta: object):
    generator = random.Random(1)
    seen = set()
    for case in range(60):
        size = 1 + case % 5
        S = symmetric(generator, size, theta, rank_=case % 4)
        if case % 2 and size > 1:
            S = [[Q(0) if i == j else x for j, x in enumerate(row)] for i, row in enumerate(S)]
        found = diagonalise(S)
        for i, j in itertools.product(range(size), repeat=2):
            assert dot(found.basis[i], matrix_vector(S, found.basis[j])) == (found.pivots[i] if i == j else 0)
        assert determinant(found.basis) != 0
        eigenvalues = numpy.linalg.eigvalsh(numpy.array([[float(x) for x in row] for row in S]))
        small = 1e-9 * max(1.0, numpy.abs(eigenvalues).max())
        signs = (sum(eigenvalues > small), sum(eigenvalues < -small), sum(abs(eigenvalues) <= small))
        assert found.inertia == Inertia(*map(int, signs)) and found.inertia.is_semidefinite == (signs[1] == 0)
        if found.violation is None:
            assert signs[1] == 0
        else:
            v, value = found.violation
            assert quadratic_form(S, v) == value < 0
        seen.add(str(found.inertia))
    assert len(seen) >= 8


def test_a_zero_diagonal_needs_two_rows_at_once():
    found = diagonalise([[Q(0), Q(1)], [Q(1), Q(0)]])
    assert found.inertia == Inertia(1, 1, 0) and found.violation == ((1, -1), -2)
    assert diagonalise([[Q(0)] * 3] * 3).inertia == Inertia(0, 0, 3)


def test_a_negative_entry_of_the_diagonal_is_shown_by_a_unit_vector():
    S = [[Q(1), Q(5), Q(0)], [Q(5), Q(1), Q(0)], [Q(0), Q(0), Q(-1, 10**30)]]
    assert diagonalise(S).violation == ((0, 0, 1), Q(-1, 10**30))


def test_an_indefinite_matrix_with_a_tiny_negative_eigenvalue_is_not_called_semidefinite():
    tiny = Q(1, 10**60)
    assert diagonalise([[Q(1), Q(1)], [Q(1), 1 - tiny]]).inertia == Inertia(1, 1, 0)
    assert diagonalise([[Q(1), Q(1)], [Q(1), Q(1)]]).inertia == Inertia(1, 0, 1)
    assert diagonalise([[R3 * R3, R3], [R3, Q(1)]]).inertia == Inertia(1, 0, 1)


@pytest.mark.parametrize("theta", SCALARS.values(), ids=SCALARS)
def test_rank_nullspace_and_solve_agree_with_each_other(theta: object):
    generator = random.Random(2)
    for case in range(30):
        rows, columns = 1 + case % 4, 1 + case % 3
        inner = 1 + case % 2
        S = product(matrix(generator, rows, inner, theta), matrix(generator, inner, columns, theta))
        kernel = nullspace(S)
        assert rank(S) + len(kernel) == columns and rank(S) == rank(transposed(S))
        assert all(x == 0 for v in kernel for x in matrix_vector(S, v))
        right = matrix_vector(S, [entry(generator, theta) for _ in range(columns)])
        found = solve(S, [[x] for x in right])
        assert found is not None and matrix_vector(S, [row[0] for row in found]) == right
    assert solve([[Q(1)], [Q(1)]], [[Q(1)], [Q(2)]]) is None


def test_the_rational_and_the_general_elimination_agree():
    generator = random.Random(3)
    for _ in range(20):
        S = matrix(generator, 3, 4, Q(1))
        assert reduced_echelon([[R3 * x for x in row] for row in S]) == reduced_echelon(S)


@pytest.mark.parametrize("largest", [3, slow(4)])
@pytest.mark.parametrize("theta", [R3, CUBIC], ids=["quadratic", "cubic"])
def test_inverse_determinant_and_characteristic_polynomial(theta: object, largest: int):
    generator = random.Random(4)
    x = sympy.Symbol("x")
    for size in range(1, largest + 1):
        S = matrix(generator, size, size, theta)
        p = characteristic_polynomial(S)
        assert degree(p) == size and p[-1] == 1
        zero = tuple(tuple(Q(0) for _ in range(size)) for _ in range(size))
        for coefficient in reversed(p):  # Cayley–Hamilton
            zero = product(zero, S)
            zero = tuple(
                tuple(v + (coefficient if i == j else 0) for j, v in enumerate(row)) for i, row in enumerate(zero)
            )
        assert all(v == 0 for row in zero for v in row)
        if determinant(S) != 0:
            assert product(S, inverse(S)) == identity(size)
        if theta is R3:
            twin = sympy.Matrix(size, size, lambda i, j, S=S: sympy.sympify(str(S[i][j])))
            expected = sympy.Poly(sympy.expand(twin.charpoly(x).as_expr()), x).all_coeffs()[::-1]
            assert [sympy.expand(sympy.sympify(str(v)) - e) for v, e in zip(p, expected, strict=True)] == [0] * (
                size + 1
            )
    with pytest.raises(ZeroDivisionError, match="2 × 2 matrix has rank 1"):
        inverse([[R3, Q(3)], [Q(1), R3]])


def test_polynomial_arithmetic():
    p, q = from_roots(R3, Q(1), Q(2)), from_roots(Q(2), R3, -R3)
    quotient, rest = divide(p, q)
    assert add(multiply(quotient, q), rest) == p and degree(rest) < degree(q)
    assert gcd(p, q) == from_roots(R3, Q(2)) and gcd(from_roots(Q(1), Q(3)), from_roots(Q(3))) == from_roots(Q(3))
    assert squarefree(multiply(p, p)) == p and polynomial([Q(0), Q(0)]) == ()
    assert evaluate(shift_reflect(p), 1 - R3) == 0 and evaluate(scale_variable(p, Q(2)), Q(1, 2)) == 0
    assert gcd((), p) == p


@pytest.mark.parametrize("theta", [Q(1), R3, CUBIC], ids=["rational", "quadratic", "cubic"])
def test_sturm_chains_count_the_roots_that_were_put_in(theta: object):
    generator = random.Random(5)
    for _ in range(25):
        roots = [entry(generator, theta) for _ in range(generator.randint(1, 4))]
        p = multiply(
            from_roots(*roots, *roots[:1]), (Q(generator.randint(1, 3)), Q(0), Q(1))
        )  # one double, two complex
        different = set(roots)
        assert count_roots(p) == len(different)
        assert count_roots(p, Q(0)) == sum(r > 0 for r in different)
        assert count_roots(p, Q(-1), Q(2)) == sum(bool(r > -1) and bool(r <= 2) for r in different)
        found = positive_roots(p)
        assert len(found) == sum(r > 0 for r in different)
        for root, expected in zip(found, sorted(r for r in different if r > 0), strict=True):
            assert 0 < root.lower <= expected <= root.upper < root_bound(p)
            assert float(root) == pytest.approx(float(expected), rel=1e-12)
        assert all(a.upper < b.lower for a, b in itertools.pairwise(found))


def test_roots_that_are_very_close_are_told_apart():
    close = Q(1) + Q(1, 10**40)
    first, second = positive_roots(from_roots(Q(1), close))
    assert first.upper < second.lower and count_roots(from_roots(Q(1), close), Q(1), Q(2)) == 1
    assert first.ball(200).contains(1) and not second.ball(200).contains(1)


def test_a_root_is_printed_in_closed_form_where_it_has_one():
    assert [str(r) for r in positive_roots(from_roots(Q(1, 3), sqrt(2), -sqrt(2), Q(5)))] == ["1/3", "sqrt(2)", "5"]
    golden = positive_roots((Q(-1), Q(-1), Q(1)))[0]
    assert str(golden) == "1.61803398875" and isinstance(golden, RealRoot)
    assert golden.within(Q(1, 10**20)).upper - golden.within(Q(1, 10**20)).lower <= Q(1, 10**20)


def test_a_sturm_chain_has_one_more_member_than_the_degree_for_distinct_real_roots():
    assert len(sturm_chain(from_roots(Q(1), Q(2), Q(3), R3))) == 5


def test_the_routh_array_places_roots_as_numpy_does():
    generator = random.Random(6)
    seen = set()
    for _ in range(120):
        p = polynomial([Q(generator.randint(-1, 9)) for _ in range(generator.randint(1, 5))] + [Q(1)])
        roots = numpy.roots([float(x) for x in p[::-1]])
        if min(abs(roots.real)) < 1e-7:
            continue
        assert is_hurwitz(p) == bool(all(roots.real < 0))
        seen.add(is_hurwitz(p))
        if any(roots.real < 0):
            ball = root_in_left_half_plane(p)
            assert ball.real < 0 and min(abs(roots - complex(ball))) < 1e-4
    assert seen == {True, False}


def test_roots_on_the_imaginary_axis_are_not_hurwitz():
    assert not is_hurwitz((Q(1), Q(0), Q(1))) and not is_hurwitz((Q(0), Q(1)))
    assert not is_hurwitz(multiply((Q(1), Q(0), Q(1)), (Q(1), Q(1))))
    assert is_hurwitz((Q(5),)) and is_hurwitz(from_roots(-R3, Q(-1))) and not is_hurwitz(from_roots(R3, Q(-1)))
    assert routh_column((Q(6), Q(11), Q(6), Q(1))) == (1, 6, 10, 6)


def test_nothing_rational_is_left_in_a_number_field():
    assert not isinstance(determinant([[R3, Q(1)], [Q(1), R3]]), Algebraic)
    assert determinant([[R3, Q(1)], [Q(1), R3]]) == Q(2)
