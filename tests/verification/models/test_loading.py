"""``odernn verify --model``: files of one's own, read or refused in one line; the digits by rows as a user has them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from verification.cli import main
from verification.models.loading import ModelError, model, numbers

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
    assert "Save model.state_dict()" in capsys.readouterr().err


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
        (["--inputs", "{digits}"], "describes a model of yours. Give --model, too"),
        (["--model", "{net}:Digits", "--inputs", "{digits}", "--budget", "deep"], "--budget: says nothing of a model"),
        (["--model", "{net}:Digits", "--inputs", "{wide}"], "it raised RuntimeError"),
    ],
)
def test_what_does_not_go_together_is_one_line(
    net: Path, digits: Path, tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "wide.npy", np.zeros((4, 3, 9), dtype="float32"))
    places = {"net": net, "digits": digits, "wide": tmp_path / "wide.npy"}
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
