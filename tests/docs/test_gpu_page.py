"""docs/gpu.md says what the records hold, and the records hold that every check was made."""

from __future__ import annotations

import pytest

from device import page, suite


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


THEN = {
    "sources": "0123",
    "commit": "abcdef0123456789",
    "files": {"build.py": "1", "direct.py": "2", "kernels/scan.cu": "3"},
}


@pytest.mark.parametrize(
    ("today", "says"),
    [
        ({}, "Nothing of them has changed since."),
        (
            {"direct.py": "9"},
            "host code only (direct.py); kernels unchanged.\nChecks and times are of the sources then",
        ),
        ({"direct.py": None, "new.py": "4"}, "host code only (direct.py, new.py); kernels unchanged.\n"),
        (
            {"kernels/scan.cu": "9"},
            "Changed since: kernels (kernels/scan.cu).\nChecks and times are of the sources then",
        ),
        ({"kernels/new.cu": "9"}, "Changed since: kernels (kernels/new.cu)."),
        ({"kernels/scan.cu": None, "direct.py": "9"}, "kernels (kernels/scan.cu); host code (direct.py)."),
        ({"build.py": "9"}, "Changed since: kernels (build.py)."),
        ({"catalogue.py": "9", "launches.py": "9"}, "kernels (catalogue.py); host code (launches.py)."),
    ],
)
def test_the_page_says_what_has_changed_since_a_record(today: dict[str, str | None], says: str) -> None:
    now = {name: digest for name, digest in (THEN["files"] | today).items() if digest is not None}  # type: ignore[operator]
    text = "\n".join(page.since(THEN, now))
    assert text.startswith("Measured of the sources 0123, commit abcdef012345.\n") and says in text
    assert "stand" not in text
    assert ("kernels unchanged" in text) == (set(today) <= {"direct.py", "new.py"} and bool(today))


def test_a_record_names_the_files_that_its_sources_are() -> None:
    assert suite.digests().keys() == suite.files().keys() and len(suite.sources()) == 24
    assert {"kernels/scan.cu", "build.py", "direct.py"} <= suite.digests().keys()
    for record in page.records().values():
        assert (record["files"] == suite.digests()) == (record["sources"] == suite.sources())


def test_what_a_launch_costs_in_which_thread_is_on_the_page() -> None:
    assert not list(page._threads({}))
    found = {"PyCUDA; one": {"wall": 325.4, "launch": 14.0}, "PyCUDA; autograd's": {"wall": 740.0, "launch": 40.0}}
    text = "\n".join(page._threads({"threads": {"found": found}}))
    assert "| PyCUDA; autograd's | 740" in text and "325" in text and "| wall" in text
