"""The networks of UnICORNN's Table 6 (Rusch & Mishra 2021, App. A): the papers' hyperparameters, exact."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """One row, decimals as exact fractions.

    dt, alpha   Δt of every layer, layer 1 first, and α of all layers
    steps, input_size, hidden_size, num_layers, batch, outputs    N, d, m, L, batch size in training, n_out
    kind        how real input is laid out (`sequences.build`)
    notes       what the table does not print: "inferred" from the parameter count or the task, "chosen" here
    """

    name: str
    dt: tuple[Fraction, ...]
    alpha: Fraction
    steps: int
    input_size: int
    hidden_size: int
    num_layers: int
    batch: int
    outputs: int
    kind: Literal["images", "noise-padded"] = "images"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.dt) != self.num_layers:
            raise ValueError(
                f"published row {self.name!r}: {len(self.dt)} values of dt for {self.num_layers} layers"
            )


def _every(dt: str, num_layers: int) -> tuple[Fraction, ...]:
    return (Fraction(dt),) * num_layers


ROWS: tuple[PublishedRow, ...] = (
    PublishedRow(
        name="nCIFAR", dt=_every("0.126", 3), alpha=Fraction("13.0"),
        steps=1000, input_size=96, hidden_size=128, num_layers=3, batch=30, outputs=10, kind="noise-padded",
        notes=("d = 96 inferred",),
    ),
    PublishedRow(
        name="psMNIST-128", dt=_every("0.482", 3), alpha=Fraction("12.53"),
        steps=784, input_size=1, hidden_size=128, num_layers=3, batch=64, outputs=10,
    ),
    PublishedRow(
        name="psMNIST-256", dt=_every("0.19", 3), alpha=Fraction("30.65"),
        steps=784, input_size=1, hidden_size=256, num_layers=3, batch=32, outputs=10,
    ),
    PublishedRow(
        name="IMDB", dt=(Fraction("6.6e-3"), Fraction("0.205")), alpha=Fraction("0.0"),
        steps=500, input_size=100, hidden_size=128, num_layers=2, batch=32, outputs=1,
        notes=("N = 500 chosen", "n_out = 1 inferred"),
    ),
    PublishedRow(
        name="EigenWorms", dt=(Fraction("2.81e-5"), Fraction("0.0343")), alpha=Fraction("0.0"),
        steps=17984, input_size=6, hidden_size=32, num_layers=2, batch=8, outputs=5,
    ),
    PublishedRow(
        name="RR", dt=_every("0.011", 3), alpha=Fraction("9.0"),
        steps=4000, input_size=2, hidden_size=128, num_layers=3, batch=32, outputs=1,
        notes=("m = 128 inferred",),
    ),
    PublishedRow(
        name="HR", dt=_every("0.046", 3), alpha=Fraction("10.0"),
        steps=4000, input_size=2, hidden_size=128, num_layers=3, batch=32, outputs=1,
        notes=("m = 128 inferred",),
    ),
)  # fmt: skip


def row(name: str) -> PublishedRow:
    """The row of that name; otherwise a LookupError that suggests the nearest."""
    by_name = {r.name: r for r in ROWS}
    if name in by_name:
        return by_name[name]
    lower = {n.lower(): n for n in by_name}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.4)
    hint = f"Did you mean {lower[near[0]]!r}? " if near else ""
    raise LookupError(f"no published row {name!r}. {hint}Table 6 has: {', '.join(by_name)}.")
