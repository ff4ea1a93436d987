"""``odernn claims``: the statements on trial."""

from __future__ import annotations

from pathlib import Path

from odernn.references import PAPERS
from verification.claim import Claim, Registered, Registry
from verification.commands.terminal import DONE, out
from verification.report import renderer
from verification.report.table import Column, Table

COLUMNS = (
    Column("claim"),
    Column("source", width=24),
    Column("bounds", width=12),
    Column("premises", width=26),
    Column("kind"),
    Column("dominated by"),
    Column("statement", width=60),
)


def run(*, claims_dirs: tuple[Path, ...], format: str) -> int:
    render = renderer(format)
    found = list(Registry(claims_dirs))
    out(
        render(
            Table(
                title=f"{len(found)} claims",
                columns=COLUMNS,
                rows=tuple(_row(each.claim) for each in found),
                caption=(
                    "published, asymptotic: tried at the printed values and in the limit dt → 0; library: a theorem of "
                    "this library, with a proof, tried all the same.",
                    *_papers(found),
                ),
                records=tuple(_record(each) for each in found),
            )
        )
    )
    return DONE


def _kind(claim: Claim) -> str:
    return f"{claim.origin}, asymptotic" if claim.asymptotic else claim.origin


def _papers(found: list[Registered]) -> list[str]:
    """The full references of the sources' keys, in the order in which they occur."""
    keys = dict.fromkeys(each.claim.source.key for each in found)
    return [f"{key}: {PAPERS[key]}." for key in keys if key in PAPERS]


def _row(claim: Claim) -> tuple[str, ...]:
    return (
        claim.id,
        str(claim.source),
        ", ".join(part.symbol for part in claim.parts),
        "; ".join(premise.text for premise in claim.premises) or "none",
        _kind(claim),
        claim.dominated_by or "–",
        claim.statement,
    )


def _record(registered: Registered) -> dict[str, object]:
    claim = registered.claim
    return {
        "claim": claim.id,
        "slug": claim.slug,
        "source": str(claim.source),
        "statement": claim.statement,
        "parts": [f"{part.quantity}/{part.norm}" for part in claim.parts],
        "premises": [premise.text for premise in claim.premises],
        "asymptotic": claim.asymptotic,
        "origin": claim.origin,
        "system": claim.system.name,
        "dominated_by": claim.dominated_by,
        "version": claim.version,
        "file": registered.path.name,
        "sha256": registered.digest,
    }
