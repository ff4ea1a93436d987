"""What can be read off a trained network, or measured by running it: margins, steps, orthogonality, rebuilding errors.

Pure functions, nothing is changed; results in float64. ``verification.trained`` makes rows of them,
``verification.monitors`` follows them during training.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from odernn.executions import torch_loop
from odernn.orthogonal.cayley import ScaledCayley, in_float64, skew
from odernn.orthogonal.unitary import unitarity_score

if TYPE_CHECKING:
    from odernn.cells.unicornn import UnICORNN
    from odernn.executions.recurrence import StepCoefficients

ROTATION_LIMIT = 4.0


@dataclass(frozen=True, eq=False)
class Margins:
    """Of every neuron of one UnICORNN layer, (hidden,) float64; a premise holds where its margin is positive.

    rotation   4 − h²(α + max(w, 0)): no input makes a step unstable through stiffness; icml, definition of h²(α+w) < 4
    saddle     w + α: w > −α, so that κ = α + w σ' > 0 and each step rotates for every input
    frozen     4 − h²α: the free and the saturated neuron rotate, the premise of the invariant form thm-S
    """

    rotation: Tensor
    saddle: Tensor
    frozen: Tensor

    @property
    def smallest(self) -> dict[str, float]:
        """The smallest margin over the neurons; NaN if one is NaN."""
        return {name: float(getattr(self, name).min()) for name in ("rotation", "saddle", "frozen")}

    @property
    def failing(self) -> dict[str, int]:
        """How many neurons have no positive margin (NaN among them)."""
        return {name: int((~(getattr(self, name) > 0)).sum()) for name in ("rotation", "saddle", "frozen")}


@torch.no_grad()
def margins(coefficients: StepCoefficients) -> Margins:
    """Of the layer with these coefficients: ``margins(network.coefficients(index))``."""
    w, alpha = (coefficients[name].detach().double().cpu() for name in ("w", "alpha"))
    h = effective_steps(coefficients)
    return Margins(
        rotation=ROTATION_LIMIT - h * h * (alpha + w.clamp(min=0.0)),
        saddle=w + alpha,
        frozen=ROTATION_LIMIT - h * h * alpha,
    )


@torch.no_grad()
def effective_steps(coefficients: StepCoefficients) -> Tensor:
    """h = dt σ̂(c) of every neuron of the layer with these coefficients, (hidden,) float64 on the CPU."""
    return coefficients["step_size"].detach().double().cpu()


# --- orthogonal recurrent matrices


class HasRecurrentMatrix(Protocol):
    """A layer that multiplies its state by a matrix W: of scoRNN, expRNN, uRNN."""

    def recurrent_matrix(self) -> Tensor: ...


@dataclass(frozen=True)
class Orthogonality:
    """How orthogonal (or unitary) the W of a layer is, as the layer uses it.

    size            n
    error           ‖W*W − I‖_F, in more digits than W has
    spectral_error  ‖W*W − I‖₂, in float64
    eps             of the real dtype of W, twice its unit roundoff
    condition       κ₂(I + A), A skew-symmetric with W = (I + A)⁻¹(I − A) D; None where W is no scaled Cayley matrix
    largest_entry   max |a_ij|
    residual        r = ‖(I − A)D − (I + A)W‖_F, float64: with it error ≤ 2r + r², thm-O-float (a)
    """

    size: int
    error: float
    spectral_error: float
    eps: float
    condition: float | None = None
    largest_entry: float | None = None
    residual: float | None = None

    @property
    def law(self) -> float | None:
        """error / (eps κ(I + A)): what stays between about 0.1 and 5 √n while eps κ < 1; None without κ."""
        return None if self.condition is None else self.error / (self.eps * self.condition)


@torch.no_grad()
def orthogonality(layer: HasRecurrentMatrix) -> Orthogonality:
    """Of the layer's W as it is now. ValueError if W is not finite."""
    W = layer.recurrent_matrix().detach().cpu()
    error, n = unitarity_score(W), len(W)
    wide = W.to(torch.complex128) if W.is_complex() else in_float64(W)
    spectral = float(torch.linalg.matrix_norm(wide.mH @ wide - torch.eye(n, dtype=wide.dtype), 2))
    eps = torch.finfo(W.dtype).eps
    cayley, free = getattr(layer, "cayley", None), getattr(layer, "free", None)
    if not isinstance(cayley, ScaledCayley) or free is None:
        return Orthogonality(n, error, spectral, eps)
    A = skew(in_float64(free.detach().cpu()), n)
    signs, identity = cayley.signs.detach().cpu().double(), torch.eye(n, dtype=torch.float64)
    singular = torch.linalg.svdvals(identity + A)
    residual = torch.linalg.matrix_norm((identity - A) * signs - (identity + A) @ wide)
    return Orthogonality(
        n,
        error,
        spectral,
        eps,
        condition=float(singular[0] / singular[-1]),
        largest_entry=float(A.abs().max()) if n > 1 else 0.0,
        residual=float(residual),
    )


# --- stepping back


@dataclass(frozen=True, eq=False)
class RebuiltStart:
    """|ỹ_0 − y_0| and |z̃_0 − z_0| after running forward from zero and back again in one dtype.

    position, momentum   of every layer, the largest over samples and neurons, (layers,) float64; NaN after an overflow
    energy               √(α ỹ_0² + z̃_0²), the rms over samples and neurons, (layers,)
    rms_energy           the rms over n, samples and neurons of √(α y_n² + z_n²) on the way, (layers,)
    """

    dtype: torch.dtype
    position: Tensor
    momentum: Tensor
    energy: Tensor
    rms_energy: Tensor


@torch.no_grad()
def reconstruction_error(model: UnICORNN, sequences: Tensor, dtype: torch.dtype) -> RebuiltStart:
    """Run the network's recurrence on sequences (time, batch, input) in ``dtype`` and step back to n = 0.

    Weights, effective steps and inputs are rounded to the dtype first and every operation is torch's in it, also in
    bfloat16 and float16, which ``UnICORNN`` itself refuses. All layers step back together and see the rebuilt states
    below, as in ``UnICORNN.inverse``. ValueError for a bidirectional network.
    """
    if model.bidirectional:
        raise ValueError("The network is bidirectional: its layers cannot step back together. Ask about one direction.")
    stack = [_CastLayer.of(model, index, dtype) for index in range(model.num_layers)]
    sources = [model.sources(number) for number in range(1, model.num_layers + 1)]
    u = sequences.detach().to("cpu", dtype)
    is_late = model.index == "sam"  # x^l_n sees y^{l-1}_{n-1}
    zero = [u.new_zeros(u.shape[1], cast.w.numel()) for cast in stack]
    y: list[Tensor] = [torch.zeros_like(u[0]), *zero]
    z: list[Tensor] = [torch.zeros_like(u[0]), *zero]
    squares = torch.zeros(len(stack), dtype=torch.float64)
    order = list(range(len(stack)))
    for n in range(len(u)):
        if not is_late:
            y[0] = u[n]
        for index in order[::-1] if is_late else order:
            layer = stack[index]
            y[index + 1], z[index + 1] = layer.step(y[index + 1], z[index + 1], layer.drive(y, sources[index]))
        if is_late:
            y[0] = u[n]
        squares += torch.stack([cast.energy(y[i + 1], z[i + 1]) for i, cast in enumerate(stack)])
    for n in range(len(u) - 1, -1, -1):
        y[0] = u[n] if not is_late else (u[n - 1] if n else torch.zeros_like(u[0]))
        for index in order if is_late else order[::-1]:
            layer = stack[index]
            y[index + 1], z[index + 1] = layer.back(y[index + 1], z[index + 1], layer.drive(y, sources[index]))
    return RebuiltStart(
        dtype=dtype,
        position=torch.stack([state.double().abs().amax() for state in y[1:]]),
        momentum=torch.stack([state.double().abs().amax() for state in z[1:]]),
        energy=torch.stack([cast.energy(y[i + 1], z[i + 1]).sqrt() for i, cast in enumerate(stack)]),
        rms_energy=(squares / max(len(u), 1)).sqrt(),
    )


@dataclass(frozen=True, eq=False)
class _CastLayer:
    w: Tensor
    step_size: Tensor
    alpha: Tensor
    V: Tensor
    b: Tensor | None
    Lambda: Tensor | None

    @classmethod
    def of(cls, model: UnICORNN, index: int, dtype: torch.dtype) -> _CastLayer:
        """As the network casts itself: h from c and dt in that dtype."""
        layer = copy.deepcopy(model.layers[index]).to("cpu", dtype)
        dt, alpha = model.dt[index].cpu(), model.alpha[index].cpu()
        return cls(**layer.coefficients(dt, alpha), V=layer.V, b=layer.b, Lambda=layer.Lambda)

    def drive(self, levels: Sequence[Tensor], sources: tuple[int, int | None]) -> Tensor:
        below, skipped = sources
        x = torch.nn.functional.linear(levels[below], self.V, self.b)
        if skipped is not None and self.Lambda is not None:
            x = x + torch.nn.functional.linear(levels[skipped], self.Lambda)
        return x

    @property
    def coefficients(self) -> dict[str, Any]:
        return {"w": self.w, "step_size": self.step_size, "alpha": self.alpha}

    def step(self, y: Tensor, z: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return torch_loop.step(y, z, x, **self.coefficients)

    def back(self, y: Tensor, z: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return torch_loop.step_back(y, z, x, **self.coefficients)

    def energy(self, y: Tensor, z: Tensor) -> Tensor:
        """Mean over samples and neurons of α y² + z², float64."""
        return (self.alpha.double() * y.double() ** 2 + z.double() ** 2).mean()


def predicted_typical_error(rebuilt: RebuiltStart, steps: int, layer: int) -> float | None:
    """0.60 u √N rms_n √(αy² + z²), the law of the typical √(α ỹ_0² + z̃_0²): an estimate, never a bound.   thm-F (c)

    ``layer`` from 1; None where nothing moved.
    """
    from odernn.bounds.reconstruction import PRECISIONS, estimated_log_error

    rms = float(rebuilt.rms_energy[layer - 1])
    if not (rms > 0 and math.isfinite(rms)):
        return None
    u = PRECISIONS[str(rebuilt.dtype).removeprefix("torch.")].unit_roundoff
    return math.exp(estimated_log_error(unit_roundoff=u, steps=steps, rms_energy_root=rms))
