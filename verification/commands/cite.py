"""``odernn cite``: a verdict of the latest run, for a bibliography and for a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verification.claim import slug
from verification.commands.options import STORE, Action, ClaimsOption, StoreOption
from verification.commands.results import latest
from verification.commands.terminal import DONE, UsageError, note, out
from verification.registry import Registry
from verification.report.rows import citation
from verification.run.store import Store


def command(
    claim: Annotated[str, typer.Argument(metavar="CLAIM", help="The id of a claim, as in: icml-C.1.")],
    store: StoreOption = STORE,
    claims_dirs: ClaimsOption = None,
) -> Action:
    """Print a BibTeX entry and a line that cite the verdict on a claim in the latest run."""
    return Action(lambda: run(claim, store=store, claims_dirs=tuple(claims_dirs or ())))


def run(name: str, *, store: Path, claims_dirs: tuple[Path, ...]) -> int:
    with Store(store, writable=False) as opened:
        results = latest(opened)
        facts = results.facts
        claim = Registry(claims_dirs or tuple(map(Path, facts.claims_dirs))).get(name).claim
        days = _days(opened, claim.id)
    if not any(judgement.claim == claim.id for judgement in results.judgements):
        raise UsageError(
            f'"{store}" has no verdict on {claim.id}: its latest run did not try it. Try it, in a store of its own: '
            f"odernn verify {claim.id} --store {slug(claim.id)}.sqlite"
        )
    if facts.judged != facts.planned:
        note(f"odernn: the run is incomplete, {facts.judged} of {facts.planned} cells are judged.")
    cited = citation.CitedClaim(claim.id, claim.statement, claim.source, max(days, default=""))
    out(f"{citation.bibtex(cited, results.judgements, facts)}\n\n{citation.line(cited, results.judgements, facts)}\n")
    return DONE


def _days(store: Store, claim: str) -> list[str]:
    """On which days the jobs that judge the claim were done."""
    rows = (store.row(key) for key in store.has(store.run().keys))
    return [row.finished[:10] for row in rows if row is not None and store.spec(row.key).get("claim") == claim]
