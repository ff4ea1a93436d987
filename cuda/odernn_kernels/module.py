"""Kernels on a device: which there are, their machine code, and launches that respect torch's streams.

What PyCUDA asks for and its documentation does not say:

    context   PyCUDA has a stack of contexts for each thread, and autograd runs its own threads. Every use of the driver
              is therefore between a push and a pop of the device's *primary* context, the one torch lives in; but a
              launch where that is current already, as torch leaves it: the two cost as much as the launch. A thread
              that ends with a context pushed aborts the process.
    stream    A stream of torch's cannot be wrapped. Where torch's current stream is the default one, both name it by 0;
              else the launch goes to a stream of ours, one for each of torch's, so that these do not wait for each
              other. It waits for torch's and is waited for: events only, no host, as the capture of a graph asks.
    memory    Tensors of torch's stay valid: what is freed on torch's stream is reused after the join.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import importlib.util
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from cuda.odernn_kernels import build
from cuda.odernn_kernels.catalogue import Kernel, Launcher, LaunchError, check_shared, format_of, refused

if TYPE_CHECKING:
    from torch import Tensor


def has_pycuda() -> bool:
    """Installed; whether it works is another question."""
    return importlib.util.find_spec("pycuda") is not None


def loader() -> str:
    """What launches where a device can be used: PyCUDA, or the driver's C interface where PyCUDA is not installed."""
    if not has_pycuda():
        return "the driver's C interface, as PyCUDA is not installed"
    return f"pycuda {importlib.import_module('pycuda').VERSION_TEXT}"


def unavailable_because() -> str | None:
    """Why no device can be used here, in one clause, or ``None``. Never raises; asks anew each time."""
    if not has_pycuda():
        from cuda.odernn_kernels import driver as interface  # which imports this module

        reason = interface.unavailable_because()
        return reason and f'PyCUDA is not installed (pip install "odernn[gpu]"), and without it, {reason}'
    try:
        driver = importlib.import_module("pycuda.driver")
    except ImportError as error:
        return f"PyCUDA does not find an NVIDIA driver ({error})"
    try:
        driver.init()
        count = driver.Device.count()
    except Exception as error:  # PyCUDA's own classes, which are known only once it is imported
        return f"the NVIDIA driver does not start ({error})"
    return None if count else "there is no CUDA device"


_override: list[Launcher] = []


@contextlib.contextmanager
def using(launcher: Launcher) -> Iterator[None]:
    """Launch with this one, whatever the tensors' device, until the end of the block: for tests and measurements."""
    _override.append(launcher)
    try:
        yield
    finally:
        _override.remove(launcher)


def is_overridden() -> bool:
    """Inside of ``using``."""
    return bool(_override)


def check_device(x: Tensor) -> None:
    """Raises ValueError where x is on no CUDA device. Nothing is loaded: torch.compile traces through it."""
    if not is_overridden() and x.device.type != "cuda":
        raise ValueError(
            f'x is on {x.device}, but execution="cuda" runs on a CUDA device. Move it, or choose another execution.'
        )


def launcher_for(x: Tensor) -> Launcher:
    """Of the device that x is on. Raises ValueError for another kind of device, LaunchError if it cannot be used."""
    if _override:
        return _override[-1]
    index = x.device.index
    if x.is_cuda and index in _devices:
        return _devices[index]
    check_device(x)
    with _lock:
        if index not in _devices:
            reason = unavailable_because()
            if reason is not None:
                raise LaunchError(f'execution="cuda" cannot run: {reason}.')
            _devices[index] = _opened(index)
        return _devices[index]


def _opened(index: int) -> Opened:
    if has_pycuda():
        return Device(index)
    from cuda.odernn_kernels.driver import DriverDevice

    return DriverDevice(index)


class Opened(Launcher, Protocol):
    """A launcher that holds something of the driver's."""

    def close(self) -> None: ...


_lock = threading.Lock()
_devices: dict[int, Opened] = {}


@dataclass(frozen=True)
class _Bridge:
    """A stream of ours, as PyCUDA and as torch know it. torch's own come from a pool: there are some dozens."""

    ours: Any
    torch: Any


class Device:
    """One GPU: its primary context, its modules, and a stream for every side stream that torch was on."""

    def __init__(self, index: int) -> None:
        self._driver: Any = importlib.import_module("pycuda.driver")
        device = self._driver.Device(index)
        major, minor = device.compute_capability()
        self.arch = f"sm_{major}{minor}"
        if major < 8:
            raise LaunchError(f"{device.name()} is {self.arch}, but asynchronous copies need sm_80 or newer.")
        self.index = index
        self.shared_limit = int(device.get_attribute(self._driver.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
        self._context = device.retain_primary_context()
        self._handle, self._current = int(self._context.handle), ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent
        self._modules: dict[str, Any] = {}
        self._functions: dict[tuple[str, str], Any] = {}
        self._widened: dict[Any, int] = {}
        self._streams: dict[int, _Bridge] = {}
        self._guard = threading.RLock()
        # One is at hand: the capture of a graph may come with a stream of its own, and is no time to make one.
        self._spare: _Bridge | None = self._side()

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """The primary context is this thread's current one inside."""
        self._context.push()
        try:
            yield
        finally:
            self._driver.Context.pop()

    def is_current(self) -> bool:
        """Whether the primary context is this thread's current one, as torch leaves it."""
        found = ctypes.c_void_p()
        return self._current(ctypes.byref(found)) == 0 and found.value == self._handle

    def launch(
        self, kernel: Kernel, grid: int, arguments: tuple[int | float, ...], *, threads: int, shared: int
    ) -> None:
        """Enqueue on torch's current stream of this device; returns at once. Raises LaunchError."""
        check_shared(kernel, shared, self.shared_limit)
        with self._guard, contextlib.nullcontext() if self.is_current() else self.current():
            try:
                function = self._function(kernel, format_of(arguments), shared)
                with self._bridge() as stream:
                    function.prepared_async_call((grid, 1, 1), (threads, 1, 1), stream, *arguments, shared_size=shared)
            except self._driver.Error as error:
                raise LaunchError(refused(kernel, grid, threads, shared, error)) from error

    def _function(self, kernel: Kernel, layout: str, shared: int) -> Any:
        """Prepared once for each layout of arguments."""
        key = (kernel.name, layout)
        function = self._functions.get(key)
        if function is None:
            if kernel.unit not in self._modules:
                code = build.cubin(kernel.unit, self.arch)
                with self.current():
                    self._modules[kernel.unit] = self._driver.module_from_buffer(code)
            function = self._modules[kernel.unit].get_function(kernel.name)
            function.prepare(layout)
            self._functions[key] = function
        if shared > max(48 * 1024, self._widened.get(key, 0)):
            attribute = self._driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            function.set_attribute(attribute, shared)
            self._widened[key] = shared
        return function

    @contextlib.contextmanager
    def _bridge(self) -> Iterator[Any]:
        """The stream to launch on: ordered after what torch has enqueued so far, and before what it enqueues next."""
        import torch

        outside = torch.cuda.current_stream(self.index)
        handle = outside.cuda_stream
        if handle == 0:
            yield None
            return
        if handle not in self._streams:
            self._streams[handle] = self._spare or self._side()
            self._spare = None if torch.cuda.is_current_stream_capturing() else self._side()
        side = self._streams[handle]
        side.torch.wait_stream(outside)
        try:
            yield side.ours
        finally:
            outside.wait_stream(side.torch)

    def _side(self) -> _Bridge:
        import torch

        non_blocking = 1
        with self.current():
            ours = self._driver.Stream(non_blocking)
        return _Bridge(ours, torch.cuda.ExternalStream(ours.handle, device=self.index))

    def close(self) -> None:
        """Let go of the primary context, which PyCUDA's own destructor would do wrongly."""
        with self.current():
            self._functions.clear()
            self._modules.clear()
            self._streams.clear()
            self._spare = None
        self._context.detach()


@atexit.register
def _close_all() -> None:
    while _devices:
        _devices.popitem()[1].close()
