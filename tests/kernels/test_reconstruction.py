"""What a backward pass knows of the states: rebuilt ones are checked, sums of z are held against the rows of y."""

from __future__ import annotations

import math
import warnings
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from cuda.odernn_kernels import emulator, execution, launches, module, reconstruction
from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher
from odernn.executions import torch_loop
from odernn.executions.recurrence import ReconstructionWarning
from tests.kernels import problems
from tests.kernels.broken import broken
from tests.tiers import slow

SINGLE, DOUBLE = torch.float32, torch.float64


def test_the_exact_mode_rebuilds_the_first_state_without_error(launcher: EmulatedLauncher) -> None:
    """α = 0: a free particle in float32 loses digits on the way; here the residual is 0, or a warning would say so."""
    given = problems.problem(600, 1, 4)
    given.arguments["alpha"] = torch.tensor(0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReconstructionWarning)
        given.run(execution, backward="exact")
    assert launcher.launched == ["exact_forward_f32", "exact_backward_f32"]


def test_beyond_the_range_of_the_grid_the_exact_mode_says_so(launcher: EmulatedLauncher) -> None:
    """A sum that crosses 2^30 loses a bit that the way back cannot restore."""
    given = problems.problem(700, 1, 2)
    changed = {"y0": torch.full((1, 2), 2.0**30 - 64), "z0": torch.full((1, 2), 3.0)}
    given.arguments.update(changed, w=torch.zeros(2), alpha=torch.tensor(0.0))
    with pytest.warns(ReconstructionWarning, match="exact.*computed again"):
        found, gradients = given.run(execution, backward="exact")
    _, expected = problems.oracle(given)
    assert problems.relative(gradients["x"], expected["x"]) < 1e-4 and found.y.isfinite().all()


def test_a_reversal_that_misses_is_seen_and_replaced(launcher: EmulatedLauncher) -> None:
    """Chaotic between two checkpoints: w = 8, α = 0. The gradient is then that of the stored rows."""
    given = problems.problem(250, 1, 3)
    given.arguments.update(w=torch.full((3,), 8.0), alpha=torch.tensor(0.0), step_size=torch.full((1, 3), 0.4))
    with pytest.warns(ReconstructionWarning, match="rebuilt state is off"):
        found, gradients = given.run(execution, backward="reversible")
    again, stored = given.run(execution, backward="stored")
    assert torch.equal(found.y, again.y)
    assert all(torch.equal(gradients[k], stored[k]) for k in problems.NAMES)


def worst_gradient(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> float:
    """Largest error of a gradient over its own largest entry."""
    return max(float((found[k] - expected[k]).abs().max() / expected[k].abs().max()) for k in problems.NAMES)


def reversed_and_stored(given: Any) -> tuple[bool, float]:
    """Whether the reversible mode warned, and how far it is from the stored one."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        _, gradients = given.run(execution, backward="reversible")
    assert {each.category for each in said} <= {ReconstructionWarning}
    return bool(said), worst_gradient(gradients, given.run(execution, backward="stored")[1])


HARD = [problems.saddle(n, h, size) for n in (64, 128, 300) for h in (0.02, 0.05, 0.1) for size in (1e-3, 1e-5, 1e-7)]
HARD += [problems.random_network(seed) for seed in range(40)]


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_a_reversed_gradient_is_right_or_a_warning_says_that_it_was_computed_again(
    launcher: EmulatedLauncher, dtype: torch.dtype
) -> None:
    """On a saddle errors that mean nothing to σ' are all of y, where the costates are largest."""
    found = [reversed_and_stored(given.to(dtype)) for given in HARD]
    admitted = 0.05 if dtype == SINGLE else 1e-3
    assert all(error <= (problems.UNIT_ROUNDOFF[dtype] if warned else admitted) for warned, error in found)
    count = sum(warned for warned, _ in found)
    assert len(found) == 67 and (15 if dtype == SINGLE else 1) <= count <= 52, count


@pytest.mark.slow
def test_so_it_is_for_many_networks(launcher: EmulatedLauncher) -> None:
    for seed in range(40, 400):
        warned, error = reversed_and_stored(problems.random_network(seed))
        assert error <= (1e-6 if warned else 0.05), seed


def test_without_the_costates_the_error_would_pass(launcher: EmulatedLauncher, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: states judged by their own error alone, at the tolerance there was."""
    monkeypatch.setattr(reconstruction, "is_rebuilt", lambda found, *_: found[0] <= 0.05)
    silent = [error for warned, error in map(reversed_and_stored, HARD) if not warned]
    assert max(silent) > 2


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_weight_that_is_no_number_is_not_believed(value: float) -> None:
    one = torch.ones(())
    good = torch.tensor([1e-9, 1, 1, 1, 1, 1, 1]).reshape(7, 1, 1)
    assert reconstruction.is_rebuilt(good, one, one, one).all()
    for row in range(7):
        bad = good.clone()
        bad[row] = value
        if row in (0, 1, 3, 5) or value != value:  # the gap, and each `alone`
            assert not reconstruction.is_rebuilt(bad, one, one, one).any(), row
    assert not reconstruction.is_rebuilt(torch.full_like(good, torch.inf), one, one, one).any()


def test_calm_trajectories_are_reversed_without_a_warning(launcher: EmulatedLauncher) -> None:
    generator = torch.Generator().manual_seed(7)
    for steps, h, alpha in ((300, 0.05, 1.0), (300, 0.2, 2.0), (200, 0.03, 10.0), (256, 0.1, 0.0)):
        given = problems.problem(steps, 2, 16)
        w = torch.rand(16, generator=generator)
        given.arguments.update(w=w, step_size=torch.tensor(h), alpha=torch.tensor(alpha), y0=torch.zeros(2, 16))
        warned, error = reversed_and_stored(given)
        assert not warned and error <= 1e-3


SADDLES = [
    pytest.param(problems.saddle(256, 0.1, 1e-7), ["stored_f32"], id="256 steps"),
    pytest.param(problems.saddle(1000, 0.1, 1e-7), ["stored_f32"], id="1000 steps"),
    pytest.param(problems.saddle(200, 0.1, 1e-9, -4.0), ["stored_f32"], id="steep"),
    pytest.param(problems.saddle(60, 0.9, 1e-30, -4.0), ["stored_f32"], id="five times a step"),
    pytest.param(problems.saddle(1300, 0.1, 1e-7), ["scan_backward_f32"], id="scan of 1300 steps"),
    slow(pytest.param(problems.saddle(2048, 0.01, 1e-7), ["scan_backward_f32"], id="scan of 2048 steps")),
]
HELD, NOT_HELD = "return z < low ? low : z > high ? high : z;", "return low > high ? low : z;"
ROOM, NO_ROOM = "const T room = fused(T(4)", "const T room = fused(T(0)"
LEAST, NO_LEAST = "const T least = times(UnitRoundoff<T>::below", "const T least = times(T(0)"


def by_step_size(given: Any, run: Any = execution.outputs) -> float:
    """Relative error of the derivative by h, in the mode "stored"."""
    _, found = given.run(SimpleNamespace(outputs=run))
    _, expected = problems.oracle(given)
    return float((found["step_size"].double() / expected["step_size"] - 1).abs())


def admitted_by_step_size(given: Any) -> float:
    """As ``gradient_tolerance``, and the room of a held z, 4u (|y| / h + 2 |z|), with y = z / √(−w) on the saddle."""
    h, rate = float(given.arguments["step_size"]), math.sqrt(-float(given.arguments["w"]))
    return 4 * 2.0**-24 * (1 / (h * rate) + 2) + problems.gradient_tolerance(given.steps, SINGLE)


def with_fault(sound: str, faulty: str) -> EmulatedLauncher:
    text = emulator.sources()["recurrence.cuh"]
    assert text.count(sound) == 1
    units = ["forward.cu", "backward.cu", "scan.cu"]
    return EmulatedLauncher(broken({"recurrence.cuh": text.replace(sound, faulty)}, only=units))


@pytest.mark.parametrize(("given", "kernels"), SADDLES)
def test_the_derivative_by_h_of_a_long_saddle_keeps_its_digits(
    launcher: EmulatedLauncher, given: Any, kernels: list[str]
) -> None:
    """z grows by many orders of magnitude: summed back alone it keeps the rounding of the largest."""
    assert by_step_size(given) <= admitted_by_step_size(given)
    assert launcher.launched[1:] == kernels


@pytest.mark.parametrize(("given", "kernels"), SADDLES)
def test_a_z_that_is_not_held_loses_all_of_it(compiler: None, given: Any, kernels: list[str]) -> None:
    """The planted fault: the sum alone."""
    with module.using(with_fault(HELD, NOT_HELD)):
        assert by_step_size(given) > 0.5


def test_so_does_a_backward_pass_from_all_rows(launcher: EmulatedLauncher) -> None:
    """``forward`` has rows of z, but its derivative, and ``backward`` of another's rows, sum z back as well."""

    def states(x: torch.Tensor, *, lengths: None, **arguments: torch.Tensor) -> Any:
        return execution.forward(x, **arguments)

    for given in (problems.saddle(256, 0.1, 1e-7), problems.saddle(200, 0.1, 1e-9, -4.0)):
        assert by_step_size(given, states) <= admitted_by_step_size(given)
        a = dict(given.arguments)
        x, y0, z0 = a.pop("x"), a.pop("y0"), a.pop("z0")
        rows = torch_loop.forward(x, **a, y0=y0, z0=z0)
        options = {"states": rows, "grad_y": given.cotangents[0], "grad_y_last": given.cotangents[1]}
        found = execution.backward(x, **a, **options)
        _, expected = problems.oracle(given)
        error = float((found.step_size.double() / expected["step_size"] - 1).abs())
        assert error <= admitted_by_step_size(given)
    assert launcher.launched == ["forward_states_f32", "stored_states_f32", "stored_f32"] * 2


def late() -> Any:
    """At rest on a saddle up to step 900, with costates up to step 20: beyond, products of Jacobians overflow."""
    given = problems.saddle(1024, 0.9, 0.0, -4.0)
    given.arguments["x"][899:] = torch.linspace(0.3, 1.7, 125)[:, None, None]
    rows = torch.zeros(1024, 1, 1)
    rows[:20] = 1.0
    return problems.replace(given, cotangents=(rows, torch.zeros(1, 1), torch.zeros(1, 1)))


def costates_at_rest(h: float, w: float, rows: torch.Tensor) -> float:
    """Σ |p_n| in float64, where y = 0 and tanh' = 1: q += h (p += dE/dy_n), then p −= h w q, last to first."""
    p, q, total = 0.0, 0.0, 0.0
    for given in reversed(rows.double().flatten().tolist()):
        p += given
        q += h * p
        total += abs(p)
        p -= h * w * q
    return total


def test_a_scan_that_lost_its_costates_goes_step_by_step(launcher: EmulatedLauncher) -> None:
    """∞ · 0 is no costate. Step by step z is held as well: at rest, where forces are 0 and |z| ≤ 2⁻¹²²/|h|, see
    ``anchored``, |dE/dh| = |Σ p_n z_n| ≤ 2⁻¹²²/|h| · Σ |p_n|.

    The planted fault: with the sum alone z is a rounding of what it was later.
    """
    given = late()
    a = given.arguments
    assert a["alpha"].item() == 0.0 and not a["x"][:899].any()
    h, w = a["step_size"].item(), a["w"].item()
    admitted = costates_at_rest(h, w, given.cotangents[0]) * 2.0**-122 / h * (1 + 1e-5)  # sums of 20 floats
    found, _ = given.run(execution)
    block = launches.problem(a["x"], a["w"], a["step_size"], a["alpha"], None)
    rows = (a["y0"], found.y.detach(), found.z_last.detach(), *given.cotangents)
    for fault in (None, with_fault(HELD, NOT_HELD)):
        stepped, out = torch.empty(1, 1, dtype=torch.int64), launches.partials(a["x"][0], a["x"])
        with nullcontext() if fault is None else module.using(fault):
            launches.launch("scan_backward_f32", a["x"], 1, block, (*rows, *out, stepped), 1)
        assert stepped.item() == 1
        assert (abs(out[2].item()) <= admitted) == (fault is None)


def far(steps: int, *, dtype: torch.dtype = SINGLE) -> Any:
    """A free particle at y ≈ 10⁴ with z ≈ 1: the rows of y say little of z, and must not be believed more."""
    generator = torch.Generator().manual_seed(0)
    x, rows = (torch.randn(steps, 1, 4, generator=generator) for _ in range(2))
    numbers = {"step_size": torch.tensor(0.05), "alpha": torch.tensor(0.0)}
    states = {"y0": torch.full((1, 4), 1e4), "z0": torch.zeros(1, 4)}
    nothing = torch.zeros(1, 4)
    return problems.Problem({"x": x, "w": torch.zeros(4), **numbers, **states}, None, (rows, nothing, nothing)).to(
        dtype
    )


@pytest.mark.parametrize("steps", [pytest.param(100, marks=pytest.mark.slow), 1024])
def test_a_z_is_held_no_tighter_than_the_rows_of_y_say(launcher: EmulatedLauncher, steps: int) -> None:
    """Ring, and scan, whose rows have seams. The planted fault: room for no rounding."""
    given = far(steps)
    assert by_step_size(given) <= 16 * 2.0**-24  # a fifth of it was found
    with module.using(with_fault(ROOM, NO_ROOM)):
        assert by_step_size(given) > 3e-5


def still(steps: int, dtype: torch.dtype) -> Any:
    """z is known from its start alone: h z is below every number, and the rows of y are all 0."""
    h, z = (1e-30, 1e-20) if dtype == SINGLE else (1e-250, 1e-150)
    given = problems.saddle(steps, h, 0.0)
    given.arguments["z0"] = torch.full((1, 1), 1.0)
    given = given.to(dtype)
    given.arguments["z0"] *= z
    given.arguments["step_size"] = torch.tensor(h, dtype=dtype)
    return given


@pytest.mark.parametrize(
    ("steps", "dtype", "kernel"),
    [(20, SINGLE, "stored_f32"), (20, DOUBLE, "stored_f64"), (1024, SINGLE, "scan_backward_f32")],
)
def test_rows_that_underflow_say_nothing_of_z(
    launcher: EmulatedLauncher, steps: int, dtype: torch.dtype, kernel: str
) -> None:
    """dE/dh is that of a free particle, the sum of all z. The planted fault: rows of 0 are believed, hence z = 0."""
    given = still(steps, dtype)
    expected = steps * float(given.arguments["z0"])

    def error() -> float:
        _, found = given.run(execution)
        return abs(float(found["step_size"]) / expected - 1)

    assert error() <= steps * 2.0**-24
    assert launcher.launched[-1] == kernel
    with module.using(with_fault(LEAST, NO_LEAST)):
        assert error() > 0.5


def test_a_step_of_zero_leaves_z_alone(launcher: EmulatedLauncher) -> None:
    """h = 0: nothing moves, and no 0/0 gets into the derivatives."""
    given = problems.problem(20, 1, 3, dtype=DOUBLE)
    given.arguments["step_size"] = torch.zeros(1, 3, dtype=DOUBLE)
    _, found = given.run(execution)
    _, expected = problems.oracle(given)
    for name in problems.NAMES:
        assert problems.relative(found[name], expected[name]) <= problems.gradient_tolerance(20, DOUBLE), name


def test_what_is_computed_again_is_the_map_that_ran(launcher: EmulatedLauncher) -> None:
    """Where the plan of "stored" is a scan, rows of the scan would not belong to the ring's last state."""
    given = problems.problem(1100, 1, 2)
    given.arguments.update(w=torch.full((2,), 8.0), alpha=torch.tensor(0.0), step_size=torch.full((1, 2), 0.4))
    with pytest.warns(ReconstructionWarning, match="rebuilt state is off"):
        given.run(execution, backward="reversible")
    ring = "forward_checkpoints_f32"
    assert launcher.launched == [ring, "reversible_f32", ring, "scan_backward_f32"]
