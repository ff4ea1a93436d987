"""The graph of a network that runs through a whole sequence: what its nodes read at all times, and one graph from that.

Two ways to hold a node at one time. A *cell* that the module calls in a loop over time is held where it is called, by a
forward hook: all calls give what they gave before, but one, and those whose result would be another read it. A network
with ``node_values`` is one large step of the kind of ``interventions``, with a slot for every node at every time.

Either gives pairs (u at t, v at t'). They are a graph iff every edge (u, v, σ = t' − t) is there at *all* times, or at
all times of a residue modulo the period: a connection that is there at some of them only is refused with those times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from odernn.architecture.graph import RNNGraph
from odernn.architecture.probe.interventions import DelayedSlot, Probe, ProbedStep, ProbeError
from odernn.architecture.walks import Edge
from odernn.cells.step_form import INPUT, OUTPUT


class At(NamedTuple):
    """A node at a time."""

    node: str
    time: int


class Pairs(NamedTuple):
    """All nodes at their times, and who reads whom."""

    nodes: frozenset[At]
    readings: frozenset[tuple[At, At]]


# A module that calls cells.


class _Calls:
    """A run of the module on the input (time, batch, input): what its cells gave, call by call, and its output."""

    def __init__(self, module: nn.Module, cells: Mapping[str, nn.Module], name: str) -> None:
        self.module, self.cells, self.name = module, cells, name
        self.batch_first = is_batch_first(module)

    def __call__(
        self, input: Tensor, held: Mapping[str, Sequence[Any]] | None = None
    ) -> tuple[dict[str, list[Any]], Tensor]:
        """With ``held`` every call gives what is held for it; what it would have given is returned."""
        given: dict[str, list[Any]] = {name: [] for name in self.cells}

        def hook(name: str) -> Callable[[nn.Module, Any, Any], Any]:
            def watched(_: nn.Module, __: Any, output: Any) -> Any:
                number = len(given[name])
                given[name].append(_mapped(output, Tensor.clone))
                if held is None:
                    return output
                if number >= len(held[name]):
                    raise ProbeError(f'{self.name}: how often "{name}" is called depends on the numbers it is given.')
                return _mapped(held[name][number], Tensor.clone)

            return watched

        handles = [cell.register_forward_hook(hook(name)) for name, cell in self.cells.items()]
        try:
            with torch.no_grad():
                output = self.module(input.transpose(0, 1) if self.batch_first else input)
        finally:
            for handle in handles:
                handle.remove()
        return given, self._rows(output, len(input))

    def _rows(self, output: Any, steps: int) -> Tensor:
        first = output[0] if isinstance(output, tuple | list) and output else output
        axis = 1 if self.batch_first else 0
        if not isinstance(first, Tensor) or first.dim() < 2 or first.shape[axis] != steps:
            what = f"a tensor {tuple(first.shape)}" if isinstance(first, Tensor) else f"a {type(first).__name__}"
            raise ProbeError(
                f"{self.name}: its output is {what}. Wanted: the outputs of all {steps} times, (time, batch, output), "
                "or (batch, time, output) with an attribute batch_first that is true. Let it return them."
            )
        return first.transpose(0, axis).clone()


def is_batch_first(module: nn.Module) -> bool:
    """Whether the module says so, as those of torch do."""
    return bool(getattr(module, "batch_first", False))


def _mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same structure of tuples and lists with other tensors."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple | list):
        return type(value)(_mapped(part, change) for part in value)
    raise ProbeError(f"A cell gave a {type(value).__name__}. Wanted: a tensor, or a tuple of tensors.")


def _differ(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        return not torch.equal(one, other)
    return any(_differ(*pair) for pair in zip(one, other, strict=True))


def chosen_cells(module: nn.Module, names: Sequence[str] | None, called: str) -> dict[str, nn.Module]:
    """The submodules that are the nodes: those of these names, or all recurrent cells of torch."""
    inside = dict(module.named_modules())
    if names is None:
        paths = [path for path, part in inside.items() if path and isinstance(part, nn.RNNCellBase)]
        if not paths:
            raise ProbeError(
                f"{called}: a module of type {type(module).__qualname__} holds no torch.nn.RNNCell, GRUCell or "
                "LSTMCell to look at. Name the submodules that are its nodes: cells=."
            )
        return {path: inside[path] for path in paths}
    missing = [name for name in names if not name or name not in inside]
    if missing or not names:
        known = ", ".join(path for path in inside if path) or "none"
        raise ProbeError(f"{called}: cells names {missing or 'nothing'}. Its submodules are: {known}.")
    return {name: inside[name] for name in names}


def pairs_of_calls(
    module: nn.Module, cells: Mapping[str, nn.Module], input: Tensor, generator: torch.Generator, called: str
) -> Pairs:
    """Who reads whom among the calls of the cells, the input and the output."""
    run, steps = _Calls(module, cells, called), len(input)
    base, output = run(input)
    again, repeated = run(input)
    if {name: len(calls) for name, calls in base.items()} != {name: len(calls) for name, calls in again.items()} or (
        _differ(list(base.values()), list(again.values())) or not torch.equal(output, repeated)
    ):
        raise ProbeError(f"{called}: two runs on the same numbers differ. Switch off what is random in it.")
    node = {}
    for name, calls in base.items():
        calls_a_step, rest = divmod(len(calls), steps)
        if rest or not calls_a_step:
            raise ProbeError(
                f'{called}: the cell "{name}" is called {len(calls)} times in {steps} steps, so that no call belongs '
                "to a time. Wanted: equally often in every step. Give the module a step_form, or node_values."
            )
        for number in range(len(calls)):
            part = f".{number % calls_a_step + 1}" if calls_a_step > 1 else ""
            node[name, number] = At(f"{name}{part}", number // calls_a_step)

    def drawn(value: Tensor) -> Tensor:
        return torch.randn(value.shape, dtype=value.dtype, generator=generator)

    readings: set[tuple[At, At]] = set()

    def read(tail: At, given: Mapping[str, list[Any]], rows: Tensor) -> None:
        for name, calls in given.items():
            for number, (call, before) in enumerate(zip(calls, base[name], strict=True)):
                if _differ(call, before):
                    readings.add((tail, node[name, number]))
        readings.update((tail, At(OUTPUT, time)) for time in range(steps) if _differ(rows[time], output[time]))

    for time in range(steps):
        altered = input.clone()
        altered[time] = drawn(altered[time])
        read(At(INPUT, time), *run(altered, base))
    for name, calls in base.items():
        for number, call in enumerate(calls):
            held = {**base, name: [*calls[:number], _mapped(call, drawn), *calls[number + 1 :]]}
            read(node[name, number], *run(input, held))
    ends = {At(end, time) for end in (INPUT, OUTPUT) for time in range(steps)}
    return Pairs(frozenset(node.values()) | ends, frozenset(readings))


# A module that gives the values of its nodes.


NodeValues = Mapping[str, Mapping[int, Tensor | tuple[Tensor, ...]]]
"""name → time → the value (points, size), or the tensors that together are the value."""


def pairs_of_values(
    values: Callable[[Tensor], NodeValues],
    steps: int,
    features: int,
    generator: torch.Generator,
    points: int,
    called: str,
) -> Pairs:
    """Who reads whom among the nodes of a network, whose values for an input (time, points, input) these are."""

    def run(given: Mapping[DelayedSlot, Tensor], _: int) -> dict[str, Tensor]:
        node_values = values(torch.stack([given[DelayedSlot(INPUT, steps - 1 - time)] for time in range(steps)]))
        return {
            slot: rows for place, parts in _by_place(node_values).items() for slot, rows in _slots(place, parts).items()
        }

    first = values(torch.randn(steps, points, features, dtype=torch.float64, generator=generator))
    if OUTPUT not in first or INPUT in first:
        raise ProbeError(
            f'{called}: node_values has the nodes {", ".join(first)}. Wanted: "out" among them, and not "in", which is '
            "the input."
        )
    slots = {place: _slots(place, parts) for place, parts in _by_place(first).items()}
    place_of = {_group(place): place for place in slots}
    outputs = {slot: place for place, parts in slots.items() if place.node == OUTPUT for slot in parts}
    groups = {_group(place): tuple(parts) for place, parts in slots.items() if place.node != OUTPUT}
    sizes = {slot: rows.shape[-1] for parts in slots.values() for slot, rows in parts.items()}
    form = ProbedStep(
        called,
        {INPUT: (INPUT,), **groups},
        {INPUT: features, **sizes},
        {INPUT: steps - 1},
        run,
        outputs=tuple(outputs),
    )
    probe = Probe(form, generator, points, by_component=False)
    nodes = {place_of[unit.group] for unit in probe.nodes(0)} | set(outputs.values())
    readings = set()
    for reading in probe.readings(0):
        is_input = reading.tail.group == INPUT
        tail = At(INPUT, steps - 1 - reading.delay) if is_input else place_of[reading.tail.group]
        readings.add((tail, outputs.get(reading.head.group) or place_of[reading.head.group]))
    return Pairs(frozenset(nodes) | {At(INPUT, time) for time in range(steps)}, frozenset(readings))


def _by_place(values: NodeValues) -> dict[At, tuple[Tensor, ...]]:
    return {
        At(name, time): parts if isinstance(parts, tuple) else (parts,)
        for name, by_time in values.items()
        for time, parts in by_time.items()
    }


def _group(place: At) -> str:
    return f"{place.node} at time {place.time}"


def _slots(place: At, parts: tuple[Tensor, ...]) -> dict[str, Tensor]:
    return {_group(place) + (f", part {k}" if k else ""): rows for k, rows in enumerate(parts)}


# One graph from what happens at all times.


def graph(pairs: Pairs, steps: int, period: int, name: str) -> RNNGraph:
    """The graph whose unfolding these are. Raises ProbeError where they are the unfolding of none of this period."""
    nodes, readings = pairs
    readings_or_fault = _edges(nodes, readings, steps, period)
    if isinstance(readings_or_fault, str):
        others = [m for m in range(1, steps // 2) if not isinstance(_edges(nodes, readings, steps, m), str)]
        advice = f" With period={others[0]} it is a graph." if others else ""
        raise ProbeError(f"{name}: {readings_or_fault}{advice}")
    residues: dict[str, set[int]] = {}
    for place in nodes:
        residues.setdefault(place.node, set()).add(place.time % period)

    def label(place: At) -> str:
        return f"{place.node}@{place.time % period}" if len(residues[place.node]) > 1 else place.node

    rank = {INPUT: 0, OUTPUT: 2}
    order = {place.node: None for place in sorted(nodes, key=lambda place: (rank.get(place.node, 1), place))}
    times = {label(At(node, r)): r for node in order for r in sorted(residues[node])}
    edges = {Edge(label(tail), label(head), head.time - tail.time) for tail, head in readings_or_fault}
    inputs, outputs = (tuple(label(At(end, r)) for r in sorted(residues.get(end, ()))) for end in (INPUT, OUTPUT))
    return RNNGraph(name, period, times, tuple(edges), inputs, outputs)


def _edges(
    nodes: frozenset[At], readings: frozenset[tuple[At, At]], steps: int, period: int
) -> frozenset[tuple[At, At]] | str:
    """The readings, if each is there at all times of its residue, and at least twice; else what is wrong."""
    for tail, head in readings:
        sigma = head.time - tail.time
        times = [
            time
            for time in range(tail.time % period, steps, period)
            if At(tail.node, time) in nodes and At(head.node, time + sigma) in nodes
        ]
        there = [time for time in times if (At(tail.node, time), At(head.node, time + sigma)) in readings]
        what = f"{head.node} reads {tail.node} of σ = {sigma} steps before"
        if there != times:
            return f"{what} at the times {there} only, of {times}: more than the period {period} tells."
        if len(times) < 2:
            return (
                f"{what}, which {steps} steps show only once. Give a longer example; if the delays grow with it, a "
                "part that is no node remembers the past: name it among cells=."
            )
    return readings
