"""Norms of hidden states over time: the measured side of every state bound."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import torch

from verification.instance import Instance, Layer
from verification.system import UNICORNN, System

CPU = torch.device("cpu")

Array: TypeAlias = Any
"""What ``array_of`` gives: numpy's or torch's."""

WritingStep: TypeAlias = Callable[[Array, Array, Array, Array, Array], None]
"""Of y_{n-1}, z_{n-1}, x_n and the places of y_n and z_n, which it writes."""


def envelope(values: torch.Tensor, norm: str, multiplicity: torch.Tensor | None = None) -> torch.Tensor:
    """Largest norm over the batch at every step: (time, batch, hidden) -> (time,), float64, on the same device.

    ``norm`` is "max" (largest modulus over neurons) or "euclidean" (over neurons, each counted ``multiplicity`` times).
    NaN is kept: a run that is not finite stays visible.
    """
    values = values.to(torch.float64)
    if values.shape[1] == 0 or values.shape[2] == 0:
        return values.new_zeros(values.shape[0])
    if norm == "max":
        values = values.flatten(1)
        return torch.maximum(-values.amin(dim=1), values.amax(dim=1))  # aminmax takes half as long again
    if multiplicity is None:
        norms: torch.Tensor = torch.linalg.vector_norm(values, dim=2)
        return norms.amax(dim=1)
    return (values.square() @ multiplicity.to(values.dtype)).amax(dim=1).sqrt()


def run_layer(
    system: System, drive: torch.Tensor, *, w: Any, step_size: Any, alpha: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """All states of one layer from zero: drive (time, batch, hidden) -> y, z of the same shape; row n − 1 is step n."""
    states = [drive.new_zeros(1 + drive.shape[0], *drive.shape[1:]) for _ in range(2)]
    with torch.no_grad(), np.errstate(all="ignore"):
        write = writing_step(system, states[0][0], w=w, step_size=step_size, alpha=alpha)
        y, z = map(array_of, states)
        for x, y_now, z_now, y_next, z_next in zip(array_of(drive), y, z, y[1:], z[1:], strict=False):
            write(y_now, z_now, x, y_next, z_next)
    return states[0][1:], states[1][1:]


def run_layers(
    system: System, drive: torch.Tensor, *, w: torch.Tensor, step_sizes: Sequence[float], alpha: float, relay: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """All states of a chain of single neurons, one a layer, from zero: y, z (1 + time, layers, batch); row 0 is zero.

    Layer 1 sees drive (time, batch), layer q > 1 ``relay`` · y^{q−1}; w is (layers, batch) or (layers, 1).
    """
    depth, batch = len(step_sizes), drive.shape[1]
    start = drive.new_zeros(depth, batch)
    front = SlantedFront(system, start, w=w, step_sizes=step_sizes, alpha=alpha, relay=relay)
    y, z = front.advance(start, start, drive)
    size, strides = (1 + drive.shape[0], depth, batch), (depth * batch, (depth + 1) * batch, 1)
    return y.as_strided(size, strides), z.as_strided(size, strides)  # layer q of step n stands in row n + q


class SlantedFront:
    """Such a chain for states (layers, batch) of the shape of ``like``, all layers of which take their steps at once.

    Row r of a run has layer q (from 0) after step r − q: y^{q−1}_n, which layer q needs for its step n, is in the row
    before. w, step sizes, α and relay are as for ``run_layers``.
    """

    def __init__(
        self,
        system: System,
        like: torch.Tensor,
        *,
        w: torch.Tensor,
        step_sizes: Sequence[float],
        alpha: float,
        relay: float,
    ) -> None:
        h = torch.tensor(step_sizes, dtype=like.dtype, device=like.device)[:, None].expand(like.shape)
        self.shape, self.relay, inputs = like.shape, relay, torch.empty_like(like)
        self._inputs = array_of(inputs)

        @cache
        def of_layers(low: int, high: int) -> WritingStep:
            at = slice(low, high)
            return writing_step(system, inputs[at], w=w.expand(like.shape)[at], step_size=h[at], alpha=alpha)

        self._of_layers = of_layers

    def advance(self, y: torch.Tensor, z: torch.Tensor, drive: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """y, z (time + layers, layers, batch) under drive (time, batch): row 0 is the start, the last row the end."""
        time, depth, inputs = len(drive), len(y), self._inputs
        fronts = [start.new_empty(time + depth, *start.shape) for start in (y, z)]
        fronts[0][0], fronts[1][0] = y, z
        ys, zs = map(array_of, fronts)
        xs = itertools.chain(array_of(drive[:, None]), itertools.repeat(inputs[:1], depth - 1))
        with torch.no_grad(), np.errstate(all="ignore"):
            of_all = self._of_layers(0, depth)
            for row, (x, *states) in enumerate(zip(xs, ys, zs, ys[1:], zs[1:], strict=False), start=1):
                if depth > 1:
                    inputs[:1], inputs[1:] = x, self.relay * states[0][:-1]
                    x = inputs
                if depth <= row <= time:
                    of_all(states[0], states[1], x, states[2], states[3])
                else:
                    self._move_some(slice(max(0, row - time), min(depth, row)), states)
        return fronts[0], fronts[1]

    def _move_some(self, at: slice, states: list[Array]) -> None:
        """A row in which only these layers take a step."""
        states[2][:], states[3][:] = states[0], states[1]
        y_now, z_now, y_next, z_next = (state[at] for state in states)
        self._of_layers(at.start, at.stop)(y_now, z_now, self._inputs[at], y_next, z_next)


# --- steps in given memory, for searches that take millions of them


def array_of(tensor: torch.Tensor) -> Array:
    """The tensor's own memory as an array of numpy, whose calls cost a third of torch's and round alike, on the CPU;
    elsewhere the tensor.
    """
    return tensor.detach().numpy() if tensor.device == CPU else tensor.detach()


def writing_step(system: System, like: torch.Tensor, *, w: Any, step_size: Any, alpha: Any) -> WritingStep:
    """The system's step for states of the shape of ``like``, written where it is told; its arguments are arrays of
    ``array_of``. UnICORNN's own is computed in place, any other is called.
    """
    if system.step is UNICORNN.step:
        return _of_unicornn(like, w, step_size, alpha)

    def write(y: Array, z: Array, x: Array, y_next: Array, z_next: Array) -> None:
        moved = system.step(*map(torch.as_tensor, (y, z, x)), w=w, step_size=step_size, alpha=alpha)
        for new, place in zip(moved, map(torch.as_tensor, (y_next, z_next)), strict=True):
            if (new.shape, new.dtype) != (place.shape, place.dtype):
                said, wanted = (f"{tuple(state.shape)}, {state.dtype}" for state in (new, place))
                raise ValueError(
                    f"The step of {system.name} gives a state of {said}. Wanted: {wanted}, as it was given."
                )
            place.copy_(new)

    return write


def _of_unicornn(like: torch.Tensor, w: Any, step_size: Any, alpha: Any) -> WritingStep:
    """z_n = z_{n−1} − h (tanh(w y_{n−1} + x_n) + α y_{n−1}), y_n = y_{n−1} + h z_n.

    With the roundings of ``odernn.executions.torch_loop.step``: each operation by itself (addcmul may fuse two),
    and tanh by torch. numpy warns of overflow unless ``np.errstate`` says otherwise.
    """
    rate_tensor = torch.empty_like(like, memory_format=torch.contiguous_format)
    rate, product = array_of(rate_tensor), array_of(torch.empty_like(rate_tensor))
    ops: Any = torch if isinstance(rate, torch.Tensor) else np
    multiply, add, subtract = ops.multiply, ops.add, ops.subtract
    weight, h, stiffness = (
        array_of(torch.as_tensor(value, dtype=like.dtype, device=like.device).expand(like.shape).contiguous())
        for value in (w, step_size, alpha)
    )

    def write(y: Array, z: Array, x: Array, y_next: Array, z_next: Array) -> None:
        add(multiply(weight, y, out=rate), x, out=rate)
        rate_tensor.tanh_()
        add(rate, multiply(stiffness, y, out=product), out=rate)
        subtract(z, multiply(rate, h, out=rate), out=z_next)
        add(y, multiply(h, z_next, out=product), out=y_next)

    return write


# --- instances


def run_instance(
    system: System, instance: Instance, layer: int, device: torch.device | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """y, z (time, 1, groups) of ``layer`` (from 1) and the groups' multiplicities, float64, by default on the CPU."""
    on = device or torch.device("cpu")
    below = _inputs_of(instance, on)[:, None, :]
    counts = torch.ones_like(below[0, 0])
    alpha = float(instance.alpha)
    for one_layer in instance.layers[:layer]:
        drive = _drive_of(one_layer, below * counts)
        w = _numbers([float(g.w) for g in one_layer.groups], on)
        below, momenta = run_layer(system, drive, w=w, step_size=_steps_of(one_layer, on), alpha=alpha)
        counts = _numbers([float(g.multiplicity) for g in one_layer.groups], on)
    return below, momenta, counts


class NotAChainError(ValueError):
    """Networks that ``run_chains`` cannot run at once: says which one, which part of it, and what that is."""


def run_chains(
    system: System, instances: Sequence[Instance], layer: int, device: torch.device | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """y, z (time, instances) of ``layer`` of chains that differ in inputs, recurrent weights and what drives the first
    layer alone: what ``run_instance`` finds, all at once.

    A chain has one group in every layer and above the first one no bias and the same weight everywhere. NotAChainError
    for anything else.
    """
    on, layers = device or torch.device("cpu"), instances[0].layers[:layer]
    relay = _relay_of(instances, layer)
    drives = [_drive_of(instance.layers[0], _inputs_of(instance, on)) for instance in instances]
    w = _numbers([[float(i.layers[q].groups[0].w) for i in instances] for q in range(layer)], on)
    y, z = run_layers(
        system,
        torch.cat(drives, dim=1),
        w=w,
        step_sizes=[float(_steps_of(one_layer, on)) for one_layer in layers],
        alpha=float(instances[0].alpha),
        relay=relay,
    )
    return y[1:, -1], z[1:, -1]


def _relay_of(instances: Sequence[Instance], layer: int) -> float:
    """The weight between two layers, times the neurons below. NotAChainError as for ``run_chains``."""
    first, relays = instances[0], set()
    for number, instance in enumerate(instances, 1):
        for name, found, wanted in (
            ("α", instance.alpha, first.alpha),
            ("N", instance.steps, first.steps),
            ("system", instance.system, first.system),
        ):
            if found != wanted:
                raise NotAChainError(f"{name} of network {number} is {found}, but {wanted} in the first one.")
        for q, (one_layer, same) in enumerate(zip(instance.layers[:layer], first.layers, strict=False), 1):
            where = f"layer {q} of network {number}"
            if len(one_layer.groups) != 1:
                raise NotAChainError(f"There are {len(one_layer.groups)} groups in {where}; a chain has one.")
            if (one_layer.dt, one_layer.groups[0].c) != (same.dt, same.groups[0].c):
                raise NotAChainError(f"dt or c in {where} is not that of the first network.")
            if q > 1 and one_layer.groups[0].bias:
                raise NotAChainError(
                    f"The bias in {where} is {one_layer.groups[0].bias}; above the first layer it is 0."
                )
        for below, above in itertools.pairwise(instance.layers[:layer]):
            relays.add(float(below.groups[0].multiplicity) * float(above.input_weights[0][0]))
    if len(relays) > 1:
        raise NotAChainError(f"Between layers stand the weights {sorted(relays)}; a chain has the same everywhere.")
    return relays.pop() if relays else 0.0


def _inputs_of(instance: Instance, device: torch.device) -> torch.Tensor:
    """(time, channels)."""
    size, runs = instance.inputs.size, instance.inputs.runs
    rows = [[float(value) for value in values] * (size if len(values) == 1 else 1) for _, values in runs]
    counts = torch.tensor([count for count, _ in runs], device=device)
    return _numbers(rows, device).repeat_interleave(counts, dim=0)


def _drive_of(layer: Layer, below: torch.Tensor) -> torch.Tensor:
    """What a layer is driven by, (..., groups), from the groups or channels below it, each as often as it is there."""
    weights = _numbers([[float(v) for v in row] for row in layer.input_weights], below.device)
    return below @ weights.T + _numbers([float(group.bias) for group in layer.groups], below.device)


def _steps_of(layer: Layer, device: torch.device) -> torch.Tensor:
    """h of its groups."""
    return float(layer.dt) * torch.sigmoid(_numbers([float(group.c) for group in layer.groups], device))


def _numbers(values: Any, device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, device=device)
