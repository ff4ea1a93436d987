"""The second back-end of a proof over a printed row: thm-S ≤ bound for every n ≤ N and every effective step h ≤ dt.

    α = 0: |y_n| ≤ h² n(n+1)/2, |z_n| ≤ n h        0 < αh² < 4: |y_n| ≤ n h/√(α(1 − αh²/4)), |z_n| ≤ n h/√(1 − αh²/4)

Typed again from docs/derivations/state_bounds.md for intervals. The first back-end asks one n after the other; here n
is an interval, and is halved where the two sides still overlap: the left side increases with n and with h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from verification.certify.second.intervals import Premise, iv, number, premises_at

BITS = 160
MOST_BLOCKS = 20_000


def is_below(
    alpha: str,
    dts: Sequence[str],
    *,
    steps: int,
    hidden_size: int,
    quantity: str,
    norm: str,
    bound: Callable[[Any, Any], Any],
    premises: Sequence[Premise],
) -> bool:
    """Whether it is proved for the last layer of those with these ``dts``, and every premise for each of them.

    False where a premise or the bound cannot be evaluated over an interval of n, or without the effective steps.
    """
    with iv.workprec(BITS):
        try:
            layers = [number(dt) for dt in dts]
            return _is_below(number(alpha), layers, steps, hidden_size, quantity, norm, bound, premises)
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            return False


def _is_below(
    alpha: Any,
    dts: Sequence[Any],
    steps: int,
    hidden_size: int,
    quantity: str,
    norm: str,
    bound: Callable[[Any, Any], Any],
    premises: Sequence[Premise],
) -> bool:
    def setting(dt: Any, first: int, last: int) -> Any:
        n = iv.mpf([first, last])
        return SimpleNamespace(
            alpha=alpha,
            dt=dt,
            step=n,
            steps=steps,
            hidden_size=hidden_size,
            step_sizes=None,
            time=n * dt,
            horizon=steps * dt,
        )

    if not all(proved for *_, proved in premises_at([setting(dt, 1, steps) for dt in dts], premises)):
        return False
    wide = iv.log(iv.mpf(hidden_size)) / 2 if norm == "euclidean" else iv.mpf(0)
    open_blocks, asked = [(1, steps)], 0
    while open_blocks:
        first, last = open_blocks.pop()
        asked += 1
        if (_log_theorem(alpha, dts[-1], last, quantity) + wide).b <= iv.mpf(
            bound(setting(dts[-1], first, last), iv)
        ).a:
            continue
        if first == last or asked > MOST_BLOCKS:
            return False
        middle = (first + last) // 2
        open_blocks += [(middle + 1, last), (first, middle)]
    return True


def _log_theorem(alpha: Any, h: Any, n: int, quantity: str) -> Any:
    """log of thm-S's left side at the largest h and n; ValueError unless αh² < 4."""
    if alpha.b == 0:
        return iv.log(h * h * (n * (n + 1)) / 2 if quantity == "position" else n * h)
    under = 4 - alpha * h * h
    if not (alpha.a > 0 and under.a > 0):
        raise ValueError("α h² is not proved to lie between 0 and 4")
    squared = 4 * (n * h) ** 2 / under
    return iv.log(squared / alpha if quantity == "position" else squared) / 2
