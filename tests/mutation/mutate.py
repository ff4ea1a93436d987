"""Mutation check of every bound formula: break it in every way, run its tests, and explain what no test notices.

    python tests/mutation/mutate.py                          everything (about half an hour on one core; --jobs 2)
    python tests/mutation/mutate.py --file sharp             files whose path contains "sharp"
    python tests/mutation/mutate.py --function '^peak_'      functions whose name matches a pattern
    python tests/mutation/mutate.py --sample 150 --seed 1    a random sample
    python tests/mutation/mutate.py --page                   write docs/mutation.md again from the stored result

A process imports the files and their tests once. Then every mutant has a fork of it, in which the code of the broken
function takes the place of the old one in all its instances (functions, methods, closures in claims), and the tests
that run the broken statement are called, the fast ones first, until one fails. Which tests run a statement is measured
before, each test in a fork of its own. Without a mutant all tests must pass.

Exit code 1 if a mutant survives that tests/mutation/survivors.toml does not explain.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import json
import os
import pickle
import random
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import operators  # noqa: E402
from operators import OPERATORS, Mutant  # noqa: E402

RESULT = ROOT / "benchmarks" / "results" / "mutation.json"
PAGE = ROOT / "docs" / "mutation.md"
SURVIVORS = Path(__file__).parent / "survivors.toml"

FORMULAS = (
    r"^(second_)?bound$|(^|_)(balls|intervals)(_|$)|^(ball|interval)$|_(ball|interval)$|^_(ball|interval)_"
    r"|^_second_|^printed_bound$|^sides$|^_(invariant|supremum)$|^_mean_"
)
"""The functions of verification/claims that are a bound or one side of an inequality, by name."""
MEASURES = (
    r"|^(float|_float_form|exceeds|exponent|_beta_small|_beta_large|_added|_power_row|growth_sum(_again)?"
    r"|_log_growth_parts|_bias_gradient|contracting_eigenvalue|determinant_is_one|row_by_row|tuned_tail"
    r"|printed_hops|printed_power|counter|_counter_by_counting|_residual_power|_floor_at|off_resonance|_drifts|_area"
    r"|_area_again|_gradient_polynomial|_growth_check|_squares_check|_identities_check)$"
)
"""And those that are a measured quantity, its closed form or the polynomial of a proof."""
PATTERN = FORMULAS + MEASURES
CONVERTERS = ("_ball", "_interval")
"""Functions with such a name that only convert one number."""

KILLED, SURVIVED = "killed", "survived"
KEY = ("file", "function", "before", "after", "number")
"""What names a mutant in a stored result, as ``Mutant.key`` does."""
LONGEST_TEST = 12.0
"""Seconds; tests that take longer are not run against mutants."""

LONGEST_TRIAL = float(os.environ.get("ODERNN_MUTATION_TRIAL", "25"))
"""Seconds that the tests of one mutant may take together; the slowest ones are left out."""


@dataclass(frozen=True)
class Group:
    """Files that are tried together, and the tests that are to notice a mutant of them."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


def _bounds(names: str, tests: str) -> Group:
    files = tuple(f"odernn/bounds/{name}.py" for name in names.split())
    return Group(names.split()[0], files, tuple(f"tests/odernn/test_bounds_{name}.py" for name in tests.split()))


def _claims(name: str, files: str, tests: str) -> Group:
    paths = [f"verification/claims/{each}.py" for each in files.split()]
    found = tuple(f"tests/{each if '/' in each else f'verification/{each}'}.py" for each in tests.split())
    return Group(name, tuple(paths), found)


GROUPS = (
    _bounds("sharp icml sam", "sharp square_root icml sam"),
    _bounds("jacobian forms words", "jacobian"),
    _bounds("layers routes", "layers gradient"),
    _bounds("gradient", "gradient network"),
    _bounds("network _network_states _network_weights", "network gradient trials"),
    _bounds("reconstruction", "reconstruction network"),
    _bounds("sensitivity", "sensitivity"),
    _bounds("numbers", "numbers sharp jacobian"),
    Group(
        "inequalities",
        (
            "verification/measure/published_forms.py", "verification/claims/proof_steps.py",
            "verification/claims/step_norms.py", "verification/claims/ode_bounds.py",
            "verification/claims/printed_forms.py",
        ),
        ("tests/verification/test_questions_inequalities.py", "tests/mutation/test_sides.py"),
    ),
    Group(
        "state",
        tuple(f"verification/claims/{name}_state.py" for name in ("icml", "sam", "sharp")),
        (
            "tests/verification/certify/test_second.py::"
            "test_both_typings_of_every_shipped_bound_enclose_the_same_number",
            "tests/mutation/test_state_bounds.py",
        ),
    ),
    Group(
        "flows",
        tuple(f"verification/{name}.py" for name in ("certify/linear_flow", "certify/suprema", "measure/ode")),
        tuple(
            f"tests/{name}.py"
            for name in ("verification/test_questions_inequalities", "verification/test_questions_sensitivities",
                         "mutation/test_sides", "mutation/test_measures")
        ),
    ),
    _claims("gradients", "gradient_bounds jacobian_bounds", "test_questions_gradients mutation/test_measures"),
    _claims("slopes", "vanishing depth_orders representation", "test_questions_slopes"),
    _claims("energy", "elementary sensitivities", "test_questions_sensitivities mutation/test_sides"),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: ``by`` is the test that noticed it, "timeout" or "crash"; ``tests`` could have."""

    mutant: Mutant
    fate: str
    by: str
    tests: int
    seconds: float


# --- the mutants of a group


def mutants_of(group: Group, pattern: str = "") -> list[Mutant]:
    """Of every file of the group whose path contains ``pattern``."""
    files = [file for file in group.files if pattern in file]
    return [
        mutant
        for file in files
        for mutant in operators.mutants((ROOT / file).read_text(), file, only=PATTERN if "/claims/" in file else None)
        if "/claims/" not in file or mutant.function not in CONVERTERS
    ]


Chosen = TypeVar("Chosen")


def choose(mutants: Sequence[Chosen], count: int | None, seed: int) -> list[Chosen]:
    """``count`` of them at random, in order; all if it is None."""
    if count is None or count >= len(mutants):
        return list(mutants)
    return [mutants[i] for i in sorted(random.Random(seed).sample(range(len(mutants)), count))]


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
    arguments += ["-m", "not slow and not gpu"]
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


# --- the survivors and their explanations


@dataclass(frozen=True)
class Explanation:
    """Why a mutant survives: ``kind`` "equivalent" (no value changes, or none that is promised) or "hole"."""

    kind: str
    why: str


def explanations(text: str) -> list[tuple[Mapping[str, Any], Explanation]]:
    """The entries of survivors.toml: patterns over file, function, before, after (a missing one matches all)."""
    entries = tomllib.loads(text).get("survivor", [])
    for each in entries:
        if each.get("kind") not in ("equivalent", "hole") or not each.get("why"):
            raise ValueError(f'survivors.toml: {each} needs kind = "equivalent" or "hole", and why.')
    return [(each, Explanation(each["kind"], each["why"])) for each in entries]


def explain(mutant: Mutant, entries: Sequence[tuple[Mapping[str, Any], Explanation]]) -> Explanation | None:
    """The first entry that names this mutant: ``after`` may be a list."""
    for entry, explanation in entries:
        after = entry.get("after", mutant.after)
        numbers = entry.get("number", [mutant.number])
        if (
            entry["file"] == mutant.file
            and entry["function"] == mutant.function
            and entry["before"] == mutant.before
            and mutant.after in ([after] if isinstance(after, str) else after)
            and mutant.number in ([numbers] if isinstance(numbers, int) else numbers)
        ):
            return explanation
    return None


def unexplained(outcomes: Iterable[Outcome]) -> list[Mutant]:
    """Survivors without an entry."""
    entries = explanations(SURVIVORS.read_text() if SURVIVORS.exists() else "")
    return [each.mutant for each in outcomes if each.fate == SURVIVED and explain(each.mutant, entries) is None]


# --- result and page


def _record(outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any]:
    entries = explanations(SURVIVORS.read_text() if SURVIVORS.exists() else "")
    by_file: dict[str, dict[str, dict[str, int]]] = {}
    for each in outcomes:
        row = by_file.setdefault(each.mutant.file, {}).setdefault(each.mutant.operator, {"mutants": 0, KILLED: 0})
        row["mutants"] += 1
        row[KILLED] += each.fate == KILLED
    survivors = []
    for each in outcomes:
        if each.fate == SURVIVED:
            m, why = each.mutant, explain(each.mutant, entries)
            survivors.append(
                {"file": m.file, "line": m.line, "function": m.function, "operator": m.operator, "before": m.before,
                 "after": m.after, "number": m.number, "tests": each.tests,
                 "kind": why.kind if why else "unexplained", "why": why.why if why else ""}
            )  # fmt: skip
    return {
        "python": sys.version.split()[0],
        "seconds": round(seconds),
        "mutants": len(outcomes),
        "killed": sum(each.fate == KILLED for each in outcomes),
        "by_timeout": sum(each.by == "timeout" for each in outcomes),
        "by_crash": sum(each.by.startswith("crash") for each in outcomes),
        "crashes": dict(Counter(each.by for each in outcomes if each.by.startswith("crash"))),
        "timeouts": [list(each.mutant.key) for each in outcomes if each.by == "timeout"],
        "files": by_file,
        "survivors": survivors,
    }


_PREFACE = """# Mutation check of the bound formulas

Generated by `python tests/mutation/mutate.py`; do not edit. Every formula of `odernn/bounds`, of the bounds,
inequalities, measures and polynomials of proofs in the claim files below, and of the flows and suprema that they rest
on, is broken in every way below, one at a time, and its tests are run. A mutant that no test notices survives; each
survivor has an explanation in `tests/mutation/survivors.toml`.

| operator | what it does |
|:--|:--|
| sign | a + b ↔ a − b, −x → x, absolute value dropped |
| factor 2 | c → 2c, c/2 of every constant; 2t, t/2 of every term; ± log 2 of every logarithm that is returned |
| exponent | xᵏ → xᵏ⁺¹, xᵏ⁻¹; square root dropped |
| dropped term | a + b, a·b, a/b, max(a, b), log(eᵃ + eᵇ) → a and → b (−b, 1/b) |
| max and min | max ↔ min |
| comparison | < ↔ ≥, > ↔ ≤, = ↔ ≠ |
| range | n → n ± 1 at either end of a range |

Left out, by rule, is what is no formula (docstrings, hints, messages, guards that only raise, defaults, subscripts,
shapes) and what is equivalent by construction: terms that are literally zero (`0 * x`, `zero`), −x → x under an
absolute value or an even power, and mutants that equal another one (`tests/mutation/operators.py` has the rules). Of a
claim file, what searches, proposes or words is left out as well. The claim files that hold no bounds but exact
identities, structure, counts or float arithmetic are not mutated: `backpropagation`, `jacobian_paths`, `hamiltonian`,
`structure`, `representation`, `inverse`, `float_inverse`, `memory`, `chaos`, `table_arithmetic`."""


def page(record: Mapping[str, Any]) -> str:
    """docs/mutation.md."""
    files = record["files"]

    def cell(rows: Iterable[Mapping[str, int]]) -> str:
        total = [(row[KILLED], row["mutants"]) for row in rows]
        killed, count = (sum(x) for x in zip(*total, strict=True)) if total else (0, 0)
        return f"{killed}/{count}" if count else "–"

    head = f"| file | {' | '.join(OPERATORS)} | all | score | tried |"
    table = [head, "|:--|" + "--:|" * (len(OPERATORS) + 3)]
    for file, rows in files.items():
        cells = [cell([rows[name]] if name in rows else []) for name in OPERATORS]
        tried, of = sum(row["mutants"] for row in rows.values()), max(1, record["of"].get(file, 0))
        cells += [cell(rows.values()), _percent(rows.values()), f"{100 * tried / of:.0f} %"]
        table.append(f"| `{file}` | {' | '.join(cells)} |")
    total = [[rows[name] for rows in files.values() if name in rows] for name in OPERATORS]
    everything = [row for rows in files.values() for row in rows.values()]
    table.append(
        f"| **all** | {' | '.join(map(cell, total))} | **{cell(everything)}** | **{_percent(everything)}** | |"
    )
    survivors = record["survivors"]
    kinds = Counter(each["kind"] for each in survivors)
    lines = [
        *_PREFACE.splitlines(),
        "",
        *_sampled(record),
        f"**{record['killed']} of {record['mutants']} mutants are killed**, {record['by_timeout']} of them by their",
        f"time limit and {record['by_crash']} by the death of the process. {len(survivors)} survive: "
        f"{kinds['equivalent']} are equivalent, {kinds['hole']} are holes in the tests"
        + (f", {kinds['unexplained']} are unexplained." if kinds["unexplained"] else "."),
        "",
        *table,
        "",
        "## Survivors",
        "",
    ]
    by_file: dict[str, list[Any]] = defaultdict(list)
    for each in survivors:
        by_file[each["file"]].append(each)
    for file, found in by_file.items():
        lines += [f"### `{file}`", "", "| function | mutant | why no test notices |", "|:--|:--|:--|"]
        for each in found:
            mutant = f"`{_short(each['before'])}` → `{_short(each['after'])}`".replace("|", "\\|")
            why = each["why"] if each["kind"] == "equivalent" else f"**{each['kind']}**: {each['why']}"
            lines.append(f"| `{each['function']}` | {mutant} | {why.replace('|', chr(92) + '|')} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _sampled(record: Mapping[str, Any]) -> list[str]:
    """A sentence, where not every mutant was tried."""
    total = sum(record["of"].values())
    if total <= record["mutants"]:
        return []
    never = ", ".join(f"`{file}`" for file in record["of"] if file not in record["files"])
    return [
        f"This is a sample: {record['mutants']} of {total} mutants were tried, chosen blindly. Tests were then written",
        "for the survivors and these tried again, so that the score of a file that is not tried in full says little",
        "about its other mutants." + (f" Not tried at all: {never}." if never else ""),
        "",
    ]


def _short(text: str, width: int = 90) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else f"{flat[: width // 2]} … {flat[-width // 2 :]}"


def _percent(rows: Iterable[Mapping[str, int]]) -> str:
    rows = list(rows)
    return f"{100 * sum(row[KILLED] for row in rows) / max(1, sum(row['mutants'] for row in rows)):.1f} %"


# --- the command


def _workers(
    work: Sequence[tuple[Group, list[Mutant]]], jobs: int, say: Callable[[str], None]
) -> Iterator[tuple[Group, list[Outcome]]]:
    """One process a group, so that only its own tests are imported; ``jobs`` of them at once."""
    waiting = list(work)
    running: list[tuple[Group, subprocess.Popen[bytes], Path]] = []
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < jobs:
                group, mutants = waiting.pop(0)
                ask, answer = Path(folder) / f"{group.name}.in", Path(folder) / f"{group.name}.out"
                ask.write_bytes(pickle.dumps((ROOT, group, mutants)))
                command = [sys.executable, __file__, "--worker", str(ask), str(answer)]
                running.append((group, subprocess.Popen(command, cwd=ROOT), answer))
            for entry in list(running):
                group, process, answer = entry
                if process.poll() is not None:
                    running.remove(entry)
                    if process.returncode:
                        raise RuntimeError(f"The worker of {group.name} ended with {process.returncode}.")
                    yield group, pickle.loads(answer.read_bytes())
            time.sleep(0.2)


def _move_to(root: Path) -> None:
    """Mutate another project, imported from its root."""
    global ROOT
    if root.resolve() != ROOT:
        ROOT = root.resolve()
        sys.path.insert(0, str(ROOT))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Mutation check of the bound formulas.")
    parser.add_argument("--file", default="", help="only files whose path contains this")
    parser.add_argument("--function", help="only functions whose qualified name has a match of this pattern")
    parser.add_argument("--group", help=f"only the files of {', '.join(group.name for group in GROUPS)}")
    parser.add_argument("--sample", type=int, help="so many mutants, chosen at random")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="every N-th mutant, from the I-th; see --merge")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--settled", action="store_true", help="only files whose mutants have all been tried before")
    parser.add_argument("--again", type=Path, metavar="RESULT", help="try the survivors of a stored result once more")
    parser.add_argument("--merge", type=Path, nargs="+", metavar="RESULT", help="results as one, with the page")
    parser.add_argument("--page", action="store_true", help="write the page again from the stored result")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    parser.add_argument("--out", type=Path, help="where the result goes (default: the repository's, for a full run)")
    parser.add_argument("--root", type=Path, help="another project: mutate its --files under its --tests")
    parser.add_argument("--files", nargs="+", default=(), help="with --root")
    parser.add_argument("--tests", nargs="+", default=(), help="with --root")
    parser.add_argument("--worker", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        ask, answer = options.worker
        root, group, mutants = pickle.loads(ask.read_bytes())
        _move_to(root)

        def say(text: str) -> None:
            os.write(2, f"{group.name}: {text}\n".encode())

        answer.write_bytes(pickle.dumps(run_group(group.files, group.tests, mutants, say)))
        return 0
    if options.page or options.merge:
        record = _explained_again(_merged([json.loads(path.read_text()) for path in options.merge or [RESULT]]))
        record["of"] = _total(GROUPS)
        RESULT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        PAGE.write_text(page(record))
        return any(each["kind"] == "unexplained" for each in record["survivors"])
    groups = [group for group in GROUPS if options.group in (None, group.name)]
    if options.root:
        _move_to(options.root)
        groups = [Group("other", tuple(options.files), tuple(options.tests))]
    everything = [(group, mutant) for group in groups for mutant in mutants_of(group, options.file)]
    if options.function:
        everything = [(group, mutant) for group, mutant in everything if re.search(options.function, mutant.function)]
    if options.settled:
        settled = settled_files(json.loads(RESULT.read_text()))
        everything = [(group, mutant) for group, mutant in everything if mutant.file in settled]
    which, parts = map(int, options.shard.split("/"))
    everything = everything[which - 1 :: parts]
    stored = json.loads(options.again.read_text()) if options.again else {}
    if stored:
        alive = {tuple(each[name] for name in KEY) for each in stored["survivors"]}
        everything = [(group, mutant) for group, mutant in everything if mutant.key in alive]
    work: dict[str, tuple[Group, list[Mutant]]] = {}
    for group, mutant in choose(everything, options.sample, options.seed):
        work.setdefault(group.name, (group, []))[1].append(mutant)
    if options.list:
        for group, mutant in everything:
            print(group.name, mutant.file, mutant.line, mutant.operator, mutant.before, "→", mutant.after, sep="\t")
        return 0
    start = time.monotonic()
    outcomes = {}
    for group, found in _workers(list(work.values()), options.jobs, print):
        outcomes[group.name] = found
        survived = sum(each.fate == SURVIVED for each in found)
        print(f"{group.name}: {len(found)} mutants, {survived} survived", flush=True)
    ordered = [each for group in groups for each in outcomes.get(group.name, [])]
    record = _record(ordered, time.monotonic() - start)
    record["of"] = _total(groups)
    if stored:
        record = _updated(stored, record, [each.mutant for each in ordered])
    is_full = options.sample is None and parts == 1
    some = (options.file, options.function, options.group, options.root, options.settled)
    is_full = is_full and not any(some)
    if options.out or is_full:
        (options.out or RESULT).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if is_full and not options.out:
        PAGE.write_text(page(record))
    new = unexplained(ordered)
    for each in new:
        print(f"survived, unexplained: {each.file}:{each.line} {each.function}: {each.before} → {each.after}")
    print(f"{record['killed']} of {record['mutants']} killed in {record['seconds']} s")
    return bool(new)


def _total(groups: Iterable[Group]) -> dict[str, int]:
    """How many mutants there are of each file."""
    return dict(Counter(mutant.file for group in groups for mutant in mutants_of(group)))


def settled_files(record: Mapping[str, Any]) -> set[str]:
    """Files of which a stored result has every mutant, so that survivors.toml explains each survivor."""
    tried = {file: sum(row["mutants"] for row in rows.values()) for file, rows in record["files"].items()}
    unexplained = {each["file"] for each in record["survivors"] if each["kind"] == "unexplained"}
    return {file for file, count in tried.items() if count == record["of"].get(file)} - unexplained


def _merged(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Results of groups and shards as one."""
    if len(records) == 1:
        return records[0]
    counts = ("seconds", "mutants", "killed", "by_timeout", "by_crash")
    found: dict[str, Any] = {"python": records[0]["python"]}
    found |= {name: sum(each.get(name, 0) for each in records) for name in counts}
    found["timeouts"] = [each for record in records for each in record["timeouts"]]
    found["files"] = {}
    for file, rows in (each for record in records for each in record["files"].items()):
        for operator, row in rows.items():
            total = found["files"].setdefault(file, {}).setdefault(operator, {"mutants": 0, KILLED: 0})
            for name in total:
                total[name] += row[name]
    found["survivors"] = [each for record in records for each in record["survivors"]]
    return found


def _updated(stored: dict[str, Any], record: dict[str, Any], tried: Iterable[Mutant]) -> dict[str, Any]:
    """A stored result after its survivors were tried again: those that are noticed now are killed."""
    alive = {tuple(each[name] for name in KEY) for each in record["survivors"]}
    dead = {mutant.key: mutant for mutant in tried if mutant.key not in alive}
    for key, mutant in dead.items():
        stored["files"][key[0]][mutant.operator][KILLED] += 1
    rest = [each for each in stored["survivors"] if tuple(each[name] for name in KEY) not in dead]
    again = {tuple(each[name] for name in KEY): each for each in record["survivors"]}
    stored["survivors"] = [again.get(tuple(each[name] for name in KEY), each) for each in rest]
    stored["killed"] += len(dead)
    for name in ("seconds", "by_timeout", "by_crash"):
        stored[name] += record[name]
    stored["timeouts"] += record["timeouts"]
    return stored


def _explained_again(record: dict[str, Any]) -> dict[str, Any]:
    entries = explanations(SURVIVORS.read_text())
    for each in record["survivors"]:
        names = ("file", "function", "operator", "before", "after", "number", "line")
        mutant = Mutant(**{name: each[name] for name in names}, lines=(0, 0), path=())
        why = explain(mutant, entries)
        each |= {"kind": why.kind if why else "unexplained", "why": why.why if why else ""}
    return record


if __name__ == "__main__":
    sys.exit(main())
