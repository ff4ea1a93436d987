"""Radii by one constant for all inputs: nonexpansive networks, damped oscillators.   docs/derivations/radii.md

    ε = min_{j ≠ i} (s_i − s_j − what rounding may take)/(L ‖R_i − R_j‖),      ‖h_N − h'_N‖ ≤ L ‖u − u'‖

thm-R (a). L is thm-Lip's or thm-damp's, of runs in the dtype; i is the class, s its scores R h_N + c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

import numpy as np
import torch
from torch import Tensor, nn

from odernn.bounds.network import lipschitz
from odernn.bounds.network.certification import family_of
from odernn.bounds.network.question import Question
from odernn.bounds.radii.norms import Norm
from odernn.bounds.radii.oscillators import ReadOut, gamma
from odernn.bounds.reconstruction import Precision

THEOREMS: dict[str | None, Callable[[], ModuleType]] = {
    "orthogonal": lambda: import_module("odernn.bounds.network.orthogonal"),
    "damped": lambda: import_module("odernn.bounds.network.damped"),
}
"""The file of a family that says what a change of the inputs becomes; its names are literals for import closures."""

NAMES: dict[str | None, str] = {"orthogonal": "thm-Lip", "damped": "thm-damp"}

JUMPS = "modReLU jumps by 2b where a b_i > 0; nonexpansive=True keeps b ≤ 0"
OVERFLOWS = "its states may overflow, or no theorem here is on its rounding"


@dataclass(frozen=True)
class InputConstant:
    """‖δ‖ ≤ of_seen ‖δu‖ + rounding of what the read-out sees in two computed runs; of_rows the same of every row."""

    of_seen: float
    of_rows: float
    rounding: float


def constant_of(
    network: nn.Module, steps: int, input_bound: float, norm: Norm, *, of_mean: bool
) -> InputConstant | str:
    """The constant of computed runs with |u|, |u'| ≤ ``input_bound``, or why there is none."""
    family = family_of(network)
    if family not in THEOREMS:
        return f"no theorem here bounds how far inputs move {type(network).__name__}"
    if not math.isfinite(input_bound):
        return OVERFLOWS
    try:
        with np.errstate(over="raise", invalid="raise"):
            reach = THEOREMS[family]().reach_of(network, Question(steps, input_bound))
    except (ArithmeticError, np.linalg.LinAlgError):
        return OVERFLOWS
    if reach is None:
        return JUMPS
    if reach.computed is None or reach.log_error is None:
        return OVERFLOWS
    size = lipschitz.euclidean if norm is Norm.SEQUENCE else lipschitz.total
    seen = lipschitz.averaged(reach.computed) if of_mean else reach.computed
    logs = size(seen), size(reach.computed), math.log(2) + float(reach.log_error.max())
    if max(logs) > 700:
        return OVERFLOWS
    return InputConstant(*(math.exp(log) * (1 + 2.0**-40) for log in logs))


def global_radii(
    constant: InputConstant, read: ReadOut, scores: Tensor, rows: Tensor, labels: Tensor, precision: Precision
) -> Tensor:
    """Of every sequence, (B,) float64: of the scores (B, classes) and rows (N, B, m) that a run computed; 0 where none.

    A score rounds off ``room`` times what it is a sum of, in both runs; that of the other run is this one's and δ's.
    """
    moduli = rows.double().abs().mean(dim=0) if read.of_mean else rows[-1].double().abs()
    width = read.R.shape[1]
    room = gamma(width + 16 + (len(rows) if read.of_mean else 0), precision.unit_roundoff)
    up = 1 + (width + len(rows) + 8) * 2.0**-50
    differences = (read.R[labels][:, None] - read.R).norm(dim=2) * up
    sizes = read.R[labels].abs()[:, None] + read.R.abs()
    sums = (sizes @ moduli[:, :, None])[..., 0] + read.c[labels].abs()[:, None] + read.c.abs()
    lost = (2 * room * sums + 128 * width * precision.underflow) * up
    by_rows = room * sizes.norm(dim=2) * up
    scores = scores.double()
    margins = scores.gather(1, labels[:, None]) - scores - 2.0**-50 * scores.abs().amax(dim=1, keepdim=True)
    left = margins - lost - (differences + by_rows) * constant.rounding * up
    slopes = (differences * constant.of_seen + by_rows * constant.of_rows) * up
    radii = left / slopes.clamp(min=2.0**-500) * (1 - 2.0**-40)
    least = radii.scatter(1, labels[:, None], torch.inf).amin(dim=1).clamp(min=0.0, max=2.0**100)
    reached = sums + sizes.norm(dim=2) * (constant.of_rows * least[:, None] + constant.rounding)
    is_finite = (reached < math.exp(precision.log_largest - 1)).all(dim=1)  # elsewhere a score may overflow
    return torch.where(is_finite, least, 0.0)
