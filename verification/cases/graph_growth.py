"""How paths grow, said by both back-ends: limits superior and inferior, limits, covers of every time by a cycle."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from verification.cases.graph_kinds import INFINITE, TIME, TOGETHER
from verification.cases.graph_statements import AtGraph, GraphStatement, Side
from verification.certify.second import graph as graph_second
from verification.certify.second.graph import Arc, Graph
from verification.claim import Hypothesis, Parameters
from verification.measure.graph_facts import GraphFacts
from verification.parameters import declared


@dataclass(frozen=True)
class Sense:
    """Longest paths, D and d_r, or shortest ones, d and j: one theorem each, with max and min exchanged."""

    symbol: str
    measure: str
    extreme: str
    choose: Callable[..., Fraction]
    kind: str

    def growth(self, facts: GraphFacts, start: int) -> Rates:
        """From time i, by the library."""
        growths = facts.longest if self.kind == "longest" else facts.shortest
        growth = growths[start % facts.graph.period]
        return Rates(start, growth.modulus, growth.residues, self.value(facts))

    def growth_again(self, graph: Graph, start: int) -> Rates:
        """From time i, by the unfolding."""
        classes: dict[Fraction, tuple[int, ...]] = {}
        for residue, rate in sorted(graph.slopes(start, max if self.kind == "longest" else min).items()):
            classes[rate] = (*classes.get(rate, ()), residue)
        return Rates(start, graph.modulus, classes, self.ratio(graph))

    def value(self, facts: GraphFacts) -> Fraction:
        """d_r or j by the library."""
        return facts.d_r if self.kind == "longest" else facts.j

    def ratio(self, graph: Graph) -> Fraction:
        """d_r or j by enumeration of the simple cycles."""
        return self.choose(graph.rates)


LONGEST = Sense("D", "d_r", "max l/Σσ", max, "longest")
SHORTEST = Sense("d", "j", "min l/Σσ", min, "shortest")


def unbounded_side(facts: GraphFacts, parameters: Parameters, *, between: bool = False) -> Side | None:
    """Without (U): D_i(n) = ∞ at the witness's i and n, by the library."""
    if facts.is_unidirectional or "n" not in parameters:
        return None
    i, n = int(parameters["i"]), int(parameters["n"])
    return _infinite(facts.is_unbounded(i, n, between=between), i, n, between)


def unbounded_again(graph: Graph, parameters: Parameters, *, between: bool = False) -> Side | None:
    """The same by the unfolding."""
    if graph.is_unidirectional or "n" not in parameters:
        return None
    i, n = int(parameters["i"]), int(parameters["n"])
    return _infinite(graph.is_unbounded(i, n, between=between), i, n, between)


def _infinite(violated: bool, i: int, n: int, between: bool) -> Side:
    star = "*" if between else ""
    text = (
        f"D{star}_{i}({n}) = ∞, as paths from time {i} to time {i + n} meet a cycle of σ-sum > 0 and one of < 0; so it "
    )
    text += "is at every later n that turns of the former lead to"
    return Side(int(violated), text if violated else f"D{star}_{i}({n}) is not shown to be infinite")


def unbounded_places(facts: GraphFacts, *, between: bool = False) -> Iterator[Parameters]:
    """{} where (U) holds; else an i and an n with D_i(n) = ∞, if there are any."""
    if facts.is_unidirectional:
        yield {}
    elif (place := facts.unbounded(between=between)) is not None:
        yield {"i": str(place[0]), "n": str(place[1])}


@dataclass(frozen=True)
class Rates:
    """How paths from time i grow: for all large n ≡ r modulo ``modulus``, n·rate + O(1), r one of ``classes[rate]``."""

    start: int
    modulus: int
    classes: Mapping[Fraction, tuple[int, ...]]
    extreme: Fraction

    def __str__(self) -> str:
        parts = []
        for rate, residues in sorted(self.classes.items(), reverse=True):
            some = ", ".join(map(str, residues[:3])) + ", …" * (len(residues) > 3)
            parts.append(f"{rate} for n ≡ {some}" if len(self.classes) > 1 else str(rate))
        return " and ".join(parts) + f" (mod {self.modulus})" * (len(self.classes) > 1)


def of_each_time(sense: Sense, side: Callable[[Rates], Side | None]) -> GraphStatement:
    """A statement about how paths from one time i grow, i = 0 … m − 1."""

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        return ({"i": str(i)} for i in range(facts.graph.period))

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        return side(sense.growth(facts, int(parameters["i"])))

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        return side(sense.growth_again(graph, int(parameters["i"])))

    return GraphStatement(first, second, places, parameters=declared(TIME))


# --- Propositions A.1.1 and A.3.1: a critical cycle that visits nodes at every time


def cycle_of(parameters: Parameters) -> tuple[Arc, ...]:
    """The cycle that a witness names."""
    return tuple((str(u), str(v), int(sigma)) for u, v, sigma in json.loads(parameters["cycle"]))


def covering(sense: Sense, *, strict: bool) -> tuple[Hypothesis, ...]:
    """(1) the cycle of the witness attains the extreme ratio; (2) it meets every time.

    ``strict``: one lift to the unfolding does, its times take all values modulo Σσ. Otherwise its copies, shifted by
    multiples of m, do together: they take all values modulo m.
    """

    def meets_first(at: AtGraph) -> bool:
        facts, cycle = at.known, cycle_of(at.parameters)
        total = sum(sigma for *_, sigma in cycle)
        modulus = abs(total) if strict else facts.graph.period
        met = {facts.graph.nodes[cycle[0][0]] % modulus}
        time = facts.graph.nodes[cycle[0][0]]
        for _, _, sigma in cycle:
            time += sigma
            met.add(time % modulus)
        return met == set(range(modulus))

    def meets_second(at: AtGraph) -> bool:
        graph, cycle = at.known, cycle_of(at.parameters)
        modulus = graph_second.sigma(cycle) if strict else graph.period
        return graph_second.meets_every_time(cycle, graph.times[cycle[0][0]], modulus)

    def attains_first(at: AtGraph) -> bool:
        facts, cycle = at.known, cycle_of(at.parameters)
        known = {tuple(edge) for edge in facts.graph.edges}
        closed = all(one[1] == other[0] for one, other in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        if not closed or not known.issuperset(cycle) or len(set(cycle)) < len(cycle):
            return False
        extreme = sense.value(facts) if facts.is_unidirectional else sense.choose(facts.ratios)
        return Fraction(len(cycle), sum(sigma for *_, sigma in cycle)) == extreme

    def attains_second(at: AtGraph) -> bool:
        graph, cycle = at.known, cycle_of(at.parameters)
        return graph_second.is_cycle(graph, cycle) and bool(graph_second.rate(cycle) == sense.ratio(graph))

    way = "one lift of it meets every time" if strict else "its copies shifted by m together meet every time"
    return (
        Hypothesis(f"(1) the cycle has {sense.extreme}", attains_first, second_margin=attains_second),
        Hypothesis(f"(2) {way}", meets_first, second_margin=meets_second),
    )


def cycles(facts: GraphFacts) -> Iterator[Parameters]:
    """The cycles of the graph, for the conditions to choose from."""
    for cycle in facts.directed_cycles:
        yield {"cycle": json.dumps([list(edge) for edge in cycle])}


# --- Statements about limits, superior and inferior

RATE = "max_i limsup D_i(n)/n = max l/Σσ"
LEAST_RATE = "min_i liminf d_i(n)/n = min l/Σσ"


def limit_exists(sense: Sense) -> GraphStatement:
    """D_i(n)/n has a limit over the n for which it is defined, for every i."""

    def side(rates: Rates) -> Side | None:
        if not rates.classes:
            return None
        return Side(max(rates.classes) - min(rates.classes), f"{sense.symbol}_{rates.start}(n)/n → {rates}")

    return of_each_time(sense, side)


def limit_is_extreme(sense: Sense) -> GraphStatement:
    """Where it has a limit, that is max l/Σσ."""

    def side(rates: Rates) -> Side | None:
        if len(rates.classes) != 1:
            return None
        text = f"lim {sense.symbol}_{rates.start}(n)/n = {rates}, {sense.extreme} = {rates.extreme}"
        return Side(abs(next(iter(rates.classes)) - rates.extreme), text)

    return of_each_time(sense, side)


def extreme_rate(sense: Sense, of: Sense | None = None) -> GraphStatement:
    """max_i limsup D_i(n)/n = max l/Σσ (min, liminf, d_i(n)); ``of`` another sense: the planted falsehood.

    Without (U), D_i(n) may be infinite while max l/Σσ is a number, and min l/Σσ is negative, which no d_i(n)/n is.
    """
    other = of or sense
    limit = "max_i limsup D_i(n)/n" if sense is LONGEST else "min_i liminf d_i(n)/n"

    def side(left: Fraction, right: Fraction) -> Side:
        return Side(abs(left - right), f"{limit} = {left}, {other.extreme} = {right}")

    def negative(least: Fraction, has_forward: bool) -> Side | None:
        if not has_forward or least >= 0:
            return None
        return Side(-least, f"{limit} ≥ 0, as no length is negative, {other.extreme} = {least}")

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        return unbounded_places(facts) if sense is LONGEST else iter(({},))

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        if not facts.is_unidirectional:
            return (
                unbounded_side(facts, parameters)
                if sense is LONGEST
                else negative(facts.ratios[1], 1 in facts.signs.values())
            )
        rates = [rate for i in range(facts.graph.period) for rate in sense.growth(facts, i).classes]
        return side(sense.choose(rates), other.value(facts))

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        if not graph.is_unidirectional:
            return (
                unbounded_again(graph, parameters)
                if sense is LONGEST
                else negative(min(graph.rates), max(graph.sums) > 0)
            )
        rates = [rate for i in range(graph.period) for rate in sense.growth_again(graph, i).classes]
        return side(sense.choose(rates), other.ratio(graph))

    infinite = declared(*INFINITE, rules=(TOGETHER,)) if sense is LONGEST else declared()
    return GraphStatement(first, second, places, parameters=infinite)
