"""One layer of UnICORNN in one direction: its parameters, its drive and the coefficients of its recurrence."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from odernn.cells.unicornn.arguments import INITIAL_C
from odernn.cells.unicornn.growth import GrowthLimit
from odernn.executions.recurrence import StepCoefficients

KAIMING_SLOPE = 8.0
"""Slope of the leaky ReLU in the Kaiming uniform initialisation of V, as in the published code."""


class UnICORNNLayer(nn.Module):
    """Parameters of one layer: w, c, b (hidden,), V (hidden, below), Λ (hidden, skipped).

    b is None without bias, c is None if every neuron steps with dt, Λ is None without a residual edge. With a ``limit``
    of growth ``free_w`` is learned and there is no w: ``coefficients`` has the w that the limit makes of it.
    """

    state_names: tuple[str, ...] = ("y", "z")

    def __init__(
        self,
        below_size: int,
        hidden_size: int,
        skip_size: int | None,
        *,
        bias: bool,
        multiscale: bool = True,
        initial_c: tuple[float, float] = INITIAL_C,
        limit: GrowthLimit | None = None,
        **factory: Any,
    ) -> None:
        super().__init__()
        self.initial_c = initial_c
        self.input_size, self.hidden_size = below_size, hidden_size
        learned = nn.Parameter(torch.empty(hidden_size, **factory))
        self.limit = limit
        self.free_w: nn.Parameter | None = None if limit is None else learned
        if limit is None:
            self.w = learned
        self.c = nn.Parameter(torch.empty(hidden_size, **factory)) if multiscale else None
        self.V = nn.Parameter(torch.empty(hidden_size, below_size, **factory))
        self.b = nn.Parameter(torch.empty(hidden_size, **factory)) if bias else None
        self.Lambda = None if skip_size is None else nn.Parameter(torch.empty(hidden_size, skip_size, **factory))

    @property
    def state_sizes(self) -> tuple[int, int]:
        """Number of components of y and of z."""
        return self.hidden_size, self.hidden_size

    @property
    def like(self) -> Tensor:
        """A weight whose dtype and device are the layer's."""
        return self.V

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """w ~ U(0, 1), c ~ U(``initial_c``), b = 0, V and Λ ~ U(−r, r) with r = √(6 / ((1 + 8²) fan_in)).

        ``free_w`` is given the values of w: ``limit_growth`` makes free ones of them, which needs dt and α.
        """
        nn.init.uniform_(self.w if self.free_w is None else self.free_w, 0.0, 1.0, generator=generator)
        if self.c is not None:
            nn.init.uniform_(self.c, *self.initial_c, generator=generator)
        for matrix in (self.V, self.Lambda):
            if matrix is not None:
                r = math.sqrt(6.0 / ((1.0 + KAIMING_SLOPE**2) * matrix.shape[1]))
                nn.init.uniform_(matrix, -r, r, generator=generator)
        if self.b is not None:
            nn.init.zeros_(self.b)

    def drive(self, below: Tensor, skipped: Tensor | None) -> Tensor:
        """x = V y^{l-1} + b, plus Λ y^{l-S-1} on a residual edge, for any number of leading axes."""
        x = nn.functional.linear(below, self.V, self.b)
        if self.Lambda is not None and skipped is not None:
            x = x + nn.functional.linear(skipped, self.Lambda)
        return x.to(self.V.dtype)  # under autocast the product has fewer digits; the recurrence keeps its own

    def coefficients(self, dt: Tensor, alpha: Tensor) -> StepCoefficients:
        """w, h = dt σ̂(c), or dt itself without c, and α, from the layer's dt and α (), float64."""
        return self._coefficients(dt, alpha, self.free_w, self.c)

    def _coefficients(self, dt: Tensor, alpha: Tensor, free_w: Tensor | None, c: Tensor | None) -> StepCoefficients:
        dt, alpha = dt.to(self.V.dtype), alpha.to(self.V.dtype)
        h = dt.expand(self.hidden_size) if c is None else dt * torch.sigmoid(c)
        w = self.w if self.limit is None or free_w is None else self.limit.within(free_w, h, alpha)
        return {"w": w, "step_size": h, "alpha": alpha}

    def pulled(self, dt: Tensor, alpha: Tensor, by_w: Tensor, by_h: Tensor) -> dict[str, Tensor]:
        """Gradients by free_w and c of a layer with a limit, from those by w and h; frozen ones as well."""
        learned = {"free_w": self.free_w, "c": self.c}
        leaves = {name: value.detach().requires_grad_() for name, value in learned.items() if value is not None}
        with torch.enable_grad():
            found = self._coefficients(dt, alpha, leaves["free_w"], leaves.get("c"))
            of = [(found["w"], by_w)] + ([] if self.c is None else [(found["step_size"], by_h)])
            values, grads = zip(*of, strict=True)
            pulled = torch.autograd.grad(values, list(leaves.values()), grads)
        return dict(zip(leaves, pulled, strict=True))

    @torch.no_grad()
    def limit_growth(self, dt: Tensor, alpha: Tensor) -> None:
        """Make ``free_w``, which holds a w, the free number whose w is the nearest to it that the limit admits."""
        if self.limit is not None and self.free_w is not None:
            found = self.coefficients(dt, alpha)
            self.free_w.copy_(self.limit.free_for(self.free_w, found["step_size"], found["alpha"]))
