"""A model in a file of one's own, and inputs in another: what ``odernn verify --model FILE:NAME --inputs FILE`` reads.

The file of the model is run, as Python runs any module that is imported; NAME is a torch module, or a function or class
that makes one without arguments. Files of numbers are never unpickled. In the place of a file, a task may give inputs.
"""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from odernn import foreign
from verification.tasks import Task
from verification.tasks.task import Root, for_epoch
from verification.trained import CheckpointError, files
from verification.training import TrainingError

INPUTS, TARGETS = ("inputs", "x", "X"), ("targets", "y", "labels")
"""Names of the arrays of an .npz, or of a dict in a .pt."""

KINDS = ".npy, .npz, .pt or .csv"
MOST_CSV = 64 * 2**20
"""Bytes of text; as lists of numbers they are some twenty times as many."""

RECURRENT = "recurrent."
"""What stands before the cell's own names in a file of ``odernn train``."""

NAMED = 3
"""Keys that an error names; of more it says how many."""


class ModelError(Exception):
    """A file of a model or of numbers is not what it must be: which, why, and what to do, in one line."""


def model(place: str, weights: Path | None = None) -> nn.Module:
    """``FILE:NAME``, with the state_dict of ``weights`` if one is given."""
    file, colon, name = place.rpartition(":")
    if not colon or not file or not name:
        raise ModelError(f'--model is "{place}". Give a Python file and a name in it, FILE:NAME.')
    path = Path(file)
    if not path.is_file():
        raise ModelError(f'--model: there is no file "{file}".')
    found = getattr(_run(path), name, None)
    if found is None:
        raise ModelError(f'--model: "{file}" defines no {name}.')
    if not isinstance(found, nn.Module):
        if not callable(found):
            raise ModelError(
                f"--model: {name} is a {type(found).__name__}. Give a torch module, or a function that makes one."
            )
        try:
            found = found()
        except (Exception, SystemExit) as error:  # of the user's own file
            raise ModelError(f"--model: {name}() raised {said(error)}. It is called without arguments.") from error
    if not isinstance(found, nn.Module):
        raise ModelError(f"--model: {name}() returned a {type(found).__name__}, not a torch.nn.Module.")
    if weights is not None:
        _load(found, weights)
    return found


def _run(path: Path) -> Any:
    name = f"_odernn_model_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ModelError(f'--model: "{path}" is no Python file.')
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # as dataclasses and pickles need it
    sys.path.insert(0, str(path.resolve().parent))  # for what lies beside it
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a script that ends itself must not end this command
        raise ModelError(f'--model: "{path}" raised {said(error)}. It is run as an import would run it.') from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _load(model: nn.Module, weights: Path) -> None:
    """From a state_dict or a file of ``odernn train``, of whose network the model may also be the cell alone."""
    try:
        tensors = files.tensors(weights)
    except (CheckpointError, TrainingError) as error:
        raise ModelError(f"--weights: {error}") from error
    expected, kind = model.state_dict(), type(model).__name__
    of_cell = {name.removeprefix(RECURRENT): each for name, each in tensors.items() if name.startswith(RECURRENT)}
    if of_cell.keys() == expected.keys():
        tensors = of_cell
    wrong = []
    if missing := [name for name in expected if name not in tensors]:
        wrong.append(f"it lacks {_some(missing)} of {kind}")
    if extra := [name for name in tensors if name not in expected]:
        wrong.append(f"it has {_some(extra)}, which {kind} has not")
    wrong += _other_shapes(tensors, expected, kind)
    if wrong:
        raise ModelError(f'--weights "{weights}": {"; ".join(wrong)}. Save model.state_dict() of this model.')
    try:
        model.load_state_dict(tensors)
    except Exception as error:  # of a number that a cell is not defined for; its reason is in the last line
        reason = (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()
        raise ModelError(f'--weights "{weights}": {reason.rstrip(".")}. Give weights of a trained model.') from error


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(f'"{name}"' for name in names[:NAMED]) + more


def _other_shapes(tensors: Mapping[str, Tensor], expected: Mapping[str, Any], kind: str) -> list[str]:
    differing = [
        (name, tuple(tensors[name].shape), tuple(own.shape))
        for name, own in expected.items()
        if name in tensors and isinstance(own, Tensor) and own.shape != tensors[name].shape
    ]
    return [f'its "{name}" is {there}, that of {kind} {own}' for name, there, own in differing[:NAMED]]


def of_task(
    task: Task, root: Root, options: Mapping[str, Any], count: int, *, batch_first: bool
) -> tuple[Tensor, Tensor, tuple[str, ...]]:
    """The first ``count`` sequences of its test split, their targets, and what to say of them.

    Sequences of several lengths are cut to the shortest of these, so that no padding counts. Raises ModelError where
    only the last step of such ones is to be read, and what the task raises.
    """
    sequences, targets, spec = task.load("test", root, **options)
    chosen = slice(0, min(count, spec.count))
    steps = spec.steps if spec.lengths is None else min(spec.lengths[chosen])
    is_last = spec.reads == "last"
    if is_last and spec.lengths is not None:
        raise ModelError(f"--task {task.name}: reads the last step of sequences of several lengths. Give --inputs.")
    shown = torch.from_numpy(np.ascontiguousarray(for_epoch(sequences, 0)[:, chosen][:steps]))
    wanted = torch.from_numpy(np.ascontiguousarray(targets[chosen] if is_last else targets[:steps, chosen]))
    notes = [f"{len(shown[0])} of {spec.count} sequences of the {spec.split} split of {spec.name}, the first ones."]
    if steps < spec.steps:
        notes.append(f"They are cut to the {steps} steps of the shortest of them.")
    if batch_first:
        shown, wanted = shown.transpose(0, 1), wanted if is_last else wanted.transpose(0, 1)
    return shown.contiguous(), wanted.contiguous(), tuple(notes)


def numbers(path: Path) -> tuple[Tensor, Tensor | None]:
    """Inputs, and targets if they are in the same file. A .csv is one sequence, a row a step: (time, 1, features)."""
    if not path.is_file():
        raise ModelError(f'There is no file "{path}". Give numbers as {KINDS}.')
    try:
        found = _read(path)
    except ModelError:
        raise
    except CheckpointError as error:
        raise ModelError(str(error)) from error
    except Exception as error:  # damaged files raise what they like
        raise ModelError(f'"{path}" cannot be read: {said(error)}. Give numbers as {KINDS}.') from error
    if isinstance(found, Tensor):
        return found.contiguous(), None
    inputs = next((found[name] for name in INPUTS if name in found), None)
    if inputs is None:
        raise ModelError(f'"{path}" has {", ".join(found) or "nothing"}. Name the inputs "{INPUTS[0]}" in it.')
    return inputs.contiguous(), next((found[name].contiguous() for name in TARGETS if name in found), None)


def _read(path: Path) -> Tensor | dict[str, Tensor]:
    kind = path.suffix.lower()
    if kind == ".npy":  # mapped: a header that promises more than the file has is refused before there is an array
        return torch.from_numpy(np.array(np.load(path, mmap_mode="r", allow_pickle=False)))
    if kind == ".npz" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > max(foreign.MOST_DATA, path.stat().st_size):
                raise ModelError(f'"{path}" unpacks to more than {foreign.MOST_DATA} bytes. Save it as .npy.')
        with np.load(path, allow_pickle=False) as arrays:
            return {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    if kind in (".pt", ".pth"):
        loaded = files.unpickled(path)
        if isinstance(loaded, dict):
            return files.plain({str(name): value for name, value in loaded.items() if isinstance(value, Tensor)}, path)
        if isinstance(loaded, Tensor):
            return files.plain({"the tensor": loaded}, path)["the tensor"]
    if kind == ".csv":
        rows = [row for row in foreign.rows_of_csv(path, MOST_CSV) if row]
        if rows and not _are_numbers(rows[0]):
            rows = rows[1:]
        return torch.tensor([[float(entry) for entry in row] for row in rows]).unsqueeze(1)
    raise ModelError(f'"{path}" is no file of numbers that is known. Give {KINDS}.')


def _are_numbers(row: list[str]) -> bool:
    try:
        return all(isinstance(float(entry), float) for entry in row)
    except ValueError:
        return False


def said(error: BaseException) -> str:
    """Its class and its first line."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {foreign.short(text[0].rstrip('.'))}" if text else type(error).__name__
