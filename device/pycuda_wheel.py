"""Build PyCUDA's wheel on a machine with a CUDA toolkit, with or without a driver and a GPU.

    python device/pycuda_wheel.py --output FOLDER                       for this interpreter
    python device/pycuda_wheel.py --output FOLDER --python python3.12   for another one (it needs venv)

PyCUDA is published as source alone. Its build asks for three things that its documentation leaves out: the toolkit's
folder (guessed from nvcc on the PATH, wrongly where that is a script outside the toolkit), a libcuda to link against
(there is none without a driver: a stub with the same names will do, as no function of it is called), and no cuRAND.
About 100 seconds of one core, once; a wheel that is in the folder is kept.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "2026.1"


class WheelError(RuntimeError):
    """No wheel can be built; the message says why and what to do."""


def toolkit() -> Path:
    """The folder with include/cuda.h: CUDA_ROOT, CUDA_HOME, or where nvcc says it is."""
    for name in ("CUDA_ROOT", "CUDA_HOME"):
        if name in os.environ:
            root = Path(os.environ[name])
            if not (root / "include" / "cuda.h").is_file():
                raise WheelError(f"{name} is {root}, which has no include/cuda.h. Name the folder of a CUDA toolkit.")
            return root
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise WheelError("There is no nvcc on the PATH. Install a CUDA toolkit, or set CUDA_ROOT to its folder.")
    # nvcc may be a script that calls the real one, which alone knows its folder.
    said = subprocess.run([nvcc, "--dryrun", "-x", "cu", os.devnull], capture_output=True, text=True).stderr
    found = re.search(r"^#\$ TOP=(.+)$", said, re.MULTILINE)
    root = Path(found[1]).resolve() if found else Path(nvcc).resolve().parent.parent
    if not (root / "include" / "cuda.h").is_file():
        raise WheelError(
            f"{root}, where nvcc seems to be, has no include/cuda.h. Set CUDA_ROOT to the toolkit's folder."
        )
    return root


def stub(root: Path, folder: Path) -> None:
    """A libcuda.so with every function of the toolkit's headers, each of which says "not initialized"."""
    headers = "#include <cuda.h>\n#include <cudaProfiler.h>\n"
    command = ["g++", "-E", "-I", str(root / "include"), "-x", "c++", "-"]
    done = subprocess.run(command, input=headers, capture_output=True, text=True)
    if done.returncode != 0:
        raise WheelError(f"g++ does not read the headers of {root}: {done.stderr.splitlines()[0]}")
    # After the preprocessor, which renames many functions to their second version.
    names = sorted(set(re.findall(r"CUresult\s+(?:__attribute__\S+\s+)?(cu[A-Z]\w+)\s*\(", done.stdout)))
    source = folder / "stub.c"
    source.write_text("".join(f"int {name}(void) {{ return 3; }}\n" for name in names), "utf-8")
    target = folder / "libcuda.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", str(source), "-o", str(target)], check=True)


def build(output: Path, python: str) -> Path:
    """The wheel in ``output``, built there if it is missing. Raises WheelError."""
    tag = _called([python, "-c", "import sys; print(f'cp{sys.version_info[0]}{sys.version_info[1]}')"]).strip()
    known = sorted(output.glob(f"pycuda-{VERSION}-{tag}-*.whl"))
    if known:
        return known[0]
    root = toolkit()
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        environment = work / "environment"
        _called([python, "-m", "venv", str(environment)])
        pip = [str(environment / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        _called([*pip, "install", "setuptools", "wheel", "numpy"])
        source = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
        _called([*pip, "download", *source, "--dest", str(work), f"pycuda=={VERSION}"])
        shutil.unpack_archive(next(work.glob("pycuda-*.tar.gz")), work / "source")
        unpacked = next((work / "source").iterdir())
        stub(root, work)
        # What PyCUDA's build reads; it does not look at the environment.
        settings = {"CUDA_ROOT": str(root), "CUDA_ENABLE_CURAND": False, "CUDADRV_LIB_DIR": [str(work)]}
        lines = "".join(f"{key} = {value!r}\n" for key, value in settings.items())
        (unpacked / "siteconf.py").write_text(lines, "utf-8")
        wheel = [*pip, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(output), str(unpacked)]
        _called(wheel, CFLAGS="-g0", CXXFLAGS="-g0")
    return next(output.glob(f"pycuda-{VERSION}-{tag}-*.whl"))


def _called(command: list[str], **environment: str) -> str:
    """What a command prints; its last lines in a WheelError if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    except OSError as error:
        raise WheelError(f"{command[0]} cannot be started: {error.strerror}. Name another one with --python.") from None
    if done.returncode != 0:
        last = "\n".join((done.stderr or done.stdout).splitlines()[-5:])
        raise WheelError(f"{' '.join(command[:6])} … failed:\n{last}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder of the wheel")
    parser.add_argument(
        "--python", default=sys.executable, help="interpreter that the wheel is for (default: this one)"
    )
    options = parser.parse_args()
    try:
        wheel = build(options.output, options.python)
    except WheelError as error:
        sys.stderr.write(f"pycuda_wheel: {error}\n")
        return 1
    sys.stdout.write(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
