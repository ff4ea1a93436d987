"""A picture has every edge and node of the graph once, and colours the walks that decide, and no others."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from odernn.architecture import RNNGraph, drawing, get, layout, measures_of, names, pictures
from odernn.architecture.walks import Edge
from tests.tiers import spread, without

CHECKOUT = Path(__file__).resolve().parents[3]
SVG = "{http://www.w3.org/2000/svg}"
VERMILION, BLUE, GREEN, GREY = "#d55e00", "#0072b2", "#b5e3d3", "#707070"
DRAWN = (
    "sh",
    "bu",
    "td",
    "(2,3)",
    "skip-5",
    "4.5(3)-5",
    "4.5(4)-2",
    "figure 1(a)",
    "stacked lstm gates",
    "unicornn sam",
    "unicornn residual-6-2",
    "clockwork(2,3)",
)
BACKWARD = RNNGraph("backward", 1, {"a": 0, "b": 0}, (("a", "a", -1), ("a", "b", 1)), ("a",), ("b",))  # type: ignore[arg-type]
NEGATIVE = RNNGraph(
    "with σ < 0",
    2,
    {"in": 0, "u": 0, "v": 1, "out": 1},
    (("in", "u", 2), ("u", "v", 5), ("v", "u", -3), ("u", "u", 6), ("v", "out", -4)),  # type: ignore[arg-type]
    ("in",),
    ("out",),
)


@pytest.fixture(autouse=True)
def matplotlib_is_there() -> None:
    pytest.importorskip("matplotlib", reason="drawing needs the extra odernn[plots]")


@functools.cache
def graphs() -> dict[str, RNNGraph]:
    return {name: get(name) for name in DRAWN} | {"backward": BACKWARD, "with σ < 0": NEGATIVE}


@functools.cache
def picture(name: str) -> str:
    return pictures.svg(graphs()[name])


@dataclasses.dataclass(frozen=True)
class Element:
    name: str
    title: str
    classes: frozenset[str]
    style: str


def elements(text: str, panel: int) -> list[Element]:
    """The named groups of a panel with the style of their first path."""
    found = []
    for group in ElementTree.fromstring(text.encode()).iter(f"{SVG}g"):
        if group.get("id", "").startswith(f"panel-{panel}-"):
            title, path = group.find(f"{SVG}title"), group.find(f"{SVG}path")
            assert title is not None and title.text and path is not None
            classes = frozenset(group.get("class", "").split())
            found.append(Element(group.get("id", ""), title.text, classes, path.get("style", "")))
    return found


def edges_of(text: str, panel: int) -> list[Element]:
    return [each for each in elements(text, panel) if "edge" in each.classes]


def columns(text: str) -> int:
    (last,) = re.findall(r"its unfolding at the times 0 … (\d+)", text)
    return int(last) + 1


def edge(title: str) -> Edge:
    tail, sigma, head = re.fullmatch(r"(.*) -\((-?\d+)\)-> (.*)", title).groups()  # type: ignore[union-attr]
    return Edge(tail, head, int(sigma))


def unfolded(title: str) -> tuple[tuple[int, str], tuple[int, str]]:
    t, u, s, v = re.fullmatch(r"\((\d+), (.*)\) -> \((\d+), (.*)\)", title).groups()  # type: ignore[union-attr]
    return (int(t), u), (int(s), v)


# Every thing once.


@pytest.mark.parametrize("name", without(spread([*DRAWN, "backward", "with σ < 0"], 5), "sh"))
def test_the_cyclic_graph_is_drawn_with_every_edge_and_node_once(name: str) -> None:
    graph = graphs()[name]
    drawn = elements(picture(name), 1)
    assert Counter(edge(each.title) for each in drawn if "edge" in each.classes) == Counter(graph.edges)
    nodes = [each for each in drawn if "node" in each.classes]
    assert sorted(each.title.split(", time")[0] for each in nodes) == sorted(graph.nodes)
    for each in nodes:
        assert each.classes == {"node", *graph.role(each.title.split(", time")[0]).split()}
    assert len({each.name for each in drawn}) == len(drawn) == len(graph.edges) + len(graph.nodes)


@pytest.mark.parametrize("name", without([*DRAWN, "backward", "with σ < 0"], "clockwork(2,3)", "stacked lstm gates"))
def test_the_unfolding_is_drawn_with_every_edge_and_node_of_the_window_once(name: str) -> None:
    graph, window = graphs()[name], range(columns(picture(name)))
    there = [(t, v) for t in window for v, time in graph.nodes.items() if t % graph.period == time]
    expected = [((t, u), (t + s, v)) for u, v, s in graph.edges for t in window if (t, u) in there and t + s in window]
    assert Counter(unfolded(each.title) for each in edges_of(picture(name), 2)) == Counter(expected)
    nodes = [each.title for each in elements(picture(name), 2) if "node" in each.classes]
    assert Counter(nodes) == Counter(f"({t}, {v})" for t, v in there)


# The colours.


def check_colours(name: str, text: str) -> None:
    """What the colours and classes say, held against the graph alone: no use of the walks that were drawn."""
    graph, found = graphs()[name], measures_of(graphs()[name])
    drawn = edges_of(text, 1)
    for each in (*drawn, *edges_of(text, 2)):
        cycle, skip = "critical-cycle" in each.classes, "skip-cycle" in each.classes
        assert f"stroke: {VERMILION if cycle else BLUE if skip else GREY}" in each.style, each
        assert ("dasharray" in each.style) == (skip and not cycle), each
    for kind, value in (("critical-cycle", found.d_r), ("skip-cycle", found.s and 1 / found.s)):
        members = [edge(each.title) for each in drawn if kind in each.classes]
        assert Counter(e.tail for e in members) == Counter(e.head for e in members)  # closed
        assert Fraction(len(members), sum(e.sigma for e in members)) == value
        lifted = [unfolded(each.title) for each in edges_of(text, 2) if kind in each.classes]
        assert {Edge(u, v, s - t) for (t, u), (s, v) in lifted} == set(members)
        tails, heads = (Counter(ends) for ends in zip(*lifted, strict=True))
        assert max(tails.values()) == max(heads.values()) == 1  # a chain, though the window may cut it
    path = [unfolded(each.title) for each in edges_of(text, 2) if "critical-path" in each.classes]
    assert {Edge(u, v, s - t) for (t, u), (s, v) in path} == {
        edge(each.title) for each in drawn if "critical-path" in each.classes
    }
    ((start, u),) = {tail for tail, _ in path} - {head for _, head in path}
    ((stop, v),) = {head for _, head in path} - {tail for tail, _ in path}
    assert u in graph.inputs and v in graph.outputs and len(path) - found.d_r * (stop - start) == found.d_f
    bands = text.count(f"stroke: {GREEN}") - 1  # one is in the legend
    assert bands == len(path) + sum("critical-path" in each.classes for each in drawn)


@pytest.mark.parametrize("name", [*DRAWN, "with σ < 0"])
def test_the_critical_cycles_and_the_path_are_coloured_and_nothing_else(name: str) -> None:
    check_colours(name, picture(name))


def test_a_planted_colour_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    for constant in ("_VERMILION", "_BLUE", "_GREY"):
        with monkeypatch.context() as patch:
            patch.setattr(drawing, constant, "#123456")
            with pytest.raises(AssertionError, match="stroke"):
                check_colours("td", pictures.svg(get("td")))


def test_a_planted_edge_of_a_cycle_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = pictures.Subject.classes
    with monkeypatch.context() as patch:
        patch.setattr(pictures.Subject, "classes", lambda self, e: () if e.sigma == 1 else honest(self, e))
        with pytest.raises(AssertionError):
            check_colours("td", pictures.svg(get("td")))
    with monkeypatch.context() as patch:
        patch.setattr(pictures.Highlight, "start", lambda self, graph: 1)
        with pytest.raises((AssertionError, ValueError)):
            check_colours("figure 1(a)", pictures.svg(get("figure 1(a)")))


def test_a_graph_that_runs_backward_shows_its_closed_walk() -> None:
    text = picture("backward")
    assert "closed walk with Σσ = −1: condition (U) fails" in text
    (loop,) = (each for each in edges_of(text, 1) if "closed-walk" in each.classes)
    assert edge(loop.title) == ("a", "a", -1) and f"stroke: {VERMILION}" in loop.style
    assert not {"critical-cycle", "skip-cycle", "critical-path"} & set().union(*(e.classes for e in edges_of(text, 1)))
    lifted = [unfolded(each.title) for each in edges_of(text, 2) if "closed-walk" in each.classes]
    assert all(s == t - 1 and u == v == "a" for (t, u), (s, v) in lifted) and len(lifted) == columns(text) - 1


# The file.


@pytest.mark.slow
def test_equal_graphs_give_equal_bytes_also_in_another_process() -> None:
    code = (
        "import sys\nfrom odernn.architecture import get, pictures\nsys.stdout.write(pictures.svg(get('figure 1(a)')))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        cwd=CHECKOUT,
        check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"},
    )
    assert run.stdout.decode() == picture("figure 1(a)") == pictures.svg(get("figure 1(a)"))
    assert "dc:date" not in picture("figure 1(a)")


def test_the_picture_is_described_for_those_who_do_not_see_it() -> None:
    root = ElementTree.fromstring(picture("td").encode())
    assert root.get("role") == "img"
    by_name = {each.get("id"): each for each in root.iter() if each.get("id")}
    assert len(by_name) == sum(1 for each in root.iter() if each.get("id"))
    title, description = (by_name[name].text or "" for name in root.get("aria-labelledby", "").split())
    assert title == 'Graph "td", d_r = 2, d_f = 3, s = 1'
    assert "cycle of d_r = 2: l = 2, Σσ = 1, h1 -(0)-> h2 -(1)-> h1" in description
    texts = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    assert texts.count("h1") == 1 + columns(picture("td"))


def test_names_are_text_and_nothing_else() -> None:
    for name in ("$a_b$", "<b>&'\"", "\x1b[31m\x00", "a very long name indeed", "--> <!--", "层"):
        graph = RNNGraph(name, 1, {name: 0, "o": 0}, ((name, name, 1), (name, "o", 0)), (name,), ("o",))  # type: ignore[arg-type]
        text = pictures.svg(graph)
        titles = [each.title for each in elements(text, 1) if "node" in each.classes]
        assert titles[0] == "".join(c if c.isprintable() else "�" for c in name)
        assert "\x1b" not in text and len(edges_of(text, 1)) == 2


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'not installed: pip install "odernn\[plots\]"'):
        pictures.svg(get("sh"))


# Sizes.


def large(nodes: int, cycle: int) -> RNNGraph:
    """A cycle of some of many nodes; the others hang from it."""
    labels = {f"v{k}": 0 for k in range(nodes)}
    edges = [(f"v{k}", f"v{(k + 1) % cycle}", 1 if k == cycle - 1 else 0) for k in range(cycle)]
    edges += [("v0", f"v{k}", 0) for k in range(cycle, nodes)]
    return RNNGraph("large", 1, labels, tuple(edges), ("v0",), (f"v{cycle - 1}",))  # type: ignore[arg-type]


def test_of_a_large_graph_only_the_walks_are_drawn() -> None:
    text = pictures.svg(large(500, 10))
    assert "Only these walks are drawn: 10 of 500 nodes, 10 of 500 edges." in text
    assert len(edges_of(text, 1)) == 10
    assert all("critical-cycle" in each.classes for each in edges_of(text, 1))


def test_a_graph_whose_walks_are_too_long_is_refused_with_the_numbers() -> None:
    with pytest.raises(
        pictures.PictureError, match=r"500 nodes and 500 edges, and the .* alone have 100 nodes: .* at most 60"
    ):
        pictures.svg(large(500, 100))


def test_a_window_that_is_too_short_says_so() -> None:
    assert "its unfolding at the times 0 … 47; the cycle of s would need more<" in pictures.svg(get("skip-60"))
    assert "would need more" not in picture("skip-5")


def test_delays_beyond_every_window_take_no_time() -> None:
    far = 10**12
    edges = (("u", "v", far), ("v", "u", 1 - far), ("u", "u", far))
    for graph in (get(f"skip-{far}"), RNNGraph("far", 1, {"u": 0, "v": 0}, edges)):  # type: ignore[arg-type]
        text = pictures.svg(graph)
        assert f">{far}<" in text and "would need more" in text
        assert all(abs(e.sigma) < columns(text) for e in drawn_steps(text))


def test_a_long_period_takes_no_time() -> None:
    far = 10**12
    text = pictures.svg(RNNGraph("slow", far, {"u": 0, "v": far - 1}, (("u", "v", -1), ("v", "u", far + 1))))  # type: ignore[arg-type]
    assert f"the cyclic graph, period {far}" in text and "would need more" in text


def drawn_steps(text: str) -> list[Edge]:
    return [Edge(u, v, s - t) for (t, u), (s, v) in (unfolded(each.title) for each in edges_of(text, 2))]


@pytest.mark.slow
def test_zeros_are_written_where_there_is_room() -> None:
    words = "An edge without a number has σ = 0."
    for name, many in (("clockwork(2,3)", False), ("clockwork(1,2,3)", True)):
        text, graph = pictures.svg(get(name)), get(name)
        assert (len(graph.edges) > pictures.MOST_ZEROS, words in text) == (many, many)
        labels = Counter("".join(each.itertext()) for each in ElementTree.fromstring(text.encode()).iter(f"{SVG}text"))
        zeros = sum(e.sigma == 0 for e in graph.edges)
        assert labels["0"] == (1 if many else 1 + zeros)  # one is the time of a column


def test_a_gallery_keeps_its_panels_apart() -> None:
    rows = [[(get("sh"), "graph"), (get("td"), "graph")], [(get("td"), "unfolding")]]
    text = pictures.gallery(rows, title="three")
    assert [len(edges_of(text, panel)) for panel in (1, 2)] == [3, 6] and edges_of(text, 3)
    assert "d_r = 2, d_f = 3, s = 1" in text
    with pytest.raises(ValueError, match='"picture" is not a way to show Graph "sh"'):
        pictures.gallery([[(get("sh"), "picture")]], title="none")


# The layout.


def random_graphs() -> list[RNNGraph]:
    found = []
    for seed in range(40):
        chance = random.Random(seed)
        period, count = chance.randint(1, 3), chance.randint(2, 9)
        nodes = {f"v{k}": chance.randrange(period) for k in range(count)}
        edges = {("v0", "v0", period)}
        for _ in range(2 * count):
            u, v = chance.randrange(count), chance.randrange(count)
            sigma = (nodes[f"v{v}"] - nodes[f"v{u}"]) % period + period * chance.randint(0 if u < v else 1, 2)
            edges.add((f"v{u}", f"v{v}", sigma))
        found.append(RNNGraph(f"random {seed}", period, nodes, tuple(edges)))  # type: ignore[arg-type]
    return found


def test_layers_go_up_along_every_edge_that_cannot_go_round() -> None:
    for graph in (*random_graphs(), *map(get, names())):
        layer = layout.layers(graph)
        after = {v: {e.head for e in graph.edges if e.tail == v} for v in graph.nodes}
        reached: dict[str, set[str]] = {}
        for v in graph.nodes:
            queue, reached[v] = [v], set()
            while queue:
                new = after[queue.pop()] - reached[v]
                reached[v] |= new
                queue += new
        for e in graph.edges:
            if e.sigma == 0 or e.tail not in reached[e.head]:
                assert layer[e.tail] < layer[e.head], (graph, e)
        assert min(layer.values()) == 0


def test_no_two_nodes_lie_on_each_other() -> None:
    for graph in (*random_graphs(), *map(get, names())):
        places = layout.positions(graph)
        for one, other in itertools.combinations(places.values(), 2):
            assert math.dist(one, other) > 2.5 * layout.RADIUS, graph
        row = layout.rows(graph)
        cells = [(time, row[node]) for node, time in graph.nodes.items()]
        assert len(set(cells)) == len(cells) and set(row.values()) == set(range(max(row.values()) + 1))


def test_edges_end_at_their_nodes_and_pass_the_others() -> None:
    """Of the small graphs of the catalogue; where there are many edges the least bad curve is taken."""
    for name in DRAWN:
        graph, places = get(name), layout.positions(get(name))
        drawn = layout.curves([(places[e.tail], places[e.head]) for e in graph.edges], places.values())
        for e, curve in zip(graph.edges, drawn, strict=True):
            points = curve.points()
            for end, node in ((points[0], e.tail), (points[-1], e.head)):
                assert math.dist(end, places[node]) == pytest.approx(layout.RADIUS, abs=1e-12)
            others = [place for node, place in places.items() if node not in e[:2]]
            assert all(math.dist(p, place) > layout.RADIUS for p in points for place in others), (name, e)


def test_parallel_edges_and_loops_are_apart() -> None:
    edges = [("a", "b", s) for s in (0, 1, 2)] + [("b", "a", s) for s in (1, 2)] + [("b", "b", s) for s in (1, 2, 3)]
    graph = RNNGraph("parallel", 1, {"a": 0, "b": 0}, tuple(edges))  # type: ignore[arg-type]
    places = layout.positions(graph)
    drawn = layout.curves([(places[e.tail], places[e.head]) for e in graph.edges], places.values())
    for one, other in itertools.combinations(drawn, 2):
        assert math.dist(one.label, other.label) > 0.15
