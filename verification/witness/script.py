"""A witness as a short standalone script: both sides of the inequality again, in numpy, fractions and mpmath alone.

The script of a claim is a template, ``verification/scripts/<slug>.py``: a complete program about one witness, that of
its statements ``CASE = …`` and ``P = …``. Of another witness these two are replaced, and nothing else. A template
whose docstring ends in "Cases: <pattern>" is for the cases that have a match of it; the program lacks that line.
"""

from __future__ import annotations

import ast
import re
from itertools import groupby
from pathlib import Path
from pprint import pformat
from typing import Any

from odernn import __version__
from verification.claim import slug
from verification.witness.file import Witness, plain_parameters
from verification.witness.text import WitnessError

FOLDER = Path(__file__).parents[1] / "scripts"
WIDTH = 120
LONG, FEW = 12 * WIDTH, 32
"""Characters from which on a text of few different words is written as one number, and how many words are few."""
RECORDED = ("steps", "log_measured", "log_bound", "limit")
"""Of a run on states: what was found, which the script computes itself, and what carries it to every smaller dt."""
_CASES = re.compile(r"^Cases: (.*)$\n?", re.MULTILINE)
"""What a template says to ``template_of``, and no reader of the program needs."""


def script_of(witness: Witness, source: str = f"odernn {__version__}") -> str:
    """The program, which says what ``source`` it has. WitnessError if no template is about the witness's case."""
    case = f"{witness.domain} | {witness.quantity}"
    template = template_of(witness.claim, case)
    if template is None:
        raise WitnessError(f"no script is written for {witness.claim}, {case}. `odernn witness verify` decides it.")
    needs = f'"""  # a witness of {source}; Python with numpy and mpmath runs it\n'
    recorded = () if isinstance(witness.parameters, dict) else RECORDED
    values = {"CASE": case, "P": {k: v for k, v in plain_parameters(witness).items() if k not in recorded}}
    return _CASES.sub("", replaced(template.read_text("utf-8"), values), count=1).replace('"""\n', needs, 1)


def template_of(claim: str, case: str) -> Path | None:
    """The template that is about the case of the claim; None if there is none."""
    stem = slug(claim).replace("-", "_")
    for path in sorted([*FOLDER.glob(f"{stem}.py"), *FOLDER.glob(f"{stem}__*.py")]):
        about = _CASES.search(ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")
        if about is None or re.search(about[1], case):
            return path
    return None


def replaced(template: str, values: dict[str, Any]) -> str:
    """The template with other right sides of the statements ``name = …`` at its top level."""
    lines = template.split("\n")
    for statement in reversed(ast.parse(template).body):
        if not isinstance(statement, ast.Assign) or not isinstance(target := statement.targets[0], ast.Name):
            continue
        if target.id in values:
            text = f"{target.id} = {_packed(values[target.id], len(target.id) + 3)}"
            lines[statement.lineno - 1 : statement.end_lineno] = text.split("\n")
    return "\n".join(lines)


def _packed(value: Any, indent: int) -> str:
    """The value as Python, as many entries in a line as fit."""
    if isinstance(value, str) and len(repr(value)) > WIDTH - indent - 2:
        short = _repeating(value)
        if (not short or len(short) > 3 * WIDTH) and (numbered := _numbered(value, indent)):
            return numbered
        if short:
            return short
    if len(repr(value)) <= WIDTH - indent - 2 or not isinstance(value, (dict, list)):
        return pformat(value, width=WIDTH - indent).replace("\n", f"\n{' ' * indent}")
    items: list[str] = []
    for entry in value.items() if isinstance(value, dict) else value:
        name, part = (f"{entry[0]!r}: ", entry[1]) if isinstance(value, dict) else ("", entry)
        items.append(name + _packed(part, indent + 1 + len(name)))
    text, end = "", indent
    for item in items:
        if text and ("\n" in item or end + len(item) + 3 > WIDTH):
            text, end = f"{text}\n{' ' * (indent + 1)}", indent
        text += f"{item}, "
        end = indent + 1 + len(text.rpartition("\n")[2].strip())
    brackets = "{}" if isinstance(value, dict) else "[]"
    return "\n".join(line.rstrip() for line in (brackets[0] + text.rstrip(", ") + brackets[1]).split("\n"))


def _repeating(text: str) -> str:
    """``" ".join(["1"] * 85 + ["-1"] * 85)`` for a text of few different words, one after the other; "" for others."""
    runs = [(word, len(list(same))) for word, same in groupby(text.split(" "))]
    parts = " + ".join(f"[{word!r}] * {count}" for word, count in runs)
    return f'" ".join({parts})' if len(runs) < len(text.split(" ")) // 4 else ""


def _numbered(text: str, indent: int) -> str:
    """``" ".join("0 7".split()[int("2k3v", 32) // 2**i % 2] for i in range(20))`` for a long text of few words."""
    words = text.split(" ")
    known = list(dict.fromkeys(words))
    if len(text) < LONG or not 1 < len(known) <= FEW or " ".join(known).split() != known:
        return ""
    number = sum(known.index(word) * len(known) ** place for place, word in enumerate(words))
    digits = ""
    while number:
        number, digit = divmod(number, 32)
        digits = "0123456789abcdefghijklmnopqrstuv"[digit] + digits
    room = WIDTH - indent - 4
    lines = "".join(f'\n{" " * indent}"{digits[at : at + room]}"' for at in range(0, len(digits), room))
    ending = f", 32) // {len(known)}**i % {len(known)}] for i in range({len(words)}))"
    apart = f"\n{' ' * indent}" if len(lines) - lines.rfind("\n") + len(ending) > WIDTH else ""
    return f'" ".join({" ".join(known)!r}.split()[int({lines}{apart}{ending}'
