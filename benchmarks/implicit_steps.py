"""What does a step of an IntegratorRNN cost, implicit or of order four, beside nn.LSTM?

One thread, forward plus backward in float32, shapes (time, batch, hidden, input), every field that is not linear (on
the long sequence two of them), two step sizes: h L is about 0.3 and 3. Answer and gradients are checked before anything
is timed: in float64 against steps whose samples are each solved on their own, and in float32 against float64. A row
says how many iterations a step took.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import torch
from _harness import Timing, interleaved, report
from torch import Tensor, nn

from odernn import fields, tableaus
from odernn.cells.integrator import IntegratorRNN
from odernn.integrators import one_step

SHAPES = {"(8, 64, 64, 64)": (8, 64, 64, 64), "(784, 32, 128, 1)": (784, 32, 128, 1)}
FIELDS: dict[str, dict[str, float]] = {
    "antisymmetric": {"gamma": 0.1},
    "gated_antisymmetric": {"gamma": 0.1},
    "semilinear": {},
    "monotone": {},
    "coupled_oscillator": {"gamma": 2.7, "epsilon": 4.7},
    "separable_hamiltonian": {},
    "oscillator": {"alpha": 1.0},
}
METHODS = {"gauss 1": "implicit midpoint", "gauss 2": "gauss 2", "radau iia 3": "radau iia 3", "rk4": "rk4"}
LONG = ("antisymmetric", "monotone")
"""The fields that are timed on the long sequence, each turn of which is one call."""
STEPS = (0.1, 1.0)
CHECKED = 8
"""The first steps of a sequence are checked, on the first samples."""
AGREE = 1e-11
"""Largest admitted difference of two ways to solve in float64, relative to the largest entry."""
TOLERANCE = 1e-3
"""Largest admitted float32 error, relative to the largest entry; measured errors are printed."""


def made(field: str, method: str, h: float, hidden: int, size: int) -> IntegratorRNN:
    generator = torch.Generator().manual_seed(0)
    start = fields.get(field).random(hidden, **FIELDS[field], generator=generator)
    if field == "semilinear":  # its linear part is damped, as in the Lipschitz RNN
        start = start.with_tensors({"A": start.tensors()["A"] - torch.eye(hidden)})
    return IntegratorRNN(start, tableaus.get(METHODS[method]), h, input_size=size, generator=generator)


def both_ways(module: nn.Module, u: Tensor, cotangent: Tensor) -> Tensor:
    module.zero_grad()
    rows: Tensor = module(u)[0]
    rows.backward(cotangent)
    return rows.detach()


def found(module: nn.Module, u: Tensor, cotangent: Tensor) -> list[Tensor]:
    rows = both_ways(module, u, cotangent)
    return [rows, *(parameter.grad.clone() for parameter in module.parameters() if parameter.grad is not None)]


def relative(ours: list[Tensor], theirs: list[Tensor]) -> float:
    return max(float((a.double() - b).abs().max() / b.abs().max()) for a, b in zip(ours, theirs, strict=True))


def checked(cell: IntegratorRNN, oracle: IntegratorRNN, u: Tensor, cotangent: Tensor) -> float:
    """The float32 error, after the float64 answer was compared with that of samples which are solved one by one."""
    u, cotangent = u[:CHECKED, :4], cotangent[:CHECKED, :4]
    oracle.load_state_dict(cell.state_dict())
    ours = found(oracle, u.double(), cotangent.double())
    with mock.patch.object(one_step, "stage_system", lambda *_: None):
        theirs = found(oracle, u.double(), cotangent.double())
    gap = relative(ours, theirs)
    assert gap <= AGREE, f"the two ways to solve differ by {gap:.2e}"
    error = relative(found(cell, u, cotangent), theirs)
    assert error <= TOLERANCE, f"relative error {error:.2e} exceeds {TOLERANCE}"
    return error


def main() -> None:
    torch.set_num_threads(1)
    cases: dict[str, list[Timing]] = {}
    checks: dict[str, dict[str, float]] = {}
    for shape, (steps, batch, hidden, size) in SHAPES.items():
        u = torch.rand(steps, batch, size, generator=torch.Generator().manual_seed(0))
        cotangent = torch.randn(steps, batch, hidden, generator=torch.Generator().manual_seed(1))
        for h in STEPS:
            case = f"h = {h}, {shape}"
            calls: dict[str, Callable[[], object]] = {}
            lstm = nn.LSTM(size, hidden)
            calls["nn.LSTM"] = lambda m=lstm, u=u, g=cotangent: both_ways(m, u, g)
            for field in LONG if steps > 100 else FIELDS:
                for method in METHODS:
                    cell = made(field, method, h, hidden, size)
                    label = f"{field}, {method}"
                    oracle = made(field, method, h, hidden, size).double()
                    checks.setdefault(case, {})[label] = checked(cell, oracle, u, cotangent)
                    iterations = cell.report(u)[0].iterations
                    if any(iterations):
                        label += f" ({sum(iterations) / len(iterations):.1f} iterations)"
                    calls[label] = lambda m=cell, u=u, g=cotangent: both_ways(m, u, g)
            cases[case] = interleaved(calls, rounds=3, warmup=0) if steps > 100 else interleaved(calls, rounds=5)
    report("implicit_steps", cases, checks)


if __name__ == "__main__":
    main()
