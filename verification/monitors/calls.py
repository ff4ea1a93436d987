"""What a hook keeps of one call of a recurrent module, so that the call can be repeated after the optimizer's step.

Nothing here has a graph: arguments are detached, gradients and weights are copies. The generators' states are read, and
put back after a repetition.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

R = TypeVar("R")


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors in nested tuples, lists, dicts and packed sequences, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, PackedSequence):
        return [value.data]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for part in value for tensor in tensors_of(part)] if isinstance(value, (tuple, list)) else []


def mapped(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    """The same structure, named tuples too, with ``function`` of each tensor, in the order of ``tensors_of``."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, PackedSequence):
        return value._replace(data=function(value.data))
    if isinstance(value, (tuple, list)):
        parts = [mapped(function, part) for part in value]
        if hasattr(value, "_make"):
            return value._make(parts)
        return parts if isinstance(value, list) else tuple(parts)
    return {key: mapped(function, part) for key, part in value.items()} if isinstance(value, dict) else value


def detached(value: Any) -> Any:
    """The same numbers without a graph."""
    return mapped(Tensor.detach, value)


def shown_of(rows: Tensor) -> Tensor:
    """Entries of the first axis at equal distances, 16 to 31 of them if there are as many: enough to know a run by."""
    return rows.detach()[:: max(1, len(rows) // 16)]


@dataclass
class Call:
    """One call, as the module saw it.

    arguments, keywords   detached
    weights               copies of the module's parameters and buffers, by name
    has_graph             whether autograd recorded it
    has_ended             whether it returned; else it raised, or is under way
    output                what it returned, detached; ``shown`` a copy of some of its entries, as the caller may go on
                          in place
    gradients             ∂E/∂ of each tensor that it returned, as autograd has it; None if none came
    awaited               the hooks that wait for these gradients; they live as long as the graph does
    lost                  why one of them could not be kept
    through_output        of each of them, whether it was made from the first: then that one's gradient has its share
    modes                 whether each of its submodules, itself first, was in training
    autocast              device type, dtype, whether it was on
    generators            where they were before, if the module draws from them
    """

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    weights: dict[str, Tensor]
    modes: list[bool]
    has_graph: bool
    autocast: tuple[str, torch.dtype, bool]
    generators: list[tuple[torch.device, Tensor]]
    has_ended: bool = False
    output: Any = None
    shown: Tensor | None = None
    gradients: list[Tensor | None] = field(default_factory=list)
    awaited: list[weakref.ref[_Arrival]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    through_output: list[bool] = field(default_factory=list)

    @classmethod
    def begin(cls, module: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Call:
        """Before the module runs: its arguments and weights, and the generators if it will draw from them."""
        named = [*module.named_parameters(), *module.named_buffers()]
        device = next((value.device for _, value in named), torch.device("cpu"))
        draws = module.training and float(getattr(module, "dropout", 0.0)) > 0.0
        kind = device.type
        return cls(
            detached(arguments),
            detached(keywords),
            {name: value.detach().clone() for name, value in named},
            [part.training for part in module.modules()],
            torch.is_grad_enabled(),
            (kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind)),
            [(drawn_on, _state(drawn_on)) for drawn_on in dict.fromkeys((torch.device("cpu"), device))]
            if draws
            else [],
        )

    def end(self, output: Any) -> None:
        """After it ran: wait for the gradients of what it returned."""
        returned = tensors_of(output)
        self.output, self.has_ended = detached(output), True
        self.shown = shown_of(returned[0]).clone() if returned and returned[0].dim() else None
        self.gradients = [None] * len(returned)
        self.through_output = [False] * len(returned)
        for place, tensor in enumerate(returned):
            self.through_output[place] = place > 0 and _is_made_from(tensor, returned[0])
            if tensor.requires_grad:
                arrival = _Arrival(self.gradients, place, self.lost)
                self.awaited.append(weakref.ref(arrival))
                tensor.register_hook(arrival)

    @property
    def has_gradients(self) -> bool:
        return any(gradient is not None for gradient in self.gradients)

    @property
    def is_abandoned(self) -> bool:
        """Whether its graph is gone and no gradient came: of a step that failed, of an evaluation with a graph."""
        return bool(self.awaited) and not self.has_gradients and all(reference() is None for reference in self.awaited)

    def gives_way(self, module: nn.Module) -> bool:
        """Whether the call that begins now is rather the one to keep: it is more likely to be that of training."""
        if not self.has_ended:  # it raised
            return True
        if self.has_gradients or not torch.is_grad_enabled():
            return False
        return not self.has_graph or self.is_abandoned or (module.training and not self.modes[0])

    def repeated(self, module: nn.Module, function: Callable[[], R]) -> R:
        """``function()`` while the module has the weights, the mode and the generators of the call; no autograd.

        All of them are put back, whatever happens.
        """
        kind, dtype, enabled = self.autocast
        parts = list(module.modules())
        before = [part.training for part in parts]
        with (
            torch.inference_mode(False),  # in it single steps would have no derivatives, and no error
            torch.no_grad(),
            _drawing_from(self.generators),
            torch.autocast(kind, dtype=dtype, enabled=enabled),
        ):
            try:
                _set_modes(parts, self.modes)
                named = {f"module.{name}": value for name, value in self.weights.items()}
                result: R = torch.func.functional_call(_Asked(module, function), named, ())
            finally:
                _set_modes(parts, before)
        return result


def _set_modes(parts: list[nn.Module], modes: list[bool]) -> None:
    for part, mode in zip(parts, modes, strict=True):
        part.training = mode


NEAR = 24
"""Operations between the rows of a layer and the last of them in what a module returns: a few."""


def _is_made_from(tensor: Tensor, other: Tensor) -> bool:
    """Whether autograd would pass a derivative by ``tensor`` on to ``other``, over at most NEAR operations."""
    if other.grad_fn is None or tensor.grad_fn is None:
        return False
    wanted: tuple[Any, int] = (other.grad_fn, other.output_nr)
    level: list[tuple[Any, int]] = [(tensor.grad_fn, tensor.output_nr)]
    seen: set[Any] = set()
    for _ in range(NEAR):
        if wanted in level:
            return True
        nodes = {node for node, _ in level if node is not None and node not in seen}
        seen |= nodes
        level = [edge for node in nodes for edge in node.next_functions]
    return False


class _Arrival:
    """Keeps a gradient when it is computed, and does not change it. Holds the lists, not the tensor."""

    def __init__(self, gradients: list[Tensor | None], place: int, lost: list[str]) -> None:
        self.gradients, self.place, self.lost = gradients, place, lost

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def __call__(self, gradient: Tensor | None) -> None:
        if gradient is None:  # compiled graphs pass on what nobody asked for
            return
        try:
            kept = gradient.detach().clone()  # the engine may go on adding into its own memory
            before = self.gradients[self.place]
            self.gradients[self.place] = kept if before is None else before + kept
        except Exception as error:  # such as a device without room: the derivative itself goes on
            self.lost.append(f"{type(error).__name__}: {error}")


class _Asked(nn.Module):
    """A function of a module, so that ``torch.func.functional_call`` can put other weights into the module."""

    def __init__(self, module: nn.Module, function: Callable[[], Any]) -> None:
        super().__init__()
        self.module, self.function = module, function

    def forward(self) -> Any:
        return self.function()


def _state(device: torch.device) -> Tensor:
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def _set_state(device: torch.device, state: Tensor) -> None:
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)


@contextmanager
def _drawing_from(generators: list[tuple[torch.device, Tensor]]) -> Iterator[None]:
    """The generators begin there, and afterwards are where they were."""
    before = [(device, _state(device)) for device, _ in generators]
    try:
        for device, state in generators:
            _set_state(device, state)
        yield
    finally:
        for device, state in before:
            _set_state(device, state)
