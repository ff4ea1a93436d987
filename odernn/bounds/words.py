"""Lower bounds on the growth rate: periodic inputs that alternate between the two extreme stiffnesses.

thm-J (b), (d) of docs/derivations/jacobian_products.md: the rate over all inputs is the logarithm of the joint spectral
radius of B(κ₋) and B(κ₊), so every word in the two matrices bounds it from below. A word (p, q) is p steps at κ₋ and
q at κ₊, B(κ₋)^p B(κ₊)^q, repeated; with p about a quarter period of each it drives the neuron at resonance.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from odernn.bounds import forms, jacobian, switching
from odernn.bounds.numbers import FLOATS, Numbers


def _chebyshev(trace: Any, growth: Any, steps: int) -> tuple[Any, Any]:
    """U_{p-2}/g^{p-1} and U_{p-1}/g^{p-1} at trace/2, p = steps ≥ 1: B^p = U_{p-1}B − U_{p-2}I for det B = 1."""
    before, now = 0 * trace, 1 + 0 * trace
    for _ in range(steps - 1):
        before, now = now / growth, trace * now / growth - before / growth
    return before, now


def word_rate(
    *, kappa_low: Any, kappa_high: Any, step_size: Any, low_steps: int, high_steps: int, numbers: Numbers = FLOATS
) -> Any:
    """log of the spectral radius of B(κ₋)^p B(κ₊)^q, divided by p + q: a lower bound on the rate.   thm-J (b)

    p = ``low_steps`` ≥ 1, q = ``high_steps`` ≥ 1. Zero where the word rotates. Balls enclose it.
    """
    square = step_size * step_size
    first, second = 2 - square * kappa_low, 2 - square * kappa_high
    g, k = numbers.growth(first), numbers.growth(second)
    before, now = _chebyshev(first, g, low_steps)
    other_before, other_now = _chebyshev(second, k, high_steps)
    product = 2 - 2 * square * (kappa_low + kappa_high) + square * square * kappa_low * kappa_high
    trace = now * other_now * product - now * other_before * first - before * other_now * second
    trace = trace + 2 * before * other_before
    log_scale = (low_steps - 1) * numbers.log(g + 0 * trace) + (high_steps - 1) * numbers.log(k + 0 * trace)
    floor = numbers.exp(-log_scale)  # one, in the scaled units
    discriminant = numbers.root_of_positive_part(trace * trace / 4 - floor * floor)
    radius = numbers.maximum(numbers.absolute(trace) / 2 + discriminant, floor)
    return (numbers.log(radius) + log_scale) / (low_steps + high_steps)


DRIFT, TURN = 4.105, 1.81
"""ω₂t₁ and ω₂t₂ of the best word of one drift and one turn for κ₋ = 0, h → 0: the rate is 0.2436 ω₂.   thm-J (d)"""


def quarter_words(
    *, kappa_low: np.ndarray, kappa_high: np.ndarray, step_size: np.ndarray, around: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p, q and the rate of the fastest word within ``around`` of a quarter period of each matrix; arrays of neurons.

    For κ₋ = 0, which does not turn, p is about DRIFT/(h√κ₊). Float64, by U_{p-1} = sin pθ / sin θ. Where κ₋ < 0 or
    h²κ₊ ≥ 4 the rate is 0 and p = q = 1: there a constant input does better.
    """
    square = step_size * step_size
    low, high = square * kappa_low / 4, square * kappa_high / 4
    turns = (low >= 0) & (high > 0) & (high < 1)
    low, high = np.where(turns, low, 0.0), np.where(turns, high, 0.5)
    angle, other = (2 * np.arcsin(np.sqrt(x)) for x in (low, high))
    drifts = angle == 0
    centre = np.where(drifts, DRIFT / other, np.pi / 2 / np.where(drifts, 1.0, angle))
    offsets = np.arange(-around, around + 1)
    p = np.maximum(np.rint(centre)[..., None] + offsets, 1.0)
    q = np.maximum(np.rint(np.where(drifts, TURN, np.pi / 2) / other)[..., None] + offsets, 1.0)
    now, before = (_second_kind(p - back, angle)[..., :, None] for back in (0, 1))
    other_now, other_before = (_second_kind(q - back, other)[..., None, :] for back in (0, 1))
    first, second = (2 * np.cos(theta)[..., None, None] for theta in (angle, other))
    product = (2 - 8 * (low + high) + 16 * low * high)[..., None, None]
    trace = now * other_now * product - now * other_before * first - before * other_now * second
    trace = np.abs(trace + 2 * before * other_before)
    rates = 2 * np.arcsinh(np.sqrt(np.maximum(trace / 4 - 0.5, 0.0))) / (p[..., :, None] + q[..., None, :])
    flat = rates.reshape(*rates.shape[:-2], -1)
    best = np.argmax(flat, axis=-1)
    rate = np.take_along_axis(flat, best[..., None], axis=-1)[..., 0]
    rows, columns = np.divmod(best, len(offsets))
    p, q = (np.take_along_axis(x, i[..., None], axis=-1)[..., 0] for x, i in ((p, rows), (q, columns)))
    return np.where(turns, p, 1), np.where(turns, q, 1), np.where(turns, rate, 0.0)


def _second_kind(count: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """U_{count−1} at cos(angle): sin(count · angle)/sin(angle), or ``count`` at angle 0."""
    flat = np.where(angle == 0, 1.0, angle)[..., None]
    values: np.ndarray = np.where(angle[..., None] == 0, count, np.sin(count * flat) / np.sin(flat))
    return values


def best_word(*, kappa_low: float, kappa_high: float, step_size: float, around: int = 3) -> tuple[int, int, float]:
    """(p, q) of the fastest word found, and its rate in float64.

    ``quarter_words`` where it applies, else all words of 1 .. 2 · ``around`` steps of each.
    """
    if kappa_low >= 0 and 0 < kappa_high * step_size**2 < 4:
        low, high, h = (np.array(value) for value in (kappa_low, kappa_high, step_size))
        first, second, fastest = quarter_words(kappa_low=low, kappa_high=high, step_size=h, around=around)
        return int(first), int(second), float(fastest)
    pairs = itertools.product(range(1, 2 * around + 1), repeat=2)
    rates = {
        (p, q): float(
            word_rate(kappa_low=kappa_low, kappa_high=kappa_high, step_size=step_size, low_steps=p, high_steps=q)
        )
        for p, q in pairs
    }
    p, q = max(rates, key=lambda word: rates[word])
    return p, q, rates[p, q]


def duration_rate(*, kappa_low: Any, kappa_high: Any, low_time: Any, high_time: Any, numbers: Numbers = FLOATS) -> Any:
    """The rate per unit effective time, h → 0, of t₁ at κ₋ then t₂ at κ₊, repeated; 0 < κ₋ < κ₊.   thm-J (d)

    arccosh |cos ω₁t₁ cos ω₂t₂ − ½(ω₁/ω₂ + ω₂/ω₁) sin ω₁t₁ sin ω₂t₂| / (t₁ + t₂), ω_i = √κ_i; zero if that is ≤ 1.
    """
    first, second = numbers.sqrt(kappa_low), numbers.sqrt(kappa_high)
    quarter = numbers.pi() / 2
    cosines = numbers.cos(first * low_time) * numbers.cos(second * high_time)
    sines = numbers.cos(first * low_time - quarter) * numbers.cos(second * high_time - quarter)
    half_trace = numbers.absolute(cosines - (first / second + second / first) / 2 * sines)
    return 2 * numbers.asinh(numbers.root_of_positive_part((half_trace - 1) / 2)) / (low_time + high_time)


def quarter_period_rate(*, kappa_low: Any, kappa_high: Any, numbers: Numbers = FLOATS) -> Any:
    """|log(ω₂/ω₁)| / ((π/2)(1/ω₁ + 1/ω₂)): ``duration_rate`` at a quarter period of each.   thm-J (d)

    For κ± = α and α + w with w → 0 it tends to |w| / (2π√α).
    """
    first, second = numbers.sqrt(kappa_low), numbers.sqrt(kappa_high)
    logs = numbers.absolute(numbers.log(kappa_high) - numbers.log(kappa_low)) / 2
    return logs / (numbers.pi() / 2 * (1 / first + 1 / second))


def rate(*, alpha: float, w: float, step_size: float) -> jacobian.Rate:
    """The growth rate of one neuron over all inputs, from both sides, in float64.   thm-J (b)-(f)

    ``lower`` is the best of the two constant inputs and of ``best_word``; ``upper`` that of the best form, or of
    ``switching`` where it is smaller.
    """
    low, high = alpha + min(w, 0.0), alpha + max(w, 0.0)
    form = float(forms.best_form(kappa_low=low, kappa_high=high, step_size=step_size))
    upper = float(jacobian.rate_bound(kappa_low=low, kappa_high=high, form=form, step_size=step_size))
    constants = {
        f"constant κ = {kappa:.4g}": float(jacobian.constant_rate(kappa=kappa, step_size=step_size))
        for kappa in (low, high)
    }
    decided = [
        decides(kappa_low=low, kappa_high=high, step_size=step_size)
        for decides in (jacobian.saddle_decides, jacobian.stiffness_decides)
    ]
    if any(decided):
        because = max(constants, key=lambda name: constants[name])
        return jacobian.Rate(constants[because], constants[because], form, True, because)
    p, q, fastest = best_word(kappa_low=low, kappa_high=high, step_size=step_size)
    upper = min(upper, float(switching.rate_bound(kappa_low=low, kappa_high=high, step_size=step_size)))
    lowers = constants | {f"word ({p}, {q})": fastest}
    because = max(lowers, key=lambda name: lowers[name])
    return jacobian.Rate(lowers[because], upper, form, False, because)
