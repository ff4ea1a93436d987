"""Weights from a file, and what says of which network they are. No pickle is ever executed.

    a folder of `odernn train`    its run.json and best.safetensors
    a file .safetensors           of `odernn train`, whose header says everything; or any state_dict
    a file .pt, .pth, .bin        by torch.load(weights_only=True), and never otherwise

A file that does not describe itself is described by run.json beside it, or by --config: a TOML file with [network], as
for `odernn train`; its other tables may be left out.
"""

from __future__ import annotations

import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from odernn import foreign
from odernn.foreign import ForeignError
from verification.trained import CheckpointError
from verification.training import TrainingError, checkpoints, configuration, own_files
from verification.training.configuration import Configuration
from verification.training.folder import BEST, LATEST, RUN
from verification.training.places import ROWS, Places

MODEL = "model."
PICKLES = (".pt", ".pth", ".bin")
DESCRIBE = (
    "Give --config FILE.toml with a table [network] (cell, hidden_size, num_layers and the cell's other arguments), "
    "or put the run.json of `odernn train` beside it."
)


@dataclass(frozen=True)
class Stored:
    """What a checkpoint holds.

    tensors        by their names in the file, without the "model." of `odernn train`
    configuration  of the run or of --config; its optimizer and training may be stand-ins
    kind           "odernn train", "state_dict"
    described_by   where the configuration is from
    own_files      what the run needed beside the package, as ``training.own_files`` records it
    """

    path: Path
    tensors: Mapping[str, Tensor]
    configuration: Configuration
    kind: str
    described_by: str
    own_files: Mapping[str, Any] = field(default_factory=dict)


def tensors(path: Path) -> dict[str, Tensor]:
    """Of any of these files by name, whatever network they are of. Raises CheckpointError, TrainingError."""
    return _tensors(_file_of(path))[0]


def read(path: Path, *, config: str | Path | None = None, row: str | None = None, task: str | None = None) -> Stored:
    """Raises CheckpointError or TrainingError: what is wrong with which file, and what to do.

    config, row   a configuration that describes the network, in place of the checkpoint's own
    task          the name that stands for [task] in a configuration without one
    """
    given = None if config is None else _configured(config, row, task)
    file = _file_of(path)
    return _described(file, *_tensors(file), given)


def _tensors(file: Path) -> tuple[dict[str, Tensor], Mapping[str, Any]]:
    return (_tensors_by_name(file), {}) if file.suffix.casefold() in PICKLES else _safe(file)


def _file_of(path: Path) -> Path:
    """The file of weights: the path itself, or the best of a run's folder."""
    if not path.is_dir():
        if not path.exists():
            raise CheckpointError(f'Checkpoint "{path}" does not exist. Check the path.')
        if not path.is_file():  # a pipe would be waited for
            raise CheckpointError(f'Checkpoint "{path}" is no file that lies on a disk. Copy it into one.')
        if path.suffix.casefold() not in (".safetensors", *PICKLES):
            raise CheckpointError(
                f'Checkpoint "{path}": its name ends in "{path.suffix}". Give a folder of `odernn train`, or a file '
                "that ends in .safetensors, .pt, .pth or .bin."
            )
        return path
    if (path / BEST).exists():
        return path / BEST
    other = f" It has {LATEST}: name that file to try the weights of its last step." if (path / LATEST).exists() else ""
    raise CheckpointError(f'Folder "{path}" has no {BEST}, which `odernn train` writes after its first epoch.{other}')


def _safe(path: Path) -> tuple[dict[str, Tensor], Mapping[str, Any]]:
    """Tensors and, from `odernn train`, the facts of the header; its checksum is compared."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            own = checkpoints.FACTS in (file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()} if not own else {}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(
            f'Checkpoint "{path}" cannot be read: {str(error).splitlines()[0]}. It is truncated, or no safetensors '
            "file; use another one."
        ) from None
    if not own:
        return tensors, {}
    checkpoint = checkpoints.read(path)
    return checkpoint.part(MODEL), checkpoint.facts


def unpickled(path: Path) -> Any:
    """What a .pt file holds, by torch.load(weights_only=True). CheckpointError for any other pickle."""
    try:
        _check_stored(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the protocol of a pickle that is then read, or refused with reasons
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f'Checkpoint "{path}" is refused: {_refusal(str(error))} Where you trust it, save its tensors alone, '
            "torch.save(model.state_dict(), FILE) or safetensors, and give that file."
        ) from None
    except Exception as error:  # any bytes at all may be given, and each part of torch has errors of its own
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise CheckpointError(
            f'Checkpoint "{path}" cannot be read: {foreign.short(reason, 160)}. It is truncated, or no file of '
            "torch.save; use another one."
        ) from None
    return loaded


def _check_stored(path: Path) -> None:
    """torch.save compresses nothing: what is compressed may be a thousand times as long, and is refused unread."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if member.compress_type != zipfile.ZIP_STORED or member.file_size > member.compress_size:
                    raise ForeignError(f'its part "{member.filename}" is compressed, as torch.save writes none')


def _tensors_by_name(path: Path) -> dict[str, Tensor]:
    """Those of a .pt file that holds nothing else."""
    loaded = unpickled(path)
    if not isinstance(loaded, Mapping) or not loaded or not all(isinstance(name, str) for name in loaded):
        raise CheckpointError(
            f'Checkpoint "{path}" holds a {type(loaded).__name__}, and no tensors by name. Save model.state_dict().'
        )
    if others := [name for name, value in loaded.items() if not isinstance(value, Tensor)]:
        inner = [name for name in others if _has_tensors_only(loaded[name])]
        where = f'; "{inner[0]}" may be the state_dict: save that alone' if inner else ""
        raise CheckpointError(
            f'Checkpoint "{path}": "{others[0]}" is a {type(loaded[others[0]]).__name__} and no tensor{where}. A '
            "state_dict has tensors only."
        )
    return plain(loaded, path)


def _refusal(said: str) -> str:
    """What torch's many lines say of this file: a name that the pickle asks for, or that it is none of torch.save."""
    if asked := re.search(r"GLOBAL ([\w.]+)", said):
        name = foreign.short(asked[1], 160)
        return f"it asks for {name}, which is more than tensors, and such a pickle can run any code."
    operand = re.search(r"Unsupported operand \d+", said)
    reason = f" ({operand[0][0].lower()}{operand[0][1:]})" if operand else ""
    return (
        f"torch.load(weights_only=True) cannot read it{reason}. It is damaged or no file of torch.save; if it is "
        "another kind of pickle, it can run any code."
    )


def _has_tensors_only(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) > 0 and all(isinstance(entry, Tensor) for entry in value.values())


def plain(tensors: Mapping[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Their numbers, without gradient; torch.save also keeps tensors that are packed, or have no numbers at all.

    Two names of one storage stay two names of it, and what repeats its numbers, as ``expand`` does, still does. What is
    not contiguous, negative or conjugate becomes a copy. Copies of no more numbers than a storage has are as long as
    the file; all others, and all that is repeated, have 256 MiB at most.
    """
    found: dict[str, Tensor] = {}
    free: dict[int, int] = {}
    written = 0
    for name, value in tensors.items():
        if kind := _other_than_plain(value):
            shape = "" if value.is_nested else f" of shape {tuple(value.shape)}"  # a nested one has none
            raise CheckpointError(
                f'Checkpoint "{path}": "{name}"{shape} is stored as {kind}. Save it as an ordinary tensor: '
                "value.to_dense() or value.dequantize(), on the CPU."
            )
        size, storage = value.numel() * value.itemsize, value.untyped_storage()
        if size > storage.nbytes():
            written += size
        elif not value.is_contiguous() or value.is_neg() or value.is_conj():
            left = free.get(storage.data_ptr(), storage.nbytes()) - size
            free[storage.data_ptr()] = max(left, 0)
            written += max(-left, 0)
        if written > foreign.MOST_DATA:
            raise CheckpointError(
                f'Checkpoint "{path}": "{name}" of shape {tuple(value.shape)} is stored as numbers that are repeated, '
                f"or that other tensors have, too; written out, such tensors have more than {foreign.MOST_DATA} bytes "
                "together. Save value.clone()."
            )
        found[name] = value.detach().resolve_conj().resolve_neg()
    return found


def _other_than_plain(value: Tensor) -> str:
    """What it is instead of a number for each entry; "" of an ordinary tensor."""
    if value.is_nested:
        return "a nested tensor"
    if value.device.type != "cpu":
        return value.device.type
    if value.is_quantized:
        return str(value.dtype).removeprefix("torch.")
    if value.layout != torch.strided:
        return str(value.layout).removeprefix("torch.")
    return ""


# --- which network it is


def _described(
    path: Path, tensors: Mapping[str, Tensor], header: Mapping[str, Any], given: Configuration | None
) -> Stored:
    kind = "odernn train" if header else "state_dict"
    if given is not None:
        return Stored(path, tensors, given, kind, "--config")
    if header:
        described = _from_plain(header.get("configuration"), path)
        return Stored(path, tensors, described, kind, f"the header of {path.name}", own_files.of(header))
    beside = path.parent / RUN
    if not beside.exists():
        raise CheckpointError(f'Checkpoint "{path}" holds tensors, but nothing says of which network. {DESCRIBE}')
    try:
        facts = foreign.read_json(beside, non_finite=True)
    except (OSError, ForeignError) as error:
        raise CheckpointError(f'"{beside}" cannot be read: {foreign.said(error)}. {DESCRIBE}') from None
    plain = facts.get("configuration") if isinstance(facts, dict) else None
    return Stored(path, tensors, _from_plain(plain, beside), kind, str(beside), own_files.of(facts))


def _from_plain(plain: Any, path: Path) -> Configuration:
    if not isinstance(plain, Mapping):
        raise CheckpointError(f'"{path}" has no configuration of `odernn train`. {DESCRIBE}')
    try:
        return configuration.from_mapping(plain)
    except TrainingError as error:
        said = foreign.short(str(error))
        raise CheckpointError(f'"{path}": its configuration is none that this odernn knows: {said}') from None


def _configured(file: str | Path, row: str | None, task: str | None) -> Configuration:
    """A complete configuration, or the [network] of one, the other tables filled with what nothing here depends on."""
    path = Path(file)
    if str(file) in configuration.names() or not path.is_file():
        return configuration.read(file, row)
    try:
        text = foreign.text_of(path)
        tables = foreign.parsed_toml(text)
    except (OSError, ForeignError) as error:
        raise CheckpointError(f'Configuration "{file}" cannot be read: {foreign.said(error)}. Correct it.') from None
    if ROWS in tables or row is not None:
        return configuration.read(file, row)
    stand_ins: dict[str, Any] = {
        "task": {"name": task or ""},
        "optimizer": {"name": "sgd", "lr": 1.0},
        "training": {"epochs": 0, "batch_size": 1},
    }
    if "task" not in tables and task is None:
        raise CheckpointError(f'Configuration "{file}" has no [task]. Name the task with --task.')
    return configuration.from_mapping({**stand_ins, **tables}, where=Places(str(file), text))
