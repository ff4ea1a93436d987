"""Recurrences that the cpu execution is tried on, the oracle's answers, and what is farther from them than admitted."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import torch
from torch import Tensor

from odernn.executions import torch_loop
from odernn.executions.recurrence import UNIT_ROUNDOFF, AdmittedError, admitted_error

MODES = ("stored", "reversible", "exact")
DTYPES = (torch.float32, torch.float64)
NAMES = ("x", "w", "step_size", "alpha", "y0", "z0")

Found = dict[str, Tensor]
"""y, y_last, z_last, and derivatives under names that begin with "grad"."""


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


def run(execution: Any, p: dict[str, Tensor], lengths: Tensor | None, **options: str) -> Found:
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
    gradients = torch.autograd.grad(loss, list(values.values()), materialize_grads=True)
    found = {"y": ran.y, "y_last": ran.y_last, "z_last": ran.z_last}
    found |= {f"grad {name}": gradient for name, gradient in zip(NAMES, gradients, strict=True)}
    return {name: value.detach().double() for name, value in found.items()}


@functools.cache
def reference(dtype: torch.dtype, steps: int, shape: tuple[int, int], is_ragged: bool) -> tuple[Found, Found]:
    """The oracle on the rounded arguments, and the torch loop in the dtype itself."""
    p = problem(steps, *shape, dtype)
    lengths = ends_of(steps, shape[0]) if is_ragged else None
    exact = run(torch_loop, {name: value.double() for name, value in p.items()}, lengths)
    return exact, run(torch_loop, p, lengths)


def violations(found: Found, dtype: torch.dtype, steps: int, shape: tuple[int, int], is_ragged: bool) -> list[str]:
    """What is farther from the oracle than admitted: states by the contract, gradients by ``amplification``."""
    exact, _ = reference(dtype, steps, shape, is_ragged)
    limits = admitted_states(problem(steps, *shape, dtype), exact, dtype)
    growth = UNIT_ROUNDOFF[dtype] * amplification(*reference(torch.float32, steps, shape, is_ragged))
    return farther(found, exact, limits, 8 * growth + 64 * UNIT_ROUNDOFF[dtype])


def amplification(exact: Found, rounded: Found) -> float:
    """Largest error of a gradient of the torch loop in float32, in units of u, each relative to its largest entry.

    The backward pass is the linearised recurrence run backwards, with the same growth of errors as forwards, on states
    that are off by theirs. How much that is depends on the cotangent, so the yardstick is the torch loop, which makes
    the same roundings in another order: its largest error of all gradients, since that of one of few entries may be
    small by chance; 8 times that, and 64 u, are admitted. Of float64 it is the same in its own units of u: there the
    loop is the oracle, and has no error to be seen.
    """
    relative = [
        float((rounded[name] - value).abs().max() / value.abs().max())
        for name, value in exact.items()
        if name.startswith("grad") and value.numel() and value.abs().max() > 0
    ]
    return max(relative, default=0.0) / UNIT_ROUNDOFF[torch.float32]


def admitted_states(p: Found, exact: Found, dtype: torch.dtype, drive_error: float = 0.0) -> AdmittedError:
    """The contract's bound where every x_n is itself off by up to ``drive_error`` units of u.

    Such an error is one of the kick, h u ``drive_error``. The contract's own has h u 4 α Y, so that it is as if Y were
    larger by ``drive_error`` / 4 α; that the bound of the drift grows with it only makes it wider.
    """
    y_max = _largest(exact["y"], p["y0"]) * 1.01 + drive_error / (4 * float(p["alpha"]))
    return admitted_error(
        dtype=dtype,
        steps=len(exact["y"]),
        w=p["w"],
        step_size=p["step_size"],
        alpha=p["alpha"],
        y_max=y_max,
        z_max=_largest(exact["z_last"], p["z0"]) * 20,
    )


def farther(found: Found, exact: Found, limits: AdmittedError, relative: float) -> list[str]:
    """States off by more than twice ``limits`` (both sides round), gradients by more of their largest entry."""
    wrong = []
    for name, expected in exact.items():
        assert found[name].shape == expected.shape
        gap = (found[name] - expected).abs()
        if name in ("y", "y_last", "z_last"):
            limit = 2 * (limits.z if name == "z_last" else limits.y)
        else:
            limit = torch.tensor(relative * (float(expected.abs().max()) if expected.numel() else 0.0))
        if not bool((gap <= limit).all()):
            wrong.append(f"{name}: {float(gap.max()):.2e} > {float(limit.max()):.2e}")
    return wrong


def _largest(rows: Tensor, start: Tensor) -> float:
    return max(float(part.abs().max()) if part.numel() else 0.0 for part in (rows, start.double()))


def small(dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    p = problem(5, 2, 3, dtype)
    return p | {"w": p["w"].expand(2, 3).clone(), "alpha": torch.tensor([[0.5], [2.0]], dtype=dtype)}


def gradients_of_the_last(execution: Any, p: dict[str, Tensor], **options: str) -> tuple[dict[str, Tensor], list[str]]:
    """Derivatives of Σ y_N by everything, and the messages of the warnings."""
    values = {name: value.clone().requires_grad_() for name, value in p.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = execution.outputs(values["x"], **{k: v for k, v in values.items() if k != "x"}, **options).y
        found = torch.autograd.grad(y[-1].sum(), list(values.values()))
    return dict(zip(p, found, strict=True)), [str(each.message) for each in caught]


def saddle(steps: int, w: float, first: float, h: float = 0.1) -> dict[str, Tensor]:
    """y″ = −tanh(w y + x) with w < 0, which leaves 0 by e^{√−w t}, from a first drive of that size."""
    x = torch.zeros(steps, 1, 1)
    x[0] = first
    rest = torch.zeros(1, 1)
    coefficients = {"w": torch.tensor([w]), "step_size": torch.tensor([h]), "alpha": torch.tensor([0.0])}
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
