"""What fixes a run, as run.json and the checkpoints say it: whoever continues a folder must have the same."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

import odernn
from odernn import foreign
from odernn.foreign import ForeignError
from verification.run import arithmetic
from verification.training import TrainingError


def versions() -> dict[str, str]:
    """What the bits of a run depend on beside its configuration."""
    return {
        "odernn": odernn.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "threads": str(torch.get_num_threads()),
        "arithmetic": "; ".join(arithmetic.surprises(thoroughly=True)) or arithmetic.IEEE,
    }


def to_json(facts: Mapping[str, Any]) -> bytes:
    """As a file has them."""
    return (json.dumps(facts, indent=1, ensure_ascii=False, default=list) + "\n").encode()


def checksums(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Of each split. Not its origin: that names versions of libraries, which change while the data stays."""
    data = facts.get("data")
    known = data.items() if isinstance(data, dict) else ()
    return {split: of_split.get("sha256") if isinstance(of_split, dict) else None for split, of_split in known}


def check_same(path: Path, facts: Mapping[str, Any]) -> None:
    """TrainingError that says what differs, unless the folder's run is this one."""
    try:
        there = foreign.read_json(path, non_finite=True)
    except (OSError, ForeignError) as error:
        raise TrainingError(f'"{path}" cannot be read ({foreign.said(error)}). Train into another folder.') from None
    old = there.get("configuration") if isinstance(there, dict) else None
    if not isinstance(old, dict) or not all(isinstance(table, dict) for table in old.values()):
        raise TrainingError(f'"{path}" is not what `odernn train` writes. Put it back, or train into another folder.')
    facts = json.loads(to_json(facts))  # lists, not tuples, as the file has them
    new = facts["configuration"]
    differing = [
        f"[{table}] {key}: {_shown(_get(old, table, key))} there, {_shown(_get(new, table, key))} here"
        for table in new
        for key in sorted({*old.get(table, {}), *new[table]})
        if _get(old, table, key) != _get(new, table, key)
    ]
    for name, of in (("SHA-256 of the data", checksums), ("processes", lambda run: run.get("processes"))):
        if not differing and of(there) != of(facts):
            differing.append(f"{name}: {_shown(of(there))} there, {_shown(of(facts))} here")
    if differing:
        said = foreign.short("; ".join(differing))
        raise TrainingError(
            f'Folder "{path.parent}" has a run of another configuration: {said}. Name another folder, '
            "or train with the configuration of that run."
        )


def _shown(value: Any) -> str:
    return foreign.short(repr(value), 200)


def _get(tables: Mapping[str, Any], table: str, key: str) -> Any:
    return tables.get(table, {}).get(key)
