"""One step of a tableau is what the book writes, and symplectic exactly when the tableau is."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from numpy import tanh

from odernn import families, tableaus
from odernn.fields import CoupledOscillator, Monotone
from odernn.fields.oscillator import Oscillator
from odernn.integrators import coefficients_for, prepared, step
from tests.tiers import spread

W, ALPHA, X = 0.8, 1.1, 0.3
STEPPABLE = ("euler", "kutta 3/8", "rk4", "stoermer verlet", "symplectic euler tv", "symplectic euler vt")


def f(z):
    return z


def g(y):
    return -(tanh(W * y + X) + ALPHA * y)


def book(name: str, y: float, z: float, h: float) -> tuple[float, float]:
    """The methods typed once more, from their formulas and not from a tableau."""
    if name == "euler":
        return y + h * f(z), z + h * g(y)
    if name == "symplectic euler vt":
        z = z + h * g(y)
        return y + h * f(z), z
    if name == "symplectic euler tv":
        y = y + h * f(z)
        return y, z + h * g(y)
    if name == "stoermer verlet":
        half = z + h / 2 * g(y)
        y = y + h * f(half)
        return y, half + h / 2 * g(y)
    F = lambda v: np.array([f(v[1]), g(v[0])])  # noqa: E731
    v = np.array([y, z])
    k1 = F(v)
    if name == "rk4":
        k2 = F(v + h / 2 * k1)
        k3 = F(v + h / 2 * k2)
        k4 = F(v + h * k3)
        return tuple(v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    k2 = F(v + h / 3 * k1)
    k3 = F(v + h * (k2 - k1 / 3))
    k4 = F(v + h * (k1 - k2 + k3))
    return tuple(v + h / 8 * (k1 + 3 * k2 + 3 * k3 + k4))


def scalar(value: float) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float64)


def one_step(name: str, y: torch.Tensor, z: torch.Tensor, h: torch.Tensor | float):
    return step(tableaus.get(name), Oscillator(scalar(W), ALPHA), (y, z), scalar(X), h)


@pytest.mark.parametrize("name", STEPPABLE)
def test_a_step_is_the_formula_of_the_book(name: str):
    y, z = one_step(name, scalar(0.4), scalar(-0.7), 0.2)
    assert (float(y), float(z)) == pytest.approx(book(name, 0.4, -0.7, 0.2), rel=1e-14)


@pytest.mark.parametrize("name", STEPPABLE)
def test_the_step_is_symplectic_exactly_when_its_tableau_is(name: str):
    from odernn.properties.symplecticity import symplecticity

    def flow(v: torch.Tensor) -> torch.Tensor:
        y, z = one_step(name, v[:1], v[1:], 0.3)
        return torch.cat([y, z])

    D = torch.autograd.functional.jacobian(flow, torch.tensor([0.4, -0.7], dtype=torch.float64))
    J = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    defect = float((D.T @ J @ D - J).abs().max())
    assert (defect < 1e-14) == bool(symplecticity(tableaus.get(name)))


@cache
def after_unit_time(name: str, steps: int) -> torch.Tensor:
    y, z = scalar(0.4), scalar(-0.7)
    for _ in range(steps):
        y, z = one_step(name, y, z, 1.0 / steps)
    return torch.cat([y, z])


@pytest.mark.parametrize("name", spread(STEPPABLE, 3))
def test_the_error_after_unit_time_falls_with_the_declared_order(name: str):
    tableau = tableaus.get(name)
    errors = [float((after_unit_time(name, steps) - after_unit_time("rk4", 2560)).norm()) for steps in (20, 40)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(tableau.order, abs=0.15)


def test_each_neuron_has_its_own_step():
    y, z = scalar(0.4).expand(3), scalar(-0.7).expand(3)
    h = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    together = one_step("stoermer verlet", y, z, h)
    for k in range(3):
        alone = one_step("stoermer verlet", y[:1], z[:1], float(h[k]))
        assert [float(v[k]) for v in together] == pytest.approx([float(v) for v in alone], rel=1e-15)


def test_a_step_is_differentiable_in_state_drive_and_step():
    field = Oscillator(scalar(W), ALPHA)

    def run(y, z, x, h):
        return step(tableaus.STOERMER_VERLET, field, (y, z), x, h)

    arguments = [scalar(v).requires_grad_() for v in (0.4, -0.7, 0.3, 0.2)]
    assert torch.autograd.gradcheck(run, arguments)


def test_stoermer_verlet_keeps_the_energy_for_a_thousand_steps_and_euler_does_not():
    """The exact flow keeps the energy; Störmer–Verlet keeps it to O(h²), Euler does not."""
    field = Oscillator(scalar(W), ALPHA)
    drift = {}
    for name in ("stoermer verlet", "euler"):
        y, z = scalar(0.4), scalar(-0.7)
        start = float(field.energy((y, z), scalar(X)))
        for _ in range(1000):
            y, z = one_step(name, y, z, 0.1)
        drift[name] = abs(float(field.energy((y, z), scalar(X))) - start)
    assert drift["stoermer verlet"] < 1e-2 < drift["euler"]


@pytest.mark.parametrize("method", [tableaus.get("rk4"), tableaus.get("stoermer verlet"), families.gauss(2)])
def test_a_method_as_floats_makes_the_same_step_in_one_graph(method):
    """Made outside of what torch.compile traces: torch 2.11 takes no exact method as a constant."""
    field, h = Oscillator(torch.tensor([0.8, -0.3], dtype=torch.float64), alpha=ALPHA), 0.2
    table, state, drive = coefficients_for(method, field), tuple(torch.eye(2, dtype=torch.float64)), torch.ones(2)
    expected = prepared(method, field, h)(state, drive).state
    assert coefficients_for(table, field) is table

    def stepped(y, z):
        return prepared(table, Oscillator(field.w, alpha=ALPHA), h)((y, z), drive).state

    for found in (stepped, torch.compile(stepped, backend="eager", fullgraph=True)):
        torch.testing.assert_close(found(*state), expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("method", "made_for", "met", "kinds"),
    [
        ("rk4", Monotone, Oscillator, "a field with 1 block.*Oscillator is a separable field with 2 blocks"),
        ("stoermer verlet", Oscillator, Monotone, "a separable field with 2 blocks.*Monotone is a field with 1 block"),
        ("gauss 2", Monotone, CoupledOscillator, "a field with 1 block.*CoupledOscillator is a field with 2 blocks"),
        ("gauss 2", Oscillator, CoupledOscillator, "a separable field with 2.*CoupledOscillator is a field with 2"),
        ("gauss 2", CoupledOscillator, Oscillator, "a field with 2.*Oscillator is a separable field with 2"),
    ],
)
def test_a_method_as_floats_is_for_fields_of_one_kind(method, made_for, met, kinds):
    fields = {
        Monotone: Monotone.random(2, dtype=torch.float64),
        Oscillator: Oscillator(torch.ones(2, dtype=torch.float64), alpha=ALPHA),
        CoupledOscillator: CoupledOscillator.random(2, gamma=1.0, epsilon=0.5, dtype=torch.float64),
    }
    table = coefficients_for(tableaus.get(method) if method != "gauss 2" else families.gauss(2), fields[made_for])
    with pytest.raises(ValueError, match=f"{method}.*were made for {kinds}"):
        prepared(table, fields[met], 0.1)
    assert coefficients_for(table, fields[made_for]) is table
