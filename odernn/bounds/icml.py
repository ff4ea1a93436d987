"""The bounds printed in Rusch, Mishra: UnICORNN (`icml`), ICML 2021, supplement. Natural logarithms."""

from __future__ import annotations

from typing import Any

from odernn.bounds.numbers import FLOATS, Numbers


def _log_growth(alpha: Any, time: Any, numbers: Numbers) -> Any:
    """log(1 + 2 β t_n), β = max(1 + 2α, 4α²)."""
    two, four = numbers.exact(2), numbers.exact(4)
    beta_small = numbers.log(1 + two * alpha)
    beta_large = numbers.log(four) + 2 * numbers.log(alpha)
    log_beta = numbers.maximum(beta_small, beta_large)
    return numbers.log_add_exp(numbers.exact(0), numbers.log(two) + log_beta + numbers.log(time))


def log_position(*, alpha: Any, time: Any, numbers: Numbers = FLOATS) -> Any:
    """log of √((2/α)(1 + 2 β t_n)), the bound on max_i |y_n^{l,i}| for α > 0, t_n = n·dt > 0.   icml S(7)

    ``alpha`` and ``time`` are positive numbers of the namespace (``time`` may be an array of times).
    """
    return (numbers.log(numbers.exact(2)) - numbers.log(alpha) + _log_growth(alpha, time, numbers)) / 2


def log_momentum(*, alpha: Any, time: Any, numbers: Numbers = FLOATS) -> Any:
    """log of √(2 (1 + 2 β t_n)), the bound on max_i |z_n^{l,i}| for α > 0, t_n = n·dt > 0.   icml S(7)"""
    return (numbers.log(numbers.exact(2)) + _log_growth(alpha, time, numbers)) / 2
