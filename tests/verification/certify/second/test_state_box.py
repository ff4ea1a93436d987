"""The second proof over a printed row: the same answer as asking one n after the other in floats."""

from __future__ import annotations

import math
from typing import Any

import pytest

from verification.certify.second.state_box import is_below

POSITIVE = ("α > 0", lambda s: s.alpha, True)


def theorem(alpha: float, h: float, n: int, quantity: str) -> float:
    """thm-S, the invariant form or the undamped supremum, in floats."""
    if alpha == 0:
        return h * h * n * (n + 1) / 2 if quantity == "position" else n * h
    root = math.sqrt(1 - alpha * h * h / 4)
    return n * h / (root * math.sqrt(alpha) if quantity == "position" else root)


def asked(bound: Any, *, alpha: str = "1/4", dts: tuple[str, ...] = ("1/10",), **changes: Any) -> bool:
    given = {"steps": 50, "hidden_size": 1, "quantity": "position", "norm": "max", "premises": ()} | changes
    return is_below(alpha, dts, bound=bound, **given)


@pytest.mark.parametrize("quantity", ["position", "momentum"])
@pytest.mark.parametrize("norm", ["max", "euclidean"])
@pytest.mark.parametrize(("alpha", "dt"), [("0", "1/10"), ("1/4", "1/10"), ("9", "1/2")])
@pytest.mark.parametrize("power", [0, 1, 2])
def test_a_bound_is_below_where_it_is_for_every_step(quantity: str, norm: str, alpha: str, dt: str, power: int) -> None:
    """factor · n^power, with the least factor that serves all n, and a little less."""
    a, h = (float(eval(text)) for text in (alpha, dt))
    wide = 2.0 if norm == "euclidean" else 1.0
    least = max(wide * theorem(a, h, n, quantity) / n**power for n in range(1, 51))
    for factor, is_proved in ((1.001, True), (0.999, False)):

        def bound(s: Any, iv: Any, factor: float = factor) -> Any:
            return iv.log(iv.mpf(least * factor)) + power * iv.log(s.step)

        assert asked(bound, alpha=alpha, dts=(dt,), quantity=quantity, norm=norm, hidden_size=4) == is_proved


def test_every_premise_is_asked_of_every_layer_and_must_be_typed() -> None:
    wide = lambda s, iv: iv.mpf(100)  # noqa: E731
    assert asked(wide, premises=[POSITIVE])
    assert not asked(wide, alpha="0", premises=[POSITIVE])
    assert not asked(wide, premises=[("α > 0", None, True)])
    small = ("dt < 1/2", lambda s: 1 - 2 * s.dt, True)
    assert asked(wide, dts=("1/4", "1/10"), premises=[small])
    assert not asked(wide, dts=("9/10", "1/10"), premises=[small])
    late = ("n < N", lambda s: s.steps - s.step, True)  # fails at the last step
    assert not asked(wide, premises=[late])


@pytest.mark.parametrize(
    "bound",
    [
        lambda s, iv: 20 * iv.log(s.step_sizes[0]) + 100,
        lambda s, iv: iv.mpf(sum(range(s.step))),
        lambda s, iv: iv.log(-s.time),
    ],
)
def test_a_bound_that_asks_for_more_than_the_row_gives_is_not_proved(bound: Any) -> None:
    assert not asked(bound)


def test_no_theorem_is_used_beyond_its_hypothesis() -> None:
    assert not asked(lambda s, iv: iv.mpf(10**6), alpha="400", dts=("1/10",))  # α h² = 4
    assert asked(lambda s, iv: iv.mpf(10**6), alpha="399", dts=("1/10",))
