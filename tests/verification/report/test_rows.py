"""From judgements to rows: which part a row shows, what a caption says, and that ids decide nothing."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from verification import verdict
from verification.report.formats import renderer
from verification.report.rows import claims as rows
from verification.report.rows.claims import Facts
from verification.verdict import Judgement

FACTS = Facts("0.1.0", "smoke", 7, ("scikit-learn digits: 1797 images",), judged=2, planned=2)

POSITION = Judgement(
    claim="icml-C.1",
    domain="printed psMNIST-128",
    layer=1,
    quantity="position",
    norm="max",
    symbol="max abs(yₙ)",
    reading="printed",
    verdict=verdict.NOT_REFUTED,
    because="12 evaluations",
    point="α = 1, dt = 1/2, N = 9",
    step=9,
    critical_step=9,
    log_bound=math.log(275.4),
    log_data=math.log(0.787),
    log_range=math.log(4.28),
    log_worst=math.log(130.2),
    log_exact=math.log(130.4),
    slack=0.3253,
    evaluations=458_286,
    control=0.97,
    adversary="beam",
    dominated_by="thm-S",
)
MOMENTUM = replace(POSITION, quantity="momentum", symbol="max abs(zₙ)", slack=0.1, log_bound=math.log(33.0))
FREE = replace(POSITION, domain="free", reading="limit", log_data=None, log_range=None)
REFUTED = replace(
    FREE,
    verdict=verdict.REFUTED,
    because="certified at 128 bits by two back-ends",
    slack=-0.11,
    witness="{}",
    log_worst=math.log(3.12),
    log_bound=math.log(2.40),
)


def test_a_row_shows_the_part_with_the_smallest_slack() -> None:
    (row,) = rows.table([POSITION, MOMENTUM], FACTS).rows
    assert list(map(str, row)) == [
        "icml-C.1",
        "psMNIST-128, layer 1 · printed",
        "max abs(zₙ)",
        "33.0",
        "0.787",
        "4.28",
        "130",
        "130",
        "0.100",
        "not-refuted (4.6e5 evaluations, power control 0.97)",
    ]


def test_a_full_table_has_a_row_a_part_with_its_point() -> None:
    table = rows.table([POSITION, MOMENTUM], FACTS, full=True)
    assert [str(row[2]) for row in table.rows] == ["max abs(yₙ)", "max abs(zₙ)"]
    assert table.columns[-1].name == "at" and str(table.rows[0][-1]) == "α = 1, dt = 1/2, N = 9"


def test_the_numbers_of_a_row_are_those_of_a_part_that_carries_its_verdict() -> None:
    """A vacuous part has a huge slack; beside "vacuous" the numbers of the proved part would explain nothing."""
    proved = replace(MOMENTUM, verdict=verdict.PROVED, slack=0.1)
    vacuous = replace(POSITION, verdict=verdict.VACUOUS, slack=908.2, log_bound=2098.0, because="too large")
    (row,) = rows.table([proved, vacuous], FACTS).rows
    assert (str(row[3]), str(row[8]), str(row[9])) == ("10^911.1", "908", "vacuous (too large)")


def test_a_refuted_part_decides_the_row_and_its_witness_is_numbered() -> None:
    other = replace(REFUTED, layer=2)
    fine = replace(FREE, layer=2, quantity="momentum", slack=-5.0)
    table = rows.table([REFUTED, other, fine], FACTS)
    assert [str(row[9]) for row in table.rows] == ["refuted (witness 1)", "refuted (witness 2)"]
    assert "**refuted** (witness 2)" in renderer("github")(table)
    assert r"\textbf{refuted} (witness 2)" in renderer("latex")(table)
    alone = rows.table([other], FACTS, among=[REFUTED, other, fine])
    assert str(alone.rows[0][9]) == "refuted (witness 2)"


def test_a_theorem_of_the_library_is_tested_and_never_called_not_refuted() -> None:
    (row,) = rows.table([replace(POSITION, origin="library")], FACTS).rows
    assert str(row[9]) == "theorem, tested (4.6e5 evaluations, power control 0.97)"


@pytest.mark.parametrize(
    ("name", "because", "shown"),
    [
        (
            verdict.PROVED,
            "for all weights and n ≤ 784: thm-S ≤ bound, in balls",
            "proved (for all weights and n ≤ 784)",
        ),
        (verdict.INAPPLICABLE, "no admissible instance: α > 0 fails", "inapplicable (α > 0 fails)"),
        (verdict.SUSPECT, "no limit argument: certified on the whole ladder", "suspect (no limit argument)"),
        (verdict.INCONCLUSIVE, "control-failed: best 0.2 of the optimum", "inconclusive (control-failed)"),
        (verdict.ERROR, "ZeroDivisionError: division by zero", "error (ZeroDivisionError)"),
        (verdict.ERROR, "x" * 200, f"error ({'x' * 59}…)"),
    ],
)
def test_a_verdict_says_in_few_words_why(name: str, because: str, shown: str) -> None:
    (row,) = rows.table([replace(POSITION, verdict=name, because=because)], FACTS).rows
    assert str(row[9]) == shown


def test_networks_are_named_and_what_was_chosen_is_marked() -> None:
    assert rows.network(FREE) == "UnICORNN, layer 1 · free"
    assert rows.network(replace(POSITION, domain="printed IMDB", layer=2)) == "IMDB (N = 500 chosen), layer 2 · printed"
    assert rows.network(replace(POSITION, domain="somewhere else")) == "somewhere else, layer 1"


def test_no_number_of_a_row_is_ever_nan_or_infinite() -> None:
    for name in ("log_bound", "log_worst", "slack"):
        with pytest.raises(ValueError, match="nan"):
            rows.table([replace(POSITION, **{name: math.nan})], FACTS)
    with pytest.raises(ValueError, match="inf"):
        rows.table([replace(POSITION, log_bound=math.inf)], FACTS)
    resting = rows.table([replace(POSITION, log_worst=-math.inf, slack=math.inf)], FACTS)
    assert (str(resting.rows[0][6]), str(resting.rows[0][8])) == ("0", "–")
    assert json.loads(renderer("json")(resting))["rows"][0]["log_worst"] is None


def test_records_hold_every_field_unrounded_and_the_name_of_the_witness() -> None:
    record = rows.table([REFUTED], FACTS).data[0]
    assert set(record) == {*REFUTED.to_plain(), "shown", "source", "trained", "odernn", "commit", "run", "arithmetic"}
    assert record["log_bound"] == REFUTED.log_bound and record["witness"] == "icml-c-1-free-layer1-position.json"
    assert record["source"] == "" and record["trained"] is None
    measured = rows.table([POSITION], FACTS).data[0]
    assert measured["source"] == FACTS.sources[0] and measured["trained"] is False


def test_the_caption_says_what_one_has_to_know_and_not_when_it_was() -> None:
    text = " ".join(rows.caption([POSITION, FREE], FACTS))
    for said in ("odernn 0.1.0", "float64", "budget smoke", "seed 7", "1797 images", "untrained", "beam of width 64"):
        assert said in text
    assert "dt sufficiently small is read printed at the published dt, free in the limit dt → 0: icml-C.1." in text
    assert "Dominated by thm-S: icml-C.1." in text
    assert "Incomplete" not in text
    assert "Incomplete: 1 of 2" in " ".join(rows.caption([POSITION], replace(FACTS, judged=1)))


def test_renaming_the_claims_changes_no_verdict_of_the_table() -> None:
    shuffled = [replace(judgement, claim=f"other-{judgement.claim}") for judgement in (POSITION, MOMENTUM, REFUTED)]
    found = [[str(cell) for cell in row[1:]] for row in rows.table([POSITION, MOMENTUM, REFUTED], FACTS).rows]
    assert found == [[str(cell) for cell in row[1:]] for row in rows.table(shuffled, FACTS).rows]


def test_the_summary_adds_up_the_cells_of_every_claim() -> None:
    library = replace(POSITION, claim="thm-S", origin="library")
    nowhere = replace(POSITION, claim="other", verdict=verdict.INAPPLICABLE)
    line = rows.summary([POSITION, MOMENTUM, REFUTED, library, nowhere])
    expected = "3 tried on 2 domains, 5 cells: 1 refuted · 1 theorem, tested · 1 inapplicable"
    assert line == f"claims     {expected}"
    assert rows.summary([]).endswith("none")


def test_a_refutation_is_told_with_the_command_that_replays_it() -> None:
    first, second = rows.refutations([POSITION, REFUTED], "my folder")
    assert first == (
        "refuted    icml-C.1  free domain, layer 1  max abs(yₙ)  measured 3.12 > bound 2.40 at n = 9 "
        "(α = 1, dt = 1/2, N = 9), certified at 128 bits by two back-ends"
    )
    replay = "witness 1; replay: odernn witness verify 'my folder/icml-c-1-free-layer1-position.json'"
    assert second.strip() == replay
    assert rows.refutations([REFUTED], "w", ("claims here",))[1].endswith("--claims 'claims here'")
    assert rows.refutations([POSITION], "w") == []


def test_two_norms_of_one_quantity_get_two_names() -> None:
    both = [REFUTED, replace(REFUTED, norm="euclidean")]
    assert len(set(rows.witness_names(both).values())) == len(rows.verdicts(both)) == 2


def test_expectations_differ_where_a_verdict_differs_is_missing_or_is_extra() -> None:
    found = rows.verdicts([POSITION, MOMENTUM])
    assert found == {
        "icml-C.1 | printed psMNIST-128 | layer 1 | position": "not-refuted",
        "icml-C.1 | printed psMNIST-128 | layer 1 | momentum": "not-refuted",
    }
    assert rows.differences(found, found) == []
    position, momentum = found
    lines = rows.differences(found, {position: "refuted", "gone": "proved"})
    assert lines == [
        f"{position}: not-refuted, expected refuted",
        "gone: expected proved, but it was not judged",
        f"{momentum}: not-refuted, but it is not in the list of expectations",
    ]


def test_a_refuted_claim_says_why_it_fails_and_another_nothing() -> None:
    refuted = Judgement("icml-C.1", "free", 1, "position", "max", "max abs(yₙ)", "limit", verdict.REFUTED, "")
    (said,) = rows.why_they_fail([refuted, refuted])
    assert said.startswith("Why icml-C.1 fails: The proof puts 1 + 2βn dt for (1 + β dt)ⁿ")
    assert rows.why_they_fail([replace(refuted, verdict=verdict.PROVED)]) == ()
    assert rows.why_they_fail([replace(refuted, claim="nobody-knows-it")]) == ()
