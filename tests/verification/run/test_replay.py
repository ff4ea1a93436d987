"""A check has limits: what hangs, grows or dies is undecided, and this process goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.tiers import slow
from verification.cli import main
from verification.commands.terminal import DONE, NOT_CERTIFIED
from verification.run.replay import replay
from verification.witness.file import Witness, read
from verification.witness.text import MAX_BYTES, WitnessError

HOSTILE = """
import os, time
from odernn.published.sources import Source
from verification.kinds import Choice
from verification.parameters import Parameter, declared
from verification.claim import Attempt, Case, Check, Opinion, Claim

WORDS = ("hang", "grow", "die", "raise", "certify", "no")


def check(texts):
    how = texts["how"]
    if how == "hang":
        time.sleep(600)
    if how == "grow":
        return [bytearray(2**24) for _ in range(2**12)]
    if how == "die":
        os._exit(7)
    if how == "raise":
        raise ZeroDivisionError("planted")
    violated = how == "certify"
    return Check((Opinion("one", violated, "left"), Opinion("two", violated, "right")))


declaration = declared(Parameter("how", Choice(WORDS)))
CASE = Case("here", "this", lambda _, __: Attempt("", 1), declaration.guards(check))
CLAIMS = (Claim("planted", Source("planted", "nowhere"), "a statement", "alg", (CASE,)),)
"""


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    folder = tmp_path / "claims"
    folder.mkdir()
    (folder / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("how", "certified", "word"),
    [
        ("certify", True, "violates"),
        slow(("no", False, "does not prove")),
        slow(("raise", False, "planted")),
        slow(("die", None, "exit code 7")),
        ("grow", None, "MemoryError"),
        slow(("hang", None, "its limit is 3 s")),
    ],
)
def test_what_comes_of_a_check(claims: Path, how: str, certified: bool | None, word: str) -> None:
    limit = 3 if how == "hang" else 120
    replayed = replay(Witness("planted", "here", "this", {"how": how}), (claims,), limit)
    assert replayed.certified is certified
    assert word in " ".join((*replayed.lines, replayed.refused))


def test_the_command_says_what_was_decided(claims: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "witness.json"
    for how, code, word in (("certify", DONE, "certified: "), ("no", NOT_CERTIFIED, "NOT certified: that ")):
        plain = {"format": "odernn-counterexample", "version": 1, "claim": "planted", "domain": "here"}
        path.write_text(json.dumps(plain | {"quantity": "this", "parameters": {"how": how}}), encoding="utf-8")
        assert main(["witness", "verify", str(path), "--claims", str(claims), "--limit", "0"]) == code
        assert f"\n{word}planted is violated: this, here\n" in capsys.readouterr().out
    path.write_text(path.read_text().replace('"no"', '"else"'), encoding="utf-8")
    assert main(["witness", "verify", str(path), "--claims", str(claims), "--limit", "0"]) == NOT_CERTIFIED
    assert 'Parameter "how" is "else": it is one of hang, grow' in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
def test_a_pipe_and_a_device_are_refused_unread(tmp_path: Path) -> None:
    pipe = tmp_path / "witness.json"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(WitnessError, match="is a device, a pipe or a folder"):
            read(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"format": "odernn-counterexample", "format": "x"}', "the key 'format' is given twice"),
        ('{"a": NaN}', "NaN is no number"),
        ("[" * 10**5, "not JSON"),
        ('{"n": 1' + "0" * 10**4 + "}", "not JSON"),
        ("null", "expected an object"),
    ],
)
def test_text_that_is_not_strict_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "witness.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(WitnessError, match=reason):
        read(path)


def test_a_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "witness.json"
    path.write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(WitnessError, match="more than"):
        read(path)
