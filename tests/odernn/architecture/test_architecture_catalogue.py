"""The catalogue has the values that its sources print, and says with evidence where it has not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from odernn.architecture import RNNGraph, get, growth_limit, longest_paths, measures_of, names, table
from odernn.architecture.catalogue import (
    clockwork,
    depths,
    dilated,
    entry,
    section_4_5,
    skip,
    stack,
    stacked_lstm,
    unicornn,
)

HALF = Fraction(1, 2)


def values(graph: RNNGraph) -> tuple[Fraction | None, ...]:
    found = measures_of(graph)
    return found.d_r, found.d_f, found.s


NAMED = {
    "sh": (1, 2, 1),
    "st": (1, 3, 1),
    "bu": (1, 3, 1),
    "td": (2, 3, 1),
    "skip-40": (1, 2, 40),
    "stack-3": (1, 4, 1),
    "stacked lstm-3": (1, 4, 1),
    "4.5(1)": (1, 3, 1),
    "4.5(2)-21": (1, 3, 1),
    "4.5(3)-21": (1, 3, 21 * HALF),
    "4.5(3)-2": (1, 3, 1),
    "4.5(3)-1": (2, 3, 1),
    "4.5(4)-21": (1, 3, 21),
    "clockwork(1,2,4,8)": (1, 2, 8),
    "figure 1(a)": (3 * HALF, 7 * HALF, 2),
    "dilated(1,2,4,8)": (1, 5, 8),
    "dilated(4,8)": (Fraction(1, 4), 3, 8),
    "unicornn-3": (1, 4, 1),
    "unicornn residual-6-2": (1, 7, 1),
}


@pytest.mark.parametrize("name", NAMED)
def test_named_architectures_have_their_measures(name: str) -> None:
    assert values(get(name)) == NAMED[name]


@pytest.mark.parametrize("k", range(1, 31))
def test_families_for_every_k(k: int) -> None:
    assert values(skip(k)) == (1, 2, k)
    assert values(section_4_5(2, k)) == (1, 3, 1)
    assert values(section_4_5(3, k)) == (1 if k >= 2 else 2, 3, max(1, k * HALF))
    assert values(section_4_5(4, k)) == (1, 3, k)
    assert values(stack(k)) == values(stacked_lstm(k)) == values(unicornn(k)) == (1, k + 1, 1)


@pytest.mark.parametrize("d_f", range(2, 7))
@pytest.mark.parametrize("d_r", range(1, 6))
def test_both_depths_can_be_chosen(d_f: int, d_r: int) -> None:
    assert values(depths(d_f, d_r)) == (d_r, d_f, 1)


def test_the_table_agrees_with_the_sources_but_for_two_values() -> None:
    """k/2 at k = 1 (the loop of a layer has s = 1), and d_f = 3 in the text for the graph whose caption says 7/2."""
    rows = table()
    assert len(rows) == len(names()) == len({row.entry.name for row in rows}) >= 45
    different = {row.entry.name: row.differences for row in rows if row.differences}
    assert set(different) == {"4.5(3)-1", "figure 1(a), text"}
    assert different["4.5(3)-1"] == ("s = 1/2 is published; s = 1, j = 1: the cycle h1 -(1)-> h1 has l = 1, Σσ = 1",)
    (sentence,) = different["figure 1(a), text"]
    assert sentence.startswith("d_f = 3 is published; d_f = 7/2: the path 1 -(0)-> 2") and "l = 5, Σσ = 1" in sentence
    assert sum(bool(row.entry.published) for row in rows) >= 38
    for row in rows:
        found = row.measures
        for certificate in (found.recurrent_depth, found.feedforward_depth, found.skip_coefficient):
            assert certificate.holds and certificate.witness.confirms(row.entry.graph)


def test_figure_1a_has_the_printed_paths() -> None:
    """D_t(1 … 4) = 5, 6, 8, 9 is printed for every t; it is so for even t, and 4, 6, 7, 9 for odd t."""
    graph = get("figure 1(a)")
    even, odd = (longest_paths(graph, start, 40) for start in (0, 1))
    assert [even[n] for n in range(1, 5)] == [5, 6, 8, 9] and [odd[n] for n in range(1, 5)] == [4, 6, 7, 9]
    between = longest_paths(graph, 0, 40, between=True)
    assert (between[0], between[1]) == (3, 5)
    assert max(length - n * 3 * HALF for n, length in between.items()) == 7 * HALF


def test_the_limits_exist_but_for_the_shortest_paths_of_a_clockwork() -> None:
    """A path from an odd time never meets a slower module, which reads only slower ones: d_i(n)/n → 1, not 1/8."""
    assert all(growth_limit(get(name)).holds for name in names())
    slow = [name for name in names() if not growth_limit(get(name), "shortest")]
    assert slow == ["clockwork(1,2,4,8)", "clockwork(2,3)"]
    found = growth_limit(get("clockwork(1,2,4,8)"), "shortest")
    assert found.value[1].limit == 1 and found.value[0].limit == Fraction(1, 8)
    assert found.witness.walk is not None and found.witness.start != 0


def test_a_clockwork_acts_when_its_periods_divide_the_time() -> None:
    graph = clockwork((2, 3))
    assert graph.period == 6 and [node for node in graph.nodes if node[0] == "h"] == [
        "h1@0",
        "h1@2",
        "h1@4",
        "h2@0",
        "h2@3",
    ]
    edges = {tuple(edge) for edge in graph.edges}
    assert {("h2@3", "h1@4", 1), ("h2@0", "h1@2", 2), ("h1@4", "h1@0", 2), ("h2@3", "h2@0", 3)} <= edges
    assert {("in@0", "h2@0", 0), ("h1@4", "out@5", 1), ("h2@3", "out@3", 0)} <= edges
    assert not any(tail.startswith("h1") and head.startswith("h2") for tail, head, _ in edges)
    assert values(clockwork((1,))) == values(get("sh"))


def test_a_layer_opened_up_counts_its_nodes() -> None:
    """An LSTM is one node in the source; as g → c → h with h → g a step takes 3 edges, and the cell's own loop 1."""
    assert values(stacked_lstm(2, gates=True)) == (3, 7, 1)
    assert values(unicornn(3, states=True)) == (2, 7, 1)


def test_the_index_conventions_of_unicornn_differ_in_feedforward_depth_only() -> None:
    for layers in range(1, 6):
        assert values(unicornn(layers)) == (1, layers + 1, 1)
        assert values(unicornn(layers, convention="sam")) == (1, 1, 1)


def test_residual_connections_shorten_the_shortest_path_from_input_to_output_only() -> None:
    from odernn.architecture import shortest_paths

    plain, residual = unicornn(6), unicornn(6, skip=2)
    assert values(plain) == values(residual)
    assert len(residual.edges) == len(plain.edges) + 4
    assert ("in", "h3", 0) in {tuple(edge) for edge in residual.edges}
    assert shortest_paths(plain, 0, 0, between=True) == {0: 7}
    assert shortest_paths(residual, 0, 0, between=True) == {0: 3}


def test_short_names_and_spaces() -> None:
    assert get("fig1a") == get("Figure 1(a)") and get("cw(1, 2,4,8)") == get("clockwork(1,2,4,8)")
    assert get("(3, 2)") == depths(3, 2) and get("skip-7") == skip(7)
    assert get("dilated(3)") == dilated((3,))
    assert all(get(name).name == name for name in names())
    assert entry("sh").source is not None and str(entry("sh").source)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("skpi-3", KeyError, "Did you mean"),
        ("zzz", KeyError, "The catalogue has: sh"),
        ("skip-0", ValueError, "The skip k is 0"),
        ("(1,1)", ValueError, "The feedforward depth is 1"),
        ("stack-0", ValueError, "0 layers"),
        ("clockwork(4,2)", ValueError, "do not increase"),
        ("dilated(0)", ValueError, "A dilation is 0"),
        ("unicornn residual-3-1", ValueError, "The residual skip S is 1"),
    ],
)
def test_an_unknown_name_gets_advice(name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        get(name)
    assert message in str(raised.value)


def test_builders_refuse_what_they_do_not_know() -> None:
    with pytest.raises(ValueError, match=r"no architecture \(5\)"):
        section_4_5(5, 2)
    with pytest.raises(ValueError, match="is not known"):
        unicornn(2, convention="nips")
