"""Build wheel and source distribution twice, install each where nothing else is, and use it from another folder.

The suite runs on the checkout, which hides packaging slips: a file missing from the wheel, a test folder
shipped with it, a `cuda/__init__.py` that breaks NVIDIA's packages. `make wheel-check` runs this script; it
exits 1 at the first slip.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from tests.packaging.distributions import CHECKOUT, PackagingError, reproduced, slips_of_sdist, slips_of_wheel

CONSTRAINTS = CHECKOUT / "constraints.txt"
# NVIDIA ships no wheel for macOS: there the shared namespace cannot be tried, and the check says so.
NVIDIA_HAS_WHEELS = sys.platform != "darwin"
CLAIM = "icml-C.1-step"
"""Refuted in three seconds with the smallest budget."""

COMMANDS = (
    ("--version",),
    ("doctor",),
    ("tableau", "rk4"),
    ("verify", CLAIM, "--budget", "smoke", "--jobs", "0"),
    ("report", "--html", "report.html"),
)
SAYS = {
    "tableau": "order",
    "verify": "1 of 1 claim refuted; results are in odernn.sqlite",
}
"""What some of them print, whatever else."""

PROBE = """
import importlib, json, sys
names = sys.argv[1:]
print(json.dumps({name: importlib.import_module(name).__file__ for name in names}))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that knows nothing of the checkout; an error shows all it printed."""
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}}
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise PackagingError(
            f"`{' '.join(map(str, command))}` exited with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def pip(python: Path, *arguments: str | Path, cwd: Path) -> None:
    run(python, "-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check", *arguments, cwd=cwd)


def check_imports(python: Path, *names: str, folder: Path, environment: Path) -> None:
    """All the modules import from a folder that is not the checkout, and come from the environment."""
    for name, file in json.loads(run(python, "-c", PROBE, *names, cwd=folder)).items():
        if file is None or not Path(file).resolve().is_relative_to(environment.resolve()):
            raise PackagingError(f"{name} was imported from {file}, not from the fresh environment")


def check_commands(program: Path, version: str, folder: Path) -> None:
    """The command works in a folder of its own, and the page of its run has its style and its scripts."""
    folder.mkdir()
    for arguments in COMMANDS:
        printed = run(program, *arguments, cwd=folder)
        expected = SAYS.get(arguments[0], version if arguments == ("--version",) else "")
        if expected not in printed:
            raise PackagingError(f"`odernn {' '.join(arguments)}` does not print {expected!r}:\n{printed}")
    page = (folder / "report.html").read_text("utf-8")
    if lost := [part for part in (CLAIM, "<style", "<script", "prefers-color-scheme") if part not in page]:
        raise PackagingError(f"the page of `odernn report --html` lacks {', '.join(lost)}")


def check(folder: Path) -> None:
    start = time.monotonic()

    def step(text: str) -> None:
        print(f"wheel-check {time.monotonic() - start:5.1f} s  {text}", flush=True)

    (wheel, sdist), differ = reproduced(folder)
    if slips := differ + slips_of_wheel(wheel) + slips_of_sdist(sdist):
        raise PackagingError("\n".join(slips))
    step(f"built {wheel.name} and {sdist.name} twice: the same bytes, every file of the checkout, no other")

    environment, elsewhere = folder / "environment", folder / "elsewhere"
    elsewhere.mkdir()
    venv.create(environment, with_pip=True)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    index = ["--extra-index-url", os.environ["TORCH_INDEX_URL"]] if os.environ.get("TORCH_INDEX_URL") else []
    beside = ["cuda-bindings"] if NVIDIA_HAS_WHEELS else []
    pip(python, "install", "--constraint", CONSTRAINTS, *index, wheel, *beside, cwd=elsewhere)
    step("installed " + (" beside ".join([wheel.name, *beside])) + " into a fresh environment")

    roots = ["odernn", "verification", "cuda.odernn_kernels"] + (["cuda.bindings.driver"] if beside else [])
    check_imports(python, *roots, folder=elsewhere, environment=environment)
    step("imported all roots" + (" and cuda.bindings.driver" if beside else "; no NVIDIA wheels for this system"))

    version = wheel.name.split("-")[1]
    said = "; ".join(f"odernn {' '.join(arguments)}" for arguments in COMMANDS)
    check_commands(scripts / "odernn", version, elsewhere / "wheel")
    step(f"ran {said}")

    # What it needs is there already: only the distribution itself is another.
    pip(python, "uninstall", "--yes", "odernn", cwd=elsewhere)
    pip(python, "install", "--constraint", CONSTRAINTS, "hatchling", cwd=elsewhere)
    pip(python, "install", "--no-deps", "--no-build-isolation", "--no-index", sdist, cwd=elsewhere)
    check_imports(python, *roots[:3], folder=elsewhere, environment=environment)
    check_commands(scripts / "odernn", version, elsewhere / "sdist")
    step(f"installed {sdist.name} in its place and ran the same")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="odernn-wheel-") as folder:
        try:
            check(Path(folder).resolve())
        except PackagingError as slip:
            print(f"wheel-check failed: {slip}", file=sys.stderr)
            return 1
    print("wheel-check passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
