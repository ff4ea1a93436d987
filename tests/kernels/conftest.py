"""The kernels on the emulator: built once a session; skipped with the reason where there is no C++ compiler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cuda.odernn_kernels import emulator, module
from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher


@pytest.fixture(scope="session")
def compiler() -> None:
    reason = emulator.unavailable_because()
    if reason is not None:
        pytest.skip(f"the kernels cannot be emulated: {reason}")


@pytest.fixture(scope="session")
def emulated(compiler: None) -> emulator.Emulated:
    return emulator.build()


@pytest.fixture
def launcher(emulated: emulator.Emulated) -> Iterator[EmulatedLauncher]:
    """What the execution launches with, inside of the test."""
    found = EmulatedLauncher(emulated)
    with module.using(found):
        yield found
