# Claims: thm-A-dag · thm-A-rate · thm-A-df · thm-A-lim
"""The library's theorems on cyclic graphs: acyclicity, rates, feedforward depth, limits by classes of n.

Proofs: docs/derivations/cyclic_graphs.md. What the source says of the same things is tried on the same kinds of cases.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from fractions import Fraction
from typing import Any

import networkx

from odernn.architecture.graph import RNNGraph
from odernn.architecture.measures import recurrent_depth
from odernn.published.sources import Source
from verification.adversary.graphs import SketchBox
from verification.cases.graph_growth import (
    LEAST_RATE,
    LONGEST,
    RATE,
    SHORTEST,
    Sense,
    extreme_rate,
)
from verification.cases.graph_kinds import TIME, TimeOf
from verification.cases.graph_statements import (
    EVERY,
    OPEN,
    GraphStatement,
    Side,
    box_case,
    free_case,
    proved_in,
    theorem,
)
from verification.cases.graph_theorems import (
    DEPTH,
    LOOSE_FAILS,
    WEIGHTED,
    acyclic,
    approaches_infinity,
    covered_limit,
    decided,
    depth_by_paths,
    finite_depth,
    forward,
    growth_between,
    growth_between_again,
    periodic,
    same_extremes,
)
from verification.certify.second.graph import Graph, sigma
from verification.claim import Claim, Parameters
from verification.kinds import Integer
from verification.measure.graph_facts import GraphFacts
from verification.parameters import Parameter, declared

# --- thm-A-rate (c): D_i(n) ≤ n d_r + C


def bounded_excess(*, potential: bool = True) -> GraphStatement:
    """D_i(n) ≤ n d_r + C for all n, C = (max h − min h)/q for heights h with h(u) ≥ h(v) + q − pσ, d_r = p/q.

    Each back-end has heights of its own. Without the ``potential`` C = 0, a planted falsehood.
    """

    def side(start: int, lengths: dict[int, int], top: Fraction, heights: Collection[int]) -> Side | None:
        if not lengths:
            return None
        p, q = top.as_integer_ratio()
        excess = Fraction(max(q * length - p * n for n, length in lengths.items()), q)
        room = Fraction(max(heights) - min(heights), top.denominator) if potential else Fraction(0)
        return Side(int(excess > room), f"D_{start}(n) − n d_r ≤ {excess}, C = {room}")

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        start = int(parameters["i"])
        heights = [h for h in recurrent_depth(facts.graph).witness.potential if h is not None]
        return side(start, facts.paths(start, 3 * facts.reach + 6), facts.d_r, heights)

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        start, top = int(parameters["i"]), max(graph.rates)
        heights = dict.fromkeys(graph.times, 0)  # the weight of the heaviest walk: no cycle is heavier than 0
        for _ in graph.times:
            for u, v, step in graph.edges:
                heights[u] = max(heights[u], heights[v] + top.denominator - top.numerator * step)
        return side(start, graph.lengths(start, graph.settled), top, heights.values())

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        return ({"i": str(i)} for i in range(facts.graph.period))

    return GraphStatement(first, second, places, parameters=declared(TIME))


# --- thm-A-rate (f): covers and shifts of the origin of time

MOST_FOLDS = 3


def invariant(power: int = 0) -> GraphStatement:
    """d_r and j of the q-fold cover, its times shifted, are those of the graph; planted: q^``power`` times as large."""

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        return ({"shift": str(facts.graph.period - 1), "folds": str(q)} for q in range(2, MOST_FOLDS + 1))

    def side(own: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction], folds: int) -> Side:
        gaps = [abs(folds**power * a - b) for a, b in zip(own, other, strict=True)]
        return Side(max(gaps), f"d_r, j are {own[0]}, {own[1]}; of the {folds}-fold cover {other[0]}, {other[1]}")

    def first(facts: GraphFacts, parameters: Parameters) -> Side:
        shift, folds = int(parameters["shift"]), int(parameters["folds"])
        cover = facts.graph.cover(folds)
        times = {v: (t + shift) % cover.period for v, t in cover.nodes.items()}
        moved = GraphFacts(RNNGraph(f"{cover.name}, later", cover.period, times, cover.edges))
        return side((facts.d_r, facts.j), (moved.d_r, moved.j), folds)

    def second(graph: Graph, parameters: Parameters) -> Side:
        """Copy r of u reads as copy r + (carries) of v, round in a ring of q copies."""
        shift, folds = int(parameters["shift"]), int(parameters["folds"])
        long = folds * graph.period

        def copy(v: str, time: int) -> str:
            return f"{v}*{(time - shift) % long // graph.period}"

        times = {copy(v, t): t for v, own in graph.times.items() for t in _later(own + shift, graph.period, folds)}
        edges = tuple(
            (copy(u, t), copy(v, (t + step) % long), step)
            for u, v, step in graph.edges
            for t in _later(graph.times[u] + shift, graph.period, folds)
        )
        cover = Graph(long, times, edges, (), ())
        return side((max(graph.rates), min(graph.rates)), (max(cover.rates), min(cover.rates)), folds)

    folds = Parameter("folds", Integer(2, MOST_FOLDS))
    return GraphStatement(first, second, places, parameters=declared(Parameter("shift", TimeOf()), folds))


def _later(time: int, period: int, folds: int) -> list[int]:
    """The times of the q copies, modulo q periods."""
    return [(time + r * period) % (folds * period) for r in range(folds)]


# --- thm-A-df: the growth of D* is that of the part between the ends


def own_growth(*, everywhere: bool = False) -> GraphStatement:
    """limsup D*_i(n)/n for the best i is max l/Σσ over the cycles on walks from an input to an output.

    ``everywhere`` takes all cycles, d_r: a planted falsehood.
    """

    def side(rate: Fraction | None, ratios: Iterable[Fraction]) -> Side | None:
        top = max(ratios, default=None)
        text = f"limsup D*_i(n)/n = {rate}, max l/Σσ = {top}"
        if rate is None or top is None:  # D* is defined for finitely many n, and no cycle is there
            return None if rate is top else Side(1, text)
        return Side(abs(rate - top), text)

    def first(facts: GraphFacts, _: Parameters) -> Side | None:
        whole, graph = facts.multigraph, facts.graph
        after = {w for v in graph.inputs for w in {v, *networkx.descendants(whole, v)}}
        before = {w for v in graph.outputs for w in {v, *networkx.ancestors(whole, v)}}
        cycles = [c for c in facts.simple_cycles if everywhere or {e.tail for e in c} <= after & before]
        return side(growth_between(facts), (Fraction(len(c), sum(e.sigma for e in c)) for c in cycles))

    def second(graph: Graph, _: Parameters) -> Side | None:
        entered = graph.reached(graph.inputs)
        left = {v for v in graph.times if graph.reached([v]) & set(graph.outputs)}
        ratios = (
            Fraction(len(cycle), sigma(cycle))
            for cycle in graph.cycles
            if everywhere or {u for u, _, _ in cycle} <= entered & left
        )
        return side(growth_between_again(graph), ratios)

    return GraphStatement(first, second, hypotheses=(OPEN,), ends=True)


# --- thm-A-lim: the rate of a class of n, and the limit

Step = tuple[str, str, int]


def best_parts(
    steps: Collection[Step], starts: Iterable[str], part: dict[str, Fraction], modulus: int, choose: Callable[..., Any]
) -> dict[int, Fraction]:
    """residue → the best ratio of a part that some walk of this σ-sum meets, over (node, σ-sum, best so far)."""
    known = {(v, 0, part.get(v)) for v in starts}
    waiting = list(known)
    while waiting:
        node, total, best = waiting.pop()
        for tail, head, step in steps:
            if tail == node:
                met = [ratio for ratio in (best, part.get(head)) if ratio is not None]
                reached = head, (total + step) % modulus, choose(met) if met else None
                if reached not in known:
                    known.add(reached)
                    waiting.append(reached)
    found: dict[int, Fraction] = {}
    for _, total, best in known:
        if best is not None:
            found[total] = choose(found.get(total, best), best)
    return found


def _parts(facts: GraphFacts, sense: Sense) -> dict[str, Fraction]:
    """The extreme ratio of the component of every node on a cycle, by the library."""
    ratios: dict[str, Fraction] = {}
    for nodes in networkx.strongly_connected_components(facts.multigraph):
        own = [c for c in facts.simple_cycles if c[0].tail in nodes]
        if own:
            best = sense.choose(Fraction(len(c), sum(e.sigma for e in c)) for c in own)
            ratios |= dict.fromkeys(nodes, best)
    return ratios


def _parts_again(graph: Graph, sense: Sense) -> dict[str, Fraction]:
    """The same by the cycles that each node can go to and come back from."""
    ratios: dict[str, Fraction] = {}
    for v in graph.times:
        around = {w for w in graph.reached([v]) if v in graph.reached([w])}
        own = [Fraction(len(c), sigma(c)) for c in graph.cycles if c[0][0] in around]
        if own:
            ratios[v] = sense.choose(own)
    return ratios


def _by_parts(facts: GraphFacts, sense: Sense, start: int, modulus: int) -> dict[int, Fraction]:
    starts = [v for v, t in facts.graph.nodes.items() if t == start % facts.graph.period]
    return best_parts(facts.graph.edges, starts, _parts(facts, sense), modulus, sense.choose)


def _by_parts_again(graph: Graph, sense: Sense, start: int, modulus: int) -> dict[int, Fraction]:
    """Backwards: which residues lead to each node, part after part from the best to the worst."""
    part = _parts_again(graph, sense)
    sources = {(v, 0) for v, t in graph.times.items() if t == start % graph.period}
    all_reached = _spread(graph, sources, modulus)
    found: dict[int, Fraction] = {}
    for ratio in sorted(set(part.values()), key=lambda r: r if sense is SHORTEST else -r):
        inside = {(v, total) for v, total in all_reached if part.get(v) == ratio}
        for _, total in _spread(graph, inside, modulus):
            found.setdefault(total, ratio)
    return found


def _spread(graph: Graph, sources: set[tuple[str, int]], modulus: int) -> set[tuple[str, int]]:
    known, waiting = set(sources), list(sources)
    while waiting:
        node, total = waiting.pop()
        for _, head, step in graph.after[node]:
            if (reached := (head, (total + step) % modulus)) not in known:
                known.add(reached)
                waiting.append(reached)
    return known


def rates_by_parts(sense: Sense, of: Sense | None = None) -> GraphStatement:
    """For all large n of one class: D_i(n) = n R + O(1), R the best ratio of a part that a walk of σ-sum n meets.

    ``of`` another sense takes the worst part, a planted falsehood.
    """
    other = of or sense

    def side(start: int, classes: Iterable[tuple[Fraction, Iterable[int]]], parts: dict[int, Fraction]) -> Side | None:
        rates = {residue: rate for rate, residues in classes for residue in residues}
        if not rates and not parts:
            return None
        apart = sorted(r for r in {*rates, *parts} if rates.get(r) != parts.get(r))
        text = f"{sense.symbol}_{start}(n)/n → {rates.get(apart[0])} for n ≡ {apart[0]}, not" if apart else "as"
        return Side(int(bool(apart)), f"{text} the best part that is met")

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        growth = sense.growth(facts, int(parameters["i"]))
        return side(growth.start, growth.classes.items(), _by_parts(facts, other, growth.start, growth.modulus))

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        growth = sense.growth_again(graph, int(parameters["i"]))
        return side(growth.start, growth.classes.items(), _by_parts_again(graph, other, growth.start, growth.modulus))

    return GraphStatement(first, second, _times, parameters=declared(TIME))


def _times(facts: GraphFacts) -> Iterator[Parameters]:
    return ({"i": str(i)} for i in range(facts.graph.period))


def limit_criterion(sense: Sense, *, every: bool = True) -> GraphStatement:
    """lim D_i(n)/n over defined n is d_r iff in every class of them some walk meets a part of this ratio.

    ``every`` = False asks it of some class only, a planted falsehood.
    """

    def side(start: int, rates: Collection[Fraction], extreme: Fraction, parts: Collection[Fraction]) -> Side | None:
        if not rates:
            return None
        is_limit = set(rates) == {extreme}
        meets = (all if every else any)(ratio == extreme for ratio in parts)
        text = f"{sense.symbol}_{start}(n)/n {'→' if is_limit else 'does not tend to'} {sense.measure} = {extreme}"
        return Side(int(is_limit != meets), f"{text}; walks {'do' if meets else 'do not'} meet a critical part")

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        growth = sense.growth(facts, int(parameters["i"]))
        parts = _by_parts(facts, sense, growth.start, growth.modulus)
        return side(growth.start, growth.classes, growth.extreme, parts.values())

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        growth = sense.growth_again(graph, int(parameters["i"]))
        parts = _by_parts_again(graph, sense, growth.start, growth.modulus)
        return side(growth.start, growth.classes, growth.extreme, parts.values())

    return GraphStatement(first, second, _times, parameters=declared(TIME))


PARTS = SketchBox(2, 2, 0, 3, 2)
"""It has loops of 2 and 3, so that classes of n have different rates."""
_PAGE = Source("library", "docs/derivations/cyclic_graphs.md")

CLAIMS = (
    Claim(
        id="thm-A-dag",
        source=_PAGE,
        statement="the unfolding is acyclic iff (3), no closed walk of σ-sum 0; (3) holds iff in every strongly "
        "connected component all simple cycle sums are nonzero and of one sign",
        semantics="comb",
        origin="library",
        cases=(
            free_case(
                WEIGHTED, "decision = enumeration", decided(), planted=decided(True), proof=proved_in("Acyclicity")
            ),
            box_case(WEIGHTED, "decision = enumeration", decided()),
            free_case(EVERY, "cycles of the unfolding", acyclic(), planted=forward(), proof=proved_in("Acyclicity")),
            box_case(EVERY, "cycles of the unfolding", acyclic()),
        ),
    ),
    Claim(
        id="thm-A-rate",
        source=_PAGE,
        statement="under (U): max_i limsup D_i(n)/n = d_r = max l/Σσ and min_i liminf d_i(n)/n = j = min l/Σσ over "
        "simple cycles, or over closed walks that repeat nodes but no edge; D_i(n) ≤ n d_r + C, C from a potential; "
        "D_i(n) → ∞; D_i depends on i modulo m; covers and shifts of the origin of time keep d_r and j",
        semantics="comb",
        origin="library",
        cases=(
            *theorem(RATE, extreme_rate(LONGEST), extreme_rate(LONGEST, SHORTEST), "Recurrent depth", widely=False),
            *theorem(
                LEAST_RATE, extreme_rate(SHORTEST), extreme_rate(SHORTEST, LONGEST), "Skip coefficient", widely=False
            ),
            *theorem(
                "D_i(n) ≤ n d_r + C", bounded_excess(), bounded_excess(potential=False), "Recurrent depth", widely=False
            ),
            *theorem(
                "D_i(n) → ∞ over defined n",
                approaches_infinity(),
                approaches_infinity(Fraction(1)),
                "Recurrent depth",
                widely=False,
            ),
            *theorem("D_{i+m}(n) = D_i(n)", periodic(), periodic(1), "Recurrent depth", widely=False),
            *theorem(
                "extremes of l/Σσ over closed walks without repeated edges",
                same_extremes(),
                same_extremes(ordered=False),
                "Recurrent depth",
                widely=False,
            ),
            *theorem("d_r, j of covers, shifted in time", invariant(), invariant(1), "Recurrent depth", widely=False),
        ),
    ),
    Claim(
        id="thm-A-df",
        source=_PAGE,
        statement="under (U), with a walk from an input to an output: d_f = max l − d_r Σσ over simple paths between "
        "them = sup D*_i(n) − n d_r, finite and attained; D* grows at the largest ratio of a cycle between the ends",
        semantics="comb",
        origin="library",
        cases=(
            *theorem(DEPTH, depth_by_paths(), depth_by_paths(with_sigma=False), "Feedforward depth", widely=False),
            *theorem(
                "sup D*_i(n) − n d_r < ∞",
                finite_depth(),
                finite_depth(Fraction(0)),
                "Feedforward depth",
                widely=False,
            ),
            *theorem(
                "limsup D*_i(n)/n = max l/Σσ between the ends",
                own_growth(),
                own_growth(everywhere=True),
                "Feedforward depth",
                widely=False,
            ),
        ),
    ),
    Claim(
        id="thm-A-lim",
        source=_PAGE,
        statement="under (U): D_i(n) = n R(n) + O(1), R(n) the largest ratio of a part that a walk of σ-sum n meets, "
        "a function of the class of n; so lim D_i(n)/n over defined n is d_r iff in every class some walk meets a "
        "critical part; and it is if one lift of a critical cycle meets every time. So d_i(n), j, with minima",
        semantics="comb",
        origin="library",
        cases=tuple(
            case
            for sense, other in ((LONGEST, SHORTEST), (SHORTEST, LONGEST))
            for quantity, statement, planted, box in (
                (f"rates of {sense.symbol}_i(n) by parts", rates_by_parts(sense), rates_by_parts(sense, other), PARTS),
                (
                    f"lim {sense.symbol}_i(n)/n = {sense.measure} iff a critical part is met",
                    limit_criterion(sense),
                    limit_criterion(sense, every=False),
                    PARTS,
                ),
                (
                    f"lim {sense.symbol}_i(n)/n = {sense.measure} if one lift meets every time",
                    covered_limit(sense, strict=True),
                    covered_limit(sense, strict=False),
                    LOOSE_FAILS,
                ),
            )
            for case in theorem(quantity, statement, planted, "Limits", widely=False, box=box)
        ),
    ),
)
