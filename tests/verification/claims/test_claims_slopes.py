"""Claims about powers of dt, vanishing and growth: a true exponent survives, a wrong one is found, rules decide."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import flint
import numpy as np
import pytest

from odernn.bounds.numbers import FLOATS
from odernn.bounds.routes import route_counts
from odernn.published.sources import Source
from tests.tiers import only, without
from tests.verification.claims.claim_rows import doubt_of
from verification import verdict
from verification.answer import answer
from verification.cases import gradient_decay, gradient_growth, small_shares
from verification.cases import order as orders
from verification.certify import scaling_limits
from verification.certify.scalar_stack import ScalarStack
from verification.certify.scaling_limits import NoLimitError
from verification.certify.second.intervals import iv
from verification.claim import Case, Claim
from verification.claims.unicornn import depth_orders, dropped_terms, representation, vanishing
from verification.domains import BUDGETS
from verification.measure.corrected_forms import CorrectedGradient
from verification.measure.published_forms import Root
from verification.parameters import Guarded, RefusedError
from verification.registry import Registry
from verification.verdict import Judgement, doubt_about

FILES = (representation, depth_orders, vanishing, dropped_terms)
SMOKE = BUDGETS["smoke"]
NAMES = {"domain": "d", "symbol": "q"}


def judged(case: Case) -> Judgement:
    claim = Claim("planted", Source("sam", "nowhere"), "planted", "slope", (case,))
    return answer(claim, case, SMOKE, 0)


CLAIMS = {claim.id: claim for file in FILES for claim in file.CLAIMS}


@cache
def answers(identifier: str) -> list[Judgement]:
    claim = CLAIMS[identifier]
    return [answer(claim, case, SMOKE, 0) for case in claim.cases]


EXPECTED = {
    "both-72": {"refuted": 1},
    "both-77": {"proved": 1},
    "both-80": {"proved": 1, "refuted": 1},
    "both-84": {"refuted": 2},
    "both-3.3/3.2-repr": {"refuted": 6, "not-refuted": 2},
    "both-3.3-fixed-n": {"refuted": 1, "not-refuted": 1},
    "both-3.3-Odt": {"refuted": 1, "not-refuted": 3, "proved": 3},
    "both-3.3-nok": {"refuted": 2, "not-refuted": 2, "proved": 2},
    "both-D.4/C.4": {"refuted": 2, "not-refuted": 1},
    "both-D.4-order": {"refuted": 2, "not-refuted": 2},
    "both-(101)/(74)": {"refuted": 6, "not-refuted": 10},
    "both-106/79": {"refuted": 10, "not-refuted": 6},
    "both-(107)/(80)": {"refuted": 16, "not-refuted": 16},
    "both-D.5-example": {"proved": 1},
    "both-D.5-Slarge": {"refuted": 2, "proved": 1},
    "both-novanish": {"refuted": 2, "not-refuted": 3},
    "both-novanish-norm": {"proved": 1},
    "both-exploding-mitigated": {"refuted": 1, "proved": 3},
    "icml-3.1-T3": {"refuted": 1, "not-refuted": 2},
    "both-3-any-depth": {"not-refuted": 3},
    "both-D.4-nok": {"not-refuted": 1},
    "both-100": {"refuted": 1, "proved": 2},
    "both-87": {"proved": 1},
}


LONG = (
    *("both-(107)/(80)", "both-(101)/(74)", "both-3.3/3.2-repr", "both-3.3-nok", "both-D.4-nok"),
    *("both-3.3-Odt", "both-106/79", "both-exploding-mitigated", "both-novanish"),
)
"""Seconds each; both-D.4/C.4 and both-D.4-order ask the same of shorter products, both-87 and -100 of the bounds."""

every_claim = pytest.mark.parametrize("identifier", without(EXPECTED, *LONG))


def test_every_question_is_in_the_table() -> None:
    assert set(CLAIMS) == set(EXPECTED) <= set(Registry().ids())


@every_claim
def test_the_table(identifier: str) -> None:
    assert dict(Counter(each.verdict for each in answers(identifier))) == EXPECTED[identifier]


@every_claim
def test_every_refutation_names_its_parameters_and_its_limit(identifier: str) -> None:
    for each in (each for each in answers(identifier) if each.verdict == verdict.REFUTED):
        assert each.witness and each.found and each.claimed
        assert any(word in each.because for word in ("thm-", "y_0 = 0", "no multiple"))


@every_claim
def test_every_refutation_is_checked_again_from_its_text(identifier: str) -> None:
    """The witness alone, through the same entry as ``odernn witness verify``; and damaged ones are turned down."""
    from verification.witness.check import check
    from verification.witness.file import from_json

    registry, witnesses = Registry(), [each.witness for each in answers(identifier) if each.witness]
    assert len(witnesses) == EXPECTED[identifier].get("refuted", 0)
    for witness in witnesses if "both-7" in identifier else witnesses[::4]:
        replayed = check(from_json(witness), registry)
        assert replayed.certified and sum("violates" in line for line in replayed.lines) == 2


# --- mutants of true statements

L1, L3 = ScalarStack(), ScalarStack(layers=3)
SLOW = replace(L1, w=Fraction(1, 2))
STEPWISE = replace(L1, offset=-4, ratio=Fraction(1))
TWO = replace(L1, offset=2, ratio=Fraction(0))
RESIDUAL = replace(L1, layers=7, skip=3, offset=1, ratio=Fraction(0))

TRUE_AND_MUTANT = [
    # a theorem gives the exact order: a wrong exponent is refuted
    (L1, "contribution", 1, "at most", 2, 0, verdict.REFUTED),
    (L1, "contribution", 1, "at least", 0, 0, verdict.REFUTED),
    (L3, "contribution", 1, "at most", 2, 0, verdict.REFUTED),
    (replace(L3, layers=4, skip=2), "contribution", 1, "at most", 2, 0, verdict.REFUTED),
    (TWO, "contribution", 3, "at most", 4, 0, verdict.REFUTED),
    (TWO, "contribution", 3, "at least", 2, 0, verdict.REFUTED),
    (L1, "remainder, L = 1", 1, "at most", 2, 0, verdict.REFUTED),
    (L1, "remainder, L = 1", 1, "at least", 0, 0, verdict.REFUTED),
    (replace(TWO, horizon=Fraction(1, 16)), "remainder, L = 1", 4, "at most", 5, 16, verdict.REFUTED),
    (RESIDUAL, "norm", 5, "at most", 6, 0, verdict.REFUTED),
    (RESIDUAL, "y by y", 6, "at most", 7, 0, verdict.REFUTED),
    (RESIDUAL, "y by y", 6, "at least", 5, 0, verdict.REFUTED),
    # no estimate in the library: certified at finite dt only
    (STEPWISE, "(80)", 2, "at most", 3, 0, verdict.SUSPECT),
    (STEPWISE, "(80)", 2, "at least", 1, 0, verdict.SUSPECT),
    (SLOW, "contribution", 1, "at most", 2, 0, verdict.SUSPECT),
    (SLOW, "contribution", 1, "at least", 0, 0, verdict.SUSPECT),
    (replace(L3, offset=2, ratio=Fraction(0)), "remainder, L = 3", 8, "at most", 9, 32, verdict.SUSPECT),
]


@pytest.mark.parametrize(("stack", "quantity", "power", "side", "mutant", "fixed_n", "expected"), TRUE_AND_MUTANT)
def test_a_true_exponent_survives_and_a_neighbour_does_not(stack, quantity, power, side, mutant, fixed_n, expected):
    true = judged(orders.order_case(stack, quantity, power, side, fixed_n=fixed_n, **NAMES))
    assert true.verdict == verdict.NOT_REFUTED and f"{power} or" in true.claimed
    false = judged(orders.order_case(stack, quantity, mutant, side, fixed_n=fixed_n, **NAMES))
    assert false.verdict == expected, false.because
    if expected == verdict.SUSPECT:
        assert "no limit argument" in false.because


def test_a_ladder_alone_does_not_refute():
    """The same candidate with and without the theorem: without it, the rules say suspect."""
    case = orders.order_case(L1, "contribution", 2, "at most", **NAMES)
    assert case.check is not None
    parameters = case.ask(SMOKE, 0).candidates[0]
    check = case.check(parameters)
    assert not doubt_about(check, case) and check.limit.startswith("thm-R")
    assert "no limit argument" in doubt_about(replace(check, limit=""), case)
    assert doubt_about(replace(check, opinions=check.opinions[:1] * 2), case)
    assert isinstance(case.check, Guarded)
    late = dict(parameters) | {"ratio": "1/2"}
    assert "k ≤ n/10" in doubt_about(case.check.check(late), case)
    with pytest.raises(RefusedError, match='"ratio"'):
        case.check(late)


def test_both_back_ends_enclose_the_same_local_slope():
    stack = ScalarStack(layers=3, w=Fraction(1, 3))
    for quantity in ("contribution", "remainder, L = 3", "y by y", "norm", "(80)", "(84)"):
        text = stack.to_text() | {"steps": "32", "refine": "fixed T"}
        opinions = orders.check_order(text, quantity=quantity, power=50, side="at most").opinions
        assert [each.backend for each in opinions] == ["balls", "mpmath"]
        assert opinions[0].text == opinions[1].text and all(each.violated for each in opinions)


# --- the estimates that carry the limit

SHAPES = [(1, 0), (2, 0), (3, 0), (4, 0), (4, 1), (4, 2), (5, 3), (7, 1), (7, 2), (7, 3)]
PLACES = [(1, Fraction(1, 16)), (2, Fraction(0)), (3, Fraction(0))]


@pytest.mark.parametrize(("layers", "skip"), SHAPES)
@pytest.mark.parametrize(("offset", "ratio"), PLACES)
@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1), Fraction(5, 2)])
def test_the_uniform_estimates_hold_at_every_finer_step(layers, skip, offset, ratio, alpha):
    stack = ScalarStack(layers=layers, skip=skip, alpha=alpha, offset=offset, ratio=ratio)
    quantities = ["contribution"] + (["y by y", "norm"] if layers > 1 else [])
    if layers == 1 and alpha == 0 and not ratio:  # S(τ, s) = τ − s: the remainder is of order dt⁴, which is not proved
        with pytest.raises(NoLimitError):
            orders.limit_of(stack, 32, "remainder, L = 1", "fixed T")
    elif layers == 1:
        quantities.append("remainder, L = 1")
    quantities += ["remainder, L = 3"] * (layers == 3) + ["(84)", "(80)"] * (layers == 1 and not ratio and alpha > 0)
    for quantity in quantities:
        found = orders.limit_of(stack, 32, quantity, "fixed T")
        for steps in (32, 48, 128, 512):
            value = abs(orders.measured(stack, steps, quantity)) * steps**found.power
            assert float(found.low) <= value * (1 + 1e-9) and value <= float(found.high) * (1 + 1e-9), (quantity, steps)


def test_the_estimate_at_fixed_steps_holds_at_every_finer_step():
    found = scaling_limits.remainder_of_one_layer_at_fixed_steps(TWO, 16)
    for i in range(8):
        stack = replace(TWO, horizon=Fraction(1, 2**i))
        value = abs(orders.measured(stack, 16, "remainder, L = 1")) * (16 * 2**i) ** 4
        assert float(found.low) <= value * (1 + 1e-6) and value <= float(found.high) * (1 + 1e-6)


@pytest.mark.parametrize(
    "stack",
    [
        replace(L1, w=Fraction(1, 100)),
        replace(L1, horizon=Fraction(7), target=Fraction(50)),
        replace(L1, target=Fraction(0)),
        replace(L1, b=Fraction(0)),
        replace(L3, v=Fraction(-1)),
        replace(L1, alpha=Fraction(-1)),
        replace(L1, ratio=Fraction(0)),
    ],
)
def test_no_estimate_is_given_where_a_hypothesis_fails(stack):
    """w ≠ 0; √α T′ above π; a target that the state may meet; no drive; a sign unknown; α < 0; y_0 = 0."""
    with pytest.raises(NoLimitError):
        scaling_limits.contribution(stack, 64)


# --- polynomials, counting, decay and growth


def test_the_first_order_form_is_read_from_the_polynomials(monkeypatch):
    assert all(representation.first_order_form(factors) for factors in range(1, 9))
    case = representation.CLAIMS[1].cases[0]
    assert judged(case).verdict == verdict.PROVED
    monkeypatch.setattr(representation, "first_order_form", lambda factors: "")
    assert judged(case).verdict == verdict.NOT_REFUTED


def test_the_counter_is_counted_three_ways():
    for L in range(2, 40):
        for S in range(2, 60):
            nu = depth_orders.counter(L, S)
            assert nu == depth_orders._counter_by_counting(L, S) == depth_orders._counter_by_intervals(L, S)


def test_with_edges_over_s_layers_the_printed_hops_are_the_fewest():
    """And with the printed y^{l−S−1} they are not: (4, 2) has 1 for 2, (7, 3) has 3 for 2."""
    pairs = [(L, S) for L in range(2, 30) for S in range(2, L)]
    assert all(min(route_counts(L, S - 1)) == depth_orders.printed_hops(L, S) for L, S in pairs)
    assert [min(route_counts(*pair)) for pair in ((4, 2), (7, 3))] == [1, 3]
    assert [depth_orders.printed_hops(*pair) for pair in ((4, 2), (7, 3))] == [2, 2]


def test_a_residual_edge_saves_one_hop_and_not_always_two():
    assert judged(depth_orders.shorter_case()).verdict == verdict.PROVED
    assert judged(depth_orders.shorter_case(gain=2)).verdict == verdict.REFUTED


@pytest.mark.parametrize("pair", depth_orders.PAIRS)
def test_with_edges_over_s_layers_the_next_exponent_of_106_is_refuted(pair):
    stack = depth_orders.same_time(pair[0], pair[1] - 1)
    power = depth_orders._residual_power(pair)
    assert judged(orders.order_case(stack, "y by y", power, "at least", **NAMES)).verdict == verdict.NOT_REFUTED
    found = judged(orders.order_case(stack, "y by y", power + 1, "at most", **NAMES))
    assert found.verdict == verdict.REFUTED and f"edges l − {pair[1]} → l" in found.because


def test_the_tail_is_tuned_exactly():
    h = gradient_decay.DT / 2
    tail = gradient_decay.tuned_tail(gradient_decay.ALPHA, gradient_decay.W, h)
    assert all(0 < slope <= 1 for slope in tail)
    rows = gradient_decay.row_by_row(gradient_decay.ALPHA, gradient_decay.W, h, [Fraction(1)] * 30 + tail)[
        len(tail) - 1 :
    ]
    ratios = {(b[0] / a[0], b[1] / a[1]) for a, b in pairwise(rows)}
    assert ratios == {(Fraction(4, 5), Fraction(4, 5))}


def test_a_badly_tuned_tail_is_no_limit():
    """One input changed by 1e-9: the contribution is still small at these two k, but it will grow again."""
    case = vanishing.CLAIMS[0].cases[0]
    parameters = dict(case.ask(SMOKE, 0).candidates[0])
    assert not doubt_of(case, parameters)
    first, rest = parameters["tail"].split(" ", 1)
    parameters["tail"] = f"{Fraction(first) + Fraction(1, 10**9)} {rest}"
    assert doubt_of(case, parameters)


@pytest.mark.parametrize("w", only([Fraction(-1, 2), Fraction(3)], Fraction(3)))
def test_without_a_hyperbolic_step_no_decay_is_claimed(w):
    assert judged(gradient_decay.decay_case(Fraction(1), w, Fraction(1, 5), domain="d")).verdict == verdict.NOT_REFUTED
    assert (
        judged(gradient_growth.growth_case(Fraction(1), w, Fraction(1, 5), domain="d")).verdict == verdict.NOT_REFUTED
    )


def test_growth_without_its_eigenvalue_is_not_enough():
    """w = −8: λ is no rational number, so the cited closed form is not verified; certified at two N only."""
    found = judged(gradient_growth.growth_case(Fraction(1), Fraction(-8), Fraction(1, 5), domain="d"))
    assert found.verdict == verdict.SUSPECT and "no limit argument" in found.because


def test_the_printed_bound_grows_like_the_cube_and_no_slower():
    assert judged(gradient_growth.bound_growth_case(3)).verdict == verdict.NOT_REFUTED
    assert judged(gradient_growth.bound_growth_case(4)).verdict == verdict.NOT_REFUTED
    assert judged(gradient_growth.bound_growth_case(2)).verdict == verdict.REFUTED


@pytest.mark.parametrize(("alpha", "K", "T"), [(2, 3, 1), (Fraction(1, 100), 5, 7), (1, 3, 2**20)])
def test_both_typings_multiply_the_printed_bound_by_the_same_factor(alpha, K, T):
    """(12) of icml once more, in floats, with V̄ = Ȳ = 1; and no power of 2 below the factor is enough."""

    def printed(t: float) -> float:
        square = 2 * (1 + 2 * max(1 + 2 * alpha, 4 * alpha**2) * t)
        F = math.sqrt(square / alpha)
        return t * (1 + 2 * (K + K**2 / 2) * t) * (1 + F) * (2 + math.sqrt(square) + (2 + alpha) * F)

    factor = printed(2 * T) / printed(T)
    parameters = {"alpha": str(alpha), "K": str(K), "horizon": str(T)}
    for power in (1, 2, 3):
        checked = gradient_growth.bound_growth_case(power).check(parameters)
        assert [opinion.violated for opinion in checked.opinions] == [factor > 2**power] * 2
        assert bool(checked.limit) == (power < 3)
    for opinion in checked.opinions:
        shown = float(re.findall(r"[0-9]+[.][0-9]+", opinion.text)[-1 if opinion.backend == "mpmath" else 0])
        assert shown == pytest.approx(factor, rel=1e-6)


def test_the_bias_gradient_is_that_of_autograd():
    import torch

    from odernn.cells.unicornn import UnICORNN

    steps, dt = 30, 0.2
    net = UnICORNN(1, 1, dt=dt, alpha=4.0, dtype=torch.float64)
    with torch.no_grad():
        layer = net.layers[0]
        layer.w.fill_(-9.0), layer.b.zero_(), layer.c.zero_()
    output, _ = net(torch.zeros(steps, 1, 1, dtype=torch.float64))
    (0.5 * (output - 1).square().sum() / steps).backward()
    exact = gradient_growth._bias_gradient(Fraction(4), Fraction(-9), Fraction(1, 10), steps)
    assert float(layer.b.grad) == pytest.approx(float(exact), rel=1e-10)


def test_a_product_that_contracts_volume_would_not_be_proved(monkeypatch):
    assert vanishing.determinant_is_one()
    monkeypatch.setattr(vanishing, "determinant_is_one", lambda: "")
    case = vanishing.CLAIMS[1].cases[0]
    assert judged(case).verdict == verdict.NOT_REFUTED


# --- the two typings side by side, at parameters that violate nothing

GENERIC_NEURON = {
    "alpha": "7/5",
    "w": "-19/7",
    "target": "3/11",
    "dt": "2/7",
    "kick": "4/9",
    "steps": "9",
    "tail": "2/3 1/5 8/9 1/2",
    "word": "3/4 1/3 5/6 1",
}


def at_256_bits(balls: Callable[[], list[Any]], intervals: Callable[[], list[Any]]) -> None:
    with flint.ctx.workprec(256):
        first = [float(x.mid()) if isinstance(x, flint.arb) else float(x) for x in balls()]
    with iv.workprec(256):
        second = [float(x.mid) for x in intervals()]
    assert first == pytest.approx(second, rel=1e-12) and all(first)


@pytest.mark.parametrize("target", ["3/11", "-1/2"])
def test_contributions_forward_in_balls_and_backward_in_intervals_agree(target: str):
    """All slopes differ, no state is zero, and any two k."""
    given = GENERIC_NEURON | {"target": target}
    for ks in ((2, 3), (4, 9), (5, 8)):
        at_256_bits(
            lambda ks=ks: gradient_decay._ball_contributions(given, ks),
            lambda ks=ks: gradient_decay._interval_contributions(given, ks),
        )


@pytest.mark.parametrize(
    ("alpha", "w", "h", "steps"), [("4", "-9", "1/10", 7), ("3/5", "2/7", "1/3", 12), ("3/5", "2/7", "3/8", 5)]
)
def test_the_exact_bias_gradient_is_that_of_the_intervals(alpha: str, w: str, h: str, steps: int):
    given = (Fraction(alpha), Fraction(w), Fraction(h), steps)
    at_256_bits(
        lambda: [abs(gradient_growth._bias_gradient(*given))], lambda: [gradient_growth._interval_bias_gradient(*given)]
    )


@pytest.mark.parametrize("alpha", ["1/9", "7/3"])
def test_the_printed_bound_is_that_of_the_intervals_and_of_plain_floats(alpha: str):
    T, a, K = Fraction(5, 3), Fraction(alpha), Fraction(13, 4)
    at_256_bits(
        lambda: [
            gradient_growth.printed_bound(
                *(flint.arb(flint.fmpq(x.numerator, x.denominator)) for x in (T, a, K)), flint.arb(1), flint.arb(1)
            )
        ],
        lambda: [gradient_growth._interval_bound(T, a, K)],
    )
    V, target, t, b, k = 1.7, 0.6, float(T), float(a), float(K)
    root = math.sqrt(2 * (1 + 2 * max(1 + 2 * b, 4 * b * b) * t))
    F = root / math.sqrt(b)
    expected = t * (1 + 2 * (k + k * k / 2) * t) * V * (target + F) * (2 + root + (2 + b) * F)
    found = gradient_growth.printed_bound(*map(flint.arb, (t, b, k, V, target)))
    assert float(found.mid()) == pytest.approx(expected, rel=1e-12)


def test_the_first_step_contributes_nothing_and_the_fourth_does():
    """∂E_1/∂w has the factor y_0 = 0."""
    with flint.ctx.workprec(256):
        first = [float(x.mid()) for x in gradient_decay._ball_contributions(GENERIC_NEURON, (1, 4))]
    with iv.workprec(256):
        second = [float(x.mid) for x in gradient_decay._interval_contributions(GENERIC_NEURON, (1, 4))]
    assert first[0] == second[0] == 0 < first[1]
    assert first[1] == pytest.approx(second[1], rel=1e-12)


@pytest.mark.parametrize(
    ("alpha", "w", "h"), [("1", "-3", "1/2"), ("1/8", "-13/4", "2/5"), ("4", "-9", "1/10"), ("1", "-9/4", "3/5")]
)
def test_the_contracting_eigenvalue_is_that_of_the_matrix_or_none_if_it_is_irrational(alpha: str, w: str, h: str):
    a, v, step = Fraction(alpha), Fraction(w), Fraction(h)
    kappa = float(a + v)
    matrix = np.array([[1 - float(step) ** 2 * kappa, float(step)], [-float(step) * kappa, 1.0]])
    smallest = min(abs(np.linalg.eigvals(matrix)))
    found = gradient_decay.contracting_eigenvalue(a, v, step)
    if w == "-9/4":  # λ + 1/λ = 2 + 9/20, whose discriminant 801/400 is no square
        assert found is None
    else:
        assert found is not None and float(found) == pytest.approx(smallest, rel=1e-12) and found < 1


def test_an_elliptic_or_parabolic_step_has_no_contracting_eigenvalue():
    for w in (Fraction(-1), Fraction(0), Fraction(3)):
        assert gradient_decay.contracting_eigenvalue(Fraction(1), w, Fraction(1, 5)) is None


def test_the_rows_are_those_of_products_of_matrices_from_the_last_step_back():
    alpha, w, h, slopes = Fraction(7, 5), Fraction(-19, 7), Fraction(2, 9), [Fraction(1, k) for k in (2, 1, 3, 5)]
    row, found = np.array([1.0, 0.0]), gradient_decay.row_by_row(alpha, w, h, slopes)
    for (p, q), slope in zip(found, reversed(slopes), strict=True):
        kappa, step = float(alpha + w * slope), float(h)
        row = row @ np.array([[1 - step**2 * kappa, step], [-step * kappa, 1.0]])
        assert [float(p), float(q)] == pytest.approx(row, rel=1e-13)


def test_the_gradient_by_the_bias_is_that_of_a_difference_quotient():
    alpha, w, h, N = Fraction(3, 5), Fraction(2, 7), Fraction(3, 8), 4

    def energy(b: float) -> float:
        y = z = total = 0.0
        for _ in range(N):
            z -= float(h) * (math.tanh(float(w) * y + b) + float(alpha) * y)
            y += float(h) * z
            total += (y - 1) ** 2 / 2 / N
        return total

    quotient = (energy(1e-5) - energy(-1e-5)) / 2e-5
    assert float(gradient_growth._bias_gradient(alpha, w, h, N)) == pytest.approx(quotient, rel=1e-8)


def test_the_printed_exponents_at_given_depths():
    """ν = 2 at (L, S) = (7, 3), 1 at (6, 3), 0 at (2, 5): ν + L − νS − 1 hops; the first exponent of (106) is 2p."""
    assert [depth_orders.counter(*pair) for pair in ((7, 3), (6, 3), (2, 5))] == [2, 1, 0]
    assert [depth_orders.printed_hops(*pair) for pair in ((7, 3), (6, 3), (2, 5))] == [2, 3, 1]
    assert [depth_orders.printed_power(*pair) for pair in ((7, 3), (6, 3), (2, 5))] == [5, 7, 3]
    assert [depth_orders._residual_power(pair) for pair in ((7, 3), (6, 3), (2, 5))] == [4, 6, 2]


# --- k/n → 0, and the induction of (80)


def test_with_k_much_smaller_than_n_the_remainder_is_of_order_three_halves() -> None:
    """The planted truths beside the published exponent: 3/2 stands, and 1/4 of the factor, but no larger ones."""
    stack = ScalarStack(horizon=Fraction(4), target=Fraction(4))

    def made(quantity: small_shares.Quantity, power: Fraction) -> Case:
        return small_shares.case(stack, quantity, power, domain="planted", symbol="planted")

    assert judged(made("remainder", Fraction(3, 2))).verdict == verdict.NOT_REFUTED
    assert judged(made("remainder", Fraction(2))).verdict == verdict.REFUTED
    assert (
        judged(made("factor", Fraction(1, 2))).verdict == verdict.SUSPECT
    )  # seen by both, with no argument for dt → 0


def test_the_factor_is_typed_twice() -> None:
    for w, j in ((Fraction(0), 2), (Fraction(-1, 2), 3)):
        stack = ScalarStack(w=w, horizon=Fraction(13, 2))
        for quantity in ("factor", "remainder"):
            value = float(small_shares._first(stack, j, quantity, FLOATS))
            assert abs(value - float(small_shares._second(stack, j, quantity).mid)) <= 1e-12 * j**4
    for v, j in ((Fraction(1), 2), (Fraction(-3, 2), 3)):
        stack = ScalarStack(layers=3, w=Fraction(-1, 2), v=v)
        value = float(small_shares._first(stack, j, "factor", FLOATS))
        assert value and abs(value - float(small_shares._second(stack, j, "factor").mid)) <= 1e-12 * j**4


def test_at_three_layers_the_factor_changes_by_the_share_of_k_and_by_no_smaller_power() -> None:
    """The planted power 1/2 in the place of 1/4 is seen by both back-ends, with no argument for dt → 0."""
    made = small_shares.case(L3, "factor", Fraction(1, 2), domain="planted", symbol="planted")
    assert judged(made).verdict == verdict.SUSPECT


def test_the_induction_of_80_needs_the_sum_of_all_kappas() -> None:
    assert representation.one_more_factor() and not representation.one_more_factor(shift=1)


# --- what the proofs drop


def test_the_dropped_term_has_the_power_of_its_block_and_no_other() -> None:
    """The planted falsehoods: one power more in each row."""
    found = {
        (row, power): judged(dropped_terms.dropped_case(row, power)).verdict for row in "yz" for power in (5, 6, 7)
    }
    assert [found["y", power] for power in (5, 6, 7)] == [verdict.PROVED, verdict.PROVED, verdict.REFUTED]
    assert [found["z", power] for power in (5, 6, 7)] == [verdict.PROVED, verdict.REFUTED, verdict.REFUTED]


def test_the_dropped_term_is_typed_twice() -> None:
    stack = ScalarStack(layers=3, alpha=Fraction(2), v=Fraction(3, 2), b=Fraction(1, 3))
    for row in ("y", "z"):
        first = float(dropped_terms._dropped(stack, 32, row, FLOATS))
        assert first == pytest.approx(float(dropped_terms._dropped_again(stack, 32, row).mid), rel=1e-13)


def test_the_step_from_84_needs_its_constant() -> None:
    """The planted falsehood: a tenth of it."""
    assert judged(dropped_terms.follows_case(Fraction(1, 10))).verdict == verdict.REFUTED
    case = dropped_terms.follows_case(Fraction(1, 10))
    given = {"dt": "1/2", "g": "9/10", "s": "9/10", "y": "-2", "t": "3", "R11": "-1/2", "R12": "2"}
    assert case.check is not None
    assert [opinion.violated for opinion in case.check(given).opinions] == [True, True]
    assert [opinion.violated for opinion in case.check({**given, "s": "1/100"}).opinions] == [False, False]


# --- at fixed T, all layers


@pytest.mark.parametrize("theta", only(["b", "V"], "b"))
def test_the_bound_at_fixed_time_needs_every_part_of_its_proof(theta: Literal["b", "V"]) -> None:
    """The planted falsehoods: w̄ of the top layer alone, F for the input. Without the states nothing is proved."""
    true, small = CorrectedGradient(), CorrectedGradient(top_alone=theta == "b", input_seen=theta == "b")
    made = [
        judged(vanishing.all_layers_case(theta, form, states)).verdict
        for form, states in ((true, Root()), (small, Root()), (true, Root(growth=Fraction(0))))
    ]
    assert made == [verdict.PROVED, verdict.REFUTED, verdict.NOT_REFUTED]


@pytest.mark.parametrize(
    ("horizon", "steps", "margin"),
    [("5", 10, "1/2"), ("1/5", 10, "1/50"), ("7", 10, "3/10"), ("10", 10, "0"), ("15", 10, "-1/2")],
)
def test_a_step_of_an_order_is_less_than_one(horizon: str, steps: int, margin: str) -> None:
    stack = ScalarStack(horizon=Fraction(horizon), ratio=Fraction(0))
    premise = orders._premises(stack, steps, "", "fixed n")[0]
    assert (premise.text, premise.margin, premise.holds) == ("0 < dt < 1", margin, Fraction(margin) > 0)


@pytest.mark.parametrize(
    ("k", "steps", "margin"),
    [(1, 10, "0"), (2, 20, "0"), (3, 40, "1"), (2, 19, "-1/10"), (2, 15, "-1/2"), (1, 5, "-1/2")],
)
def test_much_smaller_than_n_is_at_most_a_tenth_of_it(k: int, steps: int, margin: str) -> None:
    stack = ScalarStack(offset=k, ratio=Fraction(0))
    premise = orders._premises(stack, steps, "contribution", "fixed T")[-1]
    assert (premise.text, premise.margin, premise.holds) == ("k ≤ n/10", margin, Fraction(margin) >= 0)
