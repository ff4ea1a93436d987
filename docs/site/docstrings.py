"""Docstrings of this project as reStructuredText: prose and formulas stay what they are, whatever signs they use.

The project's docstrings are plain text with ``code`` in backticks, formulas full of ``|``, ``*``, ``_``, and columns.
Read as reStructuredText, "|y| ≤ F" is a substitution and "h_0" a link. Here every block is told by its shape: text, a
list, a session of the interpreter, or, where it is indented or laid out in columns, a block that keeps its line breaks.
"""

from __future__ import annotations

import re

CODE = re.compile(r"``(.+?)``|`([^`\s][^`]*)`")
NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(\))?")
EMPHASIS = re.compile(r"(?<![\w*])(\*\*?)(\w[\w ,.-]*\w|\w)\1(?![\w*])")
ITEM = re.compile(r"(?:[-*•]|\d+\.) ")
COLUMNS = re.compile(r"\S {3,}\S")
ROW = re.compile(r"(\S+(?: \S+)*?) {2,}(\S.*)")
TERM = re.compile(r"[\w.*]+(?:\([^)]*\))?(?: -> \S+)?(?:, [\w.*]+)*")


def restructured(lines: list[str]) -> list[str]:
    """A docstring, its common indentation taken off, as lines of reStructuredText."""
    made: list[str] = []
    for block in _blocks(lines):
        made += [*_block(block), ""]
    return made


def _blocks(lines: list[str]) -> list[list[str]]:
    """What empty lines separate, and what a change from prose to an indented line separates."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if not line.strip() or _begins_apart(blocks[-1], line):
            blocks.append([])
        if line.strip():
            blocks[-1].append(line.rstrip())
    return [block for block in blocks if block]


def _begins_apart(block: list[str], line: str) -> bool:
    """Whether a line begins another block: not where it goes on with an item or with the text of a column."""
    if not block or ITEM.match(block[0]):
        return False
    indented = line.startswith("    ")
    if indented != block[0].startswith("    "):
        return not ((indented and ROW.match(block[-1])) or block[-1].startswith("    "))
    return False


def _block(block: list[str]) -> list[str]:
    """One block by its shape."""
    if block[0].lstrip().startswith(">>>"):
        return [".. code-block:: pycon", "", *(f"    {line.strip()}" for line in block)]
    if rows := _rows(block):
        return _definitions(rows)
    if block[0].startswith("    "):
        return ["::", "", *(f"    {line}" for line in block)]
    if len(block) > 1 and any(COLUMNS.search(line.strip()) for line in block):
        return ["::", "", *(f"    {line}" for line in block)]
    if ITEM.match(block[0]):
        return _list(block)
    starts = [number for number, line in enumerate(block) if ITEM.match(line)]
    if starts:
        return [*_prose(block[: starts[0]]), "", *_list(block[starts[0] :])]
    return _prose(block)


def _rows(block: list[str]) -> list[tuple[str, list[str]]]:
    """Names and what they mean, where a block is two columns; else nothing. A name may be several, or a call."""
    margin = len(block[0]) - len(block[0].lstrip())
    rows: list[tuple[str, list[str]]] = []
    for line in (line[margin:] for line in block):
        row = ROW.match(line)
        if row and TERM.fullmatch(row[1]):
            rows.append((row[1], [row[2]]))
        elif rows and line.startswith("  "):
            rows[-1][1].append(line)
        else:
            return []
    return rows


def _definitions(rows: list[tuple[str, list[str]]]) -> list[str]:
    made = []
    for term, text in rows:
        made += [f"``{term}``", *(f"    {line}" for line in _prose(text)), ""]
    return made


def _list(block: list[str]) -> list[str]:
    """Items, each with the lines that go on with it, indented as its text."""
    items: list[list[str]] = []
    for line in block:
        if ITEM.match(line):
            items.append([line])
        else:
            items[-1].append(line.strip())
    made = []
    for item in items:
        head = ITEM.match(item[0])
        assert head
        text = _prose([item[0][head.end() :], *item[1:]])
        mark = "- " if head[0][0] in "-*•" else head[0]
        made += [mark + text[0], *(" " * len(mark) + line for line in text[1:])]
    return made


def _prose(block: list[str]) -> list[str]:
    """Text in which only code and emphasis mean anything."""
    text, made, end = "\n".join(re.sub(r" {3,}", " · ", line.strip()) for line in block), [], 0
    for match in CODE.finditer(text):
        made += [_text(text[end : match.start()]), _code(match[1] or match[2])]
        end = match.end()
    lines = "".join([*made, _text(text[end:])]).split("\n")
    return ["\\" + line if re.match(r"[-=~^+#:.>]|\w+[.)] |\(\w+\) ", line) else line for line in lines]


def _code(code: str) -> str:
    """A name becomes a link where the site has it; anything else stays code. Apart from the signs next to it."""
    code = " ".join(code.split())
    return rf"\ :py:obj:`{code}`\ " if NAME.fullmatch(code) else rf"\ ``{code}``\ "


def _text(text: str) -> str:
    """Text without any markup but emphasis."""
    made, end = [], 0
    for match in EMPHASIS.finditer(text):
        made += [_escaped(text[end : match.start()]), rf"\ {match[0]}\ "]
        end = match.end()
    return "".join([*made, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return re.sub(r"([\\*|_`])", r"\\\1", text)
