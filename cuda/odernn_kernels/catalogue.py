"""The kernels by name: where each lives, its blocks, the layout of its arguments; and who launches them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

_RING = 4 * 8 * 32
"""Cells of a ring: STAGES · ROWS · LANES of recurrence.cuh."""

_SCAN = 8 * 24 + 8 * 4 + 256 * 12 + 1024 * 4 + 257 * 8 + 8 + 4
"""Bytes of ``Scan`` in scan.cu."""


@dataclass(frozen=True)
class Kernel:
    """A kernel's home and the shape of its blocks; ``shared`` is in bytes, beyond what a call adds."""

    name: str
    unit: str
    threads: int
    shared: int


def _kernels() -> Iterator[Kernel]:
    rings = {
        "forward": ("forward", 1),
        "forward_states": ("forward", 1),
        "forward_checkpoints": ("forward", 1),
        "inverse": ("forward", 1),
        "stored": ("backward", 3),
        "stored_states": ("backward", 4),
        "reversible": ("backward", 2),
        "falsify": ("falsify", 1),
    }
    for name, (unit, count) in rings.items():
        yield Kernel(f"{name}_f32", unit, 32, 4 * _RING * count)
        yield Kernel(f"{name}_f64", unit, 32, 8 * _RING * count)
    yield Kernel("exact_forward_f32", "exact", 32, 4 * _RING)
    yield Kernel("exact_backward_f32", "exact", 32, 8 * _RING)
    yield Kernel("scan_forward_f32", "scan", 256, _SCAN)
    yield Kernel("scan_backward_f32", "scan", 256, _SCAN)
    for name in ("scornn_forward_f32", "scornn_backward_f32", "scornn_forward_f64", "scornn_backward_f64"):
        yield Kernel(name, "scornn", 0, 0)
    yield Kernel("published_forward", "published", 512, 0)
    yield Kernel("published_backward", "published", 256, 0)


KERNELS = {kernel.name: kernel for kernel in _kernels()}
"""Every kernel by name. scoRNN's blocks have as many threads as units, rounded up: the call says how many."""


class LaunchError(RuntimeError):
    """The driver refused a module or a launch; the message has its reason."""


def check_shared(kernel: Kernel, shared: int, limit: int) -> None:
    """LaunchError where a block asks for more bytes of shared memory than the device has."""
    if shared > limit:
        raise LaunchError(f"{kernel.name} needs {shared} bytes of shared memory a block, this device has {limit}.")


def refused(kernel: Kernel, grid: int, threads: int, shared: int, reason: object) -> str:
    """What a LaunchError says of a launch."""
    return f"{kernel.name}, {grid} blocks of {threads} threads, {shared} bytes shared: {reason}"


class Launcher(Protocol):
    """Runs a kernel on the memory of tensors: a device, or the emulator in tests."""

    def launch(
        self, kernel: Kernel, grid: int, arguments: tuple[int | float, ...], *, threads: int, shared: int
    ) -> None: ...


def packed(arguments: tuple[int | float, ...]) -> bytes:
    """A kernel's parameter block: 8 bytes each, integers and addresses signed, numbers as doubles."""
    return struct.pack(format_of(arguments), *arguments)


def format_of(arguments: tuple[int | float, ...]) -> str:
    """The block's layout in the letters of ``struct``."""
    return "".join("d" if isinstance(value, float) else "q" for value in arguments)
