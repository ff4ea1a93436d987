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
import json
import os
import pickle
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).parent)]

import trials  # noqa: E402
from blind_page import write_page  # noqa: E402
from groups import GROUPS, Group, mutants_of  # noqa: E402
from operators import Mutant  # noqa: E402
from results import (  # noqa: E402
    KEY,
    explained_again,
    merged,
    page,
    record_of,
    settled_files,
    unexplained,
    updated,
)
from trials import SURVIVED, Outcome, run_group  # noqa: E402

RESULT = trials.ROOT / "benchmarks" / "results" / "mutation.json"


Chosen = TypeVar("Chosen")


def choose(mutants: Sequence[Chosen], count: int | None, seed: int) -> list[Chosen]:
    """``count`` of them at random, in order; all if it is None."""
    if count is None or count >= len(mutants):
        return list(mutants)
    return [mutants[i] for i in sorted(random.Random(seed).sample(range(len(mutants)), count))]


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
                ask.write_bytes(pickle.dumps((trials.ROOT, group, mutants)))
                command = [sys.executable, __file__, "--worker", str(ask), str(answer)]
                running.append((group, subprocess.Popen(command, cwd=trials.ROOT), answer))
            for entry in list(running):
                group, process, answer = entry
                if process.poll() is not None:
                    running.remove(entry)
                    if process.returncode:
                        raise RuntimeError(f"The worker of {group.name} ended with {process.returncode}.")
                    yield group, pickle.loads(answer.read_bytes())
            time.sleep(0.2)


def _parser() -> argparse.ArgumentParser:
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
    return parser


def _work(ask: Path, answer: Path) -> None:
    """What a process of ``_workers`` does: the mutants of one group, from a file into a file."""
    root, group, mutants = pickle.loads(ask.read_bytes())
    trials.move_to(root)

    def say(text: str) -> None:
        os.write(2, f"{group.name}: {text}\n".encode())

    answer.write_bytes(pickle.dumps(run_group(group.files, group.tests, mutants, say)))


def _written_again(results: Sequence[Path]) -> int:
    """Stored results as one in the place of the repository's, explained anew, with the page."""
    record = explained_again(merged([json.loads(path.read_text()) for path in results]))
    record["of"] = _total(GROUPS)
    RESULT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    write_page(page(record))
    return any(each["kind"] == "unexplained" for each in record["survivors"])


def _asked(options: argparse.Namespace, groups: Iterable[Group]) -> list[tuple[Group, Mutant]]:
    """The mutants that the options name; --sample chooses among them."""
    asked = [(group, mutant) for group in groups for mutant in mutants_of(group, options.file)]
    if options.function:
        asked = [(group, mutant) for group, mutant in asked if re.search(options.function, mutant.function)]
    if options.settled:
        settled = settled_files(json.loads(RESULT.read_text()))
        asked = [(group, mutant) for group, mutant in asked if mutant.file in settled]
    which, parts = map(int, options.shard.split("/"))
    asked = asked[which - 1 :: parts]
    if options.again:
        stored = json.loads(options.again.read_text())
        alive = {tuple(each[name] for name in KEY) for each in stored["survivors"]}
        asked = [(group, mutant) for group, mutant in asked if mutant.key in alive]
    return asked


def _is_full(options: argparse.Namespace) -> bool:
    """Whether nothing is left out: only then the result takes the place of the repository's."""
    some = (options.file, options.function, options.group, options.root, options.settled)
    return options.sample is None and options.shard.endswith("/1") and not any(some)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.worker:
        _work(*options.worker)
        return 0
    if options.page or options.merge:
        return _written_again(options.merge or [RESULT])
    groups = [group for group in GROUPS if options.group in (None, group.name)]
    if options.root:
        trials.move_to(options.root)
        groups = [Group("other", tuple(options.files), tuple(options.tests))]
    asked = _asked(options, groups)
    if options.list:
        for group, mutant in asked:
            print(group.name, mutant.file, mutant.line, mutant.operator, mutant.before, "→", mutant.after, sep="\t")
        return 0
    work: dict[str, tuple[Group, list[Mutant]]] = {}
    for group, mutant in choose(asked, options.sample, options.seed):
        work.setdefault(group.name, (group, []))[1].append(mutant)
    start = time.monotonic()
    outcomes = {}
    for group, found in _workers(list(work.values()), options.jobs, print):
        outcomes[group.name] = found
        survived = sum(each.fate == SURVIVED for each in found)
        print(f"{group.name}: {len(found)} mutants, {survived} survived", flush=True)
    ordered = [each for group in groups for each in outcomes.get(group.name, [])]
    record = record_of(ordered, time.monotonic() - start)
    record["of"] = _total(groups)
    if options.again:
        record = updated(json.loads(options.again.read_text()), record, [each.mutant for each in ordered])
    is_full = _is_full(options)
    if options.out or is_full:
        (options.out or RESULT).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if is_full and not options.out:
        write_page(page(record))
    new = unexplained(ordered)
    for each in new:
        print(f"survived, unexplained: {each.file}:{each.line} {each.function}: {each.before} → {each.after}")
    print(f"{record['killed']} of {record['mutants']} killed in {record['seconds']} s")
    return bool(new)


def _total(groups: Iterable[Group]) -> dict[str, int]:
    """How many mutants there are of each file."""
    return dict(Counter(mutant.file for group in groups for mutant in mutants_of(group)))


if __name__ == "__main__":
    sys.exit(main())
