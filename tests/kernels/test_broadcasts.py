"""Coefficients of every sample alone, and rows of cotangents that are one row or many: the addresses of the kernels."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from cuda.odernn_kernels import emulator, execution, module
from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher
from odernn.executions import torch_loop
from tests.kernels import problems
from tests.kernels.broken import broken
from tests.kernels.test_recurrence_kernels import DOUBLE, MODES, SINGLE, check
from tests.tiers import slow


def of_every_sample(given: problems.Problem) -> problems.Problem:
    """w, h and α differ from sample to sample and from neuron to neuron."""
    batch, hidden = given.arguments["y0"].shape
    dtype = given.arguments["x"].dtype
    spread = torch.linspace(0.5, 1.0, batch * hidden, dtype=dtype).reshape(batch, hidden)
    arguments = dict(given.arguments)
    arguments["w"] = arguments["w"] * spread.flip(0)
    arguments["step_size"] = arguments["step_size"] * spread
    arguments["alpha"] = arguments["alpha"] * spread.flip(1)
    return replace(given, arguments=arguments)


@pytest.mark.parametrize(
    ("steps", "mode", "dtype"), [(21, *each) for each in MODES] + [slow((1100, *each)) for each in MODES[:3]]
)
def test_each_sample_has_its_own_coefficients(
    launcher: EmulatedLauncher, steps: int, mode: str, dtype: torch.dtype
) -> None:
    check(of_every_sample(problems.problem(steps, 3, 5, ragged=True, dtype=dtype)), mode, dtype)


@pytest.mark.parametrize("name", ["w", "step_size", "alpha"])
def test_one_coefficient_of_every_sample_is_beside_others_of_every_neuron(
    launcher: EmulatedLauncher, name: str
) -> None:
    """Each has its own distances: with equal ones for all, one in the place of another would not be noticed."""
    given = of_every_sample(problems.problem(9, 3, 5))
    arguments = {k: v[0] if k in ("w", "step_size", "alpha") and k != name else v for k, v in given.arguments.items()}
    assert arguments[name].shape == (3, 5) and sum(v.shape == (5,) for v in arguments.values()) == 2
    check(replace(given, arguments=arguments), "stored", SINGLE)


@pytest.mark.parametrize("name", ["w", "alpha"])
def test_a_coefficient_of_the_first_sample_for_all_is_noticed(compiler: None, name: str) -> None:
    text = emulator.sources()["recurrence.cuh"]
    right = f"p.{name}[sample * p.{name}_batch + neuron"
    assert text.count(right) == 1
    built = broken({"recurrence.cuh": text.replace(right, f"p.{name}[neuron")}, only=["forward.cu", "backward.cu"])
    with module.using(EmulatedLauncher(built)), pytest.raises(AssertionError):
        check(of_every_sample(problems.problem(21, 3, 5)), "stored", SINGLE)


ROWS = ("dense", "one row", "none")


def rows(kind: str, of: Tensor) -> Tensor | None:
    if kind == "none":
        return None
    return of if kind == "dense" else of[0].expand_as(of)


@pytest.mark.parametrize("by_z", ROWS)
@pytest.mark.parametrize("by_y", ROWS)
def test_cotangents_of_y_and_z_are_rows_or_one_row_or_nothing(launcher: EmulatedLauncher, by_y: str, by_z: str) -> None:
    """Each with its own distance between rows: 0 for one that serves all steps."""
    given = problems.problem(21, 2, 3, dtype=DOUBLE)
    pulls = {"y": rows(by_y, given.cotangents[0]), "z": rows(by_z, given.cotangents[0].flip(0) + 1)}
    found = []
    for run in (execution.forward, torch_loop.forward):
        leaves = {k: v.clone().requires_grad_() for k, v in given.arguments.items()}
        states = run(leaves["x"], **{k: v for k, v in leaves.items() if k != "x"})
        asked = [(getattr(states, name), pull) for name, pull in pulls.items() if pull is not None]
        if not asked:
            asked = [(states.y, torch.zeros_like(states.y))]
        outputs, given_pulls = zip(*asked, strict=True)
        found.append(torch.autograd.grad(outputs, list(leaves.values()), given_pulls, materialize_grads=True))
    for one, other in zip(*found, strict=True):
        assert problems.relative(one, other) <= problems.gradient_tolerance(21, DOUBLE)


@pytest.mark.parametrize(
    ("steps", "mode"), [(21, "stored"), (21, "reversible"), (21, "exact"), (1100, "stored")]
)  # the last one is a scan's
@pytest.mark.parametrize("kind", ["one row", slow("dense")])
def test_one_row_beside_cotangents_of_the_last_states(
    launcher: EmulatedLauncher, steps: int, mode: str, kind: str
) -> None:
    """Handed to autograd as they are: in a product with y one row would become many."""
    given = problems.problem(steps, 1, 3)
    found = []
    for run, problem, options in ((execution, given, {"backward": mode}), (torch_loop, given.to(DOUBLE), {})):
        leaves = {k: v.clone().requires_grad_() for k, v in problem.arguments.items()}
        out = run.outputs(leaves["x"], **{k: v for k, v in leaves.items() if k != "x"}, **options)
        pulled = rows(kind, problem.cotangents[0])
        assert pulled is not None
        outputs = (out.y, out.y_last, out.z_last)
        found.append(torch.autograd.grad(outputs, list(leaves.values()), (pulled, *problem.cotangents[1:])))
    for one, other in zip(*found, strict=True):
        assert problems.relative(one, other) <= problems.gradient_tolerance(steps, SINGLE)


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("backward.cu", "a.grad_z, a.grad_z_row", "a.grad_z, a.grad_y_row"),
        ("backward.cu", "a.grad_y, a.grad_y_row", "a.grad_y, a.grad_z_row"),
    ],
)
def test_a_distance_of_the_other_rows_is_noticed(compiler: None, file: str, right: str, wrong: str) -> None:
    text = emulator.sources()[file]
    assert right in text
    built = broken({file: text.replace(right, wrong, 1)}, only=["forward.cu", "backward.cu"])
    faulty = EmulatedLauncher(built)
    with module.using(faulty), pytest.raises(AssertionError):
        for by_y, by_z in (("dense", "one row"), ("one row", "dense")):
            test_cotangents_of_y_and_z_are_rows_or_one_row_or_nothing(faulty, by_y, by_z)
