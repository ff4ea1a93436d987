"""Layers whose drive the cpu kernels make, and take dE/dV of: against the float64 torch loop."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest
import torch

from odernn.executions import torch_loop
from odernn.executions.cpu import execution as cpu
from odernn.executions.cpu.kernels import recurrence as recurrence_kernels
from odernn.executions.recurrence import UNIT_ROUNDOFF
from tests.odernn.executions.cpu_problems import (
    DTYPES,
    NAMES,
    Found,
    admitted_states,
    amplification,
    ends_of,
    farther,
    normal,
    problem,
)
from tests.tiers import only, spread

LAYERS = [(1, 16, 3), (2, 48, 5), (6, 32, 8), (8, 128, 9), (3, 64, 1), (2, 96, 5)]
"""Inputs, neurons, samples: vectors of eight and four registers within a sample, across two, cut off at a block's end,
and halves of eight that begin anywhere."""

a_dtype = pytest.mark.parametrize("dtype", only(DTYPES, torch.float32), ids=str)
"""Compiling the kernels of a layer takes some ten seconds a dtype."""

Case = tuple[tuple[int, int, int], int, torch.dtype, bool, bool]
"""Inputs, neurons, samples; steps; dtype; whether samples have lengths of their own; whether there is a bias."""


def arguments(case: Case) -> Found:
    (inputs, hidden, batch), steps, dtype, _, has_bias = case
    p = problem(steps, batch, hidden, dtype)
    p["x"] = normal(steps, batch, inputs, seed=30).to(dtype)
    p["V"] = normal(hidden, inputs, seed=31).to(dtype)
    return p | ({"b": normal(hidden, seed=32).to(dtype)} if has_bias else {})


def run_layer(module: Any, case: Case, working: torch.dtype) -> Found:
    """y, the last states and the derivatives of a functional of all of them, by all but u; computed in ``working``."""
    _, steps, _, is_ragged, _ = case
    leaves = {name: value.to(working).requires_grad_(name != "x") for name, value in arguments(case).items()}
    u, V, b = leaves.pop("x"), leaves["V"], leaves.get("b")
    rest = {name: leaves[name] for name in NAMES[1:]}
    lengths = ends_of(steps, u.shape[1]) if is_ragged else None
    if module is cpu:
        ran = cpu.layer_outputs(u, V, b, **rest, lengths=lengths)
    else:
        ran = torch_loop.outputs(torch.nn.functional.linear(u, V, b), **rest, lengths=lengths)
    parts = {"y": ran.y, "y_last": ran.y_last, "z_last": ran.z_last}
    loss = sum((part * normal(*part.shape, seed=33 + k).to(working)).sum() for k, part in enumerate(parts.values()))
    gradients = torch.autograd.grad(loss, list(leaves.values()), materialize_grads=True)  # type: ignore[arg-type]
    found = parts | {f"grad {name}": gradient for name, gradient in zip(leaves, gradients, strict=True)}
    return {name: value.detach().double() for name, value in found.items()}


@functools.cache
def yardstick(case: Case) -> float:
    """``amplification`` of a case in float32."""
    return amplification(run_layer(torch_loop, case, torch.float64), run_layer(torch_loop, case, torch.float32))


def layer_violations(case: Case) -> list[str]:
    """As ``cpu_problems.violations``, where x, a sum of ``inputs`` products and b, has an error of its own.

    Σ|V u| + |b| bounds each of its partial sums, so that its roundings add up to (inputs + 1) u times that.
    """
    (inputs, _, _), steps, dtype, is_ragged, has_bias = case
    p, u = arguments(case), UNIT_ROUNDOFF[dtype]
    exact = run_layer(torch_loop, case, torch.float64)
    size = torch.nn.functional.linear(p["x"].abs(), p["V"].abs(), p["b"].abs() if has_bias else None)
    off = (inputs + 1) * float(size.max()) if steps else 0.0
    growth = yardstick((case[0], steps, torch.float32, is_ragged, has_bias))
    return farther(run_layer(cpu, case, dtype), exact, admitted_states(p, exact, dtype, off), (8 * growth + 64) * u)


@a_dtype
@pytest.mark.parametrize("sizes", spread(map(pytest.param, LAYERS), 3), ids=str)
def test_a_layer_that_makes_its_drive_in_the_kernels_is_the_oracle(sizes: tuple[int, int, int], dtype: torch.dtype):
    for steps, is_ragged, has_bias in itertools.product((0, 1, 2, 3, 17, 101), (False, True), (False, True)):
        assert layer_violations((sizes, steps, dtype, is_ragged, has_bias)) == [], (steps, is_ragged, has_bias)


def test_it_does_make_it_there(monkeypatch):
    ran = []
    for name in ("layer_forward", "layer_backward"):
        right = getattr(recurrence_kernels, name)
        monkeypatch.setattr(
            recurrence_kernels, name, lambda *given, right=right, name=name: (ran.append(name), right(*given))
        )
    for sizes in LAYERS:
        run_layer(cpu, (sizes, 3, torch.float32, False, True), torch.float32)
    assert ran == ["layer_forward", "layer_backward"] * len(LAYERS)


@pytest.mark.parametrize(("kernel", "position"), [("layer_forward", 0), ("layer_forward", 1), ("layer_backward", 1)])
@a_dtype
def test_a_layer_with_another_drive_is_caught(monkeypatch, dtype: torch.dtype, kernel: str, position: int):
    """Planted fault: the kernel sees u or [V b] with one number changed."""
    right = getattr(recurrence_kernels, kernel)

    def wrong(*given: Any) -> None:
        changed = given[position].copy()
        changed[1, 0] += 0.01
        right(*given[:position], changed, *given[position + 1 :])

    case = ((6, 32, 8), 101, dtype, False, True)
    assert layer_violations(case) == []
    monkeypatch.setattr(recurrence_kernels, kernel, wrong)
    assert layer_violations(case)
