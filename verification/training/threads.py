"""How many threads a step of training is worth: one for every 8192 columns of a layer, batch × units.

That is the rule of ``execution="cpu"`` itself. The products of a small step are divided by torch among all threads that
it has, and waiting for each other then takes longer than the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from odernn.executions.cpu import COLUMNS_A_THREAD
from verification.training.configuration import Configuration


def worthwhile(plan: Configuration, at_most: int | None = None) -> int:
    """Threads for a step of this run: 1 or more, and no more than torch has, or than ``at_most``."""
    columns = plan.training.batch_size * plan.network.hidden_size
    return max(1, min(columns // COLUMNS_A_THREAD, at_most or torch.get_num_threads()))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """torch has so many inside, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
