"""``BoundMonitor``: hooks on the recurrent modules of any model, and what they wrote down every so many steps."""

from __future__ import annotations

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
from verification.store import Store, StoreError


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
        if keep is not None and keep < 1:
            raise ValueError(f"keep is {keep}, but at least the last record is kept. Give 1 or more, or None for all.")
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
        found = {name: module for name, module in model.named_modules() if measuring.is_recurrent(module)}
        if not found:
            raise ValueError(
                f"{type(model).__name__} contains no cell of odernn and no torch.nn.LSTM, GRU or RNN: there is nothing "
                "to follow. Give the module that holds the recurrent layers."
            )
        self._modules = {name.removeprefix("module.").removeprefix("_orig_mod."): each for name, each in found.items()}
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
        if kept is None or kept.output is None or (torch.is_grad_enabled() and not kept.has_graph):
            self._calls[name] = Call.begin(module, arguments, keywords)

    def _after(self, name: str, output: Any) -> None:
        call = self._calls.get(name)
        if call is not None and call.output is None:
            call.end(output)

    # --- steps --------------------------------------------------------------------------------------------------------

    def step(self, *, scale: float = 1.0) -> list[Measurement]:
        """After a step of training: what was measured of it, nothing at most steps.

        scale  what the loss was multiplied by before its derivative was taken, as ``GradScaler.get_scale`` says
        """
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
        found: list[Measurement] = []
        for name, module in self._modules.items():
            found += self._measure(step, name, module, calls.get(name), scale)
        self._records[step] = found
        while self.keep is not None and len(self._records) > self.keep:
            del self._records[min(self._records)]
        self._write(step, found)
        self._warn(found)
        return found

    def _write(self, step: int, found: list[Measurement]) -> None:
        """To the store. One that cannot be opened is an error; one that fails later is said, and training goes on."""
        store = self._open()
        if store is None:
            return
        try:
            store.put_measurements(self.run, step, [each.row() for each in found])
        except StoreError as error:
            self._say(("store",), MonitorWarning(f"Step {step} is not recorded. {error}"))

    def _measure(self, step: int, name: str, module: nn.Module, call: Call | None, scale: float) -> list[Measurement]:
        if call is not None and call.output is None:  # its forward pass raised
            call = None
        try:
            return list(measuring.measure(step, name, module, call, scale=scale))
        except measuring.NotRepeatable as error:
            self._say((name, "repeat"), MonitorWarning(f"Module {name!r}: {error}. Only its weights are measured."))
            return list(measuring.measure(step, name, module, None, scale=scale))

    def _warn(self, found: list[Measurement]) -> None:
        for each in found:
            if each.quantity.startswith("non_finite"):
                where = f"n = {each.n}, sample {each.sample}, neuron {each.neuron}"
                block = each.quantity.removeprefix("non_finite_")
                text = f"Step {each.step}, layer {each.layer}: {block} is {each.value} first at {where}."
                self._say((each.layer, "finite"), NonFiniteState(text, each))
            elif each.holds is False:
                self._say((each.layer, each.quantity, each.bound), BoundViolation(_violated(each), each))

    def _say(self, key: tuple[str, ...], warning: Warning) -> None:
        if key not in self._warned:
            self._warned.add(key)
            warnings.warn(warning, stacklevel=5)  # whoever called ``step``

    # --- what was found -----------------------------------------------------------------------------------------------

    @property
    def records(self) -> list[Measurement]:
        """All that is kept, in order of steps."""
        return [each for step in sorted(self._records) for each in self._records[step]]

    def to_csv(self, path: Path | str, *, series: bool = False) -> None:
        """``records`` as a table; with ``series`` a row for each entry of what is followed over time or neurons."""
        write_csv(Path(path), self.records, series=series)

    def _open(self) -> Store | None:
        if self._store is None or isinstance(self._store, Store):
            return self._store
        if self._opened is None:
            self._opened = Store(Path(self._store), writable=True)
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


def _is_first_process() -> bool:
    return not (dist.is_available() and dist.is_initialized()) or dist.get_rank() == 0


def _violated(each: Measurement) -> str:
    where = "".join(
        f", {name} {value}" for name, value in (("n =", each.n), ("neuron", each.neuron)) if value is not None
    )
    head = f"Step {each.step}, layer {each.layer}{where}: {each.quantity} is {each.value:.6g}"
    return (
        f"{head}, {each.bound} does not hold."
        if each.log_bound is None
        else (f"{head}, above e^{each.log_bound:.6g}, the bound of {each.bound}.")
    )


class _Hook:
    """One of the monitor's two hooks on a module. A copy or a pickle of the module has one that does nothing."""

    def __init__(self, monitor: BoundMonitor, name: str, what: str) -> None:
        self.monitor, self.name, self.what = weakref.ref(monitor), name, what

    def __call__(self, module: nn.Module, arguments: Any, keywords: Any, output: Any = None) -> None:
        monitor = self.monitor()
        if monitor is None:
            return
        if self.what == "_before":
            monitor._before(self.name, module, arguments, keywords)
        else:
            monitor._after(self.name, output)

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
