"""Numbers of parameters that are said to be equal, printed, or a share of each other, under every convention.

Which parameters the source counts is not printed. The source is contradicted only where it is under all conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from odernn.published.complexity import EQUAL_SIZES, EqualSizes
from odernn.published.networks import agrees
from verification.claim import Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Constant
from verification.measure.graph_parameters import (
    BACKENDS,
    CONVENTIONS,
    READINGS,
    Count,
    CountedNetwork,
    Stanh,
    agreed_counts,
    replace_units,
)
from verification.parameters import Declaration, Parameter, declared

ROUGHLY = Fraction(1, 10)
"""What "roughly the same number" is taken to mean: apart by at most this part of the smaller one."""


# --- "roughly the same number of parameters"

Meaning: TypeAlias = Callable[[Count, CountedNetwork, CountedNetwork], list[str]]
"""With one back-end, the conventions under which the sentence holds of the networks with s = 1 and s = k."""


def within_roughly(count: Count, plain: CountedNetwork, skip: CountedNetwork) -> list[str]:
    """The numbers differ by at most ROUGHLY of the smaller."""
    one, other = count(plain), count(skip)
    return [name for name in CONVENTIONS if abs(one[name] - other[name]) <= ROUGHLY * min(one[name], other[name])]


def within_one_unit(count: Count, plain: CountedNetwork, skip: CountedNetwork) -> list[str]:
    """One unit less or more with s = k is too few or too many: whole numbers of units come no nearer than that."""
    one = count(plain)
    fewer, more = (count(replace_units(skip, skip.n + change)) for change in (-1, 1))
    return [name for name in CONVENTIONS if fewer[name] <= one[name] <= more[name]]


MEANINGS: Mapping[str, Meaning] = {
    f"apart by at most {float(100 * ROUGHLY):g} %": within_roughly,
    "apart by no more than one unit makes": within_one_unit,
}
ROUGHLY_THE_SAME = next(iter(MEANINGS))


def equal_case(sizes: EqualSizes, plain: str, skip: str, meaning: str) -> Case:
    """The numbers of parameters for s = 1 and s = k are roughly the same, under one of the conventions."""
    networks = tuple(
        CountedNetwork(reading, edges, n, sizes.input_size, sizes.outputs)
        for reading, edges, n in ((plain, 1, sizes.units), (skip, 2, sizes.skip_units))
    )
    stated = {"units": sizes.units, "skip units": sizes.skip_units, "d": sizes.input_size, "n_out": sizes.outputs}
    holds = MEANINGS[meaning]

    def shown(one: Mapping[str, int], other: Mapping[str, int]) -> str:
        ends = sorted(CONVENTIONS, key=lambda name: Fraction(other[name], one[name]))
        texts = [
            f"{one[name]:,} : {other[name]:,} ({float(100 * Fraction(other[name], one[name]) - 100):+.1f} %, {name})"
            for name in (ends[0], ends[-1])
        ]
        return " to ".join(texts)

    def ask(_: Budget, __: int) -> Attempt:
        counts = [agreed_counts(network) for network in networks]
        good = holds(agreed_counts, *networks)
        text = f"{len(good)} of {len(CONVENTIONS)} conventions: {shown(*counts)}"
        point = {name: str(value) for name, value in stated.items()}
        return Attempt(
            text,
            len(CONVENTIONS),
            found=text,
            claimed=f"roughly the same: {meaning}",
            proof=f"{text}; {meaning} under {'; '.join(good)}" if good else "",
            candidates=() if good else (point,),
        )

    def check(parameters: Parameters) -> Check:
        given = {name: number(parameters, name) for name in stated}
        one, other = (
            network._replace(n=int(given[name]), d=int(given["d"]), outputs=int(given["n_out"]))
            for network, name in zip(networks, ("units", "skip units"), strict=True)
        )
        opinions = tuple(
            Opinion(backend, not holds(count, one, other), shown(count(one), count(other)))
            for backend, count in BACKENDS
        )
        return Check(
            opinions=opinions,
            words=f"{given['units']} units against {given['skip units']}, {READINGS[skip].text}: {opinions[0].text}",
        )

    domain = f"{sizes.task}, {sizes.units} : {sizes.skip_units}, {skip}"
    return Case(domain, f"numbers of parameters, {meaning}", ask, _constants(stated).guards(check))


def printed_count_case(domain: str, network: CountedNetwork, printed: str) -> Case:
    """A printed number of parameters is that of the network under one of the conventions."""

    def agreeing(count: Count, asked: CountedNetwork) -> list[str]:
        return [f"{value:,} ({name})" for name, value in count(asked).items() if agrees(value, printed)]

    stated = {"n": network.n, "d": network.d, "n_out": network.outputs}

    def ask(_: Budget, __: int) -> Attempt:
        counts, good = agreed_counts(network), agreeing(agreed_counts, network)
        shown = f"{min(counts.values()):,} to {max(counts.values()):,}"
        return Attempt(
            f"{len(CONVENTIONS)} conventions",
            len(CONVENTIONS),
            found=good[0] if good else shown,
            claimed=printed,
            proof=f"{printed} is {'; or '.join(good)}" if good else "",
            candidates=() if good else ({name: str(value) for name, value in stated.items()},),
        )

    def check(parameters: Parameters) -> Check:
        given = {name: number(parameters, name) for name in stated}
        asked = network._replace(n=int(given["n"]), d=int(given["d"]), outputs=int(given["n_out"]))
        opinions = tuple(
            Opinion(backend, not agreeing(count, asked), ", ".join(f"{value:,}" for value in count(asked).values()))
            for backend, count in BACKENDS
        )
        return Check(
            opinions=opinions,
            words=f"{domain}: {opinions[0].text} parameters, printed {printed}",
        )

    return Case(domain, f"parameters, printed {printed}", ask, _constants(stated).guards(check))


# --- "only 25% number of parameters"


def quarter_case(stanh: Stanh, lstm: CountedNetwork, domain: str, printed: int = 25) -> Case:
    """Parameters of stanh are 25 % of those of an LSTM, to the whole percent, under one of the conventions."""
    stated = {"units": stanh.units, "lstm units": lstm.n}

    def shares(count: Count, one: CountedNetwork, other: CountedNetwork) -> dict[str, Fraction]:
        ours, theirs = count(one), count(other)
        return {name: Fraction(100 * ours[name], theirs[name]) for name in CONVENTIONS}

    def good(values: Mapping[str, Fraction]) -> list[str]:
        return [name for name, share in values.items() if abs(share - printed) <= Fraction(1, 2)]

    def shown(values: Mapping[str, Fraction]) -> str:
        return f"{float(min(values.values())):.1f} to {float(max(values.values())):.1f} %"

    def ask(_: Budget, __: int) -> Attempt:
        percentages = shares(agreed_counts, stanh.network, lstm)
        names = good(percentages)
        point = {name: str(value) for name, value in stated.items()}
        return Attempt(
            f"{len(CONVENTIONS)} conventions",
            len(CONVENTIONS),
            found=shown(percentages),
            claimed=f"{printed} %",
            proof=f"{shown(percentages)}; {printed} % under {'; '.join(names)}" if names else "",
            candidates=() if names else (point,),
        )

    def check(parameters: Parameters) -> Check:
        given = {name: number(parameters, name) for name in stated}
        ours, theirs = (int(value) for value in given.values())
        ratios = [
            (backend, shares(count, replace_units(stanh.network, ours), replace_units(lstm, theirs)))
            for backend, count in BACKENDS
        ]
        return Check(
            opinions=tuple(Opinion(backend, not good(values), shown(values)) for backend, values in ratios),
            words=f"tanh RNN of {ours} units with skips over {stanh.k} steps: {shown(ratios[0][1])} of the parameters "
            f"of an {domain}, printed {printed} %",
        )

    domain = f"stanh of {stanh.units} units against an {domain}"
    return Case(domain, "share of parameters", ask, _constants(stated).guards(check))


def _constants(stated: Mapping[str, int]) -> Declaration:
    """What is printed, and nothing else."""
    return declared(*(Parameter(name, Constant(value)) for name, value in stated.items()))


LSTM_PAIRS = tuple(sizes for sizes in EQUAL_SIZES if sizes.unit == "LSTM")
