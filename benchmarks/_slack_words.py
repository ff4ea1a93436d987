"""How docs/trained.md writes numbers, sentences and tables."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Sequence

from tabulate import tabulate

LINE = 120
"""Columns of sentences; tables have 100."""


def said(paragraphs: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for paragraph in paragraphs:
        wrapped = textwrap.wrap(paragraph, LINE, break_long_words=False, break_on_hyphens=False)
        lines += ([""] if lines else []) + wrapped
    return lines


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def factor(moved: float) -> str:
    return f"×{two_digits(10**moved)}" if abs(moved) < 3 else f"×10^{moved:.0f}".replace("-", "−")


def two_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def decades(slack: float) -> str:
    """Two digits after the point of what rounds to less than ten, none from a hundred on; ±0 has no sign."""
    if slack == -math.inf:
        return "overflow"
    size = round(abs(slack), 2)
    shown = f"{slack:.2f}" if size < 10 else f"{slack:.1f}" if round(size, 1) < 100 else f"{slack:.0f}"
    return "0.00" if shown == "-0.00" else shown.replace("-", "−")


def times(slack: float) -> str:
    """10^slack with two digits: how many times too large a bound is."""
    if slack >= 4:
        return f"10^{slack:.1f} times"
    size = 10**slack
    return f"{size:.0f} times" if size >= 9.95 else f"{size:.1f} times"


def listed(parts: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def median(values: Sequence[float]) -> str:
    return decades(statistics.median(values))


def tabulated(rows: Sequence[Sequence[str]], heads: Sequence[str], align: Sequence[str]) -> list[str]:
    text = tabulate(rows, headers=heads, tablefmt="pipe", disable_numparse=True, colalign=align)
    return [line.rstrip() for line in text.splitlines()]


def plain(number: float) -> str:
    return f"{number:.2g}".replace("-", "−")


def power(log: float | str | None) -> str:
    """10^log in two digits, as a power where it is long."""
    if log is None:
        return "overflow"
    if isinstance(log, str):
        return "0"
    return two_digits(10**log) if -3 <= log < 4 else f"10^{log:.1f}".replace("-", "−")
