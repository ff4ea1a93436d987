"""The statements on cyclic graphs: every case is answered, witnesses replay, and faults that are planted are seen."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from tests.verification.claims.claim_rows import doubt_of
from verification import verdict
from verification.adversary import graphs
from verification.adversary.graphs import SketchBox
from verification.answer import answer
from verification.cases import figure_1a, graph_statements, graph_theorems
from verification.cases.graph_growth import LONGEST, SHORTEST, Sense, extreme_rate
from verification.cases.graph_kinds import contents
from verification.cases.graph_statements import FORWARD, GraphStatement, Side, box_case, free_case
from verification.cases.one_layer_graphs import one_layer, one_layer_case
from verification.certify.second import graph as graph_second
from verification.claim import Case, Claim, Parameters
from verification.claims.complexity import (
    architectures,
    graph_conditions,
    graph_correspondence,
    graph_limits,
    graph_measures,
    graph_proof_steps,
    graph_rates,
)
from verification.claims.library import cyclic_graphs
from verification.commands import witness
from verification.domains import BUDGETS
from verification.measure import described_graphs, graph_facts
from verification.measure.described_graphs import layered

SMOKE = BUDGETS["smoke"]
FILES = (
    architectures,
    graph_conditions,
    graph_correspondence,
    graph_limits,
    graph_measures,
    graph_proof_steps,
    graph_rates,
    cyclic_graphs,
)
CLAIMS: dict[str, Claim] = {each.id: each for file in FILES for each in file.CLAIMS}
CASES = [(name, number) for name, each in CLAIMS.items() for number in range(len(each.cases))]


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """For faults: what was known of graphs is forgotten before and after."""
    for cached in (graph_facts.facts_of, graph_facts.raw_of, graph_statements.second_of):
        cached.cache_clear()
    yield monkeypatch
    for cached in (graph_facts.facts_of, graph_facts.raw_of, graph_statements.second_of):
        cached.cache_clear()


def judged(case: Case, name: str = "cplx-T3.2") -> str:
    """The verdict on a case, as if it were one of the claim's."""
    claim = dataclasses.replace(CLAIMS[name], cases=(case,))
    return answer(claim, case, SMOKE, seed=1).verdict


def case_of(name: str, quantity: str, domain: str) -> Case:
    return next(c for c in CLAIMS[name].cases if c.quantity == quantity and c.domain.startswith(domain))


# What is found.

REFUTED = {
    ("cplx-D2.1a", 0), ("cplx-2-corr", 4), ("cplx-2-corr", 5),
    ("cplx-3.1-mono", 0), ("cplx-3.1-mono", 1), ("cplx-3.1-mono", 4),
    ("cplx-T3.2", 2), ("cplx-T3.2", 3), ("cplx-T3.2", 4), ("cplx-T3.2/A.1", 2), ("cplx-A.1-i", 0),
    ("cplx-T3.2-uni", 0), ("cplx-T3.2-uni", 1), ("cplx-T3.2-uni", 2),
    ("cplx-A.1-pf", 0), ("cplx-A.1-pf", 7), ("cplx-A.1-pf", 8), ("cplx-PA.1.1-pf", 0),
    ("cplx-PA.1.1", 2), ("cplx-PA.1.1", 3), ("cplx-P3.3.1", 2), ("cplx-3.3-large-n", 0), ("cplx-T3.4/A.2", 2),
    ("cplx-T3.6/A.3", 2), ("cplx-T3.6/A.3", 5), ("cplx-T3.6/A.3", 6), ("cplx-T3.6/A.3", 7), ("cplx-A.3-printed", 0),
    ("cplx-A.3-printed", 1), ("cplx-PA.3.1", 2), ("cplx-T3.6-loose", 0),
    ("cplx-4.5", 4), ("cplx-F1a-text", 0), ("cplx-F1a-text", 2), ("cplx-F1a-t", 0),
}  # fmt: skip
SEARCHED = {
    ("cplx-D2.1a", 1), ("cplx-D2.1b", 0), ("cplx-L2.1", 0), ("cplx-2-corr", 6), ("cplx-3.1-mono", 2),
    ("cplx-T3.2/A.1", 0), ("cplx-T3.2/A.1", 3), ("cplx-PA.1.1", 0), ("cplx-P3.3.1", 0), ("cplx-T3.4/A.2", 0),
    ("cplx-T3.2", 0), ("cplx-T3.6/A.3", 0), ("cplx-T3.6/A.3", 3), ("cplx-PA.3.1", 0),
    ("cplx-A.1-pf", 1), ("cplx-A.1-pf", 3), ("cplx-A.1-pf", 5), ("cplx-2-corr", 0), ("cplx-2-corr", 2),
    ("cplx-T3.6/A.3", 8),
    *((claim.id, number) for claim in cyclic_graphs.CLAIMS for number in range(0, len(claim.cases), 2)),
}  # fmt: skip
"""Cases on a whole domain in which nothing is found."""
INSTANCES = {("cplx-3.4-D0", 0), ("cplx-3.4-D0", 1), ("cplx-alg", 3)}
"""Some graphs, at which the statement holds. Every other case is proved."""


SLOW = SEARCHED | {
    *(("cplx-P3.3.1", 1), ("cplx-T3.4/A.2", 1), ("cplx-T3.2-uni", 1), ("cplx-F1b", 1), ("cplx-F1b", 2)),
    *(("cplx-alg", 2), ("cplx-alg", 4), ("cplx-T3.2", 1)),
    *(("thm-A-df", number) for number in (1, 3, 5)),
}


@pytest.mark.parametrize(
    ("name", "number"), [pytest.param(*key, marks=pytest.mark.slow if key in SLOW else ()) for key in CASES]
)
def test_every_case_is_answered(name: str, number: int) -> None:
    key = (name, number)
    expected = (
        verdict.REFUTED if key in REFUTED else verdict.NOT_REFUTED if key in SEARCHED | INSTANCES else verdict.PROVED
    )
    case = CLAIMS[name].cases[number]
    found = answer(CLAIMS[name], case, SMOKE, seed=1)
    assert found.verdict == expected, found.because
    if expected == verdict.REFUTED:
        parameters = json.loads(found.witness)["parameters"]
        assert not doubt_of(case, parameters)


PARTS = (
    "D2.1a D2.1b L2.1 2-corr 2-cw",
    "3.1-mono 3.1-stack T3.2 T3.2/A.1 A.1-i T3.2-uni A.1-pf PA.1.1-pf PA.1.1 P3.3.1 3.3-large-n T3.4/A.2 3.4-D0",
    "T3.6/A.3 A.3-printed PA.3.1 T3.6-loose D3.3-skip 3.5-often",
    "4.2 4.3 4.4 4.5 F1a-caption F1a-text F1a-D F1a-t F1b alg",
)


def test_all_statements_of_the_parts_on_graphs_are_there() -> None:
    assert len(CASES) == 159
    theorems = {f"thm-A-{name}" for name in ("dag", "rate", "df", "lim")}
    assert set(CLAIMS) == {f"cplx-{name}" for line in PARTS for name in line.split()} | theorems


# Witnesses.


def loose_witness() -> Parameters:
    text = '{"nodes": {"a": 0, "b": 0}, "edges": [["a", "a", 2], ["b", "b", 3]]}'
    return {"graph": text, "cycle": '[["a", "a", 2]]'}


def test_a_witness_typed_by_hand_is_certified() -> None:
    case = case_of("cplx-PA.1.1", "lim D_i(n)/n = d_r, loose", FORWARD.name)
    assert not doubt_of(case, loose_witness())


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"cycle": '[["b", "b", 3]]'}, "max l/Σσ"),
        ({"cycle": '[["a", "a", 1]]'}, "its edges are not those of the graph"),
        ({"graph": '{"nodes": {"a": 0}, "edges": [["a", "a", 2]]}'}, "does not certify"),
        ({"graph": '{"nodes": {"a": 0, "b": 0}, "edges": [["a", "a", 2], ["b", "b", -3]]}'}, "(U)"),
        ({"graph": '{"nodes": {"a": 0}, "edges": [["a", "a", 2], ["a", "a", -3]]}'}, "premise"),
    ],
)
def test_a_witness_that_is_none_is_turned_away(change: Parameters, doubt: str) -> None:
    case = case_of("cplx-PA.1.1", "lim D_i(n)/n = d_r, loose", FORWARD.name)
    assert doubt in doubt_of(case, {**loose_witness(), **change})


def test_a_strict_cover_is_no_loose_one() -> None:
    """The strict reading does not accept the loop of σ = 2: no lift of it meets every time."""
    case = case_of("cplx-PA.1.1", "lim D_i(n)/n = d_r, strict", FORWARD.name)
    assert "one lift" in doubt_of(case, loose_witness())


def test_the_command_verifies_a_witness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = case_of("cplx-PA.1.1", "lim D_i(n)/n = d_r, loose", FORWARD.name)
    plain = {
        "format": "odernn-counterexample",
        "version": 1,
        "claim": "cplx-PA.1.1",
        "domain": case.domain,
        "quantity": case.quantity,
        "parameters": loose_witness(),
    }
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(plain), encoding="utf-8")
    assert witness.verify(path, claims_dirs=(), limit=0) == 0
    assert "unfolding violates" in " ".join(capsys.readouterr().out.split())
    path.write_text(json.dumps({**plain, "claim": "cplx-PA.3.1"}), encoding="utf-8")
    with pytest.raises(Exception, match="has no case"):
        witness.verify(path, claims_dirs=(), limit=0)


def test_witnesses_are_as_small_as_they_go() -> None:
    """Dropping anything from the witness, or a smaller |σ|, makes the statement hold there or the graph none."""
    case = case_of("cplx-T3.2", "without A.1.1: the limit exists for every i", FORWARD.name)
    found = answer(CLAIMS["cplx-T3.2"], case, SMOKE, seed=1)
    graph = graph_second.parse(json.loads(found.witness)["parameters"]["graph"])
    assert (graph.size, len(graph.edges)) == (2, 2) and sorted(graph.sums) == [2, 3]


# Planted falsehoods: as statements they are refuted, by the enumeration.


def falsehoods() -> list[tuple[str, GraphStatement]]:
    return [
        ("parallel edges without σ", graph_conditions.pairs_apart(False)),
        ("no edge back in time", graph_conditions.forward()),
        ("D_i(n)/n → at least 1", graph_measures.approaches_infinity(Fraction(1))),
        ("the largest rate is min l/Σσ", extreme_rate(LONGEST, SHORTEST)),
        ("the smallest rate is max l/Σσ", extreme_rate(SHORTEST, LONGEST)),
        ("D_{i+1} = D_i", graph_measures.periodic(1)),
        ("d_f ≤ 0", graph_measures.finite_depth(Fraction(0))),
        ("d_f without d_r Σσ", graph_measures.depth_by_paths(with_sigma=False)),
        ("limits, loose", graph_limits.covered_limit(SHORTEST, strict=False)),
        ("d_r ≤ 1", graph_statements.shallow()),
        ("D_i(n) ≤ n d_r", cyclic_graphs.bounded_excess(potential=False)),
        ("d_r of covers is q times as large", cyclic_graphs.invariant(1)),
        ("D* grows at d_r", cyclic_graphs.own_growth(everywhere=True)),
        ("rates of the worst part", cyclic_graphs.rates_by_parts(LONGEST, SHORTEST)),
        ("rates of the worst part, shortest", cyclic_graphs.rates_by_parts(SHORTEST, LONGEST)),
        ("G_un gives G_c whatever m is", graph_correspondence.folds(least=False)),
        ("m is the least shift", graph_correspondence.least_divides(is_m=True)),
        ("D(γ₀) counts the labels twice", graph_proof_steps.duration()),
        ("|D(γ₀)| ≤ m", graph_proof_steps.bounded(share=0)),
        ("D(γ₀) = 0", graph_proof_steps.bounded_by_steps(share=0)),
        ("d_{i+1} = d_i", graph_limits.periodic(1, SHORTEST)),
        ("limsup D_i(n)/n ≤ j", graph_proof_steps.up_to_epsilon(SHORTEST)),
    ]


@pytest.mark.parametrize(("name", "statement"), falsehoods())
def test_a_planted_falsehood_is_refuted_on_the_domain_and_in_the_box(name: str, statement: GraphStatement) -> None:
    assert judged(free_case(FORWARD, name, statement)) == verdict.REFUTED
    if name != "limits, loose" or graph_statements.SMALL.high > 1:
        assert judged(box_case(FORWARD, name, statement)) == verdict.REFUTED


@pytest.mark.parametrize("statement", [graph_measures.depth_by_paths, graph_measures.finite_depth])
def test_a_feedforward_depth_is_asked_of_paths_of_two_edges(statement: Callable[..., GraphStatement]) -> None:
    """The graphs of one hidden node are the shallow networks of the paper, and a false d_f is refuted at them."""
    known = [contents(graph_second.parse(graphs.text(sketch))) for sketch in one_layer()]
    names = {"in": "a", "h1": "b", "out": "c"}
    for text in (layered(1), layered(1, [("h1", "h1", 2)])):
        for name, other in names.items():
            text = text.replace(f'"{name}"', f'"{other}"')
        assert contents(graph_second.parse(text)) in known
    wrong = graph_measures.depth_by_paths(with_sigma=False)
    assert judged(one_layer_case(FORWARD, "d_f", statement(), "Feedforward depth")) == verdict.PROVED
    assert judged(one_layer_case(FORWARD, "d_f", wrong, "Feedforward depth")) == verdict.REFUTED


def test_a_witness_on_one_hidden_node_has_its_nodes_and_edges() -> None:
    case = one_layer_case(FORWARD, "d_f", graph_measures.depth_by_paths(with_sigma=False), "Feedforward depth")
    given = case.ask(SMOKE, 1).candidates[0]
    assert not doubt_of(case, given)
    for old, new in (('"inputs": ["a"]', '"inputs": ["b"]'), ('["a", "c", 1]', '["c", "a", 1]'), ('"c"', '"d"')):
        assert 'Parameter "graph" is' in doubt_of(case, {"graph": given["graph"].replace(old, new)})


@pytest.mark.parametrize("sense", [LONGEST, SHORTEST])
def test_a_critical_part_in_some_class_is_no_limit(sense: Sense) -> None:
    """In the box in which the criterion is proved, and on the domain."""
    statement = cyclic_graphs.limit_criterion(sense, every=False)
    assert judged(free_case(FORWARD, "some", statement)) == verdict.REFUTED
    assert judged(box_case(FORWARD, "some", statement, cyclic_graphs.PARTS)) == verdict.REFUTED
    assert judged(box_case(FORWARD, "every", cyclic_graphs.limit_criterion(sense), cyclic_graphs.PARTS)) == "proved"


def test_the_loose_reading_is_refuted_in_the_box_in_which_the_strict_one_is_proved() -> None:
    """Else the box would not tell them apart, and its proof say nothing of the hypothesis."""
    strict = next(c for c in CLAIMS["cplx-PA.1.1"].cases if c.domain.startswith(f"{FORWARD.name}, at most"))
    loose = box_case(
        FORWARD, strict.quantity, graph_limits.covered_limit(LONGEST, strict=False), SketchBox(2, 2, -1, 3, 3)
    )
    assert loose.domain == strict.domain
    assert judged(strict) == verdict.PROVED and judged(loose) == verdict.REFUTED


def test_periodicity_is_asked_of_every_time() -> None:
    """D_1 and D_2 = D_0 differ by the shift 1, though D_0 and D_2 do not: a fault at one time alone is seen."""
    facts = graph_facts.facts_of('{"period": 2, "nodes": {"a": 0, "b": 1}, "edges": [["a", "b", 1], ["b", "a", 1]]}')
    assert facts is not None
    assert [place["i"] for place in graph_measures.periodic().places(facts)] == ["0", "1"]


RING = '{"period": 4, "nodes": {"a": 0, "b": 1, "c": 2, "d": 3}, "edges": [["a", "b", 1], ["b", "c", 1], ["c", "d", 1], ["d", "a", 1]]}'  # noqa: E501


@pytest.mark.parametrize(
    ("labels", "least"), [("0 0 0 0", 1), ("0 1 0 1", 2), ("0 1 2 3", 4), ("0 0 1 1", 4), ("0 0 0 1", 4)]
)
def test_shifts_of_a_labelled_ring_are_the_multiples_of_the_least(labels: str, least: int) -> None:
    facts, graph = graph_facts.facts_of(RING), graph_second.parse(RING)
    assert facts is not None
    parameters = {"graph": RING, "labels": labels}
    expected = list(range(least, 9, least))
    assert graph_correspondence.shifts(facts, parameters) == expected
    assert graph_correspondence.shifts_again(graph, parameters) == expected
    case = case_of("cplx-2-corr", "m least: G_un and its labels give G_c, without m", "graphs with (1)-(3)")
    doubt = doubt_of(case, parameters)
    assert ("m is the least shift" in doubt) == (least < 4) and doubt
    loose = free_case(FORWARD, "loose", graph_correspondence.folds(least=False))
    assert bool(doubt_of(loose, parameters)) == (least == 4)


@pytest.mark.parametrize("labels", ["0 1", "0 1 2 100", "0 1 2 -1", "00 1 2 3"])
def test_labels_that_are_none_are_refused(labels: str) -> None:
    case = case_of("cplx-2-corr", "the least shift of G_un divides every one", "graphs with (1)-(3)")
    assert '"labels"' in doubt_of(case, {"graph": RING, "labels": labels})
    same_time = RING.replace('"b": 1', '"b": 0').replace('["a", "b", 1]', '["a", "b", 4]').replace('"c", 1', '"c", 2')
    assert '"labels"' in doubt_of(case, {"graph": same_time, "labels": "0 0 1 2"})


TWO_PARTS = '{"period": 2, "nodes": {"a": 0, "b": 1, "c": 0}, "edges": [["a", "b", 1], ["b", "a", 1], ["c", "c", 4]]}'


def test_a_class_of_n_has_the_rate_of_the_best_part_it_meets() -> None:
    """From time 0 even n go through a, b at rate 1 or round c; from time 1 only through b. By hand, modulo 4."""
    facts, graph = graph_facts.facts_of(TWO_PARTS), graph_second.parse(TWO_PARTS)
    assert facts is not None
    expected = {
        (LONGEST, 0): {0: 1, 1: 1, 2: 1, 3: 1},
        (LONGEST, 1): {0: 1, 1: 1, 2: 1, 3: 1},
        (SHORTEST, 0): {0: Fraction(1, 4), 1: 1, 2: 1, 3: 1},
        (SHORTEST, 1): {0: 1, 1: 1, 2: 1, 3: 1},
    }
    for (sense, start), rates in expected.items():
        assert cyclic_graphs._by_parts(facts, sense, start, 4) == rates
        assert cyclic_graphs._by_parts_again(graph, sense, start, 4) == rates


def test_copies_of_a_cover_are_those_of_the_library() -> None:
    """The typed cover, at the shift 0, against RNNGraph.cover by its measures; and a shift that is none is refused."""
    case = case_of("thm-A-rate", "d_r, j of covers, shifted in time", f"{FORWARD.name}, at most")
    graph = '{"period": 2, "nodes": {"a": 0, "b": 1}, "edges": [["a", "b", 1], ["b", "a", 1], ["a", "a", 2]]}'
    assert case.check is not None
    for shift, folds in (("0", "2"), ("1", "3")):
        first, second = case.check({"graph": graph, "shift": shift, "folds": folds}).opinions
        assert not first.violated and first.text == second.text
        assert first.text.startswith("d_r, j are 1, 1/2; ") and first.text.endswith("cover 1, 1/2")
    assert '"shift"' in doubt_of(case, {"graph": graph, "shift": "2", "folds": "2"})


def test_cycles_are_closed_walks_without_repeated_edges() -> None:
    """Two loops at a node make a third cycle; with a way through b, eight: their orders up to where one begins."""
    loops = '["a", "a", 1], ["a", "a", 2]'
    found = {}
    for more in ("", ', ["a", "b", 0], ["b", "a", 3]'):
        facts = graph_facts.facts_of(f'{{"nodes": {{"a": 0, "b": 0}}, "edges": [{loops}{more}]}}')
        assert facts is not None
        found[more] = facts.directed_cycles
        graph = graph_second.parse(json.dumps({"nodes": {"a": 0, "b": 0}, "edges": [*map(list, facts.graph.edges)]}))
        assert len(set(found[more])) == len(found[more])
        assert all(graph_second.is_cycle(graph, tuple(map(tuple, cycle))) for cycle in found[more])
    # one loop, other loop, both; then b's way, with one loop, with the other, with both in two orders
    assert [len(cycles) for cycles in found.values()] == [3, 8]


def test_closed_walks_by_their_sets_of_edges_are_those_that_are_followed() -> None:
    """Figures of eight, of which the simple cycles are no more than the halves; exchanged extremes are refuted."""
    edges = '["a", "a", 1], ["a", "a", 2], ["a", "b", 0], ["b", "a", 3], ["b", "b", 5]'
    text = f'{{"nodes": {{"a": 0, "b": 0}}, "edges": [{edges}]}}'
    facts = graph_facts.facts_of(text)
    assert facts is not None
    graph = graph_second.parse(text)
    sets = [
        chosen
        for size in range(1, 6)
        for chosen in itertools.combinations(graph.edges, size)
        if graph_theorems._is_closed(chosen)
    ]
    assert {frozenset(chosen) for chosen in sets} == {frozenset(map(tuple, cycle)) for cycle in facts.directed_cycles}
    assert len(sets) > len(facts.simple_cycles)
    assert graph_theorems._is_closed([("a", "a", 1), ("b", "b", 5)]) is False
    wrong = graph_statements.box_case(FORWARD, "q", graph_theorems.same_extremes(ordered=False))
    assert judged(wrong, "thm-A-rate") == verdict.REFUTED


def test_a_misprinted_value_is_seen() -> None:
    wrong = architectures._one("td", described_graphs.layered(2, [("h2", "h1", 1)]), d_r=1, d_f=3)
    assert judged(architectures.value_case("td", [wrong])) == verdict.REFUTED
    assert judged(architectures.path_case("t = 0", (0,), {1: 5, 2: 6, 3: 7, 4: 9})) == verdict.REFUTED
    assert judged(architectures.ratio_case(Fraction(2))) == verdict.REFUTED
    assert judged(architectures.printed_twice_case("7", "7/2")) == verdict.REFUTED
    assert judged(architectures.printed_twice_case("14/4", "7/2")) == verdict.PROVED
    assert judged(figure_1a.either_case(4)) == verdict.REFUTED


def test_levels_of_one_pace_have_the_period_one() -> None:
    case = graph_conditions.hierarchical_case((1, 2))
    assert judged(case, "cplx-2-cw") == verdict.REFUTED
    assert not doubt_of(case, {"k": "1", "levels": "3"}) and doubt_of(case, {"k": "2", "levels": "3"})


def test_a_cycle_that_is_longer_than_its_time_has_a_larger_rate() -> None:
    """Two nodes that read each other, one step in two edges: j = 2."""
    slow = json.dumps(
        {
            "period": 1,
            "nodes": {"a": 0, "b": 0},
            "inputs": ["a"],
            "outputs": ["b"],
            "edges": [["a", "b", 0], ["b", "a", 1]],
        }
    )
    assert judged(graph_rates.rate_case("planted", (*graph_rates.NAMED[:2], slow))) == verdict.REFUTED


def test_a_number_that_is_printed_twice_is_typed_in_as_printed() -> None:
    case = CLAIMS["cplx-F1a-text"].cases[0]
    assert not doubt_of(case, {"text": "3", "caption": "7/2"})
    assert '"text" is "7/2": it is 3' in doubt_of(case, {"text": "7/2", "caption": "7/2"})


@pytest.mark.parametrize(("name", "value"), [("d_f", Fraction(5)), ("s", Fraction(2)), ("d_r", Fraction(2))])
def test_a_graph_that_is_found_has_no_edge_back_in_time(name: str, value: Fraction) -> None:
    found = architectures.existence_case(name, value).ask(SMOKE, 1)
    graph = json.loads(found.proof.rpartition(" has ")[0])
    assert min(sigma for *_, sigma in graph["edges"]) >= 0


def test_a_graph_that_does_not_exist_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """d_r > 0 under (U): the search for d_r = −1 ends without proof, and without a control there is no verdict."""
    monkeypatch.setitem(graph_statements._CLIMB, "smoke", 10)
    assert judged(architectures.existence_case("d_r", Fraction(-1))) == verdict.INCONCLUSIVE


# Planted faults: a measure that is wrong in one back-end is an error, and never a verdict about the paper.

THEOREMS = {
    "d_r": case_of("cplx-T3.2/A.1", "max_i limsup D_i(n)/n = max l/Σσ", f"{FORWARD.name}, at most"),
    "j": case_of("cplx-T3.6/A.3", "min_i liminf d_i(n)/n = min l/Σσ", f"{FORWARD.name}, at most"),
    "d_f": case_of("cplx-T3.4/A.2", "sup D*_i(n) − n d_r = max l − d_r Σσ over paths", f"{FORWARD.name}, at most"),
}
LIMITS = case_of("cplx-PA.1.1", "lim D_i(n)/n = d_r, strict", f"{FORWARD.name}, at most")


def test_the_smallest_ratio_taken_for_the_largest_is_an_error(planted: pytest.MonkeyPatch) -> None:
    planted.setattr(graph_facts, "recurrent_depth", graph_facts.smallest_rate)
    assert judged(THEOREMS["d_r"]) == verdict.ERROR
    assert judged(CLAIMS["cplx-4.2"].cases[3]) == verdict.ERROR


def test_the_largest_ratio_taken_for_the_smallest_is_an_error(planted: pytest.MonkeyPatch) -> None:
    planted.setattr(graph_facts, "smallest_rate", graph_facts.recurrent_depth)
    assert judged(THEOREMS["j"]) == verdict.ERROR
    assert judged(CLAIMS["cplx-4.4"].cases[1]) == verdict.ERROR


def test_a_feedforward_depth_that_forgets_an_edge_is_an_error(planted: pytest.MonkeyPatch) -> None:
    right = graph_facts.feedforward_depth

    def less(graph):
        found = right(graph)
        return dataclasses.replace(found, value=found.value - 1) if found else found

    planted.setattr(graph_facts, "feedforward_depth", less)
    assert judged(THEOREMS["d_f"]) == verdict.ERROR


def test_growth_of_the_shortest_taken_for_the_longest_is_an_error(planted: pytest.MonkeyPatch) -> None:
    right = graph_facts.growth_limit
    other = {"longest": "shortest", "shortest": "longest"}
    planted.setattr(graph_facts, "growth_limit", lambda graph, kind: right(graph, other[kind]))
    assert judged(THEOREMS["d_r"]) == verdict.ERROR
    assert judged(LIMITS) == verdict.ERROR


def test_a_condition_that_always_holds_is_an_error(planted: pytest.MonkeyPatch) -> None:
    planted.setattr(graph_facts.GraphFacts, "is_unidirectional", True)
    assert judged(THEOREMS["d_r"]) == verdict.ERROR


def test_a_cover_that_is_never_met_in_one_back_end_is_an_error(planted: pytest.MonkeyPatch) -> None:
    planted.setattr(graph_second, "meets_every_time", lambda *_: False)
    assert judged(LIMITS) == verdict.ERROR


def test_cycles_missed_by_the_second_back_end_are_an_error(planted: pytest.MonkeyPatch) -> None:
    planted.setattr(graph_second.Graph, "rates", property(lambda graph: (Fraction(1, 7),)))
    assert judged(THEOREMS["d_r"]) == verdict.ERROR


def test_another_graph_in_the_catalogue_is_an_error(planted: pytest.MonkeyPatch) -> None:
    other = architectures.catalogue.get("bu")
    planted.setattr(architectures.catalogue, "get", lambda _: other)
    assert judged(CLAIMS["cplx-4.2"].cases[3]) == verdict.ERROR


def test_one_back_end_alone_refutes_nothing() -> None:
    statement = GraphStatement(lambda *_: Side(1, "false"), lambda *_: Side(0, "true"))
    assert judged(free_case(FORWARD, "a fault", statement)) == verdict.ERROR
    both_true = GraphStatement(lambda *_: Side(-1, "true by 1"), lambda *_: Side(-2, "true by 2"))
    assert judged(box_case(FORWARD, "a fault", both_true)) == verdict.ERROR
    case = dataclasses.replace(
        free_case(FORWARD, "a fault", statement), ask=lambda *_: graph_statements.Attempt("", 1, candidates=(TINY,))
    )
    assert judged(case) == verdict.ERROR


TINY: Parameters = {"graph": '{"nodes": {"a": 0}, "edges": [["a", "a", 1]]}'}


# Controls: a search that finds nothing because it looks nowhere says nothing.


def test_without_small_graphs_the_control_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "enumerated", lambda _: ())
    monkeypatch.setattr(graphs, "at_random", lambda *_, **__: graphs.Sketch(1, (0,), ((0, 0, 1),)))
    case = free_case(FORWARD, "a truth", extreme_rate(LONGEST), planted=extreme_rate(LONGEST, SHORTEST))
    assert judged(case) == verdict.INCONCLUSIVE


def test_a_climb_that_does_not_climb_fails_the_control(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "changed", lambda sketch, *_: sketch)
    monkeypatch.setattr(graphs, "at_random", lambda *_, **__: graphs.Sketch(1, (0,), ((0, 0, 1),)))
    found = answer(
        CLAIMS["cplx-T3.2"],
        free_case(FORWARD, "a truth", extreme_rate(LONGEST), planted=extreme_rate(LONGEST, SHORTEST)),
        SMOKE,
        seed=1,
    )
    assert found.verdict == verdict.INCONCLUSIVE and found.control == pytest.approx(1 / 3)
