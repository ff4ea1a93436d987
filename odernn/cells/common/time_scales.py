"""What ``suggest`` of every cell is given: N, the steps of a sequence, and M, how many of them a unit remembers."""

from __future__ import annotations

import math

from odernn.cells.common import arguments


def memory_in_steps(steps: int, memory: float | None, hidden_size: int | None = None) -> float:
    """M: ``memory``, or N = ``steps`` if it is None.

    Raises ValueError where N is no integer ≥ 1 or beyond the range of float64, unless 1 ≤ M ≤ N, and where a
    ``hidden_size`` is given that no cell has; TypeError where M is no number.
    """
    arguments.positive_integer("steps", steps)
    if hidden_size is not None:
        arguments.positive_integer("hidden_size", hidden_size)
    count = arguments.number("steps", steps)
    if memory is None:
        return count
    M = arguments.number("memory", memory)
    if not 1.0 <= M <= steps:
        raise ValueError(
            f"memory is {memory}, but it counts steps of a sequence of {steps}: give a number in 1..{steps}. Where "
            "states are carried from one sequence to the next, give the steps of all of them."
        )
    return M


def wandering_step(M: float, limit: float = math.inf) -> float:
    """min(1/√M, limit): M pushes of size dt in random directions add up to about √M dt = 1.

    They then lead to where tanh bends: a smaller dt leaves the state linear and an M-step sequence unfelt, a larger one
    saturates. Pushes that agree, as those of a bias do, add up to M dt = √M unless the cell turns or forgets them.
    """
    return min(1.0 / math.sqrt(M), limit)
