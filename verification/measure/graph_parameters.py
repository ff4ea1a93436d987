"""Numbers of parameters of networks of one hidden layer with skips, of tanh units and of LSTMs, by two back-ends.

Which parameters the source counts is not printed. Every convention is tried: with or without the matrices of the input,
the biases and the read-out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

FORMULA, TENSORS = "formula", "tensors"
"""The two back-ends: closed forms, and every matrix and bias of the equations one by one."""


class CountedNetwork(NamedTuple):
    """One hidden layer: a loop of σ = 1, and with ``edges`` = 2 a connection over k steps as well.

    reading   what its unit is, a key of ``READINGS``
    """

    reading: str
    edges: int
    n: int
    d: int
    outputs: int


@dataclass(frozen=True)
class UnitReading:
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


READINGS: Mapping[str, UnitReading] = {
    "tanh": UnitReading("one matrix an edge", lambda K: K, lambda K: 1, lambda K: 1, lambda K: {"h": _all(K)}),
    "tanh, by node": UnitReading(
        "one matrix W(u) a node u of In(v)", lambda K: 1, lambda K: 1, lambda K: 1, lambda K: {"h": _all(1)}
    ),
    "LSTM, own edge": UnitReading(
        "f_e reads the input and its own edge",
        lambda K: 4 * K,
        lambda K: 3 + K,
        lambda K: 3 + K,
        _lstm(lambda K, e: (("x", 0), ("h", e))),
    ),
    "LSTM, every edge": UnitReading(
        "f_e reads the input and every edge",
        lambda K: K * (3 + K),
        lambda K: 3 + K,
        lambda K: 3 + K,
        _lstm(lambda K, e: _all(K)),
    ),
    "LSTM, printed index": UnitReading(
        "f_u = σ(Σ_{u'} W_{f_u}(u') h_u), every W_{f_u}(u') counted",
        lambda K: K * (4 + K),
        lambda K: 3,
        lambda K: 3 + K,
        _lstm(lambda K, e: (("h", e),) * (K + 1)),
    ),
    "LSTM, printed index, sums": UnitReading(
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


def by_formula(network: CountedNetwork) -> dict[str, int]:
    """The number under every convention: a n² + b n d + c n + (n + 1) n_out with the closed forms of the reading."""
    reading, K, n = READINGS[network.reading], network.edges, network.n
    return {
        name: reading.hidden(K) * n * n
        + with_input * reading.inputs(K) * n * network.d
        + with_biases * reading.biases(K) * n
        + with_readout * (n + 1) * network.outputs
        for name, (with_input, with_biases, with_readout) in CONVENTIONS.items()
    }


def by_tensors(network: CountedNetwork) -> dict[str, int]:
    """The same from a list of all tensors: gate by gate a matrix for each thing that it reads, and a bias."""
    shapes: list[tuple[str, tuple[int, ...]]] = []
    for reads in READINGS[network.reading].gates(network.edges).values():
        shapes.append(("biases", (network.n,)))
        for what, _ in reads:
            shapes.append(("input", (network.n, network.d)) if what == "x" else ("hidden", (network.n, network.n)))
    shapes += [("read-out", (network.outputs, network.n)), ("read-out", (network.outputs,))]
    counts = {}
    for name in CONVENTIONS:
        counted = {"hidden", *name.split(", ")[1:]}
        total = 0
        for kind, shape in shapes:
            size = 1
            for side in shape:
                size *= side
            total += size if kind in counted else 0
        counts[name] = total
    return counts


Count: TypeAlias = Callable[[CountedNetwork], dict[str, int]]
BACKENDS: tuple[tuple[str, Count], ...] = ((FORMULA, by_formula), (TENSORS, by_tensors))


def agreed_counts(network: CountedNetwork) -> dict[str, int]:
    """The numbers, by both back-ends; ArithmeticError if they differ."""
    first, again = by_formula(network), by_tensors(network)
    if first != again:
        raise ArithmeticError(f"{network}: {first} by {FORMULA}, {again} by {TENSORS}")
    return first


def replace_units(network: CountedNetwork, n: int) -> CountedNetwork:
    """The same network with n units."""
    return network._replace(n=n)


# --- 8K parameters


@dataclass(frozen=True)
class Stanh:
    """The authors' tanh RNN with skips of the previous results in Table 2: MNIST, one pixel at a time."""

    units: int
    k: int

    @property
    def network(self) -> CountedNetwork:
        return CountedNetwork("tanh", 2, self.units, 1, 10)


STANH = Stanh(units=95, k=21)


LSTMS: Mapping[str, CountedNetwork] = {
    "LSTM of 128 units (inferred)": CountedNetwork("LSTM, own edge", 1, 128, 1, 10),
    "LSTM of 95 units": CountedNetwork("LSTM, own edge", 1, STANH.units, 1, 10),
    "LSTM of 95 units with the same skips": CountedNetwork("LSTM, own edge", 2, STANH.units, 1, 10),
}
"""What the 25 % may refer to: no size is printed. 128 units are those of scornn Table 1 on this task."""
