"""Exact real numbers: field arithmetic, signs however small, common fields. The oracle is mpmath at 60 digits."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
import random
from fractions import Fraction

import mpmath
import pytest
from flint import fmpq

from odernn import order, tableaus
from odernn.exact.algebraic import (
    Algebraic,
    FieldMismatchError,
    enclosure,
    field_of,
    nearest_float,
    root_of,
    sign,
    sqrt,
)
from odernn.exact.compositum import adjoin, nth_root, unify
from tests.tiers import slow

Q = fmpq
GAMMA = root_of([Q(-1, 6), Q(3, 2), -3, 1], 0.4358665)


def digits(value, places: int = 60) -> mpmath.mpf:
    """The number by evaluating its polynomial at the root that mpmath finds."""
    with mpmath.workdps(places + 20):
        if not isinstance(value, Algebraic):
            return mpmath.mpf(int(value.p)) / int(value.q)
        modulus = [mpmath.mpf(int(c.p)) / int(c.q) for c in reversed(value.field.modulus.coeffs())]
        roots = mpmath.polyroots(modulus, maxsteps=500, extraprec=400)
        real = sorted(r.real for r in roots if abs(r.imag) < mpmath.mpf(10) ** -40)
        terms = [mpmath.mpf(int(c.p)) / int(c.q) for c in reversed(value.polynomial.coeffs())]
        return mpmath.polyval(terms, real[value.field.index])


def near(x, y, places: int = 45) -> bool:
    return abs(mpmath.mpf(x) - mpmath.mpf(y)) < mpmath.mpf(10) ** -places


def random_element(generator: random.Random, field) -> Algebraic:
    coefficients = [Q(generator.randint(-9, 9), generator.randint(1, 9)) for _ in range(field.degree)]
    theta, value = field.generator(), Q(0)
    for power, coefficient in enumerate(coefficients):
        value = value + coefficient * theta**power
    return value


@pytest.mark.parametrize("field", [sqrt(3).field, GAMMA.field, slow(nth_root(Q(2), 5).field)], ids=str)
def test_arithmetic_is_that_of_the_real_numbers(field):
    generator = random.Random(1)
    with mpmath.workdps(60):
        for _ in range(10):
            x, y = random_element(generator, field), random_element(generator, field)
            for operate in (operator.add, operator.sub, operator.mul):
                assert near(digits(operate(x, y)), operate(digits(x), digits(y)), 40)
            if y != 0:
                assert near(digits(x / y), digits(x) / digits(y), 35) and x / y * y == x
            assert (x < y) == (digits(x) < digits(y))


def test_a_rational_result_leaves_the_field():
    assert isinstance(sqrt(3) * sqrt(3), fmpq) and sqrt(3) ** 2 == 3
    assert sqrt(12) / sqrt(3) == Q(2) and sqrt(Fraction(9, 4)) == Q(3, 2)
    assert (GAMMA**3 - 3 * GAMMA**2 + Q(3, 2) * GAMMA) == Q(1, 6)


def test_the_sign_of_a_tiny_number_is_found():
    convergent = Q(1, 1)
    for _ in range(200):  # Newton-like continued fraction of √2: errors near 10⁻¹⁵⁰
        convergent = (convergent + 2) / (convergent + 1)
    difference = sqrt(2) - convergent
    assert abs(nearest_float(difference)) < 1e-150 and sign(difference) == (1 if convergent**2 < 2 else -1)
    assert sign(difference - difference) == 0


def test_equal_numbers_of_one_field_are_equal_and_hash_alike():
    one, other = (1 + sqrt(3)) ** 2, 4 + 2 * sqrt(3)
    assert one == other and hash(one) == hash(other) and one != other + Q(1, 10**40)
    assert sqrt(3) != Q(17320508, 10**7) and sqrt(3) is not None


def test_roots_of_a_quadratic_lie_in_the_field_of_a_square_root():
    assert root_of([Q(1, 2), -2, 1], 0.29) == 1 - sqrt(2) / 2
    assert root_of([-4, 0, 0, 0, 1], 1.4) == sqrt(2)
    assert root_of([-2, 1], 5) == Q(2)


@pytest.mark.parametrize(
    ("coefficients", "near_to", "message"),
    [([1, 0, 1], 0, "no real root"), ([1], 0, "degree is below 1"), ([-2, 0, 1], 0, "equally near")],
)
def test_a_root_that_is_not_there_or_not_told_apart_is_refused(coefficients, near_to, message: str):
    with pytest.raises(ValueError, match=message):
        root_of(coefficients, near_to)


def test_the_square_root_of_a_negative_number_is_refused():
    with pytest.raises(ValueError, match="not real"):
        sqrt(-2)
    with pytest.raises(ValueError, match="not real"):
        nth_root(1 - sqrt(2), 4)


def test_numbers_that_cannot_be_factored_have_one_field_all_the_same():
    hard, p, q = 10**80 + 10**7 + 3, 2**89 - 1, 2**107 - 1  # p and q are prime
    assert sqrt(12 * hard) == 2 * sqrt(3 * hard) and sqrt(hard**3) == hard * sqrt(hard)
    assert sqrt(Q(3, hard**2)) * hard == sqrt(3) and sqrt(hard) ** 2 == hard
    assert sqrt(p * p * q) == p * sqrt(q) and sqrt(5 * q) * sqrt(5 * p * p * q) == 5 * p * q
    root = nth_root(Q(hard), 3)
    assert root**3 == hard and nth_root(Q(hard**2), 4) == sqrt(hard) and nth_root(Q(8, hard**3), 3) == Q(2, hard)


def test_two_fields_do_not_mix_by_themselves():
    with pytest.raises(FieldMismatchError, match=r"different fields, Q\(sqrt\(2\)\) and Q\(sqrt\(3\)\)"):
        sqrt(2) + sqrt(3)
    with pytest.raises(FieldMismatchError):
        field_of(sqrt(2), 1, sqrt(3))
    assert field_of(Q(1)) is None and field_of(Q(1), sqrt(2)) is sqrt(2).field


NUMBERS = [sqrt(2), sqrt(3), GAMMA, nth_root(Q(2), 3), sqrt(6), nth_root(Q(5), 4)]


@pytest.mark.parametrize("pair", list(itertools.combinations(NUMBERS, 2)), ids=str)
def test_a_common_field_keeps_the_numbers(pair):
    x, y = unify([pair[0] + 1, pair[1]])
    assert x.field is y.field and x.field.degree <= pair[0].field.degree * pair[1].field.degree
    with mpmath.workdps(60):
        assert near(digits(x), digits(pair[0]) + 1) and near(digits(y), digits(pair[1]))
    assert pair[1] ** pair[1].field.degree != 0 and sign(x * y - y * x) == 0


def test_the_common_field_is_no_larger_than_it_must_be():
    x, y, z = unify([sqrt(2), sqrt(3), sqrt(6)])
    assert x.field.degree == 4 and x * y == z and x * y != -z
    x, y = unify([nth_root(Q(2), 3), nth_root(Q(4), 3)])
    assert x.field.degree == 3 and x * x == y


def test_roots_of_irrational_numbers_are_adjoined():
    assert nth_root(3 + 2 * sqrt(2), 2) == 1 + sqrt(2)
    value = nth_root(Q(1, 2) + sqrt(3) / 6, 2)
    assert value.field.degree == 4
    with mpmath.workdps(60):
        assert near(digits(value), mpmath.sqrt(mpmath.mpf(1) / 2 + mpmath.sqrt(3) / 6))


def test_a_field_of_huge_degree_is_refused_with_its_degree():
    eleventh, seventh = nth_root(Q(2), 11), nth_root(Q(3), 7)
    with pytest.raises(ValueError, match="degree up to 77"):
        unify([eleventh, seventh])


def test_the_conjugate_is_told_apart_from_the_number():
    """The planted fault: another root of the same modulus gives another real number and another sign."""
    theta, minus = adjoin(sqrt(2).field, [Q(-3), Q(0), Q(1)], lambda bits: -enclosure(sqrt(3), bits))
    _, plus = adjoin(sqrt(2).field, [Q(-3), Q(0), Q(1)], lambda bits: enclosure(sqrt(3), bits))
    assert sign(minus) == -1 and sign(plus) == 1 and nearest_float(theta) == pytest.approx(2**0.5)


def test_the_nearest_double_of_a_number():
    assert nearest_float(Q(1, 3)) == 1 / 3 and nearest_float(sqrt(2)) == 2**0.5


@pytest.mark.parametrize("name", ["rk4", "gauss 2", "alexander 3", "stoermer verlet"])
def test_a_tableau_survives_copying_and_pickling_with_its_number_field(name):
    tableau = tableaus.get(name)
    for other in (copy.deepcopy(tableau), pickle.loads(pickle.dumps(tableau))):
        assert other == tableau and repr(other) == repr(tableau)
        assert order(other).value == order(tableau).value
