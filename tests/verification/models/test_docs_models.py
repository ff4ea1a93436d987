"""The example of docs/models.md runs and prints what the page says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(code, "docs/models.md", "exec"), names)
    out = capsys.readouterr().out
    assert out.startswith("Net on inputs 100 steps × 8 samples × 2 features; E = cross entropy of the last step")
    assert "- rnn.l0 (LSTM): bounded for all inputs up to step 100" in out and "gradients vanish" in out
    assert "max abs(hₙ)" in out and "exponents a step" in out
