"""An IntegratorRNN with a field and a method, which a configuration cannot name: a monotone field by Kutta's method."""

from __future__ import annotations

from typing import Any

from odernn import IntegratorRNN, fields, tableaus


class MonotoneKutta(IntegratorRNN):
    """``fields.Monotone``, from which states forget, by Kutta's method of order 4; dt = 1/√memory."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, *, memory: float, **rest: Any) -> None:
        field = fields.Monotone.random(hidden_size)
        super().__init__(field, tableaus.get("rk4"), memory**-0.5, input_size=input_size, num_layers=num_layers, **rest)


CELL = MonotoneKutta
