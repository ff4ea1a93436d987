"""The library's own state bounds for UnICORNN: exact suprema, the invariant form, and a limit uniform in dt.

Theorem names are those of docs/derivations/state_bounds.md, which has the proofs. One neuron,
s_n = tanh(w y_{n-1} + x_n), z_n = z_{n-1} − h (s_n + α y_{n-1}), y_n = y_{n-1} + h z_n, zero initial state; h =
dt·σ̂(c) is the *effective* step. Every bound holds for all weights, all inputs and every layer, because it uses
|s_n| ≤ 1 only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from odernn.bounds.numbers import FLOATS, Numbers


def _response_sums(alpha: Any, step_size: Any, steps: int, numbers: Numbers) -> Iterator[tuple[Any, Any, Any]]:
    """For n = 1..steps: Σ_{j≤n} |p_j|, Σ_{j≤n} |q_j| and the logarithm of the factor taken out of both.

    (p_j, q_j)ᵀ = B(α)^j e_z is the response of the free oscillator to a unit kick: p_j = h U_{j-1},
    q_j = U_{j-1} − U_{j-2}. Stepped by the recursion itself, which widens balls by exp(2 asinh(h√α/2)) a step; the
    three-term recursion of U_j widens them by 2.41 whatever h is, and h√α is small in almost every use.
    """
    trace = 2 - alpha * step_size * step_size
    zero = 0 * trace
    growth = numbers.growth(trace)
    log_growth = numbers.log(growth + zero)
    if isinstance(trace, float):
        growth = float(growth)  # a loop over Python's floats is quicker than one over numpy's
    position, momentum = zero, 1 + zero
    position_sum, momentum_sum = zero, zero
    for n in range(1, steps + 1):
        momentum = (momentum - step_size * alpha * position) / growth
        position = position / growth + step_size * momentum
        position_sum = position_sum / growth + abs(position)
        momentum_sum = momentum_sum / growth + abs(momentum)
        yield position_sum, momentum_sum, log_growth * n


def log_supremum(*, alpha: Any, step_size: Any, steps: int, quantity: str, numbers: Numbers = FLOATS) -> list[Any]:
    """Logs of sup |y_n| (``quantity="position"``) or sup |z_n| ("momentum") for n = 1..steps.   thm-S

    sup |y_n| = h² Σ_{j≤n} |U_{j-1}(1 − αh²/2)|,   sup |z_n| = h Σ_{j≤n} |U_{j-1} − U_{j-2}|,   α ≥ 0, h > 0,
    U_j the Chebyshev polynomials of the second kind. Exact: approached by a first-layer neuron with free inputs.
    ``alpha`` and ``step_size`` are numbers of the namespace; floats may be arrays over neurons.
    """
    index = _index(quantity)
    log_step = numbers.log(step_size)
    if numbers is not FLOATS:
        sums = _response_sums(alpha, step_size, steps, numbers)
        return [log_step + numbers.log(both[index]) + log_scale for *both, log_scale in sums]
    shape = np.broadcast_shapes(np.shape(alpha), np.shape(step_size))
    if math.prod(shape) == 1:
        alpha, step_size = float(np.reshape(alpha, ())), float(np.reshape(step_size, ()))
    both_and_scale = list(_response_sums(alpha, step_size, steps, numbers))
    totals, scales = (np.array([row[i] for row in both_and_scale]).reshape(steps, *shape) for i in (index, 2))
    return list(log_step + np.log(totals) + scales)


def log_supremum_at(*, alpha: Any, step_size: Any, steps: int, quantity: str, numbers: Numbers = FLOATS) -> Any:
    """The last entry of ``log_supremum`` (steps ≥ 1), with one logarithm instead of ``steps``.   thm-S"""
    index = _index(quantity)
    for *both, log_scale in _response_sums(alpha, step_size, steps, numbers):
        last = both[index], log_scale
    return numbers.log(step_size) + numbers.log(last[0]) + last[1]


def log_suprema_at(*, alpha: Any, step_size: Any, steps: int, numbers: Numbers = FLOATS) -> tuple[Any, Any]:
    """Logs of sup |y_N| and of sup |z_N|, N = ``steps`` ≥ 1, in one sweep.   thm-S"""
    for *both, log_scale in _response_sums(alpha, step_size, steps, numbers):
        last = both, log_scale
    (position, momentum), log_scale = last
    scale = numbers.log(step_size) + log_scale
    return numbers.log(position) + scale, numbers.log(momentum) + scale


def _index(quantity: str) -> int:
    """0 for the position y, 1 for the momentum z."""
    try:
        return ("position", "momentum").index(quantity)
    except ValueError:
        raise ValueError(f'Quantity "{quantity}" is not "position" (y) or "momentum" (z).') from None


def log_invariant_bound(*, alpha: Any, step_size: Any, step: Any, quantity: str, numbers: Numbers = FLOATS) -> Any:
    """log of n h / r_α for |y_n|, of n h / √(1 − αh²/4) for |z_n|; r_α = √(α(1 − αh²/4)), 0 < αh² < 4.   thm-S (Q form)

    From Q_α(X_n) ≤ (nh)², Q_α(y, z) = αy² + z² − αhyz invariant. Increasing in h on 0 < h < 2/√α, hence a bound for
    every effective step up to ``step_size``. For α = 0 use ``log_undamped_supremum``. ``step`` is n ≥ 1, a number of
    the namespace (an array for floats).
    """
    sine_squared = 1 - alpha * step_size * step_size / 4
    log_bound = numbers.log(step) + numbers.log(step_size) - numbers.log(sine_squared) / 2
    return log_bound - numbers.log(alpha) / 2 if _index(quantity) == 0 else log_bound


def log_undamped_supremum(*, step_size: Any, step: Any, quantity: str, numbers: Numbers = FLOATS) -> Any:
    """α = 0: log of h² n(n+1)/2 for sup |y_n|, of n h for sup |z_n|; increasing in h.   thm-S (α = 0)"""
    if _index(quantity) == 0:
        return 2 * numbers.log(step_size) + numbers.log(step) + numbers.log(step + 1) - numbers.log(numbers.exact(2))
    return numbers.log(step) + numbers.log(step_size)


SQUARE_ROOT_RANGE = 1.2564312086261697
"""x₀, the positive root of e^x = 1 + 2x.   thm-S'"""


def square_root_margin(*, alpha: Any, time: Any, numbers: Numbers = FLOATS) -> Any:
    """(1 + 2x) e^{−x} − 1 at x = β t_n, β = max(1 + 2α, 4α²): where it is ≥ 0, √(1 + 2βt_n) bounds the states.   thm-S'

    That is for x ≤ x₀ = 1.2564…; then |y_n| ≤ √((2/α)(1 + 2βt_n)) and |z_n| ≤ √(2(1 + 2βt_n)), α > 0, 0 < dt < 1,
    t_n = n·dt, the formulas of ``icml.log_position`` and ``icml.log_momentum``. Sufficient only: for given α, h and n
    ``log_supremum`` decides.
    """
    x = numbers.maximum(1 + 2 * alpha, 4 * alpha * alpha) * time
    return numbers.exp(-x) * (1 + 2 * x) - 1


def log_exponential_bound(*, alpha: Any, time: Any, quantity: str, numbers: Numbers = FLOATS) -> Any:
    """log of √(2/α) e^{βt_n/2} for |y_n|, of √2 e^{βt_n/2} for |z_n|; β = max(1 + 2α, 4α²), 0 < dt < 1.   thm-S-exp

    α > 0, t_n = n·dt, all weights, inputs and layers: what the energy inequality of thm-S' gives without a range.
    """
    beta = numbers.maximum(1 + 2 * alpha, 4 * alpha * alpha)
    log_bound = (numbers.log(numbers.exact(2)) + beta * time) / 2
    return log_bound - numbers.log(alpha) / 2 if _index(quantity) == 0 else log_bound


def uniform_lower_bound(
    *, alpha: Any, horizon: Any, dt: Any, sigma: Any, amplitude: Any, quantity: str, numbers: Numbers
) -> Any:
    """A lower bound on |y_N| or |z_N| that holds for **every** step T/N ≤ dt: the limit dt → 0 with an error.
    thm-S-limit

    One neuron with w = 0, σ̂(c) = σ, driven by the fixed square wave x(t) = −A sgn sin √α(T' − σt) for the position
    (cos for the momentum), T' = σT, sampled at t_n = n·T/N. With h = σ·dt, αh² ≤ 4, ρ = 1 + αh²/7, θ = ρh√α,
    δ = √α T'(ρ − 1) + θ and I(X) = ∫_0^X |sin|, for all N ≥ T/dt

        |y_N| ≥ tanh(A)/(αρ)  · [ I(√αT') − √αT'ρ(θ/2 + 2δ) ],
        |z_N| ≥ tanh(A)/(√αρ) · [ I(√αT' + π/2) − 1 − √αT'ρ(θ/2 + 2δ) ].

    Returned as it is, not as a logarithm: it may be negative, and then says nothing. α > 0.
    """
    step_size = sigma * dt
    root = numbers.sqrt(alpha)
    phase = root * sigma * horizon  # √α T'
    stretch = 1 + alpha * step_size * step_size / 7
    angle = stretch * step_size * root
    slip = phase * (stretch - 1) + angle
    loss = phase * stretch * (angle / 2 + 2 * slip)
    if _index(quantity) == 0:
        return numbers.tanh(amplitude) / (alpha * stretch) * (_sine_integral(phase, numbers) - loss)
    area = _sine_integral(phase + numbers.pi() / 2, numbers) - 1
    return numbers.tanh(amplitude) / (root * stretch) * (area - loss)


def _sine_integral(x: Any, numbers: Numbers) -> Any:
    """A lower bound on ∫_0^x |sin|, sharp unless x is within a ball's radius of a multiple of π: 2k + 1 − cos(x − kπ).

    Valid for every integer k with kπ ≤ x, since ∫_0^s |sin| ≥ 1 − cos s for s ≥ 0.
    """
    k = int(float(x / numbers.pi()))
    while k > 0 and not x - k * numbers.pi() >= 0:
        k -= 1
    return 2 * k + 1 - numbers.cos(x - k * numbers.pi())
