"""What a trial says in words: no sentence against the figures, a reason for what is missing, and which bounds fail."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import odernn
from odernn import CoRNN, ExpRNN, ScoRNN, UnICORNN
from verification.measure import own_equations
from verification.models import words
from verification.models.exponents import SampleExponents, StepSpectrum, median
from verification.models.found import LayerTrial
from verification.models.ledger import CellLedger
from verification.models.model_trial import trial
from verification.models.page import page
from verification.models.trial_result import ModelTrial
from verification.trained.row import Row


class Reading(nn.Module):
    """A recurrent module and a readout of its last row."""

    def __init__(self, recurrent: nn.Module, size: int, classes: int = 3) -> None:
        super().__init__()
        self.rnn, self.out = recurrent, nn.Linear(size, classes)

    def forward(self, u: Tensor) -> Tensor:
        read: Tensor = self.out(self.rnn(u)[0][-1])
        return read


class Loop(nn.Module):
    """A cell called step by step that takes and returns one tensor."""

    def __init__(self, cell: nn.Module, size: int) -> None:
        super().__init__()
        self.cell, self.size, self.out = cell, size, nn.Linear(size, 3)

    def forward(self, u: Tensor) -> Tensor:
        h = u.new_zeros(u.shape[1], self.size)
        for x in u:
            h = self.cell(x, h)
        read: Tensor = self.out(h)
        return read


class Gated(nn.Module):
    """h ← x_1 h + U x: where x_1 is 0, what was before is lost."""

    def __init__(self) -> None:
        super().__init__()
        self.U = nn.Linear(2, 4)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        moved: Tensor = x[:, :1] * h + self.U(x)
        return moved


def inputs(steps: int = 12, count: int = 5, features: int = 2) -> Tensor:
    return torch.rand(steps, count, features, generator=torch.Generator().manual_seed(3))


def pixels(count: int = 64) -> tuple[Tensor, Tensor]:
    """scikit-learn's digits, a pixel a step: the first ones are 0."""
    found = load_digits()
    return torch.tensor(found.data[:count].T[..., None] / 16, dtype=torch.float32), torch.tensor(found.target[:count])


def flat(found: ModelTrial, width: int = 80) -> str:
    return " ".join(page(found, width).split())


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [lambda: ScoRNN(1, 32, rho=16), lambda: ExpRNN(1, 32)], ids=["ScoRNN", "ExpRNN"])
def test_a_silent_beginning_is_no_loss_of_memory(cell: Any) -> None:
    torch.manual_seed(0)
    found = trial(Reading(cell(), 32, 10), *pixels())
    (layer,) = found.layers
    text = " ".join(found.verdict)
    assert len(layer.samples) == 8 and all(1 <= each.silent <= 4 for each in layer.samples)
    assert "forgets its past entirely" not in text and "its units are silent at first, to step" in text
    assert "on 8 of 8 samples" in text and "it remembers over 6" in text
    assert layer.exponents is not None and abs(layer.exponents[0]) < 1e-3
    assert "the last 63 of 64 steps have 99 %" in text


def test_what_is_lost_on_the_way_is_said_of_the_samples_that_lose_it() -> None:
    u = inputs()
    u[:, :, 0] = 1.0
    u[7, 2, 0] = 0.0  # step 8 of the third sample
    (layer,) = trial(Loop(Gated(), 4), u).layers
    assert [each.silent for each in layer.samples] == [0, 0, 8, 0, 0]
    assert layer.samples[2].used == 4 and layer.exponents is not None and abs(layer.exponents[0]) < 1e-6
    text = " ".join(trial(Loop(Gated(), 4), u).verdict)
    assert "nothing from before step 8 is left at the end on 1 of 5 samples" in text and "remembers" in text


def test_exponents_of_samples_are_those_of_each_alone() -> None:
    torch.manual_seed(1)
    model, u = Reading(nn.GRU(2, 5), 5).double(), inputs().double()
    (layer,) = trial(model, u).layers
    for index, each in enumerate(layer.samples):
        (alone,) = trial(model, u[:, index : index + 1]).layers
        assert np.allclose(each.largest, alone.samples[0].largest, rtol=1e-9)
    assert layer.exponents is not None
    assert layer.exponents == pytest.approx(np.median([each.largest for each in layer.samples], axis=0))


def test_the_median_of_infinities_is_one() -> None:
    found = [SampleExponents((value,), 0, 5) for value in (-math.inf, -math.inf, -1.0)]
    assert median(found)[0] == -math.inf and median([*found[1:], SampleExponents((-2.0,), 0, 5)])[0] == -2.0


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (0.0, "remembers over 8 steps"),
        (-0.35, "fades: exponent -0.35 a step (-0.35 … -0.35 on 2 samples), after 8 steps 6.1 % of a difference"),
        (-1.0, "forgets its start"),
        (0.35, "parts near states a little"),
        (1.0, "is unstable on these inputs"),
    ],
)
def test_grades_of_memory(rate: float, said: str) -> None:
    """−0.35 a step over 8 steps is a loss of 94 %: no memory over 8 steps."""
    sample = SampleExponents((rate, -9.0), 0, 8)
    layer = LayerTrial("rnn", "RNN", 8, exponents=np.array(sample.largest), samples=(sample, sample))
    (line,) = words.verdict(ModelTrial("M", (8, 2, 1), ("E", 1.0), (layer,), None))
    assert said in line


# --- gradients --------------------------------------------------------------------------------------------------------


def of_gradients(*norms: float, name: str = "l0") -> str:
    layer = LayerTrial(name, "GRU", len(norms), gradients=np.array(norms))
    (line,) = words.verdict(ModelTrial("M", (8, 2, 1), ("E", 1.0), (layer,), None))
    return line


def test_ends_of_gradients_are_said_with_their_reason() -> None:
    assert "there is one step only" in of_gradients(1.0)
    reverse = of_gradients(1.0, 0.0, 0.0, name="l0_reverse")
    assert "E does not depend on its states after step 1 of 3" in reverse and "reads the last input" in reverse
    assert "so that no gradient goes through its recurrence" in reverse
    assert "after step 2 of 3; gradients neither" in of_gradients(1.0, 1.0, 0.0)
    assert "E does not depend on its states." in of_gradients(0.0, 0.0)
    assert "10^-9.0 of step 3's" in of_gradients(1e-9, 1e-4, 1.0)


def test_a_layer_in_a_loop_is_no_cell() -> None:
    class ByStep(Reading):
        def forward(self, u: Tensor) -> Tensor:
            state = None
            for x in u:
                rows, state = self.rnn(x[None], state)
            read: Tensor = self.out(rows[-1])
            return read

    text = " ".join(trial(ByStep(nn.GRU(2, 4), 4), inputs()).verdict)
    assert "it is called 12 times with one step each" in text and "put its cell into the loop" in text


def test_growth_within_the_last_steps_is_no_explosion() -> None:
    n = np.arange(64.0, 0.0, -1)
    assert "neither vanish nor explode: that of step 1 is 10^7.2" in of_gradients(*n**4)
    assert "on which E hardly depends" in of_gradients(*n**4)
    assert "gradients explode" in of_gradients(*np.exp(0.3 * n))


def test_a_reverse_direction_below_a_layer_that_forgets_does_not_explode() -> None:
    """E reads the last row, which the layer above makes of the last ones below: the first steps of the reverse one."""

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.out = nn.GRU(2, 8, 2, bidirectional=True), nn.Linear(16, 3)

        def forward(self, u: Tensor) -> Tensor:
            read: Tensor = self.out(self.rnn(u)[0][-1])
            return read

    torch.manual_seed(0)
    found = trial(Both(), torch.randn(40, 4, 2))
    (layer,) = [each for each in found.layers if each.name.endswith("l0_reverse")]
    assert layer.gradients is not None and layer.gradients[0] > 1e4 * layer.gradients[-1]
    text = " ".join(found.verdict)
    assert "explode: that" in text and "gradients explode" not in text
    assert "as E hardly depends on its last steps: its own steps make differences smaller" in text
    assert "l0_reverse (GRU): forgets its start" in text


@pytest.mark.parametrize("after", [0, 20], ids=["alone", "before saturated steps"])
def test_steps_that_stretch_explode_whatever_comes_after_what_is_read(after: int) -> None:
    """J_n = W, ‖W‖₂ = 2, up to step 20, which E reads; J_n = 0 in the steps after it."""
    model = nn.RNN(1, 8, bias=False)
    nn.init.orthogonal_(model.weight_hh_l0, gain=2.0)
    nn.init.ones_(model.weight_ih_l0)
    u = torch.cat([torch.zeros(20, 1, 1), torch.full((after, 1, 1), 30.0)])
    found = trial(model, u, loss=lambda rows, _: rows[0][19].sum())
    assert f"gradients explode: that of step 1 is 10^{19 * math.log10(2):.1f} of step 20's" in " ".join(found.verdict)
    (layer,) = found.layers
    assert all(each.largest[0] < 0 for each in layer.samples) == (after > 0)


@pytest.mark.parametrize(("rate", "stretch"), [(-0.1, 1.1), (0.1, 0.9), (-0.1, None)])
def test_growth_is_an_explosion_unless_exponents_and_jacobians_contract(rate: float, stretch: float | None) -> None:
    """A Jacobian that is looked at may be the only one that shrinks, or the only one that does not."""
    layer = LayerTrial("l0", "GRU", 64, gradients=np.exp(0.3 * np.arange(64.0, 0.0, -1)))
    contracting = replace(layer, samples=(SampleExponents((-0.1,), 0, 64),), spectra=(StepSpectrum(1, 0.9, 0.1, 0.9),))
    spectra = () if stretch is None else (StepSpectrum(1, 0.9, 0.1, 0.9), StepSpectrum(64, stretch, 0.1, 0.9))
    other = replace(contracting, samples=(SampleExponents((rate,), 0, 64),), spectra=spectra)
    shrinks, grows = (
        words.verdict(ModelTrial("M", (64, 2, 1), ("E", 1.0), (each,), None))[0] for each in (contracting, other)
    )
    assert "its own steps make differences smaller" in shrinks and "gradients explode" in grows


def test_one_step_and_both_directions() -> None:
    torch.manual_seed(0)
    model = Reading(nn.GRU(2, 3, bidirectional=True), 6)
    assert "there is one step only" in " ".join(trial(model, inputs(1)).verdict)
    assert "rnn.l0_reverse (GRU): E does not depend on its states after step 1 of 12" in flat(trial(model, inputs()))


# --- what is proved, and what is not -------------------------------------------------------------------------------


def test_a_unicornn_is_compared_with_all_that_is_proved_of_it() -> None:
    torch.manual_seed(2)
    found = trial(Reading(UnICORNN(2, 6, 2, dt=0.05, alpha=1.0, batch_first=True), 6), inputs(), batch_first=False)
    (ledger,) = found.ledgers
    by = {row.statement for row in ledger.bounds}
    assert by >= {"thm-S", "icml-C.1", "icml-3.1", "icml-C.2", "sam-3.2", "sam-D.2", "thm-G", "thm-J", "thm-F (a)"}
    assert by >= {"icml-(25)", "icml-(27)", "sam-54"} and ledger.samples == 8
    assert not any(words.exceeds(row) for row in ledger.rows)
    text, plain = flat(found), json.loads(found.to_json())
    assert "none is exceeded" in text and "thm-F (a)" in text and "icml-(27)" in text
    assert {row["statement"] for row in plain["ledgers"][0]["rows"]} >= by


def test_an_exceeded_bound_comes_first_and_by_name() -> None:
    """w = −3 at α = 1 makes a saddle: zero is left exponentially, which the printed polynomial in n is not."""
    torch.manual_seed(2)
    cell = UnICORNN(2, 6, 1, dt=0.3, alpha=1.0)
    with torch.no_grad():
        cell.layers[0].w.fill_(-3.0)
        cell.layers[0].c.fill_(4.0)
        cell.layers[0].V.mul_(1e-6)
    found = trial(Reading(cell, 6), inputs(60))
    over = {row.statement for row in found.ledgers[0].rows if words.exceeds(row)}
    assert "icml-(27)" in over and "thm-J" not in over and "thm-S" not in over
    first = [line for line in found.verdict if "exceeds icml-(27)" in line]
    heads = [number for number, line in enumerate(found.verdict) if "(UnICORNN)" in line]
    assert first and found.verdict.index(first[0]) < min(heads) and "exceeded: " in " ".join(found.verdict)
    assert "EXCEEDED" in page(found, 80)


def test_counts_of_a_ledger_name_what_fails() -> None:
    rows = (
        Row("bound", 1, "abs(y)", "thm-S", log_bound=1.0, log_measured=0.0, verdict="not-refuted"),
        Row(
            "bound",
            1,
            "abs(z)",
            "wrong",
            log_bound=0.0,
            log_measured=1.0,
            verdict="suspect",
            because="seen",
            at="n = 2",
        ),
    )
    ledger = CellLedger("rnn", ("rnn.layers.0",), rows, samples=3)
    said = words.verdict(ModelTrial("M", (8, 2, 1), ("E", 1.0), (), None, ledgers=(ledger,)))
    assert said[0] == "rnn.layers.0: abs(z) exceeds wrong by 0.434 decades at n = 2; seen."
    assert "rnn: 1 of its 2 bounds hold on 3 samples" in said[1] and "exceeded: wrong" in said[1]
    harmless = replace(ledger, rows=rows[:1])
    quiet = words.verdict(ModelTrial("M", (8, 2, 1), ("E", 1.0), (), None, ledgers=(harmless,)))
    assert "none is exceeded" in quiet[0]


def test_a_cornn_is_bounded_by_its_own_equation_and_a_smaller_bound_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = Reading(CoRNN(2, 4, dt=0.1, gamma=1.0, epsilon=1.0), 4)
    with torch.no_grad():
        model.rnn.layers[0].b.fill_(20.0)  # all forces are 1: the bound of z is reached while it falls
    found = trial(model, inputs(40))
    assert "bounded for all inputs up to step 40 (coRNN's responses, summed)" in flat(found)
    assert not found.layers[0].unbounded and all(each.holds is not False for each in found.layers[0].measurements)
    whole = own_equations.log_coupled
    monkeypatch.setattr(own_equations, "log_coupled", lambda *a: {name: log - 0.01 for name, log in whole(*a).items()})
    smaller = trial(model, inputs(40))
    assert any("coRNN's responses, summed does not hold" in line for line in smaller.verdict)


@pytest.mark.parametrize(
    ("cell", "size", "reason"),
    [
        (lambda: nn.RNN(2, 4, nonlinearity="relu"), 4, "relu is unbounded, and ‖W_hh‖₂ = 2 ≥ 1"),
        (lambda: nn.LSTM(2, 4, proj_size=3), 3, "no theorem here is about a projection"),
        (lambda: ScoRNN(2, 4, rho=2), 4, "its modReLU is unbounded"),
        (lambda: odernn.LinOSS(2, 4, dt=0.1), 4, "its states are linear in its inputs"),
        (lambda: odernn.LEM(2, 4), 4, "what is proved of its states odernn.bounds.certify prints"),
        (lambda: odernn.ODERNN(2, 4, tableau=odernn.tableaus.EULER, eta=0.1), 4, "about the states of ODERNN"),
    ],
)
def test_no_bound_has_its_reason(cell: Any, size: int, reason: str) -> None:
    torch.manual_seed(0)
    model = Reading(cell(), size)
    if isinstance(model.rnn, nn.RNN):
        with torch.no_grad():
            model.rnn.weight_hh_l0.copy_(2 * torch.eye(4))
    found = trial(model, inputs())
    assert reason in " ".join(found.verdict)
    assert json.loads(found.to_json())["layers"][0]["unbounded"]


def test_a_contracting_relu_and_a_start_elsewhere_say_so() -> None:
    model = Reading(nn.RNN(2, 4, nonlinearity="relu"), 4)
    with torch.no_grad():
        model.rnn.weight_hh_l0.copy_(0.5 * torch.eye(4))
    assert "‖W_hh‖₂ = 0.5 < 1, ‖h_n‖₂ stays below 2 times" in " ".join(trial(model, inputs()).verdict)

    class Warm(Reading):
        def forward(self, u: Tensor) -> Tensor:
            read: Tensor = self.out(self.rnn(u, torch.full((1, u.shape[1], 4), 3.0))[0][-1])
            return read

    text = " ".join(trial(Warm(nn.GRU(2, 4), 4), inputs()).verdict)
    assert "what is proved of it is about runs from zero states, and this one starts elsewhere" in text


def test_cells_of_torch_in_a_loop_have_the_same_bound_as_its_layers() -> None:
    torch.manual_seed(0)
    assert "|h_n| ≤ 1" in " ".join(trial(Loop(nn.GRUCell(2, 4), 4), inputs()).verdict)
    assert "no theorem here is about the class Gated" in " ".join(trial(Loop(Gated(), 4), inputs()).verdict)


# --- measured, and shown ---------------------------------------------------------------------------------------------


def test_what_is_measured_is_shown() -> None:
    torch.manual_seed(0)
    oscillators = trial(Reading(UnICORNN(2, 4, 1, dt=0.1, alpha=1.0), 4), inputs())
    orthogonal = trial(Reading(ExpRNN(2, 4), 4), inputs())
    for found, names in (
        (oscillators, {"reconstruction_error", "margin_to_rotation_limit", "margin_to_saddle", "effective_step"}),
        (orthogonal, {"orthogonality_error"}),
    ):
        measured = {each["quantity"]: each["value"] for each in json.loads(found.to_json())["layers"][0]["measured"]}
        assert names <= set(measured) and all(math.isfinite(value) for value in measured.values())
        assert all(name in page(found, 80) for name in names)


@pytest.mark.parametrize(("kind", "gates"), [(nn.RNN, 1), (nn.GRU, 3), (nn.LSTM, 4)])
def test_recurrent_weights_are_measured_gate_by_gate(kind: Any, gates: int) -> None:
    torch.manual_seed(3)
    model = Reading(kind(2, 5), 5)
    (layer,) = trial(model, inputs()).layers
    W = model.rnn.weight_hh_l0.detach().double().numpy().reshape(gates, 5, 5)
    assert len(layer.weights) == gates
    for each, own in zip(layer.weights, W, strict=True):
        assert each.norm == pytest.approx(np.linalg.norm(own, 2)) and each.size == 5
        assert each.defect == pytest.approx(np.linalg.norm(own.T @ own - np.eye(5), 2))
        assert each.radius == pytest.approx(max(abs(np.linalg.eigvals(own))))
    with torch.no_grad():
        model.rnn.weight_hh_l0.copy_(torch.eye(5).repeat(gates, 1))
    assert all(each.defect == 0 for each in trial(model, inputs()).layers[0].weights)


# --- inputs and names ------------------------------------------------------------------------------------------------


def test_pixels_of_whole_numbers_are_taken_as_numbers_and_words_as_words() -> None:
    torch.manual_seed(0)
    bytes_of = (255 * inputs()).to(torch.uint8)
    model = Reading(nn.GRU(2, 4), 4)
    found, same = trial(model, bytes_of), trial(model, bytes_of.float())
    assert found.energy == same.energy and found.input_gradients is not None
    assert any(
        "inputs of uint8, from " in note and "taken as float32" in note and "not divided" in note
        for note in found.notes
    )
    assert trial(model, bytes_of.long()).energy == same.energy and trial(model, bytes_of > 99).notes

    class Words(Reading):
        def forward(self, words_of: Tensor) -> Tensor:
            return super().forward(nn.functional.one_hot(words_of, 2).float())

    assert not trial(Words(nn.GRU(2, 4), 4), torch.zeros(6, 3, dtype=torch.int64)).notes
    table = nn.Sequential(nn.Embedding(256, 2), Reading(nn.GRU(2, 4), 4))
    assert "taken as words" in trial(table, bytes_of[..., 0]).notes[0]


def test_the_axes_are_named() -> None:
    torch.manual_seed(0)
    model = Reading(nn.GRU(2, 4), 4)
    assert str(trial(model, inputs())).startswith("Reading on inputs 12 steps × 5 samples × 2 features;")
    first = Reading(nn.GRU(2, 4, batch_first=True), 4)
    assert "inputs 12 samples × 5 steps × 2 features" in str(trial(first, inputs()))
    doubtful = trial(Loop(Gated(), 4), inputs(5, 8), loss=lambda output, _: output.sum(), targets=torch.zeros(5))
    assert any("say --batch-first" in note for note in doubtful.notes)


def test_outputs_and_states_that_are_no_rows_are_named() -> None:
    class Number(nn.Module):
        def forward(self, x: Tensor, h: Tensor) -> Tensor:
            return 0.5 * h + x.mean()

    class Summed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.w = Number(), nn.Parameter(torch.ones(1))

        def forward(self, u: Tensor) -> Tensor:
            h = u.new_zeros(())
            for x in u:
                h = self.cell(x, h)
            return self.w * h

    (layer,) = trial(Summed(), inputs()).layers
    assert "its state is no matrix (batch, units) but one number" in layer.reason
    assert layer.gradients is not None and layer.gradients[-2] == pytest.approx(layer.gradients[-1] / 2)
    with pytest.raises(ValueError, match=r"the model returned \(1,\): E of targets needs one row"):
        trial(Summed(), inputs(), torch.tensor([1]))


def test_the_trial_is_a_name_of_the_package_and_importing_that_loads_nothing() -> None:
    code = (
        "import sys, verification\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
        "from verification import trial\n"
        "from verification.models import trial as same\n"
        "assert trial is same is verification.trial and 'torch' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
