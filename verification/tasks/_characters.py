"""From a long text to sequences of characters, each to be followed by the next one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from verification.tasks.images import DataError
from verification.tasks.task import SPLITS, Batched, Loaded, TaskSpec, at_least, checksum, entropy


def pieces(symbols: NDArray[np.uint8], *, name: str, split: int, letters: int, steps: int, origin: str) -> Loaded:
    """(steps, count, letters) one-hot, float32, made when asked for; (steps, count) the next symbol each time, int64.

    The text is cut into consecutive pieces; what is left at the end is dropped. Piece j begins where piece j − 1 ends,
    so its first input is the last target of that.
    """
    at_least(name, "steps", steps, 1)
    count = (len(symbols) - 1) // steps
    if count < 1:
        raise DataError(f"{name}: {len(symbols)} characters are too few for one piece of {steps}. Choose fewer steps.")
    inputs = symbols[: count * steps].reshape(count, steps)
    targets = np.ascontiguousarray(symbols[1 : count * steps + 1].reshape(count, steps).T).astype(np.int64)
    alphabet = np.eye(letters, dtype=np.float32)

    def make(chosen: NDArray[np.intp], _: int) -> NDArray[np.float32]:
        return alphabet[inputs[chosen].T]

    spec = TaskSpec(
        name=name,
        split=SPLITS[split],
        loss="cross entropy",
        reads="every",
        steps=steps,
        count=count,
        input_size=letters,
        output_size=letters,
        baseline=entropy(targets, letters),
        baseline_means="the shares of the characters in this split: their entropy",
        origin=origin,
        sha256=checksum(inputs, targets),
        published_as="bits",
    )
    return Batched((steps, count, letters), make, is_fixed=True), targets, spec


def indices(text: bytes, alphabet: bytes, name: str) -> NDArray[np.uint8]:
    """The place of every byte in the alphabet; DataError if one is not in it."""
    table = np.full(256, 255, dtype=np.uint8)
    table[np.frombuffer(alphabet, dtype=np.uint8)] = np.arange(len(alphabet))
    places = table[np.frombuffer(text, dtype=np.uint8)]
    if (places == 255).any():
        at = int(np.flatnonzero(places == 255)[0])
        raise DataError(f"{name}: byte {at} is {text[at : at + 1]!r}, which is not in the alphabet {alphabet!r}.")
    return places
