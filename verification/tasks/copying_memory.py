"""Copying memory: ten symbols, a long silence, a marker, and the ten symbols again (Arjovsky et al. 2016).

T + 20 steps over the alphabet {0, …, 9}. Steps 1 to 10 are uniform in {1, …, 8}; then T − 1 zeros, one 9, and ten zeros
more, so the 9 is the eleventh step from the end. The targets are T + 10 zeros and then the ten symbols. Whoever keeps
the time but remembers no symbol says 0 for T + 10 steps and guesses one of eight for ten: 10 ln 8/(T + 20) nats a step.
"""

from __future__ import annotations

import math

import numpy as np

from verification.tasks.task import BLOCK, SPLITS, Loaded, Root, TaskSpec, at_least, blocks, checksum, split_index

NAME = "copying memory"
SYMBOLS = 10  # how many are to be copied
LETTERS = 8  # 1 … 8
MARKER = 9
COUNTS = {"train": 10_000, "validation": 1000, "test": 1000}
"""Chosen here: the sources print none. One-hot, a sequence takes 40 (T + 20) bytes."""


def baseline(silence: int) -> float:
    """10 ln 8/(T + 20): the mean cross entropy in nats of the best predictor without memory."""
    return SYMBOLS * math.log(LETTERS) / (silence + 2 * SYMBOLS)


def load(split: str, root: Root = None, *, silence: int = 200, count: int | None = None, seed: int = 0) -> Loaded:
    """(T + 20, count, 10) symbols, one-hot float32; (T + 20, count) classes, int64.

    silence  T ≥ 1;  count   of sequences, by default ``COUNTS``: the first ones are the same whatever it is
    seed     the same seed and split give the same symbols;  root   has no meaning here: there are no files
    Raises DataError for an unknown split, ValueError for an impossible size.
    """
    at_least(NAME, "silence", silence, 1)
    count = COUNTS.get(split, 1) if count is None else count
    steps = silence + 2 * SYMBOLS
    parts = []
    for kept, generator in blocks(NAME, split, count=count, seed=seed):
        parts.append(generator.integers(1, LETTERS + 1, (SYMBOLS, BLOCK))[:, :kept])
    symbols = np.concatenate(parts, axis=1)
    shown = np.zeros((steps, count), dtype=np.int64)
    shown[:SYMBOLS] = symbols
    shown[-SYMBOLS - 1] = MARKER
    targets = np.zeros((steps, count), dtype=np.int64)
    targets[-SYMBOLS:] = symbols
    sequences = np.zeros((steps, count, MARKER + 1), dtype=np.float32)
    np.put_along_axis(sequences, shown[..., None], 1.0, axis=-1)
    spec = TaskSpec(
        name=NAME,
        split=SPLITS[split_index(NAME, split)],
        loss="cross entropy",
        reads="every",
        steps=steps,
        count=count,
        input_size=MARKER + 1,
        output_size=MARKER + 1,
        baseline=baseline(silence),
        baseline_means="no memory of the symbols: 10 ln 8/(T + 20)",
        origin=f"random numbers, seed {seed}",
        sha256=checksum(sequences, targets),
    )
    return sequences, targets, spec
