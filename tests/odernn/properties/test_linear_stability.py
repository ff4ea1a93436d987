"""Linear stability is decided exactly; the oracles are Padé approximants, steps in Fractions, values at points."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import numpy
import pytest

from odernn import tableaus
from odernn.exact.polynomials import RealRoot, evaluate
from odernn.properties.linear_stability import a_stability, e_polynomial, i_stability, l_stability, limit_at_infinity
from odernn.properties.stability_function import polynomial_text, stability_function
from odernn.properties.stability_intervals import imaginary_stability_interval, real_stability_interval
from odernn.tableaus.families import FAMILIES, gauss, lobatto_iiia, lobatto_iiic, radau_iia
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau, Q
from tests.odernn.properties.gauss_jordan import solve


def pade(k: int, j: int) -> tuple[list[Fraction], list[Fraction]]:
    """Numerator of degree k and denominator of degree j of the Padé approximant to exp z (Hairer, Wanner, IV.3)."""
    n = math.factorial(k + j)
    top = [Fraction(math.factorial(k + j - i) * math.comb(k, i), n) for i in range(k + 1)]
    bottom = [Fraction((-1) ** i * math.factorial(k + j - i) * math.comb(j, i), n) for i in range(j + 1)]
    return top, bottom


def theta_method(theta: Q) -> ButcherTableau:
    return ButcherTableau([[0, 0], [1 - theta, theta]], [1 - theta, theta])


def sdirk(gamma: object) -> ButcherTableau:
    """Two stages, order 2 (stiffly accurate), R(z) = (1 + (1 − 2γ)z)/(1 − γz)²."""
    return ButcherTableau([[gamma, 0], [1 - gamma, gamma]], [1 - gamma, gamma])


def fractions(values: object) -> list[Fraction]:
    return [Fraction(str(x)) for x in values]  # type: ignore[attr-defined]


def one_step(A: list[list[Fraction]], b: list[Fraction], z: Fraction) -> Fraction:
    """y₁ of y' = zy, y₀ = 1, h = 1 by Gauss–Jordan elimination."""
    stages = range(len(b))
    slopes = solve([[(i == j) - z * A[i][j] for j in stages] for i in stages], [Fraction(1)] * len(b))
    return 1 + z * sum(x * slope for x, slope in zip(b, slopes, strict=True))


DEGREES = {
    "gauss": (0, 0),
    "radau ia": (-1, 0),
    "radau iia": (-1, 0),
    "lobatto iiia": (-1, -1),
    "lobatto iiib": (-1, -1),
    "lobatto iiic": (-2, 0),
    "radau i": (0, -1),
    "radau ii": (0, -1),
    "lobatto iiic*": (0, -2),
    "lobatto iiif": (0, 0),
}


@pytest.mark.parametrize("s", [2, 3, 4, 6])
@pytest.mark.parametrize("family", DEGREES)
def test_the_families_have_pade_approximants(family: str, s: int):
    R = stability_function(FAMILIES[family](s))
    top, bottom = pade(s + DEGREES[family][0], s + DEGREES[family][1])
    assert (fractions(R.numerator), fractions(R.denominator)) == (top, bottom)


@pytest.mark.parametrize("s", [2, 3, 5, 12])
def test_which_families_are_a_and_l_stable(s: int):
    decided = {name: (a_stability(f(s)).holds, l_stability(f(s)).holds) for name, f in FAMILIES.items()}
    expected = {
        "gauss": (True, False),
        "radau ia": (True, True),
        "radau iia": (True, True),
        "lobatto iiia": (True, False),
        "lobatto iiib": (True, False),
        "lobatto iiic": (True, True),
        "radau i": (False, False),
        "radau ii": (False, False),
        "lobatto iiic*": (False, False),
        "lobatto iiid": (True, False),
        "lobatto iiie": (True, False),
        "lobatto iiif": (True, False),
        "lobatto iiig": (True, False),
    }
    assert decided == expected
    assert l_stability(gauss(s)).value == (-1) ** s and l_stability(radau_iia(s)).value == 0


def test_the_stability_function_is_what_a_step_does():
    generator = random.Random(1)
    lowered = 0
    for case in range(60):
        s = 1 + case % 4
        A = [[Fraction(generator.randint(-3, 3), generator.randint(1, 3)) for _ in range(s)] for _ in range(s)]
        if case % 3 == 0:
            A = [[*row[:-1], Fraction(0)] for row in A]  # a column of zeros lowers the degrees
        b = [Fraction(generator.randint(-2, 3), 3) for _ in range(s)]
        R = stability_function(ButcherTableau(A, b))
        lowered += len(R.denominator) <= s
        for z in (Fraction(1, 7), Fraction(-3, 5), Fraction(11, 13)):
            if evaluate(R.denominator, Q(z.numerator, z.denominator)) != 0:
                try:
                    expected = one_step(A, b, z)
                except StopIteration:  # I − zA is singular where R has a removable singularity
                    continue
                assert Fraction(str(R(Q(z.numerator, z.denominator)))) == expected
        assert R.numerator[0] == R.denominator[0] == 1
    assert lowered >= 10


def test_the_verdicts_agree_with_values_of_r_at_many_points():
    generator = random.Random(2)
    seen = set()
    for case in range(120):
        s = 1 + case % 3
        A = [[Q(generator.randint(-1, 4), 3) for _ in range(s)] for _ in range(s)]
        b = A[-1] if case % 2 else [Q(generator.randint(-1, 4), 3) for _ in range(s)]
        tableau = ButcherTableau(A, b)
        R, certificate = stability_function(tableau), a_stability(tableau)
        top, bottom = ([float(x) for x in side] for side in (R.numerator, R.denominator))
        points = [
            complex(-(10**r) * math.cos(a), 10**r * math.sin(a)) for r in (-3, -1, 0, 1, 3) for a in (0, 0.7, 1.57)
        ]
        sizes = [abs(numpy.polyval(top[::-1], z)) / max(abs(numpy.polyval(bottom[::-1], z)), 1e-300) for z in points]
        if certificate:
            assert max(sizes) <= 1 + 1e-9
        elif isinstance(certificate.witness, Q):
            y = complex(0, float(certificate.witness))
            assert abs(numpy.polyval(top[::-1], y)) >= abs(numpy.polyval(bottom[::-1], y)) * (1 - 1e-12)
            E = evaluate(e_polynomial(R), certificate.witness**2)
            assert E < 0
        else:
            pole = complex(certificate.witness)
            assert pole.real < 0 and abs(numpy.polyval(bottom[::-1], pole)) < 1e-6 * sum(abs(x) for x in bottom) * max(
                1, abs(pole)
            ) ** len(bottom)
            assert i_stability(tableau)
        seen.add((certificate.holds, type(certificate.witness).__name__))
    assert {(True, "NoneType"), (False, "fmpq"), (False, "acb")} <= seen


@pytest.mark.parametrize("tiny", [Q(1, 10**9), Q(1, 10**30), Q(1, 10**300)])
def test_the_edge_of_a_stability_is_sharp(tiny: Q):
    for theta, holds in ((Q(1, 2), True), (Q(1, 2) + tiny, True), (Q(1, 2) - tiny, False)):
        assert a_stability(theta_method(theta)).holds is holds
    for gamma, holds in ((Q(1, 4) + tiny, True), (Q(1, 4) - tiny, False)):
        assert a_stability(ButcherTableau([[gamma, 0], [1 - 2 * gamma, gamma]], [Q(1, 2), Q(1, 2)])).holds is holds
    limit = l_stability(theta_method(1 - tiny))
    assert limit.holds is False and limit.value == -tiny / (1 - tiny)


def test_a_pole_in_the_left_half_plane_is_found_where_the_imaginary_axis_is_fine():
    tableau = ButcherTableau([["-1/2"]], [-1])  # R = (1 − z/2)/(1 + z/2)
    certificate = a_stability(tableau)
    assert i_stability(tableau) and certificate.holds is False and certificate.witness.real < 0
    assert certificate.because == "a pole of R(z) has Re z = -2.00000 < 0" or "-2.0" in certificate.because


def test_a_pole_on_the_imaginary_axis_is_no_i_stability():
    tableau = ButcherTableau([[0, -1], [1, 0]], ["1/2", "1/2"])  # det(I − zA) = 1 + z²
    certificate = i_stability(tableau)
    assert certificate.holds is False and not a_stability(tableau)


def test_a_common_factor_is_no_pole():
    assert str(stability_function(ButcherTableau([[-1, 0], [0, "1/2"]], [0, 1]))) == "(1 + 1/2*z)/(1 - 1/2*z)"
    assert a_stability(ButcherTableau([[-1, 0], [0, "1/2"]], [0, 1]))


def test_irrational_coefficients():
    good = sdirk(ButcherTableau([["1-sqrt(2)/2"]], [1]).A[0][0])
    assert a_stability(good) and l_stability(good) and l_stability(good).value == 0
    crouzeix = ButcherTableau([["1/2+sqrt(3)/6", 0], ["-sqrt(3)/3", "1/2+sqrt(3)/6"]], ["1/2", "1/2"])
    assert a_stability(crouzeix) and str(l_stability(crouzeix).value) == "1 - sqrt(3)"
    other = ButcherTableau([["1/2-sqrt(3)/6", 0], ["sqrt(3)/3", "1/2-sqrt(3)/6"]], ["1/2", "1/2"])
    certificate = a_stability(other)
    assert certificate.holds is False and evaluate(e_polynomial(certificate.value), certificate.witness**2) < 0


def test_intervals_of_the_classical_methods():
    rk4 = imaginary_stability_interval(tableaus.get("rk4"))
    assert str(rk4.value) == "2*sqrt(2)" and isinstance(rk4.value, RealRoot) and rk4.exact
    assert rk4.value.ball(200).contains(mpmath.mpf(0)) is False
    kutta3 = ButcherTableau([[0, 0, 0], ["1/2", 0, 0], [-1, 2, 0]], ["1/6", "2/3", "1/6"])
    assert str(imaginary_stability_interval(kutta3).value) == "sqrt(3)"
    for name in ("euler",):
        assert imaginary_stability_interval(tableaus.get(name)).value == 0
        assert imaginary_stability_interval(tableaus.get(name)).holds is False
    assert imaginary_stability_interval(gauss(3)).value == real_stability_interval(radau_iia(4)).value == "∞"
    assert str(real_stability_interval(tableaus.get("euler")).value) == "2"
    with mpmath.workdps(40):
        root = mpmath.findroot(lambda x: 1 - x + x**2 / 2 - x**3 / 6 + x**4 / 24 - 1, 2.785)
        ball = real_stability_interval(tableaus.get("rk4")).value.ball(100)
        assert abs(mpmath.mpf(str(ball.mid().str(35, radius=False))) - root) < mpmath.mpf(10) ** -28


def test_an_interval_ends_where_the_size_passes_one_and_not_where_it_touches_it():
    # R = 1 + z + z²/2 + z³/4 + z⁴/8: |R(iy)|² − 1 = y⁴(…); R at real z: found by scanning.
    generator = random.Random(4)
    for _ in range(40):
        s = generator.randint(2, 4)
        A = [[Q(generator.randint(0, 3), 3) if j < i else Q(0) for j in range(s)] for i in range(s)]
        tableau = ButcherTableau(A, [Q(generator.randint(1, 3), 4) for _ in range(s)])
        R = stability_function(tableau)
        end = real_stability_interval(tableau)
        beta = 0.0 if end.value == 0 else float(end.value)
        for k in range(200):
            x = Q(-k, 40)
            if abs(float(x) + beta) > 1e-9 and float(-x) < beta:
                assert abs(R(x)) <= 1
        outside = [Q(int(1e12 * beta), 10**12) + Q(1, 10**k) for k in (3, 4, 5)]
        assert any(abs(R(-x)) > 1 for x in outside)


def test_the_value_at_infinity():
    assert limit_at_infinity(tableaus.get("rk4")).because == "R(∞) = ∞" and not limit_at_infinity(tableaus.get("rk4"))
    assert limit_at_infinity(lobatto_iiia(3)).value == 1 and limit_at_infinity(lobatto_iiic(3)).value == 0


def test_rounded_coefficients_settle_only_what_they_can():
    midpoint = ButcherTableau([["0.4999"]], ["1.000"], digits=3)
    assert a_stability(midpoint).holds is None and not a_stability(midpoint).exact
    assert a_stability(ButcherTableau([["0.490"]], ["1.000"], digits=3)).holds is False
    assert a_stability(ButcherTableau([[0.0, 0.0], [0.5, 0.0]], [0.1, 0.9])).holds is False
    assert a_stability(ButcherTableau([[1.0]], [1.0])).because.endswith("for the coefficients as printed")


def test_no_explicit_method_of_the_catalogue_is_a_stable():
    found = [t for t in map(tableaus.get, tableaus.names()) if isinstance(t, ButcherTableau) and t.is_explicit]
    assert len(found) >= 2 and all(a_stability(t).holds is False for t in found)


def test_a_partitioned_method_has_no_stability_function():
    pair = next(t for t in map(tableaus.get, tableaus.names()) if isinstance(t, PartitionedTableau))
    with pytest.raises(TypeError, match="partitioned"):
        stability_function(pair)


def test_polynomials_are_printed_to_be_read():
    assert polynomial_text((Q(1), Q(-1), Q(0), Q(-2, 3)), "z") == "1 - z - 2/3*z^3"
    assert polynomial_text((Q(0), Q(1)), "y", 2) == "y^2" and polynomial_text((), "y") == "0"
