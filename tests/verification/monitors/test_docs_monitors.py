"""The example of docs/monitors.md runs, and its table has every quantity that a monitor writes."""

from __future__ import annotations

import re
from pathlib import Path

import torch
from torch import nn

from odernn import ScoRNN, UnICORNN
from verification.monitors import BoundMonitor
from verification.run.store import Store

PAGE = (Path(__file__).parents[3] / "docs" / "monitors.md").read_text(encoding="utf-8")


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(code, "docs/monitors.md", "exec"), {"__name__": "example"})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 * 2 * 2  # steps 1, 10, 20; layers; bounds
    assert all(line.endswith("True") for line in lines)
    with Store(tmp_path / "monitor.sqlite", writable=False) as store:
        assert {row[1] for row in store.measurements("mine")} == {1, 10, 20}
    assert (tmp_path / "monitor.csv").read_text(encoding="utf-8").startswith("step,layer,quantity,value")


def test_the_table_names_every_quantity():
    written = set()
    for module in (UnICORNN(1, 4, dt=0.3, alpha=1.0), ScoRNN(1, 4, rho=2), nn.LSTM(1, 4)):
        monitor = BoundMonitor(module, every=1)
        module(torch.rand(5, 2, 1))[0].sum().backward()
        written |= {each.quantity for each in monitor.step()}
    rows = "".join(line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `"))
    named = set(re.findall(r"`(\w+)`", rows))
    stems = {name.rsplit("_", 1)[0] for name in named if name.startswith(("largest_", "norm_", "gradient_norm_"))}
    assert {name for name in written if name not in named and name.rsplit("_", 1)[0] not in stems} == set()
    assert {"gradient_norm", "log_jacobian_growth", "orthogonality_error", "reconstruction_error"} <= written
