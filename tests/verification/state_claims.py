"""Bounds on states for tests: made of parts, and others with something changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from odernn.published.sources import Source
from verification.claim import Claim, Part, StateBound


def planted(*parts: Part, **options: Any) -> Claim:
    """The claim of these parts; ``options`` are those of ``StateBound``."""
    return Claim("planted", Source("planted", ""), "", "real", state_bound=StateBound(parts, **options))


def with_bound(claim: Claim, **changes: Any) -> Claim:
    """The claim with another bound on states."""
    return replace(claim, state_bound=replace(claim.bound, **changes))
