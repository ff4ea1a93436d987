"""How near to practice a claim fails is read off the run: its rungs, the readings, and the verdicts of its cells."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from odernn.published.networks import ROWS, row
from tests.benchmarks.scripts import BENCHMARKS
from verification.answer import blank_of
from verification.domains import ANY_RUNG, INITIALISED, RANGE, REAL_RANGE, TRAINED, Rung, rung_name, rung_of
from verification.readings.reading import Note, Reading, name_of
from verification.registry import Registry
from verification.report.rows import nearness
from verification.report.rows.claims import Facts
from verification.report.rows.ledger import LedgerEntry, LedgerPages
from verification.verdict import NOT_REFUTED, PROVED, REFUTED, Judgement
from verification.witness.file import Witness, to_json

REGISTRY = Registry()
RUNGS = (ANY_RUNG, RANGE, REAL_RANGE, INITIALISED, TRAINED)


def cells(claim: str, refuted: dict[str, float]) -> list[Judgement]:
    """All cells of a claim, those of the given domains and quantities refuted, by so many decades."""
    known = REGISTRY.get(claim).claim
    made = []
    for case in known.cases:
        slack = refuted.get(case.domain)
        verdict = NOT_REFUTED if slack is None else REFUTED
        made.append(replace(blank_of(known, case), verdict=verdict, slack=slack, because=""))
    assert set(refuted) <= {case.domain for case in known.cases}
    return made


def test_rungs_are_ordered_from_any_weights_to_trained_ones() -> None:
    assert list(RUNGS) == sorted(RUNGS)
    assert str(RUNGS[3]) == "as initialised, real inputs"


@pytest.mark.parametrize("rung", RUNGS)
def test_a_domain_names_its_row_and_its_rung(rung) -> None:
    for each in ROWS:
        assert rung_of(rung_name(each, rung)) == (each, rung)
    assert rung_of("free") is None and rung_of("printed RR, as drawn") is None


def test_the_nearest_rung_counts_before_the_size_and_the_size_within_a_rung() -> None:
    one, other, third = (rung_name(row(name), REAL_RANGE) for name in ("RR", "HR", "nCIFAR"))
    low = rung_name(row("psMNIST-128"), RANGE)
    fallen = cells("icml-(27)", {"l = L": -1.0, "printed RR": -5.0, low: -3.0, one: -0.1, other: -0.2})
    best = nearness.nearest(fallen)
    assert best is not None and (best.rung, best.row) == (REAL_RANGE, "HR")
    words = nearness.line(fallen)
    assert words.startswith("the initialisation's range, real inputs, at the hyperparameters of HR, by 0.200 decades")
    assert words.endswith("so too on RR") and third not in words


@pytest.mark.parametrize(
    ("domain", "parameters", "words"),
    [
        (RANGE, {"w": "1/2 1/2", "u": "0 -4300000000000000"}, "the initialisation's range, inputs |u| up to 10^15.6,"),
        (ANY_RUNG, {"w": "0 -1353/100", "u": "0"}, "weights |w| up to 13.5, no input,"),
        (ANY_RUNG, {"N": "4000"}, ""),
        (INITIALISED, {"w": "1", "u": "7"}, "as initialised, real inputs,"),
    ],
)
def test_what_a_rung_leaves_free_is_said_with_its_size(domain: Rung, parameters: dict[str, str], words: str) -> None:
    """The initialisation's range with inputs of 10^15 is nobody's network."""
    known = REGISTRY.get("icml-3.1").claim
    case = next(case for case in known.cases if case.domain == rung_name(row("RR"), RANGE))
    witness = to_json(Witness(known.id, case.domain, case.quantity, parameters))
    cell = replace(blank_of(known, case), verdict=REFUTED, slack=-0.5, witness=witness, because="")
    cell = replace(cell, domain=rung_name(row("RR"), domain))
    line = nearness.line([replace(cell, domain="L = 1", quantity="|dE/dθ|"), cell])
    assert line == f"{words} at the hyperparameters of RR, by 0.500 decades".strip()


def test_what_holds_at_the_printed_hyperparameters_is_said_so() -> None:
    held = cells("icml-(27)", {"l = L": -1.0, "l < L": -1.0})
    assert nearness.nearest(held) is None
    assert "no violation at the hyperparameters of Table 6 is certified (17 not-refuted)" in nearness.line(held)
    assert nearness.line([replace(cell, verdict=PROVED) for cell in held]) == ""
    sure = [replace(cell, verdict=PROVED) if rung_of(cell.domain) else cell for cell in held]
    assert nearness.line(sure).startswith("nowhere: proved in the 17 cases of Table 6")
    assert nearness.line(cells("sam-D.2", {"free, L = 2": -1.0})) == nearness.ELSEWHERE


@pytest.mark.parametrize(
    ("kind", "counts"), [("part", True), ("wider", True), ("in floats", False), ("literal", False)]
)
def test_a_note_of_another_convention_is_no_nearness(monkeypatch: pytest.MonkeyPatch, kind: str, counts: bool) -> None:
    known = REGISTRY.get("sam-54").claim
    cell = replace(blank_of(known, known.cases[0]), domain="printed RR", verdict=REFUTED)
    reading = Reading("sam-54", "", "", notes=(Note(kind, "", (name_of(cell),)),))
    monkeypatch.setattr(nearness, "reading_of", lambda claim: reading)
    assert [each.row for each in nearness.rated([cell])] == ["RR"] * counts


def test_the_ledger_has_one_line_with_a_link_under_a_refuted_claim_on_unicornn() -> None:
    run = cells("sam-54", {"l < L, w^l free": -0.5, rung_name(row("RR"), INITIALISED): -0.25})
    entries = {"sam-54": LedgerEntry("sam-54", "sam", "(54)", "text", "published")}
    book = LedgerPages(run, entries, Facts("0", "smoke", 0))
    said = "*Nearness*: as initialised, real inputs, at the hyperparameters of RR, by 0.250 decades ([how near]({}))."
    assert said.format("nearness.md") in book.page().splitlines()
    assert said.format("../nearness.md") in book.pages()["unicornn.md"].splitlines()
    assert book.housed("ledger/").nearness("sam-54").endswith("([how near](nearness.md))")
    elsewhere = LedgerPages(run, {"sam-54": replace(entries["sam-54"], paper="odernn")}, Facts("0", "smoke", 0))
    assert "*Nearness*" not in elsewhere.page()


def test_trained_networks_that_exceed_a_bound_are_named_with_the_stage() -> None:
    def stage(**slack: float) -> dict[str, Any]:
        return {"slack": [slack, {name: value + 1 for name, value in slack.items()}]}

    run = {"row": "RR", "task": "bidmc", "epochs": 489, **stage(a=0.5, b=-0.06, c=-0.5, d=0.1)}
    run["along"] = [
        {"step": 0, **stage(a=0.2, b=-0.29, c=1.0, d=-0.4)},  # as initialised, not as trained
        {"step": 17, **stage(a=-0.9, b=-0.1, c=1.0, d=0.2)},
    ]
    head = "RR trained on bidmc for 489 epochs, by "
    assert nearness.as_trained({"trained": [run]}) == {
        "a": head + "0.900 decades after 17 updates, by none at the best weights, in floats",
        "b": head + "0.100 decades after 17 updates, by 0.060 decades at the best weights, in floats",
        "c": head + "0.500 decades at the best weights, in floats",
    }
    proved = [{"claim": "c", "step": 17, "decades": 0.25}]
    assert nearness.as_trained({"trained": [run], "certified": proved})["c"] == (
        head
        + "0.500 decades at the best weights, in floats; certified of one network, by 0.250 decades after 17 updates"
    )
    other = {
        **run,
        "epochs": 320,
        **stage(a=0.5, b=0.4, c=-0.1, d=0.3),
        "along": [{"step": 17, **stage(a=1, b=-0.2, c=1, d=1)}],
    }
    head = "RR trained on bidmc for 320 to 489 epochs (2 of 2 seeds), by "
    assert nearness.as_trained({"trained": [run, other]}) == {
        "a": head.replace("2 of", "1 of") + "0.900 decades after 17 updates, by none at the best weights, in floats",
        "b": head + "0.200 decades after 17 updates, by 0.060 decades at the best weights, in floats",
        "c": head + "0.500 decades at the best weights, in floats",
    }


def test_the_record_says_which_trained_networks_exceed_which_bounds() -> None:
    """At RR, as App. A and the published code have it; nowhere else."""
    found = nearness.as_trained(json.loads((BENCHMARKS / "results" / "nearness.json").read_text("utf-8")))
    assert set(found) == {"icml-(27)", "sam-54"}
    whose = re.compile(r"RR trained on bidmc for \d+( to \d+)? epochs \(3 of 3 seeds\), by [^;]*; certified of [^;]*")
    assert all(whose.fullmatch(words) for words in found.values())
