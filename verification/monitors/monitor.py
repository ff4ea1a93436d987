"""``BoundMonitor``: hooks on the recurrent modules of any model, and what they wrote down every so many steps."""

from __future__ import annotations

import math
import sys
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch
import torch.distributed as dist
from torch import nn

from verification.monitors import measuring
from verification.monitors.calls import Call
from verification.monitors.measurement import Measurement, write_csv
from verification.monitors.warned import BoundViolation, MonitorWarning, NonFiniteState
from verification.run.store import Store, StoreError

_PARALLEL = (nn.DataParallel, nn.parallel.DistributedDataParallel)


class BoundMonitor:
    """Follow a model through anybody's training loop: ``monitor.step()`` after each ``optimizer.step()``.

        monitor = BoundMonitor(model, every=100, store="monitor.sqlite")
        for u, target in batches:
            optimizer.zero_grad()
            loss(model(u), target).backward()
            optimizer.step()
            monitor.step()

    model   any module that contains cells of ``odernn`` or torch.nn.LSTM, GRU, RNN; or None: the model that the first
            call brings, where the monitor is a ``Watcher`` of ``verification.training.loop``
    every   the first step that is seen and then each multiple of it is recorded
    store   where to write: a ``Store``, or the path of one, which is opened at the first record; None: nowhere
    run     the name of this training in the store
    keep    how many recorded steps stay in ``records``; None: all

    ``steps`` counts the steps so far; set it where a loop goes on at a later one.

    At a recorded step the hooks keep the arguments of the first call with a graph, copies of the weights that it used
    and the derivatives that came back to what it returned. ``step`` makes that call once more, without autograd, and
    measures; see docs/monitors.md. The model's weights, gradients, generators and graph are not touched. With
    ``torch.distributed`` process 0 alone records, what it saw itself. As a context manager, or by ``remove``, the hooks
    go and the store is closed.
    """

    def __init__(
        self,
        model: nn.Module | None,
        every: int = 100,
        store: Store | Path | str | None = None,
        *,
        run: str = "training",
        keep: int | None = None,
    ) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ValueError(f"every is {every!r}, but it counts steps between records: give an integer of 1 or more.")
        if keep is not None and (isinstance(keep, bool) or not isinstance(keep, int) or keep < 1):
            raise ValueError(
                f"keep is {keep!r}, but it counts recorded steps, the last one at least: give an integer of 1 or more, "
                "or None for all."
            )
        if model is not None and not isinstance(model, nn.Module):
            raise TypeError(f"model is a {type(model).__name__}, but hooks need a torch.nn.Module, or None for later.")
        self.every, self.run, self.keep = every, run, keep
        self.steps = 0
        self._records: dict[int, list[Measurement]] = {}
        self._store = store
        self._opened: Store | None = None
        self._modules: dict[str, nn.Module] = {}
        self._calls: dict[str, Call] = {}
        self._handles: list[Any] = []
        self._warned: set[tuple[str, ...]] = set()
        self._begun = False
        self._removed = False
        if model is not None:
            self._attach(model)

    # --- hooks --------------------------------------------------------------------------------------------------------

    def _attach(self, model: nn.Module) -> None:
        named = _without_wrappers(model).named_modules()
        followed = {name: module for name, module in named if measuring.is_recurrent(module)}
        if not followed:
            raise ValueError(
                f"{type(model).__name__} contains no cell of odernn and no torch.nn.LSTM, GRU or RNN: there is nothing "
                "to follow. Give the module that holds the recurrent layers."
            )
        self._modules = followed
        for name, module in self._modules.items():
            before, after = _Hook(self, name, "_before"), _Hook(self, name, "_after")
            self._handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
            self._handles.append(module.register_forward_hook(after, with_kwargs=True))

    @property
    def is_due(self) -> bool:
        """Whether the step that is under way will be recorded."""
        return not self._removed and (not self._begun or (self.steps + 1) % self.every == 0) and _is_first_process()

    def _before(self, name: str, module: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if not self.is_due:
            return
        kept = self._calls.get(name)
        if kept is None or kept.gives_way(module):
            self._calls.pop(name, None)
            self._calls[name] = Call.begin(module, arguments, keywords)

    def _after(self, name: str, output: Any) -> None:
        call = self._calls.get(name)
        if call is not None and not call.has_ended:
            call.end(output)

    def _fails(self, name: str, error: Exception) -> None:
        """A hook cannot do its work: the module's own goes on."""
        self._calls.pop(name, None)
        self._say(
            (name, "hook"),
            MonitorWarning(
                f"Module {name!r}: its call cannot be kept, {_described(error)}. Only its weights are measured."
            ),
            cause=error,
        )

    # --- steps --------------------------------------------------------------------------------------------------------

    def step(self, *, scale: float = 1.0) -> list[Measurement]:
        """After a step of training: what was measured of it, nothing at most steps.

        scale  what the loss was multiplied by before its derivative was taken: ``GradScaler.get_scale()`` before
               ``GradScaler.update()``, which changes it. ValueError for 0, an infinity or NaN.
        """
        if not (math.isfinite(scale) and scale != 0):
            raise ValueError(
                f"scale is {scale!r}, but the loss was multiplied by it: give a finite number other than 0, as "
                "GradScaler.get_scale() says before GradScaler.update()."
            )
        return self._ended(self.steps + 1, scale)

    def __call__(self, model: nn.Module, step: int) -> None:
        """The same for a ``Watcher``: ``step`` counts from 1, and goes on where a run that was killed goes on."""
        if not self._modules and not self._removed:
            self.steps = step
            self._attach(model)
            return
        self._ended(step, 1.0)

    def _ended(self, step: int, scale: float) -> list[Measurement]:
        is_due = self.is_due
        self.steps = step
        if not is_due:
            return []
        calls, self._calls, self._begun = self._calls, {}, True
        measurements: list[Measurement] = []
        for name, module in self._modules.items():
            measurements += self._measure(step, name, module, calls.get(name), scale)
        self._records[step] = measurements
        while self.keep is not None and len(self._records) > self.keep:
            del self._records[min(self._records)]
        self._write(step, measurements)
        self._warn(measurements)
        return measurements

    def _write(self, step: int, measurements: list[Measurement]) -> None:
        """To the store. One that cannot be opened is an error; one that fails later is said, and training goes on."""
        store = self._open()
        if store is None:
            return
        try:
            store.put_measurements(self.run, step, [measured.row() for measured in measurements])
        except StoreError as error:
            self._say(("store",), MonitorWarning(f"Step {step} is not recorded. {error}"))

    def _measure(self, step: int, name: str, module: nn.Module, call: Call | None, scale: float) -> list[Measurement]:
        """What can be measured. A reason against it is said, whatever it is: training goes on."""
        if call is not None and not call.has_ended:  # its forward pass raised
            call = None
        try:
            return list(measuring.measure(step, name, module, call, scale=scale))
        except Exception as error:  # such as a device without room for the states of one more call
            text = f"Module {name!r}: {_described(error)}. Only its weights are measured."
            self._say((name, "repeat"), MonitorWarning(text), cause=error)
        if call is None:
            return []
        return self._measure(step, name, module, None, scale)

    def _warn(self, measurements: list[Measurement]) -> None:
        for measured in measurements:
            if measured.quantity.startswith("non_finite"):
                where = f"n = {measured.n}, sample {measured.sample}, neuron {measured.neuron}"
                block = measured.quantity.removeprefix("non_finite_")
                text = f"Step {measured.step}, layer {measured.layer}: {block} is {measured.value} first at {where}."
                self._say((measured.layer, "finite"), NonFiniteState(text, measured))
            elif measured.holds is False:
                self._say(
                    (measured.layer, measured.quantity, measured.bound), BoundViolation(_violated(measured), measured)
                )

    def _say(self, key: tuple[str, ...], warning: Warning, *, cause: Exception | None = None) -> None:
        """Once for each key; ``cause`` is seen where warnings are errors."""
        if key not in self._warned:
            self._warned.add(key)
            warning.__cause__ = cause
            warnings.warn(warning, stacklevel=_levels_to_the_caller())

    # --- what was found -----------------------------------------------------------------------------------------------

    @property
    def records(self) -> list[Measurement]:
        """All that is kept, in order of steps."""
        return [measured for step in sorted(self._records) for measured in self._records[step]]

    def to_csv(self, path: Path | str, *, series: bool = False) -> None:
        """``records`` as a table; with ``series`` a row for each entry of what is followed over time or neurons."""
        write_csv(Path(path), self.records, series=series)

    def _open(self) -> Store | None:
        if self._store is None or isinstance(self._store, Store):
            return self._store
        if self._opened is None:
            try:
                self._opened = Store(Path(self._store), writable=True)
            except StoreError as error:
                raise StoreError(
                    f"{error} The file of a monitor is its argument store; that of `odernn train --monitor` is in the "
                    "folder of --into."
                ) from None
        return self._opened

    def remove(self) -> None:
        """Take the hooks off and close the store, if the monitor opened it. What was recorded stays."""
        self._removed = True
        for handle in self._handles:
            handle.remove()
        self._handles, self._calls = [], {}
        if self._opened is not None:
            self._opened.close()
            self._opened = None
            self._store = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def _without_wrappers(model: nn.Module) -> nn.Module:
    """The user's own module inside those of torch.compile, DataParallel and DistributedDataParallel."""
    while True:
        inner = model.module if isinstance(model, _PARALLEL) else getattr(model, "_orig_mod", None)
        if not isinstance(inner, nn.Module):
            return model
        model = inner


def _described(error: Exception) -> str:
    text = str(error) if isinstance(error, measuring.NotRepeatable) else f"{type(error).__name__}: {error}"
    return text.rstrip(".")


def _levels_to_the_caller() -> int:
    """Of the first frame outside of this file, as ``warnings.warn`` counts in the caller of this function."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        level, frame = level + 1, frame.f_back
    return level


def _is_first_process() -> bool:
    return not (dist.is_available() and dist.is_initialized()) or dist.get_rank() == 0


def _violated(each: Measurement) -> str:
    where = "".join(
        f", {name} {value}" for name, value in (("n =", each.n), ("neuron", each.neuron)) if value is not None
    )
    head = f"Step {each.step}, layer {each.layer}{where}: {each.quantity} is {each.value:.6g}"
    if not each.bound:
        return f"{head}: the weights are not finite."
    return (
        f"{head}, {each.bound} does not hold."
        if each.log_bound is None
        else (f"{head}, above e^{each.log_bound:.6g}, the bound of {each.bound}.")
    )


class _Hook:
    """One of the monitor's two hooks on a module. A copy or a pickle of the module has one that does nothing.

    Compiled graphs stop before it and go on after it: what it looks at changes from step to step.
    """

    def __init__(self, monitor: BoundMonitor, name: str, what: str) -> None:
        self.monitor, self.name, self.what = weakref.ref(monitor), name, what

    @torch.compiler.disable(  # type: ignore[untyped-decorator]
        reason="a BoundMonitor looks at calls from outside of graphs: compile without fullgraph=True, or remove it"
    )
    def __call__(self, module: nn.Module, arguments: Any, keywords: Any, output: Any = None) -> None:
        monitor = self.monitor()
        if monitor is None or module is not monitor._modules.get(self.name):  # a replica of it, a shallow copy
            return
        try:
            if self.what == "_before":
                monitor._before(self.name, module, arguments, keywords)
            else:
                monitor._after(self.name, output)
        except Exception as error:
            monitor._fails(self.name, error)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Nothing, ()


class _Nothing:
    def __call__(self, *_: Any) -> None: ...


@contextmanager
def watching(path: Path, every: int | None) -> Iterator[list[BoundMonitor]]:
    """The monitors of ``odernn train --monitor EVERY``, for its ``watchers``; none without a number."""
    if every is None:
        yield []
        return
    with BoundMonitor(None, every=every, store=path, keep=1) as monitor:
        yield [monitor]
