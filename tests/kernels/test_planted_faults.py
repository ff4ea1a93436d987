"""Faults that are planted in the kernels are noticed: the record of all of them, and some anew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.kernels import planting
from tests.kernels.faults import FAULTS, Fault

CHECKOUT = Path(__file__).resolve().parents[2]
RECORD = CHECKOUT / "benchmarks" / "results" / "kernel_faults.json"


def test_every_fault_can_be_planted_and_is_in_the_record() -> None:
    assert [fault.what for fault in FAULTS] == list(json.loads(RECORD.read_text("utf-8"))["faults"])
    assert len({fault.what for fault in FAULTS}) == len(FAULTS) >= 30
    for fault in FAULTS:
        assert planting.faulty_text(fault) != (planting.ROOT / fault.file).read_text("utf-8")


def test_all_but_those_that_are_explained_are_noticed() -> None:
    found = json.loads(RECORD.read_text("utf-8"))["faults"]
    for fault in FAULTS:
        assert (found[fault.what]["noticed_by"] is None) == bool(fault.explained), fault.what
        assert found[fault.what].get("explained", "") == fault.explained
    assert sum(each["noticed_by"] is not None for each in found.values()) >= 28


def test_a_fault_whose_text_is_gone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"kernels/scan\.cu has 'no such text' 0 times and not once"):
        planting.faulty_text(replace(FAULTS[0], file="kernels/scan.cu", right="no such text"))


def noticed(fault: Fault) -> bool:
    """By the tests that are named for it, in a process of their own."""
    files = [f"tests/kernels/{name}.py" for name in fault.tests]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.kernels.planting", "-x", "-q", "-m", "not slow", *files],
        cwd=CHECKOUT,
        env={**os.environ, "ODERNN_FAULT": fault.what},
        capture_output=True,
        text=True,
    )
    return "1 failed" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("what", ["what a sum lost", "one row of cotangents is said"])
def test_one_of_each_language_is_noticed_anew(compiler: None, what: str) -> None:
    assert noticed(next(fault for fault in FAULTS if fault.what.startswith(what)))
