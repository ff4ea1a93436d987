"""The falsification kernel finds the maxima and tangents that a float64 loop finds."""

from __future__ import annotations

import math

import pytest
import torch

from cuda.odernn_kernels.emulator import Order
from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher
from cuda.odernn_kernels.trajectories import extremes
from odernn import executions
from odernn.executions.recurrence import Extremes

DTYPES = ((torch.float32, 2e-5), (torch.float64, 1e-12))


def by_loop(x: torch.Tensor, **given: torch.Tensor) -> dict[str, list[float]]:
    """Scalars in float64, one trajectory after the other; J as a plain 2x2 product with its own scale."""
    found: dict[str, list[float]] = {k: [] for k in ("y", "y_at", "z", "z_at", "log_growth", "log_growth_at", "last")}
    for i in range(x.shape[1]):
        w, h, alpha, y, z = (float(given[k].expand(x.shape[1])[i]) for k in ("w", "h", "alpha", "y0", "z0"))
        ys, zs, logs = [abs(y)], [abs(z)], [0.5 * math.log(2)]
        J, scale = torch.eye(2, dtype=torch.float64), 0.0
        for drive in x[:, i].double().tolist():
            s = math.tanh(w * y + drive)
            kappa = alpha + w * (1 - s * s)
            z -= h * (s + alpha * y)
            y += h * z
            J = torch.tensor([[1 - h * h * kappa, h], [-h * kappa, 1.0]], dtype=torch.float64) @ J
            norm = float(J.norm())
            J, scale = J / norm, scale + math.log(norm)
            ys.append(abs(y)), zs.append(abs(z)), logs.append(scale)
        for name, values in (("y", ys), ("z", zs), ("log_growth", logs)):
            found[name].append(max(values))
            found[f"{name}_at"].append(values.index(max(values)))
        found["last"].append(logs[-1])
    return found


def arguments(columns: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(columns)
    uniform = torch.rand(5, columns, generator=generator).to(dtype)
    return {
        "w": 2 * uniform[0] - 1,
        "h": 0.05 + 0.3 * uniform[1],
        "alpha": 2 * uniform[2],
        "y0": uniform[3],
        "z0": uniform[4],
    }


def run(x: torch.Tensor, given: dict[str, torch.Tensor]) -> Extremes:
    return extremes(x, w=given["w"], step_size=given["h"], alpha=given["alpha"], y0=given["y0"], z0=given["z0"])


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize(("steps", "columns"), [(0, 3), (1, 1), (3, 33), (8, 2), (101, 40)])
def test_extremes_are_those_of_a_loop(
    launcher: EmulatedLauncher, steps: int, columns: int, dtype: torch.dtype, tolerance: float
) -> None:
    given = arguments(columns, dtype)
    x = torch.randn(steps, columns, generator=torch.Generator().manual_seed(1)).to(dtype)
    found, expected = run(x, given), by_loop(x, **given)
    for name in ("y", "z", "log_growth"):
        assert getattr(found, name).tolist() == pytest.approx(expected[name], rel=tolerance, abs=tolerance)
        assert getattr(found, f"{name}_at").tolist() == expected[f"{name}_at"]
    assert found.log_growth_last.tolist() == pytest.approx(expected["last"], rel=tolerance, abs=tolerance)
    determinant = torch.linalg.det(found.tangent.double()) * 4.0 ** found.exponent.double()
    assert determinant.tolist() == pytest.approx([1.0] * columns, rel=1e3 * tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
def test_a_growth_beyond_every_float_is_a_logarithm(
    launcher: EmulatedLauncher, dtype: torch.dtype, tolerance: float
) -> None:
    """A saddle, κ = −1 at y = 0: λ = 1 + h²/2 + h √(1 + h²/4), and 4000 steps of it are e^3958."""
    h = 0.999
    values = {"w": -1.0, "h": h, "alpha": 0.0, "y0": 0.0, "z0": 0.0}
    given = {k: torch.tensor([v], dtype=dtype) for k, v in values.items()}
    found = run(torch.zeros(1, 1, dtype=dtype).expand(4000, 1), given)
    h = float(given["h"][0])
    rate = math.log(1 + h * h / 2 + h * math.sqrt(1 + h * h / 4))
    assert float(found.log_growth[0]) == pytest.approx(4000 * rate, rel=1e-4)
    assert int(found.log_growth_at[0]) == 4000 and found.tangent.isfinite().all()


def test_one_drive_serves_many_weights_without_a_copy(launcher: EmulatedLauncher) -> None:
    given = arguments(5, torch.float32)
    one = torch.randn(12, 1)
    assert torch.equal(run(one.expand(12, 5), given).y, run(one.repeat(1, 5), given).y)
    held = torch.tensor([[0.7]])
    assert torch.equal(run(held.expand(12, 5), given).z, run(held.repeat(12, 5), given).z)
    turned = torch.randn(5, 12)
    assert torch.equal(run(turned.T, given).y, run(turned.T.contiguous(), given).y)


def test_a_nan_is_a_nan_of_its_own_trajectory_only(launcher: EmulatedLauncher) -> None:
    x = torch.randn(20, 3)
    x[5, 1] = torch.nan
    found = run(x, arguments(3, torch.float32))
    for values in (found.y, found.z, found.log_growth, found.log_growth_last, found.y_last):
        assert values.isnan().tolist() == [False, True, False]


def test_the_order_of_the_threads_changes_no_bit(launcher: EmulatedLauncher) -> None:
    x, given, seen = torch.randn(20, 40), arguments(40, torch.float32), []
    for order in Order:
        launcher.order = order
        seen.append(run(x, given))
    for name in ("y", "z", "log_growth", "tangent", "exponent"):
        assert torch.equal(getattr(seen[0], name), getattr(seen[1], name))
        assert torch.equal(getattr(seen[0], name), getattr(seen[2], name))


def test_refusals(launcher: EmulatedLauncher) -> None:
    given = arguments(3, torch.float32)
    with pytest.raises(ValueError, match="time, columns"):
        run(torch.zeros(3), given)
    with pytest.raises(ValueError, match="does not broadcast"):
        run(torch.zeros(4, 2), given)
    with pytest.raises(TypeError, match="float16"):
        run(torch.zeros(4, 3, dtype=torch.float16), given)
    with pytest.raises(TypeError, match=r"w is torch\.float64"):
        run(torch.zeros(4, 3), given | {"w": given["w"].double()})
    assert launcher.launched == []


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize(("steps", "columns"), [(0, 3), (1, 1), (101, 40), (700, 3)])
def test_the_torch_loop_finds_the_same_extremes(steps: int, columns: int, dtype: torch.dtype, tolerance: float) -> None:
    given = arguments(columns, dtype)
    x = torch.randn(steps, columns, generator=torch.Generator().manual_seed(1)).to(dtype)
    found = executions.extremes(
        x, w=given["w"], step_size=given["h"], alpha=given["alpha"], y0=given["y0"], z0=given["z0"]
    )
    expected = by_loop(x, **given)
    for name in ("y", "z", "log_growth"):
        theirs = torch.tensor(expected[name], dtype=torch.float64)
        scale = 1 + theirs.abs() * (1 + theirs.abs())
        assert ((getattr(found, name).double() - theirs).abs() <= 50 * tolerance * scale).all(), name
    if dtype == torch.float64:
        for name in ("y_at", "z_at", "log_growth_at"):
            assert getattr(found, name).tolist() == expected[name]
    norms = found.tangent.double().square().sum((1, 2)).log() / 2 + found.exponent * math.log(2)
    assert torch.allclose(norms, found.log_growth_last)


def test_extremes_say_why_they_cannot_run_and_what_is_nan() -> None:
    x = torch.zeros(4, 2)
    x[1, 1] = math.nan
    found = executions.extremes(x, w=1.0, step_size=0.1, alpha=1.0)
    assert found.y[1].isnan() and found.y_at.tolist() == [0, 2] and not found.y[0].isnan()
    with pytest.raises(ValueError, match='execution is "cpu", but extremes have: torch, cuda'):
        executions.extremes(x, execution="cpu", w=1.0, step_size=0.1, alpha=1.0)
    with pytest.raises(ValueError, match=r"does not broadcast to \(2,\)"):
        executions.extremes(x, w=torch.ones(3), step_size=0.1, alpha=1.0)
    if executions.available()["cuda"] is not None:
        with pytest.raises(executions.ExecutionUnavailable, match='execution="cuda" cannot run here'):
            executions.extremes(x, execution="cuda", w=1.0, step_size=0.1, alpha=1.0)
