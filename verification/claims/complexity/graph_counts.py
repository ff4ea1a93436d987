# Claims: cplx-4.4-par · cplx-4.4-lstm · cplx-B.4-8K
"""Numbers of parameters in Section 4.4 and Appendix B.4: "roughly the same" sizes, and the 8K of 90 units.

Which parameters the source counts is not printed. Every convention is tried: with or without the matrices of the input,
the biases and the read-out. The source is contradicted only where it is under all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from odernn.architecture import catalogue
from odernn.architecture.files import to_json
from odernn.published.complexity import EQUAL_SIZES, EqualSizes
from odernn.published.networks import agrees
from odernn.published.sources import Source
from verification.certify.second.graph import parse
from verification.domains import Budget
from verification.measure.graph_facts import facts_of
from verification.question import Attempt, Case, Check, Hypothesis, Opinion, Parameters, Question, number

ROUGHLY = Fraction(1, 10)
"""What "roughly the same number" is taken to mean: apart by at most this part of the smaller one."""

FORMULA, TENSORS = "formula", "tensors"
"""The two back-ends: closed forms, and every matrix and bias of the equations one by one."""


class Network(NamedTuple):
    """One hidden layer: a loop of σ = 1, and with ``edges`` = 2 a connection over k steps as well.

    reading   what its unit is, a key of ``READINGS``
    """

    reading: str
    edges: int
    n: int
    d: int
    outputs: int


@dataclass(frozen=True)
class Reading:
    """Of a unit: rows of n × n that the hidden edges need, of n × d that the input needs, and of biases, in n.

    hidden, inputs, biases   closed forms in the number K of edges
    gates                    for one unit of K edges, the name of every gate and what each matrix of it is multiplied
                             with: ("x",) for the input, ("h", e) for edge e
    """

    text: str
    hidden: Callable[[int], int]
    inputs: Callable[[int], int]
    biases: Callable[[int], int]
    gates: Callable[[int], Mapping[str, tuple[tuple[str, int], ...]]]


def _all(edges: int) -> tuple[tuple[str, int], ...]:
    """The input, and every edge."""
    return (("x", 0), *(("h", e) for e in range(1, edges + 1)))


def _lstm(
    forget: Callable[[int, int], tuple[tuple[str, int], ...]],
) -> Callable[[int], Mapping[str, tuple[tuple[str, int], ...]]]:
    """z, i and o read everything; forget(K, e) is what the matrices of the gate f_e are multiplied with."""

    def gates(edges: int) -> Mapping[str, tuple[tuple[str, int], ...]]:
        return {gate: _all(edges) for gate in "zio"} | {f"f{e}": forget(edges, e) for e in range(1, edges + 1)}

    return gates


READINGS: Mapping[str, Reading] = {
    "tanh": Reading("one matrix an edge", lambda K: K, lambda K: 1, lambda K: 1, lambda K: {"h": _all(K)}),
    "tanh, by node": Reading(
        "one matrix W(u) a node u of In(v)", lambda K: 1, lambda K: 1, lambda K: 1, lambda K: {"h": _all(1)}
    ),
    "LSTM, own edge": Reading(
        "f_e reads the input and its own edge",
        lambda K: 4 * K,
        lambda K: 3 + K,
        lambda K: 3 + K,
        _lstm(lambda K, e: (("x", 0), ("h", e))),
    ),
    "LSTM, every edge": Reading(
        "f_e reads the input and every edge",
        lambda K: K * (3 + K),
        lambda K: 3 + K,
        lambda K: 3 + K,
        _lstm(lambda K, e: _all(K)),
    ),
    "LSTM, printed index": Reading(
        "f_u = σ(Σ_{u'} W_{f_u}(u') h_u), every W_{f_u}(u') counted",
        lambda K: K * (4 + K),
        lambda K: 3,
        lambda K: 3 + K,
        _lstm(lambda K, e: (("h", e),) * (K + 1)),
    ),
    "LSTM, printed index, sums": Reading(
        "f_u = σ(Σ_{u'} W_{f_u}(u') h_u), Σ_{u'} W_{f_u}(u') counted as one matrix",
        lambda K: 4 * K,
        lambda K: 3,
        lambda K: 3 + K,
        _lstm(lambda K, e: (("h", e),)),
    ),
}

CONVENTIONS: Mapping[str, tuple[bool, ...]] = {
    ", ".join(["hidden matrices", *itertools.compress(("input", "biases", "read-out"), chosen)]): chosen
    for chosen in itertools.product((False, True), repeat=3)
}
"""By name, whether the matrices of the input, the biases and an affine read-out are counted beside the hidden ones."""


def by_formula(network: Network) -> dict[str, int]:
    """The number under every convention: a n² + b n d + c n + (n + 1) n_out with the closed forms of the reading."""
    reading, K, n = READINGS[network.reading], network.edges, network.n
    return {
        name: reading.hidden(K) * n * n
        + with_input * reading.inputs(K) * n * network.d
        + with_biases * reading.biases(K) * n
        + with_readout * (n + 1) * network.outputs
        for name, (with_input, with_biases, with_readout) in CONVENTIONS.items()
    }


def by_tensors(network: Network) -> dict[str, int]:
    """The same from a list of all tensors: gate by gate a matrix for each thing that it reads, and a bias."""
    shapes: list[tuple[str, tuple[int, ...]]] = []
    for reads in READINGS[network.reading].gates(network.edges).values():
        shapes.append(("biases", (network.n,)))
        for what, _ in reads:
            shapes.append(("input", (network.n, network.d)) if what == "x" else ("hidden", (network.n, network.n)))
    shapes += [("read-out", (network.outputs, network.n)), ("read-out", (network.outputs,))]
    found = {}
    for name in CONVENTIONS:
        counted = {"hidden", *name.split(", ")[1:]}
        total = 0
        for kind, shape in shapes:
            size = 1
            for side in shape:
                size *= side
            total += size if kind in counted else 0
        found[name] = total
    return found


Count: TypeAlias = Callable[[Network], dict[str, int]]
BACKENDS: tuple[tuple[str, Count], ...] = ((FORMULA, by_formula), (TENSORS, by_tensors))


def _counts(network: Network) -> dict[str, int]:
    """The numbers, by both back-ends; ArithmeticError if they differ."""
    first, again = by_formula(network), by_tensors(network)
    if first != again:
        raise ArithmeticError(f"{network}: {first} by {FORMULA}, {again} by {TENSORS}")
    return first


# --- "roughly the same number of parameters"

Meaning: TypeAlias = Callable[[Count, Network, Network], list[str]]
"""With one back-end, the conventions under which the sentence holds of the networks with s = 1 and s = k."""


def within_roughly(count: Count, plain: Network, skip: Network) -> list[str]:
    """The numbers differ by at most ROUGHLY of the smaller."""
    one, other = count(plain), count(skip)
    return [name for name in CONVENTIONS if abs(one[name] - other[name]) <= ROUGHLY * min(one[name], other[name])]


def within_one_unit(count: Count, plain: Network, skip: Network) -> list[str]:
    """One unit less or more with s = k is too few or too many: whole numbers of units come no nearer than that."""
    one = count(plain)
    fewer, more = (count(replace_units(skip, skip.n + change)) for change in (-1, 1))
    return [name for name in CONVENTIONS if fewer[name] <= one[name] <= more[name]]


def replace_units(network: Network, n: int) -> Network:
    """The same network with n units."""
    return network._replace(n=n)


MEANINGS: Mapping[str, Meaning] = {
    f"apart by at most {float(100 * ROUGHLY):g} %": within_roughly,
    "apart by no more than one unit makes": within_one_unit,
}


def equal_case(sizes: EqualSizes, plain: str, skip: str, meaning: str) -> Case:
    """The numbers of parameters for s = 1 and s = k are roughly the same, under one of the conventions."""
    networks = tuple(
        Network(reading, edges, n, sizes.input_size, sizes.outputs)
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
        counts = [_counts(each) for each in networks]
        good = holds(_counts, *networks)
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
        premise = Hypothesis(
            f"sizes of Section 4.4, {sizes.task}", ", ".join(map(str, given.values())), given == stated
        )
        if not premise.holds:
            return Check((), (premise,))
        one, other = (
            each._replace(n=int(given[name]), d=int(given["d"]), outputs=int(given["n_out"]))
            for each, name in zip(networks, ("units", "skip units"), strict=True)
        )
        opinions = tuple(
            Opinion(backend, not holds(count, one, other), shown(count(one), count(other)))
            for backend, count in BACKENDS
        )
        return Check(
            opinions=opinions,
            premises=(premise,),
            words=f"{given['units']} units against {given['skip units']}, {READINGS[skip].text}: {opinions[0].text}",
        )

    domain = f"{sizes.task}, {sizes.units} : {sizes.skip_units}, {skip}"
    return Case(domain, f"numbers of parameters, {meaning}", ask, check)


# --- 8K parameters


@dataclass(frozen=True)
class Stanh:
    """The authors' tanh RNN with skips of the previous results in Table 2: MNIST, one pixel at a time."""

    units: int
    k: int

    @property
    def network(self) -> Network:
        return Network("tanh", 2, self.units, 1, 10)


STANH = Stanh(units=95, k=21)


def printed_count_case(domain: str, network: Network, printed: str) -> Case:
    """A printed number of parameters is that of the network under one of the conventions."""

    def agreeing(count: Count, asked: Network) -> list[str]:
        return [f"{value:,} ({name})" for name, value in count(asked).items() if agrees(value, printed)]

    stated = {"n": network.n, "d": network.d, "n_out": network.outputs}

    def ask(_: Budget, __: int) -> Attempt:
        counts, good = _counts(network), agreeing(_counts, network)
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
        premise = Hypothesis("n, d, n_out as printed", ", ".join(map(str, given.values())), given == stated)
        if not premise.holds:
            return Check((), (premise,))
        asked = network._replace(n=int(given["n"]), d=int(given["d"]), outputs=int(given["n_out"]))
        opinions = tuple(
            Opinion(backend, not agreeing(count, asked), ", ".join(f"{value:,}" for value in count(asked).values()))
            for backend, count in BACKENDS
        )
        return Check(
            opinions=opinions,
            premises=(premise,),
            words=f"{domain}: {opinions[0].text} parameters, printed {printed}",
        )

    return Case(domain, f"parameters, printed {printed}", ask, check)


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
        found = ", ".join(f"{measure} = {value}" for measure, value in first.items())
        good = first == again == stated
        proof = f"{found} of {name}, by the library and by enumeration" if good else ""
        return Attempt(found, 2, found=found, proof=proof, candidates=() if good else ({"graph": text},))

    def check(parameters: Parameters) -> Check:
        text = parameters["graph"]
        same = text == to_json(catalogue.get(name))
        opinions = tuple(Opinion(backend, values != stated, str(values)) for backend, values in both(text))
        return Check(opinions, (Hypothesis(f"the graph is {name}", str(int(same)), same),), words=opinions[0].text)

    return Case(name, "d_r, d_f", ask, check)


# --- "only 25% number of parameters"


def quarter_case(stanh: Stanh, lstm: Network, domain: str, printed: int = 25) -> Case:
    """Parameters of stanh are 25 % of those of an LSTM, to the whole percent, under one of the conventions."""
    stated = {"units": stanh.units, "lstm units": lstm.n}

    def shares(count: Count, one: Network, other: Network) -> dict[str, Fraction]:
        ours, theirs = count(one), count(other)
        return {name: Fraction(100 * ours[name], theirs[name]) for name in CONVENTIONS}

    def good(found: Mapping[str, Fraction]) -> list[str]:
        return [name for name, share in found.items() if abs(share - printed) <= Fraction(1, 2)]

    def shown(found: Mapping[str, Fraction]) -> str:
        return f"{float(min(found.values())):.1f} to {float(max(found.values())):.1f} %"

    def ask(_: Budget, __: int) -> Attempt:
        found = shares(_counts, stanh.network, lstm)
        names = good(found)
        point = {name: str(value) for name, value in stated.items()}
        return Attempt(
            f"{len(CONVENTIONS)} conventions",
            len(CONVENTIONS),
            found=shown(found),
            claimed=f"{printed} %",
            proof=f"{shown(found)}; {printed} % under {'; '.join(names)}" if names else "",
            candidates=() if names else (point,),
        )

    def check(parameters: Parameters) -> Check:
        given = {name: number(parameters, name) for name in stated}
        premise = Hypothesis("the sizes of this row", ", ".join(map(str, given.values())), given == stated)
        if not premise.holds:
            return Check((), (premise,))
        ours, theirs = (int(value) for value in given.values())
        found = [
            (backend, shares(count, replace_units(stanh.network, ours), replace_units(lstm, theirs)))
            for backend, count in BACKENDS
        ]
        return Check(
            opinions=tuple(Opinion(backend, not good(values), shown(values)) for backend, values in found),
            premises=(premise,),
            words=f"tanh RNN of {ours} units with skips over {stanh.k} steps: {shown(found[0][1])} of the parameters "
            f"of an {domain}, printed {printed} %",
        )

    return Case(f"stanh of {stanh.units} units against an {domain}", "share of parameters", ask, check)


LSTMS: Mapping[str, Network] = {
    "LSTM of 128 units (inferred)": Network("LSTM, own edge", 1, 128, 1, 10),
    "LSTM of 95 units": Network("LSTM, own edge", 1, STANH.units, 1, 10),
    "LSTM of 95 units with the same skips": Network("LSTM, own edge", 2, STANH.units, 1, 10),
}
"""What the 25 % may refer to: no size is printed. 128 units are those of scornn Table 1 on this task."""


def _place(place: str) -> Source:
    return Source("complexity", place)


def _tanh_pairs() -> Iterator[EqualSizes]:
    """The three pairs of sizes, each once."""
    seen = set()
    for each in EQUAL_SIZES:
        if (each.units, each.skip_units) not in seen:
            seen.add((each.units, each.skip_units))
            yield replace(each, unit="tanh")


LSTM_PAIRS = tuple(each for each in EQUAL_SIZES if each.unit == "LSTM")

QUESTIONS = (
    Question(
        id="cplx-4.4-par",
        source=_place("Sec. 4.4"),
        statement='"roughly the same number of parameters": 724 units with s = 1 against 512 with two hidden matrices, '
        "128 against 90, 90 against 64, counted as tanh units",
        semantics="comb",
        cases=tuple(equal_case(each, "tanh", "tanh", meaning) for each in _tanh_pairs() for meaning in MEANINGS),
    ),
    Question(
        id="cplx-4.4-lstm",
        source=_place("Sec. 4.4, App. B.2"),
        statement='"roughly the same number of parameters" for LSTMs: 128 units with s = 1 against 90, 90 against 64, '
        "with a forget gate for each of the two hidden edges, as in B.2",
        semantics="comb",
        cases=tuple(
            equal_case(each, reading, reading, meaning)
            for each in LSTM_PAIRS
            for reading in ("LSTM, own edge", "LSTM, every edge")
            for meaning in MEANINGS
        ),
    ),
    Question(
        id="cplx-B.4-8K",
        source=_place("App. B.4"),
        statement="8K parameters, hidden size 90 (d_r = 1, d_f = 2)",
        semantics="comb",
        cases=(
            printed_count_case("tanh RNN, n = 90, d = 1, n_out = 10", Network("tanh", 1, 90, 1, 10), "8k"),
            shape_case("sh", 1, 2),
        ),
    ),
)
