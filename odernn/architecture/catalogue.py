"""Named architectures: each a graph, the measures its source prints, and where the two differ.

    >>> from odernn.architecture import get, measures_of
    >>> print(measures_of(get("skip-21")))
    d_r = 1, d_f = 2, s = 21

The names with numbers are families: ``skip-K``, ``stack-L``, ``(f,r)``, ``4.5(1)`` and ``4.5(2)-K`` … ``4.5(4)-K``,
``clockwork(T1,T2,…)``, ``stacked lstm-L``, ``dilated(k1,k2,…)``, ``unicornn-L`` and ``unicornn residual-L-S``.
Unless an edge says otherwise, in -> h1 and top -> out have σ = 0 and loops σ = 1. A node is a layer, as in the source,
which counts an LSTM as one node; ``gates=True`` and ``states=True`` of two builders open the layer up instead.

The figures of the source are not in its text. What Figure 1(a) and the nine architectures of Section 4.3 look like is
therefore a reconstruction: graphs with the printed edges and values.
"""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from odernn.architecture.graph import RNNGraph
from odernn.architecture.measures import Measures, measures_of
from odernn.architecture.walks import Edge
from odernn.published.sources import Source

_ZHANG: Final = "complexity"


def _layers(
    name: str, layers: int, edges: Iterable[tuple[str, str, int]] = (), *, entry: int = 1, exit: int | None = None
) -> RNNGraph:
    """in -> h{entry}, a chain h1 -> … -> hL of σ = 0, h{exit} -> out (the top by default), and these edges."""
    if layers < 1:
        raise ValueError(f'Graph "{name}": {layers} layers. Ask for at least 1.')
    hidden = [f"h{l}" for l in range(1, layers + 1)]
    chain = [(low, high, 0) for low, high in itertools.pairwise(hidden)]
    ends = [("in", f"h{entry}", 0), (f"h{exit or layers}", "out", 0)]
    all_edges = {Edge(*edge) for edge in (*chain, *ends, *edges)}
    return RNNGraph(name, 1, dict.fromkeys(["in", *hidden, "out"], 0), tuple(all_edges), ("in",), ("out",))


def _loops(layers: int, sigma: int = 1) -> list[tuple[str, str, int]]:
    return [(f"h{l}", f"h{l}", sigma) for l in range(1, layers + 1)]


def _at_least(what: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{what} is {value}; it must be at least {least}.")


def sh() -> RNNGraph:
    """One hidden layer with its loop: the plain RNN (Section 4.2)."""
    return _layers("sh", 1, _loops(1))


def st() -> RNNGraph:
    """Two stacked layers, each with its loop (Section 4.2)."""
    return _layers("st", 2, _loops(2))


def bu() -> RNNGraph:
    """st and a bottom-up connection h1 -> h2 to the next time (Section 4.2)."""
    return _layers("bu", 2, [*_loops(2), ("h1", "h2", 1)])


def td() -> RNNGraph:
    """st and a top-down connection h2 -> h1 to the next time (Section 4.2)."""
    return _layers("td", 2, [*_loops(2), ("h2", "h1", 1)])


def depths(d_f: int, d_r: int) -> RNNGraph:
    """Feedforward depth f ≥ 2 and recurrent depth r ≥ 1 in one graph of period 1 (Section 4.3, reconstructed).

    A chain of L = max(f − 1, r) layers with loops; if r > 1, hr -> h1 to the next time; if the chain is longer than the
    path needs, the input enters at h{r − f + 2} and the output leaves at hr.
    """
    _at_least("The feedforward depth", d_f, 2)
    _at_least("The recurrent depth", d_r, 1)
    layers = max(d_f - 1, d_r)
    back = [(f"h{d_r}", "h1", 1)] if d_r > 1 else []
    entry, exit = (1, layers) if d_f - 1 >= d_r else (d_r - d_f + 2, d_r)
    return _layers(f"({d_f},{d_r})", layers, [*_loops(layers), *back], entry=entry, exit=exit)


def skip(k: int) -> RNNGraph:
    """sh and a connection of the hidden layer to itself k steps later (Section 4.4)."""
    _at_least("The skip k", k, 1)
    return _layers(f"skip-{k}", 1, [*_loops(1), ("h1", "h1", k)])


def section_4_5(number: int, k: int = 1) -> RNNGraph:
    """Architectures (1)–(4) of Section 4.5: st; k steps along h1 -> h2 (2), along h2 -> h1 (3), on each layer (4)."""
    _at_least("The skip k", k, 1)
    skips: dict[int, list[tuple[str, str, int]]] = {
        1: [],
        2: [("h1", "h2", k)],
        3: [("h2", "h1", k)],
        4: _loops(2, k),
    }
    if number not in skips:
        raise ValueError(f"Section 4.5 has no architecture ({number}). It has (1), (2), (3) and (4).")
    name = "4.5(1)" if number == 1 else f"4.5({number})-{k}"
    return _layers(name, 2, [*_loops(2), *skips[number]])


def stack(layers: int) -> RNNGraph:
    """L stacked layers, each with its loop."""
    return _layers(f"stack-{layers}", layers, _loops(layers))


def stacked_lstm(layers: int, *, gates: bool = False) -> RNNGraph:
    """L stacked LSTM layers. With ``gates`` a layer is three nodes: its gates g, its cell c and its output h.

    g(t) reads h(t − 1) and the layer below, c(t) reads c(t − 1) and g(t), h(t) reads c(t) and g(t).
    """
    if not gates:
        return _renamed(stack(layers), f"stacked lstm-{layers}")
    edges: list[tuple[str, str, int]] = []
    _at_least("The number of layers", layers, 1)
    for l in range(1, layers + 1):
        below = f"h{l - 1}" if l > 1 else "in"
        g, c, h = f"g{l}", f"c{l}", f"h{l}"
        edges += [(below, g, 0), (h, g, 1), (g, c, 0), (c, c, 1), (c, h, 0), (g, h, 0)]
    return _opened(f"stacked lstm-{layers}, gates", [*edges, (f"h{layers}", "out", 0)])


def _opened(name: str, edges: list[tuple[str, str, int]]) -> RNNGraph:
    """A graph of period 1 from its edges."""
    inner = dict.fromkeys(node for edge in edges for node in edge[:2] if node not in {"in", "out"})
    return RNNGraph(name, 1, dict.fromkeys(["in", *inner, "out"], 0), tuple(Edge(*e) for e in edges), ("in",), ("out",))


def _renamed(graph: RNNGraph, name: str) -> RNNGraph:
    return RNNGraph(name, graph.period, graph.nodes, graph.edges, graph.inputs, graph.outputs)


def dilated(dilations: Sequence[int] = (1, 2, 4, 8)) -> RNNGraph:
    """Dilated RNN: layer l reads itself dilations[l − 1] steps ago, and *only* then (Chang et al. 2017)."""
    for k in dilations:
        _at_least("A dilation", k, 1)
    loops = [(f"h{l}", f"h{l}", k) for l, k in enumerate(dilations, 1)]
    return _layers(f"dilated({','.join(map(str, dilations))})", len(dilations), loops)


def clockwork(periods: Sequence[int] = (1, 2, 4, 8)) -> RNNGraph:
    """Clockwork RNN: module a acts at the times that its period T_a divides; m is the least common multiple.

    It reads every module of a period as long or longer, as it was last computed before that time, and the input; the
    output reads all modules as they are. Nodes "a@t", one for each time t in 0 … m − 1 at which module a acts.
    """
    periods = tuple(periods)
    if not periods or any(one >= other for one, other in itertools.pairwise(periods)) or periods[0] < 1:
        raise ValueError(f"The periods {periods} do not increase from 1 or more. Pass for example (1, 2, 4, 8).")
    m = math.lcm(*periods)
    nodes = {f"in@{t}": t for t in range(m)}
    nodes |= {f"h{a}@{t}": t for a, period in enumerate(periods, 1) for t in range(0, m, period)}
    nodes |= {f"out@{t}": t for t in range(m)}
    edges = []
    for t in range(m):
        edges += [Edge(f"in@{t}", f"h{a}@{t}", 0) for a, period in enumerate(periods, 1) if t % period == 0]
        for b, slow in enumerate(periods, 1):
            since = (t - 1) % slow + 1
            source = f"h{b}@{(t - since) % m}"
            edges += [Edge(source, f"h{a}@{t}", since) for a, fast in enumerate(periods[:b], 1) if t % fast == 0]
            edges.append(Edge(f"h{b}@{t - t % slow}", f"out@{t}", t % slow))
    name = f"clockwork({','.join(map(str, periods))})"
    inputs, outputs = (tuple(f"{end}@{t}" for t in range(m)) for end in ("in", "out"))
    return RNNGraph(name, m, nodes, tuple(edges), inputs, outputs)


def figure_1a() -> RNNGraph:
    """Period 2, with the edges that the text names: (1,7) -> (0,3) of σ = 1 and the loop of (0,3) of σ = 2.

    The rest is chosen so that the printed D_t(1 … 4) = 5, 6, 8, 9, d_r and s come out. Nodes 1–4 have time 0, the
    others time 1.
    """
    nodes = {str(p): (0 if p < 5 else 1) for p in range(1, 9)}
    chains = [Edge(str(p), str(p + 1), 0) for p in (1, 2, 3, 5, 6, 7)]
    edges = (*chains, Edge("3", "6", 1), Edge("7", "3", 1), Edge("3", "3", 2))
    return RNNGraph("figure 1(a)", 2, nodes, edges, ("1", "5"), ("4", "8"))


def unicornn(layers: int, *, skip: int | None = None, states: bool = False, convention: str = "icml") -> RNNGraph:
    """A stack of UnICORNN layers; ``skip=S`` adds the residual connections from layer l − S − 1 to l > S (0: input).

    convention  "icml": layer l at time n reads layer l − 1 at time n; "sam": at time n − 1, the input too
    states      a layer is its two nodes: z(t) reads z, y at t − 1 and the layers below, y(t) reads y at t − 1 and z(t)
    """
    _at_least("The number of layers", layers, 1)
    if convention not in {"icml", "sam"}:
        raise ValueError(f'The index convention {convention!r} is not known. Pass "icml" or "sam".')
    if skip is not None:
        _at_least("The residual skip S", skip, 2)
    delay = 1 if convention == "sam" else 0
    name = f"unicornn-{layers}" if skip is None else f"unicornn residual-{layers}-{skip}"
    edges: list[tuple[str, str, int]] = []
    for l in range(1, layers + 1):
        z, y = (f"z{l}", f"y{l}") if states else (f"h{l}", f"h{l}")
        edges += [(z, z, 1), (y, z, 1), (z, y, 0), (y, y, 1)] if states else [(y, y, 1)]
        below = [l - 1] + ([l - skip - 1] if skip is not None and l > skip else [])
        edges += [("in" if b == 0 else f"{'y' if states else 'h'}{b}", z, delay) for b in below]
    name += ", states" * states + ", sam" * (convention == "sam")
    return _opened(name, [*edges, (f"{'y' if states else 'h'}{layers}", "out", 0)])


@final
@dataclass(frozen=True)
class Entry:
    """A graph with what its source prints of d_r, d_f and s (a measure it does not print has no key)."""

    graph: RNNGraph
    published: Mapping[str, Fraction]
    source: Source | None
    note: str = ""

    @property
    def name(self) -> str:
        return self.graph.name


@final
@dataclass(frozen=True)
class MeasuredEntry:
    """An entry with its measures, and a sentence with the evidence for every published value that they differ from."""

    entry: Entry
    measures: Measures

    @property
    def values(self) -> dict[str, Fraction | None]:
        return {"d_r": self.measures.d_r, "d_f": self.measures.d_f, "s": self.measures.s}

    @property
    def differences(self) -> tuple[str, ...]:
        certificates = {
            "d_r": self.measures.recurrent_depth,
            "d_f": self.measures.feedforward_depth,
            "s": self.measures.skip_coefficient,
        }
        return tuple(
            f"{name} = {value} is published; {certificates[name].because}"
            for name, value in self.entry.published.items()
            if value != self.values[name]
        )


def _entry(graph: RNNGraph, source: Source | None = None, note: str = "", **published: int | Fraction) -> Entry:
    return Entry(graph, {name: Fraction(value) for name, value in published.items()}, source, note)


def _zhang(graph: RNNGraph, place: str, note: str = "", **published: int | Fraction) -> Entry:
    return _entry(graph, Source(_ZHANG, place), note, **published)


_RECONSTRUCTED: Final = "the figure is not in the text: a reconstruction"


def _section_4_5(number: int, k: int) -> Entry:
    s = {1: Fraction(1), 2: Fraction(1), 3: Fraction(k, 2), 4: Fraction(k)}[number]
    return _zhang(section_4_5(number, k), f"Section 4.5, ({number})", s=s)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


_SINGLE: Final[dict[str, Callable[[], Entry]]] = {
    "sh": lambda: _zhang(sh(), "Sections 4.2, 4.5", d_r=1, d_f=2, s=1),
    "st": lambda: _zhang(st(), "Sections 4.2, 4.5", d_r=1, d_f=3, s=1),
    "bu": lambda: _zhang(bu(), "Section 4.2", d_r=1, d_f=3),
    "td": lambda: _zhang(td(), "Section 4.2", d_r=2, d_f=3),
    "figure 1(a)": lambda: _zhang(
        figure_1a(), "Figure 1, caption", _RECONSTRUCTED, d_r=Fraction(3, 2), d_f=Fraction(7, 2), s=2
    ),
    "figure 1(a), text": lambda: _zhang(
        _renamed(figure_1a(), "figure 1(a), text"),
        "Section 3.3",
        "the text has d_f = D*_t(0) = 3 for the graph of the caption with d_f = 7/2; D*_t(1) = 5 exceeds d_r + 3",
        d_f=3,
    ),
    "4.5(1)": lambda: _section_4_5(1, 1),
    "stacked lstm gates": lambda: _entry(
        _renamed(stacked_lstm(2, gates=True), "stacked lstm gates"), note="2 layers, each with nodes g, c, h"
    ),
    "unicornn states": lambda: _entry(
        _renamed(unicornn(3, states=True), "unicornn states"), note="3 layers, each with nodes z, y"
    ),
    "unicornn sam": lambda: _entry(
        _renamed(unicornn(3, convention="sam"), "unicornn sam"), note="3 layers, index convention of the report"
    ),
}

_FAMILIES: Final[dict[str, tuple[str, Callable[..., Entry]]]] = {
    "(f,r)": (
        r"\((\d+),(\d+)\)",
        lambda f, r: _zhang(depths(int(f), int(r)), "Section 4.3", _RECONSTRUCTED, d_r=int(r), d_f=int(f)),
    ),
    "skip-K": (r"skip-(\d+)", lambda k: _zhang(skip(int(k)), "Section 4.4", s=int(k))),
    "4.5(N)-K": (r"4\.5\(([234])\)-(\d+)", lambda number, k: _section_4_5(int(number), int(k))),
    "stack-L": (r"stack-(\d+)", lambda l: _zhang(stack(int(l)), "Section 3.1", d_r=1)),
    "stacked lstm-L": (r"stacked lstm-(\d+)", lambda l: _zhang(stacked_lstm(int(l)), "Section 3.1", d_r=1)),
    "dilated(K,…)": (r"dilated\((\d+(?:,\d+)*)\)", lambda k: _entry(dilated(_numbers(k)))),
    "clockwork(T,…)": (
        r"clockwork\((\d+(?:,\d+)*)\)",
        lambda t: _zhang(clockwork(_numbers(t)), "Section 2", "the text says m > 1"),
    ),
    "unicornn-L": (r"unicornn-(\d+)", lambda l: _entry(unicornn(int(l)))),
    "unicornn residual-L-S": (
        r"unicornn residual-(\d+)-(\d+)",
        lambda l, s: _entry(unicornn(int(l), skip=int(s)), note="residual connections shorten paths, not the longest"),
    ),
}

_MEMBERS: Final = (
    *(f"({f},{r})" for f in (2, 3, 4) for r in (1, 2, 3)),
    *("skip-1", "skip-21", "skip-30", "skip-40"),
    *(f"4.5({number})-{k}" for number in (2, 3, 4) for k in (1, 2, 5, 9, 17, 21)),
    *("stack-1", "stack-3", "stacked lstm-1", "stacked lstm-3", "dilated(1,2,4,8)", "dilated(4,8)"),
    *("clockwork(1,2,4,8)", "clockwork(2,3)", "unicornn-3", "unicornn residual-6-2"),
)
"""The members of the families that ``names`` and ``table`` list."""


def names() -> tuple[str, ...]:
    """The single entries and the members of families that the table shows; ``get`` knows every member."""
    return (*_SINGLE, *_MEMBERS)


def families() -> tuple[str, ...]:
    """The names with numbers, such as "skip-K"."""
    return tuple(_FAMILIES)


def entry(name: str) -> Entry:
    """The entry of that name; ``fig1a`` and ``cw(…)`` are short for two of them.

    Raises KeyError with the nearest name, ValueError if a family has no such member.
    """
    text = re.sub(r"\s*,\s*", ",", name.strip().casefold())
    text = {"fig1a": "figure 1(a)"}.get(text, re.sub(r"^cw\(", "clockwork(", text))
    for single, build in _SINGLE.items():
        if re.sub(r"\s*,\s*", ",", single) == text:
            return build()
    for pattern, member in _FAMILIES.values():
        match = re.fullmatch(pattern, text)
        if match:
            return member(*match.groups())
    near = difflib.get_close_matches(text, names(), n=1)
    known = ", ".join((*_SINGLE, *_FAMILIES))
    advice = f'Did you mean "{near[0]}"?' if near else f"The catalogue has: {known}."
    raise KeyError(f'No architecture is called "{name}". {advice}')


def get(name: str) -> RNNGraph:
    """The graph of that name."""
    return entry(name).graph


def table(which: Iterable[str] | None = None) -> tuple[MeasuredEntry, ...]:
    """The entries, all that ``names`` lists by default, with their measures."""
    entries = (entry(name) for name in (names() if which is None else which))
    return tuple(MeasuredEntry(one, measures_of(one.graph)) for one in entries)
