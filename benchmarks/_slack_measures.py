"""Every bound of a trained network against its run on sequences of its task: one function a family of quantities.

    slack = log₁₀(bound/measured) in decades, the least over layers, neurons, steps n and sequences

hidden_states         |y_n|, |z_n| against the published bounds and thm-S; for cells that no paper here bounds, a sharp
                      one from their own equation: ``log_coupled``, ``log_linear``, ``log_norms``
parameter_gradients   |dE/dθ| of E = (1/N) Σ ½|y_n|² (the papers') and of the task's loss
state_gradients       ‖∂E/∂X_n‖₂ along time, E the task's loss
step_jacobians        ∂X_n/∂X_{n−1} and its products
through_layers        ∂X^L_n/∂X^l_1, l < L
chain_rule            ∂E_n/∂X_n, ∂⁺X_k/∂θ and the summands of ∂E_n/∂θ, E_n = ½|y_n|²
inverse               forward, then step back in the dtype: the largest |x̃_n − x_n| over all n
orthogonality         ‖WᵀW − I‖_F and the theorems about it
margins               premises as numbers that stay positive

All runs are in float64 with the weights as they are, but for ``inverse`` and for W, which is in its own dtype.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import _slack_chain
import nearness
import numpy as np
import torch
from _slack_chain import oscillator_gradients
from _slack_equations import log_coupled, log_linear, log_norms, log_powers
from _slack_inverse import rebuilding_errors
from _slack_products import log_bounds_at_the_end
from numpy.typing import NDArray
from torch import Tensor

from odernn.bounds.network import certify, unicornn
from odernn.bounds.network.question import Question
from odernn.cells.cornn import CoRNN, CoRNNLayer
from odernn.cells.exprnn import ExpRNN
from odernn.cells.linoss import LinOSS, LinOSSLayer
from odernn.cells.recurrent import RecurrentNetwork
from odernn.cells.scornn import ScoRNN
from odernn.cells.unicornn import UnICORNN
from verification.measure.gradient import Trajectory
from verification.models import exponents, layers
from verification.monitors import BoundMonitor
from verification.registry import Registry
from verification.trained import gradient_rows, jacobian_rows, orthogonal_rows, runs, state_rows, weight_rows
from verification.trained.loading import Trained
from verification.trained.row import Row
from verification.trained.runs import LossGradients, Sample
from verification.training import network as task_network
from verification.training.network import TaskNetwork

Array = NDArray[np.float64]
ORTHOGONAL = (ScoRNN, ExpRNN)
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
LEFT_OUT = ("thm-S-exp", "thm-S-root", "thm-S-Q")
"""Weaker forms of thm-S, which is shown."""

LETTERS = {"holds": "h", "exceeded": "x", "vacuous": "v", "inapplicable": "i", "FAILS": "f", "no promise": "-"}
"""Of verdicts, as they are recorded."""

PRACTICE = "‖W*W − I‖_F / (eps κ(I + A))"
LOG_FLOAT64 = math.log(torch.finfo(torch.float64).max)
ROUNDING = 1e-9
"""Of float64 sums over some thousand steps: a measured value above a bound of ours by less exceeds nothing."""


@dataclass(frozen=True)
class Finding:
    """One quantity of one network at one checkpoint.

    family     as above;  quantity, statement   what is bounded and by which statement, "" where nothing is promised
    bound, measured   log₁₀ of both; ``bound`` is None where there is none
    value      of a margin, in place of both
    verdict    "holds"; "exceeded", also by what is ∞ or NaN; "vacuous" (above the largest number of the dtype);
               "inapplicable" (a premise fails); "FAILS" (a margin that is not positive); "no promise" (measured alone)
    """

    family: str
    quantity: str
    statement: str = ""
    bound: float | None = None
    measured: float | None = None
    value: float | None = None
    verdict: str = ""

    @property
    def key(self) -> str:
        return f"{self.family} | {self.quantity} | {self.statement}"

    @property
    def slack(self) -> float | None:
        if self.bound is None or self.measured is None or self.measured == -math.inf:
            return None
        return self.bound - self.measured if math.isfinite(self.measured) else -math.inf


def findings(trained: Trained, sample: Sample, registry: Registry) -> list[Finding]:
    """All of one network, worst over its layers."""
    wide = runs.widened(trained.model)
    loss = runs.loss_gradients(wide, sample)
    every = [
        *hidden_states(wide, sample, registry),
        *parameter_gradients(wide, sample, registry, loss),
        *state_gradients(wide, sample),
        *step_jacobians(wide, sample, registry),
        *through_layers(wide, sample),
        *chain_rule(wide, sample),
        *inverse(wide, sample),
        *orthogonality(trained, sample),
        *margins(trained, wide),
    ]
    return list(worst(every))


def worst(every: Iterable[Finding]) -> Iterator[Finding]:
    """One a key: the least slack, of values without a bound the largest, of margins the smallest."""
    by_key: dict[str, list[Finding]] = {}
    for each in every:
        by_key.setdefault(each.key, []).append(each)
    for same in by_key.values():
        yield min(same, key=_rank)


def _rank(each: Finding) -> tuple[int, float]:
    """What does not hold comes first; an inapplicable row only where nothing else is."""
    if each.verdict == "inapplicable":
        return (1, 0.0)
    if each.value is not None:
        return (0, each.value)
    if each.slack is not None:
        return (0, each.slack)
    size = math.nan if each.measured is None else each.measured
    return (0, -math.inf if math.isnan(size) else -size)


def of_row(family: str, row: Row) -> Finding:
    """A row of the ledger of a trained network (``verification.trained``)."""
    if row.kind == "margin":
        said = "FAILS" if row.verdict == "FAILS" or not (row.value is not None and row.value > 0) else "holds"
        return Finding(family, row.quantity, row.statement, value=row.value, verdict=said)
    if row.verdict == "inapplicable" or row.log_measured is None:
        return Finding(family, row.quantity, row.statement, verdict="inapplicable")
    verdict = {"refuted": "exceeded", "suspect": "exceeded", "vacuous": "vacuous"}.get(row.verdict, "holds")
    if verdict != "vacuous" and (math.isnan(row.log_measured) or row.log_measured == math.inf):
        verdict = "exceeded"
    bound = None if row.log_bound is None else row.log_bound / math.log(10)
    return Finding(family, row.quantity, row.statement, bound, row.log_measured / math.log(10), verdict=verdict)


def of_bound(
    family: str, quantity: str, statement: str, log_bounds: Any, log_measured: Any, log_largest: float = LOG_FLOAT64
) -> Finding:
    """The place of least slack of arrays of natural logarithms; −∞ measured is passed over.

    A measured ∞ or NaN is above every bound. Above ``log_largest``, of the largest number of the dtype, a bound is
    vacuous.
    """
    bounds, measured = np.broadcast_arrays(np.asarray(log_bounds, float), np.asarray(log_measured, float))
    if np.isnan(bounds).any():
        raise ValueError(f"{quantity}, {statement}: a bound is no number.")
    sizes = np.where(np.isnan(measured), math.inf, measured)
    with np.errstate(invalid="ignore"):  # a first input of zeros has the bound 0, too
        slacks = np.where(np.isneginf(sizes), math.inf, bounds - sizes)
    place = int(np.argmin(np.where(np.isnan(slacks), math.inf, slacks)))  # ∞ below ∞ says nothing
    bound, size = float(bounds.ravel()[place]), float(sizes.ravel()[place])
    verdict = "vacuous" if bound > log_largest else "exceeded" if size > bound + ROUNDING else "holds"
    return Finding(family, quantity, statement, bound / math.log(10), size / math.log(10), verdict=verdict)


def of_size(family: str, quantity: str, size: float) -> Finding:
    """A measured size that nothing bounds."""
    return Finding(family, quantity, measured=log10(size), verdict="no promise")


def log10(size: float) -> float:
    return math.log10(size) if size > 0 else -math.inf if size == 0 else math.nan


# --- hidden states


def hidden_states(model: TaskNetwork, sample: Sample, registry: Registry) -> list[Finding]:
    """|y_n| and |z_n| of every layer.

    UnICORNN       icml-C.1, sam-D.1 (a), (b), and thm-S, at every n; and thm-S for all n ≤ N, each neuron's h; the
                   largest |y_n|, |z_n| of all, which is mostly not where a bound is nearest
    coRNN          ``log_coupled``;   LinOSS  ``log_linear``;   scoRNN, expRNN  ``log_norms``
    LSTM           |h_n|, |c_n| measured
    """
    network = model.recurrent
    if isinstance(network, UnICORNN):
        states = runs.states(network, sample)
        bounds = certify(network, input_bound=sample.largest_input, steps=sample.steps, target_bound=0.0)
        rows = state_rows.rows(network, states, sample, registry, log_largest=math.log(2) * 128)
        rows += state_rows.neuron_rows(states, bounds, sample)
        sizes = [
            of_size("states", f"largest abs {name}", float(values.abs().max()))
            for pair in states
            for name, values in zip("yz", pair, strict=True)
        ]
        return [*sizes, *(_of_state(row) for row in rows if row.statement not in LEFT_OUT)]
    found = []
    for layer, blocks, drives in traced(network, sample):
        for name, rows in blocks.items():
            sizes = rows.abs().amax(dim=1).numpy()
            found.append(of_size("states", f"largest abs {name}", float(sizes.max())))
        bounded: dict[str, tuple[Any, Any]] = {}
        if isinstance(layer, CoRNNLayer):
            bounded = {name: (log_coupled(layer, len(rows))[name][:, None], rows) for name, rows in blocks.items()}
        elif isinstance(layer, LinOSSLayer):
            bounded = {name: (bound, blocks[name]) for name, bound in log_linear(layer, drives).items()}
        for name, (bound, rows) in bounded.items():
            with np.errstate(divide="ignore"):
                logs = np.log(rows.abs().numpy())
            found += _own(f"abs {name}", _beside(bound, logs), logs)
        if isinstance(network, ORTHOGONAL):
            with np.errstate(divide="ignore"):
                found += _own("norm h", log_norms(layer, drives), np.log(blocks["h"].norm(dim=2).numpy()))
    return found


def _own(name: str, bounds: Array, logs: Array) -> list[Finding]:
    """A bound from the cell's own equation: at every n, and the largest over n against the one for all n ≤ N."""
    every = of_bound("states", name, "own equation", bounds, logs)
    return [every, of_bound("states", f"largest {name}", "own equation", bounds.max(axis=0), logs.max(axis=0))]


def _of_state(row: Row) -> Finding:
    letter = "y" if "y" in row.quantity else "z"
    name = f"norm {letter}" if row.quantity.startswith("‖") else f"abs {letter}"
    if "each neuron" in row.quantity:  # its largest over n against the bound for all n ≤ N
        name = f"largest {name}"
    return of_row("states", Row(**{**vars(row), "quantity": name}))


def _beside(bound: Any, logs: Array) -> Array:
    """A bound by (n, 1) or (n, sample, neuron) in the shape of the states."""
    return bound[:, None] if bound.ndim == 2 else bound


def traced(network: Any, sample: Sample) -> Iterator[tuple[Any, dict[str, Tensor], Tensor]]:
    """Of every layer: itself, the rows of its state by block, (time, K, size), and its drives, in float64."""
    if not isinstance(network, RecurrentNetwork):
        with torch.no_grad():
            yield network, _of_lstm(network, sample.inputs), sample.inputs
        return
    below = sample.inputs
    for layer in network.layers:
        with torch.no_grad():
            drives, step = layer.drives(below), layer.stepper()
            state = tuple(torch.zeros(below.shape[1], layer.hidden_size, dtype=below.dtype) for _ in layer.state_names)
            rows: list[tuple[Tensor, ...]] = []
            for x in drives:
                state = step(state, x)
                rows.append(state)
            blocks = [torch.stack(block) for block in zip(*rows, strict=True)]
            below = layer.output(tuple(blocks))
        yield layer, dict(zip(layer.state_names, blocks, strict=True)), drives


def _of_lstm(network: Any, inputs: Tensor) -> dict[str, Tensor]:
    """h_n, c_n of torch's LSTM of one layer, one step at a time."""
    state, rows = None, []
    for u in inputs:
        _, state = network(u[None], state)
        rows.append(state)
    return {name: torch.stack([pair[index][0] for pair in rows]) for index, name in enumerate(("h", "c"))}


# --- gradients


def parameter_gradients(
    model: TaskNetwork, sample: Sample, registry: Registry, loss: LossGradients
) -> Iterator[Finding]:
    """max |dE/dθ| over sequences and entries.

    UnICORNN   E = (1/N) Σ ½|y^L_n|²: sam-3.2, sam-D.2, icml-3.1, icml-C.2, one right side for all θ, and thm-G, one for
               w, b, V and c each; E the task's loss: thm-G times max |∂E_n/∂y_n|
    the others E the task's loss, measured
    """
    network = model.recurrent
    if not isinstance(network, UnICORNN):
        for name, size in loss.parameters.items():
            yield of_size("parameter gradients", f"abs dE/d{name.rpartition('.')[2]}, task", size)
        return
    gradients = runs.half_square_gradients(network, sample)
    bounds = certify(network, input_bound=sample.largest_input, steps=sample.steps, target_bound=0.0)
    rows = gradient_rows.published_rows(network, gradients, sample, registry, log_largest=math.log(2) * 128)
    for row in rows:
        yield of_row("parameter gradients", Row(**{**vars(row), "quantity": "abs dE/dθ"}))
    for row in gradient_rows.theorem_rows(gradients, bounds, sample):
        yield of_row("parameter gradients", Row(**{**vars(row), "quantity": "abs dE/dθ"}))
    for row in gradient_rows.loss_rows(loss, bounds, sample):
        yield of_row("parameter gradients", Row(**{**vars(row), "quantity": "abs dE/dθ, task"}))


def state_gradients(model: TaskNetwork, sample: Sample) -> Iterator[Finding]:
    """max over n of ‖∂E/∂X_n‖₂, all sequences together, and ‖∂E/∂X_1‖₂/‖∂E/∂X_N‖₂; scoRNN, expRNN: thm-H-grad.

    thm-H-grad: ‖∂E/∂h_n‖ ≤ ‖E'_n‖ + √(1 + ‖WᵀW − I‖₂) ‖∂E/∂h_{n+1}‖, E'_n what does not come through h_{n+1}.
    """
    if isinstance(model.recurrent, UnICORNN):
        for norms in oscillator_gradients(model, sample):
            yield from _along_time(norms)
        return
    with BoundMonitor(model, every=1) as monitor:
        outputs = model(sample.inputs)
        task_network.loss_sum(outputs, sample.targets, sample.spec, sample.real).backward()
        series = [each for each in monitor.step() if each.quantity == "gradient_norm"]
    for each in series:
        assert each.series is not None
        yield from _along_time(each.series)
        if each.log_bound is not None:
            log_measured = runs.log_size(each.value)
            verdict = "holds" if each.holds and math.isfinite(each.value) else "exceeded"
            bound, size = each.log_bound / math.log(10), log_measured / math.log(10)
            yield Finding("state gradients", "norm dE/dX_n", "thm-H-grad", bound, size, verdict=verdict)
        elif isinstance(model.recurrent, ORTHOGONAL) and not np.isfinite(each.series).all():  # its bound is none, too
            yield Finding("state gradients", "norm dE/dX_n", "thm-H-grad", verdict="inapplicable")


def _along_time(norms: Array) -> Iterator[Finding]:
    first, last = float(norms[0]), float(norms[-1])
    yield of_size("state gradients", "largest norm dE/dX_n", float(norms.max()))
    yield of_size("state gradients", "first over last", first / last if last > 0 else math.inf)


# --- Jacobians


def step_jacobians(model: TaskNetwork, sample: Sample, registry: Registry) -> Iterator[Finding]:
    """UnICORNN: ‖dX_n/dX_{n−1}‖_∞ (icml-(25), both-51-53), ‖dX_n/dX_0‖_∞ (icml-(27), sam-54), each layer as the last,
    and ‖dX_n/dX_0‖_a ≤ e^{nω} (thm-J), of every neuron; at every n, and at N alone (``products``). The others:
    σ_max(∂X_n/∂X_{n−1}) at five steps of the first sequence; scoRNN, expRNN have ≤ ‖W‖₂, as slopes of modReLU are 0 or
    1; LinOSS has ``log_powers``.
    """
    network = model.recurrent
    if isinstance(network, UnICORNN):
        run = runs.trajectory(network, sample)
        for row in jacobian_rows.rows(network, run, sample, registry, log_largest=math.log(2) * 128):
            yield of_row("step Jacobians", row)
        yield from products(network, run)
        return
    if isinstance(network, LinOSS):
        for bound, measured in log_powers(network, sample.steps):
            yield of_bound("step Jacobians", "norm M^n", "own equation", bound, measured)
    first = sample.one(0).inputs
    for index, layer in enumerate(layers.of_followed("recurrent", network, layers.Seen((first,), {}), samples=1)):
        spectra = exponents.spectra(layer) if layer.states else []
        if not spectra:
            continue
        largest = max(each.largest for each in spectra)
        if isinstance(network, ORTHOGONAL):
            spectral = torch.linalg.matrix_norm(network.layers[index].recurrent_matrix().detach(), 2)
            found = of_bound("step Jacobians", "σ_max", "own equation", float(spectral.log()), math.log(largest))
            yield found
        else:
            yield of_size("step Jacobians", "σ_max", largest)


def products(network: UnICORNN, run: Trajectory) -> Iterator[Finding]:
    """‖dX_N/dX_0‖ of all N steps (``_slack_products``)."""
    kappas = (run.kappa(layer) for layer in range(1, network.num_layers + 1))
    for quantity, statement, log_bound, log_measured in log_bounds_at_the_end(network, kappas):
        if log_bound is None:
            yield Finding("step Jacobians", quantity, statement, verdict="inapplicable")
        else:
            yield of_bound("step Jacobians", quantity, statement, log_bound, log_measured, math.log(2) * 128)


def through_layers(model: TaskNetwork, sample: Sample) -> Iterator[Finding]:
    """‖dX^L_n/dX^l_1‖_∞, l < L, against icml-(27) and sam-54 with dt^{L−l} Π‖V^q‖_∞ (``nearness.paths``).

    n = 2, 4, …, 24 and N; at N of eight neurons.
    """
    network = model.recurrent
    if not isinstance(network, UnICORNN) or network.num_layers < 2:
        return
    with torch.no_grad():
        sides = [nearness.path_sides([network], sample.one(k).inputs)[0] for k in range(sample.count)]
    for statement in sides[0]:
        bounds, sizes = zip(*(each[statement] for each in sides), strict=True)
        yield of_bound("through layers", "‖dXᴸₙ/dXˡ₁‖∞", statement, bounds, sizes)


# --- the factors of the chain rule


def chain_rule(model: TaskNetwork, sample: Sample) -> Iterator[Finding]:
    """UnICORNN: ∂E_n/∂X_n, ∂⁺X_k/∂θ, the summands of ∂E_n/∂θ and their sum (``_slack_chain``)."""
    network = model.recurrent
    if not isinstance(network, UnICORNN):
        return
    for quantity, statement, log_bound, log_measured in _slack_chain.log_bounds(
        network, runs.trajectory(network, sample)
    ):
        if log_bound is None:
            yield Finding("chain rule", quantity, statement, verdict="inapplicable")
        else:
            yield of_bound("chain rule", quantity, statement, log_bound, log_measured, math.log(2) * 128)


# --- stepping back


def inverse(model: TaskNetwork, sample: Sample) -> Iterator[Finding]:
    """max over n, sequences, layers and units of |ỹ_n − ŷ_n| and |z̃_n − ẑ_n|, forward and back in one dtype.

    All layers step back together and see the rebuilt rows below. UnICORNN: thm-F (a), whose bound grows with the number
    of steps back, so that the one at n = 0 is the largest. LinOSS: no promise. The others have no inverse.
    """
    network = model.recurrent
    if not isinstance(network, (UnICORNN, LinOSS)):
        return
    for dtype in DTYPES:
        name = str(dtype).removeprefix("torch.")
        errors = rebuilding_errors(network, sample.inputs, dtype)
        size = runs.larger(*(error for of_layer in errors for error in of_layer))
        yield of_size("inverse", f"error in {name}", size)
        if not isinstance(network, UnICORNN):
            continue
        narrow, log_largest = copy.deepcopy(network).to(dtype), math.log(torch.finfo(dtype).max)
        largest_input = float(sample.inputs.to(dtype).double().abs().max())
        for own, pair in zip(unicornn.layers_of(narrow, Question(sample.steps, largest_input)), errors, strict=True):
            for log_bound, error in zip((own.log_rebuilt_position, own.log_rebuilt_momentum), pair, strict=True):
                if log_bound is None:
                    yield Finding("inverse", f"bound in {name}", "thm-F (a)", verdict="inapplicable")
                else:
                    log_error = runs.log_size(error)
                    yield of_bound("inverse", f"bound in {name}", "thm-F (a)", log_bound, log_error, log_largest)


# --- orthogonality and margins


def orthogonality(trained: Trained, sample: Sample) -> Iterator[Finding]:
    """‖WᵀW − I‖_F in the dtype of the weights, against 2r + r² (thm-O-float (a)); κ(I + A) (thm-SC-norm); and
    ‖vᵀ ∂h_N/∂h_n‖/‖v‖ (thm-H-grad) with random v.
    """
    for row in orthogonal_rows.rows(trained.recurrent, sample):
        if row.kind == "bound":
            yield of_row("orthogonality", row)
        elif row.kind == "measured" and row.value is not None and row.quantity != PRACTICE:
            yield of_size("orthogonality", row.quantity, row.value)
        elif row.kind == "margin":
            yield of_row("margins", row)


def margins(trained: Trained, wide: TaskNetwork) -> Iterator[Finding]:
    """4 − h²(α + w⁺), w + α, 4 − h²α of UnICORNN; 4 − (dt²γ ± 2 dt ε) of coRNN; 4 − dt²A and A of LinOSS.

    And the ends of the weights: the smallest and largest of every kind, over layers.
    """
    network = wide.recurrent
    rows: Sequence[Row] = []
    if isinstance(network, UnICORNN):
        rows = [row for row in weight_rows.stability_rows(network) if row.kind == "margin"]
    elif isinstance(network, CoRNN):
        rows = weight_rows.cell_rows(network)
    for row in rows:
        yield of_row("margins", row)
    if isinstance(network, LinOSS):
        for layer in network.layers:
            A, dt = layer.frequencies().detach(), float(layer.dt)
            least, most = float(A.min()), float((dt * dt * A).max())
            yield Finding("margins", "4 − dt²A", value=4 - most, verdict="holds" if most < 4 else "FAILS")
            yield Finding("margins", "A", value=least, verdict="holds" if least > 0 else "FAILS")
    for name, value in network.named_parameters():
        yield of_size("weights", f"largest abs {name.rpartition('.')[2]}", float(value.detach().abs().max()))
