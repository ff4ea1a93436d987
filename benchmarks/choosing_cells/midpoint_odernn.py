"""An ODERNN with a method of the catalogue, which a configuration cannot name: the explicit midpoint rule."""

from __future__ import annotations

from typing import Any

from odernn import ODERNN


class MidpointODERNN(ODERNN):
    """y' = tanh(K y + U u + b) by the explicit midpoint rule, both stages with the same weights.

    memory  that of ``ODERNN.suggest``, which gives η;  steps  of a sequence
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, *, steps: int, memory: float, **rest: Any
    ) -> None:
        suggested = ODERNN.suggest(steps, memory=memory)
        super().__init__(input_size, hidden_size, num_layers, share_stages=True, **suggested, **rest)


CELL = MidpointODERNN
