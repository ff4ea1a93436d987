"""Every fused recurrence is its loop: rows, last states and every gradient, in float64 and float32."""

from __future__ import annotations

import itertools
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

from odernn import cells, executions
from odernn.executions import ExecutionUnavailable, dense
from tests.tiers import only, where

pytest.importorskip("numba", reason="the fused CPU execution needs the extra `fast`")
addresses = pytest.importorskip("odernn.executions.cpu.kernels.addresses")


def cell(name: str, **own: Any) -> Callable[..., nn.Module]:
    def make(size: int = 6, below: int = 3, layers: int = 2, **options: Any) -> nn.Module:
        return cells.get(name)(below, size, layers, **own, **options)

    return make


LIPSCHITZ = {"dt": 0.3, "beta_a": 0.7, "gamma_a": 0.1, "beta_w": 0.6, "gamma_w": 0.2}
CELLS = {
    "cornn explicit": cell("cornn", dt=0.3, gamma=1.3, epsilon=0.7),
    "cornn implicit": cell("cornn", dt=0.3, gamma=1.3, epsilon=0.7, damping="implicit", bias=False),
    "scornn": cell("scornn", rho=2, initial="glorot"),
    "scornn linear, learned start": cell("scornn", rho=2, bias=False, learn_initial_state=True),
    "exprnn": cell("exprnn"),
    "antisymmetric": cell("antisymmetric", dt=0.3, gamma=0.2),
    "antisymmetric gated": cell("antisymmetric", dt=0.3, gamma=0.2, gated=True),
    "lem": cell("lem", dt=0.7),
    "lipschitz euler": cell("lipschitz", **LIPSCHITZ),
    "lipschitz midpoint": cell("lipschitz", method="midpoint", **LIPSCHITZ),
    "arnn_1_2": cell("arnn_1_2", dt=0.3),
    "arnn_1_2 shared, relu": cell("arnn_1_2", dt=0.2, shared=True, activation="relu"),
    "arnn_2_2 leapfrog": cell("arnn_2_2", dt=0.2),
    "arnn_2_2 euler, relu": cell("arnn_2_2", dt=0.2, scheme="forward_euler", activation="relu", bias=False),
    "arnn_2_2 midpoint": cell("arnn_2_2", dt=0.3, scheme="explicit_midpoint"),
    "indrnn": cell("indrnn"),
    "indrnn tanh": cell("indrnn", activation="tanh"),
    "linoss imex": cell("linoss", dt=0.6),
    "linoss im": cell("linoss", dt=0.6, scheme="im"),
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
    assert len(CASES) == 19 * 5 * 2 * 2


def test_every_form_is_run_by_a_cell():
    """A new file of passes has a cell here, whose recurrence is compared with its loop."""
    made = {CELLS[label](execution="cpu").layers[0].dense_recurrence().name for label in CELLS}
    folder = Path(dense.__file__).parent / "passes"
    assert made == {path.stem for path in folder.glob("[!_]*.py")} and len(made) == 12


def is_long(case: tuple[str, int, torch.dtype, bool]) -> bool:
    """Not so: of every cell three steps in both directions, no step in one dtype, and many in the other, in one."""
    _, steps, dtype, bidirectional = case
    alone = {0: torch.float32, 101: torch.float64}
    return bidirectional != (steps == 3) or steps in (1, 2) or alone.get(steps, dtype) != dtype


@pytest.mark.parametrize(("label", "steps", "dtype", "bidirectional"), where(CASES, is_long))
def test_the_fused_recurrence_is_the_loop(label: str, steps: int, dtype: torch.dtype, bidirectional: bool):
    assert_is_the_loop(label, steps, dtype, bidirectional)


def assert_is_the_loop(
    label: str, steps: int, dtype: torch.dtype, bidirectional: bool, batch: int = 4, **sizes: int
) -> None:
    fused, loop = pair(label, dtype, bidirectional=bidirectional, **sizes)
    u = torch.randn(steps, batch, fused.input_size, generator=torch.Generator().manual_seed(1), dtype=dtype)
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


@pytest.mark.parametrize(("batch", "size", "below"), [(13, 37, 2), (1, 1, 17), (2, 16, 1)])
@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("label", only(CELLS, "lem", "scornn", "linoss im"))
def test_sizes_that_fill_no_vector_no_tile_and_no_panel(label, dtype, batch, size, below):
    if label.startswith("scornn") and size == 1:
        pytest.skip("scoRNN has rho = 2 negative signs")
    assert_is_the_loop(label, 5, dtype, False, batch, size=size, below=below, layers=1)


@pytest.mark.parametrize("label", ["lem", "lipschitz midpoint", "scornn", "linoss im", "antisymmetric gated"])
def test_pieces_of_time_and_threads_change_no_state_and_hardly_a_gradient(label, monkeypatch: pytest.MonkeyPatch):
    """What is summed over time is summed in another order, a piece at a time; nothing else depends on either."""
    from odernn.executions.cpu import threads
    from odernn.executions.dense import walk

    fused, _ = pair(label, torch.float64, size=11)
    u = torch.randn(150, 20, 3, dtype=torch.float64)
    expected = everything(fused, u)
    monkeypatch.setattr(walk, "PIECE_BYTES", 20 * 11 * 8 * 5 * 13)
    monkeypatch.setattr(walk, "WORK_A_THREAD", 1)
    monkeypatch.setattr(threads, "PRODUCT_A_THREAD", 1)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        found = everything(fused, u)
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                output, _ = fused(u)
            assert torch.allclose(output, expected[0], rtol=1e-12, atol=1e-12)
    finally:
        torch.set_num_threads(before)
    states = 1 + len(fused.layers[0].state_names)
    assert all(map(torch.equal, found[:states], expected[:states]))
    for ours, theirs in zip(found[states:], expected[states:], strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-12 * float(theirs.abs().max()))


# --- planted faults

PASSES, WEIGHTS, VECTORS, NUMBERS = 1, 3, 4, 13
"""Where a kernel of the walk has them among its arguments, backwards; forwards the vectors are one further on."""


def with_another_number(true: Callable[..., None]) -> Callable[..., None]:
    def walk(*given: Any) -> None:
        numbers = given[NUMBERS].copy()
        numbers[3] = 0.0 if numbers[3] == 1.0 else numbers[3] + 0.5  # dt, or 1: there is a mask, σ is relu
        true(*given[:NUMBERS], numbers, *given[NUMBERS + 1 :])

    return walk


def with_the_stages_in_the_wrong_order(true: Callable[..., None]) -> Callable[..., None]:
    def walk(*given: Any) -> None:
        true(given[0], given[PASSES][::-1].copy(), *given[PASSES + 1 :])

    return walk


def soft_threshold(true: Callable[..., None]) -> Callable[..., None]:
    def walk(*given: Any) -> None:
        negated = torch.full((8, 6), -0.4, dtype=torch.from_numpy(given[0]).dtype)
        true(*given[: VECTORS + 1], np.array([negated.data_ptr()]), *given[VECTORS + 2 :])

    return walk


def not_transposed(true: Callable[..., Any]) -> Callable[..., Any]:
    return lambda walk, is_transposed: true(walk, False)


FAULTS = [
    *((label, "backward", with_another_number) for label in CELLS if label != "scornn linear, learned start"),
    *((label, "backward", with_the_stages_in_the_wrong_order) for label in ("lem", "arnn_1_2", "lipschitz midpoint")),
    ("scornn", "forward", soft_threshold),
]


@pytest.mark.parametrize(("label", "kernel", "fault"), FAULTS)
def test_a_planted_fault_is_not_the_loop(label, kernel, fault, monkeypatch: pytest.MonkeyPatch):
    from odernn.executions.cpu.kernels import walk

    monkeypatch.setattr(walk, kernel, fault(getattr(walk, kernel)))
    with pytest.raises(AssertionError):
        assert_is_the_loop(label, 20, torch.float64, False)


@pytest.mark.parametrize(
    "label", [label for label in CELLS if label.split()[0] not in ("indrnn", "linoss", "arnn_1_2")]
)
def test_a_matrix_in_the_place_of_its_transpose_is_not_the_loop(label, monkeypatch: pytest.MonkeyPatch):
    from odernn.executions.dense.walk import DenseWalk

    monkeypatch.setattr(DenseWalk, "_packed", not_transposed(DenseWalk._packed))
    with pytest.raises(AssertionError):
        assert_is_the_loop(label, 20, torch.float64, False)


def a_gate_without_its_slope(p: Any, c: Any, count: int) -> None:
    """``passes.lem._backward_y`` with σ̂ in the place of σ̂ (1 − σ̂)."""
    one, dt = c[1], c[3]
    for j in range(0, count, addresses.width(p)):
        P, gate, target = addresses.get(p, 8, j), addresses.get(p, 5, j), addresses.get(p, 7, j)
        moved = dt * gate * P
        addresses.put(p, 13, j, moved * (one - target * target))
        addresses.put(p, 11, j, moved * (target - addresses.get(p, 0, j)))
        addresses.put(p, 8, j, P - moved)


def test_a_pass_with_a_wrong_derivative_is_not_the_loop(monkeypatch: pytest.MonkeyPatch):
    from odernn.executions.dense import walk
    from odernn.executions.dense.passes import lem

    monkeypatch.setattr(lem, "backward", (lem.backward[0], a_gate_without_its_slope))
    monkeypatch.setattr(walk, "compiled_passes", walk.compiled_passes.__wrapped__)
    with pytest.raises(AssertionError):
        assert_is_the_loop("lem", 20, torch.float64, False)


SOME = only(CELLS, "cornn explicit", "scornn", "lem", "indrnn")
"""Where one operator answers for all of them."""


@pytest.mark.parametrize("label", SOME)
@pytest.mark.parametrize("is_inside", [False, True])
def test_autocast_takes_no_digits_from_the_recurrence_or_its_derivative(label: str, is_inside: bool):
    """Also where backward() is called inside: the same operator, the same bits."""
    fused, _ = pair(label, torch.float32)
    x = fused.layers[0].drives(torch.randn(9, 4, 3)).detach()

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


@pytest.mark.parametrize("label", SOME)
def test_a_checkpointed_call_has_the_same_gradients(label: str):
    fused, _ = pair(label, torch.float64)
    u = torch.randn(5, 2, 3, dtype=torch.float64).requires_grad_()
    by = [u, *fused.parameters()]
    expected = torch.autograd.grad(fused(u)[0].square().sum(), by, allow_unused=True)
    kept = checkpoint(lambda given: fused(given)[0], u, use_reentrant=False)
    found = torch.autograd.grad(kept.square().sum(), by, allow_unused=True)
    assert all(a is b or torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("label", SOME)
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


def arguments_of(label: str, normal: Callable[..., torch.Tensor], *, has_inputs: bool) -> tuple[Any, ...]:
    """Of ``dense_forward`` for the first layer of a cell with random weights; x itself, or u, V and b."""
    layer = CELLS[label](execution="cpu", size=3, dtype=torch.float64).layers[0]
    given, names = layer.dense_recurrence(), layer.state_names
    matrices = [normal(*each.shape) for each in given.matrices.values()]
    vectors = [normal(*each.shape).abs() for each in given.vectors.values()]
    rows = len(layer.drive_weights()[0])
    u, V, b = (normal(4, 2, 2), normal(rows, 2), normal(rows)) if has_inputs else (normal(4, 2, rows), None, None)
    return (
        given.name,
        u,
        V,
        b,
        matrices,
        vectors,
        [normal(2, 3) for _ in names],
        torch.tensor([float(number) for number in given.numbers], dtype=torch.float64),
    )


ONCE_A_FORM = ["cornn explicit", "scornn", "antisymmetric", "antisymmetric gated", "lem", "lipschitz euler"]
ONCE_A_FORM += ["lipschitz midpoint", "arnn_1_2", "arnn_2_2 leapfrog", "arnn_2_2 midpoint", "indrnn tanh", "linoss im"]


@pytest.mark.parametrize("has_inputs", [False, True])
@pytest.mark.parametrize("label", only(ONCE_A_FORM, "scornn", "lem"))
def test_gradcheck(label: str, has_inputs: bool):
    generator = torch.Generator().manual_seed(3)
    drawn = lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64)  # noqa: E731
    name, u, V, b, *lists, numbers = arguments_of(label, drawn, has_inputs=has_inputs)
    counts, leaves = [len(each) for each in lists], [u, *([V, b] if has_inputs else []), *itertools.chain(*lists)]

    def run(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first, rest = (given[:3], given[3:]) if has_inputs else ((given[0], None, None), given[1:])
        groups, remaining = [], iter(rest)
        for count in counts:
            groups.append([next(remaining) for _ in range(count)])
        return tuple(torch.ops.odernn.dense_forward(name, *first, *groups, numbers)[:-1])

    assert torch.autograd.gradcheck(run, [leaf.requires_grad_() for leaf in leaves])


@pytest.mark.parametrize("is_strided", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("label", only(ONCE_A_FORM, "lem"))
def test_opcheck_of_both_operators_with_arguments_of_any_strides(label: str, is_strided: bool):
    generator = torch.Generator().manual_seed(4)

    def normal(*shape: int) -> torch.Tensor:
        if is_strided:
            return torch.randn(shape[::-1], generator=generator, dtype=torch.float64).permute(*range(len(shape))[::-1])
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    ops = torch.ops.odernn
    for has_inputs in (False, True):
        given = arguments_of(label, normal, has_inputs=has_inputs)
        torch.library.opcheck(ops.dense_forward, given)
        rows = [normal(*row.shape) for row in ops.dense_forward(*given)]
        asked = [None, *(normal(*row.shape) for row in rows[1:-1])]
        torch.library.opcheck(ops.dense_backward, (given[0], asked, rows, *given[1:], has_inputs))
    u = given[1].detach().requires_grad_()
    torch.library.opcheck(ops.dense_forward, (given[0], u, *given[2:]))


@pytest.mark.parametrize("label", CELLS)
def test_nan_inputs_give_nan(label: str):
    fused, _ = pair(label, torch.float32)
    u = torch.zeros(5, 2, 3)
    u[2, 1] = torch.nan
    output, _ = fused(u)
    assert output[2:, 1].isnan().all() and output[:, 0].isfinite().all() and output[:2].isfinite().all()


LARGE = [0.0, -0.0, 3e19, -3e19, torch.inf, -torch.inf, torch.nan]


def relu_once(x: torch.Tensor) -> torch.Tensor:
    weights = torch.zeros(len(LARGE))
    recurrence = dense.DenseRecurrence("independent", {}, (1.0,), {"w": weights})
    return dense.rows(recurrence, (torch.zeros(1, len(LARGE)),), x)[0]


def test_relu_of_what_overflows_is_relu():
    """Squares of 3e19 are ∞ in float32."""
    x = torch.tensor(LARGE).view(1, 1, -1).requires_grad_()
    found, expected = relu_once(x), torch.relu(x)
    assert torch.equal(found.nan_to_num(7.0), expected.nan_to_num(7.0))
    ours, theirs = (torch.autograd.grad(each.sum(), x)[0].flatten() for each in (found, expected))
    assert torch.equal(ours[:-1], theirs[:-1]) and ours[-1].isnan()


def test_modrelu_of_what_overflows_is_modrelu():
    x = torch.tensor(LARGE).view(1, 1, -1).requires_grad_()
    b = torch.full((len(LARGE),), -0.5, requires_grad=True)
    none = torch.zeros(len(LARGE), len(LARGE))
    found = dense.orthogonal(x, W=none, b=b, h0=torch.zeros(1, len(LARGE)))
    expected = torch.sign(x) * torch.relu(x.abs() + b)
    expected = torch.where(x.isnan(), x, expected)
    assert torch.equal(found.nan_to_num(7.0), expected.nan_to_num(7.0))
    by_x, by_b = torch.autograd.grad(found.sum(), (x, b))
    assert by_x.flatten()[:-1].tolist() == [0.0, 0.0, 1.0, 1.0, 1.0, 1.0] and by_x.flatten()[-1].isnan()
    assert by_b[:-1].tolist() == [0.0, 0.0, 1.0, -1.0, 1.0, -1.0]


@pytest.mark.parametrize("label", only(CELLS, "scornn", "lem"))
def test_a_second_derivative_is_refused_and_a_graph_is_traced(label: str):
    fused, _ = pair(label, torch.float64)
    u = torch.randn(3, 2, 3, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(fused(u)[0].square().sum(), u, create_graph=True)
    with pytest.raises(RuntimeError, match='execution="cpu" is differentiable once'):
        first.sum().backward()
    torch.compiler.reset()  # else all cells are one function compiled again and again, which has a limit
    compiled = torch.compile(fused, backend="aot_eager", fullgraph="scornn" not in label)
    assert torch.equal(compiled(u)[0], fused(u)[0])


@pytest.mark.parametrize("label", only([label for label in CELLS if "scornn" not in label], "lem"))
def test_an_exported_network_is_the_network(label: str):
    fused, _ = pair(label, torch.float64)
    u = torch.randn(3, 2, 3, dtype=torch.float64)
    exported = torch.export.export(fused, (u,))
    assert torch.equal(exported.module()(u + 1.0)[0], fused(u + 1.0)[0])


def with_a_part(given: tuple[Any, ...], index: int, part: Any) -> tuple[Any, ...]:
    return *given[:index], part, *given[index + 1 :]


def wrong_shapes(given: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """The arguments of ``dense_forward`` with one part that kernels would read beyond, or read wrongly."""
    _, u, V, b, matrices, vectors, first, numbers = given
    for part in (u[:, :1], u[:, :, :1], torch.cat((u, u), 1), u[0]):
        yield with_a_part(given, 1, part), "shape"
    for index, part in ((2, V), (3, b)):
        if part is not None:
            yield with_a_part(given, index, part[:1]), "shape"
    for index, parts in ((4, matrices), (5, vectors), (6, first)):
        yield with_a_part(given, index, [*parts, u[0]]), "are given"
        for k, part in enumerate(parts):
            yield with_a_part(given, index, parts[:k] + parts[k + 1 :]), "are given"
            yield with_a_part(given, index, [*parts[:k], part[:-1], *parts[k + 1 :]]), "shape"
    for part in (numbers[:-1], torch.cat((numbers, numbers)), numbers[0]):
        yield with_a_part(given, 7, part), "shape"
    if V is None:
        yield with_a_part(given, 3, u.new_zeros(u.shape[2])), "without V"


@pytest.mark.parametrize("has_inputs", [False, True])
@pytest.mark.parametrize("label", ONCE_A_FORM)
def test_a_wrong_shape_is_refused_before_it_is_read(label: str, has_inputs: bool):
    """On meta the fake of the operator refuses it; there nothing could be read."""
    given = arguments_of(label, lambda *shape: torch.ones(shape, dtype=torch.float64), has_inputs=has_inputs)
    ops = torch.ops.odernn
    rows = ops.dense_forward(*given)
    asked = [None, *rows[1:-1]]
    backward = (given[0], asked, rows, *given[1:], True)
    ops.dense_backward(*backward)
    to_meta = lambda value: torch.utils._pytree.tree_map_only(torch.Tensor, lambda each: each.to("meta"), value)  # noqa: E731
    for wrong, reason in wrong_shapes(given):
        for arguments in (wrong, to_meta(wrong)):
            with pytest.raises(ValueError, match=f"{reason}.* Give "):
                ops.dense_forward(*arguments)
        with pytest.raises(ValueError, match=f"{reason}.* Give "):
            ops.dense_backward(given[0], asked, rows, *wrong[1:], True)
    for index, part in ((1, asked[1:]), (2, rows[1:]), (2, [row[:-1] for row in rows]), (1, [rows[0][1:], *asked[1:]])):
        for arguments in (with_a_part(backward, index, part), to_meta(with_a_part(backward, index, part))):
            with pytest.raises(ValueError, match=r"are given|shape"):
                ops.dense_backward(*arguments)
    with pytest.raises(TypeError, match=r"state 1 has dtype torch\.float32"):
        ops.dense_forward(*with_a_part(given, 6, [each.float() for each in given[6]]))


def test_a_derivative_by_numbers_is_refused_and_is_not_zero():
    name, u, *others, numbers = arguments_of("cornn explicit", lambda *s: torch.ones(s).double(), has_inputs=True)
    fused, _ = pair("cornn explicit", torch.float64)
    dt, x = fused.layers[0].dt, torch.ones(2, 1, 3, dtype=torch.float64)

    def by_dt(value: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(fused, {"layers.0.dt": value}, (x,))[0].sum()

    def by_the_operator() -> None:
        given = numbers.clone().requires_grad_()
        torch.autograd.grad(torch.ops.odernn.dense_forward(name, u, *others, given)[0].sum(), given)

    for way in (
        by_the_operator,
        lambda: torch.func.grad(by_dt)(dt),
        lambda: by_dt(dt.clone().requires_grad_()).backward(),
    ):
        with pytest.raises(NotImplementedError, match=r"no derivative by the numbers of the recurrence 'coupled'"):
            way()
    torch.autograd.grad(by_dt(dt), fused.layers[0].W)  # dt has none, no error


def test_a_layer_refuses_states_of_another_batch_and_no_numbers():
    x, h0 = torch.zeros(3, 1, 4), torch.zeros(64, 4)
    with pytest.raises(ValueError, match=r"state 1 has shape \(64, 4\).*'orthogonal'.*takes \(1, 4\)"):
        dense.orthogonal(x, W=torch.eye(4), b=None, h0=h0)
    with pytest.raises(ValueError, match=r"vector 1 has shape \(1,\).*takes \(4,\)"):
        dense.orthogonal(x, W=torch.eye(4), b=torch.zeros(1), h0=h0[:1])
    with pytest.raises(ValueError, match=r"numbers has shape \(0,\)"):
        dense.rows(dense.DenseRecurrence("orthogonal", {"W": torch.eye(4)}, (), {"b": torch.zeros(4)}), (h0[:1],), x)


def test_a_matrix_after_a_stage_without_one_has_its_own_derivative(monkeypatch: pytest.MonkeyPatch):
    """Σ_n g_n v_nᵀ, by the only matrix, of the second stage."""
    from odernn.executions.dense import walk

    stages = (dense.DenseStage(sources=0, results=0), dense.DenseStage(source=1, gradient=1))
    form = dense.Form(states=1, kept=1, drives=(0,), gradients=2, stages=stages)
    monkeypatch.setattr(walk, "form_of", lambda name: form)
    drawn = torch.Generator().manual_seed(0)
    x, y, v, g = torch.randn(4, 3, 2, 5, generator=drawn, dtype=torch.float64)
    given = walk.DenseWalk("planted", walk.DenseInputs(x, None, None), [torch.eye(5).double()], [], [y[0]], y[0, 0, :1])
    costates = walk.DenseCostates(given, [y, v[None]], True)
    costates._collect([x, g], 0, 3)
    assert torch.allclose(costates.by_matrices[0], torch.einsum("nbi,nbj->ij", g, v), rtol=1e-14)


@pytest.mark.skipif(executions.available()["cuda"] is None, reason="there is a CUDA device")
@pytest.mark.parametrize("label", ["scornn", "exprnn"])
def test_without_a_device_the_reason_is_named(label: str):
    with pytest.raises(ExecutionUnavailable, match=r'execution="cuda" cannot run here: .*Usable here: "torch"'):
        CELLS[label](execution="cuda")


def test_what_cannot_run_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch):
    for label in CELLS:
        if not label.startswith(("scornn", "exprnn")):
            with pytest.raises(
                ValueError, match=r'execution is "cuda", but \w+Layer has "torch".* On a GPU, choose "torch"'
            ):
                CELLS[label](execution="cuda")
    for label in ("scornn", "exprnn"):
        with pytest.raises(ValueError, match='Layer has "torch", "cpu" and "cuda"'):
            CELLS[label](execution="parallel")
    with pytest.raises(TypeError, match=r"x has dtype torch\.float16"):
        dense.orthogonal(torch.zeros(1, 1, 1).half(), W=torch.eye(1), b=None, h0=torch.zeros(1, 1))
    with pytest.raises(TypeError, match=r"W has dtype torch\.float64 but x has torch\.float32"):
        dense.orthogonal(torch.zeros(1, 1, 1), W=torch.eye(1).double(), b=None, h0=torch.zeros(1, 1))
    monkeypatch.setitem(sys.modules, "numba", None)
    for label in CELLS:
        with pytest.raises(ExecutionUnavailable, match="numba, which is not installed"):
            CELLS[label](execution="cpu")


@pytest.mark.parametrize("label", [label for label in CELLS if "linoss" not in label])
def test_the_execution_of_a_network_is_that_of_its_layers(label: str):
    network = CELLS[label](bidirectional=True)
    assert network.execution == "torch" and "execution" not in repr(network).splitlines()[0]
    network.execution = "cpu"
    assert [layer.execution for layer in network.layers] == ["cpu"] * 4 and "execution='cpu'" in network.extra_repr()
    assert pickle.loads(pickle.dumps(network)).execution == "cpu"
    refused = r'execution is "parallel", but \w+Layer has "torch"'
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
