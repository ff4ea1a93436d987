# Claims: sam-54 · icml-(27) · both-68
"""Bounds on dX^L_n/dX^l_k in the maximum norm (sam (54), icml S(27)) and the product of three norms (sam (68)).

The networks named here rest: zero bias and input from zero states, so that A = 0, σ' = 1 and y = 0 at every step. With
c = 0 the step is h = dt/2, and with w = −α an undisturbed neuron has κ = 0: everything is rational.

Uniform in dt, for W = −(α + w) > 0 and T = (n − k) dt fixed (thm-J(c)): ‖B^{n−k}‖_∞ is at least the spectral radius
e^{(n−k)ρ}, ρ = 2 asinh x, x = h√W/2, and (n − k)ρ = σ̂T √W asinh(x)/x grows as dt falls.
With κ = 0 in two layers |∂z^2_n/∂y^1_k| = h|V|(n − k + 1) ≥ σ̂|V|T exactly, where (54) and S(27) have a factor dt.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint

from odernn.published.networks import ROWS, PublishedRow
from odernn.published.sources import Source
from verification.cases import initialised
from verification.cases.identity import PathIdentity
from verification.cases.inequality import ALPHA_POSITIVE, BITS, STEP_BELOW_ONE, Inequality
from verification.cases.nominate import first_violation, growth_exponent_in_balls, growth_exponent_in_intervals, joined
from verification.cases.one_step_norms import exponential_case
from verification.certify.neuron_chain import LISTS, NeuronChain
from verification.certify.second import exact_network as exact_network_again
from verification.certify.second import intervals as second
from verification.certify.second.neuron_chain import Adjoints
from verification.claim import Attempt, Case, Check, Claim, Hypothesis, Opinion, Parameters
from verification.domains import INITIALISED, Budget, printed_name
from verification.exact_text import numbers, rational, rationals
from verification.kinds import Constant, Integer, Kind, Listed, Rational, Rows, Values
from verification.measure import exact_network
from verification.measure.exact_network import HeldInput, Shape
from verification.measure.polynomials import coefficient
from verification.parameters import Declaration, Parameter, Rule, declared

MOST_STEPS = 4000
CHAIN_PREMISES = (
    STEP_BELOW_ONE,
    Hypothesis("N ≥ 1, a whole number", lambda p: p.N if p.N.denominator == 1 else Fraction(0)),
    Hypothesis("1 ≤ l ≤ L, whole", lambda p: Fraction(p.layer.denominator == 1 and 1 <= p.layer <= len(p.w))),
)
_PREMISES = (
    *CHAIN_PREMISES,
    Hypothesis("α ≥ 0", lambda p: p.alpha, strict=False),
    Hypothesis("1 ≤ k < n, whole", lambda p: Fraction(p.k.denominator == 1 and 1 <= p.k < p.N)),
)


@dataclass(frozen=True)
class JacobianForm:
    """dt^{L−l} Π_{q>l}|V_q| g((n−k)dt), or its last form V̄ dt^{L−l} g(t_n); one neuron a layer.

    growth   "exponential": g(t) = e^{w̄t}, w̄ = max(2, |w_L| + α) (54); "linear": 1 + 2γt, γ = w̄ + w̄²/2, S(27)
    power    taken off the exponent of dt
    factor   of the whole
    """

    growth: str
    is_last: bool = False
    power: int = 0
    factor: Fraction = Fraction(1)

    def ball(self, p: Any) -> Any:
        layer, N = round(float(p.layer)), round(float(p.N))
        K = (abs(p.w[-1]) + p.alpha).max(2)
        time = p.dt * (N if self.is_last else N - round(float(p.k)))
        right = (K * time).exp() if self.growth == "exponential" else 1 + (2 * K + K * K) * time
        right = right * p.dt ** (len(p.w) - layer - self.power) * coefficient(self.factor)
        for V in p.V if self.is_last else p.V[layer:]:
            right = right * (abs(V).max(1) if self.is_last else abs(V))
        return right

    def interval(self, p: Any) -> Any:
        n, k, climbs = int(p.texts["N"]), int(p.texts["k"]), len(p.w) - int(p.texts["layer"])
        size = abs(p.w[-1]) + p.alpha
        K = second.iv.mpf([max(size.a, 2), max(size.b, 2)])
        t = n * p.dt if self.is_last else (n - k) * p.dt
        bound = second.iv.exp(t * K) if self.growth == "exponential" else K * (K + 2) * t + 1
        for j, V in enumerate(p.V):
            if self.is_last:
                bound = bound * second.iv.mpf([max(abs(V).a, 1), max(abs(V).b, 1)])
            elif j >= len(p.V) - climbs:
                bound = bound * abs(V)
        return bound * p.dt ** (climbs - self.power) * self.factor.numerator / self.factor.denominator


def jacobian_parameters(
    where: str, layers_of: range = range(1, 4), fixed: Mapping[str, Kind] | None = None
) -> Declaration:
    """A chain and the place of dX^L_N/dX^l_k: "l = L", "l < L", or "l < L" with equal w."""
    known: Mapping[str, Kind] = fixed or {}

    def place(values: Values) -> bool:
        is_top = values["layer"] == len(values["w"])
        return is_top == (where == "l = L") and ("equal" not in where or len(set(values["w"])) == 1)

    def one_or_all(values: Values) -> tuple[int, ...]:
        return (1, values["N"])

    return declared(
        Parameter("alpha", known.get("alpha", Rational(least=0))),
        Parameter("dt", known.get("dt", Rational(above=0, below=1))),
        Parameter("N", known.get("N", Integer(2, MOST_STEPS))),
        Parameter("k", Integer(1, lambda values: int(values["N"]) - 1)),
        Parameter("w", (HeldInput if "equal" in where else Rows)(Rational(), 1, lambda _: layers_of)),
        Parameter("layer", Integer(1, lambda values: len(values["w"]) - (where != "l = L"))),
        *(Parameter(name, Listed(Rational(), lambda values: len(values["w"]))) for name in ("V", "b")),
        *(Parameter(name, Rows(Rational(), 1, one_or_all)) for name in ("u", "target")),
        rules=(
            Rule(f"n · L ≤ {MOST_STEPS}", lambda values: values["N"] * len(values["w"]) <= MOST_STEPS),
            Rule(f"the network and its layer l are of the case {where}", place),
        ),
    )


def finite(norms: JacobianForm, parameters: Declaration | None = None) -> Inequality:
    """‖dX^L_N/dX^l_k‖_∞ by the recursion itself."""
    return Inequality(
        lambda p: (NeuronChain(p).jacobian_norm(round(float(p.layer)), round(float(p.k))), norms.ball(p)),
        lambda p: (Adjoints(p).jacobian_norm(int(p.texts["layer"]), int(p.texts["k"])), norms.interval(p)),
        _PREMISES,
        lists=LISTS,
        parameters=parameters,
    )


def _at_rest(alpha: Fraction, dt: Fraction, lag: int, w: list[Fraction]) -> Parameters:
    """From step k = 1 of layer 1 to step n = 1 + lag of the top one; V = 1 between layers, no input."""
    return {
        "alpha": rational(alpha),
        "dt": rational(dt),
        "N": str(1 + lag),
        "k": "1",
        "layer": "1",
        "w": " ".join(map(rational, w)),
        "V": " ".join(["0", *["1"] * (len(w) - 1)]),
        "b": " ".join("0" for _ in w),
        "u": "0",
        "target": "0",
    }


_STEPS = tuple(Fraction(1, n) for n in (2, 4, 10, 20, 50, 100))


def _calm() -> Iterator[Parameters]:
    """Two and three layers with w = −α = −1 everywhere, T = (n − k) dt = 1."""
    for depth, dt in itertools.product((2, 3), _STEPS):
        yield _at_rest(Fraction(1), dt, int(1 / dt), [Fraction(-1)] * depth)


def _stiff_below() -> Iterator[Parameters]:
    """Two layers at dt = 1/10, T = 1, the lower with larger and larger |w|."""
    for size in (10, 100, 1000, 10**4, 10**5):
        yield _at_rest(Fraction(1), Fraction(1, 10), 10, [Fraction(-size), Fraction(-1)])


def _hyperbolic() -> Iterator[Parameters]:
    for horizon, W, dt in itertools.product((1, 5, 10, 20, 40), (1, 4, 16), (Fraction(1, 4), Fraction(1, 20))):
        yield _at_rest(Fraction(1), dt, int(horizon / dt), [Fraction(-1 - W)])


_SWITCHED = ((4, -3, 10), (1, 8, 4), (4, 12, 10))
"""(α, w, 1/dt) of products that a periodic input makes grow."""
_HARD = 6
"""|A| of a saturated step: σ′ = 2.5e-5."""


def _resonant() -> Iterator[Parameters]:
    """One neuron under the fastest word in B(α + w), B(α) that the search knows, for T = 5 and 10.   thm-J (b)

    x_n = −w y_{n−1} makes pre-activation 0, in thousandths; a saturated step pushes back.
    """
    from verification.adversary import words

    for alpha, w, fineness in _SWITCHED:
        h = 0.5 / fineness
        word = words.search(alpha + min(w, 0), alpha + max(w, 0), h)
        is_driven = [(letter == 0) == (w < 0) for letter in word.letters]
        for horizon in (5, 10):
            y = z = 0.0
            u: list[Fraction] = []
            for n in range(horizon * fineness):
                pushed = _HARD if y >= 0 else -_HARD
                u.append(Fraction(round(1000 * (-w * y + (0 if is_driven[n % len(is_driven)] else pushed))), 1000))
                z -= h * (math.tanh(w * y + float(u[-1])) + alpha * y)
                y += h * z
            at = _at_rest(Fraction(alpha), Fraction(1, fineness), len(u) - 1, [Fraction(w)])
            yield {**at, "V": "1", "u": rationals(u)}


# --- dt → 0


def _same_layer(norms: JacobianForm) -> Inequality:
    """e^{R₀} on the left."""

    def balls(p: Any) -> tuple[Any, Any]:
        lag = round(float(p.N)) - round(float(p.k))
        return growth_exponent_in_balls(-p.alpha - p.w[-1], p.dt / 2, lag * p.dt / 2).exp(), norms.ball(p)

    def intervals(p: Any) -> tuple[Any, Any]:
        tau = p.dt / 2 * (int(p.texts["N"]) - int(p.texts["k"]))
        return second.iv.exp(growth_exponent_in_intervals(-(p.w[-1] + p.alpha), p.dt / 2, tau)), norms.interval(p)

    conditions = (
        Hypothesis("w < −α", lambda p: -p.alpha - p.w[-1]),
        Hypothesis("l = L", lambda p: Fraction(p.layer == len(p.w))),
        Hypothesis("at rest: u = b = 0", lambda p: Fraction(not any(p.u) and not any(p.b))),
    )
    return Inequality(balls, intervals, conditions, lists=LISTS)


def _one_layer_up(norms: JacobianForm) -> Inequality:
    """σ̂|V|T on the left, T = (n − k) dt."""

    def balls(p: Any) -> tuple[Any, Any]:
        lag = round(float(p.N)) - round(float(p.k))
        return abs(p.V[1]) * lag * p.dt / 2, norms.ball(p)

    def intervals(p: Any) -> tuple[Any, Any]:
        return (int(p.texts["N"]) - int(p.texts["k"])) * p.dt * abs(p.V[1]) / 2, norms.interval(p)

    conditions = (
        Hypothesis("L = 2, l = 1", lambda p: Fraction(len(p.w) == 2 and p.layer == 1)),
        Hypothesis("w = −α, so that κ = 0", lambda p: Fraction(all(w == -p.alpha for w in p.w))),
        Hypothesis("at rest: u = b = 0", lambda p: Fraction(not any(p.u) and not any(p.b))),
    )
    return Inequality(balls, intervals, conditions, lists=LISTS)


def _limit_case(domain: str, quantity: str, norms: JacobianForm) -> Case:
    def by_rate(_: Parameters) -> str:
        return "thm-J (c): with w < −α at rest the norm is at least e^{R₀} for every dt' ≤ dt at the same (n − k) dt'"

    def by_count(_: Parameters) -> str:
        return "thm-ML: with κ = 0 exactly |∂z²_n/∂y¹_k| = h|V|(n−k+1) ≥ |V|T/2; the right side falls like dt"

    same = "= L" in domain
    uniform, text = (_same_layer(norms), by_rate) if same else (_one_layer_up(norms), by_count)
    points = _hyperbolic if same else lambda: (p for p in _calm() if len(numbers(p, "w")) == 2)

    def ask(_: Budget, __: int) -> Attempt:
        return first_violation((finite(norms), uniform), points(), "networks at rest, α = 1, c = 0, T = 1 to 40")

    depth = 1 if same else 2
    positive: dict[str, Kind] = {"alpha": Rational(above=0)}
    parameters = jacobian_parameters("l = L" if same else "l < L", range(depth, depth + 1), positive)
    return Case(domain, quantity, ask, parameters.guards(joined(finite(norms), uniform, text)), reading="limit")


# --- sam (54)


def free_case(domain: str, quantity: str, norms: JacobianForm) -> Case:
    """Networks at rest: "w^l free" takes the lower layer stiff, else all w are equal."""
    points = _stiff_below if "w^l" in domain else _calm
    parameters = jacobian_parameters(domain, range(2, 4))

    def ask(_: Budget, __: int) -> Attempt:
        return first_violation((finite(norms),), points(), "networks at rest with c = 0, T = 1")

    return Case(domain, quantity, ask, finite(norms, parameters).check)


def same_layer_case(factor: Fraction = Fraction(1)) -> Case:
    """l = L: one step by (52), which a machine proves; norms multiply and e^{w̄dt} multiplies exactly."""
    norms = JacobianForm("exponential", factor=factor)
    short = _at_rest(Fraction(1), Fraction(1, 10), 1, [Fraction(-1)])

    def ask(budget: Budget, seed: int) -> Attempt:
        step = exponential_case().ask(budget, seed)
        points = (*_hyperbolic(), *_resonant(), short)
        seen = first_violation((finite(norms),), points, "c = 0: networks at rest, T = 1/10 to 40, and driven by words")
        proof = f"n − k factors, each: {step.proof}" if step.proof and factor >= 1 and not seen.candidates else ""
        return Attempt(
            proof or seen.tried,
            seen.evaluations + step.evaluations,
            seen.log_measured,
            seen.log_claimed,
            candidates=seen.candidates,
            proof=proof,
        )

    return Case("l = L", "‖dX^L_n/dX^L_k‖_∞", ask, finite(norms, jacobian_parameters("l = L")).check)


# --- icml S(27) at the printed rows


def row_case(row: PublishedRow, norms: JacobianForm) -> Case:
    """l = L: dt, α, N of the row; the adversary chooses w^L < −α."""

    def points() -> Iterator[Parameters]:
        for W, lag in itertools.product((1, 4, 16, 64), (50, 200, 400, 783, 3999)):
            if lag < row.steps:
                yield _at_rest(row.alpha, row.dt[-1], lag, [-row.alpha - W])

    def ask(_: Budget, __: int) -> Attempt:
        if not row.alpha > 0:
            return Attempt("", 0, inapplicable=f"α = {row.alpha}, but the statement is about α > 0")
        tried = f"top layer at rest, w = −α − 1 to −α − 64, n < {row.steps}"
        return first_violation((finite(norms),), points(), tried)

    fixed: dict[str, Kind] = {"alpha": Constant(row.alpha), "dt": Constant(row.dt[-1])}
    fixed["N"] = Integer(2, min(row.steps, MOST_STEPS))
    parameters = jacobian_parameters("l = L", range(1, row.num_layers + 1), fixed)
    check = parameters.guards(finite(norms).check)
    return Case(printed_name(row), "‖dX^L_n/dX^L_k‖_∞", ask, check if row.alpha > 0 else None, reading="printed")


# --- sam (68), icml S(41)


def _top_layer_case() -> Case:
    """dX^L_n/dX^L_k couples no two neurons: entries of different neurons are the polynomial 0 in all symbols."""

    def between(neurons: int) -> list[tuple[int, int]]:
        return [(i, j) for i, j in itertools.product(range(2 * neurons), repeat=2) if i // 2 != j // 2]

    def first(network: exact_network.Layered) -> list[Any]:
        L, n = network.layers, network.steps
        totals = [network.total(L, n, L, k) for k in range(1, n + 1)]
        return [total[i][j] for total in totals for i, j in between(network.neurons)]

    def again(network: exact_network_again.IntervalNetwork) -> list[Any]:
        totals = (network.total(network.L, network.N, network.L, k) for k in range(network.N, 0, -1))
        return [total[i][j] for total in totals for i, j in between(network.m)]

    identity = PathIdentity("icml", first, again, "entries of dX^L_n/dX^L_k between different neurons against 0")
    case = identity.case("l = L", "|∂E_{k,l}/∂θ|", (Shape(1, 2, 3), Shape(2, 2, 3), Shape(2, 3, 2)))
    conclusion = "each step is block diagonal, and θ of layer L moves neuron i alone: |e_i (row · x)| ≤ |e_i| ‖row‖_1 "
    conclusion += "‖x‖_∞, row of y^i, for all numbers"

    def ask(budget: Budget, seed: int) -> Attempt:
        attempt = case.ask(budget, seed)
        return replace(attempt, proof=f"{attempt.proof}; {conclusion}") if attempt.proof else attempt

    return replace(case, ask=ask)


def _product_parameters(neurons: int) -> Parameters:
    """All layers at rest, κ = 0; neuron 1 of layer 1 feeds every neuron of layer 2, all with the same target."""
    steps = 12
    V = ["0"] * neurons**2 + ["1" if j % neurons == 0 else "0" for j in range(neurons**2)]
    shape = Shape(2, neurons, steps)
    network = exact_network.small_network(shape, alpha="1", dt="9/10", w="-1", V=" ".join(V))
    return {**network, "target": " ".join(["1"] * neurons), "k": "1"}


def _three_norms_in_balls(parameters: Parameters, factor: Fraction) -> tuple[Any, Any]:
    k, target = int(numbers(parameters, "k")[0]), [coefficient(t) for t in numbers(parameters, "target")]
    network, states = exact_network.typed(parameters, "icml")
    n, L, m = network.steps, network.layers, network.neurons
    error = [flint.arb(y) - t for y, t in zip(states[n][L - 1][0], target, strict=True)]
    jacobian = network.total(L, n, 1, k)
    h = network.weights.h[0][0]
    kick = -h * network.slopes[k][0][0]
    x = [h * kick, kick]
    left = abs(sum((e * (jacobian[2 * i][0] * x[0] + jacobian[2 * i][1] * x[1]) for i, e in enumerate(error)), 0 * h))
    norms = [_largest(error), flint.arb(0), _largest(x)]
    for row in jacobian:
        norms[1] = norms[1].max(sum((abs(flint.arb(entry)) for entry in row), flint.arb(0)))
    assert len(error) == m
    return left, norms[0] * norms[1] * norms[2] * coefficient(factor)


def _largest(values: Sequence[Any]) -> Any:
    """The largest modulus of balls."""
    return functools.reduce(lambda largest, value: largest.max(abs(value)), values, flint.arb(0))


def _three_norms_in_intervals(parameters: Parameters, factor: Fraction) -> tuple[Any, Any]:
    iv = exact_network_again.iv
    network = exact_network_again.IntervalNetwork(dict(parameters), False)
    k, target = int(parameters["k"]), exact_network_again.exact(parameters["target"])
    jacobian = network.total(network.L, network.N, 1, k)
    rate = network.h[1][0] * network.s[k][1][0]
    moved = [-network.h[1][0] * rate, -rate]
    errors = [y - t for y, t in zip(network.y[network.N][network.L], target, strict=True)]
    left = sum(
        (errors[i] * (jacobian[2 * i][0] * moved[0] + jacobian[2 * i][1] * moved[1]) for i in range(network.m)),
        iv.mpf(0),
    )
    sizes = (
        max(abs(e).b for e in errors),
        max(sum((abs(entry) for entry in row), iv.mpf(0)).b for row in jacobian),
        max(abs(v).b for v in moved),
    )
    right = iv.mpf(sizes[0]) * sizes[1] * sizes[2] * factor.numerator / factor.denominator
    return abs(left), right


THREE_NORMS = exact_network.declared_network(
    [Shape(2, 1, 12), Shape(2, 4, 12)],
    Parameter("target", Listed(Rational(), "neurons")),
    Parameter("k", Integer(1, 12)),
    rules=(Rule("1 ≤ k ≤ n", lambda values: values["k"] < len(values["u"])),),
)


def three_norms_check(parameters: Parameters, factor: Fraction = Fraction(1)) -> Check:
    """θ = b^1 of neuron 1 at step k: the signed sum over the outputs against the product of the three norms."""
    with flint.ctx.workprec(BITS):
        left, right = _three_norms_in_balls(parameters, factor)
        text = f"{left.str(8, radius=False)} against {right.str(8, radius=False)}"
        first = Opinion("balls", bool(left > right), text)
        logs = tuple(float(side.log().mid()) if side > 0 else None for side in (left, right))
    with second.iv.workprec(BITS):
        again = _three_norms_in_intervals(parameters, factor)
        shown = f"left at least {float(again[0].a.mid):.8g}, right at most {float(again[1].b.mid):.8g}"
        other = Opinion("mpmath", bool(again[0].a > again[1].b), shown)
    m, N = parameters["neurons"], len(numbers(parameters, "u")) // int(parameters["neurons"]) - 1
    return Check(
        opinions=(first, other),
        words=f"L = 2, m = {m}, α = {parameters['alpha']}, w = {_plain(parameters['w'])}, dt = {parameters['dt']}, "
        f"n = {N}, k = {parameters['k']}, θ = b^1 of neuron 1: the sum over the {m} outputs is {text}",
        log_measured=logs[0] if None not in logs else None,
        log_claimed=logs[1] if None not in logs else None,
    )


def _plain(text: str) -> str:
    """A list whose entries are all the same number as that number."""
    entries = set(text.split())
    return (entries.pop() if len(entries) == 1 else text).replace("-", "−")


def lower_layer_case(factor: Fraction = Fraction(1)) -> Case:
    """l < L: m outputs that move alike."""

    def ask(_: Budget, __: int) -> Attempt:
        sides: tuple[float, float] | None = None
        for count, neurons in enumerate((1, 2, 3, 4), 1):
            parameters = _product_parameters(neurons)
            check = three_norms_check(parameters, factor)
            assert check.log_measured is not None and check.log_claimed is not None
            sides = check.log_measured, check.log_claimed
            if sides[0] > sides[1]:
                return Attempt("m equal outputs", count, *sides, candidates=(parameters,))
        assert sides is not None
        return Attempt("m equal outputs fed by one neuron at rest, m = 1 to 4", 4, *sides)

    return Case("l < L", "|∂E_{k,l}/∂θ|", ask, THREE_NORMS.guards(lambda given: three_norms_check(given, factor)))


_DRAWN_PREMISES = (ALPHA_POSITIVE, STEP_BELOW_ONE)
_FIRST, _LAST = "‖dX^L_n/dX^l_k‖_∞, with (n−k)dt", "‖dX^L_n/dX^l_k‖_∞, with V̄ and t_n"

CLAIMS = (
    Claim(
        id="sam-54",
        source=Source("sam", "(54)"),
        statement="‖dX^L_n/dX^l_k‖_∞ ≤ dt^{L−l} Π_{q>l}‖V^q‖_∞ e^{(n−k)w̄^L dt} ≤ V̄ dt^{L−l} e^{w̄^L T}, "
        "w̄^L = max(2, ‖w^L‖_∞ + α), total derivatives (printed dX^L_n/dX^L_k); dt < 1",
        semantics="real",
        cases=(
            same_layer_case(),
            free_case("l < L, all w equal", _FIRST, JacobianForm("exponential")),
            free_case("l < L, all w equal", _LAST, JacobianForm("exponential", is_last=True)),
            free_case("l < L, w^l free", _FIRST, JacobianForm("exponential")),
            free_case("l < L, w^l free", _LAST, JacobianForm("exponential", is_last=True)),
            *(
                initialised.every_network_case(row, INITIALISED, initialised.drawn_box(row), _DRAWN_PREMISES)
                for row in ROWS
                if row.name == "RR"
            ),
        ),
    ),
    Claim(
        id="icml-(27)",
        source=Source("icml", "S(27)"),
        statement="‖dX^L_n/dX^l_k‖_∞ ≤ dt^{L−l} Π_{q>l}‖V^q‖_∞ (1 + 2γ(n−k)dt), for dt ≪ 1, ≤ V̄ dt^{L−l} (1 + 2γt_n), "
        "γ = K + K²/2, K = max(2, ‖w^L‖_∞ + α), α > 0",
        semantics="real",
        cases=(
            _limit_case("l = L", _FIRST, JacobianForm("linear")),
            _limit_case("l = L", _LAST, JacobianForm("linear", is_last=True)),
            _limit_case("l < L", _FIRST, JacobianForm("linear")),
            _limit_case("l < L", _LAST, JacobianForm("linear", is_last=True)),
            *(row_case(row, JacobianForm("linear")) for row in ROWS),
            *(
                case
                for row in ROWS
                if row.alpha > 0
                for case in initialised.product_cases(row, _FIRST, functools.partial(finite, JacobianForm("linear")))
            ),
        ),
    ),
    Claim(
        id="both-68",
        source=Source("sam", "(68); icml S(41)"),
        statement="|∂E^{(n,L)}_{k,l}/∂θ| ≤ ‖dE_n/dX^L_n‖_∞ ‖dX^L_n/dX^l_k‖_∞ ‖∂⁺X^l_k/∂θ‖_∞, the maximum norm for the "
        "row and column vectors",
        semantics="real",
        cases=(_top_layer_case(), lower_layer_case()),
    ),
)
