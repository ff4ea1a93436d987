"""The same sentences on a GPU. device/suite.py says more, and times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from cuda.odernn_kernels import execution
from device import checks as checking
from odernn import executions
from odernn.executions import torch_loop

pytestmark = pytest.mark.gpu

CHECKS: dict[str, Callable[[Any], None]] = {
    "modes": lambda checks: checking.check_recurrence(checks, "cuda", (*checking.SMALL, (784, 5, 33))),
    "contract": lambda checks: checking.check_contract(checks, "cuda"),
    "saddle": lambda checks: checking.check_saddle(checks, "cuda"),
    "NaN": lambda checks: checking.check_nan(checks, "cuda"),
    "tanh, trajectories, scoRNN": lambda checks: checking.check_others(checks, "cuda", count=1 << 22),
    "the published kernel": lambda checks: checking.check_published(checks, "cuda"),
    "streams": checking.check_streams,
}


@pytest.fixture(scope="module")
def device() -> None:
    reason = execution.unavailable_because()
    if reason is not None:
        pytest.skip(f"there is no device: {reason}")


@pytest.mark.parametrize("name", CHECKS)
def test_the_kernels_are_the_loop(device: None, name: str) -> None:
    checks = checking.Checks()
    CHECKS[name](checks)
    assert checks.hold, [each for each in checks.found if not each["holds"]]


def test_the_registry_gives_it(device: None) -> None:
    x = torch.randn(9, 2, 3, device="cuda")
    found = executions.get("cuda").outputs(x, w=0.5, step_size=0.1, alpha=1.0)
    expected = torch_loop.outputs(x.double().cpu(), w=0.5, step_size=0.1, alpha=1.0)
    assert found.execution == "cuda" and float((found.y.cpu() - expected.y).abs().max()) < 1e-5
