"""A run is a function of its settings: not of the workers, the order of claims, nor of how often it was killed."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import odernn
from verification.domains import BUDGETS, drawn_points, free_points, printed_rows
from verification.registry import Registry
from verification.run import engine, execute
from verification.run.closure import Closure
from verification.run.job import Settings
from verification.run.plan import plan
from verification.run.store import Store

SMALL_RUN = Path(__file__).with_name("small_run.py")
CLAIMS = ("icml-C.1", "sam-D.1-b", "thm-S-Q")
JOBS = 32  # of the small run with CLAIMS: 2 + 2 controls, 14 searches, 2 measurements; 12 judgements
MEASURING = 20
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL (POSIX)")


def small_run(store, *options, timeout=300):
    """The JSON that small_run.py prints, every run a process of its own."""
    root = Path(execute.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(SMALL_RUN), str(store), *map(str, options)],
        env=os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


MOMENTS = ("0", "2.5", "3", "7.5", "4", "0.5", "2", "-0.03")
"""Eight deaths: before the first result, just before and just after others are kept, while judging, and one by the
clock, in the middle of whatever is done then."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What two runs on one store printed, one after the other, and one on another store that is killed at MOMENTS.

    Each is a process of its own; the imports are shared.
    """
    folder = tmp_path_factory.mktemp("run")
    store, printed = folder / "store.sqlite", [folder / "first.json", folder / "second.json"]
    if not hasattr(os, "fork"):
        return small_run(store), small_run(store), None
    before = [word for path in printed for word in ("--before", store, path)]
    killed = small_run(folder / "killed.sqlite", *before, f"--kill-at={','.join(MOMENTS)}")
    return *(json.loads(path.read_text()) for path in printed), killed


@pytest.fixture(scope="module")
def twice(runs):
    return runs[:2]


@pytest.fixture(scope="module")
def uninterrupted(twice):
    return twice[0]["judgements"]


# --- kill and resume --------------------------------------------------------------------------------------------


def test_the_small_run_has_every_kind_of_cell(uninterrupted):
    verdicts = Counter(each["verdict"] for each in uninterrupted)
    assert {"refuted", "proved", "not-refuted", "inapplicable"} <= verdicts.keys()
    assert len(uninterrupted) == 20
    assert any(each["witness"] for each in uninterrupted)
    assert any(each["log_data"] is not None for each in uninterrupted)


@needs_fork
def test_a_run_that_was_killed_again_and_again_ends_with_the_same_judgements(runs, uninterrupted):
    found = runs[2]
    assert found["deaths"][:-1] == [9] * (len(MOMENTS) - 1)
    assert MEASURING < 0 + 3 + 3 + 8 + 4 + 1 + 2 <= found["finished"] <= JOBS  # nothing that was finished is done again
    assert found["judgements"] == uninterrupted
    totals = {label: total for label, _, total in found["progress"]}
    assert totals == {"searching": MEASURING, "judging": JOBS - MEASURING}


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_killed_at_any_moment_ends_with_the_same_judgements(tmp_path, uninterrupted, workers):
    generator = random.Random(0)
    moments = [k / 2 for k in range(1, 2 * JOBS, 7 if workers == 0 else 24)]
    for number, moment in enumerate(moments):
        store = tmp_path / f"{number}.sqlite"
        late = -generator.uniform(0.01, 2.0)
        found = small_run(store, f"--kill-at={moment},{late}", "--workers", workers)
        assert found["deaths"][0] == 9
        assert found["finished"] >= int(moment + 0.5)  # nothing that was finished is lost
        assert found["judgements"] == uninterrupted, moment


@pytest.mark.slow
def test_workers_and_the_order_of_claims_change_only_the_order(tmp_path, uninterrupted):
    shuffled = ["sam-D.1-b", "thm-S-Q", "icml-C.1"]
    found = small_run(tmp_path / "store.sqlite", "--workers", 2, "--claims", ",".join(shuffled))["judgements"]
    assert [each["claim"] for each in found] == sorted((each["claim"] for each in found), key=shuffled.index)
    assert sorted(found, key=lambda each: CLAIMS.index(each["claim"])) == uninterrupted


@pytest.mark.slow
def test_one_worker_gives_the_judgements_of_none(tmp_path, uninterrupted):
    assert small_run(tmp_path / "store.sqlite", "--workers", 1)["judgements"] == uninterrupted


def test_a_second_run_on_the_same_store_does_nothing_and_says_the_same(twice):
    first, second = twice
    assert second["judgements"] == first["judgements"]
    assert first["finished"] == 0
    assert len(second["progress"]) == 2  # "all are done", once for the searches and once for the judgements
    assert all(done == total for _, done, total in second["progress"])


# --- failing jobs -----------------------------------------------------------------------------------------------

PLANTED = """
import os
from pathlib import Path

from odernn.tableaus.tableau import Source
from verification.claim import Claim, Part, StateBound
from verification.system import UNICORNN, System

FAULTY = Path(__file__).parents[1] / "faulty"  # beside the claims it would be in their keys


def million(s, numbers):
    return numbers.log(1000000 + 0 * s.time)


def bound(s, numbers):
    if FAULTY.exists():
        raise ZeroDivisionError("planted in the bound")
    return million(s, numbers)


def step(y, z, x, *, w, step_size, alpha):
    if FAULTY.exists():
        if "die" in FAULTY.read_text():
            os._exit(5)
        raise RuntimeError("planted in the step")
    return UNICORNN.step(y, z, x, w=w, step_size=step_size, alpha=alpha)


def second(s, iv):
    return iv.log(iv.mpf(1000000))


SOURCE = Source("planted", "nowhere")
SYSTEM = System("faulty", step, UNICORNN.exact_step, UNICORNN.second_step)
PARTS, SOUND = (Part("position", "max", bound, second),), (Part("position", "max", million, second),)
CLAIMS = (
    Claim("faulty bound", SOURCE, "…", "real", state_bound=StateBound(PARTS)),
    Claim("faulty step", SOURCE, "…", "real", state_bound=StateBound(SOUND, system=SYSTEM)),
)
"""


@pytest.mark.parametrize(
    ("how", "workers", "sentence"),
    [
        pytest.param("raise", 0, "RuntimeError: planted in the step", marks=pytest.mark.slow),
        pytest.param("die", 2, "the worker process died (exit code 5)", marks=pytest.mark.slow),
    ],
)
def test_a_job_that_fails_is_an_error_in_its_own_cells_and_is_tried_again(tmp_path, how, workers, sentence):
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "planted.py").write_text(PLANTED)
    options = (
        "--claims",
        "faulty bound,sam-D.1-b,faulty step",
        "--claims-dir",
        tmp_path / "claims",
        "--workers",
        workers,
        "--rungs",
        1,
    )
    flag = tmp_path / "faulty"
    flag.write_text(how)
    broken = small_run(tmp_path / "store.sqlite", *options)
    by_claim = {claim: [j for j in broken["judgements"] if j["claim"] == claim] for claim in options[1].split(",")}
    assert {j["verdict"] for j in by_claim["faulty bound"]} == {"error"}
    assert {j["because"] for j in by_claim["faulty bound"]} == {"ZeroDivisionError: planted in the bound"}
    assert {j["verdict"] for j in by_claim["faulty step"]} == {"error"}
    assert {j["because"] for j in by_claim["faulty step"]} == {sentence}
    assert {j["verdict"] for j in by_claim["sam-D.1-b"]} == {"not-refuted", "inapplicable"}
    assert {len(cells) for cells in by_claim.values()} == {4}

    flag.unlink()  # the text of the claims is the same: the keys are, too
    mended = small_run(tmp_path / "store.sqlite", *options)
    assert mended["finished"] == sum(total for _, done, total in mended["progress"] if done == total)
    assert not [j for j in mended["judgements"] if j["verdict"] == "error"]
    assert [j for j in mended["judgements"] if j["claim"] == "sam-D.1-b"] == by_claim["sam-D.1-b"]
    fresh = small_run(tmp_path / "fresh.sqlite", *options)
    assert mended["judgements"] == fresh["judgements"]


def test_a_judge_job_whose_worker_dies_is_an_error_in_its_own_cells(tmp_path, monkeypatch):
    """The search survives, the judging does not: no worker is there to write the verdict."""
    the_plan = plan(Settings(claims=("sam-D.1-a",)), Registry())
    one = replace(the_plan, measuring=(), judging=the_plan.judging[:1])
    lost = "the worker process died (exit code -9)"
    monkeypatch.setattr(
        engine,
        "run",
        lambda function, jobs, **_: [engine.Finished(key, None, lost, 0.0) for key, _ in jobs],
    )
    with Store(tmp_path / "store.sqlite", writable=True) as store:
        found = execute.execute(one, store, workers=2)
        assert execute.judgements_of(store, [one.judging[0].key]) == found
        asked = []
        monkeypatch.setattr(engine, "run", lambda function, jobs, **_: asked.extend(jobs) or [])
        execute.execute(one, store, workers=2)
        assert [key for key, _ in asked] == [one.judging[0].key]
    assert [(j.quantity, j.verdict, j.because) for j in found] == [
        ("position", "error", lost),
        ("momentum", "error", lost),
    ]


# --- the plan ---------------------------------------------------------------------------------------------------


def keys(the_plan):
    return {job.key for job in (*the_plan.measuring, *the_plan.judging)}


@pytest.fixture(scope="module")
def registry():
    return Registry()


@pytest.fixture(scope="module")
def whole(registry):
    """All bounds on hidden states; claims have jobs of their own, see test_answer.py."""
    return plan(Settings(claims=tuple(registered.claim.id for registered in registry.state_bounds())), registry)


def test_one_search_for_every_point_and_layer_serves_all_claims(whole, registry):
    budget = BUDGETS["smoke"]
    searches = [job.spec for job in whole.measuring if job.kind == "search"]
    places = [(json.dumps(spec["point"], sort_keys=True), spec["layer"]) for spec in searches]
    assert len(set(places)) == len(places)
    printed = sum(row.num_layers for row in printed_rows())
    free = len(free_points(budget)) + len(drawn_points(budget, 0))
    assert len(places) == free * budget.free_layers + printed
    assert Counter(job.kind for job in whole.measuring) == {
        "search": len(places),
        "control": 2 + len({spec["layer"] for spec in searches} - {1}),
        "measure": 2 * len(printed_rows()),
    }
    judged = sum(job.kind == "judge" for job in whole.judging)  # the others are cases beside a bound on states
    assert judged == len(list(registry.state_bounds())) * (budget.free_layers + printed)
    assert len(keys(whole)) == len(whole.measuring) + len(whole.judging)


def test_every_judge_job_needs_only_jobs_of_the_plan(whole):
    measured = {job.key for job in whole.measuring}
    assert {key for job in whole.judging for key in job.needs} == measured


def test_one_claim_alone_has_those_searches_of_all_claims_that_its_premises_admit(whole, registry):
    searched = set()
    for registered in registry.state_bounds():
        alone = plan(Settings(claims=(registered.claim.id,)), registry)
        mine = {job.key for job in alone.measuring}
        assert mine == {key for job in alone.judging for key in job.needs} <= {job.key for job in whole.measuring}
        assert keys(alone) <= keys(whole)
        searched |= mine
    assert searched == {job.key for job in whole.measuring}


def test_the_order_of_claims_changes_only_the_order_of_jobs(whole, registry):
    ids = [registered.claim.id for registered in registry.state_bounds()]
    for order in (ids[::-1], ids[2:] + ids[:2], [*ids, *ids]):
        shuffled = plan(Settings(claims=tuple(order)), registry)
        assert keys(shuffled) == keys(whole)
        assert list(dict.fromkeys(job.spec["claim"] for job in shuffled.judging)) == list(dict.fromkeys(order))
    assert plan(Settings(claims=(ids[0].upper().replace(".", " "),)), registry).judging  # a slug names it, too


@pytest.mark.parametrize("change", [{"seed": 1}, {"budget": "standard"}, {"task": "mnist"}])
def test_another_result_has_another_key(whole, registry, change):
    other = plan(replace(whole.settings, **change), registry)
    common = keys(other) & keys(whole)
    kinds = {job.kind for job in whole.measuring if job.key in common}
    judged = [job for job in whole.judging if job.kind == "judge"]
    rest_on_it = [job for job in judged if "data" in job.spec["needs"] or (job.needs and "task" not in change)]
    assert rest_on_it and not common & {job.key for job in rest_on_it}
    assert all(job.needs for job in judged if job.key not in common)  # what no premise admits rests on nothing
    assert kinds == ({"search", "control", "measure"} if "task" in change else set())
    assert {job.seed for job in other.measuring} != {job.seed for job in whole.measuring} or "task" in change


def test_where_and_with_how_many_workers_a_run_is_done_is_in_no_key(whole, registry):
    assert keys(plan(replace(whole.settings, data="elsewhere"), registry)) == keys(whole)
    assert "workers" not in Settings().to_plain() and "store" not in Settings().to_plain()


@pytest.mark.slow
def test_the_text_of_a_claim_is_in_the_key_of_its_judgements_and_in_no_other(tmp_path):
    file = tmp_path / "planted.py"
    file.write_text(PLANTED)
    settings = Settings(claims_dirs=(str(tmp_path),))
    before = plan(settings, Registry((tmp_path,)))
    file.write_text(PLANTED.replace("1000000", "2000000"))
    after = plan(settings, Registry((tmp_path,)))

    def of_the_file(job):
        return str(job.spec.get("claim", "")).startswith("faulty") or job.spec.get("system") == "faulty"

    for old, new in zip((*before.measuring, *before.judging), (*after.measuring, *after.judging), strict=True):
        assert (old.key != new.key) == of_the_file(old)
    assert any(map(of_the_file, before.measuring)) and any(map(of_the_file, before.judging))


def test_the_source_text_of_the_package_is_in_the_keys(whole, registry, monkeypatch):
    monkeypatch.setattr(Closure, "digest", lambda self, read: f"other text of {len(self.files)} files")
    assert not keys(plan(whole.settings, registry)) & keys(whole)


def test_the_version_is_in_the_keys(whole, registry, monkeypatch):
    monkeypatch.setattr(odernn, "__version__", "99")
    assert not keys(plan(whole.settings, registry)) & keys(whole)


def test_real_and_worst_input_meet_the_same_network(whole):
    by_row = {}
    for job in whole.measuring:
        if job.kind == "measure":
            by_row.setdefault(job.spec["row"], []).append(job)
    assert len(by_row) == len(printed_rows())
    for jobs in by_row.values():
        assert {job.spec["input"] for job in jobs} == {"data", "range"}
        assert len({job.seed for job in jobs}) == 1
    assert len({jobs[0].seed for jobs in by_row.values()}) == len(by_row)
