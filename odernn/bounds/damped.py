"""Steps of one damped neuron: the undamped step they are √q times of, their norm, the form P.

Theorem names are those of docs/derivations/damped_oscillators.md. One step of size h that keeps the share q = 1/(1 +
hγ) of its momentum has the Jacobian

    M(k) = [[1 − h²qk, hq], [−hqk, q]] = √q T⁻¹ B(κ) T,      κ = √q k − (1 − √q)²/(h²√q),      T = [[1, 0], [t, √q]]

t = (1 − √q)/h, B the undamped step of ``jacobian``. For 0 < a < 4/h² ‖X‖_P = ‖T X‖_a, P = TᵀQ_a T. Arguments are
numbers of the namespace; floats may be arrays over neurons.
"""

from __future__ import annotations

from typing import Any

from odernn.bounds import jacobian
from odernn.bounds.numbers import FLOATS, Numbers


def tilt(*, kept: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """t = (1 − √q)/h, without cancellation."""
    return (1 - kept) / (1 + numbers.sqrt(kept)) / step_size


def stiffness(*, k: Any, kept: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """κ = √q k − t²/√q of the undamped step.   thm-damp (a)"""
    root_q, t = numbers.sqrt(kept), tilt(kept=kept, step_size=step_size, numbers=numbers)
    return root_q * k - t * t / root_q


def log_rate(*, k_low: Any, k_high: Any, kept: Any, form: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """log of the larger of ‖M(k₋)‖_P, ‖M(k₊)‖_P: no k between does worse.   thm-damp (b)"""
    low, high = (stiffness(k=k, kept=kept, step_size=step_size, numbers=numbers) for k in (k_low, k_high))
    undamped = jacobian.rate_bound(kappa_low=low, kappa_high=high, form=form, step_size=step_size, numbers=numbers)
    return undamped + numbers.log(kept) / 2


def position_weight(*, kept: Any, form: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """m = ‖(1, 0)‖_P, m² = (t − ah/2)² + r_a².   thm-damp (b)"""
    root = jacobian.root(form=form, step_size=step_size, numbers=numbers)
    leaning = tilt(kept=kept, step_size=step_size, numbers=numbers) - form * step_size / 2
    return numbers.sqrt(leaning * leaning + root * root)


def log_extremes(*, kept: Any, form: Any, step_size: Any, numbers: Numbers = FLOATS) -> tuple[Any, Any]:
    """log √λ of the least and the largest eigenvalue λ of P: trace m² + q, determinant q r_a².   thm-damp (b)"""
    m = position_weight(kept=kept, form=form, step_size=step_size, numbers=numbers)
    r = jacobian.root(form=form, step_size=step_size, numbers=numbers)
    trace = m * m + kept
    largest = (trace + numbers.root_of_positive_part(trace * trace - 4 * kept * r * r)) / 2
    log_largest = numbers.log(largest) / 2
    return numbers.log(r) + numbers.log(kept) / 2 - log_largest, log_largest
