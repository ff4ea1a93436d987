"""A collection of images as a source of real input, and the error of data that cannot be used."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


class DataError(Exception):
    """Data is missing or damaged. One line: what, what was expected, and what to do."""


@dataclass(frozen=True, eq=False)
class ImageSource:
    """Images in the order of their file, flattened row by row.

    images  (count, pixels), float64 in [0, 1], read-only
    origin  where they were read from, in words
    sha256  of the raw pixels as unsigned bytes in the same order, before scaling
    """

    name: str
    images: NDArray[np.float64]
    origin: str
    sha256: str

    @classmethod
    def from_raw(cls, name: str, raw: NDArray[np.uint8], *, white: int, origin: str) -> ImageSource:
        """From unsigned bytes (count, …) in [0, white]; `white` becomes 1."""
        flat = np.ascontiguousarray(raw).reshape(len(raw), -1)
        images = flat / np.float64(white)
        images.flags.writeable = False
        return cls(name=name, images=images, origin=origin, sha256=hashlib.sha256(flat.data).hexdigest())

    def describe(self) -> str:
        """What, how many, from where, and the checksum of the raw pixels."""
        count, pixels = self.images.shape
        return f"{self.name}: {count} images of {pixels} pixels from {self.origin}, sha256 {self.sha256}"
