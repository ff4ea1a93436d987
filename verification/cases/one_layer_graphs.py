"""The graphs in → h → out of one hidden node, with skips past it and loops on it: the shallow networks of Section 4.

The boxes of ``graph_statements`` with both ends have two nodes, so no path there has more than one edge.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

from verification.adversary import graphs
from verification.adversary.graphs import Sketch
from verification.cases.graph_kinds import Graphs
from verification.cases.graph_statements import (
    FIRST,
    SECOND,
    Domain,
    GraphStatement,
    Search,
    agree,
    agree_on_domain,
    checker,
    looker,
    placed,
    proved_in,
)
from verification.certify.second.graph import Graph
from verification.claim import BOTH, Attempt, Case
from verification.domains import Budget
from verification.kinds import NotOfThisKindError, Values
from verification.parameters import Parameter, declared

IN, HIDDEN, OUT = range(3)
NAMES = ("a", "b", "c")
"""Of these three, as ``graphs.text`` has them."""
PAIRS = ((IN, HIDDEN), (IN, OUT), (HIDDEN, HIDDEN), (HIDDEN, OUT))
MOST_EDGES, LARGEST_SIGMA = 4, 2
"""in → h, a loop, h → out, and one more: a skip past h, a second loop, a second edge in or out."""


def one_layer() -> Iterator[Sketch]:
    """Every one of them, small ones first; whether it has a loop, or a path from in to out, is not asked."""
    possible = [(u, v, sigma) for u, v in PAIRS for sigma in range((u, v) == (HIDDEN, HIDDEN), LARGEST_SIGMA + 1)]
    for size in range(1, MOST_EDGES + 1):
        for edges in itertools.combinations(possible, size):
            yield Sketch(1, (0, 0, 0), edges, (IN,), (OUT,))


@dataclass(frozen=True)
class OneLayer(Graphs):
    """One of ``one_layer``, its nodes a, b, c."""

    nodes: int = 3
    edges: int = MOST_EDGES
    period: int = 1
    sigma: int = LARGEST_SIGMA
    least: int = 0
    roles: int = 1
    ends: bool = True

    def __str__(self) -> str:
        return f"{super().__str__()}, that are a → b, a → c, b → b, b → c; a the input, c the output"

    def read(self, text: str, values: Values) -> Graph:
        graph = super().read(text, values)
        pairs = {(NAMES[u], NAMES[v]) for u, v in PAIRS}
        if graph.times != dict.fromkeys(NAMES, 0) or any((u, v) not in pairs for u, v, _ in graph.edges):
            raise NotOfThisKindError("another node or edge")
        if (tuple(graph.inputs), tuple(graph.outputs)) != ((NAMES[IN],), (NAMES[OUT],)):
            raise NotOfThisKindError("another input or output")
        return graph

    def draw(self, rng: random.Random, values: Values) -> Graph:
        with_loops = [sketch for sketch in one_layer() if any(u == v for u, v, _ in sketch.edges)]
        return self.read(graphs.text(rng.choice(with_loops)), values)


def one_layer_case(domain: Domain, quantity: str, statement: GraphStatement, section: str) -> Case:
    """The statement at every graph of one hidden node, by both back-ends; ``section`` proves it for every graph."""

    def ask(_: Budget, __: int) -> Attempt:
        search, count = Search(statement, domain), 0
        for sketch in one_layer():
            text = graphs.text(sketch)
            agree_on_domain(domain, text)
            for parameters, side in placed(statement, domain, text):
                agree(statement, parameters, side)
                count += 1
                if side.violated:
                    search.failure = sketch
                    return Attempt(f"{count:,} graphs", count, candidates=search.witness())
        text = f"at all {count:,} of them that satisfy the premises, by {FIRST} and by {SECOND}"
        text += f"; for every graph: {proved_in(section)}"
        return Attempt(text, count, proof=text if count else "", twice=BOTH)

    parameters = declared(
        Parameter("graph", OneLayer()), *statement.parameters.parameters, rules=statement.parameters.rules
    )
    domain_name = f"{domain.name}, in → h → out, at most {MOST_EDGES} edges, 0 ≤ σ ≤ {LARGEST_SIGMA}"
    return Case(domain_name, quantity, ask, parameters.guards(checker(domain, statement), looker(domain, statement)))
