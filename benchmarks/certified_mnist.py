"""Certified radii at N = 784: the archived psMNIST-128, a UnICORNN that nobody trained for a certificate.

    ODERNN_DATA=… python benchmarks/certified_mnist.py             then docs/guarantees.md's line
    ODERNN_DATA=… python benchmarks/certified_mnist.py --images 20 so many of the first test images (default: 5)
    python benchmarks/certified_mnist.py --page                    only the line, from the record

The weights of results/trained/psmnist_unicornn_128 in float64, where rounding takes nothing of a margin; attacks, the
product of norms and the derivative's radius, which no certificate exceeds by much, beside it. An image takes some 20 s.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Mapping
from typing import Any

import _interval_peers as peers
import numpy as np
import torch
from _harness import RESULTS, machine
from _prices import PAGE, with_table
from safetensors.torch import load_file
from torch import Tensor, nn

from odernn import UnICORNN, robustness
from verification import tasks
from verification.adversary import input_ball

NAME = "certified_mnist"
TRIED = (1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0)


class Permuted(nn.Module):
    """psMNIST-128 as it was trained, without dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrent = UnICORNN(1, 128, 3, dt=0.482, alpha=12.53, execution="cpu")
        self.readout = nn.Linear(128, 10)
        weights = load_file(RESULTS / "trained" / "psmnist_unicornn_128" / "best.safetensors")
        self.load_state_dict({name.removeprefix("model."): value for name, value in weights.items()})

    def forward(self, u: Tensor) -> Tensor:
        scores: Tensor = self.readout(self.recurrent(u)[0][-1])
        return scores


def judged(count: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    load = tasks.get("sequential_mnist").load
    sequences, labels, _ = load("test", os.environ["ODERNN_DATA"], permuted=True, permutation="unicornn")
    u, classes = torch.as_tensor(sequences[:, np.arange(count)]), torch.as_tensor(labels[:count])
    model = Permuted().eval()
    attacked = input_ball.nearest(model, u, classes, torch.tensor(TRIED), steps=20, halvings=5)
    model, u = model.double(), u.double()
    found = robustness(model, u, classes)
    with torch.no_grad():
        scores, R = model(u), model.readout.weight
        margins = scores.gather(1, classes[:, None]) - scores
        apart = (R[classes][:, None] - R).norm(dim=2)
        shares = (margins / apart).scatter(1, classes[:, None], math.inf).amin(dim=1).clamp(min=0.0)
    return {
        "images": count,
        "certified": found.radii,
        "attacked": attacked.tolist(),
        "log10 of margins over the product of norms": [
            math.log10(share) - peers.log_product_of_norms(model.recurrent, len(u)) / math.log(10) if share else None
            for share in shares.tolist()
        ],
        "machine": machine(),
    }


def line(run: Mapping[str, Any]) -> str:
    """In words: the range of the radii, the share of the attacked ones, the decades of the product of norms."""
    pairs = [(c, a) for c, a in zip(run["certified"], run["attacked"], strict=True) if a > 0]
    norms = [each for each in run["log10 of margins over the product of norms"] if each is not None]
    certified, shares = [c for c, _ in pairs], [c / a for c, a in pairs]
    broken = sum(a <= c for c, a in pairs)
    return (
        f"**At N = 784.** The archived psMNIST-128, not trained for this, float64, first {run['images']} test images, "
        f"of which {len(pairs)} are right: certified radii {min(certified):.1e} to {max(certified):.1e}, "
        f"{statistics.median(shares):.1e} of the attacked ones in the median, {broken} broken; the product of "
        f"norms gives 10^{statistics.median(norms):.0f}."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=5, help="so many of the first test images")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    file = RESULTS / f"{NAME}.json"
    if not options.page:
        file.write_text(json.dumps({"benchmark": NAME} | judged(options.images), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), NAME, line(json.loads(file.read_text()))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
