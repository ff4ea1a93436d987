"""Who is trained for certified_accuracy.py, and how: sequential digits, 64 steps of one pixel in [0, 1].

plain      cross-entropy                                                             (Adam, norms of gradients ≤ 1)
noise      the same with inputs that are moved by N(0, 0.1²) each
flat       noise, and λ Σ ‖V‖_F² added to the loss: what thm-R loses grows with |V|
margin     cross-entropy of s_j + κ L ‖R_i − R_j‖, j ≠ i, L = ‖V‖ √N of thm-Lip, κ = 0.1: every margin is to exceed
           what a change of 0.1 may take. κ rises from 0 over the first half
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from odernn import DampedUnICORNN, ExpRNN, ScoRNN, UnICORNN
from verification import tasks

STEPS, CLASSES, HIDDEN = 64, 10, 64
BATCH = 32
NOISE, FLAT, KAPPA = 0.1, 1e-3, 0.1
VERSION = 1
"""Of the training in this file: raise it where a change makes other networks."""


@dataclass(frozen=True)
class Contestant:
    """A network, how it is trained, epochs and rate; ``name`` is its row."""

    name: str
    cell: str
    training: str
    epochs: int
    rate: float

    def digest(self) -> str:
        return hashlib.sha256(f"{VERSION} {self!r}".encode()).hexdigest()[:16]


CELLS: Mapping[str, Callable[[torch.Generator], nn.Module]] = {
    "scornn": lambda g: ScoRNN(
        1, HIDDEN, rho=HIDDEN // 2, nonexpansive=True, initial="glorot", execution="cpu", generator=g
    ),
    "exprnn": lambda g: ExpRNN(1, HIDDEN, nonexpansive=True, execution="cpu", generator=g),
    "growth": lambda g: UnICORNN(
        1, HIDDEN, 2, dt=0.6, alpha=5.0, growth=3.0, steps=STEPS, execution="cpu", generator=g
    ),
    "free": lambda g: UnICORNN(1, HIDDEN, 2, dt=0.6, alpha=5.0, execution="cpu", generator=g),
    "damped": lambda g: DampedUnICORNN(1, HIDDEN, 2, **DampedUnICORNN.suggest(STEPS), generator=g),
    "lstm": lambda g: nn.LSTM(1, HIDDEN),
    "gru": lambda g: nn.GRU(1, HIDDEN),
}

CONTESTANTS = (
    Contestant("ScoRNN, b ≤ 0, for the certificate", "scornn", "margin", 60, 0.005),
    Contestant("UnICORNN, G = 3, for the certificate", "growth", "flat", 40, 0.02),
    Contestant("ExpRNN, b ≤ 0, for the certificate", "exprnn", "margin", 60, 0.005),
    Contestant("LSTM, noise", "lstm", "noise", 60, 0.01),
    Contestant("UnICORNN, free, for the certificate", "free", "flat", 40, 0.02),
    Contestant("GRU, noise", "gru", "noise", 60, 0.01),
    Contestant("DampedUnICORNN, rate, for the certificate", "damped", "flat", 40, 0.02),
    Contestant("UnICORNN, G = 3, noise", "growth", "noise", 40, 0.02),
    Contestant("ScoRNN, b ≤ 0, plain", "scornn", "plain", 40, 0.005),
    Contestant("UnICORNN, G = 3, plain", "growth", "plain", 40, 0.02),
)


class Digits(nn.Module):
    """Scores of the last row."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell, self.readout = cell, nn.Linear(HIDDEN, CLASSES)

    def forward(self, u: Tensor) -> Tensor:
        scores: Tensor = self.readout(self.cell(u)[0][-1])
        return scores


def data(split: str) -> tuple[Tensor, Tensor]:
    """(64, count, 1) pixels, (count,) classes."""
    sequences, labels, _ = tasks.get("sequential_digits").load(split)
    return torch.as_tensor(sequences), torch.as_tensor(labels)


def untrained(contestant: Contestant, seed: int) -> Digits:
    torch.manual_seed(seed)
    return Digits(CELLS[contestant.cell](torch.Generator().manual_seed(seed)))


def trained(contestant: Contestant, seed: int) -> Digits:
    """From nothing, the last weights; the test split is not looked at, and no epoch is chosen."""
    model, (u, labels) = untrained(contestant, seed), data("train")
    generator = torch.Generator().manual_seed(seed)
    weights = list(model.parameters())
    optimizer = torch.optim.Adam(weights, lr=contestant.rate)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3 * contestant.epochs // 4], 0.1)
    for epoch in range(contestant.epochs):
        risen = min(1.0, 2 * epoch / contestant.epochs)
        for batch in torch.randperm(u.shape[1], generator=generator).split(BATCH):
            seen = u[:, batch]
            if contestant.training in ("noise", "flat"):
                seen = seen + NOISE * torch.randn(seen.shape, generator=generator)
            optimizer.zero_grad()
            loss(contestant, model, seen, labels[batch], risen).backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
        schedule.step()
    return model.eval()


def loss(contestant: Contestant, model: Digits, u: Tensor, labels: Tensor, risen: float) -> Tensor:
    scores, cell = model(u), model.cell
    if contestant.training == "margin":
        V: Any = cell.layers[0].like  # type: ignore[index,union-attr]
        R = model.readout.weight
        apart = (R[labels][:, None] - R).norm(dim=2)
        own = nn.functional.one_hot(labels, CLASSES).bool()
        scores = scores + KAPPA * risen * math.sqrt(STEPS) * V.norm() * apart.masked_fill(own, 0.0)
    found = nn.functional.cross_entropy(scores, labels)
    if contestant.training == "flat":
        found = found + FLAT * sum((layer.V**2).sum() for layer in cell.layers)  # type: ignore[union-attr]
    return found
