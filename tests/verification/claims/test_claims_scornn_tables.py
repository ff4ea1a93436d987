"""Claims about tables, counts and tasks of the scoRNN paper: verdicts, counts against modules, changed numbers."""

from __future__ import annotations

import dataclasses
from fractions import Fraction as Q
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import nn

from odernn.cells.scornn import ScoRNN
from odernn.orthogonal.restricted_unitary import parameter_count
from odernn.published import scornn as printed
from odernn.published.scornn import PrintedModel, row
from tests.verification.claims import claim_rows as rows
from verification.claim import Case
from verification.claims.scornn import scornn_counts as counted
from verification.claims.scornn import scornn_tables as tables
from verification.claims.scornn import synthetic_tasks as tasks
from verification.measure import parameter_counts as counts
from verification.parameters import RefusedError
from verification.tasks import adding, copying_memory

CLAIMS = {each.id: each for each in (*counted.CLAIMS, *tables.CLAIMS, *tasks.CLAIMS)}
THREE = {("Table 2", "full uRNN", 192), ("Table 3", "full uRNN", 360), ("Sec. 5.1", "restricted uRNN", 470)}
COUNTED = ["refuted" if (each.table, each.model, each.hidden_size) in THREE else "proved" for each in counted._COUNTED]
EXPECTED = {
    "sco-T1T2": [*["proved"] * 31, *COUNTED, "refuted", "proved"],
    "sco-T3tab": ["refuted", "proved", "proved", "refuted", "refuted", "proved", "proved"],
    "sco-5.5.3": ["proved", "not-refuted", "proved", "refuted"],
    "sco-T3time": ["proved"] * 7 + ["refuted"],
    "sco-5.3-tab": ["proved"] * 10 + ["refuted"] * 2 + ["proved"] * 3,
    "sco-5.4-tab": ["proved"] * 6,
    "sco-5.1a": ["proved"] * 2,
    "sco-5.1b": ["refuted", "proved", "proved"],
    "sco-5.2a": ["proved"] * 2,
    "sco-5.2b": ["proved", "refuted", "refuted", "refuted"],
    "thm-base": ["not-refuted", "proved"],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_case_is_answered(name: str) -> None:
    assert rows.verdicts_of(CLAIMS[name]) == EXPECTED[name]
    assert set(EXPECTED) == set(CLAIMS)


@pytest.mark.parametrize("family", (counted, tables, tasks))
def test_a_claim_file_names_no_verdict(family: ModuleType) -> None:
    rows.assert_names_no_verdict(family)


def verdict_of(case: Case) -> str:
    return str(rows.verdict_of(case).verdict)


# Parameters.


@pytest.mark.parametrize("model", counts.MODELS)
def test_the_formula_is_the_sum_of_the_tensors(model: str) -> None:
    for n, m, p in ((1, 1, 1), (5, 3, 2), (170, 1, 10)):
        for convention in counts.conventions():
            formula = counts.by_formula(model, n, m, p, convention)
            assert formula == counts.by_tensors(model, n, m, p, convention)


def test_the_formulas_are_the_parameters_of_modules() -> None:
    n, m, p = 7, 3, 2

    def size(module: nn.Module) -> int:
        return sum(each.numel() for each in module.parameters())

    readout = size(nn.Linear(n, p))
    scornn = size(ScoRNN(m, n, rho=2)) + readout
    assert scornn == counts.by_formula("scoRNN", n, m, p, counts.full_convention("scoRNN"))
    learned = size(ScoRNN(m, n, rho=2, learn_initial_state=True)) + readout
    assert learned == counts.by_formula("scoRNN", n, m, p, counts.OPTIONAL)
    # torch has a second bias vector where the equations have one
    assert size(nn.LSTM(m, n)) - 4 * n + readout == counts.by_formula("LSTM", n, m, p, counts.full_convention("LSTM"))
    assert size(nn.RNN(m, n)) - n + readout == counts.by_formula("RNN", n, m, p, counts.full_convention("RNN"))
    assert counts.by_formula("restricted uRNN", n, m, p, ()) == parameter_count(n) + 2 * n * m + 2 * n * p
    unitary_dimension = torch.linalg.matrix_rank(_unitary_tangents(4))
    assert counts.by_formula("full uRNN", 4, m, p, ()) == unitary_dimension + 2 * 4 * (m + p)


def _unitary_tangents(n: int) -> torch.Tensor:
    """Skew-Hermitian parts of all unit matrices, real and imaginary, as real vectors: they span n² dimensions."""
    rows = []
    for unit in (1.0, 1.0j):
        for place in range(n * n):
            X = torch.zeros(n * n, dtype=torch.complex128)
            X[place] = unit
            X = X.view(n, n) - X.view(n, n).mH
            rows.append(torch.cat((X.real.flatten(), X.imag.flatten())))
    return torch.stack(rows)


def test_there_are_eight_conventions_and_a_count_says_how_it_reads() -> None:
    assert len(counts.conventions()) == len(set(counts.conventions())) == 8
    assert counts.reads_as(135_434, "135k") == counts.reads_as(134_500, "135k") == "rounded"
    assert counts.reads_as(135_500, "135k") == counts.reads_as(135_999, "135k") == "cut off"
    assert [counts.reads_as(count, "2.4k") for count in (2_349, 2_350, 2_450, 2_500)] == ["", "rounded", "cut off", ""]
    assert counts.reads_as(267_786, "270k") == "the last 0 of 270k holding its place"
    assert counts.reads_as(264_999, "270k") == counts.reads_as(134_000, "135k") == ""


def changed(found: PrintedModel, **fields: object) -> PrintedModel:
    return dataclasses.replace(found, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (row("Table 1", "scoRNN", 170), "proved"),
        (changed(row("Table 1", "scoRNN", 170), parameters="32k"), "refuted"),
        (changed(row("Table 1", "scoRNN", 170), parameters="18k"), "refuted"),
        (changed(row("Table 1", "LSTM", 128), model="RNN"), "refuted"),
        (changed(row("Table 3", "RNN", 116), model="full uRNN"), "proved"),
        (changed(row("Table 3", "RNN", 360), model="full uRNN"), "refuted"),  # 137,520 at the least
    ],
)
def test_another_number_or_another_model_turns_the_verdict(found: PrintedModel, expected: str) -> None:
    assert verdict_of(counted.count_case(found)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("15.6k", "proved"), ("15.5k", "refuted"), ("17.2k", "proved"), ("17.3k", "refuted")],
)
def test_about_is_a_twentieth_of_the_printed_number(text: str, expected: str) -> None:
    found = changed(row("Table 1", "full uRNN", 116), parameters=text)  # 16,366
    case = counted.about_case(found, counted.convention_of(found.model))
    assert verdict_of(case) == expected
    sizes = {name: str(size) for name, size in (("n", 116), ("m", found.input_size), ("p", found.outputs))}
    assert bool(rows.doubt_of(case, sizes)) is (expected == "proved")


@pytest.mark.parametrize("name", ["scoRNN", "LSTM", "restricted uRNN", "full uRNN"])
def test_no_other_convention_makes_more_rows_of_a_model_read_as_printed(name: str) -> None:
    own = [each for each in counted._COUNTED if each.model == name]

    def agreeing(convention: frozenset[str]) -> int:
        return sum(verdict_of(counted.count_case(each, convention=convention)) == "proved" for each in own)

    assert agreeing(counted.convention_of(name)) == max(map(agreeing, counts.conventions()))


def test_a_count_that_is_off_by_one_is_refuted() -> None:
    case = counted.counted_case(((row("Table 2", "full uRNN", 192), 136_641), (row("Table 2", "LSTM", 84), 83_077)))
    assert verdict_of(case) == "refuted"
    assert rows.doubt_of(case, {"row": "1", "count": "136641"})
    assert not rows.doubt_of(case, {"row": "2", "count": "83077"})


def test_a_correction_that_is_off_by_one_is_refuted() -> None:
    case = counted.corrected_case({116: 14_858, 360: 133_931})
    assert verdict_of(case) == "refuted"
    assert not rows.doubt_of(case, {"n": "360", "count": "133931"}) and rows.doubt_of(
        case, {"n": "116", "count": "14858"}
    )
    assert case.check is not None
    with pytest.raises(RefusedError, match='"count"'):
        case.check({"n": "360", "count": "14858"})


def test_a_count_of_other_sizes_is_turned_away() -> None:
    case = CLAIMS["sco-T3tab"].cases[0]
    assert not rows.doubt_of(case, {"n": "116", "m": "1", "p": "10"})
    assert case.check is not None
    with pytest.raises(RefusedError, match='"n" is "115": it is 116'):
        case.check({"n": "115", "m": "1", "p": "10"})


def test_rows_as_defined_are_proved_where_all_agree() -> None:
    agreeing = [each for each in printed.TIMIT if (each.model, each.hidden_size) != ("full uRNN", 192)]
    assert verdict_of(counted.as_defined_case(agreeing)) == "proved"
    assert verdict_of(counted.as_defined_case(printed.TIMIT)) == "refuted"


def test_multiplications_are_those_of_an_elimination_that_counts() -> None:
    class Counting(float):
        done = 0

        def __mul__(self, other: float) -> Counting:
            Counting.done += 1
            return Counting(float(self) * float(other))

        def __truediv__(self, other: float) -> Counting:
            Counting.done += 1
            return Counting(float(self) / float(other))

        def __sub__(self, other: float) -> Counting:
            return Counting(float(self) - float(other))

    generator = np.random.default_rng(0)
    for n in (1, 2, 5):
        Counting.done = 0
        A = generator.normal(size=(n, n))
        M = [[Counting(x) for x in line] for line in np.eye(n) + A - A.T]
        X = [[Counting(x) for x in line] for line in np.eye(n) - A + A.T]
        for k in range(n):
            for i in range(k + 1, n):
                factor = M[i][k] / M[k][k]
                M[i] = [*M[i][: k + 1], *(x - factor * y for x, y in zip(M[i][k + 1 :], M[k][k + 1 :], strict=True))]
                X[i] = [x - factor * y for x, y in zip(X[i], X[k], strict=True)]
        for k in reversed(range(n)):
            for j in range(k + 1, n):
                X[k] = [x - M[k][j] * y for x, y in zip(X[k], X[j], strict=True)]
            X[k] = [x / M[k][k] for x in X[k]]
        assert Counting.done == counted.multiplications(n)
        W = np.array(X, dtype=float)
        np.testing.assert_allclose(W.T @ W, np.eye(n), atol=1e-12)


@pytest.mark.parametrize(("below", "above"), [(Q(1), Q(1)), (Q(5, 4), Q(4, 3))])
def test_tighter_limits_on_the_cost_are_refuted(below: Q, above: Q) -> None:
    assert verdict_of(counted.cost_case(below, above)) == "refuted"


# Tables.


def test_numbers_that_are_changed_turn_the_verdicts() -> None:
    small, other = row("Table 3", "scoRNN", 170), row("Table 3", "restricted uRNN", 512)

    def case(minutes: str, relation: tables.PairRelation) -> Case:
        return tables.pairs_case("x", "minutes", [(small, changed(other, results={"minutes": minutes}))], relation, "q")

    for minutes, relation, expected in (
        ("8.2", tables.times("1.5"), "proved"), ("8.2", tables.times("2"), "proved"),
        ("8.8", tables.times("1.5"), "refuted"), ("7.9", tables.times("2"), "refuted"),
        ("5.3", tables.SMALLER, "refuted"), ("5.3", tables.LARGER, "refuted"), ("5.4", tables.SMALLER, "proved"),
    ):  # fmt: skip
        assert verdict_of(case(minutes, relation)) == expected, (minutes, relation.text)


def test_similar_is_half_a_point() -> None:
    one = row("Table 1", "scoRNN", 170)
    for accuracy, expected in (("0.978", "proved"), ("0.979", "refuted"), ("0.968", "proved"), ("0.967", "refuted")):
        other = changed(one, results={**one.results, "MNIST": accuracy})
        case = tables.pairs_case("x", "MNIST", [(one, other)], tables.CLOSE, "similar")
        assert verdict_of(case) == expected


@pytest.mark.parametrize(
    ("relation", "minutes", "expected"),
    [
        (tables.SIMILAR_TIME, "4.24", "proved"), (tables.SIMILAR_TIME, "4.23", "refuted"),
        (tables.SIMILAR_TIME, "6.625", "proved"), (tables.SIMILAR_TIME, "6.63", "refuted"),
        (tables.NO_SLOWER, "50.1", "proved"), (tables.NO_SLOWER, "4.24", "proved"),
        (tables.NO_SLOWER, "4.23", "refuted"),
        (tables.TENTH, "53", "proved"), (tables.TENTH, "52.9", "refuted"),
    ],
)  # fmt: skip
def test_words_of_size_have_one_meaning(relation: tables.PairRelation, minutes: str, expected: str) -> None:
    one = row("Table 3", "scoRNN", 170)  # 5.3 minutes
    case = tables.pairs_case("x", "minutes", [(one, changed(one, results={"minutes": minutes}))], relation, "q")
    assert verdict_of(case) == expected


def test_some_is_refuted_only_for_all() -> None:
    """Without the one larger model that a smaller scoRNN is above; with one that is equal, or as large, as well."""
    ours, theirs = row("Table 1", "scoRNN", 512), row("Table 1", "full uRNN", 512)

    def found(**fields: object) -> str:
        return verdict_of(tables.some_case([ours, changed(theirs, **fields)], "MNIST"))

    assert found() == "proved"
    assert found(results={"MNIST": "0.985"}) == found(parameters="137k") == found(parameters="16k") == "refuted"
    case = tables.some_case([ours, changed(theirs, parameters="137k")], "MNIST")
    assert not rows.doubt_of(case, {"scoRNN": "137 0.985", "others": "137 0.974"})


def test_numbers_that_are_not_printed_are_turned_away() -> None:
    case = next(each for each in CLAIMS["sco-5.3-tab"].cases if each.domain == "no more parameters")
    point = {"pair": "1", "numbers": "0.973 0.976"}
    assert not rows.doubt_of(case, point)
    assert case.check is not None
    with pytest.raises(RefusedError, match=r'"numbers" .*that is 0\.973 0\.976'):
        case.check({**point, "numbers": "0.973 0.977"})


# Tasks.


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (tasks.copying_case(1000, letters=9), "refuted"),
        (tasks.copying_case(1000, letters=7), "refuted"),
        (tasks.copying_case(5, tasks.Strategy(9, "1/9 each")), "refuted"),
        (tasks.copying_case(5, tasks.Strategy(9, "1/9 each"), letters=9), "proved"),
        (tasks.adding_case(Q(1), "0.333"), "refuted"),
        (tasks.adding_case(Q(1, 2)), "refuted"),
        (tasks.memoryless_case(Q(101, 100)), "refuted"),
        (tasks.entries_case(2), "refuted"),
        (tasks.base_case((1,)), "proved"),
        (tasks.marker_case("tenth", (tasks.TENTH,)), "proved"),
    ],
)
def test_false_statements_about_tasks_are_refuted(case: Case, expected: str) -> None:
    assert verdict_of(case) == expected


def test_the_tasks_of_this_library_have_the_layout_that_is_decided() -> None:
    sequences, _, _ = copying_memory.load("train", silence=1000, count=2)
    assert (sequences.argmax(axis=2) == 9).nonzero()[0].tolist() == [1009, 1009]  # entry 1010, counted from 1
    sequences, _, _ = adding.load("train", steps=200, count=1000)
    marked = sequences[..., 1].nonzero()[0] + 1
    assert marked.min() >= 1 and marked.max() <= 199 and (sequences[..., 1].sum(axis=0) == 2).all()


@pytest.mark.parametrize("q", ["1/2 1/2", " ".join(["1/9"] * 8), " ".join(["1/6"] * 6 + ["1/2", "-1/2"])])
def test_what_is_no_distribution_of_eight_letters_is_refused(q: str) -> None:
    case = CLAIMS["thm-base"].cases[0]
    assert case.check is not None
    case.check({"q": " ".join(["1/8"] * 8)})
    with pytest.raises(RefusedError, match='"q"'):
        case.check({"q": q})
