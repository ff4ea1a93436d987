"""Offsets beyond 2³¹ elements: a column of an array of 9.7 GB has the bits of a column of a small one.

The arrays are mapped and not filled: of rows 2²⁸ columns apart the 32 that a block sees take a page each.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cuda.odernn_kernels import catalogue, emulator
from cuda.odernn_kernels.catalogue import KERNELS
from cuda.odernn_kernels.launches import LANES

STEPS, WIDE = 9, 2**28
"""The last of nine rows begins at element 2³¹."""

NO_RESERVE = 0x4000
"""MAP_NORESERVE of Linux, which Python names from 3.12 on."""

Floats = NDArray[Any]


@dataclass
class Memory:
    """Arrays whose rows are ``width`` apart, of which a block sees the first 32 columns."""

    width: int
    kept: list[Any] = field(default_factory=list)
    outputs: list[Floats] = field(default_factory=list)

    def rows(self, values: Floats | None = None, count: int = STEPS, dtype: Any = np.float32) -> int:
        """The address of rows with these values; without values of rows that a kernel writes."""
        item = np.dtype(dtype).itemsize
        size = ((count - 1) * self.width + LANES) * item
        try:
            mapped = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
        except OSError as error:
            pytest.skip(f"{size} bytes cannot be mapped here: {error}")
        view: Floats = np.ndarray((count, LANES), dtype, buffer=mapped, strides=(self.width * item, item))
        self.kept.append(mapped)
        if values is None:
            self.outputs.append(view)
        else:
            view[:] = values
        return view.ctypes.data

    def row(self, values: Floats | None = None) -> int:
        """The address of one row of 32."""
        made = np.zeros(LANES, np.float32) if values is None else np.ascontiguousarray(values, np.float32)
        self.kept.append(made)
        if values is None:
            self.outputs.append(made)
        return made.ctypes.data


GIVEN = np.random.default_rng(0).standard_normal((8, STEPS, LANES)).astype(np.float32)
X, Y, GRAD = GIVEN[0], 0.1 * GIVEN[1], GIVEN[2]
W_MATRIX = np.linalg.qr(GIVEN[3:7].reshape(-1, LANES)[:LANES])[0].astype(np.float32)


def problem(memory: Memory) -> tuple[int, ...]:
    """``Problem`` of recurrence.cuh, with w, h and α of every neuron."""
    coefficients = (0.5 * GIVEN[3, 0], np.full(LANES, 0.1), np.ones(LANES))
    addresses = (memory.rows(X), *(memory.row(each) for each in coefficients))
    return (*addresses, 0, STEPS, memory.width // LANES, LANES, 0, 1, 0, 1, 0, 1)


def states(memory: Memory, count: int) -> tuple[int, ...]:
    return tuple(memory.row(GIVEN[4, i]) for i in range(count))


def gradients(memory: Memory) -> tuple[int, ...]:
    return (memory.rows(), *(memory.row() for _ in range(5)))


def forward(m: Memory) -> tuple[int, ...]:
    return (*problem(m), *states(m, 2), m.rows(), m.rows(), m.row(), m.row(), 0, 0, 0)


def inverse(m: Memory) -> tuple[int, ...]:
    return (*problem(m), *states(m, 2), m.rows(), m.rows(), m.row(), m.row())


def stored(m: Memory) -> tuple[int, ...]:
    given = (m.row(Y[0]), m.rows(Y), m.row(GIVEN[4, 0]), m.rows(GRAD), m.rows(GRAD), *states(m, 2))
    return (*problem(m), *given, *gradients(m), m.width, m.width)


def reversible(m: Memory) -> tuple[int, ...]:
    given = (*states(m, 4), 0, m.rows(GRAD), *states(m, 2))
    return (*problem(m), *given, *gradients(m), m.rows(count=7), m.width, 0, 256)


def exact_forward(m: Memory) -> tuple[int, ...]:
    return (*problem(m), *states(m, 2), m.rows(), m.row(), m.row(), m.rows(count=2, dtype=np.float64))


def scan_forward(m: Memory) -> tuple[int, ...]:
    return (*problem(m), *states(m, 2), m.rows(), m.row(), m.row(), 0)


def scan_backward(m: Memory) -> tuple[int, ...]:
    given = (m.row(Y[0]), m.rows(Y), m.row(GIVEN[4, 0]), m.rows(GRAD), *states(m, 2))
    return (*problem(m), *given, *gradients(m), 0, m.width)


def scornn(m: Memory, *, is_back: bool = False) -> tuple[int, ...]:
    matrix = np.ascontiguousarray(W_MATRIX)
    m.kept.append(matrix)
    given = (m.rows(X), matrix.ctypes.data, m.row(0.1 * GIVEN[5, 0]), m.row(GIVEN[5, 1]))
    rest = (m.rows(Y) if is_back else 0, m.rows(), m.row(), m.row() if is_back else 0)
    return (*given, *rest, STEPS, m.width // LANES, LANES)


def scornn_back(m: Memory) -> tuple[int, ...]:
    return scornn(m, is_back=True)


CASES: dict[str, Callable[[Memory], tuple[int, ...]]] = {
    "forward_states_f32": forward,
    "inverse_f32": inverse,
    "stored_states_f32": stored,
    "reversible_f32": reversible,
    "exact_forward_f32": exact_forward,
    "scan_forward_f32": scan_forward,
    "scan_backward_f32": scan_backward,
    "scornn_forward_f32": scornn,
    "scornn_backward_f32": scornn_back,
}


@pytest.mark.parametrize("name", CASES)
def test_far_rows_have_the_bits_of_near_ones(emulated: emulator.Emulated, name: str) -> None:
    kernel, seen = KERNELS[name], []
    for width in (LANES, WIDE):
        memory = Memory(width)
        arguments = catalogue.packed(CASES[name](memory))
        is_scornn = name.startswith("scornn")
        threads, shared = (64, 2 * 4 * 68) if is_scornn else (kernel.threads, kernel.shared)
        emulated.launch(name, grid=1, threads=threads, shared=shared, arguments=arguments)
        columns = slice(0, 1) if kernel.unit == "scan" else slice(0, LANES)  # a block of the scan has one
        seen.append([each[..., columns].copy() for each in memory.outputs])
    assert len(seen[0]) == len(seen[1]) > 0
    assert any(each.any() for each in seen[0])
    assert all(np.array_equal(near, far) for near, far in zip(*seen, strict=True))
