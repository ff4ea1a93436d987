"""``odernn verify --model``: anybody's model on inputs of one's own, a verdict in words first."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from verification.commands.terminal import DONE, UsageError, fitting, out


@dataclass(frozen=True)
class ModelOptions:
    """What the command line says of a model."""

    model: str
    inputs: Path | None
    targets: Path | None
    weights: Path | None
    batch_first: bool
    json: bool
    seed: int = 0


def run(options: ModelOptions) -> int:
    """Load, run once forward and once back, print."""
    from verification import trial
    from verification.models.loading import ModelError, model, numbers, said
    from verification.models.page import page

    if options.inputs is None:
        raise UsageError("--model needs --inputs FILE: (time, count, features), as .npy, .npz, .pt or .csv.")
    _seed(options.seed)
    try:
        network = model(options.model, options.weights)
        inputs, targets = numbers(options.inputs)
        if options.targets is not None:
            targets = numbers(options.targets)[0]
    except ModelError as error:
        raise UsageError(str(error)) from error
    try:
        found = trial(network, inputs, targets, batch_first=options.batch_first or None)
    except (Exception, SystemExit) as error:  # the user's own forward may raise anything
        shape = " × ".join(map(str, inputs.shape))
        raise UsageError(
            f"--model: on inputs {shape} it raised {said(error)}. Inputs are (time, count, features), or (count, time, "
            "features) with --batch-first."
        ) from error
    out((found.to_json() if options.json else page(found, fitting())) + "\n")
    return DONE


def _seed(seed: int) -> None:
    """Of everything that a model may draw its weights from."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
