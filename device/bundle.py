"""Gather what a bare machine with a GPU and without a network needs, into one folder.

    python device/bundle.py --data FOLDER [--output build/device] [--arch sm_90] [--python python3.12]

    wheels/   PyCUDA (built here) and what it and the certificates need, for that interpreter
    cubins/   the kernels' machine code, so that no compiler is asked there
    data/     MNIST's four files, if --data names a folder that has them

The project itself travels beside it, as a checkout. The machine is taken to have torch with CUDA, numpy, scipy, numba
and the plain Python packages of pyproject.toml; device/run.sh says what is missing. At most 40 MB.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import pycuda_wheel

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "build" / "device"
NEEDS = ("pytools", "platformdirs", "mako", "siphash24", "python-flint")
"""Beside PyCUDA itself: what it imports and torch does not, and the exact arithmetic of the certificates."""

MNIST = tuple(f"{split}-{kind}-ubyte.gz" for split in ("train", "t10k") for kind in ("images-idx3", "labels-idx1"))
MOST_BYTES = 40_000_000


class BundleError(RuntimeError):
    """The bundle cannot be made; the message says why and what to do."""


def wheels(folder: Path, python: str) -> None:
    """PyCUDA's and the others', for ``python``; those that are there are kept."""
    pycuda_wheel.build(folder, python)
    missing = [name for name in NEEDS if not list(folder.glob(f"{name.replace('-', '_')}-*.whl"))]
    if not missing:
        return
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps"]
    done = subprocess.run(
        [*command, "--only-binary", ":all:", "--dest", str(folder), *missing], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise BundleError(f"pip cannot download {', '.join(missing)}: {done.stderr.splitlines()[-1]}")


def cubins(folder: Path, arch: str) -> None:
    """The machine code of every kernel, and of no older sources."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "cuda.odernn_kernels.build", "--arch", arch, "--output", str(folder)]
    if subprocess.run(command, cwd=ROOT).returncode != 0:
        raise BundleError("the kernels were not built; see above")


def data(folder: Path, source: Path) -> None:
    """MNIST's files as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in MNIST:
        found = next(iter([*source.glob(name), *source.glob(f"*/{name}"), *source.glob(f"MNIST/raw/{name}")]), None)
        if found is None:
            raise BundleError(f"--data {source} has no {name}, nor has a folder in it. Leave --data out to go without.")
        if not (folder / name).is_file():
            shutil.copyfile(found, folder / name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the bundle (default: build/device)")
    parser.add_argument("--arch", default="sm_90", help="of the device (default: sm_90)")
    parser.add_argument("--python", default="python3.12", help="interpreter of that machine (default: python3.12)")
    parser.add_argument("--data", type=Path, help="folder with MNIST's four .gz files, or above it")
    options = parser.parse_args()
    try:
        wheels(options.output / "wheels", options.python)
        cubins(options.output / "cubins", options.arch)
        if options.data is not None:
            data(options.output / "data", options.data)
    except (BundleError, pycuda_wheel.WheelError) as error:
        sys.stderr.write(f"bundle: {error}\n")
        return 1
    size = sum(path.stat().st_size for path in options.output.rglob("*") if path.is_file())
    sys.stdout.write(f"{options.output.name}: {size / 1e6:.1f} MB (at most {MOST_BYTES / 1e6:.0f})\n")
    return 0 if size <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
