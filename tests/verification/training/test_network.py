"""The network of a task and its losses, against loops."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from tests.verification.training.plans import spec
from verification.training import TrainingError, configuration, network


def test_losses_against_loops() -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(4, 3, 2, generator=generator, dtype=torch.float64)
    numbers = torch.randn(4, 3, 2, generator=generator, dtype=torch.float64)
    classes = torch.tensor([[0, 1, 1], [1, 0, 1], [0, 0, 1], [1, 1, 1]])
    lengths = (4, 1, 3)
    real = torch.arange(4)[:, None] < torch.tensor(lengths)

    def error(n: int, i: int) -> float:
        return float(((outputs[n, i] - numbers[n, i]) ** 2).mean())

    def surprise(n: int, i: int) -> float:
        return -float(outputs[n, i].log_softmax(0)[classes[n, i]])

    for loss, targets, each in (("squared error", numbers, error), ("cross entropy", classes, surprise)):
        whole = sum(each(n, i) for n in range(4) for i in range(3)) / 4
        assert float(network.loss_sum(outputs, targets, spec(loss=loss))) == pytest.approx(whole, rel=1e-12)
        part = sum(each(n, i) for i in range(3) for n in range(lengths[i])) / (8 / 3)
        found = network.loss_sum(outputs, targets, spec(loss=loss, lengths=lengths), real)
        assert float(found) == pytest.approx(part, rel=1e-12)
    last = network.loss_sum(outputs[-1], classes[-1], spec(loss="cross entropy", reads="last"))
    assert float(last) == pytest.approx(sum(surprise(3, i) for i in range(3)), rel=1e-12)
    right = [[int(outputs[n, i].argmax() == classes[n, i]) for i in range(3)] for n in range(4)]
    assert network.correct(outputs, classes) == (sum(map(sum, right)), 12)
    assert network.correct(outputs, classes, real)[1] == 8


def test_numbers_of_one_column() -> None:
    outputs, targets = torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 1.0])
    assert float(network.loss_sum(outputs, targets, spec(reads="last", output_size=1))) == 5.0


def test_the_forget_gate_of_an_lstm() -> None:
    made = configuration.Network(cell="torch.lstm", hidden_size=4, options={"forget_bias": 2.0})
    lstm = network.build(made, spec(), seed=0, dtype=torch.float64).recurrent
    gate = (lstm.bias_ih_l0 + lstm.bias_hh_l0).detach()
    assert torch.equal(gate[4:8], torch.full((4,), 2.0, dtype=torch.float64)) and not (gate[:4] == 2.0).any()


def test_a_readout_that_begins_as_in_the_code_of_unicornn() -> None:
    """Normal with the deviation √(2/m), no bias; the recurrent weights are those of any other readout."""
    plain = configuration.Network(cell="unicornn", hidden_size=400, options={"dt": 0.1, "alpha": 1.0})
    kaiming = replace(plain, readout_init="kaiming normal")
    ours, theirs = (network.build(plan, spec(output_size=50), seed=0, dtype=torch.float64) for plan in (plain, kaiming))
    for name, value in ours.recurrent.named_parameters():
        assert torch.equal(value, theirs.recurrent.get_parameter(name))
    weight = theirs.readout.weight.detach()
    assert not theirs.readout.bias.any() and bool(ours.readout.bias.any())
    assert float(weight.std()) == pytest.approx(math.sqrt(2 / 400), rel=5 / math.sqrt(2 * weight.numel()))
    assert float(weight.abs().max()) > 3 * math.sqrt(2 / 400) > float(ours.readout.weight.detach().abs().max())


def test_dropout_before_the_readout_is_locked() -> None:
    """Where the readout is the identity: the same components at all times of a sequence, scaled; none in evaluation."""
    recurrent = torch.nn.LSTM(1, 6)
    readout = torch.nn.Linear(6, 6)
    with torch.no_grad():
        readout.weight.copy_(torch.eye(6))
        readout.bias.zero_()
    u = torch.randn(5, 40, 1, generator=torch.Generator().manual_seed(0))
    for reads, shape in (("every", (5, 40, 6)), ("last", (40, 6))):
        model = network.TaskNetwork(recurrent, readout, reads, dropout=0.25)
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(1)
            dropped, whole = model.train()(u), model.eval()(u)
        assert dropped.shape == whole.shape == shape
        kept = dropped != 0.0
        torch.testing.assert_close(dropped, torch.where(kept, whole / 0.75, 0.0))
        assert 0.6 < float(kept.float().mean()) < 0.9  # of 240: 0.75 ± 0.03
        assert reads == "last" or bool((kept == kept[0]).all())
        assert len(torch.unique(kept.reshape(-1, 40, 6)[0], dim=0)) > 10  # each sequence has its own


def test_a_graph_is_its_architecture() -> None:
    """skip-2 read out as h(t) = tanh(A h(t−1) + B h(t−2) + V u + b), by a loop."""
    made = configuration.Network(cell="graph", hidden_size=3, options={"graph": "skip-2"})
    model = network.build(made, spec(), seed=0, dtype=torch.float64)
    weights = dict(model.recurrent.named_parameters())
    A, B = weights["weight.h1->h1:1"], weights["weight.h1->h1:2"]
    u = torch.randn(4, 3, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    past = [torch.zeros(3, 3, dtype=torch.float64)] * 2
    for row in u:
        (V,) = (value for name, value in weights.items() if name.startswith("weight.in"))
        past.append(torch.tanh(past[-1] @ A.T + past[-2] @ B.T + row @ V.T + weights["bias.h1"]))
    expected = torch.stack(past[2:]) @ model.readout.weight.T + model.readout.bias
    torch.testing.assert_close(model(u), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "options, layers, message",
    [
        ({"graph": "skipp-2"}, 1, r'\[network\] graph: No architecture is called "skipp-2"\. Did you mean'),
        ({"grapf": "sh"}, 1, r'graph takes no "grapf"\. Did you mean "graph"'),
        ({"graph": "sh"}, 2, r"graph: num_layers is 2; the layers are the nodes"),
        ({"graph": 3}, 1, r'graph is 3; it is a name in quotes, such as "skip-21"'),
        ({}, 1, r"\[network\] graph: .*missing .* 'graph'"),
    ],
)
def test_wrong_graphs(options: dict[str, object], layers: int, message: str) -> None:
    made = configuration.Network(cell="graph", hidden_size=3, num_layers=layers, options=options)
    with pytest.raises(TrainingError, match=message):
        network.build(made, spec(), seed=0, dtype=torch.float64)
