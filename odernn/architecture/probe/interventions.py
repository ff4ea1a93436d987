"""What one time step reads, found by intervening: change one state, hold the others, and see whose value is another.

The step runs as it is, once for each state that it might read. That state is given other random values; every new
state that changes is put back to its old value at the place where it is computed, the earliest first, until nothing
changes any more. Those that had to be put back read the changed state *directly*: by then all others were as before.

Values are compared bit by bit and without a tolerance. The same operations on the same numbers give the same bits, so a
difference is a dependence; a sum that cancels only up to rounding counts as one. No difference means no dependence
with probability one for functions that are analytic in states and weights, at one random point; ``points`` points are
the rows of the batch, all at once, for functions that are constant on pieces, such as ReLU.

A value is put back where an operation of torch gives it, seen below autograd by a dispatch mode, and in the memory that
it is in: in a stack of rows, too. What is computed outside torch has no such place and is refused: custom operations,
and tensors made of numbers (numpy's, say) that depend on the states. Python numbers (``item``) are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from odernn.cells.step_form import INPUT, OUTPUT


class ProbeError(TypeError):
    """A module that cannot be probed: its type, what was looked for, and what to do."""


class SilentError(ProbeError):
    """A new state has one value everywhere, at the random points and weights of this round."""


class DelayedSlot(NamedTuple):
    """A tensor that the step may read: the slot's value ``delay`` steps ago."""

    slot: str
    delay: int


Values = Mapping[DelayedSlot, Tensor]


@final
@dataclass(frozen=True)
class ProbedStep:
    """One time step of a network as a function of the tensors that it may read.

    name    what messages call the network
    groups  node → its slots: the state tensors that together are the node
    sizes   slot → features, the input's too
    delays  slot → the largest delay at which it may be read: from 0 for the input, from 1 for a state
    run     (values (points, size), time in 0 … period − 1) → the new value of every slot, and of the outputs
    outputs  slots that nobody reads
    """

    name: str
    groups: Mapping[str, tuple[str, ...]]
    sizes: Mapping[str, int]
    delays: Mapping[str, int]
    run: Callable[[Values, int], Mapping[str, Tensor]]
    period: int = 1
    outputs: tuple[str, ...] = (OUTPUT,)

    def places(self) -> Iterator[DelayedSlot]:
        """Everything that the step may read, apart from other new states."""
        for slot, delay in self.delays.items():
            yield from (DelayedSlot(slot, k) for k in range(0 if slot == INPUT else 1, delay + 1))


class NodePart(NamedTuple):
    """A node, or one component of it."""

    group: str
    component: int | None


class DirectReading(NamedTuple):
    """``head`` reads ``tail`` as it was ``delay`` steps ago."""

    tail: NodePart
    head: NodePart
    delay: int


@dataclass(frozen=True)
class _Rule:
    """Where an operation gives these values, put those in their place."""

    given: Tensor
    put: Tensor


class _Watch(TorchDispatchMode):
    """Applies the rules to what operations give, and keeps what they gave."""

    def __init__(self, rules: list[_Rule], points: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.rules: dict[float, list[_Rule]] = {}
        for rule in rules:  # by first number, which several may share: zeros of ReLU
            self.rules.setdefault(float(rule.given[0, 0]), []).append(rule)
        self.points = points
        self.seen: list[Tensor] = []
        self.foreign: list[Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = func(*args, **(kwargs or {}))
        if func.namespace != "aten":
            raise ProbeError(
                f"The step calls {func}, an operation of its own, in which no state can be held. Use an execution in "
                "torch's operations."
            )
        if func is torch.ops.aten.lift_fresh.default:  # from numpy, or from numbers
            self.foreign.append(given.clone())
        if "empty" in str(func):  # what is in fresh memory is nobody's value
            return given
        if isinstance(given, Tensor):
            return self._ruled(given)
        if isinstance(given, tuple | list):
            return type(given)(self._ruled(one) if isinstance(one, Tensor) else one for one in given)
        return given

    def _ruled(self, tensor: Tensor) -> Tensor:
        if tensor.dtype != torch.float64 or tensor.dim() < 2 or self.points not in tensor.shape:
            return tensor
        hit = self._numbers(tensor) & self.rules.keys() if self.rules else ()
        for rule in [rule for number in hit for rule in self.rules[number]]:
            if any(step == 0 and size > 1 for step, size in zip(tensor.stride(), tensor.shape, strict=True)):
                tensor = tensor.clone()  # many entries in one place of memory
            for part in _parts(tensor, rule.given):
                part.copy_(rule.put)
        self.seen.append(tensor.clone())
        return tensor

    def _numbers(self, tensor: Tensor) -> set[float]:
        """What the tensor has at the first point: whose first number is not among them is not in it."""
        return {number for view in _by_point(tensor, self.points) for number in view[0].flatten().tolist()}

    def first(self, values: Mapping[str, Tensor]) -> str | None:
        """Whose value an operation gave first."""
        corner: dict[float, list[str]] = {}
        for slot, value in values.items():
            corner.setdefault(float(value[0, 0]), []).append(slot)
        for tensor in self.seen:
            for slot in [slot for number in self._numbers(tensor) & corner.keys() for slot in corner[number]]:
                if next(_parts(tensor, values[slot]), None) is not None:
                    return slot
        return None


def _by_point(tensor: Tensor, points: int) -> Iterator[Tensor]:
    """The tensor with the axis of the points first; several ways where several axes are as long."""
    for axis, size in enumerate(tensor.shape):
        if size == points:
            yield tensor.movedim(axis, 0)


def _parts(tensor: Tensor, value: Tensor) -> Iterator[Tensor]:
    """Where the tensor holds the value (points, size): views of it, one row or some columns of one."""
    points, size = value.shape
    for view in _by_point(tensor, points):
        if view.dim() < 2 or view.shape[-1] < size:
            continue
        for *leading, column in torch.nonzero(view[0] == value[0, 0]).tolist():
            part = view[(slice(None), *leading, slice(column, column + size))]
            if torch.equal(part, value):
                yield part


@final
class Probe:
    """The direct readings of a step at one time, at ``points`` random points."""

    def __init__(self, form: ProbedStep, generator: torch.Generator, points: int, *, by_component: bool) -> None:
        self.form, self.generator, self.points = form, generator, points
        self.by_component = by_component
        self.roots = [self._copies(time) for time in range(form.period)]

    def _drawn(self, size: int) -> Tensor:
        return torch.randn(self.points, size, dtype=torch.float64, generator=self.generator)

    def _run(self, values: Values, time: int, rules: list[_Rule]) -> tuple[dict[str, Tensor], _Watch]:
        watch = _Watch(rules, self.points)
        copies = {place: value.clone() for place, value in values.items()}
        with torch.no_grad(), watch:
            new_values = self.form.run(copies, time)
        return {slot: value.detach().clone() for slot, value in new_values.items()}, watch

    def _base(self, values: Values, time: int) -> dict[str, Tensor]:
        """The new states, which a second run must repeat."""
        form = self.form
        (base, watch), (again, _) = (self._run(values, time, []) for _ in range(2))
        self.foreign = watch.foreign
        for slot, value in base.items():
            if slot not in form.outputs and not bool((value != value[0, 0]).any()):
                raise SilentError(
                    f'{form.name}: the new state "{slot}" is {float(value[0, 0]):g} everywhere, whatever the step is '
                    "given, so that it cannot be told from other constants. Take other weights, or leave it out."
                )
        if set(base) != set(again) or any(not torch.equal(base[slot], again[slot]) for slot in base):
            raise ProbeError(
                f"{form.name}: the same step on the same numbers gave other states, so that a change says nothing. "
                "Switch off what is random in it, or not finite."
            )
        return base

    # States that only repeat what another one was: a memory of it, not a node.

    def _copies(self, time: int) -> dict[str, DelayedSlot]:
        """The slots whose new value is, bit for bit, something that the step was given, or another slot's."""
        values = {place: self._drawn(self.form.sizes[place.slot]) for place in self.form.places()}
        base = self._base(values, time)
        copies: dict[str, DelayedSlot] = {}
        slots = [slot for slot in base if slot not in self.form.outputs]
        for number, slot in enumerate(slots):
            given = (place for place, value in values.items() if torch.equal(value, base[slot]))
            same = (DelayedSlot(other, 0) for other in slots[:number] if torch.equal(base[other], base[slot]))
            copied = next(given, None) or next(same, None)
            if copied is not None:
                copies[slot] = copied
        return copies

    def root(self, place: DelayedSlot, time: int) -> DelayedSlot | None:
        """What a place holds in the end, as seen from that time; None for a state that nothing ever writes."""
        seen = set()
        while place.slot != INPUT:
            copied = self.roots[(time - place.delay) % self.form.period].get(place.slot)
            if copied is None:
                return place
            state = (place.slot, (time - place.delay) % self.form.period)
            if state in seen:
                return None
            seen.add(state)
            place = DelayedSlot(copied.slot, place.delay + copied.delay)
        return place

    def nodes(self, time: int) -> list[NodePart]:
        """The hidden nodes with a slot that is computed at this time, in the form's order."""
        copied = {INPUT, *self.roots[time]}
        active = (group for group, slots in self.form.groups.items() if not copied.issuperset(slots))
        return [unit for group in active for unit in self.units(group)]

    def units(self, group: str) -> list[NodePart]:
        """The node, or its components."""
        if not self.by_component:
            return [NodePart(group, None)]
        return [NodePart(group, component) for component in range(self.form.sizes[self.form.groups[group][0]])]

    # The readings.

    def readings(self, time: int) -> set[DirectReading]:
        """Who reads whom directly at this time."""
        roots = {place: self.root(place, time) for place in self.form.places()}
        drawn = {root: self._drawn(self.form.sizes[root.slot]) for root in dict.fromkeys(roots.values()) if root}
        fixed = {place: self._drawn(self.form.sizes[place.slot]) for place, root in roots.items() if root is None}
        values = {place: fixed[place] if root is None else drawn[root] for place, root in roots.items()}
        base = self._base(values, time)
        group_of = {slot: group for group, slots in self.form.groups.items() for slot in slots}
        readings: set[DirectReading] = set()
        sources = dict.fromkeys((group_of[root.slot], root.delay) for root in roots.values() if root)
        for group, delay in sources:
            for tail in self.units(group):
                here = [root for root in drawn if (group_of[root.slot], root.delay) == (group, delay)]
                other = {root: self._altered(drawn[root], tail) for root in here}
                altered = {
                    place: value if root is None else other.get(root, value)
                    for (place, value), root in zip(values.items(), roots.values(), strict=True)
                }
                readings |= {DirectReading(tail, head, delay) for head in self._changed(altered, time, base, [], None)}
        for tail in self.nodes(time):
            for slot in self.form.groups[tail.group]:
                if slot not in self.roots[time]:  # one at a time: others of the same node may be computed from it
                    rule = _Rule(base[slot], self._altered(base[slot], tail))
                    heads = self._changed(values, time, base, [rule], slot) - {tail}
                    readings |= {DirectReading(tail, head, 0) for head in heads}
        return readings

    def _altered(self, value: Tensor, unit: NodePart) -> Tensor:
        other = self._drawn(value.shape[-1])
        if unit.component is None:
            return other
        altered = value.clone()
        altered[:, unit.component] = other[:, unit.component]
        return altered

    def _changed(
        self, values: Values, time: int, base: Mapping[str, Tensor], rules: list[_Rule], source: str | None
    ) -> set[NodePart]:
        """The nodes that change by themselves: each slot that changed is put back, the earliest first."""
        rules, outputs = list(rules), self.form.outputs
        nodes = {slot: group for group, slots in self.form.groups.items() for slot in slots}
        candidates = [slot for slot in base if slot not in self.roots[time] and slot not in (source, *outputs)]
        heads: set[NodePart] = set()
        done: list[str] = []
        while True:
            new_values, watch = self._run(values, time, rules)
            if len(watch.foreign) != len(self.foreign) or not all(map(torch.equal, watch.foreign, self.foreign)):
                raise ProbeError(
                    f"{self.form.name}: a part of the step is computed outside torch, where no state can be held: a "
                    "tensor was made of numbers that depend on the states. Compute it in torch's operations."
                )
            for slot in done:
                if not torch.equal(new_values[slot], base[slot]):
                    raise self._invisible(slot)
            if source is not None and torch.equal(new_values[source], base[source]):
                raise self._invisible(source)
            changed = {slot: new_values[slot] for slot in candidates if not torch.equal(new_values[slot], base[slot])}
            if not changed:
                break
            first = watch.first(changed)
            if first is None:
                raise self._invisible(next(iter(changed)))
            heads |= self._units_that_differ(nodes[first], changed[first], base[first])
            rules.append(_Rule(changed[first], base[first]))
            done.append(first)
        return heads | {NodePart(slot, None) for slot in outputs if not torch.equal(new_values[slot], base[slot])}

    def _units_that_differ(self, group: str, value: Tensor, before: Tensor) -> set[NodePart]:
        if not self.by_component:
            return {NodePart(group, None)}
        differ = (value != before).reshape(self.points, -1).any(dim=0)
        return {NodePart(group, component) for component in torch.nonzero(differ).flatten().tolist()}

    def _invisible(self, slot: str) -> ProbeError:
        return ProbeError(
            f'{self.form.name}: no operation of torch was seen to compute the new state "{slot}", so that it cannot be '
            "held. Looked for: a tensor with its values, for all points of the batch, while the step runs. Use an "
            'execution in torch operations, or describe the step with "graph_of_step".'
        )
