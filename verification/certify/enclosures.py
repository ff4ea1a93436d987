"""Enclosures of one number by the two back-ends: if they have no point in common, one of the two is wrong."""

from __future__ import annotations

from typing import Any

from mpmath import libmp


def are_apart(ball: Any, interval: Any) -> bool:
    """Whether a finite python-flint ball and an interval of ``certify.second.intervals`` share no number: exactly.

    What is not finite encloses everything, and is apart from nothing.
    """
    if not ball.is_finite():
        return False
    low, high = (libmp.from_man_exp(*map(int, end.mid().man_exp())) for end in (ball.lower(), ball.upper()))
    a, b = (end._mpi_[0] for end in (interval.a, interval.b))
    if not all(end[1] or end == libmp.fzero for end in (a, b)):
        return False
    return bool(libmp.mpf_lt(high, a) or libmp.mpf_lt(b, low))
