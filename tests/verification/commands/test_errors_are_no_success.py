"""A cell that is an error is heard on stderr and in the exit code; stdout has results, whatever a claim prints."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.tiers import slow
from verification.cli import main
from verification.commands.terminal import DONE, FAILED, USAGE
from verification.run import execute
from verification.run.printed import MARK, apart

Verify: TypeAlias = "Callable[..., Done]"

CLAIM = """# Claims: own.case
import os, sys
from odernn.published.sources import Source
from verification.claim import Attempt, Case, Claim

print("hello from the file")

def ask(budget, seed):
    print("hello from the job")
    print("no end of line", end="")
    {ask}
    return Attempt("tried", 1, proof="by hand", twice="by nobody")

CASES = (Case("free", "size", ask),)
CLAIMS = (Claim("own.case", Source("own", "nowhere"), "…", "alg", cases=CASES),)
"""


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def verify(capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """``odernn verify`` of a claim that asks so."""

    def run(ask: str, *options: str, head: str = "") -> Done:
        Path("claims").mkdir(exist_ok=True)
        text = CLAIM.replace("{ask}", ask).replace("import os", f"{head}\nimport os", 1)
        Path("claims/own.py").write_text(text)
        Path("odernn.sqlite").unlink(missing_ok=True)
        code = main(["verify", "own.case", "--claims", "claims", *options])
        return Done(code, *capfd.readouterr())

    return run


def cells(done: Done) -> list[dict[str, str]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("jobs", ["0", slow("1")])
def test_what_a_claim_prints_is_marked_on_stderr_and_never_among_results(verify: Verify, jobs: str) -> None:
    done = verify("os.write(1, b'past Python\\n')" if jobs == "1" else "pass", "--json", "--jobs", jobs)
    (cell,) = cells(done)
    assert cell["claim"] == "own.case"
    for text in ("hello from the file", "hello from the job", "no end of line"):
        assert MARK + text in done.stderr.splitlines()
    assert ("past Python" in done.stderr) == (jobs == "1")


@pytest.mark.parametrize("options", [(), ("--json",), ("--quiet",), ("--format", "csv"), ("--shard", "1/1")])
def test_an_error_is_no_success_and_is_named(verify: Verify, options: tuple[str, ...]) -> None:
    done = verify("raise ValueError('planted')", "--jobs", "0", *options)
    assert done.returncode == FAILED
    assert any(line.startswith("odernn: error: ") and "own.case" in line for line in done.stderr.splitlines())


def test_an_error_that_is_expected_is_none_and_one_that_is_not_differs(verify: Verify) -> None:
    cell = "own.case | free | size"
    Path("expect.json").write_text(json.dumps({cell: "error"}))
    assert verify("raise ValueError('planted')", "--jobs", "0", "--expect", "expect.json").returncode == DONE
    Path("expect.json").write_text(json.dumps({cell: "proved"}))
    done = verify("raise ValueError('planted')", "--jobs", "0", "--expect", "expect.json")
    assert done.returncode == FAILED and f"odernn: error: {cell}" in done.stderr


@pytest.mark.parametrize("code", ["0", "3", ""])
def test_a_claim_file_that_ends_the_program_is_an_error(verify: Verify, code: str) -> None:
    done = verify("pass", "--json", "--jobs", "0", head=f"import sys; sys.exit({code})")
    assert done.returncode == USAGE and done.stdout == ""
    assert 'claims/own.py" fails on import: SystemExit' in done.stderr


@pytest.mark.parametrize("jobs", ["0", slow("1")])
def test_a_job_that_ends_the_program_is_an_error(verify: Verify, jobs: str) -> None:
    done = verify("sys.exit(0)", "--json", "--jobs", jobs)
    assert done.returncode == FAILED and cells(done)[0]["verdict"] == "error"


def test_an_answer_without_end_is_an_error_that_gives_its_length(verify: Verify) -> None:
    for ask, said in (
        ("return Attempt('x' * 10**6, 1)", "because of its answer has 1,000,000 characters"),
        ("raise ValueError('y' * 10**6)", "because of its answer has 1,000,012 characters"),
    ):
        done = verify(ask, "--json", "--jobs", "0")
        (cell,) = cells(done)
        assert done.returncode == FAILED and cell["verdict"] == "error" and said in cell["because"]
        assert len(cell["because"]) < execute.MOST_WORDS + 200


def test_a_text_that_is_no_utf_8_is_an_error_cell(verify: Verify) -> None:
    for ask, said in (
        (r"return Attempt('x\ud800', 1)", "its answer has the lone surrogate '\\ud800'"),
        (r"raise ValueError('y\udfff')", "its answer has the lone surrogate '\\udfff'"),
    ):
        done = verify(ask, "--json", "--jobs", "0")
        (cell,) = cells(done)
        assert done.returncode == FAILED and cell["verdict"] == "error" and said in cell["because"]


def test_who_asks_stdout_what_it_is_hears_of_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with apart():
        assert sys.stdout.encoding == sys.stderr.encoding and sys.stdout.fileno() == sys.stderr.fileno()
        sys.stdout.buffer.write(b"bytes")
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        sys.stdout.flush()
    assert capfd.readouterr() == ("", "bytes")


def test_the_command_gives_the_handler_of_sigterm_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert main(["--version"]) == DONE and signal.getsignal(signal.SIGTERM) is before
