"""A QUNN with the arguments that all cells have: it is as wide as its input."""

from __future__ import annotations

from typing import Any

from odernn import QUNN


class SizedQUNN(QUNN):
    """``hidden_size`` has no meaning: outputs have as many numbers as inputs."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, *, block_length: int, **rest: Any
    ) -> None:
        super().__init__(input_size, num_layers, block_length=block_length, **rest)


CELL = SizedQUNN
