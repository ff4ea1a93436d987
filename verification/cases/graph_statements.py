"""Statements about every cyclic graph of a domain: their search, their control, and the check of a witness.

A statement is decided at one graph twice, by the library (``graph_facts``) and by enumeration and an explicit unfolding
(``certify.second.graph``). The search asks the library at every graph and the second at a share of them; where the two
differ it raises, which the ledger shows as an error: then one of them is wrong, and nothing else it says counts.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from verification.adversary import graphs
from verification.adversary.graphs import Sketch, SketchBox
from verification.cases.graph_kinds import Graphs, within
from verification.certify.second import graph as graph_second
from verification.certify.second.graph import Graph, TooLargeError
from verification.claim import BOTH, Attempt, Case, Check, Hypothesis, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.measure.graph_facts import GraphFacts, facts_of
from verification.parameters import Declaration, Look, Parameter, declared

FIRST, SECOND = "odernn", "unfolding"
NOTHING_MORE = declared()


class Side(NamedTuple):
    """What one back-end finds at a graph: by how much the statement fails, positive if it does, and in words."""

    margin: Fraction | int
    text: str

    @property
    def violated(self) -> bool:
        return self.margin > 0


class AtGraph(NamedTuple):
    """What one back-end knows of a graph, and the other parameters of a witness: what a hypothesis is asked about."""

    known: Any
    parameters: Parameters


RESIDUES = Hypothesis(
    "(1) σ = time(v) − time(u) mod m",
    lambda at: bool(at.known.graph.has_residues()),
    second_margin=lambda at: at.known.has_residues,
)
CYCLE = Hypothesis(
    "(2) a directed cycle", lambda at: bool(at.known.graph.has_cycle()), second_margin=lambda at: len(at.known.cycles)
)
ACYCLIC = Hypothesis(
    "(3) no closed walk of σ-sum 0",
    lambda at: bool(at.known.graph.is_acyclic_in_time()),
    second_margin=lambda at: at.known.has_one_sign,
)
UNIDIRECTIONAL = Hypothesis(
    "(U) every cycle has σ-sum > 0",
    lambda at: at.known.is_unidirectional,
    second_margin=lambda at: at.known.is_unidirectional,
)
OPEN = Hypothesis(
    "a walk from an input to an output", lambda at: at.known.is_open, second_margin=lambda at: at.known.is_open
)
GRAPH = (RESIDUES, CYCLE, ACYCLIC)


@dataclass(frozen=True)
class Domain:
    """Which graphs a statement is about.

    ``load`` gives what the first back-end knows of a graph's text, None if the conditions fail that it looks at by
    itself; the search asks for those of ``chosen``, the check of a witness for all ``hypotheses``.
    """

    name: str
    hypotheses: tuple[Hypothesis, ...]
    chosen: tuple[Hypothesis, ...] = ()
    load: Callable[[str], Any] = facts_of


EVERY = Domain("graphs with (1)-(3)", GRAPH)
FORWARD = Domain("graphs with (1)-(3), (U)", (*GRAPH, UNIDIRECTIONAL), (UNIDIRECTIONAL,))


@dataclass(frozen=True)
class GraphStatement:
    """What is said of a graph.

    first, second    whether it fails at the graph, and at the other parameters of a witness; None: it does not speak
    places           these other parameters, where the first back-end has something to look at
    hypotheses       of the statement, beside those of the domain
    ends             whether inputs and outputs matter
    parameters       what a witness names beside the graph
    """

    first: Callable[[Any, Parameters], Side | None]
    second: Callable[[Graph, Parameters], Side | None]
    places: Callable[[Any], Iterable[Parameters]] = lambda _: ({},)
    hypotheses: tuple[Hypothesis, ...] = ()
    ends: bool = False
    parameters: Declaration = NOTHING_MORE

    def declaration(self, box: SketchBox | None = None) -> Declaration:
        """The graph, of a box if there is one, on which the other parameters are read."""
        kind = Graphs(ends=self.ends) if box is None else within(box)
        return declared(Parameter("graph", kind), *self.parameters.parameters, rules=self.parameters.rules)


SMALL, SMALL_ENDS = SketchBox(2, 2, -1, 2, 3), SketchBox(2, 2, -1, 2, 3, ends=True)
"""The boxes of the rows that are proved by enumeration, in every budget."""
_LOW, _BACK = SketchBox(2, 2, -1, 4, 2), SketchBox(2, 1, -5, 1, 2)
_POOL = {
    "smoke": (_LOW, _BACK, SMALL),
    "standard": (_LOW, _BACK, SketchBox(2, 3, -1, 3, 3), SketchBox(3, 2, -1, 2, 3)),
    "deep": (_LOW, _BACK, SketchBox(2, 3, -1, 4, 3), SketchBox(3, 2, -1, 2, 3), SketchBox(3, 1, 0, 2, 4)),
}
_POOL_ENDS = {
    "smoke": (SMALL_ENDS,),
    "standard": (SMALL_ENDS, SketchBox(2, 2, -1, 4, 3, ends=True)),
    "deep": (SMALL_ENDS, SketchBox(2, 3, -1, 4, 3, ends=True), SketchBox(3, 1, -1, 1, 3, ends=True)),
}
_RANDOM = {"smoke": 60, "standard": 600, "deep": 3000}
_CLIMB = {"smoke": 500, "standard": 1000, "deep": 4000}
_MOST_STATES = 8_000
"""The largest unfolding in a search; a graph that needs a larger one is not compared, nor counted as compared."""
_SECOND_EVERY = 10
"""The second back-end is asked at one in so many graphs of a search, and at every one of a box."""


def pool(budget: Budget, seed: int, *, ends: bool) -> Iterator[Sketch]:
    """What is tried: every small graph, more of them in larger budgets, the catalogue, then graphs at random."""
    for box in (_POOL_ENDS if ends else _POOL)[budget.name]:
        yield from graphs.enumerated(box)
    yield from graphs.named()
    chance = random.Random(seed)
    for _ in range(_RANDOM[budget.name]):
        yield graphs.at_random(chance, ends=ends)


@lru_cache(maxsize=20_000)
def second_of(text: str) -> Graph:
    """The graph as the second back-end reads it in a search, which is not to wait for a huge unfolding."""
    return graph_second.parse(text, most_states=_MOST_STATES)


def _holds(hypothesis: Hypothesis, at: AtGraph) -> bool:
    return hypothesis.holds(hypothesis.margin(at))


def _holds_again(hypothesis: Hypothesis, at: AtGraph) -> bool:
    return hypothesis.second_margin is not None and hypothesis.holds(hypothesis.second_margin(at))


def placed(statement: GraphStatement, domain: Domain, text: str) -> Iterator[tuple[Parameters, Side]]:
    """Every place of the graph at which the statement speaks, with what the library finds; none out of the domain."""
    facts = domain.load(text)
    if facts is None or not all(_holds(hypothesis, AtGraph(facts, {})) for hypothesis in domain.chosen):
        return
    for place in statement.places(facts):
        parameters = {"graph": text, **place}
        if all(_holds(hypothesis, AtGraph(facts, parameters)) for hypothesis in statement.hypotheses):
            side = statement.first(facts, parameters)
            if side is not None:
                yield parameters, side


def agree(statement: GraphStatement, parameters: Parameters, side: Side) -> None:
    """Raises ArithmeticError where the two back-ends differ about the statement, or about its own hypotheses.

    They differ if their margins do: a measure that is wrong is seen where the statement holds all the same.
    """
    graph = second_of(parameters["graph"])
    again = statement.second(graph, parameters)
    if again is None or again.margin != side.margin:
        raise ArithmeticError(
            f"the back-ends differ at {dict(parameters)}: {FIRST} says {side.text}, {SECOND} says "
            f"{'nothing' if again is None else again.text}"
        )
    for hypothesis in statement.hypotheses:
        if not _holds_again(hypothesis, AtGraph(graph, parameters)):
            raise ArithmeticError(f"the back-ends differ about {hypothesis.text} at {dict(parameters)}")


def agree_on_domain(domain: Domain, text: str) -> None:
    """Raises ArithmeticError where one back-end admits the graph to the domain and the other does not."""
    facts, graph = domain.load(text), second_of(text)
    first = facts is not None and all(_holds(hypothesis, AtGraph(facts, {})) for hypothesis in domain.hypotheses)
    second = all(_holds_again(hypothesis, AtGraph(graph, {})) for hypothesis in domain.hypotheses)
    if first != second:
        raise ArithmeticError(f"{text} is {'' if first else 'not '}one of the {domain.name} by {FIRST} alone")


@dataclass
class Search:
    """What a search has done so far, and the first violation it met."""

    statement: GraphStatement
    domain: Domain
    seen: int = 0
    tried: int = 0
    compared: int = 0
    failure: Sketch | None = None

    def score(self, sketch: Sketch) -> Fraction | None:
        """By how much the statement fails at this graph; None out of the domain. It is counted, and compared."""
        margins = []
        text = graphs.text(sketch)
        if self.seen % _SECOND_EVERY == 0:
            with contextlib.suppress(TooLargeError):
                agree_on_domain(self.domain, text)
        self.seen += 1
        for parameters, side in placed(self.statement, self.domain, text):
            if side.violated or self.tried % _SECOND_EVERY == 0:
                self._compare(parameters, side)
            margins.append(Fraction(side.margin))
        if not margins:
            return None
        self.tried += 1
        if max(margins) > 0 and self.failure is None:
            self.failure = sketch
        return max(margins)

    def _compare(self, parameters: Parameters, side: Side) -> None:
        try:
            agree(self.statement, parameters, side)
        except TooLargeError:
            return  # it is not counted, and a violation is certified without this limit
        self.compared += 1

    def run(self, sketches: Iterable[Sketch]) -> bool:
        """Whether one of them violates the statement; it stops there."""
        for sketch in sketches:
            self.score(sketch)
            if self.failure is not None:
                return True
        return False

    def witness(self) -> tuple[Parameters, ...]:
        """The violation made as small as it goes."""
        if self.failure is None:
            return ()

        def fails(sketch: Sketch) -> bool:
            return any(s.violated for _, s in placed(self.statement, self.domain, graphs.text(sketch)))

        text = graphs.text(graphs.minimised(self.failure, fails))
        return tuple(parameters for parameters, side in placed(self.statement, self.domain, text) if side.violated)[:1]


def free_case(
    domain: Domain, quantity: str, statement: GraphStatement, *, planted: GraphStatement | None = None, proof: str = ""
) -> Case:
    """The statement on the whole domain.

    ``planted`` is a false statement of the same form, "d_r ≤ 1" if none is given: the same search must find a graph
    that refutes it, else it says nothing by finding none. ``proof`` is where a reader finds the written proof.
    """

    def ask(budget: Budget, seed: int) -> Attempt:
        search = Search(statement, domain)
        if search.run(pool(budget, seed, ends=statement.ends)):
            return Attempt(f"{search.tried:,} graphs", search.tried, candidates=search.witness())
        small = search.tried
        graphs.climb(search.score, seed, _CLIMB[budget.name], ends=statement.ends, enough=lambda value: value > 0)
        tried = f"{small:,} graphs small, named or at random, {search.tried - small:,} on a climb"
        tried += f"; both back-ends at {search.compared:,}" + f"; proof: {proof}" * bool(proof)
        power = control(shallow() if planted is None else planted, domain, budget, seed)
        return Attempt(tried, search.tried, candidates=search.witness(), control=power)

    check = statement.declaration().guards(checker(domain, statement), looker(domain, statement))
    return Case(domain.name, quantity, ask, check, is_search=True)


def box_case(domain: Domain, quantity: str, statement: GraphStatement, box: SketchBox | None = None) -> Case:
    """The statement at every graph of a box, decided by both back-ends: proved there, or refuted."""
    chosen = box or (SMALL_ENDS if statement.ends else SMALL)

    def ask(_: Budget, __: int) -> Attempt:
        search = Search(statement, domain)
        count, spoken = 0, 0
        for sketch in graphs.enumerated(chosen):
            text = graphs.text(sketch)
            agree_on_domain(domain, text)
            before = count
            for parameters, side in placed(statement, domain, text):
                agree(statement, parameters, side)
                count += 1
                if side.violated:
                    search.failure = sketch
                    return Attempt(f"{count:,} graphs", count, candidates=search.witness())
            spoken += count > before
        text = f"at all {spoken:,} of them that satisfy the premises, {count:,} comparisons by {FIRST} and by {SECOND}"
        return Attempt(text, count, proof=text if count else "", twice=BOTH)

    check = statement.declaration(chosen).guards(checker(domain, statement), looker(domain, statement))
    return Case(f"{domain.name}, {chosen}", quantity, ask, check)


LEAST_OPTIMUM_NODES = 3
"""The climb of the control is for the largest d_r of so many nodes, which is as large: a cycle of σ-sum 1."""


def control(planted: GraphStatement, domain: Domain, budget: Budget, seed: int) -> float:
    """The share of known optima that the adversaries reach.

    The enumeration and the random graphs must find a certified counterexample of the planted falsehood: 1 or 0. The
    climb looks for the largest d_r on K nodes, which is K: a simple cycle has at most K edges and a sum of at least 1.
    """
    search = Search(planted, domain)
    check = checker(domain, planted)
    if not search.run(pool(budget, seed, ends=planted.ends)):
        return 0.0
    checks = [check(parameters) for parameters in search.witness()]
    if not any(all(o.violated for o in c.opinions) and all(p.holds for p in c.premises) for c in checks):
        return 0.0
    best = graphs.climb(
        _depth,
        seed,
        _CLIMB[budget.name],
        nodes=LEAST_OPTIMUM_NODES,
        period=1,
        enough=lambda depth: depth >= LEAST_OPTIMUM_NODES,
    )
    depth = _depth(best) if best is not None else None
    return float(depth / LEAST_OPTIMUM_NODES) if depth is not None else 0.0


def _depth(sketch: Sketch) -> Fraction | None:
    facts = facts_of(graphs.text(sketch))
    return facts.d_r if facts is not None and facts.is_unidirectional else None


def looker(domain: Domain, statement: GraphStatement) -> Look:
    """Whether the first back-end alone finds the statement violated; None where a premise fails."""

    def look(parameters: Parameters) -> bool | None:
        facts = domain.load(parameters["graph"])
        if facts is None:
            return None
        place = AtGraph(facts, parameters)
        if not all(_holds(hypothesis, place) for hypothesis in (*domain.hypotheses, *statement.hypotheses)):
            return None
        side = statement.first(facts, parameters)
        return side is not None and side.violated

    return look


def checker(domain: Domain, statement: GraphStatement) -> Callable[[Parameters], Check]:
    """The check of a witness: the graph from its text, every premise and the statement by both back-ends."""

    def check(parameters: Parameters) -> Check:
        text = parameters["graph"]
        again = graph_second.parse(text)
        facts = domain.load(text)
        if facts is None:
            return Check((), (Premise("; ".join(hypothesis.text for hypothesis in domain.hypotheses), "–", False),))
        premises = []
        for hypothesis in (*domain.hypotheses, *statement.hypotheses):
            first, second = (
                _holds(hypothesis, AtGraph(facts, parameters)),
                _holds_again(hypothesis, AtGraph(again, parameters)),
            )
            premises.append(
                Premise(hypothesis.text, f"{FIRST} {_yes(first)}, {SECOND} {_yes(second)}", first and second)
            )
        if not all(premise.holds for premise in premises):
            return Check((), tuple(premises))
        opinions = []
        for backend, side in (
            (FIRST, statement.first(facts, parameters)),
            (SECOND, statement.second(again, parameters)),
        ):
            opinions.append(
                Opinion(backend, side is not None and side.violated, side.text if side else "does not speak")
            )
        return Check(tuple(opinions), tuple(premises), words=words(parameters, opinions[0].text))

    return check


def words(parameters: Parameters, shown: str) -> str:
    """The violation in a sentence: the graph as a reader types it in, and what is found there."""
    return f"{parameters['graph']}: {shown}"


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


@dataclass(frozen=True)
class Comparison:
    """A statement of the form left = right (or ≤): both sides by both back-ends, None where one does not speak."""

    left: str
    right: str
    first: Callable[[GraphFacts], tuple[Fraction, Fraction] | None]
    second: Callable[[Graph], tuple[Fraction, Fraction] | None]
    sign: str = "="

    def statement(self) -> GraphStatement:
        """As a statement without other parameters."""

        def side(sides: tuple[Fraction, Fraction] | None) -> Side | None:
            if sides is None:
                return None
            left, right = sides
            margin = abs(left - right) if self.sign == "=" else left - right
            return Side(margin, f"{self.left} = {left}, {self.right} = {right}")

        return GraphStatement(lambda facts, _: side(self.first(facts)), lambda graph, _: side(self.second(graph)))


def shallow() -> GraphStatement:
    """ "d_r ≤ 1": a falsehood for the control of a statement that brings none of its own."""
    return Comparison(
        "d_r",
        "1",
        lambda facts: (facts.d_r, Fraction(1)) if facts.is_unidirectional else None,
        lambda graph: (max(graph.rates), Fraction(1)) if graph.is_unidirectional else None,
        sign="≤",
    ).statement()


def climb_evaluations(budget: Budget) -> int:
    """How many graphs a climb may look at."""
    return _CLIMB[budget.name]


PROOFS = {
    "Acyclicity": "thm-A-dag",
    "Recurrent depth": "thm-A-rate",
    "Skip coefficient": "thm-A-rate",
    "Feedforward depth": "thm-A-df",
    "Limits": "thm-A-lim",
}
"""The theorem of each section of the written proofs."""


def proved_in(section: str) -> str:
    """Where a reader finds the written proof."""
    return f"{PROOFS[section]}, docs/derivations/cyclic_graphs.md, {section}"


def theorem(
    quantity: str,
    statement: GraphStatement,
    planted: GraphStatement,
    section: str,
    *,
    widely: bool = True,
    box: SketchBox | None = None,
) -> tuple[Case, ...]:
    """Under (U): on the whole domain and on a box; then, if ``widely``, on all graphs of Definition 2.1."""
    cases = (
        free_case(FORWARD, quantity, statement, planted=planted, proof=proved_in(section)),
        box_case(FORWARD, quantity, statement, box),
    )
    return (*cases, free_case(EVERY, quantity, statement, planted=planted)) if widely else cases


def stated(domain: Domain, *cases: tuple[str, GraphStatement]) -> tuple[Case, ...]:
    """Statements on a domain as they are, without a box; their control is the falsehood of all."""
    return tuple(free_case(domain, quantity, statement) for quantity, statement in cases)
