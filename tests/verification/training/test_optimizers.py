"""Several optimizers in one run: each parameter has one, unitary weights stay unitary, their memory survives a stop."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import nn

from odernn.orthogonal.unitary import unitarity_score, unitary_of
from tests.tiers import slow
from tests.verification.training.plans import StoppedError, plan, same, spec, stop_at, tensors
from verification.training import TrainingError, checkpoints, configuration, loop, network, optimizers

URNN = """
[task]
name = "adding"
steps = 8
count = 40

[network]
cell = "urnn"
capacity = "{capacity}"
hidden_size = 5
learn_initial_state = true

[optimizer]
name = "rmsprop"
lr = 0.01
momentum = 0.5
{groups}
[training]
epochs = 3
batch_size = 16
checkpoint_every = 1
dtype = "float64"
"""
GROUP = """
[[optimizer.groups]]
parameters = ["recurrent.layers.*.W"]
name = "multiplicative_cayley"
lr = 0.02
"""
FULL = URNN.format(capacity="full", groups=GROUP)
RESTRICTED = URNN.format(capacity="restricted", groups="")
W = "model.recurrent.layers.0.W"


def test_a_full_capacity_weight_moves_on_its_group(tmp_path: Path) -> None:
    """9 updates, each of a few roundings of a 5 × 5 matrix; another optimizer leaves the group at once."""
    made = plan(tmp_path, FULL)
    loop.train(made, tmp_path / "run")
    first = network.build(made.network, spec(input_size=2, output_size=1, reads="last"), seed=0, dtype=torch.float64)
    start = first.state_dict()[W.removeprefix("model.")]
    end = tensors(tmp_path / "run")[W]
    assert (end - start).abs().max() > 1e-3
    assert unitarity_score(unitary_of(end)) < 9 * 5 * 2**-50
    others = [name for name in tensors(tmp_path / "run") if name.startswith("optimizer.")]
    assert others and not any(name.startswith("optimizer.recurrent.layers.0.W.") for name in others)


def test_off_the_group_without_the_cayley_update() -> None:
    """The score above is no triviality: one step of RMSprop on the same weight."""
    made = configuration.Network(cell="urnn", hidden_size=5, options={"capacity": "full"})
    model = network.build(made, spec(), seed=0, dtype=torch.float64)
    plain = torch.optim.RMSprop(model.parameters(), lr=0.02)
    model(torch.ones(4, 3, 1, dtype=torch.float64)).sum().backward()
    plain.step()
    assert unitarity_score(unitary_of(model.state_dict()["recurrent.layers.0.W"])) > 1e-2


@pytest.mark.parametrize(("step", "text"), [slow((2, FULL)), (4, FULL), (2, RESTRICTED), slow((4, RESTRICTED))])
def test_a_stopped_run_of_two_optimizers_ends_with_the_same_bits(tmp_path: Path, text: str, step: int) -> None:
    whole = loop.train(plan(tmp_path, text), tmp_path / "whole")
    with pytest.raises(StoppedError):
        loop.train(plan(tmp_path, text), tmp_path / "stopped", watchers=[stop_at(step)])
    again = loop.train(plan(tmp_path, text), tmp_path / "stopped")
    assert same(tensors(tmp_path / "whole"), tensors(tmp_path / "stopped")) and again.test == whole.test


def test_a_lost_memory_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The equality above sees RMSprop's: without it the same stop ends elsewhere."""
    loop.train(plan(tmp_path, FULL), tmp_path / "whole")
    with pytest.raises(StoppedError):
        loop.train(plan(tmp_path, FULL), tmp_path / "stopped", watchers=[stop_at(4)])
    monkeypatch.setattr(checkpoints, "restore_optimizer", lambda optimizer, named, kept: None)
    loop.train(plan(tmp_path, FULL), tmp_path / "stopped")
    assert not same(tensors(tmp_path / "whole"), tensors(tmp_path / "stopped"))


def test_every_group_has_its_own_optimizer() -> None:
    """As torch's Adam and RMSprop do it, made by hand for the two halves."""
    layers = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.Linear(2, 1)})
    twin = copy.deepcopy(layers)
    groups = (
        configuration.ParameterGroup(parameters=("b.weight",), options={"lr": 0.3, "alpha": 0.5}, name="rmsprop"),
        configuration.ParameterGroup(parameters=("a.*",), options={"lr": 0.2}),
    )
    made = configuration.Optimizer(name="adam", options={"lr": 0.1, "betas": [0.5, 0.9]}, groups=groups)
    found = optimizers.make(made, list(layers.named_parameters()))
    by_hand = [
        torch.optim.Adam(
            [{"params": [twin["b"].bias]}, {"params": list(twin["a"].parameters()), "lr": 0.2}],
            lr=0.1,
            betas=(0.5, 0.9),
            foreach=False,
        ),
        torch.optim.RMSprop([twin["b"].weight], lr=0.3, alpha=0.5, foreach=False),
    ]
    for seed in range(3):
        u = torch.randn(4, 3, generator=torch.Generator().manual_seed(seed))
        for chain, steppers in ((layers, [found]), (twin, by_hand)):
            for stepper in steppers:
                stepper.zero_grad()
            chain["b"](torch.tanh(chain["a"](u))).square().sum().backward()
            for stepper in steppers:
                stepper.step()
    for name, value in layers.state_dict().items():
        assert torch.equal(value, twin.state_dict()[name]), name
    assert sorted(group["lr"] for group in found.param_groups) == [0.1, 0.2, 0.3]


def test_decay_is_for_the_groups_that_have_it(tmp_path: Path) -> None:
    """With a learning rate but no gradient that matters, AdamW shrinks weights by 1 − lr · decay a step, or not."""
    model = nn.ModuleDict({"kept": nn.Linear(2, 2), "decayed": nn.Linear(2, 2)})
    before = copy.deepcopy(model.state_dict())
    group = configuration.ParameterGroup(parameters=("kept.*",), options={"weight_decay": 0.0})
    made = configuration.Optimizer(name="adamw", options={"lr": 0.5, "weight_decay": 0.2}, groups=(group,))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizers.make(made, list(model.named_parameters())).step()
    after = model.state_dict()
    assert torch.equal(after["kept.weight"], before["kept.weight"])
    torch.testing.assert_close(after["decayed.weight"], 0.9 * before["decayed.weight"], rtol=1e-6, atol=0.0)


WRONG = {
    "a unitary weight in another optimizer": (
        GROUP,
        "",
        r'rmsprop takes the unitary weight recurrent\.layers\.0\.W off .* name = "multiplicative_cayley"',
    ),
    "another weight in the unitary optimizer": (
        '"recurrent.layers.*.W"',
        '"recurrent.layers.*.W", "readout.*"',
        r"readout\.weight is no unitary weight\. It is",
    ),
    "no unitary weight there": ('"full"', '"restricted"', r"matches no parameter"),
    "no rate of its own": ("lr = 0.02\n", "", r"line 18: lr is missing; multiplicative_cayley has none of \[optim"),
    "an option that it does not take": ("lr = 0.02", "lr = 0.02\nmomentum = 0.9", r'line 22, momentum: "momentum"'),
    "an unknown one": ("multiplicative_cayley", "cayley", r"line 20, name: is 'cayley'; it must be one of adam, "),
    "its rate": ("lr = 0.02", "lr = -0.02", r"line 21, lr: multiplicative_cayley: lr is -0\.02"),
}


@pytest.mark.parametrize("old, new, message", WRONG.values(), ids=WRONG)
def test_wrong_optimizers(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        loop.train(plan(tmp_path, FULL.replace(old, new)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "group"),
    [
        ({"lr": 0.1, "nesterov": True}, {"momentum": 0.9}),  # together they are legal, alone the first are not
        ({"lr": -1.0, "momentum": 0.5}, {"lr": 0.1}),  # nobody has that lr
    ],
)
def test_options_are_looked_at_as_the_groups_have_them(options: dict[str, float], group: dict[str, float]) -> None:
    weight = nn.Parameter(torch.ones(2))
    chosen = configuration.ParameterGroup(parameters=("*",), options=group)
    made = optimizers.make(configuration.Optimizer(name="sgd", options=options, groups=(chosen,)), [("w", weight)], ())
    (found,) = made.param_groups
    assert {name: found[name] for name in options | group} == options | group
