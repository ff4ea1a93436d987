"""UnICORNN: every bound of the library for one network as it stands.

The theorems are those of docs/derivations; here their hypotheses are read off the weights, what they leave free (one
invariant form a neuron) is chosen well, and the smaller of two bounds is taken. All logarithms are rounded outward: see
"Evaluation in float64" in docs/derivations/gradient_bounds.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from odernn.bounds import forms, gradient, jacobian, reconstruction, routes, words
from odernn.bounds.gradient import LayerConstants, StateLogs
from odernn.bounds.network import states as state_bounds
from odernn.bounds.network.question import Question
from odernn.bounds.network.report import (
    FREE_DRIVE,
    THESE_INPUTS,
    TOO_COARSE,
    LogBound,
    NeuronBounds,
    QuantityBound,
    computed_line,
    unknown,
)
from odernn.bounds.network.states import outward
from odernn.bounds.network.weights import NetworkWeights, weights_of
from odernn.bounds.reconstruction import Precision
from odernn.bounds.switching import ProductGrowth

if TYPE_CHECKING:
    from odernn.cells.unicornn import UnICORNN
    from odernn.cells.unicornn.growth import GrowthLimit

EXTRA_GROWTH = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Growth over the whole run, beyond the smallest, that forms may cost for what they gain in r_a."""

SLOPES_ROUNDED = 1e-5
"""Added to logarithms of what dw/dfree_w and dw/dc are factors of, which are computed from float32 entries."""

FORM_SHARES = tuple(k / 8 for k in range(9))
"""Powers of the best form: in that of 1 a step grows least, near the form 1 norms differ least from Euclid's."""


def layers_of(network: UnICORNN, question: Question) -> tuple[NeuronBounds, ...]:
    """The bounds of every layer, for every input with |u_n| ≤ U. State bounds do not depend on the input.

    Of a network in float16 or bfloat16, in which no UnICORNN runs, for recurrences of one's own in these dtypes.
    ``question.rms_energy`` is the measured rms of √(αy² + z²) for the estimate of the rebuilding error; without it
    that of the largest states.
    """
    weights, steps = weights_of(network.unlimited()), question.steps
    inputs = gradient.input_logs(question.input_bound, weights.input_size)
    states = [inputs, *(state_bounds.exact_state_logs(layer, steps) for layer in weights.stack)]
    gradients = _by_what_is_learned(network, _gradients(weights, states, steps, question.target_bound))
    computed = _computed(weights, steps)
    rebuilt = _rebuilt(weights, inputs, computed, steps)
    found = tuple(
        _layer(weights, index, states[index + 1], computed, gradients[index], rebuilt[index], question)
        for index in range(len(weights.stack))
    )
    if network.limit is None:
        return found
    return tuple(
        replace(layer, says=(*layer.says, *_limited(weights, index, network.limit)))
        for index, layer in enumerate(found)
    )


def _by_what_is_learned(network: UnICORNN, gradients: Sequence[Mapping[str, LogBound]]) -> list[Mapping[str, LogBound]]:
    """With a limit of growth w is a function of free_w and of h, hence of c, neuron by neuron:

    |dE/dfree_w| ≤ |dE/dw| max |dw/dfree_w|,      |dE/dc| ≤ |(∂E/∂c) at fixed w| + |dE/dw| max |dw/dc|.
    """
    if network.limit is None:
        return list(gradients)
    found: list[Mapping[str, LogBound]] = []
    for index, bounds in enumerate(gradients):
        w, rest = bounds["w"], {name: bound for name, bound in bounds.items() if name != "w"}
        for name, log_slope in network.log_slopes_of_w(index).items():
            own = rest[name].value if name in rest else -math.inf
            rest[name] = LogBound(float(np.logaddexp(own, w.value + log_slope)) + SLOPES_ROUNDED, w.theorem)
        found.append(MappingProxyType(rest))
    return found


def _limited(weights: NetworkWeights, index: int, limit: GrowthLimit) -> Iterator[str]:
    """What the limit of growth promises, and what these weights give: exp(N · rate) in each neuron's best form."""
    here = math.exp(limit.steps * float(rates_of_forms(weights, index).max())) * (1 + 2.0**-40)
    yield (
        f"{limit.steps} steps of a neuron grow by ≤ {limit.growth:.15g} in ‖·‖_a for all weights (thm-J (g)), "
        f"by ≤ {math.ceil(1000 * here) / 1000:.15g} for these, each in its best form."
    )


def rates_of_forms(weights: NetworkWeights, index: int) -> np.ndarray:
    """log ‖B‖_a of every neuron in its best form, rounded outward: N steps grow by no more than e^{N · rate} in it."""
    layer, (low, high) = weights.stack[index], _ends(weights, index)
    form = forms.best_form(kappa_low=low, kappa_high=high, step_size=layer.step_size)
    rate = jacobian.rate_bound(kappa_low=low, kappa_high=high, form=form, step_size=layer.step_size)
    widened: np.ndarray = rate + 4 * state_bounds.ALLOWANCE * state_bounds.conditioning(layer, form)
    return widened


def _layer(
    weights: NetworkWeights,
    index: int,
    state: StateLogs,
    computed: Sequence[StateLogs] | None,
    gradients: Mapping[str, LogBound],
    rebuilt: _Rebuilt | None,
    question: Question,
) -> NeuronBounds:
    steps, rms_energy = question.steps, question.rms_energy
    layer, u = weights.stack[index], weights.precision.unit_roundoff
    low, high = _ends(weights, index)
    named = jacobian.regimes(kappa_low=low, kappa_high=high, step_size=layer.step_size)
    growth = _product_growth(weights, index)
    upper = np.minimum(rates_of_forms(weights, index), growth.rate)
    constant = [jacobian.constant_rate(kappa=kappa, step_size=layer.step_size) for kappa in (low, high)]
    word = words.quarter_words(kappa_low=low, kappa_high=high, step_size=layer.step_size)[2]
    lower = np.maximum.reduce([*constant, word])
    estimate = None
    if set(named.tolist()) == {"rotating"} and layer.alpha > 0:
        # √Q_α ≤ n h; the rms of that over n ≤ N
        energy = float(layer.step_size.max()) * steps / math.sqrt(3) if rms_energy is None else rms_energy
        estimate = reconstruction.estimated_log_error(unit_roundoff=u, steps=steps, rms_energy_root=energy)
    found = NeuronBounds(
        layer=index + 1,
        bounds=(),
        says=(),
        log_position=float(state.positions.max()),
        log_momentum=float(state.momenta.max()),
        log_positions=tuple(state.positions.tolist()),
        log_momenta=tuple(state.momenta.tolist()),
        log_computed_positions=None if computed is None else tuple(computed[index].positions.tolist()),
        log_computed_momenta=None if computed is None else tuple(computed[index].momenta.tolist()),
        gradients=gradients,
        log_rebuilt_position=None if rebuilt is None else rebuilt.log_position,
        log_rebuilt_momentum=None if rebuilt is None else rebuilt.log_momentum,
        estimated_log_rebuilt=estimate,
        may_overflow=_largest_number(layer, state) >= weights.precision.log_largest,
        regimes=MappingProxyType(dict(Counter(named.tolist()))),
        neuron_regimes=tuple(named.tolist()),
        growth=_growth(weights, index, growth, steps - 1),
        lower_rate=float(min(lower.max(), upper.max())),
        upper_rate=float(upper.max()),
        step_sizes=(float(layer.step_size.min()), float(layer.step_size.max())),
    )
    return replace(found, bounds=tuple(_lines(found, weights.precision, steps)), says=tuple(_sentences(found)))


def _lines(layer: NeuronBounds, precision: Precision, steps: int) -> Iterator[QuantityBound]:
    """The numbers of a layer as lines of the report."""
    exact = layer.log_position, layer.log_momentum
    computed = layer.log_computed_positions, layer.log_computed_momenta
    rebuilt = layer.log_rebuilt_position, layer.log_rebuilt_momentum
    for quantity, log in zip(("|y_n|, n ≤ N", "|z_n|, n ≤ N"), exact, strict=True):
        yield QuantityBound(quantity, log, "thm-S")
    for quantity, log, logs in zip(("|ŷ_n| as computed", "|ẑ_n| as computed"), exact, computed, strict=True):
        yield computed_line(quantity, log, None if logs is None else max(logs), precision, "thm-S-float")
    for name, bound in layer.gradients.items():
        yield QuantityBound(f"|dE/dθ|, θ = {name}", bound.value, bound.theorem, THESE_INPUTS)
    for quantity, error in zip(("|ỹ_0 − y_0| as rebuilt", "|z̃_0 − z_0| as rebuilt"), rebuilt, strict=True):
        yield unknown(quantity, TOO_COARSE) if error is None else QuantityBound(quantity, error, "thm-F (a)")
    if layer.estimated_log_rebuilt is not None:
        yield QuantityBound("√Q of that error", layer.estimated_log_rebuilt, "thm-F (c)", "an estimate", "≈")
    yield QuantityBound("growth of a neuron in a step", layer.upper_rate, "thm-J")
    yield QuantityBound("the same, from below", layer.lower_rate, "thm-J", FREE_DRIVE, "≥")
    yield QuantityBound("‖∂X_N/∂X_1‖₂, X = (y, z)", layer.growth.value, layer.growth.theorem)
    least = min((steps - 1) * layer.lower_rate * (1 - 2.0**-40), layer.growth.value)
    yield QuantityBound("‖∂X_N/∂X_1‖₂, from below", least, "thm-J (b)", FREE_DRIVE, "≥")


def _growth(weights: NetworkWeights, index: int, growth: ProductGrowth, count: int) -> LogBound:
    """log of ‖Φ‖₂, Φ any product of ``count`` steps of a neuron, the largest of the layer.   thm-J (b), (f) (iv)

    The smaller of both in several forms, neuron by neuron; the theorem is that of the neuron that grows most.
    """
    if count == 0:
        return LogBound(0.0, "thm-J (b)")
    layer, (low, high) = weights.stack[index], _ends(weights, index)
    ends: dict[str, Any] = {"kappa_low": low, "kappa_high": high, "step_size": layer.step_size}
    form = forms.inside(forms.best_form(**ends) ** np.array(FORM_SHARES)[:, None], layer.step_size)
    condition = jacobian.log_condition(form=form, step_size=layer.step_size)
    lost = count * state_bounds.conditioning(layer, form)
    by_step = count * jacobian.rate_bound(form=form, **ends)
    rate, constant = growth.in_form(form)
    applies = np.isfinite(rate)
    by_turn = outward(np.where(applies, count * rate + constant, 0.0) + condition, lost)
    found = outward(by_step + condition, by_step, lost, condition), np.where(applies, by_turn, np.inf)
    smallest = np.array([each.min(axis=0) for each in found])
    worst = int(np.argmax(smallest.min(axis=0)))
    theorem = int(np.argmin(smallest[:, worst]))
    return LogBound(float(smallest[theorem, worst]), ("thm-J (b)", "thm-J (f)")[theorem])


def _sentences(layer: NeuronBounds) -> Iterator[str]:
    smallest, largest = layer.step_sizes
    regimes = ", ".join(f"{count} {name}" for name, count in layer.regimes.items())
    yield f"neurons: {regimes}; steps h from {smallest:.3g} to {largest:.3g}."
    if layer.may_overflow:
        yield "† its states may exceed the largest number of the dtype."


def _largest_number(layer: gradient.StackLayer, state: StateLogs) -> float:
    """log of what a step may meet: y, z, w y, α y."""
    weight = 1 + np.abs(layer.w) + layer.alpha
    return float(np.maximum(state.positions + np.log(weight), state.momenta).max()) + 0.1


def _ends(weights: NetworkWeights, index: int) -> tuple[np.ndarray, np.ndarray]:
    """κ₋ and κ₊ of every neuron."""
    layer = weights.stack[index]
    return layer.alpha + np.minimum(layer.w, 0.0), layer.alpha + np.maximum(layer.w, 0.0)


def _product_growth(weights: NetworkWeights, index: int) -> ProductGrowth:
    low, high = _ends(weights, index)
    return ProductGrowth.of(kappa_low=low, kappa_high=high, step_size=weights.stack[index].step_size)


def _form_choices(weights: NetworkWeights, used: Sequence[int], steps: int) -> Iterator[list[np.ndarray]]:
    """Forms of all layers, such that those with an index in ``used`` grow alike; one list for each extra growth."""
    smallest = max(float(np.max(_best_rates(weights, index))) for index in used)
    for rate in _rates_tried(smallest, steps):
        yield _forms_within(weights, rate)


def _rates_tried(smallest: float, steps: int) -> list[float]:
    return [smallest * (1 + 1e-12) + extra / steps for extra in EXTRA_GROWTH]


def _best_rates(weights: NetworkWeights, index: int) -> np.ndarray:
    """thm-J (b) of every neuron in its best form."""
    (low, high), h = _ends(weights, index), weights.stack[index].step_size
    best = forms.best_form(kappa_low=low, kappa_high=high, step_size=h)
    return np.asarray(jacobian.rate_bound(kappa_low=low, kappa_high=high, form=best, step_size=h))


def _forms_within(weights: NetworkWeights, rate: float) -> list[np.ndarray]:
    """Of every neuron the form with the largest r_a that grows by ``rate`` at most, or its best one if none does."""
    chosen = []
    for index, layer in enumerate(weights.stack):
        low, high = _ends(weights, index)
        chosen.append(forms.form_within(rate=rate, kappa_low=low, kappa_high=high, step_size=layer.step_size))
    return chosen


def _invariant(
    weights: NetworkWeights, states: Sequence[StateLogs], chosen: Sequence[np.ndarray]
) -> list[LayerConstants]:
    """``gradient.invariant_constants`` with rates rounded outward."""
    constants = gradient.invariant_constants(weights.stack, states, chosen)
    slack = [
        state_bounds.ALLOWANCE * float(state_bounds.conditioning(layer, form).max())
        for layer, form in zip(weights.stack, chosen, strict=True)
    ]
    return [
        replace(layer_constants, rate=float(layer_constants.rate) + extra)
        for layer_constants, extra in zip(constants, slack, strict=True)
    ]


def _by_turns(
    weights: NetworkWeights,
    states: Sequence[StateLogs],
    growths: Sequence[ProductGrowth],
    used: Sequence[int],
    steps: int,
) -> Iterator[list[LayerConstants]]:
    """Constants with the rates of thm-J (f) where they are smaller, one list for each extra growth.   thm-G-turns

    A neuron whose form grows by more than the rate that is tried has products of k steps ≤ K_a e^{k hλ} instead, and
    the largest K_a of a layer is a factor of all that enters it. Nothing where (f) makes no layer grow less.
    """
    known = [_best_rates(weights, index) for index in used]
    least = [np.minimum(rates, growths[index].rate) for rates, index in zip(known, used, strict=True)]
    smallest = max(float(rates.max()) for rates in least)
    if smallest >= max(float(rates.max()) for rates in known):
        return
    for rate in _rates_tried(smallest, steps):
        chosen = _forms_within(weights, rate)
        found = []
        for index, (constants, form) in enumerate(zip(_invariant(weights, states, chosen), chosen, strict=True)):
            (low, high), layer = _ends(weights, index), weights.stack[index]
            by_step = jacobian.rate_bound(kappa_low=low, kappa_high=high, form=form, step_size=layer.step_size)
            by_turn, log_constant = growths[index].in_form(form)
            turns = np.isfinite(by_turn) & (by_step > rate * (1 + 1e-9))
            grown = np.where(turns, by_turn, by_step + state_bounds.ALLOWANCE * state_bounds.conditioning(layer, form))
            entered = float(np.max(log_constant, where=turns, initial=0.0))
            found.append(_with_entry(constants, float(grown.max()), entered))
        yield found


def _with_entry(constants: LayerConstants, rate: float, log_factor: float) -> LayerConstants:
    """This rate, and what enters the layer, from below or by a parameter, larger by a factor."""
    return replace(
        constants,
        rate=rate,
        log_climbs={level: log + log_factor for level, log in constants.log_climbs.items()},
        log_direct={name: log + log_factor for name, log in constants.log_direct.items()},
    )


def _path_sum(constants: Sequence[LayerConstants], source: int, target: int, rate: float, steps: int) -> float:
    """``gradient.log_route_path_sum``, vectorised over the steps."""
    sums = routes.log_route_sums(
        [layer_constants.log_climbs for layer_constants in constants], source=source, target=target
    )
    terms = [
        float(log_sum) + float(routes.log_path_sums(hops=hops, rates=np.array([rate]), steps=steps)[0])
        for hops, log_sum in sums.items()
    ]
    return float(np.logaddexp.reduce(terms))


def _gradients(
    weights: NetworkWeights, states: Sequence[StateLogs], steps: int, target_bound: float
) -> list[Mapping[str, LogBound]]:
    """For every layer and parameter the smallest bound over forms and over the three theorems."""
    count = len(weights.stack)
    growths = [_product_growth(weights, index) for index in range(count)]
    maximum = [
        replace(layer_constants, rate=float(layer_constants.rate))
        for layer_constants in gradient.maximum_constants(weights.stack, states)
    ]
    log_error = float(gradient.log_error_bound(states[-1], target_bound))
    bounds: list[Mapping[str, LogBound]] = []
    for source in range(1, count + 1):
        used = range(source - 1, count)
        candidates = [("thm-G", _invariant(weights, states, c)) for c in _form_choices(weights, used, steps)]
        candidates += [("thm-G-turns", c) for c in _by_turns(weights, states, growths, used, steps)]
        candidates.append(("thm-G-inf", maximum))
        common = [_common(constants, source, steps) for _, constants in candidates]
        best: dict[str, LogBound] = {}
        for parameter in candidates[0][1][source - 1].log_direct:
            quick = [
                log + float(c[source - 1].log_direct[parameter]) for log, (_, c) in zip(common, candidates, strict=True)
            ]
            theorem, constants = candidates[int(np.argmin(quick))]
            best[parameter] = LogBound(
                _final(constants, source, parameter, log_error, weights.stack[-1].hidden_size, steps), theorem
            )
        bounds.append(MappingProxyType(best))
    return bounds


def _rate(constants: Sequence[LayerConstants], source: int, target: int) -> float:
    return max(float(layer_constants.rate) for layer_constants in constants[source - 1 : target])


def _common(constants: Sequence[LayerConstants], source: int, steps: int) -> float:
    """What the bounds on all parameters of layer ``source`` share and a choice of forms changes."""
    rate = _rate(constants, source, len(constants))
    return _path_sum(constants, source, len(constants), rate, steps) + float(constants[-1].log_output)


def _final(
    constants: Sequence[LayerConstants], source: int, parameter: str, log_error: float, outputs: int, steps: int
) -> float:
    log_bound = gradient.log_gradient_bound(
        constants, source=source, parameter=parameter, log_error=log_error, outputs=outputs, steps=steps
    )
    parts = [log_error, float(constants[-1].log_output), float(constants[source - 1].log_direct[parameter])]
    parts += [float(log) for layer_constants in constants for log in layer_constants.log_climbs.values()]
    return float(outward(float(log_bound), steps, outputs, steps * _rate(constants, source, len(constants)), *parts))


@dataclass(frozen=True)
class _Rebuilt:
    log_position: float
    log_momentum: float


def _computed(weights: NetworkWeights, steps: int) -> list[StateLogs] | None:
    """thm-S-float for every layer; None if the dtype is too coarse for one of them."""
    try:
        return [state_bounds.computed_state_logs(layer, steps, weights.precision) for layer in weights.stack]
    except ValueError:
        return None


def _rebuilt(
    weights: NetworkWeights, inputs: StateLogs, states: Sequence[StateLogs] | None, steps: int
) -> list[_Rebuilt | None]:
    """thm-F (a) for the whole stack: what layer l inherits from the rebuilt states below comes by routes, too."""
    if states is None:
        return [None for _ in weights.stack]
    computed, rebuilt = [inputs, *states], []
    for target in range(1, len(weights.stack) + 1):
        below = replace(weights, stack=weights.stack[:target], biases=weights.biases[:target])
        rebuilt.append(_rebuilt_top(below, computed[: target + 1], steps))
    return rebuilt


def _rebuilt_top(weights: NetworkWeights, computed: Sequence[StateLogs], steps: int) -> _Rebuilt | None:
    """For the last layer of a stack, the smallest over the choices of forms."""
    target = len(weights.stack)
    best: list[float] = [math.inf, math.inf]
    for chosen in _form_choices(weights, range(target), steps):
        try:
            constants, noises = _error_constants(weights, computed, chosen)
        except ValueError:
            continue
        rate = _rate(constants, 1, target)
        terms = [
            noises[source - 1] + _path_sum(constants, source, target, rate, steps) for source in range(1, target + 1)
        ]
        log_error = float(outward(float(np.logaddexp.reduce(terms)), steps, steps * rate, *terms))
        layer, form = weights.stack[target - 1], chosen[target - 1]
        root = jacobian.root(form=form, step_size=layer.step_size)
        readings = (-np.log(root), np.log(form) / 2 - np.log(root))
        best = [min(old, log_error + float(np.max(log_factor))) for old, log_factor in zip(best, readings, strict=True)]
    return _Rebuilt(*best) if math.isfinite(best[0]) else None


def _error_constants(
    weights: NetworkWeights, computed: Sequence[StateLogs], chosen: Sequence[np.ndarray]
) -> tuple[list[LayerConstants], list[float]]:
    """log ρ and the climbs of E^l_{n−1} ≤ ρE^l_n + v E^{below} + σ for every layer, and log σ."""
    precision = weights.precision
    u, nu = precision.unit_roundoff, precision.underflow
    exact = _invariant(weights, computed, chosen)
    widened, noises = [], []
    for layer, bias, form, constants, state in zip(
        weights.stack, weights.biases, chosen, exact, computed[1:], strict=True
    ):
        growth = reconstruction.error_growth(
            w=layer.w,
            step_size=layer.step_size,
            alpha=layer.alpha,
            form=form,
            log_position=state.positions,
            log_momentum=state.momenta,
            unit_roundoff=u,
            underflow=nu,
        )
        ends = {"kappa_low": layer.alpha + np.minimum(layer.w, 0), "kappa_high": layer.alpha + np.maximum(layer.w, 0)}
        beyond = growth.log_factor - jacobian.rate_bound(**ends, form=form, step_size=layer.step_size)
        terms = sum(matrix.shape[1] + 1 for matrix in layer.edges.values()) + 1
        gamma = reconstruction.sum_roundoff(terms=terms, unit_roundoff=u)
        drive = reconstruction.log_drive_noise(
            edges=layer.edges, bias=bias, states=computed, step_size=layer.step_size, roundoff=gamma, underflow=nu
        )
        noise = np.logaddexp(growth.log_noise, drive + beyond)
        slack = state_bounds.ALLOWANCE * float(state_bounds.conditioning(layer, form).max())
        widen = math.log1p(gamma) + float(np.max(beyond)) + slack
        widened.append(
            replace(
                constants,
                rate=float(np.max(growth.log_factor)) + slack,
                log_climbs={level: float(log) + widen for level, log in constants.log_climbs.items()},
            )
        )
        noises.append(float(outward(float(np.max(noise)), 64.0)))
    return widened, noises
