"""What a linear readout can say of the adding problem from the last state of an untrained UnICORNN.

Least squares with a ridge on the features of 4000 sequences, tested on 1000 others. Features have mean 0 and variance
1; the ridge is in units of that: gradient steps find the directions that it leaves soon, the others late or never.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from odernn import cells
from verification.tasks import adding

STEPS, UNITS, SEED = 200, 128, 0
COUNTS = {"train": 4000, "validation": 1000}
RIDGES = (0.0, 1 / 4000, 1 / 40)
NETWORKS: tuple[tuple[tuple[float, ...], float], ...] = (
    ((0.03,), 0.0),
    ((0.1,), 0.0),
    ((0.3,), 0.0),
    ((0.9,), 0.0),
    ((0.3,), 1.0),
    ((0.9,), 1.0),
    ((0.1, 0.1), 0.0),
    ((0.02, 0.3), 0.0),
)
"""dt of the layers, and α of all."""


def measured() -> list[dict[str, Any]]:
    """One entry a network: the mean squared error by ridge, and how large the features' means are in deviations."""
    return [_one(dt, alpha) for dt, alpha in NETWORKS]


def _one(dt: tuple[float, ...], alpha: float) -> dict[str, Any]:
    network = cells.get("unicornn")(
        2, UNITS, len(dt), dt=list(dt), alpha=alpha, execution="cpu", generator=torch.Generator().manual_seed(SEED)
    )
    (train, wanted), (other, truth) = (_features(network, split) for split in COUNTS)
    mean, deviation = train.mean(0), train.std(0)
    train, other = (train - mean) / deviation, (other - mean) / deviation
    errors = [mean_error(train, wanted, other, truth, ridge) for ridge in RIDGES]
    ratio = float((mean / deviation).abs().median())
    return {"dt": list(dt), "alpha": alpha, "ridges": list(RIDGES), "errors": errors, "mean_in_deviations": ratio}


def _features(network: Any, split: str) -> tuple[Tensor, Tensor]:
    sequences, targets, _ = adding.load(split, steps=STEPS, count=COUNTS[split])
    with torch.no_grad():
        rows = network(torch.from_numpy(sequences))[0][-1]
    return rows.double(), torch.from_numpy(targets).double()


def mean_error(train: Tensor, wanted: Tensor, other: Tensor, truth: Tensor, ridge: float) -> float:
    """Of argmin_C |C train − wanted|²/count + ridge |C|² on the other sequences; an intercept is added to both."""
    count, size = train.shape
    centre = wanted.mean()
    augmented = torch.cat((train, (ridge * count) ** 0.5 * torch.eye(size, dtype=train.dtype)))
    right = torch.cat((wanted - centre, torch.zeros(size, dtype=train.dtype)))
    solution = torch.linalg.lstsq(augmented, right[:, None], driver="gelsd").solution[:, 0]
    return float(((other @ solution + centre - truth) ** 2).mean())
