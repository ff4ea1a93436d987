# Claims: cplx-3.1-mono · cplx-T3.2/A.1 · cplx-T3.2-uni · cplx-P3.3.1 · cplx-3.3-large-n · cplx-T3.4/A.2 ·
#   cplx-A.3-printed
"""Recurrent depth, feedforward depth and skip coefficient: the theorems on cyclic graphs, Section 3 and Appendix A.

The hypotheses of Section 3 are a homogeneous and unidirectional RNN, without a definition of the latter. So a theorem
is tried on all graphs of Definition 2.1, and on those with (U), every cycle has a σ-sum > 0; what fails under (U)
fails without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from odernn.architecture.graph import GraphError
from odernn.architecture.measures import recurrent_depth
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
from verification.cases.graph_kinds import INFINITE, MOST_STEPS, TIME, TOGETHER
from verification.cases.graph_statements import EVERY, FORWARD, OPEN, Comparison, GraphStatement, Side, stated, theorem
from verification.certify.second.graph import Graph
from verification.claim import Claim, Parameters
from verification.kinds import Integer
from verification.measure.graph_facts import GraphFacts
from verification.parameters import Parameter, Rule, declared

PLACE = declared(*INFINITE, rules=(TOGETHER,))

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


def approaches_infinity(least: Fraction = Fraction(0)) -> GraphStatement:
    """Every class of n in which D_i(n) is defined has a rate above 0; with another number, the planted falsehood."""

    def side(rates: Rates) -> Side | None:
        if not rates.classes:
            return None
        lowest = min(rates.classes)
        return Side(max(least - lowest, Fraction(int(lowest <= 0))), f"D_{rates.start}(n)/n → {rates}")

    return of_each_time(LONGEST, side)


def finite() -> GraphStatement:
    """D_i(n) < ∞."""

    def first(facts: GraphFacts, parameters: Parameters) -> Side | None:
        return Side(0, "finite") if facts.is_unidirectional else unbounded_side(facts, parameters)

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        return Side(0, "finite") if graph.is_unidirectional else unbounded_again(graph, parameters)

    return GraphStatement(first, second, unbounded_places, parameters=PLACE)


# --- Theorems 3.2, A.1, 3.6, A.3


def periodic(shift: int | None = None) -> GraphStatement:
    """D_{i+m}(n) = D_i(n) for every i and n; another shift than m is the planted falsehood.

    The unfolding decides it for all n, by ``Graph.decisive``; the library is asked for n ≤ 2|V| max |σ|.
    """

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        return ({"i": str(i)} for i in range(facts.graph.period))

    def side(i: int, period: int, lengths: Callable[[int], dict[int, int]]) -> Side:
        later = i + (period if shift is None else shift)
        one, other = lengths(i), lengths(later)
        apart = sorted(n for n in {*one, *other} if one.get(n) != other.get(n))
        text = f"D_{i}(n) and D_{later}(n) differ at n = {apart[0]}" if apart else f"D_{later}(n) = D_{i}(n)"
        return Side(int(bool(apart)), text)

    def first(facts: GraphFacts, parameters: Parameters) -> Side:
        return side(int(parameters["i"]), facts.graph.period, lambda start: facts.paths(start, 2 * facts.reach))

    def second(graph: Graph, parameters: Parameters) -> Side:
        return side(int(parameters["i"]), graph.period, lambda start: graph.lengths(start, graph.decisive))

    return GraphStatement(first, second, places, parameters=declared(TIME))


# --- Section 3.3, Proposition 3.3.1, Theorems 3.4, A.2


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
        return side(_growth_between(facts), facts.d_r, facts.d_f)

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        if not graph.is_unidirectional:
            return unbounded_again(graph, parameters, between=True)
        return side(_growth_between_again(graph), max(graph.rates), graph.excess)

    return GraphStatement(first, second, _between_places, hypotheses=(OPEN,), ends=True, parameters=PLACE)


def _growth_between(facts: GraphFacts) -> Fraction | None:
    """The rate at which D*_i(n) grows at best, by the part of the graph on walks from inputs to outputs."""
    try:
        rate: Fraction = recurrent_depth(facts.graph.between_ends()).value
    except GraphError:
        return None
    return rate


def _growth_between_again(graph: Graph) -> Fraction | None:
    slopes = (rate for i in range(graph.period) for rate in graph.slopes(i, between=True).values())
    return max(slopes, default=None)


def full_rate() -> GraphStatement:
    """D*_i(n) grows as n d_r, if it is defined for infinitely many n."""

    def side(rate: Fraction | None, top: Fraction) -> Side | None:
        return None if rate is None else Side(top - rate, f"limsup D*_i(n)/n = {rate} for the best i, d_r = {top}")

    return GraphStatement(
        lambda facts, _: side(_growth_between(facts), facts.d_r),
        lambda graph, _: side(_growth_between_again(graph), max(graph.rates)),
        hypotheses=(OPEN,),
        ends=True,
    )


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
        values = [
            length - n * facts.d_r
            for i in range(facts.graph.period)
            for n, length in facts.paths(i, 3 * facts.reach + 6, between=True).items()
        ]
        return side(max(values, default=None), facts.d_f if with_sigma else _longest(facts.simple_paths))

    def second(graph: Graph, parameters: Parameters) -> Side | None:
        if not graph.is_unidirectional:
            return unbounded_again(graph, parameters, between=True)
        return side(graph.excess, graph.depth if with_sigma else graph.longest_path)

    return GraphStatement(first, second, _between_places, hypotheses=(OPEN,), ends=True, parameters=PLACE)


def _longest(lengths: tuple[int, ...]) -> Fraction | None:
    return Fraction(max(lengths)) if lengths else None


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


_DEPTH = "sup D*_i(n) − n d_r = max l − d_r Σσ over paths"

CLAIMS = (
    Claim(
        id="cplx-3.1-mono",
        source=Source("complexity", "Sec. 3.1"),
        statement="D_i(n) → ∞ as n → ∞ over the n for which it is defined; in general it increases with n",
        semantics="comb",
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
        statement="d_i = limsup D_i(n)/n (undefined values omitted) is m-periodic; d_r = max_i d_i = max over "
        "directed cycles of l/σ_s",
        semantics="comb",
        cases=(
            *theorem(RATE, extreme_rate(LONGEST), extreme_rate(LONGEST, SHORTEST), "Recurrent depth"),
            *theorem("D_{i+m}(n) = D_i(n)", periodic(), periodic(1), "Recurrent depth", widely=False),
        ),
    ),
    Claim(
        id="cplx-T3.2-uni",
        source=Source("complexity", "Thms A.1-A.3"),
        statement='Thms A.1, A.2, A.3 as printed for "an RNN cyclic graph": Def. 2.1, no further hypothesis',
        semantics="comb",
        cases=stated(
            EVERY,
            (f"A.1: {RATE}", extreme_rate(LONGEST)),
            (f"A.2: {_DEPTH}", depth_by_paths()),
            (f"A.3: {LEAST_RATE}", extreme_rate(SHORTEST)),
        ),
    ),
    Claim(
        id="cplx-P3.3.1",
        source=Source("complexity", "Prop. 3.3.1, A.1.2"),
        statement="d_f = sup over i, n in Z of D*_i(n) − n d_r is finite for every RNN with a path from an input to "
        "an output, and D*_i(n) ≤ n d_r + d_f",
        semantics="comb",
        cases=theorem("sup D*_i(n) − n d_r < ∞", finite_depth(), finite_depth(Fraction(0)), "Feedforward depth"),
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
        statement="d_f = max over directed paths γ from an input to an output of l(γ) − σ_s(γ) d_r",
        semantics="comb",
        cases=theorem(_DEPTH, depth_by_paths(), depth_by_paths(with_sigma=False), "Feedforward depth"),
    ),
    Claim(
        id="cplx-A.3-printed",
        source=Source("complexity", "Thm A.3, (4)"),
        statement='as printed: s = min_i s_i, s_i = liminf d_i(n)/n, where Def. 3.3 has s = 1/j; and "d_r = min over '
        'cycles of l/σ_s"',
        semantics="comb",
        cases=stated(
            FORWARD,
            ("d_r = min l/Σσ", same_as_least_ratio().statement()),
            ("s = 1/j = min_i liminf d_i(n)/n", skip_as_rate().statement()),
        ),
    ),
)  # fmt: skip
