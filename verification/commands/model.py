"""``odernn verify --model``: anybody's model on inputs of one's own, a verdict in words first."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from verification.commands.terminal import DONE, UsageError, fitting, out

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class ModelOptions:
    """What the command line says of a model: inputs in a file, or the first ``sequences`` of a task's test split."""

    model: str
    inputs: Path | None
    targets: Path | None
    weights: Path | None
    batch_first: bool
    json: bool
    seed: int = 0
    task: str | None = None
    tasks_dirs: tuple[Path, ...] = ()
    root: Path | None = None
    settings: tuple[str, ...] = ()
    sequences: int = 8


def run(options: ModelOptions) -> int:
    """Load, run once forward and once back, print. FloatError where arithmetic is not IEEE 754's."""
    from verification import trial
    from verification.models.loading import ModelError, model, said
    from verification.models.model_trial import TrialError
    from verification.models.page import page
    from verification.run.arithmetic import FloatError

    if options.inputs is None and options.task is None:
        raise UsageError(
            "--model needs --inputs FILE: (time, count, features), as .npy, .npz, .pt or .csv; or --task NAME."
        )
    if options.task is not None and (options.inputs is not None or options.targets is not None):
        raise UsageError("--task: has inputs and targets of its own. Leave it out, or --inputs and --targets.")
    _seed(options.seed)
    try:
        network = model(options.model, options.weights)
        inputs, targets, notes = _inputs(options, network)
    except ModelError as error:
        raise UsageError(str(error)) from error
    try:
        found = trial(network, inputs, targets, batch_first=options.batch_first or None)
    except TrialError as error:
        raise UsageError(f"--model: {error}") from error
    except FloatError:
        raise
    except (Exception, SystemExit) as error:  # the user's own forward may raise anything
        shape = " × ".join(map(str, inputs.shape))
        raise UsageError(
            f"--model: on inputs {shape} it raised {said(error)}. Inputs are (time, count, features), or (count, time, "
            "features) with --batch-first."
        ) from error
    found = replace(found, notes=(*notes, *found.notes))
    out((found.to_json() if options.json else page(found, fitting())) + "\n")
    return DONE


def _inputs(options: ModelOptions, network: nn.Module) -> tuple[Tensor, Tensor | None, tuple[str, ...]]:
    """Inputs, targets, and what is to be said of them."""
    from verification import tasks
    from verification.commands.task import settings_of
    from verification.models.loading import numbers, of_task
    from verification.models.model_trial import says_batch_first

    if options.task is None:
        assert options.inputs is not None
        inputs, targets = numbers(options.inputs)
        return inputs, targets if options.targets is None else numbers(options.targets)[0], ()
    try:
        task = tasks.get(options.task, options.tasks_dirs)
    except KeyError as error:
        raise UsageError(f"--task {options.task}: {error.args[0]} `odernn task` shows them.") from None
    settings = settings_of(task, options.settings)
    batch_first = options.batch_first or says_batch_first(network)
    try:
        return of_task(task, options.root, settings, options.sequences, batch_first=batch_first)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _seed(seed: int) -> None:
    """Of everything that a model may draw its weights from."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
