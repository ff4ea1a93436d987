"""How far the states that a reversible walk rebuilds are from the true ones, and whether to believe its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from odernn.executions.stack.chunks import Chunk

TOLERANCE = {torch.float32: 1e-2, torch.float64: 1e-6}
"""Largest admitted error of a rebuilt y or z, absolute: the argument of tanh is then off by |w| times that, and σ' by
less, since |σ''| ≤ 4/(3√3) = 0.77. Found in float32 with three layers of dt = 0.0343, α = 0 and 17984 steps, whose
gradient from stored states is off by 0.09 of its size: an error of 0.003 moves it by 0.004, one of 1.3 by 17. The same
number bounds ``Rebuilt.share``: an error that is small beside 1 may be large beside the states."""


@dataclass(frozen=True)
class Rebuilt:
    """What a reversible walk found at a step whose states are known: the largest errors of y and z, and the verdict.

    share    the largest relative error of a gradient that errors of this size make directly: see ``GradientShare``
    between  how differently the rebuilt and the true states went since, at most: see ``Paths``
    """

    step: int
    y: float
    z: float
    share: float
    between: float
    tolerance: float

    @property
    def is_accepted(self) -> bool:
        """Whether all four numbers are within the tolerance; never where one is NaN."""
        return all(number <= self.tolerance for number in (self.y, self.z, self.share, self.between))


@dataclass
class GradientShare:
    """How large errors of one layer's rebuilt states are in the gradients that are products with these states.

        by w     Σ_n g_n y_{n−1},  g_n = dE/dx_n            by V, Λ above, by the readout   Σ_n g'_n y_n
        by h     Σ_n [p_n z_n − q_n (s_n + α y_{n−1})]

    With errors of y, z of at most δ they are off by at most δ Σ|g_n|, and nothing is said of their own size: where
    α + w σ' < 0, a saddle, tiny states make large gradients. Hence for every neuron, over the steps since the last
    known state, δ Σ_n |g_n| is compared with Σ_n |g_n y_{n−1}| over all steps of the walk so far, summed over samples;
    and so for z_n, with |g_n| = h σ' |q_n| for |p_n|, |q_n|, which no execution returns; and for the layers above,
    with Σ_i |g'_{n,i}| of their neurons. δ is the error found at the known state, for each neuron and sample the larger
    of y's and z's: errors grow on the way there. Not seen is what they do to the costates by way of σ'; that is bounded
    by the absolute tolerance.

    weights  (3, batch, hidden): sums of |g| since the last known state
    sizes    (3, hidden): sums of |g| |state| since the end of time
    """

    weights: Tensor
    sizes: Tensor

    @classmethod
    def none_yet(cls, like: Tensor) -> GradientShare:
        """For states (batch, hidden)."""
        return cls(like.new_zeros((3, *like.shape)), like.new_zeros((3, like.shape[-1])))

    def at_known_state(self) -> GradientShare:
        """To go on from there."""
        return GradientShare(torch.zeros_like(self.weights), self.sizes.clone())

    def add(self, kind: int, g: Tensor, rows: Tensor, chunk: Chunk) -> None:
        """g (time, samples, hidden or 1) and the states (time, samples, hidden) that it is multiplied with."""
        weights = torch.linalg.vector_norm(g, ord=1, dim=0).expand(rows.shape[1:])
        if chunk.samples is None:
            self.weights[kind] += weights
        else:
            self.weights[kind].index_add_(0, chunk.samples, weights)
        self.sizes[kind] += torch.linalg.vector_norm(g * rows, ord=1, dim=(0, 1))

    def of(self, errors: Tensor) -> Tensor:
        """The largest relative error (): errors (batch, hidden) are δ. NaN if one is; no error has none."""
        changes = (self.weights * errors).sum(dim=1)
        largest: Tensor = torch.where(changes == 0, 0.0, changes / self.sizes).amax()
        return largest


@dataclass
class Paths:
    """Σ_n |y_n| / (|y_n| + ε) over a segment, ε the default tolerance, (layers, batch, hidden).

    Roughly, how many steps each was not at rest. Forwards it is a sum over true states, backwards over rebuilt ones. It
    is there because errors may be gone when a known state is met: what leaves a saddle along the one separatrix comes
    back to it along the other. An excursion that is short beside the segment is not noticed.
    """

    sums: Tensor

    def add(self, index: int, rows: Tensor, chunk: Chunk) -> None:
        """Rows y of the layer."""
        size = rows.abs()
        moving = size.div_(size + TOLERANCE[rows.dtype]).sum(dim=0)
        if chunk.samples is None:
            self.sums[index] += moving
        else:
            self.sums[index].index_add_(0, chunk.samples, moving)

    def apart(self, true: Tensor, steps: int) -> float:
        """The largest difference a step; NaN if there is one."""
        return float((self.sums - true).abs().amax()) / max(steps, 1) if true.numel() else 0.0


def distance(tensors: Sequence[Tensor], known: Sequence[Tensor]) -> float:
    """The largest |found − known| of all layers; NaN if one is."""
    if not tensors or tensors[0].numel() == 0:
        return 0.0
    return float(torch.stack([(a - b).abs().amax() for a, b in zip(tensors, known, strict=True)]).amax())


def largest_share(
    shares: Sequence[GradientShare],
    rebuilt: tuple[Sequence[Tensor], Sequence[Tensor]],
    known: tuple[Sequence[Tensor], ...],
) -> float:
    """The largest of all layers, from the states that were rebuilt and those that are known; NaN if one is."""
    if not shares or shares[0].weights.numel() == 0:
        return 0.0
    errors = [[(a - b).abs() for a, b in zip(*pair, strict=True)] for pair in zip(rebuilt, known, strict=True)]
    larger = [torch.maximum(*pair) for pair in zip(*errors, strict=True)]
    return float(torch.stack([share.of(error) for share, error in zip(shares, larger, strict=True)]).amax())


def over_neurons(g: Tensor) -> Tensor:
    """Σ_i |g_i|, (time, samples, 1)."""
    summed: Tensor = torch.linalg.vector_norm(g, ord=1, dim=-1, keepdim=True)
    return summed


def complaint(rebuilt: Rebuilt, stop: int) -> str:
    return (
        f"The states at step {rebuilt.step}, rebuilt backwards from step {stop}, are off by {rebuilt.y:.1e} (y) and "
        f"{rebuilt.z:.1e} (z), and gradients of products with them by up to {rebuilt.share:.1e} of their size; in "
        f"between they went apart by {rebuilt.between:.1e} a step. Admitted is {rebuilt.tolerance:.1e}. The "
        "gradient of these steps was computed again from "
        f"step {rebuilt.step} and is right. To save that time choose "
        'backward="checkpointed", or keep more states: checkpoints=.'
    )
