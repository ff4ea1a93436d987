# Claims: cplx-T3.2 · cplx-A.1-i · cplx-PA.1.1 · cplx-T3.6/A.3 · cplx-PA.3.1 · cplx-T3.6-loose
"""When D_i(n)/n and d_i(n)/n have limits, and which: Theorems 3.2 and 3.6, Propositions A.1.1 and A.3.1."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from odernn.published.sources import Source
from verification.adversary.graphs import SketchBox
from verification.cases.graph_growth import (
    LEAST_RATE,
    LONGEST,
    SHORTEST,
    Rates,
    Sense,
    covering,
    cycles,
    extreme_rate,
    limit_exists,
    limit_is_extreme,
    of_each_time,
    unbounded_again,
    unbounded_side,
)
from verification.cases.graph_kinds import CYCLE_NAMED, INFINITE, TOGETHER
from verification.cases.graph_statements import FORWARD, GraphStatement, Side, stated, theorem
from verification.certify.second.graph import Graph
from verification.claim import Claim, Parameters
from verification.measure.graph_facts import GraphFacts
from verification.parameters import declared


def one_rate(sense: Sense) -> GraphStatement:
    """d_i = limsup D_i(n)/n is max l/Σσ for every i, and not only their maximum."""

    def side(rates: Rates) -> Side | None:
        if not rates.classes:
            return None
        own = sense.choose(rates.classes)
        text = f"d_{rates.start} = limsup D_{rates.start}(n)/n = {own}, {sense.extreme} = {rates.extreme}"
        return Side(abs(own - rates.extreme), text)

    return of_each_time(sense, side)


# --- Propositions A.1.1, A.3.1


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

CLAIMS = (
    Claim(
        id="cplx-T3.2",
        source=Source("complexity", "Thm 3.2 (1)"),
        statement='d_r = lim_n D_i(n)/n = max over directed cycles of l/σ_s "under a mild assumption": that of A.1.1 '
        "(a cycle of the largest ratio meets every time in one lift); and without it, over the n for which D_i(n) is "
        "defined",
        semantics="comb",
        cases=(
            *theorem(
                "under A.1.1: lim D_i(n)/n = d_r",
                covered_limit(LONGEST, strict=True),
                covered_limit(LONGEST, strict=False),
                "Limits",
                box=LOOSE_FAILS,
            ),
            *stated(
                FORWARD,
                ("without A.1.1: the limit exists for every i", limit_exists(LONGEST)),
                ("without A.1.1: a limit that exists is max l/Σσ", limit_is_extreme(LONGEST)),
            ),
        ),
    ),
    Claim(
        id="cplx-A.1-i",
        source=Source("complexity", "Thm A.1 against Thm 3.2"),
        statement="limsup D_i(n)/n = max l/σ_s for every i, without the maximum over i of Thm A.1",
        semantics="comb",
        cases=stated(FORWARD, ("d_i = max l/Σσ for every i", one_rate(LONGEST))),
    ),
    Claim(
        id="cplx-PA.1.1",
        source=Source("complexity", "Prop. A.1.1"),
        statement="if some cycle (1) attains the maximum of l/σ_s and (2) its lift to G_un meets every time, then "
        "lim D_i(n)/n = d_r for every i; (2) read as one lift (strict) or as all its copies shifted by m together "
        "(loose)",
        semantics="comb",
        cases=(
            *theorem(
                "lim D_i(n)/n = d_r, strict",
                covered_limit(LONGEST, strict=True),
                covered_limit(LONGEST, strict=False),
                "Limits",
                box=LOOSE_FAILS,
            ),
            *stated(FORWARD, ("lim D_i(n)/n = d_r, loose", covered_limit(LONGEST, strict=False))),
        ),
    ),
    Claim(
        id="cplx-T3.6/A.3",
        source=Source("complexity", "Thm 3.6 (2), A.3 text"),
        statement="j = min over directed cycles of l/σ_s = lim d_i(n)/n under mild assumptions: that of A.3.1 (a "
        "cycle of the smallest ratio meets every time in one lift); min_i liminf d_i(n)/n = min l/σ_s; and the limit "
        "without the assumption, over the n for which d_i(n) is defined",
        semantics="comb",
        cases=(
            *theorem(LEAST_RATE, extreme_rate(SHORTEST), extreme_rate(SHORTEST, LONGEST), "Skip coefficient"),
            *theorem(
                "under A.3.1: lim d_i(n)/n = j",
                covered_limit(SHORTEST, strict=True),
                covered_limit(SHORTEST, strict=False),
                "Limits",
            ),
            *stated(
                FORWARD,
                ("without A.3.1: the limit exists for every i", limit_exists(SHORTEST)),
                ("without A.3.1: a limit that exists is min l/Σσ", limit_is_extreme(SHORTEST)),
            ),
        ),
    ),
    Claim(
        id="cplx-PA.3.1",
        source=Source("complexity", "Prop. A.3.1"),
        statement="if some cycle (1) attains the minimum of l/σ_s and (2) one lift of it to G_un meets every time, "
        "then lim d_i(n)/n = j for every i",
        semantics="comb",
        cases=theorem(
            "lim d_i(n)/n = j, strict",
            covered_limit(SHORTEST, strict=True),
            covered_limit(SHORTEST, strict=False),
            "Limits",
        ),
    ),
    Claim(
        id="cplx-T3.6-loose",
        source=Source("complexity", "Thm 3.6, Prop. A.3.1"),
        statement="Thm 3.6 under the loose reading: if the copies shifted by m of a cycle that attains the minimum "
        "of l/σ_s together meet every time, then lim d_i(n)/n = j for every i",
        semantics="comb",
        cases=stated(FORWARD, ("lim d_i(n)/n = j, loose", covered_limit(SHORTEST, strict=False))),
    ),
)
