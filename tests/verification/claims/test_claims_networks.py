"""Networks on graphs and their sizes: every case is answered, witnesses replay, planted faults are seen."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from odernn.architecture import GraphRNN, get, hidden_size_for, parameter_count
from odernn.published.complexity import EQUAL_SIZES
from tests.verification.claims.claim_rows import doubt_of
from verification import verdict
from verification.answer import answer
from verification.cases import parameter_counts
from verification.cases.parameter_counts import MEANINGS
from verification.claim import Case, Claim, Parameters
from verification.claims.complexity import graph_counts, graph_lstm, graph_networks
from verification.claims.complexity.graph_lstm import EVERY, OWN, PRINTED, Index, Special
from verification.commands import witness
from verification.domains import BUDGETS
from verification.measure import graph_parameters
from verification.measure.graph_parameters import READINGS, CountedNetwork, by_formula, by_tensors
from verification.parameters import Guarded

SMOKE = BUDGETS["smoke"]
CLAIMS: dict[str, Claim] = {
    each.id: each for file in (graph_counts, graph_lstm, graph_networks) for each in file.CLAIMS
}
CASES = [(name, number) for name, each in CLAIMS.items() for number in range(len(each.cases))]
WHOLE, ONE_UNIT = MEANINGS
ALL = "hidden matrices, input, biases, read-out"


def judged(case: Case, name: str = "cplx-B.1") -> str:
    """The verdict on a case, as if it were one of the claim's."""
    return answer(dataclasses.replace(CLAIMS[name], cases=(case,)), case, SMOKE, seed=1).verdict


# What is found.

REFUTED = {
    ("cplx-4.4-lstm", 2), ("cplx-4.4-lstm", 3), ("cplx-4.4-lstm", 6), ("cplx-4.4-lstm", 7),
    ("cplx-B.1", 1), ("cplx-B.1", 2), ("cplx-B.2a", 0), ("cplx-B.2a", 3), ("cplx-B.2a", 5),
    ("cplx-B.2b", 0), ("cplx-B.2b", 2), ("cplx-B.2b", 3), ("cplx-B.2b", 5), ("cplx-B.2b", 6), ("cplx-B.2b", 8),
}  # fmt: skip
RUNS = {("cplx-B.1", 3), *(("cplx-B.2a", number) for number in range(7, 13))}
"""Cases that run networks in float64: nothing is proved of them. Every other case is."""
LARGEST_SEED = 16**15 - 1
"""Of a job."""


@pytest.mark.parametrize(("name", "number"), CASES)
def test_every_case_is_answered(name: str, number: int) -> None:
    key = (name, number)
    expected = verdict.REFUTED if key in REFUTED else verdict.NOT_REFUTED if key in RUNS else verdict.PROVED
    case = CLAIMS[name].cases[number]
    found = answer(CLAIMS[name], case, SMOKE, seed=1)
    assert found.verdict == expected, found.because
    if expected == verdict.REFUTED:
        parameters = json.loads(found.witness)["parameters"]
        assert not doubt_of(case, parameters)


def test_all_statements_on_networks_are_there() -> None:
    assert set(CLAIMS) == {f"cplx-{name}" for name in ("4.4-par", "4.4-lstm", "B.4-8K", "B.1", "B.2a", "B.2b")}
    assert len(CASES) == 6 + 8 + 2 + 4 + 14 + 9
    assert {*REFUTED, *RUNS} <= set(CASES)


@pytest.mark.parametrize(("name", "number"), sorted(RUNS))
def test_the_same_seed_gives_the_same_answer(name: str, number: int) -> None:
    case = CLAIMS[name].cases[number]
    state = torch.random.get_rng_state()
    first = case.ask(SMOKE, LARGEST_SEED)
    torch.rand(3)
    again = case.ask(SMOKE, LARGEST_SEED)
    assert first == again
    assert any(case.ask(SMOKE, LARGEST_SEED - less) != first for less in range(1, 9))  # roundings are often equal
    torch.random.set_rng_state(state)
    case.ask(SMOKE, LARGEST_SEED)
    assert torch.equal(torch.random.get_rng_state(), state)


# Counting.

SIZES = list(itertools.product((1, 2), (1, 3, 8), (1, 2), (1, 5)))


@pytest.mark.parametrize("reading", READINGS)
def test_the_closed_forms_are_the_sums_over_tensors(reading: str) -> None:
    for edges, n, d, outputs in SIZES:
        network = CountedNetwork(reading, edges, n, d, outputs)
        assert by_formula(network) == by_tensors(network)


@pytest.mark.parametrize(
    ("reading", "options"),
    [
        ("tanh", {}),
        ("LSTM, own edge", {"unit": "multidimensional-lstm", "forget_reads": "own"}),
        ("LSTM, every edge", {"unit": "multidimensional-lstm", "forget_reads": "all"}),
    ],
)
def test_the_numbers_are_those_of_the_library(reading: str, options: dict) -> None:
    for edges, n, d, outputs in SIZES:
        counts = by_formula(CountedNetwork(reading, edges, n, d, outputs))
        graph = get("sh" if edges == 1 else "skip-5")
        assert counts[ALL] == parameter_count(graph, n, d, outputs, **options)
        network = GraphRNN(graph, n, d, output_size=outputs, **options)
        tensors = dict(network.named_parameters())
        assert counts[ALL] == sum(each.numel() for each in tensors.values())
        hidden = [each.numel() for key, each in tensors.items() if key.startswith("weight.h1->h1")]
        assert counts["hidden matrices"] == sum(hidden)
        biases = sum(each.numel() for key, each in tensors.items() if key == "bias.h1")
        assert counts["hidden matrices, biases"] == sum(hidden) + biases


def test_the_usual_lstm_is_that_of_torch() -> None:
    module = torch.nn.LSTM(3, 7, bias=False)
    counts = by_formula(CountedNetwork("LSTM, every edge", 1, 7, 3, 2))
    assert counts["hidden matrices, input"] == sum(each.numel() for each in module.parameters())


def test_the_printed_sizes_by_rounding() -> None:
    """By hidden matrices alone 512 and 64 are the nearest whole numbers; 90 is the second nearest."""
    plain, skip = get("sh"), get("skip-40")

    def hidden(n: int, edges: int) -> int:
        return by_formula(CountedNetwork("tanh", edges, n, 1, 1))["hidden matrices"]

    assert [hidden(n, 1) - hidden(m, 2) for n, m in ((724, 512), (128, 90), (90, 64))] == [-112, 184, -92]
    assert 128**2 - hidden(91, 2) == -178
    assert hidden_size_for(plain, parameter_count(skip, 512, bias=False), bias=False) == 724


@pytest.mark.parametrize("wrong", [{"skip_units": 362}, {"skip_units": 724}, {"units": 512}])
@pytest.mark.parametrize("meaning", MEANINGS)
def test_sizes_that_are_not_alike_are_refuted(wrong: dict[str, int], meaning: str) -> None:
    """The planted falsehood: the same number of units in both, or half of them."""
    sizes = dataclasses.replace(EQUAL_SIZES[0], **wrong)
    assert judged(parameter_counts.equal_case(sizes, "tanh", "tanh", meaning)) == verdict.REFUTED


def test_one_unit_is_narrower_than_a_tenth() -> None:
    sizes = dataclasses.replace(EQUAL_SIZES[0], skip_units=500)
    assert judged(parameter_counts.equal_case(sizes, "tanh", "tanh", WHOLE)) == verdict.PROVED
    assert judged(parameter_counts.equal_case(sizes, "tanh", "tanh", ONE_UNIT)) == verdict.REFUTED


def test_a_wrong_closed_form_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = dataclasses.replace(READINGS["tanh"], hidden=lambda K: K + 1)
    monkeypatch.setattr(graph_parameters, "READINGS", {**READINGS, "tanh": wrong})
    assert judged(CLAIMS["cplx-4.4-par"].cases[0]) == verdict.ERROR
    assert judged(CLAIMS["cplx-B.4-8K"].cases[0]) == verdict.ERROR


@pytest.mark.parametrize(
    ("printed", "expected"), [("9k", verdict.PROVED), ("7k", verdict.REFUTED), ("10k", verdict.REFUTED)]
)
def test_another_printed_count_is_judged_by_the_conventions(printed: str, expected: str) -> None:
    """9k is 9,190 with everything counted; 7k and 10k are nothing."""
    assert judged(parameter_counts.printed_count_case("sh", CountedNetwork("tanh", 1, 90, 1, 10), printed)) == expected


@pytest.mark.parametrize(("name", "d_r", "d_f"), [("sh", 2, 2), ("sh", 1, 3), ("td", 1, 2)])
def test_other_measures_are_refuted(name: str, d_r: int, d_f: int) -> None:
    assert judged(graph_counts.shape_case(name, d_r, d_f)) == verdict.REFUTED


# Networks.


@pytest.mark.parametrize("fades", [False, True])
def test_edges_determine_the_states_where_sets_of_nodes_do_not(fades: bool) -> None:
    """With the edges as data, the pairs that are left are one graph in two orders; with sets of nodes they are not."""
    case = graph_networks.determined_case("edges", graph_networks.all_edges, fades=fades)
    assert case.ask(SMOKE, 1).evaluations > 0
    assert judged(case) == verdict.PROVED
    assert judged(graph_networks.determined_case("nodes", graph_networks.in_sets, fades=fades)) == verdict.REFUTED


def test_an_expression_knows_its_edges_and_not_their_order() -> None:
    one = graph_networks.parse(two_networks()["other"])
    turned = dataclasses.replace(one, edges=one.edges[::-1])
    for fades in (False, True):
        written = {graph_networks.unfolded_expression(graph, "h1", 2, fades=fades) for graph in (one, turned)}
        assert len(written) == 1 and ("W(h1, 2)" in written.pop()) == fades


def two_networks() -> Parameters:
    edges = '["in", "h1", 0], ["h1", "out", 0], ["h1", "h1", 1]'
    nodes = '"period": 1, "nodes": {"in": 0, "h1": 0, "out": 0}, "inputs": ["in"], "outputs": ["out"]'
    graph, other = (f'{{{nodes}, "edges": [{edges}{more}]}}' for more in ("", ', ["h1", "h1", 2]'))
    return {"graph": graph, "other": other, "node": "h1", "time": "2", "x": "1 0 0", "W(in)": "1", "W(h1)": "1/2"}


def test_two_networks_typed_by_hand_are_certified() -> None:
    case = CLAIMS["cplx-B.1"].cases[1]
    assert not doubt_of(case, two_networks())


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"time": "1"}, "does not certify"),
        ({"x": "0 0 0"}, "does not certify"),
        ({"W(h1)": "0"}, "does not certify"),
        ({"time": "3"}, "at a time of the input"),
        ({"node": "out"}, "a hidden node"),
        ({"other": two_networks()["other"].replace('["h1", "h1", 1], ', "").replace("2]", "0]")}, "(1) to (3)"),
        ({"other": two_networks()["other"].replace('"in", "h1", 0', '"h1", "h1", 3')}, "condition (R) fails"),
    ],
)
def test_two_networks_that_show_nothing_are_turned_away(change: Parameters, doubt: str) -> None:
    case = CLAIMS["cplx-B.1"].cases[1]
    assert doubt in doubt_of(case, {**two_networks(), **change})


def test_a_network_whose_matrix_moved_is_seen() -> None:
    """The planted fault: one entry of one matrix, by 1e-12."""

    def change(network: GraphRNN) -> None:
        with torch.no_grad():
            network.weight["h1->h1:2"][0, 0] += 1e-12

    assert judged(graph_networks.edges_case(("skip-2",), change)) == verdict.SUSPECT
    assert judged(graph_networks.edges_case(("skip-2",))) == verdict.NOT_REFUTED


# The multidimensional LSTM.


def test_an_extra_gate_that_is_one_is_no_usual_lstm() -> None:
    assert graph_lstm.is_same_cell(0) and not graph_lstm.is_same_cell(1)
    for output in graph_lstm.OUTPUTS:
        assert judged(graph_lstm.contains_case(output, output, extra=1)) == verdict.REFUTED
        assert judged(graph_lstm.contains_case(output, output)) == verdict.PROVED


@pytest.mark.parametrize("index", [PRINTED, OWN])
def test_a_forget_gate_that_does_not_read_the_input_is_not_the_usual_one(index: Index) -> None:
    assert judged(graph_lstm.own_and_input_case(index)) == verdict.REFUTED
    assert judged(graph_lstm.own_and_input_case()) == verdict.PROVED


def test_a_witness_with_another_extra_gate_is_turned_away() -> None:
    case = CLAIMS["cplx-B.2a"].cases[0]
    point = {"z": "1", "i": "0", "o": "0", "f": "0", "c": "0", "c_extra": "1", "f_extra": "0"}
    assert not doubt_of(case, point)
    assert 'Parameter "f_extra" is "1/2": it is 0 in this case' in doubt_of(case, {**point, "f_extra": "1/2"})
    assert "does not certify" in doubt_of(case, {**point, "z": "0"})


@pytest.mark.parametrize(
    "case",
    [
        graph_lstm.torch_case(graph_lstm.SPECIAL[0], bias=-20.0),
        graph_lstm.torch_case(Special("4.5(4)-3", 2, "all", "own")),
    ],
)
def test_a_network_that_is_not_the_usual_lstm_is_seen(case: Case) -> None:
    """Gates that are not quite 0; and a loop's forget gate that does not read the layer below."""
    assert judged(case) == verdict.SUSPECT


def test_readings_of_the_index() -> None:
    signed = Index("W(u) h_u − …", lambda W, h: (W[0] - sum(W[1:])) * h[0], lambda W, h: (2 * W[0] - sum(W)) * h[0])
    assert judged(graph_lstm.same_gate_case(PRINTED, signed)) == verdict.REFUTED
    assert judged(graph_lstm.same_gate_case(EVERY, EVERY)) == verdict.PROVED
    assert judged(graph_lstm.same_gate_case(OWN, EVERY)) == verdict.REFUTED


def test_a_second_typing_that_differs_does_not_certify() -> None:
    """The planted fault: the second back-end has the own edge where the first has every edge."""
    case = graph_lstm.same_gate_case(PRINTED, dataclasses.replace(EVERY, again=OWN.again))
    assert judged(case) == verdict.ERROR  # the typings contradict each other at drawn parameters
    assert judged(dataclasses.replace(case, check=case.check.check)) == verdict.SUSPECT


def test_both_typings_of_a_reading_are_the_same() -> None:
    def at(index: Index, W: Sequence[int], h: Sequence[int]) -> tuple[int, int]:
        return index.first(W, h), index.again(W, h)

    for index in (PRINTED, EVERY, OWN):
        for count in (2, 3, 5):
            first, again = at(index, range(1, count + 1), [k * k - 3 for k in range(count)])
            assert first == again


def test_the_command_verifies_a_witness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = CLAIMS["cplx-B.1"].cases[1]
    plain = {
        "format": "odernn-counterexample",
        "version": 1,
        "claim": "cplx-B.1",
        "domain": case.domain,
        "quantity": case.quantity,
        "parameters": two_networks(),
    }
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(plain), encoding="utf-8")
    assert witness.verify(path, claims_dirs=(), limit=0) == 0
    printed = capsys.readouterr().out
    assert "balls" in printed and "mpmath" in printed and "certified: cplx-B.1 is violated" in printed
    path.write_text(json.dumps({**plain, "parameters": {**two_networks(), "time": "1"}}), encoding="utf-8")
    assert witness.verify(path, claims_dirs=(), limit=0) != 0


GENERIC: list[tuple[Case, Parameters]] = [
    *(
        (case, {"z": "3/5", "i": "-1/3", "o": "2/7", "f": "5/4", "c": "-7/5", "c_extra": "1/9", "f_extra": "1/8"})
        for case in (CLAIMS["cplx-B.2a"].cases[0], graph_lstm.contains_case("h = o tanh(c)", "h = o c"))
    ),
    (CLAIMS["cplx-B.2a"].cases[3], {"b": "-7/3", "c_extra": "-5/6"}),
    (CLAIMS["cplx-B.2a"].cases[5], {"W_x": "3/5", "W_h": "-1/3", "h": "2/7", "x": "5/4", "x_2": "-7/5"}),
    (CLAIMS["cplx-B.2b"].cases[0], {"W": "3/5 -1/3 2", "h": "2/7 5/4 -7/5"}),
    (graph_lstm.same_gate_case(OWN, EVERY), {"W": "3/5 -1/3", "h": "2/7 5/4"}),
    (CLAIMS["cplx-B.2b"].cases[2], {"W": "3/5", "h(t-1)": "2/7", "h(t-2)": "-5/4"}),
    (CLAIMS["cplx-B.1"].cases[1], {**two_networks(), "W(in)": "-3/5", "W(h1)": "5/4", "x": "2/7 -1 1/3"}),
]


@pytest.mark.parametrize(("case", "point"), GENERIC)
def test_both_back_ends_find_the_same_number(case: Case, point: Parameters) -> None:
    """At a generic point, where no factor is 0, 1 or 1/2, and the two typings cannot agree by chance."""
    assert isinstance(case.check, Guarded)
    first, again = (
        [float(found) for found in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", each.text)]
        for each in case.check.check(point).opinions  # behind the declaration: other constants are other numbers
    )
    assert first[0] != 0 and first[0] == pytest.approx(again[0], rel=1e-7)


@pytest.mark.parametrize(
    ("case", "point"),
    [
        (CLAIMS["cplx-4.4-lstm"].cases[2], {"units": "128", "skip units": "90", "d": "2", "n_out": "1"}),
        (
            parameter_counts.printed_count_case("sh", CountedNetwork("tanh", 1, 90, 1, 10), "7k"),
            {"n": "90", "d": "1", "n_out": "10"},
        ),
        (
            parameter_counts.quarter_case(graph_parameters.STANH, graph_parameters.LSTMS["LSTM of 95 units"], "LSTM"),
            {"units": "95", "lstm units": "95"},
        ),
    ],
)
def test_sizes_that_are_not_printed_are_turned_away(case: Case, point: Parameters) -> None:
    assert not doubt_of(case, point)
    for name, value in point.items():
        for other in (str(int(value) + 1), "0", "1/2"):
            assert f'Parameter "{name}" is "{other}"' in doubt_of(case, {**point, name: other})
