"""The contract: shapes, defaults, errors that name the argument, an admitted error that holds and bites."""

from __future__ import annotations

import dataclasses

import flint
import numpy as np
import pytest
import torch

from odernn.executions import torch_loop
from odernn.executions.recurrence import RecurrenceResult, admitted_error, checked


def drive(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


COEFFICIENTS = {"w": 0.5, "step_size": 0.1, "alpha": 1.0}


def test_the_last_state_is_the_last_row():
    result = torch_loop.forward(drive(4, 2, 3), **COEFFICIENTS)
    assert torch.equal(result.y_last, result.y[3]) and torch.equal(result.z_last, result.z[3])


def test_after_no_steps_the_last_state_is_the_first():
    y0, z0 = drive(2, 3), drive(2, 3, seed=1)
    result = torch_loop.forward(drive(0, 2, 3), **COEFFICIENTS, y0=y0, z0=z0)
    assert result.y.shape == (0, 2, 3) and result.y_last is y0 and result.z_last is z0


def test_a_result_cannot_be_changed():
    result = torch_loop.forward(drive(1, 1, 1), **COEFFICIENTS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.y = result.z  # type: ignore[misc]
    assert isinstance(result, RecurrenceResult)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": drive(2, 3)}, ValueError, r"x has shape \(2, 3\), but the drive is \(time, batch, hidden\)"),
        ({"x": drive(4, 2, 3).half()}, TypeError, "x has dtype torch.float16, but .* float32 and float64"),
        (
            {"w": drive(2)},
            ValueError,
            r"w has shape \(2,\), which does not broadcast to \(batch, hidden\) = \(2, 3\)",
        ),
        ({"w": drive(3).float()}, TypeError, "w has dtype torch.float32 but x has torch.float64"),
        ({"step_size": drive(1, 1, 3)}, ValueError, "step_size has shape"),
        ({"alpha": drive(3).to("meta")}, ValueError, "alpha is on meta but x is on cpu"),
        ({"y0": drive(3)}, ValueError, r"y0 has shape \(3,\).*needs \(batch, hidden\) = \(2, 3\)"),
        ({"z0": drive(2, 3).float()}, TypeError, "z0 has dtype torch.float32"),
    ],
)
def test_a_wrong_argument_is_named(change, error, message: str):
    arguments = {"x": drive(4, 2, 3), **COEFFICIENTS, "y0": None, "z0": None} | change
    x, states = arguments.pop("x"), {name: arguments.pop(name) for name in ("y0", "z0")}
    with pytest.raises(error, match=message):
        checked(x, states, **arguments)


def test_a_keyword_that_is_missing_or_unknown_is_named():
    with pytest.raises(TypeError, match="alpha"):
        torch_loop.forward(drive(4, 2, 3), w=1.0, step_size=0.1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="y_0"):
        torch_loop.forward(drive(4, 2, 3), **COEFFICIENTS, y_0=drive(2, 3))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (2, 1), (2, 3)])
def test_coefficients_broadcast_to_batch_and_hidden(shape: tuple[int, ...]):
    coefficients, (y0,) = checked(drive(4, 2, 3), {"y0": None}, **COEFFICIENTS | {"w": drive(*shape)})
    assert coefficients.w.shape == shape and torch.equal(y0, torch.zeros(2, 3, dtype=torch.float64))


def exact_trajectory(x, w, h, alpha, y, z) -> tuple[np.ndarray, np.ndarray]:
    """(U) at 200 bits for one neuron, from the definition and without any code of the package."""
    with flint.ctx.workprec(200):
        w, h, alpha, y, z = (flint.arb(float(v)) for v in (w, h, alpha, y, z))
        ys, zs = [], []
        for x_n in x:
            z = z - h * ((w * y + flint.arb(float(x_n))).tanh() + alpha * y)
            y = y + h * z
            ys.append(float(y.mid()))
            zs.append(float(z.mid()))
    return np.array(ys), np.array(zs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("w", "h", "alpha", "amplifies"),
    [
        (0.0, 0.1, 0.0, False),
        (1.0, 0.05, 1.0, False),
        (3.0, 0.1, 2.0, False),
        (-3.0, 0.05, 1.0, False),
        (2.0, 0.9, 4.0, True),
    ],
)
def test_the_admitted_error_holds_against_exact_arithmetic_and_is_not_idle(dtype, w, h, alpha, amplifies):
    steps = 60
    x = drive(steps, 1, 6, dtype=dtype, seed=7) * 3
    w, h, alpha = (torch.tensor(v, dtype=dtype) for v in (w, h, alpha))
    result = torch_loop.forward(x, w=w, step_size=h, alpha=alpha)
    admitted = admitted_error(
        dtype=dtype,
        steps=steps,
        w=w,
        step_size=h,
        alpha=alpha,
        y_max=result.y.abs().max(),
        z_max=result.z.abs().max(),
    )
    worst = np.zeros(2)
    for k in range(6):
        y, z = exact_trajectory(x[:, 0, k], w, h, alpha, 0.0, 0.0)
        gaps = (result.y[:, 0, k].double().numpy() - y, result.z[:, 0, k].double().numpy() - z)
        worst = np.maximum(worst, [np.abs(gap).max() for gap in gaps])
    # float64 references are themselves rounded once when read back: half an ulp of the largest value.
    slack = 2.0**-53 * float(result.y.abs().max() + result.z.abs().max())
    assert worst[0] <= float(admitted.y) + slack and worst[1] <= float(admitted.z) + slack
    if amplifies:  # h²κ passes 4: roundings may grow without limit, and the bound has to allow for it
        return
    planted = torch_loop.forward(x, w=w, step_size=h * (1 + 0.02), alpha=alpha)
    assert float((planted.y - result.y).abs().max()) > float(admitted.y)


def test_no_error_is_admitted_where_nothing_was_computed():
    assert float(admitted_error(dtype=torch.float64, steps=0, **COEFFICIENTS, y_max=1.0, z_max=1.0).y) == 0.0


def test_the_table_in_the_docstring_is_what_the_function_returns():
    for dtype, key in ((torch.float32, "float32"), (torch.float64, "float64")):
        row = next(line for line in (admitted_error.__doc__ or "").splitlines() if line.split()[:1] == [key])
        for steps in (100, 784):
            bound = admitted_error(dtype=dtype, steps=steps, w=1.0, step_size=0.05, alpha=1.0, y_max=1.0, z_max=1.0)
            assert f"{float(bound.y):.1e}, {float(bound.z):.1e}" in row
