"""A step of training as one graph of the device: the host says which sequences, and replays.

    step n:   generator ← seed(n),   index ← order[n b : (n + 1) b],   replay
    graph:    gather(index) → forward → backward → total ← total + loss → clip → update

``n`` counts the steps of an epoch, ``b`` is the size of a batch. A replay has the bits of the step without a graph, so
that the steps that no graph has room for, the first one of a call and a smaller last batch, may be made without.

in the graph    addresses: weights, gradients, the optimizer's memory and the batch stay where they are, and checkpoints
                are copied into them; shapes; and the rates, so that another rate is another graph
on the device   ``total``, the loss of this epoch, which the host looks at every ``LOOK_EVERY`` steps
tried           the first step of full size after an ordinary one is made twice on a side stream, the second time with
                every wait of the host for the device an error; both are undone. Then it is captured and replayed, and
                the weights and memories must have the bits of the rehearsal, where only deterministic algorithms are
                allowed. Whatever goes wrong: all is as before, and steps are made without a graph, with the reason
hooks           on modules see no replay: while there are any, steps are made without
"""

from __future__ import annotations

import contextlib
import gc
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from odernn.cells.unicornn.oscillators import OscillatorStack
from verification.tasks.task import Batched
from verification.training.optimizer_classes import UNITARY, class_of

if TYPE_CHECKING:
    from verification.training.configuration import Training
    from verification.training.optimizers import Parts
    from verification.training.processes import Processes
    from verification.training.splits import SplitData

LOOK_EVERY = 50
"""Steps between looks at the loss."""

CAPTURED = "captured"
HOOKED = "a hook looks at the steps"
PORTION = 1000
"""Sequences that are copied to the device at a time."""

HOST_ROOM = 2**30
"""Bytes of sequences that are held as a whole where the device is the host itself."""

Batch = tuple[Tensor, Tensor, Tensor | None]
Body = Callable[[], None]


class StepGraph(Protocol):
    """What runs, records and replays a step. ``body`` reads and writes tensors that stay where they are."""

    def rehearse(self, body: Body, *, strict: bool) -> None:
        """Run it as it will be recorded; ``strict``: an error where the host would wait for the device."""

    def record(self, body: Body) -> None:
        """Keep what it launches, and launch nothing."""

    def replay(self) -> None: ...


class DeviceGraph:
    """``torch.cuda.CUDAGraph``, recorded on the side stream of the rehearsals."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._graph: torch.cuda.CUDAGraph | None = None

    def rehearse(self, body: Body, *, strict: bool) -> None:
        host = torch.get_rng_state()
        outside = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(outside)
        try:
            with torch.cuda.stream(self._stream), _no_waiting() if strict else contextlib.nullcontext():
                body()
        finally:
            outside.wait_stream(self._stream)
            torch.cuda.synchronize(self._device)
        if not torch.equal(host, torch.get_rng_state()):
            raise RuntimeError("a step draws random numbers on the host")

    def record(self, body: Body) -> None:
        self._graph = None  # its memory goes first
        graph = torch.cuda.CUDAGraph()
        outside = torch.cuda.current_stream(self._device)
        try:  # other threads, such as one that shows progress, may use the device meanwhile
            with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
                body()
        except BaseException:
            torch.cuda.set_stream(outside)  # torch leaves its own where the end of a capture fails
            with contextlib.suppress(Exception):  # and the generator in the state of the capture
                generator = _generator(self._device)
                generator.graphsafe_set_state(generator.clone_state())
            raise
        self._graph = graph

    def replay(self) -> None:
        assert self._graph is not None
        self._graph.replay()


@contextlib.contextmanager
def _no_waiting() -> Iterator[None]:
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():  # that torch does not notice every wait: the capture does
        warnings.simplefilter("ignore")
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


def _generator(device: torch.device) -> torch.Generator:
    """That of the dropout there."""
    if device.type != "cuda":
        return torch.default_generator
    return torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]


def graph_on(device: torch.device) -> StepGraph | None:
    """None where there are no graphs."""
    return DeviceGraph(device) if device.type == "cuda" else None


# --- where a batch comes from ----------------------------------------------------------------------------------------


class Batches(Protocol):
    """Batches at addresses that stay."""

    def begin(self, order: NDArray[np.int64], epoch: int) -> None:
        """The order of the sequences from now on."""

    def put(self, start: int) -> None:
        """The next batch has the sequences order[start : start + size]."""

    def batch(self) -> Batch:
        """It, as ``SplitData.batch`` has it: made of what stays, for the graph."""


class ResidentBatches:
    """The whole split lies on the device, as ``SplitData.batch`` shows it; the graph picks columns by their index."""

    def __init__(self, data: SplitData, size: int) -> None:
        self._size, self._is_last = size, data.spec.reads == "last"
        pieces = [data.batch(part) for part in np.split(np.arange(data.count), range(PORTION, data.count, PORTION))]
        self._sequences = torch.cat([sequences for sequences, _, _ in pieces], dim=1)
        self._targets = torch.cat([targets for _, targets, _ in pieces], dim=0 if self._is_last else 1)
        masks = [real for _, _, real in pieces if real is not None]
        self._real = torch.cat(masks, dim=1) if masks else None
        self._order = torch.zeros(data.count, dtype=torch.int64, device=data.device)
        self._index = torch.zeros(size, dtype=torch.int64, device=data.device)

    def begin(self, order: NDArray[np.int64], epoch: int) -> None:
        self._order.copy_(torch.from_numpy(order))

    def put(self, start: int) -> None:
        self._index.copy_(self._order[start : start + self._size])

    def batch(self) -> Batch:
        targets = self._targets.index_select(0 if self._is_last else 1, self._index)
        real = None if self._real is None else self._real.index_select(1, self._index)
        return self._sequences.index_select(1, self._index), targets, real


class FedBatches:
    """Each batch is made on the host and copied: for noise that is new in every epoch, and for what has no room."""

    def __init__(self, data: SplitData, size: int) -> None:
        self._data, self._size = data, size
        self._order, self._epoch = np.arange(data.count), 0
        self._kept: Batch | None = None

    def begin(self, order: NDArray[np.int64], epoch: int) -> None:
        self._order, self._epoch = order, epoch

    def put(self, start: int) -> None:
        made = self._data.batch(self._order[start : start + self._size], self._epoch)
        if self._kept is None:
            self._kept = (made[0].clone(), made[1].clone(), None if made[2] is None else made[2].clone())
            return
        for kept, new in zip(self._kept, made, strict=True):
            if kept is not None and new is not None:
                kept.copy_(new)

    def batch(self) -> Batch:
        assert self._kept is not None
        return self._kept


def batches(data: SplitData, size: int) -> Batches:
    """Resident if no epoch changes the sequences and half of the free memory holds them, else fed."""
    sequences = data.sequences
    is_fixed = sequences.is_fixed if isinstance(sequences, Batched) else isinstance(sequences, np.ndarray)
    steps, count, inputs = sequences.shape
    device = torch.device(data.device)
    room = torch.cuda.mem_get_info(device)[0] // 4 if device.type == "cuda" else HOST_ROOM // 2
    fits = steps * count * inputs * data.dtype.itemsize <= room  # while it is put together there are two
    return ResidentBatches(data, size) if is_fixed and fits else FedBatches(data, size)


# --- the step --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StepParts:
    """What a step is made of.

    descend  the loss of a batch, summed, and its gradients, divided by the number that is given, in the weights
    update   clip and step
    """

    model: nn.Module
    optimizer: Parts
    data: SplitData
    plan: Training
    descend: Callable[[Batch, int], Tensor]
    update: Callable[[], None]


def refused(steps: StepParts, own: Processes, *, asked: bool) -> str | None:
    """Why no graph is tried; None where one is."""
    if not asked:
        return "--no-capture"
    if own.count > 1:
        return f"{own.count} processes add their gradients on the host"
    if any(isinstance(part, class_of(UNITARY)) for part in steps.optimizer.parts):  # type: ignore[arg-type]
        return f"{UNITARY} decides on the host"
    for module in steps.model.modules():
        if isinstance(module, OscillatorStack) and module.execution == "cuda" and module.backward != "stored":
            return f'backward="{module.backward}" looks at its rebuilt states on the host'
    return None


class CapturedSteps:
    """The graph of a run, if it can have one; ``reason`` says why it has none."""

    def __init__(self, steps: StepParts, own: Processes, *, asked: bool = True) -> None:
        self._steps, self._size = steps, steps.plan.batch_size
        self._device = torch.device(steps.data.device)
        graph = graph_on(self._device)
        self.reason = f"{self._device.type} has no graphs" if graph is None else refused(steps, own, asked=asked)
        self._total = torch.zeros((), dtype=torch.float64, device=self._device)
        self._graph = graph
        self._batches: Batches | None = None
        self._order: NDArray[np.int64] | None = None
        self._rates: tuple[float, ...] | None = None
        self._gradients: list[Tensor | None] = []
        self._is_warm, self._has_left, self._made, self.pending = False, False, 0, 0
        modules = list(steps.model.modules())
        self._hooks: list[Mapping[int, Any]] = [module._forward_hooks for module in modules]
        self._hooks += [module._forward_pre_hooks for module in modules]
        self._hooks += [module._backward_hooks for module in modules]

    @property
    def words(self) -> str:
        """Which step ran, for the result."""
        if self.reason is None and self._made:
            return CAPTURED
        reason = self.reason or (HOOKED if any(self._hooks) else "too few steps")
        return f"{CAPTURED} {self._made} times, then uncaptured: {reason}" if self._made else f"uncaptured: {reason}"

    def step(self, order: NDArray[np.int64], start: int, epoch: int, seed: int, loss: float) -> bool:
        """Make the step on order[start : start + size] by the graph; False if it was not made.

        loss  of this epoch so far: where no step is pending, ``total`` goes on from there
        """
        is_made = self.reason is None and self._is_warm and len(order) - start >= self._size and not any(self._hooks)
        if is_made:
            is_made = self._made_by_graph(order, start, epoch, seed, loss)
        self._is_warm, self._has_left = True, not is_made
        if is_made:
            self._made, self.pending = self._made + 1, self.pending + 1
        return is_made

    def _made_by_graph(self, order: NDArray[np.int64], start: int, epoch: int, seed: int, loss: float) -> bool:
        if self._batches is None:
            try:
                self._batches = batches(self._steps.data, self._size)
            except Exception as error:  # the memory of the device, or of the host
                self._refuse(error)
                return False
        if order is not self._order:
            self._batches.begin(order, epoch)
            self._order = order
        if not self.pending:
            self._total.fill_(loss)
        rates = tuple(group["lr"] for group in self._steps.optimizer.param_groups)
        if rates != self._rates:
            self._rates = rates
            return self._capture(start, seed)
        if self._has_left:  # a step without the graph has given the weights other gradients
            for parameter, gradient in zip(self._steps.model.parameters(), self._gradients, strict=True):
                parameter.grad = gradient
        self._replay(start, seed)
        return True

    def look(self) -> float | None:
        """The loss of this epoch; None where no step is pending. The host waits for the device."""
        if not self.pending:
            return None
        self.pending = 0
        return float(self._total)

    def forget(self) -> None:
        """Capture anew before the next step: a tensor may have moved."""
        self._rates = None

    def _body(self) -> None:
        assert self._batches is not None
        loss = self._steps.descend(self._batches.batch(), self._size)
        self._total.add_(loss)
        self._steps.update()

    def _replay(self, start: int, seed: int) -> None:
        assert self._batches is not None and self._graph is not None
        self._batches.put(start)
        _generator(self._device).manual_seed(seed)
        self._graph.replay()

    def _tensors(self) -> list[Tensor]:
        """All that a step changes."""
        model = self._steps.model
        return [*model.parameters(), *model.buffers(), *self._steps.optimizer.tensors(), self._total]

    def _capture(self, start: int, seed: int) -> bool:
        """Rehearse the step, undo it, record it, and make it by the graph. False, and nothing done, where it fails."""
        assert self._batches is not None and self._graph is not None
        tensors = self._tensors()
        before = [value.detach().clone() for value in tensors]
        try:
            for strict in (False, True):
                _restore(tensors, before)
                gc.collect()  # a graph of autograd that still lives would bring its own stream along
                self._batches.put(start)
                _generator(self._device).manual_seed(seed)
                self._graph.rehearse(self._body, strict=strict)
            rehearsed = [value.detach().clone() for value in tensors]
            _restore(tensors, before)
            self._check_places(tensors)
            self._steps.optimizer.zero_grad()  # so that the gradients are the graph's own
            gc.collect()
            self._graph.record(self._body)
            self._replay(start, seed)
            if torch.are_deterministic_algorithms_enabled() and not _equal(tensors, rehearsed):
                raise RuntimeError("a replay has other bits than the step")
        except Exception as error:  # whatever the driver, torch or a cell says: the step is made without a graph
            _restore(tensors, before)
            self._refuse(error)
            return False
        self._gradients = [parameter.grad for parameter in self._steps.model.parameters()]
        return True

    def _check_places(self, tensors: Sequence[Tensor]) -> None:
        """RuntimeError if a step puts a new tensor in the place of another: a graph would write into the old one."""
        now = self._tensors()
        if [value.data_ptr() for value in now] != [value.data_ptr() for value in tensors]:
            raise RuntimeError("a step does not leave weights and memories in their places")

    def _refuse(self, error: Exception) -> None:
        root: BaseException = error
        while root.__context__ is not None:
            root = root.__context__
        self.reason = (str(root).strip().splitlines() or [type(root).__name__])[0].rstrip(".")
        self._rates, self._graph, self._batches = None, None, None
        for parameter in self._steps.model.parameters():
            parameter.grad = None


@torch.no_grad()
def _restore(tensors: Sequence[Tensor], before: Sequence[Tensor]) -> None:
    for value, old in zip(tensors, before, strict=True):
        value.copy_(old)


def _equal(some: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    """Bit by bit: NaN is itself, and 0 is not −0."""
    return all(torch.equal(_bytes(one), _bytes(other)) for one, other in zip(some, others, strict=True))


def _bytes(value: Tensor) -> Tensor:
    return value.detach().contiguous().reshape(-1).view(torch.uint8)
