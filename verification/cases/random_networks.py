"""How large the random networks of a graph are whose executions are compared, and how many of them are drawn."""

from __future__ import annotations

SEEDS = {"smoke": 1, "standard": 20, "deep": 200}
STEPS, UNITS, INPUTS = 12, 3, 2
