"""Both sides of the inequalities about orthogonal matrices at generic points, where nothing is violated or attained."""

from __future__ import annotations

import math
from fractions import Fraction as Q
from types import SimpleNamespace
from typing import Any

import flint
import pytest

from odernn.bounds.numbers import BALLS
from verification.cases.inequality import Inequality
from verification.certify.orthogonality_defect import replayed
from verification.certify.second.intervals import iv, number
from verification.claims.library import scaled_cayley_theorems as theorems
from verification.claims.scornn import cayley_rounding, modrelu, scaled_cayley
from verification.domains import BUDGETS
from verification.measure import exact_cayley

A, D = [Q(3, 4), Q(-5, 2), Q(7, 8)], [1, -1, 1]
PARAMETERS = {"A": "3/4 -5/2 7/8", "D": "1 -1 1"}


def product(X: list[list[Q]], Y: list[list[Q]]) -> list[list[Q]]:
    columns = list(zip(*Y, strict=True))
    return [[sum((x * y for x, y in zip(row, column, strict=True)), Q(0)) for column in columns] for row in X]


def by_hand(W: list[list[Q]]) -> tuple[Q, Q]:
    """(‖WᵀW − I‖², ‖(I − A)D − (I + A)W‖²), Frobenius, by products of whole matrices."""
    one = [[Q(i == j) for j in range(3)] for i in range(3)]
    skew = [[Q(0), A[0], A[1]], [-A[0], Q(0), A[2]], [-A[1], -A[2], Q(0)]]

    def plus(X: list[list[Q]], Y: list[list[Q]], sign: int) -> list[list[Q]]:
        return [[x + sign * y for x, y in zip(*rows, strict=True)] for rows in zip(X, Y, strict=True)]

    signs = [[Q(D[i] * (i == j)) for j in range(3)] for i in range(3)]
    defect = plus(product([list(row) for row in zip(*W, strict=True)], W), one, -1)
    residual = plus(product(plus(one, skew, -1), signs), product(plus(one, skew, 1), W), -1)
    return tuple(sum(x * x for row in each for x in row) for each in (defect, residual))  # type: ignore[return-value]


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("off", [Q(0), Q(3, 2)])
def test_the_score_and_the_bound_by_the_residual_are_sums_of_squares(
    name: str, off: Q, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a matrix that is far from orthogonal, where r² is not small against 2r."""
    W = [[x + off * (i + 2 * j) for j, x in enumerate(row)] for i, row in enumerate(replayed(A, D, name))]
    monkeypatch.setattr("verification.certify.orthogonality_defect.replayed", lambda *_: W)
    monkeypatch.setattr("verification.measure.computed_cayley.computed", lambda *_: W)
    squared, residual = by_hand(W)
    score, bound = cayley_rounding._residual_again(PARAMETERS, name)
    assert score == squared
    with flint.ctx.workprec(200):
        r = flint.arb(flint.fmpq(residual.numerator, residual.denominator)).sqrt()
        exact = 2 * r + r * r
        above = flint.arb(flint.fmpq(bound.numerator, bound.denominator)) - exact
    # an upper bound, by the rounding up of r to the next multiple of 10⁻⁴⁰
    assert 0 <= above < (2 + 3 * r) * flint.arb(10) ** -40
    check = cayley_rounding.residual_case(name, Q(3, 2)).check
    assert check is not None
    left, right = check(PARAMETERS).opinions[0].text.split(" against ")
    assert float(flint.arb(left).mid()) == pytest.approx(math.sqrt(squared), rel=1e-6)
    assert float(flint.arb(right).mid()) == pytest.approx(1.5 * float(exact.mid()), rel=1e-6)


def test_the_largest_score_is_compared_with_the_expected_one() -> None:
    drift: Any = SimpleNamespace(scores=(1e-6, 3e-6, 2e-6), condition=7.0)
    low, high = cayley_rounding.below_expectation("float32")(drift, 9)
    assert (low, high) == pytest.approx((math.log(3e-6), math.log(5 * 3 * 2.0**-23 * 7)), rel=1e-12)


@pytest.mark.parametrize(("z", "b"), [(Q(3, 2), Q(-1, 2)), (Q(-5, 4), Q(-1, 4)), (Q(-1, 3), Q(-2))])
def test_both_typings_of_modrelu_are_its_size(z: Q, b: Q) -> None:
    guarded: Any = modrelu.non_expansive_case(Q(2, 3)).check
    inequality: Inequality = guarded.check.__self__
    wanted = max(abs(z) + b, Q(0)), Q(2, 3) * abs(z)
    balls = inequality.balls(SimpleNamespace(z=BALLS.exact(z), b=BALLS.exact(b)))
    again = inequality.intervals(SimpleNamespace(z=number(str(z)), b=number(str(b))))
    assert [float(x.mid()) for x in balls] == pytest.approx(list(map(float, wanted)), abs=1e-15)
    for enclosure, value in zip(again, wanted, strict=True):
        ends = [float(end) for end in (iv.mpf(enclosure).a, iv.mpf(enclosure).b)]
        assert ends == pytest.approx([float(value)] * 2, abs=1e-15)


@pytest.mark.parametrize(("printed", "is_right"), [("447.212", True), ("447.214", False)])
def test_a_printed_number_is_proved_only_if_it_rounds_to_it(printed: str, is_right: bool) -> None:
    found = scaled_cayley.printed_case("a_12 of A = C(W)", printed, 3).ask(BUDGETS["smoke"], 0)
    assert (bool(found.proof), not found.candidates) == (is_right, is_right)


# --- what is asked of a representation with bounded entries, and of a pivot transform


def skew(*entries: str) -> flint.fmpq_mat:
    """3 × 3, of its entries above the diagonal."""
    a, b, c = (flint.fmpq(Q(text).numerator, Q(text).denominator) for text in entries)
    return flint.fmpq_mat(3, 3, [0, a, b, -a, 0, c, -b, -c, 0])


@pytest.mark.parametrize(
    ("planted", "holds"),
    [
        ({}, True),
        ({"potential": (1, 8)}, True),
        ({"potential": (1, 9)}, False),
        ({"potential": (Q(1, 2), 2)}, False),
        ({"potential": (2, 2)}, False),
        ({"flips": 4}, True),
        ({"flips": 5}, False),
        ({"A": skew("1", "-1/2", "0")}, True),
        ({"A": skew("5/4", "-1/2", "0")}, False),
        ({"A": skew("1/2", "-5/4", "3/4")}, False),
    ],
)
def test_a_representation_is_bounded_grows_and_takes_at_most_four_flips_at_size_three(
    planted: dict[str, Any], holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = exact_cayley.ExactRepresentation(skew("1/2", "1/3", "-1/4"), (1, 1, -1), 0, (flint.fmpq(2),))
    found = good._replace(**planted)
    W = exact_cayley.cayley(found.A) * exact_cayley.diagonal(found.signs)
    monkeypatch.setattr(exact_cayley, "bounded_representation", lambda _: found)
    assert theorems.is_represented(W) is holds


@pytest.mark.parametrize("n", [1, 2, 3])
def test_another_matrix_than_the_cayley_transform_has_other_pivots(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 1 on the diagonal the exchange of one column is not singular."""
    one = exact_cayley.identity(n)
    assert theorems.is_pivot_transform(one)
    monkeypatch.setattr(exact_cayley, "cayley", lambda Z, cayley=exact_cayley.cayley: cayley(Z) + one)
    assert not theorems.is_pivot_transform(one)
