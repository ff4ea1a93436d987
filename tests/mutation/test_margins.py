"""Margins of hypotheses at their edges: one that is a little too wide lets a witness certify beside the statement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from tests.verification.claims.both_typings import inequality_of
from verification.cases import (
    chain_ends,
    chain_gradients,
    chain_jacobians,
    ode_states,
    one_step_norms,
    rest_sensitivities,
)
from verification.cases.graph_statements import AtGraph
from verification.claim import Hypothesis
from verification.claims.complexity import graph_lstm
from verification.claims.complexity.graph_conditions import ODD
from verification.claims.unicornn import (
    gradient_bounds,
    jacobian_bounds,
    ode_bounds,
    one_error,
    proof_steps,
    sensitivities,
)
from verification.measure import gradient_forms
from verification.registry import Registry

NORMS = chain_jacobians.JacobianForm("exponential")


def of(case: Any) -> tuple[Hypothesis, ...]:
    inequality = inequality_of(case)
    assert inequality is not None
    return inequality.hypotheses


def named(identifier: str) -> Any:
    """The first case of the claim."""
    return next(claim for claim in ode_bounds.CLAIMS if claim.id == identifier).cases[0]


EDGES: list[tuple[Iterable[Hypothesis], str, list[str], list[str]]] = [
    # of which hypotheses, which one, where it holds, where it does not
    ((gradient_bounds.T_AT_MOST_ONE,), "T = N dt ≤ 1", ["N=10 dt=1/10", "N=1 dt=1"], ["N=11 dt=1/10", "N=5 dt=1/3"]),
    (chain_jacobians.CHAIN_PREMISES, "N ≥ 1, a whole number", ["N=1", "N=2"], ["N=0", "N=-1", "N=3/2", "N=1/2"]),
    (
        chain_jacobians.CHAIN_PREMISES,
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
    (
        jacobian_bounds._one_layer_up(NORMS).hypotheses,
        "L = 2, l = 1",
        ["w=-2,-2 layer=1"],
        ["w=-2 layer=1", "w=-2,-2,-2 layer=1", "w=-2,-2,-2,-2 layer=1", "w=-2,-2 layer=2", "w=-2,-2 layer=1/2"],
    ),
    (
        jacobian_bounds._one_layer_up(NORMS).hypotheses,
        "w = −α, so that κ = 0",
        ["alpha=2 w=-2,-2"],
        ["alpha=2 w=2,2", "alpha=2 w=-2,-1", "alpha=2 w=-3,-2", "alpha=2 w=-4,-4"],
    ),
    (one_step_norms._NEURON, "α > 0", ["alpha=1/9"], ["alpha=0", "alpha=-1"]),
    (one_step_norms._NEURON, "0 < dt < 1", ["dt=1/9", "dt=8/9"], ["dt=0", "dt=1", "dt=9/8", "dt=-1"]),
    (one_step_norms._NEURON, "0 < σ̂ < 1", ["sigma=1/9", "sigma=8/9"], ["sigma=0", "sigma=1", "sigma=2", "sigma=-1"]),
    (one_step_norms._NEURON, "0 < σ' ≤ 1", ["slope=1/9", "slope=1"], ["slope=0", "slope=9/8", "slope=2", "slope=-1"]),
    (one_step_norms.PARTIAL_PREMISES, "|s| < 1", ["s=0", "s=-8/9", "s=8/9"], ["s=1", "s=-1", "s=9/8", "s=-5/4"]),
    (
        one_step_norms.PARTIAL_PREMISES,
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
    ((chain_ends._HALF_STEP,), "0 < dt < 1/2", ["dt=1/9", "dt=4/9"], ["dt=0", "dt=1/2", "dt=-1/9", "dt=2/3", "dt=2"]),
    (
        one_error._for_smaller_steps(gradient_forms.ICML_43).hypotheses,
        "w^1 < −α",
        ["alpha=2 w=-3", "alpha=2 w=-17/8"],
        ["alpha=2 w=-2", "alpha=2 w=-3/2", "alpha=2 w=1", "alpha=2 w=3"],
    ),
    (chain_ends._LIMIT_PREMISES, "α dt² ≤ 4", ["alpha=16 dt=1/2", "alpha=1 dt=2"], ["alpha=17 dt=1/2", "alpha=2 dt=2"]),
    (of(named("sam-C.1-a")), "t ≤ 1", ["t=1", "t=1/9"], ["t=10/9", "t=2"]),
    (of(named("sam-C.1-a")), "t > 0", ["t=1/9"], ["t=0", "t=-1"]),
    ((ode_states.ALPHA_ZERO,), "α = 0", ["alpha=0"], ["alpha=1/9", "alpha=-1/9"]),
    (
        of(ode_bounds.forcing_case()),
        "|u|² < c",
        ["c=1 u=0", "c=9/8 u=-1", "c=1/9 u=1/4"],
        ["c=1 u=1", "c=1 u=-3/2", "c=0 u=0"],
    ),
    (of(ode_bounds.forcing_case()), "0 < t ≤ 1", ["t=1", "t=1/9"], ["t=10/9", "t=0", "t=-1"]),
    (
        of(sensitivities.kick_case()),
        "κ > 0",
        ["alpha=1 w=-1 slopes=1/2,8/9", "alpha=1 w=2 slopes=1,1/2"],
        ["alpha=1 w=-1 slopes=1/2,1", "alpha=1 w=-2 slopes=1/2,1/4", "alpha=1 w=-2 slopes=1/9,8/9"],
    ),
    (
        of(sensitivities.kick_case()),
        "slopes in (0, 1]",
        ["slopes=1,1/9", "slopes=1,1"],
        ["slopes=0,1", "slopes=1/2,9/8", "slopes=-1/9,1/2"],
    ),
    (
        of(rest_sensitivities.saturation_case(most=2)),
        "|b| ≤ 2",
        ["b=2", "b=-2", "b=0"],
        ["b=9/4", "b=-9/4", "b=3", "b=-5"],
    ),
    (
        of(rest_sensitivities.fading_case()),
        "α + w > 0",
        ["alpha=1 w=-8/9", "alpha=1 w=2"],
        ["alpha=1 w=-1", "alpha=1 w=-3/2", "alpha=3 w=-4"],
    ),
    (
        of(rest_sensitivities.fading_case()),
        "slopes in (0, 1]",
        ["slopes=1,1/9", "slopes=1,1"],
        ["slopes=0,1", "slopes=1/2,9/8", "slopes=-1/9,1/2"],
    ),
    (
        of(rest_sensitivities.fading_case(least=Fraction(1, 10))),
        "slopes ≥ 1/10",
        ["slopes=1/10,1", "slopes=1,1/2"],
        ["slopes=1/11,1", "slopes=1,1/12", "slopes=1,1/20"],
    ),
    (
        chain_gradients.uniform(gradient_forms.ICML_MAIN, "b").hypotheses,
        "w^1 < −α",
        ["alpha=2 w=-3", "alpha=2 w=-5/2"],
        ["alpha=2 w=-2", "alpha=2 w=-3/2", "alpha=2 w=2", "alpha=2 w=-1"],
    ),
    (
        of(graph_lstm.contains_case("h = o c", "h = o tanh(c)")),
        "the extra forget gates are 0",
        ["f_extra=0"],
        ["f_extra=1/9", "f_extra=-1/9"],
    ),
    (
        proof_steps._POWER_PREMISES,
        "0 < dt = T/N < 1",
        ["T=1 N=2", "T=1/9 N=1", "T=8/9 N=1"],
        ["T=1 N=1", "T=2 N=1", "T=0 N=2", "T=-1 N=2", "T=9/8 N=1"],
    ),
    (
        of(proof_steps.power_case(Fraction(3))),
        "βT ≤ 3",
        ["alpha=1 T=3/4", "alpha=1/4 T=2", "alpha=1/2 T=3/2", "alpha=2 T=3/16"],
        ["alpha=1 T=7/8", "alpha=1/4 T=17/8", "alpha=1/2 T=7/4", "alpha=2 T=1/4"],
    ),
]

STATES: list[tuple[str, str, list[str], list[str]]] = [
    # of which bound on states, which hypothesis, where it holds, where it does not
    ("sam-D.1-a", "α > 0", ["alpha=1/9"], ["alpha=0", "alpha=-1"]),
    ("sam-D.1-a", "dt < 1", ["dt=8/9", "dt=1/9"], ["dt=1", "dt=9/8", "dt=3/2"]),
    ("sam-D.1-b", "α = 0", ["alpha=0"], ["alpha=1/9", "alpha=-1/9"]),
    ("sam-D.1-b", "dt < 1/2", ["dt=4/9", "dt=1/9"], ["dt=1/2", "dt=5/9", "dt=3/4", "dt=1"]),
    (
        "thm-S-Q",
        "α dt² < 4 (so αh² < 4)",
        ["alpha=15 dt=1/2", "alpha=1/9 dt=5", "alpha=35/9 dt=1"],
        ["alpha=16 dt=1/2", "alpha=1/9 dt=6", "alpha=4 dt=1", "alpha=9 dt=2/3", "alpha=17 dt=1/2"],
    ),
]


@pytest.mark.parametrize(("claim", "text", "inside", "outside"), STATES)
def test_both_margins_of_a_bound_on_states_hold_up_to_its_edge(
    claim: str, text: str, inside: list[str], outside: list[str]
) -> None:
    bound = Registry().get(claim).claim.state_bound
    assert bound is not None
    (hypothesis,) = [each for each in bound.hypotheses if each.text == text]
    assert hypothesis.second_margin is not None
    for point, expected in [*((point, True) for point in inside), *((point, False) for point in outside)]:
        assert is_met(hypothesis, point) is expected, point
        assert is_met(replace(hypothesis, margin=hypothesis.second_margin), point) is expected, point


def is_met(hypothesis: Hypothesis, text: str, lists: Sequence[str] = ()) -> bool:
    """``text`` has the values by name: "alpha=2 w=7,-3" has a list of two."""
    pairs = (pair.split("=") for pair in text.split())
    exact = {name: [Fraction(word) for word in value.split(",")] for name, value in pairs}
    values = {name: value if len(value) > 1 or name in lists else value[0] for name, value in exact.items()}
    return hypothesis.at(SimpleNamespace(**values)).holds


@pytest.mark.parametrize(("hypotheses", "text", "inside", "outside"), EDGES, ids=[each[1] for each in EDGES])
def test_a_hypothesis_holds_up_to_its_edge(
    hypotheses: Iterable[Hypothesis], text: str, inside: list[str], outside: list[str]
) -> None:
    (hypothesis,) = [each for each in hypotheses if each.text == text]
    lists = () if text in ("κ > 0", "α + w > 0") else ("w",)
    assert all(is_met(hypothesis, point, lists) for point in inside)
    assert not any(is_met(hypothesis, point, lists) for point in outside)


@pytest.mark.parametrize("m", range(1, 9))
def test_an_odd_period(m: int) -> None:
    first = AtGraph(SimpleNamespace(graph=SimpleNamespace(period=m)), {})
    second = AtGraph(SimpleNamespace(period=m), {})
    assert ODD.second_margin is not None
    assert bool(ODD.margin(first)) is bool(ODD.second_margin(second)) is (m in (3, 5, 7))
