"""How a network makes one time step, said in a form that can be asked for its graph: ``odernn.architecture.probe``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from torch import Tensor

INPUT: Final = "in"
OUTPUT: Final = "out"

NetworkStep: TypeAlias = Callable[[Mapping[int, Tensor], Mapping[str, Mapping[int, Tensor]], int], Mapping[str, Tensor]]


@final
@dataclass(frozen=True)
class StepForm:
    """One time step of a network, for the probe.

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

    step: NetworkStep
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
            counted(f"StepForm: {name}", getattr(self, name), bound)
        for state, size in self.state_sizes.items():
            counted(f'StepForm: the size of "{state}"', size, 1)


def counted(what: str, value: int, least: int) -> int:
    """``value`` if it is an integer of at least ``least``, or ValueError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{what} is {value!r}. It must be an integer of at least {least}.")
    return value
