"""The emulator finds what it is there to find: planted faults, each beside the sound kernel."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cuda.odernn_kernels import catalogue, emulator, execution, module, orthogonal
from cuda.odernn_kernels.emulator import Emulated, EmulationError, Order
from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher
from tests.kernels.broken import broken
from tests.tiers import only

pytestmark = pytest.mark.usefixtures("compiler")
CHECKOUT = Path(__file__).resolve().parents[2]


def planted(file: str, sound: str, faulty: str, *, count: int = 1) -> Emulated:
    """The unit with a fault in it; the text replaced must be there, so that the test cannot go stale."""
    text = emulator.sources()[file]
    assert text.count(sound) >= count, f"{file} has no {sound!r}"
    changed = text.replace(sound, faulty, count)
    units = [file] if file.endswith(".cu") else ["forward.cu"]
    return broken({file: changed}, only=units)


def rows_of_scan(emulated: Emulated, order: Order) -> torch.Tensor:
    x = torch.randn(1100, 1, 1, generator=torch.Generator().manual_seed(0))
    with module.using(EmulatedLauncher(emulated, order)):
        return execution.outputs(x, w=0.5, step_size=0.1, alpha=1.0).y


def rows_of_ring(emulated: Emulated, steps: int = 70) -> torch.Tensor:
    x = torch.randn(steps, 1, 3, generator=torch.Generator().manual_seed(0))
    with module.using(EmulatedLauncher(emulated)):
        return execution.outputs(x, w=0.5, step_size=0.1, alpha=1.0).y


def rows_of_scornn(emulated: Emulated, order: Order) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    x, W = torch.randn(9, 2, 40, generator=generator), torch.randn(40, 40, generator=generator) / 7
    with module.using(EmulatedLauncher(emulated, order)):
        return orthogonal.rows(x, W=W, b=torch.zeros(40), h0=torch.zeros(2, 40))


BARRIERS = [
    ("the warps' totals are read before they are written",
     "if (lane == 31) shared.warp[warp] = all;\n  __syncthreads();", "if (lane == 31) shared.warp[warp] = all;"),
    ("a piece's start is read before its neighbour has moved it",
     "shared.state[t + 1] = better;\n      __syncthreads();", "shared.state[t + 1] = better;"),
    ("the tile's end is read before it is there",
     "allowed / 2;\n    __syncthreads();", "allowed / 2;"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "sound", "faulty"), only(BARRIERS, BARRIERS[1]), ids=[b[0] for b in BARRIERS])
def test_a_missing_barrier_shows_in_some_order(emulated: Emulated, what: str, sound: str, faulty: str) -> None:
    expected = rows_of_scan(emulated, Order.ASCENDING)
    broken = planted("scan.cu", sound, faulty)
    seen = []
    for order in Order:
        try:
            seen.append(torch.equal(rows_of_scan(broken, order), expected))
        except EmulationError:
            seen.append(False)
    assert not all(seen)


def test_scornn_without_its_barrier_shows_in_some_order(emulated: Emulated) -> None:
    expected = [rows_of_scornn(emulated, order) for order in Order]
    assert all(torch.equal(expected[0], other) for other in expected[1:])
    broken = planted("scornn.cu", "    __syncthreads();\n    const Four<T>* from", "    const Four<T>* from")
    assert not all(torch.equal(rows_of_scornn(broken, order), expected[0]) for order in Order)


def test_a_copy_that_is_not_awaited_is_seen(emulated: Emulated) -> None:
    expected = rows_of_ring(emulated)
    late = planted("recurrence.cuh", "await_copies<STAGES - 2>();", "await_copies<STAGES - 1>();")
    assert not torch.equal(rows_of_ring(late), expected)


def test_an_off_by_one_in_the_ring_is_seen(emulated: Emulated) -> None:
    wrong = planted("forward.cu", "asked += ROWS;", "asked += ROWS; from += asked == 3 * ROWS ? c.width : 0;")
    assert not torch.equal(rows_of_ring(wrong, 60), rows_of_ring(emulated, 60))


def test_a_barrier_in_a_divergent_branch_is_named(emulated: Emulated) -> None:
    sound = "      shared.state[t] = start;\n      __syncthreads();"
    faulty = "      shared.state[t] = start;\n      if (t < 40)\n __syncthreads();\n else\n __syncthreads();\n"
    broken = planted("scan.cu", sound, faulty)
    with pytest.raises(EmulationError, match=r"divergent.*scan\.cu"):
        rows_of_scan(broken, Order.ASCENDING)


def test_a_shuffle_in_a_divergent_branch_is_a_deadlock() -> None:
    broken = planted(
        "scan.cu",
        "const float below = from_below(sum, distance);",
        "if (lane < distance) continue;\n const float below = from_below(sum, distance);",
    )
    x = torch.randn(1100, 1, 1, requires_grad=True)
    with module.using(EmulatedLauncher(broken)):
        found = execution.outputs(x, w=0.5, step_size=0.1, alpha=1.0)
        with pytest.raises(EmulationError, match=r"deadlock|divergent"):
            found.y.sum().backward()


BROKEN_RULES = [
    ("scornn.cu", "constexpr int APART = 4;", "constexpr int APART = 2;", r"a misaligned address at .*scornn\.cu"),
    ("forward.cu", "step(c, c.w, ring.cell[stage][r][lane], y, z);",
     "step(c, c.w, ring.cell[stage][r + 1][lane], y, z);", r"an index is beyond its array at .*forward\.cu"),
    ("forward.cu", "    asked += ROWS;\n", "    asked += 0x7fffff00;\n", r"an integer overflows at .*forward\.cu"),
    ("arithmetic.cuh", "__float_as_uint(shifted) << 23", "__float_as_uint(shifted) << (x > 1.0f ? 40 : 23)",
     r"a shift by more than the width at .*arithmetic\.cuh"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "sound", "faulty", "says"), BROKEN_RULES, ids=[rule[3][:12] for rule in BROKEN_RULES])
def test_a_rule_of_the_machine_that_is_broken_is_named(file: str, sound: str, faulty: str, says: str) -> None:
    broken = planted(file, sound, faulty)
    with pytest.raises(EmulationError, match=says):
        rows_of_scornn(broken, Order.ASCENDING) if file == "scornn.cu" else rows_of_ring(broken)


def test_shared_memory_that_is_written_beyond_its_size_is_named(
    emulated: Emulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = catalogue.KERNELS["scan_forward_f32"]
    monkeypatch.setitem(catalogue.KERNELS, kernel.name, replace(kernel, shared=kernel.shared - 8))
    with pytest.raises(EmulationError, match="shared memory is written beyond its size, at byte"):
        rows_of_scan(emulated, Order.ASCENDING)


def test_arguments_of_a_wrong_size_are_refused(emulated: Emulated) -> None:
    with pytest.raises(EmulationError, match="wrong size"):
        emulated.launch("forward_f32", grid=1, threads=32, shared=4096, arguments=b"12345678")
    with pytest.raises(EmulationError, match="no kernel is called backward_f16"):
        emulated.launch("backward_f16", grid=1, threads=32, shared=0, arguments=b"")


def test_every_kernel_is_emulated_and_every_emulated_kernel_is_known(emulated: Emulated) -> None:
    assert set(emulated.kernels) == set(catalogue.KERNELS)


ULPS = 1.4
"""Of tanh; 1.32 seen over every 16th float32, where ``TANH_ROUNDOFFS`` admits 2."""


def largest_ulps(emulated: Emulated, bits: np.ndarray) -> float:
    values = bits.astype(np.uint32).view(np.float32)
    results = np.empty_like(values)
    emulated.tanh(values.ctypes.data, results.ctypes.data, values.size)
    exact = np.tanh(values.astype(np.float64))
    return float((np.abs(results - exact) / np.spacing(np.abs(exact).astype(np.float32))).max())


@pytest.mark.parametrize("stride", [4099, pytest.param(16, marks=pytest.mark.slow)])
def test_tanh_is_accurate_over_all_floats(emulated: Emulated, stride: int) -> None:
    """All of one sign in steps of ``stride``; the reciprocal is off by an ulp here, as on the machine."""
    for start in range(0, 0x7F800000, 1 << 28):
        assert largest_ulps(emulated, np.arange(start, min(start + (1 << 28), 0x7F800000), stride)) <= ULPS


def test_tanh_is_odd_and_right_at_the_ends(emulated: Emulated) -> None:
    values = np.array([0.0, 1e-45, 1e-30, 0.6, 9.02, 9.03, 1e30, math.inf, math.nan], dtype=np.float32)
    for sign in (np.float32(1), np.float32(-1)):
        given, results = sign * values, np.empty_like(values)
        emulated.tanh(given.ctypes.data, results.ctypes.data, values.size)
        assert math.isnan(results[-1]) and (results[4:-1] == sign).all() and (results[:3] == given[:3]).all()
        assert math.copysign(1, results[0]) == sign


SANITIZED = """
import torch
from dataclasses import replace
from cuda.odernn_kernels import emulator, execution, catalogue, module, orthogonal, trajectories
from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher
text = emulator.sources()[{file!r}]
assert {sound!r} in text
built = emulator.build({{{file!r}: text.replace({sound!r}, {faulty!r}, 1)}}, sanitize=True)
print("built", flush=True)
for name, less in {short!r}.items():
    catalogue.KERNELS[name] = replace(catalogue.KERNELS[name], shared=catalogue.KERNELS[name].shared - less)
with module.using(EmulatedLauncher(built)):
    for steps, batch, hidden in ((1, 1, 1), (7, 3, 5), (257, 1, 33), (1100, 1, 1)):
        x = torch.randn(steps, batch, hidden, requires_grad=True)
        w = torch.randn(hidden, requires_grad=True)
        ends = torch.randint(0, steps + 1, (batch,))
        for mode in ("stored", "reversible", "exact"):
            for lengths in (None, ends):
                found = execution.outputs(x, w=w, step_size=0.1, alpha=1.0, lengths=lengths, backward=mode)
                (found.y.sum() + found.z_last.sum()).backward()
        rows = execution.forward(x, w=w, step_size=0.1, alpha=1.0)
        (rows.y.sum() + rows.z.sum()).backward()
        execution.inverse(x, w=w, step_size=0.1, alpha=1.0, y_last=rows.y_last, z_last=rows.z_last)
        trajectories.extremes(x.detach()[:, 0], w=w.detach(), step_size=0.1, alpha=1.0)
    for batch, units, dtype, b in ((1, 1, torch.float32, 1), (5, 33, torch.float32, 1), (2, 33, torch.float64, None)):
        x = torch.randn(3, batch, units, dtype=dtype, requires_grad=True)
        W, h0 = torch.eye(units, dtype=dtype), torch.zeros(batch, units, dtype=dtype)
        orthogonal.rows(x, W=W, b=b and torch.zeros(units), h0=h0).sum().backward()
print("clean", flush=True)
"""

SHARED = {"scan_forward_f32": 8}
"""Bytes that a launch is given too few."""

ASAN = [
    ("nothing", "forward.cu", "fetch", "fetch", {}, "clean"),
    ("an index off by one", "forward.cu", "a.y_last[index] = y;", "a.y_last[index + 1] = y;", {},
     "heap-buffer-overflow"),
    ("a row too far", "recurrence.cuh", "base >= 0 && base + r < length", "base >= 0 && base + r <= length", {},
     "heap-buffer-overflow"),
    ("shared memory too short", "scan.cu", "shared", "shared", SHARED, "heap-buffer-overflow"),
    ("a shift by more than the width", "arithmetic.cuh", "__float_as_uint(shifted) << 23",
     "__float_as_uint(shifted) << (x > 1.0f ? 40 : 23)", {}, "shift exponent 40"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("what", "file", "sound", "faulty", "short", "says"), ASAN, ids=[a[0] for a in ASAN])
def test_under_the_sanitizers(what: str, file: str, sound: str, faulty: str, short: dict[str, int], says: str) -> None:
    """A process of its own: the sanitizer must be there before anything else is."""
    compiler = os.environ.get("CXX", "g++")
    library = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    if not Path(library).is_absolute():
        pytest.skip(f"{compiler} has no address sanitizer")
    environment = {
        **os.environ,
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0",
        "OMP_NUM_THREADS": "1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONPATH": str(CHECKOUT),
    }
    done = subprocess.run(
        [sys.executable, "-c", SANITIZED.format(file=file, sound=sound, faulty=faulty, short=short)],
        env=environment,
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
    )
    output = done.stdout + done.stderr
    assert "built" in output, output
    assert says in output, output
    assert (done.returncode == 0) == (says == "clean"), output
