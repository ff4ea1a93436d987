"""The cluster engine on a real scheduler with real workers on the loopback: what is killed, lost, slow or foreign."""

import gc
import json
import operator
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from verification.cli import main
from verification.run import cluster
from verification.run.cluster import Address, ClusterError, connected
from verification.run.limits import Limits

CHECKOUT = Path(__file__).resolve().parents[3]
SMALL_RUN = Path(__file__).with_name("small_run.py")
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(CHECKOUT),
    "OMP_NUM_THREADS": "1",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
}
needs_kill = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL (POSIX)")


# --- before anything runs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tcp"),
    [
        ("dask://127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("dask://node-7.cluster:1", "tcp://node-7.cluster:1"),
        ("dask://[::1]:8786", "tcp://[::1]:8786"),
    ],
)
def test_an_address(text, tcp):
    address = Address.parse(text)
    assert (str(address), address.tcp) == (text, tcp)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dask",
        "dask:",
        "dask://",
        "dask://host",
        "dask://host:",
        "dask://:8786",
        "dask://host:0",
        "dask://host:x",
        "dask://host:99999",
        "tcp://host:8786",
        "dask://host:8786/x",
        "dask://host:8786?x",
        "dask://me@host:8786",
        "loca",
    ],
)
def test_what_is_no_engine_is_refused_before_anything_is_done(text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["verify", f"--engine={text}"]) == 2
    assert f'--engine {text}: is neither "local" nor an address' in capsys.readouterr().err
    assert main(["verify", "--engine", "dask://127.0.0.1:8786", "--jobs", "2"]) == 2
    assert "--jobs: is for processes here" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def refusal(text):
    return pytest.raises(ClusterError, match=text)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_where_nothing_listens_the_address_and_the_time_limit_are_named():
    address = Address("127.0.0.1", free_port())
    with (
        refusal(rf"--engine {address}: no dask scheduler answered within 0\.3 s"),
        connected(address, (), timeout_s=0.3),
    ):
        pass


def test_something_else_that_listens_is_no_scheduler():
    """And there is no client left that closes itself when it is collected.

    That takes a lock, which the thread that collects it may hold: a run would stand still for ever.
    """
    from distributed import Client

    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=speak, daemon=True).start()
        address = Address("127.0.0.1", server.getsockname()[1])
        with refusal(r"no dask scheduler answered within 1 s"), connected(address, (), timeout_s=1.0):
            pass
        clients = [
            each for each in gc.get_objects() if issubclass(type(each), Client)
        ]  # isinstance asks dead proxies, too
        assert all(client.status == "closed" for client in clients)
        server.shutdown(socket.SHUT_RDWR)


def test_a_port_that_is_open_and_silent_is_not_waited_for():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = Address("127.0.0.1", server.getsockname()[1])
        with refusal(r"no dask scheduler answered within 0\.5 s"), connected(address, (), timeout_s=0.5):
            pass


def test_without_the_extra_its_name_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with refusal(r'pip install "odernn\[cluster\]"'), connected(Address("127.0.0.1", 1), ()):
        pass


def test_an_environment_is_the_packages_the_source_and_the_claim_files(tmp_path):
    (tmp_path / "claims.py").write_text("CLAIMS = ()\n")
    here = cluster.environment((str(tmp_path),))
    assert {"python", "torch", "numpy", "python-flint", "mpmath", "source text of odernn"} < here.keys()
    assert cluster.differences(here, dict(here)) == ""
    (tmp_path / "claims.py").write_text("CLAIMS = []\n")
    said = cluster.differences(cluster.environment((str(tmp_path),)), here)
    assert said.startswith(f'claim files in "{tmp_path}" is ') and "," not in said
    assert cluster.differences(here | {"torch": "1"}, here) == f"torch is 1 there and {here['torch']} here"


# --- a real cluster ---------------------------------------------------------------------------------------------


class Cluster:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder):
        self.folder, self.processes, self.workers = folder, [], []
        self.address = Address("127.0.0.1", free_port())
        self.start("scheduler", "--host", self.address.host, "--port", str(self.address.port), "--no-dashboard")

    def start(self, what, *options):
        command = [sys.executable, "-m", "dask", what, *options]
        with (self.folder / f"{what}-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, env=ENVIRONMENT, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)
        return process

    def add_worker(self, *options, preload=SMALL_RUN):
        return self.start(
            "worker",
            self.address.tcp,
            "--no-nanny",
            "--no-dashboard",
            "--death-timeout",
            "60",
            "--local-directory",
            str(self.folder),
            "--preload",
            str(preload),
            *(options or ("--nthreads", "1")),
        )

    def with_workers(self, count):
        """Exactly so many plain ones."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        for surplus in self.workers[count:]:
            surplus.kill()
            surplus.wait()
        del self.workers[count:]
        self.workers += [self.add_worker() for _ in range(count - len(self.workers))]
        wait_for(lambda: len(self.nthreads()) == count)
        return self

    def nthreads(self):
        from distributed import Client

        with Client(self.address.tcp, timeout=30, set_as_default=False) as client:
            return client.nthreads()

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    yield found
    found.stop()


@pytest.fixture
def two(running):
    return running.with_workers(2)


@pytest.mark.slow
def test_the_address_of_a_worker_is_no_scheduler_s(two):
    from distributed import Client

    with Client(two.address.tcp, timeout=30, set_as_default=False) as client:
        host, port = next(iter(client.nthreads())).removeprefix("tcp://").split(":")
    address = Address(host, int(port))
    with refusal(rf"--engine {address}: this is the address of a dask worker\. Give"), connected(address, ()):
        pass


def test_jobs_on_two_workers_are_answered_under_their_keys_and_failures_cost_only_themselves(two):
    jobs = [(f"good {k}", (f"{k} * 2",)) for k in range(10)]
    bad = {
        "raise": ("1 / 0", "ZeroDivisionError: division by zero"),
        "exit": ("__import__('sys').exit(3)", "SystemExit: 3"),
        "time out": ("(_ for _ in ()).throw(TimeoutError('mine'))", "TimeoutError: mine"),
        "return a function": ("lambda: None", "the result cannot be sent: "),
    }
    jobs[5:5] = [(name, (text,)) for name, (text, _) in bad.items()]
    jobs.append(("unsendable", (lambda: None,)))
    with connected(two.address, ()) as engine:
        found = {each.key: each for each in engine(eval, iter(jobs))}
        assert list(engine(eval, [])) == []
        processes = {
            each.value for each in engine(eval, [(str(k), ("__import__('os').getppid()",)) for k in range(12)])
        }
    assert found.keys() == {key for key, _ in jobs}
    assert [found[f"good {k}"].value for k in range(10)] == [2 * k for k in range(10)]
    for name, (_, error) in bad.items():
        assert found[name].value is None and found[name].error.startswith(error)
    assert found["unsendable"].error.startswith("the job cannot be sent: ")
    assert processes == {worker.pid for worker in two.workers}


KILL_WORKER = "__import__('os').kill(__import__('os').getppid(), 9) or __import__('time').sleep(600)"


@needs_kill
def test_a_job_whose_worker_dies_is_done_by_the_other(running, tmp_path):
    two, mark = running.with_workers(2), tmp_path / "alive"
    mark.touch()
    once = f"__import__('pathlib').Path({str(mark)!r}).unlink() or {KILL_WORKER}"
    again = f"6 * 7 if not __import__('pathlib').Path({str(mark)!r}).exists() else ({once})"
    with connected(two.address, ()) as engine:
        jobs = [("dies", (again,)), *((str(k), (f"{k}",)) for k in range(6))]
        found = {each.key: each for each in engine(eval, jobs)}
    assert not mark.exists() and sum(worker.poll() is None for worker in two.workers) == 1
    assert [each.error for each in found.values()] == [""] * 7
    assert found["dies"].value == 42 and [found[str(k)].value for k in range(6)] == list(range(6))


@pytest.mark.slow
def test_jobs_are_taken_as_there_is_room_and_closing_early_drops_the_rest(two):
    taken = []

    def jobs():
        for k in range(1000):
            taken.append(k)
            yield str(k), (k, k)

    with connected(two.address, ()) as engine:
        outcomes = engine(operator.add, jobs())
        assert next(outcomes).error == ""
        outcomes.close()
        assert len(taken) <= 2 * cluster.AHEAD + 1
        assert [each.value for each in engine(operator.add, [("after", (1, 1))])] == [2]


@pytest.mark.parametrize(
    ("options", "preload", "said"),
    [
        (["--nthreads", "2"], "", "it has 2 threads, and certificates need a process each"),
        pytest.param(
            [],
            "facts = cluster._of_process() | {'torch': '1.0'}\ncluster._of_process = lambda: facts",
            "torch is 1.0 there",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            [],
            "cluster._of_process = lambda: 1 / 0",
            "ZeroDivisionError: division by zero",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_worker_that_would_find_something_else_is_refused_by_name(running, tmp_path, options, preload, said):
    sound = running.with_workers(1)
    (tmp_path / "foreign.py").write_text(f"from verification.run import cluster\n{preload}\n")
    foreign = sound.add_worker(*options, preload=tmp_path / "foreign.py")
    try:
        wait_for(lambda: len(sound.nthreads()) == 2)
        jobs = ((str(k), (0.2,)) for k in range(200))
        with connected(sound.address, ()) as engine, pytest.raises(ClusterError) as raised:
            list(engine(time.sleep, jobs))
        assert said in str(raised.value) and "worker tcp://127.0.0.1:" in str(raised.value)
    finally:
        foreign.kill()
        foreign.wait()
        wait_for(lambda: len(sound.nthreads()) == 1)


# --- runs -------------------------------------------------------------------------------------------------------

PLANTED = """
import os
import time
from pathlib import Path

from odernn.tableaus.tableau import Source
from verification.claim import Claim, Part, StateBound
from verification.system import UNICORNN, System

FOLDER = Path(__file__).parents[1]  # what lies beside the claims and is named here would be in their keys


def step(y, z, x, *, w, step_size, alpha):
    try:
        (FOLDER / "hang").rename(FOLDER / f"{os.getppid()}.pid")
    except OSError:
        return UNICORNN.step(y, z, x, w=w, step_size=step_size, alpha=alpha)
    time.sleep(600)


def million(s, numbers):
    return numbers.log(1000000 + 0 * s.time)


def second(s, iv):
    return iv.log(iv.mpf(1000000))


SYSTEM = System("hanging", step, UNICORNN.exact_step, UNICORNN.second_step)
PART = Part("position", "max", million, second)
BOUND = StateBound((PART,), system=SYSTEM)
CLAIMS = (Claim("hanging", Source("planted", "nowhere"), "…", "real", state_bound=BOUND),)
"""


def start_run(store, folder, *options):
    command = [
        sys.executable,
        str(SMALL_RUN),
        str(store),
        "--claims",
        "hanging,both-72",
        "--claims-dir",
        folder,
    ]
    return subprocess.Popen(
        [*map(str, command), *map(str, options)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def result_of(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return json.loads(out)


def marker_of(claims, parent):
    """The file that the hanging job leaves, named by the worker whose child it is."""

    def look():
        assert parent.poll() is None, parent.communicate()[1]
        return list(claims.parent.glob("*.pid"))

    (marker,) = wait_for(look)
    return marker


def tidy(claims):
    for path in (claims.parent / "hang", *claims.parent.glob("*.pid")):
        path.unlink(missing_ok=True)


def rows(path):
    """All jobs of a store but for the times."""
    with sqlite3.connect(path) as database:
        found = database.execute("SELECT key, kind, spec, data, arrays FROM jobs").fetchall()
    database.close()
    return {row[0]: row[1:] for row in found}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The judgements and the store of one process, and the folder of its claim."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "claims").mkdir()
    (folder / "claims" / "planted.py").write_text(PLANTED)
    done = result_of(start_run(folder / "store.sqlite", folder / "claims"))
    assert not [each for each in done["judgements"] if each["verdict"] == "error"]
    return done["judgements"], rows(folder / "store.sqlite"), folder / "claims"


@pytest.mark.slow
def test_the_command_prints_on_a_cluster_what_it_prints_alone(two, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {}
    for name, options in {"one": ["--jobs", "0"], "two": ["--engine", str(two.address)]}.items():
        assert main(["verify", "both-72", "both-96-99", "--store", f"{name}.sqlite", "--full", *options]) == 0
        texts[name] = capsys.readouterr().out
    assert texts["one"] == texts["two"] and "both-96-" in texts["one"]  # at 80 columns the id has two lines
    assert rows("one.sqlite") == rows("two.sqlite")


@needs_kill
@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_job_changes_nothing(running, alone, tmp_path):
    judgements, stored, claims = alone
    two = running.with_workers(2)
    (claims.parent / "hang").touch()
    parent = start_run(tmp_path / "store.sqlite", claims, "--engine", two.address)
    try:
        marker = marker_of(claims, parent)
        victim = int(marker.stem)
        assert victim in {worker.pid for worker in two.workers}
        os.kill(victim, signal.SIGKILL)
        done = result_of(parent)
    finally:
        parent.kill()
        parent.communicate()
        tidy(claims)
    assert sum(worker.poll() is None for worker in two.workers) == 1
    assert len(judgements) == len(done["judgements"]) > 3
    for ours, theirs in zip(done["judgements"], judgements, strict=True):
        for name in theirs:
            assert ours[name] == theirs[name], (theirs["claim"], theirs["domain"], name)
    assert rows(tmp_path / "store.sqlite") == stored


@needs_kill
@pytest.mark.slow
def test_a_parent_killed_or_interrupted_resumes_from_its_store(two, alone, tmp_path):
    judgements, stored, claims = alone
    store = tmp_path / "store.sqlite"
    first = result_of(start_run(store, claims, "--engine", two.address, "--kill-at", "2.5,4"))
    assert first["deaths"] == [9, 9]
    assert 3 + 4 <= first["finished"] < len(stored)
    assert first["judgements"] == judgements
    assert rows(store) == stored


@needs_kill
@pytest.mark.slow
def test_an_interrupt_keeps_what_was_finished(two, alone, tmp_path):
    _, stored, claims = alone
    (claims.parent / "hang").touch()
    marker = None
    parent = start_run(tmp_path / "store.sqlite", claims, "--engine", two.address)
    try:
        marker = marker_of(claims, parent)
        wait_for(lambda: len(rows(tmp_path / "store.sqlite")) >= 2)
        parent.send_signal(signal.SIGINT)
        _, err = parent.communicate(timeout=60)
        assert parent.returncode != 0 and "KeyboardInterrupt" in err
        kept = rows(tmp_path / "store.sqlite")
        assert 2 <= len(kept) < len(stored) and kept.items() <= stored.items()
    finally:
        parent.kill()
        parent.communicate()
        for worker in two.workers:
            if marker is not None and worker.pid == int(marker.stem):
                worker.kill()  # a job that has begun is not stopped by its parent's end
                worker.wait()
        tidy(claims)


@pytest.mark.slow
def test_a_scheduler_without_workers_and_one_that_dies_are_errors(tmp_path, monkeypatch):
    lonely = Cluster(tmp_path)
    try:
        with refusal(r"has had no worker for 3 s.*dask worker tcp"), connected(lonely.address, (), timeout_s=3.0):
            pass
        lonely.with_workers(1)
        monkeypatch.setattr(cluster, "PATIENCE_S", 0.5)
        with connected(lonely.address, ()) as engine:
            outcomes = engine(time.sleep, [("a", (0.0,)), ("b", (600.0,)), ("c", (600.0,))])
            assert next(outcomes).key == "a"
            lonely.workers[0].kill()
            with pytest.raises(ClusterError, match=r"has had no worker for 0\.5 s"):
                next(outcomes)
        lonely.with_workers(1)
        with connected(lonely.address, ()) as engine:
            outcomes = engine(time.sleep, [("a", (0.0,)), ("b", (600.0,))])
            assert next(outcomes).key == "a"
            lonely.processes[0].kill()
            with pytest.raises(ClusterError, match="the scheduler is lost"):
                next(outcomes)
    finally:
        lonely.stop()


@needs_kill
@pytest.mark.slow
def test_a_job_that_kills_every_worker_is_an_error_of_its_own(running):
    two = running.with_workers(2)
    with connected(two.address, ()) as engine:
        outcomes = engine(eval, [("deadly", (KILL_WORKER,)), ("good", ("1 + 1",))])
        found = [next(outcomes)]
        wait_for(lambda: sum(worker.poll() is None for worker in two.workers) == 0)
        two.with_workers(1)
        found += outcomes
    by_key = {each.key: each for each in found}
    assert by_key["deadly"].error.startswith("the worker process died (2 workers died of it, the last at tcp://")
    assert by_key["good"].value == 2


@needs_kill
@pytest.mark.slow
def test_a_job_that_hangs_hoards_or_dies_costs_no_worker(two):
    """Each is stopped in its child, under a limit that those with an end keep."""
    operating = "__import__('os')"
    bad = {
        "loops": ("any(iter(int, 1))", "the job ran for "),
        "sleeps": ("__import__('ctypes').PyDLL(None).sleep(600)", "the job ran for "),
        "is stopped": (f"{operating}.kill({operating}.getpid(), 19)", "the job ran for "),
        "hoards": ("(b'1' * 10**9, __import__('time').sleep(600))", "the job held "),
        "dies": (f"{operating}.kill({operating}.getpid(), 9)", "the worker process died (exit code -9); "),
    }
    heard = set()
    jobs = [*((name, (text,)) for name, (text, _) in bad.items()), *((str(k), (str(k),)) for k in range(4))]
    with connected(two.address, (), limits=Limits(8.0, 5 * 10**8, "; advice")) as engine:
        found = {each.key: each for each in engine(eval, jobs, watch=heard.update)}
    for name, (_, said) in bad.items():
        assert found[name].error.startswith(said), found[name].error
        assert found[name].error.endswith(("; advice", "(--jobs)"))
    assert [found[str(k)].value for k in range(4)] == list(range(4))
    assert {"loops", "sleeps"} <= heard and all(worker.poll() is None for worker in two.workers)
