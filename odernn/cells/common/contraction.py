"""The w of damped neurons that contract at a chosen rate, whatever is learned.   docs/derivations/damped_oscillators.md

    w = w₋ + (w₊ − w₋) σ̂(v),  v learned,    sin ξ(α + w±) = sin(ξ(α) ± g), between 0 and 1,
    sin²ξ(k) = h² (k (1 + hr) − r(γ − r)) / (2D),   sin g = h (γ − 2r − hr²) / D,   D = 1 + hγ + (1 + hr)²

of a step of size h with damping γ: in one quadratic form it contracts by 1/(1 + hr) for every slope (thm-damp (c)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

SHRUNK = 2.0**-20
"""Share by which an interval is smaller beside 4 ε of w's dtype: more than its own roundings in float64."""

MARGIN = 1.01
"""By how much γ exceeds 2r + dt r² and α exceeds r(γ − r).

The γ of a q that is rounded to float32 is off by up to 0.39 %, which moves r(γ − r) by up to 0.77 %.
"""

STIFFEST = 0.98
"""Largest sin²ξ(α) at h = dt."""

SMALLEST_DAMPING = 2.0**-8
"""Smallest γ dt, and the smallest share of dt that a step is: γh ≥ 2⁻¹⁶ is kept to 0.4 % by 1/(1 + γh) in float32."""


@dataclass(frozen=True)
class ContractionRate:
    """Every neuron contracts by 1/(1 + rate h), h its own step: as x' = −rate x does by implicit Euler. () float64."""

    rate: Tensor

    def interval(self, step_size: Tensor, alpha: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        """w₋ ≤ 0 ≤ w₊ of every neuron, in float64, in the shape of h; ``kept`` is q = 1/(1 + hγ) as the step has it."""
        h, alpha, q = step_size.double(), alpha.double(), kept.double()
        hr, damped = h * self.rate, 1.0 / q - 1.0
        D = 2.0 + damped + hr * (2.0 + hr)
        sine_g = ((damped - hr * (2.0 + hr)) / D).clamp(min=0.0)
        square = ((h**2 * alpha * (1.0 + hr) - hr * (damped - hr)) / (2.0 * D)).clamp(0.0, 1.0)  # sin²ξ(α)
        sine, cosine, cosine_g = square.sqrt(), (1.0 - square).sqrt(), (1.0 - sine_g**2).sqrt()
        low = (sine * cosine_g - cosine * sine_g).clamp(min=0.0)
        high = torch.where(square + sine_g**2 > 1.0, 1.0, sine * cosine_g + cosine * sine_g)
        scale = 2.0 * D / (h**2 * (1.0 + hr))
        return scale * (low**2 - square), scale * (high**2 - square)

    def within(self, free: Tensor, step_size: Tensor, alpha: Tensor, kept: Tensor) -> Tensor:
        """w of the learned v = ``free``, in its dtype; differentiable by v and by h."""
        low, high = self.interval(step_size, alpha, kept)
        shrunk = 1.0 - SHRUNK - 4.0 * torch.finfo(free.dtype).eps
        return (shrunk * (low + (high - low) * torch.sigmoid(free.double()))).to(free.dtype)

    def free_for(self, w: Tensor, step_size: Tensor, alpha: Tensor, kept: Tensor) -> Tensor:
        """v = logit((w − w₋)/(w₊ − w₋)) of w, or of the nearest w between 0.99 w₋ and 0.99 w₊."""
        low, high = self.interval(step_size, alpha, kept)
        inside = torch.minimum(torch.maximum(w.double(), 0.99 * low), 0.99 * high)
        return torch.logit((inside - low) / (high - low)).to(w.dtype)


def check_oscillator(values: Sequence[float]) -> None:
    """Nothing, or an error about dt, α, γ and, if given, the rate r: whether some w contracts at every h ≤ dt.

    Needed: γ > 2r + dt r², that a step shrinks areas to less than 1/(1 + dt r)²; α > r(γ − r), that at rest the
    oscillator is not overdamped beyond the rate; sin²ξ(α) < 1, that its step is not stiff. The first and the last are
    hardest at h = dt, the second as h → 0.
    """
    dt, alpha, gamma, *rates = values
    for name, value in (("dt", dt), ("gamma", gamma), *(("rate", each) for each in rates)):
        if not 0.0 < value < float("inf"):
            raise ValueError(f"{name} is {value}, but a damped step has a finite {name} > 0. Give one.")
    if not 0.0 <= alpha < float("inf"):
        raise ValueError(f"alpha is {alpha}, but the restoring force needs a finite alpha ≥ 0. Give one.")
    for rate in rates:
        _check_rate(dt, alpha, gamma, rate)


def _check_rate(dt: float, alpha: float, gamma: float, rate: float) -> None:
    if gamma * dt < SMALLEST_DAMPING:
        raise ValueError(
            f"gamma dt is {gamma * dt:.4g}, of which float32 keeps too few digits at the smallest h to promise a rate. "
            f"Choose gamma dt ≥ {SMALLEST_DAMPING:.4g}, or leave rate out."
        )
    least = MARGIN * rate * (2.0 + dt * rate)
    if gamma < least:
        raise ValueError(
            f"rate is {rate:.6g} with gamma = {gamma:.6g}, but areas shrink by 1/(1 + gamma dt) a step, and lengths by "
            f"its root at best. Choose gamma ≥ {least:.6g}, or a smaller rate."
        )
    least = MARGIN * rate * (gamma - rate)
    if alpha < least:
        raise ValueError(
            f"alpha is {alpha:.6g} with gamma = {gamma:.6g}, but so damped an oscillator returns more slowly than "
            f"rate = {rate:.6g}. Choose alpha ≥ {least:.6g}, or a smaller gamma or rate."
        )
    hr = dt * rate
    D = 1.0 + dt * gamma + (1.0 + hr) ** 2
    square = (dt**2 * alpha * (1.0 + hr) - hr * (dt * gamma - hr)) / (2.0 * D)
    if square > STIFFEST:
        raise ValueError(
            f"alpha is {alpha:.6g} with dt = {dt:.6g}: the step is too stiff to contract at rate = {rate:.6g} "
            f"(sin²ξ = {square:.4g} > {STIFFEST}). Choose a smaller dt or alpha."
        )
