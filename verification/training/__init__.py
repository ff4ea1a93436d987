"""Training on the tasks: configurations, checkpoints, the loop. The bounds speak of trained networks: these train them.

    configuration.py  a TOML file, checked key by key, errors with their line; configurations/ has the files
    network.py        a cell and a linear readout
    optimizer_classes.py  the optimizers by name, and their options
    optimizers.py     parameter groups and learning rates
    splits.py         a split of the task as the network sees it
    loop.py           the run: steps, evaluations, what is kept
    checkpoints.py    safetensors, written atomically
    own_files.py      a cell and a task outside of the package: recorded with the run
    facts.py          what fixes a run: compared before one is continued
    logs.py           CSV and TensorBoard
    processes.py      torchrun

Nothing of a run depends on a generator whose state would have to be kept: the order of an epoch follows from (seed,
epoch), the dropout masks of a step from (seed, step, process). So a run that was killed and continued is, on the CPU
and with as many threads, bit for bit the run that was not. ``loop`` has the layout of a run's folder.
"""

from __future__ import annotations


class TrainingError(Exception):
    """What was asked for cannot be trained, or a file of a run is not what it must be: one line with the next step."""


class SettingError(TrainingError):
    """A setting that the task, the cell or the optimizer refuses: known only when that is made.

    table, key, index  where it stands; None where that is the whole table, or the only one of the name
    what               the message without the place
    """

    def __init__(self, table: str, what: str, *, key: str | None = None, index: int | None = None) -> None:
        super().__init__(f"[{table}] {what}")
        self.table, self.key, self.index, self.what = table, key, index, what
