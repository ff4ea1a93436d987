"""One call of the cpu execution: its columns in blocks, what they carry, and its threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from odernn.executions.cpu import COLUMNS_A_THREAD
from odernn.executions.cpu.kernels import lanes as lanes_of
from odernn.executions.cpu.threads import given_threads, in_threads

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class ColumnJob:
    """The columns of one call in blocks of at most ``lanes_of.WIDTH``, each within samples of one length.

    places (5, blocks) as stated in ``kernels``. Row k of lanes has the columns k WIDTH .. (k+1) WIDTH − 1:
    no more rows where there are more lengths, and so blocks.
    """

    shape: tuple[int, int]
    columns: int
    places: Array
    dtype: torch.dtype

    @staticmethod
    def of(steps: int, shape: torch.Size | tuple[int, ...], dtype: torch.dtype, ends: Tensor | None) -> ColumnJob:
        batch, hidden = shape
        columns = batch * hidden
        if ends is None or not columns:
            return ColumnJob((batch, hidden), columns, _of_one_length(steps, columns), dtype)
        own = ends.numpy()
        starts = np.arange(0, columns, lanes_of.WIDTH)
        starts = np.union1d(starts, (np.flatnonzero(np.diff(own)) + 1) * hidden)
        return ColumnJob((batch, hidden), columns, _places(starts, own[starts // hidden], columns), dtype)

    @property
    def blocks(self) -> int:
        return int(self.places.shape[1])

    @property
    def rows(self) -> int:
        return -(-self.columns // lanes_of.WIDTH)

    @property
    def one(self) -> Any:
        """1 in the dtype, as numba has to be told."""
        return np.float32(1) if self.dtype == torch.float32 else np.float64(1)

    def lanes(self, w: Tensor, h: Tensor, alpha: Tensor, y: Tensor, z: Tensor) -> Array:
        packed: Array = torch.zeros((self.rows, lanes_of.LANES * lanes_of.PITCH), dtype=self.dtype).numpy()  # aligned
        self.pack(packed, {lanes_of.W: w, lanes_of.H: h, lanes_of.A: alpha, lanes_of.Y: y, lanes_of.Z: z})
        return packed

    def pack(self, lanes: Array, given: Mapping[int, Tensor]) -> None:
        """Into each lane the values given for it, which broadcast to (batch, hidden)."""
        wide = {lane: value.expand(self.shape).to(self.dtype) for lane, value in given.items()}
        table = [(lane, value.data_ptr(), *value.stride()) for lane, value in wide.items()]
        lanes_of.spread(lanes, np.array(table, np.int64).reshape(-1, 4), self.shape[1], self.places)

    def unpacked(self, lanes: Array, lane: int, like: Tensor) -> Tensor:
        unpacked = torch.empty(self.shape, dtype=like.dtype)
        lanes_of.unpack(lanes, lane, unpacked.numpy().reshape(self.columns), self.places)
        return unpacked

    def last_state(self, lanes: Array, like: Tensor) -> tuple[Tensor, Tensor]:
        """y and z in the lanes."""
        return self.unpacked(lanes, lanes_of.Y, like), self.unpacked(lanes, lanes_of.Z, like)

    def unpacked_sums(self, sums: Array, lane: int) -> Array:
        unpacked = np.empty(self.columns)
        lanes_of.unpack(sums, lane, unpacked, self.places)
        return unpacked.reshape(self.shape)

    def sums_of_samples(self, sums: Array, count: int) -> Array:
        """The first ``count`` lanes, summed over the samples, (count, hidden), in an order that never changes."""
        added = np.zeros((count, self.shape[1]))
        lanes_of.add_samples(sums, added, self.places)
        return added

    def run(self, kernel: Callable[..., None], arguments: tuple[Any, ...], tail: tuple[Any, ...] = ()) -> None:
        """The kernel on all blocks, in as many threads as the columns warrant."""
        threads = max(min(given_threads(), self.columns // COLUMNS_A_THREAD, self.blocks), 1)
        in_threads(kernel, arguments, self.blocks, threads, tail)


def _places(starts: Array, last: Array, columns: int) -> Array:
    """Of blocks that begin with these columns and have so many steps."""
    stops = np.append(starts[1:], columns) if len(starts) else starts
    places = np.stack([starts, stops, last, starts // lanes_of.WIDTH, starts % lanes_of.WIDTH])
    return np.ascontiguousarray(places, dtype=np.int64)


@lru_cache(maxsize=64)
def _of_one_length(steps: int, columns: int) -> Array:
    """Of samples that all have all steps; read, and never written."""
    starts = np.arange(0, columns, lanes_of.WIDTH)
    return _places(starts, np.full(len(starts), steps), columns)


def rows_of(rows: Tensor) -> Array:
    """(time, batch, hidden) as (time, columns), without a copy if it is contiguous."""
    array: Array = rows.detach().contiguous().numpy()
    return array.reshape(array.shape[0], array.shape[1] * array.shape[2])
