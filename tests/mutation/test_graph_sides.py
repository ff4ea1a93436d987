"""Both sides of the inequalities about gates and baselines of graphs, where differences have either sign."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import pytest

from odernn.bounds.numbers import BALLS
from tests.verification.claims.both_typings import both_sides, inequality_of
from verification.certify.second.intervals import iv, number
from verification.claim import Case
from verification.claims.complexity import graph_lstm, graph_tables

GATES = [
    (graph_lstm.own_state_case(), {"W_x": "1", "W_h": "1", "h": "1", "x": "0", "x_2": "1"}, ("x", "x_2")),
    (graph_lstm.parallel_case(), {"W": "1", "h(t-1)": "0", "h(t-2)": "1"}, ("h(t-1)", "h(t-2)")),
    (graph_lstm.same_gate_case(graph_lstm.PRINTED, graph_lstm.EVERY), {"W": "1 -1/2", "h": "2 -3"}, ("W", "W")),
    (graph_lstm.same_gate_case(graph_lstm.EVERY, graph_lstm.PRINTED), {"W": "1 -1/2", "h": "2 -3"}, ("W", "W")),
]


@pytest.mark.parametrize(
    ("case", "point", "pair"), GATES, ids=["reads", "parallel", "printed, every", "every, printed"]
)
def test_a_distance_of_gates_is_seen_whichever_is_larger(
    case: Case, point: dict[str, str], pair: tuple[str, str]
) -> None:
    assert case.check is not None
    one, other = pair
    for parameters in (point, point | {one: point[other], other: point[one]}):
        assert [opinion.violated for opinion in case.check(parameters).opinions] == [True, True]


@pytest.mark.parametrize("metric", graph_tables.METRICS, ids=lambda metric: metric.text)
def test_both_typings_of_the_baseline_are_the_same_number(metric: graph_tables.Metric) -> None:
    """share · log 8, in nats or bits."""
    row = graph_tables.printed.COPYING[0]
    inequality = inequality_of(graph_tables.baseline_case(row, next(iter(row.numbers)), metric))
    assert inequality is not None
    _, ball = inequality.balls(SimpleNamespace(low=BALLS.exact(0), share=BALLS.exact(3) / 5))
    _, again = inequality.intervals(SimpleNamespace(low=number("0"), share=number("3/5")))
    wanted = 0.6 * (2.0794415416798357 if metric.unit == "nats" else 3.0)
    assert float(ball.mid()) == pytest.approx(wanted, rel=1e-14)
    assert float(iv.mpf(again).mid) == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize(("b", "c"), [("-2", "3"), ("1", "-1/2"), ("-1/4", "8")])
def test_both_typings_of_the_limit_are_those_of_floats(b: str, c: str) -> None:
    """σ(b)|c| against e^b |c|."""
    inequality = inequality_of(graph_lstm.limit_case())
    assert inequality is not None
    left, right = both_sides(inequality, {"b": b, "c_extra": c})
    bias, size = float(Fraction(b)), abs(float(Fraction(c)))
    assert left == pytest.approx([size / (1 + math.exp(-bias))] * 2, rel=1e-14)
    assert right == pytest.approx([size * math.exp(bias)] * 2, rel=1e-14)
