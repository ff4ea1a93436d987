"""Other signs, smaller entries of A, the same W, between epochs: ``orthogonal.resigning`` for the layers of a network.

A scaled Cayley weight W = (I + A)⁻¹(I − A) D with D fixed can drive the entries of A without bound, and with them the
rounding errors of W and the distance that a step of the optimizer moves it. Exchanging pairs of signs brings
max |a_ij| down to tau; the function that the network computes stays, up to roundings, and the optimizer's memory goes
along. The signs are part of the weights: checkpoints have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from odernn.cells.scornn import ScoRNNLayer
from odernn.orthogonal.resigning import Moments
from verification.training import SettingError, TrainingError
from verification.training.configuration import Training
from verification.training.network import TaskNetwork
from verification.training.optimizers import Parts


def layers(model: TaskNetwork, plan: Training) -> tuple[ScoRNNLayer, ...]:
    """The layers whose signs change in this plan. TrainingError if it asks for that and there are none."""
    if plan.re_sign_every is None:
        return ()
    re_signed = tuple(module for module in model.modules() if isinstance(module, ScoRNNLayer))
    if not re_signed:
        raise SettingError(
            "training",
            f"{type(model.recurrent).__name__} has no scaled Cayley weight whose signs could change. Leave "
            're_sign_every out, or train the cell "scornn".',
            key="re_sign_every",
        )
    return re_signed


def re_sign(chosen: Sequence[ScoRNNLayer], optimizer: Parts, plan: Training) -> int:
    """Exchange pairs of signs in these layers; how many. TrainingError where it cannot be done: see ``resigning``."""
    moments = cast(Moments, plan.re_sign_moments or "transform")
    try:
        return sum(layer.re_sign(optimizer.of(layer.free), moments=moments, tau=plan.re_sign_tau) for layer in chosen)
    except (ValueError, RuntimeError) as error:
        raise TrainingError(f"[training] re_sign_every: {error}") from None
