"""Real input of a printed shape (N, d): images laid end to end, as many as the sequence needs."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from verification.tasks.images import DataError, ImageSource

Kind = Literal["images", "noise-padded"]
IMAGE_ROWS = 32  # noise padded CIFAR-10: 32 rows of an image, then noise


def build(
    source: ImageSource, *, steps: int, input_size: int, batch: int = 32, kind: Kind = "images", seed: int
) -> NDArray[np.float64]:
    """Input u of shape (steps, batch, input_size), float64 in [0, 1]; the same arguments give the same array.

    Batch element j concatenates images in file order until N·d values are reached, the last image cut short,
    and begins with the image after the last one that element j − 1 used; after the last image of the source
    comes the first again. The values fill a row of d before the next row begins.

    kind    "images": all N rows are. "noise-padded": the first 32 rows are, then uniform noise on [0, 1).
    seed    of the noise; "images" does not use it.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"kind of sequence {kind!r}: choose one of {', '.join(get_args(Kind))}")
    if steps < 0 or input_size < 1 or batch < 1:
        given = f"steps={steps}, batch={batch}, input_size={input_size}"
        raise ValueError(f"no input of shape ({given}): need steps ≥ 0, batch ≥ 1, input_size ≥ 1")
    count, pixels = source.images.shape
    if count == 0 or pixels == 0:
        raise DataError(f"{source.name} holds no image: its array has shape {source.images.shape}")

    image_steps = steps if kind == "images" else min(steps, IMAGE_ROWS)
    values = image_steps * input_size
    used = -(-values // pixels)  # images per batch element, rounded up

    u = np.empty((steps, batch, input_size))
    for j in range(batch):
        chosen = np.arange(j * used, (j + 1) * used) % count
        u[:image_steps, j] = source.images[chosen].reshape(-1)[:values].reshape(image_steps, input_size)
    u[image_steps:] = np.random.default_rng(seed).random((steps - image_steps, batch, input_size))
    return u
