"""The points at which claims are tried: exact, and enough of every kind that each claim meets its own limits."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import pytest

from odernn.published.networks import ROWS
from verification.cases.state_bound.ratios import is_admissible
from verification.domains import (
    BUDGETS,
    FREE,
    free_points,
    point_from_plain,
    point_to_plain,
    printed_name,
    printed_point,
    printed_rows,
)
from verification.registry import Registry

CLAIMS = [registered.claim for registered in Registry().state_bounds()]
every_budget = pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)


def ladders(budget):
    """{group: its points} for groups with more than one dt: those that speak about dt → 0."""
    groups = defaultdict(list)
    for point in free_points(budget):
        groups[point.group].append(point)
    return {group: points for group, points in groups.items() if len({point.dt for point in points}) > 1}


@every_budget
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_claim_has_an_admissible_point_at_every_layer_of_the_free_domain(claim, budget):
    for layer in range(1, budget.free_layers + 1):
        admissible = [point for point in free_points(budget) if is_admissible(claim, point, layer)]
        assert admissible
        assert any(point.hidden_size > 1 for point in admissible)  # a bound that forgets √m
        assert any(point.steps > 1 for point in admissible)
        # a ladder of three rungs: something to follow to dt → 0
        rungs = defaultdict(set)
        for point in admissible:
            rungs[point.group].add(point.dt[layer - 1])
        assert max(map(len, rungs.values())) >= 3


def test_the_claims_on_trial_are_about_alpha_zero_and_alpha_positive_alike():
    points = free_points(BUDGETS["smoke"])
    by_claim = {claim.id: {point.alpha == 0 for point in points if is_admissible(claim, point, 1)} for claim in CLAIMS}
    assert by_claim["sam-D.1-b"] == {True}
    assert by_claim["sam-D.1-a"] == by_claim["icml-C.1"] == by_claim["thm-S-Q"] == {False}
    assert by_claim["thm-S"] == {True, False}


@every_budget
def test_the_free_domain_holds_alpha_zero_small_and_large_one_neuron_and_many(budget):
    points = free_points(budget)
    alphas = {point.alpha for point in points}
    assert {Fraction(0), Fraction(1)} <= alphas and min(alphas) == 0
    assert any(0 < alpha <= Fraction(1, 100) for alpha in alphas) and max(alphas) >= 1000
    for zero in (True, False):
        assert {point.hidden_size for point in points if (point.alpha == 0) is zero} >= {1, 16}
    assert {point.domain for point in points} == {FREE}
    assert {point.input_size for point in points} == {1}
    assert {point.num_layers for point in points} == {budget.free_layers}
    assert all(point.steps >= 1 and all(0 < dt < 1 for dt in point.dt) for point in points)
    assert len(set(points)) == len(points)


@every_budget
def test_the_free_domain_goes_near_every_limit_that_the_claims_set(budget):
    points = free_points(budget)
    nearest = {
        "dt < 1, α > 0": [point.dt[0] for point in points if point.alpha > 0],
        "dt < 1/2, α = 0": [2 * point.dt[0] for point in points if point.alpha == 0],
        "α dt² < 4": [point.alpha * point.dt[0] ** 2 / 4 for point in points],
    }
    for limit, shares in nearest.items():
        assert any(Fraction(4, 5) <= share < 1 for share in shares), limit
    # at one step, where T = dt, and after many
    for steps in (1, 40):
        assert any(point.steps == steps and point.alpha == 0 and 2 * point.dt[0] > Fraction(9, 10) for point in points)
        assert any(point.steps == steps and point.alpha > 0 and point.dt[0] >= Fraction(9, 10) for point in points)


@every_budget
def test_a_ladder_keeps_alpha_and_the_horizon_exactly_and_halves_dt(budget):
    found = ladders(budget)
    expected = {(Fraction(alpha), Fraction(horizon)): Fraction(dt) for alpha, horizon, dt in budget.ladders}
    seen = set()
    for group, points in found.items():
        assert len({point.hidden_size for point in points}) == 1
        assert len(points) == budget.refinements + 1 >= 3
        assert len({(point.alpha, point.num_layers) for point in points}) == 1
        (horizon,) = {dt * point.steps for point in points for dt in point.dt}  # exact, in every layer
        alpha, steps = points[0].alpha, [point.dt[0] for point in points]
        assert steps == [expected[alpha, horizon] / 2**k for k in range(len(points))]
        assert group == f"α = {alpha}, T = {horizon}"
        seen.add((alpha, horizon))
    assert seen == set(expected)


@every_budget
def test_every_ladder_has_its_coarsest_rung_once_more_with_many_neurons(budget):
    points = free_points(budget)
    wide = [point for point in points if point.hidden_size > 1]
    narrow = [replace(point, hidden_size=1, group=point.group.removesuffix(", m = 16")) for point in wide]
    assert narrow == [rungs[0] for rungs in ladders(budget).values()]
    assert all(point.group.endswith(f", m = {point.hidden_size}") for point in wide)


@every_budget
def test_the_coarse_rungs_are_those_of_the_budget(budget):
    many = set(ladders(budget))
    coarse = [point for point in free_points(budget) if point.group not in many and point.hidden_size == 1]
    values = [(str(point.alpha), {str(dt) for dt in point.dt}, point.steps) for point in coarse]
    assert values == [(alpha, {dt}, count) for alpha, dt, count in budget.coarse]


def test_a_larger_budget_tries_whatever_a_smaller_one_does():
    tried = [
        {(p.alpha, p.dt[0], p.steps, p.hidden_size) for p in free_points(BUDGETS[name])}
        for name in ("smoke", "standard", "deep")
    ]
    assert tried[0] < tried[1] < tried[2]
    small, medium, large = (BUDGETS[name] for name in ("smoke", "standard", "deep"))
    for less, more in ((small, medium), (medium, large)):
        assert less.free_layers <= more.free_layers and less.beam_steps <= more.beam_steps
        assert less.beam_width < more.beam_width and less.range_inputs < more.range_inputs
        assert set(less.detunings) < set(more.detunings)
    assert all(budget.name == name and 1.0 in budget.detunings for name, budget in BUDGETS.items())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_printed_point_is_its_row(row):
    point = printed_point(row)
    assert (point.alpha, point.dt, point.steps) == (row.alpha, row.dt, row.steps)
    assert (point.hidden_size, point.input_size, point.num_layers) == (row.hidden_size, row.input_size, row.num_layers)
    assert point.domain == point.group == printed_name(row) == f"printed {row.name}"


def test_the_printed_rows_are_those_of_the_table_each_with_a_domain_of_its_own():
    assert printed_rows() == ROWS
    names = [printed_name(row) for row in ROWS]
    assert len(set(names)) == len(ROWS) == 7 and FREE not in names


def test_a_label_names_alpha_the_dt_of_the_layer_and_the_steps():
    point = next(
        point for point in free_points(BUDGETS["smoke"]) if point.alpha == Fraction(1, 4) and point.steps > 700
    )
    assert point.label(1) == point.label(2) == "α = 1/4, dt = 1/20, N = 800"
    worms = printed_point(next(row for row in ROWS if row.name == "EigenWorms"))
    assert worms.label(1) == "α = 0, dt = 281/10000000, N = 17984"
    assert worms.label(2) == "α = 0, dt = 343/10000, N = 17984"


def test_a_point_survives_json():
    points = [*(point for budget in BUDGETS.values() for point in free_points(budget)), *map(printed_point, ROWS)]
    for point in points:
        assert point_from_plain(json.loads(json.dumps(point_to_plain(point)))) == point
