"""The bounds printed in Rusch, Mishra: UnICORNN (`sam`), SAM research report 2021-10. Natural logarithms."""

from __future__ import annotations

from typing import Any

from odernn.bounds.numbers import FLOATS, Numbers


def _log_energy(alpha: Any, dt: Any, horizon: Any, hidden_size: int, numbers: Numbers) -> Any:
    """log of 2 m T (1 + 2 α dt³) e^{ᾱT}, ᾱ = 96^{1/4} max(1, √α): the bound on |z_n|², and α times that on |y_n|²."""
    two = numbers.exact(2)
    rate = numbers.sqrt(numbers.sqrt(numbers.exact(96))) * numbers.maximum(numbers.exact(1), numbers.sqrt(alpha))
    step_term = numbers.log_add_exp(numbers.exact(0), numbers.log(two) + numbers.log(alpha) + 3 * numbers.log(dt))
    return numbers.log(two * hidden_size) + numbers.log(horizon) + step_term + rate * horizon


def log_position(*, alpha: Any, dt: Any, horizon: Any, hidden_size: int, numbers: Numbers = FLOATS) -> Any:
    """log of √((2mT/α)(1 + 2α dt³) e^{ᾱT}), the bound on ‖y_n^l‖₂ for α > 0, 0 < dt < 1, T = N·dt, n ≤ N.   sam (32)"""
    return (_log_energy(alpha, dt, horizon, hidden_size, numbers) - numbers.log(alpha)) / 2


def log_momentum(*, alpha: Any, dt: Any, horizon: Any, hidden_size: int, numbers: Numbers = FLOATS) -> Any:
    """log of √(2mT(1 + 2α dt³) e^{ᾱT}), the bound on ‖z_n^l‖₂ for α > 0, 0 < dt < 1, T = N·dt, n ≤ N.   sam (32)"""
    return _log_energy(alpha, dt, horizon, hidden_size, numbers) / 2


def log_position_undamped(*, horizon: Any, hidden_size: int, numbers: Numbers = FLOATS) -> Any:
    """log of √(2mT e^{2T}), the bound on ‖y_n^l‖₂ for α = 0, 0 < dt < 1/2, T = N·dt, n ≤ N.   sam (33)"""
    return (numbers.log(numbers.exact(2 * hidden_size)) + numbers.log(horizon)) / 2 + horizon
