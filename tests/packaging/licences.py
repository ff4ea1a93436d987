"""The licence of every package that constraints.txt pins, as its own metadata says, and what it comes with.

    python -m tests.packaging.licences [--path FOLDER]     writes docs/licences.md; FOLDER has further packages

A package that is not installed keeps the row that it has.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import Distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.packaging.locked import canonical

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "docs" / "licences.md"
EXTRAS = ("fast", "plots", "cluster", "data", "tensorboard", "test", "docs", "gpu")
"""In this order: what an earlier one brings is not said again of a later one."""
REVIEWED = (
    r"MIT|MIT-CMU|MIT License|ISC License.*|0BSD|CC0-1\.0|Zlib|PSF-2\.0|BSL-1\.0|Python Software Foundation License"
    r"|(2|3)-Clause BSD License|BSD( License|[- ][23]-Clause( License)?)?|Apache(-2\.0| 2\.0| Software License)"
    r"|Apache-2\.0 WITH LLVM-exception|MPL-2\.0|Mozilla Public License 2\.0 \(MPL 2\.0\)"
    r"|LGPL-(2\.1|3\.0)-or-later|Public Domain|GNU General Public License \(GPL\)|NVIDIA Proprietary Software"
    r"|LicenseRef-NVIDIA-SOFTWARE-LICENSE"
)
"""Those that somebody has looked at. The GPL is docutils' for one file of Emacs, which nothing here uses."""

HEAD = """# Licences of what odernn brings in

Written by `python -m tests.packaging.licences`; do not edit. odernn itself has the MIT licence. Below is every package
that `constraints.txt` pins, with the licence that its own metadata names, and what brings it: odernn itself, or one of
its extras. Nothing of them is copied into odernn: they are installed from where they are published. A test compares
the list with the pins and with what is installed, and fails for a licence that nobody has looked at.

| package | licence | comes with |
|:--|:--|:--|
"""


def pins() -> list[str]:
    """The names of constraints.txt."""
    return re.findall(r"^([\w.-]+)==", (CHECKOUT / "constraints.txt").read_text(), re.MULTILINE)


def installed(paths: Sequence[str] = ()) -> dict[str, Distribution]:
    found = importlib.metadata.distributions(path=[*sys.path, *paths])
    return {canonical(each.metadata["Name"]): each for each in found if each.metadata["Name"]}


def licence(distribution: Distribution) -> str:
    """The expression if there is one, else the short name, else the classifiers; "" if it says nothing."""
    given = distribution.metadata
    if expression := given.get("License-Expression"):
        return expression
    text = (given.get("License") or "").strip()
    if text and len(text) <= 40 and "\n" not in text and not text.startswith(("=", "Copyright", "License agreement")):
        return text
    named = [line.split(" :: ")[-1] for line in given.get_all("Classifier") or [] if line.startswith("License ::")]
    return ", ".join(name for name in named if name not in ("DFSG approved", "OSI Approved"))


def parts(text: str) -> list[str]:
    """The licences of an expression, each alone."""
    return [
        part.strip("() ") if "(MPL" not in part and "(GPL" not in part and "(ISCL" not in part else part.strip()
        for part in re.split(r" AND | OR |, ", text)
    ]


def brought(found: Mapping[str, Distribution], extra: str) -> set[str]:
    """Every package that odernn needs with this extra, by the metadata of what is installed."""
    reached: set[str] = set()
    waiting = list(_required(found["odernn"], {extra}))
    while waiting:
        requirement = waiting.pop()
        name = canonical(requirement.name)
        if name in reached:
            continue
        reached.add(name)
        if name in found:
            waiting += _required(found[name], requirement.extras)
    return reached


def _required(distribution: Distribution, extras: set[str]) -> Iterator[Requirement]:
    for line in distribution.requires or []:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""})):
            yield requirement


def rows(text: str) -> dict[str, tuple[str, str]]:
    """(licence, what brings it) by package, of the page."""
    table = text.partition("|:--|:--|:--|\n")[2]
    return {name: (kind, why) for name, kind, why in re.findall(r"^\| (\S+) \| (.*) \| (.*) \|$", table, re.M)}


def page(found: Mapping[str, Distribution], before: str) -> str:
    """The whole page."""
    kept, lines = rows(before), []
    by_extra = {name: brought(found, name) for name in ("", *EXTRAS)}
    for name in sorted(map(canonical, pins())):
        why = next((extra or "odernn" for extra, names in by_extra.items() if name in names), "")
        why = why if why in ("odernn", "") else f"extra `{why}`"
        kind, old = (licence(found[name]), "") if name in found else kept.get(name, ("", ""))
        lines.append(f"| {name} | {kind} | {why or old or 'tools of this repository'} |\n")
    return HEAD + "".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="docs/licences.md.")
    parser.add_argument("--path", action="append", default=[], help="a folder with further installed packages")
    options = parser.parse_args(arguments)
    PAGE.write_text(page(installed(options.path), PAGE.read_text() if PAGE.exists() else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
