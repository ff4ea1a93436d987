"""What a monitor warns of, with the measurement that it is about."""

from __future__ import annotations

from verification.monitors.measurement import Measurement


class MonitorWarning(UserWarning):
    """A monitor has something to say about a training run, which goes on."""

    def __init__(self, text: str, measurement: Measurement | None = None) -> None:
        super().__init__(text)
        self.measurement = measurement


class BoundViolation(MonitorWarning):
    """A bound, or a margin that others need, does not hold; said once for each layer and bound."""


class NonFiniteState(MonitorWarning):
    """A state is infinite or not a number; said once for each layer, with the first place in time."""
