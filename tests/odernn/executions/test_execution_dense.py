"""The fused coRNN, scoRNN and expRNN are their loops: rows, last states and every gradient, in float64 and float32."""

from __future__ import annotations

import itertools
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

from odernn.cells.cornn import CoRNN
from odernn.cells.exprnn import ExpRNN
from odernn.cells.scornn import ScoRNN
from odernn.executions import ExecutionUnavailable, dense
from tests.tiers import only, where

pytest.importorskip("numba", reason="the fused CPU execution needs the extra `fast`")

CELLS = {
    "cornn explicit": lambda **o: CoRNN(3, 6, 2, dt=0.3, gamma=1.3, epsilon=0.7, **o),
    "cornn implicit": lambda **o: CoRNN(3, 6, 2, dt=0.3, gamma=1.3, epsilon=0.7, damping="implicit", bias=False, **o),
    "scornn": lambda **o: ScoRNN(3, 6, 2, rho=2, initial="glorot", **o),
    "scornn linear, learned start": lambda **o: ScoRNN(3, 6, 2, rho=2, bias=False, learn_initial_state=True, **o),
    "exprnn": lambda **o: ExpRNN(3, 6, 2, **o),
}
STEPS = (0, 1, 2, 3, 101)
CASES = list(itertools.product(CELLS, STEPS, (torch.float32, torch.float64), (False, True)))
UNITS = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}


def pair(label: str, dtype: torch.dtype, **options):
    """The same weights in the loop in float64, the oracle, and fused in ``dtype``."""
    fused = CELLS[label](execution="cpu", generator=torch.Generator().manual_seed(0), **options).to(dtype)
    if label in ("scornn", "exprnn"):
        with torch.no_grad():
            for layer in fused.layers:
                layer.b -= 0.1  # so that some units are inactive
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
    assert len(CASES) == 5 * 5 * 2 * 2


# of every cell, dtype and number of steps one direction, of three steps both
@pytest.mark.parametrize(
    ("label", "steps", "dtype", "bidirectional"), where(CASES, lambda case: case[3] != (case[1] == 3))
)
def test_the_fused_recurrence_is_the_loop(label: str, steps: int, dtype: torch.dtype, bidirectional: bool):
    assert_is_the_loop(label, steps, dtype, bidirectional)


def assert_is_the_loop(label: str, steps: int, dtype: torch.dtype, bidirectional: bool) -> None:
    fused, loop = pair(label, dtype, bidirectional=bidirectional)
    u = torch.randn(steps, 4, 3, generator=torch.Generator().manual_seed(1), dtype=dtype)
    found, expected = everything(fused, u), everything(loop, u.double())
    drawn = torch.Generator().manual_seed(2)
    moves = [torch.sign(torch.randn(u.shape, generator=drawn, dtype=torch.float64)) for _ in range(3)]
    moved = [everything(loop, u.double() + 1e-6 * move) for move in moves]
    assert len(found) == len(expected)
    for index, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        # 64 roundings of every step, as they grow: measured on the oracle by moving every input by 1e-6, three times
        others = [other[index] for other in moved]
        growth = max([1.0, *(float((other - theirs).abs().max()) / 1e-6 for other in others if theirs.numel())])
        size = 1.0 + float(theirs.abs().max()) if theirs.numel() else 1.0
        assert ours.dtype == dtype and ours.shape == theirs.shape
        assert (ours.double() - theirs).abs().le(64 * UNITS[dtype] * size * growth).all()


def wrong_sign_in_the_costate(true: Callable[..., None]) -> Callable[..., None]:
    def step_back(*given: Any) -> None:
        *arrays, n, dt, gamma, p, q, one = given
        true(*arrays, n, dt, -gamma, p, q, one)

    return step_back


def old_costate(true: Callable[..., None]) -> Callable[..., None]:
    def step_back(*given: Any) -> None:
        *arrays, n, dt, gamma, p, q, one = given
        true(*arrays, n, np.zeros_like(dt), gamma, p, q, one)  # Q without dt P

    return step_back


def no_mask(true: Callable[..., None]) -> Callable[..., None]:
    def step_back(h: Any, g: Any, grad: Any, P: Any, by_b: Any, n: int, zero: Any) -> None:
        true(np.where(h == 0, np.ones_like(h), h), g, grad, P, by_b, n, zero)

    return step_back


def soft_threshold(true: Callable[..., None]) -> Callable[..., None]:
    def step(x: Any, h: Any, b: Any, n: int, zero: Any) -> None:
        true(x, h, -b, n, zero)

    return step


FAULTS = [
    ("cornn explicit", "coupled_step_back", wrong_sign_in_the_costate),
    ("cornn implicit", "coupled_step_back", old_costate),
    ("scornn", "modrelu_step_back", no_mask),
    ("scornn", "modrelu_step", soft_threshold),
]


@pytest.mark.parametrize(("label", "kernel", "fault"), FAULTS)
@pytest.mark.parametrize("dtype", UNITS)
def test_a_planted_fault_is_not_the_loop(label, kernel, fault, dtype, monkeypatch: pytest.MonkeyPatch):
    from odernn.executions.cpu.kernels import dense as kernels

    monkeypatch.setattr(kernels, kernel, fault(getattr(kernels, kernel)))
    with pytest.raises(AssertionError):
        assert_is_the_loop(label, 101, dtype, False)


@pytest.mark.parametrize("label", CELLS)
@pytest.mark.parametrize("is_inside", [False, True])
def test_autocast_takes_no_digits_from_the_recurrence_or_its_derivative(label: str, is_inside: bool):
    """Also where backward() is called inside: the same operator, the same bits."""
    fused, _ = pair(label, torch.float32)
    x = torch.randn(9, 4, 6)

    def derivatives() -> list[torch.Tensor]:
        drives, state = x.clone().requires_grad_(), tuple(torch.ones(4, 6) for _ in fused.layers[0].state_names)
        rows = fused.layers[0].fused(drives, state)
        return [*rows, *torch.autograd.grad(sum(each.square().sum() for each in rows), drives)]

    expected = derivatives()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = derivatives()
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    u, gradients = torch.randn(9, 4, 3), []
    for backward_inside in (is_inside, False):
        fused.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            value = fused(u)[0].float().square().sum()
            if backward_inside:
                value.backward()
        if not backward_inside:
            value.backward()
        gradients.append([parameter.grad.clone() for parameter in fused.parameters()])
    for inside, outside in zip(*gradients, strict=True):  # the products with the inputs are in bfloat16 in both
        assert (inside - outside).norm() <= 2.0**-7 * outside.norm()


@pytest.mark.parametrize("label", CELLS)
def test_a_checkpointed_call_has_the_same_gradients(label: str):
    fused, _ = pair(label, torch.float64)
    u = torch.randn(5, 2, 3, dtype=torch.float64).requires_grad_()
    by = [u, *fused.parameters()]
    expected = torch.autograd.grad(fused(u)[0].square().sum(), by, allow_unused=True)
    kept = checkpoint(lambda given: fused(given)[0], u, use_reentrant=False)
    found = torch.autograd.grad(kept.square().sum(), by, allow_unused=True)
    assert all(a is b or torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("label", CELLS)
@pytest.mark.parametrize("is_frozen", [False, True])
def test_forward_mode_is_an_error_and_not_a_wrong_number(label: str, is_frozen: bool):
    fused, _ = pair(label, torch.float64)
    fused.requires_grad_(not is_frozen)
    u = torch.randn(3, 2, 3, dtype=torch.float64)

    def by_hand() -> None:
        with forward_ad.dual_level():
            fused(forward_ad.make_dual(u, u))

    ways = [
        lambda: torch.func.jvp(lambda v: fused(v)[0], (u,), (u,)),
        lambda: torch.func.jacfwd(lambda v: fused(v)[0].sum())(u),
        by_hand,
        torch.no_grad()(by_hand),
    ]
    for way in ways:
        with pytest.raises(NotImplementedError, match=r"no forward-mode derivative.*Use reverse mode"):
            way()
    with forward_ad.dual_level():
        fused(u)  # no tangent, no error


@pytest.mark.parametrize("label", CELLS)
def test_each_sample_ends_at_its_own_length(label: str):
    fused, loop = pair(label, torch.float64)
    u = torch.randn(7, 3, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    lengths = torch.tensor([4, 0, 7])
    for ours, theirs in zip(everything(fused, u, lengths), everything(loop, u, lengths), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("label", only(["cornn explicit", "scornn"], "scornn"))
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


@pytest.mark.parametrize("is_strided", [pytest.param(False, marks=pytest.mark.slow), True])
def test_opcheck_of_all_operators_with_states_of_any_strides(is_strided: bool):
    generator = torch.Generator().manual_seed(4)

    def normal(*shape: int) -> torch.Tensor:
        if is_strided:
            return torch.randn(shape[::-1], generator=generator, dtype=torch.float64).permute(*range(len(shape))[::-1])
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def rows() -> list[torch.Tensor]:
        return [normal(4, 2, 3) for _ in range(5)]

    W, W_z, y0, z0, b, numbers = normal(3, 3), normal(3, 3), normal(2, 3), normal(2, 3), normal(3), (0.3, 1.1, 0.8, 0.3)
    ops, checked = torch.ops.odernn, 0
    for op, given in (
        (ops.coupled_forward, (normal(4, 2, 3), W, W_z, y0, z0, *numbers)),
        (ops.coupled_backward, (*rows(), W, W_z, y0, z0, *numbers)),
        (ops.coupled_backward, (None, *rows()[1:], W, W_z, y0, z0, *numbers)),
        (ops.orthogonal_forward, (normal(4, 2, 3), W, b, y0)),
        (ops.orthogonal_backward, (*rows()[:2], W, b, y0)),
        (ops.orthogonal_backward, (*rows()[:2], W, None, y0)),
    ):
        torch.library.opcheck(op, given)
        if op in (ops.coupled_forward, ops.orthogonal_forward):
            leaves = (g.detach().requires_grad_() if isinstance(g, torch.Tensor) else g for g in given)
            torch.library.opcheck(op, tuple(leaves))
        checked += 1
    assert checked == 6 and y0.is_contiguous() != is_strided


@pytest.mark.parametrize("label", CELLS)
def test_nan_inputs_give_nan(label: str):
    fused, _ = pair(label, torch.float32)
    u = torch.zeros(5, 2, 3)
    u[2, 1] = torch.nan
    output, _ = fused(u)
    assert output[2:, 1].isnan().all() and output[:, 0].isfinite().all() and output[:2].isfinite().all()


@pytest.mark.parametrize("label", only(["cornn explicit", "scornn"], "scornn"))
def test_a_second_derivative_is_refused_and_a_graph_is_traced(label: str):
    fused, _ = pair(label, torch.float64)
    u = torch.randn(3, 2, 3, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(fused(u)[0].square().sum(), u, create_graph=True)
    with pytest.raises(RuntimeError, match='execution="cpu" is differentiable once'):
        first.sum().backward()
    compiled = torch.compile(fused, backend="aot_eager", fullgraph=label != "scornn")
    assert torch.equal(compiled(u)[0], fused(u)[0])


def test_what_cannot_run_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match='execution is "cuda", but CoRNNLayer has "torch" and "cpu"'):
        CELLS["cornn explicit"](execution="cuda")
    for label in ("scornn", "exprnn"):
        with pytest.raises(ValueError, match='Layer has "torch", "cpu" and "cuda"'):
            CELLS[label](execution="parallel")
        with pytest.raises(ExecutionUnavailable, match=r'execution="cuda" cannot run here: .*Usable here: "torch"'):
            CELLS[label](execution="cuda")
    with pytest.raises(TypeError, match=r"x has dtype torch\.float16"):
        dense.orthogonal(torch.zeros(1, 1, 1).half(), W=torch.eye(1), b=None, h0=torch.zeros(1, 1))
    with pytest.raises(TypeError, match=r"W has dtype torch\.float64 but x has torch\.float32"):
        dense.orthogonal(torch.zeros(1, 1, 1), W=torch.eye(1).double(), b=None, h0=torch.zeros(1, 1))
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ExecutionUnavailable, match="numba, which is not installed"):
        CELLS["cornn explicit"](execution="cpu")


@pytest.mark.parametrize("label", ["cornn explicit", "scornn"])
def test_the_execution_of_a_network_is_that_of_its_layers(label: str):
    network = CELLS[label](bidirectional=True)
    assert network.execution == "torch" and "execution" not in repr(network).splitlines()[0]
    network.execution = "cpu"
    assert [layer.execution for layer in network.layers] == ["cpu"] * 4 and "execution='cpu'" in network.extra_repr()
    assert pickle.loads(pickle.dumps(network)).execution == "cpu"
    refused = 'execution is "parallel", but (CoRNN|ScoRNN)Layer has "torch"'
    for owner in (network, network.layers[1]):
        with pytest.raises(ValueError, match=refused):
            owner.execution = "parallel"
    assert network.execution == "cpu"
    network.layers[1].execution = "torch"
    with pytest.raises(ValueError, match="not the same in all layers"):
        _ = network.execution
    assert network(torch.zeros(2, 1, 3))[0].shape == (2, 1, 12)
    network.layers[1]._execution = "parallel"
    with pytest.raises(ValueError, match=refused):
        network(torch.zeros(2, 1, 3))
