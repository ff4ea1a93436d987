"""The script that decides whether a change lands, over a `make` that does nothing: what did not run, it says."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
MAKE = """#!/bin/sh
echo "make $1 ${ODERNN_BROWSER:-}" >> made.txt
case " $FAILING " in *" $1 "*) echo "$1 failed" >&2; exit 2;; esac
case "$1" in
  test) echo "17 passed, 2 skipped in 3.00s";;
  docs-test) echo "the site"; echo "1 passed in 9.00s";;
esac
"""


def ci(folder: Path, failing: str) -> tuple[int, str, list[str]]:
    """Exit code, everything printed, and the targets that were made, with what the browser tests were told."""
    (folder / ".ci").mkdir()
    shutil.copy(CHECKOUT / ".ci" / "run", folder / ".ci" / "run")
    tools = folder / "tools"
    tools.mkdir()
    (tools / "make").write_text(MAKE)
    (tools / "make").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "FAILING": failing}
    environment.pop("ODERNN_BROWSER", None)
    command = ["bash", str(folder / ".ci" / "run")]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
    )
    return done.returncode, done.stdout, (folder / "made.txt").read_text().splitlines()


def test_with_a_browser_its_tests_must_run(tmp_path: Path) -> None:
    code, printed, made = ci(tmp_path, "")
    assert code == 0 and "NOT TESTED" not in printed and printed.splitlines()[-1] == "17 passed, 2 skipped in 3.00s"
    assert made[:3] == ["make environment ", "make browser ", "make test required"]
    assert {line.split()[1] for line in made[3:]} == {"docs-test", "wheel-check"} and "1 passed in 9.00s" in printed


def test_without_a_browser_it_says_so_before_and_after_the_tests(tmp_path: Path) -> None:
    code, printed, made = ci(tmp_path, "browser")
    lines = printed.splitlines()
    told = [number for number, line in enumerate(lines) if "NOT TESTED" in line]
    assert code == 0 and "make test " in made and len(told) == 2
    assert told[0] < lines.index("17 passed, 2 skipped in 3.00s") < told[1] == len(lines) - 2


@pytest.mark.parametrize(("target", "program"), [("browser", "google-chrome"), ("latex", "pdflatex")])
def test_what_is_there_is_not_installed_and_what_cannot_be_installed_is_an_error(
    target: str, program: str, tmp_path: Path
) -> None:
    def asked() -> tuple[int, str]:
        command = [str(shutil.which("make")), "--silent", target]
        done = subprocess.run(command, cwd=CHECKOUT, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
        return done.returncode, done.stderr

    for name in ("sh", "cat"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    (tmp_path / "apt-get").write_text('#!/bin/sh\necho "no network" >&2\nexit 100\n')
    (tmp_path / "apt-get").chmod(0o755)
    code, said = asked()
    assert code != 0 and "no network" in said and "is not installed. Install the package" in said
    (tmp_path / program).symlink_to("/bin/true")
    assert asked() == (0, "")


@pytest.mark.parametrize("failing", ["environment", "test", "docs-test", "wheel-check"])
def test_what_fails_fails_all(failing: str, tmp_path: Path) -> None:
    code, printed, _ = ci(tmp_path, failing)
    assert code != 0 and f"{failing} failed" in printed
