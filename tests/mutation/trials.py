"""Trying mutants: their code in the place of the living one, their tests in forks of a process that imported it all.

As ``mutate.py`` describes. A test runs for real, with its fixtures; only where its process comes from is special.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import pickle
import resource
import select
import signal
import sys
import time
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

import operators
from operators import Mutant

ROOT = Path(__file__).resolve().parents[2]
"""The project whose files are broken; ``move_to`` chooses another."""

KILLED, SURVIVED = "killed", "survived"
LONGEST_TEST = 12.0
"""Seconds; tests that take longer are not run against mutants."""

LONGEST_TRIAL = float(os.environ.get("ODERNN_MUTATION_TRIAL", "25"))
"""Seconds that the tests of one mutant may take together; the slowest ones are left out."""


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: ``by`` is the test that noticed it, "timeout" or "crash"; ``tests`` could have."""

    mutant: Mutant
    fate: str
    by: str
    tests: int
    seconds: float


def move_to(root: Path) -> None:
    """Mutate another project, imported from its root."""
    global ROOT
    if root.resolve() != ROOT:
        ROOT = root.resolve()
        sys.path.insert(0, str(ROOT))


# --- putting a mutant in place of the living code


def _codes(module: types.CodeType) -> dict[tuple[str, int, int], types.CodeType]:
    """Every code object below by qualified name, line and number among equals."""
    found: dict[tuple[str, int, int], types.CodeType] = {}
    counts: Counter[tuple[str, int]] = Counter()

    def search(code: types.CodeType) -> None:
        for each in code.co_consts:
            if isinstance(each, types.CodeType):
                name = (each.co_qualname, each.co_firstlineno)
                found[(*name, counts[name])] = each
                counts[name] += 1
                search(each)

    search(module)
    return found


class Living:
    """The functions of some files as they live in this process, and how to exchange their code."""

    def __init__(self, files: Iterable[str]) -> None:
        self.sources = {file: (ROOT / file).read_text() for file in files}
        self.codes = {file: _codes(self._compiled(file)) for file in self.sources}
        paths = {str(ROOT / file) for file in self.sources}
        self.functions: dict[str, dict[types.CodeType, list[types.FunctionType]]] = defaultdict(dict)
        gc.unfreeze()  # tests/conftest.py froze what was collected, and what is frozen is not listed
        for each in gc.get_objects():
            if type(each) is types.FunctionType and each.__code__.co_filename in paths:
                file = str(Path(each.__code__.co_filename).relative_to(ROOT))
                self.functions[file].setdefault(each.__code__, []).append(each)

    def _compiled(self, file: str, tree: Any = None) -> types.CodeType:
        code = compile(self.sources[file] if tree is None else tree, str(ROOT / file), "exec", dont_inherit=True)
        assert isinstance(code, types.CodeType)
        return code

    def put(self, mutant: Mutant) -> int:
        """How many living functions (or constants) were changed."""
        tree = operators.broken_tree(self.sources[mutant.file], mutant)
        if mutant.is_constant:
            return _rebind(mutant, tree.body[int(mutant.path[0][1] or 0)])
        old, new = self.codes[mutant.file], _codes(self._compiled(mutant.file, tree))
        changed = 0
        for key, code in old.items():
            broken = new.get(key)
            if broken is None or broken == code:
                continue
            for function in self.functions[mutant.file].get(code, ()):
                if len(broken.co_freevars) == len(code.co_freevars):
                    function.__code__ = broken
                    changed += 1
        return changed


def _rebind(mutant: Mutant, statement: Any) -> int:
    """A constant: in its module and wherever it was imported by name; a form that is data, in place."""
    module = sys.modules[mutant.file.removesuffix(".py").replace("/", ".")]
    name = mutant.function.removeprefix("module.")
    value = eval(compile(operators.expression(statement.value), mutant.file, "eval"), vars(module))
    old = vars(module)[name]
    if is_dataclass(old):
        vars(old).update(vars(value))
        return 1
    places = [each for each in list(sys.modules.values()) if getattr(each, "__dict__", {}).get(name) is old]
    for each in places:
        vars(each)[name] = value
    return len(places)


# --- running tests in forks


def _in_fork(work: Callable[[Callable[[Any], None]], None], limit: float) -> tuple[list[Any], str]:
    """What ``work`` sent from a fork, and how that ended: "" or "timeout" or "crash"."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        code = 1
        try:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1), os.dup2(sink, 2)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + 6 * 2**30, resource.RLIM_INFINITY))
            pipe = os.fdopen(write, "wb")

            def send(value: Any) -> None:
                pickle.dump(value, pipe)
                pipe.flush()

            try:
                work(send)
                code = 0
            except BaseException as error:
                send(f"crash: {type(error).__name__}: {error}"[:300])
        except BaseException:
            code = 1
        finally:
            os._exit(code)
    os.close(write)
    received, data = [], b""
    deadline, ended = time.monotonic() + limit, ""
    while True:
        ready, _, _ = select.select([read], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            ended = "timeout"
            os.kill(child, signal.SIGKILL)
            break
        block = os.read(read, 1 << 16)
        if not block:
            break
        data += block
    os.close(read)
    _, status = os.waitpid(child, 0)
    if not ended and os.WIFSIGNALED(status):
        ended = "timeout" if os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGXCPU) else "crash"
    elif not ended and os.waitstatus_to_exitcode(status):
        ended = "crash"
    with contextlib.suppress(EOFError, pickle.UnpicklingError):
        stream = io.BytesIO(data)
        while True:
            received.append(pickle.load(stream))
    return received, ended


def _passes(item: Any, following: Any) -> bool:
    from _pytest.runner import runtestprotocol

    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


@dataclass(frozen=True)
class Known:
    """What was measured of a test without a mutant: its time and the lines that it runs, as (file, line)."""

    seconds: float
    lines: frozenset[tuple[str, int]]


def measure(items: Sequence[Any], files: Iterable[str]) -> list[Known | None]:
    """Each test in a fork of its own, traced; None for one that takes too long. A failure ends everything."""
    names = {str(ROOT / file): file for file in files}
    found: list[Known | None] = []
    for item in items:

        def work(send: Callable[[Any], None], item: Any = item) -> None:
            lines: set[tuple[str, int]] = set()

            def local(frame: Any, event: str, _: Any) -> Any:
                lines.add((names[frame.f_code.co_filename], frame.f_lineno))
                return local

            def trace(frame: Any, event: str, _: Any) -> Any:
                if frame.f_code.co_filename not in names:
                    return None
                return local(frame, event, None)

            signal.setitimer(signal.ITIMER_PROF, 4 * LONGEST_TEST)
            start = time.process_time()
            sys.settrace(trace)
            passed = _passes(item, None)
            sys.settrace(None)
            send((passed, time.process_time() - start, frozenset(lines)))

        received, ended = _in_fork(work, 240.0)
        if ended == "timeout":
            found.append(None)
            continue
        if not received or not received[0][0]:

            def plainly(send: Callable[[Any], None], item: Any = item) -> None:
                send(_passes(item, None))

            again, _ = _in_fork(plainly, 240.0)
            if again != [True]:
                raise RuntimeError(f"{item.nodeid} fails without a mutant. Make the tests pass first.")
        if received:
            _, seconds, lines = received[0]
            found.append(Known(seconds, lines))
        else:
            found.append(None)
    return found


def try_mutant(living: Living, mutant: Mutant, tests: Sequence[tuple[Any, float]]) -> Outcome:
    """Run ``tests``, pairs of an item and its time, against one mutant in a fork until one fails."""

    def work(send: Callable[[Any], None]) -> None:
        try:
            placed = living.put(mutant)
        except Exception as error:
            send(f"not in place: {error}")
            return
        if not placed:
            send("not in place")
            return
        for number, (item, seconds) in enumerate(tests):
            signal.setitimer(signal.ITIMER_PROF, 5 + 5 * seconds)
            following = tests[number + 1][0] if number + 1 < len(tests) else None
            if not _passes(item, following):
                send(item.nodeid)
                return
        send("")

    start = time.monotonic()
    limit = 30 + 20 * sum(seconds for _, seconds in tests)
    received, ended = _in_fork(work, limit)
    by = received[-1] if received else ended or "crash"
    if by.startswith("not in place"):
        raise RuntimeError(f"{mutant.file}: {mutant.function}: {mutant.before} → {mutant.after}: {by}.")
    fate = KILLED if by else SURVIVED
    return Outcome(mutant, fate, by, len(tests), round(time.monotonic() - start, 3))


class _Loop:
    """A pytest plugin that tries mutants in the place of running the tests that were collected."""

    def __init__(self, files: tuple[str, ...], mutants: Sequence[Mutant], say: Callable[[str], None]) -> None:
        self.files, self.mutants, self.say = files, mutants, say
        self.outcomes: list[Outcome] = []
        self.error: Exception | None = None

    def pytest_sessionstart(self) -> None:
        """Before the tests are imported: the same examples in every fork, and no data base of them."""
        from hypothesis import Phase, settings

        settings.register_profile(
            "mutation", database=None, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
        )
        settings.load_profile("mutation")
        for file in self.files:
            importlib.import_module(file.removesuffix(".py").replace("/", "."))

    def pytest_runtestloop(self, session: Any) -> bool:
        try:
            self._run(session.items)
        except Exception as error:
            self.error = error
        return True

    def _run(self, items: list[Any]) -> None:
        living = Living(self.files)
        gc.freeze()  # what lives now is never collected: a fork does not touch its pages
        start = time.monotonic()
        known = measure(items, self.files)
        self.say(f"{len(items)} tests measured in {time.monotonic() - start:.0f} s")
        by_line: dict[tuple[str, int], set[int]] = defaultdict(set)
        positions, kills = {item.nodeid: i for i, item in enumerate(items)}, Counter[int]()
        for i, each in enumerate(known):
            if each is not None and each.seconds <= LONGEST_TEST:
                for line in each.lines:
                    by_line[line].add(i)
        for count, mutant in enumerate(self.mutants, 1):
            first, last = mutant.lines
            chosen = set().union(*(by_line[(mutant.file, line)] for line in range(first, last + 1)))
            if mutant.is_constant:
                chosen = {i for line, tests in by_line.items() if line[0] == mutant.file for i in tests}
            order = sorted(chosen, key=lambda i: known[i].seconds / (1 + kills[i]))  # type: ignore[union-attr]
            tests = [(items[i], known[i].seconds) for i in order]  # type: ignore[union-attr]
            while len(tests) > 1 and sum(seconds for _, seconds in tests) > LONGEST_TRIAL:
                tests.pop()
            self.outcomes.append(try_mutant(living, mutant, tests))
            kills[positions.get(self.outcomes[-1].by, -1)] += 1  # what noticed others goes first
            if count % 50 == 0:
                survived = sum(each.fate == SURVIVED for each in self.outcomes)
                self.say(f"{count} of {len(self.mutants)}, {survived} survived, {time.monotonic() - start:.0f} s")


def run_group(
    files: tuple[str, ...], tests: Sequence[str], mutants: Sequence[Mutant], say: Callable[[str], None] = lambda _: None
) -> list[Outcome]:
    """The fates of some mutants under some tests, in this process."""
    import pytest

    if not mutants:
        return []
    loop = _Loop(files, mutants, say)
    arguments = ["-q", "-s", "-p", "no:cacheprovider", "--tb", "no", "--timeout", "0"]
    arguments += ["-m", "not gpu"]
    paths = [str(ROOT / test) for test in tests]
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        pytest.main([*arguments, "--rootdir", str(ROOT), *paths], plugins=[loop])
    if loop.error is not None:
        raise loop.error
    if len(loop.outcomes) != len(mutants):
        raise RuntimeError(
            f"{len(loop.outcomes)} outcomes of {len(mutants)} mutants. Are there tests in {tests}?\n{shown.getvalue()}"
        )
    return loop.outcomes
