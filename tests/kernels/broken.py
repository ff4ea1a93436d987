"""Kernels with a fault, as tests build them: without optimisation, so that g++ takes half of its time.

Products and sums are not fused in either build, so that the numbers are the same; a launch takes longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from cuda.odernn_kernels import emulator


def broken(changed: Mapping[str, str], *, only: Iterable[str]) -> emulator.Emulated:
    """The kernels of these units, with the changed text of files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emulator, "FLAGS", tuple("-O0" if flag == "-O1" else flag for flag in emulator.FLAGS))
        return emulator.build(changed, only=only)
