"""Is what certify says of two inputs ever exceeded? A million pairs on nonexpansive networks, float64 and float32.

    python benchmarks/nonexpansive_attacks.py                  # 50 networks a cell, 2500 pairs each and dtype
    python benchmarks/nonexpansive_attacks.py --networks 9     # fewer

Networks of up to three layers and six units are as initialised, drawn with weights of all sizes, or trained by Adam to
grow. Pairs are at random, near and far; along the first singular vector of the Jacobian by all inputs, at inputs that
keep units active; and constant. Of float32 what certify says of rounding is taken off. The record is
results/nonexpansive_attacks.json.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from _harness import RESULTS, machine
from torch import Tensor

from odernn.bounds import certify
from odernn.bounds.network import lipschitz
from odernn.cells.exprnn import ExpRNN
from odernn.cells.scornn import ScoRNN
from odernn.cells.urnn import URNN

RECORD = RESULTS / "nonexpansive_attacks.json"
SEED, PAIRS, BOUND = 26, 2500, 1.0
F64 = torch.float64
CELLS: Mapping[str, Callable[..., Any]] = {
    "ScoRNN": lambda *size, **options: ScoRNN(*size, rho=2, initial="glorot", **options),
    "ExpRNN": ExpRNN,
    "URNN, restricted": lambda *size, **options: URNN(*size, capacity="restricted", product="matrix", **options),
    "URNN, full": lambda *size, **options: URNN(*size, capacity="full", **options),
}


def network(name: str, place: int, generator: torch.Generator) -> Any:
    """As initialised, bent or trained to grow, in turn; inputs of 1 to 3 numbers, 2 to 6 units, 1 to 3 layers."""
    sizes = [int(torch.randint(low, high, (), generator=generator)) for low, high in ((1, 4), (2, 7), (1, 4))]
    made = CELLS[name](*sizes, nonexpansive=True, generator=generator, dtype=F64)
    moved = [p for key, p in made.named_parameters() if not key.endswith(".W")]
    if place % 3 == 1:
        with torch.no_grad():
            for parameter in moved:
                size = 10 ** (2 * float(torch.rand((), generator=generator)) - 1.5)
                parameter.copy_(size * torch.randn(parameter.shape, generator=generator, dtype=F64))
    if place % 3 == 2:
        optimizer = torch.optim.Adam(moved, lr=0.1)
        u = torch.randn(6, 8, sizes[0], generator=generator, dtype=F64)
        for _ in range(8):
            optimizer.zero_grad()
            (-(made(u)[0][-1] ** 2).mean()).backward()
            optimizer.step()
    return made


def pairs(made: Any, steps: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Inputs within BOUND, (N, PAIRS, d) each."""
    u = BOUND * (2 * torch.rand(steps, PAIRS, made.input_size, generator=generator, dtype=F64) - 1)
    u[:, ::4] = BOUND * u[:1, ::4].sign()
    size = 10 ** (-6 * torch.rand(1, PAIRS, 1, generator=generator, dtype=F64))
    change = size * torch.randn(u.shape, generator=generator, dtype=F64)

    def last(v: Tensor) -> Tensor:
        found: Tensor = made(v[:, None])[0][-1, 0]
        return found

    for k in range(0, 8, 2):  # at a constant input and at one at random
        J = torch.autograd.functional.jacobian(last, u[:, k]).flatten(1)
        top = torch.linalg.svd(J)[2][0].reshape(steps, 1, -1)
        which = slice(k, PAIRS, 8)
        change[:, which] = size[:, which] * top
        u[:, which] = u[:, k : k + 1]
    return u, (u + change).clamp(-BOUND, BOUND)


def shares(made: Any, u: Tensor, other: Tensor) -> dict[str, float]:
    """Largest measured/bound of the lines; of float32 less the rounding that certify has."""
    layer = certify(made, input_bound=BOUND, steps=len(u)).layers[-1]
    is_narrow = made.layers[0].like.dtype == torch.float32
    with torch.no_grad():
        rows = made(other)[0].double() - made(u)[0].double()
    change = (other.double() - u.double()).norm(dim=2)
    kept = change.norm(dim=0) > 0
    allowed = math.exp(layer[lipschitz.ROUNDED].log or -math.inf)
    sizes = {lipschitz.COMPUTED if is_narrow else lipschitz.OVER_ALL: (rows[-1].norm(dim=1), change.norm(dim=0))}
    if not is_narrow:
        sizes[lipschitz.A_STEP] = rows[-1].norm(dim=1), change.amax(dim=0)
        sizes[lipschitz.OF_MEAN] = rows.mean(0).norm(dim=1), change.norm(dim=0)
    found = {}
    for quantity, (moved, by) in sizes.items():
        log = layer[quantity].log
        assert log is not None
        ratio = (moved - (allowed if is_narrow else 1e-12 * float(moved.max() + 1))).clamp(min=0.0)[kept] / by[kept]
        found[quantity] = float(ratio.max()) / math.exp(log)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--networks", type=int, default=50, help="of each cell")
    options = parser.parse_args()
    torch.set_num_threads(1)
    record: dict[str, Any] = {"benchmark": "nonexpansive_attacks", "seed": SEED, "machine": machine(), "cells": {}}
    for name in CELLS:
        generator, begun = torch.Generator().manual_seed(SEED), time.perf_counter()
        largest: dict[str, float] = {}
        tried = exceeded = 0
        for place in range(options.networks):
            made = network(name, place, generator)
            steps = int(torch.randint(1, 30, (), generator=generator))
            u, other = pairs(made, steps, generator)
            narrow = copy.deepcopy(made).float()
            for cell, one, two in ((made, u, other), (narrow, u.float(), other.float())):
                for quantity, share in shares(cell, one, two).items():
                    largest[quantity] = max(largest.get(quantity, 0.0), share)
                    exceeded += share > 1
                tried += PAIRS
        record["cells"][name] = {"networks": options.networks, "pairs": tried, "exceeded": exceeded, "largest": largest}
        sys.stdout.write(f"{name}: {tried} pairs, exceeded {exceeded}, {time.perf_counter() - begun:.0f} s\n")
        sys.stdout.flush()
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
