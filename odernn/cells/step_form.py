"""One time step of a network as a function of the tensors that it may read: what a module says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, final, runtime_checkable

from torch import Tensor

INPUT: Final = "in"
OUTPUT: Final = "out"

DescribedStep = Callable[[Mapping[int, Tensor], Mapping[str, Mapping[int, Tensor]], int], Mapping[str, Tensor]]
"""step(inputs, states, time) → the new states and the output: see ``StepForm``."""


@final
@dataclass(frozen=True)
class StepForm:
    """One time step of a network, which ``odernn.architecture.graph_of`` can probe.

    step         step(inputs, states, time) → the states at the time t, and the output under the name "out".
                 inputs[k] is u at t − k, (points, input_size), for k = 0 … input_delay; states[name][k] is that state
                 at t − k, (points, size), for k = 1 … delay; float64. Each of them is to be computed by an operation
                 of torch, from the others as they have been computed before
    input_size   features of u
    state_sizes  features of every state; each is a node, unless its new value only repeats an older one
    delay        how far back states are handed in
    input_delay  how far back the input is
    period       m: the step depends on the time modulo m, which is ``time``; else 1, and ``time`` is 0
    """

    step: DescribedStep
    input_size: int
    state_sizes: Mapping[str, int]
    delay: int = 1
    input_delay: int = 0
    period: int = 1

    def __post_init__(self) -> None:
        reserved = sorted({INPUT, OUTPUT} & set(self.state_sizes))
        if reserved or not self.state_sizes:
            what = (
                f'a state is called "{reserved[0]}", which is the name of a node' if reserved else "there is no state"
            )
            raise ValueError(f"StepForm: {what}. Name the hidden states, for example h1 and h2.")
        least = {"delay": 1, "input_delay": 0, "period": 1, "input_size": 1}
        for name, bound in least.items():
            check_count(f"StepForm: {name}", getattr(self, name), bound)
        for state, size in self.state_sizes.items():
            check_count(f'StepForm: the size of "{state}"', size, 1)


@runtime_checkable
class HasStepForm(Protocol):
    """A module that can say how it makes one step; how it makes it is then found out by the probe."""

    def step_form(self) -> StepForm:
        """The step with the weights as they are now, in their dtype."""


def check_count(what: str, value: int, least: int) -> None:
    """Raises ValueError for what is no integer of at least so much."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{what} is {value!r}. It must be an integer of at least {least}.")
