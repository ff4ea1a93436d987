"""A state_dict of the published UnICORNN code (github: tk-rusch/unicornn), by the names of this library.

    theirs               shape          ours                     what it is
    DIs.{k}.fc.weight    (m, below)     recurrent.layers.{k}.V   of the drive, x = V y^{k} + b: not transposed
    DIs.{k}.fc.bias      (m,)           recurrent.layers.{k}.b
    RNNs.{k}.weight_hh   (m,)           recurrent.layers.{k}.w
    RNNs.{k}.c_          (m,)           recurrent.layers.{k}.c   h = dt σ̂(c), σ̂ the logistic function, as here
    classifier.weight    (outputs, m)   readout.weight           of y^L_N
    classifier.bias      (outputs,)     readout.bias

k = 0..L−1 counts layers. Index convention "icml": a layer sees the layer below at the same n. Their dt and α are no
part of the state_dict: they are given with [network], dt and alpha, and are rounded to float32 as their code rounds
them (``torch.tensor(dt)``). Their dropout has no weights. IMDB's network has an ``embedding.weight`` besides, which no
task of this library feeds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

NAMES: tuple[tuple[str, str], ...] = (
    (r"DIs\.(\d+)\.fc\.weight", r"recurrent.layers.\1.V"),
    (r"DIs\.(\d+)\.fc\.bias", r"recurrent.layers.\1.b"),
    (r"RNNs\.(\d+)\.weight_hh", r"recurrent.layers.\1.w"),
    (r"RNNs\.(\d+)\.c_", r"recurrent.layers.\1.c"),
    (r"classifier\.weight", r"readout.weight"),
    (r"classifier\.bias", r"readout.bias"),
)
"""Patterns of their names, and ours."""
CELL = "unicornn"


def is_published(names: Iterable[str]) -> bool:
    """Whether these are names of that code: a recurrence ``RNNs.0.…`` and an input map ``DIs.0.…``."""
    listed = list(names)
    return any(name.startswith("RNNs.0.") for name in listed) and any(name.startswith("DIs.0.") for name in listed)


def ours(name: str) -> str | None:
    """Our name of their tensor; None if it is none of the table's."""
    for pattern, replacement in NAMES:
        if re.fullmatch(pattern, name):
            return re.sub(pattern, replacement, name)
    return None


def theirs(name: str) -> str | None:
    """Their name of our tensor: the table read backwards, for messages; None for dt and alpha."""
    for pattern, replacement in NAMES:
        escaped = re.escape(replacement).replace(r"\\1", r"(\d+)")
        if match := re.fullmatch(escaped, name):
            plain = pattern.replace(r"(\d+)", "{}").replace("\\.", ".")
            return plain.format(*match.groups())
    return None


def as_their_code_rounds(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the cell with dt and alpha rounded to float32, one number or one a layer."""

    def rounded(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [rounded(entry) for entry in value]
        return float(np.float32(value)) if isinstance(value, (int, float)) else value

    return {key: rounded(value) if key in ("dt", "alpha") else value for key, value in options.items()}
