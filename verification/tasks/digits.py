"""scikit-learn's handwritten digits, 1797 images of 8×8: they come in its wheel and need no network."""

from __future__ import annotations

import numpy as np

from verification.tasks.images import ImageSource

WHITE = 16  # a pixel counts the set dots of a 4×4 block: 0..16


def load() -> ImageSource:
    """All digits in the order of scikit-learn's file, (1797, 64), scaled to [0, 1]."""
    from sklearn import __version__ as version
    from sklearn.datasets import load_digits

    counts = load_digits().images
    return ImageSource.from_raw(
        "scikit-learn digits",
        counts.astype(np.uint8),
        white=WHITE,
        origin=f"the wheel of scikit-learn {version}",
    )
