"""Margins of hypotheses at their edges: one that is a little too wide lets a witness certify beside the statement."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from tests.verification.claims.both_typings import inequality_of
from verification.cases import chain_ends, ode_states, one_step_norms
from verification.cases.graph_statements import AtGraph
from verification.claim import Hypothesis
from verification.claims.complexity.graph_conditions import ODD
from verification.claims.unicornn import gradient_bounds, jacobian_bounds, ode_bounds

NORMS = jacobian_bounds.JacobianForm("exponential")


def of(case: Any) -> tuple[Hypothesis, ...]:
    inequality = inequality_of(case)
    assert inequality is not None
    return inequality.hypotheses


def named(identifier: str) -> Any:
    """The first case of the claim."""
    return next(claim for claim in ode_bounds.CLAIMS if claim.id == identifier).cases[0]


EDGES: list[tuple[Iterable[Hypothesis], str, list[str], list[str]]] = [
    # of which hypotheses, which one, where it holds, where it does not
    ((gradient_bounds.T_IS_ONE,), "T = N dt ≤ 1", ["N=10 dt=1/10", "N=1 dt=1"], ["N=11 dt=1/10", "N=5 dt=1/3"]),
    (jacobian_bounds.CHAIN_PREMISES, "N ≥ 1, a whole number", ["N=1", "N=2"], ["N=0", "N=-1", "N=3/2", "N=1/2"]),
    (
        jacobian_bounds.CHAIN_PREMISES,
        "1 ≤ l ≤ L, whole",
        ["layer=1 w=0,0,0", "layer=3 w=0,0,0"],
        ["layer=0 w=0,0,0", "layer=4 w=0,0,0", "layer=3/2 w=0,0,0", "layer=1/2 w=0,0,0"],
    ),
    (
        jacobian_bounds._same_layer(NORMS).hypotheses,
        "w < −α",
        ["alpha=2 w=7,-3", "alpha=2 w=7,-5/2"],
        ["alpha=2 w=-7,-2", "alpha=2 w=-7,-3/2", "alpha=2 w=-7,2"],
    ),
    (one_step_norms._NEURON, "α > 0", ["alpha=1/9"], ["alpha=0", "alpha=-1"]),
    (one_step_norms._NEURON, "0 < dt < 1", ["dt=1/9", "dt=8/9"], ["dt=0", "dt=1", "dt=9/8", "dt=-1"]),
    (one_step_norms._NEURON, "0 < σ̂ < 1", ["sigma=1/9", "sigma=8/9"], ["sigma=0", "sigma=1", "sigma=2", "sigma=-1"]),
    (one_step_norms._NEURON, "0 < σ' ≤ 1", ["slope=1/9", "slope=1"], ["slope=0", "slope=9/8", "slope=2", "slope=-1"]),
    (one_step_norms._PARTIAL_PREMISES, "|s| < 1", ["s=0", "s=-8/9", "s=8/9"], ["s=1", "s=-1", "s=9/8", "s=-5/4"]),
    (
        one_step_norms._PARTIAL_PREMISES,
        "sizes are not negative",
        ["y=0 z=0 below=0", "y=1 z=2 below=3"],
        ["y=-1/9 z=2 below=3", "y=1 z=-1/9 below=3", "y=1 z=2 below=-1/9"],
    ),
    (of(one_step_norms.growth_case()), "K ≥ 2", ["K=2", "K=3"], ["K=1", "K=17/9", "K=-3"]),
    (of(one_step_norms.middle_case()), "|w| + α > 0", ["k=1/9"], ["k=0", "k=-1"]),
    (of(one_step_norms.climb_case()), "0 < σ' ≤ 1", ["slope=1/9", "slope=1"], ["slope=0", "slope=9/8", "slope=2"]),
    (of(one_step_norms.climb_case()), "v = ‖V‖_∞ > 0", ["v=1/9"], ["v=0", "v=-1"]),
    (
        chain_ends._RUN_PREMISES,
        "T = N dt, N ≥ 1 a whole number",
        ["N=1 dt=1/3 T=1/3", "N=6 dt=1/3 T=2"],
        ["N=0 dt=1/3 T=0", "N=6 dt=1/3 T=1", "N=3/2 dt=1/3 T=1/2", "N=-3 dt=1/3 T=-1", "N=6 dt=1/3 T=3"],
    ),
    (
        chain_ends._INPUT_PREMISES,
        "T = N dt, N a whole number",
        ["dt=1/3 T=1/3", "dt=1/3 T=2"],
        ["dt=1/3 T=1/2", "dt=1/3 T=0", "dt=1/3 T=-1"],
    ),
    (chain_ends._LIMIT_PREMISES, "α dt² ≤ 4", ["alpha=16 dt=1/2", "alpha=1 dt=2"], ["alpha=17 dt=1/2", "alpha=2 dt=2"]),
    (of(named("sam-C.1-a")), "t ≤ 1", ["t=1", "t=1/9"], ["t=10/9", "t=2"]),
    (of(named("sam-C.1-a")), "t > 0", ["t=1/9"], ["t=0", "t=-1"]),
    ((ode_states.ALPHA_ZERO,), "α = 0", ["alpha=0"], ["alpha=1/9", "alpha=-1/9"]),
]


def is_met(hypothesis: Hypothesis, text: str) -> bool:
    """``text`` has the values by name: "alpha=2 w=7,-3" has a list of two."""
    pairs = (pair.split("=") for pair in text.split())
    exact = {name: [Fraction(word) for word in value.split(",")] for name, value in pairs}
    values = {name: value if name == "w" else value[0] for name, value in exact.items()}
    return hypothesis.at(SimpleNamespace(**values)).holds


@pytest.mark.parametrize(("hypotheses", "text", "inside", "outside"), EDGES, ids=[each[1] for each in EDGES])
def test_a_hypothesis_holds_up_to_its_edge(
    hypotheses: Iterable[Hypothesis], text: str, inside: list[str], outside: list[str]
) -> None:
    (hypothesis,) = [each for each in hypotheses if each.text == text]
    assert all(is_met(hypothesis, point) for point in inside)
    assert not any(is_met(hypothesis, point) for point in outside)


@pytest.mark.parametrize("m", range(1, 9))
def test_an_odd_period(m: int) -> None:
    first = AtGraph(SimpleNamespace(graph=SimpleNamespace(period=m)), {})
    second = AtGraph(SimpleNamespace(period=m), {})
    assert ODD.second_margin is not None
    assert bool(ODD.margin(first)) is bool(ODD.second_margin(second)) is (m in (3, 5, 7))
