"""The names of the files in a run's folder; ``verification.training.loop`` says what they are."""

from __future__ import annotations

RUN, LATEST, BEST, LOG, RESULT = "run.json", "latest.safetensors", "best.safetensors", "log.csv", "result.json"
MONITOR = "monitor.sqlite"
"""Of ``odernn train --monitor``."""
