"""Networks of UnICORNN, and what ``certify`` says of them typed again: every choice, by trying all of them.

ALLOWANCE is 2⁻¹² under ``wide_allowance``, so that a rounding allowance that is missing, doubled or of the wrong sign
moves digits that are compared; with 2⁻⁴⁸ it would hide among the roundings of the tests themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from odernn.bounds import NetworkBounds, forms, gradient, jacobian, reconstruction, switching
from odernn.bounds.gradient import LayerConstants, StackLayer, StateLogs
from odernn.bounds.network import LogBound
from odernn.bounds.network.states import computed_state_logs
from odernn.bounds.network.weights import NetworkWeights
from odernn.cells.unicornn import UnICORNN


def network_of(*, scale: float = 1.0, seed: int = 0, **options: Any) -> UnICORNN:
    generator = torch.Generator().manual_seed(seed)
    arguments: dict[str, Any] = {"dt": 0.1, "alpha": 2.0, "dtype": torch.float64} | options
    network = UnICORNN(2, 4, arguments.pop("num_layers", 2), generator=generator, **arguments)
    with torch.no_grad():
        for layer in network.layers:
            layer.w.copy_(scale * torch.randn(4, generator=generator))
            if layer.b is not None:
                layer.b.copy_(torch.randn(4, generator=generator))
    return network


def numbers_of(report: NetworkBounds) -> list[float]:
    found: list[float | None] = []
    for layer in report.layers:
        found += [layer.log_position, layer.log_momentum, *layer.log_positions, *layer.log_momenta]
        found += [*(layer.log_computed_positions or ()), *(layer.log_computed_momenta or ())]
        found += [bound.value for bound in layer.gradients.values()]
        found += [layer.log_rebuilt_position, layer.log_rebuilt_momentum, layer.estimated_log_rebuilt]
        found += [layer.lower_rate, layer.upper_rate, *layer.step_sizes]
    return [value for value in found if value is not None]


WIDE = 2.0**-12


def up(log: float, *entered: Any) -> float:
    """A logarithm and its allowance."""
    return log + WIDE * (1 + abs(log) + sum(abs(each) for each in entered))


def ends_of(layer: StackLayer) -> dict[str, np.ndarray]:
    """α + w σ' at σ' = 0 and 1, in order."""
    return {
        "kappa_low": np.array([min(layer.alpha, layer.alpha + w) for w in layer.w]),
        "kappa_high": np.array([max(layer.alpha, layer.alpha + w) for w in layer.w]),
        "step_size": layer.step_size,
    }


def best_rates(layer: StackLayer) -> np.ndarray:
    return np.asarray(jacobian.rate_bound(**ends_of(layer), form=forms.best_form(**ends_of(layer))))


def forms_tried(
    stack: Sequence[StackLayer], used: Sequence[int], steps: int, smallest: float | None = None
) -> list[list[np.ndarray]]:
    """For every growth that the run may have beyond the smallest, the forms nearest 2/h² that keep to it."""
    rates = rates_tried(max(best_rates(stack[i]).max() for i in used) if smallest is None else smallest, steps)
    return [[forms.form_within(rate=rate, **ends_of(layer)) for layer in stack] for rate in rates]


def rates_tried(smallest: float, steps: int) -> list[float]:
    return [smallest * (1 + 1e-12) + extra / steps for extra in (0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)]


def turns_again(stack: Any, states: Any, used: Sequence[int], steps: int) -> list[list[LayerConstants]]:
    """thm-G-turns: neurons that a form lets grow more than is tried have K e^{nhλ} instead.

    log K is what log_product_bound says of ten steps, less ten times the rate.
    """
    turning = [np.asarray(switching.rate_bound(**ends_of(layer))) for layer in stack]
    smallest = max(float(np.minimum(best_rates(stack[i]), turning[i]).max()) for i in used)
    if all(not (turning[i] < best_rates(stack[i])).any() or smallest == best_rates(stack[i]).max() for i in used):
        return []
    tried = forms_tried(stack, used, steps, smallest=smallest)
    ten = [
        switching.log_product_bound(**ends_of(layer), form=np.array(each), steps=10)
        for layer, each in zip(stack, zip(*tried, strict=True), strict=True)
    ]
    found = []
    for place, (rate, chosen) in enumerate(zip(rates_tried(smallest, steps), tried, strict=True)):
        layers = []
        for q, constants in enumerate(gradient.invariant_constants(stack, states, chosen)):
            by_step = jacobian.rate_bound(**ends_of(stack[q]), form=chosen[q])
            grown, entry = [], 0.0
            for i in range(stack[q].hidden_size):
                if math.isfinite(ten[q][place, i]) and by_step[i] > rate * (1 + 1e-9):
                    grown.append(float(turning[q][i]))
                    entry = max(entry, ten[q][place, i] - 10 * grown[-1])
                else:
                    one = replace(stack[q], w=stack[q].w[i : i + 1], step_size=stack[q].step_size[i : i + 1])
                    grown.append(by_step[i] + lost_in(one, chosen[q][i : i + 1]))
            climbs = {level: log + entry for level, log in constants.log_climbs.items()}
            direct = {name: log + entry for name, log in constants.log_direct.items()}
            layers.append(replace(constants, rate=max(grown), log_climbs=climbs, log_direct=direct))
        found.append(layers)
    return found


def lost_in(layer: StackLayer, form: np.ndarray) -> float:
    """The allowance for the rate of the worst neuron of a layer."""
    root = np.sqrt(form * (1 - form * layer.step_size**2 / 4))
    return WIDE * max(1 + layer.step_size * (abs(layer.w) + layer.alpha + form) / (2 * root))


def invariant_again(stack: Any, states: Any, chosen: Any) -> list[LayerConstants]:
    found = gradient.invariant_constants(stack, states, chosen)
    return [replace(c, rate=c.rate + lost_in(*of)) for c, *of in zip(found, stack, chosen, strict=True)]


def gradients_again(weights: NetworkWeights, states: Any, steps: int, target_bound: float) -> list[dict[str, LogBound]]:
    """The bound of every candidate for every parameter in full, and the smallest of them with its allowance."""
    stack, error = weights.stack, float(gradient.log_error_bound(states[-1], target_bound))
    found = []
    for source in range(1, len(stack) + 1):
        tried = forms_tried(stack, range(source - 1, len(stack)), steps)
        candidates = [("thm-G", invariant_again(stack, states, chosen)) for chosen in tried]
        candidates += [("thm-G-turns", c) for c in turns_again(stack, states, range(source - 1, len(stack)), steps)]
        candidates += [("thm-G-inf", gradient.maximum_constants(stack, states))]
        layer, best = stack[source - 1], {}
        names = ["w", *layer.names.values(), *(["b"] if layer.has_bias else [])]
        for name in names + ([] if layer.complement is None else ["c"]):
            bounds = [
                float(
                    gradient.log_gradient_bound(
                        c, source=source, parameter=name, log_error=error, outputs=stack[-1].hidden_size, steps=steps
                    )
                )
                for _, c in candidates
            ]
            theorem, c = candidates[bounds.index(min(bounds))]
            climbs = [log for each in c for log in each.log_climbs.values()]
            growth = steps * max(each.rate for each in c[source - 1 :])
            entered = steps, stack[-1].hidden_size, growth, error, c[-1].log_output, c[source - 1].log_direct[name]
            best[name] = LogBound(up(min(bounds), *entered, *climbs), theorem)
        found.append(best)
    return found


def rebuilt_again(weights: NetworkWeights, inputs: StateLogs, steps: int) -> list[tuple[float, float] | None]:
    """thm-F (a): for every layer the smallest over the choices of forms that the format allows."""
    u, nu = weights.precision.unit_roundoff, weights.precision.underflow
    found: list[tuple[float, float] | None] = []
    try:
        computed = [inputs, *(computed_state_logs(layer, steps, weights.precision) for layer in weights.stack)]
    except ValueError:
        return [None] * len(weights.stack)
    for top in range(1, len(weights.stack) + 1):
        stack, tried = weights.stack[:top], []
        for chosen in forms_tried(stack, range(top), steps):
            constants, noises = [], []
            exact = gradient.invariant_constants(stack, computed[: top + 1], chosen)
            try:
                for layer, bias, form, constant, state in zip(
                    stack, weights.biases, chosen, exact, computed[1:], strict=False
                ):
                    growth = reconstruction.error_growth(
                        w=layer.w,
                        step_size=layer.step_size,
                        alpha=layer.alpha,
                        form=form,
                        unit_roundoff=u,
                        underflow=nu,
                        log_position=state.positions,
                        log_momentum=state.momenta,
                    )
                    beyond = growth.log_factor - jacobian.rate_bound(**ends_of(layer), form=form)
                    k = 1 + sum(1 + matrix.shape[1] for matrix in layer.edges.values())
                    gamma = k * u / (1 - k * u)
                    drive = reconstruction.log_drive_noise(
                        edges=layer.edges,
                        bias=bias,
                        states=computed,
                        step_size=layer.step_size,
                        roundoff=gamma,
                        underflow=nu,
                    )
                    noise = max(np.log(np.exp(growth.log_noise) + np.exp(drive + beyond)))
                    wider = math.log(1 + gamma) + max(beyond) + lost_in(layer, form)
                    climbs = {level: log + wider for level, log in constant.log_climbs.items()}
                    rate = max(growth.log_factor) + lost_in(layer, form)
                    constants.append(replace(constant, rate=rate, log_climbs=climbs))
                    noises.append(up(noise, 64))
            except ValueError:
                continue
            rate = max(each.rate for each in constants)
            terms = [
                noise + gradient.log_route_path_sum(constants, source=q, target=top, rate=rate, steps=steps)
                for q, noise in enumerate(noises, 1)
            ]
            error = up(math.log(sum(math.exp(t - max(terms)) for t in terms)) + max(terms), steps, steps * rate, *terms)
            a, h = chosen[-1], stack[-1].step_size
            tilt = 1 - a * h * h / 4
            tried.append((error + max(np.log(1 / np.sqrt(a * tilt))), error + max(np.log(1 / np.sqrt(tilt)))))
        found.append((min(y for y, _ in tried), min(z for _, z in tried)) if tried else None)
    return found
