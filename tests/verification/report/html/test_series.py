"""What a store has over n is drawn as it is: the crossing where the bound is exceeded, the slack where it is least."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.verification.report.html.made_page import STATE
from verification.domains import FREE, SearchPoint, point_to_plain
from verification.registry import Registry
from verification.report.html.series import MOST_POINTS, StateSeries, state_series
from verification.report.pictures.against_bounds import words_of_curve
from verification.run.store import Extract

CROSSING = 200
ALPHA, RUNGS = Fraction(1), ((Fraction(1, 10), 800), (Fraction(1, 20), 1600))


def bound(dt: Fraction, steps: int) -> np.ndarray:
    """icml-C.1 typed once more, for α = 1: √(2 (1 + 2β t_n)), β = max(1 + 2α, 4α²) = 4."""
    return np.array([math.sqrt(2 * (1 + 8 * n * float(dt))) for n in range(1, steps + 1)])


def stored(factor: float, *, finite: bool = True) -> tuple[Extract, dict[str, Any]]:
    """A run of half the bound up to the crossing, and ``factor`` times the bound from there on, at two steps dt."""
    jobs, points = {}, []
    for number, (dt, steps) in enumerate(RUNGS):
        values = bound(dt, steps) * np.where(np.arange(1, steps + 1) < CROSSING, 0.5, factor)
        neuron = {"multiplicity": 1, "w": "0", "c": "20", "bias": "0"}
        layer = {"dt": str(dt), "groups": [neuron], "input_weights": [["1"]]}
        inputs = {"steps": steps, "size": 1, "runs": [[steps, ["10"]]]}
        instance = {"system": "unicornn", "index": "icml", "alpha": "1", "layers": [layer], "inputs": inputs}
        entry = {"adversary": "structured", "quantity": "position", "evaluations": 1, "finite": finite}
        jobs[f"search {number}"] = ({"found": [entry | {"instance": instance}]}, {"0": values})
        points.append(point_to_plain(SearchPoint(FREE, ALPHA, (dt,), steps, 1, 1, "α = 1, T = 80")))
    needs = {"search": [*jobs], "control": []}
    spec = {"kind": "judge", "claim": "icml-C.1", "domain": FREE, "layer": 1, "points": points, "needs": needs}
    return Extract(jobs), spec


def series(factor: float, *, finite: bool = True) -> StateSeries:
    results, spec = stored(factor, finite=finite)
    claim = Registry().get("icml-C.1").claim
    cell = replace(STATE, point="α = 1, dt = 1/10, N = 800", slack=-math.log10(factor), adversary="structured")
    return state_series(results, [spec, {"kind": "case"}], {claim.id: claim}, [cell])[claim.id]


def test_the_curve_crosses_the_bound_where_it_does() -> None:
    (curve,) = series(2.0).curves
    assert curve.crossing == CROSSING and len(curve.steps) <= MOST_POINTS + 1
    limits = np.log10(bound(*RUNGS[0]))
    assert curve.bound == pytest.approx([limits[n - 1] for n in curve.steps])
    assert max(curve.measured) == pytest.approx(limits[-1] + math.log10(2.0))
    for n, measured, limit in zip(curve.steps, curve.measured, curve.bound, strict=True):
        assert (measured > limit) == (n >= CROSSING)
    assert f"above the bound first at n = {CROSSING}" in words_of_curve(curve)


def test_a_bound_that_holds_is_not_crossed() -> None:
    (curve,) = series(0.75).curves
    assert curve.crossing is None and "below the bound" in words_of_curve(curve)


def test_the_slack_is_the_least_over_n_at_every_step_size() -> None:
    (spread,) = series(2.0).spreads
    (ladder,) = spread.ladders
    assert (ladder.horizon, ladder.dts) == (80.0, (0.1, 0.05))
    assert ladder.slacks == pytest.approx([-math.log10(2.0)] * 2)


def test_all_inequalities_of_a_claim_have_the_same_ladders() -> None:
    """The page shows one key. Of two (α, T) one was measured in both quantities, the other, listed first, in one."""
    results, spec = stored(2.0)
    both, lone = list(results.jobs.items()), []
    jobs = {}
    for name, (data, arrays) in both:
        (entry,) = data["found"]
        jobs[name] = ({"found": [entry, entry | {"quantity": "momentum"}]}, {**arrays, "1": arrays["0"]})
        jobs[f"{name}, lone"] = (data, {"0": 10 * arrays["0"]})
        lone.append(f"{name}, lone")
    others = [point | {"group": "α = 1, T = 90"} for point in spec["points"]]
    needs = {"search": [*lone, *(name for name, _ in both)], "control": []}
    spec |= {"points": [*others, *spec["points"]], "needs": needs}
    claim = Registry().get("icml-C.1").claim
    spreads = state_series(Extract(jobs), [spec], {claim.id: claim}, [STATE])[claim.id].spreads
    assert [spread.symbol for spread in spreads] == ["max abs(yₙ)", "max abs(zₙ)"]
    assert [[ladder.label for ladder in spread.ladders] for spread in spreads] == [["α = 1, T = 80"]] * 2


def test_a_sharp_bound_is_a_sentence_and_no_picture() -> None:
    made = series(1.0 - 1e-9)
    assert made.spreads == () and [spread.symbol for spread in made.sharp] == ["max abs(yₙ)"]


def test_what_is_not_finite_is_not_drawn() -> None:
    assert series(2.0, finite=False) == StateSeries()


def test_a_claim_that_nobody_knows_any_more_is_left_out() -> None:
    results, spec = stored(2.0)
    assert state_series(results, [spec], {}, [STATE]) == {}
