"""Launches through the driver's C interface, where PyCUDA is not installed: same kernels, same bits, same checks.

It launches on torch's own stream, which PyCUDA cannot name. ``module.loader`` says which of the two it is.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from cuda.odernn_kernels import build
from cuda.odernn_kernels.catalogue import Kernel, LaunchError, check_shared, packed, refused

_BUFFER_POINTER, _BUFFER_SIZE = ctypes.c_void_p(1), ctypes.c_void_p(2)
_MAX_DYNAMIC_SHARED = 8
"""Of a function: the attribute that is raised for more than 48 KiB."""

_SHARED_OPTIN = 97
"""Of a device: the most that it may be raised to."""


def unavailable_because() -> str | None:
    """Why there is no device to launch on, in one clause, or ``None``. Never raises."""
    count = ctypes.c_int()
    try:
        library = ctypes.CDLL("libcuda.so.1")
        is_there = library.cuInit(0) == 0 and library.cuDeviceGetCount(ctypes.byref(count)) == 0
    except OSError as error:
        return f"there is no NVIDIA driver ({error})"
    if not is_there:
        return "the NVIDIA driver does not start"
    return None if count.value else "there is no CUDA device"


class DriverDevice:
    """One device through `libcuda.so.1`, as ``module.Device``. Raises LaunchError for a device that is too old."""

    def __init__(self, index: int = 0, library: ctypes.CDLL | None = None) -> None:
        self._driver = library or ctypes.CDLL("libcuda.so.1")
        self.index = index
        major, minor = torch.cuda.get_device_capability(index)
        self.arch = f"sm_{major}{minor}"
        if major < 8:
            raise LaunchError(f"device {index} is {self.arch}, but asynchronous copies need sm_80 or newer.")
        self._context, device = ctypes.c_void_p(), ctypes.c_int()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(device), index)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        limit = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(limit), _SHARED_OPTIN, device)
        self.shared_limit = limit.value
        self._modules: dict[str, ctypes.c_void_p] = {}
        self._functions: dict[str, ctypes.c_void_p] = {}

    def close(self) -> None:
        """Nothing to do: the reference to torch's own context ends with the process, as torch's does."""

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(status, ctypes.byref(text))
            raise LaunchError(f"{name}: {(text.value or b'?').decode()} ({status})")

    def _function(self, kernel: Kernel, shared: int) -> ctypes.c_void_p:
        if kernel.name not in self._functions:
            if kernel.unit not in self._modules:
                module = ctypes.c_void_p()
                self._call("cuModuleLoadData", ctypes.byref(module), build.cubin(kernel.unit, self.arch))
                self._modules[kernel.unit] = module
            function = ctypes.c_void_p()
            self._call("cuModuleGetFunction", ctypes.byref(function), self._modules[kernel.unit], kernel.name.encode())
            self._functions[kernel.name] = function
        if shared > 48 * 1024:
            self._call("cuFuncSetAttribute", self._functions[kernel.name], _MAX_DYNAMIC_SHARED, shared)
        return self._functions[kernel.name]

    def launch(
        self, kernel: Kernel, grid: int, arguments: tuple[int | float, ...], *, threads: int, shared: int
    ) -> None:
        """Enqueue on torch's current stream of this device; returns at once. Raises LaunchError."""
        check_shared(kernel, shared, self.shared_limit)
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            block = packed(arguments)
            size = ctypes.c_size_t(len(block))
            extra = (ctypes.c_void_p * 5)(
                _BUFFER_POINTER,
                ctypes.cast(ctypes.c_char_p(block), ctypes.c_void_p),
                _BUFFER_SIZE,
                ctypes.cast(ctypes.byref(size), ctypes.c_void_p),
                None,
            )
            stream = ctypes.c_void_p(torch.cuda.current_stream(self.index).cuda_stream)
            function = self._function(kernel, shared)
            self._call("cuLaunchKernel", function, grid, 1, 1, threads, 1, 1, shared, stream, None, extra)
        except LaunchError as error:
            raise LaunchError(refused(kernel, grid, threads, shared, error)) from error
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
