"""Keys of jobs: the hash of all that fixes a result, so that equal keys mean equal results and no other do.

A key holds the job's parameters, budget and seed; the source text of its import closure (``verification.run.closure``):
the module of its kind, with whatever it runs, measures, certifies and judges by, and the file of its claim; the
versions of the packages that the closure imports; and the data files that it reads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import odernn
from verification.run.closure import Closure, closure, name_of
from verification.run.job import Job


class Keys:
    """The keys of the jobs of one plan: every closure is found and read once."""

    def __init__(self, read: Callable[[Path], bytes] = Path.read_bytes) -> None:
        self._read = read
        self._closures: dict[tuple[str, Path | None], Closure] = {}
        self._digests: dict[Closure, str] = {}

    def job(
        self, spec: dict[str, Any], claim_file: Path | None = None, needs: tuple[str, ...] = (), *, data: str = ""
    ) -> Job:
        """The job of a spec with its key.

        claim_file   that of the claim that it asks about or whose system it runs
        needs        the keys of the jobs whose results it reads
        data         the digest of the data files that it reads
        """
        return Job(self._key(spec, claim_file, data), spec, needs)

    def _key(self, spec: dict[str, Any], claim_file: Path | None, data: str) -> str:
        if "device" in spec:
            spec = spec | {"device": spec["device"].partition(":")[0]}
        place = spec["kind"], claim_file
        if place not in self._closures:
            self._closures[place] = closure_of(*place)
        sources = self._closures[place]
        if sources not in self._digests:
            self._digests[sources] = sources.digest(self._read)
        facts = {
            "spec": spec,
            "version": odernn.__version__,
            "source": self._digests[sources],
            "dtype": "float64",
            "with": sources.versions(),
            "data": data,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def closure_of(kind: str, claim_file: Path | None = None) -> Closure:
    """All files that a job of this kind rests on; of a claim outside this library, its folder, too."""
    if claim_file is None or name_of(claim_file) != str(claim_file):
        return _closure(kind, claim_file)
    return closure(f"verification.run.jobs.{kind}", folder=claim_file.parent)


@cache
def _closure(kind: str, claim_file: Path | None) -> Closure:
    return closure(f"verification.run.jobs.{kind}", *filter(None, [claim_file]))
