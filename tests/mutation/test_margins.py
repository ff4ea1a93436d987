"""Margins of hypotheses at their edges: one that is a little too wide lets a witness certify beside the statement."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from verification.cases.graph_statements import AtGraph
from verification.claim import Hypothesis
from verification.claims.complexity.graph_conditions import ODD
from verification.claims.unicornn import gradient_bounds, jacobian_bounds


def named(hypotheses: Any, text: str) -> Hypothesis:
    (found,) = [each for each in hypotheses if each.text == text]
    return found


def is_met(hypothesis: Hypothesis, **values: Any) -> bool:
    exact = {name: list(map(Fraction, v)) if isinstance(v, list) else Fraction(v) for name, v in values.items()}
    return hypothesis.at(SimpleNamespace(**exact)).holds


def test_a_horizon_of_at_most_one() -> None:
    horizon = gradient_bounds.T_IS_ONE
    for N, dt, holds in (("10", "1/10", True), ("11", "1/10", False), ("1", "1", True), ("5", "1/3", False)):
        assert is_met(horizon, N=N, dt=dt) is holds


@pytest.mark.parametrize(
    ("N", "holds"), [("1", True), ("2", True), ("0", False), ("-1", False), ("3/2", False), ("1/2", False)]
)
def test_whole_numbers_of_steps(N: str, holds: bool) -> None:
    assert is_met(named(jacobian_bounds.CHAIN_PREMISES, "N ≥ 1, a whole number"), N=N) is holds


@pytest.mark.parametrize(
    ("layer", "holds"), [("1", True), ("3", True), ("0", False), ("4", False), ("3/2", False), ("1/2", False)]
)
def test_a_layer_is_one_of_those_there_are(layer: str, holds: bool) -> None:
    assert is_met(named(jacobian_bounds.CHAIN_PREMISES, "1 ≤ l ≤ L, whole"), layer=layer, w=["0", "0", "0"]) is holds


@pytest.mark.parametrize(("w", "holds"), [("-3", True), ("-5/2", True), ("-2", False), ("-3/2", False), ("2", False)])
def test_a_saddle_is_below_minus_alpha(w: str, holds: bool) -> None:
    norms = jacobian_bounds.JacobianForm("exponential")
    saddle = named(jacobian_bounds._same_layer(norms).hypotheses, "w < −α")
    assert is_met(saddle, alpha="2", w=["7", w]) is holds


@pytest.mark.parametrize("m", range(1, 9))
def test_an_odd_period(m: int) -> None:
    first = AtGraph(SimpleNamespace(graph=SimpleNamespace(period=m)), {})
    second = AtGraph(SimpleNamespace(period=m), {})
    assert ODD.second_margin is not None
    assert bool(ODD.margin(first)) is bool(ODD.second_margin(second)) is (m in (3, 5, 7))
