"""Sentences about printed tables: the transcription, the verdicts, and numbers that are changed to see them turn."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

import pytest

from odernn.architecture import get, measures_of
from odernn.published import complexity as printed
from odernn.published.complexity import PrintedRow, half_a_digit, row
from tests.verification.claims.claim_rows import doubt_of
from verification import verdict
from verification.answer import answer
from verification.cases.parameter_counts import quarter_case
from verification.certify.second.graph import parse
from verification.claim import Case, Claim
from verification.claims.complexity import graph_tables as tables
from verification.claims.unicornn import printed_results
from verification.domains import BUDGETS
from verification.measure.described_graphs import section_4_5
from verification.measure.graph_parameters import LSTMS, STANH

SMOKE = BUDGETS["smoke"]
CLAIMS: dict[str, Claim] = {each.id: each for each in (*tables.CLAIMS, *printed_results.CLAIMS)}
CASES = [(name, number) for name, each in CLAIMS.items() for number in range(len(each.cases))]


def judged(case: Case, name: str = "cplx-4.5-tab") -> str:
    """The verdict on a case, as if it were one of the claim's."""
    return answer(dataclasses.replace(CLAIMS[name], cases=(case,)), case, SMOKE, seed=1).verdict


def changed(found: PrintedRow, **numbers: str) -> PrintedRow:
    return dataclasses.replace(found, numbers={**found.numbers, **numbers})


# The transcription.

SUMS = {
    "Table 1 left": [Fraction("6.16"), Fraction("7.19"), Fraction("6.59"), Fraction("6.59"), Fraction("6.06")],
    "Table 1 right": [Fraction("16.75")],
    "Table 2, by s": [Fraction("329.9"), Fraction("390.1"), Fraction("401.0"), Fraction("242.4")],
    "Table 2, by architecture": [Fraction("210.9"), Fraction("220.8"), Fraction("278.0"), Fraction("292.1")],
    "Table 2, previous results": [Fraction("423.4"), Fraction("390.4")],
    "Section 4.4": [Fraction("0.3384"), Fraction("0.3353")],
    "Section 4.2": [Fraction("2.97"), Fraction("3.03")],
}
"""Added up by hand from the tables of the paper, row by row."""


@pytest.mark.parametrize("table", SUMS)
def test_the_rows_add_up_as_those_of_the_paper(table: str) -> None:
    rows = [each for each in printed.ROWS if each.table == table]
    assert [sum(map(each.value, each.numbers)) for each in rows] == SUMS[table]


def test_every_row_is_summed() -> None:
    assert {each.table for each in printed.ROWS} == set(SUMS)
    assert sum(map(len, SUMS.values())) == len(printed.ROWS) == 20
    assert len({(each.table, each.name) for each in printed.ROWS}) == len(printed.ROWS)


def test_a_row_that_is_not_printed_is_named_with_those_that_are() -> None:
    with pytest.raises(LookupError, match="Table 2, by s: LSTM, pMNIST"):
        row("Table 2, by s", "GRU, MNIST")


def test_half_a_digit() -> None:
    assert [half_a_digit(text) for text in ("0.0975", "34.9", "8")] == [
        Fraction(1, 20000),
        Fraction(1, 20),
        Fraction(1, 2),
    ]


def test_table_5_adds_up() -> None:
    accuracy, counts = (
        sum(map(each.value, each.numbers)) for each in (printed_results.ACCURACY, printed_results.PARAMETERS)
    )
    assert (accuracy, counts) == (Fraction("605.8"), 879)


# What is found.

REFUTED = {
    ("cplx-4.3-tab", 3),
    *(("cplx-4.4-copy", number) for number in (2, 3, 6, 10, 11, 14, 15)),
    ("cplx-4.4-tab", 9),
    ("cplx-4.4-tab", 10),
    ("cplx-4.4-tab", 14),
    ("both-4-T5-tab", 2),
    ("cplx-4.5-tab", 11),
    ("cplx-4.5-tab", 14),
    ("cplx-4.5-tab", 15),
    ("cplx-4.5-tab", 21),
    ("cplx-4.5-tab", 22),
}
"""Every other case is proved."""


@pytest.mark.parametrize(("name", "number"), CASES)
def test_every_case_is_answered(name: str, number: int) -> None:
    case = CLAIMS[name].cases[number]
    found = answer(CLAIMS[name], case, SMOKE, seed=1)
    assert found.verdict == (verdict.REFUTED if (name, number) in REFUTED else verdict.PROVED), found.because
    if found.verdict == verdict.REFUTED:
        parameters = json.loads(found.witness)["parameters"]
        assert not doubt_of(case, parameters)


def test_all_statements_on_tables_are_there() -> None:
    assert {name: len(each.cases) for name, each in CLAIMS.items()} == {
        "cplx-4.2-tab": 7,
        "cplx-4.3-tab": 7,
        "cplx-4.4-copy": 18,
        "cplx-4.4-tab": 15,
        "cplx-4.5-tab": 32,
        "both-4-T1-tab": 1,
        "both-4-T2-tab": 1,
        "both-4-T3-tab": 2,
        "both-4-T4-tab": 2,
        "both-4-T5-tab": 3,
        "icml-D-T7-tab": 2,
    }
    assert set(CASES) >= REFUTED


# Numbers that are changed.

TD = printed.STRUCTURES[0]
BY_S = printed.LADDERS[0]
BY_K = printed.ARCHITECTURES[0]
MNIST, PERMUTED = printed.PREVIOUS


def depths(found: PrintedRow) -> Case:
    """Every first step up: at (3,1) and (2,2) there are two."""
    return tables.columns_case(
        found, "steps", lambda: [*tables._second_step("d_r"), *tables._second_step("d_f")], tables.LESS
    )


@pytest.mark.parametrize("changed_to", [{"(2,1)": "1"}, {"(2,2)": "1"}, {"(3,1)": "9"}, {"(3,2)": "9"}])
def test_both_steps_from_two_to_three_are_read(changed_to: dict[str, str]) -> None:
    """Along d_f from (2,1) to (3,1) and from (2,2) to (3,2): one that does not improve is enough."""
    found = changed(tables.DEPTH_ROW, **changed_to)
    case = tables.columns_case(found, "steps", lambda: tables._second_step("d_f"), tables.LESS)
    assert judged(case) == verdict.REFUTED


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (tables.columns_case(changed(TD, td="1.54"), "td", lambda: [("td", "sh")], tables.LESS), verdict.REFUTED),
        (tables.columns_case(changed(TD, td="1.54"), "td", lambda: [("td", "sh")], tables.NOT_MORE), verdict.PROVED),
        (tables.columns_case(changed(TD, td="1.55"), "td", lambda: [("td", "sh")], tables.NOT_MORE), verdict.REFUTED),
        (depths(tables.DEPTH_ROW), verdict.PROVED),
        (tables.no_gain_case(printed.LADDERS[2], "1"), verdict.REFUTED),
        (tables.no_gain_case(changed(printed.LADDERS[2], **{"5": "88.2"}), "3"), verdict.REFUTED),
        (tables.no_gain_case(changed(printed.LADDERS[2], **{"5": "88.1"}), "3"), verdict.PROVED),
        (tables.rising_case(printed.LADDERS[3], "1", "6"), verdict.REFUTED),
        (printed_results.fewer_case(Fraction(16, 46)), verdict.PROVED),
        (printed_results.fewer_case(Fraction(17, 46)), verdict.REFUTED),
        (printed_results.comparable_case(printed_results.QUIET, Fraction(1, 10)), verdict.PROVED),
        (printed_results.comparable_case(printed_results.QUIET, Fraction(9, 100)), verdict.REFUTED),
        (printed_results.comparable_case(printed_results.CHAOTIC), verdict.REFUTED),
        (printed_results.above_case(changed(printed_results.PSMNIST, coRNN="97.7")), verdict.PROVED),
        (printed_results.above_case(changed(printed_results.PSMNIST, coRNN="97.8")), verdict.REFUTED),
        (printed_results.below_case(changed(printed_results.BEATS, coRNN="1.39")), verdict.REFUTED),
        (printed_results.exceeds_case(printed_results.WORMS, "90.3"), verdict.REFUTED),
        (depths(changed(tables.DEPTH_ROW, **{"(3,2)": "1.86"})), verdict.REFUTED),
        (tables.columns_case(changed(BY_K, **{"(3)": "39.4"}), "3", lambda: [("(2)", "(3)")], tables.LESS), "refuted"),
        (tables.almost_case(changed(BY_K, **{"(2)": "40.5"}), "(2)", "(1)"), verdict.REFUTED),
        (tables.some_gap_case(dataclasses.replace(BY_S, numbers={"1": "34.9", "5": "44.8"})), verdict.REFUTED),
        (tables.some_gap_case(dataclasses.replace(BY_S, numbers={"1": "34.9", "5": "44.9"})), verdict.PROVED),
        (tables.against_one_case(changed(BY_S, **{"5": "44.8"})), verdict.REFUTED),
        (tables.against_one_case(changed(BY_S, **{"5": "44.9"})), verdict.PROVED),
        (tables.almost_case(changed(MNIST, stanh="97.2"), "stanh", "LSTM"), verdict.REFUTED),
        (tables.almost_case(changed(MNIST, stanh="99.2"), "stanh", "LSTM"), verdict.REFUTED),
        (tables.gain_case(changed(PERMUTED, stanh="93.9"), "stanh", "uRNN", "2.6"), verdict.REFUTED),
        (tables.gain_case(PERMUTED, "stanh", "iRNN", "2.6"), verdict.REFUTED),
    ],
)
def test_a_number_that_is_changed_changes_the_verdict(case: Case, expected: str) -> None:
    assert judged(case) == expected


@pytest.mark.parametrize("make", [tables.larger_is_better_case, tables.cause_case])
def test_architectures_in_another_order_are_refuted(make, monkeypatch: pytest.MonkeyPatch) -> None:
    """(3) and (4) exchanged; (2) as good as (4)."""
    wrong = {"(3)": "77.8", "(4)": "54.2"} if make is tables.larger_is_better_case else {"(2)": "77.8"}
    other = changed(BY_K, **wrong)
    monkeypatch.setattr(printed, "ARCHITECTURES", (other,))
    assert judged(make(other)) == verdict.REFUTED


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0.0944", verdict.PROVED), ("0.0946", verdict.REFUTED), ("0.0945", verdict.INCONCLUSIVE)],
)
def test_the_baseline_and_what_rounding_leaves_open(text: str, expected: str) -> None:
    """thm-base: 0.0945201 nats at T = 200; 0.0945 may be less or more."""
    found = changed(printed.COPYING[0], **{"40": text})
    assert judged(tables.baseline_case(found, "40", tables.METRICS[0]), "cplx-4.4-copy") == expected


@pytest.mark.parametrize("change", [{"T": "300"}, {"low": "1/2"}, {"share": "1/4"}, {"printed": "1/2"}, {"s": "30"}])
def test_a_cross_entropy_that_is_not_printed_is_turned_away(change: dict[str, str]) -> None:
    case = CLAIMS["cplx-4.4-copy"].cases[6]
    point = {"T": "200", "s": "40", "printed": "39/400", "low": "1949/20000", "share": "1/22"}
    assert not doubt_of(case, point)
    ((name, value),) = change.items()
    assert f'Parameter "{name}" is "{value}"' in doubt_of(case, {**point, **change})


@pytest.mark.parametrize("change", [{"numbers": "1.86 1.85"}, {"columns": '["(2,1)", "(3,3)"]'}])
def test_numbers_that_are_not_printed_are_turned_away(change: dict[str, str]) -> None:
    case = CLAIMS["cplx-4.3-tab"].cases[3]
    point = {"columns": '["(2,3)", "(3,3)"]', "numbers": "1.86 1.86"}
    assert not doubt_of(case, point)
    ((name, value),) = change.items()
    assert f'Parameter "{name}" is "{value}"' in doubt_of(case, {**point, **change})


def test_the_skip_coefficients_are_those_of_the_graphs() -> None:
    """s of the pairs that are compared: measured by another route, ``measures_of``."""
    k = int(BY_K.name.rpartition(" ")[2])
    names = {"(1)": "4.5(1)", **{f"({number})": f"4.5({number})-{k}" for number in (2, 3, 4)}}
    s = {column: measures_of(get(name)).s for column, name in names.items()}
    assert s == {"(1)": 1, "(2)": 1, "(3)": Fraction(k, 2), "(4)": k}
    assert set(tables._pairs(BY_K)) == {(a, b) for a in s for b in s if s[a] > s[b]}


def test_shortest_paths_are_compared_over_k_and_over_a_multiple_of_it() -> None:
    assert judged(tables.shortest_case(printed.ARCHITECTURES)) == verdict.PROVED
    assert judged(tables.shortest_case(printed.ARCHITECTURES, turns=1)) == verdict.REFUTED


@pytest.mark.parametrize("number", [2, 3])
def test_the_shortest_paths_that_are_counted_are_those_of_the_unfolding(number: int) -> None:
    for k in (2, 3, 5):
        lengths = parse(section_4_5(number, k)).lengths(0, 3 * k, min, between=True)
        assert {n: tables._least_edges(number, n, k) for n in lengths} == lengths


def test_a_larger_s_on_permuted_mnist_is_refuted() -> None:
    tanh, permuted = printed.LADDERS[:2]
    assert judged(tables.smaller_case("tanh RNN", tanh, permuted)) == verdict.PROVED
    assert judged(tables.smaller_case("tanh RNN", permuted, tanh)) == verdict.REFUTED


@pytest.mark.parametrize(("units", "expected"), [(134, verdict.PROVED), (128, verdict.REFUTED), (141, verdict.REFUTED)])
def test_a_quarter_is_a_quarter(units: int, expected: str) -> None:
    """2 · 95² is a quarter of 4 · 134.35²."""
    lstm = next(iter(LSTMS.values()))._replace(n=units)
    assert judged(quarter_case(STANH, lstm, "LSTM")) == expected
