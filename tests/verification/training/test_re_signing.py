"""Changing signs between epochs: A stays small, the network computes what it computed, a stop changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
import torch

from odernn.cells.scornn import ScoRNNLayer
from odernn.executions.recurrence import UNIT_ROUNDOFF
from odernn.orthogonal import resigning
from odernn.orthogonal.cayley import skew
from tests.tiers import only
from tests.verification.training.plans import StoppedError, plan, same, spec, stop_at, tensors
from verification.training import TrainingError, configuration, loop, network, optimizers, re_signing

TEXT = """
[task]
name = "adding"
steps = 8
count = 40

[network]
cell = "scornn"
hidden_size = 8
rho = 4
num_layers = 2

[optimizer]
name = "adam"
lr = 0.01

[[optimizer.groups]]
parameters = ["recurrent.layers.*.free"]
name = "rmsprop"
lr = 0.2

[training]
epochs = 4
batch_size = 10
checkpoint_every = 1
dtype = "float64"
re_sign_every = 2
re_sign_tau = 1.25
"""
SIGNS = "model.recurrent.layers.{}.cayley.signs"
FREE = "model.recurrent.layers.{}.free"


def largest(weights: dict[str, torch.Tensor]) -> float:
    return max(float(weights[FREE.format(layer)].abs().max()) for layer in (0, 1))


def test_a_stays_small(tmp_path: Path) -> None:
    """With these rates A grows beyond the bound; with re-signing every second epoch it ends below it."""
    loop.train(plan(tmp_path, TEXT.replace("re_sign_every = 2\nre_sign_tau = 1.25\n", "")), tmp_path / "without")
    loop.train(plan(tmp_path, TEXT), tmp_path / "with")
    assert largest(tensors(tmp_path / "without")) > 1.6
    assert largest(tensors(tmp_path / "with")) <= 1.25
    result = json.loads((tmp_path / "with" / loop.RESULT).read_text())
    assert result["exchanges"] >= 1
    assert "exchanges" not in json.loads((tmp_path / "without" / loop.RESULT).read_text())
    both = [tensors(tmp_path / name)[SIGNS.format(1)] for name in ("without", "with")]
    assert not torch.equal(both[0], both[1]) and int(both[1].prod()) == int(both[0].prod())  # det W stays


def test_the_function_does_not_change() -> None:
    """W = C(A) D before and after, by dense float64 of the definition; outputs to roundings of its condition."""
    made = configuration.Network(cell="scornn", hidden_size=8, options={"rho": 4})
    model = network.build(made, spec(input_size=2), seed=0, dtype=torch.float64)
    layer = cast(ScoRNNLayer, model.recurrent.layers[0])  # type: ignore[index,union-attr]
    with torch.no_grad():
        layer.free.normal_(generator=torch.Generator().manual_seed(1)).mul_(3.0)
    u = torch.randn(20, 3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))

    def by_definition() -> torch.Tensor:
        A, I = skew(layer.free.detach(), 8), torch.eye(8, dtype=torch.float64)
        return torch.linalg.solve(I + A, I - A) @ torch.diag(layer.cayley.signs.double())

    def largest_entry() -> float:
        return float(layer.free.detach().abs().max())

    W, outputs = by_definition(), model(u).detach()
    condition = float(torch.linalg.cond(torch.eye(8) + skew(layer.free.detach(), 8)))
    training = configuration.Training(epochs=1, batch_size=1, re_sign_every=1)
    optimizer = optimizers.make(
        configuration.Optimizer(name="adam", options={"lr": 0.1}), list(model.named_parameters())
    )
    assert largest_entry() > 3.0
    assert re_signing.re_sign(re_signing.layers(model, training), optimizer, training) >= 1
    assert largest_entry() <= 1 + 2**-19
    roundings = 8 * 8 * condition * UNIT_ROUNDOFF[torch.float64]  # of solving with I + A, twice, n = 8
    assert float((by_definition() - W).abs().max()) < roundings
    # 20 steps of an orthogonal recurrence, each with these roundings of W; no unit is at the jump of modReLU (b = 0)
    assert float((model(u).detach() - outputs).abs().max()) < 20 * 8 * roundings * float(outputs.abs().max() + 1)


@pytest.mark.parametrize("step", only([8, 9, 13], 9))
def test_a_stopped_run_has_its_signs(tmp_path: Path, step: int) -> None:
    """Stopped before, after and long after the first change, which follows step 8."""
    whole = loop.train(plan(tmp_path, TEXT), tmp_path / "whole")
    with pytest.raises(StoppedError):
        loop.train(plan(tmp_path, TEXT), tmp_path / "stopped", watchers=[stop_at(step)])
    again = loop.train(plan(tmp_path, TEXT), tmp_path / "stopped")
    assert same(tensors(tmp_path / "whole"), tensors(tmp_path / "stopped"))
    assert again.test == whole.test and again.progress.exchanges == whole.progress.exchanges > 0


WRONG = {
    "no scaled Cayley weight": ('"scornn"\nhidden_size = 8\nrho = 4', '"lem"\nhidden_size = 8', r"LEM has no scaled"),
    "alone": ("re_sign_every = 2\n", "", r"line 27, re_sign_tau: means nothing without re_sign_every"),
    "below one": ("re_sign_tau = 1.25", "re_sign_tau = 0.5", r"line 28, re_sign_tau: is 0\.5; it must be a number"),
    "moments": ("re_sign_tau = 1.25", 're_sign_moments = "drop"', r"is 'drop'; it must be one of transform, reset"),
}


@pytest.mark.parametrize("old, new, message", WRONG.values(), ids=WRONG)
def test_wrong_re_signing(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = TEXT.replace(old, new)
    if "lem" in text:
        text = text.replace('parameters = ["recurrent.layers.*.free"]', 'parameters = ["readout.*"]')
    with pytest.raises(TrainingError, match=message):
        loop.train(plan(tmp_path, text), tmp_path / "run")


@pytest.mark.parametrize("moments", ["transform", "reset"])
def test_the_memory_of_the_optimizer_goes_along(moments: str) -> None:
    """As ``orthogonal.resigning`` does it to a twin: A and RMSprop's mean square in the new coordinates, or zeros."""
    made = configuration.Network(cell="scornn", hidden_size=8, options={"rho": 4})
    models = [network.build(made, spec(input_size=2), seed=0, dtype=torch.float64) for _ in range(2)]
    plain = configuration.Optimizer(name="rmsprop", options={"lr": 0.1})
    parts = [optimizers.make(plain, list(model.named_parameters())) for model in models]
    u = torch.randn(5, 3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    for model, part in zip(models, parts, strict=True):
        with torch.no_grad():
            model.get_parameter("recurrent.layers.0.free").mul_(4.0)
        model(u).square().sum().backward()
        part.step()
    training = configuration.Training(epochs=1, batch_size=1, re_sign_every=1, re_sign_moments=moments)
    exchanges = re_signing.re_sign(re_signing.layers(models[0], training), parts[0], training)
    twin = cast(ScoRNNLayer, models[1].get_submodule("recurrent.layers.0"))
    before = parts[1].of(twin.free).state[twin.free]["square_avg"].clone()
    assert exchanges == twin.re_sign(parts[1].of(twin.free), moments=cast(resigning.Moments, moments)) > 0
    memory = [part.of(m.get_parameter("recurrent.layers.0.free")).state for m, part in zip(models, parts, strict=True)]
    found, expected = (
        state[model.get_parameter("recurrent.layers.0.free")]["square_avg"]
        for state, model in zip(memory, models, strict=True)
    )
    assert torch.equal(found, expected) and not torch.equal(found, before)
    assert (moments == "reset") == (not bool(found.any()))
