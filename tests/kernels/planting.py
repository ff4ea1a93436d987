"""A plugin of pytest that plants one fault, named by ODERNN_FAULT, before the tests import the kernels.

A kernel's fault is in what ``emulator.build()`` builds for the fixtures; tests that plant faults of their own name
files, and have these. A fault of Python is in the text of its module.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuda.odernn_kernels import emulator
from tests.kernels.faults import FAULTS, Fault

ROOT = Path(emulator.__file__).resolve().parents[1]


def faulty_text(fault: Fault) -> str:
    """The file with the fault. Raises ValueError where the right text is not there once."""
    text = (ROOT / fault.file).read_text("utf-8")
    if text.count(fault.right) != 1:
        raise ValueError(f"{fault.file} has {fault.right!r} {text.count(fault.right)} times and not once")
    return text.replace(fault.right, fault.wrong)


@dataclass(frozen=True)
class Faulty(emulator.Emulated):
    """The sound kernels, but for those that a fault is in."""

    broken: emulator.Emulated

    def launch(self, name: str, **given: Any) -> None:
        if name in self.broken.kernels:
            self.broken.launch(name, **given)
        else:
            super().launch(name, **given)

    def tanh(self, values: int, results: int, count: int) -> None:
        self.broken.tanh(values, results, count)


def built(fault: Fault) -> Faulty:
    """The emulator with a fault of kernels: the units that have the file are built, the others are as they are.

    Raises EmulationError where no compiler takes the fault.
    """
    file, texts = Path(fault.file).name, emulator.sources()
    units = [name for name in texts if name.endswith(".cu") and (name == file or file in _included(name, texts))]
    broken, sound = emulator.build({file: faulty_text(fault)}, only=units), emulator.build()
    return Faulty(sound.library, sound.kernels, broken)


def _included(name: str, texts: Mapping[str, str]) -> set[str]:
    """The headers of a file, and theirs."""
    direct = [header for header in re.findall(r'#include "(\w+\.cuh)"', texts[name])]
    return {*direct, *(deep for header in direct for deep in _included(header, texts))}


def is_of_kernels(fault: Fault) -> bool:
    """In a kernel's text, not in Python."""
    return fault.file.startswith("kernels/")


def plant(fault: Fault) -> None:
    """In this process, from now on."""
    if not is_of_kernels(fault):
        _in_python(fault)
        return
    faulty, sound = built(fault), emulator.build

    def build(
        given: Mapping[str, str] | None = None, *, sanitize: bool = False, only: Iterable[str] | None = None
    ) -> emulator.Emulated:
        is_whole = given is None and only is None and not sanitize
        return faulty if is_whole else sound(given, sanitize=sanitize, only=only)

    emulator.build = build


def _in_python(fault: Fault) -> None:
    stem = fault.file.removesuffix(".py")
    name = f"cuda.odernn_kernels.{stem}"
    if name in sys.modules:
        raise RuntimeError(f"{name} is imported already, so that no fault can be planted in it")
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(faulty_text(fault), spec.origin, "exec"), module.__dict__)
    setattr(importlib.import_module("cuda.odernn_kernels"), stem, module)


if "ODERNN_FAULT" in os.environ:
    plant(next(fault for fault in FAULTS if fault.what == os.environ["ODERNN_FAULT"]))
