"""Where a run writes its numbers: a CSV file, rewritten whole with every row, and TensorBoard on request."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verification.training import TrainingError
from verification.training.checkpoints import write_atomically

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

COLUMNS = (
    "epoch",
    "step",
    "learning_rate_factor",
    "train_loss",
    "validation_loss",
    "validation_accuracy",
    "seconds",
    "sequences_per_second",
)


def write_csv(path: Path, history: Sequence[Mapping[str, Any]]) -> None:
    """One row an evaluation; an empty cell where a task has no such number."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for row in history:
        writer.writerow({key: "" if value is None else value for key, value in row.items()})
    write_atomically(path, text.getvalue().encode())


def summary_writer() -> type[SummaryWriter]:
    """torch's writer of TensorBoard's files. TrainingError, with what to install, where it is not."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise TrainingError(
            f'--tensorboard: needs tensorboard ({error}). Install it: pip install "odernn[tensorboard]".'
        ) from None
    return SummaryWriter


class TensorBoard:
    """The same numbers for TensorBoard, in ``folder``; what an earlier process wrote after ``step`` is dropped."""

    def __init__(self, writer: type[SummaryWriter], folder: Path, step: int) -> None:
        self._writer = writer(str(folder), purge_step=step)

    def add(self, row: Mapping[str, Any]) -> None:
        for name, value in row.items():
            if name not in ("epoch", "step") and value is not None:
                self._writer.add_scalar(name, value, row["step"])
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()
