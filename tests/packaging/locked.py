"""The environment of `make test` and of the site by SHA-256, and what a package index itself says against it.

    python -m tests.packaging.locked            every file of the lock from the index, by its hash; none is yanked
    python -m tests.packaging.locked --write    the lock again, from what pip would install
    python -m tests.packaging.locked --applies  exit code 0 where the lock is for this interpreter and machine

constraints.txt chooses versions, for every platform and Python. A hash belongs to one file of a version, for one
platform and one Python, so the hashes stand in a lock beside it, of the platform that CI has (docs/security.md).
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
LOCK = CHECKOUT / "locked-cp311-linux-x86_64.txt"
PLATFORM = ("CPython", "3.11", "Linux", "x86_64")
EXTRAS = "test,docs"
HEAD = """# Every file that `make environment` installs under CPython 3.11 on Linux, x86_64, by SHA-256; torch for CPUs.
# Written by `python -m tests.packaging.locked --write`; the versions are those of constraints.txt (docs/security.md).
"""


def canonical(name: str) -> str:
    """The name of a distribution as an index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def applies() -> bool:
    here = (platform.python_implementation(), f"{sys.version_info[0]}.{sys.version_info[1]}")
    return (*here, platform.system(), platform.machine()) == PLATFORM


def entries(text: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """(version, hashes) by name. ValueError for a line that is neither."""
    found = {}
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"([a-z0-9-]+)==(\S+)((?:\s+--hash=sha256:[0-9a-f]{64})+)\s*", line)
        if match is None or match[1] in found:
            raise ValueError(f"{LOCK.name}: {line[:60]!r} is no package with a version and its hashes, or is twice.")
        found[match[1]] = (match[2], tuple(re.findall(r"sha256:(\w+)", match[3])))
    return found


def lock_of(report: Mapping[str, Any]) -> str:
    """The text of the lock, of a report of pip. ValueError for a file whose hash the index does not give."""
    lines = []
    for item in report["install"]:
        name, version = canonical(item["metadata"]["name"]), item["metadata"]["version"]
        digest = item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if name == "odernn":
            continue
        if digest is None:
            raise ValueError(f"The index gives no SHA-256 of {name} {version}. Use one that does.")
        lines.append(f"{name}=={version} \\\n    --hash=sha256:{digest}\n")
    return HEAD + "".join(sorted(lines))


def pip(*arguments: str) -> tuple[int, str]:
    """Exit code, and all that it says."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--dry-run", "--ignore-installed"]
    done = subprocess.run([*command, *arguments], cwd=CHECKOUT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def faults(code: int, said: str) -> list[str]:
    """What is wrong with the lock, of what pip says of it."""
    yanked = re.findall(r"yanked version: '([^']+)'", said)
    found = [f"{name} was yanked: whoever published it took it back. Choose another version." for name in yanked]
    if code:
        reasons = [line for line in said.splitlines() if line.lstrip().startswith(("ERROR", "Expected", "Got"))]
        found.append(" ".join(reasons) or said[-500:])
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The hashes of the environment.")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--applies", action="store_true")
    options = parser.parse_args(arguments)
    if options.applies:
        return int(not applies())
    if not applies():
        print(f"locked: {LOCK.name} is for {' '.join(PLATFORM)}, so nothing is checked here")
        return 0
    if options.write:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            chosen = ["--no-build-isolation", "--constraint", "constraints.txt", "--editable", f".[{EXTRAS}]"]
            code, said = pip("--report", str(report), *chosen)
            if not code:
                LOCK.write_text(lock_of(json.loads(report.read_text())))
    else:
        code, said = pip("--require-hashes", "--no-deps", "--requirement", LOCK.name)
    for each in (wrong := faults(code, said)):
        print(f"locked: {each}", file=sys.stderr)
    if not wrong:
        print(f"locked: {len(entries(LOCK.read_text()))} files of {LOCK.name}, none yanked")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
