"""The names of the files in a run's folder; ``verification.training.loop`` says what they are."""

from __future__ import annotations

RUN, LATEST, BEST, LOG, RESULT = "run.json", "latest.safetensors", "best.safetensors", "log.csv", "result.json"
PREVIOUS = "previous.safetensors"
"""What ``LATEST`` was before: it is continued from where that is damaged or gone."""
LOCK = "run.lock"
MONITOR = "monitor.sqlite"
"""Of ``odernn train --monitor``."""
