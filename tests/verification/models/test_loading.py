"""``odernn verify --model``: files of one's own, read or refused in one line; the digits by rows as a user has them."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from odernn import foreign
from verification import tasks
from verification.cli import main
from verification.models import loading
from verification.models.loading import ModelError, model, numbers, of_task

NET = """
import torch
from torch import nn
from beside import SIZE

class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.LSTM(8, SIZE, batch_first=True), nn.Linear(SIZE, 10)

    def forward(self, u):
        return self.out(self.rnn(u)[0][:, -1])

made = Digits()
number = 3

def broken():
    raise OSError("no such thing")

def other():
    return 4

def needs(size):
    return None
"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    (tmp_path / "beside.py").write_text("SIZE = 6\n", encoding="utf-8")
    path = tmp_path / "net.py"
    path.write_text(NET, encoding="utf-8")
    return path


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    found = load_digits()
    path = tmp_path / "digits.npz"
    np.savez(path, inputs=found.images[:20].astype("float32") / 16, targets=found.target[:20])
    return path


def test_a_users_network_on_the_digits_by_rows(net: Path, digits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--model", f"{net}:Digits", "--inputs", str(digits)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Digits on inputs 20 samples × 8 steps × 8 features; E = cross entropy")
    assert "rnn.l0 (LSTM): bounded for all inputs" in out and "exponent -0." in out
    assert max(map(len, out.partition("\nlayer")[0].splitlines())) <= 100


def test_weights_are_taken_and_other_ones_refused(
    net: Path, digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = model(f"{net}:Digits")
    for parameter in saved.parameters():
        torch.nn.init.zeros_(parameter)
    torch.save(saved.state_dict(), tmp_path / "weights.pt")
    torch.save(saved, tmp_path / "whole.pt")
    arguments = ["verify", "--model", f"{net}:made", "--inputs", str(digits), "--json", "--weights"]
    assert main([*arguments, str(tmp_path / "weights.pt")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["energy"]["value"] == pytest.approx(np.log(10), rel=1e-6)  # all outputs are 0
    assert found["layers"][0]["largest"] == {"h": 0.0, "c": 0.0}
    assert main([*arguments, str(tmp_path / "whole.pt")]) == 2
    assert "torch.save(model.state_dict(), FILE)" in capsys.readouterr().err


CELL = """
import torch
from torch import nn

class Turn(nn.Module):
    def __init__(self, i, m):
        super().__init__()
        self.W, self.V = nn.Linear(m, m), nn.Linear(i, m)

    def forward(self, u, y):
        return torch.tanh(self.W(y) + self.V(u))

class Turning(nn.Module):
    def __init__(self, input_size=8, hidden_size=5, num_layers=1, dtype=None):
        super().__init__()
        self.m, self.cell = hidden_size, Turn(input_size, hidden_size).to(dtype)

    def forward(self, sequences):
        y, rows = sequences.new_zeros(sequences.shape[1], self.m), []
        for u in sequences:
            y = self.cell(u, y)
            rows.append(y)
        return torch.stack(rows), y

CELL = Turning
"""
PLAN = """
task = {name = "sequential_digits", pixels = 8}
network = {cell = "turning", hidden_size = 5}
optimizer = {name = "adam", lr = 0.01}
training = {epochs = 1, batch_size = 400}
"""
DIGITS = ["--task", "sequential_digits", "--set", "pixels=8", "--sequences", "3"]


def test_a_cell_of_one_s_own_trained_and_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, net: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its checkpoint has the recurrence; its weights go into its class alone; into no other, which says the keys."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_cells").mkdir()
    (tmp_path / "my_cells" / "turning.py").write_text(CELL, encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    assert main(["train", "--config", "plan.toml", "--cells", "my_cells"]) == 0
    verify = ["verify", "--checkpoint", "run", "--cells", "my_cells", "--sequences", "3"]
    capsys.readouterr()
    assert main(verify) == 0
    text = capsys.readouterr().out
    assert "What its recurrences do" in text and "- recurrent.cell (Turn): gradients " in text and "σ_max(J_n)" in text
    assert main([*verify, "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])["found"]
    (layer,) = found["layers"]
    assert len(layer["gradients"]) == 8 and len(layer["exponents"]) == 4 and len(layer["spectra"]) == 5

    alone = ["verify", "--model", "my_cells/turning.py:Turning", "--json", *DIGITS, "--weights"]
    assert main([*alone, "run/best.safetensors"]) == 0
    cell = json.loads(capsys.readouterr().out)
    assert cell["inputs"] == [8, 3, 8] and "3 of 300 sequences of the test split" in cell["notes"][0]
    assert cell["layers"][0]["exponents"] == pytest.approx(layer["exponents"], abs=1e-4)  # float32 here, float64 there
    assert cell["layers"][0]["weights"][0]["norm"] == pytest.approx(layer["weights"][0]["norm"], rel=1e-6)

    assert main(["verify", "--model", f"{net}:Digits", *DIGITS, "--weights", "run"]) == 2
    refused = capsys.readouterr().err
    assert 'it lacks "rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0" and 3 more of Digits' in refused
    assert '"readout.weight"' in refused and "which Digits has not" in refused and refused.count("\n") == 1
    torch.save({name: each[:2] for name, each in model(f"{net}:Digits").state_dict().items()}, "cut.pt")
    with pytest.raises(ModelError, match=r'its "rnn.weight_ih_l0" is \(2, 8\), that of Digits \(24, 8\)'):
        model(f"{net}:Digits", Path("cut.pt"))


def test_a_task_is_what_a_model_reads(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same digits by hand: E by numpy's softmax, for a model whose sequences are (count, time, features)."""
    assert main(["verify", "--model", f"{net}:made", "--json", *DIGITS]) == 0
    found = json.loads(capsys.readouterr().out)
    sequences, targets, _ = tasks.get("sequential_digits").load("test", pixels=8)
    made = model(f"{net}:made")
    torch.manual_seed(0)
    made = model(f"{net}:made")
    scores = made(torch.from_numpy(sequences[:, :3].swapaxes(0, 1).copy())).detach().double().numpy()
    logs = np.log(np.exp(scores).sum(1)) - scores[np.arange(3), targets[:3]]
    assert found["inputs"] == [3, 8, 8] and found["time_axis"] == 1
    assert found["energy"]["value"] == pytest.approx(logs.mean(), rel=1e-5)


def test_sequences_of_several_lengths_are_cut_to_the_shortest() -> None:
    sequences, targets = np.arange(24.0).reshape(4, 3, 2), np.arange(12.0).reshape(4, 3)
    spec = SimpleNamespace(name="own", split="test", reads="each", lengths=(4, 2, 3), steps=4, count=3)
    own = SimpleNamespace(name="own", load=lambda split, root: (sequences, targets, spec))
    u, y, notes = of_task(own, None, {}, 2, batch_first=False)  # type: ignore[arg-type]
    assert u.tolist() == sequences[:2, :2].tolist() and y.tolist() == targets[:2, :2].tolist()
    assert "cut to the 2 steps" in notes[1]
    spec.reads = "last"
    with pytest.raises(ModelError, match="several lengths"):
        of_task(own, None, {}, 2, batch_first=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("net.py", "Give a Python file and a name in it"),
        ("none.py:Net", "there is no file"),
        ("{}:Nothing", "defines no Nothing"),
        ("{}:number", "number is a int"),
        ("{}:broken", r"broken\(\) raised OSError: no such thing"),
        ("{}:other", r"other\(\) returned a int"),
        ("{}:needs", "called without arguments"),
    ],
)
def test_a_model_that_is_none_is_refused(net: Path, place: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        model(place.format(net))


def test_a_file_that_does_not_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    with pytest.raises(ModelError, match="ZeroDivisionError"):
        model(f"{tmp_path / 'broken.py'}:net")


def test_numbers_of_every_kind(tmp_path: Path) -> None:
    u, classes = np.arange(12.0).reshape(3, 2, 2), np.array([0, 1])
    np.save(tmp_path / "u.npy", u)
    np.savez(tmp_path / "both.npz", x=u, y=classes)
    torch.save(torch.from_numpy(u), tmp_path / "u.pt")
    torch.save({"inputs": torch.from_numpy(u), "targets": torch.from_numpy(classes)}, tmp_path / "both.pt")
    (tmp_path / "u.csv").write_text("a,b\n1,2\n3,4\n5,6\n", encoding="utf-8")
    for name, has_targets in (("u.npy", False), ("both.npz", True), ("u.pt", False), ("both.pt", True)):
        inputs, targets = numbers(tmp_path / name)
        assert np.array_equal(inputs.numpy(), u)
        assert (targets is not None) == has_targets and (targets is None or targets.tolist() == [0, 1])
    assert numbers(tmp_path / "u.csv")[0].tolist() == [[[1, 2]], [[3, 4]], [[5, 6]]]


def test_inputs_of_any_strides_are_written_out_and_nothing_else_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    u, contiguous = torch.randn(3, 2, 2), torch.Tensor.contiguous
    copied: list[torch.Size] = []

    def counting(value: torch.Tensor) -> torch.Tensor:
        copied.append(value.shape)
        return contiguous(value)

    monkeypatch.setattr(torch.Tensor, "contiguous", counting)
    others = {f"k{k}": torch.randn(4, 5).t() for k in range(3)}
    torch.save({"inputs": u.mT, "targets": u.mT[0]} | others, tmp_path / "both.pt")
    torch.save(u.mT, tmp_path / "u.pt")
    inputs, targets = numbers(tmp_path / "both.pt")
    assert targets is not None and inputs.is_contiguous() and targets.is_contiguous()
    assert torch.equal(inputs, u.mT) and torch.equal(targets, u.mT[0])
    assert copied == [(3, 2, 2), (2, 2)] and numbers(tmp_path / "u.pt")[0].is_contiguous()


def test_empty_rows_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MOST_CSV", 2**20)  # so much is asked for before it is known how long the file is
    (tmp_path / "u.csv").write_text("\n1,2\n" + 2**19 * "\n" + "3,4\n", encoding="utf-8")
    tracemalloc.start()
    assert numbers(tmp_path / "u.csv")[0].tolist() == [[[1, 2]], [[3, 4]]]
    assert tracemalloc.get_traced_memory()[1] < 2**19 * 16  # a list of each row would be 56 bytes and 8 in a list
    tracemalloc.stop()


def test_tied_views_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "MOST_DATA", 2**10)
    stored = torch.randn(16, 16)
    torch.save({"inputs": torch.randn(10, 2, 3)} | {f"k{k}": stored.t() for k in range(9)}, tmp_path / "tied.pt")
    with pytest.raises(ModelError, match=r'"k2" of shape \(16, 16\) .* more than 1024 bytes together'):
        numbers(tmp_path / "tied.pt")


def test_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([object()]), allow_pickle=True)
    np.savez(tmp_path / "named.npz", other=np.zeros(3))
    (tmp_path / "words.csv").write_text("1,2\n3,four\n", encoding="utf-8")
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04")
    (tmp_path / "text.txt").write_text("1", encoding="utf-8")
    for name, said in (
        ("none.npy", "There is no file"),
        ("objects.npy", "cannot be read"),
        ("named.npz", "has other. Name the inputs"),
        ("words.csv", "cannot be read: ValueError"),
        ("cut.npz", "no file of numbers that is known"),
        ("text.txt", "no file of numbers that is known"),
    ):
        with pytest.raises(ModelError, match=said):
            numbers(tmp_path / name)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "{net}:Digits"], "--model needs --inputs FILE"),
        (["--model", "{net}:Digits", "--inputs", "{digits}", "--task", "adding"], "--task: has inputs and targets of"),
        (["--model", "{net}:Digits", "--inputs", "{digits}", "--root", "."], "is about the task that gives the inputs"),
        (["--model", "{net}:Digits", "--task", "adding", "--cells", "."], "--cells: says nothing of a model"),
        (["--model", "{net}:Digits", "--task", "none_such"], "--task none_such: "),
        (["--inputs", "{digits}"], "describes a model of yours. Give --model, too"),
        (["--model", "{net}:Digits", "--inputs", "{digits}", "--budget", "deep"], "--budget: says nothing of a model"),
        (["--model", "{net}:Digits", "--inputs", "{wide}"], "on inputs 4 × 3 × 9 it raised RuntimeError"),
        (["--model", "{net}:Digits", "--inputs", "{holes}"], "--model: inputs have entries that are not finite"),
    ],
)
def test_what_does_not_go_together_is_one_line(
    net: Path, digits: Path, tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "wide.npy", np.zeros((4, 3, 9), dtype="float32"))
    np.save(tmp_path / "holes.npy", np.full((4, 3, 8), np.nan, dtype="float32"))
    places = {"net": net, "digits": digits, "wide": tmp_path / "wide.npy", "holes": tmp_path / "holes.npy"}
    assert main(["verify", *(each.format(**places) for each in arguments)]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_a_file_that_ends_itself_is_an_error(tmp_path: Path, digits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ends.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    (tmp_path / "made.py").write_text("import sys\ndef Net():\n    sys.exit()\n", encoding="utf-8")
    for place, said in (("ends.py:Net", '" raised SystemExit: 3.'), ("made.py:Net", "Net() raised SystemExit.")):
        assert main(["verify", "--model", f"{tmp_path}/{place}", "--inputs", str(digits)]) == 2
        captured = capsys.readouterr()
        assert said in captured.err and not captured.out


def test_the_same_command_gives_the_same_numbers(net: Path, digits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    energies = []
    for seed in (None, "0", "1"):
        more = [] if seed is None else ["--seed", seed]
        assert main(["verify", "--model", f"{net}:Digits", "--inputs", str(digits), "--json", *more]) == 0
        energies.append(json.loads(capsys.readouterr().out)["energy"]["value"])
    assert energies[0] == energies[1] != energies[2]


def test_bytes_of_pixels_are_taken(net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = load_digits()
    path = tmp_path / "bytes.npz"
    np.savez(path, inputs=found.images[:20].astype("uint8"), targets=found.target[:20].astype("uint8"))
    assert main(["verify", "--model", f"{net}:Digits", "--inputs", str(path)]) == 0
    out = capsys.readouterr().out
    assert "note: inputs of uint8, from 0 to 16, are taken as float32, not divided" in out
