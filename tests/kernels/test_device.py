"""The same sentences on a GPU. benchmarks/device_suite.py says more, and times."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from cuda.odernn_kernels import execution
from odernn import executions
from odernn.executions import torch_loop

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def suite() -> ModuleType:
    """The device suite as a module."""
    reason = execution.unavailable_because()
    if reason is not None:
        pytest.skip(f"there is no device: {reason}")
    benchmarks = Path(__file__).resolve().parents[2] / "benchmarks"
    sys.path.insert(0, str(benchmarks))
    try:
        spec = importlib.util.spec_from_file_location("device_suite", benchmarks / "device_suite.py")
        assert spec is not None and spec.loader is not None
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    finally:
        sys.path.remove(str(benchmarks))
    return found


def test_every_mode_is_the_loop_and_repeats_itself(suite: ModuleType) -> None:
    checks = suite.Checks()
    suite.check_recurrence(checks, "cuda", [(1, 1, 1), (101, 3, 11), (1100, 1, 3), (784, 5, 33)])
    assert checks.hold, [c for c in checks.found if not c["holds"]]


def test_tanh_nan_trajectories_and_scornn(suite: ModuleType) -> None:
    checks = suite.Checks()
    suite.check_others(checks, "cuda", count=1 << 22)
    suite.check_baseline(checks, "cuda")
    assert checks.hold, [c for c in checks.found if not c["holds"]]


def test_streams_threads_and_graphs(suite: ModuleType) -> None:
    checks = suite.Checks()
    suite.check_streams(checks)
    assert checks.hold, [c for c in checks.found if not c["holds"]]


def test_the_registry_gives_it(suite: ModuleType) -> None:
    x = torch.randn(9, 2, 3, device="cuda")
    found = executions.get("cuda").outputs(x, w=0.5, step_size=0.1, alpha=1.0)
    expected = torch_loop.outputs(x.double().cpu(), w=0.5, step_size=0.1, alpha=1.0)
    assert found.execution == "cuda" and float((found.y.cpu() - expected.y).abs().max()) < 1e-5
