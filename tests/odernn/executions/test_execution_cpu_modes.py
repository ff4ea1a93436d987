"""How the modes of the cpu execution get the states back: exactly, rebuilt and checked, or with z held."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from odernn.executions import torch_loop
from odernn.executions.cpu import execution as cpu
from odernn.executions.cpu.columns import ColumnJob
from odernn.executions.cpu.drive import Drive
from odernn.executions.cpu.exact import Grid
from odernn.executions.cpu.kernels import exact as exact_kernels
from odernn.executions.cpu.kernels import lanes as lanes_of
from odernn.executions.recurrence import UNIT_ROUNDOFF
from tests.odernn.executions.cpu_problems import (
    DTYPES,
    GROWING,
    MODES,
    gradients_of_the_last,
    mixed,
    normal,
    problem,
    run,
    saddle,
)
from tests.tiers import slow, without


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("alpha", "h"), [slow((0.0, 0.0343)), slow((30.0, 0.19)), (0.0, 0.19)])
def test_exact_steps_back_to_every_state_of_17984(dtype: torch.dtype, alpha: float, h: float):
    """Zero mismatches, to the bit of float64, also where the trajectory is chaotic."""
    steps, columns = 17984, 5
    x = normal(steps, 1, columns, seed=6, dtype=dtype)
    job = ColumnJob.of(steps, (1, columns), dtype, None)
    w, size, restoring = torch.rand(columns).to(dtype), torch.tensor(h, dtype=dtype), torch.tensor(alpha, dtype=dtype)
    zero = torch.zeros(1, columns, dtype=dtype)
    lanes = job.lanes(w, size, restoring, zero, zero)
    drive = Drive(x, None, None, columns, "exact", job, in_kernels=False)
    grid = Grid.of(drive, job, lanes, zero, zero)
    rows, none = np.empty((steps, columns), job.one.dtype), np.empty((0, columns), job.one.dtype)
    grid.run(drive, lanes, rows, none)  # settles the grids
    for lane in (lanes_of.EXACT_Y, lanes_of.EXACT_Z):
        grid._pack(lane, np.zeros((1, columns)))

    def state() -> np.ndarray:
        return np.stack([grid.states[0, lane : lane + columns] for lane in (lanes_of.EXACT_Y, lanes_of.EXACT_Z)])

    seen = []
    flat, sums = x.numpy().reshape(steps, columns), np.zeros((1, lanes_of.SUM_LANES * lanes_of.PITCH))
    for n in range(steps):
        seen.append(state())
        exact_kernels.exact_forward(flat[n : n + 1], rows, none, n, lanes, grid.states, job.places, 0, 1)
    assert np.abs(state()).min() > 0
    mismatches, grad = 0, np.zeros((1, columns), job.one.dtype)
    for n in reversed(range(steps)):
        exact_kernels.exact_backward(
            flat[n : n + 1], grad, none, grad.copy(), n, lanes, grid.states, sums, job.places, 0, 1, job.one
        )
        mismatches += int((state() != seen[n]).sum())
    assert mismatches == 0


@pytest.mark.parametrize("seed", range(8))
def test_exact_is_closer_to_the_truth_in_float32(seed: int):
    """By the root mean square of a neuron's error, in the geometric mean over neurons: 1/(h √(3κ)), within half of it.

    Count errors of a step in the energy κ y² + z² of the wave, whose halves are equal on average, with u² c as the mean
    square of a rounding relative to its result, and κ = α + w/2. ``stored`` rounds both states: 2 c u² κ y². ``exact``
    rounds increments: α y, the force, h times it, the y that it is computed from, each at most h κ y, and z and h z,
    each h z: 6 c u² h² κ² y². Left out are the errors of tanh and what is fused. For the largest error of one drive and
    for one neuron less is true: with these drives the ratios are 1.8 to 7.6, and 0.7 to 15.
    """
    p = problem(784, 3, 33, torch.float32) | {"x": normal(784, 3, 33, seed=seed, dtype=torch.float32)}
    truth = torch_loop.forward(**{name: value.double() for name, value in p.items()}).y
    x, rest = p["x"], {name: value for name, value in p.items() if name != "x"}
    rows = {mode: cpu.outputs(x, **rest, backward=mode).y for mode in MODES}  # type: ignore[arg-type]
    errors = {mode: (rows[mode].double() - truth).square().mean((0, 1)).sqrt() for mode in MODES}
    ratio = (errors["stored"] / errors["exact"]).log().mean().exp()
    expected = 1 / (p["step_size"] * (3 * (p["alpha"] + p["w"] / 2)).sqrt())
    assert 2 / 3 <= float(ratio / expected.log().mean().exp()) <= 3 / 2
    assert torch.equal(rows["reversible"], rows["stored"])


def test_exact_refuses_a_gradient_of_other_states(monkeypatch):
    """Planted fault: the backward pass of other weights does not come back, and says so."""
    right = Grid.restored

    def spoilt(kept: Tensor, job: Any) -> Any:
        return right(kept * torch.tensor([1.0, 1.001, 1.0, 1.0], dtype=torch.float64)[:, None, None], job)

    monkeypatch.setattr(Grid, "restored", staticmethod(spoilt))
    with pytest.raises(RuntimeError, match="did not return to the initial state"):
        run(cpu, problem(20, 2, 3), None, backward="exact")


CHAOTIC = {"w": torch.tensor(8.0), "step_size": torch.tensor(0.9), "alpha": torch.tensor(0.0)}


def test_rebuilt_states_that_are_wrong_are_found_and_replaced():
    """α = 0 and wide w at a large step: the inverse loses its digits within 128 steps, and the answer does not."""
    x, by = normal(300, 2, 8, seed=7, dtype=torch.float32), normal(300, 2, 8, seed=8, dtype=torch.float32)
    gradients = {}
    for mode in ("stored", "reversible"):
        leaf = x.clone().requires_grad_()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ran = cpu.outputs(leaf, **CHAOTIC, backward=mode)  # type: ignore[arg-type]
            (gradients[mode],) = torch.autograd.grad((ran.y * by).sum(), leaf)
        messages = [str(each.message) for each in caught]
        assert len(messages) == (1 if mode == "reversible" else 0)
    assert "pieces of 128 steps the rebuilt states were off" in messages[0] and 'backward="stored"' in messages[0]
    assert (gradients["stored"] - gradients["reversible"]).abs().max() <= 1e-3 * gradients["stored"].abs().max()


def test_without_the_check_the_rebuilt_gradient_is_wrong(monkeypatch):
    monkeypatch.setattr(cpu, "REBUILT_TOLERANCE", {torch.float32: math.inf})
    x = normal(300, 2, 8, seed=7, dtype=torch.float32)
    by = 1e-10 * normal(300, 2, 8, seed=8, dtype=torch.float32)  # derivatives grow by 10²⁷: so they stay numbers
    gradients = []
    for mode in ("stored", "reversible"):
        leaf = x.clone().requires_grad_()
        ran = cpu.outputs(leaf, **CHAOTIC, backward=mode)  # type: ignore[arg-type]
        gradients += torch.autograd.grad((ran.y * by).sum(), leaf)
    assert (gradients[0] - gradients[1]).abs().max() > 1e-2 * gradients[0].abs().max()


@pytest.mark.parametrize("p", GROWING, ids=range(len(GROWING)))
def test_no_rebuilt_gradient_is_wrong_without_a_warning(p: dict[str, Tensor]):
    """Every gradient is off by less than 5 % without one, and after one is that of the mode "stored"."""
    stored, _ = gradients_of_the_last(cpu, p)
    rebuilt, messages = gradients_of_the_last(cpu, p, backward="reversible")
    for name, expected in stored.items():
        size = float(expected.abs().max())
        gap = float((rebuilt[name] - expected).abs().max())
        assert gap <= (1e-5 if messages else 0.05) * size, name


SADDLES = [(128, -1.0, 1e-5), (256, -1.0, 1e-7), (1300, -1.0, 1e-7), (200, -4.0, 1e-9)]
STEEP = [(60, -4.0, 1e-30, 0.9), (30, -4.0, 1e-20, 0.99)]
"""Growing fivefold a step and more: held only every 16 steps, z was off by a factor of 300."""


def stored_derivative_by_h(dtype: torch.dtype, is_layer: bool, p: dict[str, Tensor]) -> float:
    """dE/dh of the mode "stored"; or of the mean of 16 neurons alike, for which the kernels make x."""
    x, *rest = (value.to(dtype) for value in p.values())
    w, h, alpha, y0, z0 = rest
    h.requires_grad_()
    if is_layer:
        V = torch.ones(16, 1, dtype=dtype)
        first = [state.expand(1, 16).contiguous() for state in (y0, z0)]
        y = cpu.layer_outputs(x, V, None, w=w, step_size=h, alpha=alpha, y0=first[0], z0=first[1]).y.mean(2)
    else:
        y = cpu.outputs(x, w=w, step_size=h, alpha=alpha, y0=y0, z0=z0).y
    (found,) = torch.autograd.grad(y[-1].sum(), h)
    return float(found)


@pytest.mark.parametrize("of", SADDLES + STEEP)
@pytest.mark.parametrize(
    ("dtype", "is_layer"), without(itertools.product(DTYPES, (False, True)), (torch.float64, True)), ids=str
)
def test_the_stored_gradient_by_h_of_a_long_saddle_keeps_its_digits(
    dtype: torch.dtype, is_layer: bool, of: tuple[float, ...]
):
    """z grows by many orders of magnitude: summed back over all steps it would keep the rounding of the largest.

    All terms of z, y, p, q and dE/dh have one sign, so that no error is amplified relative to its sum: some ten
    roundings a step forwards, and as many back. z held is off by at most 4u |y|/h + 8u |z|, and |y_n| ≤ n h |z_n|,
    since z only grows. The oracle in float64 has roundings of its own, hence twice that.
    """
    p = saddle(*of)  # type: ignore[arg-type]
    truth, _ = gradients_of_the_last(torch_loop, {name: value.double() for name, value in p.items()})
    admitted = (20 * of[0] + 4 * of[0] + 8) * UNIT_ROUNDOFF[dtype]
    assert abs(stored_derivative_by_h(dtype, is_layer, p) / float(truth["step_size"]) - 1) <= 2 * admitted


@pytest.mark.parametrize(("y0", "z0", "h"), [(1.0, 1.0, 1e-4), (0.0, 1e-20, 1e-30)])
@pytest.mark.parametrize("is_layer", [False, True])
def test_z_is_held_no_closer_than_the_rows_of_y_know_it(is_layer: bool, y0: float, z0: float, h: float):
    """At a small h the rows of y say little of z, and nothing where h z is below all numbers; the sum is good."""
    p = saddle(8, -1.0, 0.0, h) | {"y0": torch.full((1, 1), y0), "z0": torch.full((1, 1), z0)}
    truth, _ = gradients_of_the_last(torch_loop, {name: value.double() for name, value in p.items()})
    found = stored_derivative_by_h(torch.float32, is_layer, p)
    assert abs(found / float(truth["step_size"]) - 1) <= 20 * 8 * UNIT_ROUNDOFF[torch.float32]


def test_a_weight_gradient_of_rebuilt_noise_is_caught(monkeypatch):
    """Planted fault: without the criterion an error of more than 100 % passes."""
    p = saddle(128, -1.0, 1e-5)
    stored, _ = gradients_of_the_last(cpu, p)
    found, messages = gradients_of_the_last(cpu, p, backward="reversible")
    assert len(messages) == 1
    assert abs(found["w"] / stored["w"] - 1) < 1e-5
    monkeypatch.setattr(cpu, "REBUILT_TOLERANCE", {torch.float32: math.inf})
    found, messages = gradients_of_the_last(cpu, p, backward="reversible")
    assert messages == [] and abs(found["w"] / stored["w"] - 1) > 1


@pytest.mark.parametrize("alpha", [0.0, 1.0, 30.0])
def test_ordinary_networks_are_rebuilt_without_a_warning(alpha: float):
    for steps, size in ((9, 1.0), (100, 0.05), (784, 1.0)):
        p = mixed(0) | {"x": size * normal(steps, 4, 16, seed=21, dtype=torch.float32)}
        p |= {"w": torch.linspace(0, 1, 16), "alpha": torch.tensor([alpha])}
        _, messages = gradients_of_the_last(cpu, p, backward="reversible")
        assert messages == []


def test_a_rebuilt_state_that_is_not_a_number_is_not_trusted():
    """After a NaN in step 31 the states before it are finite, the rebuilt ones are not."""
    x = normal(60, 1, 3, seed=22)
    x[30, 0, 1] = math.nan
    p = {"w": torch.tensor(0.5), "step_size": torch.tensor(0.1), "alpha": torch.tensor(1.0)}
    leaf = x.requires_grad_()
    results = []
    for mode in ("stored", "reversible"):
        ran = cpu.outputs(leaf, **{k: v.double() for k, v in p.items()}, backward=mode)  # type: ignore[arg-type]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results += torch.autograd.grad(ran.y[:20].sum(), leaf)
        assert ["nan" in str(each.message) for each in caught] == ([True] if mode == "reversible" else [])
    torch.testing.assert_close(*results, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("alpha", "h", "steps"), [(20.0, 0.99, 100), (1.0, 3.0, 128), (-1.0, 1.0, 256), (20.0, 0.99, 1000)]
)
def test_exact_overflows_where_the_loop_does(dtype: torch.dtype, alpha: float, h: float, steps: int):
    x = normal(steps, 1, 4, seed=23, dtype=dtype).requires_grad_()
    arguments = {"w": 0.5, "step_size": h, "alpha": alpha}
    loop, exact = torch_loop.outputs(x, **arguments), cpu.outputs(x, **arguments, backward="exact")  # type: ignore[arg-type]
    finite = loop.y.isfinite()
    assert bool(finite.all()) == (dtype == torch.float64 and steps < 1000)
    differs = (exact.y.isfinite() != finite).sum(0)
    assert int(differs.max()) <= 1  # one step, where the last finite state is at the edge of the dtype
    if not finite.all():  # otherwise the grid is that of the largest state, and the first ones are below it
        torch.testing.assert_close(exact.y[:4], loop.y[:4], rtol=1e-4, atol=1e-4)
    (gradient,) = torch.autograd.grad(exact.y[-1].sum(), x)
    assert not gradient[0][~finite[-1]].eq(0).any()
