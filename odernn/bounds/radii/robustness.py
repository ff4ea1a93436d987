"""``robustness``: within which radius of its inputs no sequence changes its class.   docs/derivations/radii.md

    ε_i = the largest ε that is proved:  ‖u − u_i‖ ≤ ε  ⇒  argmax of the scores that a run computes on u = label of i

thm-R (a) by a constant for all inputs, (b) and (c) by the derivative at the sequence; the larger of the two.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from odernn.bounds.network.certification import family_of, why_changed
from odernn.bounds.network.question import check_network
from odernn.bounds.radii import constants, margins, parts, stacks
from odernn.bounds.radii.norms import Norm
from odernn.bounds.radii.oscillators import OscillatorSteps
from odernn.bounds.radii.parts import Classifier

MOST_NUMBERS = 2**26
"""Numbers of a derivative by all inputs that are held at once; so many sequences are taken at a time."""

SHOWN = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Radii of the table."""

BALLS = {Norm.SEQUENCE: "the 2-norm over all steps together", Norm.STEP: "the 2-norm of each single step"}


@dataclass(frozen=True)
class Robustness:
    """What is proved of every sequence; ``print`` it for a table.

    radii      of every sequence, 0 where its class is wrong or nothing is proved; None where no theorem applies
    reason     why None, else ""
    is_right   of every sequence whether the model's class is its label
    theorem    of each radius; "" where it is 0
    norm       "sequence" or "step": in which norm inputs are moved
    dtype      of the model: of runs in it, with what they round off
    """

    radii: tuple[float, ...] | None
    reason: str
    is_right: tuple[bool, ...]
    theorem: tuple[str, ...]
    norm: str
    cell: str
    steps: int
    dtype: str

    def share(self, radius: float) -> float | None:
        """Of the sequences that are classified rightly, and provably so within the radius; None without radii."""
        if self.radii is None:
            return None
        return sum(each >= radius and each > 0 for each in self.radii) / len(self.radii)

    @property
    def accuracy(self) -> float:
        """The share of sequences that are classified rightly."""
        return sum(self.is_right) / len(self.is_right)

    @property
    def median(self) -> float | None:
        """Of the radii of all sequences; None without radii."""
        return None if self.radii is None else float(torch.tensor(self.radii, dtype=torch.float64).quantile(0.5))

    def as_json(self) -> dict[str, object]:
        """All fields, for ``json.dumps``."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _lines(found: Robustness) -> Sequence[str]:
    """At most 80 columns."""
    of = f"{found.cell}, {found.steps} steps, {found.dtype}"
    title = f"{of}: {len(found.is_right)} sequences, {found.accuracy:.1%} right."
    if found.radii is None:
        return [title, f"No radius: {found.reason}."]
    theorems = ", ".join(sorted(set(found.theorem) - {""})) or "nothing held"
    lines = [
        title,
        f"Proved ({theorems}): no change of the inputs within the radius changes the class,",
        f"in {BALLS[Norm(found.norm)]}; rounding counted, no TF32, no autocast.",
        "",
        "  radius   certified",
    ]
    lines += [f"  {radius:<6g}   {found.share(radius):8.1%}" for radius in SHOWN]
    largest = max(found.radii)
    return [*lines, "", f"median radius {_down(found.median or 0.0)}, largest {_down(largest)}."]


def _down(radius: float) -> str:
    """Three digits, rounded down."""
    if radius <= 0 or not math.isfinite(radius):
        return f"{radius:g}"
    places = 2 - math.floor(math.log10(radius))
    return f"{math.floor(radius * 10.0**places) / 10.0**places:.3g}"


def robustness(
    model: nn.Module, inputs: Tensor, labels: Tensor, *, norm: Literal["sequence", "step"] = "sequence"
) -> Robustness:
    """The certified radius of every sequence: what no change of its inputs within it can do is change its class.

    model    one recurrent network and one nn.Linear, which reads its last row or the mean of all rows, in ``eval`` mode
    inputs   (time, batch, input), or as the network's ``batch_first`` has it; labels (batch,) integers
    norm     of the change δu:  "sequence"  (Σ_n ‖δu_n‖₂²)^{1/2};   "step"  max_n ‖δu_n‖₂

    Of scoRNN, expRNN, uRNN with b ≤ 0 and DampedUnICORNN by a constant for all inputs (thm-Lip, thm-damp), of UnICORNN
    and DampedUnICORNN by the derivative at each sequence and a bound on all that is beyond it (thm-R), the larger of
    the two. The radius is of runs in the model's dtype, with what they round off, from the zero initial state or the
    learned one, with the coefficients that this processor computes of the parameters; the certificate itself is
    evaluated in float64, rounded outward. Of other networks, as of nn.LSTM, ``radii`` is None and ``reason`` says why.
    That the model does nothing else to inputs, rows or scores is a premise: it is seen on these inputs and beside them,
    at random. Proofs: docs/derivations/radii.md.

    Raises TypeError and ValueError for models, inputs and labels of other kinds, with what to change.
    """
    asked = _norm(norm)
    if not isinstance(model, nn.Module):
        raise TypeError(f"model is a {type(model).__name__}, but a torch.nn.Module is asked, of two parts. Give that.")
    for name, given in (("inputs", inputs), ("labels", labels)):
        if not isinstance(given, Tensor):
            raise TypeError(f"{name} is a {type(given).__name__}, but a tensor is asked. Give torch.as_tensor({name}).")
    if any(each.device.type != "cpu" for each in (*model.parameters(), *model.buffers())):
        model = copy.deepcopy(model).cpu()
    with torch.autocast("cpu", enabled=False):
        taken = parts.taken_apart(model, inputs.cpu(), labels.cpu())
    labels = labels.cpu()
    check_network(taken.recurrent)
    labels = labels.long()
    is_right = taken.scores.argmax(dim=1) == labels
    found = _radii(taken, labels, asked)
    reason = found if isinstance(found, str) else ""
    radii: tuple[float, ...] | None = None
    theorems: tuple[str, ...] = ("",) * len(labels)
    if not isinstance(found, str):
        radii = tuple(torch.where(is_right, found[0], 0.0).tolist())
        theorems = tuple(theorem if radius > 0 else "" for radius, theorem in zip(radii, found[1], strict=True))
    return Robustness(
        radii,
        reason,
        is_right=tuple(is_right.tolist()),
        theorem=theorems,
        norm=asked.value,
        cell=type(taken.recurrent).__name__,
        steps=len(taken.inputs),
        dtype=taken.precision.name,
    )


def _norm(given: str) -> Norm:
    try:
        return Norm(given)
    except ValueError:
        known = " or ".join(repr(each.value) for each in Norm)
        raise ValueError(f"norm is {given!r}, but changes are measured by {known}. Give one of them.") from None


@torch.no_grad()
def _radii(taken: Classifier, labels: Tensor, norm: Norm) -> tuple[Tensor, list[str]] | str:
    """Of every sequence the larger of the radii of both theorems, and its theorem; or why there is none."""
    why, family = why_changed(taken.recurrent) or why_changed(taken.linear), family_of(taken.recurrent)
    if not why and family is None:
        why = f"no theorem here is about this {type(taken.recurrent).__name__}"
    if why:
        return why
    steps, size = len(taken.inputs), float(taken.inputs.abs().max())
    largest = 2 * max(size, 1.0)
    constant = constants.constant_of(taken.recurrent, steps, largest, norm, of_mean=taken.read.of_mean)
    stack = stacks.stack_of(taken.recurrent, steps)
    by_constant: Tensor | None = None
    by_derivative: Tensor | None = None
    if isinstance(constant, constants.InputConstant):
        radii = constants.global_radii(constant, taken.read, taken.scores, taken.rows, labels, taken.precision)
        by_constant = radii.clamp(max=largest - size)  # a change of that norm leaves |u'| ≤ largest
    if not isinstance(stack, str):
        by_derivative = _local(stack, taken, labels, norm)
    name = constants.NAMES.get(family, "")
    if by_derivative is None:
        return str(constant) if by_constant is None else (by_constant, [name] * len(labels))
    if by_constant is None:
        return by_derivative, ["thm-R"] * len(labels)
    wins = (by_derivative >= by_constant).tolist()
    return torch.maximum(by_derivative, by_constant), ["thm-R" if each else name for each in wins]


def _local(stack: Sequence[OscillatorSteps], taken: Classifier, labels: Tensor, norm: Norm) -> Tensor:
    """thm-R, so many sequences at a time as fit."""
    steps, batch, size = taken.inputs.shape
    numbers = max(steps * max(2 * size, 4 + 2 * len(margins.SHARES)) * sum(len(layer.h) for layer in stack), 1)
    count = max(MOST_NUMBERS // numbers, 1)
    found = [
        margins.local_radii(
            stack,
            taken.read,
            taken.inputs[:, start : start + count].double(),
            labels[start : start + count],
            norm,
            taken.precision,
        )
        for start in range(0, batch, count)
    ]
    return torch.cat(found)
