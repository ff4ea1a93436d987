"""The caller's layout of a batch of sequences, and the layout of the recurrence: (time, batch, features).

The caller may give (time, batch, ·), (batch, time, ·) with batch_first, (time, ·) unbatched, or a PackedSequence, and
lengths in any order. Inside there is one layout, and what lies beyond a sample's own end is zero: padding that holds
NaN changes nothing, gradients included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from odernn.cells.common.arguments import check_alike
from odernn.executions.autocast import is_autocasting

State: TypeAlias = tuple[Tensor, ...]


@dataclass(frozen=True)
class Sequences:
    """Inputs and initial state of one call, checked, and the way back to the caller's layout.

    u        (time, batch, input), zero beyond each sample's end
    state    one tensor a block, (layers · directions, batch, size)
    lengths  (batch,) or None if all samples have all steps
    """

    u: Tensor
    state: State
    lengths: Tensor | None
    is_batched: bool
    is_batch_first: bool
    packed: PackedSequence | None

    def inside(self, steps: int) -> Tensor | None:
        """(time, batch, 1), true up to each sample's own end; None if there is no padding."""
        if self.lengths is None:
            return None
        return (torch.arange(steps, device=self.u.device).unsqueeze(1) < self.lengths).unsqueeze(2)

    def reversed(self, rows: Tensor) -> Tensor:
        """rows (time, batch, ·) with each sample's own steps in the opposite order, and its padding left in place."""
        if self.lengths is None:
            return rows.flip(0)
        n = torch.arange(len(rows), device=rows.device).unsqueeze(1)
        source = torch.where(n < self.lengths, self.lengths - 1 - n, n)
        return rows.gather(0, source.unsqueeze(2).expand_as(rows))

    def at_own_end(self, rows: Tensor, before: Tensor) -> Tensor:
        """Row n for each sample's own n: rows (time, batch, ·) hold n = 1..N, before is n = 0."""
        if self.lengths is None or len(rows) == 0:
            return rows[-1] if len(rows) else before
        picked = rows[(self.lengths - 1).clamp(min=0), torch.arange(len(self.lengths), device=rows.device)]
        return torch.where((self.lengths == 0).unsqueeze(1), before, picked)

    def zero_after_end(self, rows: Tensor) -> Tensor:
        """rows (time, batch, ·) with zeros beyond each sample's own end."""
        inside = self.inside(len(rows))
        return rows if inside is None else torch.where(inside, rows, rows.new_zeros(()))

    def row_before(self, previous_input: Any, like: Tensor) -> Tensor:
        """The input before the first, (batch, input), from the caller's: (input,) if unbatched. Checked."""
        if not isinstance(previous_input, Tensor):
            raise TypeError(f"previous_input is a {type(previous_input).__name__}, but it is a tensor, u_0.")
        steps, batch, size = self.u.shape
        shape = (batch, size) if self.is_batched else (size,)
        if tuple(previous_input.shape) != shape:
            raise ValueError(
                f"previous_input has shape {tuple(previous_input.shape)} but an input of {steps} steps and "
                f"{batch} samples needs {shape}."
            )
        given: Tensor = previous_input
        if is_autocasting(like) and given.is_floating_point():
            given = given.to(like.dtype)
        check_alike("previous_input", given, like)
        return given if self.is_batched else given.unsqueeze(0)

    def rows(self, given: Tensor) -> Tensor:
        """A tensor in the caller's layout of ``output``, (time, batch, ·) here."""
        if not self.is_batched:
            return given.unsqueeze(1)
        return given.transpose(0, 1) if self.is_batch_first else given

    def output(self, rows: Tensor) -> Tensor | PackedSequence:
        """(time, batch, ·) in the caller's layout, zero beyond each sample's end."""
        rows = self.zero_after_end(rows)
        if self.packed is not None:
            return _packed_like(self.packed, rows, self.lengths)
        if not self.is_batched:
            return rows.squeeze(1)
        return rows.transpose(0, 1) if self.is_batch_first else rows

    def final(self, state: State) -> State:
        """Blocks (layers · directions, batch, size) in the caller's layout."""
        return state if self.is_batched else tuple(block.squeeze(1) for block in state)


def sequences(
    input: Tensor | PackedSequence,
    state: Any,
    lengths: Tensor | Sequence[int] | None,
    *,
    like: Tensor,
    input_size: int,
    state_names: tuple[str, ...],
    state_sizes: tuple[int, ...],
    count: int,
    batch_first: bool,
) -> Sequences:
    """The arguments of ``forward`` after validation; ``count`` is layers · directions.

    ``like`` is a parameter of the network: it fixes dtype and device. Raises ValueError for a wrong shape, device or
    length and TypeError for a wrong type or dtype; each names the argument.
    """
    packed = input if isinstance(input, PackedSequence) else None
    if packed is not None:
        if lengths is not None:
            raise ValueError("lengths is given with a PackedSequence, which has its own. Leave lengths out.")
        input, lengths = pad_packed_sequence(packed)
        batch_first = False
    elif not isinstance(input, Tensor):
        raise TypeError(f"input is a {type(input).__name__}, but it is a tensor or a PackedSequence.")
    u, is_batched = _checked_input(input, like, input_size, batch_first)
    ends = None if lengths is None else _checked_lengths(lengths, u, is_batched)
    blocks = _checked_state(state, input, like, u.shape[1] if is_batched else None, state_names, state_sizes, count)
    unmasked = Sequences(u, blocks, ends, is_batched, batch_first, packed)
    return (
        unmasked
        if ends is None
        else Sequences(unmasked.zero_after_end(u), blocks, ends, is_batched, batch_first, packed)
    )


def _checked_input(input: Tensor, like: Tensor, input_size: int, batch_first: bool) -> tuple[Tensor, bool]:
    if input.dim() not in (2, 3):
        layouts = "(batch, time, input)" if batch_first else "(time, batch, input)"
        raise ValueError(f"input has shape {tuple(input.shape)}, but it is {layouts}, or (time, input) unbatched.")
    if input.shape[-1] != input_size:
        raise ValueError(
            f"input has shape {tuple(input.shape)}: its last axis is {input.shape[-1]} but input_size is {input_size}."
        )
    if is_autocasting(like) and input.is_floating_point() and input.dtype != like.dtype:
        input = input.to(like.dtype)  # the layer below may have run in fewer digits; so do torch's own modules
    check_alike("input", input, like)
    if input.dim() == 2:
        return input.unsqueeze(1), False
    return (input.transpose(0, 1) if batch_first else input), True


def _checked_state(
    state: Any,
    input: Tensor,
    like: Tensor,
    batch: int | None,
    names: tuple[str, ...],
    sizes: tuple[int, ...],
    count: int,
) -> State:
    middle = () if batch is None else (batch,)
    if state is None:
        return tuple(like.new_zeros((count, 1 if batch is None else batch, size)) for size in sizes)
    blocks = (state,) if len(names) == 1 and isinstance(state, Tensor) else state
    is_tuple = isinstance(blocks, (tuple, list)) and all(isinstance(block, Tensor) for block in blocks)
    if not is_tuple or len(blocks) != len(names):
        words = "a tensor" if len(names) == 1 else f"the pair ({', '.join(names)}) of tensors"
        raise TypeError(f"state is a {type(state).__name__}, but it is {words} that forward returns.")
    for name, size, block in zip(names, sizes, blocks, strict=True):
        label = "state" if len(names) == 1 else f"state {name}"
        shape = (count, *middle, size)
        if tuple(block.shape) != shape:
            raise ValueError(
                f"{label} has shape {tuple(block.shape)} but input of shape {tuple(input.shape)} needs {shape}."
            )
        check_alike(label, block, like)
    return tuple(block.unsqueeze(1) if batch is None else block for block in blocks)


def _checked_lengths(lengths: Tensor | Sequence[int], u: Tensor, is_batched: bool) -> Tensor:
    """``lengths`` as an integer tensor (batch,) on the device of the input, each in 0..N."""
    steps, batch = u.shape[:2]
    if not is_batched:
        raise ValueError("lengths is given with an unbatched input. Slice the input instead: input[:length].")
    result = _as_tensor(lengths, u.device)
    if result.is_floating_point() or result.is_complex() or result.dtype == torch.bool:
        raise TypeError(f"lengths has dtype {result.dtype}, but it counts steps: give integers.")
    if tuple(result.shape) != (batch,):
        raise ValueError(f"lengths has shape {tuple(result.shape)}, but the batch needs ({batch},).")
    is_inside = ((result >= 0) & (result <= steps)).all()
    if torch.compiler.is_compiling():  # a graph cannot branch on values, but it can stop: RuntimeError where it runs
        torch._assert_async(is_inside, f"lengths has a value outside 0..{steps}.")
    elif not is_inside.is_meta and not bool(is_inside):
        raise ValueError(f"lengths reaches from {int(result.min())} to {int(result.max())}, outside 0..{steps}.")
    return result.long()


def _as_tensor(lengths: Tensor | Sequence[int], device: torch.device) -> Tensor:
    """``lengths`` as a tensor; a list without entries holds integers, too."""
    if isinstance(lengths, Tensor):
        return lengths.to(device)
    if isinstance(lengths, Sequence) and len(lengths) == 0 and not isinstance(lengths, str):
        return torch.zeros(0, dtype=torch.long, device=device)
    try:
        return torch.as_tensor(lengths, device=device)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"lengths is {lengths!r}. Give a tensor (batch,) or a sequence of integers.") from None


def _packed_like(packed: PackedSequence, rows: Tensor, lengths: Tensor | None) -> PackedSequence:
    """rows (time, batch, ·), zero after the ends, in the order and with the batch sizes of ``packed``."""
    assert lengths is not None
    order = packed.sorted_indices
    if order is not None:
        rows, lengths = rows.index_select(1, order), lengths.index_select(0, order)
    data = pack_padded_sequence(rows, lengths.cpu())
    return PackedSequence(data.data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
