"""Searches can be replayed from what they leave, and a control fails whenever an adversary or a certificate does."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from verification.adversary import Found, beam, chain, effective_steps, pontryagin, portfolio, structured
from verification.cases.controls import CONTROL_POINTS, SOUNDNESS, float_optimum
from verification.claim import QUANTITIES
from verification.domains import BUDGETS, SearchPoint, point_to_plain
from verification.instance import from_plain
from verification.measure import network
from verification.measure.hidden_state import run_instance
from verification.run import jobs
from verification.run.job import Job, Settings
from verification.run.jobs import control, measure, search
from verification.system import UNICORNN, System

ADVERSARIES = {"structured", "beam", "pontryagin"}
SHORT = tuple(replace(point, steps=60) for point in CONTROL_POINTS)
POINT = SearchPoint("free", Fraction(3), (Fraction(1, 10), Fraction(1, 7)), 60, 4, 2, "made up")


pytestmark = pytest.mark.usefixtures("one_thread")


def spec_of(kind: str, point: SearchPoint, layer: int = 1) -> dict:
    """A spec as the plan writes it, through JSON."""
    plain = {"kind": kind, "system": "unicornn", "layer": layer, "point": point_to_plain(point), "budget": "smoke"}
    return json.loads(json.dumps(plain))


# --- controls ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", CONTROL_POINTS, ids=["stiff", "undamped"])
def test_the_control_passes_for_the_built_in_system_and_every_adversary_has_its_share(point):
    result = jobs.perform(Job("", spec_of("control", point)), Settings())
    assert result.data["passed"] is True and result.arrays == {}
    assert result.data["group"] == point.group
    assert [report["quantity"] for report in result.data["reports"]] == list(QUANTITIES)
    for report in result.data["reports"]:
        print(point.group, report["quantity"], report["sentence"])
        assert report["passed"] is True
        assert set(report["shares"]) == ADVERSARIES  # one that is no longer asked is missed here
        assert all(0.9 <= share <= 1 + 1e-9 for share in report["shares"].values())
        assert report["best"] == min(report["shares"].values())
        assert report["shares"]["structured"] > 0.9999
        for name, share in report["shares"].items():
            assert f"{name} {share:.3f} of the optimum" in report["sentence"]


def zero_inputs(quantities=QUANTITIES, name="beam"):
    """An adversary that finds nothing better than rest for ``quantities``, and does its work for the others."""

    def search(system, point, layer, budget, device):
        rest = chain(point, layer, 0.0, torch.zeros(point.steps, dtype=torch.float64), system.name)
        searches = {"beam": beam, "structured": structured, "pontryagin": pontryagin}
        real = searches[name].search(system, point, layer, budget, device)
        return [replace(found, instance=rest) if found.quantity in quantities else found for found in real]

    return search


@pytest.mark.parametrize("crippled", [QUANTITIES, ("position",), ("momentum",)], ids=["both", "position", "momentum"])
@pytest.mark.parametrize("name", sorted(ADVERSARIES))
def test_the_control_fails_if_one_adversary_is_crippled_though_the_other_is_not(monkeypatch, name, crippled):
    monkeypatch.setitem(portfolio.ADVERSARIES, name, zero_inputs(crippled, name))
    data = jobs.perform(Job("", spec_of("control", SHORT[0])), Settings()).data
    assert data["passed"] is False
    for report in data["reports"]:
        hurt = report["quantity"] in crippled
        assert report["passed"] is not hurt
        assert (report["shares"][name] == 0.0) is hurt and (report["best"] == 0.0) is hurt
        assert all(share > 0.9 for other, share in report["shares"].items() if other != name)


def halved(system, point, layer, budget, device):
    """An adversary that stops half-way: some 0.3 to 0.6 of the optimum."""
    found = []
    for each in structured.search(system, point, layer, budget, device):
        values = [float(v) for (v, *_) in each.instance.inputs]
        half = torch.tensor([0.0] * (point.steps // 2) + values[point.steps // 2 :], dtype=torch.float64)
        found.append(Found("structured", each.quantity, chain(point, layer, 0.0, half, system.name), 1, True))
    return found


@pytest.mark.parametrize("point", SHORT, ids=["stiff", "undamped"])
def test_the_control_fails_if_an_adversary_is_merely_weak(monkeypatch, point):
    monkeypatch.setitem(portfolio.ADVERSARIES, "structured", halved)
    data = jobs.perform(Job("", spec_of("control", point)), Settings()).data
    assert data["passed"] is False
    for report in data["reports"]:
        assert 0.1 < report["shares"]["structured"] < 0.9 and report["best"] == report["shares"]["structured"]


@pytest.mark.parametrize("quantities", [(), ("position",), ("momentum",)], ids=["none", "position", "momentum"])
@pytest.mark.parametrize("name", sorted(ADVERSARIES))
def test_the_control_fails_if_an_adversary_finds_nothing(monkeypatch, name, quantities):
    real = portfolio.ADVERSARIES[name]

    def some(*given):
        return [found for found in real(*given) if found.quantity in quantities]

    monkeypatch.setitem(portfolio.ADVERSARIES, name, some)
    data = jobs.perform(Job("", spec_of("control", SHORT[0])), Settings()).data
    assert data["passed"] is False
    for report in data["reports"]:
        missing = report["quantity"] not in quantities
        assert report["passed"] is not missing
        assert (f"{name} found nothing" in report["sentence"]) is missing


def violates(name):
    """An opinion that says "violates" of whatever it is asked."""
    real = getattr(control, name)

    def opinion(claim, part, instance, **where):
        answer = real(claim, part, instance, **where)
        return {**answer, "status": "violates"} if isinstance(answer, dict) else replace(answer, status="violates")

    return opinion


def test_the_control_fails_if_both_certificates_refute_the_sound_inequality(monkeypatch):
    for name in ("first_opinion", "second_opinion"):
        monkeypatch.setattr(control, name, violates(name))
    data = jobs.perform(Job("", spec_of("control", SHORT[0])), Settings()).data
    assert data["passed"] is False and not any(report["passed"] for report in data["reports"])
    assert all(share > 0.9 for report in data["reports"] for share in report["shares"].values())


@pytest.mark.parametrize("name", ["first_opinion", "second_opinion"])
def test_one_certificate_that_lies_refutes_nothing_by_itself(monkeypatch, name):
    monkeypatch.setattr(control, name, violates(name))
    assert jobs.perform(Job("", spec_of("control", SHORT[0])), Settings()).data["passed"] is True


@pytest.mark.parametrize("status", ["holds", "undecided"])
@pytest.mark.parametrize("name", ["first_opinion", "second_opinion"])
def test_the_control_fails_if_a_certificate_never_refutes(monkeypatch, name, status):
    real = getattr(control, name)

    def meek(*given, **where):
        answer = real(*given, **where)
        return {**answer, "status": status} if isinstance(answer, dict) else replace(answer, status=status)

    monkeypatch.setattr(control, name, meek)
    data = jobs.perform(Job("", spec_of("control", SHORT[1])), Settings()).data
    assert data["passed"] is False and not any(report["passed"] for report in data["reports"])


def test_both_certificates_are_asked_about_both_inequalities_at_the_largest_state(monkeypatch):
    asked = []
    opinions = {"first_opinion": control.first_opinion, "second_opinion": control.second_opinion}
    for name, opinion in opinions.items():

        def noting(claim, part, instance, *, layer, step, steps, name=name, real=opinion):
            asked.append((name, str(SOUNDNESS) in claim.statement, part.quantity))
            y, z, _ = run_instance(UNICORNN, instance, 1)
            values = (y if part.quantity == "position" else z).abs().flatten()
            assert step == int(values.argmax()) + 1 and (layer, steps) == (1, 60)
            assert float(values[step - 1]) > 0.9 * float_optimum(UNICORNN, SHORT[0], h, part.quantity, step)
            return real(claim, part, instance, layer=layer, step=step, steps=steps)

        monkeypatch.setattr(control, name, noting)
    h = effective_steps(SHORT[0])[0]
    assert jobs.perform(Job("", spec_of("control", SHORT[0])), Settings()).data["passed"] is True
    for quantity in QUANTITIES:
        for sound in (False, True):  # once for every adversary
            assert asked.count(("first_opinion", sound, quantity)) == len(ADVERSARIES)
        assert asked.count(("second_opinion", False, quantity)) == len(ADVERSARIES)


def test_the_controls_optimum_is_that_of_the_system_on_trial():
    """A system whose states are half as large is measured against an optimum half as large, not against UnICORNN's."""

    def step(y, z, x, *, w, step_size, alpha):
        y, z = UNICORNN.step(2 * y, 2 * z, x, w=w / 2, step_size=step_size, alpha=alpha)
        return y / 2, z / 2

    def exact(y, z, x, w, h, alpha, tanh):
        y, z = UNICORNN.exact_step(2 * y, 2 * z, x, w / 2, h, alpha, tanh)
        return y / 2, z / 2

    small = System("small", step, exact, exact)
    data = control.control(spec_of("control", SHORT[0]), small).data
    assert data["passed"] is True
    assert all(0.9 < share < 1 + 1e-9 for report in data["reports"] for share in report["shares"].values())


# --- searches ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [1, 2])
def test_a_search_leaves_one_replayable_run_of_every_adversary_for_both_quantities(layer):
    result = jobs.perform(Job("", spec_of("search", POINT, layer)), Settings())
    entries = json.loads(json.dumps(result.data))["found"]
    assert {(each["adversary"], each["quantity"]) for each in entries} == {
        (name, quantity) for name in ADVERSARIES for quantity in QUANTITIES
    }
    assert len(entries) == 6 and set(result.arrays) == set("012345")
    for number, entry in enumerate(entries):
        instance = from_plain(entry["instance"])
        assert (instance.alpha, instance.steps, instance.hidden_size) == (3, 60, 4)
        assert instance.inputs.size == 2 and instance.system == "unicornn"
        assert tuple(each.dt for each in instance.layers) == POINT.dt[:layer]
        y, z, _ = run_instance(UNICORNN, instance, layer)
        values = (y if entry["quantity"] == "position" else z).abs().amax(dim=(1, 2)).numpy()
        array = result.arrays[str(number)]
        assert array.dtype == np.float64 and array.shape == (60,)
        assert np.array_equal(array, values) and array.max() > 0
        assert entry["finite"] is True


def counting(counts: list[int]) -> System:
    """UnICORNN that notes how many trajectories every step carries."""

    def step(y, z, x, *, w, step_size, alpha):
        counts.append(max(each.numel() for each in (y, x)))
        return UNICORNN.step(y, z, x, w=w, step_size=step_size, alpha=alpha)

    return replace(UNICORNN, step=step)


def test_the_evaluations_are_the_trajectories_that_were_run():
    point = replace(POINT, hidden_size=1, input_size=1)
    counts: list[int] = []
    for found in structured.search(counting(counts), point, 1, BUDGETS["smoke"]):
        # one batch through all steps, after the one kick from which the matched waves come
        assert counts == [1] * 60 + [found.evaluations] * 60
    counts.clear()
    for found in beam.search(counting(counts), point, 1, BUDGETS["smoke"]):
        hold = beam._hold(point, 1)
        starts = [counts[k] for k in range(0, len(counts), hold)]
        assert 60 % hold == 0 and len(counts) == 60  # the beams of both recurrent weights in one batch
        assert found.evaluations == sum(starts)
    entries = jobs.perform(Job("", spec_of("search", point)), Settings()).data["found"]
    expected = {
        each.adversary: each.evaluations
        for search in (structured.search, beam.search, pontryagin.search)
        for each in search(UNICORNN, point, 1, BUDGETS["smoke"])
    }
    assert {each["adversary"]: each["evaluations"] for each in entries} == expected
    assert all(type(each["evaluations"]) is int and each["evaluations"] > 100 for each in entries)


def lost(y, z, x, *, w, step_size, alpha):
    y, z = UNICORNN.step(y, z, x, w=w, step_size=step_size, alpha=alpha)
    return torch.where(y.abs() > 0.1, torch.nan, y), z


def test_a_search_of_a_system_that_returns_nan_is_not_finite():
    result = search.search(spec_of("search", POINT), System("lost", lost, None, None))
    assert result.data["found"]
    assert [each["finite"] for each in result.data["found"]] == [False] * len(result.data["found"])
    json.dumps(result.data, allow_nan=False)


def given(finite: bool):
    """An adversary that says of a saturating drive, whatever came of it, that all was ``finite``."""

    def search(system, point, layer, budget, device):
        values = torch.full((point.steps,), 10.0, dtype=torch.float64)
        instance = chain(point, layer, 0.0, values, system.name)
        return [Found("given", quantity, instance, 7, finite) for quantity in QUANTITIES]

    return search


@pytest.mark.parametrize("said", [True, False])
def test_finite_needs_both_the_search_and_the_replayed_run(monkeypatch, said):
    monkeypatch.setattr(portfolio, "ADVERSARIES", {"given": given(said)})
    sound = search.search(spec_of("search", POINT), UNICORNN)
    assert [each["finite"] for each in sound.data["found"]] == [said, said]
    assert [each["evaluations"] for each in sound.data["found"]] == [7, 7]
    broken = search.search(spec_of("search", POINT), System("lost", lost, None, None))
    assert [each["finite"] for each in broken.data["found"]] == [False, False]
    assert all(np.isnan(array).any() for array in broken.arrays.values())


# --- measurements and the rest ----------------------------------------------------------------------------------


def test_a_measurement_is_that_of_its_row_input_task_folder_and_seed(monkeypatch):
    calls = []
    arrays = {"1/position/max": np.ones(3)}
    monkeypatch.setattr(network, "on_data", lambda *args: calls.append(args) or ({"source": "s"}, arrays))
    monkeypatch.setattr(network, "on_range", lambda *args: calls.append(args) or ({"inputs": 1}, arrays))
    spec = {"kind": "measure", "row": "IMDB", "budget": "standard", "task": "mnist"}
    asked = [Job("", spec | {"input": each}) for each in ("data", "range")]
    data, in_range = (jobs.perform(job, Settings(data="folder")) for job in asked)
    seed = asked[0].seed
    assert seed == asked[1].seed
    row = measure.published_row("IMDB")
    cpu = torch.device("cpu")
    assert calls == [(row, "mnist", "folder", seed, cpu), (row, BUDGETS["standard"], seed, cpu)]
    assert (data.data, in_range.data) == ({"source": "s"}, {"inputs": 1})
    assert data.arrays is in_range.arrays is arrays


def test_a_job_of_an_unknown_kind_or_system_says_so():
    with pytest.raises(ValueError, match='Unknown kind of job "guess"'):
        jobs.perform(Job("", spec_of("guess", POINT)), Settings())
    with pytest.raises(ValueError, match='Unknown claim "elsewhere"'):
        jobs.perform(Job("", spec_of("search", POINT) | {"system": "mine", "owner": "elsewhere"}), Settings())


@pytest.mark.slow
def test_a_system_whose_arithmetics_contradict_each_other_fails_its_control() -> None:
    """The exact step sees a 64th of the drive: all adversaries reach 64 times the "optimum", and nothing is sound."""

    def weaker(y, z, x, w, h, alpha, tanh):
        return UNICORNN.exact_step(y, z, x, w, h, alpha, lambda s: tanh(s) / 64)

    split = replace(UNICORNN, name="split", exact_step=weaker)
    found = control.control(spec_of("control", CONTROL_POINTS[0]), split).data
    assert not found["passed"]
    assert all(share > 1 for report in found["reports"] for share in report["shares"].values())


def test_a_control_without_adversaries_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "ADVERSARIES", {})
    assert not control.control(spec_of("control", CONTROL_POINTS[0]), UNICORNN).data["passed"]
