"""DampedUnICORNN: UnICORNN's neurons with friction, which forget where they began, at a chosen rate if one is given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common.arguments import number
from odernn.cells.common.contraction import SMALLEST_DAMPING, ContractionRate, check_oscillator
from odernn.cells.common.representation import differing, shown
from odernn.cells.common.sequences import State
from odernn.cells.common.time_scales import memory_in_steps
from odernn.cells.recurrent import Manners, RecurrentLayer, RecurrentNetwork, StepFunction, empty_parameters

__all__ = ["CELL", "DampedUnICORNN", "DampedUnICORNNLayer"]


class DampedUnICORNNLayer(RecurrentLayer):
    """w, c, b (hidden,), V (hidden, input) of one layer; c is None if every neuron steps with dt, b without bias.

    With a rate ``free_w`` is learned and w is None: ``coefficients`` has the w that the rate makes of it. The buffer
    ``constants`` is (dt, α, γ) or (dt, α, γ, rate), float64: a state brings its own.
    """

    state_names: tuple[str, ...] = ("y", "z")

    constants: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        dt: float,
        alpha: float,
        gamma: float,
        rate: float | None = None,
        multiscale: bool = True,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        given = [dt, alpha, gamma] if rate is None else [dt, alpha, gamma, number("rate", rate)]
        self.register_exact("constants", given, check_oscillator, device=device)
        empty = empty_parameters(device, dtype)
        self.w = empty(hidden_size) if rate is None else None
        self.free_w = None if rate is None else empty(hidden_size)
        self.c = empty(hidden_size) if multiscale else None
        self.V = empty(hidden_size, input_size)
        self.b = empty(hidden_size) if bias else None

    @property
    def dt(self) -> Tensor:
        """The largest step, (), float64."""
        return self.constants[0]

    @property
    def alpha(self) -> Tensor:
        """The restoring force a length, (), float64."""
        return self.constants[1]

    @property
    def gamma(self) -> Tensor:
        """The friction a velocity, (), float64."""
        return self.constants[2]

    @property
    def rate(self) -> Tensor | None:
        """r, (), float64, or None."""
        return None if len(self.constants) == 3 else self.constants[3]

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """As UnICORNN: w ~ U(0, 1), c ~ U(−0.1, 0.1), b = 0, V ~ U(−r, r) with r = √(6/(65 input)).

        With a rate w is drawn as there, then the nearest that is admitted.
        """
        learned = self.free_w if self.w is None else self.w
        assert learned is not None
        nn.init.uniform_(learned, 0.0, 1.0, generator=generator)
        if self.c is not None:
            nn.init.uniform_(self.c, -0.1, 0.1, generator=generator)
        r = math.sqrt(6.0 / (65.0 * self.input_size))
        nn.init.uniform_(self.V, -r, r, generator=generator)
        if self.b is not None:
            nn.init.zeros_(self.b)
        if self.free_w is not None and not self.free_w.is_meta:
            with torch.no_grad():
                self.free_w.copy_(self._bounded().free_for(self.free_w, *self._steps(self.c)))

    def drives(self, below: Tensor) -> Tensor:
        """V u + b."""
        return nn.functional.linear(below, self.V, self.b)

    def _bounded(self) -> ContractionRate:
        assert self.rate is not None
        return ContractionRate(self.rate)

    def _steps(self, c: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """h = dt σ̂(c), at least dt/256, or dt itself without c; α; q = 1/(1 + hγ): in the dtype of the weights."""
        dt, alpha, gamma = (each.to(self.V.dtype) for each in (self.dt, self.alpha, self.gamma))
        share = None if c is None else torch.sigmoid(c).clamp(min=SMALLEST_DAMPING)
        h = dt.expand(self.hidden_size) if share is None else dt * share
        return h, alpha, 1.0 / (1.0 + h * gamma)

    def coefficients(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """w, h (hidden,), α (), q (hidden,) of the step, in the dtype of the weights."""
        return self._coefficients(self.free_w, self.c)

    def _coefficients(self, free_w: Tensor | None, c: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        h, alpha, q = self._steps(c)
        w = self.w if free_w is None else self._bounded().within(free_w, h, alpha, q)
        assert w is not None
        return w, h, alpha, q

    def interval(self) -> tuple[Tensor, Tensor]:
        """w₋, w₊ of every neuron that its rate admits, (hidden,), float64; of a layer with a rate."""
        return self._bounded().interval(*self._steps(self.c))

    def slopes(self) -> dict[str, Tensor]:
        """dh/dc, dw/dc, dw/dfree_w of every neuron, (hidden,), those that there are, float64.

        At the floats h, α, q of the step, with σ̂'(x) = σ̂(x) σ̂(−x), which is not 0 where σ̂ rounds to 1.
        """
        h, alpha, q = (each.detach().double() for each in self._steps(self.c))
        found: dict[str, Tensor] = {}
        if self.c is not None:
            c = self.c.detach().double()
            moves = torch.sigmoid(c) > SMALLEST_DAMPING * (1.0 - 2.0**-16)  # or nearly: σ̂ is rounded in the dtype
            found["h by c"] = self.dt * torch.sigmoid(c) * torch.sigmoid(-c) * moves
            found["w by c"] = torch.zeros_like(c)
        if self.free_w is not None:
            free = self.free_w.detach().double()
            low, high = self._bounded().interval(h, alpha, q)
            found["w by free_w"] = (high - low) * torch.sigmoid(free) * torch.sigmoid(-free)
        if self.free_w is not None and self.c is not None:
            with torch.enable_grad():
                w = self._bounded().within(free, h.requires_grad_(), alpha, q.requires_grad_())
                by_h, by_q = torch.autograd.grad(w.sum(), (h, q))
            q_by_h = -self.gamma.to(self.V.dtype) * q.detach() ** 2
            found["w by c"] = (by_h + by_q * q_by_h) * found["h by c"]
        return found

    def stepper(self) -> StepFunction:
        w, h, alpha, q = self.coefficients()

        def step(state: State, x: Tensor) -> State:
            y, z = state
            z = q * (z - h * (torch.tanh(w * y + x) + alpha * y))
            return y + h * z, z

        return step

    def back_stepper(self) -> StepFunction:
        w, h, alpha, q = self.coefficients()

        def back(state: State, x: Tensor) -> State:
            y, z = state
            y = y - h * z
            return y, z / q + h * (torch.tanh(w * y + x) + alpha * y)

        return back


class DampedUnICORNN(RecurrentNetwork):
    """y″ = −[tanh(w ⊙ y + V u + b) + α y] − γ y′ in each layer, kick with implicit friction, then drift.

        z_n = (z_{n−1} − h ⊙ [tanh(w ⊙ y_{n−1} + V u_n + b) + α y_{n−1}]) / (1 + hγ),     h = dt σ̂(c)
        y_n = y_{n−1} + h ⊙ z_n

    input  u : (time, batch, input), or (time, input)      output  y of the last layer : (time, batch, hidden)
    state  (y, z) : each (layers · directions, batch, hidden), zero if not given

    UnICORNN (Rusch & Mishra 2021, eq. (6)) with friction, which is this library's. It is a cell of its own, as what
    makes UnICORNN is lost: the step is not symplectic, and its inverse, exact as a formula, magnifies errors as much as
    the step forgets. Friction is implicit: then h only has to resolve the force, and the step is √q times an undamped
    one, q = 1/(1 + hγ), in other coordinates (thm-damp (a)); explicit friction turns round at hγ > 1.

    dt, alpha, gamma   one number, or one a layer; dt, γ > 0, α ≥ 0. In the float64 buffer ``constants`` of each layer
    rate        None: w is learned, and ``certify`` decides. r > 0, of all layers: w is made of a learned number, so
                that a neuron's step contracts by 1/(1 + h r) in a norm of its own for all inputs, whatever is learned;
                needs γ > 2r + dt r², α > r(γ − r), a step that is not stiff (``common.contraction``). It is a rate in
                time, as h is learned: one a step would leave slow neurons no w. For ρ a step with multiscale=False,
                give r = (1/ρ − 1)/dt
    multiscale  False: no c, every neuron steps with h = dt; otherwise h ≥ dt/256
    bias        whether there is a b
    generator   of the initial weights, see ``DampedUnICORNNLayer.reset_parameters``

    The other arguments are those of ``RecurrentNetwork``. The loop of torch is its only execution.
    """

    holds: ClassVar[str] = (
        "every step is invertible (inverse()) and shrinks areas by 1/(1 + hγ); with rate=r each neuron contracts by "
        "1/(1 + h r) in a norm of its own, for all weights and inputs (certify)"
    )

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float | Sequence[float],
        alpha: float | Sequence[float],
        gamma: float | Sequence[float],
        rate: float | None = None,
        multiscale: bool = True,
        bias: bool = True,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.fill(
            DampedUnICORNNLayer,
            generator,
            per_layer={"dt": dt, "alpha": alpha, "gamma": gamma},
            rate=rate,
            multiscale=multiscale,
            bias=bias,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """α = 1, dt = 0.9, r = 2/(M dt), γ = 2r (2 + dt r): ρ^M is about 1/e at h = dt/2, where c begins.

        γ is twice what the rate needs, which leaves w an interval; M counts as at least 8, where α > r(γ − r), and as
        at most 1000, where γ dt is still seen in float32.
        """
        M = min(max(memory_in_steps(steps, memory, hidden_size), 8.0), 1000.0)
        dt = 0.9
        rate = 2.0 / (M * dt)
        return {"dt": dt, "alpha": 1.0, "gamma": 2.0 * rate * (2.0 + dt * rate), "rate": rate}

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        names = ["dt", "alpha", "gamma"] if first.rate is None else ["dt", "alpha", "gamma", "rate"]
        changed = differing(multiscale=(first.c is not None, True), bias=(first.b is not None, True))
        return [*shown(self.layers[:: self.directions], *names), *changed]


CELL = DampedUnICORNN
