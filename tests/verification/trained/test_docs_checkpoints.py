"""What docs/checkpoints.md says of names, statements, verdicts and options is what the code has."""

from __future__ import annotations

import re
from pathlib import Path

from tests.verification.trained.networks import SCORNN, read, sample, saved
from verification import verdict
from verification.commands import verify
from verification.registry import Registry
from verification.trained import trial
from verification.trained.published_unicornn import NAMES, ours

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "checkpoints.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The part under that heading."""
    found: str = re.split(r"^#+ ", PAGE.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    assert found
    return found


def test_the_mapping_of_names() -> None:
    rows = re.findall(r"^\| `(\S+)` \| \(.*?\) \| `(\S+?)`", section("The published UnICORNN code"), re.MULTILINE)
    assert len(rows) == len(NAMES)
    for theirs, name in rows:
        assert ours(theirs.replace("{k}", "7")) == name.replace("{k}", "7")


def test_the_statements_of_the_rows(tmp_path: Path) -> None:
    """Every statement of a row is in the page, and every one of the page's table has a row."""
    registry, found = Registry(), sample(count=1)
    rows = trial.try_network(read(saved(tmp_path)), found, registry).rows
    named = {row.statement for row in rows} - {""}
    listed = set(
        re.findall(r"(?:icml|sam|both|thm)-[\w.()-]+(?: \([ac]\))?", section("The rows").partition("\nMargins")[0])
    )
    assert listed - {"thm-G-inf"} == named - {"thm-G-inf"} and len(named) >= 15
    (tmp_path / "network.toml").unlink()
    rows = trial.try_network(read(saved(tmp_path, SCORNN)), found, registry).rows
    for statement in {row.statement for row in rows if row.kind == "bound"}:
        assert statement in section("The rows")


def test_the_verdicts_and_the_options() -> None:
    words = set(re.findall(r"^\| ([a-z;, -]+?) \|", section("The verdicts"), re.MULTILINE)) - {"verdict"}
    listed = {word.strip() for each in words for word in each.split(";")}
    assert listed - {verdict.THEOREM_TESTED} == set(verdict.PRECEDENCE) - {verdict.ERROR} | set()
    for option in ("config", "row", "root", "sequences", "set", "checkpoint", "claims", "format", "json", "task"):
        assert f"--{option}" in PAGE
    assert verify.SEQUENCES == 8 and "8 unless given" in PAGE
