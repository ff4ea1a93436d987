"""A whole UnICORNN in Arb balls: states, the gradient of every parameter, the Jacobian of the map of all states.

    A^l = w^l ⊙ y^l_{n−1} + V^l y^{l−1} + b^l
    z^l_n = z^l_{n−1} − h^l ⊙ (tanh A^l + α^l y^l_{n−1}),     y^l_n = y^l_{n−1} + h^l ⊙ z^l_n

with h^l = dt^l σ̂(c^l), y^0 = u, and y^{l−1} taken at n ("icml") or at n − 1 ("sam", whose u_0 is ``previous``). V is
dense: V y is one product of ball matrices. The working precision is raised, by what a run was short of, until every
radius is at most 2^−``accuracy`` of the largest entry of its array. Residual edges and a second direction are not
covered.

Cost: N L m (m + d) multiplications and N L m tanh, at a precision that grows by about 1.44 h √|κ| bits a step because
balls do not know that a rotation keeps a circle. ``second.network`` does the same in float64 with proved roundings, the
derivatives carried the other way: typed again, with nothing from here.

In use: the route of large witnesses, states (``network_states``) and gradients (``network_gradient``). Small ones keep
their own (``balls``, ``second``, ``limit``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from verification.certify.rounded import Array
from verification.instance import Instance, encode_number

Index = Literal["icml", "sam"]
Row = tuple[Fraction, ...]

ACCURACY = 50
FIRST_BITS = 128
MAX_BITS = 8192
EVERY = 8
"""Steps between two looks at the radii."""
PARAMETERS = ("w", "b", "c", "V")


@dataclass(frozen=True)
class LayerData:
    """One layer in exact numbers: V is (m, size of the level below), the rest a number a neuron. y0, z0 is its
    start.
    """

    dt: Fraction
    alpha: Fraction
    w: Row
    c: Row
    b: Row
    V: tuple[Row, ...]
    y0: Row
    z0: Row


@dataclass(frozen=True)
class NetworkData:
    """Everything that fixes a run. ``inputs`` are u_1..u_N, ``previous`` is u_0, ``target`` the ȳ_n of
    E = (1/N) Σ_n |y^L_n − ȳ_n|²/2; without one it is 0.
    """

    layers: tuple[LayerData, ...]
    inputs: tuple[Row, ...]
    index: Index = "icml"
    previous: Row = ()
    target: tuple[Row, ...] = ()

    def __post_init__(self) -> None:
        below = len(self.inputs[0]) if self.inputs else 0
        if not self.inputs or not self.layers or self.index not in ("icml", "sam"):
            raise ValueError(f"{len(self.layers)} layers, {len(self.inputs)} inputs, index {self.index!r}: no network.")
        rows = [("u", row, below) for row in (*self.inputs, *([self.previous] if self.previous else []))]
        for number, layer in enumerate(self.layers, 1):
            size = len(layer.w)
            rows += [(f"V of layer {number}", row, below) for row in layer.V]
            names = ("c", "b", "V", "y0", "z0")
            rows += [(f"{name} of layer {number}", getattr(layer, name), size) for name in names]
            below = size
        rows += [("target", row, below) for row in self.target]
        for name, row, expected in rows:
            if len(row) != expected:
                raise ValueError(f"{name} has {len(row)} entries; expected {expected}.")
        if self.target and len(self.target) != self.steps:
            raise ValueError(f"{len(self.target)} targets for {self.steps} steps.")

    @property
    def steps(self) -> int:
        return len(self.inputs)

    def to_plain(self) -> dict[str, Any]:
        """Strict JSON data, exact: what ``second.network`` reads."""

        def row(values: Iterable[Fraction]) -> list[str]:
            return [encode_number(v) for v in values]

        layers = [
            {
                "dt": encode_number(layer_data.dt),
                "alpha": encode_number(layer_data.alpha),
                "V": [row(v) for v in layer_data.V],
            }
            | {name: row(getattr(layer_data, name)) for name in ("w", "c", "b", "y0", "z0")}
            for layer_data in self.layers
        ]
        rest = {"inputs": [row(v) for v in self.inputs], "target": [row(v) for v in self.target]}
        return {"layers": layers, "index": self.index, "previous": row(self.previous), **rest}


def exact(values: Any) -> Any:
    """Nested sequences or arrays of floats, integers or fractions as nested tuples of fractions, nothing rounded."""
    if isinstance(values, Sequence | np.ndarray) and not isinstance(values, str):
        return tuple(exact(v) for v in values)
    return values if isinstance(values, Fraction) else Fraction(float(values))


def of_arrays(
    layers: Sequence[dict[str, Any]],
    inputs: Any,
    *,
    index: Index = "icml",
    previous: Any = (),
    target: Any = (),
) -> NetworkData:
    """From arrays: each layer a dict of dt, alpha, w, c, b, V and, where they are not 0, y0 and z0."""
    stack = []
    for given in layers:
        zero = (0.0,) * len(given["w"])
        rows = {name: exact(given.get(name, zero)) for name in ("w", "c", "b", "V", "y0", "z0")}
        stack.append(LayerData(exact(given["dt"]), exact(given["alpha"]), **rows))
    return NetworkData(tuple(stack), exact(inputs), index, exact(previous), exact(target))


def of_groups(instance: Instance, layers: int) -> NetworkData:
    """The first ``layers`` layers of a witness's instance with each group as one neuron, which V counts as often as it
    has members: equal neurons move alike.
    """
    counts, stack = [1] * instance.inputs.size, []
    for layer in instance.layers[:layers]:
        rows = tuple(tuple(v * k for v, k in zip(row, counts, strict=True)) for row in layer.input_weights)
        w, c, b = (tuple(getattr(group, name) for group in layer.groups) for name in ("w", "c", "bias"))
        zero = (Fraction(0),) * len(w)
        stack.append(LayerData(layer.dt, instance.alpha, w, c, b, rows, zero, zero))
        counts = [group.multiplicity for group in layer.groups]
    return NetworkData(tuple(stack), tuple(instance.inputs))


def of_instance(instance: Instance) -> NetworkData:
    """A witness's instance with its groups written out as neurons."""
    widths, layers = [1] * instance.inputs.size, []
    for layer in instance.layers:
        counts = [group.multiplicity for group in layer.groups]
        rows = [tuple(v for v, k in zip(row, widths, strict=True) for _ in range(k)) for row in layer.input_weights]

        def spread(values: Iterable[Any], counts: list[int] = counts) -> tuple[Any, ...]:
            return tuple(v for v, k in zip(values, counts, strict=True) for _ in range(k))

        zero = (Fraction(0),) * sum(counts)
        w, c, b = (spread(getattr(group, name) for group in layer.groups) for name in ("w", "c", "bias"))
        layers.append(LayerData(layer.dt, instance.alpha, w, c, b, spread(rows), zero, zero))
        widths = counts
    return NetworkData(tuple(layers), tuple(instance.inputs))


@dataclass(frozen=True)
class Enclosed:
    """Every entry of the true array is within ``radius`` of ``middle``: float64, rounded outward."""

    middle: Array
    radius: Array

    @property
    def lower(self) -> Array:
        return np.nextafter(self.middle - self.radius, -np.inf)

    @property
    def upper(self) -> Array:
        return np.nextafter(self.middle + self.radius, np.inf)

    def meets(self, other: Any) -> bool:
        """Whether the two can enclose the same array."""
        return bool(((self.lower <= other.upper) & (other.lower <= self.upper)).all())

    @staticmethod
    def of(balls: Any) -> Enclosed:
        """Of nested lists of balls."""
        shape: list[int] = []
        inner = balls
        while isinstance(inner, list):
            shape.append(len(inner))
            inner = inner[0]
        flat = list(_flat(balls))
        middle = np.array([float(v) for v in flat]).reshape(shape)
        radius = np.array([float(v.rad()) for v in flat]).reshape(shape)
        # a conversion is off by less than one unit in the last place
        return Enclosed(middle, radius * (1 + 2.0**-50) + np.abs(middle) * 2.0**-52 + 2.0**-1000)


@dataclass(frozen=True)
class States:
    """y^l_n, z^l_n for n = 0..N: one array (N + 1, m) a layer. ``bits`` is the precision that sufficed."""

    y: tuple[Enclosed, ...]
    z: tuple[Enclosed, ...]
    bits: int


@dataclass(frozen=True)
class Gradients:
    """dE/dθ of every layer by name, and E itself (shape ())."""

    loss: Enclosed
    layers: tuple[dict[str, Enclosed], ...]
    bits: int


class UndecidedError(ArithmeticError):
    """The enclosures are not as narrow as asked for at the largest precision allowed."""


class BallRun:
    """The states in balls at the precision in force. ``y[n][l]`` from n = 0, ``slopes[n][l]`` from n = 1."""

    def __init__(self, data: NetworkData, *, short_of: Callable[[int, int], None] | None = None) -> None:
        self.data = data
        self.layers = [_BallLayer(layer_data) for layer_data in data.layers]
        self.inputs = [_balls(row) for row in data.inputs]
        previous = _balls(data.previous) if data.previous else [arb(0)] * len(self.inputs[0])
        self.y = [[layer.y0 for layer in self.layers]]
        self.z = [[layer.z0 for layer in self.layers]]
        self.slopes: list[list[list[Any]]] = [[]]
        self.forces: list[list[list[Any]]] = [[]]
        self.levels: list[list[list[Any]]] = [[]]
        for n, u in enumerate(self.inputs, 1):
            rows: tuple[list[Any], ...] = ([], [], [], [], [])
            for l, layer in enumerate(self.layers):
                if data.index == "icml":
                    below = rows[0][l - 1] if l else u
                elif l:
                    below = self.y[n - 1][l - 1]
                else:
                    below = self.inputs[n - 2] if n > 1 else previous
                advanced = layer.step(self.y[n - 1][l], self.z[n - 1][l], below)
                for row, value in zip(rows, (*advanced, below), strict=True):
                    row.append(value)
            for history, row in zip((self.y, self.z, self.slopes, self.forces, self.levels), rows, strict=True):
                history.append(row)
            if short_of is not None and (n % EVERY == 0 or n == data.steps):
                short_of(n, _loss_of_digits([*rows[0], *rows[1]]))

    def gradient(self) -> tuple[Any, list[dict[str, Any]]]:
        """(E, dE/dθ by layer and name), carried backward.

        With P, Q the derivatives by y^l_n, z^l_n one step back is Q' = Q + hP, δ = −hσ'Q' (that by A), P' = P − hαQ'
        + wδ, and the level below gets Vᵀδ; by h it is zP − (σ + αy)Q', and dh/dc = h(1 − σ̂).
        """
        N, L = self.data.steps, len(self.layers)
        zero = [[arb(0)] * layer.size for layer in self.layers]
        P, Q = list(zero), list(zero)
        deltas: list[list[Any]] = [[] for _ in self.layers]
        steps_moved = [[arb(0)] * layer.size for layer in self.layers]
        loss = arb(0)
        for n in range(N, 0, -1):
            target = _balls(self.data.target[n - 1]) if self.data.target else zero[-1]
            miss = [a - b for a, b in zip(self.y[n][-1], target, strict=True)]
            loss += sum((v * v for v in miss), arb(0)) / (2 * N)
            P[-1] = [p + v / N for p, v in zip(P[-1], miss, strict=True)]
            held: list[Any] = [None] * L
            for l in reversed(range(L)):
                layer = self.layers[l]
                moved = zip(steps_moved[l], self.z[n][l], P[l], self.forces[n][l], strict=True)
                late = [q + h * p for q, h, p in zip(Q[l], layer.h, P[l], strict=True)]
                steps_moved[l] = [t + z * p - f * q for (t, z, p, f), q in zip(moved, late, strict=True)]
                pulled = zip(layer.h, self.slopes[n][l], late, strict=True)
                delta = [-h * slope * q for h, slope, q in pulled]
                kappas = zip(P[l], layer.h, layer.kappa(self.slopes[n][l]), late, strict=True)
                P[l] = [p - h * k * q for p, h, k, q in kappas]
                Q[l] = late
                deltas[l].append(delta)
                if l:
                    down = _column(layer.Vt * arb_mat(layer.size, 1, delta))
                    if self.data.index == "icml":
                        P[l - 1] = [p + v for p, v in zip(P[l - 1], down, strict=True)]
                    else:
                        held[l - 1] = down
            for l, down in enumerate(held):
                if down is not None:
                    P[l] = [p + v for p, v in zip(P[l], down, strict=True)]
        gradients = []
        for l, layer in enumerate(self.layers):
            rows = deltas[l][::-1]
            by_V = arb_mat(rows).transpose() * arb_mat([self.levels[n][l] for n in range(1, N + 1)])
            by_w = [sum((row[i] * self.y[n][l][i] for n, row in enumerate(rows)), arb(0)) for i in range(layer.size)]
            by_b = [sum(column, arb(0)) for column in zip(*rows, strict=True)]
            by_c = [t * g for t, g in zip(steps_moved[l], layer.step_slopes, strict=True)]
            gradients.append({"w": by_w, "b": by_b, "c": by_c, "V": by_V.tolist()})
        return loss, gradients

    def jacobian(self, last: int, first: int) -> list[list[Any]]:
        """The product of the Jacobians of steps ``first`` + 1 .. ``last`` of the map of all layers' states, input
        given.

        Coordinates (y¹, z¹, …, yᵐ, zᵐ) of layer 1, then of layer 2, …; carried forward, all columns at once.
        """
        sizes = [layer.size for layer in self.layers]
        width = 2 * sum(sizes)
        Y: list[Any] = []
        Z: list[Any] = []
        place = 0
        for size in sizes:
            for target, shift in ((Y, 0), (Z, 1)):
                rows = [[arb(int(j == place + 2 * i + shift)) for j in range(width)] for i in range(size)]
                target.append(arb_mat(rows))
            place += 2 * size
        for n in range(first + 1, last + 1):
            before = list(Y)
            for l, layer in enumerate(self.layers):
                h, slopes = layer.h, self.slopes[n][l]
                pull = [-a * k for a, k in zip(h, layer.kappa(slopes), strict=True)]
                Z[l] = Z[l] + _diagonal(pull) * before[l]
                if l:
                    seen = Y[l - 1] if self.data.index == "icml" else before[l - 1]
                    Z[l] = Z[l] + _diagonal([-a * s for a, s in zip(h, slopes, strict=True)]) * (layer.V * seen)
                Y[l] = before[l] + _diagonal(h) * Z[l]
        interleaved: list[list[Any]] = []
        for y, z in zip(Y, Z, strict=True):
            interleaved += [row for pair in zip(y.tolist(), z.tolist(), strict=True) for row in pair]
        return interleaved


class _BallLayer:
    def __init__(self, data: LayerData) -> None:
        self.size = len(data.w)
        self.alpha = _ball(data.alpha)
        self.w, self.b, self.y0, self.z0 = (_balls(getattr(data, name)) for name in ("w", "b", "y0", "z0"))
        logistic = [1 / (1 + (-c).exp()) for c in _balls(data.c)]
        self.h = [_ball(data.dt) * s for s in logistic]
        self.step_slopes = [h * (1 - s) for h, s in zip(self.h, logistic, strict=True)]
        self.V = arb_mat([_balls(row) for row in data.V])
        self.Vt = self.V.transpose()

    def kappa(self, slopes: list[Any]) -> list[Any]:
        return [self.alpha + w * s for w, s in zip(self.w, slopes, strict=True)]

    def step(self, y: list[Any], z: list[Any], below: list[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """(y, z) after the step, σ'(A) and the force."""
        drive = _column(self.V * arb_mat(len(below), 1, below))
        s = [(w * a + x + b).tanh() for w, a, x, b in zip(self.w, y, drive, self.b, strict=True)]
        force = [t + self.alpha * a for t, a in zip(s, y, strict=True)]
        z = [p - h * f for p, h, f in zip(z, self.h, force, strict=True)]
        return [a + h * p for a, h, p in zip(y, self.h, z, strict=True)], z, [1 - t * t for t in s], force


def certify_states(data: NetworkData, *, accuracy: int = ACCURACY, max_bits: int = MAX_BITS) -> States:
    """Enclosures of all states. UndecidedError if ``max_bits`` do not reach ``accuracy``."""
    run, bits = sharp_run(data, accuracy, max_bits)
    with ctx.workprec(bits):
        layers = range(len(data.layers))
        y, z = (tuple(Enclosed.of([row[l] for row in rows]) for l in layers) for rows in (run.y, run.z))
        return States(y, z, bits)


def certify_gradients(
    data: NetworkData,
    *,
    accuracy: int = ACCURACY,
    max_bits: int = MAX_BITS,
    only: tuple[int, str] | None = None,
    enough: Callable[[Gradients], bool] | None = None,
) -> Gradients:
    """Enclosures of E and of dE/dθ for all θ. UndecidedError as for the states.

    only      (layer from 1, name): those of this array, and no others, are as narrow as asked for
    enough    whether wider ones decide what is asked
    """

    def of(run: BallRun) -> list[Any]:
        loss, layers = run.gradient()
        return [[loss], *(layer[name] for layer in layers for name in PARAMETERS)]

    def made(arrays: list[Any], bits: int) -> Gradients:
        ends, *enclosures = map(Enclosed.of, arrays)
        layers = tuple(dict(zip(PARAMETERS, enclosures[i : i + 4], strict=True)) for i in range(0, len(enclosures), 4))
        return Gradients(Enclosed(ends.middle[0], ends.radius[0]), layers, bits)

    place = None if only is None else 1 + 4 * (only[0] - 1) + PARAMETERS.index(only[1])
    stop = None if enough is None else lambda arrays, bits: enough(made(arrays, bits))
    return made(*_sharp(data, of, accuracy, max_bits, only=place, enough=stop))


def certify_jacobian(
    data: NetworkData, *, last: int, first: int, accuracy: int = ACCURACY, max_bits: int = MAX_BITS
) -> tuple[Enclosed, int]:
    """(``BallRun.jacobian``, bits) for 0 ≤ ``first`` < ``last`` ≤ N. UndecidedError as for the states."""
    if not 0 <= first < last <= data.steps:
        raise ValueError(f"Steps {first} to {last} are not within 0 to {data.steps}.")
    (product,), bits = _sharp(data, lambda run: [run.jacobian(last, first)], accuracy, max_bits)
    return Enclosed.of(product), bits


def _sharp(
    data: NetworkData,
    quantity: Callable[[BallRun], list[Any]],
    accuracy: int,
    max_bits: int,
    *,
    only: int | None = None,
    enough: Callable[[list[Any], int], bool] | None = None,
) -> tuple[list[Any], int]:
    """The arrays of ``quantity`` once all of them are sharp, or the one that counts, or what they are is enough."""
    bits, wanted = 0, accuracy
    while True:
        run, bits = sharp_run(data, wanted, max_bits, at_least=bits)
        with ctx.workprec(bits):
            arrays = quantity(run)
            counted = arrays if only is None else [arrays[only]]
            missing = accuracy - min(bits - _loss_of_digits([list(_flat(array))]) for array in counted)
        if missing <= 0 or (enough is not None and enough(arrays, bits)):
            return arrays, bits
        wanted += missing + 16
        bits = bits + missing + 16
        if bits > max_bits:
            raise UndecidedError(f"{missing} bits are missing at {bits - missing - 16}; the limit is {max_bits}.")


class _TooCoarseError(Exception):
    def __init__(self, step: int, lost: int) -> None:
        super().__init__(step, lost)
        self.step, self.lost = step, lost


def sharp_run(data: NetworkData, accuracy: int, max_bits: int, at_least: int = 0) -> tuple[BallRun, int]:
    """States whose radii are at most 2^−``accuracy`` of the largest entry of their row, and the precision that it took.

    A run that is too coarse stops at once and says how fast digits are lost. UndecidedError beyond ``max_bits``.
    """
    bits = max(FIRST_BITS, accuracy + 48, at_least)

    def look(n: int, lost: int) -> None:
        if bits - lost < accuracy:
            raise _TooCoarseError(n, lost)

    while bits <= max_bits:
        try:
            with ctx.workprec(bits):
                return BallRun(data, short_of=look), bits
        except _TooCoarseError as found:
            rate = found.lost / found.step
            bits = max(bits + 64, int(accuracy + 32 + 1.1 * rate * data.steps))
    raise UndecidedError(
        f"{data.steps} steps need about {bits} bits for an accuracy of 2^-{accuracy}; the limit is {max_bits}. "
        "Ask for less accuracy or for fewer steps."
    )


def _loss_of_digits(rows: list[list[Any]]) -> int:
    """Bits between the working precision and the largest radius relative to the largest entry, worst row."""
    worst = 0
    for row in rows:
        size = max(abs(v).upper() for v in row)
        radius = max(v.rad() for v in row)
        if radius == 0:
            continue
        if not size.is_finite():
            return int(ctx.prec) + 1000
        ratio = radius / size
        worst = max(worst, int(ctx.prec) + int(float(ratio.log() / arb(2).log())) + 1)
    return worst


def _flat(balls: Any) -> Iterable[Any]:
    if not isinstance(balls, list):
        yield balls
        return
    for entry in balls:
        yield from _flat(entry)


def _ball(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))


def _balls(values: Iterable[Fraction]) -> list[Any]:
    return [_ball(v) for v in values]


def _column(matrix: Any) -> list[Any]:
    entries: list[Any] = matrix.entries()
    return entries


def _diagonal(values: list[Any]) -> Any:
    size = len(values)
    zero = arb(0)
    return arb_mat([[values[i] if i == j else zero for j in range(size)] for i in range(size)])
