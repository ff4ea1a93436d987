"""The system that a search or a control runs: UnICORNN, or the one that a claim brings."""

from __future__ import annotations

from verification.registry import registry_of
from verification.run.job import Job, Settings
from verification.system import UNICORNN, System


def system_of(job: Job, settings: Settings) -> System:
    """That of the claim which the job is called after, its ``owner``: a name alone may mean two systems."""
    if "owner" not in job.spec:
        return UNICORNN
    return registry_of(settings.claims_dirs).get(job.spec["owner"]).claim.system
