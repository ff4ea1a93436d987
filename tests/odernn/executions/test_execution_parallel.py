"""The parallel execution gives the states of the loop and their derivatives, or says which columns it did not solve."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from odernn import executions
from odernn.cells.unicornn import UnICORNN
from odernn.executions import torch_loop
from odernn.executions.parallel import execution as parallel
from odernn.executions.parallel.execution import SequentialFallback
from odernn.executions.parallel.scan import affine_scan
from odernn.executions.recurrence import UNIT_ROUNDOFF
from tests.odernn.executions.parallel_problems import (
    DTYPES,
    NAMES,
    SHAPES,
    admitted,
    assert_is_the_loop,
    coefficients,
    cotangents,
    derivatives,
    in_double,
    problem,
)
from tests.tiers import only

# ---- the scan ------------------------------------------------------------------------------------------------------


def maps(steps: int, columns: int = 2, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(steps, 2, 2, columns, generator=generator, dtype=torch.float64) * 0.7
    return A, torch.randn(steps, 2, columns, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("steps", [*range(1, 20), 31, 32, 33, 101, 256])
@pytest.mark.parametrize("is_constant", [False, True])
def test_the_scan_is_the_affine_recurrence(steps: int, is_constant: bool):
    A, b = maps(steps)
    if is_constant:
        A = A[:1]
    kept = A.clone(), b.clone()
    states = affine_scan(A, b).states
    assert torch.equal(A, kept[0]) and torch.equal(b, kept[1])
    state = torch.zeros(2, 2, dtype=torch.float64)
    for n in range(steps):
        state = torch.einsum("ijc,jc->ic", A[0 if is_constant else n], state) + b[n]
        torch.testing.assert_close(states[n], state, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("steps", [1, 5, 8, 64])
def test_the_scan_gives_the_products_over_its_largest_blocks(steps: int):
    A, b = maps(steps)
    products = affine_scan(A, b).products
    assert len(products) == {1: 1, 5: 5 + 2 + 1, 8: 8 + 4 + 2 + 1, 64: 8 + 4 + 2 + 1}[steps]
    whole = torch.eye(2, dtype=torch.float64).unsqueeze(-1).expand(2, 2, 2)
    for B in A[: 1 << (steps.bit_length() - 1)]:
        whole = torch.einsum("ijc,jkc->ikc", B, whole)
    torch.testing.assert_close(products[-1], whole, rtol=1e-11, atol=1e-13)


# ---- the states ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 101, 784])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, (0, 3), (2, 0)])
def test_the_states_are_those_of_the_loop(steps: int, dtype: torch.dtype, shape: tuple[int, int]):
    p = problem(steps, *shape, dtype=dtype)
    before = {name: value.clone() for name, value in p.items()}
    found = parallel.forward(**p)
    assert found.execution == "parallel" and found.y.shape == p["x"].shape and found.y.dtype == dtype
    assert all(torch.equal(p[name], before[name]) for name in NAMES)
    if found.y.numel():
        assert_is_the_loop(found, p)


@pytest.mark.parametrize("dtype", only(DTYPES, DTYPES[0]))
@pytest.mark.parametrize(
    ("dt", "alpha", "spread"),
    [(0.38, 30.65, 0.0), (0.05, 0.0, 0.0), (0.1, 1.0, 3.0), (1.5, 1.0, 0.0), (2e-4, 3.0, 1.0)],
)
@pytest.mark.parametrize("steps", only([1, 2, 3, 101], 2, 101))
def test_coarse_fine_stiff_and_saddle_steps_are_within_the_admitted_error(dtype, dt, alpha, spread, steps):
    for seed in range(3):
        p = problem(steps, 4, 8, dt=dt, alpha=alpha, spread=spread, dtype=dtype, seed=seed)
        assert_is_the_loop(parallel.forward(**p), p)


def test_the_admitted_error_would_not_admit_another_step_size():
    p = problem(101)
    found = parallel.forward(**p | {"step_size": p["step_size"] * 1.001})
    with pytest.raises(AssertionError):
        assert_is_the_loop(found, p)


@pytest.mark.parametrize("tile", only([1, 2, 7, 64, 100, 101, 4096], 7, 64, 100, 4096))
def test_the_tile_is_a_matter_of_time_only(tile: int):
    p = problem(101)
    found, info = parallel.solve(**p, tile=tile)
    assert info.tile == tile and len(info.iterations) == math.ceil(101 / tile)
    assert_is_the_loop(found, p)


def test_columns_may_take_turns(monkeypatch):
    """So that memory is bounded; the columns of a scan know nothing of each other."""
    p = problem(300, 3, 4)
    together, info = parallel.solve(**p, tile=100)
    gradients = derivatives(parallel.forward, p, cotangents(p))
    monkeypatch.setattr(parallel, "ELEMENTS", 500)
    in_turn, again = parallel.solve(**p, tile=100)
    assert torch.equal(together.y, in_turn.y) and torch.equal(together.z, in_turn.z) and info == again
    for name, gradient in derivatives(parallel.forward, p, cotangents(p)).items():
        torch.testing.assert_close(gradient, gradients[name], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (2, 1), (2, 3)])
def test_coefficients_broadcast(shape: tuple[int, ...]):
    p = problem(20)
    p["alpha"] = (p["alpha"] + 0.1 * torch.arange(math.prod(shape), dtype=torch.float64)).reshape(shape)
    p["w"] = p["alpha"] / 2
    assert_is_the_loop(parallel.forward(**p), p)


def test_plain_numbers_and_no_initial_state_are_accepted():
    x = problem(20)["x"]
    found = parallel.forward(x, w=0.5, step_size=0.1, alpha=1.0)
    expected = torch_loop.forward(x, w=0.5, step_size=0.1, alpha=1.0)
    torch.testing.assert_close(found.y, expected.y, rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
def test_without_a_recurrent_weight_the_first_iterate_is_corrected_at_most_for_its_roundings(dtype):
    p = problem(784, dtype=dtype)
    p["w"] = torch.zeros_like(p["w"])
    found, info = parallel.solve(**p)
    assert max(info.iterations) <= 1
    assert_is_the_loop(found, p)


def test_after_k_iterations_the_first_k_states_are_exact_whatever_corrects_the_rest(monkeypatch):
    """So T iterations suffice in exact arithmetic; in floats, with such a Jacobian, while roundings do not grow."""
    true = parallel.jacobians
    monkeypatch.setattr(parallel, "jacobians", lambda kappa, h: true(torch.zeros_like(kappa), h))
    p = problem(12, dt=0.3)
    found, info = parallel.solve(**p, tile=12)
    assert not info.fallback and max(info.iterations) <= 12 + 1
    assert_is_the_loop(found, p)


def contraction(steps: int, w: float, h: float, alpha: float) -> float:
    """K of thm-T (b), at the best of 200 forms; docs/parallel_in_time.md."""
    best = math.inf
    for exponent in torch.linspace(-12.0, math.log(3.9), 200).tolist():
        a = math.exp(exponent) / h**2
        r = math.sqrt(a * (1 - a * h * h / 4))
        ends = (alpha + min(w, 0.0), alpha + max(w, 0.0))
        omega = max(math.asinh(h * abs(kappa - a) / (2 * r)) for kappa in ends)
        growth = sum(math.exp(omega * n) for n in range(steps))
        best = min(best, 2 / (3 * math.sqrt(3)) * h * w * w * growth / r)
    return best


def test_errors_of_the_iterates_obey_the_convergence_theorem_and_not_a_tenth_of_it():
    steps, worst, worst_start = 40, 0.0, 0.0
    generator = torch.Generator().manual_seed(1)
    for _ in range(20):
        alpha, spread, weight = torch.rand(3, generator=generator, dtype=torch.float64).tolist()
        alpha, w = 0.1 + 30 * alpha, 4 * weight - 2
        h = 0.001 + 0.2 * spread / math.sqrt(alpha)
        x = torch.randn(steps, 1, 1, generator=generator, dtype=torch.float64)
        y = torch_loop.forward(x, w=w, step_size=h, alpha=alpha).y
        restored = math.sqrt(alpha * (1 - alpha * h * h / 4))
        start = steps * h * min(2.0, abs(w) * float(y.abs().max())) / restored
        K, before = contraction(steps, w, h, alpha), None
        for error in errors_of_iterates(x, w, h, alpha, y):
            if before is None:
                worst_start = max(worst_start, error / start)
            elif before > 1e-6:  # above roundoff
                worst = max(worst, error / (K * before**2))
            before = error
    assert 0.1 < worst <= 1 and 0.1 < worst_start <= 1


def errors_of_iterates(x: Tensor, w: float, h: float, alpha: float, expected: Tensor, count: int = 5) -> list[float]:
    """max|y_n^{(k)} − y_n|, k = 0..count − 1, of Newton's method written once more, solved by a loop."""
    rows = len(x)
    y, z = [0.0], [0.0]
    for n in range(rows):
        z.append(z[-1] - h * (math.tanh(float(x[n])) + alpha * y[-1]))
        y.append(y[-1] + h * z[-1])
    found = []
    for _ in range(count):
        found.append(max(abs(y[n + 1] - float(expected[n])) for n in range(rows)))
        new_y, new_z = [0.0], [0.0]
        for n in range(rows):
            s = math.tanh(w * y[n] + float(x[n]))
            change = new_y[n] - y[n]
            new_z.append(new_z[n] - h * (s + w * (1 - s * s) * change + alpha * new_y[n]))
            new_y.append(new_y[n] + h * new_z[-1])
        y, z = new_y, new_z
    return found


# ---- what is reported ----------------------------------------------------------------------------------------------


def residuals(p: dict[str, Tensor], y: Tensor, z: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """|ρ| and |η| of the states in long double, from the definition."""
    x, w, h, alpha, y0, z0 = (np.asarray(p[name].numpy(), dtype=np.longdouble) for name in NAMES)
    ys = np.concatenate([y0[None], y.numpy().astype(np.longdouble)])
    zs = np.concatenate([z0[None], z.numpy().astype(np.longdouble)])
    s = np.tanh(w * ys[:-1] + x)
    return np.abs(zs[:-1] - h * (s + alpha * ys[:-1]) - zs[1:]), np.abs(ys[:-1] + h * zs[1:] - ys[1:])


def in_units(p: dict[str, Tensor], y: Tensor, z: Tensor, tile: int) -> float:
    """max(ρ/τ_z, η/τ_y) over tiles with the levels written once more."""
    kick, drift = residuals(p, y, z)
    w, h, alpha = (np.asarray(p[name].double().numpy()) for name in ("w", "step_size", "alpha"))
    u, worst = UNIT_ROUNDOFF[p["x"].dtype], 0.0
    ys, zs = (np.concatenate([p[first].numpy()[None], v.numpy()]) for first, v in (("y0", y), ("z0", z)))
    for row in range(0, len(y), tile):
        Y, Z = (np.abs(v[row : row + tile + 1]).max(0).astype(float) for v in (ys, zs))
        level_z = u * (2 * Z + h * (3 * np.abs(w) * Y + 5 * alpha * Y + 8))
        level_y = u * (2 * Y + 3 * h * Z)
        part = slice(row, row + tile)
        worst = max(worst, float((kick[part].max(0) / level_z).max()), float((drift[part].max(0) / level_y).max()))
    return worst


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", [0.0, 30.0])
def test_the_reported_residual_is_that_of_the_returned_states(dtype: torch.dtype, alpha: float):
    p = problem(500, 2, 4, alpha=alpha, dtype=dtype)
    found, info = parallel.solve(**p, tile=128)
    again = in_units(p, found.y, found.z, 128)
    assert 0 < info.residual <= 1 and again > 0
    assert abs(again - info.residual) <= 1, "evaluation in the dtype is part of the level"
    moved = found.y.clone()
    moved[77, 0, 0] += 1e-3
    assert in_units(p, moved, found.z, 128) > 100


def test_the_reported_iterations_are_the_scans_that_were_made(monkeypatch):
    calls = []

    def counted(A: Tensor, b: Tensor) -> Any:
        calls.append(len(b))
        return affine_scan(A, b)

    monkeypatch.setattr(parallel, "affine_scan", counted)
    _, info = parallel.solve(**problem(300), tile=100)
    assert len(calls) == sum(info.iterations) + 3, "one more a tile: the first iterate"
    assert 0 < info.mean_iterations <= max(info.iterations)


@pytest.mark.parametrize(("alpha", "spread"), [(1.0, 0.0), (1.0, 3.0), (0.0, 0.0)])
def test_the_reported_growth_is_a_norm_of_products_of_jacobians(alpha: float, spread: float):
    """Against the largest over *all* products of the tile, and 0, which no product of determinant 1 is below."""
    p = problem(32, 2, 2, alpha=alpha, spread=spread)
    result, info = parallel.solve(**p, tile=32)
    assert not info.fallback
    before = torch.cat([p["y0"].unsqueeze(0), result.y[:-1]])
    kappa = (p["alpha"] + p["w"] / torch.cosh(p["w"] * before + p["x"]) ** 2).numpy()
    largest = blocks = 0.0
    for i in range(2):
        for k in range(2):
            h = float(p["step_size"][k])
            a = min(max(float(p["alpha"] + p["w"][k] / 2), 1 / (32 * h) ** 2), 3.9 / h**2)
            S = np.linalg.cholesky(np.array([[a, -a * h / 2], [-a * h / 2, 1]])).T
            steps = [np.array([[1 - h * h * c, h], [-h * c, 1]]) for c in kappa[:, i, k]]
            for start in range(32):
                product = np.eye(2)
                for stop in range(start, 32):
                    product = steps[stop] @ product
                    size = math.log(np.linalg.norm(S @ product @ np.linalg.inv(S), 2))
                    largest = max(largest, size)
                    if stop + 1 - start in (4, 8, 16, 32) and start % (stop + 1 - start) == 0:
                        blocks = max(blocks, size)
    assert -1e-6 <= info.log_growth <= largest + 1e-6
    assert info.log_growth == pytest.approx(blocks, abs=1e-6)


@pytest.mark.parametrize(
    ("steps", "dt", "alpha", "tile", "expected"),
    [
        (784, 0.19, 30.65, 256, 3.2),
        (1000, 0.126, 13.0, 256, 3.8),
        (784, 0.19, 30.65, 1024, 4.0),
        (1000, 0.126, 13.0, 1024, 4.0),
        *(
            pytest.param(17984, dt, alpha, tile, expected, marks=pytest.mark.slow)
            for dt, alpha, tile, expected in [
                (0.0343, 0.0, 256, 4.1),
                (0.0343, 0.0, 1024, 9.6),
                (0.19, 30.0, 256, 3.9),
                (0.19, 30.0, 1024, 5.5),
                (2.81e-5, 0.0, 256, 1.0),
                (2.81e-5, 0.0, 1024, 1.8),
            ]
        ),
    ],
)
def test_few_iterations_are_needed_at_the_published_step_sizes(steps, dt, alpha, tile, expected):
    """Averages of another implementation, which stopped elsewhere: the last iteration may differ."""
    p = problem(steps, 2, 8, dt=dt, alpha=alpha)
    _, info = parallel.solve(p["x"], **coefficients(p), tile=tile)
    average = sum(info.iterations) / len(info.iterations)
    assert not info.fallback and abs(average - expected) <= 1.01


# ---- where it does not converge ------------------------------------------------------------------------------------


def assert_every_window_is_the_loop(p: dict[str, Tensor], result: Any, window: int = 4) -> None:
    """For trajectories whose admitted error is beyond use: their residuals, and from each of their own states
    ``window`` steps of the loop in float64.
    """
    assert in_units(p, result.y, result.z, parallel.TILE) <= 2, "the level, and the evaluation in the dtype"
    ys = torch.cat([result.y0.unsqueeze(0), result.y]).double()
    zs = torch.cat([result.z0.unsqueeze(0), result.z]).double()
    x, steps = p["x"].double(), len(p["x"])
    bound = admitted(p, result, p["x"].dtype, steps=window)
    y, z = ys[: steps + 1 - window], zs[: steps + 1 - window]
    for ahead in range(window):
        y, z = torch_loop.step(y, z, x[ahead : ahead + len(y)], **coefficients(in_double(p)))
    # Both ends are stored states, so one rounding of each comes on top of what the steps between them admit.
    first = admitted(p, result, p["x"].dtype, steps=1)
    assert ((ys[window:] - y).abs() <= 2 * bound.y + first.y).all()
    assert ((zs[window:] - z).abs() <= 2 * bound.z + first.z).all()


@pytest.mark.parametrize("dtype", only(DTYPES, DTYPES[0]))
@pytest.mark.parametrize("tile", only([64, 512], 64))
@pytest.mark.parametrize(("dt", "spread"), [(0.4, 4.0), (1.5, 4.0), (1.9, 30.0)])
def test_a_chaotic_recurrence_converges_or_says_that_it_did_not(dtype, tile, dt, spread):
    p = problem(600, 2, 6, dt=dt, alpha=0.0, spread=spread, dtype=dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result, info = parallel.solve(**p, tile=tile)
    assert_every_window_is_the_loop(p, result)
    assert bool(caught) == info.fallback == (result.execution != "parallel")
    assert all(isinstance(w.message, SequentialFallback) for w in caught)
    if info.sequential < info.columns:
        assert info.residual <= 1


def test_some_of_the_chaotic_cases_fall_back_and_some_converge():
    fallbacks = []
    for tile in (16, 512):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fallbacks.append(parallel.solve(**problem(600, 2, 6, dt=1.5, alpha=0.0, spread=4.0), tile=tile)[1].fallback)
    assert fallbacks == [False, True]


@pytest.mark.parametrize("max_iterations", [1, 2])
def test_columns_without_convergence_are_those_of_the_loop_bit_for_bit(max_iterations: int):
    p = problem(300, dt=0.3)
    p["w"][0] = 0.0  # this neuron needs one correction, the others more
    with pytest.warns(SequentialFallback, match="4 of 6 columns by the torch loop: 4 did not converge in [12] iter"):
        result, info = parallel.solve(**p, max_iterations=max_iterations)
    looped = torch_loop.forward(**p)
    assert torch.equal(result.y[..., 1:], looped.y[..., 1:]) and torch.equal(result.z[..., 1:], looped.z[..., 1:])
    assert info.fallback and (info.sequential, info.columns) == (4, 6)
    assert result.execution.startswith("parallel, torch for 4 of 6 columns (4 did not converge")
    assert_is_the_loop(result, p)


def test_what_ran_is_in_every_result_and_so_are_the_numbers(monkeypatch):
    monkeypatch.setattr(parallel._Limits, "__new__", lambda cls: tuple.__new__(cls, (512, 1.0, 1)))
    p = problem(300, dt=0.3)
    with pytest.warns(SequentialFallback):
        found = parallel.outputs(**p)
    assert found.execution.startswith("torch (parallel: 6 did not converge in 1 iterations in steps 1 to 300")
    assert found.execution.info.sequential == 6
    with pytest.warns(SequentialFallback):
        assert parallel.forward(**p).execution == found.execution
    monkeypatch.undo()
    assert parallel.outputs(**p).execution == "parallel"
    assert parallel.outputs(**p).execution.info.iterations[0] > 1
    for copied in (copy.deepcopy(found.execution), pickle.loads(pickle.dumps(found.execution))):
        assert copied == found.execution and copied.info == found.execution.info


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["x", "y0", "z0", "w"])
def test_what_is_not_finite_comes_out_as_from_the_loop(bad: float, where: str):
    p = problem(40)
    p[where].view(-1)[len(p[where].view(-1)) // 2] = bad
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result, info = parallel.solve(**p, tile=16)
    looped = torch_loop.forward(**p)
    for name in ("y", "z"):
        found, expected = getattr(result, name), getattr(looped, name)
        assert torch.equal(torch.isnan(found), torch.isnan(expected))
        torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11, equal_nan=True)
    broken = int((~torch.isfinite(looped.y).all(0)).sum())
    assert info.sequential >= broken and bool(caught) == info.fallback
    if where == "x" and math.isinf(bad):
        assert not info.fallback, "tanh saturates"


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_that_overflow_are_noticed(dtype: torch.dtype):
    """A saddle of rate 3 a step: e^{3·512} has no float."""
    p = problem(512, 1, 2, dt=1.9, alpha=0.0, dtype=dtype)
    p["w"] = torch.full_like(p["w"], -30.0)
    p["x"] = torch.zeros_like(p["x"])
    p["y0"], p["z0"] = torch.zeros_like(p["y0"]), torch.full_like(p["z0"], 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, _ = parallel.solve(**p)
    assert torch.isfinite(result.y).all()
    assert_every_window_is_the_loop(p, result)


# ---- planted faults ------------------------------------------------------------------------------------------------


def wrong_sign(true: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda kappa, h: true(-kappa if len(kappa) > 1 else kappa, h)


def half_coupling(true: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def planted(kappa: Tensor, h: Tensor) -> Tensor:
        B = true(kappa, h)
        B[:, 0, 1] *= 0.5
        return B

    return planted


@pytest.mark.parametrize("plant", [wrong_sign, half_coupling])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_wrong_jacobian_costs_iterations_and_never_the_answer(plant, dtype, monkeypatch):
    p = problem(200, dtype=dtype)
    _, right = parallel.solve(**p, tile=100)
    monkeypatch.setattr(parallel, "jacobians", plant(parallel.jacobians))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, info = parallel.solve(**p, tile=100)
    assert info.fallback or info.mean_iterations > right.mean_iterations + 1
    assert_is_the_loop(found, p)


def test_a_scan_that_forgets_a_state_never_gives_a_wrong_answer(monkeypatch):
    def planted(A: Tensor, b: Tensor) -> Any:
        scan = affine_scan(A, b)
        scan.states[3] = 0
        return scan

    monkeypatch.setattr(parallel, "affine_scan", planted)
    p = problem(50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, _ = parallel.solve(**p)
    assert_is_the_loop(found, p)


# ---- lengths -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("steps", [0, 1, 40, 1100])
def test_outputs_end_with_each_sample(dtype: torch.dtype, steps: int):
    p = problem(steps, 5, 2, dtype=dtype, dt=0.02)
    lengths = torch.tensor([0, 1, 3, 17, 1100]).clamp(max=steps)
    beyond = torch.arange(steps).unsqueeze(1) >= lengths
    p["x"][beyond] = math.nan
    leaves = {name: value.clone().requires_grad_() for name, value in p.items()}
    found = parallel.outputs(**leaves, lengths=lengths)
    assert found.execution == "parallel" and found.backward == "stored"
    expected = torch_loop.outputs(**in_double(p), lengths=lengths)
    states = torch_loop.forward(**in_double(p) | {"x": p["x"].double().nan_to_num(0.0)})
    bound = admitted(p, states, dtype)
    assert not found.y[beyond].any()
    for name, limit in (("y", bound.y), ("y_last", bound.y), ("z_last", bound.z)):
        assert ((getattr(found, name).double() - getattr(expected, name)).abs() <= 2 * limit).all()
    weights = cotangents(p)[0].to(dtype)
    ((found.y * weights).sum() + found.y_last.sum() + found.z_last.square().sum()).backward()
    doubles = {name: value.requires_grad_() for name, value in in_double(p).items()}
    again = torch_loop.outputs(**doubles, lengths=lengths)
    ((again.y * weights.double()).sum() + again.y_last.sum() + again.z_last.square().sum()).backward()
    assert not leaves["x"].grad[beyond].any()
    for name in NAMES:
        ours, theirs = leaves[name].grad.double(), doubles[name].grad
        if theirs is None:  # the loop reads nothing where there is no step
            assert steps == 0 and not ours.any()
            continue
        scale = float(theirs.abs().max()) if theirs.numel() else 0.0
        # The bound of the other tests, rounded up: N (12 log₂ 2T + 8) roundings without growth.
        admitted_here = steps * (12 * math.log2(2 * max(steps, 1)) + 8) * UNIT_ROUNDOFF[dtype] * scale
        assert not theirs.numel() or float((ours - theirs).abs().max()) <= admitted_here


def test_samples_that_have_ended_are_not_solved(monkeypatch):
    widths = []

    def counted(A: Tensor, b: Tensor) -> Any:
        widths.append(b.shape[2])
        return affine_scan(A, b)

    monkeypatch.setattr(parallel, "affine_scan", counted)
    p = problem(1100, 3, 2)
    parallel.outputs(**p, lengths=torch.tensor([10, 10, 1100]))
    assert max(widths) == 6 and widths[-1] <= 2


# ---- the rest of the contract --------------------------------------------------------------------------------------


def test_it_is_registered_and_always_there():
    assert executions.get("parallel").name == "parallel" and parallel.unavailable_because() is None


def test_a_network_may_run_on_it():
    generator = torch.Generator().manual_seed(0)
    cell = UnICORNN(2, 5, num_layers=2, dt=0.1, alpha=1.0, generator=generator, dtype=torch.float64)
    u = torch.randn(40, 3, 2, generator=generator, dtype=torch.float64)
    gradients = []
    for execution in ("torch", "parallel"):
        cell.zero_grad()
        output, _ = cell(u, execution=execution)
        output.square().sum().backward()
        gradients.append((output.detach(), *(p.grad.clone() for p in cell.parameters() if p.grad is not None)))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-11)


def test_the_inverse_is_the_loop_and_says_so():
    p = problem(17)
    there = parallel.forward(**p)
    back = parallel.inverse(p["x"], **coefficients(p), y_last=there.y_last, z_last=there.z_last)
    assert back.execution == "torch"
    torch.testing.assert_close(back.y0, p["y0"], rtol=0, atol=1e-12)


def test_wrong_limits_and_modes_are_refused():
    p = problem(3)
    with pytest.raises(ValueError, match="tile is 0"):
        parallel.solve(**p, tile=0)
    with pytest.raises(ValueError, match="max_iterations 0"):
        parallel.solve(**p, max_iterations=0)
    with pytest.raises(ValueError, match="tolerance is 0"):
        parallel.solve(**p, tolerance=0)
    with pytest.raises(ValueError, match='backward="exact" is not offered by execution="parallel"'):
        parallel.outputs(**p, backward="exact")


def test_a_larger_tolerance_is_reported_as_what_it_is():
    p = problem(784, alpha=0.0)
    _, strict = parallel.solve(**p)
    found, loose = parallel.solve(**p, tolerance=1e6)
    assert loose.tolerance == 1e6 and loose.mean_iterations < strict.mean_iterations
    assert in_units(p, found.y, found.z, parallel.TILE) <= loose.residual + 1


def test_a_tolerance_below_roundoff_falls_back_and_does_not_hang():
    with pytest.warns(SequentialFallback):
        _, info = parallel.solve(**problem(300), tolerance=1e-6)
    assert info.fallback


# ---- long sequences ------------------------------------------------------------------------------------------------


def states_and_derivatives(execution: Any, p: dict[str, Tensor], grad_y: Tensor) -> dict[str, Tensor]:
    with torch.no_grad():
        states = execution.forward(**p)
    found = execution.backward(p["x"], **coefficients(p), states=states, grad_y=grad_y.to(p["x"].dtype))
    assert states.execution == execution.name
    return {"y_n": states.y.double(), "z_n": states.z.double()} | {n: getattr(found, n).double() for n in NAMES}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("dt", "alpha"), [(0.0343, 0.0), (0.19, 30.0), (2.81e-5, 0.0)])
def test_long_sequences_are_as_exact_as_their_own_condition_allows(dtype: torch.dtype, dt: float, alpha: float):
    """17984 steps (EigenWorms): windows of the loop, and the whole against the float64 loop.

    The admitted error of the whole sequence is beyond use, being that of the worst inputs. So the condition is
    measured: the float64 loop runs again with every x_n moved at random by what one step's roundings amount to, and
    states and derivatives may be off by 8 times what that changes; derivatives also by N roundings of the largest.
    """
    p = problem(17984, 1, 4, dt=dt, alpha=alpha, dtype=dtype)
    assert_every_window_is_the_loop(p, parallel.forward(**p))
    exact = in_double(p)
    grad_y = torch.zeros_like(exact["x"])
    grad_y[-1] = 1.0
    expected = states_and_derivatives(torch_loop, exact, grad_y)
    found = states_and_derivatives(parallel, p, grad_y)
    roundings = admitted(p, torch_loop.forward(**exact), dtype, steps=1).z / exact["step_size"]
    noise = torch.randn(exact["x"].shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    moved = states_and_derivatives(torch_loop, exact | {"x": exact["x"] + roundings * noise}, grad_y)
    for name, value in expected.items():
        gap, change = (float((other[name] - value).abs().max()) for other in (found, moved))
        own = 0.0 if name in ("y_n", "z_n") else 17984 * UNIT_ROUNDOFF[dtype] * float(value.abs().max())
        assert gap <= 8 * change + own, (name, gap, change)
