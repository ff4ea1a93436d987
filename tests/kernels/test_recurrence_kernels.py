"""The kernels are equation (U) and its gradient: every mode, every shape, against the float64 torch loop."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad

from cuda.odernn_kernels import emulator, execution, launches, module, operations
from cuda.odernn_kernels.emulator import Order
from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher
from odernn.executions import torch_loop
from odernn.executions.recurrence import ReconstructionWarning
from tests.kernels import problems
from tests.kernels.broken import broken
from tests.tiers import slow, without

STEPS = (0, 1, 2, 3, 8, 101)
SHAPES = ((1, 1), (3, 5), (1, 33))
SINGLE, DOUBLE = torch.float32, torch.float64
MODES = (
    ("stored", SINGLE),
    ("reversible", SINGLE),
    ("exact", SINGLE),
    ("stored", DOUBLE),
    ("reversible", DOUBLE),
)
KERNELS = {
    "stored": ("forward", "stored"),
    "reversible": ("forward_checkpoints", "reversible"),
    "exact": ("exact_forward", "exact_backward"),
}


def check(given: Any, mode: str, dtype: torch.dtype) -> None:
    found, gradients = given.run(execution, backward=mode)
    expected, by_oracle = problems.oracle(given)
    assert found.backward == mode and found.execution == "cuda" and found.y.dtype == dtype
    # In float64 the loop is no better than the kernel: each may be off.
    y, z = ((1 if dtype == SINGLE else 2) * error for error in problems.admitted(given, dtype))
    for one, other, tolerance in (
        (found.y, expected.y, y),
        (found.y_last, expected.y_last, y),
        (found.z_last, expected.z_last, z),
    ):
        assert ((one.double() - other).abs() <= tolerance).all()
    tolerance = problems.gradient_tolerance(given.steps, dtype)
    for name in problems.NAMES:
        assert problems.relative(gradients[name], by_oracle[name]) <= tolerance, name


@pytest.mark.parametrize(("mode", "dtype"), MODES)
@pytest.mark.parametrize(("batch", "hidden"), without(SHAPES, (1, 1)))
@pytest.mark.parametrize("steps", without(STEPS, 8))
def test_outputs_and_gradients_are_those_of_the_loop(
    launcher: EmulatedLauncher, steps: int, batch: int, hidden: int, mode: str, dtype: torch.dtype
) -> None:
    for ragged in (False, True):
        check(problems.problem(steps, batch, hidden, ragged=ragged, dtype=dtype), mode, dtype)
    suffix = "f32" if dtype == SINGLE else "f64"
    assert set(launcher.launched) == {f"{kernel}_{suffix}" for kernel in KERNELS[mode]}


@pytest.mark.parametrize(("mode", "dtype"), MODES[:3])
def test_a_long_sequence_with_checkpoints(launcher: EmulatedLauncher, mode: str, dtype: torch.dtype) -> None:
    """784 steps have three checkpoints; a sample that ends at one, and just behind it."""
    given = problems.problem(784, 3, 1)
    check(problems.replace(given, lengths=torch.tensor([784, 512, 513])), mode, dtype)


@pytest.mark.parametrize("mode", ["stored", "reversible", "exact"])
def test_rows_beyond_a_sample_are_zero_and_never_read(launcher: EmulatedLauncher, mode: str) -> None:
    given = problems.problem(19, 3, 2)
    lengths = torch.tensor([19, 0, 10])
    beyond = torch.arange(19).unsqueeze(1) >= lengths
    given.arguments["x"][beyond] = torch.nan
    found, gradients = problems.replace(given, lengths=lengths).run(execution, backward=mode)
    assert not found.y[beyond].any() and not gradients["x"][beyond].any()
    assert all(value.isfinite().all() for value in (found.y, found.y_last, found.z_last, *gradients.values()))
    assert torch.equal(found.y_last[1], given.arguments["y0"][1])


@pytest.mark.parametrize(("steps", "columns"), [(1024, 1), slow((2500, 2)), slow((5000, 3))])
def test_the_scan_is_the_recurrence(launcher: EmulatedLauncher, steps: int, columns: int) -> None:
    given = problems.problem(steps, 1, columns)
    check(given, "stored", SINGLE)
    check(problems.replace(given, lengths=torch.tensor([steps - 777])), "stored", SINGLE)
    assert launcher.launched == ["scan_forward_f32", "scan_backward_f32"] * 2


def raw_scan(given: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of y of the scan, and its (rounds, tiles run step by step) per column."""
    a = given.arguments
    x = a["x"]
    block = launches.problem(x, a["w"], a["step_size"], a["alpha"], None)
    y, lasts = torch.empty_like(x), torch.empty(2, *x.shape[1:])
    rounds = torch.empty((2, *x.shape[1:]), dtype=torch.int64)
    tensors = (a["y0"], a["z0"], y, *lasts, rounds)
    launches.launch("scan_forward_f32", x, x.shape[1] * x.shape[2], block, tensors)
    return y, rounds.reshape(2, -1)


def test_the_scan_settles_in_a_few_rounds(launcher: EmulatedLauncher) -> None:
    _, rounds = raw_scan(problems.problem(2048, 1, 2))
    assert (rounds[1] == 0).all() and (rounds[0] <= 2 * 8).all()


def test_a_tile_that_does_not_settle_is_run_step_by_step(launcher: EmulatedLauncher) -> None:
    """Where Newton fails the answer is the sequential one, bit for bit."""
    given = problems.problem(3 * 1024, 1, 1)
    given.arguments.update(w=torch.tensor([8.0]), step_size=torch.full((1, 1), 0.4), alpha=torch.tensor(0.0))
    y, rounds = raw_scan(given)
    assert rounds.flatten().tolist() == [24 + 12 + 6, 3]
    sequential = operations.states(*(given.arguments[k] for k in problems.NAMES))[0]
    assert torch.equal(y, sequential)


def check_nan(given: Any, mode: str, where: str) -> None:
    """One NaN, into column 0 of sample 1, or into column 0 of both samples by a coefficient that they share."""
    at, shared = {"x": (17, 1, 0), "w": (0,)}.get(where, (1, 0)), where == "w"
    given.arguments[where][at] = torch.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReconstructionWarning)  # a NaN says nothing about the reconstruction
        found, gradients = given.run(execution, backward=mode)
    expected = torch.zeros_like(found.y, dtype=torch.bool)
    expected[17 if where == "x" else 0 :, slice(None) if shared else 1, 0] = True
    assert torch.equal(found.y.isnan(), expected)
    assert torch.equal(found.y_last.isnan(), expected[-1]) and torch.equal(found.z_last.isnan(), expected[-1])
    first = 18 if where == "x" else 1
    assert gradients["x"][:first][expected[-1].expand(first, *expected[-1].shape)].isnan().all()
    assert gradients["x"][:, ~expected[-1]].isfinite().all()
    for name in ("step_size", "y0", "z0"):
        assert torch.equal(gradients[name].isnan(), expected[-1]), name
    assert gradients["w"].isnan().tolist() == [True, *[False] * (len(gradients["w"]) - 1)]
    assert gradients["alpha"].isnan()


@pytest.mark.timeout(400, method="thread")  # the emulator hears no signal
@pytest.mark.parametrize("where", ["x", "w", "step_size", "y0", "z0"])
@pytest.mark.parametrize(
    ("steps", "mode", "dtype"), [(40, *each) for each in MODES] + [slow((1100, *each)) for each in MODES[:3]]
)
def test_a_nan_gives_nan_from_there_on_and_no_hang(
    launcher: EmulatedLauncher, steps: int, where: str, mode: str, dtype: torch.dtype
) -> None:
    check_nan(problems.problem(steps, 2, 2, dtype=dtype), mode, where)
    is_scan = steps == 1100 and mode == "stored" and dtype == SINGLE
    assert ("scan_forward_f32" in launcher.launched) == is_scan


def test_a_clamp_that_drops_nan_is_noticed(compiler: None) -> None:
    """The planted fault: fmin in the place of the comparison, in tanh."""
    text = emulator.sources()["arithmetic.cuh"]
    sound, faulty = "size > 9.02f ? 9.02f : size", "size < 9.02f ? size : 9.02f"
    assert text.count(sound) == 1
    built = broken({"arithmetic.cuh": text.replace(sound, faulty)}, only=["forward.cu", "backward.cu"])
    with module.using(EmulatedLauncher(built)), pytest.raises(AssertionError):
        check_nan(problems.problem(40, 2, 2), "stored", "x")


ORDERED = [("stored", 21), ("reversible", 21), ("exact", 21), ("stored", 1100)]


@pytest.mark.parametrize(("mode", "steps"), ORDERED)
def test_the_order_of_the_threads_changes_no_bit(launcher: EmulatedLauncher, mode: str, steps: int) -> None:
    given = problems.problem(steps, 2 if steps < 100 else 1, 3 if steps < 100 else 1)
    seen = []
    for order in Order:
        launcher.order = order
        found, gradients = given.run(execution, backward=mode)
        seen.append((found.y, found.y_last, found.z_last, *gradients.values()))
    assert len(seen) == 3
    for other in seen[1:]:
        assert all(torch.equal(a, b) for a, b in zip(seen[0], other, strict=True))


@pytest.mark.parametrize("mode", ["stored", "reversible", "exact"])
@pytest.mark.parametrize(("steps", "finite"), [(40, True), (100, False), (400, False)])
def test_what_overflows_is_infinite_or_nan_as_in_the_loop(
    launcher: EmulatedLauncher, mode: str, steps: int, finite: bool
) -> None:
    """h²α > 4: no step size for α = 20. Finite as long as the loop is, and never a finite number afterwards."""
    x = torch.randn(steps, 1, 2, generator=torch.Generator().manual_seed(0))
    leaves = [x.requires_grad_(), torch.tensor([1.0, -1.0], requires_grad=True)]
    rest = {"step_size": 0.495, "alpha": 20.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReconstructionWarning)
        found = execution.outputs(leaves[0], w=leaves[1], **rest, backward=mode)
        gradients = torch.autograd.grad(found.y.sum(), leaves)
    loop = torch_loop.outputs(leaves[0], w=leaves[1], **rest)
    assert torch.equal(found.y.isfinite(), loop.y.isfinite())
    for value in (found.y_last, found.z_last, *gradients):
        assert value.isfinite().all() if finite else not value.isfinite().any()


def derivative_forwards(run: Any, x: torch.Tensor, way: str) -> None:
    if way == "dual":
        with forward_ad.dual_level():
            run(forward_ad.make_dual(x, torch.ones_like(x)))
    elif way == "cotangent":
        leaf = x.clone().requires_grad_()
        y = run(leaf)
        with forward_ad.dual_level():
            torch.autograd.grad(y, leaf, forward_ad.make_dual(torch.ones_like(y), torch.ones_like(y)))
    elif way == "jacfwd":
        torch.func.jacfwd(run)(x)
    else:
        torch.func.jvp(run, (x,), (torch.ones_like(x),))


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("way", ["jvp", "jacfwd", "dual", "cotangent"])
@pytest.mark.parametrize("mode", ["stored", "reversible", "exact", "states", "inverse", "backward"])
def test_forward_mode_is_an_error_and_not_a_wrong_number(launcher: EmulatedLauncher, mode: str, way: str) -> None:
    a = dict(problems.problem(5, 2, 3).arguments)
    x, y0, z0 = a.pop("x"), a.pop("y0"), a.pop("z0")

    def run(v: torch.Tensor) -> torch.Tensor:
        if mode == "inverse":
            return execution.inverse(v, **a, y_last=y0, z_last=z0).y
        if mode == "backward":
            return execution.backward(v, **a, states=torch_loop.forward(x, **a), grad_y=x).x
        if mode == "states":
            return execution.forward(v, **a).y
        return execution.outputs(v, **a, backward=mode).y

    if mode in ("inverse", "backward") and way == "cotangent":
        with pytest.raises(RuntimeError):  # no derivative at all
            derivative_forwards(run, x, way)
        return
    with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
        derivative_forwards(run, x, way)


def test_all_rows_and_their_inverse(launcher: EmulatedLauncher) -> None:
    for dtype in (SINGLE, DOUBLE):
        given = problems.problem(37, 2, 17, dtype=dtype)
        rest = {k: v for k, v in given.arguments.items() if k != "x"}
        found = execution.forward(given.arguments["x"], **rest)
        expected = torch_loop.forward(**given.to(DOUBLE).arguments)
        y, z = problems.admitted(given, dtype)
        assert ((found.y.double() - expected.y).abs() <= y).all() and ((found.z.double() - expected.z).abs() <= z).all()
        del rest["y0"], rest["z0"]
        back = execution.inverse(given.arguments["x"], **rest, y_last=found.y_last, z_last=found.z_last)
        for name in ("y", "z", "y0", "z0"):
            assert ((getattr(back, name) - getattr(found, name)).abs() <= (y if "y" in name else z)).all()


def test_rows_of_z_have_gradients_too(launcher: EmulatedLauncher) -> None:
    given = problems.problem(21, 2, 3, dtype=DOUBLE)
    by = []
    for run in (execution.forward, torch_loop.forward):
        leaves = {k: v.clone().requires_grad_() for k, v in given.arguments.items()}
        found = run(leaves["x"], **{k: v for k, v in leaves.items() if k != "x"})
        energy = (found.y * given.cotangents[0]).sum() + (found.z * given.cotangents[0].flip(0)).sum()
        by.append(torch.autograd.grad(energy, list(leaves.values())))
    for one, other in zip(*by, strict=True):
        assert problems.relative(one, other) <= problems.gradient_tolerance(21, DOUBLE)


def test_backward_is_the_hand_written_one(launcher: EmulatedLauncher) -> None:
    given = problems.problem(21, 2, 3, dtype=DOUBLE)
    a = given.arguments
    coefficients = {k: a[k] for k in ("w", "step_size", "alpha")}
    states = torch_loop.forward(**a)
    rows, y_last, z_last = given.cotangents
    options = {"states": states, "grad_y": rows, "grad_y_last": y_last, "grad_z_last": z_last}
    found = execution.backward(a["x"], **coefficients, **options)
    expected = torch_loop.backward(a["x"], **coefficients, **options)
    for name in problems.NAMES:
        assert getattr(found, name).shape == a[name].shape
        assert problems.relative(getattr(found, name), getattr(expected, name)) <= 1e-14


@pytest.mark.parametrize("mode", ["stored", "reversible"])
def test_gradcheck(launcher: EmulatedLauncher, mode: str) -> None:
    given, ends = problems.problem(6, 2, 2, dtype=DOUBLE), torch.tensor([6, 4])

    def run(*values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = execution.outputs(
            values[0], **dict(zip(problems.NAMES[1:], values[1:], strict=True)), lengths=ends, backward=mode
        )
        return found.y, found.y_last, found.z_last

    leaves = [given.arguments[k].clone().requires_grad_() for k in problems.NAMES]
    assert torch.autograd.gradcheck(run, leaves)


def test_second_derivatives_are_refused_and_not_wrong(launcher: EmulatedLauncher) -> None:
    given = problems.problem(5, 1, 2)
    leaves = {k: v.clone().requires_grad_() for k, v in given.arguments.items()}
    found = execution.outputs(leaves["x"], **{k: v for k, v in leaves.items() if k != "x"})
    (first,) = torch.autograd.grad(found.y.square().sum(), leaves["x"], create_graph=True)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        first.square().sum().backward()


def test_the_layout_of_arguments_changes_nothing(launcher: EmulatedLauncher) -> None:
    given = problems.problem(9, 3, 4)
    a = dict(given.arguments)
    expected = execution.outputs(a["x"], **{k: v for k, v in a.items() if k != "x"})
    turned = {k: a[k].T.contiguous().T for k in ("step_size", "y0", "z0")} | {"w": a["w"], "alpha": float(a["alpha"])}
    found = execution.outputs(a["x"].transpose(0, 2).contiguous().transpose(0, 2), **turned)
    assert torch.equal(found.y, expected.y) and found.y.is_contiguous()


@pytest.mark.parametrize("shape", [(3, 0, 2), (3, 2, 0), (0, 0, 0)])
def test_nothing_to_run_is_no_launch(launcher: EmulatedLauncher, shape: tuple[int, int, int]) -> None:
    given = problems.problem(*shape)
    found, gradients = given.run(execution)
    assert found.y.shape == shape and gradients["x"].shape == shape and launcher.launched == []


def test_a_cotangent_of_the_last_state_alone_needs_no_rows(launcher: EmulatedLauncher) -> None:
    given = problems.problem(12, 2, 3)
    leaves = {k: v.clone().requires_grad_() for k, v in given.arguments.items()}
    found = execution.outputs(leaves["x"], **{k: v for k, v in leaves.items() if k != "x"})
    by_last = torch.autograd.grad(found.y_last.sum(), leaves["x"], retain_graph=True)[0]
    by_rows = torch.autograd.grad(found.y[-1].sum(), leaves["x"])[0]
    assert problems.relative(by_last, by_rows) <= 1e-6


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        ({"x": torch.zeros(3, 2, 2, dtype=torch.float16)}, TypeError, "float16"),
        ({"x": torch.zeros(3, 2)}, ValueError, "time, batch, hidden"),
        ({"w": torch.zeros(2, dtype=DOUBLE)}, TypeError, "w has dtype"),
        ({"y0": torch.zeros(2, 3)}, ValueError, "y0 has shape"),
        ({"lengths": torch.tensor([1, 2], dtype=torch.int32)}, TypeError, "lengths has dtype"),
        ({"lengths": torch.tensor([1, 2, 3])}, ValueError, "lengths has shape"),
        ({"backward": "adjoint"}, ValueError, "adjoint"),
    ],
)
def test_refusals(launcher: EmulatedLauncher, change: dict[str, Any], error: type[Exception], named: str) -> None:
    given = problems.problem(3, 2, 2)
    arguments = {**given.arguments, "lengths": None, "backward": "stored", **change}
    with pytest.raises(error, match=named):
        execution.outputs(arguments.pop("x"), **arguments)
    assert launcher.launched == []


def test_the_exact_mode_refuses_float64(launcher: EmulatedLauncher) -> None:
    given = problems.problem(3, 2, 2, dtype=DOUBLE)
    with pytest.raises(TypeError, match=r"exact.*Give float32"):
        given.run(execution, backward="exact")


@pytest.mark.slow
def test_torch_accepts_the_operations(launcher: EmulatedLauncher) -> None:
    """Schema, fake shapes, autograd registration and traced gradients."""
    given = problems.problem(5, 2, 3)
    values = [given.arguments[k].clone().requires_grad_() for k in problems.NAMES]
    for operation in (operations.stored, operations.reversible, operations.exact):
        for lengths in (None, torch.tensor([5, 2])):
            torch.library.opcheck(operation, (*values, lengths))
    torch.library.opcheck(operations.states, tuple(values))
    torch.library.opcheck(operations.inverse, tuple(v.detach() for v in values))


def turned(value: torch.Tensor) -> torch.Tensor:
    """The same numbers in another order of memory."""
    return value.movedim(-1, 0).contiguous().movedim(0, -1)


def test_the_fakes_know_the_strides_of_the_operations_on_strided_states(launcher: EmulatedLauncher) -> None:
    """Forward and backward; what torch.compile plans with must be what comes."""
    given = problems.problem(5, 2, 3)
    values = [v if v.dim() < 2 else turned(v) for v in (given.arguments[k] for k in problems.NAMES)]
    x, w, h, alpha, y0, _ = values
    rows, y_last, z_last = (turned(v) for v in given.cotangents)
    kept, last = x.new_empty(2, 0, 2, 3), turned(torch.zeros(2, 2, 3, dtype=DOUBLE))
    assert not any(v.is_contiguous() for v in (x, y0, rows, y_last, last))
    for ends in (None, torch.tensor([5, 2])):
        calls = [
            (operation, (*values, ends)) for operation in (operations.stored, operations.reversible, operations.exact)
        ]
        y, y_end, z_end = (turned(v) for v in operations.stored(*values, ends))
        calls += [
            (operations.states, tuple(values)),
            (operations.inverse, tuple(values)),
            (operations.stored_backward, (x, w, h, alpha, y0, ends, y, z_end, rows, rows, y_last, z_last)),
            (operations.reversible_backward, (*values, ends, y_end, z_end, kept, rows, y_last, z_last)),
        ]
        last = torch.stack([turned(v) for v in operations.exact(*values, ends)[3]])
        calls.append((operations.exact_backward, (*values, ends, turned(last), rows, y_last, z_last)))
        for operation, arguments in calls:
            torch.library.opcheck(operation, arguments, test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("mode", ["stored", "reversible", "exact"])
def test_autocast_changes_no_bit(launcher: EmulatedLauncher, mode: str) -> None:
    given = problems.problem(9, 3, 4)
    found, gradients = given.run(execution, backward=mode)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        again, others = given.run(execution, backward=mode)
    assert torch.equal(found.y, again.y) and all(torch.equal(gradients[k], others[k]) for k in problems.NAMES)


@pytest.mark.slow
def test_a_compiled_graph_holds_the_operation_whole(launcher: EmulatedLauncher) -> None:
    given = problems.problem(5, 2, 3)

    def energy(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        rest = {k: given.arguments[k] for k in ("step_size", "alpha", "y0", "z0")}
        found = execution.outputs(x, w=w, **rest, lengths=torch.tensor([5, 3]))
        return found.y.square().sum() + found.y_last.sum() + found.z_last.sum()

    gradients = []
    for run in (energy, torch.compile(energy, fullgraph=True, backend="aot_eager")):
        leaves = [given.arguments[k].clone().requires_grad_() for k in ("x", "w")]
        gradients.append(torch.autograd.grad(run(*leaves), leaves))
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


def test_the_plan_is_a_function_of_the_shape(launcher: EmulatedLauncher) -> None:
    assert operations.plan(17984, 256, SINGLE) == "scan" and operations.plan(17984, 256, DOUBLE) == "ring"
    assert operations.plan(784, 1, SINGLE) == "ring" and operations.plan(1024, 32768, SINGLE) == "ring"
    assert operations.plan(4096, 1700, SINGLE) == "scan" and operations.plan(4096, 1700, SINGLE, "backward") == "ring"
    assert operations.plan(4096, 2048, SINGLE) == "ring" and operations.plan(4096, 1300, SINGLE, "backward") == "scan"
    assert operations.plan(1024, 16000, SINGLE, "backward") == "ring"
