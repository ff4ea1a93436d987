"""What a walk through a stack is told: its layers, its chunks of time, what it keeps and what it adds up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from torch import Tensor

from odernn.executions.recurrence import Execution, StepCoefficients
from odernn.executions.stack.chunks import Chunk
from odernn.executions.stack.reconstruction import Rebuilt

Mode: TypeAlias = Literal["reversible", "checkpointed"]


class WalkedLayer(NamedTuple):
    """w, h (hidden,), α (), V (hidden, below), b (hidden,) or None, Λ (hidden, skipped) or None."""

    w: Tensor
    step_size: Tensor
    alpha: Tensor
    V: Tensor
    b: Tensor | None
    Lambda: Tensor | None

    @property
    def coefficients(self) -> StepCoefficients:
        """What the recurrence takes."""
        return {"w": self.w, "step_size": self.step_size, "alpha": self.alpha}

    def mapped(self, function: Callable[[Tensor], Tensor]) -> WalkedLayer:
        """``function`` of every tensor that is there."""
        return WalkedLayer(*(None if tensor is None else function(tensor) for tensor in self))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Readout:
    """A loss that is a sum over chunks, ``function(rows of y^L, start)``, and the parameters that it depends on."""

    function: Callable[[Tensor, int], Tensor]
    parameters: tuple[Tensor, ...]

    def __call__(self, rows: Tensor, start: int) -> Tensor:
        """The chunk's contribution, a number, with a graph down to ``rows`` and ``parameters`` and no other leaf."""
        value = self.function(rows, start)
        if value.dim():
            raise ValueError(
                f"The readout of a chunk has shape {tuple(value.shape)}, but contributions are numbers that are added. "
                "Return a sum."
            )
        known = {id(tensor) for tensor in (rows, *self.parameters)}
        if any(id(leaf) not in known for leaf in _leaves(value, self.parameters)):
            raise ValueError(
                "The readout depends on a tensor that requires a gradient and is not among its parameters: it would "
                "get none. Add it to parameters=."
            )
        return value


def _leaves(value: Tensor, inner: Sequence[Tensor]) -> Iterator[Tensor]:
    """The leaves that ``value`` was computed from, without going behind ``inner``."""
    seen = {tensor.grad_fn for tensor in inner if tensor.grad_fn is not None}
    waiting = [value.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name() == "torch::autograd::AccumulateGrad":
            yield node.variable  # type: ignore[attr-defined]
        waiting.extend(following for following, _ in node.next_functions)


@dataclass(frozen=True)
class StackPlan:
    """How a stack is walked: everything but its tensors.

    sources     for each layer the level below and the level that it also sees, or None; level 0 is u, level l is y^l
    is_shifted  a drive at n sees the levels at n − 1
    kept        the chunks before which the states are kept on the way forward
    is_recorded whether there will be a way back
    watch       is told what a reversible walk found at the known states
    """

    runner: Execution
    sources: tuple[tuple[int, int | None], ...]
    is_shifted: bool
    chunks: tuple[Chunk, ...]
    mode: Mode
    kept: frozenset[int]
    tolerance: float
    wants_rows: bool
    is_recorded: bool
    readout: Readout | None = None
    watch: Callable[[Rebuilt], None] | None = None

    @property
    def segments(self) -> list[tuple[Chunk, ...]]:
        """The chunks between known states."""
        if not self.chunks:
            return []
        starts = [0, *sorted(self.kept)]
        return [self.chunks[a:b] for a, b in zip(starts, [*starts[1:], len(self.chunks)], strict=True)]
