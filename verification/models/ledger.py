"""Everything that is proved of a cell of the library, on the inputs that it got inside somebody's model.

The rows are those of ``odernn verify --checkpoint`` (``verification.trained``): published and sharp bounds of states,
gradients, step Jacobians and the way back, margins, orthogonality, from zero states, in float64. E of the gradients is
the papers', (1/N) Σ ½|y_n|², and not that of the model.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import nn

from odernn.cells.recurrent import RecurrentNetwork
from odernn.cells.unicornn import UnICORNN
from verification.models.layers import SAMPLES, Seen
from verification.monitors import measuring
from verification.registry import Registry
from verification.tasks.task import TaskSpec
from verification.trained.row import Row
from verification.trained.runs import Sample
from verification.trained.trial import try_recurrent

MOST_WORK, FEW = 2**17, 2
"""Steps times units of all layers, above which only so many samples are compared: that is some ten seconds."""

LEFT_OUT = ("thm-S-exp", "thm-S-root", "thm-S-Q")
"""Weaker forms of thm-S, which is there."""


@dataclass(frozen=True)
class CellLedger:
    """Of one module: its name in the model, rows, remarks, how many samples; or why there are none.

    names  of its layers and directions, as in a trial
    """

    name: str
    names: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    samples: int = 0
    reason: str = ""

    @property
    def bounds(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.kind == "bound")

    @property
    def others(self) -> tuple[Row, ...]:
        """Margins and measurements."""
        return tuple(row for row in self.rows if row.kind != "bound")


def of_module(name: str, module: nn.Module, seen: Seen) -> CellLedger | None:
    """None for what is no cell of the library."""
    if not isinstance(module, RecurrentNetwork):
        return None
    names = tuple(measuring.layer_names(name, module))
    arguments = measuring.bound_arguments(module, seen.arguments, seen.keywords)
    sequences = measuring.sequences_of(module, arguments)
    reason = ""
    if type(module).forward is not _library_forward(module):
        reason = f"{type(module).__name__} has a forward of its own"
    elif sequences.lengths is not None:
        reason = "its sequences have several lengths"
    elif arguments.get("state") is not None and any(bool(block.any()) for block in sequences.state):
        reason = "it does not start from zero states"
    elif any(arguments.get(other) is not None for other in ("previous_input", "start")):
        reason = "it starts within a sequence"
    if reason:
        return CellLedger(name, names, reason=reason)
    steps, batch, _ = sequences.u.shape
    work = steps * sum(int(layer.hidden_size) for layer in module.layers)
    count = min(batch, SAMPLES if work <= MOST_WORK else FEW)
    sample = Sample(sequences.u[:, :count].detach().double().cpu(), torch.zeros(count), None, _spec(steps, count))
    own = copy.deepcopy(module).cpu()
    own = (own.unlimited() if isinstance(own, UnICORNN) else own).requires_grad_(True)
    own.batch_first = False  # the sample is (time, K, input)
    wide = copy.deepcopy(own)
    if not any(parameter.is_complex() for parameter in own.parameters()):
        wide = wide.double()
    try:
        with torch.enable_grad():
            found = try_recurrent(own, wide, sample, Registry())
    except (ValueError, NotImplementedError, ArithmeticError, LookupError, RuntimeError) as error:
        said = str(error).strip().partition("\n")[0].rstrip(".")
        return CellLedger(name, names, reason=f"{type(error).__name__}: {said}")
    rows = tuple(row for row in found.rows if row.statement not in LEFT_OUT)
    return CellLedger(name, names, rows, found.notes, count)


def _library_forward(module: nn.Module) -> object:
    """The forward of the nearest class of the library: rows are made by it and by no other."""
    own = next(kind for kind in type(module).__mro__ if kind.__module__.startswith("odernn."))
    return getattr(own, "forward", None)


def _spec(steps: int, count: int) -> TaskSpec:
    """Of a task without a loss: nothing of it is read but that one row a sequence would count."""
    return TaskSpec(
        name="inputs of one's own",
        split="test",
        loss="squared error",
        reads="last",
        steps=steps,
        count=count,
        input_size=0,
        output_size=0,
        baseline=0.0,
        baseline_means="",
        origin="a trial",
        sha256="",
    )
