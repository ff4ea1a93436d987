"""The engine: every job's outcome, whatever happens to the workers; one thread each; nobody left behind."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.tiers import only
from verification.run import engine, worker
from verification.run.limits import Limits

CHECKOUT = str(Path(engine.__file__).parents[2])
needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL (POSIX)")
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc to look for orphans")


# --- jobs, importable by the workers ----------------------------------------------------------------------------


def double(value):
    return 2 * value


def act(what, folder=None):
    """A job that does what its argument says, most of it bad."""
    if what == "exit":
        os._exit(7)
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "kill while answering":
        threading.Thread(target=_kill_once_sending, args=(folder,), daemon=True).start()
        return Slow(folder)
    if what == "raise":
        raise KeyError("planted")
    if what == "raise something local":

        class LocalError(Exception):
            def __init__(self, one, two):
                super().__init__(one)

        raise LocalError("no\npickle", 2)
    if what == "system exit":
        raise SystemExit(3)
    if what == "interrupt":
        raise KeyboardInterrupt
    if what == "time out by itself":
        raise TimeoutError("mine")
    if what == "return a function":
        return lambda: None
    if what == "return a trap":
        return Trap()
    if what == "sleep":
        time.sleep(600)
    if what == "recurse":
        return act(what)
    return what


class Slow:
    """An answer of 64 MiB: long enough to be killed in the middle of sending it."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        Path(self.folder, "sending").touch()
        return bytes, (b"x" * 2**26,)


def _kill_once_sending(folder):
    while not Path(folder, "sending").exists():
        time.sleep(0.001)
    time.sleep(0.05)  # the pipe holds 64 KiB and the parent was told to wait: the worker now hangs in its write
    os.kill(os.getpid(), signal.SIGKILL)


class Trap:
    """An answer that cannot be unpickled."""

    def __reduce__(self):
        return int, ("not a number",)


def threads():
    import torch

    return torch.get_num_threads(), [os.environ.get(name) for name in worker.THREAD_VARIABLES]


def pid_after(file, seconds):
    """Of the worker: ``seconds`` after the file is there, or at once without one."""
    while file and not Path(file).exists():
        time.sleep(0.01)
    time.sleep(seconds)
    return os.getpid()


def write_pid_and_sleep(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)


def outcomes(names, workers=2, **options):
    jobs = [(name, (name, *extra)) for name, *extra in (n if isinstance(n, tuple) else (n,) for n in names)]
    return {found.key: found for found in engine.run(act, jobs, workers=workers, **options)}


# --- outcomes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", only([0, 1, 2, 3], 0, 1, 2))
def test_every_job_is_done_once_and_answered_under_its_key(workers):
    jobs = [(f"job {k}", (k,)) for k in range(20)]
    found = list(engine.run(double, jobs, workers=workers))
    assert sorted((f.key, f.value) for f in found) == sorted((f"job {k}", 2 * k) for k in range(20))
    assert all(f.error == "" and f.wall_s >= 0 for f in found)


@pytest.mark.parametrize("workers", [0, 2])
def test_no_jobs_are_done_at_once(workers):
    assert list(engine.run(double, [], workers=workers)) == []


FAILURES = {
    "raise": "KeyError: 'planted'",
    "raise something local": "LocalError: no pickle",  # on one line
    "system exit": "SystemExit: 3",
    "time out by itself": "TimeoutError: mine",
    "recurse": "RecursionError: maximum recursion depth exceeded",
}
FAILURES_OF_WORKERS = {
    "interrupt": "KeyboardInterrupt",
    "exit": "the worker process died (exit code 7)",
    "kill": "the worker process died (exit code -9); by SIGKILL, as where memory runs out: run fewer at once (--jobs)",
    "return a function": "the result cannot be sent: ",
    "return a trap": "the result cannot be read: ValueError",
}


@needs_kill
@pytest.mark.parametrize("workers", [0, 2])
def test_a_job_that_fails_costs_only_itself_and_says_why(workers):
    failures = FAILURES if workers == 0 else FAILURES | FAILURES_OF_WORKERS
    good = [f"good {k}" for k in range(len(failures) + 1)]
    names = [name for pair in zip(good, failures, strict=False) for name in pair] + good[-1:]
    found = outcomes(names, workers)
    assert found.keys() == {*good, *failures}
    for name in good:
        assert (found[name].value, found[name].error) == (name, "")
    for name, error in failures.items():
        assert found[name].value is None
        assert found[name].error.startswith(error)
        assert "\n" not in found[name].error


@needs_kill
def test_a_worker_killed_in_the_middle_of_its_answer_does_not_stop_the_others(tmp_path):
    found = engine.run(act, [("big", ("kill while answering", str(tmp_path)))] + [(c, (c,)) for c in "abcd"], workers=2)
    outcome = {}
    for each in found:
        outcome[each.key] = each
        while not (tmp_path / "sending").exists():  # leaves the worker alone with its full pipe
            time.sleep(0.01)
        time.sleep(0.1)
    assert (tmp_path / "sending").exists()
    assert outcome["big"].error == FAILURES_OF_WORKERS["kill"]
    assert {key: each.value for key, each in outcome.items() if key != "big"} == {c: c for c in "abcd"}


def test_arguments_that_cannot_be_sent_cost_only_their_job():
    jobs = [("bad", (lambda: None,)), ("good", (21,))]
    found = {each.key: each for each in engine.run(double, jobs, workers=1)}
    assert found["bad"].error.startswith("the job cannot be sent: ")
    assert found["good"].value == 42


def test_a_job_past_its_time_limit_is_stopped_and_the_others_complete(monkeypatch):
    """The parent's clock jumps past the limit when the others have answered: nothing waits, whatever else runs."""
    passed = 0.0
    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed))
    outcome = {}
    limits = Limits(seconds=500.0, advice="; advice")
    for finished in engine.run(act, [(name, (name,)) for name in ("sleep", "a", "b")], workers=2, limits=limits):
        outcome[finished.key] = finished
        passed = 500.0 if {"a", "b"} <= set(outcome) else 0.0
    said = outcome["sleep"].error  # of the seconds that passed while the others answered, too
    assert said.startswith("the job ran for 5") and said.endswith(" s, its limit is 500 s, and was stopped; advice")
    assert outcome["sleep"].wall_s >= 500
    assert (outcome["a"].value, outcome["b"].value) == ("a", "b")


@needs_kill
def test_a_worker_that_died_while_idle_is_given_no_job():
    events = queue.SimpleQueue()
    dead = engine.next_worker([], events)
    os.kill(dead.process.pid, signal.SIGKILL)
    dead.process.join()
    living = engine.next_worker([dead], events)
    try:
        assert living is not dead
        living.give("a", engine.pickle.dumps((double, (21,))))
        while not (found := engine.happened([living], events, Limits())):
            pass
        ((answering, reply, problem),) = found
        assert (answering, problem, engine.read("a", reply).value) == (living, "", 42)
    finally:
        living.kill()


def test_outcomes_come_as_they_end_not_as_they_were_given(tmp_path):
    started = time.monotonic()
    running = engine.run(pid_after, [("slow", (str(tmp_path / "go"), 0.2)), ("quick", ("", 0.0))], workers=2)
    quick = next(running)
    until_quick = time.monotonic() - started
    (tmp_path / "go").touch()
    (slow,) = running
    assert (quick.key, slow.key) == ("quick", "slow")
    assert slow.wall_s >= 0.2 and 0 <= quick.wall_s <= until_quick
    assert slow.value != quick.value != os.getpid()


# --- processes --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_workers_have_one_thread_and_the_environment_is_put_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = dict(os.environ)
    for found in engine.run(threads, [("a", ()), ("b", ())], workers=1):
        assert found.value == (1, ["1"] * len(worker.THREAD_VARIABLES))
        assert dict(os.environ) == before  # not even while the workers run
    assert dict(os.environ) == before


def _is_alive(pid):
    """Neither gone nor a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def _pids(folder):
    return [int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal()]


@needs_proc
def test_closing_the_iterator_early_kills_the_workers(tmp_path):
    jobs = [("quick", (str(tmp_path / "absent"),)), *((str(k), (str(tmp_path),)) for k in range(3))]
    running = engine.run(write_pid_and_sleep, jobs, workers=3)
    assert "FileNotFoundError" in next(running).error
    assert _wait_for(lambda: len(_pids(tmp_path)) >= 2)
    running.close()
    assert not any(map(_is_alive, _pids(tmp_path)))


PARENT = """
import signal, sys
from verification.run import engine
from verification_jobs import write_pid_and_sleep

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background processes inherit it ignored
    jobs = [(str(k), (sys.argv[1],)) for k in range(2)]
    list(engine.run(write_pid_and_sleep, jobs, workers=2))
"""
JOBS = """
import os, time
from pathlib import Path

def write_pid_and_sleep(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)
"""


def _parent(tmp_path):
    """A process of its own group that runs two sleeping jobs, and the folder in which they leave their ids."""
    (tmp_path / "verification_jobs.py").write_text(JOBS)
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "ids").mkdir()
    paths = [str(tmp_path), CHECKOUT]
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py"), str(tmp_path / "ids")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    return parent, tmp_path / "ids"


def _children_of_session(session):
    """The ids of every living process of the session, by /proc."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and _is_alive(entry.name):
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                found.append(int(entry.name))
    return found


@needs_kill
@needs_proc
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_no_process_survives_a_parent_that_is_killed_or_interrupted(tmp_path, how):
    parent, ids = _parent(tmp_path)
    try:
        assert _wait_for(lambda: len(_pids(ids)) == 2 or parent.poll() is not None)
        assert parent.poll() is None, parent.stderr.read()
        assert len(_children_of_session(parent.pid)) >= 3  # the parent and its workers: the search does find them
        parent.send_signal(getattr(signal, how))
        parent.wait(timeout=120)
        assert _wait_for(lambda: not _children_of_session(parent.pid))
    finally:
        for pid in _children_of_session(parent.pid):
            os.kill(pid, signal.SIGKILL)
        parent.stderr.close()
        parent.wait()


@needs_proc
def test_a_script_without_a_main_guard_ends_with_errors_instead_of_starting_processes_for_ever(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from math import sqrt\nfrom verification.run import engine\n"
        "for found in engine.run(sqrt, [('a', (1.0,)), ('b', (4.0,))], workers=2):\n    print(found.key, found.error)\n"
    )
    env = os.environ | {"PYTHONPATH": CHECKOUT}
    done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=300)
    lines = sorted(line for line in done.stdout.splitlines() if line)
    assert lines == [f"{key} the worker process died (exit code 1)" for key in "ab"]
