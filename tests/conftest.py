"""One thread a test process: many small products on many threads wait for each other more than they compute."""

from __future__ import annotations

import gc
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

gc.disable()  # until the tests are collected: what is made meanwhile lives to the end


def pytest_collection_finish() -> None:
    """Sixteen thousand collected tests are no garbage: searched again and again, they cost a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.enable()
