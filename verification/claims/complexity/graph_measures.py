# Claims: cplx-3.1-mono · cplx-T3.2/A.1 · cplx-T3.2-uni · cplx-P3.3.1 · cplx-3.3-large-n · cplx-T3.4/A.2 ·
#   cplx-A.3-printed
"""Recurrent depth, feedforward depth and skip coefficient: the theorems on cyclic graphs, Section 3 and Appendix A.

The hypotheses of Section 3 are a homogeneous and unidirectional RNN, without a definition of the latter. So a theorem
is tried on all graphs of Definition 2.1, and on those with (U), every cycle has a σ-sum > 0; what fails under (U)
fails without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from odernn.published.sources import Source
from verification.cases.graph_growth import (
    LEAST_RATE,
    LONGEST,
    RATE,
    SHORTEST,
    Rates,
    extreme_rate,
    of_each_time,
    unbounded_again,
    unbounded_places,
    unbounded_side,
)
from verification.cases.graph_kinds import MOST_STEPS, TIME
from verification.cases.graph_statements import EVERY, FORWARD, OPEN, Comparison, GraphStatement, Side, stated, theorem
from verification.cases.graph_theorems import (
    DEPTH,
    PLACE,
    approaches_infinity,
    depth_by_paths,
    finite_depth,
    growth_between,
    growth_between_again,
    periodic,
)
from verification.cases.one_layer_graphs import one_layer_case
from verification.certify.second.graph import Graph
from verification.claim import Claim, Parameters
from verification.kinds import Integer
from verification.measure.graph_facts import GraphFacts
from verification.parameters import Parameter, Rule, declared

# --- Section 3.1: D_i(n) increases, and approaches infinity


def increasing() -> GraphStatement:
    """D_i(n) ≤ D_i(n′) for n < n′ and both defined."""

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        for i in range(facts.graph.period):
            lengths = {n: length for n, length in facts.paths(i, 2 * facts.reach + 4).items() if n > 0}
            drops = [(n, later) for n in lengths for later in lengths if n < later and lengths[n] > lengths[later]]
            for n, later in drops[:1] or list(zip(lengths, list(lengths)[1:], strict=False))[:1]:
                yield {"i": str(i), "n": str(n), "later": str(later)}

    def side(i: int, n: int, later: int, lengths: dict[int, int]) -> Side | None:
        if n not in lengths or later not in lengths or not 0 < n < later:
            return None
        return Side(lengths[n] - lengths[later], f"D_{i}({n}) = {lengths[n]}, D_{i}({later}) = {lengths[later]}")

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        i, n, later = (int(parameters[name]) for name in ("i", "n", "later"))
        return side(i, n, later, facts.paths(i, later))

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        i, n, later = (int(parameters[name]) for name in ("i", "n", "later"))
        return side(i, n, later, graph.lengths(i, later))

    times = (Parameter(name, Integer(1, MOST_STEPS)) for name in ("n", "later"))
    later = Rule("n < later", lambda values: values["n"] < values["later"])
    return GraphStatement(first, second, places, parameters=declared(TIME, *times, rules=(later,)))


def endless() -> GraphStatement:
    """D_i(n) is defined for infinitely many n > 0."""

    def side(rates: Rates) -> Side:
        text = "for no n beyond some" if not rates.classes else "for infinitely many n"
        return Side(int(not rates.classes), f"D_{rates.start}(n) is defined {text}")

    return of_each_time(LONGEST, side)


def finite() -> GraphStatement:
    """D_i(n) < ∞."""

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        return Side(0, "finite") if facts.is_unidirectional else unbounded_side(facts, parameters)

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        return Side(0, "finite") if graph.is_unidirectional else unbounded_again(graph, parameters)

    return GraphStatement(first, second, unbounded_places, parameters=PLACE)


# --- Section 3.3, Proposition 3.3.1, Theorems 3.4, A.2


def full_rate() -> GraphStatement:
    """D*_i(n) grows as n d_r, if it is defined for infinitely many n."""

    def side(rate: Fraction | None, top: Fraction) -> Side | None:
        return None if rate is None else Side(top - rate, f"limsup D*_i(n)/n = {rate} for the best i, d_r = {top}")

    return GraphStatement(
        lambda facts, _: side(growth_between(facts), facts.d_r),
        lambda graph, _: side(growth_between_again(graph), max(graph.rates)),
        hypotheses=(OPEN,),
        ends=True,
    )


# --- Theorem A.3 as printed


def same_as_least_ratio() -> Comparison:
    """ "d_r = min over directed cycles of l/σ_s"."""
    return Comparison(
        "d_r", "min l/Σσ", lambda facts: (facts.d_r, facts.j), lambda graph: (max(graph.rates), min(graph.rates))
    )


def skip_as_rate() -> Comparison:
    """s = 1/j is min_i liminf d_i(n)/n."""
    return Comparison(
        "s = 1/j",
        "min_i liminf d_i(n)/n",
        lambda facts: (
            1 / facts.j,
            min(r for i in range(facts.graph.period) for r in SHORTEST.growth(facts, i).classes),
        ),
        lambda graph: (
            1 / min(graph.rates),
            min(r for i in range(graph.period) for r in SHORTEST.growth_again(graph, i).classes),
        ),
    )


CLAIMS = (
    Claim(
        id="cplx-3.1-mono",
        source=Source("complexity", "Sec. 3.1"),
        statement="D_i(n) → ∞ as n → ∞ over the n for which it is defined; in general it increases with n",
        semantics="comb",
        dominated_by="thm-A-rate",
        cases=(
            *stated(
                FORWARD,
                ("D_i(n) ≤ D_i(n′) for 0 < n < n′", increasing()),
                ("D_i(n) is defined for infinitely many n", endless()),
            ),
            *theorem(
                "D_i(n) → ∞ over defined n", approaches_infinity(), approaches_infinity(Fraction(1)),
                "Recurrent depth", widely=False,
            ),
            *stated(EVERY, ("D_i(n) < ∞", finite())),
        ),
    ),
    Claim(
        id="cplx-T3.2/A.1",
        source=Source("complexity", "Thm A.1 (3)"),
        statement="of a unidirectional RNN, (U), d_i = limsup D_i(n)/n (undefined values omitted) is m-periodic; d_r = "
        "max_i d_i = max over directed cycles of l/σ_s",
        semantics="comb",
        dominated_by="thm-A-rate",
        cases=(
            *theorem(RATE, extreme_rate(LONGEST), extreme_rate(LONGEST, SHORTEST), "Recurrent depth"),
            *theorem("D_{i+m}(n) = D_i(n)", periodic(), periodic(1), "Recurrent depth", widely=False),
        ),
    ),
    Claim(
        id="cplx-T3.2-uni",
        source=Source("complexity", "Thms A.1-A.3"),
        statement="Thms A.1, A.2, A.3 for all graphs of Def. 2.1, without the unidirectionality of Section 3",
        semantics="comb",
        cases=stated(
            EVERY,
            (f"A.1: {RATE}", extreme_rate(LONGEST)),
            (f"A.2: {DEPTH}", depth_by_paths()),
            (f"A.3: {LEAST_RATE}", extreme_rate(SHORTEST)),
        ),
    ),
    Claim(
        id="cplx-P3.3.1",
        source=Source("complexity", "Prop. 3.3.1, A.1.2"),
        statement="d_f = sup over i, n in Z of D*_i(n) − n d_r is finite for every unidirectional RNN, (U), with a "
        "path from an input to an output, and D*_i(n) ≤ n d_r + d_f",
        semantics="comb",
        dominated_by="thm-A-df",
        cases=(
            *theorem("sup D*_i(n) − n d_r < ∞", finite_depth(), finite_depth(Fraction(0)), "Feedforward depth"),
            one_layer_case(FORWARD, "sup D*_i(n) − n d_r < ∞", finite_depth(), "Feedforward depth"),
        ),
    ),
    Claim(
        id="cplx-3.3-large-n",
        source=Source("complexity", "Sec. 3.3"),
        statement="for large n the bound n d_r + d_f of Prop. 3.3.1 is about n d_r; read as: limsup D*_i(n)/n = d_r "
        "for some i",
        semantics="comb",
        cases=stated(FORWARD, ("limsup D*_i(n)/n = d_r", full_rate())),
    ),
    Claim(
        id="cplx-T3.4/A.2",
        source=Source("complexity", "Thms 3.4, A.2"),
        statement="of a unidirectional RNN, (U), d_f = max over directed paths γ from an input to an output of l(γ) − "
        "σ_s(γ) d_r",
        semantics="comb",
        dominated_by="thm-A-df",
        cases=(
            *theorem(DEPTH, depth_by_paths(), depth_by_paths(with_sigma=False), "Feedforward depth"),
            one_layer_case(FORWARD, DEPTH, depth_by_paths(), "Feedforward depth"),
        ),
    ),
    Claim(
        id="cplx-A.3-printed",
        source=Source("complexity", "Thm A.3, (4)"),
        statement="(4) as printed, with d_r for min_i s_i on its left: d_r = min over cycles of l/σ_s; and s = min_i "
        "s_i, s_i = liminf d_i(n)/n, taken for the s = 1/j of Def. 3.3",
        semantics="comb",
        cases=stated(
            FORWARD,
            ("d_r = min l/Σσ", same_as_least_ratio().statement()),
            ("s = 1/j = min_i liminf d_i(n)/n", skip_as_rate().statement()),
        ),
    ),
)  # fmt: skip
