"""How much faster is the fused CPU execution of coRNN and scoRNN than their torch loops?

One thread, forward plus backward, shapes (time, batch, hidden, input). The answer and the gradient by the recurrent
matrix are checked against the loop in float64 before anything is timed.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from _harness import interleaved, report
from torch import nn

from odernn.cells.cornn import CoRNN
from odernn.cells.scornn import ScoRNN

SHAPES = {"(784, 128, 128, 1)": (784, 128, 128, 1), "(2000, 16, 190, 10)": (2000, 16, 190, 10)}
TOLERANCE = 1e-3
"""Largest admitted float32 error, relative to the largest entry; measured errors are printed."""

CELLS: dict[str, Callable[..., nn.Module]] = {
    "coRNN": lambda size, hidden, **o: CoRNN(size, hidden, dt=0.042, gamma=2.7, epsilon=4.7, **o),
    "scoRNN": lambda size, hidden, **o: ScoRNN(size, hidden, rho=hidden // 4 * 2, **o),
}


def both_ways(module: nn.Module, u: torch.Tensor, cotangent: torch.Tensor) -> None:
    module.zero_grad()
    module(u)[0].backward(cotangent)


def relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.double() - expected).abs().max() / expected.abs().max())


def main() -> None:
    torch.set_num_threads(1)
    cases, checks = {}, {}
    for (label, make), (name, (steps, batch, hidden, size)) in (
        (cell, shape) for cell in CELLS.items() for shape in SHAPES.items()
    ):
        u = torch.rand(steps, batch, size, generator=torch.Generator().manual_seed(0))
        peers = {
            execution: make(size, hidden, execution=execution, generator=torch.Generator().manual_seed(0))
            for execution in ("torch", "cpu")
        }
        oracle = make(size, hidden, generator=torch.Generator().manual_seed(0)).double()
        oracle.load_state_dict(peers["cpu"].state_dict())
        cotangent = torch.randn(steps, batch, hidden, generator=torch.Generator().manual_seed(1))
        both_ways(oracle, u.double(), cotangent.double())
        both_ways(peers["cpu"], u, cotangent)
        pairs = zip(peers["cpu"].parameters(), oracle.parameters(), strict=True)
        errors = [relative(ours.grad, theirs.grad) for ours, theirs in pairs]  # type: ignore[arg-type]
        errors.append(relative(peers["cpu"](u)[0].detach(), oracle(u.double())[0].detach()))
        key = f"{label} {name}"
        checks[key] = max(errors)
        assert checks[key] <= TOLERANCE, f"{key}: relative error {checks[key]:.2e} exceeds {TOLERANCE}"
        timed: dict[str, nn.Module] = {
            f"{label} (torch loop)": peers["torch"],
            f"{label} (cpu)": peers["cpu"],
            "nn.LSTM": nn.LSTM(size, hidden),
            "nn.RNN": nn.RNN(size, hidden),
        }
        calls = {peer: (lambda m=m, u=u, g=cotangent: both_ways(m, u, g)) for peer, m in timed.items()}
        cases[key] = interleaved(calls, rounds=5)
    report("dense_cells", cases, checks)


if __name__ == "__main__":
    main()
