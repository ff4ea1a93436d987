"""One thread a test process: many small products on many threads wait for each other more than they compute."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
