"""What ``suggest`` of every cell is given: N, the steps of a sequence, and M, how many of them a unit remembers."""

from __future__ import annotations

import math

from odernn.cells.common import arguments


def memory_in_steps(steps: int, memory: float | None) -> float:
    """M: ``memory``, or N = ``steps`` if it is None.

    Raises ValueError where N is no integer ≥ 1, and unless 1 ≤ M ≤ N; TypeError where M is no number.
    """
    arguments.positive_integer("steps", steps)
    if memory is None:
        return float(steps)
    M = arguments.number("memory", memory)
    if not 1.0 <= M <= steps:
        raise ValueError(
            f"memory is {memory}, but it counts steps of a sequence of {steps}: give a number in 1..{steps}. Where "
            "states are carried from one sequence to the next, give the steps of all of them."
        )
    return M


def wandering_step(M: float, limit: float = math.inf) -> float:
    """min(1/√M, limit): a state that moves by dt a step, in any direction, is about √M dt = 1 away after M of them.

    It then lies where tanh bends: a smaller dt leaves it linear and an M-step sequence unfelt, a larger one saturates.
    """
    return min(1.0 / math.sqrt(M), limit)
