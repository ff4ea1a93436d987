"""The oscillator is Hamiltonian with the energy it reports."""

from __future__ import annotations

import math

import pytest
import torch

from odernn.fields.oscillator import Oscillator, log_cosh

W = torch.tensor([0.7, -1.3, 0.0, 2.0], dtype=torch.float64)
ALPHA = 0.9


@pytest.fixture
def point() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return tuple(torch.randn(5, 4, generator=generator, dtype=torch.float64) for _ in range(3))  # type: ignore[return-value]


def test_force_is_the_formula_of_the_paper(point):
    y, _, x = point
    force = Oscillator(W, ALPHA).force(y, x)
    for i in range(5):
        for k in range(4):
            expected = -(math.tanh(float(W[k]) * float(y[i, k]) + float(x[i, k])) + ALPHA * float(y[i, k]))
            assert float(force[i, k]) == pytest.approx(expected, rel=1e-14)


def test_velocity_and_force_are_the_derivatives_of_the_energy_for_every_weight_zero_included(point):
    y, z, x = point
    y.requires_grad_(), z.requires_grad_()
    field = Oscillator(W, ALPHA)
    dy, dz = torch.autograd.grad(field.energy((y, z), x).sum(), (y, z))
    torch.testing.assert_close(field.velocity(z), dz, rtol=0, atol=1e-15)
    torch.testing.assert_close(field.force(y, x), -dy, rtol=1e-13, atol=1e-14)


def test_a_wrong_sign_of_the_coupling_is_seen_by_that_check(point):
    y, z, x = point
    y.requires_grad_()
    (dy,) = torch.autograd.grad(Oscillator(W, ALPHA).energy((y, z), x).sum(), y)
    assert not torch.allclose(Oscillator(-W, ALPHA).force(y, x), -dy, atol=1e-3)


def test_force_jacobian_is_the_derivative_of_the_force_and_is_diagonal(point):
    y, _, x = point
    field = Oscillator(W, ALPHA)
    full = torch.autograd.functional.jacobian(lambda y: field.force(y, x[0]), y[0])
    torch.testing.assert_close(full, torch.diag(field.force_jacobian(y[0], x[0])), rtol=1e-13, atol=1e-15)


def test_the_energy_at_a_small_weight_tends_to_that_at_zero_after_its_constant_is_taken_off(point):
    y, z, x = (value[:1, :1] for value in point)
    at_zero = Oscillator(torch.zeros(1, dtype=torch.float64), ALPHA).energy((y, z), x)
    gaps = []
    for w in (1e-2, 1e-3, 1e-4):
        small = Oscillator(torch.tensor([w], dtype=torch.float64), ALPHA).energy((y, z), x)
        gaps.append(float((small - log_cosh(x).sum(-1) / w - at_zero).abs()))
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2]


@pytest.mark.parametrize("a", [0.0, 1e-9, 1e-3, 0.5, 0.999, 1.0, 3.0, -40.0, 700.0])
def test_log_cosh_is_accurate_for_small_and_large_arguments(a: float):
    expected = math.log(math.cosh(a)) if abs(a) >= 0.5 else 0.5 * math.log1p(math.sinh(a) ** 2)
    assert float(log_cosh(torch.tensor(a, dtype=torch.float64))) == pytest.approx(expected, rel=1e-14, abs=0)


def test_log_cosh_does_not_overflow_and_has_slope_tanh():
    a = torch.tensor([-1e4, -1.0, 0.0, 0.3, 1.0, 1e4], dtype=torch.float64, requires_grad=True)
    value = log_cosh(a)
    (slope,) = torch.autograd.grad(value.sum(), a)
    assert value.isfinite().all()
    torch.testing.assert_close(slope, torch.tanh(a.detach()), rtol=1e-14, atol=0)


def test_the_energy_is_summed_over_neurons_and_kept_over_the_batch(point):
    y, z, x = point
    assert Oscillator(W, ALPHA).energy((y, z), x).shape == (5,)
