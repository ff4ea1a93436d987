"""One thread a test process: many small products on many threads wait for each other more than they compute."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")

LONGEST_FILES = (
    "odernn/executions/test_execution_cpu.py",
    "verification/run/test_keys.py",
    "verification/claims/test_claims_slopes.py",
    "verification/claims/test_claims_odernn_stability.py",
    "test_verifier.py",
    "verification/training/test_training.py",
    "verification/training/test_captured.py",
    "odernn/cells/test_cells.py",
    "verification/run/test_run.py",
    "odernn/executions/test_execution_dense.py",
    "odernn/architecture/test_architecture_probe.py",
    "kernels/test_emulator.py",
    "verification/adversary/test_adversary_optima.py",
    "verification/run/test_cluster.py",
    "odernn/executions/test_execution_cpu_layer.py",
    "verification/forgery/test_forgery.py",
    "verification/commands/test_cli.py",
    "verification/witness/test_witness.py",
    "verification/run/test_shards.py",
    "odernn/executions/test_nothing_substitutes.py",
    "odernn/cells/test_unicornn_stack.py",
    "kernels/test_recurrence_kernels.py",
    "kernels/test_reconstruction.py",
)
"""Below tests; they go first, so that no process ends long after the other. A file that is not there is an error."""

FAST = "not slow and not gpu"
"""What `make test` gives to -m. There hypothesis draws a quarter of the examples where a test does not say how many."""

gc.disable()  # until the tests are collected: what is made meanwhile lives to the end


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == FAST:
        from hypothesis import settings

        settings.register_profile("fast", max_examples=25)
        settings.load_profile("fast")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    rank = {here / name: number for number, name in enumerate(LONGEST_FILES)}
    assert all(path.exists() for path in rank), f"LONGEST_FILES: {[str(p) for p in rank if not p.exists()]}"
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


def pytest_collection_finish() -> None:
    """Sixteen thousand collected tests are no garbage: searched again and again, they cost a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def one_thread() -> Iterator[None]:
    """For files of small tensors, where threads cost more than they give: as in the workers."""
    import torch  # not for every test process

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
