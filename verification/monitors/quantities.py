"""What is measured on the traces of one call, and the bounds that it is compared with.

A comparison allows for what rounding in the dtype of the weights can add to an exact state or product; each function
says where its allowance comes from. Nothing else is allowed for.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from odernn.bounds import forms, hidden_gradient, icml, jacobian, reconstruction, sam
from odernn.bounds.gradient import StackLayer
from odernn.bounds.network import states as state_bounds
from odernn.bounds.reconstruction import PRECISIONS
from odernn.cells.cornn import CoRNNLayer
from odernn.cells.unicornn import UnICORNN
from verification.measure import own_equations
from verification.monitors.measurement import Measurement
from verification.monitors.oscillators import OscillatorTrace
from verification.monitors.unrolled import LayerTrace

COUPLED = "coRNN's responses, summed"
"""Name of its bound."""

LARGEST_LOG = 300.0
"""Of a sum that is formed in float64, with room for its allowance."""

SMALLEST_STEP = 2.0**-200
"""Stands for an effective step that underflowed, as in ``odernn.bounds``: a bound for a moving neuron holds."""


@dataclass(frozen=True)
class MeasuredLayer:
    """Where something is measured: the step of training and the layer."""

    step: int
    layer: str

    def measured(
        self, quantity: str, value: float, *, series: NDArray[np.float64] | None = None, **more: object
    ) -> Measurement:
        """A row about this layer; of a series it keeps a copy, not the tensor whose memory it may be."""
        kept = None if series is None else np.array(series, dtype=np.float64)
        return Measurement(self.step, self.layer, quantity, value, series=kept, **more)  # type: ignore[arg-type]


# --- states -----------------------------------------------------------------------------------------------------------


def states(place: MeasuredLayer, trace: LayerTrace) -> Iterator[Measurement]:
    """The largest |x| of every block over time, samples and neurons, or the first that is not finite, and where."""
    for name, sizes in trace.sizes.items():
        if sizes.numel() == 0:
            continue
        wrong = ~torch.isfinite(sizes)
        quantity = "non_finite" if bool(wrong.any()) else "largest"
        n, neuron = _at(int(wrong.int().argmax() if quantity == "non_finite" else sizes.argmax()), sizes)
        column = trace.blocks[name][n, :, neuron]
        if trace.inside is not None:
            column = torch.where(trace.inside[n, :, 0], column, column.new_zeros(()))
        sample = int((~torch.isfinite(column)).int().argmax() if quantity == "non_finite" else column.abs().argmax())
        series = sizes.amax(1).double().cpu().numpy()
        more = {"holds": False} if quantity == "non_finite" else {}
        value = float(column[sample]) if quantity == "non_finite" else float(column[sample].abs())
        yield place.measured(
            f"{quantity}_{name}", value, n=n + 1, sample=sample, neuron=neuron, axis="n", series=series, **more
        )


def _at(flat: int, like: Tensor) -> tuple[int, int]:
    row, column = np.unravel_index(flat, tuple(like.shape))
    return int(row), int(column)


# --- states of oscillators --------------------------------------------------------------------------------------------


def oscillator_states(place: MeasuredLayer, network: UnICORNN, index: int, trace: LayerTrace) -> Iterator[Measurement]:
    """|y_n|, |z_n| against icml S(7), sam (32) or (33) and thm-S, where each comes nearest to its bound.

    All three are about a run from zero states; from others nothing is compared. The allowance: the computed recurrence
    is the exact one with kicks in [−1, 1] and, a step, errors δz, δy of ``reconstruction.step_noise``; the free
    oscillator carries them on without growth in the norm √Q_α, so y is off by at most N (δz + √α δy)/r_α.
    """
    steps = len(trace.blocks["y"])
    if not steps or any(bool(block.any()) for block in trace.before.values()):
        return
    layer = oscillator(network, index)
    dt, alpha = float(network.dt[index // network.directions]), layer.alpha
    sizes = {name: size.double().cpu().numpy() for name, size in trace.sizes.items()}
    slack = rounding_allowance(layer, sizes, steps, str(network.layers[index].like.dtype).removeprefix("torch."))
    times = dt * np.arange(1, steps + 1)
    if alpha > 0:
        yield from _nearest(
            place, "y", sizes["y"], icml.log_position(alpha=alpha, time=times)[:, None], slack, "icml S(7)"
        )
        yield from _nearest(
            place, "z", sizes["z"], icml.log_momentum(alpha=alpha, time=times)[:, None], slack, "icml S(7)"
        )
    published = _published_norms(alpha, dt, float(times[-1]), layer.hidden_size)
    for name, log_bound in published.items():
        value, n, sample = _largest_norm(trace, name)
        label, allowed = "sam (32)" if alpha > 0 else "sam (33)", math.sqrt(layer.hidden_size) * slack[name].max()
        holds = _holds(value, log_bound, allowed)
        yield place.measured(f"norm_{name}", value, n=n, sample=sample, bound=label, log_bound=log_bound, holds=holds)
    sharp = state_bounds.exact_state_logs(layer, steps)
    for name, logs in (("y", sharp.positions), ("z", sharp.momenta)):
        yield from _nearest(place, name, sizes[name], logs[None, :], slack, "thm-S")


def _largest_norm(trace: LayerTrace, name: str) -> tuple[float, int, int]:
    """Largest ‖x_n‖₂ over the neurons, with n and the sample; found in the dtype of the rows, evaluated in float64."""
    rows = trace.blocks[name]
    norms = torch.linalg.vector_norm(rows, dim=2)
    if trace.inside is not None:
        norms = torch.where(trace.inside[..., 0], norms, norms.new_zeros(()))
    n, sample = _at(int(norms.argmax()), norms)
    return float(torch.linalg.vector_norm(rows[n, sample].double())), n + 1, sample


def _published_norms(alpha: float, dt: float, horizon: float, hidden_size: int) -> dict[str, float]:
    """Logarithms of sam (32), for α = 0 sam (33), which has no bound on z and needs dt < 1/2."""
    if alpha > 0:
        return {
            "y": float(sam.log_position(alpha=alpha, dt=dt, horizon=horizon, hidden_size=hidden_size)),
            "z": float(sam.log_momentum(alpha=alpha, dt=dt, horizon=horizon, hidden_size=hidden_size)),
        }
    return {"y": float(sam.log_position_undamped(horizon=horizon, hidden_size=hidden_size))} if dt < 0.5 else {}


def oscillator(network: UnICORNN, index: int) -> StackLayer:
    """w, h and α of one layer in float64 numpy, as the bounds take them; without the edges from below."""
    coefficients = network.coefficients(index)
    w, h = (coefficients[name].detach().double().cpu().numpy() for name in ("w", "step_size"))
    return StackLayer(w, np.maximum(h, SMALLEST_STEP), float(coefficients["alpha"]), edges={}, names={})


def _nearest(
    place: MeasuredLayer,
    name: str,
    sizes: NDArray[np.float64],
    log_bounds: NDArray[np.float64],
    slack: dict[str, NDArray[np.float64]],
    bound: str,
) -> Iterator[Measurement]:
    """|y| (steps, hidden) where log |y| − log bound is largest; the bounds broadcast."""
    with np.errstate(divide="ignore"):
        ratios = np.log(sizes) - log_bounds
    n, neuron = (int(i) for i in np.unravel_index(int(ratios.argmax()), sizes.shape))
    value = float(sizes[n, neuron])
    log_bound = float(np.broadcast_to(log_bounds, sizes.shape)[n, neuron])
    over = sizes > 0
    exceeded = over & (np.log(np.where(over, sizes, 1.0)) > np.logaddexp(log_bounds, np.log(slack[name])))
    if exceeded.any():
        n, neuron = (int(i) for i in np.unravel_index(int(exceeded.argmax()), sizes.shape))
        value, log_bound = float(sizes[n, neuron]), float(np.broadcast_to(log_bounds, sizes.shape)[n, neuron])
    yield place.measured(
        f"largest_{name}", value, n=n + 1, neuron=neuron, bound=bound, log_bound=log_bound, holds=not exceeded.any()
    )


def rounding_allowance(
    layer: StackLayer, sizes: dict[str, NDArray[np.float64]], steps: int, dtype: str
) -> dict[str, NDArray[np.float64]]:
    """How far a computed |y_n|, |z_n| may be above that of an exact run, n ≤ N; (hidden,) each, > 0.

    For αh² ≥ 4 the free oscillator grows, and errors of early steps as the kicks of these steps do: there it is
    8 N u (1 + h(3|w| + 4α)) of the state itself, each step's share being that many units of what it adds up.
    """
    precision, h, alpha = PRECISIONS[dtype], layer.step_size, layer.alpha
    largest = {name: np.maximum(size.max(0), np.finfo(float).tiny) for name, size in sizes.items()}
    kick, drift = reconstruction.step_noise(
        w=layer.w,
        step_size=h,
        alpha=alpha,
        log_position=np.log(largest["y"]),
        log_momentum=np.log(largest["z"]),
        unit_roundoff=precision.unit_roundoff,
        underflow=precision.underflow,
    )
    kick, drift = np.exp(kick), np.exp(drift)
    if alpha == 0:
        return {"y": steps * (drift + steps * h * kick), "z": steps * kick}
    sine_squared = 1 - alpha * h * h / 4
    rotates = sine_squared > 2.0**-20
    norm = steps * (kick + math.sqrt(alpha) * drift) / np.sqrt(np.where(rotates, sine_squared, 1.0))
    share = 8 * steps * precision.unit_roundoff * (1 + h * (3 * np.abs(layer.w) + 4 * alpha))
    return {
        "y": np.where(rotates, norm / math.sqrt(alpha), share * largest["y"]),
        "z": np.where(rotates, norm, share * largest["z"]),
    }


def _holds(value: float, log_bound: float, slack: float) -> bool:
    return value <= 0 or bool(math.log(value) <= np.logaddexp(log_bound, math.log(slack)))


def growth(place: MeasuredLayer, network: UnICORNN, index: int, trace: OscillatorTrace) -> Iterator[Measurement]:
    """log ‖Φ(N, 0)‖₂ of every neuron, the largest over the samples, against N times the rate of thm-J (b).

    ‖Φ‖₂ ≤ √cond(Q_a) ‖Φ‖_a with Q_a = [[a, −ah/2], [−ah/2, 1]] and ‖Φ‖_a ≤ e^{N rate}. Slopes are in [0, 1] as they
    are computed. The allowance on the rate is that of ``bounds.certify`` in the dtype of the weights, u its unit
    roundoff, plus 2√u: a Frobenius norm² near 2 that is off by 8u gives an s² = (F + √(F² − 4))/2 that is off by 4√u.
    """
    steps = len(trace.layer.blocks["y"])
    if trace.log_growth.numel() == 0 or not steps:
        return
    layer = oscillator(network, index)
    h, alpha, w = layer.step_size, layer.alpha, layer.w
    ends = {"kappa_low": alpha + np.minimum(w, 0.0), "kappa_high": alpha + np.maximum(w, 0.0), "step_size": h}
    form = forms.best_form(**ends)
    u = PRECISIONS[str(network.layers[index].like.dtype).removeprefix("torch.")].unit_roundoff
    allowed = 4 * state_bounds.ALLOWANCE / state_bounds.ROUNDOFF * u * state_bounds.conditioning(layer, form)
    rate = jacobian.rate_bound(form=form, **ends) + allowed
    mean, distance = (form + 1) / 2, np.hypot((form - 1) / 2, form * h / 2)
    largest = mean + distance
    condition = largest * largest / (form * (1 - form * h * h / 4))  # λ₊/λ₋ with λ₊λ₋ = det Q_a
    log_bounds = steps * rate + np.log(condition) / 2 + 2 * math.sqrt(u)
    series = trace.log_growth.amax(0).cpu().numpy()
    neuron = int((series - log_bounds).argmax())
    yield place.measured(
        "log_jacobian_growth",
        float(series[neuron]),
        n=steps,
        neuron=neuron,
        bound="thm-J (b)",
        log_bound=float(log_bounds[neuron]),
        holds=bool((series <= log_bounds).all()),
        axis="neuron",
        series=series,
    )


def gated_states(place: MeasuredLayer, module: object, trace: LayerTrace) -> Iterator[Measurement]:
    """torch's own cells, from zero states: |h_n| ≤ 1, and |c_n| ≤ n of an LSTM (``own_equations.GATED``).

    The allowance is 4 n roundings: three a step of c, and those of the two functions that make h of it.
    """
    if not own_equations.is_gated(module) or any(bool(block.any()) for block in trace.before.values()):
        return
    for name, rows in trace.blocks.items():
        if not rows.numel():
            continue
        bound, steps = own_equations.GATED[name], np.arange(1, len(rows) + 1, dtype=np.float64)[:, None]
        sizes = trace.sizes[name].double().cpu().numpy()
        allowed = {name: np.broadcast_to(4 * steps * torch.finfo(rows.dtype).eps, sizes.shape)}
        yield from _nearest(place, name, sizes, bound.log(len(rows))[:, None], allowed, bound.text)


def coupled_states(place: MeasuredLayer, layer: CoRNNLayer, trace: LayerTrace) -> Iterator[Measurement]:
    """coRNN from zero states: |y_n|, |z_n| against the sum of its responses to kicks in [−1, 1], which is attained.

    The allowance: at every step the computed (y, z) is off by e ≤ 8 eps (|M| B_n + |k|), B_n the bounds, and what
    becomes of that is Σ_j |M^j| e.
    """
    rows = trace.blocks["y"]
    if not rows.numel() or any(bool(block.any()) for block in trace.before.values()):
        return
    with np.errstate(all="ignore"):
        bounds = own_equations.log_coupled(layer, len(rows))
    if any(float(logs[-1]) > LARGEST_LOG or math.isnan(logs[-1]) for logs in bounds.values()):
        return  # an unstable step: the sums leave the range of floats
    M, kick = own_equations.coupled_step(layer)
    error = 8 * _eps(trace) * (np.abs(M) @ [math.exp(logs[-1]) for logs in bounds.values()] + np.abs(kick))
    power, carried, allowed = np.eye(2), np.zeros(2), []
    for _ in range(len(rows)):
        carried, power = carried + np.abs(power) @ error, M @ power
        allowed.append(carried)
    for index, (name, logs) in enumerate(bounds.items()):
        sizes = trace.sizes[name].double().cpu().numpy()
        slack = {name: np.broadcast_to(np.array(allowed)[:, index : index + 1], sizes.shape)}
        yield from _nearest(place, name, sizes, logs[:, None], slack, COUPLED)


# --- derivatives ------------------------------------------------------------------------------------------------------


def gradients(
    place: MeasuredLayer, trace: LayerTrace, defect: float | None = None, scale: float = 1.0
) -> Iterator[Measurement]:
    """‖∂E/∂X_n‖₂ over all samples, blocks and neurons, n = 1..N, and that of each block; value is the largest.

    The trace is of scale · E: what is in few digits was scaled lest it vanish, and is divided here, in float64.
    With ``defect`` ≥ ‖WᵀW − I‖₂ of an orthogonal recurrence whose activation has slopes in [0, 1], thm-H-grad bounds
    it: G_n = ‖E'_n‖ + √(1 + defect) G_{n+1}, and value is where it comes nearest. The allowance: every step multiplies
    by Wᵀ with an error below m^{3/2} eps in the Euclidean norm, and adds with one of eps.
    """
    if trace.norms is None or not len(next(iter(trace.norms.values()))):
        return
    blocks = {name: norms.cpu().numpy() / abs(scale) for name, norms in trace.norms.items()}
    series = functools.reduce(np.hypot, blocks.values())
    if defect is None or trace.direct is None or not np.isfinite(series).all() or not series.any():
        yield _over_time(place, "gradient_norm", series)
    else:
        eps, size = _eps(trace), next(iter(trace.blocks.values())).shape[2]
        factor = math.exp(float(hidden_gradient.log_largest_gain(defect=defect, steps=1)))
        sources = trace.direct.cpu().numpy() / abs(scale)
        bounds = _accumulated(sources, factor)
        allowed = _accumulated(sources * (1 + 2 * eps), factor * (1 + 2 * size**1.5 * eps) + 2 * eps)
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = int(np.nanargmax(np.where(bounds > 0, series / bounds, np.nan)))
        yield place.measured(
            "gradient_norm",
            float(series[worst]),
            n=worst + 1,
            bound="thm-H-grad",
            axis="n",
            series=series,
            log_bound=float(np.log(bounds[worst])),
            holds=bool((series <= allowed).all()),
        )
    if len(blocks) > 1:
        for name, norms in blocks.items():
            yield _over_time(place, f"gradient_norm_{name}", norms)


def _over_time(place: MeasuredLayer, quantity: str, series: NDArray[np.float64]) -> Measurement:
    finite = np.isfinite(series)
    n = int(series.argmax() if finite.all() else (~finite).argmax())
    return place.measured(quantity, float(series[n]), n=n + 1, axis="n", series=series)


def _accumulated(sources: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """G_n = source_n + factor · G_{n+1}."""
    accumulated = np.empty_like(sources)
    coming = 0.0
    for n in range(len(sources) - 1, -1, -1):
        coming = sources[n] + factor * coming
        accumulated[n] = coming
    return accumulated


def _eps(trace: LayerTrace) -> float:
    return float(torch.finfo(next(iter(trace.blocks.values())).dtype).eps)
