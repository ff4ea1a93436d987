"""The best instance of every adversary for both quantities at one point and layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from verification.adversary.portfolio import find
from verification.domains import point_from_plain
from verification.instance import to_plain
from verification.measure.hidden_state import envelope, run_chains
from verification.registry import system_of
from verification.run.job import Job, Result, Settings
from verification.system import System


def perform(job: Job, settings: Settings, _: Any = None) -> Result:
    """With the system that the specification names."""
    return search(job.spec, system_of(job.spec.get("owner"), settings.claims_dirs))


def search(spec: dict[str, Any], system: System) -> Result:
    """Arrays hold |quantity| of one neuron over n, by the number of the entry in ``data["found"]``."""
    device = torch.device(spec.get("device", "cpu"))
    point = point_from_plain(spec["point"])
    entries, arrays = [], {}
    found = find(system, point, spec["layer"], spec["budget"], device)
    y, z = run_chains(system, [best.instance for best in found], spec["layer"], device)
    for number, best in enumerate(found):
        values = (y if best.quantity == "position" else z)[:, number, None, None]
        arrays[str(number)] = envelope(values, "max").cpu().numpy()
        entries.append(
            {
                "adversary": best.adversary,
                "quantity": best.quantity,
                "evaluations": best.evaluations,
                "finite": best.finite and bool(np.isfinite(arrays[str(number)]).all()),
                "instance": to_plain(best.instance),
            }
        )
    return Result({"found": entries}, arrays)
