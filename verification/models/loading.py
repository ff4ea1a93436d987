"""A model in a file of one's own, and inputs in another: what ``odernn verify --model FILE:NAME --inputs FILE`` reads.

The file of the model is run, as Python runs any module that is imported; NAME is a torch module, or a function or class
that makes one without arguments. Files of numbers are never unpickled.
"""

from __future__ import annotations

import csv
import importlib.util
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

INPUTS, TARGETS = ("inputs", "x", "X"), ("targets", "y", "labels")
"""Names of the arrays of an .npz, or of a dict in a .pt."""

KINDS = ".npy, .npz, .pt or .csv"


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
    try:
        state = torch.load(weights, map_location="cpu", weights_only=True)
        model.load_state_dict(state)
    except Exception as error:  # a missing file, a pickle of more than tensors, other names or shapes
        raise ModelError(f'--weights "{weights}": {said(error)}. Save model.state_dict() of this model.') from error


def numbers(path: Path) -> tuple[Tensor, Tensor | None]:
    """Inputs, and targets if they are in the same file. A .csv is one sequence, a row a step: (time, 1, features)."""
    if not path.is_file():
        raise ModelError(f'There is no file "{path}". Give numbers as {KINDS}.')
    try:
        found = _read(path)
    except ModelError:
        raise
    except Exception as error:  # damaged files raise what they like
        raise ModelError(f'"{path}" cannot be read: {said(error)}. Give numbers as {KINDS}.') from error
    if isinstance(found, Tensor):
        return found, None
    inputs = next((found[name] for name in INPUTS if name in found), None)
    if inputs is None:
        raise ModelError(f'"{path}" has {", ".join(found) or "nothing"}. Name the inputs "{INPUTS[0]}" in it.')
    return inputs, next((found[name] for name in TARGETS if name in found), None)


def _read(path: Path) -> Tensor | dict[str, Tensor]:
    kind = path.suffix.lower()
    if kind == ".npy":
        return torch.from_numpy(np.load(path, allow_pickle=False))
    if kind == ".npz" and zipfile.is_zipfile(path):
        with np.load(path, allow_pickle=False) as arrays:
            return {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    if kind in (".pt", ".pth"):
        loaded = torch.load(path, map_location="cpu", weights_only=True)
        if isinstance(loaded, dict):
            return {str(name): value for name, value in loaded.items() if isinstance(value, Tensor)}
        if isinstance(loaded, Tensor):
            return loaded
    if kind == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
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
    return f"{type(error).__name__}: {text[0].rstrip('.')}" if text else type(error).__name__
