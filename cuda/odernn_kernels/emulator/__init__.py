"""The kernels on a CPU, for tests: g++ compiles the same `.cu` files through `shim.h`; nothing here is a fast path.

    >>> emulated = build()
    >>> emulated.launch("forward_f32", grid=1, threads=32, shared=4096, arguments=packed, order=Order.DESCENDING)

Building takes seconds and is cached by the text of the sources, the flags and the compiler.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from cuda.odernn_kernels.build import KERNELS, cache_folder

SHIM = Path(__file__).with_name("shim.h")
FLAGS = (
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",
    "-Wno-unknown-pragmas",
    "-Wno-missing-field-initializers",
)
CHECK = ("-fsanitize=bounds,alignment,shift,signed-integer-overflow", "-fsanitize-recover=all")
"""Checks in every build, whose findings shim.h turns into the failure of a launch."""

SANITIZE = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
_KERNEL = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\((\S+) a\)')


class Order(IntEnum):
    """In which order the scheduler resumes the threads of a block."""

    ASCENDING = 0
    DESCENDING = 1
    SHUFFLED = 2


class EmulationError(RuntimeError):
    """A kernel broke a rule of the machine (a divergent barrier, a deadlock) or could not be built."""


def unavailable_because() -> str | None:
    """Why the kernels cannot be emulated here, or ``None``."""
    return None if shutil.which(_compiler()) else f"there is no C++ compiler ({_compiler()}); set CXX to name one"


def _compiler() -> str:
    return os.environ.get("CXX", "g++")


@dataclass(frozen=True)
class Emulated:
    """A built library of kernels."""

    library: Path
    kernels: tuple[str, ...]

    def launch(
        self, name: str, *, grid: int, threads: int, shared: int, arguments: bytes, order: Order = Order.ASCENDING
    ) -> None:
        """Run ``grid`` blocks one after the other. ``arguments`` is the kernel's one parameter, as bytes.

        Raises EmulationError where the kernel broke a rule, with the line.
        """
        if name not in self.kernels:
            raise EmulationError(f"no kernel is called {name}; there are {', '.join(self.kernels)}")
        run = ctypes.CDLL(str(self.library)).odernn_launch
        run.restype = ctypes.c_char_p
        run.argtypes = [
            ctypes.c_char_p,
            ctypes.c_char_p,
            ctypes.c_size_t,
            *([ctypes.c_uint] * 2),
            ctypes.c_size_t,
            ctypes.c_int,
        ]
        failure = run(name.encode(), arguments, len(arguments), grid, threads, shared, int(order))
        if failure is not None:
            raise EmulationError(f"{name}: {failure.decode()}")

    def tanh(self, values: int, results: int, count: int) -> None:
        """results[i] := tanh of the float32 kernels at values[i]; addresses of ``count`` floats."""
        run = ctypes.CDLL(str(self.library)).odernn_tanh
        run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_longlong]
        run.restype = None
        run(values, results, count)


def sources() -> dict[str, str]:
    """File name to text of every kernel file."""
    return {path.name: path.read_text("utf-8") for path in sorted(KERNELS.glob("*.cu*"))}


def build(
    changed: Mapping[str, str] | None = None, *, sanitize: bool = False, only: Iterable[str] | None = None
) -> Emulated:
    """All kernels, or those of the files ``only``; ``changed`` replaces the text of files, to plant a fault."""
    texts = sources() | dict(changed or {})
    units = sorted(only) if only is not None else [name for name in texts if name.endswith(".cu")]
    kernels = [match for unit in units for match in _KERNEL.findall(texts[unit])]
    names = tuple(name for name, _ in kernels)
    flags = FLAGS + (SANITIZE if sanitize else CHECK)
    shim = SHIM.read_text("utf-8")
    main = _main(units, kernels)
    digest = hashlib.sha256(repr((sorted(texts.items()), units, flags, shim, main, _compiler())).encode()).hexdigest()
    library = cache_folder() / f"emulated-{digest[:24]}.so"
    if not library.exists():
        _compile(texts, shim, main, flags, library)
    return Emulated(library, names)


def _main(units: Iterable[str], kernels: Iterable[tuple[str, str]]) -> str:
    includes = "\n".join(f'#include "{unit}"' for unit in units)
    table = "\n".join(f"    ODERNN_KERNEL({name}, {parameter})" for name, parameter in kernels)
    return f"""#define ODERNN_EMULATED
#include "shim.h"
{includes}
#include "arithmetic.cuh"
#define ODERNN_KERNEL(function, parameter)                                                       \\
  if (std::strcmp(name, #function) == 0) {{                                                       \\
    if (size != sizeof(parameter)) return "the packed arguments have the wrong size";            \\
    parameter value;                                                                             \\
    std::memcpy(&value, arguments, size);                                                        \\
    return odernn_shim::launch([](void* p) {{ function(*static_cast<parameter*>(p)); }}, &value,   \\
                               grid, threads, shared, order);                                    \\
  }}
extern "C" const char* odernn_launch(const char* name, const char* arguments, size_t size, unsigned grid,
                                     unsigned threads, size_t shared, int order) {{
{table}
  return "no such kernel";
}}
extern "C" void odernn_tanh(const float* values, float* results, long long count) {{
  for (long long i = 0; i < count; ++i) results[i] = odernn::hyperbolic_tangent(values[i]);
}}
"""


def _standard(shim: str, flags: tuple[str, ...]) -> Path:
    """A header of the standard ones that the shim includes, compiled once: they take half of the time of a build.

    A compiler that cannot read it reads the text beside it.
    """
    text = "".join(f"{line}\n" for line in shim.splitlines() if re.fullmatch(r"#include <[a-z]+(\.h)?>", line))
    digest = hashlib.sha256(repr((text, flags, _compiler())).encode()).hexdigest()
    header = cache_folder() / f"standard-{digest[:24]}.h"
    if not header.exists():
        header.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=header.parent) as name:
            written, compiled = Path(name) / "standard.h", Path(name) / "standard.h.gch"
            written.write_text(text, "utf-8")
            command = [_compiler(), *flags, "-x", "c++-header", "-o", str(compiled), str(written)]
            if subprocess.run(command, capture_output=True).returncode == 0:
                os.replace(compiled, header.with_name(f"{header.name}.gch"))
            os.replace(written, header)
    return header


def _compile(texts: Mapping[str, str], shim: str, main: str, flags: tuple[str, ...], library: Path) -> None:
    reason = unavailable_because()
    if reason is not None:
        raise EmulationError(reason)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in {**texts, "shim.h": shim, "main.cpp": main}.items():
            (folder / file).write_text(text, "utf-8")
        shared_object = folder / "made.so"
        command = [_compiler(), *flags, "-include", str(_standard(shim, flags)), "-o", str(shared_object), "main.cpp"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise EmulationError(f"{' '.join(command)} failed:\n{done.stderr}")
        library.parent.mkdir(parents=True, exist_ok=True)
        # Another process may build the same: whole files only, by rename.
        handle, temporary = tempfile.mkstemp(dir=library.parent)
        os.close(handle)
        shutil.copyfile(shared_object, temporary)
        os.chmod(temporary, 0o755)
        os.replace(temporary, library)
