"""Layers whose step depends on the time: a clock decides which neurons act, or when something is forgotten."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from odernn.cells.common.sequences import Sequences, State
from odernn.cells.recurrent import LayerRun, RecurrentLayer, RecurrentNetwork, StepFunction, stacked_rows
from odernn.executions.autocast import without_autocast

Time: TypeAlias = int | Tensor
"""A time that all samples share, or (batch, 1) integers."""


class ClockedLayer(RecurrentLayer, ABC):
    """One layer in one direction: state_l = step_l(state_{l−1}, drive_l), l the time."""

    @abstractmethod
    def steppers(self) -> Callable[[Time], StepFunction]:
        """time → the step at that time. Called once a forward pass: evaluate weights here."""

    def stepper(self, time: Time = 0) -> StepFunction:
        """The step at that time, (state, drive) → state."""
        return self.steppers()(time)

    def run(self, below: Tensor, state: State, previous: Tensor | None, start: Time = 0) -> LayerRun:
        """As ``RecurrentLayer.run``; the first row of ``below`` has the time ``start``."""
        drives = self.drives(below).to(state[0].dtype)
        current = state
        rows = []
        with without_autocast(drives):
            stepper_at = self.steppers()
            for n, drive in enumerate(drives.unbind()):
                current = stepper_at(start + n)(current, drive)
                rows.append(current)
        return LayerRun(stacked_rows(rows, state), state)


class ClockedNetwork(RecurrentNetwork, ABC):
    """A stack of clocked layers; ``start`` is the time of the first row, unless ``forward`` is given another one."""

    start: int

    def forward(
        self,
        input: Tensor | PackedSequence,
        state: Any = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
        start: int | Tensor | Sequence[int] | None = None,
    ) -> tuple[Any, Any]:
        """As in every cell; row k of the input, from 0, has the time ``start`` + k.

        start  an integer, or one a sample, (batch,): to go on where a call stopped, pass its state and its ``start``
               plus the steps that each sample made. That of the constructor if not given

        All layers share the clock. A reverse direction has its own: it starts from ``start``, too, at each sample's own
        end. Raises TypeError for a start that is no integer, ValueError for a wrong shape.
        """
        sequences = self.sequences_of(input, state, lengths)
        output, runs = self.run_layers(
            sequences, start=self.start if start is None else checked_start(start, sequences)
        )
        return sequences.output(output), self.final_state(sequences, runs)

    def shown_clock(self) -> list[str]:
        return [f"start={self.start}"] if self.start else []


def checked_integer(name: str, value: Any) -> int:
    """``value`` if it is an integer, of either sign."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, but it is the time of the first row: give an integer.")
    return value


def checked_start(start: Any, sequences: Sequences) -> Time:
    """An integer, or (batch, 1) integers on the device of the input."""
    if not isinstance(start, Tensor | Sequence) or isinstance(start, str | bytes):
        return checked_integer("start", start)
    try:
        times = torch.as_tensor(start, device=sequences.u.device)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"start is {start!r}. Give an integer, or integers (batch,).") from None
    if times.is_floating_point() or times.is_complex() or times.dtype == torch.bool:
        raise TypeError(f"start has dtype {times.dtype}, but it is a time: give integers.")
    batch = sequences.u.shape[1]
    if not sequences.is_batched or tuple(times.shape) != (batch,):
        wanted = f"or integers ({batch},), one a sample" if sequences.is_batched else "as the input is unbatched"
        raise ValueError(f"start has shape {tuple(times.shape)}. Give an integer, {wanted}.")
    return times.long().unsqueeze(1)
