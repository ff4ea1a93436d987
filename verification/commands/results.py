"""What a store says about its latest run, as reports need it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import odernn
from verification.claim import slug
from verification.commands.terminal import UsageError
from verification.report.rows import claims as rows
from verification.report.rows.claims import Facts
from verification.run.execute import judgements_of
from verification.run.store import Store
from verification.verdict import Judgement


@dataclass(frozen=True)
class JudgedRun:
    """The judgements that a run's table is made of, and what its caption says."""

    judgements: tuple[Judgement, ...]
    facts: Facts


def latest(store: Store) -> JudgedRun:
    """The run begun last, as far as it is judged."""
    settings, keys, _ = store.latest_run()
    judged = store.has(keys)
    done = [key for key in keys if key in judged]
    facts = Facts(
        version=str(settings.get("version", odernn.__version__)),
        budget=str(settings.get("budget", "")),
        seed=int(settings.get("seed", 0)),
        sources=_sources(store, done),
        shares=_shares(store, done),
        claims_dirs=tuple(settings.get("claims_dirs", ())),
        judged=len(done),
        planned=len(keys),
    )
    return JudgedRun(tuple(judgements_of(store, done)), facts)


def _sources(store: Store, keys: Sequence[str]) -> tuple[str, ...]:
    """The real input that the judged cells were compared with, each source once."""
    measured = {need for key in keys for need in store.spec(key).get("needs", {}).get("data", ())}
    sources = {str(store.data(key).get("source", "")) for key in store.has(measured)}
    return tuple(sorted(sources - {""}))


def _shares(store: Store, keys: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """(adversary, the smallest share of the known optimum that it reached in the controls of the judged cells)."""
    needed = {need for key in keys for need in store.spec(key).get("needs", {}).get("control", ())}
    smallest: dict[str, float] = {}
    for key in sorted(store.has(needed)):
        for report in store.data(key)["reports"]:
            for adversary, share in report["shares"].items():
                smallest[adversary] = min(share, smallest.get(adversary, share))
    return tuple(sorted(smallest.items()))


def chosen(judgements: Sequence[Judgement], claims: Sequence[str]) -> list[Judgement]:
    """Those about the named claims (ids or slugs), in their own order; all if none is named."""
    known = {slug(judgement.claim): judgement.claim for judgement in judgements}
    for name in claims:
        if slug(name) not in known:
            near = difflib.get_close_matches(slug(name), known, n=1, cutoff=0.0)
            hint = f' Did you mean "{known[near[0]]}"?' if near else ""
            raise UsageError(f'The store has no claim "{name}".{hint} It has: {", ".join(known.values())}.')
    wanted = {known[slug(name)] for name in claims} or set(known.values())
    return [judgement for judgement in judgements if judgement.claim in wanted]


def witnesses_beside(store: Path) -> Path:
    """The default folder of witnesses."""
    return store.parent / "witnesses"


def write_witnesses(judgements: Sequence[Judgement], folder: Path, *, alone: bool = False) -> None:
    """A file in the folder for every refutation; UsageError if it cannot be written.

    ``alone``: witnesses of other runs that are there are removed, so that the folder holds those of this run.
    """
    refuting = [judgement for judgement in judgements if judgement.witness]
    if not refuting and not alone:
        return
    from verification.witness.file import from_json, write

    names = rows.witness_names(judgements)
    try:
        for path in _other_witnesses(folder, set(names.values())) if alone else ():
            path.unlink()
        for judgement in refuting:
            write(from_json(judgement.witness), folder / names[rows.key_of(judgement)])
    except OSError as error:
        raise UsageError(
            f'Witnesses folder "{folder}" cannot be written: {error.strerror or error}. Nothing is lost: choose '
            "another with --witnesses and run the same command again."
        ) from None


def _other_witnesses(folder: Path, names: set[str]) -> list[Path]:
    """Files with a witness, and the inputs beside them, that have none of the names."""
    from verification.witness.file import FORMAT

    others = [path for path in sorted(folder.glob("*.json")) if path.name not in names]
    found = [path for path in others if f'"format": "{FORMAT}"' in path.read_text("utf-8", errors="replace")[:200]]
    beside = [path.with_suffix(".safetensors") for path in found]
    return [*found, *(path for path in beside if path.is_file())]
