"""Envelopes over n of a printed row's untrained network, every layer: key "<layer>/<quantity>/<norm>"."""

from __future__ import annotations

from typing import Any

import torch

from odernn.published.networks import row as published_row
from verification.domains import BUDGETS
from verification.measure import network
from verification.run.job import Job, Result, Settings


def perform(job: Job, settings: Settings, _: Any = None) -> Result:
    """On real input (``spec["input"]`` is "data") or on the worst input in the data's range."""
    spec, device = job.spec, torch.device(job.spec.get("device", "cpu"))
    row = published_row(spec["row"])
    if spec["input"] == "data":
        return Result(*network.on_data(row, spec["task"], settings.data, job.seed, device))
    return Result(*network.on_range(row, BUDGETS[spec["budget"]], job.seed, device))
