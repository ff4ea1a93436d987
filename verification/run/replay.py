"""A witness file on trial: read strictly, then checked in a process of its own, with limits of time and memory.

Whatever a file holds, this process goes on: a check that takes too long, or too much memory, or ends its process, is
an answer, "undecided", and not a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from verification.registry import Registry
from verification.run import engine
from verification.run.limits import Limits
from verification.witness.check import check
from verification.witness.file import Witness

LIMIT_S = 300.0
"""The longest check of a witness that any budget writes takes a tenth of it."""
MEMORY = 2**30
"""Bytes that the process of a check may hold."""


@dataclass(frozen=True)
class Replayed:
    """What came of it: certified or not, None if it was not decided within the limits; and every sentence.

    ``refused`` says why there was nothing to decide: parameters that are not of the case, a claim that is not known.
    """

    certified: bool | None
    lines: tuple[str, ...] = ()
    refused: str = ""


def replay(witness: Witness, claims_dirs: tuple[Path, ...] = (), limit_s: float = LIMIT_S) -> Replayed:
    """The witness checked again. ``limit_s`` = 0 sets no limits and uses this process.

    Errors of a check say why nothing is certified; they do not come out.
    """
    jobs = [("witness", (witness, claims_dirs, MEMORY if limit_s else 0))]
    (finished,) = engine.run(_checked, jobs, workers=1 if limit_s else 0, limits=Limits(limit_s or None))
    if finished.error:
        within = f"undecided within {limit_s:g} s and {MEMORY / 2**30:g} GiB: {finished.error}"
        return Replayed(None, (within if limit_s else finished.error,))
    replayed: Replayed = finished.value
    return replayed


def _checked(witness: Witness, claims_dirs: tuple[Path, ...], memory: int) -> Replayed:
    if memory:
        _hold_at_most(memory)
    registry = Registry(claims_dirs)
    try:
        outcome = check(witness, registry)
        return Replayed(outcome.certified, outcome.lines)
    except MemoryError:
        raise
    except Exception as error:  # any numbers may be given: whatever a check makes of them, it proves nothing
        return Replayed(False, refused=str(error) or type(error).__name__)


def _hold_at_most(memory: int) -> None:
    """More than this many bytes of data end in a MemoryError or end the process; where the system can do it."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
