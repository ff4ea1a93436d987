# Claims: cplx-D2.1a · cplx-D2.1b · cplx-L2.1 · cplx-2-cw
"""Cyclic graphs and their unfoldings: what Definition 2.1, Lemma 2.1 and the text of Section 2 say of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from odernn.architecture import catalogue, files
from odernn.published.sources import Source
from verification.cases import decision
from verification.cases.graph_statements import EVERY, GraphStatement, Side, box_case, free_case, proved_in
from verification.cases.graph_theorems import WEIGHTED, acyclic, decided, forward
from verification.certify.second.graph import Graph, parse
from verification.claim import Case, Claim, Decided, Hypothesis, Parameters
from verification.measure import described_graphs
from verification.measure.graph_facts import GraphFacts, facts_of

# --- Definition 2.1: labels, edges of the unfolding

ODD = Hypothesis(
    "m is odd, m ≥ 3",
    lambda at: at.known.graph.period % 2 == 1 < at.known.graph.period,
    second_margin=lambda at: at.known.period > 1 and bool(at.known.period & 1),
)


def printed_labels(steps: int = 2) -> GraphStatement:
    """Every time has a label in {0, 2, …, m − 1}, or in steps of another size."""

    def first(facts: GraphFacts, _: Parameters) -> Side:
        m, labels = facts.graph.period, range(0, facts.graph.period, steps)
        missing = [f"{node} at time {t}" for node, t in facts.graph.nodes.items() if t not in labels]
        return Side(len(missing), f"m = {m}, labels {{{', '.join(map(str, labels))}}}; none for {', '.join(missing)}")

    def second(graph: Graph, _: Parameters) -> Side:
        missing = sum(time % steps != 0 for time in graph.times.values())
        return Side(missing, f"{missing} times are no multiple of {steps}")

    return GraphStatement(first, second, hypotheses=(ODD,))


def pairs_apart(with_sigma: bool = True) -> GraphStatement:
    """The edges of G_un that start within one period, as pairs of nodes of G_un, are as many as the edges of G_c.

    ``with_sigma=False`` reads the pairs as nodes of G_c, which forgets σ: the planted falsehood.
    """

    def first(facts: GraphFacts, _: Parameters) -> Side:
        reach, m = facts.reach, facts.graph.period
        pairs = {
            ((t, u), (s, v) if with_sigma else v)
            for (t, u), (s, v) in facts.graph.window(-reach, m + reach + 1)[1]
            if 0 <= t < m
        }
        return Side(len(facts.graph.edges) - len(pairs), f"{len(facts.graph.edges)} edges, {len(pairs)} pairs")

    def second(graph: Graph, _: Parameters) -> Side:
        lost = sum(
            any(edge[:2] == other[:2] and (edge[2] == other[2] or not with_sigma) for other in graph.edges[:place])
            for place, edge in enumerate(graph.edges)
        )
        return Side(lost, f"{lost} edges fall together with another one")

    return GraphStatement(first, second)


# --- Section 2: periods of named networks


def clockwork_case(largest: int = 6, modules: int = 3) -> Case:
    """m > 1 for every clockwork RNN of at least two periods: no shift of time by less than their lcm maps G_un on
    itself, since it must keep the number of modules that act, and all of them act only where the lcm divides t.
    """

    def first(parameters: Parameters) -> Decided:
        periods = tuple(map(int, parameters["periods"].split()))
        graph = catalogue.clockwork(periods)
        acting = [sum(t % period == 0 for period in periods) for t in range(math.lcm(*periods))]
        nodes = [
            sum(time == t and node.startswith("h") for node, time in graph.nodes.items()) for t in range(graph.period)
        ]
        if acting != nodes:
            raise ArithmeticError(f"clockwork{periods}: {nodes} modules act, not {acting}")
        own = next(p for p in range(1, len(acting) + 1) if acting == acting[p:] + acting[:p])
        return Decided(own == 1, f"the number of modules that act has the period {own}")

    def second(parameters: Parameters) -> Decided:
        """All act at t = 0; if as many act at t = 1, every period is 1."""
        periods = parameters["periods"].split()
        return Decided(all(period == "1" for period in periods), f"periods {', '.join(periods)}")

    chosen = [p for size in range(2, modules + 1) for p in itertools.combinations(range(1, largest + 1), size)]
    return decision.decided(
        f"clockwork RNNs of 2 to {modules} periods ≤ {largest}",
        "m",
        decision.at(*({"periods": " ".join(map(str, periods))} for periods in chosen)),
        first,
        second,
        box=f"clockwork RNNs of 2 to {modules} periods ≤ {largest}; whatever the periods are, all modules act at t = 0 "
        "and only those of period 1 at t = 1",
        claimed="m > 1",
        names=("catalogue", "periods"),
    )


def hierarchical_case(ratios: Sequence[int] = (2, 3, 4)) -> Case:
    """m > 1 for hierarchical RNNs, whose level l acts every k^l steps: no shift by less than m keeps how many act.

    A ratio k = 1 has no levels of different pace: a planted falsehood.
    """

    def first(parameters: Parameters) -> Decided:
        facts = facts_of(described_graphs.hierarchical(int(parameters["k"]), int(parameters["levels"])))
        assert facts is not None
        m = facts.graph.period
        acting = [0] * 2 * m
        for time, _ in facts.graph.window(0, 2 * m)[0]:
            acting[time] += 1
        least = next(shift for shift in range(1, m + 1) if acting[shift:] == acting[: len(acting) - shift])
        return Decided(least == 1, f"k = {parameters['k']}: the number of nodes at a time has the period {least}")

    def second(parameters: Parameters) -> Decided:
        """Every level acts at t = 0, the slow ones not at t = 1."""
        graph = parse(described_graphs.hierarchical(int(parameters["k"]), int(parameters["levels"])))
        counted = [sum(time == t % graph.period for time in graph.times.values()) for t in (0, 1)]
        return Decided(counted[0] == counted[1], f"{counted[0]} nodes at t = 0, {counted[1]} at t = 1")

    places = ({"k": str(k), "levels": str(levels)} for k in ratios for levels in (2, 3))
    return decision.decided(
        f"hierarchical RNNs of 2 and 3 levels, k in {{{', '.join(map(str, ratios))}}}",
        "m",
        decision.at(*places),
        first,
        second,
        box="level l acts every k^l steps",
        claimed="m > 1",
        names=("odernn", "times"),
    )


def traditional_case() -> Case:
    """m = 1 for the networks that the paper calls traditional, simple and stacked RNNs and LSTMs: for all of them,
    where "most" is claimed.
    """
    names = ("sh", "st", "bu", "td", "stack-1", "stack-3", "stacked lstm-1", "stacked lstm-3")

    def first(parameters: Parameters) -> Decided:
        period = catalogue.get(parameters["network"]).period
        return Decided(period != 1, f"m = {period}")

    def second(parameters: Parameters) -> Decided:
        """A graph whose nodes all have the time 0 is its own image one step later."""
        graph = parse(files.to_json(catalogue.get(parameters["network"])))
        late = [node for node, time in graph.times.items() if time]
        return Decided(bool(late) or graph.period != 1, f"nodes at later times: {', '.join(late) or 'none'}")

    return decision.decided(
        "simple and stacked RNNs and LSTMs",
        "m",
        decision.at(*({"network": name} for name in names)),
        first,
        second,
        box=", ".join(names),
        claimed="most: m = 1",
        names=("catalogue", "times"),
    )


CLAIMS = (
    Claim(
        id="cplx-D2.1a",
        source=Source("complexity", "Def. 2.1"),
        statement="time indices are 0, …, m − 1 (the list begins 0, 2 in print); edges of G_c are triples (u, v, σ), "
        "of which parallel ones give different pairs of nodes in G_un",
        semantics="reading",
        cases=(
            free_case(EVERY, "labels, read as steps of 2", printed_labels()),
            free_case(EVERY, "edges as pairs, parallel edges differ in σ", pairs_apart(), planted=pairs_apart(False)),
            box_case(EVERY, "edges as pairs, parallel edges differ in σ", pairs_apart()),
        ),
    ),
    Claim(
        id="cplx-D2.1b",
        source=Source("complexity", "Def. 2.1, (3)"),
        statement="condition (3), Σσ ≠ 0 along every closed walk, can be decided on a finite graph: it holds iff the "
        "cycle sums of each strongly connected component are nonzero and of one sign",
        semantics="comb",
        dominated_by="thm-A-dag",
        cases=(
            free_case(
                WEIGHTED, "decision = enumeration", decided(), planted=decided(True), proof=proved_in("Acyclicity")
            ),
            box_case(WEIGHTED, "decision = enumeration", decided()),
        ),
    ),
    Claim(
        id="cplx-L2.1",
        source=Source("complexity", "Lemma 2.1"),
        statement="under (1)-(3) no unfolding of a cyclic graph of an RNN has a directed cycle",
        semantics="comb",
        dominated_by="thm-A-dag",
        cases=(
            free_case(EVERY, "cycles of the unfolding", acyclic(), planted=forward(), proof=proved_in("Acyclicity")),
            box_case(EVERY, "cycles of the unfolding", acyclic()),
        ),
    ),
    Claim(
        id="cplx-2-cw",
        source=Source("complexity", "Sec. 2"),
        statement="m, the least period of G_un, is 1 for most of the usual RNNs, and more for some, such as "
        "hierarchical and clockwork ones",
        semantics="comb",
        cases=(traditional_case(), clockwork_case(), hierarchical_case()),
    ),
)
