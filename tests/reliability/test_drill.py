"""The record of the drill: written after each part, gone on with, and of one code alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from tests.reliability import drill
from tests.reliability.faults import CAUGHT, SILENT, Image
from verification.run.store import Store

IN_A_PART = 12


class Here(Executor):
    """A pool without processes."""

    def __init__(self, _: int) -> None:
        pass

    def submit(self, call: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(call(*arguments, **options))
        return future


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Store(tmp_path / "made.sqlite", writable=True) as store:
        store.put_measurements("a run", 1, [("1", "size", "b", 0.5, 1, None, 1, 1.5, True, "time", b"12")])
    images = [Image("small", (tmp_path / "made.sqlite").read_bytes())]
    monkeypatch.setattr(drill, "small_images", lambda: images)
    monkeypatch.setattr(drill, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(drill, "heads_mended", lambda image: {"read": 1})


def drilled(path: Path, faults: int, *more: str) -> dict[str, Any]:
    options: Sequence[str] = ["--faults", str(faults), "--part", str(IN_A_PART), "--into", str(path), *more]
    assert drill.main(options) == 0
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def counted(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "seconds"}


def test_a_drill_that_is_gone_on_with_is_the_one_that_was_not_interrupted(tmp_path: Path) -> None:
    whole = drilled(tmp_path / "whole.json", 3 * IN_A_PART)
    for parts in (1, 2, 2, 3):
        halves = drilled(tmp_path / "halves.json", parts * IN_A_PART)
        assert halves["parts"] == parts and halves["faults"] == parts * IN_A_PART
    assert counted(halves) == counted(whole) and whole["outcomes"][CAUGHT] > 0
    assert sum(whole["outcomes"].values()) == whole["faults"]
    assert sum(number for *_, number in whole["stores"]["small"]["counts"]) == whole["faults"]


def test_faults_of_another_code_or_seed_are_not_counted_with_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.json"
    drilled(path, 2 * IN_A_PART)
    assert drilled(path, IN_A_PART, "--seed", "1")["parts"] == 1
    monkeypatch.setattr(drill, "CODE", [path])
    assert drilled(path, IN_A_PART, "--seed", "1")["parts"] == 1


def test_a_fault_that_nobody_notices_fails_the_drill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "part", Store._rows)
    monkeypatch.setattr(Store, "check_whole", lambda store: None)
    monkeypatch.setattr(Store, "measurements", lambda store: store.all("SELECT * FROM measurements", ()))
    path = tmp_path / "record.json"
    assert drill.main(["--faults", "800", "--part", "800", "--into", str(path)]) == 1
    record = json.loads(path.read_text())
    assert record["outcomes"][SILENT] == len(record["unnoticed"]) > 0
