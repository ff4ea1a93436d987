"""Mutants drawn blindly over the whole product: does a test near them notice?

    python tests/mutation/blind.py --seed 1 --number 200    goes on where the record of that seed ends
    python tests/mutation/blind.py --seed 1 --again         the survivors once more, with more tests
    python tests/mutation/blind.py --page                   docs/mutation.md again, from the record

Every expression of odernn/, verification/ and cuda/ that does something is broken in every way of ``drawn.py``, and
the operators draw in turn, each by the SHA-256 of the seed and what names the mutant: a larger number goes on with
the same ones. In a copy of the project the file is broken and its nearest tests (``nearest.py``) run until one fails;
what failed must pass without the mutant, or it is left out and the rest goes on. A time-out or a death is noticed.

The record, benchmarks/results/mutation_blind.json, has what became of each at first, when no test had been written for
it, and now. Why one survives says tests/mutation/blind_survivors.toml. Exit code 1 if one does that nothing explains.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).parent)]

import drawn  # noqa: E402
import scratch  # noqa: E402
from blind_page import RECORD, explained, write_page  # noqa: E402
from drawn import Site  # noqa: E402
from nearest import SCRIPTS, Nearest  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("odernn", "verification", "cuda")
COMPILED = "odernn/executions/"
"""Where numba compiles: of a function that another file calls it keeps the old code, so nothing kept is used."""
TOGETHER = 20
"""Mutants after which the tests that noticed them run without."""
BATCHES = (2, 4, 8)
"""Test files that are collected at once: the nearest ones, then those after them."""


def every_site(root: Path, folders: Sequence[str] = FOLDERS) -> list[Site]:
    """Of all Python files below, in the order of their names."""
    paths = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
    return [site for path in paths for site in drawn.sites(path.read_text(), path.relative_to(root).as_posix())]


def fate(copy: scratch.Scratch, nearest: Nearest, site: Site, seconds: float, unsound: Sequence[str]) -> dict[str, Any]:
    """What becomes of one, by all tests but the ``unsound``."""
    tests, start = nearest.tests(site.file, site.function), time.monotonic()
    is_compiled, is_script = site.file.startswith(COMPILED), site.file.startswith(SCRIPTS[0])
    limit = seconds * (3 if is_compiled else 1)
    text, words = (copy.root / site.file).read_text(), nearest.spoken(site.file, site.function)
    found: dict[str, Any] = {"fate": "survived", "by": "", "how": "", "tests": 0, "files": 0}
    with copy.holding(site.file, drawn.broken(text, site), is_compiled=is_compiled):
        for batch in _batches(tests):
            if (left := limit - (time.monotonic() - start)) < 0:
                break
            answer = copy.run(batch, words, left, unsound, only=Path(site.file).stem if is_script else "")
            found["tests"] += answer["tests"]
            found["files"] += len(batch)
            if (by := answer["by"]) and by not in unsound:
                return {**found, "fate": "killed", "by": by, "how": answer["how"], "seconds": _since(start)}
    return {**found, "seconds": _since(start)}


def fail_without(copy: scratch.Scratch, mutants: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of the tests that noticed these mutants, those that fail without one, too."""
    files = sorted({each["by"] for each in mutants if each["how"] == "not imported"})
    tests = sorted({each["by"] for each in mutants} - {"", *files})
    wrong = [file for file in files if copy.run([file], (), 0.0)["how"] == "not imported"]
    while (left := [test for test in tests if test not in wrong]) and (by := copy.run(left, (), 1e9, only="::")["by"]):
        if by not in left:
            raise RuntimeError(f"{by} fails, which noticed no mutant.")
        wrong.append(by)
    return wrong


def _since(start: float) -> float:
    return round(time.monotonic() - start, 1)


def _batches(tests: Sequence[str]) -> list[list[str]]:
    found, at = [], 0
    for size in (*BATCHES, *[BATCHES[-1]] * len(tests)):
        if batch := list(tests[at : at + size]):
            found.append(batch)
        at += size
    return found


# --- the record


def named(site: Site) -> dict[str, Any]:
    names = ("file", "line", "function", "operator", "before", "after", "number")
    return {name: getattr(site, name) for name in names}


def key_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry[name]) for name in ("file", "function", "before", "after", "number"))


def _key(site: Site) -> tuple[str, ...]:
    return tuple(map(str, site.key))


def stored(path: Path, seed: str) -> dict[str, Any]:
    """The record of that seed, or an empty one."""
    record: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"seed": seed}
    if record["seed"] != seed:
        record = {"seed": seed}
    return {"mutants": [], **record, "python": platform.python_version(), "machine": platform.machine()}


def write(path: Path, record: Mapping[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    part.replace(path)


def brought(record: dict[str, Any], chosen: Sequence[Site]) -> None:
    """The record, of those mutants that there still are, with their lines as they are now."""
    before = {key_of(entry): entry for entry in record["mutants"]}
    gone = set(before) - {_key(site) for site in chosen}
    record["gone"] = record.get("gone", 0) + len(gone)
    record["mutants"] = [before[key] | named(site) for site in chosen if (key := _key(site)) in before]


# --- the command


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Mutants drawn blindly over the whole product.")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--number", type=int, default=0, help="of mutants, those of the record among them")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the clock, that a mutant's tests may take")
    parser.add_argument("--again", action="store_true", help="try what survived and nothing explains once more")
    parser.add_argument("--file", default="", help="with --again: only of files whose path contains this")
    parser.add_argument("--list", action="store_true", help="only list the mutants that would be tried")
    parser.add_argument("--page", action="store_true", help="write the page again from the record")
    parser.add_argument("--into", type=Path, default=RECORD)
    parser.add_argument("--root", type=Path, default=ROOT, help="another project: every test is near to every file")
    parser.add_argument("--folders", nargs="+", default=FOLDERS, help="with --root")
    return parser


def _graph(root: Path) -> dict[str, list[str]]:
    """In a process of its own: nothing of the project may be imported here."""
    if root == ROOT:
        import subprocess

        code = f"import sys, json; sys.path[:0] = {[str(root), str(Path(__file__).parent)]!r}; "
        code += f"from pathlib import Path; import nearest; print(json.dumps(nearest.graph_of(Path({str(root)!r}))))"
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
        graph: dict[str, list[str]] = json.loads(shown.stdout)
        return graph
    files = [path.relative_to(root).as_posix() for path in root.rglob("*.py")]
    return {file: [other for other in files if other != file] for file in files}


def _survivors(options: argparse.Namespace, root: Path, record: Mapping[str, Any]) -> list[Site]:
    """What is to be tried once more."""
    alive = [each for each in explained(record["mutants"]) if each["kind"] == "unexplained"]
    alive = [each for each in alive if options.file in each["file"]]
    texts = {file: (root / file).read_text() for file in {each["file"] for each in alive}}
    keys = {key_of(each) for each in alive}
    return [site for file, text in texts.items() for site in drawn.sites(text, file) if _key(site) in keys]


def _drawn(options: argparse.Namespace, root: Path, record: dict[str, Any]) -> list[Site]:
    """The mutants of the seed; the record keeps those of it that are among them."""
    every = every_site(root, options.folders)
    chosen = drawn.draw(every, options.seed, max(options.number, len(record["mutants"]) + record.get("gone", 0)))
    brought(record, chosen)
    record["sites"] = {name: sum(site.operator == name for site in every) for name in drawn.OPERATORS}
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    root = options.root.resolve()
    if not options.page:
        record = stored(options.into, options.seed)
        if options.again:
            todo = _survivors(options, root, record)
        else:
            tried = {key_of(entry) for entry in record["mutants"]}
            todo = [site for site in _drawn(options, root, record) if _key(site) not in tried]
        if options.list:
            for site in todo:
                print(site.file, site.line, site.function, site.operator, site.before, "→", site.after, sep="\t")
            return 0
        _try(options, root, record, todo)
    if options.into == RECORD:
        write_page()
    mutants = explained(json.loads(options.into.read_text())["mutants"])
    new = [each for each in mutants if each["kind"] == "unexplained"]
    for each in new:
        change = f"{each['before']} → {each['after']}"
        print(f"survived, unexplained: {each['file']}:{each['line']} {each['function']}: {change}")
    print(f"{sum(each['fate'] == 'killed' for each in mutants)} of {len(mutants)} killed")
    return bool(new)


def _try(options: argparse.Namespace, root: Path, record: dict[str, Any], todo: Sequence[Site]) -> None:
    """Each mutant in turn; the record is written after it. What noticed one is tried without it in between."""
    nearest, unsound, waiting = Nearest(root, _graph(root)), record.setdefault("unsound", []), list(todo)
    scratch.load_others()
    with tempfile.TemporaryDirectory() as folder:
        copy = scratch.Scratch(root, Path(folder) / "project")
        waiting = _doubted(copy, record) + waiting
        while waiting:
            for site in waiting[:TOGETHER]:
                found = fate(copy, nearest, site, options.seconds, unsound)
                _enter(record, site, found | {"sha256": _digest(root / site.file)})
                write(options.into, record)
                print(f"{site.file}:{site.line} {found}", flush=True)
            waiting = _doubted(copy, record) + waiting[TOGETHER:]
            write(options.into, record)
            counts = Counter(each["fate"] for each in record["mutants"])
            print(f"{dict(counts)}, {len(waiting)} are left; tests that fail without a mutant: {unsound}", flush=True)


def _doubted(copy: scratch.Scratch, record: dict[str, Any]) -> list[Site]:
    """Mutants that only tests noticed which fail without one, too; they leave the record."""
    sound = record.setdefault("sound", [])
    asked = [entry for entry in record["mutants"] if entry["by"] and entry["by"] not in sound]
    wrong = fail_without(copy, asked)
    record["unsound"] += wrong
    record["sound"] = sorted({*sound, *(entry["by"] for entry in asked)} - set(wrong))
    again = [entry for entry in asked if entry["by"] in wrong]
    record["mutants"] = [entry for entry in record["mutants"] if entry not in again]
    sites = {
        site.key: site
        for file in {entry["file"] for entry in again}
        for site in drawn.sites((copy.root / file).read_text(), file)
    }
    return [
        sites[entry["file"], entry["function"], entry["before"], entry["after"], entry["number"]] for entry in again
    ]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _enter(record: dict[str, Any], site: Site, found: Mapping[str, Any]) -> None:
    """In the place of what was known of it; what it was at first stays."""
    places = {key_of(entry): number for number, entry in enumerate(record["mutants"])}
    entry = named(site) | {"first": found["fate"]} | found
    if (number := places.get(_key(site))) is None:
        record["mutants"].append(entry)
    else:
        record["mutants"][number] = entry | {"first": record["mutants"][number]["first"]}


if __name__ == "__main__":
    sys.exit(main())
