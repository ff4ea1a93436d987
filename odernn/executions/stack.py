"""A whole UnICORNN stack as one differentiable operation whose memory does not grow with the rows of its layers.

    x^l_n = V^l y^{l-1}_n + b^l + Λ^l y^{k}_n,   k = sources[l−1][1],      then (U) of ``odernn.recurrence``

for n = 1..N and l = 1..L, y^0 = u; with ``is_shifted`` the drives see n − 1 in place of n. Time is cut into chunks. All
layers go through a chunk before any goes on, and only their states (y, z) at its end stay. On the way back the chunks
are taken last to first: the rows of layers 1..L are made again, then the costates go down through layers L..1, and each
chunk adds to the gradients of the weights by one product a layer, always in the same order.

    reversible     rows by the inverse step, from the states at the chunk's end: N b d for u and a constant more
    checkpointed   rows by the step itself, from the states at the chunk's start, which are kept: as exact as stored
                   rows, for 2 L b m floats more a kept state

A reversible walk compares what it has rebuilt with the states that are known: those before the first step, and any that
are kept in between, from which it goes on. Where they differ by more than the tolerance, or by little that the
gradients see as much (``Share``), or went apart on the way (``_Paths``), it warns and takes that part of the time once
more as a checkpointed walk would. These are estimates and no bounds: where gradients have to be right whatever the
weights, choose "checkpointed". Any execution will do: what is called are its ``outputs``, ``forward``, ``inverse`` and
``backward``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

import torch
from torch import Tensor

from odernn.autocast import without_autocast
from odernn.executions import Execution
from odernn.recurrence import ReconstructionWarning, RecurrenceResult

Mode: TypeAlias = Literal["reversible", "checkpointed"]

CHUNK = 256
"""Steps of a chunk unless asked otherwise: enough for a product to be worth its call, few beside any long sequence."""

TOLERANCE = {torch.float32: 1e-2, torch.float64: 1e-6}
"""Largest admitted error of a rebuilt y or z, absolute: the argument of tanh is then off by |w| times that, and σ' by
less, since |σ''| ≤ 4/(3√3) = 0.77. Found in float32 with three layers of dt = 0.0343, α = 0 and 17984 steps, whose
gradient from stored states is off by 0.09 of its size: an error of 0.003 moves it by 0.004, one of 1.3 by 17. The same
number bounds ``Rebuilt.share``: an error that is small beside 1 may be large beside the states."""


@dataclass(frozen=True)
class Rebuilt:
    """What a reversible walk found at a step whose states are known: the largest errors of y and z, and the verdict.

    share    the largest relative error of a gradient that errors of this size make directly: see ``Share``
    between  how differently the rebuilt and the true states went since, at most: see ``_Paths``
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
        return all(each <= self.tolerance for each in (self.y, self.z, self.share, self.between))


class Coefficients(TypedDict):
    """w, h and α of ``odernn.recurrence``."""

    w: Tensor
    step_size: Tensor
    alpha: Tensor


class Layer(NamedTuple):
    """w, h (hidden,), α (), V (hidden, below), b (hidden,) or None, Λ (hidden, skipped) or None."""

    w: Tensor
    step_size: Tensor
    alpha: Tensor
    V: Tensor
    b: Tensor | None
    Lambda: Tensor | None

    @property
    def coefficients(self) -> Coefficients:
        """What the recurrence takes."""
        return {"w": self.w, "step_size": self.step_size, "alpha": self.alpha}


@dataclass(frozen=True)
class Chunk:
    """Steps start+1 .. stop, which are rows start .. stop−1, and the samples that have them all; None for every one."""

    start: int
    stop: int
    samples: Tensor | None

    @property
    def is_empty(self) -> bool:
        """Whether no sample is there any more."""
        return self.samples is not None and len(self.samples) == 0

    def part(self, block: Tensor, axis: int = 0) -> Tensor:
        """The samples of the chunk, from a block of all; the samples lie along ``axis``."""
        return block if self.samples is None else block.index_select(axis, self.samples)

    def whole(self, block: Tensor, part: Tensor, axis: int = 0) -> Tensor:
        """``block`` with the chunk's samples replaced. Never a view of ``part``, which may be a row of many."""
        return part.clone() if self.samples is None else block.index_copy(axis, self.samples, part)


def chunks_of(steps: int, size: int, lengths: Tensor | None) -> tuple[Chunk, ...]:
    """1..N in chunks of at most ``size`` steps, which also end where a sample does: it has all or none."""
    own: list[int] = [] if lengths is None else lengths.tolist()
    stops = sorted(({*range(size, steps, size), steps} | set(own)) - {0})
    found, samples, count = [], None, len(own)
    for start, stop in zip([0, *stops], stops, strict=False):
        there = [number for number, length in enumerate(own) if length > start]
        if lengths is not None and len(there) < count:
            samples, count = torch.tensor(there, dtype=torch.long, device=lengths.device), len(there)
        found.append(Chunk(start, stop, samples))
    return tuple(found)


def spread(chunks: int, states: int) -> frozenset[int]:
    """The chunks before which ``states`` states are kept, evenly spread; the first is never among them."""
    return frozenset(round(k * chunks / (states + 1)) for k in range(1, states + 1)) - {0, chunks}


@dataclass(frozen=True)
class Readout:
    """A loss that is a sum over chunks, ``function(rows of y^L, start)``, and the parameters that it depends on."""

    function: Callable[[Tensor, int], Tensor]
    parameters: tuple[Tensor, ...]

    def __call__(self, rows: Tensor, start: int) -> Tensor:
        """The chunk's contribution, a number, with a graph down to ``rows`` and ``parameters`` and no other leaf."""
        value = self.function(rows, start)
        if value.dim():
            raise ValueError(
                f"The readout of a chunk has shape {tuple(value.shape)}, but contributions are numbers that are added. "
                "Return a sum."
            )
        known = {id(each) for each in (rows, *self.parameters)}
        if any(id(leaf) not in known for leaf in _leaves(value, self.parameters)):
            raise ValueError(
                "The readout depends on a tensor that requires a gradient and is not among its parameters: it would "
                "get none. Add it to parameters=."
            )
        return value


def _leaves(value: Tensor, inner: Sequence[Tensor]) -> Iterator[Tensor]:
    """The leaves that ``value`` was computed from, without going behind ``inner``."""
    seen = {each.grad_fn for each in inner if each.grad_fn is not None}
    waiting = [value.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name() == "torch::autograd::AccumulateGrad":
            yield node.variable  # type: ignore[attr-defined]
        waiting.extend(following for following, _ in node.next_functions)


@dataclass(frozen=True)
class Plan:
    """How a stack is walked: everything but its tensors.

    sources     for each layer the level below and the level that it also sees, or None; level 0 is u, level l is y^l
    is_shifted  a drive at n sees the levels at n − 1
    kept        the chunks before which the states are kept on the way forward
    is_recorded whether there will be a way back
    watch       is told what a reversible walk found at the known states
    """

    runner: Execution
    sources: tuple[tuple[int, int | None], ...]
    is_shifted: bool
    chunks: tuple[Chunk, ...]
    mode: Mode
    kept: frozenset[int]
    tolerance: float
    wants_rows: bool
    is_recorded: bool
    readout: Readout | None = None
    watch: Callable[[Rebuilt], None] | None = None

    @property
    def segments(self) -> list[tuple[Chunk, ...]]:
        """The chunks between known states."""
        if not self.chunks:
            return []
        starts = [0, *sorted(self.kept)]
        return [self.chunks[a:b] for a, b in zip(starts, [*starts[1:], len(self.chunks)], strict=True)]


class Ran(NamedTuple):
    """y^L (time, batch, hidden) if wanted, the sum of the readouts if there is one, the last states of all layers."""

    rows: Tensor | None
    total: Tensor | None
    y_last: Tensor
    z_last: Tensor


def run(
    plan: Plan,
    u: Tensor,
    previous: Tensor | None,
    y0: Tensor,
    z0: Tensor,
    masks: Tensor | None,
    layers: Sequence[Layer],
) -> Ran:
    """The stack over u (time, batch, input); once differentiable in u, u_0, the states and all of ``layers``.

    previous  u_0 (batch, input), if the drives are shifted
    y0, z0    (layers, batch, hidden)
    masks     (layers − 1, batch, hidden): a factor on what is seen of each layer but the last, or None
    """
    flat = [each for layer in layers for each in layer]
    extra = () if plan.readout is None else plan.readout.parameters
    return Ran(
        *_Stack.apply(  # type: ignore[no-untyped-call]
            plan, u, previous, y0, z0, masks, *flat, *extra
        )
    )


class _Cotangents(NamedTuple):
    """The derivatives of E by what ran, None where it does not depend on it."""

    rows: Tensor | None
    total: Tensor | None
    y_last: Tensor | None
    z_last: Tensor | None


class _Stack(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: Plan, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        ctx.set_materialize_grads(False)
        walk = _Walk.of(plan, given)
        with without_autocast(walk.u):
            ran, kept, paths = walk.forwards()
        ctx.plan = plan
        if plan.is_recorded:
            ctx.given = len(given)
            ctx.save_for_backward(*given, ran.y_last, ran.z_last, *kept, paths)
        return tuple(ran)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # torch's once_differentiable would drop the second derivative without a word
            raise RuntimeError(
                "The walk back through a stack has no graph of its own gradient, which create_graph=True asks for. "
                "Leave it out, or call the network itself, which can be differentiated again."
            )
        saved = ctx.saved_tensors
        given, (y, z, *kept, paths) = saved[: ctx.given], saved[ctx.given :]
        walk = _Walk.of(ctx.plan, given)
        needed = ctx.needs_input_grad[1:]
        states = list(zip(*(block.unbind() for block in kept), strict=True))
        grads = _Cotangents(*cotangents)
        with without_autocast(walk.u):
            found = walk.backwards(y, z, states, paths, grads, wants_u=needed[0] or needed[1])
        return None, *(grad if need else None for grad, need in zip(found, needed, strict=True))


class _Pass(NamedTuple):
    """One chunk of all layers: what is seen of the levels 0..L−1, then of layers 1..L their drives and their states."""

    seen: list[Tensor]
    drives: list[Tensor]
    results: list[RecurrenceResult]


@dataclass
class Share:
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
    def none_yet(cls, like: Tensor) -> Share:
        """For states (batch, hidden)."""
        return cls(like.new_zeros((3, *like.shape)), like.new_zeros((3, like.shape[-1])))

    def at_known_state(self) -> Share:
        """To go on from there."""
        return Share(torch.zeros_like(self.weights), self.sizes.clone())

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
        made = (self.weights * errors).sum(dim=1)
        largest: Tensor = torch.where(made == 0, 0.0, made / self.sizes).amax()
        return largest


@dataclass
class _Paths:
    """Σ_n |y_n| / (|y_n| + ε) over a segment, ε the default tolerance, (layers, batch, hidden).

    Roughly, how many steps each was not at rest. Forwards it is a sum over true states, backwards over rebuilt ones. It
    is there because errors may be gone when a known state is met: what leaves a saddle along the one separatrix comes
    back to it along the other. An excursion that is short beside the segment is not noticed.
    """

    sums: Tensor

    def add(self, index: int, rows: Tensor, chunk: Chunk) -> None:
        """Rows y of the layer."""
        size = rows.abs()
        found = size.div_(size + TOLERANCE[rows.dtype]).sum(dim=0)
        if chunk.samples is None:
            self.sums[index] += found
        else:
            self.sums[index].index_add_(0, chunk.samples, found)

    def apart(self, true: Tensor, steps: int) -> float:
        """The largest difference a step; NaN if there is one."""
        return float((self.sums - true).abs().amax()) / max(steps, 1) if true.numel() else 0.0


@dataclass
class _Sums:
    """Gradients as far as they have been added up, and the costates where the walk is: p, q (batch, hidden) a layer."""

    p: list[Tensor]
    q: list[Tensor]
    layers: list[Layer]
    readout: list[Tensor]
    u: Tensor | None
    shares: list[Share]
    paths: _Paths | None = None
    previous: Tensor | None = None

    def copied(self) -> _Sums:
        """What is added to in place, copied. ``u`` is shared: every row of it is written, not added to."""
        layers = [Layer(*(None if each is None else each.clone() for each in layer)) for layer in self.layers]  # type: ignore[arg-type]
        shares = [share.at_known_state() for share in self.shares]
        readout = [each.clone() for each in self.readout]
        return _Sums(list(self.p), list(self.q), layers, readout, self.u, shares, None, self.previous)


@dataclass
class _Walk:
    """The tensors of one call; the methods go through time with them."""

    plan: Plan
    u: Tensor
    previous: Tensor | None
    y0: Tensor
    z0: Tensor
    masks: Tensor | None
    layers: list[Layer] = field(default_factory=list)

    @classmethod
    def of(cls, plan: Plan, given: Sequence[Tensor | None]) -> _Walk:
        """From the arguments in the order of ``run``."""
        u, previous, y0, z0, masks, *rest = given
        assert u is not None and y0 is not None and z0 is not None
        size = len(Layer._fields)
        layers = [Layer(*rest[k * size : (k + 1) * size]) for k in range(len(plan.sources))]  # type: ignore[arg-type]
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

    def _advance(self, chunk: Chunk, y: list[Tensor], z: list[Tensor], paths: _Paths | None = None) -> Tensor:
        """The states of all layers taken through the chunk, in place of those given; the rows of y^L."""
        seen = [self._signal(chunk)]
        for index, layer in enumerate(self.layers):
            before = chunk.part(y[index])
            found = self.plan.runner.outputs(
                self._drive(index, seen), **layer.coefficients, y0=before, z0=chunk.part(z[index])
            )
            y[index], z[index] = chunk.whole(y[index], found.y_last), chunk.whole(z[index], found.z_last)
            if paths is not None:
                paths.add(index, found.y, chunk)
            if index + 1 < len(self.layers):
                seen.append(self._seen(index + 1, found.y, before, chunk))
        return found.y

    def _climb(self, chunk: Chunk, states: Callable[[int, Tensor], RecurrenceResult]) -> _Pass:
        """All rows of the chunk, by ``states`` of each layer's number and drive, layer after layer."""
        made = _Pass([self._signal(chunk)], [], [])
        for index in range(len(self.layers)):
            x = self._drive(index, made.seen)
            found = states(index, x)
            made.drives.append(x)
            made.results.append(found)
            if index + 1 < len(self.layers):
                made.seen.append(self._seen(index + 1, found.y, found.y0, chunk))
        return made

    def _computed(self, chunk: Chunk, y: Sequence[Tensor], z: Sequence[Tensor]) -> _Pass:
        """All rows of the chunk, from the states at its start."""

        def states(index: int, x: Tensor) -> RecurrenceResult:
            before = {"y0": chunk.part(y[index]), "z0": chunk.part(z[index])}
            return self.plan.runner.forward(x, **self.layers[index].coefficients, **before)

        return self._climb(chunk, states)

    def _rebuilt(self, chunk: Chunk, y: list[Tensor], z: list[Tensor]) -> _Pass:
        """All rows of the chunk, from the states at its end, in whose place those at its start are put."""

        def states(index: int, x: Tensor) -> RecurrenceResult:
            last = {"y_last": chunk.part(y[index]), "z_last": chunk.part(z[index])}
            found = self.plan.runner.inverse(x, **self.layers[index].coefficients, **last)
            y[index], z[index] = chunk.whole(y[index], found.y0), chunk.whole(z[index], found.z0)
            return found

        return self._climb(chunk, states)

    def _descend(self, chunk: Chunk, made: _Pass | None, sums: _Sums, grads: _Cotangents) -> None:
        """The costates taken back through the chunk; gradients are added to ``sums``.

        ``made`` is used up on the way; it is None if no sample is there, when only a readout has a say.
        """
        if made is None:
            if grads.total is not None:
                self._read_back(chunk, self._padded(chunk, None), sums, grads.total)
            return
        upstream: list[Tensor | None] = [None] * len(self.layers)  # by what is seen of the levels 0..L−1
        grad_y = self._grad_rows(chunk, made.results[-1].y, sums, grads)
        grad_before: Tensor | None = None
        watchers: list[Tensor | None] = [None] * len(self.layers)  # of levels 1..L, (time, samples, 1): Σ|g'| above
        if grads.total is not None:
            watchers[-1] = _over_neurons(grad_y)
        for index in range(len(self.layers) - 1, -1, -1):
            states = made.results.pop()
            if index + 1 < len(self.layers):
                above = upstream.pop()
                assert above is not None  # the next layer sees this one
                grad_y, grad_before = self._seen_back(index + 1, above, chunk)
            back = self.plan.runner.backward(
                made.drives.pop(),
                **self.layers[index].coefficients,
                states=states,
                grad_y=grad_y,
                grad_y_last=chunk.part(sums.p[index]),
                grad_z_last=chunk.part(sums.q[index]),
            )
            p = back.y0 if grad_before is None else back.y0 + grad_before
            sums.p[index], sums.q[index] = chunk.whole(sums.p[index], p), chunk.whole(sums.q[index], back.z0)
            self._add_weights(index, back.x, made.seen, sums.layers[index])
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

    def _add_weights(self, index: int, grad_x: Tensor, seen: Sequence[Tensor], into: Layer) -> None:
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
        into: Share,
    ) -> None:
        """What the chunk says of how much the gradients see of the layer's states, and of those of layers below."""
        before = torch.cat([states.y0.unsqueeze(0), states.y[:-1]])
        into.add(0, grad_x, before, chunk)
        into.add(1, grad_x, states.z, chunk)
        watcher, is_below = watchers[index], index + 1 < len(self.layers)
        if watcher is not None:
            into.add(2, watcher, before if self.plan.is_shifted and is_below else states.y, chunk)
        mine = _over_neurons(grad_x)
        for level, _ in self._edges(index):
            if level > 0:
                so_far = watchers[level - 1]
                watchers[level - 1] = mine if so_far is None else so_far + mine

    def _add_signal(self, chunk: Chunk, grad: Tensor, sums: _Sums) -> None:
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

    def _grad_rows(self, chunk: Chunk, rows: Tensor, sums: _Sums, grads: _Cotangents) -> Tensor:
        """The derivative by the chunk's rows of y^L; a readout's own gradients are added to ``sums``."""
        found = torch.zeros_like(rows)
        if grads.rows is not None:
            found += chunk.part(grads.rows[chunk.start : chunk.stop], 1)
        if grads.total is not None:
            by_rows = self._read_back(chunk, self._padded(chunk, rows), sums, grads.total)
            if by_rows is not None:
                found += chunk.part(by_rows, 1)
        return found

    def _read_back(self, chunk: Chunk, rows: Tensor, sums: _Sums, cotangent: Tensor) -> Tensor | None:
        """The derivative of the readout by ``rows``, those of all samples; that by its parameters goes to ``sums``."""
        readout = self.plan.readout
        assert readout is not None
        with torch.enable_grad():
            leaf = rows.detach().requires_grad_()
            value = readout(leaf, chunk.start)
        if not value.requires_grad:
            return None
        trained = [number for number, each in enumerate(readout.parameters) if each.requires_grad]
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

    def forwards(self) -> tuple[Ran, tuple[Tensor, Tensor], Tensor]:
        """The results, the states that the plan keeps, and the sums of ``_Paths`` of every segment."""
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
            path = _Paths(paths[count]) if is_compared else None
            top = None if chunk.is_empty else self._advance(chunk, y, z, path)
            if rows is not None and top is not None:
                rows[chunk.start : chunk.stop] = self._padded(chunk, top)
            if plan.readout is not None and total is not None:
                leaf = self._padded(chunk, top).detach().requires_grad_(plan.is_recorded)
                with torch.set_grad_enabled(plan.is_recorded):  # so that what it depends on is checked now, not later
                    total = total + plan.readout(leaf, chunk.start).detach()
        return Ran(rows, total, torch.stack(y), torch.stack(z)), kept, paths

    def backwards(
        self,
        y_last: Tensor,
        z_last: Tensor,
        kept: Sequence[tuple[Tensor, Tensor]],
        paths: Tensor,
        grads: _Cotangents,
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
        found = [sums.u, sums.previous, torch.stack(sums.p), torch.stack(sums.q), None]
        return [*found, *(each for layer in sums.layers for each in layer), *sums.readout]

    def _nothing_yet(self, grads: _Cotangents, *, wants_u: bool) -> _Sums:
        zero = torch.zeros_like(self.y0[0])
        none = [zero] * len(self.layers)
        p, q = (none if each is None else list(each.unbind()) for each in (grads.y_last, grads.z_last))
        layers = [Layer(*(None if each is None else torch.zeros_like(each) for each in layer)) for layer in self.layers]  # type: ignore[arg-type]
        extra = () if self.plan.readout is None else self.plan.readout.parameters
        u = torch.zeros(self.u.shape, dtype=self.u.dtype, device=self.u.device) if wants_u else None
        previous = None if self.previous is None else torch.zeros_like(self.previous)
        shares = [Share.none_yet(zero) for _ in layers] if self.plan.mode == "reversible" else []
        return _Sums(list(p), list(q), layers, [torch.zeros_like(each) for each in extra], u, shares, None, previous)

    def _reversible(
        self,
        segment: Sequence[Chunk],
        last: tuple[list[Tensor], list[Tensor]],
        start: tuple[list[Tensor], list[Tensor]],
        path: Tensor,
        sums: _Sums,
        grads: _Cotangents,
    ) -> _Sums:
        """Back through a segment from its last states; again by ``_checkpointed`` if its first are not met."""
        untouched = sums.copied()
        sums.shares = [share.at_known_state() for share in sums.shares]
        sums.paths = paths = _Paths(torch.zeros_like(path))
        y, z = list(last[0]), list(last[1])
        for chunk in reversed(segment):
            self._descend(chunk, None if chunk.is_empty else self._rebuilt(chunk, y, z), sums, grads)
        errors = (_distance(y, start[0]), _distance(z, start[1]))
        share = _share(sums.shares, (y, z), start)
        between = paths.apart(path, segment[-1].stop - segment[0].start)
        found = Rebuilt(segment[0].start, *errors, share, between, tolerance=self.plan.tolerance)
        if self.plan.watch is not None:
            self.plan.watch(found)
        if found.is_accepted:
            return sums
        warnings.warn(_complaint(found, segment[-1].stop), ReconstructionWarning, stacklevel=2)
        self._checkpointed(segment, start, untouched, grads)
        return untouched

    def _checkpointed(
        self, segment: Sequence[Chunk], start: tuple[list[Tensor], list[Tensor]], sums: _Sums, grads: _Cotangents
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


def _distance(found: Sequence[Tensor], known: Sequence[Tensor]) -> float:
    """The largest |found − known| of all layers; NaN if one is."""
    if not found or found[0].numel() == 0:
        return 0.0
    return float(torch.stack([(a - b).abs().amax() for a, b in zip(found, known, strict=True)]).amax())


def _share(
    shares: Sequence[Share], found: tuple[Sequence[Tensor], Sequence[Tensor]], known: tuple[Sequence[Tensor], ...]
) -> float:
    """The largest of all layers, from the states that were rebuilt and those that are known; NaN if one is."""
    if not shares or shares[0].weights.numel() == 0:
        return 0.0
    errors = [[(a - b).abs() for a, b in zip(*pair, strict=True)] for pair in zip(found, known, strict=True)]
    larger = [torch.maximum(*pair) for pair in zip(*errors, strict=True)]
    return float(torch.stack([share.of(error) for share, error in zip(shares, larger, strict=True)]).amax())


def _over_neurons(g: Tensor) -> Tensor:
    """Σ_i |g_i|, (time, samples, 1)."""
    summed: Tensor = torch.linalg.vector_norm(g, ord=1, dim=-1, keepdim=True)
    return summed


def _complaint(found: Rebuilt, stop: int) -> str:
    return (
        f"The states at step {found.step}, rebuilt backwards from step {stop}, are off by {found.y:.1e} (y) and "
        f"{found.z:.1e} (z), and gradients of products with them by up to {found.share:.1e} of their size; in between "
        f"they went apart by {found.between:.1e} a step. Admitted is {found.tolerance:.1e}. The "
        "gradient of these steps was computed again from "
        f"step {found.step} and is right. To save that time choose "
        'backward="checkpointed", or keep more states: checkpoints=.'
    )
