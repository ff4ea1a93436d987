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


REFUSED = {
    "a negative alpha": (lambda: Oscillator(W, -5.0), ValueError, r"alpha is -5.0, which is negative"),
    "an alpha that is not a number": (lambda: Oscillator(W, math.nan), ValueError, "alpha is nan"),
    "an infinite alpha": (lambda: Oscillator(W, math.inf), ValueError, "alpha is inf"),
    "an alpha in words": (lambda: Oscillator(W, "1"), TypeError, "alpha is '1', a str"),  # type: ignore[arg-type]
    "an alpha of another size": (lambda: Oscillator(W, torch.ones(3)), ValueError, r"alpha has shape \(3,\).*\(4,\)"),
    "no neuron": (lambda: Oscillator(torch.ones(0), 1.0), ValueError, r"w has shape \(0,\)"),
    "a list": (lambda: Oscillator([1.0, 2.0], 1.0), TypeError, "w is a list"),  # type: ignore[arg-type]
    "integers": (lambda: Oscillator(torch.ones(3, dtype=torch.long), 1.0), ValueError, "w has dtype torch.int64"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_weight_and_no_stiffness_is_refused_by_name(what: str):
    make, error, message = REFUSED[what]
    with pytest.raises(error, match=message):
        make()


def test_what_is_broadcast_over_neurons_is_taken():
    y = torch.ones(5, 4, dtype=torch.float64)
    for w, alpha in ((W, 1), (W, torch.tensor(1.0)), (W, torch.ones(4)), (W[0], 1.0), (W[:1], 1.0)):
        assert Oscillator(w, alpha).force(y, y).shape == (5, 4)


def test_weights_that_are_not_finite_have_no_constants():
    broken = W.clone()
    broken[2] = math.nan
    with pytest.raises(ValueError, match=r"w of shape \(4,\) holds values that are not finite"):
        Oscillator(broken, ALPHA).constants()
    with pytest.raises(ValueError, match=r"alpha of shape \(\) holds"):
        Oscillator(W, torch.tensor(math.inf)).constants()


def test_constants_hold_for_the_stiffness_that_float32_sees():
    rounded = []
    for alpha in (40.9, 40.1):
        seen = float(torch.tensor(alpha, dtype=torch.float32))
        rounded.append(seen > alpha)
        found = Oscillator(torch.zeros(1), alpha).constants().lipschitz
        assert seen <= found <= seen * (1 + 2.0**-40)
    assert any(rounded) and not all(rounded)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_weights_and_stiffness_may_lie_on_two_devices():
    assert Oscillator(W.cuda(), torch.tensor(ALPHA, dtype=W.dtype)).constants() == Oscillator(W, ALPHA).constants()


def test_many_oscillators_at_once_are_each_its_own():
    """Leading axes of w and α go with those of the state: a sweep over weights is one call."""
    w = torch.tensor([[0.5], [-2.0], [3.0]], dtype=torch.float64)
    alpha = torch.tensor([[0.1], [1.0], [2.0]], dtype=torch.float64)
    y, x = torch.full((3, 1), 0.7, dtype=torch.float64), torch.full((3, 1), -0.2, dtype=torch.float64)
    together = Oscillator(w, alpha).force(y, x)
    for k in range(3):
        assert torch.equal(together[k], Oscillator(w[k], float(alpha[k])).force(y[k], x[k]))
