"""docs/trained.md: sentences and tables are those of the record, and numbers by hand are those of the record too."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import numpy as np
import pytest

from odernn import cells
from tests.benchmarks.scripts import BENCHMARKS, imported
from tests.benchmarks.slack_runs import run_of

plan = imported("_slack_plan")
script = imported("trained_slack")
page = imported("_slack_page")
head = imported("_slack_head")
numbers = imported("_slack_numbers")
equations = imported("_slack_equations")
words = imported("_slack_words")
RECORD = BENCHMARKS / "results" / "trained_slack.json"


def test_a_run_measured_in_an_older_way_is_named_and_the_last_measured_update_is_said() -> None:
    stale = run_of({"margins | w + α | ": ["h", 0.5]}, {"margins | w + α | ": ["h", 0.5]}) | {"measured_by": 1}
    text = " ".join(page.page({"a": stale}).split())
    assert "in an older way, to be made again: a." in text and "20 updates; 2 checkpoints, the last after 10" in text
    assert "older way" not in page.page({"a": stale | {"measured_by": plan.MEASURED}})


def test_every_statement_of_the_page_is_in_the_ledger() -> None:
    for name, target in re.findall(r"\[[^]]*]\(ledger/(\w+\.md)#([\w-]+)\)", page.PAGE.read_text("utf-8")):
        assert f'<a id="{target}">' in (page.DOCS / "ledger" / name).read_text("utf-8"), target


def test_the_page_is_that_of_the_record_and_its_tables_are_narrow() -> None:
    text = page.PAGE.read_text("utf-8")
    assert text == page.page(script.opened(RECORD))
    assert max(len(line) for line in text.splitlines() if line.startswith("|")) <= 100
    assert max(len(line) for line in text.splitlines()) <= 120
    assert all(f"## {run['task']}" in text for run in script.opened(RECORD).values())


def test_the_head_says_what_holds_what_fails_and_what_never_applies() -> None:
    key, other, never = "states | abs y | icml-C.1", "states | abs y | thm-S", "states | norm y | sam-D.1-b"
    rows = [
        {key: ["h", 2.0, 1.0], other: ["h", 1.5, 1.0], never: ["i"]},
        {key: ["x", 2.0, 2.25], other: ["h", 1.25, 1.0], never: ["i"]},
    ]
    text = " ".join(page.page({"a": run_of(*rows)}).split())
    assert "Checkpoints at which one fails: sequential digits, UnICORNN, seed 0 at 1 of 2; none in the other 0" in text
    assert "Exceeded are the bounds on the states of a unit (icml-C.1) at 1 of 2 checkpoints" in text
    assert "by up to 1.8 times (0.25 decades; " in text and "No published bound holds at every checkpoint" in text
    assert "No network meets the premises of the bounds on the norm of states, α = 0 (sam-D.1-b)" in text
    assert "Of the 1 bounds of this library 1 hold" in text
    assert "| states of a unit | 0.6 × (icml-C.1) | – |" in re.sub(" +", " ", text)
    assert "but for that on the states of a unit, which is exceeded on sequential digits by up to 1.8 times." in text
    held = " ".join(page.page({"a": run_of(rows[0])}).split())
    assert (
        "trained networks keep the published bounds that apply to them. Within ten times what is measured are" in held
    )
    assert "At all 1 checkpoints of a UnICORNN" in held
    assert "hold the published bounds on the states of a unit (icml-C.1)" in held
    assert "has refuted icml-C.1." in held and "No bound is exceeded at any checkpoint" in held


def test_a_bound_above_its_dtype_at_some_checkpoints_holds_at_the_others_only() -> None:
    key, all_steps = "states | norm y | sam-D.1-a", "step Jacobians | ‖dX_N/dX₀‖∞, at N | icml-(27)"
    rows = ({key: ["h", 2.0, 1.0], all_steps: ["h", 2.0, 1.0]}, {key: ["v", 90.0, 1.0], all_steps: ["h", 2.0, 1.0]})
    text = " ".join(page.page({"a": run_of(*rows)}).split())
    assert "hold the published bounds on the Jacobian of all N steps within one layer (icml-(27))." in text
    assert (
        "Above the largest float32 at 1 of 2 checkpoints is the bound on the norm of states, α > 0 (sam-D.1-a)" in text
    )


def test_a_statement_that_holds_in_one_case_and_fails_in_another_has_a_word_for_it() -> None:
    one, through = "step Jacobians | ‖dX_N/dX₀‖∞, at N | icml-(27)", "through layers | ‖dXᴸₙ/dXˡ₁‖∞ | icml-(27)"
    text = " ".join(page.page({"a": run_of({one: ["h", 2.0, 1.0], through: ["x", -0.5, 0.0]})}).split())
    assert "; what holds of icml-(27) is its case of one layer." in text


def test_what_is_refuted_in_general_is_read_off_the_ledger() -> None:
    names = ("icml-C.1", "icml-3.1", "icml-(25)", "icml-(39)", "sam-D.1-a", "sam-54", "sam-67", "sco-5.5.1-A")
    known = {name: head.verdict_of(name) for name in names}
    assert known == {
        "icml-C.1": "refuted",
        "icml-3.1": "refuted",
        "icml-(25)": "proved",
        "icml-(39)": "refuted",
        "sam-D.1-a": "proved",
        "sam-54": "refuted",
        "sam-67": "proved",
        "sco-5.5.1-A": "not-refuted",
    }
    with pytest.raises(ValueError, match=r"unicornn\.md has no verdict of icml-99"):
        head.verdict_of("icml-99")


@pytest.mark.parametrize(
    ("what", "best", "expected"),
    [
        ("validation_loss", 0.163, False),
        ("validation_loss", 0.149, True),
        ("validation_accuracy", 0.9167, False),
        ("validation_accuracy", 0.926, True),
    ],
)
def test_who_takes_away_less_than_a_tenth_of_the_error_without_input_did_not_learn(
    what: str, best: float, expected: bool
) -> None:
    run = run_of({}) | {"validation": {"what": what, "first": best, "best": best}}
    level = {"loss": 1 / 6, "accuracy": 0.9167, "means": ""}
    assert numbers.learned(run) is None and numbers.learned(run | {"without_input": level}) is expected
    said = page._quality([run | {"without_input": level}])
    assert ("Did not learn" in said) is not expected and "without input" in said


def test_a_run_that_has_not_ended_says_its_epochs_of_those_planned() -> None:
    short = run_of({}) | {"epochs": 230, "epochs_planned": 400, "steps": 784}
    whole = run_of({}, seed=1) | {"epochs": 400, "epochs_planned": 400, "steps": 784}
    assert page._epochs([short, whole]) == "**not all ended**: epochs 230 of 400 (seed 0), 400 of 400 (seed 1)"
    assert page._epochs([short]) == "**not ended**: epochs 230 of 400 (seed 0)"
    assert page._epochs([whole]) == "400 epochs" and page._steps([short, whole]) == "N = 784; "


def test_ten_decades_are_written_in_one_way() -> None:
    assert [words.decades(slack) for slack in (9.994, 9.996, 10.0, 99.96, 100.2)] == [
        "9.99",
        "10.0",
        "10.0",
        "100",
        "100",
    ]
    assert [words.times(slack) for slack in (0.0, 0.7, 2.5, 10.0)] == [
        "1.0 times",
        "5.0 times",
        "316 times",
        "10^10.0 times",
    ]


def test_settings_that_were_chosen_elsewhere_are_those_of_that_record() -> None:
    record = json.loads((BENCHMARKS / "results" / "choosing_a_cell.json").read_text("utf-8"))["runs"]
    names = {"coRNN": "CoRNN", "scoRNN": "ScoRNN", "expRNN": "ExpRNN"}
    asked = 0
    for task in plan.TASKS:
        for cell, setting in task.chosen.items():
            final = record[f"{task.name} / {names.get(cell, cell)} / seed 0"]
            assert (setting.rate, setting.label) == (final["rate"], final["label"]), (task.name, cell)
            made = plan.configured(task, next(each for each in plan.CELLS if each.name == cell), 0).to_plain()[
                "network"
            ]
            for key in ("dt", "initial", "forget_bias", "gamma", "epsilon"):
                assert made.get(key, None) == pytest.approx(final["network"].get(key, None)), (task.name, cell, key)
            if cell == "scoRNN":
                wide = cells.get("scornn").suggest(task.steps, hidden_size=64, **setting.option)  # type: ignore[attr-defined]
                assert wide["rho"] == final["network"]["rho"]
            asked += 1
    assert asked == 12


def test_slacks_take_the_least_of_both_states_and_tables_the_worst_seed() -> None:
    keys = ("states | abs y | icml-C.1", "states | abs z | icml-C.1")
    first = run_of({keys[0]: ["h", 2.0, 1.0], keys[1]: ["h", 2.0, 1.75]})
    second = run_of({keys[0]: ["h", 2.0, 1.9], keys[1]: ["-", None, None]}, seed=1)
    assert page.slacks(first, keys) == [(0.25, 0, "h", keys[1])]
    (row,) = page._bounded([first, second])
    assert row[4:] == ("0.10 → 0.10", "0.10, 0")


def test_the_published_score_of_a_scornn_is_a_row_where_its_premise_holds() -> None:
    score, entries = "orthogonality | ‖W*W − I‖_F | ", "margins | 1 − max|a_ij| | sco-T3.1"
    eps = 2.0**-23
    rows = {score: ["-", None, -6.0], entries: ["h", 0.25]}
    made = equations.published_score(rows, size=32, eps=eps)[f"{score}sco-5.5.1-A"]
    bound = math.log10(5 * math.sqrt(32) * eps / math.sin(math.pi / 64))
    assert made == ["h", pytest.approx(bound, abs=1e-8), -6.0]
    assert (
        equations.published_score({**rows, score: ["-", None, bound + 0.1]}, size=32, eps=eps)[f"{score}sco-5.5.1-A"][0]
        == "x"
    )
    assert equations.published_score({**rows, entries: ["f", -1e-3]}, size=32, eps=eps) == {
        f"{score}sco-5.5.1-A": ["i"]
    }
    assert equations.published_score({entries: ["h", 0.25]}, size=32, eps=eps) == {}
    first = run_of({**rows, f"{score}sco-5.5.1-A": made}, {**rows, f"{score}sco-5.5.1-A": ["i"]})
    (row,) = page._bounded([first])
    assert row[1] == "sco-5.5.1-A" and row[4] == f"{bound + 6:.2f} → –"
    text = " ".join(page.page({"a": first}).split())
    assert "At all 1 of a scoRNN with abs(aᵢⱼ) ≤ 1, the one on ‖WᵀW − I‖" in text
    assert "and not refuted sco-5.5.1-A" in text or "has not refuted sco-5.5.1-A" in text


def test_what_an_older_record_does_not_have_is_said_to_be_not_measured() -> None:
    key = "chain rule | abs dE_n/dX_n | icml-(40)"
    chained, older = {key: ["h", 2.0, 1.5]}, {"states | abs y | icml-C.1": ["h", 2.0, 1.0]}
    run = run_of({**older, **chained}, older) | {"cell": "UnICORNN-128", "measured_by": plan.MEASURED - 1}
    run |= {"task": plan.LARGE[0].task, "network": {"cell": "unicornn", "num_layers": 1, "hidden_size": 4}}
    text = " ".join(page.page({"a": run}).split())
    assert "| 1 hold, 1 missing |" in text and "but for 1 of their 2 checkpoints" in text
    assert "are of seed 0, at 1 of its 2 checkpoints: of the others no weights are left." in text
    assert "at all 1 at which they are measured, those on factors and sums of the chain rule (icml-(40))" in text
    (row,) = page._bounded([run_of({"through layers | ‖dXᴸₙ/dXˡ₁‖∞ | sam-54": ["h", 0.5, 0.0]})])
    assert row[2:5] == ("–", "–", "0.50 → 0.50")
    (row,) = page._bounded([run_of({"through layers | ‖dXᴸₙ/dXˡ₁‖∞ | sam-54": ["h", 0.5, 0.25]})])
    assert row[2:5] == ("3.2", "1.8 → 1.8", "0.25 → 0.25")


def test_numbers_by_hand_are_those_of_the_record() -> None:
    by_hand = imported("slack_by_hand")
    files = list(by_hand.published())
    assert files
    asked = 0
    for path, rows in files[:: max(1, len(files) // 12)]:
        found = by_hand.both(path, rows)
        assert by_hand.is_confirmed(found), [str(each) for each in found if not each.agrees]
        asked += len(found)
    assert asked > 200 and not by_hand.is_confirmed([])
    some = next(each for each in found if not each.is_rounding)
    planted = [dataclasses.replace(some, again=wrong) for wrong in (some.recorded + 1e-4, math.nan)]
    assert not any(each.agrees or by_hand.is_confirmed([*found, each]) for each in planted)


def test_a_weight_that_is_off_by_a_thousandth_is_found_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    by_hand = imported("slack_by_hand")
    path, rows = next((path, rows) for path, rows in by_hand.published() if "digits_by_rows_unicornn" in str(path))
    layers, readout, network = by_hand.weights(path)
    layers[0]["V"] = np.array(layers[0]["V"]) * 1.001
    monkeypatch.setattr(by_hand, "weights", lambda _: (layers, readout, network))
    wrong = [each for each in by_hand.both(path, rows) if not each.agrees]
    assert len(wrong) > 10 and any("dE/dθ" in each.key for each in wrong)


def test_the_share_that_the_page_names_is_that_of_the_archive() -> None:
    by_hand, found = imported("slack_by_hand"), json.loads(page.HAND.read_text("utf-8"))
    assert (found["computed"], found["archived"]) == by_hand.covered() and found["agree"]
    assert found["computed"] > 0.75 * found["archived"]
    assert f"drawn from {found['computed']:,} of {found['archived']:,} archived numbers" in page.PAGE.read_text(
        "utf-8"
    ).replace("\n", " ")


def test_the_head_names_a_margin_that_training_leaves() -> None:
    margin = "margins | 1 − max|a_ij| | sco-T3.1"
    text = " ".join(page.page({"a": run_of({margin: ["h", 0.5]}, {margin: ["f", -0.25]})}).split())
    assert "1 − max abs(aᵢⱼ) (sco-T3.1) is not positive at 1 of 2 checkpoints, down to −0.25" in text


def test_what_the_page_calls_certified_is_exceeded_in_the_record_at_those_weights() -> None:
    certified = json.loads(page.CERTIFIED.read_text("utf-8"))
    step = int(certified["network"].rpartition("weights_")[2].partition(".")[0])
    run = script.opened(RECORD)["BIDMC RR / UnICORNN-128 / seed 0"]
    (rows,) = (each["rows"] for each in run["checkpoints"] if each["step"] == step)
    for row in certified["rows"]:
        letter, bound, measured = rows[f"through layers | ‖dXᴸₙ/dXˡ₁‖∞ | {row['statement']}"]
        slack = bound - measured
        assert letter == "x" and row["exceeds"] and row["agree"] and -slack >= row["decades at least"] - 1e-6
