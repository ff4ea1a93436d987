"""The judgement of one case that has a check of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from verification.answer import answer, blank_of
from verification.claim import Case, Claim
from verification.domains import BUDGETS
from verification.registry import registry_of
from verification.run.job import Job, Result, Settings


def perform(job: Job, settings: Settings, _: Any = None) -> Result:
    """Ask, check what was found, judge."""
    claim, case = _asked(job, settings)
    return Result([answer(claim, case, BUDGETS[job.spec["budget"]], job.seed).to_plain()])


def errors(job: Job, settings: Settings, because: str) -> Result:
    """The cell of a case that could not be asked, with the verdict ``error``."""
    return Result([replace(blank_of(*_asked(job, settings)), because=because).to_plain()])


def _asked(job: Job, settings: Settings) -> tuple[Claim, Case]:
    claim = registry_of(settings.claims_dirs).get(job.spec["claim"]).claim
    return claim, claim.case(job.spec["domain"], job.spec["quantity"])
