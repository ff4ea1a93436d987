"""Monitors for anybody's training loop: bounds, gradients over time and margins of recurrent layers while they learn.

    monitor.py        BoundMonitor: hooks, steps, records, warnings
    calls.py          what is kept of a call, and how it is made again
    unrolled.py       any cell, step by step, and ∂E/∂X_n of all n; torch_modules.py: LSTM, GRU, RNN
    oscillators.py    UnICORNN: the same in closed form, products of Jacobians, the inverse
    quantities.py     what is measured on states and derivatives, with bounds; weights.py: on weights alone
    measurement.py    a row

docs/monitors.md says what is measured, and how to read it.
"""

from __future__ import annotations

from verification.monitors.measurement import Measurement
from verification.monitors.monitor import BoundMonitor
from verification.monitors.warned import BoundViolation, MonitorWarning, NonFiniteState

__all__ = ["BoundMonitor", "BoundViolation", "Measurement", "MonitorWarning", "NonFiniteState"]
