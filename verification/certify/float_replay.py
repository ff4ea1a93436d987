"""One step of (U), or of an ARNN, and its inverse in a binary format, replayed over the rationals with a rounding
written here.

Every operation is rounded once, to nearest, ties to even, with subnormal numbers, as IEEE 754 has it; tanh is rounded
correctly (Arb decides), which libraries do not promise in float32 and float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
from flint import arb, fmpq

from verification.exact_text import brief


@dataclass(frozen=True)
class Format:
    """``precision`` counts the leading bit; finite numbers are below 2^(greatest + 1), normal ones from 2^least on."""

    precision: int
    least: int
    greatest: int


FORMATS = {
    "float16": Format(11, -14, 15),
    "bfloat16": Format(8, -126, 127),
    "float32": Format(24, -126, 127),
    "float64": Format(53, -1022, 1023),
}


class RoundingError(ArithmeticError):
    """A number too large for the format, or a tanh that 4096 bits did not round."""


def rounded(value: Fraction, form: Format) -> Fraction:
    """The number of the format nearest to value, ties to even."""
    if value == 0:
        return value
    above, under = abs(value.numerator), value.denominator
    exponent = above.bit_length() - under.bit_length()
    if above << max(-exponent, 0) < under << max(exponent, 0):
        exponent -= 1  # now 2^exponent ≤ |value| < 2^(exponent + 1)
    unit = max(exponent, form.least) - form.precision + 1
    count, rest = divmod(above << max(-unit, 0), divisor := under << max(unit, 0))
    count += 2 * rest > divisor or (2 * rest == divisor and count & 1)
    if count.bit_length() + unit > form.greatest + 1:
        raise RoundingError(f"{brief(value)} overflows a format with exponents to {form.greatest}")
    return _scaled(count if value > 0 else -count, unit)


def _scaled(whole: int, exponent: int) -> Fraction:
    """whole · 2^exponent."""
    return Fraction(whole << exponent) if exponent >= 0 else Fraction(whole, 1 << -exponent)


def tanh(value: Fraction, form: Format) -> Fraction:
    """tanh, rounded correctly: both ends of an Arb enclosure round to the same number."""
    if value == 0:
        return value
    bits = 4 * form.precision
    while bits <= 4096:
        with flint.ctx.workprec(bits):
            ball = arb(fmpq(value.numerator, value.denominator)).tanh()
            ends = {rounded(_exact(end), form) for end in (ball.lower(), ball.upper())}
        if len(ends) == 1:
            return ends.pop()
        bits *= 2
    raise RoundingError(f"tanh({value}) is too near to a tie")


def _exact(end: arb) -> Fraction:
    mantissa, exponent = end.mid().man_exp()
    return _scaled(int(mantissa), int(exponent))


@dataclass(frozen=True)
class Neuron:
    """w, h, α in the format ``form``: h is the effective step."""

    w: Fraction
    h: Fraction
    alpha: Fraction
    form: Format

    def _force(self, y: Fraction, x: Fraction) -> Fraction:
        """fl(h fl(tanh(fl(fl(w y) + x)) + fl(α y)))."""
        form = self.form
        s = tanh(rounded(rounded(self.w * y, form) + x, form), form)
        return rounded(self.h * rounded(s + rounded(self.alpha * y, form), form), form)

    def step(self, state: tuple[Fraction, Fraction], x: Fraction) -> tuple[Fraction, Fraction]:
        """(y, z) at n − 1 to (y, z) at n."""
        y, z = state
        z = rounded(z - self._force(y, x), self.form)
        return rounded(y + rounded(self.h * z, self.form), self.form), z

    def unstep(self, state: tuple[Fraction, Fraction], x: Fraction) -> tuple[Fraction, Fraction]:
        """The inverse of definitions 1.3, computed in the same way."""
        y, z = state
        y = rounded(y - rounded(self.h * z, self.form), self.form)
        return y, rounded(z + self._force(y, x), self.form)


def there_and_back(
    scheme: str,
    state: Sequence[Fraction],
    eta: Fraction,
    rounding: Callable[[Fraction], Fraction],
    tanh: Callable[[Fraction], Fraction],
) -> list[Fraction]:
    """One step of an ARNN and its inverse over the rationals, every operation rounded.

    One neuron of "symplectic_euler" with the weight 1 and the state (p, q), or of "leapfrog" with W = [[0, −1], [1, 0]]
    and the state y_{l−1}, y_l, two numbers each.
    """

    def moved(x: Fraction, factor: Fraction, u: Fraction) -> Fraction:
        return rounding(x + rounding(factor * tanh(u)))

    if scheme == "symplectic_euler":
        p, q = state
        p = moved(p, -eta, q)
        q = moved(moved(q, eta, p), -eta, p)
        return [moved(p, eta, q), q]
    x0, x1, y0, y1 = state
    return [
        moved(moved(x0, 2 * eta, -y1), -2 * eta, -y1),
        moved(moved(x1, 2 * eta, y0), -2 * eta, y0),
        y0,
        y1,
    ]
