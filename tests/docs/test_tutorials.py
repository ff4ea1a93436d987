"""Every block of the tutorials runs, in order, and prints what stands beneath it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import tiers
from tests.docs.pages_that_run import differences, matches

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
NAMES = sorted(path.stem for path in TUTORIALS.glob("*.md"))


@pytest.mark.parametrize("name", tiers.only(NAMES, "run_the_suite"))
def test_a_tutorial_prints_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_thread: None
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(differences((TUTORIALS / f"{name}.md").read_text("utf-8"))) == []


def test_there_are_three_and_none_is_longer_than_three_screens() -> None:
    lengths = [len((TUTORIALS / f"{name}.md").read_text("utf-8").splitlines()) for name in NAMES]
    assert len(lengths) == 3 and all(60 <= length <= 120 for length in lengths)


def test_a_stale_page_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = "```python\nx = 1\nprint(x)\n```\n```text\n{}\n```\n<!-- file a.toml -->\n```toml\nb = 2\n```\n"
    assert list(differences(page.format(1))) == [] and Path("a.toml").read_text("utf-8") == "b = 2\n"
    assert [each.printed for each in differences(page.format(2))] == ["1\n"]
    assert [each.shown for each in differences("```python\nprint(1)\n```\n```console\n```\n")] == [""]
    (stale,) = differences("```console\n$ odernn --version\nodernn 7\n```\n")
    assert stale.typed == "odernn --version" and stale.shown == "odernn 7\n"
    with pytest.raises(ValueError, match="neither run nor written"):
        list(differences("```json\n{}\n```\n"))
    with pytest.raises(ValueError, match="which this does not run"):
        list(differences("```console\n$ make verify\n```\n"))
    with pytest.raises(AssertionError, match="exit code 2"):
        list(differences("```console\n$ odernn table --claim nothing\n```\n"))


def test_dots_stand_for_anything_and_nothing_else_does() -> None:
    printed = "one\ntwo 2\nthree  \nfour\n"
    assert matches("one\n…\nfour\n", printed) and matches("one\ntwo …\nthree\nfour\n", printed) and matches("…\n", "")
    assert not matches("one\n…\n", printed[3:]) and not matches("one\nfour\n", printed) and not matches("", printed)
    assert not matches("o.e\n…\n", printed)
