"""``odernn table``: the table of the run begun last, from the store alone."""

from __future__ import annotations

from pathlib import Path

from verification.commands.results import chosen, latest
from verification.commands.terminal import DONE, note, out
from verification.report import renderer, rows
from verification.store import Store


def run(*, store: Path, format: str, full: bool, claims: tuple[str, ...]) -> int:
    render = renderer(format)
    with Store(store, writable=False) as opened:
        results = latest(opened)
    facts = results.facts
    if facts.judged != facts.planned:
        note(
            f"odernn: the run is incomplete, {facts.judged} of {facts.planned} cells are judged. "
            f"`odernn verify` with the options of that run and --store {store} does the rest."
        )
    shown = chosen(results.judgements, claims)
    out(render(rows.table(shown, facts, full=full, among=results.judgements)))
    return DONE
