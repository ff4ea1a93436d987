"""Is a certified radius ever broken? More than a million attacks at the radius itself, float64 and float32, both norms.

    python benchmarks/radii_attacks.py                  # 55 networks a cell, 1250 attacks each, dtype and norm
    python benchmarks/radii_attacks.py --networks 9     # fewer

Networks of up to three layers and six units are as initialised, drawn with weights of all sizes, or trained by Adam on
labels at random; a linear map reads the last row or the mean. Of 25 sequences each the radii are certified with the
network's own classes as labels, and 50 ascents begin at random within each. Recorded are how many classes changed, how
many radii are above 0, and the largest share of a margin that an ascent used up. results/radii_attacks.json.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch
from _harness import RESULTS, machine
from torch import Tensor, nn

from odernn import robustness
from odernn.cells.damped_unicornn import DampedUnICORNN
from odernn.cells.exprnn import ExpRNN
from odernn.cells.scornn import ScoRNN
from odernn.cells.unicornn import UnICORNN
from odernn.cells.urnn import URNN
from verification.adversary.input_ball import lead, moved

RECORD = RESULTS / "radii_attacks.json"
SEED, SEQUENCES, STARTS, ASCENTS, CLASSES = 264, 25, 50, 8, 3
F64 = torch.float64
BALLS: tuple[Literal["sequence", "step"], ...] = ("sequence", "step")
CELLS: Mapping[str, Callable[..., Any]] = {
    "UnICORNN": lambda *size, **options: UnICORNN(*size, dt=0.5, alpha=2.0, **options),
    "DampedUnICORNN": lambda *size, **options: DampedUnICORNN(*size, dt=0.5, alpha=4.0, gamma=2.0, rate=0.4, **options),
    "ScoRNN": lambda *size, **options: ScoRNN(*size, rho=2, initial="glorot", nonexpansive=True, **options),
    "ExpRNN": lambda *size, **options: ExpRNN(*size, nonexpansive=True, **options),
    "URNN": lambda *size, **options: URNN(*size, capacity="full", nonexpansive=True, **options),
}


class Classifier(nn.Module):
    """s = R x + c of the last row or of the mean."""

    def __init__(self, recurrent: Any, of_mean: bool) -> None:
        super().__init__()
        self.recurrent, self.of_mean = recurrent, of_mean
        probe = recurrent(torch.zeros(1, 1, recurrent.input_size, dtype=F64))[0]
        self.readout = nn.Linear(probe.shape[-1], CLASSES, dtype=F64)

    def forward(self, u: Tensor) -> Tensor:
        rows = self.recurrent(u)[0]
        found: Tensor = self.readout(rows.mean(0) if self.of_mean else rows[-1])
        return found


def network(name: str, place: int, steps: int, generator: torch.Generator) -> Classifier:
    """As initialised, bent or trained, in turn; inputs of 1 to 3 numbers, 2 to 6 units, 1 to 3 layers."""
    sizes = [int(torch.randint(low, high, (), generator=generator)) for low, high in ((1, 4), (2, 7), (1, 4))]
    made = Classifier(CELLS[name](*sizes, generator=generator, dtype=F64), bool(place % 2))
    free = [p for key, p in made.named_parameters() if not key.endswith(".W")]  # W of a URNN stays unitary
    with torch.no_grad():
        for parameter in made.readout.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=F64))
        if place % 3 == 1:
            for parameter in free:
                size = 10 ** (2 * float(torch.rand((), generator=generator)) - 1.5)
                parameter.copy_(size * torch.randn(parameter.shape, generator=generator, dtype=F64))
    if place % 3 == 2:
        u = torch.randn(steps, 8, sizes[0], generator=generator, dtype=F64)
        labels = torch.randint(CLASSES, (8,), generator=generator)
        optimizer = torch.optim.Adam(free, lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.cross_entropy(made(u), labels).backward()
            optimizer.step()
    return made.eval().requires_grad_(False)


def attacked(
    made: Classifier, u: Tensor, ball: Literal["sequence", "step"], generator: torch.Generator
) -> dict[str, Any]:
    """Of every sequence STARTS ascents at its radius."""
    labels = made(u).argmax(dim=1)
    found = robustness(made, u, labels, norm=ball)
    assert found.radii is not None, found.reason
    radii = torch.tensor(found.radii, dtype=F64)
    wide, classes = u.repeat(1, STARTS, 1), labels.repeat(STARTS)
    point = moved(made, wide, classes, radii.repeat(STARTS), ball=ball, steps=ASCENTS, generator=generator)
    before, after = lead(made(wide), classes), lead(made(point), classes)
    used = ((after - before) / -before)[radii.repeat(STARTS) > 0]
    return {
        "attacks": int((radii > 0).sum()) * STARTS,
        "without a radius": int((radii == 0).sum()) * STARTS,
        "changed": int((made(point).argmax(dim=1) != classes)[radii.repeat(STARTS) > 0].sum()),
        "margin used": float(used.max()) if len(used) else 0.0,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--networks", type=int, default=55, help="of each cell")
    options = parser.parse_args()
    torch.set_num_threads(1)
    record: dict[str, Any] = {"benchmark": "radii_attacks", "seed": SEED, "machine": machine(), "cells": {}}
    for name in CELLS:
        generator, begun = torch.Generator().manual_seed(SEED), time.perf_counter()
        total: dict[str, Any] = {"attacks": 0, "without a radius": 0, "changed": 0, "margin used": 0.0}
        for place in range(options.networks):
            steps = int(torch.randint(1, 30, (), generator=generator))
            made = network(name, place, steps, generator)
            u = torch.rand(steps, SEQUENCES, made.recurrent.input_size, generator=generator, dtype=F64) * 2 - 1
            for model, inputs in ((made, u), (copy.deepcopy(made).float(), u.float())):
                for ball in BALLS:
                    found = attacked(model, inputs, ball, generator)
                    used = max(total["margin used"], found["margin used"])
                    total = {key: total[key] + found[key] for key in total} | {"margin used": used}
        record["cells"][name] = {"networks": options.networks} | total
        sys.stdout.write(f"{name}: {total}, {time.perf_counter() - begun:.0f} s\n")
        sys.stdout.flush()
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
