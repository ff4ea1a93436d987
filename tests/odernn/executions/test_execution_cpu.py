"""The fused execution on CPU is equation (U): against the float64 torch loop, in every mode, dtype and shape."""

from __future__ import annotations

import itertools
import math
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from odernn.cells.unicornn import UnICORNN
from odernn.executions import torch_loop
from odernn.executions.cpu import columns as cpu_columns
from odernn.executions.cpu import execution as cpu
from odernn.executions.cpu.columns import ColumnJob
from odernn.executions.cpu.kernels import (
    exact as exact_kernels,
)
from odernn.executions.cpu.kernels import lanes as lanes_of
from odernn.executions.cpu.kernels import (
    rebuilt as rebuilt_kernels,
)
from odernn.executions.cpu.kernels import (
    recurrence as recurrence_kernels,
)
from odernn.executions.cpu.threads import RANGES_A_THREAD
from odernn.executions.recurrence import ReconstructionWarning
from tests.odernn.executions.cpu_problems import DTYPES, MODES, NAMES, ends_of, normal, problem, run, violations
from tests.tiers import only

STEPS = (0, 1, 2, 3, 101, 784)
SHAPES = ((1, 1), (3, 5), (2, 33), (9, 128))
CASES = list(itertools.product(MODES, DTYPES, STEPS, SHAPES, (False, True)))


def test_the_number_of_cases():
    assert len(CASES) == 3 * 2 * 6 * 4 * 2 == 288


FAST = [(torch.float32, mode, steps) for mode in MODES for steps in (0, 3, 101)] + [(torch.float64, "stored", 3)]
"""Every kernel of float64 compiles for seconds."""


@pytest.mark.parametrize(("dtype", "mode", "steps"), only(itertools.product(DTYPES, MODES, STEPS), *FAST), ids=str)
def test_outputs_and_gradients_are_those_of_the_oracle(dtype: torch.dtype, mode: str, steps: int):
    ran = 0
    for case in CASES:
        if case[:3] != (mode, dtype, steps):
            continue
        _, _, _, shape, is_ragged = case
        lengths = ends_of(steps, shape[0]) if is_ragged else None
        found = run(cpu, problem(steps, *shape, dtype), lengths, backward=mode)
        assert violations(found, dtype, steps, shape, is_ragged) == [], (shape, is_ragged)
        ran += 1
    assert ran == 8


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_outputs_and_gradients_of_a_long_sequence(mode: str, dtype: torch.dtype):
    found = run(cpu, problem(17984, 1, 3, dtype), None, backward=mode)
    assert violations(found, dtype, 17984, (1, 3), False) == []


@pytest.mark.parametrize(
    ("module", "kernel", "mode", "position", "lane"),
    [
        (recurrence_kernels, "stored_backward", "stored", 7, lanes_of.A),
        (recurrence_kernels, "stored_backward", "stored", 7, lanes_of.W),
        (rebuilt_kernels, "rebuilt_backward", "reversible", 7, lanes_of.A),
        (exact_kernels, "exact_backward", "exact", 5, lanes_of.W),
        (recurrence_kernels, "forward", "stored", 6, lanes_of.A),
        (recurrence_kernels, "forward", "stored", 6, lanes_of.H),
    ],
)
def test_a_kernel_with_a_wrong_sign_is_caught(
    monkeypatch, module: Any, kernel: str, mode: str, position: int, lane: int
):
    """Planted fault: the kernel sees −α, −w or −h."""
    right: Callable[..., None] = getattr(module, kernel)

    def wrong(*arguments: Any) -> None:
        part = arguments[position][:, lane : lane + lanes_of.WIDTH]
        part *= -1
        right(*arguments)
        part *= -1

    monkeypatch.setattr(module, kernel, wrong)
    case = (torch.float64, 3, (3, 5), False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = run(cpu, problem(3, 3, 5), None, backward=mode)
    except RuntimeError as error:
        assert mode == "exact" and "did not return to the initial state" in str(error)
    else:
        assert violations(found, *case)


# --- numbers, memory, threads


@pytest.mark.parametrize("mode", MODES)
def test_nan_stays_in_its_own_sample_and_neuron(mode: str):
    x = normal(20, 2, 3, seed=17)
    x[5, 1, 2] = math.nan
    leaf = x.requires_grad_()
    ran = cpu.outputs(leaf, w=0.5, step_size=0.1, alpha=1.0, backward=mode)  # type: ignore[arg-type]
    expected = torch.zeros(20, 2, 3, dtype=torch.bool)
    expected[5:, 1, 2] = True
    assert torch.equal(ran.y.isnan(), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReconstructionWarning)  # of a state that is NaN
        (gradient,) = torch.autograd.grad(ran.y[:, 0].sum() + ran.y[:, 1, :2].sum(), leaf)
    assert gradient[:, 0].isfinite().all() and gradient[:, 1, :2].isfinite().all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_thread_and_two_give_the_same_bits(monkeypatch, mode: str, dtype: torch.dtype):
    p = problem(40, 5, 1000, dtype)
    monkeypatch.setattr(cpu_columns, "COLUMNS_A_THREAD", 1024)
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        found.append(run(cpu, p, torch.tensor([40, 40, 3, 40, 17]), backward=mode))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


@pytest.mark.parametrize(
    ("columns", "offered", "threads"),
    [(1, 8, 1), (16383, 8, 1), (16384, 1, 1), (16384, 8, 2), (24575, 8, 2), (24576, 8, 3), (1 << 17, 4, 4)],
)
def test_threads_are_as_many_as_the_columns_warrant(monkeypatch, columns: int, offered: int, threads: int):
    """8192 columns each, of the threads that torch was given; each block is taken once."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: offered)
    seen: dict[tuple[int, int], int] = {}

    def kernel(first: int, last: int) -> None:
        seen[first, last] = threading.get_ident()
        time.sleep(0.001)  # so that the others come to their turn

    job = ColumnJob.of(10, (1, columns), torch.float32, None)
    job.run(kernel, ())
    assert len(seen) == (1 if threads == 1 else min(RANGES_A_THREAD * threads, job.blocks))
    assert len(set(seen.values())) <= threads and threading.get_ident() in seen.values()
    assert sorted(k for first, last in seen for k in range(first, last)) == list(range(job.blocks))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_nothing_to_do_is_done(mode: str, shape: tuple[int, int]):
    found = run(cpu, problem(4, *shape), None, backward=mode)
    assert found["y"].shape == (4, *shape) and not found["grad w"].any()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("steps", "batch"), [(4, 0), (0, 3), (0, 0)])
def test_two_layers_of_nothing_have_gradients_of_zero(mode: str, steps: int, batch: int):
    model = UnICORNN(2, 3, 2, dt=0.1, alpha=1.0, execution="cpu", backward=mode)  # type: ignore[arg-type]
    u = torch.zeros(steps, batch, 2, requires_grad=True)
    output, (y, z) = model(u)
    (output.sum() + y.sum() + z.sum()).backward()
    assert u.grad is not None and u.grad.shape == u.shape
    assert not any(bool(parameter.grad.any()) for parameter in model.parameters() if parameter.grad is not None)


@pytest.mark.parametrize("mode", MODES)
def test_unsorted_lengths_take_no_more_lanes_and_change_nothing(mode: str):
    """600 samples of all lengths: as many rows of lanes as for one length, and what each sample gives alone."""
    batch, hidden, steps = 600, 4, 20
    lengths = torch.arange(batch) * 7 % (steps + 1)
    ragged = ColumnJob.of(steps, (batch, hidden), torch.float32, lengths)
    even = ColumnJob.of(steps, (batch, hidden), torch.float32, None)
    assert ragged.blocks >= batch and ragged.rows == even.rows == even.blocks == 3
    p = problem(steps, batch, hidden)
    found = run(cpu, p, lengths, backward=mode)
    expected = run(torch_loop, p, lengths)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-11, atol=1e-11 * (1 + float(value.abs().max())))


def test_arguments_are_not_written_to_and_may_be_strided():
    p = problem(30, 4, 6)
    before = {name: value.clone() for name, value in p.items()}
    strided = p | {"x": p["x"].transpose(0, 1).contiguous().transpose(0, 1), "y0": p["y0"].t().contiguous().t()}
    found, expected = run(cpu, strided, None), run(cpu, p, None)
    assert all(torch.equal(found[name], expected[name]) for name in found)
    assert all(torch.equal(p[name], before[name]) for name in NAMES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_layers": 3, "residual_skip": 2},
        {"num_layers": 2, "bidirectional": True},
        {"num_layers": 2, "index": "sam"},
        {"bias": False, "multiscale": False, "batch_first": True},
    ],
    ids=str,
)
def test_a_network_is_the_same_in_both_executions(mode: str, options: dict[str, Any]):
    model = UnICORNN(
        2, 5, dt=0.2, alpha=1.5, dtype=torch.float64, generator=torch.Generator().manual_seed(0), **options
    )
    u = normal(6, 6, 2, seed=18)
    results = []
    for choice in ({"execution": "torch"}, {"execution": "cpu", "backward": mode}):
        model.zero_grad()
        leaf = u.clone().requires_grad_()
        output, (y, z) = model(leaf, lengths=[6, 0, 3, 3, 1, 6], **choice)
        (output.square().sum() + y.sum() + z.square().sum()).backward()
        results.append(
            [output.detach(), y.detach(), z.detach(), leaf.grad, *(p.grad.clone() for p in model.parameters())]
        )
    for loop, fused in zip(*results, strict=True):
        torch.testing.assert_close(loop, fused, rtol=1e-11, atol=1e-11)
    for loop, fused in zip(*(model.states(u, execution=e) for e in ("torch", "cpu")), strict=True):
        torch.testing.assert_close((loop.y, loop.z), (fused.y, fused.z), rtol=1e-11, atol=1e-11)


def test_autocast_leaves_the_recurrence_its_digits():
    model = UnICORNN(2, 5, dt=0.2, alpha=1.5, execution="cpu")
    u = normal(6, 3, 2, seed=19, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (fused, _), (loop, _) = model(u), model(u, execution="torch")
    assert fused.dtype == torch.float32
    torch.testing.assert_close(fused, loop, rtol=1e-5, atol=1e-6)


def test_the_mode_is_shown_and_checked():
    assert "backward='exact'" in repr(UnICORNN(2, 3, dt=0.1, alpha=1.0, execution="cpu", backward="exact"))
    assert "backward" not in repr(UnICORNN(2, 3, dt=0.1, alpha=1.0))
    with pytest.raises(ValueError, match='No backward mode is called "magic"'):
        UnICORNN(2, 3, dt=0.1, alpha=1.0, backward="magic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='not offered by execution="torch"'):
        UnICORNN(2, 3, dt=0.1, alpha=1.0)(normal(3, 1, 2, seed=0, dtype=torch.float32), backward="exact")


@pytest.mark.parametrize(("mode", "arrays"), [("stored", 1.0), ("reversible", 2 / cpu.CHECKPOINT), ("exact", 1.0)])
def test_what_a_layer_keeps_for_its_backward_pass(mode: str, arrays: float):
    """Saved tensors, without u and weights, in arrays (time, batch, hidden); "exact" keeps x, and nothing else."""
    steps, batch, hidden = 1280, 8, 16
    model = UnICORNN(1, hidden, dt=0.1, alpha=1.0, execution="cpu", backward=mode)  # type: ignore[arg-type]
    seen: dict[int, int] = {}

    def save(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    u = normal(steps, batch, 1, seed=20, dtype=torch.float32)
    with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
        model(u)
    seen.pop(u.untyped_storage().data_ptr(), None)
    array = steps * batch * hidden * 4
    assert arrays <= sum(seen.values()) / array <= arrays + 0.02
