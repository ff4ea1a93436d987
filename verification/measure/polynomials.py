"""Polynomials with rational coefficients: their variables and coefficients."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint


def variables(*names: str) -> tuple[Any, ...]:
    """Polynomial variables of these names, with rational coefficients, in this order."""
    return tuple(flint.fmpq_mpoly_ctx.get(names, flint.Ordering.lex).gens())


def coefficient(factor: Fraction | int) -> Any:
    """A fraction as a coefficient of polynomials and of balls."""
    return flint.fmpq(Fraction(factor).numerator, Fraction(factor).denominator)
