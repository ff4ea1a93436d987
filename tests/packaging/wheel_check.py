"""Build the wheel, install it into a fresh environment beside cuda-bindings, and use it from another folder.

The suite runs on the checkout, which hides packaging slips: a file missing from the wheel, a test folder
shipped with it, a `cuda/__init__.py` that breaks NVIDIA's packages. `make wheel-check` runs this script; it
exits 1 at the first slip.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
CONSTRAINTS = CHECKOUT / "constraints.txt"
ROOTS = ("odernn", "verification", "cuda")
TAKES_THE_NAME = "cuda/__init__.py"
# NVIDIA ships no wheel for macOS: there the shared namespace cannot be tried, and the check says so.
NVIDIA_HAS_WHEELS = sys.platform != "darwin"

PROBE = """
import importlib, json, sys
names = sys.argv[1:]
print(json.dumps({name: importlib.import_module(name).__file__ for name in names}))
"""


class PackagingError(Exception):
    """The wheel, or its use outside the checkout, is not as it should be."""


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


def build(folder: Path) -> Path:
    """The wheel, built from a copy of the sources: an earlier `build/` could bring deleted files back."""
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (CHECKOUT / name).is_file():
            shutil.copy2(CHECKOUT / name, source)
    for name in (*ROOTS, "tests"):  # tests are copied to see that they are left out
        shutil.copytree(CHECKOUT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip(
        Path(sys.executable),
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        folder,
        source,
        cwd=folder,
    )
    wheels = list(folder.glob("odernn-*.whl"))
    if len(wheels) != 1:
        raise PackagingError(f"expected one wheel of odernn, found {[w.name for w in wheels]}")
    return wheels[0]


def expected_files(checkout: Path) -> set[str]:
    """Every module, typing marker and kernel source of the three roots, as the wheel names them."""
    suffixes = {".py", ".cu", ".cuh", ".h"}
    files = (p for root in ROOTS for p in (checkout / root).rglob("*") if "__pycache__" not in p.parts)
    return {p.relative_to(checkout).as_posix() for p in files if p.suffix in suffixes or p.name == "py.typed"}


def slips_of_contents(shipped: set[str], expected: set[str]) -> list[str]:
    """What is wrong with a wheel's list of files; empty if nothing is."""
    tops = {name.split("/")[0] for name in shipped if ".dist-info/" not in name}
    slips = [f"missing from the wheel: {name}" for name in sorted(expected - shipped - {TAKES_THE_NAME})]
    slips += [f"must not be in the wheel: {top}" for top in sorted(tops - set(ROOTS))]
    slips += [
        f"no typing marker: {name}"
        for name in ("odernn/py.typed", "verification/py.typed", "cuda/odernn_kernels/py.typed")
        if name not in shipped
    ]
    if TAKES_THE_NAME in shipped | expected:
        slips.append(f"must not exist: {TAKES_THE_NAME} (it hides NVIDIA's packages)")
    return slips


def check_imports(python: Path, *names: str, folder: Path, environment: Path) -> None:
    """All the modules import from a folder that is not the checkout, and come from the environment."""
    for name, file in json.loads(run(python, "-c", PROBE, *names, cwd=folder)).items():
        if file is None or not Path(file).resolve().is_relative_to(environment.resolve()):
            raise PackagingError(f"{name} was imported from {file}, not from the fresh environment")


def check(folder: Path) -> None:
    start = time.monotonic()

    def step(text: str) -> None:
        print(f"wheel-check {time.monotonic() - start:5.1f} s  {text}", flush=True)

    wheel = build(folder)
    shipped = set(zipfile.ZipFile(wheel).namelist())
    if slips := slips_of_contents(shipped, expected_files(CHECKOUT)):
        raise PackagingError("\n".join(slips))
    step(f"built {wheel.name}: {len(shipped)} files, tests left out")

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

    version = run(scripts / "odernn", "--version", cwd=elsewhere).strip()
    if wheel.name.split("-")[1] not in version:
        raise PackagingError(f"`odernn --version` prints {version!r}, but the wheel is {wheel.name}")
    run(scripts / "odernn", "doctor", cwd=elsewhere)
    step(f"ran odernn --version ({version}) and odernn doctor")


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
