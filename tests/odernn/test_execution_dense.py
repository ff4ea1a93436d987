"""The fused coRNN and scoRNN are their loops: rows, last states and every gradient, in float64 and float32."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
import torch
from torch import nn

from odernn.cells.cornn import CoRNN
from odernn.cells.scornn import ScoRNN
from odernn.executions import ExecutionUnavailable, dense

pytest.importorskip("numba", reason="the fused CPU execution needs the extra `fast`")

CELLS = {
    "cornn explicit": lambda **o: CoRNN(3, 6, 2, dt=0.3, gamma=1.3, epsilon=0.7, **o),
    "cornn implicit": lambda **o: CoRNN(3, 6, 2, dt=0.3, gamma=1.3, epsilon=0.7, damping="implicit", bias=False, **o),
    "scornn": lambda **o: ScoRNN(3, 6, 2, rho=2, initial="glorot", **o),
    "scornn linear, learned start": lambda **o: ScoRNN(3, 6, 2, rho=2, bias=False, learn_initial_state=True, **o),
}
STEPS = (0, 1, 2, 3, 101)
CASES = list(itertools.product(CELLS, STEPS, (torch.float32, torch.float64), (False, True)))
UNITS = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}


def pair(label: str, dtype: torch.dtype, **options):
    """The same weights in the loop in float64, the oracle, and fused in ``dtype``."""
    fused = CELLS[label](execution="cpu", generator=torch.Generator().manual_seed(0), **options).to(dtype)
    loop = CELLS[label](execution="torch", generator=torch.Generator().manual_seed(0), **options).double()
    loop.load_state_dict({k: v.double() if v.is_floating_point() else v for k, v in fused.state_dict().items()})
    return fused, loop


def everything(network: nn.Module, u: torch.Tensor, lengths: torch.Tensor | None = None) -> list[torch.Tensor]:
    """Output, last states and the gradients of a function of both by every weight and by the input."""
    u = u.clone().requires_grad_()
    output, state = network(u, lengths=lengths)
    ends = state if isinstance(state, tuple) else (state,)
    weight = torch.linspace(-1.0, 1.0, output.numel(), dtype=torch.float64).to(output).view(output.shape)
    value = (output * weight).sum() + sum((i + 1) * end.square().sum() for i, end in enumerate(ends))
    arguments = [u, *network.parameters()]
    found = torch.autograd.grad(value, arguments, allow_unused=True) if value.requires_grad else [None] * len(arguments)
    gradients = [torch.zeros_like(a) if g is None else g for g, a in zip(found, arguments, strict=True)]
    return [output.detach(), *(end.detach() for end in ends), *gradients]


def test_the_cases_are_all_there():
    assert len(CASES) == 4 * 5 * 2 * 2


@pytest.mark.parametrize(("label", "steps", "dtype", "bidirectional"), CASES)
def test_the_fused_recurrence_is_the_loop(label: str, steps: int, dtype: torch.dtype, bidirectional: bool):
    fused, loop = pair(label, dtype, bidirectional=bidirectional)
    u = torch.randn(steps, 4, 3, generator=torch.Generator().manual_seed(1), dtype=dtype)
    found, expected = everything(fused, u), everything(loop, u.double())
    moved = everything(loop, u.double() + 1e-6 * torch.sign(torch.randn_like(u.double())))
    assert len(found) == len(expected)
    for ours, theirs, other in zip(found, expected, moved, strict=True):
        # 64 roundings of every step, as they grow: measured on the oracle by moving every input by 1e-6
        growth = max(1.0, float((other - theirs).abs().max()) / 1e-6) if theirs.numel() else 1.0
        size = 1.0 + float(theirs.abs().max()) if theirs.numel() else 1.0
        assert ours.dtype == dtype and ours.shape == theirs.shape
        assert (ours.double() - theirs).abs().le(64 * UNITS[dtype] * size * growth).all()


@pytest.mark.parametrize("label", CELLS)
def test_each_sample_ends_at_its_own_length(label: str):
    fused, loop = pair(label, torch.float64)
    u = torch.randn(7, 3, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    lengths = torch.tensor([4, 0, 7])
    for ours, theirs in zip(everything(fused, u, lengths), everything(loop, u, lengths), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("label", ["cornn explicit", "scornn"])
def test_gradcheck_and_opcheck(label: str):
    generator = torch.Generator().manual_seed(3)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()

    x, W, h0, b = normal(4, 2, 3), normal(3, 3), normal(2, 3), normal(3)
    if label == "scornn":
        assert torch.autograd.gradcheck(lambda *a: dense.orthogonal(a[0], W=a[1], b=a[2], h0=a[3]), (x, W, b, h0))
        torch.library.opcheck(torch.ops.odernn.orthogonal_forward, (x, W, b, h0))
    else:
        numbers = {"dt": 0.3, "gamma": 1.1, "p": 0.8, "q": 0.3}
        W_z, z0 = normal(3, 3), normal(2, 3)
        assert torch.autograd.gradcheck(
            lambda *a: dense.coupled(a[0], W=a[1], W_z=a[2], y0=a[3], z0=a[4], **numbers), (x, W, W_z, h0, z0)
        )
        torch.library.opcheck(
            torch.ops.odernn.coupled_forward,
            (x, W, W_z, h0, z0, *numbers.values()),
        )


@pytest.mark.parametrize("label", CELLS)
def test_nan_inputs_give_nan(label: str):
    fused, _ = pair(label, torch.float32)
    u = torch.zeros(5, 2, 3)
    u[2, 1] = torch.nan
    output, _ = fused(u)
    assert output[2:, 1].isnan().all() and output[:, 0].isfinite().all() and output[:2].isfinite().all()


@pytest.mark.parametrize("label", ["cornn explicit", "scornn"])
def test_a_second_derivative_is_refused_and_a_graph_is_traced(label: str):
    fused, _ = pair(label, torch.float64)
    u = torch.randn(3, 2, 3, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(fused(u)[0].square().sum(), u, create_graph=True)
    with pytest.raises(RuntimeError, match='execution="cpu" is differentiable once'):
        first.sum().backward()
    compiled = torch.compile(fused, backend="aot_eager", fullgraph=label != "scornn")
    assert torch.equal(compiled(u)[0], fused(u)[0])


def test_what_cannot_run_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match='execution is "cuda", but a recurrence with a full matrix has'):
        CELLS["scornn"](execution="cuda")
    with pytest.raises(TypeError, match=r"x has dtype torch\.float16"):
        dense.orthogonal(torch.zeros(1, 1, 1).half(), W=torch.eye(1), b=None, h0=torch.zeros(1, 1))
    with pytest.raises(TypeError, match=r"W has dtype torch\.float64 but x has torch\.float32"):
        dense.orthogonal(torch.zeros(1, 1, 1), W=torch.eye(1).double(), b=None, h0=torch.zeros(1, 1))
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ExecutionUnavailable, match="numba, which is not installed"):
        CELLS["cornn explicit"](execution="cpu")


def test_cells_do_not_import_numba():
    code = "import sys, odernn.cells.cornn, odernn.cells.scornn; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
