"""The network of a task: a cell of the library or one of torch, and a linear readout of its last layer."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from odernn import cells
from verification.training import TrainingError
from verification.training.configuration import Network

if TYPE_CHECKING:
    from verification.tasks.task import TaskSpec

TORCH: Mapping[str, Callable[..., nn.Module]] = {"torch.lstm": nn.LSTM, "torch.gru": nn.GRU, "torch.rnn": nn.RNN}
"""The networks that the papers compare with."""

FORGET_BIAS = "forget_bias"
"""Option of ``torch.lstm``: the sum of its two biases of the forget gate at the start."""


class TaskNetwork(nn.Module):
    """outputs = readout(rows of the last layer):  o_N = C y_N + c, or o_n = C y_n + c for every n.

    sequences (time, count, input) → (count, output) where the task reads the "last" row, else (time, count, output)
    """

    def __init__(self, recurrent: nn.Module, readout: nn.Linear, reads: str) -> None:
        super().__init__()
        self.recurrent, self.readout, self.reads = recurrent, readout, reads

    def forward(self, sequences: Tensor) -> Tensor:
        rows = self.recurrent(sequences)[0]
        read: Tensor = self.readout(rows[-1] if self.reads == "last" else rows)
        return read


def cell_names() -> tuple[str, ...]:
    """What ``cell`` may be."""
    return (*cells.names(), *TORCH)


def build(plan: Network, spec: TaskSpec, *, seed: int, dtype: torch.dtype, device: str = "cpu") -> TaskNetwork:
    """The untrained network; the same seed gives the same weights, whatever was drawn before.

    Raises TrainingError for an unknown cell, an option that the cell does not take, or a value that it refuses.
    """
    kind = _class(plan.cell)
    options = dict(plan.options)
    forget = options.pop(FORGET_BIAS, None) if plan.cell == "torch.lstm" else None
    for key in options:
        _check_option(plan.cell, kind, key)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            recurrent = kind(spec.input_size, plan.hidden_size, plan.num_layers, dtype=dtype, **options)
        except (TypeError, ValueError, NotImplementedError, LookupError) as error:
            raise TrainingError(f"[network] {plan.cell}: {error}") from None
        features = getattr(recurrent, "output_size", plan.hidden_size * (2 if options.get("bidirectional") else 1))
        readout = nn.Linear(features, spec.output_size, dtype=dtype)
    unitary = getattr(recurrent, "unitary_parameters", list)
    if unitary():
        raise TrainingError(
            f"[network] {plan.cell}: its unitary weights need odernn.unitary.MultiplicativeCayley; one for all "
            'takes them off the unitary group. Set capacity = "restricted", or train it with a loop of your own.'
        )
    if forget is not None:
        _set_forget_bias(recurrent, float(forget))
    return TaskNetwork(recurrent, readout, spec.reads).to(device)


def with_option(plan: Network, key: str, value: Any) -> Network:
    """The same plan with one more argument of the cell. TrainingError if the cell does not take it."""
    _check_option(plan.cell, _class(plan.cell), key)
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


def _class(name: str) -> Callable[..., nn.Module]:
    if name in TORCH:
        return TORCH[name]
    try:
        return cells.get(name)
    except KeyError:
        near = difflib.get_close_matches(name.casefold(), cell_names(), n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(cell_names())}."
        raise TrainingError(f'[network] cell: there is none called "{name}". {advice}') from None


def _check_option(cell: str, kind: Callable[..., nn.Module], key: str) -> None:
    from odernn.cells._recurrent import Manners

    known = {"bias", "dropout", "bidirectional"}
    if cell not in TORCH:
        taken = inspect.signature(kind.__init__).parameters
        known = set(taken) | set(Manners.__annotations__)
    known -= {
        "self",
        "input_size",
        "hidden_size",
        "num_layers",
        "batch_first",
        "generator",
        "device",
        "dtype",
        "manners",
    }
    if cell == "torch.lstm":
        known.add(FORGET_BIAS)
    if key not in known:
        near = difflib.get_close_matches(key, sorted(known), n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"It takes: {', '.join(sorted(known))}."
        raise TrainingError(f'[network] {cell} takes no "{key}". {advice}')


def _set_forget_bias(lstm: nn.Module, value: float) -> None:
    """torch adds b_ih and b_hh; the gates lie in the order input, forget, cell, output."""
    with torch.no_grad():
        for name, parameter in lstm.named_parameters():
            if name.startswith("bias_"):
                size = len(parameter) // 4
                parameter[size : 2 * size] = value if name.startswith("bias_ih") else 0.0
