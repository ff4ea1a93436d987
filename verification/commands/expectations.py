"""``odernn expectations``: the verdicts of a run, with the witnesses of its refutations, as a file for ``--expect``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from odernn import foreign
from odernn.foreign import ForeignError
from verification.commands.options import STORE, Action, ClaimOption, StoreOption
from verification.commands.results import chosen, latest
from verification.commands.terminal import DONE, UsageError, harmless, out
from verification.report.rows import claims as rows
from verification.run.store import Store
from verification.verdict import PRECEDENCE

FORM = 'expected {"<claim> | <domain> | layer <k> | <quantity>": "<verdict>" or {"verdict": …, "witness": …}}'


def command(store: StoreOption = STORE, claim: ClaimOption = None) -> Action:
    """Print the latest run as a file for --expect: every verdict, and the witness of every refutation."""
    return Action(lambda: run(store=store, claims=tuple(claim or ())))


def run(*, store: Path, claims: tuple[str, ...]) -> int:
    with Store(store, writable=False) as opened:
        results = latest(opened)
    facts = results.facts
    if facts.judged != facts.planned:
        raise UsageError(
            f"The run is incomplete, {facts.judged} of {facts.planned} cells are judged: what it lacks would not be "
            "expected. Finish it: the same `odernn verify` again."
        )
    shown = chosen(results.judgements, claims)
    expected: dict[str, Any] = {}
    for (cell, verdict), judgement in zip(rows.verdicts(shown).items(), shown, strict=True):
        witness = {"witness": json.loads(judgement.witness)} if judgement.witness else {}
        expected[cell] = {"verdict": verdict, **witness} if witness else verdict
    lines = (
        f"{json.dumps(cell, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
        for cell, value in expected.items()
    )
    out("{\n" + ",\n".join(lines) + "\n}\n")
    return DONE


def read(path: Path) -> dict[str, str]:
    """{cell: verdict} of such a file; witnesses are not looked at. Raises UsageError, which names what is wrong."""
    try:
        expected = foreign.read_json(path, typed=True)
    except (OSError, ForeignError) as error:
        raise UsageError(
            f'--expect "{path}": cannot be read ({harmless(foreign.said(error))}). Check the path; '
            "`odernn expectations` writes such files."
        ) from None
    if not isinstance(expected, dict):
        raise UsageError(f'--expect "{path}": {FORM}.')
    verdicts: dict[str, Any] = {
        cell: value.get("verdict") if isinstance(value, dict) else value for cell, value in expected.items()
    }
    if not all(isinstance(value, str) for value in verdicts.values()):
        raise UsageError(f'--expect "{path}": {FORM}.')
    if unknown := sorted(set(verdicts.values()) - set(PRECEDENCE)):
        said = foreign.short(harmless(unknown[0]), 60)
        raise UsageError(f'--expect "{path}": "{said}" is no verdict. Known: {", ".join(PRECEDENCE)}.')
    return verdicts
