"""A graph that breaks a condition is refused with its name and the walk; the others survive files and unfolding."""

from __future__ import annotations

import itertools
import json
import pickle
import random
from pathlib import Path

import networkx
import pytest

from odernn.architecture import Edge, GraphError, RNNGraph, Walk, catalogue, files, get, names
from odernn.architecture.files import from_dot, from_json, to_dot, to_json
from tests.processes import loaded_after
from tests.tiers import only

NODES = {"in": 0, "h": 0, "out": 0}
EDGES = [("in", "h", 0), ("h", "h", 1), ("h", "out", 0)]


def graph(**changes) -> RNNGraph:
    data = {"name": "g", "period": 1, "nodes": NODES, "edges": EDGES, "inputs": ["in"], "outputs": ["out"]}
    return RNNGraph(**data | changes)


# Conditions.


def broken(condition: str, **changes) -> GraphError:
    with pytest.raises(GraphError, match=rf'Graph "g": condition \({condition}\) fails') as raised:
        graph(**changes)
    assert raised.value.condition == condition
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.condition, again.walk) == (str(raised.value), condition, raised.value.walk)
    return raised.value


def test_a_wrong_residue_is_named_with_its_edge() -> None:
    error = broken("1", period=2, nodes={"in": 0, "h": 1, "out": 0}, edges=[("in", "h", 1), ("h", "h", 3)])
    assert str(error.walk) == "h -(3)-> h"
    assert "σ = 3, but time(h) − time(h) = 1 − 1 and the period is 2" in str(error)


def test_a_graph_without_a_cycle_is_named_with_a_longest_walk() -> None:
    error = broken("2", edges=[("in", "h", 0), ("h", "out", 3), ("in", "out", 1)])
    assert str(error.walk) == "in -(0)-> h -(3)-> out" and "every walk ends" in str(error)
    assert broken("2", edges=[]).walk.length == 0
    assert broken("2", nodes={}, edges=[], inputs=[], outputs=[]).walk is None


@pytest.mark.parametrize(
    ("edges", "shown"),
    [
        ([("h", "h", 0)], "h -(0)-> h"),
        ([("h", "k", 2), ("k", "h", -2), ("k", "k", 1)], "h -(2)-> k -(-2)-> h"),
        ([("h", "h", 3), ("h", "h", -2)], "2 times (h -(3)-> h) then 3 times (h -(-2)-> h)"),
    ],
)
def test_a_closed_walk_of_sum_zero_is_shown(edges, shown) -> None:
    walk = broken("3", nodes={**NODES, "k": 0}, edges=[*EDGES, *edges]).walk
    assert walk.is_closed and walk.sigma == 0 and walk.length > 0
    assert set(walk.edges) <= {Edge(*edge) for edge in [*EDGES, *edges]}
    if len(edges) < 3 and edges[0][2] == 3:  # any combination of the three loops will do
        return
    assert str(walk) in {shown, "k -(-2)-> h -(2)-> k"}


def test_cycles_of_either_sign_far_apart_give_a_walk_that_is_not_written_out() -> None:
    """a and d turn in opposite directions; the closed walk of sum 0 goes round d a hundred thousand times."""
    edges = [("a", "a", 10**5), ("d", "d", -1), ("a", "b", 0), ("b", "d", 7), ("d", "c", 1), ("c", "a", 10**5)]
    walk = broken("3", nodes=dict.fromkeys("abcd", 0), edges=edges, inputs=[], outputs=[]).walk
    assert walk.sigma == 0 and walk.is_closed and walk.length > 10**5 and len(walk.parts) == 2
    written = walk.edges
    assert all(one.head == other.tail for one, other in itertools.pairwise(written))
    assert sum(edge.sigma for edge in written) == 0 and len(written) == walk.length and len(str(walk)) < 200


def test_cycles_of_either_sign_in_different_components_are_allowed_but_not_unidirectional() -> None:
    found = graph(nodes={**NODES, "k": 0}, edges=[*EDGES, ("h", "k", 0), ("k", "k", -1)])
    certificates = found.conditions()
    assert {name for name, certificate in certificates.items() if certificate} == {"1", "2", "3", "R"}
    assert str(certificates["U"].witness) == "k -(-1)-> k" and certificates["U"].exact


def test_an_output_out_of_reach_is_named_with_a_walk_that_leads_to_it() -> None:
    edges = [("in", "h", 0), ("h", "h", 1), ("k", "k", 1), ("k", "out", 0)]
    error = broken("R", nodes={**NODES, "k": 0}, edges=edges)
    assert str(error.walk) == "k -(0)-> out" and "reached from none of the 1 inputs" in str(error)
    error = broken("R", inputs=[])
    assert error.walk.end == "out" and "there is no input that reaches" in str(error)
    allowed = graph(nodes={**NODES, "k": 0}, edges=edges, allow_unreachable=True)
    assert not allowed.conditions()["R"] and from_json(to_json(allowed)) == allowed == from_dot(to_dot(allowed))


def unfolding_is_acyclic(count: int, edges: set[tuple[str, str, int]], last: int) -> bool:
    """By the definition: the window is unfolded and searched."""
    unfolded = networkx.DiGraph(
        ((t, u), (t + s, v)) for t in range(last + 1) for u, v, s in edges if 0 <= t + s <= last
    )
    return networkx.is_directed_acyclic_graph(unfolded)


@pytest.mark.parametrize("block", only(range(3), 2))
def test_condition_3_holds_iff_the_unfolding_has_no_cycle(block: int) -> None:
    """Lemma 2.1 and its converse on raw graphs, most of them broken; U against the sums of simple cycles."""
    seen = {"2": 0, "3": 0, "U": 0, "": 0}
    for seed in range(200 * block, 200 * block + 200):
        chance = random.Random(seed)
        count = chance.randint(1, 4)
        edges = {
            (f"v{chance.randrange(count)}", f"v{chance.randrange(count)}", chance.randint(-1, 2))
            for _ in range(chance.randint(1, 6))
        }
        acyclic = unfolding_is_acyclic(count, edges, 60)
        try:
            found = RNNGraph("raw", 1, {f"v{k}": 0 for k in range(count)}, sorted(edges))
        except GraphError as error:
            seen[error.condition] += 1
            if error.condition == "3":
                assert not acyclic
                walk = error.walk
                written = walk.edges
                assert walk.is_closed and walk.sigma == 0 and set(written) <= edges and walk.start == written[0].tail
                assert all(one.head == other.tail for one, other in itertools.pairwise(written))
            continue
        assert acyclic
        forward = found.is_unidirectional()
        seen["" if forward else "U"] += 1
        if not forward:
            assert forward.witness.is_closed and forward.witness.sigma < 0
        sums = [
            sum(min(s for *step, s in edges if step == [t, h]) for t, h in itertools.pairwise([*cycle, cycle[0]]))
            for cycle in networkx.simple_cycles(networkx.DiGraph((t, h) for t, h, _ in edges))
        ]
        assert bool(forward) is (min(sums) > 0)
    assert min(seen.values()) >= 5, seen


# Data that are no graph.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"period": 0}, "the period m is 0"),
        ({"period": 1.0}, "the period m is 1.0, not an integer"),
        ({"period": True}, "the period m is True, not an integer"),
        ({"nodes": {**NODES, "k": 1}}, 'node "k" has time 1, not one of 0 … 0'),
        ({"nodes": {**NODES, "k": "0"}}, "the time of node \"k\" is '0'"),
        ({"nodes": {**NODES, 3: 0}}, "the node 3 is not named by a text"),
        ({"edges": [*EDGES, ("h", "x", 0)]}, "names 'x', which is no node"),
        ({"edges": [*EDGES, ("h", "h")]}, "is not an edge"),
        ({"edges": [*EDGES, ("h", "h", 1.0)]}, "is 1.0, not an integer"),
        ({"edges": [*EDGES, ("h", "h", 1)]}, "h -(1)-> h is given twice. Parallel edges must differ in σ"),
        ({"inputs": ["x"]}, "'x' in inputs is no node"),
        ({"inputs": ["in", "in"]}, "named twice in inputs"),
        ({"outputs": "out"}, "outputs is the text 'out'"),
        ({"name": " "}, "The name of a graph is a text"),
        ({"allow_unreachable": 1}, "allow_unreachable is 1"),
    ],
)
def test_what_is_no_graph_says_why(changes, message) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        graph(**changes)
    assert message in str(raised.value) and not isinstance(raised.value, GraphError)


def test_a_graph_is_a_value() -> None:
    one, other = graph(), graph(edges=list(reversed(EDGES)))
    assert one == other and hash(one) == hash(other) and pickle.loads(pickle.dumps(one)) == one
    assert one != graph(edges=[*EDGES, ("h", "h", 2)]) and one.hidden == ("h",)
    with pytest.raises(TypeError):
        one.nodes["x"] = 1  # type: ignore[index]


def test_walks_count_themselves() -> None:
    walk = Walk.along([Edge("a", "b", 2), Edge("b", "a", -1)])
    assert (walk.length, walk.sigma, walk.is_closed, walk.end) == (2, 1, True, "a")
    assert str(Walk.along([], start="a")) == "a" and not Walk.along([], start="a").is_closed
    long = Walk.along([Edge("a", "a", 1)] * 50)
    assert "38 edges" in str(long)
    with pytest.raises(ValueError, match="needs a start"):
        Walk.along([])


# Other forms.


def test_the_unfolding_repeats_with_the_period_and_has_no_cycle() -> None:
    for name in ("figure 1(a)", "clockwork(2,3)", "td"):
        found = get(name)
        unfolded = found.unfolding(-5, 19)
        assert networkx.is_directed_acyclic_graph(unfolded)
        assert all(t % found.period == found.nodes[node] for t, node in unfolded)
        expected = {
            ((t, e.tail), (t + e.sigma, e.head))
            for t in range(-5, 19)
            for e in found.edges
            if t % found.period == found.nodes[e.tail] and -5 <= t + e.sigma < 19
        }
        assert set(unfolded.edges) == expected
    assert unfolded.nodes[0, "in"]["role"] == "input" and unfolded.edges[(0, "h2"), (1, "h1")]["sigma"] == 1


def test_the_unfolding_keeps_edges_into_the_past() -> None:
    found = RNNGraph("back", 1, {"a": 0, "b": 0}, [("a", "b", -1), ("b", "a", 2)])
    assert ((3, "a"), (2, "b")) in found.unfolding(0, 4).edges
    assert networkx.is_directed_acyclic_graph(found.unfolding(-10, 10))


@pytest.mark.parametrize(("start", "stop"), [(0, 4), (-3, 7), (2, 3), (5, 5)])
def test_a_window_has_the_nodes_and_edges_within_it_into_the_past_too(start: int, stop: int) -> None:
    """Both ends of an edge within, at the times of its tail."""
    edges = [("a", "b", -1), ("b", "a", 3), ("b", "c", -2), ("c", "a", 5), ("c", "a", 7)]
    found = RNNGraph("back", 2, {"a": 0, "b": 1, "c": 1}, edges)
    nodes, within = found.window(start, stop)
    expected = [(t, u) for t in range(start, stop) for u in "abc" if t % 2 == found.nodes[u]]
    assert sorted(nodes) == sorted(expected) and [t for t, _ in nodes] == sorted(t for t, _ in nodes)
    pairs = [((t, u), (t + s, v)) for u, v, s in edges for t in range(start, stop) if t % 2 == found.nodes[u]]
    assert sorted(within) == sorted(pair for pair in pairs if start <= pair[1][0] < stop)


def test_a_cover_unfolds_to_the_same_graph() -> None:
    found = get("figure 1(a)")
    cover = found.cover(3)
    assert cover.period == 6 and len(cover.edges) == 3 * len(found.edges)
    renamed = {(t, node.rpartition("@")[0]) for t, node in cover.unfolding(0, 20)}
    assert renamed == set(found.unfolding(0, 20).nodes)
    assert cover.unfolding(0, 20).number_of_edges() == found.unfolding(0, 20).number_of_edges()
    with pytest.raises(ValueError, match="0 folds"):
        found.cover(0)


EVERY = [get(name) for name in names()]


def test_networkx_json_and_dot_give_every_entry_back(tmp_path: Path) -> None:
    assert len(EVERY) >= 40
    for found in EVERY:
        assert RNNGraph.from_networkx(found.to_networkx()) == found
        for ending in ("json", "dot", "gv"):
            path = tmp_path / f"graph.{ending}"
            files.write(found, path)
            assert files.read(path) == found


def test_the_multigraph_has_parallel_edges_by_sigma() -> None:
    multigraph = get("skip-21").to_networkx()
    assert isinstance(multigraph, networkx.MultiDiGraph)
    assert sorted(multigraph["h1"]["h1"]) == [1, 21] and multigraph.nodes["in"]["role"] == "input"


def test_networkx_graphs_without_sigma_or_direction_are_refused() -> None:
    with pytest.raises(TypeError, match="is not"):
        RNNGraph.from_networkx(networkx.Graph())
    with pytest.raises(ValueError, match='no attribute "sigma"'):
        RNNGraph.from_networkx(networkx.DiGraph([("a", "a")]))
    plain = networkx.DiGraph()
    plain.add_edge("a", "a", sigma=2)
    assert RNNGraph.from_networkx(plain).edges == (Edge("a", "a", 2),)
    plain.nodes["a"]["role"] = "top"
    with pytest.raises(ValueError, match="has the role 'top'"):
        RNNGraph.from_networkx(plain)


def test_names_with_quotes_spaces_and_signs_survive_both_formats() -> None:
    nodes = {'a "quoted" one': 0, "a -> b; [x=1] // no comment": 0, "θ": 0, "new\nline": 0, "tab\\n": 0}
    nodes |= dict.fromkeys(["node", "edge", "graph", "subgraph", "digraph", "strict", "period", "1", "-.5"], 0)
    edges = [(one, other, 1) for one in nodes for other in nodes]
    found = RNNGraph('the "name"', 1, nodes, edges, list(nodes)[:2], list(nodes)[1:])
    assert from_json(to_json(found)) == found == from_dot(to_dot(found))
    with pytest.raises(ValueError, match="cannot be written in DOT"):
        to_dot(RNNGraph("g", 1, {"ends in \\": 0}, [("ends in \\", "ends in \\", 1)]))


JSON = json.loads(to_json(graph()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "holds a list"),
        (json.dumps(JSON | {"node": {}}), 'the key "node" is not known. Did you mean "nodes"?'),
        (json.dumps({"nodes": {"a": 0}}), 'the key "edges" is missing'),
        ('{"nodes": {"a": 0, "a": 0}, "edges": []}', "the key 'a' is given twice"),
        (json.dumps(JSON | {"nodes": ["a"]}), "not a table"),
        (json.dumps(JSON | {"edges": {}}), '"edges" is not a list'),
        (json.dumps(JSON | {"edges": [["in", "h", 0.0]]}), "not an integer"),
        (json.dumps(JSON | {"edges": [["in", "h", "0"]]}), "not an integer"),
        (json.dumps(JSON | {"edges": [[["in"], "h", 0]]}), "which is no node"),
        (json.dumps(JSON | {"inputs": [["in"]]}), "no node"),
        (json.dumps(JSON | {"outputs": None}), "not a list"),
        (json.dumps(JSON | {"period": None}), "not an integer"),
        (json.dumps(JSON | {"allow_unreachable": "no"}), "not True or False"),
        ("[" * 100000, "nested too deeply"),
    ],
)
def test_a_bad_json_file_names_the_file_and_the_fault(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError) as raised:
        files.read(path)
    assert str(path) in str(raised.value) and message in str(raised.value)


DOT = 'digraph g { period=1; a [time=0, role="input output"]; a -> a [sigma=1]; }'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("graph g {}", 'starts with "graph"'),
        ("strict digraph g {}", "merges parallel edges"),
        (DOT[:-1], "ends early"),
        (DOT + " x", "something follows"),
        (DOT.replace("->", "--"), 'write "->"'),
        (DOT.replace("[sigma=1]", ""), "the edge a -> a has no sigma"),
        (DOT.replace("sigma=1", "sigma=1.5"), "'1.5', not an integer"),
        (DOT.replace("sigma=1", "sigm=1"), 'Did you mean "sigma"?'),
        (DOT.replace("sigma=1", "sigma=1, sigma=2"), "given twice"),
        (DOT.replace("sigma=1", 'sigma=1, label="2"'), "label '2' is not sigma=1"),
        (DOT.replace("a -> a", "a -> b"), "'b' has no statement"),
        (DOT.replace("period=1;", "periode=1;"), 'Did you mean "period"?'),
        (DOT.replace("period=1;", "period=1; period=1;"), "given twice"),
        (DOT.replace("period=1;", "node [time=0];"), "defaults"),
        (DOT.replace("period=1;", "subgraph x { }"), "subgraphs are not read"),
        (DOT.replace("period=1;", "a;"), "two statements"),
        (DOT.replace("input output", "inputs"), 'the role "inputs"'),
        (DOT.replace("role=", 'label="b", role='), "is not the name"),
        (DOT.replace("period=1", "allow_unreachable=1"), "not true or false"),
        (DOT.replace("time=0", "time="), "a name is expected"),
        (DOT.replace("time=0", "time 0"), '"=" is missing'),
        (DOT.replace("time=0", "time=0 @"), "not valid DOT: '@"),
        (DOT.replace('output"', "output"), "not valid DOT"),
    ],
)
def test_a_bad_dot_file_names_the_file_and_the_fault(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.dot"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError) as raised:
        files.read(path)
    assert str(path) in str(raised.value) and message in str(raised.value)


def test_dot_as_a_person_writes_it_is_read() -> None:
    text = """
        // a comment
        # and another
        digraph { graph [period=2]  /* and
            a third */
            x [time=1; role=input] y [label="y"], [time=0, role=output]
            x -> y -> x [sigma=1, label=1]
        }
    """.replace("],", "]")
    found = from_dot(text, "mine")
    assert found.name == "mine" and found.period == 2 and found.nodes == {"x": 1, "y": 0}
    assert found.edges == (Edge("x", "y", 1), Edge("y", "x", 1)) and found.outputs == ("y",)


@pytest.mark.parametrize("name", ["mine.txt", "mine"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"is not known\. Call the file"):
        files.read(tmp_path / name)
    with pytest.raises(ValueError, match=r"is not known\. Call the file"):
        files.write(graph(), tmp_path / name)


def test_a_file_that_is_no_text_and_a_broken_graph_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not a text file"):
        files.read(tmp_path / "b.json")
    (tmp_path / "z.json").write_text(json.dumps(JSON | {"edges": [["h", "h", 0]]}), encoding="utf-8")
    with pytest.raises(GraphError, match=r"z\.json: .*condition \(3\) fails") as raised:
        files.read(tmp_path / "z.json")
    assert raised.value.condition == "3" and str(raised.value.walk) == "h -(0)-> h"
    with pytest.raises(OSError):
        files.read(tmp_path / "none.json")


def test_the_package_needs_neither_torch_nor_networkx_to_compute() -> None:
    code = (
        "from odernn.architecture import get, measures_of, growth_limit\n"
        "g = get('clockwork(1,2,4,8)'); measures_of(g); growth_limit(g)"
    )
    assert loaded_after(code, ("torch", "scipy", "sympy", "networkx")) == []


def test_every_public_name_is_there() -> None:
    from odernn import architecture

    assert all(getattr(architecture, name) is not None for name in architecture.__all__)
    assert dir(architecture) == sorted(architecture.__all__) and architecture.catalogue is catalogue
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        architecture.nonsense  # noqa: B018
