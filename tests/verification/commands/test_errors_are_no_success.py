"""A cell that is an error is heard on stderr and in the exit code; stdout has results, whatever a claim prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.tiers import slow
from verification.cli import main
from verification.commands.limits import of_jobs
from verification.commands.terminal import DONE, FAILED, USAGE
from verification.domains import BUDGETS
from verification.run import engine, execute, limits, printed
from verification.run.limits import GIB, LEAST_MEMORY, SECONDS, memory_here
from verification.run.printed import MARK, apart, descriptor_apart

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

    def run(ask: str, *options: str, head: str = "", again: bool = False) -> Done:
        Path("claims").mkdir(exist_ok=True)
        text = CLAIM.replace("{ask}", ask).replace("import os", f"{head}\nimport os", 1)
        Path("claims/own.py").write_text(text)
        if not again:
            Path("odernn.sqlite").unlink(missing_ok=True)
        code = main(["verify", "own.case", "--claims", "claims", *options])
        return Done(code, *capfd.readouterr())

    return run


def cells(done: Done) -> list[dict[str, str]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


PAST_PYTHON = """
    import ctypes, subprocess
    os.write(1, b"by a system call\\n")
    ctypes.CDLL(None).puts(b"by C's library, which holds it back")
    subprocess.run(["echo", "by a child"])
    sys.__stdout__.write("by a name of Python's own\\n")
    os.write(1, b"\\xff no end of this line")
"""
SAID = (
    "by a system call",
    "by C's library, which holds it back",
    "by a child",
    "by a name of Python's own",
    "\\xff no end of this line",
    "hello from the file",
    "hello from the job",
    "no end of line",
)


@pytest.mark.parametrize("options", ["--json", slow("--format csv")])
@pytest.mark.parametrize("jobs", ["0", slow("1")])
def test_what_a_claim_prints_is_marked_on_stderr_and_never_among_results(
    verify: Verify, jobs: str, options: str
) -> None:
    """Nor what C code and processes print that it calls, while it is loaded, too."""
    head = "import ctypes\nctypes.CDLL(None).puts(b'C in the file')"
    done = verify(PAST_PYTHON, *options.split(), "--jobs", jobs, head=head)
    lines = done.stdout.splitlines()
    assert len(lines) == len(options.split()) and "own.case" in lines[-1]
    heard = done.stderr.splitlines()
    for text in (*SAID, "C in the file"):
        assert MARK + text in heard and text not in done.stdout, text
    assert "C in the file" not in heard


def test_what_a_claim_prints_that_never_ends_is_heard_meanwhile_and_fills_no_disk(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printed, "MOST_KEPT", 1000)
    monkeypatch.setattr(printed, "PULSE_S", 0.01)
    with descriptor_apart():
        for number in range(50):
            os.write(1, b"%04d\n" % number * 100)
            assert os.fstat(1).st_size < 20_000
            time.sleep(0.02)
        meanwhile = capfd.readouterr().err
    assert MARK + "0007" in meanwhile and MARK + "0049" in meanwhile + capfd.readouterr().err


YES = """
import ctypes, os, signal, subprocess, time
from verification.run import engine, printed
printed.MOST_SAID, printed.MOST_KEPT = 2**12, 2**16

def job():
    child = subprocess.Popen(["yes"])
    time.sleep(0.3)
    return child

(found,) = engine.run(job, [("a", ())], workers=0)
try:
    print(found.value.wait(60))  # it can write no more
finally:
    found.value.kill()
"""


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="files that can be sealed")
def test_a_process_that_prints_without_end_is_neither_waited_for_nor_heard_whole(tmp_path: Path) -> None:
    """It ends with the job: the file takes nothing more."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path / "none")}
    done = subprocess.run([sys.executable, "-c", YES], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "1\n", done.stderr[-2000:]
    assert MARK + "y" in done.stderr and "bytes more, which are left out" in done.stderr
    assert len(done.stderr) < 2**20


def print_much() -> None:
    """To stderr, by another process, past Python, and by Python."""
    subprocess.run(["sh", "-c", "yes by-a-child | head -c 200000 1>&2"], check=True)
    for _ in range(100):
        os.write(2, b"by a system call " * 100)
        print("by Python " * 100, file=sys.stderr)


def print_by_blocks() -> None:
    """Twice the limit and no more, which blocks divide."""
    for _ in range(2 * 2**16 // 4096):
        os.write(2, b"by a block of its own" + b"." * (4096 - 22) + b"\n")


def test_where_blocks_fill_the_limit_exactly_it_is_said_that_there_was_more(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printed, "MOST_OF_JOB", 2**16)
    (found,) = engine.run(print_by_blocks, [("blocks", ())], workers=1)
    assert not found.error
    heard = capfd.readouterr().err
    assert heard.count("… and more than 65,536 bytes, which are left out") == 1
    assert heard.count("by a block of its own") == 2**16 // 4096


def say_last_words() -> None:
    print("last words", file=sys.stderr)
    os.abort()


def test_a_worker_that_prints_much_to_stderr_is_heard_up_to_a_limit(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the next job of its from the beginning; the last words of one that dies are heard, too."""
    monkeypatch.setattr(printed, "MOST_OF_JOB", 100_000)
    for found in engine.run(print_much, [("much", ()), ("much again", ())], workers=1):
        assert not found.error
    heard = capfd.readouterr().err
    assert heard.count("… and more than 100,000 bytes, which are left out") == 2
    assert 200_000 < len(heard) < 201_000
    assert heard.count("by-a-child") > 10_000  # of the second job, too: a pipe holds 64 KiB of the first one's
    (found,) = engine.run(say_last_words, [("dies", ())], workers=1)
    assert "died" in found.error and "last words" in capfd.readouterr().err


def _overlap(apart: Callable[[], AbstractContextManager[None]], inside: Callable[[], None]) -> None:
    """The first thread in is the first out."""
    second_in, first_out = threading.Event(), threading.Event()

    def second() -> None:
        with apart():
            second_in.set()
            first_out.wait(10)
            inside()

    thread = threading.Thread(target=second)
    with apart():
        thread.start()
        assert second_in.wait(10)
    first_out.set()
    thread.join()


def test_stdout_is_given_back_by_the_last_of_threads_that_overlap(capfd: pytest.CaptureFixture[str]) -> None:
    before = os.fstat(1)
    _overlap(descriptor_apart, lambda: os.write(1, b"by a system call\n") and None)
    assert os.path.samestat(os.fstat(1), before)
    stdout = sys.stdout
    _overlap(apart, lambda: print("by Python"))
    assert sys.stdout is stdout
    out, err = capfd.readouterr()
    assert out == "" and err == f"{MARK}by a system call\n{MARK}by Python\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_what_a_job_forks_here_answers_nothing(tmp_path: Path) -> None:
    def fork(fails: bool) -> int:
        child = os.fork()
        if child == 0 and fails:
            raise ValueError("planted")
        if child:
            os.waitpid(child, 0)
        return child

    itself = os.getpid()
    for found in engine.run(fork, [("returns", (False,)), ("raises", (True,))], workers=0):
        if os.getpid() != itself:
            os._exit(0 if (tmp_path / "answered").touch() else 1)
        assert found.value > 0
    assert not (tmp_path / "answered").exists()


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


# --- what does not come back --------------------------------------------------------------------------------------


def test_a_job_without_end_is_an_error_that_the_next_run_tries_again(verify: Verify) -> None:
    """A run with other limits has the same keys: what was answered is not asked again."""
    ask = "while not os.path.exists('end'): pass"
    done = verify(ask, "--json", "--jobs", "0", "--job-seconds", "0.5")
    (cell,) = cells(done)
    assert done.returncode == FAILED and cell["verdict"] == "error" and "odernn: error: own.case" in done.stderr
    said = "its limit is 0.5 s, and was stopped; allow more (--job-seconds, --job-memory) or leave its claim out"
    assert said in cell["because"] and "the job ran for 0.5" in cell["because"]
    Path("end").touch()
    done = verify(ask, "--json", "--jobs", "0", again=True)
    assert done.returncode == DONE and cells(done)[0]["verdict"] == "proved"
    answered = verify(ask, "--json", "--jobs", "0", "--job-seconds", "0.1", again=True)
    assert MARK + "hello from the job" not in answered.stderr and answered.stdout == done.stdout


@pytest.mark.parametrize("option", ["--job-seconds", "--job-memory"])
@pytest.mark.parametrize("value", ["inf", "nan", "1e300", "1e10"])
def test_a_limit_that_cannot_be_counted_is_refused(verify: Verify, option: str, value: str) -> None:
    done = verify("pass", "--jobs", "1", option, value)
    assert done.returncode == USAGE and option in done.stderr and done.stdout == ""


def test_a_claim_file_without_end_is_named_with_its_line(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IMPORT_S", 0.1)
    done = verify("pass", "--jobs", "0", "--job-seconds", "0.5", head="while True:\n    pass")
    assert done.returncode == USAGE and "The plan was not made within 0.5 s" in done.stderr
    assert "claims/own.py:" in done.stderr


def test_memory_has_no_limit_where_the_job_has_no_process(verify: Verify) -> None:
    done = verify("pass", "--jobs", "0", "--job-memory", "1")
    assert done.returncode == USAGE and "--job-memory: a job that holds too much" in done.stderr


def test_limits_are_generous_and_those_that_were_typed() -> None:
    here = memory_here()
    for budget in BUDGETS:
        limits = of_jobs(budget, 2, None, None, True)
        assert limits.seconds == SECONDS[budget] >= 3600
        assert here is None or limits.memory == max(LEAST_MEMORY, here // 2)
    assert of_jobs("smoke", 2, 5.0, 0.5, True).seconds == 5 and of_jobs("smoke", 2, 5.0, 0.5, True).memory == GIB // 2
    assert of_jobs("smoke", 0, None, None, False).memory is None


def test_what_runs_for_long_is_named_and_ever_more_rarely() -> None:
    heard: list[str] = []
    beat = execute.Heartbeat(heard.append, {"a": "case, own.case", "b": "search"}.__getitem__)
    for second in range(600):
        beat({"a": float(second)} | ({"b": 1.0} if second < 3 else {}))
    times = [60, 120, 240, 480]
    assert heard == [f"odernn: for {seconds} s at work on case, own.case" for seconds in times]


def test_the_command_says_what_runs_for_long(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute.Heartbeat, "FIRST_S", 0.05)
    monkeypatch.setattr(execute.engine, "PULSE_S", 0.02)
    ask = "import time; time.sleep(0.2)"
    assert "s at work on case, own.case, free, size" in verify(ask, "--jobs", "0").stderr
    assert "at work" not in verify(ask, "--jobs", "0", "--quiet").stderr
