"""What b ≤ 0 costs: scoRNN, expRNN and uRNN on digits with nonexpansive=True, beside the recorded runs without.

    python benchmarks/nonexpansive_price.py               all that the record lacks, then docs/guarantees.md's table
    python benchmarks/nonexpansive_price.py --jobs 2      two runs at a time, each on one thread (default: 1)
    python benchmarks/nonexpansive_price.py --page        only the table, from the record

The runs without are those of choosing_a_cell.py, five seeds of the setting that it chose on the validation split; each
is repeated here with nothing changed but the option. Of each are recorded its test accuracy; the constant that
``certify`` has for ‖h_N − h'_N‖ / ‖u − u'‖₂; and the largest local one, σ_max of ∂h_N/∂(u_1 … u_N), at test images and
at inputs that follow its gradient. results/nonexpansive_price.json is written after every run.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import _choosing_plan
import choosing_a_cell
import torch
from _choosing_plan import ChosenTask, Contestant
from _harness import RESULTS, machine
from _prices import command, difference, from_nothing, with_table
from tabulate import tabulate
from torch import Tensor

from odernn.bounds import certify
from odernn.bounds.network import lipschitz
from odernn.cells.urnn import RestrictedURNNLayer
from verification import tasks
from verification.training import network
from verification.training.configuration import Configuration

NAME = "nonexpansive_price"
TASKS = ("digits by rows", "permuted digits by pixels")
CELLS = ("ScoRNN", "ExpRNN", "URNN, restricted")
IMAGES, ASCENTS = 12, 6
"""Test images at which the local constant is taken, and steps of ascent from the worst of them."""


def pairs() -> list[tuple[ChosenTask, Contestant]]:
    return [(t, c) for t, c in _choosing_plan.pairs() if t.name in TASKS and c.name in CELLS]


def free_runs() -> dict[str, Any]:
    """The record of choosing_a_cell.py."""
    return choosing_a_cell.opened(RESULTS / choosing_a_cell.RECORD)


def plans() -> dict[str, Configuration]:
    """Key of the free run -> the same with the option."""
    record, found = free_runs(), {}
    for task, contestant in pairs():
        for job in choosing_a_cell.finals(task, contestant, record):
            made = network.with_option(job.configuration.network, "nonexpansive", True)
            found[job.key] = replace(job.configuration, network=made)
    return found


def trained(key: str) -> dict[str, Any]:
    """One run, from nothing."""
    made_of = plans()[key]
    run, found = from_nothing(made_of)
    sequences = torch.as_tensor(tasks.get(made_of.task.name).load("test", None, **made_of.task.options)[0])
    cell = run.model.recurrent
    report = certify(cell, input_bound=1.0, steps=len(sequences)).layers[-1]
    bound = report[lipschitz.OVER_ALL].log
    assert bound is not None
    return {
        "accuracy": found.test["accuracy"],
        "certified": math.exp(bound),
        "certified a step": math.exp(report[lipschitz.A_STEP].log or 0.0),
        "rounding": math.exp(report[lipschitz.ROUNDED].log) if lipschitz.ROUNDED in _lines(report) else None,
        "local": local_constant(cell, sequences[:, :IMAGES]),
        "digest": made_of.digest(),
        "machine": machine(),
    }


def _lines(report: Any) -> set[str]:
    return {line.quantity for line in report.bounds if line.log is not None}


def local_constant(cell: Any, images: Tensor) -> float:
    """The largest σ_max of ∂h_N/∂(u_1 … u_N) in float64: at these inputs, and along its gradient from the worst one."""
    wide, u = cell.double(), images.double()
    for layer in wide.layers:
        if isinstance(layer, RestrictedURNNLayer):
            layer.way = "matrix"  # the same product, and faster to differentiate

    def state(v: Tensor) -> Tensor:
        found: Tensor = wide(v[:, None])[0][-1, 0]
        return found

    def size(v: Tensor) -> Tensor:
        J = torch.autograd.functional.jacobian(state, v, create_graph=v.requires_grad, vectorize=True)
        return torch.linalg.matrix_norm(J.flatten(1), 2)

    sizes = [float(size(u[:, k])) for k in range(u.shape[1])]
    v, worst = u[:, sizes.index(max(sizes))], max(sizes)
    for step in range(ASCENTS):
        v = v.detach().requires_grad_()
        (slope,) = torch.autograd.grad(size(v), v)
        v = v + slope / slope.norm().clamp(min=1e-30) * 2.0 ** (step % 4 - 2)
        worst = max(worst, float(size(v.detach())))
    return worst


HEADERS = (
    "task, N steps",
    "cell",
    "accuracy: free",
    "b ≤ 0",
    "difference, 95 %",
    "certified ‖δh_N‖/‖δu‖₂",
    "largest found/certified",
)


def table(runs: Mapping[str, Any]) -> str:
    """Accuracies, their difference of the same seeds with a 95 % interval, the constants, and how near attacks come."""
    return tabulate(list(_rows(runs)), headers=HEADERS, tablefmt="github", disable_numparse=True)


def _rows(runs: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    record = free_runs()
    for task, contestant in pairs():
        keys = [f"{task.name} / {contestant.name} / seed {seed}" for seed in _choosing_plan.SEEDS]
        if not all(key in runs for key in keys):
            continue
        free, kept = [record[key]["test"]["accuracy"] for key in keys], [runs[key]["accuracy"] for key in keys]
        certified, shares = (
            [runs[key]["certified"] for key in keys],
            [runs[key]["local"] / runs[key]["certified"] for key in keys],
        )
        yield (
            f"{task.name}, {task.steps}",
            contestant.name,
            f"{statistics.mean(free):.2%}",
            f"{statistics.mean(kept):.2%}",
            difference([a - b for a, b in zip(kept, free, strict=True)]),
            f"{min(certified):.3g} … {max(certified):.3g}",
            f"{min(shares):.2f} … {max(shares):.2f}",
        )


def page(text: str, runs: Mapping[str, Any]) -> str:
    """The page with the table of the record in its place."""
    return with_table(text, NAME, table(runs))


if __name__ == "__main__":
    sys.exit(command(NAME, __doc__, plans, trained, page))
