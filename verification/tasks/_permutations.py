"""The fixed orders in which the pixels of an image are read, by name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from verification.tasks.images import DataError

NUMPY_SEEDS = {"urnn": 92916}
"""``numpy.random.RandomState(seed).permutation``, as in the published code of scoRNN."""

TORCH_SEEDS = {"unicornn": 5544, "cornn": 12008}
"""``torch.randperm`` with that seed, as in the published code of each."""

DEFAULT = "urnn"
NAMES = (*NUMPY_SEEDS, *TORCH_SEEDS)


def reading(task: str, pixels: int, *, permuted: bool, permutation: str | None) -> tuple[NDArray[np.int64], str]:
    """Which pixel is read at each step, and the name of that order, "" for that of the rows.

    Raises DataError for an unknown name, ValueError for one that is given where nothing is permuted.
    """
    if not permuted:
        if permutation is not None:
            raise ValueError(
                f"{task}: permutation is {permutation!r}, but nothing is permuted. Pass permuted=True too."
            )
        return np.arange(pixels), ""
    name = DEFAULT if permutation is None else permutation
    return order(name, pixels), name


def order(name: str, pixels: int) -> NDArray[np.int64]:
    """Which pixel is read at each step. DataError for an unknown name."""
    if name in NUMPY_SEEDS:
        return np.random.RandomState(NUMPY_SEEDS[name]).permutation(pixels).astype(np.int64)
    if name in TORCH_SEEDS:
        import torch

        generator = torch.Generator().manual_seed(TORCH_SEEDS[name])
        permutation: NDArray[np.int64] = torch.randperm(pixels, generator=generator).numpy()
        return permutation
    raise DataError(f"No permutation of pixels is called {name!r}. Choose one of: {', '.join(NAMES)}.")
