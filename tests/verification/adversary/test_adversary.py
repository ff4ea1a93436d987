"""The adversaries come close to the known supremum, never beyond it, and say what can be replayed."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from odernn.bounds import sharp
from tests.tiers import spread
from tests.verification.state_claims import with_bound
from verification.adversary import AMPLITUDE, Found, beam, chain, effective_steps, pontryagin, structured
from verification.certify import balls
from verification.domains import BUDGETS, SearchPoint
from verification.measure.hidden_state import run_instance
from verification.registry import Registry
from verification.system import UNICORNN, System

BUDGET = BUDGETS["smoke"]
QUANTITIES = ("position", "momentum")
NAMES = ("structured", "beam", "pontryagin")
SEARCHES = (structured.search, beam.search, pontryagin.search)
ROUNDINGS = 1e-12
"""Relative: 400 steps of some 5 roundings, amplified by at most 400 again."""


def point(alpha: str, dt: str, steps: int, *, layers: int = 2, m: int = 1, d: int = 1) -> SearchPoint:
    return SearchPoint("free", Fraction(alpha), (Fraction(dt),) * layers, steps, m, d, "made up")


POINTS = [point("0", "1/20", 200), point("10", "1/10", 200), point("1/4", "1/10", 400)]
IDS = ["undamped", "stiff", "soft"]


pytestmark = pytest.mark.usefixtures("one_thread")


def trajectory(system: System, found: Found, layer: int) -> np.ndarray:
    """|quantity| over n of the reported instance, run again."""
    y, z, _ = run_instance(system, found.instance, layer)
    return (y if found.quantity == "position" else z).abs().flatten().numpy()


def suprema(where: SearchPoint, layer: int, quantity: str) -> np.ndarray:
    h = effective_steps(where)[layer - 1]
    return np.exp(sharp.log_supremum(alpha=float(where.alpha), step_size=h, steps=where.steps, quantity=quantity))


def shares(search, where: SearchPoint, layer: int) -> dict[str, float]:
    """The peak over n against the supremum at N, for each quantity; no step may exceed its own supremum."""
    found = search(UNICORNN, where, layer, BUDGET)
    reached = {}
    for each in found:
        values, exact = trajectory(UNICORNN, each, layer), suprema(where, layer, each.quantity)
        assert each.finite and values.shape == exact.shape
        assert np.all(values <= exact * (1 + ROUNDINGS))
        reached[each.quantity] = float(values.max() / exact[-1])
    assert tuple(reached) == QUANTITIES
    return reached


@pytest.mark.parametrize("where", POINTS, ids=IDS)
def test_structured_inputs_reach_the_supremum_in_the_first_layer_and_nearly_in_the_second(where: SearchPoint):
    assert min(shares(structured.search, where, 1).values()) >= 0.999
    assert min(shares(structured.search, where, 2).values()) >= 0.95


@pytest.mark.parametrize("where", POINTS, ids=IDS)
def test_the_beam_comes_near_the_supremum_without_knowing_it(where: SearchPoint):
    assert min(shares(beam.search, where, 1).values()) >= 0.9
    assert min(shares(beam.search, where, 2).values()) >= 0.9


@pytest.mark.parametrize("where", POINTS, ids=IDS)
def test_the_costates_find_the_supremum_from_random_controls_and_gain_on_what_they_are_given_in_deeper_layers(where):
    assert min(shares(pontryagin.search, where, 1).values()) >= 0.999
    others = [shares(each.search, where, 2) for each in (structured, beam)]
    for quantity, share in shares(pontryagin.search, where, 2).items():
        assert share >= max(other[quantity] for other in others) * (1 - 2 * structured.TIE)
        assert share >= 0.95


@pytest.mark.parametrize("where", [point("4", "9/10", 40), point("5", "19/20", 30), point("1", "99/100", 1)])
def test_coarse_steps_do_not_carry_a_search_above_the_supremum(where: SearchPoint):
    for layer in (1, 2):
        for search in SEARCHES:
            shares(search, where, layer)


def drifts_before_it_is_kicked(y, z, x, *, w, step_size, alpha):
    return y + step_size * z, z - step_size * (torch.tanh(w * y + x) + alpha * y)


def drifts_before_it_is_kicked_exactly(y, z, x, w, h, alpha, tanh):
    return y + h * z, z - h * (tanh(w * y + x) + alpha * y)


EULER = System(
    "explicit-euler", drifts_before_it_is_kicked, drifts_before_it_is_kicked_exactly, drifts_before_it_is_kicked_exactly
)


@pytest.mark.parametrize("search", SEARCHES, ids=NAMES)
def test_a_planted_explicit_euler_is_found_to_exceed_thm_s_and_the_balls_certify_it(search):
    where = point("10", "1/10", 100, layers=1)
    claim = with_bound(Registry().get("thm-S").claim, system=EULER)
    for found in search(EULER, where, 1, BUDGET):
        values, exact = trajectory(EULER, found, 1), suprema(where, 1, found.quantity)
        n = int(np.argmax(values / exact)) + 1
        assert values[n - 1] > 2 * exact[n - 1]
        assert found.instance.system == "explicit-euler"
        part = next(part for part in claim.bound.parts if part.quantity == found.quantity)
        where_asked = {"layer": 1, "step": n, "steps": where.steps}
        assert balls.decide(claim, part, found.instance, **where_asked).is_refutation
        right = with_bound(claim, system=UNICORNN)
        assert balls.decide(right, part, found.instance, **where_asked).status == "holds"


@pytest.mark.parametrize("layer", [1, 2])
def test_what_the_beam_reports_is_what_its_instance_does(layer: int):
    where = POINTS[1]
    peaks, controls_to, _, finite = beam._search_all(UNICORNN, where, layer, 16)
    assert finite
    for number, w in enumerate(beam.RECURRENT_WEIGHTS):
        for quantity in QUANTITIES:
            (value, _, _), controls = peaks[quantity][number], controls_to(quantity, number)
            instance = chain(where, layer, w, controls, UNICORNN.name)
            replayed = trajectory(UNICORNN, Found("beam", quantity, instance, 0, True), layer)
            stage_ends = {*range(beam._hold(where, layer) - 1, where.steps, beam._hold(where, layer)), where.steps - 1}
            # the value is met where the controls end (at some stage's end), not only somewhere
            assert min(abs(replayed[n] - value) for n in stage_ends) <= ROUNDINGS * value
            assert value <= replayed.max() * (1 + ROUNDINGS)


@pytest.mark.parametrize("search", spread(SEARCHES, 1), ids=NAMES)
def test_searches_are_deterministic_for_any_number_of_threads(search):
    for layer in (1, 2):
        results = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            beam.search.cache_clear(), structured.search.cache_clear()
            results.append(search(UNICORNN, point("3", "1/10", 150), layer, BUDGET))
        assert all(result == results[0] for result in results[1:])
        assert [found.quantity for found in results[0]] == list(QUANTITIES)


def test_the_drive_of_a_chain_is_the_wave_in_every_channel_count_and_width():
    values = torch.tensor([AMPLITUDE, -AMPLITUDE, -AMPLITUDE, 0.5], dtype=torch.float64)
    runs = [
        run_instance(UNICORNN, chain(point("1", "1/10", 4, m=m, d=d), layer, -1.0, values, "unicornn"), layer)
        for layer in (1, 2)
        for m, d in ((1, 1), (128, 96), (7, 3))
    ]
    for first in (0, 3):
        for y, z, counts in runs[first : first + 3]:
            assert counts.sum() in (1, 128, 7)
            torch.testing.assert_close(y, runs[first][0], rtol=1e-14, atol=0)
            torch.testing.assert_close(z, runs[first][1], rtol=1e-14, atol=0)
    # layer 1, w = −1: the first two steps by hand
    h, x = 0.1 / (1 + math.exp(-20.0)), AMPLITUDE
    z1 = -h * math.tanh(x)
    z2 = z1 - h * (math.tanh(-h * z1 - x) + h * z1)
    assert runs[0][1].flatten()[:2].tolist() == pytest.approx([z1, z2], rel=1e-14)


def test_the_beam_keeps_to_its_horizon_and_counts_its_trajectories():
    short = dataclasses.replace(BUDGET, beam_steps=149)
    assert beam.search(UNICORNN, point("3", "1/10", 150), 1, short) == []
    few = beam.search(UNICORNN, point("3", "1/10", 150), 1, dataclasses.replace(BUDGET, beam_width=4))
    many = beam.search(UNICORNN, point("3", "1/10", 150), 1, BUDGET)
    assert 0 < few[0].evaluations < many[0].evaluations


@pytest.mark.parametrize("search", SEARCHES, ids=NAMES)
def test_a_system_that_leaves_the_numbers_is_reported_as_not_finite(search):
    def bursts(y, z, x, *, w, step_size, alpha):
        return y + step_size * z, z * torch.where(z.abs() > 0.5, torch.nan, 1.0) - step_size * torch.tanh(x)

    found = search(System("bursts", bursts, None, None), point("0", "1/10", 60, layers=1), 1, BUDGET)
    assert found and not any(each.finite for each in found)


def test_numbers_that_were_lost_on_the_way_are_reported_though_the_beam_dropped_them():
    def bursts_once(y, z, x, *, w, step_size, alpha):
        # a single early pattern, three positive controls in a row, is lost; all others stay finite
        return y + step_size * z, z - step_size * torch.where(y < -0.004, torch.nan, torch.tanh(x))

    found = beam.search(System("bursts-once", bursts_once, None, None), point("0", "1/10", 8, layers=1), 1, BUDGET)
    assert found and not any(each.finite for each in found)
    assert all(np.isfinite(trajectory(System("", bursts_once, None, None), each, 1)).all() for each in found)
