"""The best that can be done without memory in the copying and the adding problem.   thm-base

Proofs: docs/derivations/baselines.md.

    copying(T)    10 log 8/(T + 20)   nats a step, the mean over all T + 20 steps
    adding        1/6                 the squared error of the constant 1

A published loss above these is no sign of memory; below, it is one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from odernn.bounds.numbers import FLOATS, Numbers
from odernn.exact.integers import positive_integer

__all__ = ["adding_squared_error", "copying_cross_entropy", "log_copying_cross_entropy"]

SYMBOLS = 10
"""How many symbols are to be recalled."""
LETTERS = 8
"""From how many letters each is drawn, uniformly and independently."""


def copying_cross_entropy(silence: int, *, numbers: Numbers = FLOATS) -> Any:
    """10 log 8/(T + 20), T = ``silence`` ≥ 1: the least mean cross entropy in nats of a predictor that sees no symbol.

    The steps are known, so T + 10 of the T + 20 targets are known; ten are uniform over eight. Whoever gives each of
    the eight 1/8 has this loss on *every* sequence. Helfrich et al. 2018, Sec. 5.1. Raises ValueError for T < 1.
    """
    positive_integer("silence", silence)
    return numbers.log(numbers.exact(LETTERS)) * numbers.exact(Fraction(SYMBOLS, silence + 2 * SYMBOLS))


def log_copying_cross_entropy(silence: int, *, numbers: Numbers = FLOATS) -> Any:
    """The natural logarithm of ``copying_cross_entropy``: a bound from below without memory.   thm-base"""
    return numbers.log(copying_cross_entropy(silence, numbers=numbers))


def adding_squared_error(prediction: Fraction | int = 1) -> Fraction:
    """E (X + Y − prediction)² = 1/6 + (prediction − 1)² for independent X, Y ~ U[0, 1], exactly.   thm-base

    1/6 at prediction = 1, the best constant. Helfrich et al. 2018, Sec. 5.2.
    """
    return Fraction(1, 6) + (Fraction(prediction) - 1) ** 2
