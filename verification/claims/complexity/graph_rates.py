# Claims: cplx-3.5-often
"""The smallest rate j of the architectures that Zhang et al. 2016 name, Section 3.5: is it 1 or less?"""

from __future__ import annotations

from odernn.published.sources import Source
from verification.cases.decision import at, decided
from verification.cases.graph_kinds import OneGraph
from verification.cases.graph_statements import FIRST, SECOND
from verification.certify.second.graph import parse
from verification.claim import Case, Claim, Decided, Parameters
from verification.measure.described_graphs import FIGURE_1A, layered, nine, section_4_5
from verification.measure.graph_facts import facts_of
from verification.parameters import Parameter, declared

LONGEST_SKIP = 8
NAMED = (
    *(layered(layers) for layers in (1, 2, 3)),
    layered(2, [("h1", "h2", 1)]),
    layered(2, [("h2", "h1", 1)]),
    *(layered(1, [("h1", "h1", k)]) for k in range(2, LONGEST_SKIP + 1)),
    *(section_4_5(number, k) for number in (2, 3) for k in range(2, LONGEST_SKIP + 1)),
)
"""Described in words in Sections 3.1, 4.2, 4.4 and 4.5: each has a layer that reads itself at an earlier time."""
RECONSTRUCTED = tuple(
    text
    for text in (
        *(nine(f, r) for f in (2, 3, 4) for r in (1, 2, 3)),
        *(section_4_5(4, k) for k in range(2, LONGEST_SKIP + 1)),
    )
    if text not in NAMED
)
"""Fitted to the values that Sections 4.3 and 4.5 print."""


def rate_case(domain: str, texts: tuple[str, ...]) -> Case:
    """j ≤ 1 for each of these graphs."""
    known = tuple(dict.fromkeys(texts))

    def first(parameters: Parameters) -> Decided:
        facts = facts_of(parameters["graph"])
        assert facts is not None
        return Decided(facts.j > 1, f"j = {facts.j}")

    def second(parameters: Parameters) -> Decided:
        """Over all simple cycles, l ≤ Σσ for one of them."""
        rates = parse(parameters["graph"]).rates
        return Decided(all(rate > 1 for rate in rates), f"the least of {len(rates)} rates is {min(rates)}")

    return decided(
        domain,
        "j ≤ 1",
        at(*({"graph": text} for text in known)),
        first,
        second,
        box=f"{len(known)} graphs; a loop of σ ≥ 1 alone makes j ≤ 1",
        claimed="at most 1",
        parameters=declared(Parameter("graph", OneGraph(known))),
        names=(FIRST, SECOND),
    )


CLAIMS = (
    Claim(
        id="cplx-3.5-often",
        source=Source("complexity", "Sec. 3.5"),
        statement=f"j is often 1 or less; asked of the architectures of Sections 3.1, 4.2, 4.4 and 4.5, skips of "
        f"k ≤ {LONGEST_SKIP} steps; also tried: those of Section 4.3, (4) of 4.5 and Figure 1(a), reconstructed",
        semantics="comb",
        cases=(
            rate_case("the architectures of Sections 3.1, 4.2, 4.4, 4.5", NAMED),
            rate_case("Figure 1(a)", (FIGURE_1A,)),
            rate_case("Section 4.3, and (4) of Section 4.5, reconstructed", RECONSTRUCTED),
        ),
    ),
)
