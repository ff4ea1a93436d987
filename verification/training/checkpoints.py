"""Checkpoints: one safetensors file each, with what a program must know beside the tensors as JSON in its header.

A checkpoint appears under its name whole or not at all: it is written beside it, flushed to the disk, and renamed. The
header has a SHA-256 of the tensors and one of the JSON, so that a file that was damaged later is noticed, wherever it
was. No pickles, no code.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from odernn import foreign
from odernn.foreign import ForeignError
from verification.training import TrainingError
from verification.training.optimizers import Parts

FACTS = "odernn"
DIGEST = "sha256"
FACTS_DIGEST = "facts_sha256"
FORMAT = 2
"""Version of the layout of ``FACTS``. Files of version 1 have no ``FACTS_DIGEST``."""


class DamagedCheckpointError(TrainingError):
    """The file is not what was written: truncated, or other bytes."""


class DamagedCheckpointWarning(UserWarning):
    """Training goes on from an earlier checkpoint than the latest."""


@dataclass(frozen=True)
class Checkpoint:
    """tensors by name: ``model.…``, ``optimizer.NAME OF A PARAMETER.…``; facts: plain data."""

    tensors: Mapping[str, Tensor]
    facts: Mapping[str, Any]

    def part(self, prefix: str) -> dict[str, Tensor]:
        """The tensors under that prefix, by the rest of their names."""
        return {name[len(prefix) :]: value for name, value in self.tensors.items() if name.startswith(prefix)}


def write_atomically(path: Path, content: bytes, *, keep: Path | None = None) -> None:
    """The file has its old content or the new one, whatever happens. TrainingError if it cannot be written.

    ``keep`` gets the old content: it is a second name of it before ``path`` has the new one. Where a file system has no
    second names it is moved there, and a kill in between leaves no ``path``.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if keep is not None and path.exists():
            _name_also(path, keep)
        os.replace(beside, path)
        _flush_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise TrainingError(
            f'"{path}" cannot be written: {(error.strerror or str(error)).lower()}. What was there is unchanged; '
            "make room or name another folder, and run the same command again."
        ) from None


def _name_also(path: Path, keep: Path) -> None:
    """``keep`` is a second name of the file."""
    beside = keep.with_name(f".{keep.name}.{os.getpid()}")
    try:
        beside.unlink(missing_ok=True)
        os.link(path, beside)
    except OSError:
        os.replace(path, keep)
    else:
        os.replace(beside, keep)


def remove_unfinished(folder: Path, names: Iterable[str]) -> None:
    """What killed processes left of files that they were writing. Those of processes that still run stay."""
    for name in names:
        for path in folder.glob(f".{name}.*"):
            number = path.name.rpartition(".")[2]
            if number.isdigit() and not _runs(int(number)):
                with contextlib.suppress(OSError):
                    path.unlink()


def _runs(process: int) -> bool:
    if sys.platform == "win32":  # there the question below would end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def _flush_folder(folder: Path) -> None:
    """So that the new name survives a loss of power; not every system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any], *, keep: Path | None = None) -> None:
    """Raises TrainingError if the file cannot be written; then the one that was there still is, or is ``keep``."""
    from safetensors.torch import save

    plain = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors.items()}
    text = json.dumps({"format": FORMAT, **facts})
    header = {FACTS: text, FACTS_DIGEST: _digest_of_facts(text), DIGEST: digest(plain)}
    write_atomically(path, save(plain, metadata=header), keep=keep)


def read(path: Path) -> Checkpoint:
    """Raises TrainingError that says what is wrong with the file: missing, truncated, damaged, not of this library."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (a handle, no mapping)
    except FileNotFoundError:
        raise TrainingError(f'Checkpoint "{path}" does not exist. Put it there, or name another one.') from None
    except (SafetensorError, OSError, ValueError) as error:
        raise DamagedCheckpointError(
            f'Checkpoint "{path}" cannot be read: {str(error).splitlines()[0]}. It is truncated, or '
            "no safetensors file; use another one."
        ) from None
    if FACTS not in header or DIGEST not in header:
        raise TrainingError(
            f'Checkpoint "{path}" is a safetensors file, but its header has no "{FACTS}": it is none of `odernn train`.'
        )
    sha256 = digest(tensors)
    if sha256 != header[DIGEST]:
        raise DamagedCheckpointError(
            f'Checkpoint "{path}" is damaged: its tensors have SHA-256 {sha256[:16]}…, its header says '
            f"{header[DIGEST][:16]}…. Use another one."
        )
    facts = _facts(path, header)
    if facts.get("format") not in (1, FORMAT):
        versions, layout = facts.get("versions"), foreign.shown(facts.get("format"))
        wrote = foreign.shown(versions.get("odernn") if isinstance(versions, dict) else "unknown").strip("'")
        raise TrainingError(
            f'Checkpoint "{path}" has the layout {layout}, this odernn reads 1 to {FORMAT}. Read it with the version '
            f"that wrote it ({wrote})."
        )
    return Checkpoint(tensors, facts)


def _facts(path: Path, header: Mapping[str, str]) -> dict[str, Any]:
    """The JSON of the header, verified. TrainingError if it is not what was written."""
    text = header[FACTS]
    try:
        facts = foreign.parsed_json(text, non_finite=True)
    except ForeignError as error:
        raise DamagedCheckpointError(f'Checkpoint "{path}" is damaged: its header: {error}. Use another one.') from None
    if not isinstance(facts, dict):
        raise DamagedCheckpointError(f'Checkpoint "{path}" is damaged: its header has no table. Use another one.')
    promised = header.get(FACTS_DIGEST)
    if promised is None and facts.get("format") == 1:
        return facts
    if promised != (sha256 := _digest_of_facts(text)):
        raise DamagedCheckpointError(
            f'Checkpoint "{path}" is damaged: what its header says of the run has SHA-256 {sha256[:16]}…, not '
            f"{(promised or 'none at all')[:16]}…. Use another one."
        )
    return facts


def _digest_of_facts(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def digest(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, dtypes, shapes and bytes."""
    hasher = hashlib.sha256()
    for name, value in sorted(tensors.items()):
        hasher.update(f"{name}\0{value.dtype}\0{tuple(value.shape)}\0".encode())
        hasher.update(value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return hasher.hexdigest()


# --- an optimizer's memory, by the names of its parameters ----------------------------------------------------------


def optimizer_tensors(optimizer: Parts, named: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What the optimizers remember of every parameter, as ``NAME OF THE PARAMETER.NAME OF THE STATE``."""
    kept = {}
    for name, parameter in named.items():
        for key, value in optimizer.of(parameter).state.get(parameter, {}).items():
            if value is not None:
                kept[f"{name}.{key}"] = value if isinstance(value, Tensor) else torch.tensor(value)
    return kept


def restore_optimizer(optimizer: Parts, named: Mapping[str, Tensor], kept: Mapping[str, Tensor]) -> None:
    """Undo ``optimizer_tensors``: moments go where their parameter is, counters of steps stay on the CPU, as torch
    has them, unless the optimizer counts on the device.
    """
    for key, value in kept.items():
        name, _, state = key.rpartition(".")
        parameter = named[name]
        part = optimizer.of(parameter)
        is_counter = state == "step" and not part.defaults.get("capturable")
        part.state[parameter][state] = value.clone() if is_counter else value.to(parameter.device, copy=True)
