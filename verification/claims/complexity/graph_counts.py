# Claims: cplx-4.4-par · cplx-4.4-lstm · cplx-B.4-8K
"""Numbers of parameters in Section 4.4 and Appendix B.4: "roughly the same" sizes, and the 8K of 90 units.

Which parameters the source counts is not printed: every convention of ``measure.graph_parameters`` is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from odernn.architecture import catalogue
from odernn.architecture.files import to_json
from odernn.published.complexity import EQUAL_SIZES, EqualSizes
from odernn.published.sources import Source
from verification.cases.graph_kinds import OneGraph
from verification.cases.parameter_counts import LSTM_PAIRS, MEANINGS, equal_case, printed_count_case
from verification.certify.second.graph import parse
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.measure.graph_facts import facts_of
from verification.measure.graph_parameters import CountedNetwork
from verification.parameters import Parameter, declared


def shape_case(name: str, d_r: int, d_f: int) -> Case:
    """The network of these measures is the one that is counted."""
    stated = {"d_r": Fraction(d_r), "d_f": Fraction(d_f)}

    def both(text: str) -> list[tuple[str, dict[str, Fraction | None]]]:
        facts, graph = facts_of(text), parse(text)
        assert facts is not None
        return [
            ("library", {"d_r": facts.d_r, "d_f": facts.d_f}),
            ("enumeration", {"d_r": max(graph.rates), "d_f": graph.depth}),
        ]

    def ask(_: Budget, __: int) -> Attempt:
        text = to_json(catalogue.get(name))
        first, again = (values for _backend, values in both(text))
        shown = ", ".join(f"{measure} = {value}" for measure, value in first.items())
        good = first == again == stated
        proof = f"{shown} of {name}, by the library and by enumeration" if good else ""
        return Attempt(shown, 2, found=shown, proof=proof, candidates=() if good else ({"graph": text},))

    def check(parameters: Parameters) -> Check:
        opinions = tuple(
            Opinion(backend, values != stated, str(values)) for backend, values in both(parameters["graph"])
        )
        return Check(opinions, words=opinions[0].text)

    parameters = declared(Parameter("graph", OneGraph((to_json(catalogue.get(name)),))))
    return Case(name, "d_r, d_f", ask, parameters.guards(check))


def _place(place: str) -> Source:
    return Source("complexity", place)


def _tanh_pairs() -> Iterator[EqualSizes]:
    """The three pairs of sizes, each once."""
    seen = set()
    for sizes in EQUAL_SIZES:
        if (sizes.units, sizes.skip_units) not in seen:
            seen.add((sizes.units, sizes.skip_units))
            yield replace(sizes, unit="tanh")


CLAIMS = (
    Claim(
        id="cplx-4.4-par",
        source=_place("Sec. 4.4"),
        statement="a tanh RNN of 724 units with s = 1 and one of 512 with two hidden matrices have about equally many "
        "parameters",
        semantics="comb",
        cases=tuple(equal_case(sizes, "tanh", "tanh", meaning) for sizes in _tanh_pairs() for meaning in MEANINGS),
    ),
    Claim(
        id="cplx-4.4-lstm",
        source=_place("Sec. 4.4, App. B.2"),
        statement="an LSTM of 128 units with s = 1 and one of 90 with two hidden edges, and a forget gate for each of "
        "them, have about equally many parameters; what such a gate reads is not decided",
        semantics="comb",
        cases=tuple(
            equal_case(sizes, reading, reading, meaning)
            for sizes in LSTM_PAIRS
            for reading in ("LSTM, own edge", "LSTM, every edge")
            for meaning in MEANINGS
        ),
    ),
    Claim(
        id="cplx-B.4-8K",
        source=_place("App. B.4"),
        statement="8K parameters, hidden size 90 (d_r = 1, d_f = 2)",
        semantics="comb",
        cases=(
            printed_count_case("tanh RNN, n = 90, d = 1, n_out = 10", CountedNetwork("tanh", 1, 90, 1, 10), "8k"),
            shape_case("sh", 1, 2),
        ),
    ),
)
