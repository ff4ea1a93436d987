"""The contract of the fused UnICORNN recurrence, which every execution implements and is tested against.

Equation (U), for every neuron of every sample, n = 1..N:

    s_n = tanh(w y_{n-1} + x_n)
    z_n = z_{n-1} − h (s_n + α y_{n-1})          kick
    y_n = y_{n-1} + h z_n                        drift, with the new z

Rusch & Mishra 2021 (UnICORNN), eq. (6); it is symplectic Euler applied to ``fields.oscillator.Oscillator``.

    x          (time, batch, hidden)             the drive V u + b, already computed for all times
    w, h, α    broadcastable to (batch, hidden)  tensors; plain numbers are accepted
    y0, z0     (batch, hidden)                   the state before the first step, zero if not given
    y, z       (time, batch, hidden)             row n−1 is y_n: the rows hold y_1 .. y_N and not y_0

Three calls: ``forward`` returns all rows of y and z; ``outputs`` returns the rows of y and the state after each
sample's own last step, which is what a network needs, and may be fused, threaded, checkpointed. Of a sample with fewer
than N steps ``outputs`` reads no x beyond its end: there the rows of y are zero, and so are the derivatives by x.
``layer_outputs`` is ``outputs`` for x = u Vᵀ + b, from what a layer sees: an execution may make x a piece at a time and
forget it, or have the product first (``of_layer``).

float32 and float64; all tensors of one call have the dtype and the device of x; arguments are never written
to. N = 0, batch = 0 and hidden = 0 are allowed. Equality of executions means agreement within
``admitted_error`` of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypedDict, Unpack, get_args

import torch
from torch import Tensor

UNIT_ROUNDOFF = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}
"""u, the largest relative error of one rounding to nearest, for each admitted dtype."""

TANH_ROUNDOFFS = 4
"""Admitted relative error of tanh in units of u: 2 ulp at powers of two, nearly 4 ulp below them."""


class GivenCoefficients(TypedDict):
    """The coefficients of a call, by keyword: each a number, or a tensor that broadcasts to (batch, hidden)."""

    w: Tensor | float
    step_size: Tensor | float
    alpha: Tensor | float


class StepCoefficients(TypedDict):
    """The same as tensors: what a layer has."""

    w: Tensor
    step_size: Tensor
    alpha: Tensor


class Coefficients(NamedTuple):
    """w, h and α of a call after validation: tensors of one dtype and device."""

    w: Tensor
    step_size: Tensor
    alpha: Tensor


@dataclass(frozen=True)
class RecurrenceResult:
    """States of one recurrence, and the name of the execution that computed them.

    y, z    (time, batch, hidden), row n−1 is y_n, z_n
    y0, z0  (batch, hidden), the state before the first step
    """

    y: Tensor
    z: Tensor
    y0: Tensor
    z0: Tensor
    execution: str

    @property
    def y_last(self) -> Tensor:
        """y_N, (batch, hidden); y_0 if there was no step."""
        return self.y[-1] if len(self.y) else self.y0

    @property
    def z_last(self) -> Tensor:
        """z_N, (batch, hidden); z_0 if there was no step."""
        return self.z[-1] if len(self.z) else self.z0


Backward: TypeAlias = Literal["stored", "reversible", "exact"]
"""How the backward pass of ``outputs`` gets the states.

stored      from the rows of y, which are kept anyway: z_{n−1} = z_n + h (s_n + α y_{n−1}) is then a plain sum
reversible  rebuilt from the last state by the inverse step, with checkpoints; the rebuilt y0, z0 are compared with the
            given ones, and where they differ too much the states are computed again
exact       rebuilt without any error: increments are rounded to a fixed grid, so that every sum is exact
"""


class ReconstructionWarning(RuntimeWarning):
    """States that a backward pass rebuilt differ too much from known ones; the gradient was computed another way."""


@dataclass(frozen=True)
class RecurrenceOutputs:
    """What a network needs of one recurrence, and what ran.

    y               (time, batch, hidden), row n−1 is y_n; zero beyond each sample's end
    y_last, z_last  (batch, hidden), the state after each sample's own last step; y0, z0 if it has none

    All three are fresh memory: no views of each other, of rows that are kept, or of arguments.
    """

    y: Tensor
    y_last: Tensor
    z_last: Tensor
    execution: str
    backward: Backward


class Outputs(Protocol):
    """``outputs`` of an execution; x (time, batch, hidden), the others as in the contract above."""

    def __call__(
        self,
        x: Tensor,
        *,
        y0: Tensor | None = None,
        z0: Tensor | None = None,
        lengths: Tensor | None = None,
        backward: Backward = "stored",
        **given: Unpack[GivenCoefficients],
    ) -> RecurrenceOutputs: ...


class LayerOutputs(Protocol):
    """``outputs`` for x = u Vᵀ + b: u (time, batch, below), V (hidden, below), b (hidden,) or None.

    u has to be finite beyond the ends of ``lengths``, too: there the derivative by V is a product with 0.
    """

    def __call__(
        self,
        u: Tensor,
        V: Tensor,
        b: Tensor | None,
        *,
        y0: Tensor,
        z0: Tensor,
        lengths: Tensor | None = None,
        backward: Backward = "stored",
        **given: Unpack[GivenCoefficients],
    ) -> RecurrenceOutputs: ...


class ExecutionUnavailable(RuntimeError):  # noqa: N818
    """A known execution cannot run here; the message says why."""


class Execution(Protocol):
    """What an execution offers; arguments and layout as at the top of this file."""

    @property
    def name(self) -> str: ...

    def unavailable_because(self) -> str | None:
        """Why this execution cannot run on this machine, or ``None`` if it can."""

    def forward(
        self,
        x: Tensor,
        *,
        y0: Tensor | None = None,
        z0: Tensor | None = None,
        **given: Unpack[GivenCoefficients],
    ) -> RecurrenceResult: ...

    @property
    def outputs(self) -> Outputs: ...

    @property
    def layer_outputs(self) -> LayerOutputs: ...

    def inverse(
        self, x: Tensor, *, y_last: Tensor, z_last: Tensor, **given: Unpack[GivenCoefficients]
    ) -> RecurrenceResult: ...

    def backward(
        self,
        x: Tensor,
        *,
        states: RecurrenceResult,
        grad_y: Tensor,
        grad_y_last: Tensor | None = None,
        grad_z_last: Tensor | None = None,
        **given: Unpack[GivenCoefficients],
    ) -> RecurrenceGradients: ...


def of_layer(outputs: Outputs) -> LayerOutputs:
    """``layer_outputs`` of an execution that has the drive as a whole: one product, then its ``outputs``."""

    def layer_outputs(
        u: Tensor,
        V: Tensor,
        b: Tensor | None,
        *,
        y0: Tensor,
        z0: Tensor,
        lengths: Tensor | None = None,
        backward: Backward = "stored",
        **given: Unpack[GivenCoefficients],
    ) -> RecurrenceOutputs:
        x = torch.nn.functional.linear(u, V, b)
        return outputs(x, y0=y0, z0=z0, lengths=lengths, backward=backward, **given)

    return layer_outputs


def nothing_of(x: Tensor, weights: Iterable[Tensor]) -> Tensor:
    """0 that depends on x and on all weights, whose shapes do not matter: added to an empty run it makes gradients 0,
    where they were None.
    """
    return sum((each.reshape(-1)[:0].sum() for each in weights), x.reshape(-1)[:0].sum())


def outputs_of(result: RecurrenceResult, ends: Tensor | None) -> RecurrenceOutputs:
    """What ``outputs`` returns, from all rows of y and z: each sample's state after its own ``ends`` (batch,) steps."""
    if ends is None:
        lasts = [result.y_last.clone(), result.z_last.clone()]
        return RecurrenceOutputs(result.y, lasts[0], lasts[1], result.execution, "stored")
    rows, samples = ends - 1, torch.arange(len(ends), device=ends.device)
    lasts = []
    for before, states in ((result.y0, result.y), (result.z0, result.z)):
        picked = states[rows.clamp(min=0), samples] if len(states) else before
        lasts.append(torch.where((ends == 0).unsqueeze(1), before, picked))
    return RecurrenceOutputs(until_ends(result.y, ends), lasts[0], lasts[1], result.execution, "stored")


def until_ends(x: Tensor, ends: Tensor | None) -> Tensor:
    """x with zeros beyond each sample's end, whatever stands there."""
    if ends is None:
        return x
    inside = (torch.arange(len(x), device=x.device).unsqueeze(1) < ends).unsqueeze(2)
    return torch.where(inside, x, x.new_zeros(()))


@dataclass(frozen=True)
class RecurrenceGradients:
    """Derivatives of a scalar E by every argument of the recurrence, each in its argument's shape."""

    x: Tensor
    w: Tensor
    step_size: Tensor
    alpha: Tensor
    y0: Tensor
    z0: Tensor


@dataclass(frozen=True)
class Extremes:
    """Of each trajectory, (columns,): maxima over n = 0..N with the first n that attains them, and the last state.

    J_n is the tangent ∂(y_n, z_n)/∂(y_0, z_0), |.| the Frobenius norm; the spectral norm σ follows from det J_n = 1,
    |J|² = σ² + σ⁻². J_N is ``tangent`` · 2^``exponent``. A trajectory with a NaN has NaN maxima.
    """

    y: Tensor
    y_at: Tensor
    z: Tensor
    z_at: Tensor
    log_growth: Tensor
    log_growth_at: Tensor
    y_last: Tensor
    z_last: Tensor
    log_growth_last: Tensor
    tangent: Tensor
    exponent: Tensor


def checked(
    x: Tensor,
    states: Mapping[str, Tensor | None],
    *,
    w: Tensor | float,
    step_size: Tensor | float,
    alpha: Tensor | float,
) -> tuple[Coefficients, tuple[Tensor, ...]]:
    """A call's arguments after validation: coefficients as tensors, and the ``states`` by name, zero where ``None``.

    Raises TypeError for a wrong type or dtype and ValueError for a wrong shape or device; both name the
    argument.
    """
    if x.dim() != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}, but the drive is (time, batch, hidden). Add the missing axis.")
    if x.dtype not in UNIT_ROUNDOFF:
        raise TypeError(f"x has dtype {x.dtype}, but the recurrence admits float32 and float64. Convert it first.")
    shape, alike = x.shape[1:], (x.dtype, x.device)
    usual = (shape[1:], (), shape)
    coefficients = Coefficients(
        _coefficient("w", w, x, usual, alike),
        _coefficient("step_size", step_size, x, usual, alike),
        _coefficient("alpha", alpha, x, usual, alike),
    )
    checked_states = []
    for name, state in states.items():
        if state is None:
            checked_states.append(x.new_zeros(shape))
            continue
        if state.shape != shape:
            raise ValueError(
                f"{name} has shape {tuple(state.shape)}, but x of shape {tuple(x.shape)} needs "
                f"(batch, hidden) = {tuple(shape)}. Reshape or expand {name}."
            )
        if (state.dtype, state.device) != alike:
            _check_alike(name, state, x)
        checked_states.append(state)
    return coefficients, tuple(checked_states)


def check_grad_y(grad_y: Tensor, x: Tensor) -> None:
    """Raises ValueError unless there is one derivative for each y_n."""
    if grad_y.shape != x.shape:
        raise ValueError(
            f"grad_y has shape {tuple(grad_y.shape)} but x has {tuple(x.shape)}: "
            "E needs one derivative for each y_n. Pad with zeros where E does not depend on y_n."
        )


def _coefficient(
    name: str,
    value: Tensor | float,
    x: Tensor,
    usual: tuple[tuple[int, ...], ...],
    alike: tuple[torch.dtype, torch.device],
) -> Tensor:
    """The value as a tensor; most have one of the ``usual`` shapes."""
    if not isinstance(value, Tensor):
        return torch.as_tensor(float(value), dtype=x.dtype, device=x.device)
    if (value.dtype, value.device) != alike:
        _check_alike(name, value, x)
    mine = value.shape
    if mine in usual:
        return value
    shape = x.shape[1:]
    if len(mine) > 2 or not all(a in (1, b) for a, b in zip(reversed(mine), reversed(shape), strict=False)):
        raise ValueError(
            f"{name} has shape {tuple(mine)}, which does not broadcast to (batch, hidden) = {tuple(shape)}. "
            f"Give one value a neuron, {(shape[1],)}, or a number."
        )
    return value


def _check_alike(name: str, value: Tensor, x: Tensor) -> None:
    if value.dtype != x.dtype:
        raise TypeError(f"{name} has dtype {value.dtype} but x has {x.dtype}. Convert one of them.")
    if value.device != x.device:
        raise ValueError(f"{name} is on {value.device} but x is on {x.device}. Move one of them.")


def checked_columns(
    x: Tensor,
    *,
    y0: Tensor | float,
    z0: Tensor | float,
    w: Tensor | float,
    step_size: Tensor | float,
    alpha: Tensor | float,
) -> tuple[Coefficients, Tensor, Tensor]:
    """The arguments of ``extremes``, x (time, columns), after validation: coefficients, y0 and z0, (columns,) each.

    Raises TypeError and ValueError for a wrong dtype, shape or device.
    """
    if x.dim() != 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, but the drives are (time, columns).")
    if x.dtype not in UNIT_ROUNDOFF:
        raise TypeError(f"x has dtype {x.dtype}, but trajectories are float32 or float64. Convert it first.")
    given = {"w": w, "step_size": step_size, "alpha": alpha, "y0": y0, "z0": z0}
    wide = [_one_a_column(label, value, x) for label, value in given.items()]
    return Coefficients(*wide[:3]), wide[3], wide[4]


def _one_a_column(label: str, value: Tensor | float, x: Tensor) -> Tensor:
    if isinstance(value, Tensor) and (value.dtype != x.dtype or value.device != x.device):
        raise TypeError(f"{label} is {value.dtype} on {value.device}, but x is {x.dtype} on {x.device}.")
    wide = torch.as_tensor(value, dtype=x.dtype, device=x.device)
    if wide.dim() > 1 or wide.numel() not in (1, x.shape[1]):
        raise ValueError(f"{label} has shape {tuple(wide.shape)}, which does not broadcast to ({x.shape[1]},).")
    return wide.expand(x.shape[1])


def checked_backward(backward: str, execution: str, offered: tuple[Backward, ...]) -> Backward:
    """``backward`` if the execution offers it. Raises ValueError."""
    if backward in offered:
        return backward
    if backward in get_args(Backward):
        have = ", ".join(f'"{mode}"' for mode in offered)
        raise ValueError(f'backward="{backward}" is not offered by execution="{execution}", which has {have}.')
    known = ", ".join(f'"{mode}"' for mode in get_args(Backward))
    raise ValueError(f'No backward mode is called "{backward}". Choose from: {known}.')


def checked_ends(lengths: Tensor | None, x: Tensor) -> Tensor | None:
    """``lengths`` as a contiguous int64 tensor (batch,) on the device of x; values in 0..N are the caller's duty.

    Raises TypeError for a wrong dtype and ValueError for a wrong shape or device.
    """
    if lengths is None:
        return None
    if lengths.dtype != torch.int64:
        raise TypeError(f"lengths has dtype {lengths.dtype}, but it counts steps: give int64.")
    if lengths.shape != x.shape[1:2]:
        raise ValueError(f"lengths has shape {tuple(lengths.shape)}, but the batch of x needs ({x.shape[1]},).")
    if lengths.device != x.device:
        raise ValueError(f"lengths is on {lengths.device} but x is on {x.device}. Move one of them.")
    return lengths.contiguous()


class AdmittedError(NamedTuple):
    """Bounds on |ŷ_n − y_n| and |ẑ_n − z_n| over n ≤ N, of the broadcast shape of the coefficients."""

    y: Tensor
    z: Tensor


def admitted_error(
    *,
    dtype: torch.dtype,
    steps: int,
    w: Tensor | float,
    step_size: Tensor | float,
    alpha: Tensor | float,
    y_max: Tensor | float,
    z_max: Tensor | float,
) -> AdmittedError:
    """How far an execution may be from the exact solution of (U) with the same rounded arguments.

    y_max, z_max: maxima Y, Z of |y_n|, |z_n| over the computed trajectory, n = 0 included. Returned in
    float64; inf where the recurrence amplifies a rounding beyond float64, so that no agreement can be asked
    for.

    *One step.* Every operation is rounded once, tanh to 4u. With a = w y + x, |δa| ≤ u (|w y| + |a|),
    and |a| sech²a < 1/2, so |δs| ≤ u (|w| Y + 1/2 + 4); adding α y gives |δr| ≤ |δs| + u (1 + 2αY); the
    product h r and the sums give, rounded up to cover products of errors and any order or fusing of these
    operations,

        |δz| ≤ u [Z + h (3 |w| Y + 4 α Y + 8)],         |δy| ≤ u [Y + h Z]  beside the h δz that y inherits.

    *All steps.* By the mean value theorem the difference of two trajectories obeys

        e_n = B(κ_n) e_{n-1} + δz (h, 1)ᵀ + δy (1, 0)ᵀ,     κ₋ = α + min(w, 0) ≤ κ_n ≤ κ₊ = α + max(w, 0).

    Take the norm √Q_a, Q_a(y, z) = a y² + z² − a h y z, with any 0 < a < 4/h². In it the two vectors have
    length 1 and √a, and ‖B(κ)‖_a = exp asinh(h |κ − a| / 2r) with r² = a (1 − a h²/4). Hence, with ω the
    larger of the exponents at κ₋ and κ₊,

        ‖e_N‖_a ≤ (δz + √a δy) (1 + e^ω + … + e^{(N−1)ω}),
        |e_y| ≤ ‖e‖_a / r,     |e_z| ≤ ‖e‖_a / √(1 − a h²/4);

    each bound is taken at the best a of a logarithmic grid. Values for w = α = 1, h = 0.05, Y = Z = 1:

        dtype      u        tanh    y, z after N = 100   y, z after N = 784
        float32    6.0e-8   4u      2.6e-05, 3.2e-05     1.3e-01, 1.6e-01
        float64    1.1e-16  4u      4.8e-14, 5.9e-14     2.3e-10, 2.9e-10

    The growth is that of the worst input; ``steps`` may be a part of the sequence, checked from common
    states.
    """
    as_double = [torch.as_tensor(v, dtype=torch.float64) for v in (w, step_size, alpha, y_max, z_max)]
    weight, h, restoring, big_y, big_z = torch.broadcast_tensors(*as_double)
    u = UNIT_ROUNDOFF[dtype]
    if steps == 0:
        return AdmittedError(torch.zeros_like(h), torch.zeros_like(h))
    kick = u * (big_z + h * (3 * weight.abs() * big_y + 4 * restoring * big_y + 2 * TANH_ROUNDOFFS))
    drift = u * (big_y + h * big_z)
    ends = (restoring + weight.clamp(max=0), restoring + weight.clamp(min=0))
    best_y = torch.full_like(h, torch.inf)
    best_z = torch.full_like(h, torch.inf)
    # From where the growth of a free particle over N steps is seen (a = 1/(N h)²) to just below a h² = 4.
    for fraction in torch.linspace(0.0, 1.0, 65, dtype=torch.float64):
        a = (1.0 / steps**2) ** (1 - fraction) * 3.9**fraction / h**2
        shear = (1 - a * h**2 / 4).sqrt()
        r = a.sqrt() * shear
        omega = torch.maximum(*(torch.asinh(h * (end - a).abs() / (2 * r)) for end in ends))
        geometric = torch.expm1(steps * omega) / torch.expm1(omega)
        summed = torch.where(omega * steps < 1e-8, torch.full_like(omega, steps), geometric)
        length = (kick + a.sqrt() * drift) * summed * (1 + 1e-7)
        best_y = torch.minimum(best_y, length / r)
        best_z = torch.minimum(best_z, length / shear)
    return AdmittedError(best_y, best_z)
