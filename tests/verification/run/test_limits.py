"""A job that does not come back, or takes too much, costs itself: whatever it does, the others are done."""

from __future__ import annotations

import ctypes
import importlib
import math
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from verification.run import engine, limits, worker
from verification.run.engine import Finished
from verification.run.limits import GIB, Limits, TimeUp, time_up
from verification.run.worker import Worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals, groups of processes and /proc")
LIMIT_S = 500.0
HOARD = 3 * 10**8


# --- what jobs do, in workers -----------------------------------------------------------------------------------


def loop(mark: Path) -> None:
    mark.touch()
    while True:
        pass


def sleep_in_c(mark: Path) -> None:
    """And hold Python's lock."""
    mark.touch()
    ctypes.PyDLL(None).sleep(600)


def be_stopped(mark: Path) -> None:
    mark.touch()
    os.kill(os.getpid(), signal.SIGSTOP)


def be_stopped_while_answering(mark: Path) -> bytes:
    """After two bytes of it."""

    def send(pipe: Any, content: bytes) -> None:
        os.write(pipe.fileno(), content[:2])
        be_stopped(mark)

    Connection._send = send  # type: ignore[attr-defined]
    return b"x" * 2**16


def wait_for_a_child(mark: Path) -> None:
    child = os.fork()
    if child == 0:
        mark.write_text(str(os.getpid()))
        loop(mark)
    os.waitpid(child, 0)


def hoard(mark: Path) -> None:
    content = bytearray(b"1") * HOARD
    mark.touch()
    time.sleep(600 + len(content))


HANGING = {each.__name__: each for each in (loop, sleep_in_c, be_stopped, be_stopped_while_answering, wait_for_a_child)}


def leave_a_child(mark: Path) -> None:
    """That holds all that the process held open."""
    if os.fork() == 0:
        mark.write_text(str(os.getpid()))
        time.sleep(600)
    while not mark.exists():
        time.sleep(0.01)
    os._exit(3)


def fork(value: int) -> int:
    """Both go on, and the child answers first."""
    if os.fork() == 0:
        return -1
    os.wait()
    return value


def called(job: Callable[[Any], Any], argument: Any) -> Any:
    return job(argument)


def is_alive(pid: int) -> bool:
    """Neither gone nor a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def in_time(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The parent's: ``passed`` is added to it."""
    of_parent = SimpleNamespace(passed=0.0)
    of_parent.monotonic = lambda: time.monotonic() + of_parent.passed
    monkeypatch.setattr(worker, "time", of_parent)
    monkeypatch.setattr(engine, "PULSE_S", 0.05)
    return of_parent


# --- in workers -------------------------------------------------------------------------------------------------


def test_jobs_that_do_not_come_back_are_stopped_and_the_others_done(clock: SimpleNamespace, tmp_path: Path) -> None:
    """All of them hang, each in its own way, before the clock passes their limit."""
    marks = {name: tmp_path / name for name in HANGING}
    good = {f"good {k}": (abs, -k) for k in range(4)}
    jobs = [(name, (job, marks[name])) for name, job in HANGING.items()] + list(good.items())
    found: dict[str, Finished] = {}

    def watch(running: dict[str, float]) -> None:
        if good.keys() <= found.keys() and all(mark.exists() for mark in marks.values()):
            assert running.keys() <= marks.keys()
            clock.passed = LIMIT_S

    for each in engine.run(called, jobs, workers=len(HANGING) + 1, limits=Limits(LIMIT_S), watch=watch):
        found[each.key] = each
    assert found.keys() == {key for key, _ in jobs}
    assert [found[key].value for key in good] == list(range(4))
    for name in HANGING:
        said = found[name].error
        assert said.startswith("the job ran for 5") and said.endswith(" s, its limit is 500 s, and was stopped"), name
    assert in_time(lambda: not is_alive(int(marks["wait_for_a_child"].read_text())))


def test_a_job_that_holds_too_much_is_stopped_and_says_how_much(clock: SimpleNamespace, tmp_path: Path) -> None:
    jobs = [("hoard", (hoard, tmp_path / "mark")), ("good", (abs, -1))]
    most = Limits(memory=HOARD // 2)
    found = {each.key: each for each in engine.run(called, jobs, workers=2, limits=most)}
    assert found["good"].value == 1
    assert found["hoard"].error.startswith("the job held 0.") and ", its limit is 0.14 GiB" in found["hoard"].error


def test_what_children_hold_counts(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        if os.fork() == 0:
            hoard(tmp_path / "mark")
        time.sleep(600)
    try:
        assert in_time((tmp_path / "mark").exists)
        _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
        forked = 2 * (resident - shared) * os.sysconf("SC_PAGE_SIZE")  # of this process, in the child and in its child
        assert HOARD <= limits.held()[child] < forked + 2 * HOARD + GIB
    finally:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_worker_that_died_is_noticed_though_its_child_holds_its_pipe(clock: SimpleNamespace, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (found,) = engine.run(called, [("dies", (leave_a_child, mark))], workers=1)
    assert found.error == "the worker process died (exit code 3)"
    assert in_time(lambda: not is_alive(int(mark.read_text())))


def test_what_a_job_forked_answers_for_no_job(clock: SimpleNamespace) -> None:
    jobs = [(str(k), (fork, k)) for k in range(4)]
    assert {each.key: each.value for each in engine.run(called, jobs, workers=1)} == {str(k): k for k in range(4)}


class Fake(Worker):
    """Without a process: it runs until it is killed."""

    def __init__(self) -> None:
        self._group, self._messages, self.is_killed = 0, queue.SimpleQueue(), False
        self._relay = SimpleNamespace(begin_job=lambda: None)

    def is_dead(self) -> bool:
        return False

    def kill(self) -> int | None:
        self.is_killed = True
        return None


def test_memory_is_looked_at_once_a_pulse_however_many_answers_come(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    monkeypatch.setattr(engine, "PULSE_S", 0.2)
    monkeypatch.setattr(engine, "held", lambda: looks.append(time.monotonic()) or {})
    hoards, answers = Fake(), Fake()
    events: engine.Events = queue.SimpleQueue()
    hoards.give("hoards", b"")
    begun = time.monotonic()
    while time.monotonic() < begun + 1:
        answers.give("answers", b"")
        events.put((answers, b""))
        assert engine.happened([hoards, answers], events, Limits(memory=1)) == [(answers, b"", "")]
    assert 1 < len(looks) <= (time.monotonic() - begun) / 0.2 + 1


def test_an_answer_that_waited_while_this_process_was_stopped_counts(clock: SimpleNamespace) -> None:
    """And who has none is stopped none the less."""
    answers, hangs = Fake(), Fake()
    events: engine.Events = queue.SimpleQueue()
    for each in (answers, hangs):
        each.give("", b"")
    clock.passed = LIMIT_S
    threading.Timer(0.1, lambda: events.put((answers, b"late"))).start()
    busy: list[Worker] = [answers, hangs]
    found = []
    while busy:
        for one, reply, problem in engine.happened(busy, events, Limits(LIMIT_S)):
            busy.remove(one)
            found.append((one, reply, problem[:11]))
    assert found == [(answers, b"late", ""), (hangs, b"", "the job ran")]
    assert hangs.is_killed and not answers.is_killed


# --- in this process --------------------------------------------------------------------------------------------


def loop_deaf(_: Any) -> None:
    while True:
        try:
            loop_for_a_while()
        except Exception:
            continue


def loop_for_a_while() -> None:
    for _ in range(10**6):
        pass


def test_in_this_process_python_code_is_stopped() -> None:
    jobs = [("loop", (loop_deaf, 0)), ("sleep", (time.sleep, 600)), ("good", (abs, -1))]
    handler = signal.getsignal(signal.SIGALRM)
    found = {each.key: each for each in engine.run(called, jobs, workers=0, limits=Limits(0.2))}
    assert found["good"].value == 1
    for name in ("loop", "sleep"):
        assert found[name].error.startswith("the job ran for 0.2") and "limit is 0.2 s" in found[name].error
    assert signal.getsignal(signal.SIGALRM) is handler


def test_an_alarm_of_somebody_else_goes_off_when_it_was_to() -> None:
    heard: list[int] = []
    handler = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    before = signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(TimeUp, match="test_limits"), time_up(0.05):
            loop_deaf(0)
        assert heard == [] and in_time(lambda: bool(heard), 10)
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *before)


def test_an_alarm_of_somebody_else_goes_off_inside_too() -> None:
    heard: list[float] = []
    begun = time.monotonic()
    handler = signal.signal(signal.SIGALRM, lambda *_: heard.append(time.monotonic() - begun))
    before = signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        with pytest.raises(TimeUp), time_up(0.35):
            loop_deaf(0)
        assert 1 <= len(heard) <= 3 and heard[0] >= 0.1
        assert in_time(lambda: len(heard) > 4, 10)
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *before)


def test_the_limit_around_a_run_is_no_answer_of_its_job() -> None:
    with pytest.raises(TimeUp), time_up(0.1):
        list(engine.run(called, [("sleep", (time.sleep, 20))], workers=0, limits=Limits(10.0)))


@pytest.mark.parametrize("seconds", [math.inf, 1e10])
def test_a_limit_beyond_what_a_timer_counts_is_none(seconds: float) -> None:
    (found,) = engine.run(called, [("good", (abs, -1))], workers=0, limits=Limits(seconds))
    assert found.value == 1


@pytest.mark.parametrize("most", [10.0, 0.2])
def test_an_import_is_let_end_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: float) -> None:
    monkeypatch.setattr(limits, "IMPORT_S", most)
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"imported_slowly_{int(most)}"
    (tmp_path / f"{name}.py").write_text("import time\ntime.sleep(0.6)")
    with pytest.raises(TimeUp), time_up(0.1):
        importlib.import_module(name)
        time.sleep(20)
    assert (name in sys.modules) == (most > 1)


def test_code_that_hears_no_signal_ends_the_program() -> None:
    """Where no result is lost by it: while a plan is made."""
    child = os.fork()
    if child == 0:
        limits.BEYOND_S = 0.1
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        with time_up(0.1, ends_program=True):
            ctypes.PyDLL(None).sleep(600)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_who_watches_hears_what_runs_for_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PULSE_S", 0.02)
    for workers in (0, 1):
        heard: list[dict[str, float]] = []
        list(engine.run(called, [("nap", (time.sleep, 0.2))], workers=workers, watch=heard.append))
        naps = [seconds["nap"] for seconds in heard if seconds]
        assert len(naps) > 1 and naps == sorted(naps)
