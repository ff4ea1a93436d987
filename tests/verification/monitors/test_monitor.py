"""A monitor changes nothing, keeps nothing alive, and can go; what it writes comes back."""

from __future__ import annotations

import copy
import csv
import gc
import math
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from odernn import ScoRNN, UnICORNN
from tests.tiers import spread
from verification.monitors import BoundMonitor, BoundViolation, Measurement, MonitorWarning, NonFiniteState
from verification.monitors import monitor as monitors
from verification.run.store import Store, StoreError


class Model(nn.Module):
    """A recurrent module and a readout of its last row, as in a loop of somebody's own."""

    def __init__(self, recurrent: nn.Module, features: int) -> None:
        super().__init__()
        self.recurrent, self.readout = recurrent, nn.Linear(features, 1, dtype=next(recurrent.parameters()).dtype)

    def forward(self, u: Tensor) -> Tensor:
        out: Tensor = self.readout(self.recurrent(u)[0][-1])
        return out


def oscillators(dtype: torch.dtype = torch.float32, **options: Any) -> Model:
    torch.manual_seed(1)
    return Model(UnICORNN(2, 4, 2, **{"dt": 0.3, "alpha": 1.0, "dropout": 0.3, **options}, dtype=dtype), 4)


def orthogonal() -> Model:
    torch.manual_seed(1)
    return Model(ScoRNN(2, 5, 2, rho=2, initial="glorot", dropout=0.3), 5)


def gated() -> Model:
    torch.manual_seed(1)
    return Model(nn.LSTM(2, 4, 2, dropout=0.3), 4)


KINDS = {"unicornn": oscillators, "scornn": orthogonal, "lstm": gated}


def train(model: nn.Module, monitor: BoundMonitor | None, steps: int) -> list[float]:
    """Some steps on fresh data from the global generator; the losses."""
    like = next(model.parameters())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(steps):
        u = torch.randn(9, 6, 2, dtype=like.dtype)
        optimizer.zero_grad()
        loss = (model(u) - u.sum((0, 2)).unsqueeze(1)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        if monitor is not None:
            monitor.step()
    return losses


# --- it changes nothing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_training_has_the_same_bits_with_and_without(kind):
    plain, watched = KINDS[kind](), KINDS[kind]()
    torch.manual_seed(7)
    expected = train(plain, None, 7)
    random = torch.get_rng_state()
    torch.manual_seed(7)
    with BoundMonitor(watched, every=2) as monitor:
        losses = train(watched, monitor, 7)
    assert losses == expected
    assert torch.equal(torch.get_rng_state(), random)
    for a, b in zip(plain.state_dict().values(), watched.state_dict().values(), strict=True):
        assert torch.equal(a, b)
    for a, b in zip(plain.parameters(), watched.parameters(), strict=True):
        assert torch.equal(a.grad, b.grad)
    assert sorted({each.step for each in monitor.records}) == [1, 2, 4, 6]
    assert any(each.step == 6 and each.quantity == "gradient_norm" for each in monitor.records)


def test_modes_and_parameters_are_put_back_also_after_an_error_which_is_said_and_ends_nothing(monkeypatch):
    model = oscillators()
    model.recurrent.layers[0].eval()
    monitor = BoundMonitor(model, every=1)
    before = dict(model.named_parameters())

    def fails(*_: Any, **__: Any) -> None:
        raise ArithmeticError("planted")

    monkeypatch.setattr(monitors.measuring.oscillators, "trace", fails)
    state = torch.get_rng_state()
    with pytest.warns(MonitorWarning, match="'recurrent': ArithmeticError: planted. Only its weights") as said:
        for _ in range(2):
            model(torch.zeros(3, 2, 2)).sum().backward()
            found = monitor.step()
    assert len(said) == 1 and isinstance(said[0].message.__cause__, ArithmeticError)
    assert said[0].filename == __file__
    assert {each.quantity for each in found} == {"effective_step", "margin_to_rotation_limit", "margin_to_saddle"}
    assert [m.training for m in model.recurrent.modules()] == [True, True, False, True]
    assert all(before[name] is parameter for name, parameter in model.named_parameters())
    assert not torch.equal(torch.get_rng_state(), state)  # the model's own dropout drew


def alive() -> int:
    gc.collect()
    return sum(isinstance(each, Tensor) for each in gc.get_objects())


@pytest.mark.parametrize("kind", spread(KINDS, 1))
def test_no_tensor_and_no_graph_is_kept_alive(kind):
    gc.collect()
    gc.freeze()  # what is older is not counted, nor searched again and again
    model = KINDS[kind]()
    monitor = BoundMonitor(model, every=1)
    train(model, monitor, 1)
    counts = []
    for _ in range(3):
        train(model, monitor, 1)
        counts.append(alive())
    assert counts[0] >= counts[1] >= counts[2]  # fewer where an earlier test's are collected late
    model(torch.randn(9, 6, 2))
    kept = monitor._calls["recurrent"]
    assert all(not each.requires_grad for each in monitors_tensors(kept.arguments, kept.output, kept.weights))


def monitors_tensors(*values: Any) -> list[Tensor]:
    from verification.monitors.calls import tensors_of

    return [each for value in values for each in tensors_of(value)]


def test_without_a_gradient_the_states_are_measured_and_nothing_else():
    model = oscillators().eval()
    monitor = BoundMonitor(model, every=1)
    with torch.no_grad():
        model(torch.randn(9, 6, 2))
    found = {each.quantity for each in monitor.step()}
    assert {"largest_y", "largest_z", "log_jacobian_growth", "effective_step"} <= found
    assert "gradient_norm" not in found


def test_a_call_with_a_graph_is_preferred_to_an_evaluation_before_it():
    model = oscillators()
    monitor = BoundMonitor(model, every=1)
    with torch.no_grad():
        model(torch.randn(4, 1, 2))
    train(model, monitor, 1)
    (gradient,) = [e for e in monitor.records if e.quantity == "gradient_norm" and e.layer.endswith(".1")]
    assert gradient.series is not None and len(gradient.series) == 9


def test_a_step_without_a_call_measures_the_weights():
    found = BoundMonitor(oscillators(), every=5).step()
    assert {each.quantity for each in found} == {"effective_step", "margin_to_rotation_limit", "margin_to_saddle"}


def test_the_measured_weights_are_those_of_the_forward_pass_not_of_the_step_after_it():
    model = oscillators(torch.float64)
    monitor = BoundMonitor(model, every=1)
    before = model.recurrent.layers[0].w.detach().clone()
    train(model, monitor, 1)
    margins = next(e for e in monitor.records if e.quantity == "margin_to_saddle")
    assert not torch.equal(before, model.recurrent.layers[0].w)
    np.testing.assert_array_equal(margins.series, (before + 1.0).numpy())


# --- it follows the model ---------------------------------------------------------------------------------------------


def test_a_model_that_moves_to_another_dtype_is_followed():
    model = oscillators()
    monitor = BoundMonitor(model, every=1)
    train(model, monitor, 1)
    model.double()
    train(model, monitor, 1)
    errors = [e.value for e in monitor.records if e.quantity == "reconstruction_error" and e.layer.endswith(".0")]
    assert 0 < errors[1] < 1e-14 < errors[0] < 1e-5


def test_removed_it_is_gone_and_copies_of_the_model_never_had_it():
    model = oscillators()
    monitor = BoundMonitor(model, every=1)
    twin, pickled = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    for other in (twin, pickled):
        other(torch.randn(3, 2, 2))
        assert not monitor._calls
    monitor.remove()
    monitor.remove()
    assert not model.recurrent._forward_hooks and not model.recurrent._forward_pre_hooks
    train(model, monitor, 2)
    assert monitor.records == [] and not monitor.is_due


def test_the_hooks_do_not_keep_a_forgotten_monitor():
    model = oscillators()
    BoundMonitor(model, every=1)
    gc.collect()
    train(model, None, 1)


def test_a_watcher_takes_the_model_from_its_first_call_and_goes_on_where_a_run_goes_on():
    model = oscillators()
    monitor = BoundMonitor(None, every=4)
    for step in (6, 7, 8, 9):
        train(model, None, 1)
        monitor(model, step)
    assert sorted({each.step for each in monitor.records}) == [7, 8]


def test_the_loss_may_have_been_scaled():
    found = []
    for scale in (1.0, 1024.0):
        model = oscillators(torch.float64, dropout=0.0)
        monitor = BoundMonitor(model, every=1)
        (scale * model(torch.ones(5, 2, 2, dtype=torch.float64)).sum()).backward()
        found.append([e.value for e in monitor.step(scale=scale) if e.quantity == "gradient_norm"])
    assert found[0] == pytest.approx(found[1], rel=1e-13) and len(found[0]) == 2


def test_backward_passes_through_one_call_add_up():
    found = []
    for parts in (1, 2):
        model = oscillators(torch.float64, dropout=0.0)
        monitor = BoundMonitor(model, every=1)
        loss = model(torch.ones(5, 2, 2, dtype=torch.float64)).sum() / parts
        for _ in range(parts):
            loss.backward(retain_graph=True)
        found.append([e.value for e in monitor.step() if e.quantity == "gradient_norm"])
    assert found[0] == pytest.approx(found[1], rel=1e-13) and len(found[0]) == 2


def test_a_call_that_cannot_be_made_again_is_said_and_not_measured(monkeypatch):
    model = gated()
    monitor = BoundMonitor(model, every=1)
    masks = monitors.measuring.torch_modules.masks_of
    monkeypatch.setattr(monitors.measuring.torch_modules, "masks_of", lambda module: lambda *_: None)
    with pytest.warns(MonitorWarning, match="made again, differs"):
        train(model, monitor, 1)
    assert monitor.records == []
    monkeypatch.setattr(monitors.measuring.torch_modules, "masks_of", masks)
    train(model, monitor, 1)
    assert monitor.records


@pytest.mark.parametrize("kind", KINDS)
def test_under_autocast(kind):
    model = KINDS[kind]()
    monitor = BoundMonitor(model, every=1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(torch.randn(9, 6, 2)).float().square().mean()
    loss.backward()
    assert sum(e.quantity == "gradient_norm" for e in monitor.step()) == 2


@pytest.mark.parametrize("mask", ["locked", "step"])
def test_dropout_masks_of_either_kind_are_drawn_again(mask):
    torch.manual_seed(1)
    for recurrent, features in (
        (UnICORNN(2, 4, 3, dt=0.3, alpha=1.0, dropout=0.5, dropout_mask=mask, index="sam"), 4),
        (UnICORNN(2, 4, 3, dt=0.3, alpha=1.0, dropout=0.5, dropout_mask=mask, bidirectional=True), 8),
        (ScoRNN(2, 4, 3, rho=2, initial="glorot", dropout=0.5, dropout_mask=mask), 4),
    ):
        model = Model(recurrent, features)
        monitor = BoundMonitor(model, every=1)
        train(model, monitor, 1)  # other masks would be NotRepeatable
        assert sum(e.quantity == "gradient_norm" for e in monitor.records) == len(recurrent.layers)


def test_activation_checkpoints():
    model = oscillators()
    monitor = BoundMonitor(model, every=1)
    again = torch.utils.checkpoint.checkpoint(model, torch.randn(9, 6, 2), use_reentrant=False)
    again.square().mean().backward()
    assert any(e.quantity == "gradient_norm" for e in monitor.step())


@pytest.mark.parametrize("rank", [0, 1])
def test_of_several_processes_the_first_records(tmp_path, monkeypatch, rank):
    """Without a process group of its own: its threads outlive the test, see ``PARALLEL``."""
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_rank", lambda: rank)
    model = oscillators()
    monitor = BoundMonitor(model, every=1, store=tmp_path / "monitor.sqlite")
    train(model, monitor, 2)
    assert {e.layer for e in monitor.records} == (set() if rank else {"recurrent.layers.0", "recurrent.layers.1"})
    assert (tmp_path / "monitor.sqlite").exists() == (rank == 0)


# --- what it says -----------------------------------------------------------------------------------------------------


def test_a_margin_that_is_lost_is_said_once_a_layer():
    model = oscillators()
    with torch.no_grad():
        model.recurrent.layers[1].w[2] = -1.5
    monitor = BoundMonitor(model, every=1)
    with pytest.warns(BoundViolation, match=r"layers\.1, neuron = 2|layers\.1, neuron 2") as said:
        train(model, monitor, 3)
    assert len(said) == 1 and said[0].filename == __file__  # the line of the loop, not of the monitor
    measured = said[0].message.measurement
    assert (measured.quantity, measured.holds, measured.neuron) == ("margin_to_saddle", False, 2)
    assert sum(e.holds is False for e in monitor.records) == 3


def test_a_bound_that_is_made_too_small_is_found_violated(monkeypatch):
    from odernn.bounds.network import states as state_bounds

    real = state_bounds.exact_state_logs
    monkeypatch.setattr(
        monitors.measuring.quantities.state_bounds,
        "exact_state_logs",
        lambda *given: type(real(*given))(real(*given).positions - 6.0, real(*given).momenta),
    )
    model = oscillators()
    monitor = BoundMonitor(model, every=1)
    with pytest.warns(BoundViolation, match="thm-S") as said:
        train(model, monitor, 2)
    assert {w.message.measurement.quantity for w in said} == {"largest_y"}


def test_the_first_state_that_is_not_finite_is_named():
    model = oscillators(dropout=0.0)
    monitor = BoundMonitor(model, every=1)
    u = torch.randn(9, 6, 2)
    u[4, 3] = math.nan
    with pytest.warns(NonFiniteState) as said:
        model(u).sum().backward()
        monitor.step()
    texts = [str(w.message) for w in said]
    assert texts == [
        f"Step 1, layer recurrent.layers.{number}: y is nan first at n = 5, sample 3, neuron 0." for number in "01"
    ]
    assert not any(each.quantity == "largest_y" for each in monitor.records)
    model(u).sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monitor.step()


def test_refusals_name_what_to_do():
    with pytest.raises(ValueError, match="contains no cell"):
        BoundMonitor(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="every is 0"):
        BoundMonitor(oscillators(), every=0)
    for keep in (0, True, 1.5):
        with pytest.raises(ValueError, match=f"keep is {keep}"):
            BoundMonitor(oscillators(), keep=keep)
    with pytest.raises(TypeError, match="model is a str"):
        BoundMonitor("model")
    for scale in (0.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=f"scale is {scale}.*before GradScaler.update"):
            BoundMonitor(oscillators()).step(scale=scale)


# --- what it writes ---------------------------------------------------------------------------------------------------


def same(a: Measurement, b: Measurement) -> bool:
    values = [[v for k, v in vars(each).items() if k != "series"] for each in (a, b)]
    if values[0] != values[1] or (a.series is None) != (b.series is None):
        return False
    return a.series is None or np.array_equal(a.series, b.series)


def test_what_is_stored_comes_back_and_a_step_that_is_done_again_replaces_itself(tmp_path: Path):
    path = tmp_path / "monitor.sqlite"
    model = oscillators()
    with BoundMonitor(model, every=2, store=path, run="first") as monitor:
        train(model, monitor, 4)
    with Store(path, writable=False) as store:
        stored = [Measurement.of_row(row) for row in store.measurements("first")]
    key = lambda each: (each.step, each.layer, each.quantity, each.bound)  # noqa: E731
    assert all(same(*pair) for pair in zip(stored, sorted(monitor.records, key=key), strict=True))
    assert any(each.series is not None and each.axis == "neuron" for each in stored)
    with BoundMonitor(model, every=2, store=path, run="first", keep=1) as again:
        train(model, again, 2)
    assert {each.step for each in again.records} == {2}
    with Store(path, writable=False) as store:
        assert {row[1] for row in store.measurements()} == {1, 2, 4}
        newer = [Measurement.of_row(row) for row in store.measurements("first") if row[1] == 2]
    assert all(same(*pair) for pair in zip(newer, sorted(again.records, key=key), strict=True))


def test_a_store_that_is_open_may_be_given_and_stays_open(tmp_path: Path):
    model = oscillators()
    with Store(tmp_path / "own.sqlite", writable=True) as store:
        with BoundMonitor(model, every=1, store=store) as monitor:
            train(model, monitor, 1)
        assert len(store.measurements("training")) == len(monitor.records)
    with pytest.raises(StoreError, match=r"does not exist.*argument store.*--into"):
        monitor = BoundMonitor(model, every=1, store=tmp_path / "no folder" / "x.sqlite")
        train(model, monitor, 1)


def test_a_store_that_fails_later_is_said_once_and_training_goes_on(tmp_path: Path, monkeypatch):
    def full(*_: Any) -> None:
        raise StoreError('Store "x" cannot be written: database or disk is full.')

    model = oscillators()
    with BoundMonitor(model, every=1, store=tmp_path / "monitor.sqlite") as monitor:
        train(model, monitor, 1)
        monkeypatch.setattr(Store, "put_measurements", full)
        with pytest.warns(MonitorWarning, match="Step 2 is not recorded.*disk is full") as said:
            train(model, monitor, 2)
    assert len(said) == 1
    assert {each.step for each in monitor.records} == {1, 2, 3}


def test_a_store_of_version_1_has_no_measurements_and_gets_the_table_when_it_is_written(tmp_path: Path):
    import sqlite3

    path = tmp_path / "old.sqlite"
    Store(path, writable=True).close()
    old = sqlite3.connect(path)
    for table in ("measurements", "sums", "whole"):
        old.execute(f"DROP TABLE {table}")
    old.execute("PRAGMA user_version = 1")
    old.commit()
    old.close()
    with Store(path, writable=False) as store:
        assert store.measurements() == []
    model = oscillators()
    with BoundMonitor(model, every=1, store=path) as monitor:
        train(model, monitor, 1)
    with Store(path, writable=False) as store:
        assert len(store.measurements()) == len(monitor.records)


def test_csv_has_a_row_a_measurement_or_a_row_an_entry(tmp_path: Path):
    model = oscillators()
    monitor = BoundMonitor(model, every=1)
    train(model, monitor, 1)
    monitor.to_csv(tmp_path / "short.csv")
    monitor.to_csv(tmp_path / "long.csv", series=True)
    short, long = (
        list(csv.DictReader((tmp_path / name).read_text(encoding="utf-8").splitlines()))
        for name in ("short.csv", "long.csv")
    )
    assert [float(row["value"]) for row in short] == [each.value for each in monitor.records]
    first = next(each for each in monitor.records if each.quantity == "gradient_norm")
    column = [row for row in long if row["quantity"] == "gradient_norm" and row["layer"] == first.layer]
    assert [int(row["n"]) for row in column] == list(range(1, 10))
    np.testing.assert_array_equal([float(row["value"]) for row in column], first.series)
