"""The pinned verdicts: of a deep run, each refutation with its witness. What is pinned must replay, and be complete.

    make verify BUDGET=deep ARGS="--expect tests/verification/pins.json"       compares a run with them
    odernn expectations --store STORE > tests/verification/pins.json           writes them anew

Nothing but this folder knows them: no code path leads from a claim's id to its verdict.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tiers import slow
from verification import verdict
from verification.commands import expectations, witness
from verification.registry import Registry

PINS = Path(__file__).with_name("pins.json")
PINNED: dict[str, Any] = json.loads(PINS.read_text(encoding="utf-8"))
WITNESSES = {cell: pin["witness"] for cell, pin in PINNED.items() if isinstance(pin, dict)}
EVERY = 12
"""One in so many witnesses is replayed by the fast tests, all of them by the slow ones."""
LONG = {
    "icml-C.1 | free | layer 1 | momentum",
    "icml-C.1 | free | layer 3 | position",
    "both-2.3-mem-vs-fast | layer after layer, in parallel over time | live floats against N b d + L b m",
}
"""Of those, what only the slow tests replay: runs of many steps. Another of icml-C.1 is in the tests of witnesses."""


def replays(found: Any, folder: Path) -> bool:
    path = folder / "witness.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    return witness.verify(path, claims_dirs=(), limit=0) == 0


def test_every_statement_is_pinned_and_every_pin_is_of_a_statement():
    registry = Registry(())
    known = set(registry.ids())
    assert {cell.split(" | ")[0] for cell in PINNED} == known


def test_pins_are_expectations_and_refutations_come_with_witnesses():
    verdicts = expectations.read(PINS)
    assert {cell for cell, found in verdicts.items() if found == verdict.REFUTED} == set(WITNESSES)
    assert not set(verdicts.values()) & {verdict.SUSPECT, verdict.INCONCLUSIVE, verdict.ERROR}


@pytest.mark.parametrize("cell", [slow(each) if each in LONG else each for each in sorted(WITNESSES)[::EVERY]])
def test_a_pinned_witness_replays(cell: str, tmp_path: Path):
    assert WITNESSES[cell]["claim"] == cell.split(" | ")[0]
    assert replays(WITNESSES[cell], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("cell", sorted(WITNESSES))
def test_every_pinned_witness_replays(cell: str, tmp_path: Path):
    assert replays(WITNESSES[cell], tmp_path)


def test_a_witness_of_another_statement_does_not_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A witness that names a true statement of the same form is turned away."""
    cell = next(cell for cell in WITNESSES if cell.startswith("icml-C.1 "))
    assert not replays({**WITNESSES[cell], "claim": "thm-S"}, tmp_path)
    capsys.readouterr()
