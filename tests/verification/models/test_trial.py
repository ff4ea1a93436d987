"""A trial of a model: two ways to see one recurrence agree, exponents where they are known, nothing is changed."""

from __future__ import annotations

import copy
import json
import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from odernn import ScoRNN, UnICORNN
from verification.models import exponents
from verification.models.model_trial import trial
from verification.models.trial_result import ModelTrial

FEATURES, STEPS, COUNT = 2, 12, 5


class ByModule(nn.Module):
    """A recurrent module and a readout of its last row."""

    def __init__(self, recurrent: nn.Module, size: int) -> None:
        super().__init__()
        self.recurrent, self.readout = recurrent, nn.Linear(size, 3)

    def forward(self, u: Tensor) -> Tensor:
        read: Tensor = self.readout(self.recurrent(u)[0][-1])
        return read


class ByCell(nn.Module):
    """A cell called step by step; ``blocks`` of state."""

    def __init__(self, cell: nn.Module, size: int, blocks: int = 1) -> None:
        super().__init__()
        self.cell, self.size, self.blocks, self.readout = cell, size, blocks, nn.Linear(size, 3)

    def forward(self, u: Tensor) -> Tensor:
        start = u.new_zeros(u.shape[1], self.size)
        state: Any = start if self.blocks == 1 else (start,) * self.blocks
        for x in u:
            state = self.cell(x, state)
        read: Tensor = self.readout(state if self.blocks == 1 else state[0])
        return read


class Affine(nn.Module):
    """h ← W h + U x."""

    def __init__(self, W: Tensor) -> None:
        super().__init__()
        self.W = nn.Parameter(W)
        self.U = nn.Linear(FEATURES, len(W), bias=False, dtype=W.dtype)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        moved: Tensor = h @ self.W.T + self.U(x)
        return moved


def inputs(steps: int = STEPS, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.rand(steps, COUNT, FEATURES, generator=torch.Generator().manual_seed(3), dtype=dtype)


def of_affine(W: Tensor, steps: int = STEPS) -> ModelTrial:
    model = ByCell(Affine(W), len(W)).double()
    return trial(model, inputs(steps))


@pytest.mark.parametrize(
    ("kind", "cell", "blocks"), [(nn.LSTM, nn.LSTMCell, 2), (nn.GRU, nn.GRUCell, 1), (nn.RNN, nn.RNNCell, 1)]
)
def test_torchs_layers_and_their_cells_in_a_loop_are_one_recurrence(kind: Any, cell: Any, blocks: int) -> None:
    """The monitor unrolls the layer by its equations; the loop keeps autograd's own gradients of every state."""
    torch.manual_seed(1)
    layer, loop = ByModule(kind(FEATURES, 4), 4).double(), ByCell(cell(FEATURES, 4), 4, blocks).double()
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(loop.cell, name).data.copy_(getattr(layer.recurrent, f"{name}_l0").data)
    loop.readout.load_state_dict(layer.readout.state_dict())
    targets = torch.arange(COUNT) % 3
    one, other = trial(layer, inputs(), targets), trial(loop, inputs(), targets)
    assert one.energy[1] == pytest.approx(other.energy[1], rel=1e-12)
    (followed,), (stepped,) = one.layers, other.layers
    assert followed.gradients is not None and stepped.gradients is not None
    assert np.allclose(followed.gradients, stepped.gradients, rtol=1e-9)
    assert stepped.reason == followed.reason == ""
    assert stepped.largest == pytest.approx(followed.largest, rel=1e-12) and len(stepped.largest) == blocks
    pairs = [(seen, again) for seen in followed.spectra for again in stepped.spectra if seen.n == again.n]
    assert pairs
    for seen, again in pairs:
        assert (seen.largest, seen.smallest) == pytest.approx((again.largest, again.smallest), rel=1e-6)
    assert one.input_gradients is not None and other.input_gradients is not None
    assert np.allclose(one.input_gradients, other.input_gradients, rtol=1e-9)


def test_exponents_of_a_linear_recurrence_are_the_logarithms_of_its_singular_values() -> None:
    Q, _ = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))
    (layer,) = of_affine(0.9 * Q).layers
    assert layer.exponents is not None
    assert layer.exponents == pytest.approx([math.log(0.9)] * 4, abs=1e-12)
    values = [1.1, 0.7, 0.5, 0.3, 0.2, 0.1]
    (layer,) = of_affine(Q @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ Q.T, steps=400).layers
    assert layer.exponents is not None
    assert layer.exponents == pytest.approx([math.log(value) for value in values[:4]], abs=0.02)
    assert all(each.radius == pytest.approx(1.1, rel=1e-6) for each in layer.spectra)
    assert all(each.smallest == pytest.approx(0.1, rel=1e-6) for each in layer.spectra)


def test_exponents_of_an_unstable_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them add up to the mean of log |det J_n|; the largest is the rate at which two neighbours part."""
    torch.manual_seed(5)
    W, steps = 6.0 * torch.randn(12, 12, dtype=torch.float64) / math.sqrt(12), 150

    class Tanh(Affine):
        def forward(self, x: Tensor, h: Tensor) -> Tensor:
            return torch.tanh(super().forward(x, h))

    model, u = ByCell(Tanh(W), 12).double(), 0.1 * inputs(150)
    monkeypatch.setattr(exponents, "FOLLOWED", 12)
    found = trial(model, u)
    (layer,) = found.layers
    assert layer.exponents is not None

    h = torch.zeros(1, 12, dtype=torch.float64)
    nearby, grown, volume = h + 1e-8, [], []
    for x in u[:, :1]:
        J = torch.autograd.functional.jacobian(lambda state, x=x: model.cell(x, state)[0], h)[:, 0]
        volume.append(float(torch.linalg.slogdet(J)[1]))
        with torch.no_grad():
            before = (nearby - h).norm()
            h, nearby = model.cell(x, h), model.cell(x, nearby)
            grown.append(float(torch.log((nearby - h).norm() / before)))
            nearby = h + 1e-8 * (nearby - h) / (nearby - h).norm()
    used = volume[1 : steps - (steps - 1) // 4]  # the rows turn during the others, which are pulled back first
    assert sum(layer.samples[0].largest) == pytest.approx(sum(used) / len(used), rel=1e-6)
    rate = sum(grown) / steps
    assert rate > 0.05 and layer.samples[0].largest[0] == pytest.approx(rate, abs=0.05)
    assert any("unstable on these inputs" in line for line in found.verdict)


def test_oscillators_keep_volume_and_have_bounds() -> None:
    torch.manual_seed(2)
    model = ByModule(UnICORNN(FEATURES, 6, 2, dt=0.2, alpha=2.0), 6).double()
    found = trial(model, inputs(40))
    assert [layer.name for layer in found.layers] == ["recurrent.layers.0", "recurrent.layers.1"]
    for layer in found.layers:
        assert layer.exponents is not None and abs(layer.exponents[0]) * 40 < 3
        for each in layer.spectra:  # det J = 1: singular values come in pairs s, 1/s
            assert each.largest * each.smallest == pytest.approx(1, rel=1e-6)
        assert {each.bound for each in layer.bounded} >= {"thm-S", "icml S(7)"}
    assert sum("bounded for all inputs up to step 40" in line for line in found.verdict) == 2
    json.loads(found.to_json())


def test_an_orthogonal_layer_keeps_gradients() -> None:
    torch.manual_seed(2)
    (layer,) = trial(ByModule(ScoRNN(FEATURES, 6, rho=2), 6).double(), inputs()).layers
    assert layer.gradients is not None and layer.gradients == pytest.approx([layer.gradients[-1]] * STEPS, rel=0.2)
    assert set(layer.largest) == {"h"}  # and no entry of the free matrix among the states


def test_directions_and_levels_are_layers_of_their_own() -> None:
    torch.manual_seed(2)
    model = ByModule(nn.GRU(FEATURES, 3, 2, bidirectional=True), 6).double()
    names = [layer.name for layer in trial(model, inputs()).layers]
    assert names == [f"recurrent.{each}" for each in ("l0", "l0_reverse", "l1", "l1_reverse")]


def test_nothing_of_the_model_is_changed() -> None:
    torch.manual_seed(4)
    model = ByModule(nn.LSTM(FEATURES, 4, dropout=0.5, num_layers=2), 4)
    model.readout.weight.grad = torch.ones_like(model.readout.weight)
    model.readout.bias.requires_grad_(False)
    before, random = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    threads = torch.get_num_threads()
    trial(model, inputs(dtype=torch.float32))
    assert model.training and model.recurrent.training and not model.readout.bias.requires_grad
    assert model.readout.weight.grad is not None and bool((model.readout.weight.grad == 1).all())
    assert model.recurrent.weight_ih_l0.grad is None
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random) and torch.get_num_threads() == threads
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_what_vanishes_explodes_and_overflows_is_said() -> None:
    identity = torch.eye(4, dtype=torch.float64)
    vanishing, exploding = (" ".join(of_affine(scale * identity, 40).verdict) for scale in (0.5, 2.0))
    assert "gradients vanish: that of step 1 is 10^-11.7 of step 40's" in vanishing and "forgets its start" in vanishing
    assert "gradients explode: that of step 1 is 10^11.7 of step 40's" in exploding
    assert "no bound for all inputs, because no theorem here is about the class Affine" in exploding
    assert "gradients vanish: those before step 12 are 0" in " ".join(of_affine(0 * identity).verdict)
    assert "forgets its past entirely" in " ".join(of_affine(0 * identity).verdict)
    relu = ByModule(nn.RNN(FEATURES, 2, nonlinearity="relu"), 2)
    for weight in relu.recurrent.parameters():
        nn.init.constant_(weight, 3.0)
    overflown = trial(relu, inputs(100, torch.float32))
    assert "the state h is inf first at n =" in overflown.verdict[0]
    assert "not finite" in " ".join(overflown.verdict)


def test_remembered_steps_are_counted_from_the_end() -> None:
    from verification.models.words import remembered

    assert remembered(np.array([0.0, 0.0, 1.0])) == 1
    assert remembered(np.ones(100)) == 99
    assert remembered(np.array([1.0, 1e-200, 1e-200])) == 3
    assert remembered(1e-200 * np.ones(100)) == 99  # squares underflow, shares do not


def test_a_recurrence_without_a_module_is_said_and_inputs_have_gradients_all_the_same() -> None:
    class Inside(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.W, self.readout = nn.Parameter(0.5 * torch.eye(2)), nn.Linear(2, 3)

        def forward(self, u: Tensor) -> Tensor:
            h = u.new_zeros(u.shape[1], 2)
            for x in u:
                h = h @ self.W + x
            read: Tensor = self.readout(h)
            return read

    found = trial(Inside(), inputs(dtype=torch.float32))
    assert not found.layers and found.input_gradients is not None
    assert "No recurrence was found" in found.verdict[0] and "10^-3.3 of step 12's" in found.verdict[1]


def test_a_cell_that_mixes_samples_is_not_taken_apart() -> None:
    class Normalised(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.W = nn.Linear(FEATURES, 4)

        def forward(self, x: Tensor, h: Tensor) -> Tensor:
            moved = 0.5 * h + self.W(x)
            return moved - moved.mean(0, keepdim=True)

    (layer,) = trial(ByCell(Normalised(), 4), inputs(dtype=torch.float32)).layers
    assert layer.exponents is None and "one sample alone" in layer.reason and layer.gradients is not None


def test_a_long_sample_is_followed_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exponents, "MOST_STEPS", 3)
    asked: list[int] = []
    whole = exponents.pulled
    monkeypatch.setattr(exponents, "pulled", lambda layer, n, *more: asked.append(n) or whole(layer, n, *more))
    of_affine(torch.eye(3, dtype=torch.float64))
    assert asked[:3] == [12, 11, 10] and asked[3] == 2  # then the places of the spectra


def test_losses_and_layouts() -> None:
    torch.manual_seed(0)

    class First(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.readout = nn.GRU(FEATURES, 4, batch_first=True), nn.Linear(4, 3)

        def forward(self, u: Tensor) -> Tensor:
            read: Tensor = self.readout(self.rnn(u)[0])
            return read

    model, u = First().double(), inputs().transpose(0, 1)
    classes = torch.zeros(COUNT, STEPS, dtype=torch.int64)
    rows = model(u)
    cases: list[tuple[dict[str, Any], Tensor, str]] = [
        ({}, rows[:, -1].square().sum() / (2 * COUNT), "½‖output‖² of the last step, mean over the samples"),
        (
            {"targets": classes},
            nn.functional.cross_entropy(rows.flatten(0, 1), classes.flatten()),
            "cross entropy of all",
        ),
        (
            {"targets": classes[:, 0]},
            nn.functional.cross_entropy(rows[:, -1], classes[:, 0]),
            "cross entropy of the last",
        ),
        ({"targets": rows.detach() + 1}, torch.tensor(1.0), "mean squared error of all steps"),
        ({"loss": lambda output, _: output.sum()}, rows.sum(), "<lambda>"),
    ]
    for given, value, said in cases:
        found = trial(model, u, **given)
        assert found.energy[1] == pytest.approx(float(value.detach())) and said in found.energy[0]
        assert found.input_gradients is not None and len(found.input_gradients) == STEPS
    assert len(trial(model, u.numpy()).layers) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inputs": torch.zeros(0, 2, FEATURES)}, "needs steps and samples"),
        ({"inputs": torch.full((3, 2, FEATURES), math.nan)}, "not finite"),
        ({"inputs": inputs(), "targets": torch.zeros(7)}, r"targets have shape \(7,\), the model returned \(5, 3\)"),
        ({"inputs": inputs(), "loss": lambda output, _: output}, "does not return one number"),
    ],
)
def test_what_is_no_trial_is_refused(given: dict[str, Any], message: str) -> None:
    model = ByModule(nn.GRU(FEATURES, 4), 4).double()
    with pytest.raises(ValueError, match=message):
        trial(model, **given)
    assert model.training and not any(module._forward_hooks for module in model.modules())
    with pytest.raises(TypeError, match="needs a torch"):
        trial("model", inputs())  # type: ignore[arg-type]


def test_the_page_and_the_json_have_all_of_it() -> None:
    found = trial(ByModule(nn.LSTM(FEATURES, 4), 4).double(), inputs())
    text, plain = str(found), json.loads(found.to_json())
    assert (
        text.startswith("ByModule on inputs 12 steps × 5 samples × 2 features; E = ½‖output‖²") and "|h_n| ≤ 1" in text
    )
    assert plain["verdict"] == list(found.verdict) and len(plain["layers"][0]["gradients"]) == STEPS
    assert [each["bound"] for each in plain["layers"][0]["bounds"]] == ["|h_n| ≤ 1", "|c_n| ≤ n"]


class Pair(nn.Module):
    """A cell that returns its state twice, as torch's layers do."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell, self.readout = nn.Module(), nn.Linear(4, 3)
        self.step = Doubled(cell)

    def forward(self, u: Tensor) -> Tensor:
        h = u.new_zeros(u.shape[1], 4)
        for x in u:
            y, h = self.step(x, h)
        read: Tensor = self.readout(y)
        return read


class Doubled(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        h = self.inner(x, h)
        return h, h


def test_what_is_read_from_a_state_is_part_of_its_gradient() -> None:
    torch.manual_seed(3)
    bare = ByCell(nn.GRUCell(FEATURES, 4), 4).double()
    twice = Pair(bare.cell).double()
    twice.readout.load_state_dict(bare.readout.state_dict())
    (one,), (other,) = trial(bare, inputs()).layers, trial(twice, inputs()).layers
    assert other.name == "step" and one.gradients is not None and other.gradients is not None
    assert np.allclose(one.gradients, other.gradients, rtol=1e-12)


def test_a_bound_that_is_exceeded_or_beyond_floats_is_no_comfort() -> None:
    torch.manual_seed(0)
    fast = UnICORNN(FEATURES, 4, 1, dt=0.9, alpha=8.0)
    with torch.no_grad():
        fast.layers[0].c.fill_(20.0)  # α h² > 4
    words = " ".join(trial(ByModule(fast, 4), inputs(60, torch.float32)).verdict)
    assert "bounded for all inputs" not in words
    assert "exceeds a bound" in words or "beyond the largest float" in words or "not finite" in words


def test_the_largest_entries_are_the_largest() -> None:
    model = ByModule(nn.LSTM(FEATURES, 1), 1).double()
    with torch.no_grad():
        for parameter in model.recurrent.parameters():
            parameter.zero_()
        model.recurrent.bias_ih_l0.fill_(10.0)  # all gates open: c_n grows by nearly 1 a step
    (layer,) = trial(model, inputs()).layers
    assert layer.largest["c"] == pytest.approx(STEPS, rel=1e-3) and layer.largest["h"] == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("cell", [nn.RNNCell, nn.GRUCell])
def test_a_state_that_is_not_finite_comes_first(cell: Any) -> None:
    model = ByCell(cell(FEATURES, 4), 4)
    with torch.no_grad():
        model.cell.weight_hh.fill_(torch.nan)
    found = trial(model, inputs(dtype=torch.float32))
    assert found.verdict[0] == "cell: the state is not finite first at n = 1."
    assert found.layers[0].exponents is None and "not finite" in found.layers[0].reason


def test_a_module_that_is_called_again_is_measured_in_its_first_call_and_that_is_said() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.readout = nn.GRU(FEATURES, 4), nn.Linear(4, 3)

        def forward(self, u: Tensor) -> Tensor:
            _, state = self.rnn(u[:5])
            read: Tensor = self.readout(self.rnn(u[5:], state)[0][-1])
            return read

    found = trial(Twice(), inputs(dtype=torch.float32))
    assert all("(GRU, the first of 2 calls)" in line for line in found.verdict)


def test_a_direction_that_is_kept_says_nothing_of_the_others() -> None:
    v = torch.zeros(40, 1, dtype=torch.float64)
    v[3] = 1
    (layer,) = of_affine(v @ v.T + 0.5 * (torch.eye(40, dtype=torch.float64) - v @ v.T), steps=60).layers
    assert layer.exponents is not None and layer.exponents[0] == pytest.approx(0, abs=1e-3)
    words = " ".join(of_affine(v @ v.T, steps=60).verdict)
    assert "at least one direction keeps distances" in words  # the others are forgotten at once


def test_random_numbers_named_tuples_and_silent_losses() -> None:
    State = namedtuple("State", ["h", "c"])

    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.LSTMCell(FEATURES, 4)

        def forward(self, x: Tensor, state: Any) -> Any:
            h, c = self.inner(x, (state.h, state.c))
            return State(h + 0 * torch.randn(()), c)

    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.readout = Noisy(), nn.Linear(4, 3)

        def forward(self, u: Tensor) -> Tensor:
            zero = u.new_zeros(u.shape[1], 4)
            state = State(zero, zero)
            for x in u:
                state = self.cell(x, state)
            read: Tensor = self.readout(state.h)
            return read

    model, before = Loop(), torch.get_rng_state()
    (layer,) = trial(model, inputs(dtype=torch.float32)).layers
    assert layer.name == "cell" and layer.exponents is not None and layer.reason == ""
    assert torch.equal(torch.get_rng_state(), before)

    class Frozen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.rnn = nn.Embedding(5, 2), nn.GRU(2, 3)
            self.requires_grad_(False)

        def forward(self, words: Tensor) -> Tensor:
            rows: Tensor = self.rnn(self.table(words))[0][-1]
            return rows

    with pytest.raises(ValueError, match="nothing of it has a gradient"):
        trial(Frozen(), torch.zeros(4, 2, dtype=torch.int64))


def test_a_packed_sample_ends_where_it_ends() -> None:
    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.readout = nn.GRU(FEATURES, 3), nn.Linear(3, 2)

        def forward(self, u: Tensor) -> Tensor:
            packed = nn.utils.rnn.pack_padded_sequence(u, [4, *[len(u)] * (u.shape[1] - 1)], enforce_sorted=False)
            read: Tensor = self.readout(self.rnn(packed)[1][0])
            return read

    torch.manual_seed(0)
    model = Packed().double()
    (layer,) = trial(model, inputs()).layers
    (alone,) = trial(model, torch.cat([inputs()[:4, :1]] * 2, dim=1)).layers
    assert [each.steps for each in layer.samples] == [4, *[STEPS] * (COUNT - 1)]
    assert np.allclose(layer.samples[0].largest, alone.samples[0].largest, rtol=1e-9)
