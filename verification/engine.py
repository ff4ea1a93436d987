"""The local engine: a pool of spawned processes, one BLAS and torch thread each. A dying worker costs its own job only.

pebble's pool is used because the standard library's breaks as a whole when one worker dies.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for_sentinel
from typing import Any

from pebble import ProcessExpired, ProcessPool

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Finished:
    """A job's return value, or the sentence that says why there is none."""

    key: str
    value: Any
    error: str
    wall_s: float


def _start_worker() -> None:
    """In the worker: die with the parent, even if it was killed and could not say so."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            wait_for_sentinel([parent.sentinel])
            os._exit(1)

        threading.Thread(target=follow, daemon=True, name="follow-parent").start()


def _timed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    started = time.perf_counter()
    return function(*arguments), time.perf_counter() - started


def run(
    function: Callable[..., Any],
    jobs: list[tuple[str, tuple[Any, ...]]],
    *,
    workers: int,
    timeout_s: float | None = None,
) -> Iterator[Finished]:
    """Yield every job's outcome as it ends; ``jobs`` are (key, arguments) for the importable ``function``.

    ``workers`` = 0 runs in this process. Closing the iterator (an interrupt) kills the workers.
    """
    if workers == 0:
        yield from (_run_here(function, key, arguments) for key, arguments in jobs)
        return
    saved = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))  # inherited by the workers before they import BLAS
    context = multiprocessing.get_context("spawn")
    pool = ProcessPool(max_workers=workers, initializer=_start_worker, context=context)
    try:
        waiting: dict[Future[Any], str] = {
            pool.schedule(_timed, args=(function, arguments), timeout=timeout_s): key for key, arguments in jobs
        }
        while waiting:
            done, _ = wait(list(waiting), return_when=FIRST_COMPLETED)
            for future in done:
                yield _outcome(waiting.pop(future), future)
        pool.close()  # type: ignore[no-untyped-call]
    finally:
        pool.stop()  # type: ignore[no-untyped-call]
        pool.join()
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _run_here(function: Callable[..., Any], key: str, arguments: tuple[Any, ...]) -> Finished:
    try:
        value, wall_s = _timed(function, arguments)
        return Finished(key, value, "", wall_s)
    except Exception as error:
        return Finished(key, None, f"{type(error).__name__}: {error}", 0.0)


def _outcome(key: str, future: Future[Any]) -> Finished:
    try:
        value, wall_s = future.result()
        return Finished(key, value, "", wall_s)
    except ProcessExpired as error:
        return Finished(key, None, f"the worker process died (exit code {error.exitcode})", 0.0)
    except TimeoutError:
        return Finished(key, None, "the job exceeded its time limit and was stopped", 0.0)
    except Exception as error:
        return Finished(key, None, f"{type(error).__name__}: {error}", 0.0)
