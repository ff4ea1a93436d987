"""A job: one unit of work that a worker performs and the store keeps; and what the user chose, which all jobs share."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Settings:
    """What the user chose. Not part of it: the number of workers and the store, which may not change a result.

    ``device`` is where states are searched and measured ("cpu", "cuda", "cuda:1"): roundings differ, so results made
    elsewhere than on the CPU have keys of their own, the same for every card. Seeds and drawn numbers do not depend on
    it. Cases and certificates run on the CPU.
    """

    budget: str = "smoke"
    seed: int = 0
    task: str = "digits"
    claims: tuple[str, ...] = ()
    claims_dirs: tuple[str, ...] = ()
    data: str | None = None
    device: str = "cpu"

    def to_plain(self) -> dict[str, Any]:
        return {
            "budget": self.budget,
            "seed": self.seed,
            "task": self.task,
            "claims": list(self.claims),
            "claims_dirs": list(self.claims_dirs),
            "data": self.data,
            "device": self.device,
        }


@dataclass(frozen=True)
class Job:
    """One unit of work; ``needs`` are the keys of the jobs whose results a judge job reads."""

    key: str
    spec: dict[str, Any]
    needs: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What is done: a module of ``verification.run.jobs``."""
        return str(self.spec["kind"])

    @property
    def seed(self) -> int:
        """Of everything random in the job; fixed by its spec alone, so it outlives a change of the source text.

        The two measurements of a row share theirs: real and worst in-range input meet the same network.
        """
        drawn_from = {
            name: value for name, value in self.spec.items() if name not in ("input", "task", "device", "owner")
        }
        return int(hashlib.sha256(json.dumps(drawn_from, sort_keys=True).encode()).hexdigest()[:15], 16)


@dataclass(frozen=True)
class Result:
    """What a job leaves in the store: JSON data and named float64 arrays."""

    data: Any
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
