"""DampedUnICORNN: neurons that contract in a form of their own.   docs/derivations/damped_oscillators.md

    ‖X_n − X'_n‖_P ≤ ρ ‖X_{n−1} − X'_{n−1}‖_P + h q |x_n − x'_n|,      ‖X_n‖_P ≤ ρ₀ ‖X_{n−1}‖_P + h q

X = (y, z) of a neuron, x its drive; ρ = max over the slopes k, ρ₀ at k = α, each in its own form P. Drives that change
by δ_n move the outputs of a layer by at most Σ_j D_j ‖δ_{n−j}‖₂, D_j = max over neurons of h q ρ^j/r_a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import torch

from odernn.bounds import damped, forms, jacobian
from odernn.bounds.network import lipschitz
from odernn.bounds.network.decoupled import log_powers_sum
from odernn.bounds.network.levels import LayerTheory, Level, precision_of, report_of, roundoff
from odernn.bounds.network.question import Question
from odernn.bounds.network.report import LayerBounds, QuantityBound, computed_line, power_of
from odernn.bounds.network.states import ALLOWANCE, outward
from odernn.bounds.network.sweeps import NOTHING, Array, Logs, StepConstants, Sweep, geometric, log_norm, log_of
from odernn.bounds.reconstruction import Precision
from odernn.fields import spectra

if TYPE_CHECKING:
    from odernn.cells.damped_unicornn import DampedUnICORNN, DampedUnICORNNLayer

SHARES = (0.0, 0.25, 0.5, 0.75)
"""Of log ρ of the best form, given up for a form in which y and z weigh less."""

LONGEST = 1024
"""Steps up to which D_j is the largest of all neurons at every j; beyond it is max h q/r_a times the largest ρ^j."""

LEAST = 2.0**-30
"""A smaller −log ρ is taken for none."""

LOST, LOST_IN_TERM = 2.0**-40, 2.0**-50
"""Relative, more than float64 rounds off in what follows; the second in one term of a sum, or in a kick h q."""

SLOPES_ROUNDED = 1e-5
"""Added to logarithms of dw/dθ and dh/dc, which are taken at h, q and α as rounded to the dtype of the weights."""


@dataclass(frozen=True, eq=False)
class DampedStep:
    """The numbers of a layer's step as it has them, in float64: w, h, q, α of every neuron (m,)."""

    w: Array
    h: Array
    q: Array
    alpha: Array

    @classmethod
    def of(cls, layer: DampedUnICORNNLayer) -> DampedStep:
        w, h, alpha, q = (each.detach().double().expand(layer.hidden_size).numpy() for each in layer.coefficients())
        return cls(w, h, q, alpha)

    @property
    def slopes(self) -> tuple[Array, Array]:
        """k₋, k₊."""
        return self.alpha + np.minimum(self.w, 0.0), self.alpha + np.maximum(self.w, 0.0)


@dataclass(frozen=True, eq=False)
class NeuronForms:
    """A form P for every neuron and what it says, natural logarithms, each rounded to the safe side, (m,).

    rate             ρ
    position         sup |y|/‖X‖_P             momentum   sup |z|/‖X‖_P          both   sup ‖X‖₂/‖X‖_P
    condition        √(λ_max/λ_min) of P       weight     ‖(1, 0)‖_P
    """

    rate: Logs
    position: Logs
    momentum: Logs
    both: Logs
    condition: Logs
    weight: Logs

    @classmethod
    def of(cls, step: DampedStep, slopes: tuple[Array, Array], form: Array) -> NeuronForms:
        h, q, (low, high) = step.h, step.q, slopes
        root, t = jacobian.root(form=form, step_size=h), damped.tilt(kept=q, step_size=h)
        m, log_q = damped.position_weight(kept=q, form=form, step_size=h), np.log(q)
        rate = damped.log_rate(k_low=low, k_high=high, kept=q, form=form, step_size=h)
        room = 1 - form * h**2 / 4
        largest_k = np.abs(slopes).max(axis=0) + t * t + form
        units = h * largest_k / (2 * root) + 1 / room  # of roundoff, what rate and root may be off
        least, most = damped.log_extremes(kept=q, form=form, step_size=h)
        log_root, size = np.log(root), np.abs(least) + np.abs(most) + np.abs(log_q)
        return cls(
            rate=outward(rate, 8.0, 4 * units, log_q),
            position=outward(-log_root, 8.0, units),
            momentum=outward(np.log(m) - log_q / 2 - log_root, 8.0, units, size),
            both=outward(-least, 8.0, units, size),
            condition=outward(most - least, 8.0, units, size),
            weight=outward(np.log(m), 8.0, units),
        )

    @classmethod
    def candidates(cls, step: DampedStep, slopes: tuple[Array, Array]) -> list[NeuronForms]:
        """The form in which a step contracts most, and others that contract by shares of that."""
        low, high = (damped.stiffness(k=k, kept=step.q, step_size=step.h) for k in slopes)
        ends = {"kappa_low": low, "kappa_high": high, "step_size": step.h}
        best = forms.best_form(**ends)
        least = damped.log_rate(k_low=slopes[0], k_high=slopes[1], kept=step.q, form=best, step_size=step.h)
        rates = [np.maximum((1 - share) * least - np.log(step.q) / 2, 0.0) for share in SHARES[1:]]
        return [cls.of(step, slopes, form) for form in (best, *(forms.form_within(rate=r, **ends) for r in rates))]

    @classmethod
    def chosen(cls, of: Sequence[NeuronForms], scores: Sequence[Logs]) -> NeuronForms:
        """For each neuron the one with the least score."""
        best = np.argmin(np.array(scores), axis=0)[None]
        names = [field.name for field in fields(cls)]
        return cls(**{n: np.take_along_axis(np.array([getattr(each, n) for each in of]), best, 0)[0] for n in names})


@dataclass(frozen=True, eq=False)
class DampedLevel:
    """What a layer sees of the one below: bounds on |y_n| by neuron (m,), of the computed ones or None, its reach."""

    positions: Array
    computed: Array | None
    reach: lipschitz.Reach


def layers_of(network: DampedUnICORNN, question: Question) -> tuple[LayerBounds, ...]:
    """States, Jacobians, gradients, and how far inputs can move a run, of every layer."""
    theories, level = _stack(network, question)
    error = log_of(float(np.linalg.norm(level.positions + question.target_bound)) * (1 + LOST))
    return report_of(theories, np.full(question.steps, error))


def reach_of(network: DampedUnICORNN, question: Question) -> lipschitz.Reach:
    """What a change of the inputs becomes in the outputs y of the last layer.   thm-damp (e), (f)"""
    return _stack(network, question)[1].reach


def _stack(network: DampedUnICORNN, question: Question) -> tuple[list[LayerTheory], DampedLevel]:
    """What is proved of every layer, and what would be seen of the last one from above."""
    inputs = np.full(network.input_size, question.input_bound)
    level = DampedLevel(inputs, inputs, lipschitz.Reach.of_inputs(question.steps))
    theories: list[LayerTheory] = []
    for layer in network.layers:
        theory, level = _theory(layer, level, question)
        theories.append(theory)
    return theories, level


@torch.no_grad()
def _theory(layer: DampedUnICORNNLayer, below: DampedLevel, question: Question) -> tuple[LayerTheory, DampedLevel]:
    step, steps, precision = DampedStep.of(layer), question.steps, precision_of(layer)
    gain = np.asarray(outward(np.log(step.h) + np.log(step.q)))
    rest = _at_rest(step, steps)
    bounded = gain + log_powers_sum(rest.rate, steps)
    states = [np.exp(outward(bounded + each)) for each in (rest.position, rest.momentum)]
    computed = computed_states(step, rest, steps, precision)
    moving = NeuronForms.candidates(step, step.slopes)
    size = [log_powers_sum(each.rate, steps) + each.both for each in moving]
    P = NeuronForms.chosen(moving, size)
    lines = []
    for index, name in enumerate("yz"):
        lines.append(QuantityBound(f"|{name}_n|, n ≤ N", log_of(float(states[index].max())), "thm-damp (d)"))
    for index, name in enumerate(("|ŷ_n| as computed", "|ẑ_n| as computed")):
        found = None if computed is None else log_of(float(computed[index].max()))
        exact = log_of(float(states[index].max()))
        lines.append(computed_line(name, exact, found, precision, "thm-damp (f)"))
    grown = [each.condition + (steps - 1) * each.rate for each in moving]
    growth = float(outward(np.min(grown, axis=0).max(), steps))
    lines.append(QuantityBound("‖∂X_N/∂X_1‖₂, X = (y, z)", growth, "thm-damp (b)"))
    reach, seen = _reach(layer, step, P, gain, below, computed, steps)
    theorems = "thm-damp (e)", "thm-damp (f)"
    lines += lipschitz.lines(seen, *theorems)
    nothing: Logs = np.empty(0)  # of a level, which report_of does not ask
    sweep = _responding(gain + P.position, P.rate, steps)
    columns = {name: np.full((steps, 1), log) for name, log in _direct(layer, step, P, gain, below, states).items()}
    constants = StepConstants(sweep, np.array([log_norm(layer.V)]), 0.0, columns)
    parameters = tuple(name for name, _ in layer.named_parameters())
    says = _in_words(layer, step, moving, P, gain, rest)
    theory = LayerTheory(tuple(lines), Level(nothing, nothing, None, None), constants, parameters, says=says)
    return theory, DampedLevel(states[0], None if computed is None else computed[0], reach)


# --- inputs


def _responding(log_first: Logs, rates: Logs, steps: int) -> Sweep:
    """e_n = Σ_j D_j g_{n−j}, D_j = max_i e^{log_first_i + j rate_i}; from nothing at n = 0."""
    if steps > LONGEST:
        slowest = geometric(float(rates.max()))
        return lambda source, start: slowest(source + float(log_first.max()), start)
    D = np.max(log_first[:, None] + np.arange(steps) * rates[:, None], axis=0)

    def sweep(source: Logs, start: Logs) -> Logs:
        total = [np.logaddexp.reduce(D[n::-1] + source[: n + 1, 0]) for n in range(steps)]
        largest = float(np.abs(D).max() + np.abs(source).max())
        found: Logs = np.maximum(outward(np.array(total), steps * (1.0 + largest)), NOTHING)[:, None]
        return found

    return sweep


def _reach(
    layer: DampedUnICORNNLayer,
    step: DampedStep,
    P: NeuronForms,
    gain: Logs,
    below: DampedLevel,
    computed: tuple[Array, Array] | None,
    steps: int,
) -> tuple[lipschitz.Reach, lipschitz.Reach]:
    """What a change of the inputs becomes in this layer's outputs y, and in its states (y, z).   thm-damp (e), (f)"""
    rounding = None if computed is None else _rounded_off(layer, step, P, gain, below, computed, steps)
    found = []
    for read in (P.position, P.both):
        sweep = _responding(gain + read, P.rate, steps)

        def moved(logs: Logs, sweep: Sweep = sweep) -> Logs:
            return sweep(log_norm(layer.V) + logs[:, None], np.array([NOTHING]))[:, 0]

        exact = moved(below.reach.exact)
        if rounding is None or below.reach.log_error is None:
            found.append(lipschitz.Reach(exact, None, None))
            continue
        own = log_of(float(np.linalg.norm(np.exp(rounding + read))) * (1 + LOST))
        found.append(lipschitz.Reach(exact, exact, outward(np.logaddexp(moved(below.reach.log_error), own))))
    return found[0], found[1]


# --- as computed


def _at_rest(step: DampedStep, steps: int) -> NeuronForms:
    """Of every neuron the form in which k = α bounds |y_n| best.   thm-damp (d)"""
    forms_at_rest = NeuronForms.candidates(step, (step.alpha, step.alpha))
    scores = [log_powers_sum(each.rate, steps) + each.position for each in forms_at_rest]
    return NeuronForms.chosen(forms_at_rest, scores)


def states_as_computed(step: DampedStep, steps: int, precision: Precision) -> tuple[Array, Array] | None:
    """Bounds on |ŷ_n|, |ẑ_n| of every neuron for all inputs, n ≤ N; None where the dtype is too coarse."""
    return computed_states(step, _at_rest(step, steps), steps, precision)


def _noise(step: DampedStep, weight: Array, states: Sequence[Array], precision: Precision) -> Array:
    """‖·‖_P of what a step of states within (Y, Z) rounds off, its drive taken as it is.   thm-damp (f)"""
    (Y, Z), u, nu = states, precision.unit_roundoff, precision.underflow
    moved = step.q * (Z + step.h * (1 + step.alpha * Y))
    kick = 16 * u * moved + 64 * nu
    drift = 4 * u * (Y + step.h * (moved + kick)) + 64 * nu
    return np.asarray(kick + weight * drift)


def computed_states(
    step: DampedStep, rest: NeuronForms, steps: int, precision: Precision
) -> tuple[Array, Array] | None:
    """Bounds on |ŷ_n|, |ẑ_n| of a run in the dtype, n ≤ N, (m,); None where it is too coarse.   thm-damp (f)"""
    total = np.exp(log_powers_sum(rest.rate, steps))
    reads, weight = np.exp(np.array([rest.position, rest.momentum])), np.exp(rest.weight)
    kick = step.h * step.q * (1 + LOST_IN_TERM)
    assumed: Array = 2 * reads * kick * total
    for _ in range(3):
        noise = _noise(step, weight, tuple(assumed), precision)
        found = reads * (kick + noise) * total * (1 + LOST)
        if not (found <= assumed).all():
            return None
        assumed = found
    return assumed[0], assumed[1]


def _rounded_off(
    layer: DampedUnICORNNLayer,
    step: DampedStep,
    P: NeuronForms,
    gain: Logs,
    below: DampedLevel,
    computed: tuple[Array, Array],
    steps: int,
) -> Logs | None:
    """log sup ‖X̂_n − X_n‖_P, (m,), for the same rows below; None where nothing is known.   thm-damp (f)"""
    precision = precision_of(layer)
    gamma = roundoff(layer.input_size, precision)
    if below.computed is None or not math.isfinite(gamma):
        return None
    bias = 0.0 if layer.b is None else layer.b.detach().double().abs().numpy()
    moduli = layer.V.detach().double().abs().numpy() @ below.computed * (1 + layer.input_size * LOST_IN_TERM) + bias
    largest = math.exp(precision.log_largest - 1)
    if not bool((moduli + np.abs(step.w) * computed[0] < largest).all()):
        return None  # a drive may overflow, and ∞ − ∞ is no number
    u, nu = precision.unit_roundoff, precision.underflow
    drive = gamma * moduli + 4 * u * (np.abs(step.w) * computed[0] + (1 + gamma) * moduli)
    drive = drive + 64 * (layer.input_size + 1) * nu
    noise = np.exp(gain) * drive + _noise(step, np.exp(P.weight), computed, precision)
    return np.asarray(outward(np.log(noise) + log_powers_sum(P.rate, steps), 64.0))


# --- gradients, words


def _direct(
    layer: DampedUnICORNNLayer, step: DampedStep, P: NeuronForms, gain: Logs, below: DampedLevel, states: list[Array]
) -> dict[str, float]:
    """log of what a parameter that changes by 1 moves a drive by, h q of which enters its neuron.   thm-damp (e)"""
    Y, Z = states
    found = {"V": log_of(float(below.positions.max()))}
    if layer.b is not None:
        found["b"] = 0.0
    slopes = {name: slope.abs().numpy() for name, slope in layer.slopes().items()}
    if layer.free_w is None:
        found["w"] = log_of(float(Y.max()))
    else:
        found["free_w"] = log_of(float((Y * slopes["w by free_w"]).max())) + SLOPES_ROUNDED
    if layer.c is not None:
        gamma = spectra.as_used(layer.gamma, layer.V)
        kick = step.q * (1 + step.alpha * Y + gamma * Z) + np.exp(P.weight) * Z
        by_h = slopes["h by c"] * kick / np.exp(gain)
        found["c"] = log_of(float((by_h + Y * slopes["w by c"]).max())) + SLOPES_ROUNDED
    return found


def _in_words(
    layer: DampedUnICORNNLayer,
    step: DampedStep,
    moving: Sequence[NeuronForms],
    P: NeuronForms,
    gain: Logs,
    rest: NeuronForms,
) -> tuple[str, ...]:
    """The rate, and what holds for every number of steps."""
    slowest = float(moving[0].rate.max())
    if slowest >= -LEAST:
        count = int((moving[0].rate >= -LEAST).sum())
        return (f"{count} of {len(step.h)} neurons contract in no form P: a factor ≤ {power_of(slowest)} a step.",)
    promised = ""
    if layer.rate is not None:
        promised = f", by thm-damp (c) ≤ 1/(1 + {float(layer.rate)!r} h) of each neuron for all weights"
    forever = float(outward((gain + P.both - np.log(-np.expm1(P.rate))).max(), 8.0)) + ALLOWANCE
    states = float(outward((gain + rest.position - np.log(-np.expm1(rest.rate))).max(), 8.0))
    return (
        f"every neuron contracts by ≤ {power_of(slowest)} a step in its ‖·‖_P (thm-damp (b)){promised}.",
        f"for every N: |y_n| ≤ {power_of(states)} (thm-damp (d)), and drives that differ by ≤ δ move a neuron's (y, z) "
        f"by ≤ {power_of(forever)} δ (thm-damp (e)).",
    )
