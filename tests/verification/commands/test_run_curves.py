"""The numbers of the pictures of training, against sequences that are moved by hand, fractions, and mpmath.

The oracles are numpy and loops: nothing of the cells, of autograd or of the monitors.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from verification.measure.trained_network import orthogonality
from verification.report.pictures import run_curves
from verification.tasks import adding, copying_memory
from verification.training import TrainingError, configuration, folder, loop, network, runs

Array = NDArray[np.float64]
STEPS, COUNT = 9, 3


def built(cell: str, hidden_size: int, num_layers: int, spec: Any, **options: Any) -> network.TaskNetwork:
    plan = configuration.Network(cell=cell, hidden_size=hidden_size, num_layers=num_layers, options=options)
    model = network.build(plan, spec, seed=1, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():  # initial weights hide factors: biases are zero, scoRNN's inputs are small
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return model


def plain(model: network.TaskNetwork) -> dict[str, Array]:
    return {name: value.detach().double().numpy() for name, value in model.state_dict().items()}


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


Moved = tuple[int, int, Array]
"""Layer and n from 0, and what is added to X_n there: all blocks side by side, (count, size)."""


def unicornn(p: dict[str, Array], u: Array, moved: Moved | None, layers: int, dt: float, alpha: float) -> Array:
    """y^L for all n, step by step, all layers of a time together."""
    size = p["recurrent.layers.0.w"].size
    y, z = (np.zeros((layers, u.shape[1], size)) for _ in range(2))
    rows = []
    for n, below in enumerate(u):
        for l in range(layers):
            q = {key: p[f"recurrent.layers.{l}.{key}"] for key in "wcVb"}
            h = dt * sigmoid(q["c"])
            z[l] = z[l] - h * (np.tanh(q["w"] * y[l] + below @ q["V"].T + q["b"]) + alpha * y[l])
            y[l] = y[l] + h * z[l]
            if moved is not None and moved[:2] == (l, n):
                y[l], z[l] = y[l] + moved[2][:, :size], z[l] + moved[2][:, size:]
            below = y[l].copy()
        rows.append(below)
    return np.array(rows)


def lstm(p: dict[str, Array], u: Array, moved: Moved | None, layers: int) -> Array:
    """h^L for all n."""
    size = p["recurrent.weight_hh_l0"].shape[1]
    h, c = (np.zeros((layers, u.shape[1], size)) for _ in range(2))
    rows = []
    for n, below in enumerate(u):
        for l in range(layers):
            q = {key: p[f"recurrent.{key}_l{l}"] for key in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
            gates = below @ q["weight_ih"].T + q["bias_ih"] + h[l] @ q["weight_hh"].T + q["bias_hh"]
            i, f, g, o = np.split(gates, 4, axis=1)
            c[l] = sigmoid(f) * c[l] + sigmoid(i) * np.tanh(g)
            h[l] = sigmoid(o) * np.tanh(c[l])
            if moved is not None and moved[:2] == (l, n):
                h[l], c[l] = h[l] + moved[2][:, :size], c[l] + moved[2][:, size:]
            below = h[l].copy()
        rows.append(below)
    return np.array(rows)


def scornn(p: dict[str, Array], u: Array, moved: Moved | None) -> Array:
    """h for all n, W from the strict upper triangle of A and the signs."""
    U, b, signs = (p[f"recurrent.layers.0.{key}"] for key in ("U", "b", "cayley.signs"))
    A = np.zeros((len(U), len(U)))
    A[np.triu_indices(len(U), 1)] = p["recurrent.layers.0.free"]
    A = A - A.T
    W = np.linalg.solve(np.eye(len(U)) + A, np.eye(len(U)) - A) * signs
    h = np.zeros((u.shape[1], len(U)))
    rows = []
    for n, x in enumerate(u):
        z = x @ U.T + h @ W.T
        h = np.sign(z) * np.maximum(np.abs(z) + b, 0.0)
        if moved is not None and moved[:2] == (0, n):
            h = h + moved[2]
        rows.append(h)
    return np.array(rows)


def loss(p: dict[str, Array], rows: Array, y: Array) -> float:
    """The mean squared error of the adding problem, or the mean cross entropy of every step."""
    outputs = rows @ p["readout.weight"].T + p["readout.bias"]
    if y.ndim == 1:
        return float(np.mean((outputs[-1, :, 0] - y) ** 2))
    largest = outputs.max(axis=-1, keepdims=True)
    logs = outputs - largest - np.log(np.exp(outputs - largest).sum(axis=-1, keepdims=True))
    return float(-np.mean(np.take_along_axis(logs, y[..., None], axis=-1)))


def norm_by_differences(
    model: network.TaskNetwork, u: Array, y: Array, layer: int, n: int, width: int, forward: Any
) -> float:
    """‖∂L/∂X_n‖₂ by central differences, every component of every sequence moved by ±h on its own.

    h = 1e-5: what is left out is of size h² L‴ ~ 1e-10, rounding of size 1e-16/h ~ 1e-11, both relative to 1.
    """
    p, h, total = plain(model), 1e-5, 0.0
    for i in range(u.shape[1]):
        for k in range(width):
            values = []
            for sign in (1.0, -1.0):
                move = np.zeros((u.shape[1], width))
                move[i, k] = sign * h
                values.append(loss(p, forward(p, u, (layer, n - 1, move)), y))
            total += ((values[0] - values[1]) / (2 * h)) ** 2
    return math.sqrt(total)


TOLERANCE = {"rel": 1e-5, "abs": 1e-8}
"""Six digits are kept, and differences are good to 1e-10, see ``norm_by_differences``."""


def sums() -> tuple[torch.Tensor, torch.Tensor, Any]:
    sequences, targets, spec = adding.load("train", steps=STEPS, count=COUNT)
    return torch.from_numpy(sequences[:]).double(), torch.from_numpy(targets).double(), spec


@pytest.mark.parametrize("n", [1, 4, STEPS])
@pytest.mark.parametrize("layer", [0, 1])
def test_gradients_of_unicornn_against_differences(layer: int, n: int) -> None:
    u, y, spec = sums()
    model = built("unicornn", 4, 2, spec, dt=0.4, alpha=0.7)
    found = run_curves.gradient_norms(model, u, y, spec)
    assert set(found) == {"layers.0", "layers.1"} and len(found["layers.0"]) == STEPS

    def forward(p: dict[str, Array], inputs: Array, moved: Moved | None) -> Array:
        return unicornn(p, inputs, moved, 2, 0.4, 0.7)

    expected = norm_by_differences(model, u.numpy(), y.numpy(), layer, n, 8, forward)
    assert found[f"layers.{layer}"][n - 1] == pytest.approx(expected, **TOLERANCE)
    assert expected > 1e-3 or (layer, n) == (0, STEPS)


@pytest.mark.parametrize("n", [1, 5, STEPS])
def test_gradients_of_scornn_and_lstm_against_differences(n: int) -> None:
    u, y, spec = sums()
    model = built("scornn", 5, 1, spec, rho=2)
    found = run_curves.gradient_norms(model, u, y, spec)["layers.0"]
    assert found[n - 1] == pytest.approx(norm_by_differences(model, u.numpy(), y.numpy(), 0, n, 5, scornn), **TOLERANCE)
    gated = built("torch.lstm", 3, 1, spec)
    series = run_curves.gradient_norms(gated, u, y, spec)

    def forward(p: dict[str, Array], inputs: Array, moved: Moved | None) -> Array:
        return lstm(p, inputs, moved, 1)

    args = (gated, u.numpy(), y.numpy(), 0, n)
    assert series["l0"][n - 1] == pytest.approx(norm_by_differences(*args, 6, forward), **TOLERANCE)

    def of_h(p: dict[str, Array], inputs: Array, moved: Moved | None) -> Array:
        wide = None if moved is None else (*moved[:2], np.hstack([moved[2], np.zeros_like(moved[2])]))
        return lstm(p, inputs, wide, 1)

    assert series["l0, h"][n - 1] == pytest.approx(norm_by_differences(*args, 3, of_h), **TOLERANCE)


@pytest.mark.parametrize("layer", [0, 1])
def test_gradients_where_every_row_is_read(layer: int) -> None:
    """Copying: L is a mean over steps, too, and reaches X_n through the readout of every later step."""
    sequences, targets, spec = copying_memory.load("train", silence=3, count=2)
    u, y = torch.from_numpy(sequences).double(), torch.from_numpy(targets)
    model = built("torch.lstm", 3, 2, spec)
    found = run_curves.gradient_norms(model, u, y, spec)

    def forward(p: dict[str, Array], inputs: Array, moved: Moved | None) -> Array:
        return lstm(p, inputs, moved, 2)

    expected = norm_by_differences(model, u.numpy(), y.numpy(), layer, 7, 6, forward)
    assert found[f"l{layer}"][6] == pytest.approx(expected, **TOLERANCE)


def test_the_oracles_are_the_networks() -> None:
    u, y, spec = sums()
    for model, rows in (
        (built("unicornn", 4, 2, spec, dt=0.4, alpha=0.7), lambda p: unicornn(p, u.numpy(), None, 2, 0.4, 0.7)),
        (built("scornn", 5, 1, spec, rho=2), lambda p: scornn(p, u.numpy(), None)),
        (built("torch.lstm", 3, 2, spec), lambda p: lstm(p, u.numpy(), None, 2)),
    ):
        ours = float(network.loss_sum(model(u), y, spec).detach()) / COUNT
        assert loss(plain(model), rows(plain(model)), y.numpy()) == pytest.approx(ours, rel=1e-12)


def test_a_gradient_with_a_state_held_fixed_is_seen_to_be_another() -> None:
    """The planted fault: only what the layer above sees, or only the route through time. Both differ from the total."""
    u, y, spec = sums()
    model = built("unicornn", 4, 2, spec, dt=0.4, alpha=0.7)
    total = run_curves.gradient_norms(model, u, y, spec)["layers.0"]
    rows = model.recurrent.layers[0]
    single = {"input_size": 2, "hidden_size": 4, "num_layers": 1, "dt": 0.4, "alpha": 0.7, "dtype": torch.float64}
    from odernn.cells.unicornn import UnICORNN

    first, second = (UnICORNN(**{**single, "input_size": size}) for size in (2, 4))  # type: ignore[arg-type]
    first.layers[0].load_state_dict(rows.state_dict())
    second.layers[0].load_state_dict(model.recurrent.layers[1].state_dict())
    below = first(u)[0].detach().requires_grad_()
    out = model.readout(second(below)[0][-1])
    (upward,) = torch.autograd.grad(network.loss_sum(out, y, spec) / COUNT, below)
    direct = torch.linalg.vector_norm(upward[3]).item()
    assert abs(direct - total[3]) > 0.05 * total[3]


def test_gradients_leave_the_network_as_it_was() -> None:
    u, y, spec = sums()
    model = built("scornn", 5, 1, spec, rho=2)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    run_curves.gradient_norms(model, u, y, spec)
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in weights.items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not model.recurrent._forward_hooks and not model.recurrent._forward_pre_hooks


# --- orthogonality and neurons


def exact_error(W: torch.Tensor) -> float:
    """‖W*W − I‖_F in fractions: floats are rational numbers; the root alone is rounded."""
    n = len(W)
    re, im = (
        [[Fraction(x) for x in row] for row in part.tolist()] for part in (W.real, W.imag if W.is_complex() else 0 * W)
    )
    total = Fraction(0)
    for i in range(n):
        for j in range(n):
            real = sum((re[k][i] * re[k][j] + im[k][i] * im[k][j] for k in range(n)), Fraction(0)) - int(i == j)
            imaginary = sum((re[k][i] * im[k][j] - im[k][i] * re[k][j] for k in range(n)), Fraction(0))
            total += real**2 + imaginary**2
    return math.sqrt(total)


@pytest.mark.parametrize(("cell", "options"), [("scornn", {"rho": 2}), ("exprnn", {}), ("urnn", {"capacity": "full"})])
def test_the_score_of_a_small_matrix_is_that_of_fractions(cell: str, options: dict[str, Any]) -> None:
    """float32 as in the picture. The score is summed in float64: n = 5 products of 48 bits, 5·2⁻⁵³ against 1e-7."""
    _, _, spec = sums()
    plan = configuration.Network(cell=cell, hidden_size=5, options=options)
    layer = network.build(plan, spec, seed=0, dtype=torch.float32).recurrent.layers[0]
    found, exact = orthogonality(layer).error, exact_error(layer.recurrent_matrix().detach())
    assert found == pytest.approx(exact, abs=5**1.5 * 2.0**-52)
    assert 1e-8 < exact < 1e-5


def test_time_steps_against_mpmath() -> None:
    _, _, spec = sums()
    model = built("unicornn", 4, 2, spec, dt=0.4, alpha=0.7)
    before = network.build(
        configuration.Network(cell="unicornn", hidden_size=4, num_layers=2, options={"dt": 0.4, "alpha": 0.7}),
        spec,
        seed=1,
        dtype=torch.float64,
    )
    found = run_curves.neuron_layers(before.recurrent, model.recurrent)
    assert [layer["label"] for layer in found] == ["layer 1", "layer 2"]
    for index, layer in enumerate(found):
        for when, each in (("before", before), ("after", model)):
            c, w = (plain(each)[f"recurrent.layers.{index}.{key}"].tolist() for key in "cw")
            steps = [float(mpmath.mpf("0.4") / (1 + mpmath.exp(-mpmath.mpf(value)))) for value in c]
            assert layer["steps"][when] == pytest.approx(steps, rel=5e-6)
            assert layer["weights"][when] == pytest.approx(w, rel=5e-6)
    assert run_curves.largest_weights(model.recurrent) == [max(map(abs, layer["weights"]["after"])) for layer in found]
    with torch.no_grad():
        model.recurrent.layers[0].w[2] = -7.0  # the largest one is negative
    assert run_curves.largest_weights(model.recurrent)[0] == 7.0


# --- folders


PLAN: dict[str, Any] = {
    "task": {"name": "adding", "steps": 8, "count": 20},
    "network": {"cell": "unicornn", "hidden_size": 4, "num_layers": 2, "dt": 0.2, "alpha": 1.0},
    "optimizer": {"name": "adam", "lr": 0.05},
    "training": {"epochs": 2, "batch_size": 5, "seed": 3},
}


def trained(where: Path, **network_: Any) -> runs.RunRecord:
    plan = configuration.from_mapping({**PLAN, "network": network_ or PLAN["network"]})
    loop.train(plan, where)
    return runs.read(where)


def test_before_is_the_seed_and_after_the_best_checkpoint(tmp_path: Path) -> None:
    record = trained(tmp_path / "run")
    before, after, data = run_curves.networks(record)
    again = network.build(configuration.from_mapping(PLAN).network, data.spec, seed=3, dtype=torch.float32)
    assert all(torch.equal(value, before.state_dict()[name]) for name, value in again.state_dict().items())
    assert record.result is not None
    sequences, targets, _ = data.batch(np.arange(20))
    loss_after = float(network.loss_sum(after.eval()(sequences), targets, data.spec).detach()) / 20
    assert loss_after == pytest.approx(record.result["test"]["loss"], rel=1e-6)
    assert not torch.equal(before.readout.weight, after.readout.weight)


def test_numbers_of_folders(tmp_path: Path) -> None:
    records = [trained(tmp_path / name) for name in ("one", "other")]
    scornn_record = trained(tmp_path / "orthogonal", cell="scornn", hidden_size=4, rho=2)
    found = run_curves.of_gradients([*records, scornn_record], None, 4)
    assert [curve["label"] for curve in found["curves"]] == [
        "unicornn, n = 4, one, layer 1",
        "unicornn, n = 4, one, layer 2",
        "unicornn, n = 4, other, layer 1",
        "unicornn, n = 4, other, layer 2",
        "scornn, n = 4",
    ]
    assert all(len(curve[when]) == 8 for curve in found["curves"] for when in ("before", "after"))
    neurons = run_curves.of_neurons(records[:1], None)
    assert [layer["dt"] for layer in neurons["layers"]] == [0.2, 0.2]
    json.dumps([found, neurons], allow_nan=False)
    with pytest.raises(TrainingError, match="has a scornn: effective time steps are UnICORNN's alone"):
        run_curves.of_neurons([scornn_record], None)
    with pytest.raises(TrainingError, match=r"does not exist: train with --monitor"):
        run_curves.of_orthogonality([scornn_record])


def test_orthogonality_is_what_the_monitor_recorded(tmp_path: Path) -> None:
    from verification.monitors import BoundMonitor

    plan = configuration.from_mapping({**PLAN, "network": {"cell": "scornn", "hidden_size": 4, "rho": 2}})
    with BoundMonitor(None, every=2, store=tmp_path / "run" / folder.MONITOR) as monitor:
        loop.train(plan, tmp_path / "run", watchers=[monitor])
    record = runs.read(tmp_path / "run")
    found = run_curves.of_orthogonality([record])
    ((curve,),) = [panel["curves"] for panel in found["panels"]]
    assert curve["label"] == "scornn, n = 4" and curve["updates"][-1] == 8
    assert len(curve["scores"]) == len(curve["updates"]) >= 4 and all(0 < score < 1e-5 for score in curve["scores"])


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path) -> None:
    record = trained(tmp_path / "run")
    other = trained(tmp_path / "other", cell="unicornn", hidden_size=5, num_layers=2, dt=0.2, alpha=1.0)
    (other.folder / "best.safetensors").rename(record.folder / "best.safetensors")
    with pytest.raises(TrainingError, match=r"best\.safetensors\" does not fit the run\.json beside it"):
        run_curves.networks(record)
