"""The peer that the kernels are timed against computes what the published kernel does: (U) and its gradients."""

from __future__ import annotations

import re

import pytest
import torch

from cuda.odernn_kernels import catalogue, emulator
from odernn.executions import torch_loop
from tests.kernels.broken import broken

STEPS, BATCH, HIDDEN = 60, 5, 67
DT, ALPHA = 0.25, 1.5
TOLERANCE = 8 * 2**-24 * (STEPS + 16)
"""As ``gradient_tolerance`` of problems.py, relative to the largest entry or 1."""


def published(emulated: emulator.Emulated) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """What was given, and what both kernels made of it for E = Σ y."""
    g = torch.Generator().manual_seed(5)
    columns = (BATCH, HIDDEN)
    given = {
        "x": torch.randn(STEPS, *columns, generator=g),
        "w": torch.rand(HIDDEN, generator=g),
        "c": torch.randn(HIDDEN, generator=g),
        "y0": torch.randn(columns, generator=g),
        "z0": torch.randn(columns, generator=g),
    }
    rows = (STEPS, *columns)
    shapes = {"y_last": columns, "z_last": columns, "y": rows, "grad_y": rows, "grad_x": rows}
    made = {name: torch.full(shape, torch.nan) for name, shape in shapes.items()}
    made |= {"grad_w": torch.zeros(HIDDEN), "grad_c": torch.zeros(HIDDEN)}
    made["grad_y"].fill_(1.0)
    block = (*(value.data_ptr() for value in (given | made).values()), STEPS, *columns, DT, ALPHA)
    for name, most in (("published_forward", 512), ("published_backward", 256)):
        threads = min(most, BATCH * HIDDEN)
        assert catalogue.KERNELS[name].threads == most
        grid = -(-BATCH * HIDDEN // threads)
        emulated.launch(name, grid=grid, threads=threads, shared=0, arguments=catalogue.packed(block))
    return given, made


def by_loop(given: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    double = {name: value.double() for name, value in given.items()}
    leaves = {name: double[name].requires_grad_() for name in ("x", "w", "c")}
    run = torch_loop.outputs(
        double["x"],
        w=double["w"],
        step_size=DT * torch.sigmoid(double["c"]),
        alpha=ALPHA,
        y0=double["y0"],
        z0=double["z0"],
    )
    slopes = torch.autograd.grad(run.y.sum(), list(leaves.values()))
    states = {"y": run.y.detach(), "y_last": run.y_last.detach(), "z_last": run.z_last.detach()}
    return states | {f"grad_{name}": slope for name, slope in zip(leaves, slopes, strict=True)}


def largest_gap(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> float:
    gaps = [(found[k].double() - v).abs().max() / v.abs().max().clamp(min=1.0) for k, v in expected.items()]
    return float(torch.stack(gaps).max())


def test_states_and_gradients_are_those_of_the_loop(emulated: emulator.Emulated) -> None:
    given, made = published(emulated)
    assert largest_gap(made, by_loop(given)) < TOLERANCE


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("dt * gate_slope * force", "dt * gate * force"),
        ("coshf(argument) * coshf(argument)", "coshf(argument)"),
        ("slope * w + alpha", "slope * w"),
    ],
)
def test_a_planted_fault_is_found(right: str, wrong: str) -> None:
    text = emulator.sources()["published.cu"]
    assert text.count(right) == 1
    faulty = broken({"published.cu": text.replace(right, wrong)}, only=["published.cu"])
    given, made = published(faulty)
    assert not largest_gap(made, by_loop(given)) < TOLERANCE


def test_the_emulated_block_has_the_fields_that_the_test_gives() -> None:
    text = emulator.sources()["published.cu"]
    struct = re.search(r"struct Published \{(.*?)\};", text, re.DOTALL)
    assert struct is not None
    pointers = re.findall(r"\* (\w+);", struct[1])
    assert pointers == ["x", "w", "c", "y0", "z0", "y_last", "z_last", "y", "grad_y", "grad_x", "grad_w", "grad_c"]
