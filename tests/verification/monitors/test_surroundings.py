"""A monitor in surroundings that are not its own: compiled, wrapped, failing, accumulating, scaled, half full."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from odernn import UnICORNN
from tests.verification.monitors.test_monitor import KINDS, oscillators, train
from verification.monitors import BoundMonitor, Measurement, MonitorWarning, monitor
from verification.run.store import Store

F64 = torch.float64


def gradients(found: list[Measurement]) -> dict[str, np.ndarray]:
    return {each.layer: each.series for each in found if each.quantity == "gradient_norm"}


def same(a: list[Measurement], b: list[Measurement]) -> bool:
    """Bit for bit."""
    return len(a) == len(b) and all(
        {**vars(x), "series": None} == {**vars(y), "series": None}
        and (x.series is y.series or np.array_equal(x.series, y.series))
        for x, y in zip(a, b, strict=True)
    )


# --- wrapped ----------------------------------------------------------------------------------------------------------


# torch looks at .grad of every tensor where a graph goes on after a break
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf Tensor:UserWarning")
@pytest.mark.parametrize("backend", ["eager", pytest.param("aot_eager", marks=pytest.mark.slow)])
def test_a_compiled_model_is_measured_and_not_compiled_again_at_every_step(backend):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    plain, model = oscillators(F64, dropout=0.0), oscillators(F64, dropout=0.0)
    compiled = torch.compile(model, backend=backend)
    u, graphs = torch.randn(5, 3, 2, dtype=F64), []
    with BoundMonitor(plain, every=2) as expected, BoundMonitor(compiled, every=2) as found:
        for _ in range(4):
            for each, watching in ((plain, expected), (compiled, found)):
                each(u).sum().backward()
                watching.step()
            graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    assert graphs[0] == graphs[-1] > 0
    assert {each.step for each in found.records} == {1, 2, 4}
    pairs = zip(gradients(expected.records).items(), gradients(found.records).items(), strict=True)
    for (name, one), (other_name, other) in pairs:
        assert name == other_name
        np.testing.assert_allclose(one, other, rtol=1e-12)  # a graph may add up in another order
    torch._dynamo.reset()


def test_a_graph_that_must_not_break_is_refused_with_the_reason():
    torch._dynamo.reset()
    model = oscillators(dropout=0.0)
    refused = pytest.raises(torch._dynamo.exc.Unsupported, match="BoundMonitor looks at calls from outside")
    with BoundMonitor(model), refused:
        torch.compile(model, backend="eager", fullgraph=True)(torch.randn(5, 3, 2))
    torch._dynamo.reset()
    torch.compile(model, backend="eager", fullgraph=True)(torch.randn(5, 3, 2))
    torch._dynamo.reset()


def test_layers_are_called_as_in_the_users_own_module_whatever_wraps_it():
    parallel = nn.DataParallel(oscillators())
    for model in (parallel, torch.compile(parallel, backend="eager")):
        assert {each.layer for each in BoundMonitor(model).step()} == {"recurrent.layers.0", "recurrent.layers.1"}


def test_a_child_that_is_called_module_hides_no_other():
    model = nn.ModuleDict({"module": nn.ModuleDict({"r": nn.GRU(2, 3)}), "r": nn.GRU(2, 3)})
    watching = BoundMonitor(model, every=1)
    for child in (model["module"]["r"], model["r"]):
        child(torch.randn(4, 2, 2))
    assert {each.layer for each in watching.step()} == {"module.r.l0", "r.l0"}


def test_the_calls_of_a_replica_which_shares_the_hooks_are_not_taken_for_its_own():
    model = nn.GRU(2, 3)
    watching = BoundMonitor(model, every=1)
    copy.copy(model)(torch.randn(4, 2, 2))
    assert watching.step() == []


# --- a user's own modules ---------------------------------------------------------------------------------------------


class RowsOnly(nn.LSTM):
    def forward(self, sequence: Tensor) -> Tensor:
        return super().forward(sequence)[0]


class OscillatorRows(UnICORNN):
    def forward(self, sequence: Tensor) -> Tensor:
        return super().forward(sequence)[0]


def test_a_subclass_that_returns_its_rows_alone_has_the_gradients_of_its_rows():
    u = torch.randn(6, 3, 2)
    for own, base, options in ((RowsOnly, nn.LSTM, {}), (OscillatorRows, UnICORNN, {"dt": 0.3, "alpha": 1.0})):
        module = own(2, 4, 2, **options)
        plain = base(2, 4, 2, **options)
        plain.load_state_dict(module.state_dict())
        one, other = BoundMonitor(module, every=1), BoundMonitor(plain, every=1)
        module(u).square().sum().backward()
        plain(u)[0].square().sum().backward()
        assert same(one.step(), other.step())
        assert len(gradients(one.records)) == 2


class Masked(nn.LSTM):
    def forward(self, sequence: Tensor, mask: Tensor, state: Any = None) -> Any:
        return super().forward(sequence * mask, state)


class More(nn.LSTM):
    def forward(self, sequence: Tensor, a: Any, b: Any, c: Any) -> Any:
        return super().forward(sequence)


class Named(nn.LSTM):
    def forward(self, input: Tensor, hx: Any = None) -> Any:
        rows, state = super().forward(input, hx)
        return {"rows": rows, "state": state}


class Silent(nn.LSTM):
    def forward(self, input: Tensor, hx: Any = None) -> None:
        self.rows = super().forward(input, hx)[0]


class LastRow(nn.LSTM):
    def forward(self, input: Tensor, hx: Any = None) -> Tensor:
        return super().forward(input, hx)[0][-1]


class Squashed(nn.LSTM):
    def forward(self, input: Tensor, hx: Any = None) -> Any:
        rows, state = super().forward(input, hx)
        return torch.tanh(3 * rows), state


@pytest.mark.parametrize(
    ("kind", "more", "reason"),
    [
        (Masked, (torch.ones(1),), "state is a Tensor"),
        (More, (1, 2, 3), "other arguments than that of LSTM"),
        (Named, (), "returned a dict, not"),
        (Silent, (), "returned a NoneType, not"),
        (LastRow, (), r"rows of shape \(3, 4\), not those of its last layer"),
        (Squashed, (), "made again, differs"),
    ],
)
def test_a_subclass_that_means_something_else_is_said_and_its_training_goes_on(kind, more, reason):
    module = kind(2, 4)
    watching = BoundMonitor(module, every=1)
    with pytest.warns(MonitorWarning, match=reason) as said:
        for _ in range(2):
            module(torch.randn(5, 3, 2), *more)
            assert watching.step() == []
    assert len(said) == 1 and ".." not in str(said[0].message)


class Cleaned(nn.LSTM):
    def forward(self, input: Tensor, hx: Any = None) -> Any:
        return super().forward(torch.nan_to_num(input), hx)


def test_a_repetition_that_is_not_finite_where_the_call_was_is_no_repetition():
    module, u = Cleaned(2, 4), torch.randn(5, 3, 2)
    u[4, 1] = math.nan
    watching = BoundMonitor(module, every=1)
    module(u)
    with pytest.warns(MonitorWarning, match="made again, differs by nan"):
        assert watching.step() == []


# --- steps that fail, evaluations ------------------------------------------------------------------------------------


def test_of_a_step_that_failed_nothing_is_measured_but_its_repetition():
    model = oscillators(dropout=0.0)
    watching = BoundMonitor(model, every=1)
    with pytest.raises(ValueError, match="input"):
        model(torch.randn(4, 3, 7))
    out = model(torch.randn(5, 3, 2))
    del out  # its derivative was never taken
    model(torch.randn(7, 3, 2)).sum().backward()
    assert [len(series) for series in gradients(watching.step()).values()] == [7, 7]


def test_an_evaluation_with_a_graph_that_is_still_there_gives_way_to_training():
    model = oscillators(dropout=0.0)
    watching = BoundMonitor(model, every=1)
    model.eval()
    kept = model(torch.randn(5, 3, 2))
    model.train()
    model(torch.randn(7, 3, 2)).sum().backward()
    assert [len(series) for series in gradients(watching.step()).values()] == [7, 7]
    assert kept.requires_grad


def test_an_evaluation_after_the_derivative_does_not_take_its_place():
    model = oscillators(dropout=0.0)
    watching = BoundMonitor(model, every=1)
    model(torch.randn(7, 3, 2)).sum().backward()
    model(torch.randn(5, 3, 2))
    with torch.no_grad():
        model.eval()(torch.randn(5, 3, 2))
    assert [len(series) for series in gradients(watching.step()).values()] == [7, 7]


@pytest.mark.parametrize("kind", KINDS)
def test_where_hooks_and_measuring_fail_training_has_the_same_bits(kind, monkeypatch):
    plain, watched = KINDS[kind](), KINDS[kind]()
    torch.manual_seed(7)
    expected = train(plain, None, 2) + train(plain, None, 2)

    def fails(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("planted.")

    torch.manual_seed(7)
    with BoundMonitor(watched, every=1) as watching, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        monkeypatch.setattr(monitor.Call, "begin", fails)
        losses = train(watched, watching, 2)
        monkeypatch.undo()
        monkeypatch.setattr(monitor.measuring, "measure", fails)
        losses += train(watched, watching, 2)
    assert losses == expected
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), watched.parameters(), strict=True))
    assert [str(each.message) for each in said] == [
        "Module 'recurrent': its call cannot be kept, OutOfMemoryError: planted. Only its weights are measured.",
        "Module 'recurrent': OutOfMemoryError: planted. Only its weights are measured.",
    ]


def test_a_derivative_that_cannot_be_kept_is_said_and_goes_on(monkeypatch):
    found = []
    for is_full in (False, True):
        torch.manual_seed(1)
        model = nn.LSTM(2, 4)
        watching = BoundMonitor(model, every=1)
        loss = model(torch.ones(5, 3, 2))[0].sum()

        def fails(*_: Any, **__: Any) -> None:
            raise torch.OutOfMemoryError("planted")

        with monkeypatch.context() as patch:
            if is_full:
                patch.setattr(Tensor, "clone", fails)
            loss.backward()
        found.append([each.grad for each in model.parameters()])
        if is_full:
            with pytest.warns(MonitorWarning, match="could not be kept, OutOfMemoryError: planted. Only its weights"):
                assert watching.step() == []
        else:
            assert len(gradients(watching.step())) == 1
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_that_is_not_a_number_is_recorded_and_changes_nothing(kind):
    model = KINDS[kind]()
    watching = BoundMonitor(model, every=1)
    (model(torch.randn(9, 6, 2)).sum() * math.nan).backward()
    found = watching.step()
    assert all(np.isnan(series).all() for series in gradients(found).values()) and len(gradients(found)) == 2
    assert all(math.isfinite(each.value) for each in found if not each.quantity.startswith("gradient"))
    assert all(bool(p.grad.isnan().all()) for p in model.recurrent.parameters() if p.grad is not None)


def test_weights_that_are_not_finite_are_said_in_words():
    model = KINDS["scornn"]()
    with torch.no_grad():
        model.recurrent.layers[0].free.fill_(math.nan)
    watching = BoundMonitor(model, every=1)
    with pytest.warns(MonitorWarning) as said:
        watching.step()
    (text,) = (str(each.message) for each in said)
    assert text == "Step 1, layer recurrent.layers.0: orthogonality_error is nan: the weights are not finite."


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_without_samples_has_weights_alone(kind):
    model = KINDS[kind]()
    watching = BoundMonitor(model, every=1)
    model(torch.randn(9, 0, 2)).sum().backward()
    assert same(watching.step(), BoundMonitor(model, every=1).step())


# --- several calls ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_of_gradients_that_are_accumulated_and_of_several_calls_the_first_is_measured(kind):
    first, second = torch.randn(9, 6, 2), torch.randn(5, 6, 2)
    found = []
    for calls in ("alone", "accumulated", "together"):
        torch.manual_seed(3)
        model = KINDS[kind]().eval()
        watching = BoundMonitor(model, every=1)
        if calls == "together":
            (model(first).sum() + model(second).sum()).backward()
        else:
            for u in (first, second)[: 1 if calls == "alone" else 2]:
                model(u).sum().backward()
        found.append(watching.step())
    assert same(found[0], found[1]) and same(found[0], found[2])


def test_two_monitors_see_the_same():
    model = oscillators()
    one, other = BoundMonitor(model, every=1), BoundMonitor(model, every=2)
    train(model, one, 1)
    assert same(one.records, other.step())


@pytest.mark.parametrize("kind", KINDS)
def test_the_mode_in_which_step_is_called_has_no_influence(kind):
    found = []
    for mode in (torch.enable_grad(), torch.inference_mode(), torch.no_grad(), torch.autocast("cpu")):
        model = KINDS[kind]()
        watching = BoundMonitor(model, every=1)
        torch.manual_seed(3)
        model(torch.randn(9, 6, 2)).sum().backward()
        with mode:
            found.append(watching.step())
    assert all(same(found[0], each) for each in found[1:]) and len(gradients(found[0])) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluation_in_inference_mode_is_measured_like_one_without_a_gradient(kind):
    u, found = torch.randn(9, 6, 2), []
    for mode in (torch.inference_mode(), torch.no_grad()):
        model = KINDS[kind]().eval()
        watching = BoundMonitor(model, every=1)
        with mode:
            model(u)
        found.append(watching.step())
    assert same(*found) and any(each.quantity.startswith("largest") for each in found[0])


# --- scaled losses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["unicornn", "scornn"])
def test_a_scaled_loss_in_float16_is_divided_where_nothing_vanishes(kind):
    """Powers of two: the derivatives are the same but for their exponents, which float16 cannot hold unscaled."""
    u, found = torch.randn(9, 6, 2), []
    for factor, scale in ((1.0, 1.0), (2.0**-30, 2.0**30)):
        model = KINDS[kind]().eval()
        watching = BoundMonitor(model, every=1)
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model.readout(model.recurrent(u)[0]).float().square().sum()
        (scale * (factor * loss)).backward()
        found.append(gradients(watching.step(scale=scale)))
    assert len(found[0]) == 2
    for name, series in found[0].items():
        assert series.all()
        np.testing.assert_allclose(found[1][name], 2.0**-30 * series, rtol=1e-12)


def test_the_scale_is_that_of_before_the_scalers_update():
    found = []
    for is_scaled in (False, True):
        model = oscillators(dropout=0.0)
        watching = BoundMonitor(model, every=1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", enabled=is_scaled, init_scale=2.0**10, growth_interval=1)
        torch.manual_seed(2)
        for _ in range(2):
            optimizer.zero_grad()
            scaler.scale(model(torch.randn(9, 6, 2)).square().sum()).backward()
            scaler.step(optimizer)
            scale = scaler.get_scale()
            scaler.update()
            watching.step(scale=scale)
        found.append([each.value for each in watching.records if each.quantity == "gradient_norm"])
    assert found[0] == pytest.approx(found[1], rel=1e-6) and len(found[0]) == 4


# --- a full disk ------------------------------------------------------------------------------------------------------


def test_a_disk_that_is_full_loses_nothing_that_was_written_and_is_written_again_when_there_is_room(tmp_path: Path):
    plain, model = oscillators(), oscillators()
    torch.manual_seed(7)
    expected = [loss for steps in (1, 2, 1) for loss in train(plain, None, steps)]
    torch.manual_seed(7)
    with BoundMonitor(model, every=1, store=tmp_path / "m.sqlite") as watching:
        losses = train(model, watching, 1)
        assert watching._opened is not None
        database = watching._opened._database
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count = {pages}")  # SQLite itself says that it is full
        with pytest.warns(MonitorWarning, match="Step 2 is not recorded.*full") as said:
            losses += train(model, watching, 2)
        assert len(said) == 1
        database.execute("PRAGMA max_page_count = 100000")
        losses += train(model, watching, 1)
        assert sorted({each.step for each in watching.records}) == [1, 2, 3, 4]
    assert losses == expected
    with Store(tmp_path / "m.sqlite", writable=False) as store:
        rows = store.measurements()
        assert {row[1] for row in rows} == {1, 4}
        assert sum(row[1] == 1 for row in rows) == sum(row[1] == 4 for row in rows)


# --- torch's own surroundings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_deterministic_algorithms_are_enough(kind):
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        model = KINDS[kind]()
        monitor = BoundMonitor(model, every=1)
        train(model, monitor, 2)
    finally:
        torch.use_deterministic_algorithms(before)
    assert sum(each.quantity == "gradient_norm" for each in monitor.records) == 4


PARALLEL = """
import sys
import torch
import torch.distributed as dist
from torch import nn
from odernn import UnICORNN
from verification.monitors import BoundMonitor

rank, processes, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=processes)
torch.manual_seed(1)
model = nn.parallel.DistributedDataParallel(UnICORNN(2, 4, 2, dt=0.3, alpha=1.0))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(rank)
with BoundMonitor(model, every=2, store=f"{folder}/monitor.sqlite") as monitor:
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(5, 3, 2))[0].square().mean().backward()
        optimizer.step()
        monitor.step()
assert bool(monitor.records) == (rank == 0)
total = torch.stack([p.detach().double().sum() for p in model.parameters()]).sum()
all_of_them = [torch.zeros_like(total) for _ in range(processes)]
dist.all_gather(all_of_them, total)
assert all(each == total for each in all_of_them)
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_with_distributed_data_parallel_the_first_writes_and_all_have_the_same_weights(tmp_path: Path, processes: int):
    root = Path(__file__).parents[3]
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", PARALLEL, str(rank), str(processes), str(tmp_path)],
            cwd=root,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    for run in runs:
        _, said = run.communicate(timeout=300)
        assert run.returncode == 0, said
    with Store(tmp_path / "monitor.sqlite", writable=False) as store:
        assert {row[1] for row in store.measurements()} == {1, 2, 4}
