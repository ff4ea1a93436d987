"""The cluster engine: the same jobs on the workers of a dask scheduler (``--engine dask://host:port``).

The scheduler gives a job to another worker when one dies. Results come back to this process, which alone writes the
store; workers read no file of it. A worker whose odernn, packages, Python or claim files are others than here would
give results under keys that are not theirs: it is refused, whenever it joins.
"""

from __future__ import annotations

import asyncio
import hashlib
import multiprocessing
import pickle
import platform
import queue
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from verification.run.engine import Engine, Finished, Jobs, Watch, happened, next_worker, nobody, read
from verification.run.limits import Limits
from verification.run.worker import Worker, sentence

SCHEME = "dask"
CONNECT_S = 30.0
PATIENCE_S = 120.0
"""How long the run waits while the scheduler has no worker at all."""

PULSE_S = 1.0
AHEAD = 2
"""Jobs handed to the scheduler for every worker: one at work and one waiting, so that no worker idles."""


class ClusterError(Exception):
    """The cluster cannot be used: one line that says which address, why, and what to do."""


@dataclass(frozen=True)
class Address:
    """Where a dask scheduler listens."""

    host: str
    port: int

    @staticmethod
    def parse(text: str) -> Address:
        """ClusterError unless the text is ``dask://host:port``."""
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or not port or text.casefold() != f"{SCHEME}://{parts.netloc}".casefold() or "@" in parts.netloc:
            raise ClusterError(f'--engine {text}: is neither "local" nor an address such as dask://127.0.0.1:8786.')
        return Address(host, port)

    def __str__(self) -> str:
        return f"{SCHEME}://{self._location}"

    @property
    def tcp(self) -> str:
        return f"tcp://{self._location}"

    @property
    def _location(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


# --- who may work -----------------------------------------------------------------------------------------------


def environment(claims_dirs: tuple[str, ...]) -> dict[str, str]:
    """What a result rests on beside its job, by name: equal here and on a worker, or the worker is refused."""
    return _of_process() | {f'claim files in "{folder}"': _of_folder(Path(folder)) for folder in claims_dirs}


@cache
def _of_process() -> dict[str, str]:
    """Found out once: a process that lives on keeps the text that it has imported, whatever becomes of the files."""
    from verification.run.closure import library_digest, versions

    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **versions(), "source text of odernn": library_digest()[:16]}


def _of_folder(folder: Path) -> str:
    from verification.run.closure import files_of

    digest = hashlib.sha256()
    files = list(files_of(folder)) if folder.is_dir() else []
    for name, path in files:
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16] if files else "none"


def differences(there: dict[str, str], here: dict[str, str]) -> str:
    """The facts that differ, in words; "" if none does."""
    names = [name for name in (*here, *(there.keys() - here.keys())) if there.get(name) != here.get(name)]
    return ", ".join(
        f"{name} is {there.get(name, 'missing')} there and {here.get(name, 'missing')} here" for name in names
    )


def _objection(expected: dict[str, str], claims_dirs: tuple[str, ...], threads: int) -> str:
    """On a worker: why it must not work for this run, "" if it may."""
    if threads != 1:
        # mpmath and FLINT keep their working precision in one place for all threads of a process
        return f"it has {threads} threads, and certificates need a process each (dask worker --nthreads 1 --nworkers N)"
    return differences(environment(claims_dirs), expected)


def _perform(
    message: bytes, expected: dict[str, str], claims_dirs: tuple[str, ...], limits: Limits
) -> tuple[str, bytes, str, float]:
    """On a worker: (objection, the answer of the job, why there is none, seconds).

    The job is done in a process of its own, as on one machine: what dies, hangs or is stopped there is a job.
    """
    from distributed import get_worker

    worker = get_worker()
    try:
        objection = _objection(expected, claims_dirs, worker.state.nthreads)
    except Exception as error:  # an exception that dask cannot send would leave the parent waiting for ever
        objection = sentence(error)
    if objection:
        return f"worker {worker.address}: {objection}", b"", "", 0.0
    if limits.memory is None:
        manager = getattr(worker, "memory_manager", None)
        limits = replace(limits, memory=getattr(manager, "memory_limit", None))
    return "", *_in_child(message, limits)


_events: queue.SimpleQueue[tuple[Worker, bytes | None]] = queue.SimpleQueue()
_idle: list[Worker] = []
"""Of a dask worker: its child, between two jobs. It has one thread, so that there is one."""


def _in_child(message: bytes, limits: Limits) -> tuple[bytes, str, float]:
    """(answer, why there is none, seconds)."""
    multiprocessing.current_process().daemon = False  # a nanny's children are daemons, which may have none
    child = next_worker(_idle, _events)
    child.give("", message)
    try:
        while not (found := happened([child], _events, limits)):
            pass
    except BaseException:
        child.kill()
        raise
    ((_, reply, problem),) = found
    if not problem:
        _idle.append(child)
    return reply, problem, child.ran()


# --- the run ----------------------------------------------------------------------------------------------------


@contextmanager
def connected(
    address: Address,
    claims_dirs: tuple[str, ...],
    *,
    timeout_s: float = CONNECT_S,
    limits: Limits | None = None,
) -> Iterator[Engine]:
    """An engine that works on the scheduler's workers. ClusterError if it cannot be reached or has no workers.

    Without a limit of memory each worker has its own (``dask worker --memory-limit``).
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(
            f'--engine {address}: needs dask.distributed ({error}). Install it: pip install "odernn[cluster]".'
        ) from None
    try:
        with ThreadPoolExecutor(1) as alone:  # a notebook has a loop of its own in this thread
            asked = asyncio.wait_for(_kind_of_server(address.tcp), timeout_s)
            kind = alone.submit(asyncio.run, asked).result()
        if kind != "Scheduler":
            raise ClusterError(
                f"--engine {address}: this is the address of a dask {kind.lower()}. Give that of its scheduler."
            )
        client = Client(address.tcp, timeout=timeout_s, set_as_default=False)
    except ClusterError:
        raise
    except Exception as error:  # whatever answers at that port, it is no scheduler
        raise ClusterError(
            f"--engine {address}: no dask scheduler answered within {timeout_s:g} s ({type(error).__name__}). Check "
            "the address, or start one: dask scheduler --host HOST --port PORT."
        ) from None
    try:
        yield _Cluster(client, address, claims_dirs, timeout_s, limits or Limits()).run
    finally:
        with suppress(Exception):  # a scheduler that is gone cannot be taken leave of
            client.close(timeout=PULSE_S)


async def _kind_of_server(address: str) -> str:
    """What a dask server says that it is: Scheduler, Worker or Nanny.

    Asked before there is a ``Client``. Where a port is open and silent, that waits without end; and one that failed to
    connect closes itself whenever it is collected, also under a lock that its closing takes.
    """
    from distributed.comm.core import connect
    from distributed.core import send_recv

    comm = await connect(address)
    try:
        return str((await send_recv(comm, op="identity", reply=True))["type"])
    finally:
        comm.abort()


class _Cluster:
    def __init__(
        self, client: Any, address: Address, claims_dirs: tuple[str, ...], timeout_s: float, limits: Limits
    ) -> None:
        self._limits = limits
        self._client, self._address, self._claims_dirs = client, address, claims_dirs
        self._expected = environment(claims_dirs)
        self._patience = timeout_s
        self._seen = time.monotonic()
        while not self._workers():
            time.sleep(0.05)
        self._patience = PATIENCE_S

    def run(self, function: Callable[..., Any], jobs: Jobs, /, *, watch: Watch = nobody) -> Iterator[Finished]:
        """``engine.run`` on the cluster. Closing the iterator (an interrupt) cancels what has not begun."""
        token, waiting = uuid.uuid4().hex[:8], iter(jobs)
        flying: dict[Any, tuple[str, float]] = {}
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        try:
            while True:
                yield from self._submit(function, waiting, flying, ended, token)
                if not flying:
                    return
                watch({key: time.monotonic() - since for key, since in flying.values()})
                with suppress(queue.Empty):
                    future = ended.get(timeout=PULSE_S)
                    outcome = self._outcome(future, flying[future][0])
                    if outcome is None:
                        ended.put(future)
                        continue
                    del flying[future]
                    yield outcome
        finally:
            with suppress(Exception):  # the scheduler may be gone; the interrupt is what is to be heard of
                self._client.cancel(list(flying))

    def _submit(
        self,
        function: Callable[..., Any],
        waiting: Iterator[tuple[str, tuple[Any, ...]]],
        flying: dict[Any, tuple[str, float]],
        ended: queue.SimpleQueue[Any],
        token: str,
    ) -> Iterator[Finished]:
        """Hand jobs over until there are enough for the workers of now; yields those that could not even be sent."""
        room = max(1, AHEAD * self._workers()) - len(flying)
        while room > 0 and (job := next(waiting, None)) is not None:
            key, arguments = job
            try:
                message = pickle.dumps((function, arguments))
            except Exception as error:
                yield Finished(key, None, f"the job cannot be sent: {sentence(error)}", 0.0)
                continue
            # the token keeps two runs on one cluster apart, and a run that is resumed from what it left behind
            name = f"odernn-{key}-{token}"
            of_run = (self._expected, self._claims_dirs, self._limits)
            future = self._client.submit(_perform, message, *of_run, key=name, pure=False)
            flying[future] = key, time.monotonic()
            future.add_done_callback(ended.put)
            room -= 1

    def _workers(self) -> int:
        """How many workers there are now. ClusterError if there has been none for long, or no scheduler any more."""
        try:
            count = len(self._client.nthreads())
        except Exception as error:
            raise self._lost(sentence(error)) from None
        now = time.monotonic()
        if count:
            self._seen = now
        elif now - self._seen > self._patience:
            raise ClusterError(
                f"--engine {self._address}: the scheduler has had no worker for {self._patience:g} s. What was "
                f"finished is kept: start some (dask worker {self._address.tcp} --nthreads 1 --nworkers N) and run the "
                "same command again."
            )
        return count

    def _outcome(self, future: Any, key: str) -> Finished | None:
        """What came of a job that has ended; None if its result went down with a worker and is being made again."""
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise self._lost("it has dropped this run's jobs")
        try:
            objection, reply, problem, ran = future.result(timeout=PULSE_S)
        except TimeoutError:
            return None
        except KilledWorker as error:
            workers = f"{error.allowed_failures + 1} workers died of it, the last at {error.last_worker.address}"
            return Finished(key, None, f"the worker process died ({workers})", 0.0)
        except Exception as error:
            raise ClusterError(
                f"--engine {self._address}: a worker could not take a job ({sentence(error)}). Is this odernn "
                "installed there? What was finished is kept."
            ) from None
        if objection:
            raise ClusterError(
                f"--engine {self._address}: {objection}. Make it the same, restart the worker and run the same command "
                "again; what was finished is kept."
            )
        return Finished(key, None, problem, ran) if problem else read(key, reply)

    def _lost(self, reason: str) -> ClusterError:
        return ClusterError(
            f"--engine {self._address}: the scheduler is lost ({reason}). What was finished is kept: run the same "
            "command again once it is back."
        )
