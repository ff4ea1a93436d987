"""Clockwork RNN: groups of neurons that act every T_1, T_2, … steps and hold their state in between."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.clocked import ClockedLayer, ClockedNetwork, Time, checked_integer
from odernn.cells.common import arguments
from odernn.cells.common.representation import differing
from odernn.cells.common.sequences import State
from odernn.cells.common.time_scales import memory_in_steps
from odernn.cells.recurrent import Manners, StepFunction, empty_parameters
from odernn.cells.step_form import StepForm

__all__ = ["CELL", "ClockworkLayer", "ClockworkRNN"]

SIGMA = 0.1
"""Standard deviation of all initial weights in the paper."""


class ClockworkLayer(ClockedLayer):
    """W_1, …, W_g, V (n, input), b (n,) of one layer, n = hidden; b is None without bias.

    W_i  (n_i, n_i + … + n_g) for the i-th group of n_i neurons: what it reads of itself and of all slower groups
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        periods: tuple[int, ...],
        sizes: tuple[int, ...],
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.periods, self.sizes = periods, sizes
        ends = tuple(itertools.accumulate(sizes))
        self.groups = tuple(slice(end - size, end) for end, size in zip(ends, sizes, strict=True))
        empty = empty_parameters(device, dtype)
        for i, group in enumerate(self.groups, 1):
            self.register_parameter(f"W_{i}", empty(sizes[i - 1], hidden_size - group.start))
        self.V = empty(hidden_size, input_size)
        self.b = empty(hidden_size) if bias else None

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """All ~ N(0, 0.1²), as in the paper."""
        for _, parameter in self.named_parameters():
            nn.init.normal_(parameter, 0.0, SIGMA, generator=generator)

    def row_blocks(self) -> tuple[Tensor, ...]:
        """W_1, …, W_g."""
        return tuple(getattr(self, f"W_{i}") for i in range(1, len(self.groups) + 1))

    def recurrent_matrix(self) -> Tensor:
        """W (n, n), block upper triangular: the rows W_i with zeros for the faster groups; differentiable."""
        rows = [
            nn.functional.pad(block, (group.start, 0))
            for block, group in zip(self.row_blocks(), self.groups, strict=True)
        ]
        return torch.cat(rows)

    def drives(self, below: Tensor) -> Tensor:
        """V u + b."""
        return nn.functional.linear(below, self.V, self.b)

    def steppers(self) -> Callable[[Time], StepFunction]:
        W = self.recurrent_matrix()
        slices: dict[tuple[int, int], Tensor] = {}

        def rows_of(run: slice) -> Tensor:
            """With the columns that they read. One slice for all steps, so that its derivative is put in place once."""
            key = (run.start, run.stop)
            if key not in slices:
                slices[key] = W[run, run.start :].T
            return slices[key]

        def proposed(h: Tensor, x: Tensor, run: slice) -> Tensor:
            return torch.tanh(torch.addmm(x[:, run], h[:, run.start :], rows_of(run)))

        def at(time: Time) -> StepFunction:
            if isinstance(time, Tensor):
                return lambda state, x: self._mixed(time, state[0], proposed(state[0], x, slice(0, self.hidden_size)))
            runs = self._runs(time)

            def step(state: State, x: Tensor) -> State:
                (h,) = state
                return (torch.cat([proposed(h, x, run) if acts else h[:, run] for acts, run in runs], dim=1),)

            return step

        return at

    def _runs(self, time: int) -> list[tuple[bool, slice]]:
        """Neighbouring groups that all act at that time, or that are all held: one product each, or none."""
        acting = zip((time % period == 0 for period in self.periods), self.groups, strict=True)
        runs = [(acts, list(run)) for acts, run in itertools.groupby(acting, key=lambda group: group[0])]
        return [(acts, slice(run[0][1].start, run[-1][1].stop)) for acts, run in runs]

    def _mixed(self, times: Tensor, h: Tensor, new: Tensor) -> State:
        """``new`` where the group acts at the time (batch, 1) of the sample, ``h`` elsewhere."""
        acts = [(times % period == 0).expand(-1, size) for period, size in zip(self.periods, self.sizes, strict=True)]
        return (torch.where(torch.cat(acts, dim=1), new, h),)


class ClockworkRNN(ClockedNetwork):
    """h of group i acts when T_i divides the time, and is held in between.   Koutník et al. 2014 (CW-RNN)

        h_i(t) = tanh(Σ_{j ≥ i} W_ij h_j(t − 1) + V_i u(t) + b_i)     if T_i divides t
        h_i(t) = h_i(t − 1)                                           otherwise,         T_1 < T_2 < … < T_g

    input  u : (time, batch, input), or (time, input)      output  h of the last layer : (time, batch, hidden)
    state  h : (layers · directions, batch, hidden), zero if not given; the groups side by side, the fastest first

    periods    T_1 < … < T_g, integers ≥ 1; the paper takes 1, 2, 4, …, 2^(g − 1)
    sizes      neurons of every group; equal if not given, then g divides hidden_size
    start      time of the first row of an input: 0, at which all groups act; with 1 the first to act is T_1 = 1 alone.
               The paper leaves it open. ``forward`` takes a ``start``, too: a sequence that is cut goes on at its time
    bias       whether there is a b
    generator  of the initial weights, see ``ClockworkLayer.reset_parameters``

    The other arguments are those of ``RecurrentNetwork``. Information flows from slow groups to fast ones only: W is
    block upper triangular, and only its blocks j ≥ i are parameters. A step computes the groups that act, and no other.
    The paper has one layer, in one direction; a stack, in which all layers share the clock, is this library's.

    As an n-t-ODERNN (n, t) = (1, 1) with coefficients that depend on the time, see ``realisations.clockwork``.
    As an architecture ``odernn.architecture.catalogue.clockwork(periods)``, of period lcm(T_1, …, T_g); a ``GraphRNN``
    of that graph has weights of its own for every time of a period, this cell has the same for all.
    """

    holds: ClassVar[str] = (
        "|h| ≤ 1 in every component for all weights; of its gradients no more than norms of W give (bounds.certify)"
    )

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        periods: Sequence[int],
        sizes: Sequence[int] | None = None,
        start: int = 0,
        bias: bool = True,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.periods = _checked_periods(periods)
        self.sizes = _checked_sizes(sizes, self.hidden_size, len(self.periods))
        self.start = checked_integer("start", start)
        self.fill(
            ClockworkLayer,
            generator,
            periods=self.periods,
            sizes=self.sizes,
            bias=bias,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """periods 1, 2, 4, … up to M/2, as in the paper: the slowest group acts twice in M steps; sizes about equal.

        With hidden_size = n there are at most n groups, and the first n mod g of g have a neuron more.
        """
        M = memory_in_steps(steps, memory, hidden_size)
        count = 1 + max(0, math.floor(math.log2(M / 2.0)))
        if hidden_size is None:
            return {"periods": tuple(2**k for k in range(count))}
        n = arguments.positive_integer("hidden_size", hidden_size)
        count = min(count, n)
        sizes = tuple(n // count + (group < n % count) for group in range(count))
        return {"periods": tuple(2**k for k in range(count)), "sizes": sizes}

    @property
    def period(self) -> int:
        """lcm(T_1, …, T_g), after which the clock repeats."""
        return math.lcm(*self.periods)

    def recurrent_matrices(self) -> tuple[Tensor, ...]:
        """W of every layer and direction, in the order of ``layers``."""
        return tuple(layer.recurrent_matrix() for layer in self.layers)

    def step_form(self) -> StepForm:
        """One step for ``odernn.architecture.graph_of``: nodes are the groups, h1, h2, …, or h1.1, h1.2, … of layers.

        Raises ValueError for a bidirectional network, which has no step.
        """
        if self.bidirectional:
            raise ValueError("The network is bidirectional: no single step gives its states. Ask one direction.")
        count = len(self.sizes)
        names = [
            [f"h{i}" if self.num_layers == 1 else f"h{l}.{i}" for i in range(1, count + 1)]
            for l in range(1, self.num_layers + 1)
        ]

        def step(
            inputs: Mapping[int, Tensor], states: Mapping[str, Mapping[int, Tensor]], time: int
        ) -> dict[str, Tensor]:
            below = inputs[0]
            new_states: dict[str, Tensor] = {}
            for layer, own in zip(self.layers, names, strict=True):
                before = torch.cat([states[name][1] for name in own], dim=1)
                (below,) = layer.stepper(time)((before,), layer.drives(below))
                new_states.update(zip(own, below.split(self.sizes, dim=1), strict=True))
            return {**new_states, "out": below}

        state_sizes = {name: size for own in names for name, size in zip(own, self.sizes, strict=True)}
        return StepForm(step, self.input_size, state_sizes, period=self.period)

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        sizes = [] if len(set(self.sizes)) == 1 else [f"sizes={self.sizes}"]
        bias = differing(bias=(first.b is not None, True))
        return [f"periods={self.periods}", *sizes, *self.shown_clock(), *bias]


CELL = ClockworkRNN


def _integers(name: str, values: Any) -> tuple[int, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise TypeError(f"{name} is {values!r}. Give a sequence of integers, one a group.")
    return tuple(arguments.positive_integer(f"{name}[{place}]", value) for place, value in enumerate(values))


def _checked_periods(periods: Any) -> tuple[int, ...]:
    integers = _integers("periods", periods)
    if not integers or any(one >= other for one, other in itertools.pairwise(integers)):
        raise ValueError(f"periods is {integers}, but the groups go from the fastest to the slowest: T_1 < T_2 < ….")
    return integers


def _checked_sizes(sizes: Any, hidden_size: int, groups: int) -> tuple[int, ...]:
    if sizes is None:
        if hidden_size % groups:
            raise ValueError(
                f"hidden_size is {hidden_size}, which {groups} groups do not share evenly. Give sizes, one a group, or "
                f"a hidden_size that {groups} divides."
            )
        return (hidden_size // groups,) * groups
    integers = _integers("sizes", sizes)
    if len(integers) != groups or sum(integers) != hidden_size:
        raise ValueError(
            f"sizes is {integers}, but {groups} periods need {groups} sizes that add up to hidden_size = {hidden_size}."
        )
    return integers
