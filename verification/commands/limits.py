"""What ``odernn verify`` lets a job take, and the plan that is made within it."""

from __future__ import annotations

from dataclasses import replace

from verification.commands.terminal import UsageError
from verification.registry import Registry
from verification.run.job import Settings
from verification.run.limits import GIB, MOST_MEMORY, MOST_SECONDS, Limits, TimeUp, time_up
from verification.run.plan import Plan, plan
from verification.run.printed import descriptor_apart


def of_jobs(budget: str, workers: int, seconds: float | None, memory: float | None, is_local: bool) -> Limits:
    """The limits as typed, ``memory`` in GiB, or generous ones. UsageError where memory cannot be held to one, and
    for limits without sense.

    What a machine of a cluster has of memory is known there.
    """
    if is_local and workers == 0 and memory is not None:
        raise UsageError(
            "--job-memory: a job that holds too much can be stopped in a process of its own only, and --jobs 0 has "
            "none. Leave out one of the two."
        )
    if seconds is not None and not seconds <= MOST_SECONDS:
        raise UsageError(f"--job-seconds {seconds:g}: is more than {MOST_SECONDS:g} s, three years. Give less.")
    if memory is not None and not memory * GIB <= MOST_MEMORY:
        raise UsageError(f"--job-memory {memory:g}: is more than {MOST_MEMORY / GIB:g} GiB. Give less.")
    limits = Limits.of(budget, workers)
    if not is_local:
        limits = replace(limits, memory=None)
    if seconds is not None:
        limits = replace(limits, seconds=seconds)
    return limits if memory is None else replace(limits, memory=int(memory * GIB))


def planned(settings: Settings, registry: Registry, limits: Limits) -> Plan:
    """The plan, for which files with claims are loaded and their premises asked, within a job's time."""
    try:
        with descriptor_apart(), time_up(limits.seconds, ends_program=True):
            return plan(settings, registry)
    except TimeUp as moment:
        raise UsageError(
            f"The plan was not made within {limits.seconds:g} s (--job-seconds): the code at {moment} was at work. If "
            "it is a file of claims that does not end, mend it or leave it out."
        ) from None
