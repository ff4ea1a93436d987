"""The cpu execution of two threads at once, after a fork, and in an interpreter inside the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest
import torch
from torch import nn

from odernn.cells.unicornn import UnICORNN
from tests.odernn.executions.test_execution_dense import CELLS, everything
from tests.tiers import only

pytest.importorskip("numba", reason="the fused CPU execution needs the extra `fast`")

ALL = [*CELLS, "unicornn"]
TIMES = 5


def made(label: str, size: int, seed: int) -> nn.Module:
    options: dict[str, Any] = {"execution": "cpu", "generator": torch.Generator().manual_seed(seed)}
    if label == "unicornn":
        return UnICORNN(3, size, 2, dt=0.1, alpha=0.9, **options)
    return CELLS[label](size=size, **options)


def same(found: list[torch.Tensor], expected: list[torch.Tensor]) -> bool:
    return all(torch.equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True))


@pytest.mark.parametrize(("steps", "batch", "size"), [(20, 5, 16), pytest.param(200, 40, 64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("label", only(ALL, "lem", "scornn", "linoss im", "unicornn"))
def test_two_threads_at_once_have_the_bits_of_one(label: str, count: int, steps: int, batch: int, size: int) -> None:
    """Rows, last states and gradients, of different weights; torch has one thread, and more than one."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        networks = [made(label, size, seed) for seed in range(2)]
        inputs = [torch.randn(steps, batch, 3, generator=torch.Generator().manual_seed(seed)) for seed in range(2)]
        alone = [everything(*each) for each in zip(networks, inputs, strict=True)]
        start, found = threading.Barrier(2), {0: [False], 1: [False]}

        def work(k: int) -> None:
            found[k].clear()
            for _ in range(TIMES):
                start.wait(60)
                found[k].append(same(everything(networks[k], inputs[k]), alone[k]))

        both = [threading.Thread(target=work, args=(k,)) for k in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
    finally:
        torch.set_num_threads(before)
    assert found == {0: [True] * TIMES, 1: [True] * TIMES}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_that_was_forked_after_numba_and_torch_have_worked_has_the_same_bits() -> None:
    """torch's own threads are not in it, so that it has to do with one (docs/executions.md)."""
    networks = [made(label, 16, 0) for label in ("lem", "unicornn")]
    u = torch.randn(50, 20, 3)
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    before = [everything(network, u) for network in networks]
    try:
        torch.set_num_threads(2)
        torch.ones(1 << 20).mul_(2.0)  # torch's own threads are there, and so are the execution's
        for network in networks:
            everything(network, u)
        if (child := os.fork()) == 0:
            signal.alarm(100)
            torch.set_num_threads(1)
            are_same = all(same(everything(*each), b) for *each, b in zip(networks, [u, u], before, strict=True))
            os._exit(0 if are_same else 1)
    finally:
        torch.set_num_threads(count)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


INTERPRETER = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import odernn
code = "import sys; sys.path[:0] = %r\\ntry: import odernn\\nexcept ImportError as error: print(error, flush=True)"
interpreters.run_string(interpreters.create(), code % sys.path)
print(odernn.order(odernn.tableaus.GAUSS_2).value)
"""


def test_a_subinterpreter_is_refused_with_a_reason_and_the_main_one_goes_on() -> None:
    """There torch's import waits for ever: 100 s were not enough (torch 2.13, Python 3.11)."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", "-c", INTERPRETER]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    said, order = done.stdout.splitlines()
    assert said.startswith("odernn cannot be imported in a subinterpreter: ") and "main interpreter" in said
    assert order == "4"
