"""Formulas in Unicode, set as books set them: indices and exponents in MathML, italic letters. Escaped.

Statements and evidence are text: ``‖y^L_n‖ ≤ e^{ᾱT}``. A sign ``_`` or ``^`` behind a letter, a bracket or a sign of
operation begins an index or an exponent: a group in braces, a number, a few letters. It and what it stands at become
one <math>, which a screen reader says as such: ``y^L_n`` is <msubsup>, and so is ``X¹_n``, whose exponent is a sign of
Unicode. Letters that stand alone are variables, but for the word "a". There is no LaTeX in them, so none is converted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from unicodedata import normalize

from markupsafe import Markup

MOST_DEEP = 6
"""Of braces in braces; what is deeper stays as it is written."""
_RAISED = "\u00b2\u00b3\u00b9\u02b0-\u02ff\u1d2c-\u1d6a\u2070-\u209c"
"""Letters and digits that Unicode has as indices and exponents: ᵀ, ⁿ, ₀."""
_OPPOSITE = {
    "_": re.compile("[\u00b2\u00b3\u00b9\u02b0-\u02ff\u1d2c-\u1d61\u2070-\u207f]+$"),
    "^": re.compile("[\u1d62-\u1d6a\u2080-\u209c]+$"),
}
"""Exponents of Unicode before the sign of an index, indices before that of an exponent."""
_LETTER = rf"(?![{_RAISED}])[^\W\d_][\u0300-\u036f]*"
_BASE = re.compile(rf"(?:(?:{_LETTER})+|[)\]}}|‖⟩′″*∂∏ΣΠ∫⁺⁻⋅·\d…])$")
_DIGITS = re.compile(r"\d[\d.]*$")
_LONG_BASES = frozenset(("max", "min", "sup", "inf", "lim", "limsup", "liminf", "log", "det", "argmax", "argmin"))
_NUMBER = re.compile(r"[-−+]?\d+(?:\.\d+)?")
_LETTERS = re.compile(rf"(?:{_LETTER})+\d?′*|[∞*⊤†]")
_BRACKETED = re.compile(r"\(([^()]{1,24})\)")
_WORD = re.compile(rf"(?:{_LETTER})+")
_TOKEN = re.compile(rf"(?P<word>(?:{_LETTER})+)|(?P<number>\d+(?:\.\d+)?)|(?P<sign>[^\w\s])|(?P<text>[\s\S])")
_FENCES = frozenset("()[]{}|‖⟨⟩")
"""Signs that grow with what they enclose, unless they are told not to."""
_DIFFERENTIALS = frozenset(("dt", "dx", "dy", "dz", "dw", "dX", "dE", "dL", "dT"))
_ARTICLES = frozenset("aA")
_BLANKS = re.compile(r"\s+|\S+")
NEAR = 24
"""Letters before an index in which what it stands at is looked for."""
LONGEST_UNBROKEN = 40
"""Letters of a formula that stays on one line."""
LONGEST_INDEX, LONGEST_BASE = 5, 2
"""Letters; in a name as ``hidden_size`` there is no index."""


@dataclass(frozen=True)
class TextSpan:
    """A part of a text, which says what its letters are."""

    text: str
    begin: int
    end: int

    def __str__(self) -> str:
        return self.text[self.begin : self.end]


@dataclass(frozen=True)
class Scripted:
    """Something with an index below, an exponent above, or both; ``()`` is none."""

    base: TextSpan
    below: tuple[TextSpan | Scripted, ...] = ()
    above: tuple[TextSpan | Scripted, ...] = ()


Nodes = Sequence[TextSpan | Scripted]


def typeset(text: str) -> Markup:
    """The text as HTML, safe whatever it holds: every part of it is escaped below."""
    parts: list[str] = []
    for is_blank, run in groupby(_pieces(_parsed(str(text), 0)), _is_blank):
        nodes = list(run)
        html = "".join(
            f"<math>{_scripted(node)}</math>" if isinstance(node, Scripted) else _italic(node) for node in nodes
        )
        is_formula = not is_blank and len(nodes) > 1 and sum(map(_length, nodes)) <= LONGEST_UNBROKEN
        parts.append(f'<span class="f">{html}</span>' if is_formula else html)
    return Markup("".join(parts))


def _pieces(nodes: Nodes) -> Iterator[TextSpan | Scripted]:
    """The same with text cut at its blanks: lines may break there, and not before an index."""
    for node in nodes:
        if isinstance(node, Scripted):
            yield node
        else:
            found = _BLANKS.finditer(node.text, node.begin, node.end)
            yield from (TextSpan(node.text, *match.span()) for match in found)


def _is_blank(node: TextSpan | Scripted) -> bool:
    return isinstance(node, TextSpan) and str(node).isspace()


def _length(node: TextSpan | Scripted) -> int:
    if isinstance(node, TextSpan):
        return node.end - node.begin
    return sum(map(_length, (node.base, *node.below, *node.above)))


# --- what is an index


def _parsed(text: str, depth: int) -> tuple[TextSpan | Scripted, ...]:
    nodes: list[TextSpan | Scripted] = []
    plain = at = 0
    while at < len(text):
        follows = bool(nodes) and isinstance(nodes[-1], Scripted) and plain == at
        if text[at] in "_^" and (longest := LONGEST_INDEX if follows else _longest(_apart(text, plain, at)[0])):
            found = _script(text, at, depth, longest)
            if found is not None:
                inner, end = found
                nodes[len(nodes) - follows :] = _with_script(text, plain, at, nodes[-1] if follows else None, inner)
                plain = at = end
                continue
        at += 1
    return (*nodes, TextSpan(text, plain, len(text))) if plain < len(text) else tuple(nodes)


def _with_script(
    text: str, plain: int, at: int, before: TextSpan | Scripted | None, inner: tuple[TextSpan | Scripted, ...]
) -> list[TextSpan | Scripted]:
    """What stands before the sign at ``at``, with its index or exponent; ``before`` has one of its own already."""
    below, above = (inner, ()) if text[at] == "_" else ((), inner)
    if isinstance(before, Scripted):
        if (below and before.below) or (above and before.above):
            return [before, Scripted(TextSpan(text, at, at), below, above)]
        return [Scripted(before.base, below or before.below, above or before.above)]
    near, opposite = _apart(text, plain, at)
    end = at - len(opposite)
    if opposite:
        shown = normalize("NFKC", opposite)
        side = (TextSpan(shown, 0, len(shown)),)
        below, above = below or side, above or side
    base = _DIGITS.search(near) or _BASE.search(near)
    begin = end - len(base[0]) if base is not None else end
    return [
        *([TextSpan(text, plain, begin)] if plain < begin else []),
        Scripted(TextSpan(text, begin, end), below, above),
    ]


def _apart(text: str, plain: int, at: int) -> tuple[str, str]:
    """What stands near before the sign at ``at``, and the letters of Unicode on its end that are on the other side:
    of ``dX¹_n`` "dX" and "¹".
    """
    near = text[max(plain, at - NEAR) : at]
    found = _OPPOSITE[text[at]].search(near)
    if found is None or not _BASE.search(near[: found.start()]):
        return near, ""
    return near[: found.start()], found[0]


def _longest(before: str) -> int:
    """How many letters an index or exponent behind this text may have; 0: there is none."""
    base = _BASE.search(before)
    if base is None:
        return 0
    letters = re.sub(r"[\u0300-\u036f]", "", base[0])
    return LONGEST_INDEX if len(letters) <= LONGEST_BASE else 2 * (letters in _LONG_BASES)


def _script(text: str, at: int, depth: int, longest: int) -> tuple[tuple[TextSpan | Scripted, ...], int] | None:
    """The index or exponent that begins here, and where it ends."""
    begin = at + 1
    if text[begin : begin + 1] == "{":
        end = _closing(text, begin)
        if end is None or depth >= MOST_DEEP or end == begin + 1:
            return None
        return _parsed(text[begin + 1 : end], depth + 1), end + 1
    bracketed = _BRACKETED.match(text, begin) if text[at] == "^" and depth < MOST_DEEP else None
    if bracketed is not None:
        return _parsed(bracketed[1], depth + 1), bracketed.end()
    match = _NUMBER.match(text, begin) or _LETTERS.match(text, begin)
    if match is None or (len(match[0]) > longest and not match[0][-1].isdigit()):
        return None
    inner = match[0].replace("-", "−")
    return (TextSpan(inner, 0, len(inner)),), match.end()


def _closing(text: str, at: int) -> int | None:
    """The brace that closes the one here; None if there is none near."""
    open_ = 0
    for place in range(at, min(len(text), at + 200)):
        open_ += {"{": 1, "}": -1}.get(text[place], 0)
        if open_ == 0:
            return place
    return None


# --- how it is written


def _scripted(node: Scripted) -> str:
    """One element of MathML."""
    inner = [_row(side) for side in (node.below, node.above) if side]
    tag = "msubsup" if len(inner) == 2 else "msub" if node.below else "msup"
    return f"<{tag}>{_row((node.base,))}{''.join(inner)}</{tag}>"


def _row(nodes: Nodes) -> str:
    """Elements of MathML as one."""
    found = [each for node in nodes for each in ([_scripted(node)] if isinstance(node, Scripted) else _tokens(node))]
    return found[0] if len(found) == 1 else f"<mrow>{''.join(found)}</mrow>"


def _tokens(span: TextSpan) -> list[str]:
    """Variables, numbers, words and signs of a formula."""
    found = []
    for token in _TOKEN.finditer(span.text, span.begin, span.end):
        shown = escape(token[0])
        if token.lastgroup == "word" and (_is_variable(span.text, token) or _is_index(span)):
            found += [f"<mi>{escape(letter)}</mi>" for letter in re.findall(_LETTER, token[0])]
        elif token.lastgroup == "number":
            found.append(f"<mn>{shown}</mn>")
        elif token.lastgroup == "sign":
            found.append(f'<mo stretchy="false">{shown}</mo>' if token[0] in _FENCES else f"<mo>{shown}</mo>")
        else:
            found.append(f"<mtext>{shown.replace(' ', chr(0xA0))}</mtext>")
    return found


def _is_index(span: TextSpan) -> bool:
    """Whether it is a whole index of one letter, or of two that count: ij."""
    letters = re.sub(r"[\u0300-\u036f]", "", str(span)) if (span.begin, span.end) == (0, len(span.text)) else ""
    return (len(letters) == 1 and letters.isalpha()) or (len(letters) == 2 and set(letters) <= set("ijklmnpqrst"))


def _italic(span: TextSpan) -> str:
    """Text, escaped, with its variables in italics."""
    parts = []
    at = span.begin
    for word in _WORD.finditer(span.text, span.begin, span.end):
        parts.append(escape(span.text[at : word.start()]))
        shown = escape(word[0])
        parts.append(f"<i>{shown}</i>" if _is_variable(span.text, word) else shown)
        at = word.end()
    return "".join([*parts, escape(span.text[at : span.end])])


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
