"""When does solving for many steps at once beat the loop over them? Execution "parallel" beside execution "torch".

One thread, or the GPU if there is one; float32; the recurrence alone, at the step sizes of the paper's tasks, with few
and with many columns (batch · hidden). Forward, and forward plus backward. States and gradients are checked against the
float64 loop before anything is timed; the mean number of Newton iterations is recorded with the errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from _harness import Timing, interleaved, report
from torch import Tensor

from odernn.executions import Execution, torch_loop
from odernn.executions.parallel import execution as parallel

STEPS = {"EigenWorms": (0.0343, 0.0), "restoring": (0.19, 30.0)}
"""dt, α"""
COLUMNS = ((1, 8), (8, 32), (32, 32))
TILES = (256, 1024)
TOLERANCE = 1e-3
"""Largest admitted float32 error of states and gradients, relative to the largest; measured errors are printed."""


def problem(steps: int, batch: int, hidden: int, dt: float, alpha: float, device: str) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    found = {
        "x": torch.randn(steps, batch, hidden, generator=generator),
        "w": torch.rand(hidden, generator=generator),
        "step_size": dt * torch.sigmoid(0.2 * torch.rand(hidden, generator=generator) - 0.1),
        "alpha": torch.tensor(alpha),
    }
    return {name: value.to(device) for name, value in found.items()}


def gradients(execution: Execution, p: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    leaves = {name: value.detach().clone().requires_grad_() for name, value in p.items()}
    y = execution.outputs(**leaves).y
    return y.detach(), *torch.autograd.grad(y[-1].sum(), [leaves["x"], leaves["w"]])


def checked_error(p: dict[str, Tensor]) -> float:
    found = gradients(parallel, p)
    expected = gradients(torch_loop, {name: value.double() for name, value in p.items()})
    error = max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(found, expected, strict=True))
    assert error <= TOLERANCE, f"relative error {error:.2e} exceeds {TOLERANCE}"
    return error


def peers(p: dict[str, Tensor], *, backward: bool) -> dict[str, Callable[[], object]]:
    leaves = {name: value.detach().clone().requires_grad_(backward) for name, value in p.items()}

    def timed(run: Callable[[], Tensor]) -> Callable[[], object]:
        def call() -> None:
            with torch.set_grad_enabled(backward):
                y = run()
                if backward:
                    torch.autograd.grad(y[-1].sum(), list(leaves.values()))
            if y.is_cuda:
                torch.cuda.synchronize()

        return call

    found = {"torch loop": timed(lambda: torch_loop.forward(**leaves).y)}
    for tile in TILES:
        found[f"parallel, tile {tile}"] = timed(lambda tile=tile: parallel.solve(**leaves, tile=tile)[0].y)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2048, help="N")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cases: dict[str, list[Timing]] = {}
    checks: dict[str, float] = {}
    for task, (dt, alpha) in STEPS.items():
        for batch, hidden in COLUMNS:
            p = problem(chosen.steps, batch, hidden, dt, alpha, device)
            where = f"{task} ({chosen.steps}, {batch}, {hidden})"
            checks[f"{where} relative error"] = checked_error(p)
            for tile in TILES:
                _, info = parallel.solve(**p, tile=tile)
                assert not info.fallback, f"{where}: {info.because}"
                checks[f"{where} iterations, tile {tile}"] = info.mean_iterations
            for backward in (False, True):
                name = f"{where} {'forward + backward' if backward else 'forward'}"
                cases[name] = interleaved(peers(p, backward=backward), rounds=chosen.rounds)
    report("parallel_in_time", cases, checks)


if __name__ == "__main__":
    main()
