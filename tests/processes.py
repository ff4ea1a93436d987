"""What a fresh interpreter has loaded after some code: what is imported too early shows nowhere else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]


def loaded_after(code: str, modules: Iterable[str], *, prints: bool = False) -> list[str]:
    """Those of the modules that are loaded when the code has run, which prints nothing unless it is said to."""
    probe = f"{code}\nimport json, sys\nprint(json.dumps([m for m in {list(modules)} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    *printed, answer = done.stdout.splitlines()
    assert prints or not printed, printed
    loaded: list[str] = json.loads(answer)
    return loaded
