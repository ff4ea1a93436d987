"""All steps of a dense recurrence on a CPU: x and dE/dx a piece of time at a time, and the products over all steps.

The kernels (``cpu.kernels.walk``) take samples through a piece of time. Between pieces torch makes x = u Vᵀ + b, and
the derivatives by V, b, u and the matrices, which are one product a piece: what a step writes of dE/da is read while it
is still in cache, and never there as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numba import types
from torch import Tensor

from odernn.executions.cpu.columns import Array
from odernn.executions.cpu.kernels import walk as kernels
from odernn.executions.cpu.kernels.compilation import SOURCES, by_address, digest
from odernn.executions.cpu.kernels.product import PANEL, TALLEST, pack
from odernn.executions.cpu.kernels.vector import REGISTER
from odernn.executions.cpu.memory import fresh
from odernn.executions.cpu.threads import add_products, given_threads, in_threads
from odernn.executions.dense.form import Form
from odernn.executions.dense.passes import passes_of
from odernn.executions.dense.shapes import check_given, check_rows

PIECE_BYTES = 1 << 22
"""Of dE/da at a time: small enough for caches, large enough for what is done between pieces not to count."""

WIDE = 1 << 20
"""Bytes of a matrix from which on more samples share each look at it."""

FEW = 16
"""Inputs up to which b is made a column of V, so that x is written once: [V b] [u 1]ᵀ."""

WORK_A_THREAD = 1 << 22
"""Multiplications and additions of a piece below which a second thread costs more than it brings."""

_NUMBERS = {torch.float32: types.float32, torch.float64: types.float64}
_NUMPY = {torch.float32: np.float32, torch.float64: np.float64}


@cache
def form_of(name: str) -> Form:
    """The form of the recurrence whose passes are the file of that name."""
    form: Form = passes_of(name).FORM
    return form


@cache
def _sources() -> str:
    return SOURCES + digest(Path(__file__).parent / "passes")


@cache
def compiled_passes(name: str, way: str, dtype: torch.dtype) -> tuple[Any, ...]:
    """Its passes, one a stage, compiled: each has an ``address``."""
    functions: Sequence[Callable[..., None]] = getattr(passes_of(name), way)
    return tuple(by_address(function, _NUMBERS[dtype], _sources()) for function in functions)


@cache
def _stages(name: str) -> Array:
    """Its stages as kernels read them."""
    stages = form_of(name).stages
    return np.array([[s.source, s.sources, s.results, s.gradient, s.is_added] for s in stages], np.int64)


def _addresses(planes: Sequence[Tensor]) -> Array:
    return np.array([plane.data_ptr() for plane in planes], np.int64)


def _planes(block: Tensor) -> Array:
    """The addresses of the planes of a contiguous block, (planes, …)."""
    first, apart = block.data_ptr(), block.stride(0) * block.element_size()
    return np.array([first + k * apart for k in range(block.shape[0])], np.int64)


@dataclass(frozen=True)
class DenseInputs:
    """What drives the recurrence: u (time, batch, below) with V (drives · n, below) and b, or x itself as u, V None."""

    u: Tensor
    V: Tensor | None
    b: Tensor | None


class DenseWalk:
    """One call: the recurrence ``name`` of these matrices, vectors (n,), states (batch, n) and numbers, float64."""

    def __init__(
        self,
        name: str,
        inputs: DenseInputs,
        matrices: Sequence[Tensor],
        vectors: Sequence[Tensor],
        first: Sequence[Tensor],
        numbers: Tensor,
    ) -> None:
        self.name, self.form, self.inputs = name, form_of(name), inputs
        check_given(name, self.form, inputs.u, inputs.V, inputs.b, matrices, vectors, first, numbers)
        self.u, self.steps = inputs.u.contiguous(), len(inputs.u)
        self.matrices, self.vectors = [each.contiguous() for each in matrices], vectors
        self.first = [each.contiguous() for each in first]
        self.like, (self.batch, self.hidden) = self.first[0], self.first[0].shape
        self.numbers = np.array([0.0, 1.0, 0.5, *numbers.tolist()], _NUMPY[self.like.dtype])
        self.height = self._height()
        self.repeated = [each.expand(self.height, -1).contiguous() for each in self.vectors]
        a_step = self.batch * self.hidden * self.like.element_size() * max(self.form.gradients, 1)
        self.length = max(min(PIECE_BYTES // max(a_step, 1), self.steps), 1)

    def _height(self) -> int:
        """Samples that are taken through time together."""
        if not self.matrices:
            return max(1024 // max(self.hidden, 1), 1)
        widest = max(matrix.numel() * matrix.element_size() for matrix in self.matrices)
        return TALLEST * (1 if widest < WIDE else 4)

    # --- x

    def _input_columns(self) -> tuple[Tensor, Tensor] | None:
        """[u 1] and [V b], where that is what x is made of."""
        u, V, b = self.u, self.inputs.V, self.inputs.b
        if V is None or b is None or u.shape[2] > FEW:
            return None
        return torch.nn.functional.pad(u, (0, 1), value=1.0), torch.cat((V, b.unsqueeze(1)), 1)

    def _drives(self) -> Iterator[tuple[int, int, list[Tensor]]]:
        """n0, n1 and planes (n1 − n0, batch, hidden) of x, valid until the next ones."""
        count, u, V = len(self.form.drives), self.u, self.inputs.V
        if V is None and count == 1:
            yield from ((n0, n1, [u[n0:n1]]) for n0, n1 in self.pieces())
            return
        room = fresh((count, self.length, self.batch, self.hidden), self.like)
        seen, weight = self._input_columns() or (u, V)
        for n0, n1 in self.pieces():
            planes = list(room[:, : n1 - n0].unbind())
            if weight is None:
                for plane, given in zip(planes, u[n0:n1].chunk(count, 2), strict=True):
                    plane.copy_(given)
            else:
                self._project(planes, seen[n0:n1], weight, weight is V)
            yield n0, n1, planes

    def _project(self, planes: list[Tensor], seen: Tensor, weight: Tensor, has_no_bias_column: bool) -> None:
        b, rows, own = self.inputs.b if has_no_bias_column else None, seen.flatten(0, 1), weight.chunk(len(planes))
        if b is not None:
            for plane, own_b in zip(planes, b.chunk(len(planes)), strict=True):
                plane.copy_(own_b.expand_as(plane))
        outs = [plane.flatten(0, 1) for plane in planes]
        add_products([(out, rows, each.T) for out, each in zip(outs, own, strict=True)], is_added=b is not None)

    def pieces(self) -> Iterator[tuple[int, int]]:
        for n0 in range(0, self.steps, self.length):
            yield n0, min(n0 + self.length, self.steps)

    # --- kernels

    def _packed(self, is_transposed: bool) -> list[Tensor]:
        """A matrix a stage as ``kernels.product`` takes it, a block a pair of result and source; empty without one."""
        n, panel, given, packed = self.hidden, PANEL * REGISTER // self.like.element_size(), iter(self.matrices), []
        for stage in self.form.stages:
            blocks = stage.results * stage.sources
            packed.append(fresh((blocks * n * (-(-n // panel) * panel),), self.like))
            if blocks:
                matrix, how = next(given), (stage.results, stage.sources, n, int(is_transposed), panel)
                pack(self.numbers, packed[-1].data_ptr(), matrix.data_ptr(), *how)
        return packed

    def _run(self, kernel: Callable[..., None], arguments: tuple[Any, ...], n0: int, n1: int) -> None:
        weights = sum(matrix.numel() for matrix in self.matrices) + 64 * self.hidden
        work = (n1 - n0) * self.batch * weights
        blocks = -(-self.batch // TALLEST)
        threads = max(min(given_threads(), work // WORK_A_THREAD, blocks), 1)
        in_threads(kernel, (*arguments, self.numbers, n0, n1, self.batch, self.hidden, self.height), blocks, threads)

    def fixed(self, way: str, packed: list[Tensor]) -> tuple[Array, ...]:
        """What kernels are given first, whatever piece they are at: numbers, passes, stages and matrices."""
        passes = np.array([each.address for each in compiled_passes(self.name, way, self.like.dtype)], np.int64)
        return self.numbers, passes, _stages(self.name), _addresses(packed)

    def forward(self) -> list[Tensor]:
        """The rows of the states, (time, batch, hidden) each, and what is kept beside, (kept, time, batch, hidden)."""
        form, shape = self.form, (self.steps, self.batch, self.hidden)
        room = fresh((form.states + form.kept, *shape), self.like)
        record = room.numpy()  # what comes out are no views of each other
        states = [torch.from_numpy(record[k]) for k in range(form.states)]
        kept = torch.from_numpy(record[form.states :])
        if not record.size:
            return [*states, kept]
        packed = self._packed(False)
        fixed = self.fixed("forward", packed)
        now = _planes(room)
        vectors, first = _addresses(self.repeated), _addresses(self.first)
        for n0, n1, drives in self._drives():
            self._run(kernels.forward, (*fixed, _addresses(drives), vectors, first, now), n0, n1)
        return [*states, kept]

    # --- backwards

    def backward(self, asked: Sequence[Tensor | None], rows: Sequence[Tensor], needs_u: bool) -> list[Tensor]:
        """dE by u, V, b, the matrices, the vectors and the first states; empty where there is no such thing."""
        check_rows(self.name, self.form, asked, rows, self.u, self.like)
        return DenseCostates(self, rows, needs_u).take_back(asked)

    def record(self, rows: Sequence[Tensor]) -> list[Tensor]:
        """Its planes, contiguous, from what ``forward`` returned."""
        return [each.contiguous() for each in (*rows[:-1], *rows[-1].unbind())]


class DenseCostates:
    """The walk backwards of a ``DenseWalk``, from the rows that it has returned."""

    def __init__(self, walk: DenseWalk, rows: Sequence[Tensor], needs_u: bool) -> None:
        self.walk, self.needs_u, form = walk, needs_u, walk.form
        self.record, u, V = walk.record(rows), walk.u, walk.inputs.V
        self.costates = [torch.zeros_like(walk.like) for _ in range(form.costates)]
        self.by_matrices = [torch.zeros_like(matrix) for matrix in walk.matrices]
        self.by_V = u.new_empty(0) if V is None else V.new_zeros(V.shape)
        self.by_b = u.new_empty(0) if walk.inputs.b is None else walk.inputs.b.new_zeros(walk.inputs.b.shape)
        self.by_u = fresh(tuple(u.shape), u) if V is None or needs_u else u.new_empty(0)

    def take_back(self, asked: Sequence[Tensor | None]) -> list[Tensor]:
        walk, form = self.walk, self.walk.form
        given = [None if each is None else each.contiguous() for each in asked]
        sums = walk.like.new_zeros((len(walk.vectors), walk.batch * walk.hidden))
        totals = np.zeros(tuple(sums.shape))
        if walk.steps and walk.like.numel():
            packed = walk._packed(True)
            fixed = (*walk.fixed("backward", packed), _addresses(walk.repeated))
            planes = (_addresses(walk.first), _addresses(self.record), _addresses(self.costates))
            wanted = np.array([0 if each is None else each.data_ptr() for each in given], np.int64)
            room = fresh((form.gradients, walk.length, walk.batch, walk.hidden), walk.like)
            for n0, n1 in reversed(list(walk.pieces())):
                gradients = list(room[:, : n1 - n0].unbind())
                if walk.inputs.V is None and len(form.drives) == 1:
                    gradients[form.drives[0]] = self.by_u[n0:n1]
                tail = (_addresses(gradients), _planes(sums), wanted, sums.numpy(), totals)
                walk._run(kernels.backward, (*fixed, *planes, *tail), n0, n1)
                self._collect(gradients, n0, n1)
        by_vectors = [self._by_vector(total) for total in totals]
        return [self.by_u, self.by_V, self.by_b, *self.by_matrices, *by_vectors, *self.costates[: form.states]]

    def _by_vector(self, total: Array) -> Tensor:
        """Of all samples, from (batch · hidden)."""
        walk = self.walk
        return torch.from_numpy(total.reshape(walk.batch, walk.hidden).sum(0)).to(walk.like.dtype)

    def _collect(self, gradients: list[Tensor], n0: int, n1: int) -> None:
        """A piece's dE/da and dE/dx to the matrices, V, b and u."""
        form, n, products = self.walk.form, self.walk.hidden, []
        by_matrices = iter(self.by_matrices)
        for number, stage in enumerate(form.stages):
            if not stage.sources:
                continue
            by_matrix = next(by_matrices)
            for r in range(stage.results):
                g = gradients[stage.gradient + r].flatten(0, 1)
                for k in range(stage.sources):
                    out = by_matrix[r * n : (r + 1) * n, k * n : (k + 1) * n]
                    products += self._products(out, g, stage.source + k, n0, n1, is_before=number == 0)
        by_x = [gradients[index] for index in form.drives]
        V = self.walk.inputs.V
        if V is not None:
            seen = self.walk.u[n0:n1].flatten(0, 1)
            for k, plane in enumerate(by_x):
                g, own = plane.flatten(0, 1), slice(k * n, (k + 1) * n)
                products.append((self.by_V[own], g.T, seen))
                if self.by_b.numel():
                    self.by_b[own] += g.sum(0)  # not by a column of ones: a product adds one term after another
        elif len(by_x) > 1:
            for out, given in zip(self.by_u[n0:n1].chunk(len(by_x), 2), by_x, strict=True):
                out.copy_(given)
        add_products(products)
        if V is not None and self.needs_u:
            by_u = self.by_u[n0:n1].view(-1, V.shape[1])
            for k, (plane, own_V) in enumerate(zip(by_x, V.chunk(len(by_x)), strict=True)):
                add_products([(by_u, plane.flatten(0, 1), own_V)], is_added=k > 0)

    def _products(
        self, out: Tensor, g: Tensor, plane: int, n0: int, n1: int, *, is_before: bool
    ) -> list[tuple[Tensor, Tensor, Tensor]]:
        """gᵀ v of steps n0+1 .. n1, with v of the steps or of the steps before."""
        rows, batch = self.record[plane], self.walk.batch
        if not is_before:
            return [(out, g.T, rows[n0:n1].flatten(0, 1))]
        if n0 == 0:
            out.addmm_(g[:batch].T, self.walk.first[plane])
            g, n0 = g[batch:], 1
        return [(out, g.T, rows[n0 - 1 : n1 - 1].flatten(0, 1))]
