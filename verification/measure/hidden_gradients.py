"""‖∂L/∂h_t‖ of an untrained scoRNN on the adding problem, step by step: Helfrich, Willmott, Ye 2018, Sec. 5.5.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odernn.cells.scornn import Initial, ScoRNN
from verification.tasks import adding

if TYPE_CHECKING:
    from torch import Tensor


def on_adding(*, initial: Initial, steps: int, count: int, seed: int, network: str = "adding-400") -> Tensor:
    """Mean over ``count`` sequences of ‖∂L/∂h_t‖₂, t = 1..steps, L the squared error of a sequence.   (steps,) float64

    The network is that of the adding problem, n = 170, ρ = 7n/10 (printed for T = 400 and 750) or, "adding-200", n/2
    (for T = 200), in float32, as it is initialised; the readout is uniform in ±1/√n, as torch has it. All from
    ``seed``.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    (layer,) = ScoRNN.from_paper(network, initial=initial, generator=generator).layers
    sequences, targets, _ = adding.load("train", steps=steps, count=count, seed=seed)
    n = layer.hidden_size
    V = (2 * torch.rand(n, generator=generator) - 1) / n**0.5
    c = (2 * torch.rand(1, generator=generator) - 1) / n**0.5
    with torch.no_grad():
        drives = layer.drives(torch.from_numpy(sequences))
        step = layer.stepper()
    h = torch.zeros(count, n, requires_grad=True)
    states = []
    for x in drives:
        (h,) = step((h,), x)
        h.retain_grad()
        states.append(h)
    loss = ((h @ V + c - torch.from_numpy(targets)) ** 2).sum()
    loss.backward()
    norms = [torch.linalg.vector_norm(_gradient(state).to(torch.float64), dim=1).mean() for state in states]
    return torch.stack(norms)


def _gradient(state: Tensor) -> Tensor:
    assert state.grad is not None
    return state.grad
