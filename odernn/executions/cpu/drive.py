"""The drive of a layer, x = u Vᵀ + b, and the derivatives by u and V: as wholes, piece by piece, or in the kernels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from odernn.executions.cpu.columns import Array, ColumnJob, rows_of
from odernn.executions.cpu.kernels import lanes as lanes_of
from odernn.executions.cpu.kernels.vector import REGISTER
from odernn.executions.cpu.memory import fresh

CHECKPOINT = 128
"""Steps between two kept states in the mode "reversible"."""

_PIECE_BYTES = 1 << 22
"""Of x made at a time from u: small enough for caches, large enough for the calls not to count."""

LOOKS_AT_V = 4
"""A piece of x has at least so many times the bytes of V, which every product has to read and to arrange. With fewer a
stack of two layers of 1024 units and inputs, (100, 32), took 1.06 times as long as the torch loop; so, 1.01 times, the
least of six turns. The products are nearly all there is."""

_FEW = 16
"""Inputs of a layer up to which b is made a column of V, so that x is written once: [V b] [u 1]ᵀ."""

_FEWER = 8
"""Inputs up to which the kernels make x themselves, which is then never written: cheaper than a product of matrices."""


class Drive:
    """x, as it is, or made piece by piece from u, V and b, or, where ``table`` has elements, in the kernels.

    ``in_kernels``: whether the kernels of this pass may; they do so for few inputs and rows of whole vectors.
    """

    def __init__(
        self, u: Tensor, V: Tensor | None, b: Tensor | None, hidden: int, mode: str, job: ColumnJob, *, in_kernels: bool
    ) -> None:
        self.u, self.V, self.b = u.detach().contiguous(), None if V is None else V.detach(), b
        self.job, self.columns, self.hidden, self.steps = job, job.columns, hidden, len(u)
        self.table = _table(self.u, self.V, b) if in_kernels else u.new_empty((0, 0))
        if V is None or len(self.table):
            self.length = max(self.steps, 1)
        else:
            size = max(_PIECE_BYTES, LOOKS_AT_V * V.numel() * V.element_size())
            self.length = max(size // max(job.columns * u.element_size(), 1), 1)
        if mode == "reversible":
            self.length = -(-self.length // CHECKPOINT) * CHECKPOINT
        self.length = min(self.length, max(self.steps, 1))
        is_made_here = V is not None and not len(self.table)
        self.buffer = fresh((self.length * job.shape[0], hidden), u) if is_made_here else None
        self.both: Tensor | None = None
        if is_made_here and b is not None and u.shape[2] <= _FEW:
            assert V is not None
            self.both = torch.cat([V.detach(), b.detach().unsqueeze(1)], dim=1).t().contiguous()
            self.ones = u.new_ones((self.length * job.shape[0], 1))

    def pieces(self) -> Iterator[tuple[int, int]]:
        for n0 in range(0, self.steps, self.length):
            yield n0, min(n0 + self.length, self.steps)

    def seen(self, n0: int, n1: int) -> Tensor:
        """Rows of u, (time · batch, below)."""
        return self.u[n0:n1].reshape((n1 - n0) * self.u.shape[1], self.u.shape[2])

    @property
    def is_in_kernels(self) -> bool:
        """Whether the kernels make x, from ``seen_by_kernels``; there is one piece then."""
        return len(self.table) != 0

    def seen_by_kernels(self) -> tuple[Array, Array]:
        """u (time, batch · below) and the table."""
        return rows_of(self.u), self.table.numpy()

    def x(self, n0: int, n1: int) -> Array:
        """Rows n0..n1 of x, (time, columns); valid until the next call."""
        if self.V is None or self.buffer is None:
            return rows_of(self.u[n0:n1])
        rows = self.seen(n0, n1)
        out = self.buffer[: len(rows)]
        if self.both is not None:
            torch.mm(torch.cat([rows, self.ones[: len(rows)]], dim=1), self.both, out=out)
        elif self.b is None:
            torch.mm(rows, self.V.t(), out=out)
        else:
            torch.addmm(self.b.detach(), rows, self.V.t(), out=out)
        return out.numpy().reshape(n1 - n0, self.columns)


def _table(u: Tensor, V: Tensor | None, b: Tensor | None) -> Tensor:
    """[V b]ᵀ (below + 1, hidden) where the kernels are to make x; otherwise no elements."""
    if V is None or V.shape[1] > _FEWER or V.shape[0] * V.element_size() % REGISTER or not V.numel() or not len(u):
        return u.new_empty((0, 0))
    last = V.new_zeros(V.shape[0]) if b is None else b.detach()
    return torch.cat([V.t(), last.unsqueeze(0)]).contiguous()


class Pull:
    """dE/dx, as it is or taken piece by piece to u and V."""

    def __init__(self, drive: Drive, needs_u: bool) -> None:
        self.drive, empty = drive, drive.u.new_empty(0)
        self.by_V = empty if drive.V is None else torch.zeros_like(drive.V, memory_format=torch.contiguous_format)
        self.by_u = fresh(tuple(drive.u.shape), drive.u) if drive.V is None or needs_u else empty
        self.needs_u = needs_u
        self.buffer = None if drive.buffer is None else fresh(tuple(drive.buffer.shape), drive.buffer)
        self.sums = np.zeros((drive.job.rows, max(len(drive.table) - 1, 0) * lanes_of.PITCH))

    def rows(self, n0: int, n1: int) -> Array:
        """Where a kernel writes rows n0..n1 of dE/dx."""
        if len(self.drive.table):
            return np.empty((0, self.drive.columns), self.drive.job.one.dtype)
        if self.buffer is None:
            return rows_of(self.by_u[n0:n1])
        batch = self.drive.u.shape[1]
        return self.buffer[: (n1 - n0) * batch].numpy().reshape(n1 - n0, self.drive.columns)

    def take(self, n0: int, n1: int) -> None:
        """dE/dV += (dE/dx)ᵀ u, and dE/du = (dE/dx) V; or the sums of the kernels."""
        if len(self.drive.table):
            self.by_V += torch.from_numpy(self.drive.job.sums_of_samples(self.sums, self.by_V.shape[1])).T
        if self.buffer is None or self.drive.V is None:
            return
        seen = self.drive.seen(n0, n1)
        rows = self.buffer[: len(seen)]
        self.by_V.addmm_(rows.t(), seen)
        if self.needs_u:
            torch.mm(rows, self.drive.V, out=self.by_u[n0:n1].view(seen.shape))
