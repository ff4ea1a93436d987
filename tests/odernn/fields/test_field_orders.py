"""On every field of the library, implicit methods have their order and the gradient of a converged iteration."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from torch import Tensor

from odernn import fields, tableaus
from odernn.fields.field import Field, State
from odernn.integrators import prepared
from odernn.tableaus.families import PolynomialTableau
from odernn.tableaus.tableau import ButcherTableau
from tests.odernn.fields.test_fields import RIGHT_HAND_SIDES, make
from tests.odernn.integrators.stepping import F64, normal
from tests.tiers import spread

HIDDEN = 2
SPAN = 6.0  # the end time times the Lipschitz constant of the field, so that equally many steps suit all fields
SLACK = 0.25
REFERENCE = 1e-13  # relative tolerance of the reference solutions
FLOOR = 50 * REFERENCE  # every error that a slope is taken of must be above
STEPS = {2: (14, 22), 3: (16, 26), 4: (12, 18), 5: (12, 18), 6: (10, 15)}
"""By order: so many steps that the order shows, and so few that the errors stay above the floor."""
METHODS = ("gauss 1", "gauss 2", "gauss 3", "radau iia 2", "radau iia 3")
CLOCKS = ("moving drive", "constant drive")


@functools.cache
def field_of(name: str) -> Field:
    return make(name, hidden=HIDDEN)


@functools.cache
def end_of(name: str) -> float:
    return SPAN / field_of(name).constants().lipschitz


@functools.cache
def start_of(name: str) -> np.ndarray:
    """Two samples, the blocks side by side."""
    return normal(2, HIDDEN * len(field_of(name).blocks), seed=3, scale=0.7).numpy()


def drive_at(name: str, clock: str, t: float) -> np.ndarray:
    """Component i is ½ sin(3 (1 + i/4) t/end + i): smooth, moves by about its size, none is the multiple of another."""
    i = np.arange(field_of(name).drive_size)
    return 0.5 * np.sin(3 * (1 + i / 4) * (t / end_of(name) if clock == "moving drive" else 0.0) + i)


@functools.cache
def reference(name: str, clock: str) -> np.ndarray:
    """The flow by DOP853, with the right-hand side once more in Python numbers."""
    weights = {key: value.numpy() for key, value in field_of(name).tensors().items()}
    numbers = {key: value for key, value in vars(field_of(name)).items() if isinstance(value, float)}

    def book(t: float, x: np.ndarray) -> np.ndarray:
        blocks = np.split(x, len(field_of(name).blocks))
        return np.concatenate(RIGHT_HAND_SIDES[name]({**weights, **numbers}, *blocks, drive_at(name, clock, t)))

    found = [
        solve_ivp(book, (0, end_of(name)), start, method="DOP853", rtol=REFERENCE, atol=REFERENCE)
        for start in start_of(name)
    ]
    assert all(solution.success for solution in found)
    return np.array([solution.y[:, -1] for solution in found])


@torch.no_grad()
def error(
    method: ButcherTableau | PolynomialTableau,
    name: str,
    clock: str,
    steps: int,
    *,
    nodes: tuple[float, ...] | None = None,
) -> float:
    """‖x(end) − x_steps‖ with the drive at the stage times, or at other ``nodes``; a constant one is held."""
    h = end_of(name) / steps
    step = prepared(method, field_of(name), h)
    state: State = torch.tensor(start_of(name)).chunk(len(field_of(name).blocks), -1)
    for n in range(steps):
        times = [(n + c) * h for c in nodes or step.stage_times]
        drives = [torch.tensor(drive_at(name, clock, t)) for t in times]
        report = step(state, drives if clock == "moving drive" else drives[0])
        assert report.converged.all()
        state = report.state
    return float(np.linalg.norm(torch.cat(state, -1).numpy() - reference(name, clock)))


def slope(method: ButcherTableau | PolynomialTableau, name: str, clock: str, order: int, **options) -> float:
    errors = [error(method, name, clock, steps, **options) for steps in STEPS[order]]
    assert min(errors) > FLOOR
    return float(np.polyfit(-np.log(STEPS[order]), np.log(errors), 1)[0])


ORDERS = [(method, name, clock) for method in METHODS for name in fields.names() for clock in CLOCKS]
GRADIENTS = [(method, name) for method in METHODS for name in fields.names()]


@pytest.mark.parametrize(("method", "name", "clock"), spread(ORDERS, 7))
def test_the_error_falls_with_the_order_on_every_field(method: str, name: str, clock: str):
    tableau = tableaus.get(method)
    assert slope(tableau, name, clock, tableau.order) == pytest.approx(tableau.order, abs=SLACK)


@pytest.mark.parametrize("name", spread(fields.names(), 3))
def test_a_drive_sampled_at_other_times_costs_the_order_on_every_field(name: str):
    """Radau IIA 2 of order 3, with all drives sampled at the end of the step: order 1, and a constant drive is none."""
    radau = tableaus.get("radau iia 2")
    assert slope(radau, name, "moving drive", 3, nodes=(1.0, 1.0)) < 1.5
    assert error(radau, name, "constant drive", 12, nodes=(1.0, 1.0)) == error(radau, name, "constant drive", 12)


@pytest.mark.parametrize("name", spread(fields.names(), 3))
def test_a_misprinted_coefficient_costs_the_order_on_every_field(name: str):
    """Gauss 2 with a₁₂ off by a hundredth, and c₁ with it: Σ b_i c_i ≠ 1/2 is order 1."""
    A = [[float(a) for a in row] for row in tableaus.GAUSS_2.A]
    A[0][1] += 0.01
    assert slope(ButcherTableau(A, tableaus.GAUSS_2.b, name="gauss 2, misprint"), name, "moving drive", 4) < 2


# --- gradients


def leaves_of(field: Field, stages: int) -> list[Tensor]:
    """State, drives, one step size a neuron with h L ≤ 0.15, weights."""
    state = [normal(2, HIDDEN, seed=10 + i, scale=0.7) for i in range(len(field.blocks))]
    drives = [normal(2, field.drive_size, seed=20 + i) for i in range(stages)]
    h = torch.linspace(0.1, 0.15, HIDDEN, dtype=F64) / field.constants().lipschitz
    return [leaf.clone().requires_grad_() for leaf in (*state, *drives, h, *field.tensors().values())]


def cut(field: Field, stages: int, leaves: list[Tensor]) -> tuple[State, list[Tensor], Tensor, Field]:
    """State, drives, step sizes and the field with its weights."""
    blocks = len(field.blocks)
    state, drives, (h, *weights) = leaves[:blocks], leaves[blocks : blocks + stages], leaves[blocks + stages :]
    return tuple(state), drives, h, field.with_tensors(dict(zip(field.tensors(), weights, strict=True)))


def solved(method: ButcherTableau | PolynomialTableau, field: Field, leaves: list[Tensor]) -> State:
    state, drives, h, own = cut(field, method.stages, leaves)
    return prepared(method, own, h)(state, drives).state


def iterated(method: ButcherTableau | PolynomialTableau, field: Field, leaves: list[Tensor]) -> State:
    """The same by 40 fixed-point iterations, stage by stage, that autograd walks back through: 0.15⁴⁰ < 10⁻³²."""
    state, drives, h, own = cut(field, method.stages, leaves)
    table = method.rounded() if isinstance(method, PolynomialTableau) else method
    A, b = [np.array([*map(float, row)]) for row in table.A], np.array([*map(float, table.b)])

    def moved(weights: np.ndarray, slopes: list[State]) -> State:
        pairs = [[float(weight) * slope for slope in k] for weight, k in zip(weights, slopes, strict=True)]
        return tuple(start + h * sum(parts) for start, parts in zip(state, zip(*pairs, strict=True), strict=True))

    k = [tuple(torch.zeros_like(block) for block in state) for _ in drives]
    for _ in range(40):
        k = [own(moved(row, k), drive) for row, drive in zip(A, drives, strict=True)]
    return moved(b, k)


def gradient(new_state: State, leaves: list[Tensor]) -> list[Tensor]:
    total = sum((normal(*block.shape, seed=50 + i) * block).sum() for i, block in enumerate(new_state))
    return list(torch.autograd.grad(total, leaves))


@pytest.mark.parametrize(("method", "name"), GRADIENTS)
def test_the_gradient_is_that_through_a_converged_iteration_on_every_field(method: str, name: str):
    tableau, field = tableaus.get(method), field_of(name)
    leaves = leaves_of(field, tableau.stages)
    found, expected = (gradient(f(tableau, field, leaves), leaves) for f in (solved, iterated))
    for one, other in zip(found, expected, strict=True):
        assert float(other.abs().max()) > 1e-6
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_every_field_of_the_library_was_asked():
    assert len(fields.names()) == 9, "a new field is covered; count it here"
    assert (len(ORDERS), len(GRADIENTS)) == (5 * 9 * 2, 5 * 9)
