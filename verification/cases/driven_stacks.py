"""Stacks of one neuron a layer, driven by a constant or a periodic input: where they are drawn from, and their text."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from verification.adversary import chaos
from verification.cases.related import Small
from verification.certify.divergence import Stack
from verification.claim import Parameters
from verification.exact_text import number, numbers, rational, rationals
from verification.kinds import Constant, Listed, Rational
from verification.parameters import Declaration, Parameter, declared

EPS = Fraction(1, 10**20)
"""By which the first inputs of two orbits differ."""
LEAST_STEPS, MOST_INPUTS = 100, 64
LARGEST = 20
SEARCH_STEPS = 2000
"""Of the orbits that are searched, and the most that a check runs."""


@dataclass(frozen=True)
class Region:
    """Where a statement is meant to hold: the number of layers, w in the open interval, constant input or any."""

    where: chaos.StackRange


FREE = Region(chaos.StackRange(1, (-20, 0), (0.01, 10), 3, (2, 3, 5, 8)))
UNIT = Region(chaos.StackRange(1, (0, 1), (0.01, 1), 12, (3, 6, 12, 25)))
TWO_CONSTANT = Region(chaos.StackRange(2, (-15, 8), (0.1, 10), 2, ()))
TWO_CONSTANT_UNIT = Region(chaos.StackRange(2, (0, 1), (0.01, 1), 2, ()))
AT_REST = Region(chaos.StackRange(1, (-20, 0), (0.01, 10), 3, ()))


def written(stack: Stack, steps: int) -> Parameters:
    """What ``read`` reads: the stack, by how much x_1 differs, and the steps."""
    return {
        "alpha": rational(stack.alpha),
        "w": rationals(stack.w),
        "h": rationals(stack.h),
        "V": rationals(stack.V),
        "b": rationals(stack.b),
        "input": rationals(stack.input),
        "eps": rational(EPS),
        "steps": str(steps),
    }


def read(parameters: Parameters) -> tuple[Stack, Fraction, int]:
    """The stack, by how much x_1 differs, and the steps."""
    rows = (tuple(numbers(parameters, name)) for name in ("w", "h", "V", "b", "input"))
    return Stack(number(parameters, "alpha"), *rows), number(parameters, "eps"), int(parameters["steps"])


def stacks(region: Region, *, at_rest: bool = False) -> Declaration:
    """Stacks of the region; ``at_rest``: with zero input and bias."""
    L, zero = region.where.layers, Constant(Fraction(0))
    low, high = region.where.w
    weight = Rational(above=0, below=Fraction(high)) if low == 0 else Rational(least=-LARGEST, most=LARGEST)
    value = zero if at_rest else Rational(least=-LARGEST, most=LARGEST)
    inputs = (1, 1) if at_rest or region.where.is_constant else (1, MOST_INPUTS)
    return declared(
        Parameter("alpha", Rational(least=0, most=LARGEST)),
        Parameter("w", Listed(weight, L), order="a number a layer"),
        Parameter("h", Listed(Rational(above=0, below=1), L), order="a number a layer"),
        Parameter("V", Listed(Rational(least=-LARGEST, most=LARGEST), L), order="a number a layer"),
        Parameter("b", Listed(value, L), order="a number a layer"),
        Parameter("input", Listed(value, inputs), order="a number a step, again and again"),
        Parameter("eps", Rational(above=0, most=1)),
        Parameter("steps", Small(LEAST_STEPS, SEARCH_STEPS)),
        is_costly=True,
    )
