"""The walk through a stack: all layers through a chunk of time, chunk after chunk, forwards and then backwards."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from odernn.executions.recurrence import ReconstructionWarning, RecurrenceResult
from odernn.executions.stack.chunks import Chunk
from odernn.executions.stack.plan import StackPlan, WalkedLayer
from odernn.executions.stack.reconstruction import (
    GradientShare,
    Paths,
    Rebuilt,
    complaint,
    distance,
    largest_share,
    over_neurons,
)


class StackRun(NamedTuple):
    """y^L (time, batch, hidden) if wanted, the sum of the readouts if there is one, the last states of all layers."""

    rows: Tensor | None
    total: Tensor | None
    y_last: Tensor
    z_last: Tensor


class Cotangents(NamedTuple):
    """The derivatives of E by what ran, None where it does not depend on it."""

    rows: Tensor | None
    total: Tensor | None
    y_last: Tensor | None
    z_last: Tensor | None


class Pass(NamedTuple):
    """One chunk of all layers: what is seen of the levels 0..L−1, then of layers 1..L their drives and their states."""

    seen: list[Tensor]
    drives: list[Tensor]
    results: list[RecurrenceResult]


@dataclass
class Sums:
    """Gradients as far as they have been added up, and the costates where the walk is: p, q (batch, hidden) a layer."""

    p: list[Tensor]
    q: list[Tensor]
    layers: list[WalkedLayer]
    readout: list[Tensor]
    u: Tensor | None
    shares: list[GradientShare]
    paths: Paths | None = None
    previous: Tensor | None = None

    def copied(self) -> Sums:
        """What is added to in place, copied. ``u`` is shared: every row of it is written, not added to."""
        layers = [layer.mapped(torch.clone) for layer in self.layers]
        shares = [share.at_known_state() for share in self.shares]
        readout = [total.clone() for total in self.readout]
        return Sums(list(self.p), list(self.q), layers, readout, self.u, shares, None, self.previous)


@dataclass
class StackWalk:
    """The tensors of one call; the methods go through time with them."""

    plan: StackPlan
    u: Tensor
    previous: Tensor | None
    y0: Tensor
    z0: Tensor
    masks: Tensor | None
    layers: list[WalkedLayer] = field(default_factory=list)

    @classmethod
    def of(cls, plan: StackPlan, given: Sequence[Tensor | None]) -> StackWalk:
        """From the arguments in the order of ``run``."""
        u, previous, y0, z0, masks, *rest = given
        assert u is not None and y0 is not None and z0 is not None
        size = len(WalkedLayer._fields)
        layers = [WalkedLayer(*rest[k * size : (k + 1) * size]) for k in range(len(plan.sources))]  # type: ignore[arg-type]
        return cls(plan, u, previous, y0, z0, masks, layers)

    # --- one chunk

    def _signal(self, chunk: Chunk) -> Tensor:
        """What is seen of u."""
        if not self.plan.is_shifted:
            return chunk.part(self.u[chunk.start : chunk.stop], 1)
        if chunk.start:
            return chunk.part(self.u[chunk.start - 1 : chunk.stop - 1], 1)
        assert self.previous is not None
        return chunk.part(torch.cat([self.previous.unsqueeze(0), self.u[: chunk.stop - 1]]), 1)

    def _seen(self, level: int, rows: Tensor, before: Tensor, chunk: Chunk) -> Tensor:
        """What the layers above see of y^level, whose rows are ``rows`` and whose state before them is ``before``."""
        if self.plan.is_shifted:
            rows = torch.cat([before.unsqueeze(0), rows[:-1]])
        return rows if self.masks is None else rows * chunk.part(self.masks[level - 1])

    def _seen_back(self, level: int, upstream: Tensor, chunk: Chunk) -> tuple[Tensor, Tensor | None]:
        """The derivative by the rows of y^level, and by the state before them, from that by what is seen of them."""
        if self.masks is not None:
            upstream.mul_(chunk.part(self.masks[level - 1]))
        if not self.plan.is_shifted:
            return upstream, None
        return torch.cat([upstream[1:], torch.zeros_like(upstream[:1])]), upstream[0]

    def _drive(self, index: int, seen: Sequence[Tensor]) -> Tensor:
        layer, (below, skip) = self.layers[index], self.plan.sources[index]
        x = torch.nn.functional.linear(seen[below], layer.V, layer.b)
        if layer.Lambda is not None and skip is not None:
            x += torch.nn.functional.linear(seen[skip], layer.Lambda)
        return x

    def _advance(self, chunk: Chunk, y: list[Tensor], z: list[Tensor], paths: Paths | None = None) -> Tensor:
        """The states of all layers taken through the chunk, in place of those given; the rows of y^L."""
        seen = [self._signal(chunk)]
        for index, layer in enumerate(self.layers):
            before = chunk.part(y[index])
            outputs = self.plan.runner.outputs(
                self._drive(index, seen), **layer.coefficients, y0=before, z0=chunk.part(z[index])
            )
            y[index], z[index] = chunk.whole(y[index], outputs.y_last), chunk.whole(z[index], outputs.z_last)
            if paths is not None:
                paths.add(index, outputs.y, chunk)
            if index + 1 < len(self.layers):
                seen.append(self._seen(index + 1, outputs.y, before, chunk))
        return outputs.y

    def _climb(self, chunk: Chunk, states: Callable[[int, Tensor], RecurrenceResult]) -> Pass:
        """All rows of the chunk, by ``states`` of each layer's number and drive, layer after layer."""
        climb = Pass([self._signal(chunk)], [], [])
        for index in range(len(self.layers)):
            x = self._drive(index, climb.seen)
            result = states(index, x)
            climb.drives.append(x)
            climb.results.append(result)
            if index + 1 < len(self.layers):
                climb.seen.append(self._seen(index + 1, result.y, result.y0, chunk))
        return climb

    def _computed(self, chunk: Chunk, y: Sequence[Tensor], z: Sequence[Tensor]) -> Pass:
        """All rows of the chunk, from the states at its start."""

        def states(index: int, x: Tensor) -> RecurrenceResult:
            before = {"y0": chunk.part(y[index]), "z0": chunk.part(z[index])}
            return self.plan.runner.forward(x, **self.layers[index].coefficients, **before)

        return self._climb(chunk, states)

    def _rebuilt(self, chunk: Chunk, y: list[Tensor], z: list[Tensor]) -> Pass:
        """All rows of the chunk, from the states at its end, in whose place those at its start are put."""

        def states(index: int, x: Tensor) -> RecurrenceResult:
            last = {"y_last": chunk.part(y[index]), "z_last": chunk.part(z[index])}
            result = self.plan.runner.inverse(x, **self.layers[index].coefficients, **last)
            y[index], z[index] = chunk.whole(y[index], result.y0), chunk.whole(z[index], result.z0)
            return result

        return self._climb(chunk, states)

    def _descend(self, chunk: Chunk, last: Pass | None, sums: Sums, grads: Cotangents) -> None:
        """The costates taken back through the chunk; gradients are added to ``sums``.

        ``made`` is used up on the way; it is None if no sample is there, when only a readout has a say.
        """
        if last is None:
            if grads.total is not None:
                self._read_back(chunk, self._padded(chunk, None), sums, grads.total)
            return
        upstream: list[Tensor | None] = [None] * len(self.layers)  # by what is seen of the levels 0..L−1
        grad_y = self._grad_rows(chunk, last.results[-1].y, sums, grads)
        grad_before: Tensor | None = None
        watchers: list[Tensor | None] = [None] * len(self.layers)  # of levels 1..L, (time, samples, 1): Σ|g'| above
        if grads.total is not None:
            watchers[-1] = over_neurons(grad_y)
        for index in range(len(self.layers) - 1, -1, -1):
            states = last.results.pop()
            if index + 1 < len(self.layers):
                above = upstream.pop()
                assert above is not None  # the next layer sees this one
                grad_y, grad_before = self._seen_back(index + 1, above, chunk)
            back = self.plan.runner.backward(
                last.drives.pop(),
                **self.layers[index].coefficients,
                states=states,
                grad_y=grad_y,
                grad_y_last=chunk.part(sums.p[index]),
                grad_z_last=chunk.part(sums.q[index]),
            )
            p = back.y0 if grad_before is None else back.y0 + grad_before
            sums.p[index], sums.q[index] = chunk.whole(sums.p[index], p), chunk.whole(sums.q[index], back.z0)
            self._add_weights(index, back.x, last.seen, sums.layers[index])
            if sums.shares:
                self._add_shares(index, back.x, states, watchers, chunk, sums.shares[index])
            if sums.paths is not None:
                sums.paths.add(index, states.y, chunk)
            for total, part in zip(sums.layers[index][:3], (back.w, back.step_size, back.alpha), strict=True):
                total += part
            for level, matrix in self._edges(index):
                if level > 0 or sums.u is not None:
                    so_far = upstream[level]
                    upstream[level] = back.x @ matrix if so_far is None else so_far.add_(back.x @ matrix)
        if upstream[0] is not None:
            self._add_signal(chunk, upstream[0], sums)

    def _edges(self, index: int) -> Iterator[tuple[int, Tensor]]:
        """The levels that the layer sees, each with its matrix."""
        below, skip = self.plan.sources[index]
        yield below, self.layers[index].V
        Lambda = self.layers[index].Lambda
        if Lambda is not None and skip is not None:
            yield skip, Lambda

    def _add_weights(self, index: int, grad_x: Tensor, seen: Sequence[Tensor], into: WalkedLayer) -> None:
        flat, (below, skip) = grad_x.flatten(0, 1), self.plan.sources[index]
        into.V.addmm_(flat.T, seen[below].flatten(0, 1))
        if into.Lambda is not None and skip is not None:
            into.Lambda.addmm_(flat.T, seen[skip].flatten(0, 1))
        if into.b is not None:
            into.b.add_(flat.sum(dim=0))

    def _add_shares(
        self,
        index: int,
        grad_x: Tensor,
        states: RecurrenceResult,
        watchers: list[Tensor | None],
        chunk: Chunk,
        into: GradientShare,
    ) -> None:
        """What the chunk says of how much the gradients see of the layer's states, and of those of layers below."""
        before = torch.cat([states.y0.unsqueeze(0), states.y[:-1]])
        into.add(0, grad_x, before, chunk)
        into.add(1, grad_x, states.z, chunk)
        watcher, is_below = watchers[index], index + 1 < len(self.layers)
        if watcher is not None:
            into.add(2, watcher, before if self.plan.is_shifted and is_below else states.y, chunk)
        mine = over_neurons(grad_x)
        for level, _ in self._edges(index):
            if level > 0:
                so_far = watchers[level - 1]
                watchers[level - 1] = mine if so_far is None else so_far + mine

    def _add_signal(self, chunk: Chunk, grad: Tensor, sums: Sums) -> None:
        """The derivative by what is seen of u, written where its rows of u are."""
        assert sums.u is not None
        samples = slice(None) if chunk.samples is None else chunk.samples
        if not self.plan.is_shifted:
            sums.u[chunk.start : chunk.stop, samples] = grad
        elif chunk.start:
            sums.u[chunk.start - 1 : chunk.stop - 1, samples] = grad
        else:
            sums.u[: chunk.stop - 1, samples] = grad[1:]
            assert self.previous is not None
            sums.previous = chunk.whole(torch.zeros_like(self.previous), grad[0])

    def _grad_rows(self, chunk: Chunk, rows: Tensor, sums: Sums, grads: Cotangents) -> Tensor:
        """The derivative by the chunk's rows of y^L; a readout's own gradients are added to ``sums``."""
        grad_rows = torch.zeros_like(rows)
        if grads.rows is not None:
            grad_rows += chunk.part(grads.rows[chunk.start : chunk.stop], 1)
        if grads.total is not None:
            by_rows = self._read_back(chunk, self._padded(chunk, rows), sums, grads.total)
            if by_rows is not None:
                grad_rows += chunk.part(by_rows, 1)
        return grad_rows

    def _read_back(self, chunk: Chunk, rows: Tensor, sums: Sums, cotangent: Tensor) -> Tensor | None:
        """The derivative of the readout by ``rows``, those of all samples; that by its parameters goes to ``sums``."""
        readout = self.plan.readout
        assert readout is not None
        with torch.enable_grad():
            leaf = rows.detach().requires_grad_()
            value = readout(leaf, chunk.start)
        if not value.requires_grad:
            return None
        trained = [number for number, parameter in enumerate(readout.parameters) if parameter.requires_grad]
        wanted = [leaf, *(readout.parameters[number] for number in trained)]
        by_rows, *rest = torch.autograd.grad(value, wanted, cotangent, allow_unused=True)
        for number, part in zip(trained, rest, strict=True):
            if part is not None:
                sums.readout[number] += part
        return by_rows

    def _padded(self, chunk: Chunk, rows: Tensor | None) -> Tensor:
        """The chunk's rows for all samples, zero for those that are not there; ``None`` are no samples at all."""
        if rows is not None and chunk.samples is None:
            return rows
        padded = self.y0.new_zeros((chunk.stop - chunk.start, *self.y0.shape[1:]))
        return padded if rows is None or chunk.samples is None else padded.index_copy_(1, chunk.samples, rows)

    # --- all chunks

    def _held(self, count: int) -> tuple[Tensor, Tensor]:
        """Room for ``count`` states y, z of all layers: one block each, since many small ones would pin the heap."""
        shape = (count, *self.y0.shape)
        return self.y0.new_empty(shape), self.z0.new_empty(shape)

    def forwards(self) -> tuple[StackRun, tuple[Tensor, Tensor], Tensor]:
        """The results, the states that the plan keeps, and the sums of ``Paths`` of every segment."""
        plan = self.plan
        y, z = list(self.y0.unbind()), list(self.z0.unbind())
        steps, kept, count = len(self.u), self._held(len(plan.kept) if plan.is_recorded else 0), 0
        rows = self.u.new_zeros((steps, *self.y0.shape[1:])) if plan.wants_rows else None
        total = None if plan.readout is None else self.u.new_zeros(())
        is_compared = plan.is_recorded and plan.mode == "reversible"
        paths = self.y0.new_zeros((len(plan.kept) + 1 if is_compared else 0, *self.y0.shape))
        for number, chunk in enumerate(plan.chunks):
            if plan.is_recorded and number in plan.kept:
                kept[0][count], kept[1][count] = torch.stack(y), torch.stack(z)
                count += 1
            path = Paths(paths[count]) if is_compared else None
            top = None if chunk.is_empty else self._advance(chunk, y, z, path)
            if rows is not None and top is not None:
                rows[chunk.start : chunk.stop] = self._padded(chunk, top)
            if plan.readout is not None and total is not None:
                leaf = self._padded(chunk, top).detach().requires_grad_(plan.is_recorded)
                with torch.set_grad_enabled(plan.is_recorded):  # so that what it depends on is checked now, not later
                    total = total + plan.readout(leaf, chunk.start).detach()
        return StackRun(rows, total, torch.stack(y), torch.stack(z)), kept, paths

    def backwards(
        self,
        y_last: Tensor,
        z_last: Tensor,
        kept: Sequence[tuple[Tensor, Tensor]],
        paths: Tensor,
        grads: Cotangents,
        *,
        wants_u: bool,
    ) -> list[Tensor | None]:
        """The gradients of everything that ``run`` takes, in its order."""
        sums = self._nothing_yet(grads, wants_u=wants_u)
        states = (list(y_last.unbind()), list(z_last.unbind()))
        known = [(self.y0, self.z0), *kept]
        segments = self.plan.segments
        for number, (segment, (y, z)) in reversed(list(enumerate(zip(segments, known, strict=False)))):
            start = (list(y.unbind()), list(z.unbind()))
            if self.plan.mode == "reversible":
                sums = self._reversible(segment, states, start, paths[number], sums, grads)
            else:
                self._checkpointed(segment, start, sums, grads)
            states = start
        by_inputs = [sums.u, sums.previous, torch.stack(sums.p), torch.stack(sums.q), None]
        return [*by_inputs, *(gradient for layer in sums.layers for gradient in layer), *sums.readout]

    def _nothing_yet(self, grads: Cotangents, *, wants_u: bool) -> Sums:
        zero = torch.zeros_like(self.y0[0])
        none = [zero] * len(self.layers)
        p, q = (none if cotangent is None else list(cotangent.unbind()) for cotangent in (grads.y_last, grads.z_last))
        layers = [layer.mapped(torch.zeros_like) for layer in self.layers]
        extra = () if self.plan.readout is None else self.plan.readout.parameters
        u = torch.zeros(self.u.shape, dtype=self.u.dtype, device=self.u.device) if wants_u else None
        previous = None if self.previous is None else torch.zeros_like(self.previous)
        shares = [GradientShare.none_yet(zero) for _ in layers] if self.plan.mode == "reversible" else []
        return Sums(
            list(p), list(q), layers, [torch.zeros_like(parameter) for parameter in extra], u, shares, None, previous
        )

    def _reversible(
        self,
        segment: Sequence[Chunk],
        last: tuple[list[Tensor], list[Tensor]],
        start: tuple[list[Tensor], list[Tensor]],
        path: Tensor,
        sums: Sums,
        grads: Cotangents,
    ) -> Sums:
        """Back through a segment from its last states; again by ``_checkpointed`` if its first are not met."""
        untouched = sums.copied()
        sums.shares = [share.at_known_state() for share in sums.shares]
        sums.paths = paths = Paths(torch.zeros_like(path))
        y, z = list(last[0]), list(last[1])
        for chunk in reversed(segment):
            self._descend(chunk, None if chunk.is_empty else self._rebuilt(chunk, y, z), sums, grads)
        errors = (distance(y, start[0]), distance(z, start[1]))
        share = largest_share(sums.shares, (y, z), start)
        between = paths.apart(path, segment[-1].stop - segment[0].start)
        rebuilt = Rebuilt(segment[0].start, *errors, share, between, tolerance=self.plan.tolerance)
        if self.plan.watch is not None:
            self.plan.watch(rebuilt)
        if rebuilt.is_accepted:
            return sums
        warnings.warn(complaint(rebuilt, segment[-1].stop), ReconstructionWarning, stacklevel=2)
        self._checkpointed(segment, start, untouched, grads)
        return untouched

    def _checkpointed(
        self, segment: Sequence[Chunk], start: tuple[list[Tensor], list[Tensor]], sums: Sums, grads: Cotangents
    ) -> None:
        """Back through a segment, whose chunks are computed again from the states at their starts.

        Between known states these are found by one more pass, and held: 2 L b m floats a chunk of the segment.
        """
        held, y, z = self._held(len(segment) - 1), list(start[0]), list(start[1])
        for number, chunk in enumerate(segment[:-1]):
            if not chunk.is_empty:
                self._advance(chunk, y, z)
            held[0][number], held[1][number] = torch.stack(y), torch.stack(z)
        for number in range(len(segment) - 1, -1, -1):
            chunk = segment[number]
            before = (held[0][number - 1].unbind(), held[1][number - 1].unbind()) if number else start
            self._descend(chunk, None if chunk.is_empty else self._computed(chunk, *before), sums, grads)
