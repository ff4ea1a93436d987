"""A copy of the project in which one file is broken at a time, and tests run on it in forks of this process.

This process has imported what the project is made of, and nothing of the project: a fork imports that anew, from the
copy, in half a second. A fork and all that it starts ends with its answer, or after ``STUCK_S`` without one.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

STUCK_S = 90.0
"""Of the clock, without a test that begins or ends: a time-out."""
MEMORY = 6 * 2**30
OTHERS = ("numpy", "scipy", "torch", "sympy", "networkx", "mpmath", "flint", "numba", "hypothesis", "pytest", "rich")
FAST = "not slow and not gpu"


def load_others() -> None:
    """Once, before the first fork."""
    os.environ.update(OMP_NUM_THREADS="1", PYTHONHASHSEED="0")
    for name in OTHERS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


class Scratch:
    """The copy. ``root`` is where it lies; the files have the times of the originals, so that caches hold."""

    def __init__(self, project: Path, root: Path) -> None:
        self.root = root
        self.times = itertools.count(1)
        self.is_fresh = False
        shown = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=project, capture_output=True
        )
        names = shown.stdout.decode().split("\0") if not shown.returncode else []
        for name in [name for name in names if name and (project / name).is_file()] or [
            path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()
        ]:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project / name, root / name)
        self.kernels = root.parent / "kernels"

    @contextlib.contextmanager
    def holding(self, file: str, text: str, *, is_compiled: bool) -> Iterator[None]:
        """The file with another text. ``is_compiled``: kernels that others compiled with it are compiled again."""
        path = self.root / file
        kept, times = path.read_bytes(), path.stat()
        path.write_text(text)
        os.utime(path, (times.st_atime, times.st_mtime + 10 * next(self.times)))
        self._forget(path)
        self.is_fresh = is_compiled
        try:
            yield
        finally:
            path.write_bytes(kept)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            self._forget(path)
            self.is_fresh = False

    def _forget(self, path: Path) -> None:
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()

    def run(
        self,
        tests: Sequence[str],
        words: Iterable[str],
        seconds: float,
        left_out: Sequence[str] = (),
        *,
        only: str = "",
    ) -> dict[str, Any]:
        """Of test files, or of one test by its name, until one fails or the seconds are over.

        only   tests whose name has this, the slow ones too; "" the fast ones
        words  tests whose name or code has one of them go first
        → "by": what failed or hung, or ""; "how": "failed", "not imported", "time-out", "died"; "tests": their number
        """
        with tempfile.TemporaryDirectory() as fresh:
            kernels = Path(fresh) if self.is_fresh else self.kernels

            def work(send: Callable[[Any], None]) -> None:
                self._in_child(tests, words, seconds, left_out, kernels, send, only)

            return _answer(work, tests)

    def _in_child(
        self,
        tests: Sequence[str],
        words: Iterable[str],
        seconds: float,
        left_out: Sequence[str],
        kernels: Path,
        send: Callable[[Any], None],
        only: str,
    ) -> None:
        import pytest

        os.chdir(self.root)
        os.environ |= {"PYTHONPATH": str(self.root), "NUMBA_CACHE_DIR": str(kernels)}
        if numba := sys.modules.get("numba"):
            numba.config.CACHE_DIR = str(kernels)
        sys.path.insert(0, str(self.root))
        options = [
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            "--tb=no",
            "--hypothesis-seed=0",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
            "-m",
            "not gpu" if only else FAST,
        ]
        options += [f"--deselect={each}" for each in left_out]
        watch = _Watch(tests, words, seconds, only, send)
        code = pytest.main([*options, f"--rootdir={self.root}", *tests], plugins=[watch])
        send({"over": int(code)})


class _Watch:
    """A pytest plugin that says what begins and what fails, and stops when its time is over."""

    def __init__(
        self, tests: Sequence[str], words: Iterable[str], seconds: float, only: str, send: Callable[[Any], None]
    ) -> None:
        self.order = {test.split("::")[0]: number for number, test in enumerate(tests)}
        self.only = only
        self.words, self.send, self.end = set(words), send, time.monotonic() + seconds

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.send({"fail": report.nodeid, "how": "not imported"})

    def pytest_collection_finish(self, session: Any) -> None:
        session.items[:] = sorted((each for each in session.items if self.only in each.nodeid), key=self._place)

    def _place(self, item: Any) -> tuple[int, bool]:
        code = getattr(getattr(item, "function", None), "__code__", None)
        names = set(code.co_names) | set(code.co_consts) if code else set()
        is_near = bool(self.words & names) or any(word in item.nodeid.split("::", 1)[-1] for word in self.words)
        return self.order.get(item.nodeid.split("::")[0], len(self.order)), not is_near

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self.send({"begin": nodeid})

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.send({"fail": report.nodeid, "how": "failed"})

    def pytest_runtest_teardown(self, item: Any, nextitem: Any) -> None:
        if time.monotonic() > self.end:
            item.session.shouldstop = "the time is over"


def _answer(work: Callable[[Callable[[Any], None]], None], tests: Sequence[str]) -> dict[str, Any]:
    """What a fork says, and how it ended."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        _child(work, read, write)
    os.close(write)
    held, said, how = b"", [], ""
    while not how:
        ready, _, _ = select.select([read], [], [], STUCK_S)
        block = os.read(read, 1 << 16) if ready else b""
        if not ready:
            how = "time-out"
        elif not block:
            how = "died"
        else:
            *lines, held = (held + block).split(b"\n")
            said += [json.loads(line) for line in lines]
            if any("fail" in each or "over" in each for each in said):
                how = "answered"
    os.close(read)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if any(each.get("over") in (3, 4) for each in said):  # its own errors
        raise RuntimeError(f"pytest could not run {tests}.")
    begun = [each["begin"] for each in said if "begin" in each]
    if failed := [each for each in said if "fail" in each]:
        return {"by": failed[0]["fail"], "how": failed[0]["how"], "tests": len(begun)}
    last = begun[-1] if begun else tests[0]
    return {"by": "" if how == "answered" else last, "how": "" if how == "answered" else how, "tests": len(begun)}


def _child(work: Callable[[Callable[[Any], None]], None], read: int, write: int) -> None:
    try:
        os.setsid()
        os.close(read)
        sink = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(sink, stream)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))

        def send(value: Any) -> None:
            os.write(write, json.dumps(value).encode() + b"\n")

        try:
            work(send)
        except BaseException:
            send({"over": 3})
    finally:
        os._exit(0)
