"""‖dX^L_n/dX^l_1‖_∞ of several networks at once, through all layers between: rows of the Jacobian by stepping back.

With P, Q the derivatives of a state of the top layer at step n by y^q_k, z^q_k, one step back is Q' = Q + h P,
g = −h σ′ Q', the layer below gains g V, and P' = P − h κ Q'. K networks of one shape run as one batch, each on a
sequence of its own; float64, index convention "icml", no edges Λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from odernn.cells.unicornn import UnICORNN
from verification.measure.gradient import weights_of


@dataclass(frozen=True, eq=False)
class NetworkBatch:
    """Of every layer w, h (K, hidden), V (K, hidden, below), b (K, hidden); α a number a layer."""

    w: tuple[Tensor, ...]
    h: tuple[Tensor, ...]
    V: tuple[Tensor, ...]
    b: tuple[Tensor, ...]
    alpha: tuple[float, ...]

    @classmethod
    def of(cls, networks: Sequence[UnICORNN]) -> NetworkBatch:
        """Networks of one shape and one α a layer."""
        layers = list(zip(*map(weights_of, networks), strict=True))
        return cls(
            w=tuple(torch.stack([each.w for each in layer]) for layer in layers),
            h=tuple(torch.stack([each.step_size for each in layer]) for layer in layers),
            V=tuple(torch.stack([next(iter(each.edges.values())) for each in layer]) for layer in layers),
            b=tuple(
                torch.stack([torch.zeros_like(each.w) if each.bias is None else each.bias for each in layer])
                for layer in layers
            ),
            alpha=tuple(layer[0].alpha for layer in layers),
        )

    @property
    def log_norms(self) -> Tensor:
        """log ‖V^q‖_∞, (K, L)."""
        return torch.stack([V.abs().sum(dim=2).amax(dim=1).log() for V in self.V], dim=1)

    @torch.no_grad()
    def slopes(self, inputs: Tensor) -> list[Tensor]:
        """σ′ of every layer, (time, K, hidden), on ``inputs`` (time, K, d), from zero states."""
        below, found = inputs, []
        for w, h, V, b, alpha in zip(self.w, self.h, self.V, self.b, self.alpha, strict=True):
            drive = torch.einsum("kij,tkj->tki", V, below) + b
            y = z = torch.zeros_like(w)
            rows, bends = torch.empty_like(drive), torch.empty_like(drive)
            for n, x in enumerate(drive):
                s = torch.tanh(w * y + x)
                z = z - h * (s + alpha * y)
                y = y + h * z
                rows[n], bends[n] = y, 1 - s * s
            found.append(bends)
            below = rows
        return found

    @torch.no_grad()
    def largest_row_sums(self, slopes: Sequence[Tensor], layer: int, n: int, neurons: Sequence[int]) -> Tensor:
        """The largest absolute row sum of dX^L_n/dX^l_1, (K,), over the rows of y and of z of these neurons of the top
        layer: the norm, if they are all, else a lower bound of it. Layers count from 1; n > 1.
        """
        L, count = len(self.w), len(neurons)
        P = [torch.zeros(len(w), 2 * count, w.shape[1], dtype=w.dtype) for w in self.w]
        Q = [torch.zeros_like(each) for each in P]
        P[-1][:, torch.arange(count), list(neurons)] = 1.0
        Q[-1][:, count + torch.arange(count), list(neurons)] = 1.0
        for k in range(n, 0, -1):
            for q in range(L - 1, layer - 2, -1):
                if q == layer - 1 and k == 1:
                    break  # the state that is moved
                h, slope = self.h[q], slopes[q][k - 1]
                Q[q] += h[:, None] * P[q]
                if q >= layer:
                    P[q - 1] -= torch.bmm((h * slope)[:, None] * Q[q], self.V[q])
                P[q] -= (h * (self.alpha[q] + self.w[q] * slope))[:, None] * Q[q]
        return (P[layer - 1].abs() + Q[layer - 1].abs()).sum(dim=2).amax(dim=1)
