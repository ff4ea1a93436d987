"""The recurrences inside a model, as it ran: X_n = step(n, X_{n−1}) on some samples, whatever its layers are called.

followed   cells of odernn and torch.nn.LSTM, GRU, RNN: unrolled by ``verification.monitors``, layer by layer
by steps   any other module that is called again and again, each time with what its last call returned: nn.LSTMCell in
           a loop, or a cell of one's own. Its state is that part of its arguments
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from odernn.cells.unicornn import UnICORNN
from odernn.cells.unicornn.arguments import checked_previous
from odernn.executions import torch_loop
from verification.monitors import measuring, oscillators
from verification.monitors.calls import mapped, tensors_of
from verification.monitors.unrolled import norms_over_time

State = tuple[Tensor, ...]
CLOSE = 1e-3
"""How far a step, made again on one sample, may be from the first one, relative to its size."""

SAMPLES = 8
"""The first ones are followed, or all if there are fewer."""

Step: TypeAlias = Callable[[int, State, Tensor], State]
"""(n, X, which) ↦ X_n from rows X (rows, size) in the place of X_{n−1}, row i with the inputs of sample which[i]."""

ALONE = "its step on one sample alone gives other numbers than in the batch"


@dataclass(frozen=True, eq=False)
class RunLayer:
    """One recurrence along the first samples, K of them.

    states     X_0 … X_N: blocks (K, size); ``first`` is the n of the first step that can be made again, 1 or 2
    ends       N of each sample
    step       makes one step again
    reason     why no step can be made again; ``states`` is empty then
    norms      ‖∂E/∂X_n‖₂ over all samples, n = 1..N, where the search for it saw them; else the monitor has them
    largest    largest modulus of each block over all samples, where the search saw them
    starts_at_zero   whether every block of the state was zero at the start; True where nobody knows
    module     whose recurrence it is: the cell, or the network, with ``index`` among its layers and directions
    broken_at  the first n whose state is not finite, 0 if there is none
    calls      of its module; the first of them is what is looked at
    """

    name: str
    kind: str
    states: list[State]
    step: Step | None
    ends: tuple[int, ...] = ()
    first: int = 1
    reason: str = ""
    norms: Tensor | None = None
    largest: tuple[float, ...] = ()
    starts_at_zero: bool = True
    module: nn.Module | None = None
    index: int = 0
    broken_at: int = 0
    calls: int = 1

    @property
    def samples(self) -> int:
        return len(self.ends)


# --- modules that a monitor follows --------------------------------------------------------------------------------


@dataclass
class Seen:
    """The first call of a followed module, and how many there were."""

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    calls: int = 1


@torch.no_grad()
def of_followed(name: str, module: nn.Module, seen: Seen, samples: int = SAMPLES) -> Iterator[RunLayer]:
    """Its layers and directions along the first samples, each to its own end."""
    for index, layer in enumerate(_unrolled(name, module, seen, samples)):
        yield replace(layer, calls=seen.calls, module=module, index=index)


def _unrolled(name: str, module: nn.Module, seen: Seen, samples: int) -> Iterator[RunLayer]:
    arguments = measuring.bound_arguments(module, seen.arguments, seen.keywords)
    sequences = measuring.sequences_of(module, arguments)
    names = measuring.layer_names(name, module)
    lengths = [len(sequences.u)] * sequences.u.shape[1] if sequences.lengths is None else sequences.lengths.tolist()
    ends = tuple(lengths[:samples])
    if isinstance(module, UnICORNN):
        row_before = checked_previous(arguments["previous_input"], sequences, module.index, module.layers[0].like)
        deep, _ = oscillators.trace(module, sequences, row_before, arguments["execution"], None)
        for index, trace in enumerate(deep):
            blocks, at_start = trace.layer.blocks, trace.layer.before
            along: list[State] = [tuple(at_start[block][:samples] for block in "yz")]
            along += [(y[:samples], z[:samples]) for y, z in zip(blocks["y"], blocks["z"], strict=True)]
            yield _checked(names[index], "UnICORNN", along, _oscillators(module, index, trace.drives), ends)
        return
    layers, directions, _, previous = measuring.recurrences(module, sequences, arguments)
    below = sequences.u
    before = below.new_zeros(below.shape[1:]) if previous is None else previous
    for first in range(0, len(layers), directions):
        outputs = []
        for index in range(first, first + directions):
            is_reverse = index > first
            inputs = sequences.reversed(below) if is_reverse else below
            start = tuple(block[index] for block in sequences.state)
            rows = layers[index].rows(inputs, start, None if is_reverse else before)
            drives = layers[index].drives(inputs, None if is_reverse else before)
            along = [tuple(block[:samples] for block in start)]
            along += [tuple(block[n, :samples] for block in rows) for n in range(len(inputs))]
            yield _checked(names[index], type(module).__name__, along, _step_of(layers[index].step, drives), ends)
            output = layers[index].output(rows)
            outputs.append(sequences.reversed(output) if is_reverse else output)
        before = layers[first].output(tuple(block[first] for block in sequences.state))
        below = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1)


def _oscillators(network: UnICORNN, index: int, drives: Tensor) -> Step:
    coefficients = network.coefficients(index)
    return lambda n, state, which: torch_loop.step(state[0], state[1], drives[n - 1, which], **coefficients)


def _step_of(step: Callable[[int, State, Any], State], drives: Sequence[Any]) -> Step:
    def again(n: int, state: State, which: Tensor) -> State:
        return step(n - 1, state, mapped(lambda entry: entry[which], drives[n - 1]))

    return again


# --- cells that are called step by step -----------------------------------------------------------------------------


@dataclass
class _StepCalls:
    """All calls of one module in one forward pass."""

    arguments: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)


class StepCalls:
    """Looks at every module that no monitor follows: ``found`` names those that take what their last call returned."""

    def __init__(self, model: nn.Module, followed: Sequence[str]) -> None:
        inside = tuple(f"{name}." if name else "" for name in followed)
        self._modules = {
            name: module
            for name, module in model.named_modules()
            if name and name not in followed and not name.startswith(inside or ("\0",))
        }
        self.calls: dict[str, _StepCalls] = {}

    @contextmanager
    def looking(self, among: Iterable[str] | None = None) -> Iterator[None]:
        """Keep the calls of these modules, all without ``among``; of those the blocks of a state get copies.

        A copy of each block is what the next step takes, so that a block's gradient is not also that of the other
        blocks, which the same step makes of it: c_n of an LSTM, h_n = o tanh(c_n). A state of one block needs none.
        """
        names = list(self._modules if among is None else among)
        copied = {} if among is None else {name: len(_places(self.calls[name]) or ()) > 1 for name in names}
        self.calls = {name: _StepCalls() for name in names}
        handles = [
            self._modules[name].register_forward_hook(self._hook(name, copied.get(name, False)), with_kwargs=True)
            for name in names
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _hook(self, name: str, is_copied: bool) -> Callable[..., Any]:
        def keep(_: nn.Module, arguments: Any, keywords: Any, output: Any) -> Any:
            if is_copied:
                copies: dict[int, Tensor] = {}
                output = mapped(lambda tensor: copies.setdefault(id(tensor), tensor.clone()), output)
            self.calls[name].arguments.append((arguments, keywords))
            self.calls[name].outputs.append(output)
            return output

        return keep

    def found(self) -> list[str]:
        """The outermost ones."""
        names: list[str] = []
        for name, calls in self.calls.items():
            if not any(name.startswith(f"{outer}.") for outer in names) and _places(calls) is not None:
                names.append(name)
        return names

    def keep_gradients(self) -> None:
        """Between forward and backward pass: a state that its next step uses gets its total derivative."""
        for calls in self.calls.values():
            for output in calls.outputs:
                for tensor in tensors_of(output):
                    if tensor.requires_grad:
                        tensor.retain_grad()

    def layers(self) -> Iterator[RunLayer]:
        for name in self.found():
            yield _of_steps(name, self._modules[name], self.calls[name])


def _places(calls: _StepCalls) -> list[int] | None:
    """Where among a call's argument tensors those stand that the call before returned; None if nowhere, always."""
    if len(calls.outputs) < 3:
        return None
    found: list[int] | None = None
    for given, before in zip(calls.arguments[1:], calls.outputs[:-1], strict=True):
        returned = {id(tensor) for tensor in tensors_of(before)}
        here = [index for index, tensor in enumerate(tensors_of(list(given))) if id(tensor) in returned]
        if not here or (found is not None and here != found):
            return None
        found = here
    return found


def _of_steps(name: str, module: nn.Module, calls: _StepCalls) -> RunLayer:
    kind = type(module).__name__
    places = _places(calls)
    assert places is not None
    returned = _returned(calls, places)
    blocks = [[tensors_of(output)[index] for index in returned] for output in calls.outputs]
    count, norms = range(len(returned)), None
    if any(tensor.grad is not None for output in blocks for tensor in output):
        series = [_norms([_gradient(output[block]) for output in blocks]) for block in count]
        norms = functools.reduce(torch.hypot, series)
    sizes = [torch.stack([output[block].detach().abs().amax() for output in blocks]) for block in count]
    largest = tuple(float(of_block.amax()) for of_block in sizes)  # NaN stays NaN
    finite = torch.isfinite(torch.stack(sizes)).all(0)
    if not bool(finite.all()):
        n = int((~finite).nonzero()[0]) + 1
        reason = f"its state is not finite from step {n} on"
        return RunLayer(name, kind, [], None, reason=reason, norms=norms, largest=largest, broken_at=n, module=module)
    if any(tensor.dim() != 2 or not tensor.numel() for output in blocks for tensor in output):
        shape = " × ".join(map(str, blocks[0][0].shape)) or "one number"
        reason = f"its state is no matrix (batch, units) but {shape}"
        at_zero = not any(bool(block.any()) for block in _start(calls, places))
        found = RunLayer(name, kind, [], None, reason=reason, norms=norms, largest=largest, module=module)
        return replace(found, starts_at_zero=at_zero)
    batch = len(blocks[0][0])
    states = [tuple(tensor.detach()[:SAMPLES] for tensor in output) for output in blocks]

    def step(n: int, state: State, which: Tensor) -> State:
        given = calls.arguments[n - 1]
        number = -1

        def replaced(tensor: Tensor) -> Tensor:
            nonlocal number
            number += 1
            if number in places:
                return state[places.index(number)]
            if tensor.dim() and len(tensor) == batch:
                return tensor.detach()[which]
            return tensor.detach()

        arguments, keywords = mapped(replaced, list(given))
        output = tensors_of(module(*arguments, **keywords))
        return tuple(output[index] for index in returned)

    # X_0 may not be among the arguments of the first call: the second step is the first that can be made again
    ends = (len(states),) * len(states[0][0])
    made = _checked(name, kind, [states[0], *states], step, ends, first=2)
    at_zero = not any(bool(block.any()) for block in _start(calls, places))
    return replace(made, norms=norms, largest=largest, module=module, starts_at_zero=at_zero)


def _start(calls: _StepCalls, places: Sequence[int]) -> list[Tensor]:
    """What stands in the first call where later ones have the state; nothing where it has none, which is zero."""
    first, second = (tensors_of(list(given)) for given in calls.arguments[:2])
    return [first[place] for place in places] if len(first) == len(second) else []


def _norms(gradients: Sequence[Tensor]) -> Tensor:
    """A state of one number is one of one unit."""
    return norms_over_time(torch.stack([each.reshape(-1) for each in gradients]))


def _gradient(state: Tensor) -> Tensor:
    """0 where nothing of it is used."""
    return torch.zeros_like(state) if state.grad is None else state.grad


def _returned(calls: _StepCalls, places: Sequence[int]) -> list[int]:
    """Which of the tensors that a call returns are the state that the next one takes, in the order of ``places``."""
    given = tensors_of(list(calls.arguments[1]))
    returned = [id(tensor) for tensor in tensors_of(calls.outputs[0])]
    return [returned.index(id(given[place])) for place in places]


@torch.no_grad()
def _checked(
    name: str, kind: str, states: list[State], step: Step, ends: tuple[int, ...], *, first: int = 1
) -> RunLayer:
    """The layer, if its first and last steps give the same again, of one sample alone and of all together."""
    at_zero = not any(bool(block.any()) for block in states[0])
    layer = RunLayer(name, kind, states, step, ends, first, starts_at_zero=at_zero)
    reason = ""
    if len(states) <= first:
        reason = "there is one step only"
    elif any(block.is_complex() for block in states[0]):
        reason = "its state is complex"
    elif not all(bool(torch.isfinite(block).all()) for state in states for block in state):
        reason = "its state is not finite"
    else:
        reason = _difference(layer)
    return replace(layer, states=[], step=None, ends=(), reason=reason) if reason else layer


def _difference(layer: RunLayer) -> str:
    """What differs where a step is made again, "" if nothing does. The last step is that of the shortest sample."""
    assert layer.step is not None
    every = torch.arange(layer.samples, device=layer.states[0][0].device)
    for n in {layer.first, max(layer.first, min(layer.ends))}:
        for which in (every[:1], every):
            before = tuple(block[which].clone() for block in layer.states[n - 1])
            try:
                again = layer.step(n, before, which)
            except Exception as error:  # whatever a cell of one's own says to a copy of its arguments
                return f"{type(error).__name__}: {error}".splitlines()[0]
            for one, block in zip(again, layer.states[n], strict=True):
                other = block[which]
                if one.shape != other.shape or not torch.allclose(one, other, rtol=CLOSE, atol=CLOSE * _size(other)):
                    return ALONE
    return ""


def _size(tensor: Tensor) -> float:
    size = float(tensor.abs().max()) if tensor.numel() else 0.0
    return (size if math.isfinite(size) else 0.0) + torch.finfo(tensor.dtype).tiny
