"""Colour for a terminal: what is refuted in red, what is proved in green, headings in bold.

No word is left out for it and none is added: without the colour it is the same text, and no line is longer. A verdict
is coloured where it stands as one, in a column of verdicts or before a list, not wherever its word occurs. Whether
there is colour ``terminal.is_coloured`` says; this file is imported where there is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from odernn.written.lines import room
from verification import verdict

HEADING = "bold"
STYLES = {verdict.REFUTED: "red", verdict.PROVED: "green"}

_WORD = re.compile(rf"(?:^|(?<=  )|(?<=- ))({'|'.join(STYLES)})(?=$|  | -|, )")
"""A verdict that stands alone between two columns, above one, or before what a list is about."""
_RULE = re.compile(r"-+(?: +-+)*")


@dataclass(frozen=True)
class Span:
    """Characters of a line, and how they are shown."""

    begin: int
    end: int
    style: str


def screen(lines: Sequence[str]) -> list[str]:
    """The lines of a ``Screen``, coloured."""
    return _painted(lines, [_of_screen(lines, at) for at in range(len(lines))])


def table(text: str) -> str:
    """A table in text, coloured."""
    lines = text.split("\n")
    rule = next((at for at, line in enumerate(lines) if _RULE.fullmatch(line)), None)
    spans: list[list[Span]] = [[] for _ in lines]
    if rule is not None:
        head = max((at for at in range(rule) if not lines[at]), default=-1) + 1
        titles = [at for at in range(head) if lines[at]][-1:]
        for at in (*titles, *range(head, rule)):
            spans[at] = [Span(0, len(lines[at]), HEADING)]
        for begin, until in _verdict_columns(lines[head : rule + 1]):
            before = ""
            for at in (at for at in range(rule + 1, len(lines)) if _is_row(lines[at], lines[rule])):
                first, last = _places(lines[at], begin), _places(lines[at], until)
                cell = lines[at][first:last].strip()
                word = re.match(rf"({'|'.join(STYLES)})\b", cell)
                if word is not None and not before.endswith(("not-", "note:")):
                    spans[at].append(Span(first, first + len(word[1]), STYLES[word[1]]))
                before = cell
    return "\n".join(_painted(lines, spans))


def _of_screen(lines: Sequence[str], at: int) -> list[Span]:
    """Headings: the first line, what a list is under, the heads of columns down to "paper"; and verdicts."""
    line, below = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
    heads_a_list = line[:1].strip() != "" and below.startswith("  ")
    rest = lines[at : next((end for end in range(at, len(lines)) if not lines[end]), len(lines))]
    heads_columns = line != "" and any(each.startswith("paper ") for each in rest)
    spans = [Span(0, len(line), HEADING)] if at == 0 or heads_a_list or heads_columns else []
    for word in _WORD.finditer(line):
        above = lines[at - 1] if at else ""
        if "not-" not in above[max(word.start() - 1, 0) : word.end() + 1]:  # "not-" above "refuted" is one head
            spans.append(Span(word.start(), word.end(), STYLES[word[1]]))
    return spans


def _is_row(line: str, rule: str) -> bool:
    """Whether a line has blanks between all columns, as rows have, and prose below them has not."""
    between = [_places(line, match.start()) for match in re.finditer(" ", rule)]
    return all(line[at : at + 1] in ("", " ") for at in between)


def _verdict_columns(head: Sequence[str]) -> list[tuple[int, int]]:
    """Where the columns of that name are, in characters that take room: from the rule under the heads of all."""
    *names, rule = head
    places = [match.span() for match in re.finditer("-+", rule)]
    return [(begin, end) for begin, end in places if any(name[begin:end].strip() == "verdict" for name in names)]


def _places(line: str, column: int) -> int:
    """The index of the character in that column of the terminal."""
    taken = 0
    for index, character in enumerate(line):
        if taken == column and room(character):
            return index
        taken += room(character)
    return len(line)


def _painted(lines: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[str]:
    """Each line with what a terminal makes these styles of."""
    from rich.color import ColorSystem
    from rich.console import Console
    from rich.text import Text

    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", no_color=False)
    done = []
    for line, of_line in zip(lines, spans, strict=True):
        text = Text(line, end="")
        for span in of_line:
            text.stylize(span.style, span.begin, span.end)
        parts = [
            part.style.render(part.text, color_system=ColorSystem.STANDARD) if part.style else part.text
            for part in text.render(console)
        ]
        done.append("".join(parts))
    return done
