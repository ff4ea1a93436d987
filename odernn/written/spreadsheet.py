"""A cell of a CSV file that a spreadsheet shows as it is written, and does not compute.

CSV has no types: a text that begins with = + - or @ is a formula to the programs that open it. Numbers, exact ones
too, are left as they are.
"""

from __future__ import annotations

import re

_BEGINS = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:/\d+)?|[+-]?(?:inf|nan)"
_NUMBERS = re.compile(rf"(?:{_NUMBER})(?:; (?:{_NUMBER}))*")


def cell(text: str) -> str:
    """The text, behind an apostrophe where it would be a formula.

    >>> [cell(text) for text in ("=1+1", "-1/40", "-2.5e-3", "-1; 2", "-x", "h₁")]
    ["'=1+1", '-1/40', '-2.5e-3', '-1; 2', "'-x", 'h₁']
    """
    return f"'{text}" if text.startswith(_BEGINS) and not _NUMBERS.fullmatch(text) else text
