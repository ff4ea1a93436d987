"""The fused execution on CPU is equation (U): against the float64 torch loop, in every mode, dtype and shape."""

from __future__ import annotations

import functools
import itertools
import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from torch import Tensor

from odernn import executions
from odernn.cells.unicornn import UnICORNN
from odernn.executions import cpu, torch_loop
from odernn.recurrence import UNIT_ROUNDOFF, ReconstructionWarning, admitted_error

kernels = cpu.kernels

MODES = ("stored", "reversible", "exact")
DTYPES = (torch.float32, torch.float64)
STEPS = (0, 1, 2, 3, 101, 784)
SHAPES = ((1, 1), (3, 5), (2, 33), (9, 128))
CASES = list(itertools.product(MODES, DTYPES, STEPS, SHAPES, (False, True)))
NAMES = ("x", "w", "step_size", "alpha", "y0", "z0")


def normal(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def problem(steps: int, batch: int, hidden: int, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """A well-conditioned run, of a restoring force as in the paper's tasks; every coefficient of another shape."""
    uniform = torch.rand(2, hidden, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return {
        "x": normal(steps, batch, hidden, seed=2).to(dtype),
        "w": uniform[0].to(dtype),
        "step_size": (0.02 + 0.1 * uniform[1]).expand(1, hidden).to(dtype),
        "alpha": torch.tensor(3.0, dtype=dtype),
        "y0": normal(batch, hidden, seed=3).to(dtype),
        "z0": normal(batch, hidden, seed=4).to(dtype),
    }


def ends_of(steps: int, batch: int) -> Tensor:
    """Lengths with neighbours that are equal, one that is full and one that is 0."""
    return torch.tensor([(0, steps, steps, steps // 2, 1 if steps else 0)[k % 5] for k in range(batch)])


def run(execution: Any, p: dict[str, Tensor], lengths: Tensor | None, **options: str) -> dict[str, Tensor]:
    """Outputs, and derivatives of a functional of all of them, in float64."""
    values = {name: value.clone().requires_grad_() for name, value in p.items()}
    x = values["x"]
    if lengths is not None:  # what lies beyond the end is not read
        beyond = torch.arange(len(x))[:, None, None] >= lengths[None, :, None]
        x = torch.where(beyond, torch.full_like(x, math.nan), x)
    ran = execution.outputs(x, **{k: v for k, v in values.items() if k != "x"}, lengths=lengths, **options)
    cotangents = [
        normal(*part.shape, seed=5 + k, dtype=part.dtype) for k, part in enumerate((ran.y, ran.y_last, ran.z_last))
    ]
    loss = sum((part * by).sum() for part, by in zip((ran.y, ran.y_last, ran.z_last), cotangents, strict=True))
    gradients = torch.autograd.grad(loss, list(values.values()), materialize_grads=True)  # type: ignore[arg-type]
    found = {"y": ran.y, "y_last": ran.y_last, "z_last": ran.z_last}
    found |= {f"grad {name}": gradient for name, gradient in zip(NAMES, gradients, strict=True)}
    return {name: value.detach().double() for name, value in found.items()}


@functools.cache
def reference(
    dtype: torch.dtype, steps: int, shape: tuple[int, int], is_ragged: bool
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The oracle on the rounded arguments, and the torch loop in the dtype itself."""
    p = problem(steps, *shape, dtype)
    lengths = ends_of(steps, shape[0]) if is_ragged else None
    exact = run(torch_loop, {name: value.double() for name, value in p.items()}, lengths)
    return exact, run(torch_loop, p, lengths)


def violations(
    found: dict[str, Tensor], dtype: torch.dtype, steps: int, shape: tuple[int, int], is_ragged: bool
) -> list[str]:
    """What is farther from the oracle than admitted.

    States: the contract's ``admitted_error``. Gradients: the backward pass is the linearised recurrence run backwards,
    with the same growth of errors, on states that are off by theirs. How much that is depends on the cotangent, so the
    yardstick is the error of the torch loop in the same dtype, which makes the same roundings in another order: the
    largest one of all gradients, each relative to its largest entry, times 8, and 64 u. (The largest of all, since that
    of one gradient of few entries may be small by chance. In float64 the torch loop is the oracle: its own error is
    there that of float32, scaled by the ratio of the unit roundoffs.)
    """
    exact, rounded = reference(dtype, steps, shape, is_ragged)
    u = UNIT_ROUNDOFF[dtype]
    scale = 1.0
    if dtype == torch.float64:
        other_exact, other_rounded = reference(torch.float32, steps, shape, is_ragged)
        scale = u / UNIT_ROUNDOFF[torch.float32]
    else:
        other_exact, other_rounded = exact, rounded
    p = problem(steps, *shape, dtype)
    limits = admitted_error(
        dtype=dtype, steps=steps, w=p["w"], step_size=p["step_size"], alpha=p["alpha"],
        y_max=_largest(exact["y"], p["y0"]) * 1.01, z_max=_largest(exact["z_last"], p["z0"]) * 20,
    )  # fmt: skip
    relative = [
        float((other_rounded[name] - value).abs().max() / value.abs().max())
        for name, value in other_exact.items()
        if name.startswith("grad") and value.numel() and value.abs().max() > 0
    ]
    growth = scale * max(relative, default=0.0)
    wrong = []
    for name, expected in exact.items():
        assert found[name].shape == expected.shape
        gap = (found[name] - expected).abs()
        if name in ("y", "y_last", "z_last"):
            limit = 2 * (limits.z if name == "z_last" else limits.y)
        else:
            size = float(expected.abs().max()) if expected.numel() else 0.0
            limit = torch.tensor((8 * growth + 64 * u) * size)
        if not bool((gap <= limit).all()):
            wrong.append(f"{name}: {float(gap.max()):.2e} > {float(limit.max()):.2e}")
    return wrong


def _largest(rows: Tensor, start: Tensor) -> float:
    return max(float(part.abs().max()) if part.numel() else 0.0 for part in (rows, start.double()))


def test_the_number_of_cases():
    assert len(CASES) == 3 * 2 * 6 * 4 * 2 == 288


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_outputs_and_gradients_are_those_of_the_oracle(mode: str, dtype: torch.dtype, steps: int):
    ran = 0
    for case in CASES:
        if case[:3] != (mode, dtype, steps):
            continue
        _, _, _, shape, is_ragged = case
        lengths = ends_of(steps, shape[0]) if is_ragged else None
        found = run(cpu, problem(steps, *shape, dtype), lengths, backward=mode)
        assert violations(found, dtype, steps, shape, is_ragged) == [], (shape, is_ragged)
        ran += 1
    assert ran == 8


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_outputs_and_gradients_of_a_long_sequence(mode: str, dtype: torch.dtype):
    found = run(cpu, problem(17984, 1, 3, dtype), None, backward=mode)
    assert violations(found, dtype, 17984, (1, 3), False) == []


@pytest.mark.parametrize(
    ("kernel", "mode", "position", "lane"),
    [
        ("stored_backward", "stored", 7, kernels.A),
        ("stored_backward", "stored", 7, kernels.W),
        ("rebuilt_backward", "reversible", 7, kernels.A),
        ("exact_backward", "exact", 5, kernels.W),
        ("forward", "stored", 6, kernels.A),
        ("forward", "stored", 6, kernels.H),
    ],
)
def test_a_kernel_with_a_wrong_sign_is_caught(monkeypatch, kernel: str, mode: str, position: int, lane: int):
    """Planted fault: the kernel sees −α, −w or −h."""
    right: Callable[..., None] = getattr(kernels, kernel)

    def wrong(*arguments: Any) -> None:
        part = arguments[position][:, lane : lane + kernels.WIDTH]
        part *= -1
        right(*arguments)
        part *= -1

    monkeypatch.setattr(kernels, kernel, wrong)
    case = (torch.float64, 3, (3, 5), False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = run(cpu, problem(3, 3, 5), None, backward=mode)
    except RuntimeError as error:
        assert mode == "exact" and "did not return to the initial state" in str(error)
    else:
        assert violations(found, *case)


# --- tanh


def float32_errors(is_plain: bool, stride: int) -> tuple[float, float]:
    """Largest error of tanh in ulp over every ``stride``-th positive float32, and the largest asymmetry."""
    worst, asymmetry = 0.0, 0.0
    for lo in range(0, 0x7F800001, 1 << 27):
        x = np.arange(lo, min(lo + (1 << 27), 0x7F800001), stride, dtype=np.uint32).view(np.float32)
        found, mirrored = np.empty_like(x), np.empty_like(x)
        kernels.tanh(x, found, is_plain)
        kernels.tanh(-x, mirrored, is_plain)
        exact = np.tanh(x.astype(np.float64))
        ulp = np.spacing(exact.astype(np.float32)).astype(np.float64)
        worst = max(worst, float((np.abs(found - exact) / ulp).max()))
        asymmetry = max(asymmetry, float(np.abs(found + mirrored).max()))
    return worst, asymmetry


@pytest.mark.parametrize("is_plain", [False, True])
def test_tanh_of_float32_is_within_1_4_ulp_and_odd(is_plain: bool):
    worst, asymmetry = float32_errors(is_plain, 397)  # 5.4 million numbers; every 7th: 1.32 ulp
    assert 0.5 < worst <= 1.4 and asymmetry == 0.0


@pytest.mark.parametrize("is_plain", [False, True])
def test_tanh_of_float64_is_within_2_ulp_and_odd(is_plain: bool):
    """At 20000 numbers: exponents from −30 to 5 alike, and around the seams 0.6 and 19.1."""
    generator = np.random.default_rng(0)
    parts = (
        np.exp2(generator.uniform(-30, 5, 14000)),
        generator.uniform(0.5, 0.7, 4000),
        generator.uniform(0, 20, 2000),
    )
    x = np.concatenate(parts)
    found, mirrored = np.empty_like(x), np.empty_like(x)
    kernels.tanh(x, found, is_plain)
    kernels.tanh(-x, mirrored, is_plain)
    with mpmath.workprec(120):
        errors = [
            float(abs(mpmath.tanh(float(a)) - float(b)) / float(np.spacing(b))) for a, b in zip(x, found, strict=True)
        ]
    assert 0.5 < max(errors) <= 2.0 and np.array_equal(found, -mirrored)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_plain", [False, True])
def test_tanh_at_the_ends(dtype: type, is_plain: bool):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, np.finfo(dtype).smallest_subnormal], dtype)
    found = np.empty_like(x)
    kernels.tanh(x, found, is_plain)
    assert found[:2].tolist() == [0.0, 0.0] and np.signbit(found[1]) and found[2:4].tolist() == [1.0, -1.0]
    assert np.isnan(found[4]) and found[5] == 1.0 and found[6] == x[6]


# --- the modes


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("alpha", "h"), [(0.0, 0.0343), (30.0, 0.19), (0.0, 0.19)])
def test_exact_steps_back_to_every_state_of_17984(dtype: torch.dtype, alpha: float, h: float):
    """Zero mismatches, to the bit of float64, also where the trajectory is chaotic."""
    steps, columns = 17984, 5
    x = normal(steps, 1, columns, seed=6, dtype=dtype)
    job = cpu._Job.of(steps, (1, columns), dtype, None)
    w, size, restoring = torch.rand(columns).to(dtype), torch.tensor(h, dtype=dtype), torch.tensor(alpha, dtype=dtype)
    zero = torch.zeros(1, columns, dtype=dtype)
    lanes = job.lanes(w, size, restoring, zero, zero)
    drive = cpu._Drive(x, None, None, columns, "exact", job)
    grid = cpu._Grid.of(drive, job, lanes, zero, zero)
    rows, none = np.empty((steps, columns), job.one.dtype), np.empty((0, columns), job.one.dtype)
    grid.run(drive, lanes, rows, none)  # settles the grids
    for lane in (kernels.EXACT_Y, kernels.EXACT_Z):
        grid._pack(lane, np.zeros((1, columns)))

    def state() -> np.ndarray:
        return np.stack([grid.states[0, lane : lane + columns] for lane in (kernels.EXACT_Y, kernels.EXACT_Z)])

    seen = []
    flat, sums = x.numpy().reshape(steps, columns), np.zeros((1, kernels.SUM_LANES * kernels.PITCH))
    for n in range(steps):
        seen.append(state())
        kernels.exact_forward(flat[n : n + 1], rows, none, n, lanes, grid.states, job.places, 0, 1)
    assert np.abs(state()).min() > 0
    mismatches, grad = 0, np.zeros((1, columns), job.one.dtype)
    for n in reversed(range(steps)):
        kernels.exact_backward(
            flat[n : n + 1], grad, none, grad.copy(), n, lanes, grid.states, sums, job.places, 0, 1, job.one
        )
        mismatches += int((state() != seen[n]).sum())
    assert mismatches == 0


def test_exact_is_closer_to_the_truth_in_float32():
    errors = {}
    p = problem(784, 3, 33, torch.float32)
    truth = run(torch_loop, {name: value.double() for name, value in p.items()}, None)
    for mode in MODES:
        errors[mode] = float((run(cpu, p, None, backward=mode)["y"] - truth["y"]).abs().max())
    assert errors["exact"] < errors["stored"] / 2 and errors["reversible"] == errors["stored"]


def test_exact_refuses_a_gradient_of_other_states(monkeypatch):
    """Planted fault: the backward pass of other weights does not come back, and says so."""
    right = cpu._Grid.restored

    def spoilt(kept: Tensor, job: Any) -> Any:
        return right(kept * torch.tensor([1.0, 1.001, 1.0, 1.0], dtype=torch.float64)[:, None, None], job)

    monkeypatch.setattr(cpu._Grid, "restored", staticmethod(spoilt))
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
    x, by = normal(300, 2, 8, seed=7, dtype=torch.float32), normal(300, 2, 8, seed=8, dtype=torch.float32)
    gradients = []
    for mode in ("stored", "reversible"):
        leaf = x.clone().requires_grad_()
        ran = cpu.outputs(leaf, **CHAOTIC, backward=mode)  # type: ignore[arg-type]
        gradients += torch.autograd.grad((ran.y * by).sum(), leaf)
    assert (gradients[0] - gradients[1]).abs().max() > 1e-2 * gradients[0].abs().max()


def gradients_of_the_last(execution: Any, p: dict[str, Tensor], **options: str) -> tuple[dict[str, Tensor], list[str]]:
    """Derivatives of Σ y_N by everything, and the messages of the warnings."""
    values = {name: value.clone().requires_grad_() for name, value in p.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = execution.outputs(values["x"], **{k: v for k, v in values.items() if k != "x"}, **options).y
        found = torch.autograd.grad(y[-1].sum(), list(values.values()))
    return dict(zip(p, found, strict=True)), [str(each.message) for each in caught]


def saddle(steps: int, w: float, first: float) -> dict[str, Tensor]:
    """y″ = −tanh(w y + x) with w < 0, which leaves 0 by e^{√−w t}, from a first drive of that size."""
    x = torch.zeros(steps, 1, 1)
    x[0] = first
    rest = torch.zeros(1, 1)
    coefficients = {"w": torch.tensor([w]), "step_size": torch.tensor([0.1]), "alpha": torch.tensor([0.0])}
    return {"x": x, **coefficients, "y0": rest, "z0": rest}


def mixed(seed: int) -> dict[str, Tensor]:
    """Neurons of both kinds: w from −2 to 1 at α = 0.5."""
    generator = torch.Generator().manual_seed(seed)
    steps, hidden = 100 + 5 * seed, 16
    return {
        "x": 10.0 ** -(seed % 4) * torch.randn(steps, 4, hidden, generator=generator),
        "w": 3 * torch.rand(hidden, generator=generator) - 2,
        "step_size": torch.full((hidden,), 0.1),
        "alpha": torch.full((hidden,), 0.5),
        "y0": torch.zeros(4, hidden),
        "z0": torch.zeros(4, hidden),
    }


GROWING = [
    *(saddle(*of) for of in ((60, -4.0, 1e-9), (80, -4.0, 1e-8), (100, -4.0, 1e-9), (128, -1.0, 1e-5))),
    *(saddle(*of) for of in ((128, -1.0, 1e-7), (100, -1.0, 1e-5), (160, -1.0, 1e-8), (200, -1.0, 1e-10))),
    *(mixed(seed) for seed in range(12)),
]


@pytest.mark.parametrize("p", GROWING, ids=range(len(GROWING)))
def test_no_rebuilt_gradient_is_wrong_without_a_warning(p: dict[str, Tensor]):
    """Every gradient is off by less than 5 % without one, and after one is that of the mode "stored".

    But by h it may be closer to the truth: "stored" sums z back over 16 steps.
    """
    stored, _ = gradients_of_the_last(cpu, p)
    rebuilt, messages = gradients_of_the_last(cpu, p, backward="reversible")
    truth, _ = gradients_of_the_last(torch_loop, {name: value.double() for name, value in p.items()})
    for name, expected in stored.items():
        size = float(expected.abs().max())
        gap = float((rebuilt[name] - expected).abs().max())
        if messages and name == "step_size":
            errors = [float((found[name] - truth[name]).abs().max()) for found in (rebuilt, stored)]
            assert gap <= 1e-5 * size or errors[0] <= 1.1 * errors[1]
        else:
            assert gap <= (1e-5 if messages else 0.05) * size, name


@pytest.mark.parametrize("of", [(128, -1.0, 1e-5), (256, -1.0, 1e-7), (1000, -1.0, 1e-7), (200, -4.0, 1e-9)])
def test_the_stored_gradient_by_h_of_a_long_saddle_keeps_its_digits(of: tuple[int, float, float]):
    """z grows by many orders of magnitude: summed back over all steps it would keep the rounding of the largest.

    At 256 steps the sum alone is off by 0.6. Held every 16 steps, across which z grows by e^1.6, or e^3.2.
    """
    p = saddle(*of)
    found, _ = gradients_of_the_last(cpu, p)
    truth, _ = gradients_of_the_last(torch_loop, {name: value.double() for name, value in p.items()})
    admitted = (16 + of[0]) * 2.0**-24 * math.exp(16 * 0.1 * math.sqrt(-of[1]))
    assert abs(float(found["step_size"] / truth["step_size"]) - 1) <= admitted


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


# --- the operator


def small(dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    p = problem(5, 2, 3, dtype)
    return p | {"w": p["w"].expand(2, 3).clone(), "alpha": torch.tensor([[0.5], [2.0]], dtype=dtype)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_ragged", [False, True])
def test_gradients_are_those_of_finite_differences(mode: str, is_ragged: bool):
    lengths = torch.tensor([3, 5]) if is_ragged else None

    def function(*values: Tensor) -> tuple[Tensor, ...]:
        x, w, h, alpha, y0, z0 = values
        ran = cpu.outputs(x, w=w, step_size=h, alpha=alpha, y0=y0, z0=z0, lengths=lengths, backward=mode)  # type: ignore[arg-type]
        return ran.y, ran.y_last, ran.z_last

    assert torch.autograd.gradcheck(function, [value.requires_grad_() for value in small().values()])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("has_bias", [False, True])
def test_gradients_of_a_layer_are_those_of_finite_differences(mode: str, has_bias: bool):
    p = small()
    u, V, b = normal(5, 2, 4, seed=9), normal(3, 4, seed=10), normal(3, seed=11)

    def function(u: Tensor, V: Tensor, b: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        w, h, alpha, y0, z0 = values
        ran = cpu.layer_outputs(
            u, V, b if has_bias else None, w=w, step_size=h, alpha=alpha, y0=y0, z0=z0, backward=mode  # type: ignore[arg-type]
        )  # fmt: skip
        return ran.y, ran.y_last, ran.z_last, b.sum()

    values = [value.requires_grad_() for name, value in p.items() if name != "x"]
    assert torch.autograd.gradcheck(function, [u.requires_grad_(), V.requires_grad_(), b.requires_grad_(), *values])


def test_all_states_are_differentiable():
    def function(*values: Tensor) -> tuple[Tensor, Tensor]:
        x, w, h, alpha, y0, z0 = values
        states = cpu.forward(x, w=w, step_size=h, alpha=alpha, y0=y0, z0=z0)
        return states.y, states.z

    assert torch.autograd.gradcheck(function, [value.requires_grad_() for value in small().values()])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_states_inverse_and_backward_are_those_of_the_loop(dtype: torch.dtype):
    p = problem(150, 3, 5, dtype)
    coefficients = {name: p[name] for name in ("w", "step_size", "alpha")}
    there, loop = (e.forward(p["x"], **coefficients, y0=p["y0"], z0=p["z0"]) for e in (cpu, torch_loop))
    assert (there.execution, loop.execution) == ("cpu", "torch")
    slack = 1e4 * UNIT_ROUNDOFF[dtype]
    for name in ("y", "z", "y0", "z0", "y_last", "z_last"):
        torch.testing.assert_close(getattr(there, name), getattr(loop, name), rtol=slack, atol=slack)
    back = cpu.inverse(p["x"], **coefficients, y_last=there.y_last, z_last=there.z_last)
    for name in ("y", "z", "y0", "z0"):
        torch.testing.assert_close(getattr(back, name), getattr(there, name), rtol=slack, atol=slack)
    by = [normal(*part.shape, seed=12, dtype=dtype) for part in (there.y, there.y_last, there.z_last)]
    options = {"states": loop, "grad_y": by[0], "grad_y_last": by[1], "grad_z_last": by[2]}
    found, expected = (e.backward(p["x"], **coefficients, **options) for e in (cpu, torch_loop))
    for name in NAMES:
        a, b = getattr(found, name), getattr(expected, name)
        torch.testing.assert_close(a, b, rtol=slack, atol=slack * float(b.abs().max()))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_operator_keeps_torchs_rules(mode: str, dtype: torch.dtype):
    p = {name: value.requires_grad_() for name, value in small(dtype).items()}
    x, *rest = p.values()
    u, V, b = (normal(*s, seed=13, dtype=dtype).requires_grad_() for s in ((5, 2, 4), (3, 4), (3,)))
    ends = torch.tensor([2, 5])
    for arguments in ((x, None, None, *rest, ends, mode, True), (u, V, b, *rest, None, mode, False)):
        torch.library.opcheck(torch.ops.odernn.unicornn_cpu.default, arguments)


@pytest.mark.parametrize("mode", MODES)
def test_it_compiles_in_one_graph(mode: str):
    torch._dynamo.reset()
    model = UnICORNN(2, 3, 2, dt=0.1, alpha=1.0, execution="cpu", backward=mode)  # type: ignore[arg-type]
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    u = normal(7, 2, 2, seed=14, dtype=torch.float32)
    results = []
    for module in (model, compiled):
        model.zero_grad()
        output, (y, z) = module(u, lengths=torch.tensor([7, 4]))
        (output.square().sum() + y.sum() + z.sum()).backward()
        results.append([output.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
    for eager, graph in zip(*results, strict=True):
        torch.testing.assert_close(eager, graph, rtol=1e-6, atol=1e-6)


def test_a_second_derivative_is_refused_with_advice():
    x = normal(4, 1, 2, seed=15).requires_grad_()
    ran = cpu.outputs(x, w=0.5, step_size=0.1, alpha=1.0)
    (gradient,) = torch.autograd.grad(ran.y.square().sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match=r'first derivatives only.*Use execution="torch"'):
        gradient.sum().backward()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # by torch's forward mode
def test_forward_mode_is_an_error_and_not_a_zero_derivative():
    p = small()
    x, rest = p.pop("x"), p
    u, V = normal(5, 2, 4, seed=24), normal(3, 4, seed=25)
    functions: list[tuple[Callable[..., Tensor], Tensor]] = [
        (lambda v: cpu.outputs(v, **rest).y, x),
        (lambda v: cpu.forward(v, **rest).z, x),
        (lambda v: cpu.outputs(x, **(rest | {"w": v})).y, rest["w"]),
        (lambda v: cpu.layer_outputs(v, V, None, **rest).y, u),
        (lambda v: cpu.layer_outputs(u, v, None, **rest).y, V),
    ]
    for function, at in functions:
        with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
            torch.func.jvp(function, (at,), (torch.ones_like(at),))
        with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
            torch.func.jacfwd(function)(at)
        with torch.autograd.forward_ad.dual_level(), pytest.raises(NotImplementedError, match="no forward-mode"):
            function(torch.autograd.forward_ad.make_dual(at, torch.ones_like(at)))


def test_a_differentiable_inverse_is_refused():
    x = normal(4, 1, 2, seed=15).requires_grad_()
    state = torch.zeros(1, 2, dtype=torch.float64)
    with pytest.raises(NotImplementedError, match="has no derivative"):
        cpu.inverse(x, w=0.5, step_size=0.1, alpha=1.0, y_last=state, z_last=state)


def test_wrong_arguments_are_named():
    x = normal(3, 2, 3, seed=16)
    with pytest.raises(TypeError, match=r"w has dtype torch\.float32"):
        cpu.outputs(x, w=torch.ones(3), step_size=0.1, alpha=1.0)
    with pytest.raises(ValueError, match='No backward mode is called "magic"'):
        cpu.outputs(x, w=0.5, step_size=0.1, alpha=1.0, backward="magic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"lengths has shape \(3,\)"):
        cpu.outputs(x, w=0.5, step_size=0.1, alpha=1.0, lengths=torch.tensor([1, 2, 3]))
    with pytest.raises(ValueError, match=r"grad_y has shape \(2, 2, 3\)"):
        cpu.backward(
            x, w=0.5, step_size=0.1, alpha=1.0, states=cpu.forward(x, w=0.5, step_size=0.1, alpha=1.0), grad_y=x[:2]
        )


def test_without_numba_it_says_what_to_install():
    code = (
        "import sys; sys.modules['numba'] = None\nfrom odernn import executions\nprint(executions.available()['cpu'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'it needs numba, which is not installed: pip install "odernn[fast]"' in done.stdout


def test_without_a_place_for_numbas_cache_it_runs_all_the_same():
    code = (
        "from numba.core import caching\ncaching.CacheImpl._locator_classes = []\n"
        "import torch\nfrom odernn import executions\nprint(executions.available()['cpu'])\n"
        "print(executions.get('cpu').outputs(torch.zeros(2, 1, 1), w=1.0, step_size=0.1, alpha=1.0).y.shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["None", "torch.Size([2, 1, 1])"]


def test_it_is_available_here():
    assert executions.get("cpu") is cpu


# --- numbers, memory, threads


@pytest.mark.parametrize("mode", MODES)
def test_nan_stays_in_its_own_sample_and_neuron(mode: str):
    x = normal(20, 2, 3, seed=17)
    x[5, 1, 2] = math.nan
    leaf = x.requires_grad_()
    ran = cpu.outputs(leaf, w=0.5, step_size=0.1, alpha=1.0, backward=mode)  # type: ignore[arg-type]
    expected = torch.zeros(20, 2, 3, dtype=torch.bool)
    expected[5:, 1, 2] = True
    assert torch.equal(ran.y.isnan(), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReconstructionWarning)  # of a state that is NaN
        (gradient,) = torch.autograd.grad(ran.y[:, 0].sum() + ran.y[:, 1, :2].sum(), leaf)
    assert gradient[:, 0].isfinite().all() and gradient[:, 1, :2].isfinite().all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_thread_and_two_give_the_same_bits(monkeypatch, mode: str, dtype: torch.dtype):
    p = problem(40, 5, 1000, dtype)
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        found.append(run(cpu, p, torch.tensor([40, 40, 3, 40, 17]), backward=mode))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_nothing_to_do_is_done(mode: str, shape: tuple[int, int]):
    found = run(cpu, problem(4, *shape), None, backward=mode)
    assert found["y"].shape == (4, *shape) and not found["grad w"].any()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("steps", "batch"), [(4, 0), (0, 3), (0, 0)])
def test_two_layers_of_nothing_have_gradients_of_zero(mode: str, steps: int, batch: int):
    model = UnICORNN(2, 3, 2, dt=0.1, alpha=1.0, execution="cpu", backward=mode)  # type: ignore[arg-type]
    u = torch.zeros(steps, batch, 2, requires_grad=True)
    output, (y, z) = model(u)
    (output.sum() + y.sum() + z.sum()).backward()
    assert u.grad is not None and u.grad.shape == u.shape
    assert not any(bool(parameter.grad.any()) for parameter in model.parameters() if parameter.grad is not None)


@pytest.mark.parametrize("mode", MODES)
def test_unsorted_lengths_take_no_more_lanes_and_change_nothing(mode: str):
    """600 samples of all lengths: as many rows of lanes as for one length, and what each sample gives alone."""
    batch, hidden, steps = 600, 4, 20
    lengths = torch.arange(batch) * 7 % (steps + 1)
    ragged = cpu._Job.of(steps, (batch, hidden), torch.float32, lengths)
    even = cpu._Job.of(steps, (batch, hidden), torch.float32, None)
    assert ragged.blocks >= batch and ragged.rows == even.rows == even.blocks == 3
    p = problem(steps, batch, hidden)
    found = run(cpu, p, lengths, backward=mode)
    expected = run(torch_loop, p, lengths)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-11, atol=1e-11 * (1 + float(value.abs().max())))


def test_arguments_are_not_written_to_and_may_be_strided():
    p = problem(30, 4, 6)
    before = {name: value.clone() for name, value in p.items()}
    strided = p | {"x": p["x"].transpose(0, 1).contiguous().transpose(0, 1), "y0": p["y0"].t().contiguous().t()}
    found, expected = run(cpu, strided, None), run(cpu, p, None)
    assert all(torch.equal(found[name], expected[name]) for name in found)
    assert all(torch.equal(p[name], before[name]) for name in NAMES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_layers": 3, "residual_skip": 2},
        {"num_layers": 2, "bidirectional": True},
        {"num_layers": 2, "index": "sam"},
        {"bias": False, "multiscale": False, "batch_first": True},
    ],
    ids=str,
)
def test_a_network_is_the_same_in_both_executions(mode: str, options: dict[str, Any]):
    model = UnICORNN(
        2, 5, dt=0.2, alpha=1.5, dtype=torch.float64, generator=torch.Generator().manual_seed(0), **options
    )
    u = normal(6, 6, 2, seed=18)
    results = []
    for choice in ({"execution": "torch"}, {"execution": "cpu", "backward": mode}):
        model.zero_grad()
        leaf = u.clone().requires_grad_()
        output, (y, z) = model(leaf, lengths=[6, 0, 3, 3, 1, 6], **choice)
        (output.square().sum() + y.sum() + z.square().sum()).backward()
        results.append(
            [output.detach(), y.detach(), z.detach(), leaf.grad, *(p.grad.clone() for p in model.parameters())]
        )
    for loop, fused in zip(*results, strict=True):
        torch.testing.assert_close(loop, fused, rtol=1e-11, atol=1e-11)
    for loop, fused in zip(*(model.states(u, execution=e) for e in ("torch", "cpu")), strict=True):
        torch.testing.assert_close((loop.y, loop.z), (fused.y, fused.z), rtol=1e-11, atol=1e-11)


def test_autocast_leaves_the_recurrence_its_digits():
    model = UnICORNN(2, 5, dt=0.2, alpha=1.5, execution="cpu")
    u = normal(6, 3, 2, seed=19, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (fused, _), (loop, _) = model(u), model(u, execution="torch")
    assert fused.dtype == torch.float32
    torch.testing.assert_close(fused, loop, rtol=1e-5, atol=1e-6)


def test_the_mode_is_shown_and_checked():
    assert "backward='exact'" in repr(UnICORNN(2, 3, dt=0.1, alpha=1.0, execution="cpu", backward="exact"))
    assert "backward" not in repr(UnICORNN(2, 3, dt=0.1, alpha=1.0))
    with pytest.raises(ValueError, match='No backward mode is called "magic"'):
        UnICORNN(2, 3, dt=0.1, alpha=1.0, backward="magic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='not offered by execution="torch"'):
        UnICORNN(2, 3, dt=0.1, alpha=1.0)(normal(3, 1, 2, seed=0, dtype=torch.float32), backward="exact")


@pytest.mark.parametrize(("mode", "arrays"), [("stored", 1.0), ("reversible", 2 / cpu.CHECKPOINT), ("exact", 1.0)])
def test_what_a_layer_keeps_for_its_backward_pass(mode: str, arrays: float):
    """Saved tensors, without u and weights, in arrays (time, batch, hidden); "exact" keeps x, and nothing else."""
    steps, batch, hidden = 1280, 8, 16
    model = UnICORNN(1, hidden, dt=0.1, alpha=1.0, execution="cpu", backward=mode)  # type: ignore[arg-type]
    seen: dict[int, int] = {}

    def save(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    u = normal(steps, batch, 1, seed=20, dtype=torch.float32)
    with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
        model(u)
    seen.pop(u.untyped_storage().data_ptr(), None)
    array = steps * batch * hidden * 4
    assert arrays <= sum(seen.values()) / array <= arrays + 0.02
