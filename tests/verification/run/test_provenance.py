"""Version, commit and run hash: known where they can be, and nothing of a file goes into a program unread."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import odernn
from verification.run import provenance
from verification.run.provenance import BESIDE, Provenance, beside, commit, here, of_run, parsed, record

WHOLE = Provenance("0.1.0", "0123456789ab+", "0123456789abcdef")


@pytest.mark.parametrize("source", [WHOLE, Provenance("1.0"), Provenance("1.0", "", "f" * 16), here()])
def test_words_are_read_back(source: Provenance) -> None:
    assert parsed(source.words) == source


@pytest.mark.parametrize(
    "text",
    [
        "",
        "odernn",
        'odernn 0.1.0"""\nimport os',
        "odernn 0.1.0, commit xyz",
        "odernn 0.1.0, run 12",
        f"{WHOLE.words}\nimport os",
        f"{WHOLE.words}, budget smoke",
        f" {WHOLE.words}",
    ],
)
def test_other_text_is_no_provenance_and_gets_into_no_program(text: str, tmp_path: Path) -> None:
    assert parsed(text) is None
    (tmp_path / BESIDE).write_text(f"w.json\t{text}\n", "utf-8")
    source = beside(tmp_path / "w.json")
    assert source in (here(), WHOLE) and (source == here() or text.startswith(WHOLE.words + "\n"))


def test_a_run_is_named_by_the_hash_of_its_plan() -> None:
    settings = {"version": "0.0.9", "commit": "abcdef012345"}
    assert of_run("ab" * 32, settings) == Provenance("0.0.9", "abcdef012345", "ab" * 8)
    assert of_run("checkpoint " + "cd" * 8, {}) == Provenance(odernn.__version__, "", "cd" * 8)


def test_each_witness_has_its_own_run_and_those_that_are_gone_have_none(tmp_path: Path) -> None:
    other = Provenance("0.2.0", "", "f" * 16)
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}", "utf-8")
    record(WHOLE, tmp_path, ["a.json", "b.json"])
    record(other, tmp_path, ["b.json"])
    assert [beside(tmp_path / name) for name in ("a.json", "b.json", "c.json")] == [WHOLE, other, here()]
    (tmp_path / "a.json").unlink()
    record(other, tmp_path, [])
    assert (tmp_path / BESIDE).read_text("utf-8") == f"b.json\t{other.words}\n"
    (tmp_path / BESIDE).write_bytes(b"\xff\xfe\t\n")
    assert beside(tmp_path / "b.json") == here()


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(root), *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_commit_of_a_checkout_has_a_sign_where_sources_differ(tmp_path: Path) -> None:
    assert commit(tmp_path / "nowhere") == "" and commit(tmp_path) == ""
    root = tmp_path / "checkout"
    (root / "odernn").mkdir(parents=True)
    (root / "odernn" / "a.py").write_text("1\n", "utf-8")
    git(tmp_path, "init", "-q", str(root))
    assert commit(root) == ""  # without a commit
    commit.cache_clear()
    git(root, "add", ".")
    git(root, "commit", "-qm", "a")
    hash_ = git(root, "rev-parse", "HEAD")[: provenance.DIGITS_OF_COMMIT]
    assert commit(root) == hash_
    for path, sign in (("notes.md", ""), ("odernn/b.py", "+")):
        (root / path).write_text("2\n", "utf-8")
        commit.cache_clear()
        assert commit(root) == hash_ + sign
    commit.cache_clear()


def test_without_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    commit.cache_clear()
    assert commit(tmp_path) == ""
    commit.cache_clear()
