"""An L-layer UnICORNN over any commutative ring: rationals, balls, or polynomials in the symbols of the network.

Layers are 1..L, steps 1..N, coordinates of a layer (y¹, z¹, …, yᵐ, zᵐ). ``indices`` says which input a layer sees at
step n: V y^{l−1}_n ("icml") or V y^{l−1}_{n−1} ("sam"); definitions 1.2-1.4, 1.8.

``Weights`` and ``forward``, ``printed_inverse`` move states, with σ as an argument: ``Opaque`` treats it as an unknown
function, so that an identity proved with it holds for every activation. ``Layered`` moves derivatives, with the numbers
σ'(A^l_{n−1}) as data: independent symbols in a proof, enclosures of 1 − tanh² in a check.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from flint import Ordering, arb, ctx, fmpq, fmpq_mpoly_ctx

from verification.claim import ClaimError, Parameters
from verification.exact_text import number, numbers
from verification.kinds import Constant, Integer, Listed, Rational, Rows, in_blocks, in_rows
from verification.measure.ring_matrices import Matrix, entries, minus, product, symplectic_unit, transpose
from verification.parameters import Declaration, Parameter, Rule, declared

Indices: TypeAlias = Literal["icml", "sam"]
State: TypeAlias = list[tuple[list[Any], list[Any]]]
"""(y, z) of the layers 1..L, in this order."""

BITS = 192


def is_certainly_nonzero(entry: Any) -> bool:
    """Proved to differ from 0: by comparison where exact, by exclusion of 0 for a ball."""
    return not entry.contains(0) if isinstance(entry, arb) else bool(entry != 0)


# --- states


@dataclass(frozen=True)
class Weights:
    """h[l][i], w[l][i], b[l][i], V[l][i][r] with l from 0 here; skip edges Λ[l][i][r] from layer l − S − 1, or None."""

    indices: Indices
    alpha: Any
    h: Sequence[Sequence[Any]]
    w: Sequence[Sequence[Any]]
    b: Sequence[Sequence[Any]]
    V: Sequence[Sequence[Sequence[Any]]]
    skip: int = 0
    Lambda: Sequence[Sequence[Sequence[Any]] | None] = ()

    @property
    def layers(self) -> int:
        return len(self.w)

    @property
    def neurons(self) -> int:
        return len(self.w[0])

    def drive(self, l: int, i: int, levels: Sequence[Sequence[Any]]) -> Any:
        """(V^l y^{l−1} + Λ^l y^{l−S−1} + b^l)_i with levels = (u, y¹, …, y^L); l from 0."""
        total = self.b[l][i] + sum((v * y for v, y in zip(self.V[l][i], levels[l], strict=True)), 0)
        rows = self.Lambda[l] if self.Lambda else None
        if rows is not None:
            total = total + sum((v * y for v, y in zip(rows[i], levels[l - self.skip], strict=True)), 0)
        return total


def forward(
    weights: Weights, before: State, u_before: Sequence[Any], u: Sequence[Any], sigma: Callable[[Any], Any]
) -> tuple[State, list[list[Any]]]:
    """One step of (6) resp. (31), and the arguments A^l_{n−1} of σ."""
    levels_before = [list(u_before), *(y for y, _ in before)]
    levels: list[list[Any]] = [list(u)]
    after: State = []
    arguments = []
    for l, (y, z) in enumerate(before):
        seen = levels if weights.indices == "icml" else levels_before
        A = [weights.w[l][i] * y[i] + weights.drive(l, i, seen) for i in range(weights.neurons)]
        h = weights.h[l]
        z_after = [z[i] - h[i] * (sigma(A[i]) + weights.alpha * y[i]) for i in range(weights.neurons)]
        y_after = [y[i] + h[i] * z_after[i] for i in range(weights.neurons)]
        after.append((y_after, z_after))
        levels.append(y_after)
        arguments.append(A)
    return after, arguments


def printed_inverse(weights: Weights, after: State, u: Sequence[Any], sigma: Callable[[Any], Any]) -> State:
    """(7) as printed in both papers: the input is V y^{l−1}_n with y⁰_n = u_n, whatever the indices of the step."""
    levels = [list(u), *(y for y, _ in after)]
    before: State = []
    for l, (y, z) in enumerate(after):
        h = weights.h[l]
        y_before = [y[i] - h[i] * z[i] for i in range(weights.neurons)]
        z_before = [
            z[i]
            + h[i] * (sigma(weights.w[l][i] * y_before[i] + weights.drive(l, i, levels)) + weights.alpha * y_before[i])
            for i in range(weights.neurons)
        ]
        before.append((y_before, z_before))
    return before


def difference(left: State, right: State) -> list[Any]:
    """All entries of left − right."""
    return [
        a - b
        for one, other in zip(left, right, strict=True)
        for p, q in zip(one, other, strict=True)
        for a, b in zip(p, q, strict=True)
    ]


class Opaque:
    """σ as an unknown function: equal arguments have equal values, different arguments have independent symbols."""

    def __init__(self, symbols: Iterable[Any]) -> None:
        self._free = iter(symbols)
        self._known: dict[str, Any] = {}

    def __call__(self, argument: Any) -> Any:
        key = str(argument)
        if key not in self._known:
            self._known[key] = next(self._free)
        return self._known[key]


# --- derivatives


@dataclass(frozen=True)
class Layered:
    """A run as its derivatives see it. ``slopes[n][l][i]`` is σ'(A^l_{n−1}) of step n (from 1; slopes[0] is unused),
    ``levels[n][l]`` is y^l_n with level 0 the input; ``weights`` as above.
    """

    weights: Weights
    slopes: Sequence[Sequence[Sequence[Any]]]
    levels: Sequence[Sequence[Sequence[Any]]] = ()

    @property
    def layers(self) -> int:
        return self.weights.layers

    @property
    def neurons(self) -> int:
        return self.weights.neurons

    @property
    def steps(self) -> int:
        return len(self.slopes) - 1

    # printed blocks

    def own(self, q: int, n: int) -> Matrix:
        """blockdiag B of (47), (48), B = [[1 − h²κ, h], [−hκ, 1]], κ = α + w σ'(A_{n−1}); layer q, step n, from 1."""
        weights, m = self.weights, self.neurons
        blocks = [[0] * (2 * m) for _ in range(2 * m)]
        for i in range(m):
            h = weights.h[q - 1][i]
            kappa = weights.alpha + weights.w[q - 1][i] * self.slopes[n][q - 1][i]
            blocks[2 * i][2 * i : 2 * i + 2] = [1 - h * h * kappa, h]
            blocks[2 * i + 1][2 * i : 2 * i + 2] = [-h * kappa, 1]
        return blocks

    def climb(self, q: int, n: int) -> Matrix:
        """The blocks of (49), (50): D = −h² σ'(A_{n−1}) V, E = −h σ'(A_{n−1}) V in the columns of y; layer q ≥ 2."""
        return self._coupling(q, n, self.weights.V[q - 1])

    def jump(self, q: int, n: int) -> Matrix:
        """The same blocks with Λ in place of V: the skip edge into layer q; 0 where there is none."""
        rows = self.weights.Lambda[q - 1] if self.weights.Lambda else None
        m = self.neurons
        return self._coupling(q, n, rows if rows is not None else [[0] * m for _ in range(m)])

    def _coupling(self, q: int, n: int, rows: Sequence[Sequence[Any]]) -> Matrix:
        m = self.neurons
        blocks = [[0] * (2 * m) for _ in range(2 * m)]
        for i, r in itertools.product(range(m), range(m)):
            h, slope = self.weights.h[q - 1][i], self.slopes[n][q - 1][i]
            blocks[2 * i][2 * r] = -h * h * slope * rows[i][r]
            blocks[2 * i + 1][2 * r] = -h * slope * rows[i][r]
        return blocks

    # derivatives of the recursion itself

    def total(self, q: int, n: int, l: int, k: int) -> Matrix:
        """dX^q_n/dX^l_k through every route of the recursion, column by column."""
        return transpose([self._pushed(q, n, l, k, unit) for unit in range(2 * self.neurons)])

    def partial(self, q: int, n: int) -> Matrix:
        """∂X^q_n/∂X^{q−1}_n with everything else that (6) resp. (31) names held fixed."""
        columns = []
        for unit in range(2 * self.neurons):
            below = self._unit(unit)[0]
            y, z = self._tangent(q, n, self._zero(), below if self.weights.indices == "icml" else self._zero()[0], None)
            columns.append(_interleaved(y, z))
        return transpose(columns)

    def step_jacobian(self, n: int) -> Matrix:
        """The 2mL × 2mL Jacobian of step n with the input given; layers in ascending order."""
        columns = []
        for l, unit in itertools.product(range(self.layers), range(2 * self.neurons)):
            now = [self._zero() for _ in range(self.layers)]
            now[l] = self._unit(unit)
            columns.append([entry for y, z in self._advance(n, now) for entry in _interleaved(y, z)])
        return transpose(columns)

    def along(self, n: int, source: Callable[[int, int], tuple[list[Any], list[Any]]]) -> list[Any]:
        """dX^L_n/dθ, total, where ``source(l, k)`` is the direct partial of X^l_k: (y, z) parts; layers from 1."""
        now = [self._zero() for _ in range(self.layers)]
        for step in range(1, n + 1):
            now = self._advance(step, now, source)
        return _interleaved(*now[-1])

    def _pushed(self, q: int, n: int, l: int, k: int, unit: int) -> list[Any]:
        zero = [self._zero() for _ in range(self.layers)]
        now = [self._zero() for _ in range(self.layers)]
        now[l - 1] = self._unit(unit)
        for p in range(l + 1, self.layers + 1):  # layers above at the same time, where the indices let them see it
            seen = now if self.weights.indices == "icml" else zero
            now[p - 1] = self._tangent(p, k, zero[0], seen[p - 2][0], self._far(p, seen))
        for step in range(k + 1, n + 1):
            now = self._advance(step, now)
        return _interleaved(*now[q - 1])

    def _advance(
        self, n: int, before: State, source: Callable[[int, int], tuple[list[Any], list[Any]]] | None = None
    ) -> State:
        after: State = []
        for p in range(1, self.layers + 1):
            seen = after if self.weights.indices == "icml" else before
            below = seen[p - 2][0] if p > 1 else None
            y, z = self._tangent(p, n, before[p - 1], below, self._far(p, seen))
            if source is not None:
                direct = source(p, n)
                y = [a + b for a, b in zip(y, direct[0], strict=True)]
                z = [a + b for a, b in zip(z, direct[1], strict=True)]
            after.append((y, z))
        return after

    def _far(self, p: int, seen: State) -> list[Any] | None:
        source = p - self.weights.skip - 1
        return seen[source - 1][0] if self.weights.skip and source >= 1 else None

    def _tangent(
        self, p: int, n: int, before: tuple[list[Any], list[Any]], below: list[Any] | None, far: list[Any] | None
    ) -> tuple[list[Any], list[Any]]:
        """The differential of one step of layer p."""
        weights, (dy, dz) = self.weights, before
        y_after, z_after = [], []
        for i in range(self.neurons):
            dA = weights.w[p - 1][i] * dy[i]
            if below is not None:
                dA = dA + sum((v * d for v, d in zip(weights.V[p - 1][i], below, strict=True)), 0)
            rows = weights.Lambda[p - 1] if weights.Lambda else None
            if far is not None and rows is not None:
                dA = dA + sum((v * d for v, d in zip(rows[i], far, strict=True)), 0)
            h = weights.h[p - 1][i]
            z = dz[i] - h * (self.slopes[n][p - 1][i] * dA + weights.alpha * dy[i])
            z_after.append(z)
            y_after.append(dy[i] + h * z)
        return y_after, z_after

    def _zero(self) -> tuple[list[Any], list[Any]]:
        return [0] * self.neurons, [0] * self.neurons

    def _unit(self, place: int) -> tuple[list[Any], list[Any]]:
        y, z = self._zero()
        (z if place % 2 else y)[place // 2] = 1
        return y, z


def symplectic_defect(network: Layered) -> list[Any]:
    """The entries of DFᵀ J DF − J, J = J_{mL}, for the map of all layers' states in the first step, input given."""
    DF = network.step_jacobian(1)
    J = symplectic_unit(network.layers * network.neurons)
    return entries(minus(product(transpose(DF), J, DF), J))


def _interleaved(y: Sequence[Any], z: Sequence[Any]) -> list[Any]:
    return [entry for pair in zip(y, z, strict=True) for entry in pair]


# --- the same network over three rings


@dataclass(frozen=True)
class Shape:
    """L layers, m neurons, N steps, edges from l − ``skip`` − 1 to l (0: none)."""

    layers: int
    neurons: int
    steps: int
    skip: int = 0

    def __str__(self) -> str:
        edges = f", edges l − {self.skip + 1} → l" if self.skip else ""
        return f"L = {self.layers}, m = {self.neurons}, N = {self.steps}{edges}"


def _filled(shape: Shape, indices: Indices, fresh: Callable[[str], Any]) -> Layered:
    """Every entry a fresh element of the ring; the input has the size of a layer."""
    L, m, N = shape.layers, shape.neurons, shape.steps

    def row(name: str) -> list[Any]:
        return [fresh(f"{name}_{i}") for i in range(m)]

    def square(name: str) -> list[list[Any]]:
        return [row(f"{name}_{i}") for i in range(m)]

    weights = Weights(
        indices,
        fresh("alpha"),
        [row(f"h{l}") for l in range(L)],
        [row(f"w{l}") for l in range(L)],
        [row(f"b{l}") for l in range(L)],
        [square(f"V{l}") for l in range(L)],
        shape.skip,
        [square(f"M{l}") if l >= shape.skip else None for l in range(L)] if shape.skip else (),
    )
    slopes = [[row(f"s{n}_{l}") for l in range(L)] for n in range(N + 1)]
    levels = [[row(f"y{n}_{l}") for l in range(L + 1)] for n in range(N + 1)]
    return Layered(weights, slopes, levels)


def symbolic(shape: Shape, indices: Indices) -> Layered:
    """Over Q[α, h, w, V, Λ, σ', y]: all of them independent symbols."""
    return symbolic_with(shape, indices, [])[0]


def symbolic_with(shape: Shape, indices: Indices, more: list[str]) -> tuple[Layered, dict[str, Any]]:
    """The same over a ring with further symbols, and the symbols by name."""
    names: list[str] = list(more)

    def note(name: str) -> int:
        names.append(name)
        return 0

    _filled(shape, indices, note)
    ring = fmpq_mpoly_ctx.get(names, Ordering.degrevlex)
    by_name = dict(zip(names, ring.gens(), strict=True))
    return _filled(shape, indices, by_name.__getitem__), by_name


def random_rational(shape: Shape, indices: Indices, rng: random.Random) -> Layered:
    """Over Q: small fractions; steps and slopes in (0, 1)."""

    def fresh(name: str) -> Any:
        if name[0] in "hs":
            return fmpq(rng.randint(1, 9), 10)
        return fmpq(rng.randint(-9, 9), rng.randint(1, 9))

    return _filled(shape, indices, fresh)


def typed(parameters: Parameters, indices: Indices) -> tuple[Layered, list[State]]:
    """The network of a reader's parameters with σ = tanh, in balls, along its run; the states at times 0..N.

    "layers", "neurons", "alpha", "dt"; "c", "w", "b" by layer; "V" layer by layer and row by row (the first is
    m × m as well: the input has the size of a layer); "u" at times 0..N; "skip", "Lambda" for l = S+1..L where wanted;
    "y0", "z0" for a start other than 0.
    """
    L, m, skip = (int(number(parameters, name)) for name in ("layers", "neurons", "skip"))
    ball = _balls(parameters)
    sizes = {"c": L * m, "w": L * m, "b": L * m, "V": L * m * m, "Lambda": max(L - skip, 0) * m * m if skip else 0}
    for name, size in sizes.items():
        if len(ball(name)) != size:
            raise ClaimError(f'Parameter "{name}" has {len(ball(name))} entries; L = {L}, m = {m} ask for {size}.')
    dt = ball("dt")[0]
    h = [dt / (1 + (-c).exp()) for c in ball("c")]
    jumps = [None] * skip + _squares(ball("Lambda"), m) if skip else ()
    weights = Weights(
        indices,
        ball("alpha")[0],
        _rows(h, m),
        _rows(ball("w"), m),
        _rows(ball("b"), m),
        _squares(ball("V"), m),
        skip,
        jumps,
    )
    u = _rows(ball("u"), m)
    if len(u) < 2 or len(u[-1]) != m:
        raise ClaimError(f'Parameter "u" has {len(ball("u"))} entries; it holds m = {m} for each time 0..N, N ≥ 1.')
    starts = [_rows(ball(name) if name in parameters else [arb(0)] * (L * m), m) for name in ("y0", "z0")]
    states: list[State] = [list(zip(*starts, strict=True))]
    slopes: list[list[list[Any]]] = [[[arb(0)] * m for _ in range(L)]]
    for n in range(1, len(u)):
        after, arguments = forward(weights, states[-1], u[n - 1], u[n], arb.tanh)
        states.append(after)
        slopes.append([[1 - s * s for s in map(arb.tanh, row)] for row in arguments])  # a square of 0 ± r is NaN
    levels = [[u[n], *(y for y, _ in state)] for n, state in enumerate(states)]
    return Layered(weights, slopes, levels), states


HELD = Rule("the input does not change", lambda values: len(set(values["u"])) == 1)


class HeldInput(Rows):
    """Rows of which a rule says that they are all the same: so are those that are drawn."""

    def draw(self, rng: random.Random, values: dict[str, Any]) -> tuple[tuple[Any, ...], ...]:
        rows = super().draw(rng, values)
        return rows[:1] * len(rows)


def declared_network(
    shapes: Iterable[Shape], *more: Parameter, constant_input: bool = False, rules: Iterable[Rule] = ()
) -> Declaration:
    """What ``typed`` reads, and ``more``: a network with L and S of one of the shapes, m as in them, N no larger, that
    obeys the hypotheses of the model: 0 < dt < 1, α ≥ 0, a zero start; where it is said, u does not change.
    """
    box = tuple(shapes)
    known = sorted({(shape.layers, shape.skip) for shape in box})
    depths, skips = zip(*known, strict=True)
    sizes, steps = [shape.neurons for shape in box], max(shape.steps for shape in box)

    def own(values: dict[str, Any]) -> int:
        return int(values["layers"] * values["neurons"])

    def matrices(values: dict[str, Any]) -> int:
        return own(values) * int(values["neurons"])

    def edges(values: dict[str, Any]) -> int:
        L, m, S = (values[name] for name in ("layers", "neurons", "skip"))
        return max(int(L - S), 0) * int(m) ** 2 if S else 0

    at_rest = Listed(Constant(Fraction(0)), own)
    return declared(
        Parameter("layers", Integer(min(depths), max(depths))),
        Parameter("neurons", Integer(min(sizes), max(sizes))),
        Parameter("skip", Integer(min(skips), max(skips))),
        Parameter("alpha", Rational(least=0)),
        Parameter("dt", Rational(above=0, below=1)),
        *(
            Parameter(name, Listed(Rational(), own), order="a row a layer", layout=in_rows("neurons"))
            for name in ("c", "w", "b")
        ),
        Parameter("V", Listed(Rational(), matrices), order="a matrix a layer", layout=in_blocks("neurons")),
        Parameter(
            "u",
            (HeldInput if constant_input else Rows)(Rational(), "neurons", lambda _: range(2, steps + 2)),
            order="a row a time, from time 0 on",
        ),
        Parameter(
            "Lambda",
            Listed(Rational(), edges),
            order="a matrix a layer, for the layers after the first S = skip",
            layout=in_blocks("neurons"),
        ),
        *(
            Parameter(name, at_rest, optional=True, order="a row a layer", layout=in_rows("neurons"))
            for name in ("y0", "z0")
        ),
        *more,
        rules=(
            Rule(f"(L, S) is one of {known}", lambda v: (v["layers"], v["skip"]) in known),
            *rules,
            *[HELD] * constant_input,
        ),
    )


def _balls(parameters: Parameters) -> Callable[[str], list[Any]]:
    def named(name: str) -> list[Any]:
        return [arb(fmpq(v.numerator, v.denominator)) for v in numbers(parameters, name)]

    return named


def _rows(values: list[Any], m: int) -> list[list[Any]]:
    return [values[start : start + m] for start in range(0, len(values), m)]


def _squares(values: list[Any], m: int) -> list[Any]:
    return _rows(_rows(values, m), m)


def small_network(shape: Shape, **changed: str) -> dict[str, str]:
    """α = 1, dt = 1/2, c = 0 (so h = 1/4), w = V = Λ = 1, b = 0, input 0 from the zero state; with changes. A single
    number stands for as many as are needed.
    """
    L, m, N, S = shape.layers, shape.neurons, shape.steps, shape.skip
    sizes = {"alpha": 1, "dt": 1, "c": L * m, "w": L * m, "b": L * m, "V": L * m * m, "u": (N + 1) * m}
    parameters = {"layers": str(L), "neurons": str(m), "skip": str(S)}
    plain = {"alpha": "1", "dt": "1/2", "w": "1", "V": "1"}
    for name, size in sizes.items():
        words = changed.get(name, plain.get(name, "0")).split()
        parameters[name] = " ".join(words * size if len(words) == 1 else words)
    parameters["Lambda"] = " ".join([changed.get("Lambda", "1")] * ((L - S) * m * m if S else 0))
    parameters.update({name: changed[name] for name in ("y0", "z0") if name in changed})
    return parameters


def menu(shape: Shape) -> list[dict[str, str]]:
    """Small networks, simplest first: the zero state, then a bias, then inputs, then mixed weights."""
    inputs = " ".join(str(n % 2) for n in range(shape.steps + 1) for _ in range(shape.neurons))
    ramp = " ".join(str(n) for n in range(shape.steps + 1) for _ in range(shape.neurons))
    changes: list[dict[str, str]] = [{}, {"b": "1"}, {"u": "1"}, {"u": inputs}, {"u": ramp, "w": "-2", "alpha": "0"}]
    size = shape.layers * shape.neurons
    mixed = " ".join(str(Fraction(j % 3 - 1, 2)) for j in range(size))
    inner = " ".join(str(Fraction(j % 5 - 2, 2)) for j in range(size * shape.neurons))
    changes += [{"w": mixed, "u": ramp, "b": "1/2", "c": mixed, "V": inner}]
    return [small_network(shape, **change) for change in changes]


def at_precision(bits: int = BITS) -> Any:
    """A context in which balls carry ``bits`` bits."""
    return ctx.workprec(bits)
