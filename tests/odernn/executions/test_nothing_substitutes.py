"""Nothing silently substitutes: what is asked for runs and says so, or an error says why not; NaN gives NaN, no hang.

The cuda execution, on a device or its emulator, has the same in tests/kernels.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable
from typing import Any, get_args

import pytest
import torch

from odernn import executions
from odernn.cells.cornn import CoRNN
from odernn.cells.scornn import ScoRNN
from odernn.cells.unicornn import UnICORNN
from odernn.executions import ExecutionUnavailable
from odernn.executions.cpu import execution as cpu
from odernn.executions.parallel.execution import TILE, SequentialFallback
from odernn.executions.recurrence import Backward, ReconstructionWarning
from tests.odernn.cells.unicornn_book import network, normal, start
from tests.tiers import without

pytestmark = pytest.mark.timeout(400, method="thread")  # numba's kernels hear no signal

MODES = {"torch": ("stored",), "cpu": ("stored", "reversible", "exact"), "parallel": ("stored",)}
OFFERED = [(name, mode) for name, modes in MODES.items() for mode in modes]
REFUSED = [(name, mode) for name, modes in MODES.items() for mode in get_args(Backward) if mode not in modes]
COEFFICIENTS = {"w": 0.5, "step_size": 0.1, "alpha": 1.0}


def test_every_execution_and_mode_is_here_or_among_the_kernels():
    assert {*MODES, "cuda"} == set(executions.available()) and len(OFFERED) == 5 and len(REFUSED) == 4


# --- what is asked for is what runs


def module_of(name: str) -> Any:
    return importlib.import_module(executions._MODULES[name])


def forbid(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """These executions compute nothing any more."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("another execution was called")

    for name in names:
        for call in ("forward", "outputs", "layer_outputs", "inverse", "backward"):
            monkeypatch.setattr(module_of(name), call, refuse)


def check_what_runs(name: str, mode: Backward) -> None:
    """The execution's own answer and gradient, under its name and mode."""
    x = normal(30, 2, 3).requires_grad_()
    found = executions.get(name).outputs(x, **COEFFICIENTS, backward=mode)
    assert (found.execution, found.backward) == (name, mode)
    found.y.square().sum().backward()
    assert x.grad is not None and x.grad.abs().sum() > 0


@pytest.mark.parametrize(("name", "mode"), OFFERED)
def test_no_other_execution_is_called(monkeypatch: pytest.MonkeyPatch, name: str, mode: Backward):
    forbid(monkeypatch, *(other for other in MODES if other != name))
    check_what_runs(name, mode)
    model = network(2, execution=name, backward=mode)
    output, _ = model(normal(30, 2, 2))
    output.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize(("name", "mode"), OFFERED[1:])
def test_a_substitute_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str, mode: Backward):
    """The planted fault: the torch loop in the place of another, with its answer, which is right."""
    loop = module_of("torch").outputs
    monkeypatch.setattr(module_of(name), "outputs", lambda *x, backward, **rest: loop(*x, **rest))
    with pytest.raises(AssertionError):
        check_what_runs(name, mode)


@pytest.mark.parametrize(("name", "mode"), REFUSED)
def test_a_mode_that_is_not_offered_is_refused_by_the_execution_and_the_network(name: str, mode: Backward):
    message = f'backward="{mode}" is not offered by execution="{name}"'
    with pytest.raises(ValueError, match=message):
        executions.get(name).outputs(normal(3, 1, 1), **COEFFICIENTS, backward=mode)
    with pytest.raises(ValueError, match=message):
        network(1, execution=name, backward=mode)(normal(3, 1, 2))
    with pytest.raises(ValueError, match=message):
        network(1)(normal(3, 1, 2), execution=name, backward=mode)


# --- what cannot run says why


def entrances(name: str) -> list[Callable[[], Any]]:
    """Every call that takes the name of an execution of (U)."""
    model, u = network(2), normal(3, 1, 2)
    assigned = network(2)
    assigned.execution = name
    return [
        lambda: executions.get(name),
        lambda: executions.ready(name),
        lambda: UnICORNN(2, 3, dt=0.1, alpha=1.0, execution=name),
        lambda: UnICORNN.from_paper("psMNIST-128", execution=name),
        lambda: model(u, execution=name),
        lambda: model.states(u, execution=name),
        lambda: model.last(u, execution=name),
        lambda: assigned(u),
        lambda: assigned.last(u),
    ]


@pytest.mark.parametrize("name", [name for name in executions.available() if name != "torch"])
def test_an_execution_that_cannot_run_says_why_at_every_entrance(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(module_of(name), "unavailable_because", lambda: "its engine is out of fuel")
    monkeypatch.setattr(
        executions, "_READY", {key: value for key, value in executions._READY.items() if "torch" in key}
    )
    calls = entrances(name)
    if name == "cuda":
        calls.append(lambda: executions.extremes(normal(3, 2), execution=name, w=0.0, step_size=0.1, alpha=0.0))
    for call in calls:
        with pytest.raises(
            ExecutionUnavailable, match=f'execution="{name}" cannot run here: its engine is out of fuel'
        ):
            call()
    assert len(calls) == (10 if name == "cuda" else 9)


@pytest.mark.skipif(executions.available()["cuda"] is None, reason="a CUDA device is there")
def test_cuda_without_a_device_says_why_at_every_entrance():
    reason = executions.available()["cuda"]
    assert reason
    for call in entrances("cuda"):
        with pytest.raises(ExecutionUnavailable) as error:
            call()
        assert f'execution="cuda" cannot run here: {reason}. Usable here: "torch"' in str(error.value)


@pytest.mark.parametrize("name", ["cuda", "parallel", "gpu"])
def test_an_execution_that_a_cell_does_not_have_is_refused(name: str):
    options: dict[str, Any] = {"execution": name}
    advice = 'On a GPU, choose "torch".' if name == "cuda" else "Choose one of them."
    with pytest.raises(ValueError, match=f'^execution is "{name}", but CoRNNLayer has "torch" and "cpu". {advice}$'):
        CoRNN(2, 3, dt=0.1, gamma=1.0, epsilon=1.0, **options)
    if name != "cuda":  # which ScoRNN has
        said = f'^execution is "{name}", but ScoRNNLayer has "torch", "cpu" and "cuda". {advice}$'
        with pytest.raises(ValueError, match=said):
            ScoRNN(2, 4, rho=1, **options)


@pytest.mark.parametrize("name", ["cpu", "parallel", "gpu"])
def test_an_execution_without_extremes_is_refused(name: str):
    with pytest.raises(ValueError, match=f'execution is "{name}", but extremes have: torch, cuda'):
        executions.extremes(normal(3, 2), execution=name, w=0.0, step_size=0.1, alpha=0.0)


# --- NaN


def spoilt(where: str, steps: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Arguments with one NaN that reaches neuron 2 of sample 1, or neuron 2 of all samples for a coefficient."""
    arguments = {
        "x": normal(steps, 3, 4),
        "w": torch.full((4,), 0.5),
        "step_size": torch.full((4,), 0.1),
        "alpha": torch.full((4,), 1.0),
        "y0": normal(3, 4, seed=2),
        "z0": normal(3, 4, seed=3),
    }
    arguments = {key: value.to(dtype) for key, value in arguments.items()}
    at = {"x": (17, 1, 2), "y0": (1, 2), "z0": (1, 2)}.get(where, (2,))
    arguments[where][at] = math.nan
    return {key: value.requires_grad_() for key, value in arguments.items()}


def reached(where: str, steps: int) -> torch.Tensor:
    """The rows that the NaN of ``spoilt`` reaches: from then on, its own column, and no other."""
    expected = torch.zeros(steps, 3, 4, dtype=torch.bool)
    expected[17 if where == "x" else 0 :, slice(None) if where in ("w", "step_size", "alpha") else 1, 2] = True
    return expected


LENGTHS = {"torch": (40,), "cpu": (40, 300), "parallel": (40, TILE + 40)}
"""Also beyond one checkpoint, and beyond one tile."""

NANS = [
    (name, mode, where, steps, dtype)
    for name, mode in OFFERED
    for where in ("x", "w", "step_size", "alpha", "y0", "z0")
    for steps in LENGTHS[name]
    for dtype in (torch.float32, torch.float64)
]


@pytest.mark.parametrize(
    ("name", "mode", "where", "steps", "dtype"), without(NANS, *(each for each in NANS if each[4] == torch.float64))
)
def test_a_nan_comes_out_where_it_must_and_nowhere_else(
    name: str, mode: Backward, where: str, steps: int, dtype: torch.dtype
):
    arguments = spoilt(where, steps, dtype)
    rest = {key: value for key, value in arguments.items() if key != "x"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReconstructionWarning)
        warnings.simplefilter("ignore", SequentialFallback)
        found = executions.get(name).outputs(arguments["x"], **rest, backward=mode)
        gradients = dict(zip(arguments, torch.autograd.grad(found.y.sum(), list(arguments.values())), strict=True))
    expected = reached(where, steps)
    assert torch.equal(found.y.isnan(), expected)
    assert torch.equal(found.y_last.isnan(), expected[-1]) and torch.equal(found.z_last.isnan(), expected[-1])
    # A column's gradients by x and its first state: NaN at least up to where the NaN came in, finite in other columns.
    first = 18 if where == "x" else 1
    assert gradients["x"][:first][expected[-1].expand(first, 3, 4)].isnan().all()
    assert gradients["x"][:, ~expected[-1]].isfinite().all()
    for key in ("y0", "z0"):
        assert torch.equal(gradients[key].isnan(), expected[-1])
    for key in ("w", "step_size", "alpha"):
        assert gradients[key].isnan().tolist() == [False, False, True, False], key


def test_the_number_of_cases():
    assert len(NANS) == 2 * 6 * (1 + 3 * 2 + 2)


@pytest.mark.parametrize("mode", MODES["cpu"])
def test_a_nan_that_is_hidden_is_noticed(monkeypatch: pytest.MonkeyPatch, mode: Backward):
    """The planted fault: an execution that puts zeros in the place of NaN."""
    outputs = cpu.outputs
    monkeypatch.setattr(cpu, "outputs", lambda x, **rest: outputs(x.nan_to_num(), **rest))
    with pytest.raises(AssertionError):
        test_a_nan_comes_out_where_it_must_and_nowhere_else("cpu", mode, "x", 40, torch.float64)


@pytest.mark.parametrize("name", list(MODES))
@pytest.mark.parametrize("mode", ["reversible", "checkpointed"])
@pytest.mark.parametrize("where", ["input", "state", "weight"])
def test_a_nan_goes_through_a_walk_over_all_layers(name: str, mode: str, where: str):
    """Forwards and back in chunks; a reversible walk that meets NaN is no reason to go on for ever."""
    model, u = network(2), normal(40, 2, 2)
    state = start(model)
    if where == "input":
        u[17, 1, 0] = math.nan
    elif where == "state":
        state[1][0, 1, 0] = math.nan
    else:
        model.layers[0].w.data[0] = math.nan
    u.requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReconstructionWarning)
        warnings.simplefilter("ignore", SequentialFallback)
        y, z = model.last(u, state, execution=name, backward=mode, chunk=16)
        (y[-1].sum() + z[-1].sum()).backward()
    own = [where == "weight", True]
    for block in (y, z):
        assert block[-1].isnan().all(dim=1).tolist() == own and block[-1].isnan().any(dim=1).tolist() == own
    assert u.grad is not None
    for sample, is_reached in enumerate(own):
        assert bool(u.grad[:17, sample].isnan().all()) == is_reached
        assert bool(u.grad[:, sample].isfinite().all()) != is_reached
    assert all(bool(p.grad.isnan().any()) for p in model.parameters() if p.grad is not None)
