"""The derivative of the parallel execution: one scan backwards in time, and within what its conditioning allows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from odernn.executions import torch_loop
from odernn.executions.parallel import costates
from odernn.executions.parallel import execution as parallel
from odernn.executions.parallel.execution import SequentialFallback
from odernn.executions.parallel.scan import affine_scan
from odernn.executions.recurrence import UNIT_ROUNDOFF
from tests.odernn.executions.parallel_problems import (
    DTYPES,
    NAMES,
    SHAPES,
    coefficients,
    cotangents,
    derivatives,
    in_double,
    problem,
)
from tests.tiers import only, without


def admitted_derivatives(
    p: dict[str, Tensor], found: Any, expected: Any, cotangent: tuple[Tensor, Tensor]
) -> dict[str, Tensor]:
    """First-order bounds on the errors of all derivatives, times 2 for the second order. docs/parallel_in_time.md.

    Along the float64 trajectory, with the *measured* state errors e_y, e_z: a costate is off by the sum over later
    steps k of |Φᵀ| times what step k adds, 12 log₂ 2T + 8 roundings of the costates and h |δκ| |q_k|.
    """
    d, u = in_double(p), UNIT_ROUNDOFF[p["x"].dtype]
    steps, tile = len(d["x"]), min(len(d["x"]), costates.BACKWARD_TILE)
    shape = d["x"].shape[1:]
    w, h, alpha = (d[name].expand(shape) for name in ("w", "step_size", "alpha"))
    y, z = torch.cat([d["y0"].unsqueeze(0), expected.y[:-1]]), expected.z
    e_y = torch.cat([torch.zeros_like(d["y0"]).unsqueeze(0), (found.y.double() - expected.y).abs()])[:-1]
    e_z = (found.z.double() - expected.z).abs()
    a = w * y + d["x"]
    s, slope = torch.tanh(a), 1 - torch.tanh(a) ** 2
    error_a = w.abs() * e_y + u * ((w * y).abs() + a.abs())
    error_slope = 2 * parallel.CURVATURE * error_a + 12 * u
    error_kappa = w.abs() * error_slope + 2 * u * (alpha + w.abs())
    kappa = alpha + w * slope

    # p_n and ∂E/∂z_n, exactly, and the products P_n = B_n … B_1 with their inverses (determinant 1).
    whole_p, whole_q = torch.zeros_like(y), torch.zeros_like(y)
    p_n, q_n = torch.zeros_like(w), torch.zeros_like(w)
    for n in range(steps - 1, -1, -1):
        whole_p[n], whole_q[n] = p_n + cotangent[0][n], q_n + cotangent[1][n]
        q_n = whole_q[n] + h * whole_p[n]
        p_n = whole_p[n] - h * kappa[n] * q_n
    P = [torch.eye(2, dtype=torch.float64).reshape(2, 2, 1, 1).expand(2, 2, *shape)]
    for n in range(steps):
        row_z = P[-1][1] - h * kappa[n] * P[-1][0]
        P.append(torch.stack([P[-1][0] + h * row_z, row_z]))
    ahead = torch.stack(P)  # P_0 .. P_N
    back = torch.stack([ahead[:, 1, 1], -ahead[:, 0, 1], -ahead[:, 1, 0], ahead[:, 0, 0]], dim=1).unflatten(1, (2, 2))

    momenta = whole_q + h * whole_p
    kicks = (h * kappa * momenta).abs()
    roundings = (12 * math.log2(2 * tile) + 8) * u
    local_p = roundings * (whole_p.abs().amax(0) + kicks.amax(0)) + h * error_kappa * momenta.abs()
    local_q = (roundings * (whole_q.abs().amax(0) + h * whole_p.abs().amax(0))).expand_as(local_p)
    local = torch.stack([local_p, local_q], dim=1)
    error = torch.zeros(steps + 1, 2, *shape, dtype=torch.float64)  # of the costate of X_n, n = 0..N
    for n in range(steps):
        later = torch.einsum("kijbm,jlbm->kilbm", ahead[n:steps], back[n]).abs()  # Φ(k−1, n), k = n+1..N
        error[n] = torch.einsum("kilbm,kibm->lbm", later, local[n:])
    error_p, error_q = error[1:, 0], error[1:, 1]
    error_m = error_q + h * error_p + 2 * u * (whole_q.abs() + h * whole_p.abs())

    force = (s + alpha * y).abs()
    gx = h * momenta.abs() * slope
    error_x = h * (slope * error_m + momenta.abs() * error_slope) + 4 * u * gx
    many = (steps + 4) * u
    totals = {
        "w": (error_x * y.abs() + gx * e_y + many * gx * y.abs()).sum(0),
        "step_size": (
            error_p * z.abs()
            + whole_p.abs() * e_z
            + error_m * force
            + momenta.abs() * (error_a + 4 * u + alpha * (e_y + 2 * u * y.abs()))
            + many * ((whole_p * z).abs() + momenta.abs() * force)
        ).sum(0),
        "alpha": (h * (error_m * y.abs() + momenta.abs() * e_y + many * momenta.abs() * y.abs())).sum(0),
    }
    summed = {name: total.sum_to_size(p[name].shape) for name, total in totals.items()}
    bounds = {"x": error_x, **summed, "y0": error[0, 0], "z0": error[0, 1]}
    return {name: 2 * bound for name, bound in bounds.items()}


@pytest.mark.parametrize("steps", only([0, 1, 2, 3, 101, 784], 0, 3, 101))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_derivative_is_that_of_the_float64_loop(steps: int, dtype: torch.dtype, shape: tuple[int, int]):
    p = problem(steps, *shape, dtype=dtype)
    cotangent = cotangents(p)
    expected = derivatives(torch_loop.forward, in_double(p), cotangent)
    found = derivatives(parallel.forward, p, tuple(c.to(dtype).double() for c in cotangent))
    assert set(found) == set(NAMES)
    if steps == 0:
        assert all(not gradient.any() for gradient in found.values())
        return
    exact = torch_loop.forward(**in_double(p))
    bounds = admitted_derivatives(p, parallel.forward(**p), exact, cotangent)
    # The cotangents themselves are rounded to the dtype, and the loop's float64 has roundings of its own.
    slack = 2 if dtype == torch.float64 else 1
    for name in NAMES:
        gap = (found[name] - expected[name]).abs()
        assert gap.shape == bounds[name].shape and (gap <= slack * bounds[name]).all(), (name, float(gap.max()))


def test_the_admitted_derivatives_would_not_admit_a_recursion_with_the_old_costate(monkeypatch):
    """Planted fault: the costates of B(κ) without the h²κ, that is of explicit Euler."""
    p = problem(101)
    cotangent = cotangents(p)
    expected = derivatives(torch_loop.forward, p, cotangent)
    bounds = admitted_derivatives(p, *(torch_loop.forward(**p),) * 2, cotangent)
    found_states = parallel.forward(**p)
    true = costates.jacobians

    def planted(kappa: Tensor, h: Tensor) -> Tensor:
        B = true(kappa, h)
        B[:, 0, 0] = 1
        return B

    monkeypatch.setattr(costates, "jacobians", planted)
    monkeypatch.setattr(costates, "_costate_residual", lambda *a: (torch.zeros(()), torch.ones(6, dtype=torch.bool)))
    found = costates.gradients(
        p["x"],
        parallel.Coefficients(*coefficients(p).values()),
        found_states.y,
        found_states.z,
        p["y0"],
        cotangent,
        (torch.zeros_like(p["y0"]), torch.zeros_like(p["z0"])),
    )
    assert any(((getattr(found, n) - expected[n]).abs() > 2 * bounds[n]).any() for n in NAMES)


@pytest.mark.parametrize(
    ("alpha_shape", "steps"),
    without(itertools.product([(), (3,), (2, 1)], [0, 1, 2, 17, 1500]), ((3,), 1500), ((2, 1), 1500)),
)
def test_the_contract_s_backward_is_that_of_the_loop(steps: int, alpha_shape: tuple[int, ...]):
    p = problem(steps, dt=0.02)
    p["alpha"] = p["alpha"].expand(alpha_shape).clone()
    grad_y, _ = cotangents(p)
    last = (p["y0"] + 1, p["z0"] - 2)
    arguments = {**coefficients(p), "states": torch_loop.forward(**p), "grad_y": grad_y}
    arguments |= {"grad_y_last": last[0], "grad_z_last": last[1]}
    expected, found = (e.backward(p["x"], **arguments) for e in (torch_loop, parallel))
    for name in NAMES:
        theirs = getattr(expected, name)
        assert getattr(found, name).shape == theirs.shape == p[name].shape
        torch.testing.assert_close(getattr(found, name), theirs, rtol=1e-10, atol=1e-10)


def test_gradients_are_those_of_finite_differences():
    p = problem(5)

    def run(*values: Tensor) -> tuple[Tensor, Tensor]:
        result = parallel.forward(**dict(zip(NAMES, values, strict=True)))
        return result.y, result.z

    assert torch.autograd.gradcheck(run, [p[name].requires_grad_() for name in NAMES])


def test_only_what_needs_a_gradient_gets_one():
    p = problem(5)
    p["w"].requires_grad_()
    parallel.forward(**p).y.sum().backward()
    assert p["w"].grad is not None and p["x"].grad is None
    assert not parallel.forward(**problem(5)).y.requires_grad


def test_a_second_derivative_is_an_error_and_not_a_wrong_number():
    p = problem(5)
    p["x"].requires_grad_()
    (gradient,) = torch.autograd.grad(parallel.forward(**p).y.square().sum(), p["x"], create_graph=True)
    for allow_unused in (False, True):
        with pytest.raises(NotImplementedError, match=r'"parallel" is differentiable once.*Use execution="torch"'):
            torch.autograd.grad(gradient.sum(), p["x"], allow_unused=allow_unused, retain_graph=True)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_forward_mode_is_an_error_and_not_a_wrong_number():
    p = problem(5)
    x = p.pop("x")
    with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
        torch.func.jvp(lambda v: parallel.forward(v, **p).y, (x,), (torch.ones_like(x),))


def test_a_gradient_of_the_wrong_shape_is_refused():
    p = problem(5)
    with pytest.raises(ValueError, match=r"grad_y has shape \(4, 2, 3\) but x has \(5, 2, 3\)"):
        parallel.backward(p["x"], **coefficients(p), states=torch_loop.forward(**p), grad_y=p["x"][:4])


def test_costates_of_a_stiff_saddle_are_those_of_the_loop():
    """Jacobian products that overflow float32 where the costates of the chosen direction do not."""
    steps = 300
    kappa = torch.full((steps, 1), -1.0)
    h = torch.tensor([1.0])
    rate = 2 * math.asinh(0.5)
    sources = torch.zeros(steps, 2, 1)
    sources[-1, 0], sources[-1, 1] = math.exp(-rate) - 1, 1.0  # the contracting left eigenvector, thm-V (b)
    with pytest.warns(SequentialFallback, match="1 of 1 columns step by step"):
        found = costates.costates(kappa, h, sources)
    assert torch.equal(found, costates.costates_in_a_loop(kappa, h, sources))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_wrong_scan_in_the_derivative_is_noticed_and_the_answer_is_that_of_the_loop(dtype, monkeypatch):
    p = problem(50, dtype=dtype)
    states = torch_loop.forward(**p)
    arguments = {**coefficients(p), "states": states, "grad_y": torch.ones_like(p["x"])}
    expected = torch_loop.backward(p["x"], **arguments)
    monkeypatch.setattr(costates, "affine_scan", lambda A, b: affine_scan(A * 1.5, b))
    with pytest.warns(SequentialFallback, match="derivatives of 6 of 6 columns step by step"):
        found = parallel.backward(p["x"], **arguments)
    for name in NAMES:
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert float((ours - theirs).abs().max()) <= 1e4 * UNIT_ROUNDOFF[dtype] * float(theirs.abs().max())
