"""What all cells share: a stack of recurrent layers with the manners of torch.nn.

A cell supplies a ``RecurrentLayer``, one layer in one direction: how inputs become drives for all times at once, and a
function that makes one step with everything that depends on weights alone already evaluated. ``RecurrentNetwork`` does
the rest: layers, directions, layouts, lengths, packed sequences, dropout, states in and out.
"""

from __future__ import annotations

import difflib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypedDict

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from odernn.cells.common import arguments
from odernn.cells.common.exact_buffers import ExactBuffers
from odernn.cells.common.sequences import Sequences, State, sequences
from odernn.cells.common.time_scales import memory_in_steps
from odernn.executions.autocast import is_autocasting, without_autocast
from odernn.executions.recurrence import nothing_of

if TYPE_CHECKING:
    from odernn.integrators.guarantees import Guarantees

DropoutMask: TypeAlias = Literal["locked", "step"]
StepFunction: TypeAlias = Callable[[State, Tensor], State]


@dataclass(frozen=True)
class LayerRun:
    """States of one layer in one direction, in its own direction of time: row n−1 is n = 1..N; before is n = 0."""

    rows: State
    before: State


def stacked_rows(states: Sequence[State], like: State) -> State:
    """States of one time each as rows, (time, batch, size) a block; of no time, as many blocks as ``like`` has."""
    if not states:
        return tuple(block.new_zeros((0, *block.shape)) for block in like)
    return tuple(torch.stack(blocks) for blocks in zip(*states, strict=True))


class RecurrentLayer(ExactBuffers, ABC):
    """One layer in one direction: state_n = step(state_{n−1}, drive_n).

    state_names  the blocks of the state, each (batch, size); the first is the output unless ``output`` says otherwise
    like_name    the attribute that is ``like``
    """

    state_names: tuple[str, ...] = ("h",)
    like_name: str = "V"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size

    @property
    def state_sizes(self) -> tuple[int, ...]:
        """Number of components of each block."""
        return (self.hidden_size,) * len(self.state_names)

    @property
    def like(self) -> Tensor:
        """A weight whose dtype and device are the layer's, by name: replicas of a module have no ``parameters()``."""
        weight: Tensor = getattr(self, self.like_name)
        return weight

    @abstractmethod
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Initial weights, as in the paper."""

    @abstractmethod
    def drives(self, below: Tensor) -> Tensor:
        """What the inputs (..., input) contribute to the steps, for all times at once: (..., drive)."""

    @abstractmethod
    def stepper(self) -> StepFunction:
        """One step, (state, drive (batch, drive)) → state. Called once a forward pass: evaluate weights here."""

    def back_stepper(self) -> StepFunction:
        """The inverse of ``stepper``, (state_n, drive_n) → state_{n−1}, for layers whose step has one."""
        raise NotImplementedError(
            f"{type(self).__name__} does not claim that its step can be undone. Keep the states of the forward pass."
        )

    def guarantees(self) -> Guarantees:
        """What field and method imply for the weights as they are now, for a cell that is such a pair."""
        raise NotImplementedError(
            f"{type(self).__name__} is not one of the library's fields times a method of its catalogue, and nothing is "
            "derived for it here. Its class says which statement about its step it has, if any."
        )

    def fused(self, drives: Tensor, state: State) -> State | None:
        """The rows of all blocks by a fused execution, or None: then ``run`` makes the steps one by one."""
        return None

    def fused_from_inputs(self, below: Tensor, state: State) -> State | None:
        """The same from the inputs, where no autocast is on, or None: then ``fused`` is asked."""
        return None

    def output(self, rows: State) -> Tensor:
        """What the layers above see."""
        return rows[0]

    def run(self, below: Tensor, state: State, previous: Tensor | None) -> LayerRun:
        """All states for the inputs (time, batch, input), from the state n = 0.

        previous is the row n = 0 of the inputs, (batch, input), None in the reverse direction: most cells do not look
        back at it. Under autocast the drives may be computed in fewer digits; the recurrence keeps the dtype of the
        state.
        """
        found = None if is_autocasting(below) else self.fused_from_inputs(below, state)
        if found is not None:
            return LayerRun(found, state)
        drives = self.drives(below).to(state[0].dtype)
        current = state
        rows = []
        with without_autocast(drives):
            fused = self.fused(drives, state)
            if fused is not None:
                return LayerRun(fused, state)
            step = self.stepper()
            for drive in drives.unbind():
                current = step(current, drive)
                rows.append(current)
        return LayerRun(stacked_rows(rows, state), state)

    def run_back(self, below: Tensor, state: State, inside: Tensor | None) -> LayerRun:
        """All states from the last one, each sample's own: ``inside`` (time, batch, 1) is true up to its end."""
        drives = self.drives(below).to(state[0].dtype)
        rows: list[State] = []
        with without_autocast(drives):
            back = self.back_stepper()
            for n in range(len(drives) - 1, -1, -1):
                rows.append(state)
                before = back(state, drives[n])
                if inside is not None:
                    before = tuple(torch.where(inside[n], *pair) for pair in zip(before, state, strict=True))
                state = before
        return LayerRun(stacked_rows(rows[::-1], state), state)


def empty_parameters(device: torch.device | str | None, dtype: torch.dtype | None) -> Callable[..., nn.Parameter]:
    """A function of a shape: a parameter with anything in it, for ``reset_parameters`` to fill."""

    def empty(*shape: int) -> nn.Parameter:
        return nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

    return empty


class Manners(TypedDict, total=False):
    """The arguments that a cell passes on to ``RecurrentNetwork``, which has their defaults."""

    batch_first: bool
    dropout: float
    dropout_mask: DropoutMask
    bidirectional: bool


class RecurrentNetwork(ExactBuffers, ABC):
    """A stack of recurrent layers; the constructor's arguments mean what they mean in torch.nn.RNN.

    batch_first    False: (time, batch, input). True: (batch, time, input), for outputs, too
    dropout        0 unless given: probability, in training, on what each layer but the last passes upwards
    dropout_mask   "locked": one mask a sequence (variational dropout); "step": a new mask every step, as in torch.nn
    bidirectional  False. True: each layer also runs from the end of a sample to its start
    """

    layers: Sequence[Any]

    holds: ClassVar[str] = ""
    """What holds of its steps, in a sentence; ``odernn cells`` shows it. A method that it names says more."""

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """Arguments to begin with for sequences of ``steps``, those that have no default among them; here none.

        memory       M, over how many steps a unit is to remember: 1 ≤ M ≤ steps, all of them if not given
        hidden_size  for the cells whose arguments depend on it

        A cell that needs some says in its own docstring which formula gives them, and why. They are where to begin, not
        what is best: docs/cells.md has what was measured. Raises ValueError for impossible numbers.
        """
        memory_in_steps(steps, memory, hidden_size)
        return {}

    def __init_subclass__(cls, **options: Any) -> None:
        """``help`` shows the arguments of ``Manners`` by name and default, where a constructor has **manners."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__.__signature__ = _spelled_out(inspect.signature(cls.__init__))  # type: ignore[attr-defined]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        batch_first: bool = False,
        dropout: float = 0.0,
        dropout_mask: DropoutMask = "locked",
        bidirectional: bool = False,
        **unknown: Any,
    ) -> None:
        if unknown:
            raise TypeError(_no_such_argument(type(self), next(iter(unknown))))
        super().__init__()
        self.input_size = arguments.positive_integer("input_size", input_size)
        self.hidden_size = arguments.positive_integer("hidden_size", hidden_size)
        self.num_layers = arguments.positive_integer("num_layers", num_layers)
        self.batch_first = batch_first
        self.dropout = arguments.probability("dropout", dropout)
        self.dropout_mask = arguments.one_of("dropout_mask", dropout_mask, ("locked", "step"))
        self.bidirectional = bidirectional

    @property
    def directions(self) -> int:
        """2 if bidirectional, else 1."""
        return 2 if self.bidirectional else 1

    @property
    def output_size(self) -> int:
        """Features of the output: those of both directions side by side."""
        return self.hidden_size * self.directions

    def stacked(self, layer: Callable[[int, int], RecurrentLayer]) -> nn.ModuleList:
        """``layer(number, input_size)`` for number = 1..L and each direction: forward before reverse, as in torch."""
        sizes = [self.input_size] + [self.output_size] * (self.num_layers - 1)
        layers = [layer(number, size) for number, size in enumerate(sizes, 1) for _ in range(self.directions)]
        return nn.ModuleList(layers)

    def fill(
        self,
        layer: Callable[..., RecurrentLayer],
        generator: torch.Generator | None,
        *,
        per_layer: Mapping[str, float | Sequence[float]] | None = None,
        **options: Any,
    ) -> None:
        """``layers`` of ``layer(input_size, hidden_size, **options)``, one a layer and direction, with initial weights.

        per_layer  options of which every layer has its own: one number, or a sequence with one a layer
        """
        own = {name: arguments.per_layer(name, value, self.num_layers) for name, value in (per_layer or {}).items()}

        def numbered(number: int, size: int) -> RecurrentLayer:
            numbers = {name: values[number - 1] for name, values in own.items()}
            return layer(size, self.hidden_size, **numbers, **options)

        self.layers = self.stacked(numbered)  # type: ignore[assignment]
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """The initialisation of the paper, drawn layer by layer."""
        for layer in self.layers:
            layer.reset_parameters(generator)

    def forward(
        self,
        input: Tensor | PackedSequence,
        state: Any = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
    ) -> tuple[Any, Any]:
        """The outputs of the last layer and the state of all layers after the last step.

        input    (time, batch, input), with batch_first (batch, time, input); (time, input) unbatched; PackedSequence
        state    one tensor a block, (layers · directions, batch, size), zero if not given; a cell of one block takes
                 and returns the tensor itself
        lengths  (batch,), in any order: a sample of length n gives the state after its own step n, and zeros as
                 outputs beyond it; its padding is not read. The reverse direction starts at each sample's own end.

        The state keeps its layout with batch_first, as in torch. Raises ValueError for a wrong shape, device or
        length, TypeError for a wrong dtype.
        """
        sequences = self.sequences_of(input, state, lengths)
        output, runs = self.run_layers(sequences)
        return sequences.output(output), self.final_state(sequences, runs)

    def guarantees(self) -> tuple[Guarantees, ...]:
        """What field and method imply for the weights as they are now, layer by layer in torch's order.

        Raises NotImplementedError for cells that are no field of this library times a method of its catalogue.
        """
        return tuple(layer.guarantees() for layer in self.layers)

    def inverse(
        self,
        state: Any,
        input: Tensor | PackedSequence,
        *,
        lengths: Tensor | Sequence[int] | None = None,
    ) -> Any:
        """The initial state from the state after the last step and the same input, without dropout.

        Shapes as in ``forward``. Layer by layer from the first: its own last state and the rows of the layer below give
        its rows, hence O(time · batch · hidden) memory for one layer. Exact in exact arithmetic; how rounding errors
        grow depends on the weights. Raises NotImplementedError where the step of the cell has no inverse.
        """
        sequences = self.sequences_of(input, state, lengths)
        inside = sequences.inside(len(sequences.u))
        below, starts = sequences.u, []
        for number in range(self.num_layers):
            outputs = []
            for direction in range(self.directions):
                index = number * self.directions + direction
                layer, seen = self.layers[index], sequences.reversed(below) if direction else below
                run = layer.run_back(seen, tuple(block[index] for block in sequences.state), inside)
                starts.append(run.before)
                output = layer.output(run.rows)
                outputs.append(sequences.reversed(output) if direction else output)
            below = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1)
        first = sequences.final(tuple(torch.stack(blocks) for blocks in zip(*starts, strict=True)))
        return first[0] if len(first) == 1 else first

    def sequences_of(self, input: Tensor | PackedSequence, state: Any, lengths: Any) -> Sequences:
        first = self.layers[0]
        return sequences(
            input,
            state,
            lengths,
            like=arguments.computing(first.like),
            input_size=first.input_size,
            state_names=first.state_names,
            state_sizes=first.state_sizes,
            count=len(self.layers),
            batch_first=self.batch_first,
        )

    def run_layers(
        self, layout: Sequences, previous: Tensor | None = None, **more: Any
    ) -> tuple[Tensor, list[LayerRun]]:
        """The output (time, batch, features) of the last layer and the runs of all layers, in their own order.

        previous (batch, input) is the input before the first, zero if not given; ``more`` is what else the ``run`` of
        these layers takes.
        """
        below, runs = layout.u, []
        previous = layout.u.new_zeros(layout.u.shape[1:]) if previous is None else previous
        for number in range(self.num_layers):
            if number > 0:
                below, previous = self.dropped(below, previous)
            outputs = []
            for direction in range(self.directions):
                index = number * self.directions + direction
                layer, seen = self.layers[index], layout.reversed(below) if direction else below
                state = tuple(block[index] for block in layout.state)
                run = layer.run(seen, state, None if direction else previous, **more)
                if len(seen) == 0:
                    run = _tied(run, layer, seen)
                runs.append(run)
                output = layer.output(run.rows)
                outputs.append(layout.reversed(output) if direction else output)
            below = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1)
            previous = self.layers[number * self.directions].output(runs[-self.directions].before)
        return below, runs

    def dropped(self, rows: Tensor, previous: Tensor) -> tuple[Tensor, Tensor]:
        """rows (time, batch, features) and the row n = 0 after dropout in training."""
        if not self.training or self.dropout == 0.0:
            return rows, previous
        shape = rows.shape if self.dropout_mask == "step" else rows.shape[1:]
        mask = nn.functional.dropout(torch.ones(shape, dtype=rows.dtype, device=rows.device), self.dropout)
        if self.bidirectional:  # nothing looks back in a bidirectional stack
            return rows * mask, previous
        first = nn.functional.dropout(previous, self.dropout) if self.dropout_mask == "step" else previous * mask
        return rows * mask, first

    def final_state(self, layout: Sequences, runs: Sequence[LayerRun]) -> Any:
        """The state after each sample's own last step, in the caller's layout."""
        blocks = zip(*(zip(run.rows, run.before, strict=True) for run in runs), strict=True)
        ends = tuple(torch.stack([layout.at_own_end(*pair) for pair in block]) for block in blocks)
        final = layout.final(ends)
        return final[0] if len(final) == 1 else final

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}", *self.shown_options()]
        if self.bidirectional:
            parts.append("bidirectional=True")
        if self.dropout:
            parts.append(f"dropout={self.dropout}, dropout_mask={self.dropout_mask!r}")
        if self.batch_first:
            parts.append("batch_first=True")
        return ", ".join(parts)

    def shown_options(self) -> list[str]:
        """The arguments of this cell that are worth showing, as text."""
        return []


def _no_such_argument(cell: type[RecurrentNetwork], name: str) -> str:
    known = [each for each in inspect.signature(cell).parameters if each not in ("self", "unknown")]
    if name == "execution":
        return f"{cell.__name__} has no argument execution: the loop of torch is its only one. Leave it out."
    close = difflib.get_close_matches(name, known, 1)
    hint = f'Did you mean "{close[0]}"?' if close else f"It has {', '.join(known)}."
    return f'{cell.__name__} has no argument "{name}". {hint}'


def _tied(run: LayerRun, layer: nn.Module, below: Tensor) -> LayerRun:
    """A run of no step, with zero gradients."""
    nothing = nothing_of(below, layer.parameters())
    rows, before = (tuple(block + nothing for block in blocks) for blocks in (run.rows, run.before))
    return replace(run, rows=rows, before=before)


def _spelled_out(signature: inspect.Signature) -> inspect.Signature:
    own, shared = signature.parameters, inspect.signature(RecurrentNetwork.__init__).parameters
    if "manners" not in own:
        return signature
    manners = [shared[name] for name in Manners.__annotations__]
    return signature.replace(parameters=[*(own[name] for name in own if name != "manners"), *manners])
