"""The network of a checkpoint: built as it is described, every tensor where it belongs, or an error that names it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from odernn import foreign
from odernn.cells.unicornn import UnICORNN
from verification.trained import CheckpointError, published_unicornn
from verification.trained.files import Stored
from verification.training import SettingError, network

if TYPE_CHECKING:
    from verification.tasks.task import TaskSpec
    from verification.training.configuration import Network
    from verification.training.network import TaskNetwork

RECURRENT, READOUT = "recurrent.", "readout."
WIDENED = {torch.bfloat16: torch.float32, torch.float16: torch.float32}
ROOM, LARGE = 4, 100
"""A network described with so many times as many neurons as the file has rows, and more layers than this, is none."""
HOW_NOT_WHAT = ("execution", "backward")
"""Options of cells about how steps are computed: here they are those of the reference."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network and where it came from.

    model        in evaluation mode, on the CPU, in the dtype of the file (float32 for narrower ones, exactly)
    has_readout  whether the file has weights of the readout; without them there is no loss
    mapping      "" or the code whose names were translated
    notes        sentences for the caption
    """

    stored: Stored
    model: TaskNetwork
    has_readout: bool
    mapping: str = ""
    notes: tuple[str, ...] = ()

    @property
    def recurrent(self) -> nn.Module:
        return self.model.recurrent

    @property
    def cell(self) -> str:
        return self.stored.configuration.network.cell

    @property
    def dtype(self) -> torch.dtype:
        return next(p.dtype for p in self.model.parameters() if not p.is_complex())


def load(stored: Stored, spec: TaskSpec) -> Trained:
    """Raises CheckpointError for the first tensor that is missing, too many, of another shape or kind, or not finite.

    ``spec`` is the task's: it fixes the widths of input and output. TrainingError if the cell refuses its description.
    """
    plan, path = stored.configuration.network, stored.path
    tensors, mapping, notes = dict(stored.tensors), "", []
    in_file: Callable[[str], str] = _quoted
    plan = replace(plan, options={key: v for key, v in plan.options.items() if key not in HOW_NOT_WHAT})
    if published_unicornn.is_published(tensors):
        if plan.cell != published_unicornn.CELL:
            raise CheckpointError(
                f'Checkpoint "{path}" has the names of the published UnICORNN code, but it is described as '
                f'"{plan.cell}". Set cell = "unicornn" in [network].'
            )
        mapping = "the published UnICORNN code"
        plan = replace(plan, options=published_unicornn.as_their_code_rounds(plan.options))
        tensors, in_file = _translated(tensors, path), _by_their_name
        notes.append("dt and α are those of [network], rounded to float32 as the published code does.")
    elif not any(name.startswith((RECURRENT, READOUT)) for name in tensors):
        tensors, in_file = {RECURRENT + name: value for name, value in tensors.items()}, _by_the_cell_s_name
    _check_described(stored, plan)
    model = _built(stored, plan, spec, torch.float32)
    weights = [name for name, _ in model.named_parameters()]
    if (dtype := _dtype(tensors, weights, path, notes)) != torch.float32:
        model = _built(stored, plan, spec, dtype)
    expected = model.state_dict()
    has_readout = any(name.startswith(READOUT) for name in tensors)
    if not has_readout:
        expected = {name: value for name, value in expected.items() if not name.startswith(READOUT)}
        notes.append("The file has no readout: there is no loss, and its gradients are not measured.")
    if mapping:  # their code keeps these two outside of the state_dict
        tensors |= {name: expected[name] for name in (f"{RECURRENT}dt", f"{RECURRENT}alpha") if name in expected}
    _compare(tensors, expected, stored, spec, in_file)
    notes += _differing_buffers(tensors, {name: v for name, v in expected.items() if name not in weights})
    try:
        model.load_state_dict({**model.state_dict(), **tensors})
    except RuntimeError as error:  # of a number that the cell is not defined for, such as dt < 0
        reason = str(error).strip().splitlines()[-1].strip()
        raise CheckpointError(f'Checkpoint "{path}": {reason} Give the file of a network that was trained.') from None
    if isinstance(model.recurrent, UnICORNN) and model.recurrent.limit is not None:
        notes.append(
            "The growth of its neurons is limited: w, below, is what the limit makes of the file's free_w and c."
        )
        model.recurrent = model.recurrent.unlimited()
    return Trained(stored, model.eval(), has_readout, mapping, tuple(notes))


def _check_described(stored: Stored, plan: Network) -> None:
    """CheckpointError for a network that is many times as large as the file: it would be built only to be refused."""
    widest = max((min(size, _stored(value)) for value in stored.tensors.values() for size in value.shape), default=0)
    if plan.hidden_size > ROOM * max(widest, LARGE) or plan.num_layers > max(len(stored.tensors), LARGE):
        raise CheckpointError(
            f'Checkpoint "{stored.path}" has {len(stored.tensors)} tensors of at most {widest} rows or columns, but '
            f"{stored.described_by} describes hidden_size {plan.hidden_size}, num_layers {plan.num_layers}. Correct "
            "the description, or give the file of that network."
        )


def _stored(value: Tensor) -> int:
    """The numbers that the file has of it: fewer than its entries where they are repeated."""
    return value.untyped_storage().nbytes() // value.itemsize


def _built(stored: Stored, plan: Network, spec: TaskSpec, dtype: torch.dtype) -> TaskNetwork:
    try:
        return network.build(plan, spec, seed=0, dtype=dtype)
    except SettingError as error:
        refused = foreign.short(str(stored.configuration.located(error)))
        raise CheckpointError(f'Checkpoint "{stored.path}", described by {stored.described_by}: {refused}') from None


def _quoted(name: str) -> str:
    return f'"{name}"'


def _by_their_name(name: str) -> str:
    other = published_unicornn.theirs(name)
    return f'"{other}" ({name})' if other else f'"{name}"'


def _by_the_cell_s_name(name: str) -> str:
    return f'"{name.removeprefix(RECURRENT)}"'


def _translated(tensors: Mapping[str, Tensor], path: object) -> dict[str, Tensor]:
    translated = {}
    for name, value in tensors.items():
        new = published_unicornn.ours(name)
        if new is None:
            known = ", ".join(sorted({published_unicornn.theirs(example) or "" for example in _EXAMPLES}))
            more = (
                " A network behind an embedding has no task here: give the state_dict without it, and inputs as a task."
                if name.startswith("embedding")
                else ""
            )
            raise CheckpointError(
                f'Checkpoint "{path}": "{name}" of shape {_shape(value)} is no tensor of the published UnICORNN code, '
                f"which has {known}, and so on for every layer.{more}"
            )
        translated[new] = value
    return translated


_EXAMPLES = (
    "recurrent.layers.0.V",
    "recurrent.layers.0.b",
    "recurrent.layers.0.w",
    "recurrent.layers.0.c",
    "readout.weight",
    "readout.bias",
)


def _dtype(tensors: Mapping[str, Tensor], weights: list[str], path: object, notes: list[str]) -> torch.dtype:
    """The one real dtype of the weights, 16-bit ones widened without rounding; buffers such as dt have their own."""
    named = [tensors[name] for name in weights if name in tensors]
    kinds = {value.dtype for value in named if value.is_floating_point()}
    if len(kinds) > 1:
        names = ", ".join(sorted(str(kind).removeprefix("torch.") for kind in kinds))
        raise CheckpointError(f'Checkpoint "{path}" has weights of several dtypes: {names}. Save them in one.')
    kind = kinds.pop() if kinds else torch.float32  # without any, the comparison of names says what is wrong
    if kind in WIDENED:
        notes.append(f"Weights of {str(kind).removeprefix('torch.')} are taken as the float32 numbers that they are.")
        return WIDENED[kind]
    if kind not in (torch.float32, torch.float64):
        raise CheckpointError(f'Checkpoint "{path}" has weights of {kind}. Save them as float32 or float64.')
    return kind


def _compare(
    tensors: Mapping[str, Tensor],
    expected: Mapping[str, Tensor],
    stored: Stored,
    spec: TaskSpec,
    named: Callable[[str], str],
) -> None:
    """CheckpointError unless names, shapes and kinds of numbers are those of the network, and all of them are finite.

    ``named`` makes of our name of a tensor what an error calls it: its name in the file.
    """
    path, plan = stored.path, stored.configuration.network
    described = f"{plan.cell}, hidden_size {plan.hidden_size}, num_layers {plan.num_layers}, by {stored.described_by}"

    missing = [name for name in expected if name not in tensors]
    extra = [name for name in tensors if name not in expected]
    if missing:
        near = difflib.get_close_matches(missing[0], extra, n=1)
        there = f"; it has {named(near[0])} instead" if near else f"; it has {named(extra[0])}" if extra else ""
        raise CheckpointError(
            f'Checkpoint "{path}" lacks {named(missing[0])}, of shape {_shape(expected[missing[0]])}'
            f"{_and_more(missing)}{there}. The network is described as {described}: correct the description, or give "
            "the file of that network."
        )
    if extra:
        raise CheckpointError(
            f'Checkpoint "{path}" has {named(extra[0])}, of shape {_shape(tensors[extra[0]])}{_and_more(extra)}, which '
            f"the network has not. It is described as {described}: correct the description, or give the file of that "
            "network."
        )
    for name, value in expected.items():
        if tensors[name].shape != value.shape:
            widths = f'task "{spec.name}" with {spec.input_size} inputs and {spec.output_size} outputs'
            raise CheckpointError(
                f'Checkpoint "{path}": {named(name)} has shape {_shape(tensors[name])}, expected {_shape(value)} for '
                f"{described}, {widths}. Name the task that it was trained on with --task, or correct the description."
            )
        if not _is_held_by(tensors[name].dtype, value.dtype):
            held, wanted = (str(tensor.dtype).removeprefix("torch.") for tensor in (tensors[name], value))
            raise CheckpointError(
                f'Checkpoint "{path}": {named(name)} has numbers of {held}, expected {wanted} for {described}. '
                f"Save it as {wanted}, or correct the description."
            )
        if not bool(torch.isfinite(tensors[name]).all()):
            wrong = int((~torch.isfinite(tensors[name])).sum())
            raise CheckpointError(
                f'Checkpoint "{path}": {named(name)} has {wrong} of {math.prod(value.shape)} entries that are not '
                "finite. Nothing holds for such weights; give an earlier checkpoint of the run."
            )


def _is_held_by(held: torch.dtype, wanted: torch.dtype) -> bool:
    """Whether a copy changes no number: the same, or narrower and of the same kind (real, complex, whole)."""
    kinds = [(dtype.is_floating_point, dtype.is_complex) for dtype in (held, wanted)]
    narrower = kinds[0] == kinds[1] and held.itemsize < wanted.itemsize and held.is_signed <= wanted.is_signed
    return held == wanted or narrower


def _differing_buffers(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> list[str]:
    """The file wins over its description where both speak: dt, alpha and the like; signs of scoRNN are drawn."""
    return [
        f"{name.removeprefix(RECURRENT)} is that of the file, {tensors[name].tolist()}, and not of the description, "
        f"{expected[name].tolist()}."
        for name in expected
        if expected[name].is_floating_point() and not torch.equal(tensors[name], expected[name])
    ]


def _shape(value: Tensor) -> tuple[int, ...]:
    return tuple(value.shape)


def _and_more(names: list[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""
