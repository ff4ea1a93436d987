"""How much faster is the fused CPU execution of the cells than nn.LSTM, nn.GRU, nn.RNN and their own torch loops?

One thread, forward plus backward, shapes (time, batch, hidden, input). In milliseconds of the processor: the cores may
be shared with other work, which such a clock does not count. The first row is the reference, so a ratio above 1 is
faster than nn.LSTM. Loops, which take seconds, have turns of one call, beside the reference once more. Beside them,
where it is installed, the package torchrecurrent; and for one short shape torch.compile of the loop, which it unrolls.
expRNN is not at 1024 units, where the derivative of exp(A) takes seconds and the recurrence does not matter. Outputs
and every gradient are checked against the loop in float64, on the first 50 steps of each shape, before anything is
timed.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable

import torch
from _harness import Timing, interleaved, report
from torch import Tensor, nn

from odernn import cells

SHAPES = ((784, 32, 128, 1), (784, 128, 128, 1), (2000, 16, 190, 10), (2048, 8, 32, 6), (100, 32, 1024, 1))
LONG = (17984, 2, 32, 6)
SHORT = (50, 8, 32, 6)
CHECKED_STEPS = 50
TOLERANCE = 1e-3
"""Largest admitted float32 error, relative to the largest entry; measured errors are printed."""

LIPSCHITZ = {"dt": 0.05, "beta_a": 0.8, "gamma_a": 0.1, "beta_w": 0.8, "gamma_w": 0.1}
CELLS: dict[str, tuple[str, Callable[[int], dict[str, float | str | bool]]]] = {
    "coRNN": ("cornn", lambda n: {"dt": 0.042, "gamma": 2.7, "epsilon": 4.7}),
    "scoRNN": ("scornn", lambda n: {"rho": n // 4 * 2}),
    "expRNN": ("exprnn", lambda n: {}),
    "antisymmetric": ("antisymmetric", lambda n: {"dt": 0.05, "gamma": 0.1}),
    "antisymmetric gated": ("antisymmetric", lambda n: {"dt": 0.05, "gamma": 0.1, "gated": True}),
    "LEM": ("lem", lambda n: {}),
    "Lipschitz": ("lipschitz", lambda n: LIPSCHITZ),
    "Lipschitz midpoint": ("lipschitz", lambda n: LIPSCHITZ | {"method": "midpoint"}),
    "1-2-ARNN": ("arnn_1_2", lambda n: {"dt": 0.05}),
    "2-2-ARNN": ("arnn_2_2", lambda n: {"dt": 0.05}),
    "IndRNN": ("indrnn", lambda n: {}),
    "LinOSS": ("linoss", lambda n: {"dt": 0.1}),
    "UnICORNN": ("unicornn", lambda n: {"dt": 0.19, "alpha": 30.65}),
}
NO_LARGE_EXPONENTIAL = 1024
PACKAGE = {"coRNN": "coRNN", "antisymmetric": "AntisymmetricRNN", "antisymmetric gated": "GatedAntisymmetricRNN"}
PACKAGE |= {"LEM": "LEM", "IndRNN": "IndRNN", "UnICORNN": "UnICORNN"}


def make(label: str, size: int, hidden: int, execution: str) -> nn.Module:
    name, options = CELLS[label]
    generator = torch.Generator().manual_seed(0)
    cell: nn.Module = cells.get(name)(size, hidden, execution=execution, generator=generator, **options(hidden))
    return cell


def call(module: nn.Module, u: Tensor, cotangent: Tensor) -> Callable[[], None]:
    def both_ways() -> None:
        module.zero_grad()
        module(u)[0].backward(cotangent)

    return both_ways


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found.double() - expected).abs().max() / expected.abs().max().clamp(min=1e-30))


def checked_error(label: str, u: Tensor, cotangent: Tensor) -> float:
    u, cotangent, size, hidden = u[:CHECKED_STEPS], cotangent[:CHECKED_STEPS], u.shape[2], cotangent.shape[2]
    fused, oracle = make(label, size, hidden, "cpu"), make(label, size, hidden, "torch").double()
    oracle.load_state_dict(fused.state_dict())
    call(fused, u, cotangent)()
    call(oracle, u.double(), cotangent.double())()
    pairs = zip(fused.parameters(), oracle.parameters(), strict=True)
    errors = [relative(a.grad, b.grad) for a, b in pairs if a.grad is not None and b.grad is not None]
    worst = max(*errors, relative(fused(u)[0].detach(), oracle(u.double())[0].detach()))
    assert worst <= TOLERANCE, f"{label} {tuple(u.shape)}: relative error {worst:.2e} exceeds {TOLERANCE}"
    return worst


def of_package(label: str, size: int, hidden: int) -> nn.Module:
    layer: nn.Module = getattr(importlib.import_module("torchrecurrent"), PACKAGE[label])(size, hidden)
    return layer


def main() -> None:
    torch.set_num_threads(1)
    cases: dict[str, list[Timing]] = {}
    checks: dict[str, float] = {}
    has_package = importlib.util.find_spec("torchrecurrent") is not None
    for shape in (*SHAPES, LONG, SHORT):
        steps, batch, hidden, size = shape
        u = torch.rand(steps, batch, size, generator=torch.Generator().manual_seed(0))
        cotangent = torch.randn(steps, batch, hidden, generator=torch.Generator().manual_seed(1))
        labels = [label for label in CELLS if label != "expRNN" or hidden < NO_LARGE_EXPONENTIAL]
        checks[str(shape)] = max(checked_error(label, u, cotangent) for label in labels)
        torchs = {f"nn.{kind.__name__}": call(kind(size, hidden), u, cotangent) for kind in (nn.LSTM, nn.GRU, nn.RNN)}
        fused = {f"{label}, cpu": call(make(label, size, hidden, "cpu"), u, cotangent) for label in labels}
        loops = {f"{label}, torch": call(make(label, size, hidden, "torch"), u, cotangent) for label in labels}
        if shape == SHORT:
            loop = make("coRNN", size, hidden, "torch")
            loops["coRNN, torch.compile"] = call(torch.compile(loop), u, cotangent)  # type: ignore[arg-type]
        if has_package and shape in (SHORT, (2048, 8, 32, 6)):
            loops |= {f"{name}, torchrecurrent": call(of_package(name, size, hidden), u, cotangent) for name in PACKAGE}
        cases[f"fused, {shape}"] = interleaved(torchs | fused, rounds=3, clock=time.process_time)
        reference = {"nn.LSTM": torchs["nn.LSTM"]}
        few = {"rounds": 5, "warmup": 1} if shape == SHORT else {"rounds": 2, "warmup": 0}
        cases[f"loops, {shape}"] = interleaved(reference | loops, clock=time.process_time, **few)
        report("dense_cells", cases, checks, unit="ms of the processor")


if __name__ == "__main__":
    main()
