"""What a launch costs in which thread: why forward and backward take the host longer under autograd's own thread.

On an H100's machine 740 µs of processor time with PyCUDA under autograd's thread, 430 by the driver's C interface, 325
with PyCUDA in one thread. What could cost so much, and the figures that tell it:

    hand-over   Each pass wakes another thread, and where a call gives up the interpreter's lock (GIL) whoever waits for
                it takes it: `switches` a call grow, with "launches nothing", too, and with a thread of ours.
    GIL         ctypes gives the lock up at every call, PyCUDA never in a launch: then "driver" is dearer than "driver,
                GIL kept", and "PyCUDA" than "PyCUDA, GIL kept", which asks for the context without giving it up.
    context     None is current in autograd's thread, so that every launch there pushes one: `current` is 0, and
                "PyCUDA, context pushed" costs in one thread what "PyCUDA" does in autograd's.
    driver      It changes its own locks and caches when another thread launches: `launch` is dearer in a thread other
                than the main one, whatever the launcher, and "launches nothing" is not.
    caches      Another core finds the interpreter in no cache: all launchers cost more by one factor, `launch` as well
                as the rest.

Microseconds a forward and a backward pass: wall, processor (of all threads), and the backward pass's `launch` alone, by
the processor time of its thread; `switches` are those of threads that had to wait; `current` is the share of backward
passes that found a context.

    python -m device.threads          a table, on a device; without one by a stand-in that launches nothing
"""

from __future__ import annotations

import ctypes
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import torch
from torch import Tensor

from cuda.odernn_kernels import execution, module
from cuda.odernn_kernels.catalogue import Kernel, Launcher
from cuda.odernn_kernels.driver import DriverDevice
from device.checks import problem, without_x

SHAPE = (1000, 8, 32)
THREADS = ("one", "autograd's", "ours")
"""Where the backward pass runs: in the calling thread, in torch's for the device, in one of this script."""

CALLS, ROUNDS = 100, 3


class Idle:
    """Launches nothing."""

    def launch(
        self, kernel: Kernel, grid: int, arguments: tuple[int | float, ...], *, threads: int, shared: int
    ) -> None: ...


@dataclass
class Timed:
    """A launcher, and what its launches of backward passes took, in seconds of processor time of their thread."""

    launcher: Launcher
    is_current: Callable[[], bool]
    took: list[float] = field(default_factory=list)
    current: list[bool] = field(default_factory=list)

    def launch(
        self, kernel: Kernel, grid: int, arguments: tuple[int | float, ...], *, threads: int, shared: int
    ) -> None:
        is_backward = kernel.name.startswith(("stored", "scan_backward"))
        if is_backward:
            self.current.append(self.is_current())
        started = time.thread_time()
        self.launcher.launch(kernel, grid, arguments, threads=threads, shared=shared)
        if is_backward:
            self.took.append(time.thread_time() - started)


LIBRARY = "libcuda.so.1"


def context_is_current(library: ctypes.CDLL) -> bool:
    """Whether this thread has any context."""
    found = ctypes.c_void_p()
    return library.cuCtxGetCurrent(ctypes.byref(found)) == 0 and bool(found.value)


def launchers(index: int) -> Iterator[tuple[str, Launcher]]:
    """Each by name; those of PyCUDA only where it is installed. One at a time: they share what is changed."""
    yield "launches nothing", Idle()
    yield "driver", DriverDevice(index)
    yield "driver, GIL kept", DriverDevice(index, ctypes.PyDLL(LIBRARY))
    if not module.has_pycuda():
        return
    device = module.Device(index)
    try:
        yield "PyCUDA", device
        device.is_current = lambda: False  # type: ignore[method-assign]
        yield "PyCUDA, context pushed", device
        kept = ctypes.PyDLL(LIBRARY)
        device.is_current = lambda: context_is_current(kept)  # type: ignore[method-assign]
        yield "PyCUDA, GIL kept", device
    finally:
        device.close()


def measured(launcher: Launcher, given: dict[str, Tensor], where: str, library: ctypes.CDLL | None) -> dict[str, float]:
    """Figures of one launcher whose backward passes run in one of ``THREADS``; see the top."""
    leaves = {name: value.detach().requires_grad_() for name, value in given.items()}
    ones = torch.ones_like(given["x"])
    timed = Timed(launcher, lambda: library is not None and context_is_current(library))

    def both() -> None:
        y = execution.outputs(leaves["x"], **without_x(leaves)).y  # type: ignore[arg-type]

        def back() -> None:
            with torch.autograd.set_multithreading_enabled(where == "autograd's"):
                torch.autograd.grad(y, list(leaves.values()), ones)

        if where == "ours":
            pool.submit(back).result()
        else:
            back()

    found: dict[str, list[float]] = {"wall": [], "processor": [], "switches": []}
    with module.using(timed), ThreadPoolExecutor(1) as pool:
        for number in range(ROUNDS + 1):
            _settle(ones)
            switches = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
            wall, processor = time.perf_counter(), time.process_time()
            for _ in range(CALLS):
                both()
            took = {"wall": 1e6 * (time.perf_counter() - wall), "processor": 1e6 * (time.process_time() - processor)}
            took["switches"] = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - switches
            for name, value in took.items():
                found[name] += [value / CALLS] if number else []
    means = {name: statistics.median(values) for name, values in found.items()}
    return means | {"launch": 1e6 * statistics.median(timed.took), "current": statistics.mean(timed.current)}


def _settle(x: Tensor) -> None:
    if x.is_cuda:
        torch.cuda.synchronize()


def compared(device: str, index: int = 0) -> Iterator[tuple[str, dict[str, float]]]:
    """(launcher and thread, figures), one after the other. On the CPU autograd has no thread of its own.

    Where there is no driver, only what launches nothing is tried.
    """
    given = problem(*SHAPE, device)
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        library = None
    for name, launcher in launchers(index) if library is not None else [("launches nothing", Idle())]:
        for where in THREADS:
            yield f"{name}; {where}", measured(launcher, given, where, library)


def main() -> int:
    """The table."""
    for label, found in compared("cuda" if torch.cuda.is_available() else "cpu"):
        figures = "  ".join(f"{name} {value:8.1f}" for name, value in found.items())
        sys.stdout.write(f"{label:40s} {figures}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
