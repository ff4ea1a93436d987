"""What one gradient costs in live floats: two implementations of backpropagation that rebuild the states, one that
stores them.

The loss is ½|y^L_N − target|² (definitions 1.5, last step). Live are all arrays except the weights and what belongs to
their gradients (definitions 1.7); every one is made and dropped through a ``Meter``. Shapes (batch, hidden); time first
where there is a time.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray


@dataclass(frozen=True)
class TrainingSizes:
    """N, L, m, b, d."""

    steps: int
    layers: int
    hidden: int
    batch: int
    inputs: int

    @property
    def input_floats(self) -> int:
        """N b d: the input signal."""
        return self.steps * self.batch * self.inputs

    @property
    def state_floats(self) -> int:
        """L b m: one of y, z of all layers at one time."""
        return self.layers * self.batch * self.hidden

    @property
    def claimed(self) -> int:
        """N b d + L b m, the order printed for the inverse."""
        return self.input_floats + self.state_floats

    @property
    def claimed_stored(self) -> int:
        """N b d + L b m N, the order printed for stored states."""
        return self.input_floats + self.steps * self.state_floats


@dataclass
class Meter:
    """Floats that are live now, and their largest number so far."""

    live: int = 0
    peak: int = 0

    def new(self, *shape: int) -> Array:
        """A new array of zeros."""
        zeros = np.zeros(shape)
        self.live += zeros.size
        self.peak = max(self.peak, self.live)
        return zeros

    def drop(self, *arrays: Array) -> None:
        """The arrays are not used again; the caller deletes its names."""
        self.live -= sum(array.size for array in arrays)


@dataclass(frozen=True)
class MeteredLayer:
    """w, h, b of shape (hidden,), V of shape (hidden, hidden or inputs)."""

    w: Array
    h: Array
    b: Array
    V: Array


@dataclass
class Gradient:
    """Of one layer; ``scratch`` is as large as V and belongs to the gradient."""

    w: Array
    h: Array
    b: Array
    V: Array
    scratch: Array


@dataclass(frozen=True)
class MeteredNetwork:
    """The weights of all layers; α is shared."""

    layers: tuple[MeteredLayer, ...]
    alpha: float

    def zero_gradient(self) -> tuple[Gradient, ...]:
        """Zeros of every weight's shape."""
        return tuple(
            Gradient(*(np.zeros_like(weight) for weight in (layer.w, layer.h, layer.b, layer.V, layer.V)))
            for layer in self.layers
        )


def network(sizes: TrainingSizes, seed: int, alpha: float = 1.0) -> MeteredNetwork:
    """Weights as the paper draws them, b and h at random too."""
    generator = np.random.default_rng(seed)
    widths = [sizes.inputs] + [sizes.hidden] * (sizes.layers - 1)
    return MeteredNetwork(
        tuple(
            MeteredLayer(
                generator.uniform(0, 1, sizes.hidden),
                generator.uniform(0.05, 0.2, sizes.hidden),
                generator.uniform(-0.1, 0.1, sizes.hidden),
                generator.uniform(-1, 1, (sizes.hidden, width)) * np.sqrt(6 / (65 * width)),
            )
            for width in widths
        ),
        alpha,
    )


@dataclass(frozen=True)
class MeteredData:
    """u of shape (time, batch, inputs), the target of shape (batch, hidden)."""

    u: Array
    target: Array


def data(sizes: TrainingSizes, seed: int, meter: Meter) -> MeteredData:
    """Random; the input signal is counted, and the target as well."""
    generator = np.random.default_rng(seed)
    u, target = meter.new(sizes.steps, sizes.batch, sizes.inputs), meter.new(sizes.batch, sizes.hidden)
    for row in (*u, target):
        row[:] = generator.uniform(-1, 1, row.shape)
    return MeteredData(u, target)


@dataclass
class _LayerState:
    """Of one layer, (batch, hidden) each: y, z, then p = ∂E/∂y and q = ∂E/∂z (definitions 1.6)."""

    y: Array
    z: Array
    p: Array
    q: Array


@dataclass
class _Buffers:
    """Three temporaries of shape (batch, hidden) in which every formula is evaluated."""

    s: Array
    force: Array
    product: Array


Algorithm: TypeAlias = Callable[[MeteredNetwork, MeteredData, Meter], tuple[Gradient, ...]]


def _buffers(network: MeteredNetwork, data: MeteredData, meter: Meter) -> _Buffers:
    return _Buffers(*(meter.new(*data.target.shape) for _ in range(3)))


def _states(network: MeteredNetwork, data: MeteredData, meter: Meter) -> list[_LayerState]:
    return [_LayerState(*(meter.new(*data.target.shape) for _ in range(4))) for _ in network.layers]


def _force(layer: MeteredLayer, alpha: float, y: Array, x: Array, into: _Buffers) -> None:
    """s = tanh(w y + x) and force = s + α y; x may be ``into.s`` itself."""
    np.multiply(layer.w, y, out=into.product)
    np.add(x, into.product, out=into.s)
    np.tanh(into.s, out=into.s)
    np.multiply(y, alpha, out=into.force)
    np.add(into.force, into.s, out=into.force)


def _advance(layer: MeteredLayer, alpha: float, state: _LayerState, x: Array, into: _Buffers) -> None:
    """One step of (U); x = V y^{l−1}_n + b."""
    _force(layer, alpha, state.y, x, into)
    np.multiply(into.force, layer.h, out=into.force)
    np.subtract(state.z, into.force, out=state.z)
    np.multiply(state.z, layer.h, out=into.product)
    np.add(state.y, into.product, out=state.y)


def _input(layer: MeteredLayer, below: Array, out: Array) -> None:
    """x = V y^{l−1}_n + b."""
    np.matmul(below, layer.V.T, out=out)
    np.add(out, layer.b, out=out)


def _retreat(
    layer: MeteredLayer, alpha: float, state: _LayerState, x: Array, gradient: Gradient, into: _Buffers
) -> Array:
    """One step of the inverse and of the recursion of definitions 1.6; leaves ∂E/∂x_n in ``into.s`` and returns it."""
    np.multiply(state.p, layer.h, out=into.product)
    np.add(state.q, into.product, out=state.q)  # q_n = q_{n+1} + h p_n
    np.multiply(state.p, state.z, out=into.product)
    gradient.h += into.product.sum(axis=0)
    np.multiply(state.z, layer.h, out=into.product)
    np.subtract(state.y, into.product, out=state.y)  # y_{n−1}
    _force(layer, alpha, state.y, x, into)
    np.multiply(state.q, into.force, out=into.product)
    gradient.h -= into.product.sum(axis=0)
    np.multiply(into.force, layer.h, out=into.force)
    np.add(state.z, into.force, out=state.z)  # z_{n−1}
    np.multiply(into.s, into.s, out=into.s)
    np.subtract(1, into.s, out=into.s)  # σ'
    np.multiply(state.q, layer.h, out=into.product)
    np.multiply(into.s, into.product, out=into.s)  # h q σ' = −∂E/∂x_n
    np.multiply(into.product, alpha, out=into.product)
    np.subtract(state.p, into.product, out=state.p)
    np.multiply(into.s, layer.w, out=into.product)
    np.subtract(state.p, into.product, out=state.p)  # p_{n−1} = p_n − h q_n (α + w σ')
    np.negative(into.s, out=into.s)
    np.multiply(into.s, state.y, out=into.product)
    gradient.w += into.product.sum(axis=0)
    gradient.b += into.s.sum(axis=0)
    return into.s


def _transform_gradient(gradient: Gradient, change: Array, below: Array) -> None:
    np.matmul(change.T, below, out=gradient.scratch)
    gradient.V += gradient.scratch


def interleaved(network: MeteredNetwork, data: MeteredData, meter: Meter) -> tuple[Gradient, ...]:
    """All layers step forward together and back together, the top one first: nothing is kept for every n but u."""
    states, into, alpha = _states(network, data, meter), _buffers(network, data, meter), network.alpha
    gradients = network.zero_gradient()
    for u in data.u:
        below = u
        for layer, state in zip(network.layers, states, strict=True):
            _input(layer, below, into.s)
            _advance(layer, alpha, state, into.s, into)
            below = state.y
    np.subtract(states[-1].y, data.target, out=states[-1].p)
    for u in data.u[::-1]:
        for number in reversed(range(len(states))):
            layer, state, gradient = network.layers[number], states[number], gradients[number]
            below = states[number - 1].y if number else u
            _input(layer, below, into.s)
            change = _retreat(layer, alpha, state, into.s, gradient, into)
            _transform_gradient(gradient, change, below)
            if number:
                np.matmul(change, layer.V, out=into.product)
                np.add(states[number - 1].p, into.product, out=states[number - 1].p)
    return gradients


def layer_parallel(network: MeteredNetwork, data: MeteredData, meter: Meter) -> tuple[Gradient, ...]:
    """One layer after the other, V y^{l−1}_n by one product for all n. Layers are stepped back one at a time, too.

    For the layer at hand live: y^{l−1}_n of all n (u for the first layer), its transform, which ∂E/∂x_n overwrites, and
    ∂E/∂y^l_n from the layer above. The lower layers are run again to get y^{l−1}.
    """
    into, alpha = _buffers(network, data, meter), network.alpha
    gradients = network.zero_gradient()
    steps, (batch, hidden) = len(data.u), data.target.shape
    above: Array | None = None  # ∂E/∂y^l_n from the layer above, (time, batch, hidden)
    for number in reversed(range(len(network.layers))):
        below = data.u
        for layer in network.layers[:number]:
            below = _run(layer, alpha, below, data, into, meter)
        layer, gradient = network.layers[number], gradients[number]
        x, state = _transformed(layer, below, hidden, meter), _LayerState(*(meter.new(batch, hidden) for _ in range(4)))
        for n in range(steps):  # no view of x may survive it
            _advance(layer, alpha, state, x[n], into)
        if above is None:
            np.subtract(state.y, data.target, out=state.p)
        for n in reversed(range(steps)):
            if above is not None:
                np.add(state.p, above[n], out=state.p)
            change = _retreat(layer, alpha, state, x[n], gradient, into)
            _transform_gradient(gradient, change, below[n])
            x[n] = change
        meter.drop(state.y, state.z, state.p, state.q)
        del state
        if above is not None:
            meter.drop(above)
            above = None
        if number:
            meter.drop(below)
            del below
            above = meter.new(steps, batch, hidden)
            np.matmul(x, layer.V, out=above)
        meter.drop(x)
        del x
    return gradients


def _transformed(layer: MeteredLayer, below: Array, hidden: int, meter: Meter) -> Array:
    """V y^{l−1}_n + b for all n by one product."""
    x = meter.new(below.shape[0], below.shape[1], hidden)
    _input(layer, below, x)
    return x


def _run(layer: MeteredLayer, alpha: float, below: Array, data: MeteredData, into: _Buffers, meter: Meter) -> Array:
    """y^l_n for all n, in the place of V y^{l−1}_n; ``below`` is dropped unless it is the input signal."""
    x = _transformed(layer, below, data.target.shape[1], meter)
    if below is not data.u:
        meter.drop(below)
    state = _LayerState(*(meter.new(*data.target.shape) for _ in range(4)))
    for row in x:
        _advance(layer, alpha, state, row, into)
        row[:] = state.y
    meter.drop(state.y, state.z, state.p, state.q)
    return x


def stored(network: MeteredNetwork, data: MeteredData, meter: Meter) -> tuple[Gradient, ...]:
    """y and z of every layer kept for every n on the way forward, read on the way back."""
    states, into, alpha = _states(network, data, meter), _buffers(network, data, meter), network.alpha
    gradients = network.zero_gradient()
    kept = meter.new(len(data.u), len(states), 2, *data.target.shape)
    for n, u in enumerate(data.u):
        below = u
        for number, (layer, state) in enumerate(zip(network.layers, states, strict=True)):
            _input(layer, below, into.s)
            _advance(layer, alpha, state, into.s, into)
            kept[n, number, 0], kept[n, number, 1] = state.y, state.z
            below = state.y
    np.subtract(states[-1].y, data.target, out=states[-1].p)
    for n in reversed(range(len(data.u))):
        for number in reversed(range(len(states))):
            layer, state, gradient = network.layers[number], states[number], gradients[number]
            state.y[:], state.z[:] = kept[n, number]
            below = kept[n, number - 1, 0] if number else data.u[n]
            _input(layer, below, into.s)
            change = _retreat(layer, alpha, state, into.s, gradient, into)
            _transform_gradient(gradient, change, below)
            if number:
                np.matmul(change, layer.V, out=into.product)
                np.add(states[number - 1].p, into.product, out=states[number - 1].p)
    return gradients


ALGORITHMS: dict[str, Algorithm] = {"interleaved": interleaved, "layer_parallel": layer_parallel, "stored": stored}


@dataclass(frozen=True)
class Use:
    """``counted``: the largest number of floats live at once, by the meter. ``traced``: the same from the bytes that
    numpy asked the allocator for, weights and their gradients not included.
    """

    counted: int
    traced: float
    gradients: tuple[Gradient, ...] = field(repr=False)


def floats_of(algorithm: Algorithm, sizes: TrainingSizes, seed: int = 0) -> int:
    """``Use.counted`` of one gradient, without the allocator's account, which takes half of the time."""
    meter = Meter()
    algorithm(network(sizes, seed), data(sizes, seed + 1, meter), meter)
    return meter.peak


def use(algorithm: Algorithm, sizes: TrainingSizes, seed: int = 0) -> Use:
    """One gradient, counted and traced. ``traced`` includes a few small temporaries and Python's own objects."""
    weights = network(sizes, seed)
    gradients = 8 * 2 * sum(layer.w.size + layer.h.size + layer.b.size + layer.V.size for layer in weights.layers)
    meter = Meter()
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        gradient = algorithm(weights, data(sizes, seed + 1, meter), meter)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        if not was_tracing:
            tracemalloc.stop()
    return Use(meter.peak, (peak - before - gradients) / 8, gradient)
