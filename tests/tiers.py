"""Which of many cases belong to the fast tier: ``spread`` keeps a few, the full tier (`make test-full`) has all.

docs/testing.md says what belongs where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def spread(cases: Iterable[Any], fast: int) -> list[Any]:
    """The cases in their order; all but ``fast`` of them, the first, the last and some between, are marked slow."""
    everything = list(cases)
    last = len(everything) - 1
    kept = {round(k * last / max(1, fast - 1)) for k in range(fast)}
    return [case if k in kept else slow(case) for k, case in enumerate(everything)]


def only(cases: Iterable[Any], *fast: Any) -> list[Any]:
    """The cases in their order; all but the named ones are marked slow."""
    everything = list(cases)
    unknown = [case for case in fast if case not in everything]
    assert not unknown, f"no such cases: {unknown}"
    return [case if case in fast else slow(case) for case in everything]


def without(cases: Iterable[Any], *long: Any) -> list[Any]:
    """The cases in their order; the named ones, which take seconds and are further ones of a kind, are marked slow."""
    everything = list(cases)
    unknown = [case for case in long if case not in everything]
    assert not unknown, f"no such cases: {unknown}"
    return [slow(case) if case in long else case for case in everything]


def where(cases: Iterable[Any], is_long: Callable[[Any], bool]) -> list[Any]:
    """The cases in their order; those of which ``is_long`` says so are marked slow, beside those that are."""
    return [slow(case) if not hasattr(case, "marks") and is_long(case) else case for case in cases]


def slow(case: Any) -> Any:
    """One case, in the full tier only."""
    if hasattr(case, "marks"):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, pytest.mark.slow))
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
