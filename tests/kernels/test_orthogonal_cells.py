"""scoRNN and expRNN with execution="cuda" are their loops; their steps can be a graph of a device."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher
from odernn.cells.exprnn import ExpRNN
from odernn.cells.scornn import ScoRNN
from odernn.executions.recurrence import UNIT_ROUNDOFF
from odernn.orthogonal import cayley, factored_solve
from tests.odernn.executions.test_execution_dense import everything
from tests.verification.training.plans import plan
from tests.verification.training.test_captured import SCORNN, Recorder, check_same, graphs
from verification.training import loop

CELLS: dict[str, Callable[..., nn.Module]] = {
    "scornn": lambda **o: ScoRNN(3, 7, 2, rho=2, initial="glorot", **o),
    "scornn linear, learned start": lambda **o: ScoRNN(3, 7, 2, rho=2, bias=False, learn_initial_state=True, **o),
    "exprnn": lambda **o: ExpRNN(3, 7, 2, **o),
    "exprnn both ways": lambda **o: ExpRNN(3, 7, bidirectional=True, **o),
}


def pair(label: str, dtype: torch.dtype) -> tuple[nn.Module, nn.Module]:
    """The same weights by the kernels in ``dtype`` and in the loop in float64; some units are inactive."""
    fused = CELLS[label](execution="cuda", generator=torch.Generator().manual_seed(0)).to(dtype)
    with torch.no_grad():
        for layer in fused.layers:  # type: ignore[union-attr]
            if layer.b is not None:
                layer.b -= 0.1
    other = CELLS[label](execution="torch", generator=torch.Generator().manual_seed(0)).double()
    other.load_state_dict({k: v.double() if v.is_floating_point() else v for k, v in fused.state_dict().items()})
    return fused, other


@pytest.mark.parametrize("lengths", [None, (4, 0, 9, 9)])
@pytest.mark.parametrize("dtype", list(UNIT_ROUNDOFF))
@pytest.mark.parametrize("label", CELLS)
def test_the_cell_on_a_device_is_its_loop(
    launcher: EmulatedLauncher, label: str, dtype: torch.dtype, lengths: tuple[int, ...] | None
) -> None:
    """Output, last states, and the gradients by the input and every weight; each sample to its own end."""
    fused, loop_ = pair(label, dtype)
    u = torch.randn(9, 4, 3, generator=torch.Generator().manual_seed(1), dtype=dtype)
    ends = None if lengths is None else torch.tensor(lengths)
    if ends is not None:
        u[4:, 0] = torch.nan  # padding, which is not read
    found, expected = everything(fused, u, ends), everything(loop_, u.double(), ends)
    moved = everything(loop_, u.double() + 1e-6, ends)
    assert len(found) == len(expected)
    for ours, theirs, other in zip(found, expected, moved, strict=True):
        # As tests/odernn/executions/test_execution_dense.py: 64 roundings of every step, as they grow.
        growth = max(1.0, float((other - theirs).abs().nan_to_num().max()) / 1e-6)
        size = 1.0 + float(theirs.abs().nan_to_num().max())
        assert ours.dtype == dtype and ours.shape == theirs.shape
        assert (ours.double() - theirs).abs().nan_to_num().le(64 * UNIT_ROUNDOFF[dtype] * size * growth).all()
    kind = "f32" if dtype == torch.float32 else "f64"
    assert launcher.launched == [f"scornn_forward_{kind}"] * 2 + [f"scornn_backward_{kind}"] * 2


def test_more_units_than_fit_are_refused_by_name_and_nothing_else_runs(launcher: EmulatedLauncher) -> None:
    with pytest.raises(ValueError, match=r'hidden_size is 193, but execution="cuda" keeps W on the chip, .* up to 192'):
        ScoRNN(3, 193, rho=2, execution="cuda")
    network = ExpRNN(3, 192, execution="cuda")
    with pytest.raises(ValueError, match=r'x has 192 units, but execution="cuda" .* up to 128 units of float64'):
        network.double()(torch.zeros(1, 1, 3).double())
    assert launcher.launched == []


def test_a_network_off_the_device_says_where_it_runs(launcher: EmulatedLauncher) -> None:
    from cuda.odernn_kernels import module

    network = pickle.loads(pickle.dumps(ScoRNN(3, 4, rho=2, execution="cuda")))
    kept = module._override[:]
    module._override.clear()
    try:
        with pytest.raises(ValueError, match='x is on cpu, but execution="cuda" runs on a CUDA device'):
            network(torch.zeros(2, 1, 3))
    finally:
        module._override.extend(kept)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")  # torch 2.11's own
def test_a_compiled_network_has_the_same_bits(launcher: EmulatedLauncher) -> None:
    network, u = ScoRNN(3, 5, rho=2, execution="cuda"), torch.randn(4, 2, 3)
    compiled = torch.compile(network, backend="aot_eager")
    assert torch.equal(compiled(u)[0], network(u)[0])


# --- a graph of a device


def step_without_numbers() -> None:
    """A training step on tensors that have no numbers: a look at one on the host is an error."""
    with FakeTensorMode():
        made = ScoRNN(3, 7, rho=2, execution="cuda", learn_initial_state=True)
        output, state = made(torch.randn(6, 4, 3))
        (output.square().sum() + state.sum()).backward()
        assert all(each.grad is not None for each in made.parameters())


def test_a_step_never_waits_for_the_device(launcher: EmulatedLauncher, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the factors as a device has them; with a look at their pivots, as the CPU has them, it does."""

    def looking(M: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        LU, pivots, info = torch.linalg.lu_factor_ex(M.detach())
        assert not bool(info.any())
        return LU, pivots

    with FakeTensorMode():
        LU, pivots = factored_solve.factored(torch.empty(3, 3, device="cuda"))
        assert LU.device.type == pivots.device.type == "cuda"
    monkeypatch.setattr(cayley, "factored", factored_solve.unchecked)
    step_without_numbers()
    monkeypatch.setattr(cayley, "factored", looking)
    with pytest.raises(DataDependentOutputException):
        step_without_numbers()


@pytest.mark.slow
def test_a_captured_run_has_the_bits_of_the_other(launcher: EmulatedLauncher, tmp_path: Path) -> None:
    made = plan(tmp_path, SCORNN.replace("rho = 2\n", 'rho = 2\nexecution = "cuda"\n'))
    with graphs():
        by_graph = loop.train(made, tmp_path / "captured")
    without = loop.train(made, tmp_path / "uncaptured")
    check_same(by_graph, without)
    assert (by_graph.stepping, without.stepping) == ("captured", "uncaptured: cpu has no graphs")
    assert Recorder.made[0].replays == 3 * 3 - 1
    assert set(launcher.launched) == {"scornn_forward_f32", "scornn_backward_f32"}
