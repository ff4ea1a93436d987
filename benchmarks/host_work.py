"""What one layer costs the host on execution="cuda": all but the kernels, which a launcher that returns at once does.

    python benchmarks/host_work.py

Microseconds of processor time a call, by the median of the rounds: `outputs` without a gradient, and with its backward
pass from a given ∂E/∂y. Tensors are a CPU's, and allocating one is paid on either kind of device, so arrays are of few
columns; what a driver takes for a launch is not in it. For comparison: an ``autograd.Function`` of as many tensors that
does nothing.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from _harness import RESULTS, machine

from cuda.odernn_kernels import catalogue, execution, module

STEPS = (1000, 4096, 17984)
BATCH, HIDDEN = 2, 4
ASKED = {"forward": 40.0, "forward and backward": 120.0, "nothing at all": 120.0}
"""Microseconds a layer; not asked of the reversible and the exact mode, which look at what came out."""

ROUNDS, CALLS = 61, 200


class IdleLauncher:
    """Launches nothing; counts."""

    launches = 0

    def launch(
        self, kernel: catalogue.Kernel, grid: int, arguments: tuple[int | float, ...], *, threads: int, shared: int
    ) -> None:
        self.launches += 1


def problem(steps: int) -> dict[str, torch.Tensor]:
    """A layer's arguments as a cell gives them: w and h a neuron, α a number, in need of gradients."""
    made = {
        "x": torch.zeros(steps, BATCH, HIDDEN),
        "w": torch.zeros(HIDDEN),
        "step_size": torch.ones(HIDDEN),
        "alpha": torch.zeros(()),
        "y0": torch.zeros(BATCH, HIDDEN),
        "z0": torch.zeros(BATCH, HIDDEN),
    }
    return {name: value.requires_grad_(name in ("x", "w", "step_size")) for name, value in made.items()}


def microseconds(call: Callable[[], Any]) -> list[float]:
    """Of one call, round by round; the first rounds are not counted."""
    found = []
    for number in range(ROUNDS + 3):
        started = time.process_time()
        for _ in range(CALLS):
            call()
        if number >= 3:
            found.append(1e6 * (time.process_time() - started) / CALLS)
    return found


def cases(steps: int) -> dict[str, Callable[[], Any]]:
    given = problem(steps)
    x, rest = given["x"], {name: value for name, value in given.items() if name != "x"}
    leaves, grad_y = [given[name] for name in ("x", "w", "step_size")], torch.zeros_like(x)

    def forward() -> None:
        with torch.no_grad():
            execution.outputs(x, **rest)  # type: ignore[arg-type]

    def both() -> None:
        torch.autograd.grad(execution.outputs(x, **rest).y, leaves, grad_y)  # type: ignore[arg-type]

    others = [given[name] for name in ("w", "step_size", "alpha", "y0", "z0")]

    def nothing() -> None:
        torch.autograd.grad(Nothing.apply(grad_y, x, *others), leaves, grad_y)  # type: ignore[no-untyped-call]

    return {"forward": forward, "forward and backward": both, "nothing at all": nothing}


class Nothing(torch.autograd.Function):
    """Saves its arguments and gives them back as gradients."""

    @staticmethod
    def forward(ctx: Any, y: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(*given)
        return y.detach()

    @staticmethod
    def backward(ctx: Any, grad_y: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, *ctx.saved_tensors


def main() -> int:
    torch.set_num_threads(1)
    launcher, rows = IdleLauncher(), []
    with module.using(launcher):
        for steps in STEPS:
            for name, call in cases(steps).items():
                before = launcher.launches
                samples = microseconds(call)
                launches = (launcher.launches - before) // (CALLS * (ROUNDS + 3))
                row = {
                    "steps": steps,
                    "name": name,
                    "launches": launches,
                    "median": statistics.median(samples),
                    "smallest": min(samples),
                    "largest": max(samples),
                    "asked": ASKED[name],
                }
                rows.append(row)
                sys.stdout.write(
                    f"N = {steps:5d}  {name:21s} {launches} launches  {row['median']:6.1f} µs "
                    f"({row['smallest']:.1f} … {row['largest']:.1f}; asked {ASKED[name]:.0f})\n"
                )
    RESULTS.mkdir(exist_ok=True)
    data = {"benchmark": "host_work", "unit": "µs", "machine": machine(), "rows": rows}
    (RESULTS / "host_work.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
