# Claims: cplx-A.1-pf · cplx-PA.1.1-pf
"""Steps of the proofs of Thm A.1 and of Prop. A.1.1: as meant, as printed, and as they should be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from odernn.architecture.graph import RNNGraph
from odernn.architecture.walks import Edge
from odernn.published.sources import Source
from verification.cases.graph_growth import LONGEST, SHORTEST, Sense, cycle_of
from verification.cases.graph_kinds import CYCLE_NAMED, PATH_NAMED, TIME
from verification.cases.graph_statements import FORWARD, GraphStatement, Side, box_case, free_case, theorem
from verification.cases.inequality import Inequality
from verification.certify.second.graph import Arc, Graph, is_cycle, joined, rate, sigma
from verification.claim import Attempt, Case, Claim, Hypothesis, Parameters
from verification.domains import Budget
from verification.kinds import Integer, Rational
from verification.measure.graph_facts import GraphFacts, from_first
from verification.measure.polynomials import variables
from verification.parameters import Parameter, declared


def _text(edges: tuple[Arc, ...]) -> str:
    return json.dumps([list(edge) for edge in edges])


def _path_of(parameters: Parameters) -> tuple[Arc, ...]:
    return tuple((str(u), str(v), int(step)) for u, v, step in json.loads(parameters["path"]))


def _walked(facts: GraphFacts, path: tuple[Arc, ...]) -> int | None:
    """The time that the path takes, in the library's unfolding; None if it is no path."""
    start = facts.graph.nodes[path[0][0]]
    time, node = start, path[0][0]
    for u, v, step in path:
        if node != u or ((time, u), (time + step, v)) not in facts.window:
            return None
        time, node = time + step, v
    return time - start


def path_places(facts: GraphFacts) -> Iterator[Parameters]:
    """Every edge, and every path of two edges without repeated nodes."""
    edges: list[Arc] = [(u, v, step) for u, v, step in facts.graph.edges]
    for one in edges:
        yield {"path": _text((one,))}
        for other in edges:
            if one[1] == other[0] and len({one[0], one[1], other[1]}) == 3:
                yield {"path": _text((one, other))}


def _of_paths(margin: Callable[[GraphFacts | Graph, tuple[Arc, ...], int], Side]) -> GraphStatement:
    """A statement about the time D(γ) that a path takes."""

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        path = _path_of(parameters)
        taken = _walked(facts, path) if path else None
        return None if taken is None else margin(facts, path, taken)

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        path = _path_of(parameters)
        return margin(graph, path, sigma(path)) if path and joined(graph, path) else None

    return GraphStatement(first, second, path_places, parameters=declared(PATH_NAMED))


def duration(*, labels: int = 1) -> GraphStatement:
    """D(γ₀) = t̄_end − t̄_0 + Σσ(e_i), or without the labels."""

    def margin(graph: GraphFacts | Graph, path: tuple[Arc, ...], taken: int) -> Side:
        times = graph.graph.nodes if isinstance(graph, GraphFacts) else graph.times
        printed = labels * (times[path[-1][1]] - times[path[0][0]]) + sum(step for *_, step in path)
        return Side(abs(taken - printed), f"γ₀ = {_text(path)} takes the time {taken}, the formula says {printed}")

    return _of_paths(margin)


NO_EDGE_BACK = Hypothesis(
    "no edge leads back in time: σ ≥ 0",
    lambda at: min(edge.sigma for edge in at.known.graph.edges),
    strict=False,
    second_margin=lambda at: min(step for *_, step in at.known.edges),
)


def bounded(*, forward: bool = False, share: int = 1) -> GraphStatement:
    """|D(γ₀)| ≤ m + Γ max σ(e), Γ the number of nodes, whether D is the time taken or has the labels in it once more.

    ``forward``: in graphs without an edge back in time. ``share`` = 0 leaves Γ max σ out, a planted falsehood.
    """

    def margin(graph: GraphFacts | Graph, path: tuple[Arc, ...], taken: int) -> Side:
        known = graph.graph if isinstance(graph, GraphFacts) else graph
        times = known.nodes if isinstance(known, RNNGraph) else known.times
        most = known.period + share * len(times) * max(step for *_, step in known.edges)
        largest = max(abs(taken), abs(taken + times[path[-1][1]] - times[path[0][0]]))
        return Side(largest - most, f"γ₀ = {_text(path)} has |D(γ₀)| = {largest}, m + Γ max σ = {most}")

    return replace(_of_paths(margin), hypotheses=(NO_EDGE_BACK,) if forward else ())


def bounded_by_steps(*, share: int = 1) -> GraphStatement:
    """|D(γ₀)| ≤ Γ max |σ(e)|, D the time taken; ``share`` = 0 is a planted falsehood."""

    def margin(graph: GraphFacts | Graph, path: tuple[Arc, ...], taken: int) -> Side:
        known = graph.graph if isinstance(graph, GraphFacts) else graph
        count = len(known.nodes if isinstance(known, RNNGraph) else known.times)
        most = share * count * max(abs(step) for *_, step in known.edges)
        return Side(abs(taken) - most, f"γ₀ = {_text(path)} takes the time {taken}, Γ max |σ| = {most}")

    return _of_paths(margin)


def up_to_epsilon(extreme: Sense = LONGEST) -> GraphStatement:
    """For every ε > 0: D_i(n)/n ≤ d_r + ε for all n > N, that is, no class of n has a larger rate than d_r.

    With j in the place of d_r it is a planted falsehood.
    """

    def side(start: int, rates: Iterable[Fraction], top: Fraction) -> Side | None:
        largest = max(rates, default=None)
        if largest is None:
            return None
        return Side(largest - top, f"limsup D_{start}(n)/n = {largest}, {extreme.measure} = {top}")

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        start = int(parameters["i"])
        return side(start, LONGEST.growth(facts, start).classes, extreme.value(facts))

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        start = int(parameters["i"])
        return side(start, LONGEST.growth_again(graph, start).classes, extreme.ratio(graph))

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        return ({"i": str(i)} for i in range(facts.graph.period))

    return GraphStatement(first, second, places, parameters=declared(TIME))


def within_epsilon() -> GraphStatement:
    """For ε = 0: D_i(n)/n ≤ d_r for all n > N. Not so if a path with l − d_r Σσ > 0 meets a critical cycle."""

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        for place in path_places(facts):
            for cycle in facts.simple_cycles:
                yield {**place, "cycle": _text(tuple((u, v, step) for u, v, step in cycle))}

    def side(path: tuple[Arc, ...], cycle: tuple[Arc, ...], top: Fraction, start: int) -> Side | None:
        met = {u for u, _, _ in path} | {path[-1][1]}
        if rate(cycle) != top or not met & {u for u, _, _ in cycle}:
            return None
        gain = len(path) - top * sigma(path)
        at = f"n = {sigma(path)} + {sigma(cycle)}k"
        text = (
            f"D_{start}(n) ≥ n d_r + {gain} at {at} for every k ≥ 0, along {_text(path)} with k turns of {_text(cycle)}"
        )
        return Side(gain, text)

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        path, cycle = _path_of(parameters), cycle_of(parameters)
        turn = from_first(tuple(Edge(*edge) for edge in cycle))
        if not path or _walked(facts, path) is None or turn not in facts.simple_cycles:
            return None
        return side(path, cycle, facts.d_r, facts.graph.nodes[path[0][0]])

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        path, cycle = _path_of(parameters), cycle_of(parameters)
        simple = is_cycle(graph, cycle) and len({u for u, _, _ in cycle}) == len(cycle)
        if not path or not joined(graph, path) or not simple:
            return None
        sides = side(path, cycle, max(graph.rates), graph.times[path[0][0]])
        if sides is None or not sides.violated:
            return sides
        turn = sigma(path) + 3 * sigma(cycle)
        longest = graph.lengths(graph.times[path[0][0]], max(turn, 0))[turn]
        return sides if longest > turn * max(graph.rates) else Side(0, f"D({turn}) = {longest}")

    return GraphStatement(first, second, places, parameters=declared(PATH_NAMED, CYCLE_NAMED))


# --- Proposition A.1.1: how many turns


def turns_case(*, inverted: bool = True) -> Case:
    """For k > σ_s/(l ε), as printed, or k > l/(σ_s ε): what k of k + 1 turns miss of l/σ_s, (l/σ_s)/(k + 1), is ≤ ε."""
    condition = "k > σ_s/(l ε)" if inverted else "k > l/(σ_s ε)"

    def ask(_: Budget, __: int) -> Attempt:
        L, T, P = variables("l", "t", "p")  # p = ε σ_s and t = ε σ_s k − l
        printed = "l = 2, σ_s = 1, ε = 1/10, k = 6"
        if inverted:
            candidates: tuple[Parameters, ...] = ({"l": "2", "s": "1", "epsilon": "1/10", "k": "6"},)
            return Attempt(printed, 1, claimed="≤ ε", candidates=candidates)
        proof = "with p = ε σ_s and t = p k − l > 0: ε σ_s(k + 1) − l = t + p > 0, as polynomials"
        return Attempt(proof, 1, claimed="≤ ε", proof=proof if (L + T) + P - L == T + P else "")

    def above(p: Any) -> Any:
        return p.k * p.l * p.epsilon - p.s if inverted else p.k * p.s * p.epsilon - p.l

    whole = Integer(1, 10**6)
    check = Inequality(
        lambda p: (p.l / p.s / (p.k + 1), p.epsilon),
        lambda p: (p.l / (p.s * p.k + p.s), p.epsilon),
        (Hypothesis(condition, above),),
        parameters=declared(
            Parameter("l", whole), Parameter("s", whole), Parameter("epsilon", Rational(above=0)), Parameter("k", whole)
        ),
    ).check
    return Case(f"Prop. A.1.1, {condition}", "(l/σ_s)/(k + 1) ≤ ε", ask, check)


_BOUNDED = "|D(γ₀)| ≤ m + Γ max σ where σ ≥ 0"
_EPSILON = "ε > 0: D_i(n)/n ≤ d_r + ε for n > N"

CLAIMS = (
    Claim(
        id="cplx-A.1-pf",
        source=Source("complexity", "proof of Thm A.1"),
        statement="three steps: a path γ₀ takes the time D(γ₀) = t̄_end − t̄_0 + Σ σ(e_i); |D(γ₀)| ≤ m + Γ max σ, Γ the "
        "number of nodes; for ε > 0 there is N with D_i(n)/n ≤ d_r + ε for n > N",
        semantics="reading",
        cases=(
            free_case(FORWARD, "D(γ₀) = t̄_end − t̄_0 + Σσ", duration()),
            *theorem(_BOUNDED, bounded(forward=True), bounded(share=0), "Recurrent depth", widely=False),
            *theorem(_EPSILON, up_to_epsilon(), up_to_epsilon(SHORTEST), "Recurrent depth", widely=False),
            *theorem("D(γ₀) = Σσ", duration(labels=0), duration(), "Recurrent depth", widely=False),
            free_case(FORWARD, "|D(γ₀)| ≤ m + Γ max σ", bounded()),
            free_case(FORWARD, "ε = 0: D_i(n)/n ≤ d_r for n > N", within_epsilon()),
            box_case(FORWARD, "|D(γ₀)| ≤ Γ max |σ|", bounded_by_steps()),
        ),
    ),
    Claim(
        id="cplx-PA.1.1-pf",
        source=Source("complexity", "proof of Prop. A.1.1"),
        statement="of a cycle of l edges and time σ_s > 0, k turns: (l/σ_s)/(k + 1) ≤ ε for every k > l/(σ_s ε) (in "
        "print the fraction is upside down)",
        semantics="reading",
        cases=(turns_case(), turns_case(inverted=False)),
    ),
)
