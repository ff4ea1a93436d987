"""The recurrences inside a model, as it ran: X_n = step(n, X_{n−1}) on one sample, whatever its layers are called.

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
from typing import Any

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

ALONE = "its step on one sample alone gives other numbers than in the batch"


@dataclass(frozen=True, eq=False)
class RunLayer:
    """One recurrence along one sample.

    states     X_0 … X_N: blocks (1, size); ``first`` is the n of the first step that can be made again, 1 or 2
    step       (n, X) ↦ X_n from X in the place of X_{n−1}, for copies (k, size) of the sample at once, with its inputs
    reason     why no step can be made again; ``states`` is empty then
    norms      ‖∂E/∂X_n‖₂ over all samples, n = 1..N, where the search for it saw them; else the monitor has them
    largest    largest modulus of each block over all samples, where the search saw them
    bound      what its equation alone says of its states, in words
    broken_at  the first n whose state is not finite, 0 if there is none
    calls      of its module; the first of them is what is looked at
    """

    name: str
    kind: str
    states: list[State]
    step: Callable[[int, State], State] | None
    first: int = 1
    reason: str = ""
    norms: Tensor | None = None
    largest: tuple[float, ...] = ()
    bound: str = ""
    broken_at: int = 0
    calls: int = 1


# --- modules that a monitor follows --------------------------------------------------------------------------------


@dataclass
class Seen:
    """The first call of a followed module, and how many there were."""

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    calls: int = 1


@torch.no_grad()
def of_followed(name: str, module: nn.Module, seen: Seen) -> Iterator[RunLayer]:
    """Its layers and directions along the first sample, to the sample's own end."""
    for layer in _unrolled(name, module, seen):
        yield replace(layer, calls=seen.calls)


def _unrolled(name: str, module: nn.Module, seen: Seen) -> Iterator[RunLayer]:
    arguments = measuring.bound_arguments(module, seen.arguments, seen.keywords)
    sequences = measuring.sequences_of(module, arguments)
    names = measuring.layer_names(name, module)
    last = len(sequences.u) if sequences.lengths is None else int(sequences.lengths[0])
    if isinstance(module, UnICORNN):
        row_before = checked_previous(arguments["previous_input"], sequences, module.index, module.layers[0].w)
        deep, _ = oscillators.trace(module, sequences, row_before, arguments["execution"], None)
        for index, trace in enumerate(deep):
            blocks, at_start = trace.layer.blocks, trace.layer.before
            pairs = zip(blocks["y"], blocks["z"], strict=True)
            path: list[State] = [(at_start["y"][:1], at_start["z"][:1]), *((y[:1], z[:1]) for y, z in pairs)]
            yield _checked(names[index], "UnICORNN", path[: last + 1], _oscillators(module, index, trace.drives))
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
            along: list[State] = [tuple(block[:1] for block in start)]
            along += [tuple(block[n, :1] for block in rows) for n in range(len(inputs))]
            yield _checked(names[index], type(module).__name__, along[: last + 1], _step_of(layers[index].step, drives))
            output = layers[index].output(rows)
            outputs.append(sequences.reversed(output) if is_reverse else output)
        before = layers[first].output(tuple(block[first] for block in sequences.state))
        below = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1)


def _oscillators(network: UnICORNN, index: int, drives: Tensor) -> Callable[[int, State], State]:
    coefficients = network.coefficients(index)
    return lambda n, state: torch_loop.step(state[0], state[1], drives[n - 1, :1], **coefficients)


def _step_of(step: Callable[[int, State, Any], State], drives: Sequence[Any]) -> Callable[[int, State], State]:
    def again(n: int, state: State) -> State:
        count = len(state[0])
        drive = mapped(lambda entry: entry[:1].expand(count, *entry.shape[1:]), drives[n - 1])
        return step(n - 1, state, drive)

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
    which = _returned(calls, places)
    blocks = [[tensors_of(output)[index] for index in which] for output in calls.outputs]
    count, norms = range(len(which)), None
    if any(tensor.grad is not None for output in blocks for tensor in output):
        series = [norms_over_time(torch.stack([_gradient(output[block]) for output in blocks])) for block in count]
        norms = functools.reduce(torch.hypot, series)
    sizes = [torch.stack([output[block].detach().abs().amax() for output in blocks]) for block in count]
    largest = tuple(float(of_block.amax()) for of_block in sizes)  # NaN stays NaN
    finite = torch.isfinite(torch.stack(sizes)).all(0)
    if not bool(finite.all()):
        n = int((~finite).nonzero()[0]) + 1
        reason = f"its state is not finite from step {n} on"
        return RunLayer(name, kind, [], None, reason=reason, norms=norms, largest=largest, broken_at=n)
    if any(tensor.dim() != 2 for output in blocks for tensor in output):
        reason = "its state is no matrix (batch, units)"
        return RunLayer(name, kind, [], None, reason=reason, norms=norms, largest=largest)
    batch = len(blocks[0][0])
    states = [tuple(tensor.detach()[:1] for tensor in output) for output in blocks]

    def step(n: int, state: State) -> State:
        given, count = calls.arguments[n - 1], len(state[0])
        number = -1

        def replaced(tensor: Tensor) -> Tensor:
            nonlocal number
            number += 1
            if number in places:
                return state[places.index(number)]
            if tensor.dim() and len(tensor) == batch:
                return tensor.detach()[:1].expand(count, *tensor.shape[1:])
            return tensor.detach()

        arguments, keywords = mapped(replaced, list(given))
        output = tensors_of(module(*arguments, **keywords))
        return tuple(output[index] for index in which)

    # X_0 may not be among the arguments of the first call: the second step is the first that can be made again
    made = _checked(name, kind, [states[0], *states], step, first=2)
    return replace(made, norms=norms, largest=largest, bound=_bound_of(module, largest, len(blocks)))


def _bound_of(module: nn.Module, largest: Sequence[float], steps: int) -> str:
    """Of torch's own cells with saturating states, from a start within the bound, as far as the entries tell."""
    if type(module) is nn.LSTMCell and largest[0] <= 1 and max(largest) <= steps:
        return "|h_n| ≤ 1, |c_n| ≤ n from c_0 = 0"
    saturates = type(module) is nn.GRUCell or (type(module) is nn.RNNCell and module.nonlinearity == "tanh")
    return "|h_n| ≤ 1 from |h_0| ≤ 1" if saturates and largest[0] <= 1 else ""


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
    name: str, kind: str, states: list[State], step: Callable[[int, State], State], *, first: int = 1
) -> RunLayer:
    """The layer, if its first step gives the same again."""
    if len(states) <= first:
        return RunLayer(name, kind, [], None, reason="there is one step only")
    if any(block.is_complex() for block in states[0]):
        return RunLayer(name, kind, [], None, reason="its state is complex")
    try:
        made = [(step(n, tuple(block.clone() for block in states[n - 1])), n) for n in {first, len(states) - 1}]
    except Exception as error:  # whatever a cell of one's own says to a copy of its arguments
        return RunLayer(name, kind, [], None, reason=f"{type(error).__name__}: {error}".splitlines()[0])
    for again, n in made:
        for one, other in zip(again, states[n], strict=True):
            if one.shape != other.shape or not torch.allclose(one, other, rtol=CLOSE, atol=CLOSE * _size(other)):
                return RunLayer(name, kind, [], None, reason=ALONE)
    return RunLayer(name, kind, states, step, first)


def _size(tensor: Tensor) -> float:
    size = float(tensor.abs().max()) if tensor.numel() else 0.0
    return (size if math.isfinite(size) else 0.0) + torch.finfo(tensor.dtype).tiny
