"""Several processes, one run: ``torchrun`` starts them, each takes its part of every batch, gradients are added.

The loss of a process is its part's sum over the number of sequences in the whole batch, so that the sum of the
gradients is that of one process with the whole batch, also where it does not divide evenly. Process 0 alone writes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn

from verification.training import TrainingError

PATIENCE = timedelta(minutes=10)


@dataclass(frozen=True)
class Processes:
    """This process's rank, and how many there are."""

    rank: int = 0
    count: int = 1

    @property
    def writes(self) -> bool:
        return self.rank == 0

    def of(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Every ``count``-th of them, from the rank on: the shares are disjoint and make up the whole."""
        return indices[self.rank :: self.count]

    def add_gradients(self, module: nn.Module) -> None:
        """Replace every gradient by the sum over all processes: the same bits in each.

        A parameter that no process has a gradient of gets none: optimizers leave it alone, where zeros would decay it.
        """
        if self.count == 1:
            return
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        have = gradients[0].new_tensor([parameter.grad is not None for parameter in parameters])
        flat = torch.cat([gradient.reshape(-1) for gradient in (*gradients, have)])
        dist.all_reduce(flat)
        *ends, have = flat.split([gradient.numel() for gradient in (*gradients, have)])
        for parameter, total, is_used in zip(parameters, ends, have != 0, strict=True):
            parameter.grad = total.view_as(parameter).clone() if is_used else None

    def total(self, values: Sequence[float]) -> list[float]:
        """Each number summed over all processes."""
        if self.count == 1:
            return list(values)
        sums = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(sums)
        return [float(value) for value in sums]

    def agree(self, text: str) -> bool:
        """Whether all processes call this with the same text."""
        number = float(int(hashlib.sha256(text.encode()).hexdigest()[:10], 16))  # 40 bits: sums in float64 are exact
        return self.total([number]) == [self.count * number]

    def share(self, module: nn.Module) -> None:
        """Give all processes the weights of process 0."""
        if self.count > 1:
            for value in module.state_dict().values():
                if isinstance(value, Tensor):
                    dist.broadcast(value, 0)


def is_first() -> bool:
    """Whether this is the process that writes and speaks: ``torchrun`` says so before the processes meet."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def processes(device: str = "cpu") -> Iterator[Processes]:
    """What ``torchrun`` says in the environment; one process where it says nothing.

    TrainingError for several on another device than the CPU: that is not built.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes()
        return
    if torch.device(device).type != "cpu":
        raise TrainingError(
            f"--device {device}: {count} processes train on the CPU only. Start one process there: odernn train …"
        )
    dist.init_process_group("gloo", timeout=PATIENCE)
    try:
        yield Processes(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()
