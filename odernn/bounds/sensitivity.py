"""The differential equation behind UnICORNN: how far its states and its sensitivities can go, at all times.

Theorem names are those of docs/derivations/sensitivities.md. One layer, zero initial state,

    y' = z,   z' = −[tanh(w ⊙ y + x(t)) + α y],   x = V u + b,   A = w ⊙ y + x,
    y_θ' = z_θ,   z_θ' = −(σ'(A) ⊙ w + α) ⊙ y_θ − σ'(A) ⊙ C,

with C = y_i, u_j or 1 in its i-th entry for θ = w_i, V_ij, b_i and zero elsewhere. All bounds are natural logarithms;
arguments are numbers of the namespace. Time is effective time (dt σ̂(c) → 0), t > 0.
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import numpy as np

from odernn.bounds.numbers import FLOATS, Numbers

Kind: TypeAlias = Literal["w", "V", "b"]
"""The parameters θ of one layer of the differential equation."""


def growth_rate(*, kappa_low: Any, kappa_high: Any, form: Any, numbers: Numbers = FLOATS) -> Any:
    """λ_a = max over κ in {κ₋, κ₊} of |κ − a| / (2√a), per unit time; any a > 0.   thm-C (a)

    d√E_a/dt ≤ λ_a √E_a + |σ'(A) C| for E_a = a |y_θ|² + |z_θ|². With a = α > 0 it is |w| / (2√α).
    """
    distance = numbers.maximum(numbers.absolute(kappa_low - form), numbers.absolute(kappa_high - form))
    return distance / (2 * numbers.sqrt(form))


def best_form(*, kappa_low: Any, kappa_high: Any) -> Any:
    """The a > 0 that makes λ_a smallest: |κ₋| for a deep saddle, where λ = √−κ₋, else (κ₋ + κ₊)/2. Floats.   thm-C (c)

    The smallest positive float if κ₋ = κ₊ = 0, where λ_a → 0 with a.
    """
    low, high = np.broadcast_arrays(np.asarray(kappa_low, dtype=float), np.asarray(kappa_high, dtype=float))
    middle = np.maximum((low + high) / 2, np.finfo(float).tiny)
    return np.where((low < 0) & (high <= -3 * low), -low, middle)[()]


def log_sensitivity(
    *, initial: Any, forcing: Any, kappa_low: Any, kappa_high: Any, form: Any, time: Any, numbers: Numbers = FLOATS
) -> Any:
    """log of ( √E_a(0) + ∫_0^t |σ'(A) C| ds ) e^{λ_a t} ≥ √E_a(t), E_a = a |y_θ|² + |z_θ|², any a > 0.   thm-C (a)

    ``initial`` = √E_a(0), ``forcing`` = the integral, or any upper bound of it, such as ``forcing_bound``; not both
    zero. Then |y_θ| ≤ √(E_a/a) and |z_θ| ≤ √E_a. Neurons are uncoupled: if E_a(0) = 0, or it belongs to neuron i
    alone, κ± are those of neuron i; otherwise take the smallest κ₋ and the largest κ₊ of the layer.
    """
    rate = growth_rate(kappa_low=kappa_low, kappa_high=kappa_high, form=form, numbers=numbers)
    return numbers.log(initial + forcing) + rate * time


def forcing_bound(*, kind: Kind, time: Any, input_bound: Any = 0, numbers: Numbers = FLOATS) -> Any:
    """∫_0^t |C| ds at most: t³/6 for "w", U t for "V" with U ≥ |u_j|, t for "b"; zero initial state.   thm-C (b)"""
    if kind == "w":
        return time * time * time / 6
    if kind == "V":
        return input_bound * time
    if kind == "b":
        return time + numbers.exact(0)
    raise ValueError(f'kind is {kind!r}, but the parameters of the differential equation are "w", "V" and "b".')


def log_component(*, quantity: str, time: Any, numbers: Numbers = FLOATS) -> Any:
    """log of t²/2 ≥ |y_i(t)| ("position") or of t ≥ |z_i(t)| ("momentum"), for every α ≥ 0.   thm-C (b)

    Attained for α = 0 by tanh(A) → −1.
    """
    if quantity == "position":
        return 2 * numbers.log(time) - numbers.log(numbers.exact(2))
    if quantity == "momentum":
        return numbers.log(time)
    raise ValueError(f'Quantity "{quantity}" is not "position" (y) or "momentum" (z).')


def log_energy_root(*, hidden_size: int, time: Any, numbers: Numbers = FLOATS) -> Any:
    """log of t√m ≥ √(α|y|² + |z|²), Euclidean norms over m neurons, α ≥ 0.   thm-C (b)"""
    return numbers.log(time) + numbers.log(numbers.exact(hidden_size)) / 2


def log_direct(*, time: Any, input_bound: Any, numbers: Numbers = FLOATS) -> Any:
    """log of max(t²/2, U, 1) ≥ |C(s)|, s ≤ t, for every θ.   thm-C (b)"""
    largest = numbers.maximum(numbers.maximum(time * time / 2, input_bound), numbers.exact(1))
    return numbers.log(largest)


def log_supremum(*, alpha: float, time: float, quantity: str) -> float:
    """log of sup |y_i(t)| = ∫_0^t |sin √α s| ds/√α or sup |z_i(t)| = ∫_0^t |cos √α s| ds, exact. Float64.   thm-C (d)

    Over all drives x(t); the limit h → 0 of thm-S. α = 0: t²/2 and t.
    """
    phase = math.sqrt(alpha) * time
    if phase < 1e-8:  # the factor is 1 − O(phase²)
        return float(log_component(quantity=quantity, time=time))
    if quantity == "position":
        return math.log(_sine_area(phase)) - math.log(alpha)
    rest = phase - math.pi / 2
    return math.log(math.sin(phase) if rest < 0 else 1 + _sine_area(rest)) - math.log(alpha) / 2


def _sine_area(x: float) -> float:
    """∫_0^x |sin|, x ≥ 0: two for each half-wave."""
    whole = math.floor(x / math.pi)
    return 2 * whole + 2 * math.sin((x - whole * math.pi) / 2) ** 2
