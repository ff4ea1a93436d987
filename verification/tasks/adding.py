"""The adding problem: the sum of two marked numbers of a long sequence (Hochreiter & Schmidhuber 1997).

At every step the input is a number ~ U[0, 1) and a marker, 1 at two steps and 0 elsewhere. The first marked step is
uniform in {1, …, ⌈T/2⌉ − 1}, the second in {⌈T/2⌉, …, T − 1}, steps counted from 1 (Helfrich et al. 2018, Section 5.2).
The target is the sum of the two marked numbers. To say 1 whatever comes costs Var(U + U′) = 1/6.
"""

from __future__ import annotations

import numpy as np

from verification.tasks.task import BLOCK, SPLITS, Loaded, Root, TaskSpec, at_least, blocks, checksum, split_index

NAME = "adding"
BASELINE = 1 / 6
COUNTS = {"train": 100_000, "validation": 10_000, "test": 10_000}
"""As published (Helfrich et al. 2018, Section 5.2, which has no validation split)."""


def load(split: str, root: Root = None, *, steps: int = 200, count: int | None = None, seed: int = 0) -> Loaded:
    """(steps, count, 2) numbers and markers, float32; (count,) sums, float32.

    steps    T ≥ 3;  count   of sequences, by default ``COUNTS``: the first ones are the same whatever it is
    seed     the same seed, split and T give the same sequences;  root   has no meaning here: there are no files
    Raises DataError for an unknown split, ValueError for an impossible size.
    """
    at_least(NAME, "steps", steps, 3)
    count = COUNTS.get(split, 1) if count is None else count
    half = -(-steps // 2)
    parts = []
    for kept, generator in blocks(NAME, split, count=count, seed=seed):
        numbers = generator.random((steps, BLOCK), dtype=np.float32)
        marked = generator.integers(1, half, BLOCK), generator.integers(half, steps, BLOCK)  # counted from 1
        markers = np.zeros((steps, BLOCK), dtype=np.float32)
        for step in marked:
            markers[step - 1, np.arange(BLOCK)] = 1.0
        parts.append(np.stack((numbers, markers), axis=-1)[:, :kept])
    sequences = np.concatenate(parts, axis=1)
    # two summands, so the order of summation cannot matter
    targets = np.where(sequences[..., 1] == 1.0, sequences[..., 0], np.float32(0)).sum(axis=0, dtype=np.float32)
    spec = TaskSpec(
        name=NAME,
        split=SPLITS[split_index(NAME, split)],
        loss="squared error",
        reads="last",
        steps=steps,
        count=count,
        input_size=2,
        output_size=1,
        baseline=BASELINE,
        baseline_means="the constant 1: the variance of a sum, 2/12",
        origin=f"random numbers, seed {seed}",
        sha256=checksum(sequences, targets),
    )
    return sequences, targets, spec
