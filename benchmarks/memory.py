"""How much memory does one gradient of a three-layer UnICORNN need, and how does that grow with the number of steps N?

(batch, input, hidden, layers) = (8, 6, 32, 3), EigenWorms with a third layer, loss c·y^L_N, float32. Two measures:

    peak_bytes  bytes of torch tensors that are live at once, the input's among them; counted, the same in every run
    rss_bytes   growth of the peak resident memory of a process of its own, in which a short sequence ran before

The gradients are checked before anything is measured: against autograd in float64 (1124 steps), and in float32 against
float64 at the largest N, where all ways have rounding errors. Writes results/memory.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _harness import RESULTS, machine
from _live_bytes import LiveBytes
from torch import Tensor

from odernn import executions
from odernn.cells.unicornn import UnICORNN
from odernn.cells.unicornn import stack as whole
from odernn.executions import torch_loop
from odernn.executions.recurrence import RecurrenceResult

STEPS = (1124, 2248, 4496, 8992, 17984)
BATCH, INPUTS, HIDDEN, LAYERS = 8, 6, 32, 3
DT, ALPHA = (2.81e-5, 0.0343, 0.0343), 0.0
CHUNK = 256
TOLERANCE = 1e-9
"""Largest admitted error of a float64 gradient, relative to its largest element."""

Way = Callable[[UnICORNN, Tensor], Tensor]


class StoredRows(torch.autograd.Function):
    """One layer that keeps its drives and its rows of y: the least that an operation on one layer can keep.

    Back, chunk by chunk, z_{n−1} = z_n + h (s_n + α y_{n−1}) is a sum over what is stored.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, h: Tensor, alpha: Tensor) -> Tensor:
        found = torch_loop.forward(x, w=w, step_size=h, alpha=alpha)
        ctx.save_for_backward(x, w, h, alpha, found.y, found.z_last.clone())
        return found.y

    @staticmethod
    def backward(ctx: Any, grad_y: Tensor) -> tuple[Tensor | None, ...]:
        x, w, h, alpha, y, z = ctx.saved_tensors
        p, q = torch.zeros_like(z), torch.zeros_like(z)
        grad_x, grad_w, grad_h = torch.empty_like(x), torch.zeros_like(w), torch.zeros_like(h)
        for start in range((len(x) - 1) // CHUNK * CHUNK, -1, -CHUNK):
            rows = slice(start, min(start + CHUNK, len(x)))
            first = y[start - 1] if start else torch.zeros_like(z)
            before = torch.cat([first.unsqueeze(0), y[rows][:-1]])
            kick = h * (torch.tanh(w * before + x[rows]) + alpha * before)
            total = kick.flip(0).cumsum(0).flip(0)
            states = RecurrenceResult(y[rows], z + total - kick, first, z + total[0], "stored")
            given = {"w": w, "step_size": h, "alpha": alpha}
            back = torch_loop.backward(
                x[rows], **given, states=states, grad_y=grad_y[rows], grad_y_last=p, grad_z_last=q
            )
            grad_x[rows] = back.x
            grad_w += back.w
            grad_h += back.step_size
            p, q, z = back.y0, back.z0, states.z0
        return grad_x, grad_w, grad_h, None


def stored_rows(network: UnICORNN, u: Tensor) -> Tensor:
    """y^L_N, layer after layer by ``StoredRows``."""
    level = u
    for number, layer in enumerate(network.layers):
        coefficients = network.coefficients(number)
        level = StoredRows.apply(
            layer.drive(level, None), coefficients["w"], coefficients["step_size"], coefficients["alpha"]
        )
    return level[-1]


def ways() -> dict[str, Way]:
    """y^L_N in each way; those of an execution that cannot run here are left out."""
    found: dict[str, Way] = {
        "autograd": lambda network, u: network(u)[1][0][-1],
        "stored rows": stored_rows,
        "stack, reversible": lambda network, u: whole.last(network, u)[0][-1],
        "stack, checkpointed": lambda network, u: whole.last(network, u, backward="checkpointed")[0][-1],
    }
    if executions.available()["cpu"] is None:
        found |= {
            "layers, cpu": lambda network, u: network(u, execution="cpu")[1][0][-1],
            "stack, reversible, cpu": lambda network, u: whole.last(network, u, execution="cpu")[0][-1],
        }
    return found


def network_and_input(steps: int, dtype: torch.dtype = torch.float32) -> tuple[UnICORNN, Tensor, Tensor]:
    """The network, u ~ N(0, 1) and the weights c of the loss."""
    generator = torch.Generator().manual_seed(0)
    network = UnICORNN(INPUTS, HIDDEN, LAYERS, dt=DT, alpha=ALPHA, generator=generator).to(dtype)
    c = torch.randn(BATCH, HIDDEN, generator=generator).to(dtype)
    return network, torch.randn(steps, BATCH, INPUTS, generator=generator).to(dtype), c


def gradient(way: Way, steps: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """By all parameters, in float64."""
    network, u, c = network_and_input(steps, dtype)
    return [each.double() for each in torch.autograd.grad((way(network, u) * c).sum(), list(network.parameters()))]


def error(found: Sequence[Tensor], expected: Sequence[Tensor]) -> float:
    """The largest error of a parameter's gradient relative to its largest element."""
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(found, expected, strict=True))


def peak_bytes(way: Way, steps: int) -> int:
    """Counted, from the making of the input to the last gradient; the weights are not, their gradients are."""
    network = network_and_input(0)[0]
    with LiveBytes() as counted:
        u, c = torch.randn(steps, BATCH, INPUTS), torch.randn(BATCH, HIDDEN)
        (way(network, u) * c).sum().backward()
    return counted.peak


def one_process(way: Way, steps: int) -> dict[str, float]:
    """Growth of the peak resident memory of this process, and its seconds; after the same with few steps."""
    for count in (64, steps):
        _forget_peak()
        before = _peak_resident()
        network, u, c = network_and_input(count)
        started = time.process_time()
        loss = (way(network, u) * c).sum()
        forward = time.process_time() - started
        loss.backward()
        both = time.process_time() - started
        found = {"rss_bytes": _peak_resident() - before, "cpu_seconds": both, "cpu_seconds_forward": forward}
    return found


def _forget_peak() -> None:
    """Linux: the peak starts again from what is resident now. Elsewhere it is that of the whole process."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak_resident() -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def measured(name: str, way: Way) -> dict[str, Any]:
    """The runs of one way, and the slopes of both measures in N, by least squares."""
    runs = []
    for steps in STEPS:
        command = [sys.executable, __file__, "--one", name, "--steps", str(steps)]
        alone = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        runs.append({"steps": steps, "peak_bytes": peak_bytes(way, steps), **alone})
        sys.stdout.write(f"{name:40s} {steps:6d}  {runs[-1]['peak_bytes'] / 2**20:8.2f} MiB\n")
        sys.stdout.flush()
    slopes = {}
    for measure in ("peak_bytes", "rss_bytes"):
        slope, level = np.polyfit(STEPS, [run[measure] for run in runs], 1)
        slopes[measure] = {"a_step": float(slope), "at_no_step": float(level)}
    return {"runs": runs, "fit": slopes}


def checks(found: dict[str, Way]) -> dict[str, dict[str, float]]:
    """Errors of the gradients; those in float64 are verified."""
    plain = gradient(found["autograd"], STEPS[0], torch.float64)
    exact = gradient(found["stack, checkpointed"], STEPS[-1], torch.float64)
    errors: dict[str, dict[str, float]] = {}
    for name, way in found.items():
        double = error(gradient(way, STEPS[0], torch.float64), plain)
        assert double <= TOLERANCE, f"{name}: the gradient is off by {double:.1e}"
        errors[name] = {"float64": double, "float32, largest N": error(gradient(way, STEPS[-1]), exact)}
    return errors


def record(errors: dict[str, dict[str, float]], results: dict[str, dict[str, Any]]) -> None:
    """Write results/memory.json and print the largest N and the slopes."""
    largest = {name: way["runs"][-1] for name, way in results.items()}
    data = {
        "benchmark": "memory",
        "shape": {"batch": BATCH, "inputs": INPUTS, "hidden": HIDDEN, "layers": LAYERS},
        "dt": DT,
        "alpha": ALPHA,
        "chunk": CHUNK,
        "input_bytes_a_step": 4 * BATCH * INPUTS,
        "machine": machine(),
        "checked_errors": errors,
        "peak_relative_to": {
            plain: {name: run["peak_bytes"] / largest[plain]["peak_bytes"] for name, run in largest.items()}
            for plain in ("autograd", "stored rows")
        },
        "ways": results,
    }
    (RESULTS / "memory.json").write_text(json.dumps(data, indent=1) + "\n")
    for name, way in results.items():
        run, fit = largest[name], way["fit"]
        sys.stdout.write(
            f"{name:40s} {run['peak_bytes'] / 2**20:8.2f} MiB counted ({fit['peak_bytes']['a_step']:8.1f} B a step)  "
            f"{run['rss_bytes'] / 2**20:8.1f} MiB resident ({fit['rss_bytes']['a_step']:8.1f} B a step)  "
            f"{run['cpu_seconds']:6.1f} s\n"
        )


def main() -> None:
    torch.set_num_threads(1)
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--one", help="this way alone, in this process")
    arguments.add_argument("--steps", type=int, default=STEPS[-1])
    given = arguments.parse_args()
    found = ways()
    if given.one is not None:
        sys.stdout.write(json.dumps(one_process(found[given.one], given.steps)))
        return
    record(checks(found), {name: measured(name, way) for name, way in found.items()})


if __name__ == "__main__":
    main()
