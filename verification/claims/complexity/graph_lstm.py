# Claims: cplx-B.2a · cplx-B.2b
"""Appendix B.2 of Zhang et al. 2016: the multidimensional LSTM, as it is printed and against the usual LSTM."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import nn

from odernn.architecture import catalogue
from odernn.architecture.network import GraphRNN
from odernn.architecture.network.parameters import edge_name
from odernn.architecture.network.units import Carry, ForgetReads
from odernn.architecture.walks import Edge
from odernn.bounds.numbers import BALLS
from odernn.published.sources import Source
from verification.cases.identity import PolynomialIdentity
from verification.cases.inequality import Inequality
from verification.cases.parameter_counts import LSTM_PAIRS, ROUGHLY_THE_SAME, equal_case
from verification.cases.random_networks import INPUTS, SEEDS, STEPS, UNITS
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Claim, Hypothesis
from verification.domains import Budget
from verification.kinds import Constant, Listed, Rational
from verification.measure.polynomials import variables
from verification.parameters import Parameter, declared

# --- B.2: c_v = i z + Σ f_u c_u, h_v = o c_v

MOST_EDGES = 6
OUTPUTS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[float], float]]] = {
    "h = o tanh(c)": (lambda c: BALLS.tanh(c), second.tanh, math.tanh),
    "h = o c": (lambda c: c, lambda c: c, lambda c: c),
}
"""How the hidden state is read off the cell: in balls, in intervals, in floats."""


def is_same_cell(extra: int) -> bool:
    """c of B.2 with K ≤ 6 edges, the others' matrices 0 and forget gates ``extra``, is c of the usual LSTM.

    As polynomials in the values of the gates and cells; so are the pre-activations, in matrices and states.
    """
    for count in range(2, MOST_EDGES + 1):
        names = [f"{letter}{e}" for letter in "fcwh" for e in range(1, count + 1)]
        i, z, x, *rest = variables("i", "z", "x", *names)
        f, c, w, h = (rest[k * count : (k + 1) * count] for k in range(4))
        f, w = [f[0], *[extra + 0 * f[0]] * (count - 1)], [w[0], *[0 * w[0]] * (count - 1)]
        cells = i * z + sum((f[e] * c[e] for e in range(count)), start=0 * i)
        activations = x + sum((w[e] * h[e] for e in range(count)), start=0 * x)
        if cells - (i * z + f[0] * c[0]) != 0 or activations - (x + w[0] * h[0]) != 0:
            return False
    return True


VALUE = Rational(least=-1000, most=1000)
_GATES = ("z", "i", "o", "f", "c", "c_extra")


def contains_case(output: str, usual: str, extra: int = 0) -> Case:
    """With extra forget gates 0 and extra matrices 0 the multidimensional LSTM is the usual one.

    output, usual   how h is read off c in B.2 and in the usual LSTM
    """

    def floats(p: Mapping[str, int]) -> float:
        s = {gate: 1 / (1 + math.exp(-p[gate])) for gate in "iof"}
        c = s["i"] * math.tanh(p["z"]) + s["f"] * p["c"]
        return abs(s["o"] * (OUTPUTS[output][2](c + extra * p["c_extra"]) - OUTPUTS[usual][2](c)))

    def ask(_: Budget, __: int) -> Attempt:
        points = sorted(itertools.product((0, 1), repeat=len(_GATES)), key=sum)
        if is_same_cell(extra) and output == usual:
            proof = f"c and all pre-activations are the same polynomials, for 2 to {MOST_EDGES} edges; {output} in both"
            return Attempt(proof, MOST_EDGES - 1, proof=proof)
        compared = [(point, floats(dict(zip(_GATES, point, strict=True)))) for point in points]
        wrong = [dict(zip(_GATES, map(str, point), strict=True)) for point, gap in compared if gap > 1e-9]
        candidates = tuple({**candidate, "f_extra": str(extra)} for candidate in wrong)
        return Attempt(f"{len(points)} points", len(points), found=f"{len(wrong)} differ", candidates=candidates)

    def balls(p: Any) -> tuple[Any, Any]:
        c = _sigmoid(p.i) * p.z.tanh() + _sigmoid(p.f) * p.c
        return abs(_sigmoid(p.o) * (OUTPUTS[output][0](c + p.f_extra * p.c_extra) - OUTPUTS[usual][0](c))), 0 * p.z

    def intervals(p: Any) -> tuple[Any, Any]:
        kept = second.tanh(p.z) * second.logistic(p.i)
        ours = OUTPUTS[output][1](p.c * second.logistic(p.f) + p.c_extra * p.f_extra + kept)
        theirs = OUTPUTS[usual][1](kept + second.logistic(p.f) * p.c)
        gate = second.logistic(p.o)
        return abs(gate * ours - gate * theirs), second.iv.mpf(0)

    values = (Parameter(gate, VALUE) for gate in _GATES)
    parameters = declared(*values, Parameter("f_extra", Constant(extra)))
    asked = Hypothesis("the extra forget gates are 0", lambda p: -abs(p.f_extra - extra), strict=False)
    return Case(
        f"B.2 with {output}, usual LSTM with {usual}",
        "distance of h_v, exactly 0",
        ask,
        Inequality(balls, intervals, (asked,), parameters=parameters).check,
    )


BIASES = (-1, -10, -100)


def finite_case() -> Case:
    """With a real number as bias of the extra forget gate, its matrices 0: the same c."""

    def ask(_: Budget, __: int) -> Attempt:
        apart = {b: 1 / (1 + math.exp(-b)) for b in BIASES}
        candidates = tuple({"b": str(b), "c_extra": "1"} for b, gap in sorted(apart.items()) if gap > 0)
        return Attempt(f"b = {', '.join(map(str, BIASES))}, c_extra = 1", len(BIASES), candidates=candidates)

    check = Inequality(
        lambda p: (abs(_sigmoid(p.b) * p.c_extra), 0 * p.b),
        lambda p: (abs(second.logistic(p.b) * p.c_extra), second.iv.mpf(0)),
        parameters=declared(Parameter("b", VALUE), Parameter("c_extra", VALUE)),
    ).check
    return Case("bias of the extra forget gate a real number", "distance of c_v, exactly 0", ask, check)


def limit_case() -> Case:
    """As b → −∞: |c − c of the usual LSTM| = σ(b)|c_extra| ≤ e^b |c_extra|."""

    def ask(_: Budget, __: int) -> Attempt:
        (X,) = variables("X")
        # With X = e^b: σ(b) = X/(1 + X), and X − σ(b) = X²/(1 + X).
        gap = X * (1 + X) - X
        good = gap == X**2 and is_same_cell(0)
        text = "σ(b) = X/(1 + X) ≤ X = e^b, since X(1 + X) − X = X² ≥ 0; the rest of c is the same polynomial"
        return Attempt(text, 1, proof=text if good else "")

    check = Inequality(
        lambda p: (abs(_sigmoid(p.b) * p.c_extra), p.b.exp() * abs(p.c_extra)),
        lambda p: (abs(p.c_extra) / (1 + second.iv.exp(-p.b)), abs(p.c_extra) * second.iv.exp(p.b)),
        parameters=declared(Parameter("b", VALUE), Parameter("c_extra", VALUE)),
    ).check
    return Case("bias of the extra forget gate → −∞", "distance of c_v, at most e^b |c_u|", ask, check)


def every_state_case() -> Case:
    """The forget gate of the usual LSTM, σ(W_x x + W_h h(t − 1)), is one of B.2's if each of these reads every h_{u'},
    x among them.
    """
    identity = PolynomialIdentity(
        ("W_h", "W_x", "h", "x"),
        lambda v: [EVERY.first((v["W_h"], v["W_x"]), (v["h"], v["x"])) - v["W_x"] * v["x"] - v["W_h"] * v["h"]],
        lambda v: [EVERY.again((v["W_h"], v["W_x"]), (v["h"], v["x"])) - (v["h"] * v["W_h"] + v["x"] * v["W_x"])],
        f"{EVERY.text} over u' = h, x is W_h h + W_x x",
    )
    return identity.case(f"forget gates of {EVERY.text}", "the usual forget gate")


def own_and_input_case(index: Index | None = None) -> Case:
    """The forget gate of the usual LSTM is B.2's of u = h(t − 1) if this reads x and its own h_u, whatever the others
    read; as it reads no other h, a skip changes nothing. Another ``index`` is a planted falsehood.
    """
    gate = OWN_AND_INPUT if index is None else index
    identity = PolynomialIdentity(
        ("W_h", "W_k", "W_x", "h", "h_k", "x"),
        lambda v: [
            gate.first((v["W_h"], v["W_k"], v["W_x"]), (v["h"], v["h_k"], v["x"]))
            - v["W_x"] * v["x"]
            - v["W_h"] * v["h"]
        ],
        lambda v: [
            gate.again((v["W_h"], v["W_k"], v["W_x"]), (v["h"], v["h_k"], v["x"]))
            - (v["h"] * v["W_h"] + v["x"] * v["W_x"])
        ],
        f"{gate.text} over u' = h(t − 1), h(t − k), x is W_h h + W_x x",
    )
    return identity.case(f"forget gates of {gate.text}", "the usual forget gate")


def own_state_case() -> Case:
    """B.2's gate of u = h(t − 1) reads h_u alone as it is printed: it has the same value at two inputs x and x_2 where
    h(t − 1) is the same, whatever its matrices; so the usual gate must have, too. In a stack x is the layer below.
    """

    def ask(_: Budget, __: int) -> Attempt:
        points = sorted(itertools.product((0, 1), repeat=5), key=sum)
        names = ("W_x", "W_h", "h", "x", "x_2")
        wrong = [p for p in points if p[0] * p[3] + p[1] * p[2] != p[0] * p[4] + p[1] * p[2]]
        candidates = tuple(dict(zip(names, map(str, p), strict=True)) for p in wrong)
        return Attempt(f"{len(points)} points", len(points), candidates=candidates)

    check = Inequality(
        lambda p: (abs(_sigmoid(p.W_x * p.x + p.W_h * p.h) - _sigmoid(p.W_x * p.x_2 + p.W_h * p.h)), 0 * p.x),
        lambda p: (
            abs(second.logistic(p.h * p.W_h + p.x * p.W_x) - second.logistic(p.x_2 * p.W_x + p.h * p.W_h)),
            second.iv.mpf(0),
        ),
        parameters=declared(*(Parameter(name, VALUE) for name in ("W_x", "W_h", "h", "x", "x_2"))),
    ).check
    quantity = "the usual forget gate at x and x_2, the same h: distance 0"
    return Case(f"forget gates of {PRINTED.text}", quantity, ask, check)


def _sigmoid(a: Any) -> Any:
    """σ of a ball."""
    return 1 / (1 + (-a).exp())


TORCH_TOLERANCE = 1e-13
"""What GraphRNN and torch.nn.LSTM agree to in float64 (``tests/odernn``), with weights of torch's own size."""


@dataclass(frozen=True)
class Special:
    """A graph with more edges than that of torch.nn.LSTM with so many layers, and which of them carry cells."""

    graph: str
    layers: int
    carry: Carry
    forget_reads: ForgetReads


SPECIAL = (
    Special("skip-2", 1, "delayed", "own"),
    Special("skip-2", 1, "delayed", "all"),
    Special("bu", 2, "delayed", "all"),
    Special("td", 2, "delayed", "own"),
    Special("st", 2, "all", "all"),
    Special("4.5(4)-3", 2, "delayed", "own"),
)
"""Not here: own gates with carry="all", where the loop's forget gate does not read the layer below."""


def special_network(module: nn.LSTM, special: Special, bias: float) -> GraphRNN:
    """The network on the larger graph: torch's weights on its own edges, 0 on the others, whose gates have this bias.

    torch's rows are i, f, g, o.
    """
    size, graph = module.hidden_size, catalogue.get(special.graph)
    network = GraphRNN(
        graph,
        size,
        module.input_size,
        "multidimensional-lstm",
        carry=special.carry,
        forget_reads=special.forget_reads,
        dtype=torch.float64,
    )
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        for l in range(1, special.layers + 1):
            node = f"h{l}"
            below = f"h{l - 1}" if l > 1 else "in"
            gates = ("input", f"forget {node}:1", "cell", "output")
            for edge, kind in ((Edge(node, node, 1), "hh"), (Edge(below, node, 0), "ih")):
                rows = _rows_of(network, edge)
                theirs = getattr(module, f"weight_{kind}_l{l - 1}").chunk(4)
                for gate, values in zip(gates, theirs, strict=True):
                    if gate in rows:
                        network.weight[edge_name(edge)][rows[gate]] = values
            both = getattr(module, f"bias_ih_l{l - 1}") + getattr(module, f"bias_hh_l{l - 1}")
            network.bias[node].fill_(bias)
            for gate, values in zip(gates, both.chunk(4), strict=True):
                network.bias[node][network.gates(node)[gate]] = values
    return network


def _rows_of(network: GraphRNN, edge: Edge) -> dict[str, slice]:
    """The rows of each gate in the matrix of an edge: one that feeds its own forget gate alone has none for others."""
    rows = network.gates(edge.head)
    if edge not in network.wiring.carried[edge.head] or len(network.weight[edge_name(edge)]) == len(
        network.bias[edge.head]
    ):
        return rows
    size = network.sizes[edge.head]
    fed = ("cell", "input", "output", f"forget {edge.tail}:{edge.sigma}")
    return {gate: slice(k * size, (k + 1) * size) for k, gate in enumerate(fed)}


def torch_case(special: Special, bias: float = -math.inf) -> Case:
    """GraphRNN on the larger graph, the extra gates' bias −∞ and their matrices 0, is torch.nn.LSTM."""

    def ask(budget: Budget, seed: int) -> Attempt:
        worst = 0.0
        for number in range(SEEDS[budget.name]):
            with torch.random.fork_rng(devices=()), torch.no_grad():
                torch.manual_seed((seed * 10_007 + number) % 2**63)
                module = nn.LSTM(INPUTS, UNITS, special.layers, dtype=torch.float64)
                x = torch.randn(STEPS, 2, INPUTS, dtype=torch.float64)
                outputs, _ = special_network(module, special, bias)(x)
                expected, _ = module(x)
            worst = max(worst, float((outputs - expected).abs().max()))
        count = SEEDS[budget.name] * STEPS * 2 * UNITS
        return Attempt(
            f"{count} outputs in float64",
            count,
            log_measured=math.log(max(worst, 5e-324)),
            log_claimed=math.log(TORCH_TOLERANCE),
            found=f"apart by at most {worst:.2g}",
            claimed=f"at most {TORCH_TOLERANCE:g}",
        )

    options = f"carry {special.carry}, a forget gate reads {special.forget_reads}"
    domain = f"float64, GraphRNN on {special.graph}, {options}"
    return Case(domain, f"outputs against torch.nn.LSTM, L = {special.layers}", ask)


# --- B.2: f_u = σ(Σ_{u' ∈ In(v)} W_{f_u}(u') h_u)

Gate: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Any]


@dataclass(frozen=True)
class Index:
    """A reading of the sum: the pre-activation of the gate of the first u from W and h by node, typed twice."""

    text: str
    first: Gate
    again: Gate


PRINTED = Index("Σ_{u'} W(u') h_u", lambda W, h: sum(w * h[0] for w in W), lambda W, h: (W[0] + sum(W[1:])) * h[0])
EVERY = Index(
    "Σ_{u'} W(u') h_{u'}",
    lambda W, h: sum(w * each for w, each in zip(W, h, strict=True)),
    lambda W, h: W[0] * h[0] + sum(W[k] * h[k] for k in range(1, len(W))),
)
OWN_AND_INPUT = Index(
    "W(u) h_u + W(x) x", lambda W, h: W[0] * h[0] + W[-1] * h[-1], lambda W, h: h[-1] * W[-1] + h[0] * W[0]
)
"""With it the counts of Section 4.4 agree, but it is neither printed nor described: the input and the own edge."""
OWN = Index("M h_u, M = Σ_{u'} W(u')", lambda W, h: sum(W) * h[0], lambda W, h: h[0] * (sum(W[1:]) + W[0]))


def same_gate_case(one: Index, other: Index) -> Case:
    """Both readings are the same gate, for all W and h."""

    def ask(_: Budget, __: int) -> Attempt:
        equal = True
        for count in range(2, MOST_EDGES + 1):
            symbols = variables(*(f"{letter}{k}" for letter in "Wh" for k in range(count)))
            W, h = symbols[:count], symbols[count:]
            equal &= one.first(W, h) - other.first(W, h) == 0
        if equal:
            proof = f"{one.text} = {other.text} as polynomials in W and h, for 2 to {MOST_EDGES} nodes u'"
            return Attempt(proof, MOST_EDGES - 1, proof=proof)
        points = sorted(itertools.product((0, 1), repeat=4), key=sum)
        wrong = [p for p in points if one.first(p[:2], p[2:]) != other.first(p[:2], p[2:])]
        candidates = tuple({"W": f"{a} {b}", "h": f"{c} {d}"} for a, b, c, d in wrong)
        return Attempt(f"{len(points)} points", len(points), found=f"{len(wrong)} differ", candidates=candidates)

    def balls(p: Any) -> tuple[Any, Any]:
        gates = [_sigmoid(gate.first(p.W, p.h)) for gate in (one, other)]
        return abs(gates[0] - gates[1]), 0 * gates[0]

    def intervals(p: Any) -> tuple[Any, Any]:
        return abs(second.logistic(one.again(p.W, p.h)) - second.logistic(other.again(p.W, p.h))), second.iv.mpf(0)

    parameters = declared(
        Parameter("W", Listed(VALUE, (2, MOST_EDGES))), Parameter("h", Listed(VALUE, lambda values: len(values["W"])))
    )
    check = Inequality(balls, intervals, lists=("W", "h"), parameters=parameters).check
    return Case("one edge from each u' to v", f"f_u: {one.text} against {other.text}", ask, check)


def parallel_case() -> Case:
    """Edges (h, h, 1) and (h, h, 2): h_u of f_u is h(t − 1) or h(t − 2), the same gate."""

    def ask(_: Budget, __: int) -> Attempt:
        points = sorted(itertools.product((0, 1), repeat=3), key=sum)
        candidates = tuple(
            {"W": str(w), "h(t-1)": str(one), "h(t-2)": str(two)} for w, one, two in points if w * one != w * two
        )
        return Attempt(f"{len(points)} points", len(points), candidates=candidates)

    check = Inequality(
        lambda p: (_gap_of_gates(vars(p)), 0 * p.W),
        lambda p: (
            abs(second.logistic(vars(p)["h(t-1)"] * p.W) - second.logistic(vars(p)["h(t-2)"] * p.W)),
            second.iv.mpf(0),
        ),
        parameters=declared(*(Parameter(name, VALUE) for name in ("W", "h(t-1)", "h(t-2)"))),
    ).check
    return Case("edges h->h:1 and h->h:2, as of Section 4.4", "f_u determined by u", ask, check)


def _gap_of_gates(p: Mapping[str, Any]) -> Any:
    gates = [_sigmoid(p["W"] * p[key]) for key in ("h(t-1)", "h(t-2)")]
    return abs(gates[0] - gates[1])


def _place(place: str) -> Source:
    return Source("complexity", place)


CLAIMS = (
    Claim(
        id="cplx-B.2a",
        source=_place("App. B.2"),
        statement="the usual LSTM is that of B.2 with all other forget gates 0 (biases → −∞) and all other matrices "
        "0; c_v = i z + Σ f_u c_u, h_v = o c_v",
        semantics="alg",
        cases=(
            contains_case("h = o c", "h = o tanh(c)"),
            contains_case("h = o c", "h = o c"),
            contains_case("h = o tanh(c)", "h = o tanh(c)"),
            finite_case(),
            limit_case(),
            own_state_case(),
            every_state_case(),
            *(torch_case(special) for special in SPECIAL),
            own_and_input_case(),
        ),
    ),
    Claim(
        id="cplx-B.2b",
        source=_place("App. B.2, Sec. 4.4"),
        statement="f_u = σ(Σ_{u' ∈ In(v)} W_{f_u}(u') h_u): the sum is that over h_{u'}, or a matrix of its own for "
        "h_u; u determines the gate; and the numbers of parameters of Section 4.4 are roughly the same",
        semantics="reading",
        cases=(
            same_gate_case(PRINTED, EVERY),
            same_gate_case(PRINTED, OWN),
            parallel_case(),
            *(
                equal_case(sizes, "LSTM, own edge", reading, ROUGHLY_THE_SAME)
                for sizes in LSTM_PAIRS
                for reading in ("LSTM, printed index", "LSTM, printed index, sums", "LSTM, every edge")
            ),
        ),
    ),
)
