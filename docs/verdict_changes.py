"""Writes docs/verdict_changes.md: what became of each verdict when its meant reading was decided.

``verdicts_before.json`` has {claim: verdict} of the run before, when every case of a claim counted; the verdicts of
today come from the pins, the passages from verification/readings.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from verification.commands import expectations
from verification.readings.reading import note_to, reading_of
from verification.registry import Registry
from verification.verdict import aggregate

HERE = Path(__file__).resolve().parent
PAGE, BEFORE = HERE / "verdict_changes.md", HERE / "verdicts_before.json"
PINS = HERE.parent / "tests" / "verification" / "pins.json"
HEAD = """# What became of the verdicts

Once every case of a claim counted, and one refuted case of any reading refuted the claim. Now the *meant* reading alone
carries the verdict ([conventions.md](conventions.md)). This page has every claim whose verdict changed with that, and
the passage that decides it. Made by `python docs/verdict_changes.py` from the pins and `verification/readings`.
"""


DISSOLVED = {
    "both-69/42": ("sam-69", "icml-(42)"),
    "both-66/39": ("sam-66", "icml-(39)"),
    "both-67/40": ("sam-67", "icml-(40)"),
    "both-3.x-input": ("sam-3.2", "sam-D.2", "icml-3.1", "icml-C.2"),
}
"""Claims that joined statements of several places, and those that have their cases now."""
JOINED = """
## Claims that joined several statements

A claim is one statement of one paper. These were more; each statement has its own reading, cases and repairs now.
both-3.x-input was the part of four propositions that is about θ = V^1: no passage states it by itself, so each
proposition, which is for every θ in Θ, has its cases.
"""


def now() -> dict[str, str]:
    """{claim: verdict of the meant reading} of the pins; "note to …" of a statement that nobody claims."""
    cells: dict[str, list[str]] = {}
    for cell, verdict in expectations.read(PINS).items():
        claim, rest = cell.split(" | ", 1)
        reading = reading_of(claim)
        notes = {case for note in reading.notes for case in note.cases} if reading is not None else set()
        if rest not in notes:
            cells.setdefault(claim, []).append(verdict)
    verdicts = {claim: aggregate(cells.get(claim, ())) for claim in Registry().ids()}
    return {claim: f"note to {note_to(claim)}" if note_to(claim) else verdict for claim, verdict in verdicts.items()}


def page() -> str:
    """The page: how many changed from what to what, and a row for each."""
    before, today = json.loads(BEFORE.read_text("utf-8")), now()
    changed = [claim for claim in today if claim in before and before[claim] != today[claim]]
    kinds = Counter((before[claim], today[claim].partition(" to ")[0]) for claim in changed)
    same = sum(before.get(claim) == verdict for claim, verdict in today.items())
    lines = [
        HEAD,
        f"{len(changed)} of {len(before)} verdicts changed, {same} did not; {len(set(today) - set(before))} ",
    ]
    lines[-1] += f"claims are new, {len(set(before) - set(today))} are gone."
    lines += ["", "| before | now | claims |", "|:--|:--|--:|"]
    lines += [f"| {old} | {new} | {count} |" for (old, new), count in sorted(kinds.items())]
    lines += ["", "| claim | before | now | place | why |", "|:--|:--|:--|:--|:--|"]
    for claim in changed:
        reading = reading_of(claim)
        place, why = (reading.place, reading.because) if reading is not None else ("", "not sorted")
        row = (claim, before[claim], today[claim], place, why)
        lines.append(_row(*row))
    lines += [JOINED, "| claim | before | its statements | now | place | why |", "|:--|:--|:--|:--|:--|:--|"]
    for gone, parts in DISSOLVED.items():
        for claim in parts:
            reading = reading_of(claim)
            assert reading is not None
            lines.append(_row(gone, before[gone], claim, today[claim], reading.place, reading.because))
    return "\n".join(lines) + "\n"


def _row(*parts: str) -> str:
    return f"| {' | '.join(part.replace('|', chr(92) + '|') for part in parts)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
