"""docs/gpu.md says what the records hold, and the records hold that every check was made."""

from __future__ import annotations

import pytest

from device import page


def test_the_page_is_that_of_the_records() -> None:
    assert page.PAGE.read_text("utf-8") == page.page()


@pytest.mark.parametrize("name", page.records())
def test_a_record_has_times_only_beside_checks_that_hold(name: str) -> None:
    parts = page.records()[name]["parts"]
    groups = [each for each in parts["correctness"]["found"].values() if isinstance(each, dict)]
    assert groups and all(each["holds"] for each in groups)
    assert all(check["holds"] for each in groups for check in each["checks"])
    assert not any("although" in part for part in parts.values())


def test_a_record_without_the_sanitizer_says_so() -> None:
    (record,) = [each for name, each in page.records().items() if "h100" in name]
    parts = {name: part for name, part in record["parts"].items() if name != "sanitizer"}
    without = "\n".join(page._checks(parts))
    assert "compute-sanitizer: not run over these kernels." in without
    found = {"memcheck, scan": {"holds": True}, "memcheck, all": {"holds": False}}
    beside = "\n".join(page._checks({**parts, "sanitizer": {"found": found}}))
    assert "not run" not in beside and "memcheck, scan: clean." in beside and "memcheck, all: **not clean**." in beside
