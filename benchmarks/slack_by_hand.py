"""Ten numbers of docs/trained.md once more without the library: numpy, archived weights and archived sequences.

    python benchmarks/slack_by_hand.py [--count 10] [--seed 0]      of so many archived files one number each, drawn
    python benchmarks/slack_by_hand.py --all                        every one of them, and writes slack_by_hand.json

A number is log₁₀(bound/measured), of a size that nothing bounds log₁₀ of it, or a margin: of the first, middle or last
weights of the first seed of a run, as results/trained_slack.json has them. ``_by_hand_cells`` has the formulas,
``_by_hand_gradients`` what goes backward. Numbers are to agree within 10⁻⁶; those that are rounding errors themselves,
of another order of the same sums, within a factor of ten: the inverse in float32 and ‖WᵀW − I‖, ``ROUNDED``. Not
computed here: thm-F, thm-G, thm-J and the norms through layers (nearness has them by hand), what is drawn at random,
and the inverse in 16 bits.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _by_hand_cells import Array, Layer, Numbers, cornn, keep_size, linoss, lstm, orthogonal, unicornn
from trained_by_hand import ALLOWED, tensors

HERE = Path(__file__).resolve().parent / "results"
ARCHIVE = HERE / "trained" / "slack"
ROUNDED = ("inverse | error in float32", "orthogonality | ‖W*W − I‖_F")
"""What is a rounding error itself, by the beginning of its key."""

SAME_ORDER = 1.0
"""Decades."""

CELLS: Mapping[str, Callable[[Sequence[Layer], Mapping[str, Any], Layer, Array, Any], Numbers]] = {
    "unicornn": unicornn,
    "cornn": cornn,
    "scornn": orthogonal,
    "exprnn": orthogonal,
    "linoss": linoss,
    "torch.lstm": lstm,
}


def weights(path: Path) -> tuple[list[dict[str, Array]], dict[str, Array], dict[str, Any]]:
    """Of each layer its tensors, the read-out's, and [network]."""
    found, words = tensors(path)
    layers: dict[int, dict[str, Array]] = {}
    readout = {}
    for name, values in found.items():
        parts = name.split(".")
        if parts[:3] == ["model", "recurrent", "layers"]:
            layers.setdefault(int(parts[3]), {})[parts[-1]] = values
        elif parts[:2] == ["model", "recurrent"] and parts[2].endswith("_l0"):
            layers.setdefault(0, {})[parts[2]] = values
        elif parts[:2] == ["model", "readout"]:
            readout[parts[-1]] = values
    return [layers[index] for index in sorted(layers)], readout, json.loads(words["odernn"])["configuration"]["network"]


def by_hand(path: Path) -> Numbers:
    """All numbers of one archived file."""
    layers, readout, network = weights(path)
    u = np.load(path.parent / "sequences.npy").astype(float)
    found = CELLS[network["cell"]](layers, network, readout, u, np.load(path.parent / "targets.npy"))
    for layer in layers:
        for name, values in layer.items():
            if name != "signs":
                keep_size(found, f"weights | largest abs {name} | ", float(np.abs(values).max()))
    return found


# --- against the record


def recorded(row: Sequence[Any]) -> float | None:
    """What the record has of it: slack, minus a size that nothing bounds, or a margin."""
    if len(row) == 2:
        return float(row[1])
    if len(row) < 3 or not isinstance(row[2], float):
        return None
    return float((row[1] or 0.0) - row[2])


@dataclass(frozen=True)
class HandNumber:
    """One number twice; ``place`` is the file in words."""

    place: str
    key: str
    recorded: float
    again: float

    @property
    def is_rounding(self) -> bool:
        return self.key.startswith(ROUNDED)

    @property
    def difference(self) -> float:
        return abs(self.recorded - self.again)

    @property
    def agrees(self) -> bool:
        """Not of NaN."""
        return self.difference <= (SAME_ORDER if self.is_rounding else ALLOWED)

    def __str__(self) -> str:
        return f"{self.place}, {self.key.rstrip(' |')}: {self.recorded:.8f} in the record, {self.again:.8f} by hand"


def published() -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Archived files with their rows."""
    for run in json.loads((HERE / "trained_slack.json").read_text("utf-8"))["runs"].values():
        for each in run["checkpoints"] if "archive" in run else ():
            path = ARCHIVE / run["archive"] / f"weights_{each['step']:07d}.safetensors"
            if path.exists():
                yield path, each["rows"]


def both(path: Path, rows: Mapping[str, Any]) -> list[HandNumber]:
    """What is recorded of a file and computed here."""
    place, again = f"{path.parent.name}, {int(path.stem.rpartition('_')[2])} updates", by_hand(path)
    known = ((key, recorded(rows[key])) for key in sorted(again) if key in rows)
    return [HandNumber(place, key, value, again[key]) for key, value in known if value is not None]


def covered() -> tuple[int, int]:
    """Of how many of the archived numbers a function here makes one, and of how many; computed is one run a cell."""
    here, every, keys = 0, 0, dict[str, tuple[str, set[str]]]()
    for path, rows in published():
        cell, run = weights(path)[2]["cell"], path.parent.name
        if run == keys.setdefault(cell, (run, set()))[0]:
            keys[cell][1].update(by_hand(path))
        numbers = {key for key, row in rows.items() if recorded(row) is not None}
        here, every = here + len(numbers & keys[cell][1]), every + len(numbers)
    return here, every


def is_confirmed(numbers: Sequence[HandNumber]) -> bool:
    """Whether some were compared, and all agree."""
    return bool(numbers) and all(each.agrees for each in numbers)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="every number; shown are those that do not agree")
    asked = parser.parse_args(arguments)
    chance, files = random.Random(asked.seed), list(published())
    found: list[HandNumber] = []
    for path, rows in files if asked.all else chance.sample(files, min(asked.count, len(files))):
        numbers = both(path, rows)
        found += numbers if asked.all else [chance.choice(numbers)]
    sys.stdout.writelines(f"{each}\n" for each in found if not (asked.all and each.agrees))
    here, every = covered()
    here = len(found) if asked.all else here
    said = {"computed": here, "archived": every, "agree": is_confirmed(found)}
    for words, is_rounding in (("largest difference", False), ("rounding errors, largest difference", True)):
        own = [each.difference for each in found if each.is_rounding is is_rounding]
        worst = max(own, key=lambda each: (math.isnan(each), each), default=math.nan)
        said[words] = float(f"{worst:.2g}")
        sys.stdout.write(f"{len(own)} numbers, {words} {worst:.2g}\n" if own else "")
    sys.stdout.write(f"drawn from {here:,} of {every:,} archived numbers, {here / every:.0%}\n")
    if asked.all:
        (HERE / "slack_by_hand.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    return 0 if is_confirmed(found) else 1


if __name__ == "__main__":
    sys.exit(main())
