"""The recurrence of scoRNN and expRNN with W on the chip is the loop of the formula, and so are its gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd import forward_ad

from cuda.odernn_kernels import orthogonal
from cuda.odernn_kernels.emulator import Order
from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher
from odernn.executions.recurrence import UNIT_ROUNDOFF
from odernn.orthogonal.cayley import modrelu

SINGLE, DOUBLE = torch.float32, torch.float64


def arguments(
    steps: int, batch: int, units: int, *, seed: int = 0, dtype: torch.dtype = SINGLE
) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    W, _ = torch.linalg.qr(torch.randn(units, units, generator=generator))
    b = 0.2 * torch.rand(units, generator=generator) - 0.1
    x = torch.randn(steps, batch, units, generator=generator)
    made = {"x": x, "W": W.contiguous(), "b": b, "h0": torch.randn(batch, units, generator=generator)}
    return {name: value.to(dtype) for name, value in made.items()}


def by_loop(x: torch.Tensor, *, W: torch.Tensor, b: torch.Tensor | None = None, h0: torch.Tensor) -> torch.Tensor:
    states, h = [], h0
    for drive in x:
        z = h @ W.T + drive
        h = z if b is None else modrelu(z, b)
        states.append(h)
    return torch.stack(states) if states else x.clone()


def on_chip(x: torch.Tensor, *, W: torch.Tensor, b: torch.Tensor | None = None, h0: torch.Tensor) -> torch.Tensor:
    return orthogonal.rows(x, W=W, b=b, h0=h0)


def gradients(run: Any, given: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """Rows, and the gradients of a fixed sum of them."""
    leaves = {k: v.clone().requires_grad_() for k, v in given.items()}
    h = run(leaves["x"], **{k: v for k, v in leaves.items() if k != "x"})
    energy = (h * torch.cos(torch.arange(h.numel(), dtype=h.dtype)).reshape(h.shape)).sum()
    return [h.detach(), *torch.autograd.grad(energy, list(leaves.values()), materialize_grads=True)]


def check(steps: int, batch: int, units: int, dtype: torch.dtype, *, is_linear: bool) -> None:
    """|z| error per step: a product of n terms, |W row|_1 <= √n; W preserves length, so errors add up over steps."""
    given = arguments(steps, batch, units, dtype=dtype)
    if is_linear:
        del given["b"]
    found = gradients(on_chip, given)
    expected = gradients(by_loop, {name: value.double() for name, value in given.items()})
    # In float64 the loop is no better than the kernel: each may be off.
    unit = UNIT_ROUNDOFF[dtype] * (1 if dtype == SINGLE else 2)
    for one, other in zip(found, expected, strict=True):
        gap = (one.double() - other).abs()
        assert one.shape == other.shape and one.dtype == dtype
        scale = max(1.0, float(other.abs().max())) if other.numel() else 1.0
        assert (gap <= unit * (units + 8) * (steps + 1) * scale).all()


@pytest.mark.parametrize(("batch", "units"), [(1, 1), (4, 32), (5, 33), (2, 70), (2, 128)])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 30])
@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_rows_and_gradients_are_those_of_the_loop(
    launcher: EmulatedLauncher, steps: int, batch: int, units: int, dtype: torch.dtype
) -> None:
    check(steps, batch, units, dtype, is_linear=False)
    kind = "f32" if dtype == SINGLE else "f64"
    assert launcher.launched == [f"scornn_forward_{kind}", f"scornn_backward_{kind}"]


@pytest.mark.parametrize(("steps", "batch", "units"), [(0, 2, 3), (1, 1, 1), (30, 5, 33)])
@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_without_b_the_activation_is_the_identity(
    launcher: EmulatedLauncher, steps: int, batch: int, units: int, dtype: torch.dtype
) -> None:
    check(steps, batch, units, dtype, is_linear=True)


def test_rows_beyond_32_steps_and_a_zero_state_without_b_have_gradients(launcher: EmulatedLauncher) -> None:
    """Without b nothing is silent: a state of 0 passes its gradient on."""
    x = torch.zeros(40, 1, 2).requires_grad_()
    W, h0 = torch.eye(2), torch.zeros(1, 2)
    orthogonal.rows(x, W=W, b=None, h0=h0)[-1].sum().backward()
    assert x.grad is not None and bool((x.grad == 1.0).all())


def test_a_silent_unit_passes_no_gradient_and_a_zero_is_zero(launcher: EmulatedLauncher) -> None:
    x = torch.tensor([[[0.0, 0.3, -2.0]]]).requires_grad_()
    W, b, h0 = torch.eye(3), torch.tensor([1.0, -0.5, -0.5], requires_grad=True), torch.zeros(1, 3)
    h = orthogonal.rows(x, W=W, b=b, h0=h0)
    h.sum().backward()
    assert h.flatten().tolist() == [0.0, 0.0, -1.5]
    assert x.grad is not None and x.grad.flatten().tolist() == [0.0, 0.0, 1.0]
    assert b.grad is not None and b.grad.tolist() == [0.0, 0.0, -1.0]


@pytest.mark.parametrize(("dtype", "most"), [(SINGLE, 192), (DOUBLE, 128)])
def test_the_largest_size_fits_the_chip_and_the_next_is_refused(
    launcher: EmulatedLauncher, dtype: torch.dtype, most: int
) -> None:
    check(3, 1, most, dtype, is_linear=False)
    more = arguments(1, 1, most + 1, dtype=dtype)
    with pytest.raises(ValueError, match=f'holds up to {most} units of .*Choose execution="torch"'):
        orthogonal.rows(more.pop("x"), **more)


def test_a_nan_is_a_nan_of_its_own_sample(launcher: EmulatedLauncher) -> None:
    given = arguments(6, 3, 5)
    given["x"][2, 1, 0] = torch.nan
    h = orthogonal.rows(given.pop("x"), **given)
    assert h[3:, 1].isnan().all() and h[:, 0].isfinite().all() and h[:, 2].isfinite().all()


def test_the_order_of_the_threads_changes_no_bit(launcher: EmulatedLauncher) -> None:
    given, seen = arguments(7, 5, 40), []
    for order in Order:
        launcher.order = order
        leaves = {k: v.clone().requires_grad_() for k, v in given.items()}
        h = orthogonal.rows(leaves["x"], **{k: v for k, v in leaves.items() if k != "x"})
        seen.append([h.detach(), *torch.autograd.grad(h.square().sum(), list(leaves.values()))])
    assert all(torch.equal(a, b) for other in seen[1:] for a, b in zip(seen[0], other, strict=True))


def test_autocast_changes_no_bit(launcher: EmulatedLauncher) -> None:
    given, seen = arguments(7, 5, 40), []
    for enabled in (False, True):
        leaves = {k: v.clone().requires_grad_() for k, v in given.items()}
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            h = orthogonal.rows(leaves["x"], **{k: v for k, v in leaves.items() if k != "x"})
            seen.append([h.detach(), *torch.autograd.grad(h.square().sum(), list(leaves.values()))])
    assert all(torch.equal(a, b) for a, b in zip(*seen, strict=True))


def test_the_layout_of_arguments_changes_nothing(launcher: EmulatedLauncher) -> None:
    given, seen = arguments(4, 3, 6), []
    wide = torch.stack([given["b"], given["b"]], dim=1)
    strided = {k: v.movedim(-1, 0).contiguous().movedim(0, -1) for k, v in given.items()} | {"b": wide[:, 0]}
    assert not any(v.is_contiguous() for v in strided.values())
    for values in (given, strided):
        h = orthogonal._forward(*values.values())
        grad = h.movedim(-1, 0).contiguous().movedim(0, -1)
        W, b, h0 = (values[k] for k in ("W", "b", "h0"))
        seen.append([h, *orthogonal._backward(grad, W, b, h0, h)])
        torch.library.opcheck(
            orthogonal._forward, tuple(values.values()), test_utils=("test_schema", "test_faketensor")
        )
        torch.library.opcheck(
            orthogonal._backward, (grad, W, b, h0, grad), test_utils=("test_schema", "test_faketensor")
        )
    assert all(torch.equal(a, b) for a, b in zip(*seen, strict=True))


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_forward_mode_is_an_error_and_not_a_wrong_number(launcher: EmulatedLauncher) -> None:
    given = arguments(3, 2, 4)
    x = given.pop("x")
    for derivative in (lambda f: torch.func.jvp(f, (x,), (x,)), lambda f: torch.func.jacfwd(f)(x)):
        with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
            derivative(lambda v: orthogonal.rows(v, **given))
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="no forward-mode derivative"):
        orthogonal.rows(x, **given | {"W": forward_ad.make_dual(given["W"], given["W"])})


def test_refusals(launcher: EmulatedLauncher) -> None:
    given = arguments(2, 2, 3)
    x = given.pop("x")
    with pytest.raises(ValueError, match="W has shape"):
        orthogonal.rows(x, **given | {"W": torch.eye(4)})
    with pytest.raises(TypeError, match=r"W has dtype torch\.float32 but x has torch\.float64"):
        orthogonal.rows(x.double(), **given)
    with pytest.raises(TypeError, match=r"x has dtype torch\.bfloat16, but this kernel admits"):
        orthogonal.rows(x.bfloat16(), **given)
