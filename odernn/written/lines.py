"""Lines that fit: how much room text takes in a terminal, and where it may be broken. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

APART = re.compile(r"\s{2,}")
"""Between the parts of a line that stand in columns."""
_MARKS = frozenset({"Mn", "Me", "Cf"})
_JOINTS = re.compile(r"(?<=[^\W\d]{2}-)(?=[^\W\d])")
"""Where a word may always be broken in a narrow column: after the hyphen of a compound,"""
_SEAMS = re.compile(r"(?<=[/_])|(?<=[-,;:])(?=\w)")
"""and only where it is longer than its line: in paths, names and lists."""
_SIGNS = frozenset("=−+×≤≥<>≠∈⊙≈→±")
"""Signs between whose sides a line of prose is not broken,"""
_CALL = re.compile(r"\w[(\[{][^()\[\]{}]*$")
"""and the beginning of what stands in the brackets of a name, which a line holds whole, too."""
LONGEST_FORMULA = 40
"""Characters of what is held together in prose."""


def room(text: str) -> int:
    """The columns of a terminal that the text takes: combining marks take none, wide characters two.

    >>> room("ŷ = 3"), room("y\u0302"), room("積分")
    (5, 1, 4)
    """
    return sum(
        0 if unicodedata.category(c) in _MARKS else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def padded(text: str, width: int, align: str = "left") -> str:
    space = " " * (width - room(text))
    return space + text if align == "right" else text + space


def wrapped(text: str, width: int, *, first: str = "", rest: str = "", hyphens: bool = False) -> list[str]:
    """The text in lines of ``width``, broken at blanks; ``first`` begins the first line, ``rest`` every other.

    Only a word that is longer than a line is broken inside; with ``hyphens``, for narrow columns, a compound is, too.
    A short formula, "0 < dt ≤ 1", is a word. No text, no line.

    >>> wrapped("see docs/trial.md for it", 12, first="- ", rest="  ")
    ['- see docs/', '  trial.md', '  for it']
    """
    lines: list[str] = []
    line = ""
    narrow = max(width - max(room(first), room(rest)), 1)
    for gap, word in _words(text, min(2 * narrow // 3 if hyphens else narrow, LONGEST_FORMULA)):
        for number, piece in enumerate(_pieces(word, narrow, hyphens)):
            before = gap if line and not number else ""
            if line and room((rest if lines else first) + line + before + piece) > width:
                lines.append((rest if lines else first) + line)
                line = piece
            else:
                line += before + piece
    return [*lines, (rest if lines else first) + line] if line else lines


def _words(text: str, longest: int) -> Iterator[tuple[str, str]]:
    """Words with the blanks before them; those of a formula of at most ``longest`` characters are one."""
    words = re.findall(r"(\s*)(\S+)", text)
    at = 0
    while at < len(words):
        gap, word = words[at]
        end, formula = at + 1, word
        while end < len(words) and (
            words[end][1] in {*_SIGNS, "·"} or words[end - 1][1] in _SIGNS or _CALL.search(formula)
        ):
            formula += "".join(words[end])
            end += 1
        if room(formula) > longest:
            end, formula = at + 1, word
        yield gap, formula
        at = end


def _pieces(word: str, width: int, hyphens: bool) -> Iterator[str]:
    """The parts of a word between which a line may end."""
    for part in _JOINTS.split(word) if hyphens else [word]:
        if room(part) <= width:
            yield part
            continue
        for piece in filter(None, _SEAMS.split(part)):
            yield from _cut(piece, width)


def _cut(word: str, width: int) -> Iterator[str]:
    """Marks stay with the character before them."""
    piece = ""
    for character in word:
        if piece and room(piece + character) > width:
            yield piece
            piece = ""
        piece += character
    yield piece


def strung(parts: Iterable[str], width: int, *, between: str = " · ", first: str = "", rest: str = "") -> list[str]:
    """Parts in lines, each part whole where a line has room for it, with ``between`` them.

    >>> strung(["odernn 0.1.0", "seed 0", "budget smoke"], 24, rest="  ")
    ['odernn 0.1.0 · seed 0', '  budget smoke']
    """
    lines: list[str] = []
    ends = between.rstrip() if between.strip() in (",", ";") else ""
    for part in parts:
        if lines and room(lines[-1] + between + part + ends) <= width:
            lines[-1] += between + part
            continue
        if lines:
            lines[-1] += ends
        lines += wrapped(part, width - len(ends), first=rest if lines else first, rest=f"{rest}  ")
    return lines


def labelled(line: str, width: int, label: int = 11) -> list[str]:
    """A line that begins with a label, its text in a column of its own. A command in it, which is to be copied, stays
    whole: where it has no room it has a line of its own, however long.

    >>> labelled("refuted    replay: odernn witness verify w.json", 44)
    ['refuted    replay:', '  odernn witness verify w.json']
    """
    if line[max(label - 1, 0) : label].strip():  # a longer label than the others have
        label = line.find(" ", label) + 1
    before, command, rest = line.partition("odernn witness verify ")
    parts = line[label:].split(" · ")
    if len(parts) > 1 and max(map(room, parts)) <= LONGEST_FORMULA:
        return strung(parts, width, first=line[:label], rest=" " * label)
    if not command or room(line) <= width:
        return wrapped(line[label:], width, first=line[:label], rest=" " * label) or [line]
    return [*wrapped(before[label:], width, first=before[:label], rest=" " * label), f"  {command}{rest}"]


# --- whole texts ----------------------------------------------------------------------------------------------------


def reflowed(text: str, width: int) -> list[str]:
    """A docstring or the like in lines of ``width``: what is too wide is broken, and what goes on in the next line
    moves with it; the rest stays as it is.

    A line of parts that stand apart, as formulas do, is broken between them; a part is broken at blanks only if it has
    no room in a line of its own. Text behind a word in a column of its own stays in its column.
    """
    lines: list[str] = []
    for block in _items(text.split("\n")):
        whole = all(room(line) <= width for line in block)
        lines += [line.rstrip() for line in block] if whole else _item(block, width)
    return lines


def _items(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines that go on in each other: of a paragraph, or in the column of a text behind its word."""
    block: list[str] = []
    for line in lines:
        if block and _goes_on(block[0], line):
            block.append(line)
            continue
        if block:
            yield block
        block = [line]
    if block:
        yield block


def _goes_on(first: str, line: str) -> bool:
    if not line.strip() or not first.strip() or APART.search(line.strip()):
        return False
    return _indent(line) > 0 if _column(first) else _indent(first) == _indent(line) == 0


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _column(line: str) -> int:
    """Where the text begins that stands behind a word at the margin; 0 where none does."""
    apart = re.match(r"\S.*?\s{2,}(?=\S)", line)
    return apart.end() if apart else 0


def _item(block: Sequence[str], width: int) -> list[str]:
    first = block[0]
    column = _column(first)
    if len(block) > 1 or (0 < column <= width // 2 and not _is_formula(first[:column])):
        text = " ".join([first[column:].strip(), *(line.strip() for line in block[1:])])
        rest = " " * min(column, width // 3)
        if len(block) > 1 or not APART.search(text):
            return wrapped(text, width, first=first[:column], rest=rest)
        return _parts(text, width, first[:column], rest)
    margin = " " * min(_indent(first), width // 4)
    return _parts(first.strip(), width, margin, f"{margin}    ")


def _parts(text: str, width: int, first: str, rest: str) -> list[str]:
    """Parts that stand apart, each whole where a line has room for it, a sum otherwise term by term."""
    lines: list[str] = []
    gap = "   " if "   " in text else "  "
    for part in re.split(rf"\s{{{len(gap)},}}", text):
        if lines and room(lines[-1] + gap + part) <= width:
            lines[-1] += gap + part
            continue
        begins, goes_on = (rest, f"{rest}    ") if lines else (first, rest)
        terms = _terms(part)
        if room(begins + part) > width and len(terms) > 1:
            lines += strung(terms, width, between=" ", first=begins, rest=f"{rest}    ")
        else:
            lines += wrapped(part, width, first=begins, rest=goes_on)
    return lines


def _terms(formula: str) -> list[str]:
    """Cut before the signs of a sum that stand outside all brackets."""
    depth, terms = 0, [""]
    for word in formula.split(" "):
        if depth == 0 and word in ("+", "−") and terms[-1]:
            terms.append(word)
        else:
            terms[-1] += f" {word}" if terms[-1] else word
        depth += sum(map(word.count, "([{")) - sum(map(word.count, ")]}"))
    return terms


def _is_formula(text: str) -> bool:
    return " = " in text or " : " in text
