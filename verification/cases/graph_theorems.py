"""The theorems on cyclic graphs as statements: what the claims of the source and the library's own have in common.

Proofs: docs/derivations/cyclic_graphs.md.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction

from odernn.architecture.graph import GraphError
from odernn.architecture.measures import recurrent_depth
from verification.adversary.graphs import SketchBox
from verification.cases.graph_growth import (
    LONGEST,
    Rates,
    Sense,
    covering,
    cycles,
    of_each_time,
    unbounded_again,
    unbounded_places,
    unbounded_side,
)
from verification.cases.graph_kinds import CYCLE_NAMED, INFINITE, TIME, TOGETHER
from verification.cases.graph_statements import CYCLE, OPEN, Domain, GraphStatement, Side
from verification.certify.second.graph import Graph
from verification.claim import Hypothesis, Parameters
from verification.measure.graph_facts import MOST_TRAILED, GraphFacts, Raw, raw_of, without_cycle
from verification.parameters import declared

PLACE = declared(*INFINITE, rules=(TOGETHER,))
"""Where a path is infinite, in a graph without (U)."""

# --- acyclicity: condition (3), a decision against all closed walks

WEIGHTED = Domain(
    "weighted graphs with (1), (2)",
    (
        Hypothesis(
            "(1) σ = time(v) − time(u) mod m",
            lambda at: at.known.has_residues,
            second_margin=lambda at: at.known.has_residues,
        ),
        Hypothesis(CYCLE.text, lambda at: at.known.has_cycle, second_margin=CYCLE.second_margin),
    ),
    load=raw_of,
)


def decided(simple_cycles_only: bool = False) -> GraphStatement:
    """(3) as decided on the finite graph = no closed walk of sum 0, as a long enough piece of the unfolding shows.

    ``simple_cycles_only`` decides by the sums of simple cycles, none of which is to be 0: the planted falsehood.
    """

    def side(decision: bool, truth: bool) -> Side:
        return Side(int(decision != truth), f"decided: (3) {_holds(decision)}; closed walks: (3) {_holds(truth)}")

    def first(raw: Raw, _: Parameters) -> Side:
        return side(0 not in raw.cycle_sums if simple_cycles_only else raw.is_admitted, raw.unfolds)

    def second(graph: Graph, _: Parameters) -> Side:
        rule = all(s for s in graph.sums) if simple_cycles_only else graph.has_one_sign
        return side(rule, graph.is_acyclic_in_time)

    return GraphStatement(first, second)


def _holds(condition: bool) -> str:
    return "holds" if condition else "fails"


def acyclic() -> GraphStatement:
    """The unfolding over 8 |V| max |σ| + m times has no directed cycle; one anywhere else could be moved there."""

    def first(facts: GraphFacts, _: Parameters) -> Side:
        nodes, edges = facts.graph.window(0, 8 * facts.reach + facts.graph.period)
        place = {node: number for number, node in enumerate(nodes)}
        is_acyclic = without_cycle(len(nodes), [(place[tail], place[head]) for tail, head in edges])
        return Side(int(not is_acyclic), f"{len(nodes)} nodes of the unfolding")

    def second(graph: Graph, _: Parameters) -> Side:
        order = graph.window(0, 8 * graph.reach + graph.period)
        return Side(int(order is None), "a cycle" if order is None else f"{len(order)} nodes in an order")

    return GraphStatement(first, second)


def forward() -> GraphStatement:
    """No edge of the unfolding leads back in time: the planted falsehood."""

    def first(facts: GraphFacts, _: Parameters) -> Side:
        edges = facts.graph.window(0, 2 * facts.reach + facts.graph.period)[1]
        back = sum(head[0] < tail[0] for tail, head in edges)
        return Side(int(back > 0), f"{back} edges back in time")

    def second(graph: Graph, _: Parameters) -> Side:
        back = [edge for edge in graph.edges if edge[2] < 0]
        return Side(int(bool(back)), f"{len(back)} edges back in time")

    return GraphStatement(first, second)


# --- recurrent depth


def approaches_infinity(least: Fraction = Fraction(0)) -> GraphStatement:
    """Every class of n in which D_i(n) is defined has a rate above 0; with another number, the planted falsehood."""

    def side(rates: Rates) -> Side | None:
        if not rates.classes:
            return None
        lowest = min(rates.classes)
        return Side(max(least - lowest, Fraction(int(lowest <= 0))), f"D_{rates.start}(n)/n → {rates}")

    return of_each_time(LONGEST, side)


def periodic(shift: int | None = None, sense: Sense = LONGEST) -> GraphStatement:
    """D_{i+m}(n) = D_i(n) for every i and n, or the same of d_i(n); another shift than m is the planted falsehood.

    The unfolding decides it for all n, by ``Graph.decisive``; the library is asked for n ≤ 2|V| max |σ|.
    """

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        return ({"i": str(i)} for i in range(facts.graph.period))

    def side(i: int, period: int, lengths: Callable[[int], dict[int, int]]) -> Side:
        later = i + (period if shift is None else shift)
        one, other = lengths(i), lengths(later)
        apart = sorted(n for n in {*one, *other} if one.get(n) != other.get(n))
        one_name, other_name = (f"{sense.symbol}_{start}(n)" for start in (i, later))
        text = f"{one_name} and {other_name} differ at n = {apart[0]}" if apart else f"{other_name} = {one_name}"
        return Side(int(bool(apart)), text)

    def first(facts: GraphFacts, parameters: Parameters) -> Side:
        def lengths(start: int) -> dict[int, int]:
            return facts.paths(start, 2 * facts.reach, "longest" if sense is LONGEST else "shortest")

        return side(int(parameters["i"]), facts.graph.period, lengths)

    def second(graph: Graph, parameters: Parameters) -> Side:
        def lengths(start: int) -> dict[int, int]:
            return graph.lengths(start, graph.decisive, max if sense is LONGEST else min)

        return side(int(parameters["i"]), graph.period, lengths)

    return GraphStatement(first, second, places, parameters=declared(TIME))


# --- feedforward depth

DEPTH = "sup D*_i(n) − n d_r = max l − d_r Σσ over paths"


def _between_places(facts: GraphFacts) -> Iterator[Parameters]:
    return unbounded_places(facts, between=True)


def finite_depth(most: Fraction | None = None) -> GraphStatement:
    """sup D*_i(n) − n d_r < ∞: no class of n has a larger rate than d_r. ``most``: ≤ that number, the falsehood."""

    def side(rate: Fraction | None, top: Fraction, supremum: Fraction | None) -> Side | None:
        if supremum is None:
            return None
        if most is not None:
            return Side(supremum - most, f"sup D*_i(n) − n d_r = {supremum}")
        return Side(Fraction(0) if rate is None else rate - top, f"D*_i(n)/n → at most {rate}, d_r = {top}")

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        if not facts.is_unidirectional:
            return unbounded_side(facts, parameters, between=True)
        return side(growth_between(facts), facts.d_r, facts.d_f)

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        if not graph.is_unidirectional:
            return unbounded_again(graph, parameters, between=True)
        return side(growth_between_again(graph), max(graph.rates), graph.excess)

    return GraphStatement(first, second, _between_places, hypotheses=(OPEN,), ends=True, parameters=PLACE)


def growth_between(facts: GraphFacts) -> Fraction | None:
    """The rate at which D*_i(n) grows at best, by the part of the graph on walks from inputs to outputs."""
    try:
        rate: Fraction = recurrent_depth(facts.graph.between_ends()).value
    except GraphError:
        return None
    return rate


def growth_between_again(graph: Graph) -> Fraction | None:
    slopes = (rate for i in range(graph.period) for rate in graph.slopes(i, between=True).values())
    return max(slopes, default=None)


def depth_by_paths(*, with_sigma: bool = True) -> GraphStatement:
    """sup D*_i(n) − n d_r = max l − d_r Σσ over the paths from an input to an output.

    ``with_sigma=False`` takes the largest l of a path alone: the planted falsehood.
    """

    def side(supremum: Fraction | None, paths: Fraction | None) -> Side | None:
        if supremum is None or paths is None:
            return None
        name = "max l − d_r Σσ" if with_sigma else "max l"
        return Side(abs(supremum - paths), f"sup D*_i(n) − n d_r = {supremum}, {name} = {paths}")

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        if not facts.is_unidirectional:
            return unbounded_side(facts, parameters, between=True)
        p, q = facts.d_r.as_integer_ratio()
        values = [
            q * length - p * n
            for i in range(facts.graph.period)
            for n, length in facts.paths(i, 3 * facts.reach + 6, between=True).items()
        ]
        return side(
            Fraction(max(values), q) if values else None, facts.d_f if with_sigma else _longest(facts.simple_paths)
        )

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        if not graph.is_unidirectional:
            return unbounded_again(graph, parameters, between=True)
        return side(graph.excess, graph.depth if with_sigma else graph.longest_path)

    return GraphStatement(first, second, _between_places, hypotheses=(OPEN,), ends=True, parameters=PLACE)


def _longest(lengths: tuple[int, ...]) -> Fraction | None:
    return Fraction(max(lengths)) if lengths else None


# --- limits


def covered_limit(sense: Sense, *, strict: bool) -> GraphStatement:
    """With a cycle of the extreme ratio that meets every time: lim D_i(n)/n = d_r for every i, over defined n."""

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        infinite: Parameters = {}
        if sense is LONGEST and not facts.is_unidirectional:
            unbounded = facts.unbounded()
            if unbounded is None:
                return
            infinite = {"i": str(unbounded[0]), "n": str(unbounded[1])}
        for cycle in cycles(facts):
            yield {**cycle, **infinite}

    def side(rates_by_time: list[Rates]) -> Side:
        worst = max(rates_by_time, key=lambda rates: len(set(rates.classes) - {rates.extreme}))
        gaps = [abs(rate - rates.extreme) for rates in rates_by_time for rate in rates.classes]
        text = f"{sense.symbol}_{worst.start}(n)/n → {worst}, {sense.measure} = {worst.extreme}"
        return Side(max(gaps, default=Fraction(0)), text)

    def negative(least: Fraction, has_forward: bool) -> Side | None:
        if not has_forward or least >= 0:
            return None
        return Side(-least, f"d_i(n)/n ≥ 0 for n > 0, as no length is negative, {sense.extreme} = {least}")

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        if facts.is_unidirectional:
            return side([sense.growth(facts, i) for i in range(facts.graph.period)])
        if sense is LONGEST:
            return unbounded_side(facts, parameters)
        return negative(facts.ratios[1], 1 in facts.signs.values())

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        if graph.is_unidirectional:
            return side([sense.growth_again(graph, i) for i in range(graph.period)])
        if sense is LONGEST:
            return unbounded_again(graph, parameters)
        return negative(min(graph.rates), max(graph.sums) > 0)

    infinite = declared(CYCLE_NAMED, *INFINITE, rules=(TOGETHER,)) if sense is LONGEST else declared(CYCLE_NAMED)
    return GraphStatement(first, second, places, covering(sense, strict=strict), parameters=infinite)


LOOSE_FAILS = SketchBox(2, 2, -1, 3, 3)
"""It has the loops of 2 and 3: the smallest graph for which the loose reading of A.1.1 is false."""


# --- thm-A-rate: closed walks that repeat nodes, but no edge


def same_extremes(*, ordered: bool = True) -> GraphStatement:
    """max and min of l/Σσ over closed walks without repeated edges are those over cycles without repeated nodes.

    Of graphs with at most ``MOST_TRAILED`` edges. Not ``ordered``: the two extremes exchanged, a planted falsehood.
    """

    def side(walks: Collection[Fraction], cycles: Collection[Fraction]) -> Side:
        ends = [choose(ratios) for ratios in (walks, cycles) for choose in (max, min)]
        top, bottom, largest, least = ends if ordered else (ends[1], ends[0], *ends[2:])
        text = f"l/Σσ from {bottom} to {top} over {len(walks)} closed walks, {least} to {largest} over simple cycles"
        return Side(max(abs(top - largest), abs(bottom - least)), text)

    def first(facts: GraphFacts, _: Parameters) -> Side | None:
        if len(facts.graph.edges) > MOST_TRAILED:
            return None
        every, simple = (
            [Fraction(len(cycle), sum(edge.sigma for edge in cycle)) for cycle in cycles]
            for cycles in (facts.directed_cycles, facts.simple_cycles)
        )
        return side(every, simple)

    def second(graph: Graph, _: Parameters) -> Side | None:
        """By sets of edges: one makes a closed walk iff it is connected and each node is left as often as it is met."""
        if len(graph.edges) > MOST_TRAILED:
            return None
        subsets = (
            chosen for size in range(1, len(graph.edges) + 1) for chosen in itertools.combinations(graph.edges, size)
        )
        walks = [Fraction(len(chosen), sum(step for *_, step in chosen)) for chosen in subsets if _is_closed(chosen)]
        return side(walks, graph.rates)

    return GraphStatement(first, second)


def _is_closed(edges: Sequence[tuple[str, str, int]]) -> bool:
    """Whether they are, in some order, one closed walk: Euler's condition."""
    if Counter(tail for tail, *_ in edges) != Counter(head for _, head, _ in edges):
        return False
    met, waiting = {edges[0][0]}, [edges[0][0]]
    while waiting:
        node = waiting.pop()
        new = {head for tail, head, _ in edges if tail == node} - met
        met |= new
        waiting += new
    return all(tail in met for tail, *_ in edges)
