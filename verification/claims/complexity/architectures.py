# Claims: cplx-3.1-stack · cplx-3.4-D0 · cplx-D3.3-skip · cplx-4.2 · cplx-4.3 · cplx-4.4 · cplx-4.5 ·
#   cplx-F1a-caption · cplx-F1a-text · cplx-F1a-D · cplx-F1a-t · cplx-F1b · cplx-alg
"""Values of d_r, d_f and s for named architectures, Sections 3.1 to 4.5 and Figure 1, each graph typed from the text.

A graph is typed here from its description and compared with the catalogue's; values come from the library and from
enumeration. What the figures show is not in the text: their graphs are reconstructions (``catalogue``).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from odernn.architecture import catalogue
from odernn.architecture.files import to_json
from odernn.architecture.graph import RNNGraph
from odernn.architecture.measures import feedforward_depth, recurrent_depth, smallest_rate
from odernn.published.sources import Source
from verification.adversary import graphs
from verification.cases.decision import at, decided
from verification.cases.figure_1a import either_case
from verification.cases.graph_growth import LEAST_RATE, LONGEST, RATE, SHORTEST, extreme_rate
from verification.cases.graph_kinds import OneGraph
from verification.cases.graph_statements import FIRST, FORWARD, SECOND, SMALL_ENDS, box_case, climb_evaluations
from verification.cases.graph_theorems import DEPTH, depth_by_paths
from verification.cases.one_layer_graphs import one_layer_case
from verification.certify.second.graph import Graph, attains, parse
from verification.claim import BOTH, Attempt, Case, Check, Claim, Decided, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.kinds import Choice, Constant
from verification.measure.described_graphs import DEEPEST_STACK, FIGURE_1A, LARGEST_SKIP, layered, nine, section_4_5
from verification.measure.graph_facts import GraphFacts, facts_of
from verification.parameters import Parameter, declared


@dataclass(frozen=True)
class Printed:
    """A graph, the catalogue's name of it, and the values that are printed for it."""

    name: str
    graph: str
    values: Mapping[str, Fraction]


MEASURES: Mapping[str, tuple[Callable[[GraphFacts], Fraction | None], Callable[[Graph], Fraction | None]]] = {
    "d_r": (lambda facts: facts.d_r, lambda graph: max(graph.rates)),
    "d_f": (lambda facts: facts.d_f, lambda graph: graph.depth),
    "s": (lambda facts: 1 / facts.j, lambda graph: 1 / min(graph.rates)),
}
"""Each measure by the library, and by enumeration of simple cycles and paths."""


def _values(text: str, names: Iterable[str]) -> tuple[dict[str, Fraction | None], dict[str, Fraction | None]]:
    """The measures of that name by both back-ends."""
    facts, graph = facts_of(text), parse(text)
    assert facts is not None
    return {name: MEASURES[name][0](facts) for name in names}, {name: MEASURES[name][1](graph) for name in names}


def _compared(printed: Printed) -> dict[str, Fraction | None]:
    """The values, by both back-ends. ArithmeticError if they differ, or if the catalogue has another graph."""
    first, second = _values(printed.graph, printed.values)
    if first != second:
        raise ArithmeticError(f"{printed.name}: {FIRST} finds {_shown(first)}, {SECOND} finds {_shown(second)}")
    if not _is_same(printed):
        raise ArithmeticError(f"{printed.name}: the catalogue has another graph than {printed.graph}")
    return first


def _is_same(printed: Printed) -> bool:
    facts, graph = facts_of(printed.graph), catalogue.get(printed.name)
    return facts is not None and _contents(facts.graph) == _contents(graph)


def _contents(graph: RNNGraph) -> tuple[object, ...]:
    return graph.period, dict(graph.nodes), set(graph.edges), set(graph.inputs), set(graph.outputs)


def _shown(values: Mapping[str, Fraction | None]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def value_case(domain: str, family: Sequence[Printed], beyond: str = "") -> Case:
    """The printed values are those of the graphs, every one of the family; ``beyond``: why others have them, too."""
    names = tuple(family[0].values)

    def ask(_: Budget, __: int) -> Attempt:
        wrong = [(member, values) for member in family if (values := _compared(member)) != dict(member.values)]
        if wrong:
            worst, values = wrong[0]
            return Attempt(
                f"{len(family)} graphs",
                len(family),
                found=f"{_shown(values)} at {worst.name}",
                claimed=_shown(worst.values),
                candidates=tuple({"graph": each.graph} for each, _ in wrong),
            )
        text = "by both back-ends, " + (f"for all {len(family)}" if len(family) > 1 else _evidence(family[0]))
        text += f"; {beyond}" if beyond else ""
        last = _shown(family[-1].values) + (f" at {family[-1].name}" if len(family) > 1 else "")
        return Attempt(text, len(family), found=last, claimed=last, proof=text)

    def check(parameters: Parameters) -> Check:
        same = next(member for member in family if _graph(member.graph) == _graph(parameters["graph"]))
        opinions = [
            Opinion(backend, values != dict(same.values), f"{_shown(values)} against {_shown(same.values)}")
            for backend, values in zip((FIRST, SECOND), _values(same.graph, names), strict=True)
        ]
        premise = Premise(f"this is {same.name} of the library", "–", _is_same(same))
        return Check(tuple(opinions), (premise,), words=f"{same.graph}: {opinions[0].text}")

    parameters = declared(Parameter("graph", OneGraph(tuple(printed.graph for printed in family))))
    return Case(domain, ", ".join(names), ask, parameters.guards(check))


def _graph(text: str) -> tuple[object, ...]:
    graph = parse(text)
    return graph.period, dict(graph.times), set(graph.edges), set(graph.inputs), set(graph.outputs)


def _evidence(printed: Printed) -> str:
    """The cycles and paths that have the values."""
    facts = facts_of(printed.graph)
    assert facts is not None
    checks = {"d_r": recurrent_depth, "d_f": feedforward_depth, "s": smallest_rate}
    return "; ".join(checks[name](facts.graph).because for name in printed.values)


def _one(name: str, graph: str, **values: int | Fraction) -> Printed:
    return Printed(name, graph, {measure: Fraction(value) for measure, value in values.items()})


def _skips(number: int, value: Callable[[int], Fraction]) -> tuple[Printed, ...]:
    """Architecture (number) of Section 4.5 for every k."""
    return tuple(
        _one("4.5(1)" if number == 1 else f"4.5({number})-{k}", section_4_5(number, k), s=value(k))
        for k in range(1, LARGEST_SKIP + 1)
    )


# --- paths of Figure 1(a)


def path_case(domain: str, times: tuple[int, ...], printed: Mapping[int, int], *, between: bool = False) -> Case:
    """D_t(n), or D*_t(n), of the reconstruction of Figure 1(a) at these t is as printed."""
    star = "*" if between else ""
    last = max(printed)

    def lengths(text: str, t: int) -> tuple[dict[int, int], dict[int, int]]:
        facts, graph = facts_of(text), parse(text)
        assert facts is not None
        by_both = facts.paths(t, last, between=between), graph.lengths(t, last, between=between)
        return tuple({n: measures[n] for n in printed} for measures in by_both)  # type: ignore[return-value]

    def listed(values: Mapping[int, int]) -> str:
        return ", ".join(map(str, values.values()))

    def ask(_: Budget, __: int) -> Attempt:
        lengths_at = {}
        for t in times:
            lengths_at[t], again = lengths(FIGURE_1A, t)
            if lengths_at[t] != again:
                raise ArithmeticError(
                    f"D{star}_{t}(n): {FIRST} finds {listed(lengths_at[t])}, {SECOND} {listed(again)}"
                )
        wrong = [t for t in times if lengths_at[t] != dict(printed)]
        text = "; ".join(f"D{star}_{t}(n) = {listed(values)}" for t, values in lengths_at.items())
        return Attempt(
            text,
            len(times),
            found=text,
            claimed=listed(printed),
            proof="" if wrong else f"{text}, by both back-ends",
            candidates=tuple({"graph": FIGURE_1A, "t": str(t)} for t in wrong),
        )

    def check(parameters: Parameters) -> Check:
        t = int(parameters["t"])
        text = parameters["graph"]
        opinions = [
            Opinion(backend, values != dict(printed), f"D{star}_{t}(n) = {listed(values)}, printed {listed(printed)}")
            for backend, values in zip((FIRST, SECOND), lengths(text, t), strict=True)
        ]
        return Check(tuple(opinions), words=f"{text}: {opinions[0].text}")

    shown = ", ".join(map(str, printed))
    parameters = declared(Parameter("graph", OneGraph((FIGURE_1A,))), Parameter("t", Choice(tuple(map(str, times)))))
    return Case(domain, f"D{star}_t(n), n = {shown}", ask, parameters.guards(check))


def ratio_case(printed: Fraction) -> Case:
    """D_t(n)/n tends to this number, for every t."""

    def ask(_: Budget, __: int) -> Attempt:
        facts, graph = facts_of(FIGURE_1A), parse(FIGURE_1A)
        assert facts is not None
        first = {rate for t in (0, 1) for rate in LONGEST.growth(facts, t).classes}
        second = {rate for t in (0, 1) for rate in LONGEST.growth_again(graph, t).classes}
        if first != second:
            raise ArithmeticError(f"D_t(n)/n: {FIRST} finds the rates {first}, {SECOND} {second}")
        text = f"the rates of D_t(n), t = 0, 1: {', '.join(map(str, sorted(first)))}, by both back-ends"
        good = first == {printed}
        candidates = () if good else ({"graph": FIGURE_1A, "rate": str(printed)},)
        return Attempt(text, 2, found=text, claimed=str(printed), proof=text if good else "", candidates=candidates)

    def check(parameters: Parameters) -> Check:
        facts, graph, rate = facts_of(FIGURE_1A), parse(parameters["graph"]), Fraction(parameters["rate"])
        assert facts is not None
        opinions = (
            Opinion(FIRST, any(set(LONGEST.growth(facts, t).classes) != {rate} for t in (0, 1)), "rates of D_t(n)"),
            Opinion(SECOND, any(set(LONGEST.growth_again(graph, t).classes) != {rate} for t in (0, 1)), "rates"),
        )
        return Check(opinions)

    parameters = declared(Parameter("graph", OneGraph((FIGURE_1A,))), Parameter("rate", Constant(printed)))
    return Case("Figure 1(a), every t", "lim D_t(n)/n", ask, parameters.guards(check))


def printed_twice_case(text: str, caption: str) -> Case:
    """d_f of one graph is printed in the text and in a caption: whatever the figure shows, they are one number."""

    def first(p: Parameters) -> Decided:
        gap = Fraction(p["text"]) - Fraction(p["caption"])
        return Decided(gap != 0, f"d_f is {p['text']} in the text, {p['caption']} in the caption")

    def second(p: Parameters) -> Decided:
        """a/b = c/d iff ad = bc."""
        (a, b), (c, d) = ([int(part) for part in f"{p[place]}/1".split("/")[:2]] for place in ("text", "caption"))
        return Decided(a * d != b * c, f"{a}/{b} and {c}/{d}")

    return decided(
        "Figure 1(a), no graph",
        "d_f as printed in Sec. 3.3 and in the caption",
        at({"text": text, "caption": caption}),
        first,
        second,
        box="two printed numbers",
        claimed="one number",
        names=("fractions", "integers"),
    )


# --- existence, counting, computing


def existence_case(name: str, value: Fraction) -> Case:
    """A graph with this value and no edge back in time, found by the search and confirmed by both back-ends."""

    def score(sketch: graphs.Sketch) -> Fraction | None:
        if any(sigma < 0 for *_, sigma in sketch.edges):
            return None
        facts = facts_of(graphs.text(sketch))
        if facts is None or not facts.is_unidirectional or not facts.is_open:
            return None
        measured = MEASURES[name][0](facts)
        return None if measured is None else -abs(measured - value)

    def ask(budget: Budget, seed: int) -> Attempt:
        tried = 0
        for sketch in (*graphs.enumerated(SMALL_ENDS), *graphs.named(), None):
            tried += 1
            if sketch is None:
                evaluations = 4 * climb_evaluations(budget)
                sketch = graphs.climb(score, seed, evaluations, nodes=6, ends=True, enough=lambda gap: gap == 0)
                tried += evaluations
            if sketch is not None and score(sketch) == 0:
                text = graphs.text(graphs.minimised(sketch, lambda each: score(each) == 0))
                first, second = _values(text, [name])
                if first == second == {name: value}:
                    said = f"{name} = {value}"
                    proof = f"{text} has {said}"
                    return Attempt(proof, tried, found=said, claimed=said, proof=proof, twice=BOTH)
        return Attempt(f"{tried:,} graphs, none with {name} = {value}", tried, claimed=f"{name} = {value}")

    return Case(f"a graph with {name} = {value}", name, ask, is_search=True)


NAMED = (
    *("sh", "st", "bu", "td", "stack-3"),
    *("skip-2", "skip-9", "4.5(2)-9", "4.5(3)-9", "clockwork(1,2,4,8)"),
)
"""Described in words in Sections 3.1 to 4.5, and the clockwork RNN that Section 2 names; each graph once."""
RECONSTRUCTED = (*("(2,2)", "(2,3)", "(3,3)", "(4,2)", "(4,3)"), "4.5(4)-9", "figure 1(a)")
"""Fitted to printed values: of the nine of Section 4.3 those that are none of ``NAMED``, (4) of 4.5 and Figure 1(a)."""


def same_instant_case(domain: str, names: Sequence[str]) -> Case:
    """d_f = D*_t(0) for every t, for more than half of these architectures."""

    def ask(_: Budget, __: int) -> Attempt:
        others = []
        for name in names:
            text = to_json(catalogue.get(name))
            facts, graph = facts_of(text), parse(text)
            assert facts is not None
            times = range(graph.period)
            first = [facts.paths(t, 0, between=True).get(0) for t in times]
            second = [graph.lengths(t, 0, between=True).get(0) for t in times]
            if (first, facts.d_f) != (second, graph.depth):
                raise ArithmeticError(
                    f"{name}: D*_t(0), d_f are {first}, {facts.d_f} by {FIRST}, {second}, {graph.depth} by {SECOND}"
                )
            if any(length != facts.d_f for length in first):
                others.append(f"{name}: d_f = {facts.d_f}, D*_t(0) = {', '.join(map(str, first))}")
        good = len(names) - len(others)
        text = f"{good} of {len(names)} graphs; not {'; '.join(others)}" if others else f"all {good} graphs"
        return Attempt(
            text,
            len(names),
            log_measured=math.log(max(len(others), 0.5) / len(names)),
            log_claimed=math.log(1 / 2),
            found=f"{len(others)} others",
            claimed="fewer than half",
        )

    return Case(domain, "d_f = D*_t(0) for every t", ask)


SIZES = {"smoke": 1_000, "standard": 10_000, "deep": 100_000}


def computed_case() -> Case:
    """d_r, j and d_f of a large random graph, each confirmed by its evidence: a walk, and a potential in integers."""

    def ask(budget: Budget, seed: int) -> Attempt:
        count = SIZES[budget.name]
        chance = random.Random(seed)
        edges = {("v0", f"v{count - 1}", 0), ("v0", "v0", 1)}
        while len(edges) < 5 * count:
            u, v = chance.randrange(count), chance.randrange(count)
            edges.add((f"v{u}", f"v{v}", chance.randint(0 if u < v else 1, 4)))
        nodes = {f"v{k}": 0 for k in range(count)}
        graph = RNNGraph("random", 1, nodes, tuple(sorted(edges)), ("v0",), (f"v{count - 1}",))  # type: ignore[arg-type]
        certificates = [check(graph) for check in (recurrent_depth, smallest_rate, feedforward_depth)]
        confirmed = all(certificate and certificate.witness.confirms(graph) for certificate in certificates)
        if not confirmed:
            raise ArithmeticError(f"the evidence does not confirm all of {', '.join(map(str, certificates))}")
        typed = parse(to_json(graph))
        for evidence in (certificate.witness for certificate in certificates):
            walk = [(edge.tail, edge.head, edge.sigma) for edge in evidence.walk.edges]
            if not attains(typed, evidence.measure, evidence.value, evidence.rate, walk, evidence.potential):
                raise ArithmeticError(f"{evidence.measure} = {evidence.value}: confirmed, but not as typed once more")
        values = (
            f"{name} = {certificate.value}" for name, certificate in zip(("d_r", "j", "d_f"), certificates, strict=True)
        )
        text = (
            f"{', '.join(values)} of {count:,} nodes and {len(edges):,} edges, each with a walk that has it and an "
            "integer potential that no walk beats"
        )
        return Attempt(
            text,
            3,
            found="computed",
            claimed="computable",
        )

    return Case("a random graph, 5 edges a node", "d_r, j, d_f", ask)


def _place(place: str) -> Source:
    return Source("complexity", place)


CLAIMS = (
    Claim(
        id="cplx-3.1-stack",
        source=_place("Sec. 3.1"),
        statement="d_r = 1 for simple and for stacked RNNs alike",
        semantics="comb",
        cases=(
            value_case(
                f"stacks of L ≤ {DEEPEST_STACK} layers",
                [_one(f"stack-{L}", layered(L), d_r=1) for L in range(1, DEEPEST_STACK + 1)],
                "for every L: edges lead upwards but for loops of σ = 1, so every cycle is one of these",
            ),
        ),
    ),
    Claim(
        id="cplx-3.4-D0",
        source=_place("Sec. 3.3"),
        statement="for most RNNs in use d_f is D*_t(0), the longest path from an input to an output within one step",
        semantics="comb",
        cases=(
            same_instant_case("the named architectures", NAMED),
            same_instant_case("reconstructed architectures", RECONSTRUCTED),
        ),
    ),
    Claim(
        id="cplx-D3.3-skip",
        source=_place("Sec. 3.5"),
        statement="s = 1/j; some skip connections leave s as it was: that of h1 -> h2 over k steps leaves s = 1",
        semantics="comb",
        cases=(value_case(f"h1 -> h2 over k steps, k ≤ {LARGEST_SKIP}", _skips(2, lambda _: Fraction(1))),),
    ),
    Claim(
        id="cplx-4.2",
        source=_place("Sec. 4.2, Fig. 2"),
        statement="(d_r, d_f): sh (1, 2), st (1, 3), bu (1, 3), td (2, 3)",
        semantics="comb",
        cases=tuple(
            value_case(member.name, [member])
            for member in (
                _one("sh", layered(1), d_r=1, d_f=2),
                _one("st", layered(2), d_r=1, d_f=3),
                _one("bu", layered(2, [("h1", "h2", 1)]), d_r=1, d_f=3),
                _one("td", layered(2, [("h2", "h1", 1)]), d_r=2, d_f=3),
            )
        ),
    ),
    Claim(
        id="cplx-4.3",
        source=_place("Sec. 4.3, Fig. 2(b)"),
        statement="nine architectures with d_r = 1, 2, 3 and d_f = 2, 3, 4 exist with period 1 (reconstructed)",
        semantics="comb",
        cases=tuple(
            value_case(f"d_f = {f}, d_r = {r}", [_one(f"({f},{r})", nine(f, r), d_r=r, d_f=f)])
            for f in (2, 3, 4)
            for r in (1, 2, 3)
        ),
    ),
    Claim(
        id="cplx-4.4",
        source=_place("Sec. 4.4"),
        statement="adding connections from t to t + k to the shallow RNN raises s from 1 to k",
        semantics="comb",
        cases=(
            value_case("the shallow RNN", [_one("sh", layered(1), s=1)]),
            value_case(
                f"with connections over k steps, 2 ≤ k ≤ {LARGEST_SKIP}",
                [_one(f"skip-{k}", layered(1, [("h1", "h1", k)]), s=k) for k in range(2, LARGEST_SKIP + 1)],
                "for every k: no edge has σ > k, so no cycle has l/Σσ < 1/k, which the new loop has",
            ),
        ),
    ),
    Claim(
        id="cplx-4.5",
        source=_place("Sec. 4.5, Fig. 2(b) right"),
        statement="for every k ≥ 2, s of the stack of two layers, (1), is 1; with skips over k steps between the "
        "layers it is 1 in one direction, (2), and k/2 in the other, (3); also tried: (4), reconstructed, k",
        semantics="comb",
        cases=(
            value_case("(1)", _skips(1, lambda _: Fraction(1))[:1]),
            value_case(f"(2), 2 ≤ k ≤ {LARGEST_SKIP}", _skips(2, lambda _: Fraction(1))[1:]),
            value_case(f"(3), 2 ≤ k ≤ {LARGEST_SKIP}", _skips(3, lambda k: Fraction(k, 2))[1:]),
            value_case(f"(4), 2 ≤ k ≤ {LARGEST_SKIP}", _skips(4, Fraction)[1:]),
            value_case(f"(3), 1 ≤ k ≤ {LARGEST_SKIP}", _skips(3, lambda k: Fraction(k, 2))),
        ),
    ),
    Claim(
        id="cplx-F1a-caption",
        source=_place("Fig. 1 caption"),
        statement="d_r = 3/2, d_f = 7/2, s = 2 in Figure 1(a): there is such a graph of period 2 with the two edges "
        "that the text names",
        semantics="comb",
        cases=(
            value_case("Figure 1(a)", [_one("figure 1(a)", FIGURE_1A, d_r=Fraction(3, 2), d_f=Fraction(7, 2), s=2)]),
        ),
    ),
    Claim(
        id="cplx-F1a-text",
        source=_place("Sec. 3.3"),
        statement="d_f of Figure 1(a) is 3 (Sec. 3.3), and it is 7/2 (its caption)",
        semantics="comb",
        cases=(
            printed_twice_case("3", "7/2"),
            path_case("Figure 1(a), t = 0, 1", (0, 1), {0: 3}, between=True),
            value_case("Figure 1(a)", [_one("figure 1(a)", FIGURE_1A, d_f=3)]),
            either_case(),
        ),
    ),
    Claim(
        id="cplx-F1a-D",
        source=_place("Sec. 3.1"),
        statement="in Figure 1(a) D_t(1) = 5, D_t(2) = 6, D_t(3) = 8, D_t(4) = 9 from the time t at which the drawing "
        "starts, and ratios tend to 3/2: there is such a graph, with the edges (1,7) -> (0,3) of weight 1 and (0,3) -> "
        "(0,3) of weight 2, and period 2",
        semantics="comb",
        cases=(
            path_case("Figure 1(a), t = 0", (0,), {1: 5, 2: 6, 3: 8, 4: 9}),
            ratio_case(Fraction(3, 2)),
        ),
    ),
    Claim(
        id="cplx-F1a-t",
        source=_place("Sec. 3.1"),
        statement="in Figure 1(a) D_t(1) = 5, D_t(2) = 6, D_t(3) = 8, D_t(4) = 9 for every t (reconstructed)",
        semantics="comb",
        cases=(path_case("Figure 1(a), t = 0, 1", (0, 1), {1: 5, 2: 6, 3: 8, 4: 9}),),
    ),
    Claim(
        id="cplx-F1b",
        source=_place("Fig. 1(b)"),
        statement="examples with d_r = 2, d_r = 3/2, d_f = 5, s = 2, s = 3/2 exist (the figure is not available)",
        semantics="comb",
        cases=tuple(
            existence_case(name, value)
            for name, value in (
                ("d_r", Fraction(2)),
                ("d_r", Fraction(3, 2)),
                ("d_f", Fraction(5)),
                ("s", Fraction(2)),
                ("s", Fraction(3, 2)),
            )
        ),
    ),
    Claim(
        id="cplx-alg",
        source=_place('Secs 1, 3: "computability"'),
        statement="the measures are computable from G_c: of a unidirectional RNN, (U), each, defined by paths of G_un, "
        "is the largest or smallest value over finitely many cycles, or paths, of G_c",
        semantics="comb",
        cases=(
            box_case(FORWARD, f"d_r: {RATE}", extreme_rate(LONGEST)),
            box_case(FORWARD, f"1/s: {LEAST_RATE}", extreme_rate(SHORTEST)),
            box_case(FORWARD, f"d_f: {DEPTH}", depth_by_paths()),
            computed_case(),
            one_layer_case(FORWARD, f"d_f: {DEPTH}", depth_by_paths(), "Feedforward depth"),
        ),
    ),
)
