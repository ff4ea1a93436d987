"""Cubins of the kernels: built ahead with nvcc or NVRTC, cached by the text of the sources, never at import.

    python -m cuda.odernn_kernels.build --arch sm_90 --output FOLDER     # for a machine that has no compiler
    ODERNN_CUBINS=FOLDER                                                 # there: use these, by source hash

A cubin and not PTX: a driver older than the compiler does not take its PTX.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).parent / "kernels"
UNITS = ("forward", "backward", "exact", "scan", "falsify", "scornn", "published")
"""The `.cu` files, each a cubin."""

FLAGS = ("-std=c++17", "-O3", "-cubin", "-Werror", "all-warnings", "-Xptxas", "-v,-warn-spills")
_NVRTC_FLAGS = ("--std=c++17", "-default-device")


class BuildError(RuntimeError):
    """No cubin can be had; the message says why."""


@dataclass(frozen=True)
class Resources:
    """What ptxas says of one kernel."""

    registers: int
    spill_stores: int
    spill_loads: int
    stack: int


def cache_folder() -> Path:
    """Where built files are kept: ODERNN_CACHE, or `odernn` in the user's cache folder."""
    chosen = os.environ.get("ODERNN_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "odernn"


def inlined(unit: str) -> str:
    """One unit with the project's own headers in place: a text that needs no include path."""
    seen: set[str] = set()

    def text(name: str) -> str:
        seen.add(name)
        lines = []
        for line in (KERNELS / name).read_text("utf-8").splitlines():
            include = re.fullmatch(r'#include "(\w+\.cuh)"', line)
            if include is None:
                lines += [] if line == "#pragma once" else [line]
            elif include[1] not in seen:
                lines.append(text(include[1]))
        return "\n".join(lines)

    return text(f"{unit}.cu") + "\n"


def file_name(unit: str, arch: str) -> str:
    """Of a cubin: fixed by the text of the sources, so that a stale one is never found."""
    digest = hashlib.sha256(f"{inlined(unit)}\0{arch}\0{FLAGS}".encode()).hexdigest()
    return f"{unit}-{arch}-{digest[:24]}.cubin"


def cubin(unit: str, arch: str) -> bytes:
    """The machine code of a unit for "sm_90", say: from ODERNN_CUBINS, the cache, nvcc or NVRTC, in this order.

    Raises BuildError with what is missing.
    """
    name = file_name(unit, arch)
    ahead = os.environ.get("ODERNN_CUBINS")
    for folder in ([Path(ahead)] if ahead else []) + [cache_folder()]:
        if (folder / name).is_file():
            return (folder / name).read_bytes()
    code = compiled(unit, arch)
    _keep(cache_folder() / name, code)
    return code


def compiled(unit: str, arch: str) -> bytes:
    """The same, always compiled."""
    if shutil.which("nvcc"):
        return nvcc(unit, arch)[0]
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        raise BuildError(
            f"the kernels ({unit}.cu for {arch}) are not built, and there is neither nvcc nor NVRTC. Install "
            "cuda-bindings and nvidia-cuda-nvrtc, or build elsewhere with "
            f"`python -m cuda.odernn_kernels.build --arch {arch} --output FOLDER` and set ODERNN_CUBINS to the folder"
        ) from None
    return _nvrtc(nvrtc, unit, arch)


def nvcc(unit: str, arch: str) -> tuple[bytes, dict[str, Resources]]:
    """By nvcc: the cubin and what ptxas reports. Warnings are errors."""
    with tempfile.TemporaryDirectory() as folder:
        source, compiled = Path(folder) / f"{unit}.cu", Path(folder) / f"{unit}.cubin"
        source.write_text(inlined(unit), "utf-8")
        command = ["nvcc", *FLAGS, f"-arch={arch}", "-o", str(compiled), str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise BuildError(f"nvcc does not compile {unit}.cu for {arch}:\n{done.stderr}")
        return compiled.read_bytes(), resources(done.stderr + done.stdout)


def resources(log: str) -> dict[str, Resources]:
    """Registers and spills of each kernel, from `ptxas -v`."""
    pattern = re.compile(
        r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
        r"(\d+) bytes spill loads.*?Used (\d+) registers",
        re.DOTALL,
    )
    return {
        name: Resources(int(registers), int(stores), int(loads), int(stack))
        for name, stack, stores, loads, registers in pattern.findall(log)
    }


def _nvrtc(nvrtc: Any, unit: str, arch: str) -> bytes:
    def call(function: str, *arguments: Any) -> Any:
        try:
            code, *values = getattr(nvrtc, function)(*arguments)
        except RuntimeError as error:  # the bindings are there, the library is not
            raise BuildError(f"cuda-bindings cannot load NVRTC ({error}). Install nvidia-cuda-nvrtc") from None
        if int(code) != 0 and function != "nvrtcCompileProgram":
            raise BuildError(f"NVRTC cannot compile {unit}.cu for {arch}: {function} says {code}")
        return values[0] if values else int(code)

    program = call("nvrtcCreateProgram", inlined(unit).encode(), f"{unit}.cu".encode(), 0, [], [])
    options = [f"--gpu-architecture={arch}".encode(), *(flag.encode() for flag in _NVRTC_FLAGS)]
    if call("nvrtcCompileProgram", program, len(options), options) != 0:
        log = b" " * call("nvrtcGetProgramLogSize", program)
        call("nvrtcGetProgramLog", program, log)
        raise BuildError(f"NVRTC does not compile {unit}.cu for {arch}:\n{log.decode(errors='replace')}")
    code: bytes = b" " * call("nvrtcGetCUBINSize", program)
    call("nvrtcGetCUBIN", program, code)  # which writes into the buffer: the documented way of these bindings
    return code


def _keep(path: Path, code: bytes) -> None:
    """Whole files only, by rename; a cache that cannot be written costs time, not the run."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(code)
        os.replace(temporary, path)
    except OSError:
        return


def main() -> int:
    """Build every unit for the given architectures into a folder."""
    parser = argparse.ArgumentParser(prog="python -m cuda.odernn_kernels.build", description=main.__doc__)
    parser.add_argument("--arch", action="append", required=True, help="sm_80, sm_90, …; may be given again")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    try:
        for arch in options.arch:
            for unit in UNITS:
                _keep(options.output / file_name(unit, arch), compiled(unit, arch))
    except BuildError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{len(UNITS) * len(options.arch)} cubins in {options.output}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
