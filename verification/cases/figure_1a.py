"""Figure 1(a) of Zhang et al. 2016, whose d_f is 3 in Sec. 3.3 and 7/2 in the caption: each number has its graph.

Both graphs have the period, the two edges and all other values that are printed; they differ in one output.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from verification.cases.graph_growth import LONGEST
from verification.cases.graph_kinds import OneGraph
from verification.cases.graph_statements import FIRST, SECOND
from verification.certify.second.graph import parse
from verification.claim import Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.measure.described_graphs import FIGURE_1A
from verification.measure.graph_facts import facts_of
from verification.parameters import Parameter, declared

WITHOUT_8 = json.dumps(json.loads(FIGURE_1A) | {"outputs": ["4"]})
STARS = {1: 5, 2: 6, 3: 8, 4: 9}
"""D_t(n), as printed."""
Values = tuple[Any, ...]


def _first(text: str) -> Values:
    """(d_r, s, D_0(1 … 4), the rates of D_t(n), D*_0(0), d_f) by the library."""
    facts = facts_of(text)
    assert facts is not None
    rates = {rate for t in (0, 1) for rate in LONGEST.growth(facts, t).classes}
    lengths, between = facts.paths(0, 4), facts.paths(0, 0, between=True)
    return facts.d_r, 1 / facts.j, tuple(lengths[n] for n in STARS), rates, between[0], facts.d_f


def _second(text: str) -> Values:
    """The same by enumeration of simple cycles and paths."""
    graph = parse(text)
    rates = {rate for t in (0, 1) for rate in LONGEST.growth_again(graph, t).classes}
    lengths, between = graph.lengths(0, 4), graph.lengths(0, 0, between=True)
    return (
        max(graph.rates), 1 / min(graph.rates), tuple(lengths[n] for n in STARS), rates, between[0], graph.depth
    )  # fmt: skip


def either_case(text: int = 3) -> Case:
    """Both graphs have what is printed, d_f = 7/2 and ``text``; another number is a planted falsehood."""
    rest = (Fraction(3, 2), 2, tuple(STARS.values()), {Fraction(3, 2)}, 3)
    known = {FIGURE_1A: (*rest, Fraction(7, 2)), WITHOUT_8: (*rest, Fraction(text))}

    def ask(_: Budget, __: int) -> Attempt:
        values = {graph: (_first(graph), _second(graph)) for graph in known}
        if any(one != other for one, other in values.values()):
            raise ArithmeticError(f"{FIRST} and {SECOND} differ: {values}")
        wrong = [graph for graph, (one, _) in values.items() if one != known[graph]]
        shown = f"d_f = {', '.join(str(one[-1]) for one, _ in values.values())}, all else as printed"
        proof = "" if wrong else f"{shown}, by both back-ends: with the output 8 and without it"
        return Attempt(
            shown, 2, found=shown, claimed=f"7/2, {text}", proof=proof, candidates=tuple({"graph": g} for g in wrong)
        )

    def check(parameters: Parameters) -> Check:
        graph = parameters["graph"]
        one, other = _first(graph), _second(graph)
        return Check(
            (
                Opinion(FIRST, one != known[graph], f"d_f = {one[-1]}"),
                Opinion(SECOND, other != known[graph], f"d_f = {other[-1]}"),
            ),
            words=f"{graph}: {one} against {known[graph]}",
        )

    parameters = declared(Parameter("graph", OneGraph(tuple(known))))
    quantity = "d_r = 3/2, s = 2, D_t(n) = 5, 6, 8, 9 and D*_t(0) = 3 for even t, d_f = 7/2 or 3"
    return Case("Figure 1(a), with the output 8 and without it", quantity, ask, parameters.guards(check))
