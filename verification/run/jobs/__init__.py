"""The kinds of jobs, a module each with ``perform(job, settings, results)``: what a worker runs.

Three kinds are searched and measured first: ``measure`` (a row's own network on real and on worst in-range input),
``search`` (the adversaries at one point and layer) and ``control``. ``judge`` turns their results into judgements;
``case`` asks one that has a check of its own. A key holds the closure of its kind's module, so none imports another's.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verification.run.job import Job, Result, Settings
    from verification.run.store import Results


KINDS = ("measure", "search", "control", "judge", "case")


def perform(job: Job, settings: Settings, results: Path | Results | None = None) -> Result:
    """In a worker: run one job. ``results`` are those of the jobs that it needs, or the store that holds them.

    FloatError where arithmetic is not IEEE 754's, before it or after it.
    """
    import torch

    from verification.run import arithmetic

    torch.set_num_threads(1)
    with _opened(results) as finished, arithmetic.held():
        result: Result = _module(job).perform(job, settings, finished)
    return result


def errors(job: Job, settings: Settings, because: str) -> Any:
    """What a job leaves that failed: ``{"error": …}``, or the cells of its table with the verdict ``error``."""
    make = vars(_module(job)).get("errors")
    return {"error": because} if make is None else make(job, settings, because).data


def _module(job: Job) -> ModuleType:
    if job.kind not in KINDS:
        raise ValueError(f'Unknown kind of job "{job.kind}". There are: {", ".join(KINDS)}.')
    return importlib.import_module(f"{__name__}.{job.kind}")


def _opened(results: Path | Results | None) -> AbstractContextManager[Results | None]:
    from verification.run.store import Store

    return Store(results, writable=False) if isinstance(results, Path) else nullcontext(results)
