"""The network of a task: a cell of the library or one of torch, and a linear readout of its last layer."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from odernn import cells
from odernn.architecture import GraphRNN
from odernn.architecture import get as graph_of
from odernn.folders import is_taken
from verification.training import SettingError
from verification.training.configuration import READOUT_INITS, Network

if TYPE_CHECKING:
    from verification.tasks.task import TaskSpec
    from verification.training.splits import SplitData

TORCH: Mapping[str, Callable[..., nn.Module]] = {"torch.lstm": nn.LSTM, "torch.gru": nn.GRU, "torch.rnn": nn.RNN}
"""The networks that the papers compare with."""

GRAPH = "graph"
"""``odernn.architecture.GraphRNN`` of the catalogue's graph that the option of the same name names."""

FORGET_BIAS = "forget_bias"
"""Option of ``torch.lstm``: the sum of its two biases of the forget gate at the start."""


KAIMING = READOUT_INITS[1]


class TaskNetwork(nn.Module):
    """outputs = readout(rows of the last layer):  o_N = C y_N + c, or o_n = C y_n + c for every n.

    sequences (time, count, input) → (count, output) where the task reads the "last" row, else (time, count, output)
    dropout   probability, in training, on these rows: one mask a sequence, the same at all times
    """

    def __init__(self, recurrent: nn.Module, readout: nn.Linear, reads: str, dropout: float = 0.0) -> None:
        super().__init__()
        self.recurrent, self.readout, self.reads, self.dropout = recurrent, readout, reads, dropout

    def forward(self, sequences: Tensor) -> Tensor:
        rows = self.recurrent(sequences)[0]
        if self.reads == "last":
            rows = rows[-1]
        if self.training and self.dropout > 0.0:
            rows = rows * nn.functional.dropout(torch.ones_like(rows[-1] if rows.dim() == 3 else rows), self.dropout)
        read: Tensor = self.readout(rows)
        return read

    def unitary_names(self) -> tuple[str, ...]:
        """The parameters that are unitary matrices and must stay so: of ``orthogonal.unitary.MultiplicativeCayley``."""
        given = getattr(self.recurrent, "unitary_parameters", tuple)
        unitary = {id(parameter) for parameter in given()}
        return tuple(name for name, parameter in self.named_parameters() if id(parameter) in unitary)


def cell_names(extra: Iterable[Path] = ()) -> tuple[str, ...]:
    """What ``cell`` may be, with the cells of the extra folders."""
    return (*cells.names(extra), GRAPH, *TORCH)


def build(plan: Network, spec: TaskSpec, *, seed: int, dtype: torch.dtype, device: str = "cpu") -> TaskNetwork:
    """The untrained network; the same seed gives the same weights, whatever was drawn before.

    Raises TrainingError for an unknown cell, an option that the cell does not take, or a value that it refuses.
    """
    kind = _class(plan)
    options = dict(plan.options)
    forget = options.pop(FORGET_BIAS, None) if plan.cell == "torch.lstm" else None
    for key in options:
        _check_option(plan.cell, kind, key)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            sizes = (spec.input_size, plan.hidden_size, plan.num_layers)
            if _takes_dtype(kind):
                recurrent = kind(*sizes, dtype=dtype, **options)
            else:  # a cell of one's own
                recurrent = kind(*sizes, **options).to(dtype)
        except (TypeError, ValueError, LookupError, ArithmeticError, MemoryError, RuntimeError) as error:
            raise _refused(plan, error) from None
        readout = nn.Linear(_features(recurrent, plan), spec.output_size, dtype=dtype)
        if plan.readout_init == KAIMING:
            nn.init.kaiming_normal_(readout.weight)  # deviation √(2/m), as in the code of UnICORNN
            nn.init.zeros_(readout.bias)
    if forget is not None:
        _set_forget_bias(recurrent, float(forget))
    return TaskNetwork(recurrent, readout, spec.reads, plan.readout_dropout).to(device)


def _takes_dtype(kind: Callable[..., nn.Module]) -> bool:
    """By name, or as one of any."""
    parameters = inspect.signature(kind).parameters
    return "dtype" in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


def _refused(plan: Network, error: Exception) -> SettingError:
    """What the constructor of the cell said: of an option if it begins with its name, else of the table.

    RuntimeError has NotImplementedError, ExecutionUnavailable, and torch's for weights that fit in no memory.
    """
    said = error.args[0] if isinstance(error, LookupError) and error.args else error
    reason = str(said).partition("\n")[0] or type(error).__name__
    first = re.match(r"\w*", reason)
    return SettingError(
        "network", f"{plan.cell}: {reason}", key=first[0] if first and first[0] in plan.options else None
    )


def _features(recurrent: nn.Module, plan: Network) -> int:
    """Columns of the rows that the readout sees."""
    if isinstance(recurrent, GraphRNN):
        return recurrent.output_width
    width = plan.hidden_size * (2 if plan.options.get("bidirectional") else 1)
    return int(getattr(recurrent, "output_size", width))


def with_option(plan: Network, key: str, value: Any) -> Network:
    """The same plan with one more argument of the cell. TrainingError if the cell does not take it."""
    _check_option(plan.cell, _class(plan), key)
    return replace(plan, options={**plan.options, key: value})


def parameter_count(module: nn.Module) -> int:
    """Numbers that are trained."""
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


def loss_sum(outputs: Tensor, targets: Tensor, spec: TaskSpec, real: Tensor | None = None) -> Tensor:
    """The loss of the task, summed over sequences, of a mean over steps (and over components of a number).

    Where sequences differ in length, the real steps of the split are what is averaged over: all count the same.
    """
    if spec.loss == "cross entropy":
        losses = nn.functional.cross_entropy(outputs.flatten(0, -2), targets.flatten(), reduction="none")
        losses = losses.view(targets.shape)
    else:
        losses = (outputs.view(targets.shape) - targets) ** 2
        if targets.dim() > (1 if spec.reads == "last" else 2):
            losses = losses.mean(dim=-1)
    if spec.reads == "last":
        return losses.sum()
    if real is None:
        return losses.mean(dim=0).sum()
    steps = sum(spec.lengths or ()) / spec.count
    return torch.where(real, losses, 0.0).sum() / steps


def correct(outputs: Tensor, targets: Tensor, real: Tensor | None = None) -> tuple[int, int]:
    """How many classes are the most likely ones, and of how many."""
    hits = outputs.argmax(dim=-1) == targets
    kept = torch.ones_like(hits) if real is None else real
    return int((hits & kept).sum()), int(kept.sum())


def sums(model: nn.Module, data: SplitData, indices: NDArray[np.int64], size: int) -> list[float]:
    """Over these sequences of a split, ``size`` at a time, dropout off: loss, right classes, classes asked for."""
    model.eval()
    found = [0.0, 0.0, 0.0]
    with torch.no_grad():
        for start in range(0, len(indices), size):
            sequences, targets, real = data.batch(indices[start : start + size])
            outputs = model(sequences)
            found[0] += float(loss_sum(outputs, targets, data.spec, real))
            if data.spec.loss == "cross entropy":
                right, asked = correct(outputs, targets, real)
                found[1], found[2] = found[1] + right, found[2] + asked
    return found


def means(sums: Sequence[float], count: int) -> dict[str, Any]:
    """Of these sums over a split: the mean loss, and the share of right classes (None for numbers)."""
    loss, hits, out_of = sums
    return {"loss": loss / count, "accuracy": hits / out_of if out_of else None}


def _graph(input_size: int, hidden_size: int, num_layers: int, *, graph: str, **options: Any) -> nn.Module:
    """A network of an architecture of the catalogue, whose layers are its nodes."""
    if num_layers != 1:
        raise ValueError(f"num_layers is {num_layers}; the layers are the nodes of the graph. Leave it out.")
    if not isinstance(graph, str):
        raise TypeError(f'graph is {graph!r}; it is a name in quotes, such as "skip-21".')
    return GraphRNN(graph_of(graph), hidden_size, input_size, **options)


def _class(plan: Network) -> Callable[..., nn.Module]:
    name = plan.cell
    if name == GRAPH or name in TORCH:
        own = cells.file_of(name, plan.folders)
        if own is not None:
            raise is_taken("cell", name, own, "verification.training.network")
        return _graph if name == GRAPH else TORCH[name]
    try:
        return cells.get(name, plan.folders)
    except KeyError:
        near = difflib.get_close_matches(name.casefold(), cell_names(plan.folders), n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(cell_names(plan.folders))}."
        raise SettingError("network", f'No cell is called "{name}". {advice}', key="cell") from None


NOT_FOR_FILES = frozenset(
    {
        "self",
        "input_size",
        "hidden_size",
        "num_layers",
        "output_size",
        "batch_first",
        "generator",
        "device",
        "dtype",
        "manners",
    }
)
"""Arguments of the constructors that the task, or this module, gives."""


def _check_option(cell: str, kind: Callable[..., nn.Module], key: str) -> None:
    from odernn.cells.recurrent import Manners

    if cell == GRAPH:
        known = {GRAPH, *inspect.signature(GraphRNN.__init__).parameters}
    elif cell in TORCH:
        known = {"bias", "dropout", "bidirectional", *([FORGET_BIAS] if cell == "torch.lstm" else [])}
    else:
        known = {*inspect.signature(kind.__init__).parameters, *Manners.__annotations__}
    known -= NOT_FOR_FILES
    if key not in known:
        near = difflib.get_close_matches(key, sorted(known), n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"It takes: {', '.join(sorted(known))}."
        raise SettingError("network", f'{cell} takes no "{key}". {advice}', key=key)


def _set_forget_bias(lstm: nn.Module, value: float) -> None:
    """torch adds b_ih and b_hh; the gates lie in the order input, forget, cell, output."""
    with torch.no_grad():
        for name, parameter in lstm.named_parameters():
            if name.startswith("bias_"):
                size = len(parameter) // 4
                parameter[size : 2 * size] = value if name.startswith("bias_ih") else 0.0
