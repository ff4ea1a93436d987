"""A state_dict of the published UnICORNN code: the same network, written once more in their way, gives our outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.verification.trained.networks import spec
from verification.trained import CheckpointError, files, loading
from verification.trained.published_unicornn import NAMES, as_their_code_rounds, is_published, ours, theirs

HIDDEN, LAYERS, DT, ALPHA = 5, 3, 0.19, 3.1
CONFIG = f"""
[task]
name = "adding"
steps = 12
count = 40
[network]
cell = "unicornn"
hidden_size = {HIDDEN}
num_layers = {LAYERS}
dt = {DT}
alpha = {ALPHA}
"""


class Recurrence(nn.Module):
    """hz −= dt σ(c)(tanh(hy w + x) + α hy), hy += dt σ(c) hz; dt and α are tensors and no buffers, as in their code."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.dt, self.alpha = torch.tensor(DT), torch.tensor(ALPHA)
        self.c_ = nn.Parameter(torch.empty(hidden).uniform_(-2.0, 2.0))
        self.weight_hh = nn.Parameter(torch.empty(hidden).uniform_(-1.0, 1.0))

    def forward(self, x: Tensor) -> Tensor:
        step = self.dt.item() / (1.0 + torch.exp(-self.c_))
        hy = hz = torch.zeros_like(x[0])
        rows = []
        for row in x:
            hz = hz - step * (torch.tanh(hy * self.weight_hh + row) + self.alpha.item() * hy)
            hy = hy + step * hz
            rows.append(hy)
        return torch.stack(rows)


class InputMap(nn.Module):
    def __init__(self, below: int, hidden: int) -> None:
        super().__init__()
        self.fc = nn.Linear(below, hidden)
        nn.init.uniform_(self.fc.weight, -1.0, 1.0)
        nn.init.uniform_(self.fc.bias, -1.0, 1.0)

    def forward(self, x: Tensor) -> Tensor:
        rows: Tensor = self.fc(x.reshape(-1, x.shape[2]))
        return rows.reshape(x.shape[0], x.shape[1], -1)


class Theirs(nn.Module):
    """Their module names; the last row of the last layer goes to the classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.DIs = nn.ModuleList(InputMap(2 if k == 0 else HIDDEN, HIDDEN) for k in range(LAYERS))
        self.RNNs = nn.ModuleList(Recurrence(HIDDEN) for _ in range(LAYERS))
        self.classifier = nn.Linear(HIDDEN, 1)

    def forward(self, u: Tensor) -> Tensor:
        rows = u
        for drive, recurrence in zip(self.DIs, self.RNNs, strict=True):
            rows = recurrence(drive(rows))
        outputs: Tensor = self.classifier(rows[-1])
        return outputs


@pytest.fixture
def published(tmp_path: Path) -> tuple[Theirs, Path]:
    """Their network in float64, its state_dict in a .pt file, and network.toml beside it."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        network = Theirs().double()
    torch.save(network.state_dict(), tmp_path / "net.pt")
    (tmp_path / "network.toml").write_text(CONFIG, encoding="utf-8")
    return network, tmp_path / "net.pt"


def loaded(path: Path) -> loading.Trained:
    return loading.load(files.read(path, config=path.parent / "network.toml"), spec())


def difference(network: Theirs, path: Path) -> float:
    """The largest difference of the outputs of both on the same sequences, relative to the largest output."""
    u = torch.randn(60, 4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        expected, found = network(u), loaded(path).model(u)
    return float((found - expected).abs().max() / expected.abs().max())


def test_outputs_agree_to_rounding(published: tuple[Theirs, Path]) -> None:
    """60 steps of 3 rotating layers: no more than some hundreds of units of roundoff."""
    network, path = published
    assert difference(network, path) < 60 * LAYERS * 8 * 2.0**-53
    trained = loaded(path)
    assert trained.mapping and trained.has_readout and trained.dtype == torch.float64
    assert any("rounded to float32" in note for note in trained.notes)


def _transposed(state: dict[str, Tensor]) -> None:
    state["DIs.1.fc.weight"] = state["DIs.1.fc.weight"].T.contiguous()


def _swapped(state: dict[str, Tensor]) -> None:
    state["RNNs.0.c_"], state["RNNs.0.weight_hh"] = state["RNNs.0.weight_hh"], state["RNNs.0.c_"]


def _step_already_squashed(state: dict[str, Tensor]) -> None:
    state["RNNs.2.c_"] = torch.sigmoid(state["RNNs.2.c_"])


def _layers_exchanged(state: dict[str, Tensor]) -> None:
    state["DIs.1.fc.bias"], state["DIs.2.fc.bias"] = state["DIs.2.fc.bias"], state["DIs.1.fc.bias"]


@pytest.mark.parametrize("fault", [_transposed, _swapped, _step_already_squashed, _layers_exchanged])
def test_a_wrong_mapping_is_seen(published: tuple[Theirs, Path], fault: Callable[[dict[str, Tensor]], None]) -> None:
    network, path = published
    state = dict(network.state_dict())
    fault(state)
    torch.save(state, path)
    assert difference(network, path) > 1e-3


def test_dt_in_double_would_be_another_network(published: tuple[Theirs, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Their dt is a float32 number: without its rounding the outputs differ by far more than roundings."""
    network, path = published
    monkeypatch.setattr("verification.trained.published_unicornn.as_their_code_rounds", dict)
    assert 1e-10 < difference(network, path) < 1e-4
    assert as_their_code_rounds({"dt": [0.19, 0.5], "alpha": 1, "bias": True}) == {
        "dt": [0.1899999976158142, 0.5],
        "alpha": 1.0,
        "bias": True,
    }


def test_names_translate_both_ways(published: tuple[Theirs, Path]) -> None:
    network, path = published
    names = list(network.state_dict())
    assert is_published(names) and len(names) == 4 * LAYERS + 2
    assert [theirs(ours(name) or "") for name in names] == names
    model = loaded(path).model.state_dict()
    assert {ours(name) for name in names} == set(model) - {"recurrent.dt", "recurrent.alpha"}
    assert theirs("recurrent.dt") is None and ours("RNNs.0.dt") is None and len(NAMES) == 6
    assert not is_published(model)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s.pop("RNNs.1.c_"), r'lacks "RNNs\.1\.c_" \(recurrent\.layers\.1\.c\), of shape \(5,\)'),
        (lambda s: s.update({"embedding.weight": torch.zeros(9, 2)}), r'"embedding\.weight" of shape \(9, 2\).*task'),
        (lambda s: s.update({"RNNs.3.c_": s["RNNs.2.c_"]}), r'has "RNNs\.3\.c_" .*, of shape \(5,\), which the'),
        (
            lambda s: s.update({"DIs.0.fc.weight": torch.zeros(5, 1, dtype=torch.float64)}),
            r'"DIs\.0\.fc\.weight" .*shape \(5, 1\), expected \(5, 2\).*"adding" with 2 inputs.*--task',
        ),
        (lambda s: s["RNNs.0.weight_hh"].fill_(float("nan")), r'"RNNs\.0\.weight_hh" .*5 of 5 entries .*not finite'),
    ],
)
def test_errors_use_their_names(published: tuple[Theirs, Path], change: Callable[..., object], said: str) -> None:
    network, path = published
    state = {name: value.clone() for name, value in network.state_dict().items()}
    change(state)
    torch.save(state, path)
    with pytest.raises(CheckpointError, match=said):
        loaded(path)


def test_it_is_described_as_unicornn(published: tuple[Theirs, Path]) -> None:
    _, path = published
    text = CONFIG.replace('"unicornn"', '"torch.lstm"').replace(f"dt = {DT}\nalpha = {ALPHA}\n", "")
    (path.parent / "network.toml").write_text(text, encoding="utf-8")
    said = r'names of the published UnICORNN code, but it is described as "torch\.lstm"'
    with pytest.raises(CheckpointError, match=said):
        loaded(path)
