"""Whether arithmetic here is IEEE 754's: every operation rounded once, to nearest, subnormal numbers kept.

    fl(fl(a b) + c) is what it is over the rationals, bit by bit, for a, b, c that each surprise would give away

Flags say too little: each thread has its own (MXCSR on x86, FPCR on ARM). `torch.set_flush_denormal` and `fesetround`
set those of the thread that calls them, a library built with -ffast-math those of the thread that loads it, and a
thread begins with those of the one that made it. So Python's, numpy's and torch's operations are asked, torch's in each
of its threads, and the products of BLAS.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from verification.certify.float_replay import FORMATS, Format, rounded

IEEE = "IEEE 754"
FLUSHED, DIRECTION = "subnormal numbers become zero", "rounding is not to nearest"
DOUBLE, FUSED = "a sum is rounded twice", "a product and a sum are fused"
ADVICE = (
    "Undo what did it, torch.set_flush_denormal(True), fesetround, or the import of a library built with -ffast-math, "
    "and try again; `odernn doctor` shows what is left."
)

VECTOR = 67
"""Rows of numpy's probe: more elements than any vector has, and no multiple of one."""

GRAIN = 1 << 15
"""Elements that torch gives a thread before it takes another one."""

SIDE = 256
"""Of matrices whose product BLAS shares among its threads."""

VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_CBWR", "ATEN_CPU_CAPABILITY")


class FloatError(Exception):
    """Arithmetic that is not IEEE 754's: one line that says what, where, and what to do."""


def check(when: str = "", *, thoroughly: bool = False) -> None:
    """FloatError unless arithmetic is IEEE 754's, in this thread and in those that torch has for it."""
    if found := surprises(thoroughly=thoroughly):
        raise FloatError(f"Arithmetic here is not {IEEE}'s{when}: {'; '.join(found)}. {ADVICE}")


@contextmanager
def held() -> Iterator[None]:
    """FloatError unless arithmetic is IEEE 754's before and after. Whatever was done to this thread's is undone."""
    check(" before the job")
    try:
        yield
        check(" after the job, which has changed it")
    finally:
        restore()


def restore() -> None:
    """In this thread what C begins with: to nearest, nothing flushed. Nothing where that has no known name."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).fesetenv(ctypes.c_void_p(-1))  # FE_DFL_ENV of glibc and musl


def surprises(*, thoroughly: bool = False) -> tuple[str, ...]:
    """A sentence for each, with where it was seen: () for IEEE 754.

    numpy and Python are asked, and torch if it is loaded; ``thoroughly``: torch in any case, and BLAS.
    """
    found: dict[str, list[str]] = {}
    if thoroughly:
        import torch as _  # noqa: F401
    with np.errstate(all="ignore"):  # whatever numpy was told to do of what these rows are for
        for dtype in ("float64", "float32"):
            probe = _probe(dtype, 1)
            if dtype == "float64":
                columns = (column.tolist() for column in probe.numbers)
                probe.compare("Python", np.array([a * b + c for a, b, c in zip(*columns, strict=True)]), found)
            probe = _probe(dtype, VECTOR)
            a, b, c = probe.numbers
            probe.compare(f"numpy {dtype}", a * b + c, found)
            if torch := sys.modules.get("torch"):
                threads = torch.get_num_threads()
                probe = _probe(dtype, VECTOR if threads == 1 else -(-threads * GRAIN // len(probe.kinds)))
                a, b, c = map(torch.from_numpy, probe.numbers)
                probe.compare(f"torch {dtype}", (a * b + c).numpy(), found)
        if thoroughly:
            _ask_blas(found)
    if DIRECTION in found:  # which the others' rows are about, too
        found = {kind: found[kind] for kind in (FLUSHED, DIRECTION) if kind in found}
    return tuple(f"{kind} ({', '.join(where)})" for kind, where in found.items())


@dataclass(frozen=True)
class FloatProbe:
    """Rows a, b, c and fl(fl(a b) + c), and what is wrong, ``kinds``, where something else comes out."""

    kinds: tuple[str, ...]
    numbers: tuple[np.ndarray, np.ndarray, np.ndarray]
    expected: np.ndarray

    def compare(self, where: str, computed: np.ndarray, found: dict[str, list[str]]) -> None:
        """By their bits: where subnormal numbers are flushed, comparing takes them for zero, too."""
        whole = f"i{computed.itemsize}"
        wrong = computed.view(whole) != self.expected.view(whole)
        if wrong.any():
            rows = wrong.reshape(-1, len(self.kinds)).any(axis=0)
            for kind in dict.fromkeys(kind for kind, is_wrong in zip(self.kinds, rows, strict=True) if is_wrong):
                found.setdefault(kind, []).append(where)


def _probe(dtype: str, repeats: int) -> FloatProbe:
    """Made anew each time: for 64 threads it has 100 MB."""
    kinds, whole = _written(dtype)
    a, b, c, expected = (np.tile(column, repeats).view(dtype) for column in whole.T)
    return FloatProbe(kinds, (a, b, c), expected)


@cache
def _written(dtype: str) -> tuple[tuple[str, ...], np.ndarray]:
    """What is wrong in each row, and the bits of (a, b, c, fl(fl(a b) + c))."""
    form = FORMATS[dtype]
    rows = _rows(form)
    exact = [(a, b, c, rounded(rounded(a * b, form) + c, form)) for _, a, b, c in rows]
    whole = np.array([[bits(x, form) for x in row] for row in exact], f"u{np.dtype(dtype).itemsize}")
    return tuple(kind for kind, *_ in rows), whole


def _rows(form: Format) -> list[tuple[str, Fraction, Fraction, Fraction]]:
    """(what is wrong where something else comes out, a, b, c)."""
    one, least, u = Fraction(1), Fraction(2) ** form.least, Fraction(1, 2**form.precision)
    smallest, near = 2 * u * least, Fraction(1, 2 ** (form.precision // 2 + 1))
    return [
        (FLUSHED, least, one / 2, 0 * one),  # a product that is subnormal
        (FLUSHED, least, one, -least * 3 / 2),  # a sum
        (FLUSHED, smallest, 1 / u, 0 * one),  # an operand
        (DIRECTION, one, one, u),  # a tie, which goes to the even one: below
        (DIRECTION, one, one, 3 * u),  # above
        (DIRECTION, -one, one, -u),
        (DIRECTION, -one, one, -3 * u),
        (DOUBLE, one, one, u + u * Fraction(1, 2**16)),  # with eleven bits more it is a tie
        (FUSED, 1 + near, 1 - near, -one),  # the product is rounded to 1, and its error is lost
    ]


def bits(value: Fraction, form: Format) -> int:
    """How IEEE 754 writes a number of the format: by whole numbers alone, whatever the floats here do."""
    leading = value.numerator.bit_length() - value.denominator.bit_length() if value else form.least
    exponent = max(leading, form.least)
    whole = abs(value) / Fraction(2) ** (exponent - form.precision + 1)
    sign = int(value < 0) << (form.precision + (form.greatest + 1).bit_length() - 1)
    return sign | ((exponent - form.least) << (form.precision - 1)) + int(whole)


def _ask_blas(found: dict[str, list[str]]) -> None:
    """A diagonal matrix times another: each sum has one term, whatever the order and the threads."""
    import torch

    probe = _probe("float64", 1)
    (least, *_), (half, *_), _ = probe.numbers
    diagonal, full = np.diag(np.full(SIDE, least)), np.full((SIDE, SIDE), half)
    of_torch = (torch.from_numpy(diagonal) @ torch.from_numpy(full)).numpy()
    for where, product in (("numpy's BLAS", diagonal @ full), ("torch's BLAS", of_torch)):
        if (product.view("i8") != probe.expected[:1].view("i8")).any():
            found.setdefault(FLUSHED, []).append(where)


# --- what else the last bits depend on --------------------------------------------------------------------------


def environment() -> dict[str, Any]:
    """For a record: arithmetic, threads and BLAS of this process, its processor and the vectors that are used."""
    import torch

    blas, vectors = built_with()
    of_torch = [line.strip(" -") for line in torch.__config__.show().splitlines() if "Kernel Library" in line]
    return {
        "arithmetic": "; ".join(surprises(thoroughly=True)) or IEEE,
        "threads": {"torch": torch.get_num_threads()}
        | {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "blas": {"numpy": blas, "torch": ", ".join(of_torch) or "of its own"},
        "processor": processor(),
        "vectors": {"numpy": vectors, "torch": torch.backends.cpu.get_cpu_capability()},
        "fused": fused(),
    }


def built_with() -> tuple[str, str]:
    """numpy's BLAS and vectors: "unknown" where it does not say, for a record never ends a run."""
    try:
        built = np.show_config(mode="dicts")
        blas = built.get("Build Dependencies", {}).get("blas", {})
        vectors = built.get("SIMD Extensions", {}).get("found", ["unknown"])
        return f"{blas.get('name', 'unknown')} {blas.get('version', 'unknown')}", " ".join(vectors)
    except (TypeError, KeyError, AttributeError):  # numpy before 1.25 has no ``mode``
        return "unknown", "unknown"


def processor() -> str:
    """Its architecture and, where the system says it, its name."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return f"{platform.machine()}, {' '.join(line.partition(':')[2].split())}"
    return platform.machine()


def fused() -> str:
    """Operations of torch that are one rounding of a b + c here, and elsewhere may be two."""
    import torch

    probe = _probe("float64", 1)
    a, b, c = (torch.from_numpy(column)[-1:] for column in probe.numbers)
    made = {"addcmul": torch.addcmul(c, a, b), "add with alpha": torch.add(c, a, alpha=float(b))}
    return ", ".join(name for name, value in made.items() if value.item() != 0.0)
