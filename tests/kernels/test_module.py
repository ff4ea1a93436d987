"""Nothing silently substitutes: where no device can be used, each entrance says why."""

from __future__ import annotations

import importlib
import struct
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from cuda import odernn_kernels
from cuda.odernn_kernels import catalogue, driver, execution, launches, module, orthogonal
from cuda.odernn_kernels.trajectories import extremes
from odernn import executions
from odernn.executions import ExecutionUnavailable

NO_DEVICE = pytest.mark.skipif(execution.unavailable_because() is None, reason="a CUDA device is there")


def with_driver(monkeypatch: pytest.MonkeyPatch, driver: Any) -> None:
    """A pycuda whose driver is this object, or fails to import with this error."""
    real = importlib.import_module

    def load(name: str) -> Any:
        if name != "pycuda.driver":
            return real(name)
        if isinstance(driver, Exception):
            raise driver
        return driver

    monkeypatch.setitem(sys.modules, "pycuda", ModuleType("pycuda"))
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: SimpleNamespace(name=name))
    monkeypatch.setattr(module.importlib, "import_module", load)


def refuse() -> None:
    raise RuntimeError("cuInit failed: no device")


REASONS = [
    (ImportError("libcuda.so.1: cannot open"), "does not find an NVIDIA driver .libcuda"),
    (SimpleNamespace(init=refuse), "driver does not start .cuInit failed"),
    (SimpleNamespace(init=lambda: None, Device=SimpleNamespace(count=lambda: 0)), "there is no CUDA device"),
]


@pytest.mark.parametrize(("driver", "reason"), REASONS)
def test_the_reason_is_named(monkeypatch: pytest.MonkeyPatch, driver: Any, reason: str) -> None:
    with_driver(monkeypatch, driver)
    found = odernn_kernels.available()
    assert found is not None
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(found)


def test_a_device_is_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, SimpleNamespace(init=lambda: None, Device=SimpleNamespace(count=lambda: 1)))
    assert odernn_kernels.available() is None


def test_without_pycuda_the_reason_is_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(driver, "unavailable_because", lambda: "there is no CUDA device")
    assert odernn_kernels.available() == (
        'PyCUDA is not installed (pip install "odernn[gpu]"), and without it, there is no CUDA device'
    )


def test_without_pycuda_the_drivers_own_interface_launches_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(driver, "unavailable_because", lambda: None)
    assert odernn_kernels.available() is None
    assert module.loader() == "the driver's C interface, as PyCUDA is not installed"
    monkeypatch.setattr(driver, "DriverDevice", lambda index: ("of the driver", index))
    assert module._opened(3) == ("of the driver", 3)


@NO_DEVICE
def test_the_registry_raises_with_the_reason() -> None:
    with pytest.raises(ExecutionUnavailable, match=r'execution="cuda" cannot run here: .*Usable here: "torch"'):
        executions.get("cuda")
    assert executions.available()["cuda"] == execution.unavailable_because()


def test_a_tensor_of_the_cpu_is_refused_everywhere() -> None:
    x = torch.zeros(3, 2, 2)
    state = torch.zeros(2, 2)
    calls = [
        lambda: execution.forward(x, w=0.0, step_size=0.1, alpha=0.0),
        lambda: execution.outputs(x, w=0.0, step_size=0.1, alpha=0.0),
        lambda: execution.inverse(x, w=0.0, step_size=0.1, alpha=0.0, y_last=state, z_last=state),
        lambda: extremes(x[:, 0], w=0.0, step_size=0.1, alpha=0.0),
        lambda: orthogonal.rows(x, W=torch.eye(2), b=torch.zeros(2), h0=state),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"x is on cpu, but execution=.cuda. runs on a CUDA device"):
            call()
    assert len(calls) == 5


def test_a_launcher_is_used_inside_of_its_block_only() -> None:
    class Silent:
        def launch(self, *_: Any, **__: Any) -> None: ...

    assert not module.is_overridden()
    with module.using(Silent()):
        assert module.is_overridden() and executions.get("cuda").name == "cuda"
    assert not module.is_overridden()


def test_arguments_are_packed_in_eight_bytes_each() -> None:
    block = catalogue.packed((2**40, -1, 0.5))
    assert block == struct.pack("<qqd", 2**40, -1, 0.5) and len(block) == 24


def test_a_tensor_with_a_foreign_layout_is_never_launched() -> None:
    with pytest.raises(ValueError, match="not contiguous"):
        launches.launch("forward_f32", torch.zeros(2, 2, 2), 1, (), (torch.zeros(3, 2).T,))
