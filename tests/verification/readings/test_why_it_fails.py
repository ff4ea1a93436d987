"""Why a refuted claim fails: said of each of them and of no other, with the numbers of the run."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from verification.claim import slug
from verification.readings.reading import all_readings
from verification.verdict import REFUTED

ROOT = Path(__file__).parents[3]
READINGS = all_readings()
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
SAID = re.compile(r"(?<![\w.^_(])(\d[\d,]*(?:\.\d+)?)(?:·10([⁰¹²³⁴⁵⁶⁷⁸⁹]+))?(?![\w…)])")
SHOWN = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


def refuted() -> set[str]:
    """The claims of whose meant cells a pin says that they are refuted."""
    found = set()
    for pin, pinned in json.loads((ROOT / "tests/verification/pins.json").read_text("utf-8")).items():
        verdict = pinned["verdict"] if isinstance(pinned, dict) else pinned
        claim, _, case = re.sub(r" \| layer \d+(?= \| )", "", pin).partition(" | ")
        if verdict == REFUTED and claim in READINGS and case in READINGS[claim].cases:
            found.add(claim)
    return found


def numbers_said(text: str) -> list[tuple[float, float]]:
    """Numbers of three digits or more, or with a power of ten: the value, and half a unit of its last digit."""
    found = []
    for digits, power in SAID.findall(text):
        plain, exponent = digits.replace(",", ""), int(power.translate(RAISED)) if power else 0
        if power or len(plain.replace(".", "").lstrip("0")) > 2:
            unit = 10.0 ** (exponent - len(plain.partition(".")[2]))
            found.append((float(plain) * 10.0**exponent, unit / 2))
    return found


def evidence_of(claim: str) -> list[float]:
    """The numbers in the meant rows of the claim's section of the ledger, their witnesses, and exponentials of them."""
    anchor = f'<a id="{slug(claim)}"></a>'
    (page,) = (text for path in (ROOT / "docs/ledger").glob("*.md") if anchor in (text := path.read_text("utf-8")))
    section = page.partition(anchor)[2].partition("<a id=")[0].partition("*Note, ")[0]
    rows = "\n".join(line for line in section.splitlines() if line.startswith(("|", "- ")))
    values = [float(number.replace(",", "")) for number in SHOWN.findall(rows)]
    return values + [math.exp(value) for value in values if value < 10]


def test_it_is_said_of_every_refuted_claim_and_of_no_other() -> None:
    fallen = refuted()
    assert len(fallen) >= 40
    assert fallen == {claim for claim, reading in READINGS.items() if reading.fails}


@pytest.mark.parametrize("claim", [claim for claim, reading in READINGS.items() if reading.fails])
def test_its_numbers_are_those_of_the_run(claim: str) -> None:
    shown = evidence_of(claim)
    for value, half in numbers_said(READINGS[claim].fails):
        assert any(abs(value - other) <= half * 1.0001 for other in shown), f"{claim}: {value:g} is in no row"


def test_a_number_that_nobody_measured_is_noticed() -> None:
    shown = evidence_of("icml-C.1")
    ((value, half),) = numbers_said("|y_n| is 198.7 at t = 10")
    assert not any(abs(value - other) <= half for other in shown)
    assert numbers_said("it is 2.0·10¹⁴, 46,157 or 0.656; at w = −17, dt = 1/10, (16), 1.2564…, S(27)") == [
        (2.0e14, 0.05e14),
        (46157.0, 0.5),
        (0.656, 0.0005),
    ]
