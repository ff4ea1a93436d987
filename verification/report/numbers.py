"""How numbers are shown: three significant digits, from natural logarithms: e^{945} is 10^410.4 and never inf.

The floor of formatting: it imports nothing of the project, so whatever writes a number into a sentence may use it, as
``verification.trained`` does, which the rest of the report stands on.
"""

from __future__ import annotations

import math

from verification.verdict import LOG_10

NOT_AVAILABLE = "–"
LARGEST = 6
SMALLEST = -4
"""Powers of ten are written as such from 10^LARGEST on and below 10^SMALLEST."""


def minus(text: str) -> str:
    """A minus sign is as wide as a plus sign; the hyphen is not."""
    return text.replace("-", "−")


def size(log: float | None, digits: int = 3) -> str:
    """e^``log`` to ``digits`` significant digits: 31.1, 0.0123, 10^410.2; log = −inf is 0, None is "–".

    >>> size(945.0), size(math.log(31.1127)), size(None)
    ('10^410.4', '31.1', '–')
    """
    if log is None:
        return NOT_AVAILABLE
    if math.isnan(log) or log == math.inf:
        raise ValueError(f"{log} is the logarithm of no number that a table may show.")
    if log == -math.inf:
        return "0"
    decades = log / LOG_10
    if SMALLEST <= decades < LARGEST:
        text = _fixed(math.exp(log), digits)
        if float(text) < 10**LARGEST:  # 999 999.7 is rounded up to the next power of ten
            return text
    return minus(f"10^{decades:.{max(1, digits - 2)}f}")


def _fixed(value: float, digits: int) -> str:
    """Positional, with ``digits`` significant digits; zeros fill up to the point."""
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{round(value, digits - 1 - exponent):.{max(0, digits - 1 - exponent)}f}"


def apart(log: float, other: float, most: int = 12) -> tuple[str, str]:
    """Both sizes with as many digits, at least three, as it takes to tell them apart."""
    for digits in range(3, most + 1):
        if size(log, digits) != size(other, digits):
            return size(log, digits), size(other, digits)
    return size(log, most), size(other, most)


def decades(slack: float | None) -> str:
    """A difference of decimal logarithms: three significant digits, at most three decimals; not finite is "–".

    >>> decades(908.2684), decades(-0.2094), decades(-1e-13)
    ('908', '−0.209', '0.000')
    """
    if slack is None or slack == math.inf:
        return NOT_AVAILABLE
    if math.isnan(slack) or slack == -math.inf:
        raise ValueError(f"{slack} is no slack that a table may show.")
    places = 0 if abs(slack) >= 99.95 else 1 if abs(slack) >= 9.995 else 2 if abs(slack) >= 0.9995 else 3
    text = f"{slack:.{places}f}"
    return minus(text if float(text) else text.lstrip("-"))


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any.

    >>> clock(9.6), clock(4000)
    ('0:10', '1:06:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def plural(number: int, noun: str) -> str:
    """1 cell, 2 cells."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def count(number: int) -> str:
    """A count: exact below ten thousand, two digits beyond (4.6e5).

    >>> count(800), count(458286)
    ('800', '4.6e5')
    """
    if number < 10_000:
        return str(number)
    mantissa, _, exponent = f"{number:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
