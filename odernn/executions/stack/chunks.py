"""Time cut into chunks, which a stack of layers goes through one after another."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

CHUNK = 256
"""Steps of a chunk unless asked otherwise: enough for a product to be worth its call, few beside any long sequence."""

DEVICE_CHUNK, DEVICE_NEURONS = 4608, 2**21
"""The same where a launch costs more than the steps of a short chunk take, and only a long one is parallel in time: at
most so many steps, of so many neurons and steps together. An array of a chunk is then at most 8 MB of float32, or that
of ``CHUNK`` steps, and EigenWorms' 17984 steps of 256 columns are four chunks."""


def size_of(execution: str, columns: int) -> int:
    """Steps of a chunk of so many columns unless asked otherwise."""
    if execution != "cuda":
        return CHUNK
    return max(CHUNK, min(DEVICE_CHUNK, DEVICE_NEURONS // max(columns, 1)))


@dataclass(frozen=True)
class Chunk:
    """Steps start+1 .. stop, which are rows start .. stop−1, and the samples that have them all; None for every one."""

    start: int
    stop: int
    samples: Tensor | None

    @property
    def is_empty(self) -> bool:
        """Whether no sample is there any more."""
        return self.samples is not None and len(self.samples) == 0

    def part(self, block: Tensor, axis: int = 0) -> Tensor:
        """The samples of the chunk, from a block of all; the samples lie along ``axis``."""
        return block if self.samples is None else block.index_select(axis, self.samples)

    def whole(self, block: Tensor, part: Tensor, axis: int = 0) -> Tensor:
        """``block`` with the chunk's samples replaced. Never a view of ``part``, which may be a row of many."""
        return part.clone() if self.samples is None else block.index_copy(axis, self.samples, part)


def chunks_of(steps: int, size: int, lengths: Tensor | None) -> tuple[Chunk, ...]:
    """1..N in chunks of at most ``size`` steps, which also end where a sample does: it has all or none."""
    own: list[int] = [] if lengths is None else lengths.tolist()
    stops = sorted(({*range(size, steps, size), steps} | set(own)) - {0})
    chunks, samples, count = [], None, len(own)
    for start, stop in zip([0, *stops], stops, strict=False):
        there = [number for number, length in enumerate(own) if length > start]
        if lengths is not None and len(there) < count:
            samples, count = torch.tensor(there, dtype=torch.long, device=lengths.device), len(there)
        chunks.append(Chunk(start, stop, samples))
    return tuple(chunks)


def spread(chunks: int, states: int) -> frozenset[int]:
    """The chunks before which ``states`` states are kept, evenly spread; the first is never among them."""
    return frozenset(round(k * chunks / (states + 1)) for k in range(1, states + 1)) - {0, chunks}
