"""Formulas that are written in Unicode, set as books set them: indices, exponents, italic letters. Escaped.

Statements and evidence are text: ``‖y^L_n‖ ≤ e^{ᾱT}``. A sign ``_`` or ``^`` behind a letter, a bracket or a sign of
operation begins an index or an exponent: a group in braces, a number, a few letters. Letters that stand alone are
variables, but for the word "a". There is no LaTeX in them, so none is converted.
"""

from __future__ import annotations

import re
from html import escape

from markupsafe import Markup

MOST_DEEP = 6
"""Of braces in braces; what is deeper stays as it is written."""
_RAISED = "\u00b2\u00b3\u00b9\u02b0-\u02ff\u1d2c-\u1d6a\u2070-\u209c"
"""Letters and digits that Unicode has as indices and exponents: ᵀ, ⁿ, ₀."""
_LETTER = rf"(?![{_RAISED}])[^\W\d_][\u0300-\u036f]*"
_BASE = re.compile(rf"(?:(?:{_LETTER})+|[)\]}}|‖⟩′″*∂∏ΣΠ∫⁺⁻⋅·\d…])$")
_LONG_BASES = frozenset(("max", "min", "sup", "inf", "lim", "limsup", "liminf", "log", "det", "argmax", "argmin"))
_NUMBER = re.compile(r"[-−+]?\d+(?:\.\d+)?")
_LETTERS = re.compile(rf"(?:{_LETTER})+\d?′*|[∞*⊤†]")
_BRACKETED = re.compile(r"\(([^()]{1,24})\)")
_WORD = re.compile(rf"(?:{_LETTER})+")
_DIFFERENTIALS = frozenset(("dt", "dx", "dy", "dz", "dw", "dX", "dE", "dL", "dT"))
_ARTICLES = frozenset("aA")
LONGEST_INDEX, LONGEST_BASE = 5, 2
"""Letters; in a name as ``hidden_size`` there is no index."""


def typeset(text: str) -> Markup:
    """The text as HTML, safe whatever it holds."""
    return Markup(_set(str(text), 0))  # every part of it is escaped below


def _set(text: str, depth: int) -> str:
    parts: list[str] = []
    plain = 0
    at = 0
    after_script = False
    while at < len(text):
        if text[at] in "_^" and (longest := LONGEST_INDEX if after_script else _longest(text[plain:at])):
            found = _script(text, at, depth, longest)
            if found is not None:
                html, end = found
                parts += [_italic(text, plain, at), html]
                plain = at = end
                after_script = True
                continue
        after_script = False
        at += 1
    return "".join([*parts, _italic(text, plain, len(text))])


def _longest(before: str) -> int:
    """How many letters an index or exponent behind this text may have; 0: there is none."""
    base = _BASE.search(before[-24:])
    if base is None:
        return 0
    letters = re.sub(r"[\u0300-\u036f]", "", base[0])
    return LONGEST_INDEX if len(letters) <= LONGEST_BASE else 2 * (letters in _LONG_BASES)


def _script(text: str, at: int, depth: int, longest: int) -> tuple[str, int] | None:
    """The index or exponent that begins here, as HTML, and where it ends."""
    tag = "sub" if text[at] == "_" else "sup"
    begin = at + 1
    if text[begin : begin + 1] == "{":
        end = _closing(text, begin)
        if end is None or depth >= MOST_DEEP:
            return None
        return f"<{tag}>{_set(text[begin + 1 : end], depth + 1)}</{tag}>", end + 1
    bracketed = _BRACKETED.match(text, begin) if tag == "sup" and depth < MOST_DEEP else None
    if bracketed is not None:
        return f"<{tag}>{_set(bracketed[1], depth + 1)}</{tag}>", bracketed.end()
    match = _NUMBER.match(text, begin) or _LETTERS.match(text, begin)
    if match is None or (len(match[0]) > longest and not match[0][-1].isdigit()):
        return None
    inner = match[0].replace("-", "−")
    return f"<{tag}>{_index(inner)}</{tag}>", match.end()


def _index(inner: str) -> str:
    letters = re.sub(r"[\u0300-\u036f]", "", inner)
    if (len(letters) == 1 and letters.isalpha()) or (len(letters) == 2 and set(letters) <= set("ijklmnpqrst")):
        return f"<i>{escape(inner)}</i>"
    return _italic(inner, 0, len(inner))


def _closing(text: str, at: int) -> int | None:
    """The brace that closes the one here; None if there is none near."""
    open_ = 0
    for place in range(at, min(len(text), at + 200)):
        open_ += {"{": 1, "}": -1}.get(text[place], 0)
        if open_ == 0:
            return place
    return None


def _italic(text: str, begin: int, end: int) -> str:
    """That part of the text, escaped, with its variables in italics."""
    parts = []
    at = begin
    for word in _WORD.finditer(text, begin, end):
        parts.append(escape(text[at : word.start()]))
        shown = escape(word[0])
        parts.append(f"<i>{shown}</i>" if _is_variable(text, word) else shown)
        at = word.end()
    return "".join([*parts, escape(text[at:end])])


def _is_variable(text: str, word: re.Match[str]) -> bool:
    letters = re.sub(r"[\u0300-\u036f]", "", word[0])
    before, after = text[: word.start()][-2:], text[word.end() :][:2]
    if letters in _DIFFERENTIALS or (len(letters) == 2 and letters[0] == "d" and before[-1:] == "/"):
        return True
    if len(letters) in (2, 3) and re.search("[α-ω\u1f00-\u1fff]", letters):
        return True  # βt is a product
    if len(letters) != 1 or letters in "IΣΠΔΓΦΘΛΨΩ" or before[-1:] in ("'", "’", "."):
        return False
    if (
        re.match(r"[-.]\w", after)
        or re.search(r"\w-$", before)
        or (after[:1] in tuple("0123456789") and letters.isascii())
    ):
        return False  # A-stable, e.g., C.1, y2
    if letters in "eE" and before[-1:].isdigit() and re.match(r"[-−+]?\d", after):
        return False  # 2e-5
    if letters in _ARTICLES:
        return not re.match(r" (?:[^\W\d_]{2}|$)", text[word.end() :][:3] + " ") or before[-1:] not in ("", " ", "(")
    return True
