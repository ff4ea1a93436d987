"""Where the weights of a UnICORNN stand between rotation, growth and instability of the step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

ROTATION_LIMIT = 4.0
"""h²κ = 4: beyond it B(κ), of trace 2 − h²κ and determinant 1, has a real eigenvalue below −1."""


@dataclass(frozen=True)
class LayerStability:
    """Extremes over the neurons of one layer; κ = α + w σ' lies between α and α + w.

    max_h2_alpha       max h²α, frozen and saturated neurons (σ' = 0)
    max_h2_kappa_plus  max h²(α + max(w, 0)), the stiffest possible step
    min_w_plus_alpha   min (w + α): below 0 the neuron is a saddle where σ' is close to 1
    min_step, max_step extremes of h
    is_reverse         whether these are the weights of the layer's reverse direction
    """

    layer: int
    max_h2_alpha: float
    max_h2_kappa_plus: float
    min_w_plus_alpha: float
    min_step: float
    max_step: float
    is_reverse: bool = False

    @property
    def margin_to_rotation_limit(self) -> float:
        """4 − max h²κ₊; positive: no input makes the step itself unstable through stiffness."""
        return ROTATION_LIMIT - self.max_h2_kappa_plus

    @property
    def margin_to_saddle(self) -> float:
        """min w − (−α); positive: κ > 0 for every input, each step rotates."""
        return self.min_w_plus_alpha

    def __str__(self) -> str:
        stiff = (
            f"max h²α = {self.max_h2_alpha:.3g} and max h²(α + max(w, 0)) = {self.max_h2_kappa_plus:.3g}, "
            f"margin {self.margin_to_rotation_limit:.3g} to 4: "
        )
        stiff += "no input makes a step unstable" if self.margin_to_rotation_limit > 0 else "some steps are unstable"
        saddle = f"min (w + α) = {self.min_w_plus_alpha:.3g}: "
        saddle += "every neuron rotates" if self.margin_to_saddle > 0 else "some neurons are saddles near zero input"
        name = f"layer {self.layer}, reverse" if self.is_reverse else f"layer {self.layer}"
        return f"{name}: h in [{self.min_step:.3g}, {self.max_step:.3g}]; {stiff}; {saddle}."


@dataclass(frozen=True)
class StabilityReport:
    """One ``LayerStability`` a layer and direction, first layer first, forward before reverse."""

    layers: tuple[LayerStability, ...]

    def __str__(self) -> str:
        return "\n".join(str(layer) for layer in self.layers)


@torch.no_grad()
def layer_stability(
    layer: int, *, w: Tensor, step_size: Tensor, alpha: Tensor, is_reverse: bool = False
) -> LayerStability:
    """Extremes of one layer in float64: w, step_size (hidden,), alpha a number; layer from 1."""
    w, h, alpha = w.double(), step_size.double(), alpha.double()
    return LayerStability(
        layer=layer,
        max_h2_alpha=float((h**2 * alpha).max()),
        max_h2_kappa_plus=float((h**2 * (alpha + w.clamp(min=0))).max()),
        min_w_plus_alpha=float((w + alpha).min()),
        min_step=float(h.min()),
        max_step=float(h.max()),
        is_reverse=is_reverse,
    )
