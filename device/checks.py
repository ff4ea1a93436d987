"""Is what the CUDA kernels compute right? Errors beside what is admitted, against the float64 torch loop.

Runs on a device, or on CPU tensors inside of ``module.using(EmulatedLauncher(...))``. Nothing is timed here.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cuda.odernn_kernels import catalogue, execution, module, orthogonal
from cuda.odernn_kernels.trajectories import extremes
from odernn.cells.scornn import ScoRNN
from odernn.executions import torch_loop
from odernn.executions.parallel import execution as parallel
from odernn.executions.recurrence import UNIT_ROUNDOFF, ReconstructionWarning, admitted_error
from odernn.orthogonal.cayley import modrelu

SINGLE, DOUBLE = torch.float32, torch.float64
MODES = (
    ("stored", SINGLE),
    ("reversible", SINGLE),
    ("exact", SINGLE),
    ("stored", DOUBLE),
    ("reversible", DOUBLE),
)
SMALL = ((0, 2, 3), (1, 1, 1), (2, 3, 5), (101, 3, 11), (1100, 1, 3))
LARGE = (*SMALL, (3, 2, 40), (784, 5, 33), (4096, 2, 16), (17984, 1, 8))
"""(steps, batch, hidden); from 1024 steps on few columns are a scan's."""

COEFFICIENTS = ("w", "step_size", "alpha")


class Checks:
    """Errors beside what is admitted; a check that fails is written down and remembered."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def add(self, name: str, error: float, admitted: float) -> None:
        """Holds if error <= admitted; a NaN does not."""
        holds = error <= admitted
        self.found.append({"check": name, "error": error, "admitted": admitted, "holds": holds})
        sys.stdout.write(f"{'ok   ' if holds else 'FAILS'} {name}: {error:.3g} (admitted {admitted:.3g})\n")

    @property
    def hold(self) -> bool:
        """All of them, and there are some."""
        return bool(self.found) and all(each["holds"] for each in self.found)


def problem(
    steps: int, batch: int, hidden: int, device: str, *, seed: int = 0, dtype: torch.dtype = SINGLE
) -> dict[str, Tensor]:
    """As in tests/kernels: κ stays positive, so that rounding and not chaos is compared."""
    g = torch.Generator().manual_seed(seed)
    made = {
        "x": torch.randn(steps, batch, hidden, generator=g),
        "w": (2 * torch.rand(hidden, generator=g) - 1) * min(1, 100 / max(steps, 1)),
        "step_size": 0.05 + 0.2 * torch.rand(hidden, generator=g),
        "alpha": torch.tensor(2.0),
        "y0": torch.randn(batch, hidden, generator=g),
        "z0": torch.randn(batch, hidden, generator=g),
    }
    return {name: value.to(device, dtype) for name, value in made.items()}


def without_x(given: dict[str, Tensor]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "x"}


def in_double(given: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.double().cpu() for name, value in given.items()}


def gradients(run: Callable[..., Any], given: dict[str, Tensor], **options: Any) -> tuple[Any, list[Tensor]]:
    """Outputs and the gradients of a fixed sum of them."""
    leaves = {k: v.detach().clone().requires_grad_() for k, v in given.items()}
    found = run(leaves["x"], **without_x(leaves), **options)
    weights = torch.arange(found.y.numel(), dtype=found.y.dtype, device=found.y.device).cos().reshape(found.y.shape)
    energy = (found.y * weights).sum() + found.y_last.sum() + found.z_last.sum()
    return found, list(torch.autograd.grad(energy, list(leaves.values()), materialize_grads=True))


def gap(found: Tensor, expected: Tensor) -> float:
    """Largest error over largest entry, or over 1: a small gradient is a difference of terms that are not small."""
    if expected.numel() == 0:
        return 0.0
    expected = expected.detach().double().cpu()
    return float((found.detach().double().cpu() - expected).abs().max() / expected.abs().max().clamp(min=1.0))


def gradient_tolerance(steps: int, dtype: torch.dtype) -> float:
    """As in tests/kernels/problems.py: 5 times the largest error seen there."""
    return 8 * UNIT_ROUNDOFF[dtype] * (steps + 16)


# --- (U)


def check_recurrence(checks: Checks, device: str, shapes: tuple[tuple[int, int, int], ...]) -> None:
    """Every mode and dtype against the float64 loop, all samples of one length or not; twice, bit for bit."""
    before = len(checks.found)
    for steps, batch, hidden in shapes:
        for ragged in (False, True):
            ends = torch.arange(batch) * steps // max(batch - 1, 1) if ragged else None
            double = problem(steps, batch, hidden, "cpu", dtype=DOUBLE)  # the numbers of float32
            oracle = gradients(torch_loop.outputs, double, lengths=ends)
            with torch.no_grad():
                rows = torch_loop.forward(**double)  # type: ignore[arg-type]
            for dtype in (SINGLE, DOUBLE):
                given = {name: value.to(device, dtype) for name, value in double.items()}
                admitted = admitted_error(
                    dtype=dtype,
                    steps=steps,
                    **{k: double[k] for k in COEFFICIENTS},
                    y_max=torch.cat([rows.y, rows.y0[None]]).abs().amax(),
                    z_max=torch.cat([rows.z, rows.z0[None]]).abs().amax(),
                ).y
                # In float64 the loop is no better than the kernel: each may be off.
                admitted = admitted if dtype == SINGLE else 2 * admitted
                for mode, offered in MODES:
                    if offered == dtype:
                        label = f"{mode} {str(dtype)[6:]} {steps, batch, hidden}{' ragged' if ragged else ''}"
                        check_mode(checks, label, given, ends, mode, oracle, admitted)
    assert len(checks.found) - before == 4 * len(shapes) * 2 * len(MODES)


def check_mode(
    checks: Checks,
    label: str,
    given: dict[str, Tensor],
    ends: Tensor | None,
    mode: str,
    oracle: tuple[Any, list[Tensor]],
    admitted: Tensor,
) -> None:
    """Four checks."""
    expected, by_loop = oracle
    options = {"lengths": None if ends is None else ends.to(given["x"].device), "backward": mode}
    found, mine = gradients(execution.outputs, given, **options)
    is_another = (found.execution, found.backward) != ("cuda", mode)
    checks.add(f"{label}: another execution or mode", is_another, 0)
    off = torch.cat([found.y, found.y_last[None]]).double().cpu() - torch.cat([expected.y, expected.y_last[None]])
    checks.add(f"{label}: y, in units of the admitted error", _largest(off.detach().abs(), admitted), 1.0)
    worst = max(gap(a, b) for a, b in zip(mine, by_loop, strict=True))
    checks.add(f"{label}: gradients", worst, gradient_tolerance(len(given["x"]), given["x"].dtype))
    again, repeated = gradients(execution.outputs, given, **options)
    pairs = zip([found.y, *mine], [again.y, *repeated], strict=True)
    checks.add(f"{label}: arrays that differ in a second run", sum(not torch.equal(a, b) for a, b in pairs), 0)


def _largest(off: Tensor, admitted: Tensor) -> float:
    """The largest off / admitted; 0 is within 0."""
    return float(torch.where(off == 0, 0.0, off / admitted).max()) if off.numel() else 0.0


def check_contract(checks: Checks, device: str) -> None:
    """The other calls of the contract: all rows and their gradients, the inverse, the recursion, a layer's drive."""
    for dtype in (SINGLE, DOUBLE):
        kind, given = str(dtype)[6:], problem(37, 2, 17, device, dtype=dtype)
        double, rest = in_double(given), without_x(given)
        coefficients = {k: v for k, v in rest.items() if k in COEFFICIENTS}
        tolerance = gradient_tolerance(37, dtype)
        rows, expected = execution.forward(given["x"], **rest), torch_loop.forward(**double)  # type: ignore[arg-type]
        checks.add(f"forward {kind}: y and z", max(gap(rows.y, expected.y), gap(rows.z, expected.z)), tolerance)
        back = execution.inverse(given["x"], **coefficients, y_last=rows.y_last, z_last=rows.z_last)
        worst = max(gap(getattr(back, name), getattr(expected, name)) for name in ("y", "z", "y0", "z0"))
        checks.add(f"inverse {kind}: all states", worst, tolerance)
        pulls = {"grad_y": given["x"].flip(0), "grad_y_last": given["y0"], "grad_z_last": given["z0"]}
        mine = execution.backward(given["x"], **coefficients, states=rows, **pulls)
        theirs = torch_loop.backward(
            double["x"], **{k: double[k] for k in COEFFICIENTS}, states=expected, **in_double(pulls)
        )
        worst = max(gap(getattr(mine, name), getattr(theirs, name)) for name in given)
        checks.add(f"backward {kind}: gradients", worst, tolerance)
        u, V = given["x"][..., :3].contiguous(), given["x"][:17, 0, :3].contiguous()
        layer = execution.layer_outputs(u, V, None, **rest)
        loop = torch_loop.outputs(u.double().cpu() @ V.double().cpu().T, **without_x(double))
        checks.add(f"layer_outputs {kind}: y", gap(layer.y, loop.y), tolerance)
    given = problem(600, 2, 9, device)
    found, mine = gradients(parallel.outputs, given)
    expected, by_loop = gradients(torch_loop.outputs, in_double(given))
    worst = max(gap(a, b) for a, b in zip([found.y, *mine], [expected.y, *by_loop], strict=True))
    checks.add('execution="parallel" on the same device', worst, gradient_tolerance(600, SINGLE))


def check_saddle(checks: Checks, device: str) -> None:
    """dE/dh where z grows by many orders of magnitude: a sum of z alone is off by 0.6 to 10²¹."""
    for steps, h, size, w in ((256, 0.1, 1e-7, -1.0), (60, 0.9, 1e-30, -4.0), (1300, 0.1, 1e-7, -1.0)):
        x = torch.zeros(steps, 1, 1)
        x[0] = size
        given = {
            "x": x,
            "w": torch.full((1,), w),
            "step_size": torch.tensor(h),
            "alpha": torch.tensor(0.0),
            "y0": torch.zeros(1, 1),
            "z0": torch.zeros(1, 1),
        }
        for mode in ("stored", "reversible"):
            by = []
            for run, arguments, options in (
                (execution.outputs, {k: v.to(device) for k, v in given.items()}, {"backward": mode}),
                (torch_loop.outputs, in_double(given), {}),
            ):
                leaf = arguments["step_size"].requires_grad_()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ReconstructionWarning)  # it is right that it comes
                    y_last = run(arguments["x"], **without_x(arguments), **options).y_last
                    by.append(float(torch.autograd.grad(y_last.sum(), leaf)[0]))
            label = f"{mode}, saddle of {steps} steps, w = {w}: relative error of dE/dh"
            checks.add(label, abs(by[0] / by[1] - 1), gradient_tolerance(steps, SINGLE))


def check_nan(checks: Checks, device: str) -> None:
    """One NaN in x, w or z0: in its own column from then on, and nowhere else; in ring and scan."""
    for steps in (40, 1100):
        for mode, dtype in MODES:
            for where, at in (("x", (17, 1, 0)), ("w", (0,)), ("z0", (1, 0))):
                given = problem(steps, 2, 2, device, dtype=dtype)
                given[where][at] = torch.nan
                expected = torch.zeros(steps, 2, 2, dtype=torch.bool)
                expected[17 if where == "x" else 0 :, slice(None) if where == "w" else 1, 0] = True
                found, mine = gradients(execution.outputs, given, backward=mode)
                wrong = int((found.y.isnan().cpu() != expected).sum())
                wrong += int((mine[0][0].isnan().cpu() != expected[-1]).sum())
                wrong += int(mine[0].cpu()[:, ~expected[-1]].isnan().sum())
                label = f"{mode} {str(dtype)[6:]}, {steps} steps, NaN in {where}"
                checks.add(f"{label}: entries that are NaN, or are not, wrongly", wrong, 0)


# --- the other kernels


def check_others(checks: Checks, device: str, *, count: int) -> None:
    """tanh over about ``count`` floats, trajectories with their tangents, scoRNN."""
    bits = torch.arange(0, 0x7F800000, 0x7F800000 // count, dtype=torch.int32)
    x = bits.view(torch.float32).to(device).reshape(1, 1, -1)
    z = execution.forward(x, w=0.0, step_size=1.0, alpha=0.0).z.flatten().cpu()
    exact = torch.tanh(x.double().cpu()).flatten()
    ulp = torch.exp2(torch.floor(torch.log2(exact.clamp(min=2.0**-126))) - 23)
    checks.add(f"tanh over {len(bits)} floats, ulp", float(((-z.double() - exact).abs() / ulp).max()), 2.0)

    steps, columns = 60, 100
    x = torch.randn(steps, columns, generator=torch.Generator().manual_seed(2)).to(device)
    w = torch.linspace(-1, 1, columns).to(device)
    found = extremes(x, w=w, step_size=0.1, alpha=1.0)
    loop = torch_loop.forward(x.double().cpu().unsqueeze(1), w=w.double().cpu(), step_size=0.1, alpha=1.0)
    checks.add("trajectories: max |y|", gap(found.y, loop.y.abs().amax(0).flatten()), 1e-5)
    checks.add("trajectories: max |z|", gap(found.z, loop.z.abs().amax(0).flatten()), 1e-5)
    determinant = torch.linalg.det(found.tangent.double()) * 4.0 ** found.exponent.double()
    checks.add("trajectories: det J = 1", float((determinant - 1).abs().max()), 1e-3)

    most = orthogonal.MOST_UNITS
    sizes = ((33, SINGLE, True), (33, SINGLE, False), (most[SINGLE], SINGLE, True), (most[DOUBLE], DOUBLE, True))
    for units, dtype, is_biased in sizes:
        given = {k: v.to(dtype) for k, v in scornn_problem(20, 5, units, device).items() if k != "b" or is_biased}
        leaves = {k: v.clone().requires_grad_() for k, v in given.items()}
        rows = orthogonal.rows(leaves["x"], **{"b": None} | without_x(leaves))
        mine = torch.autograd.grad(rows.square().sum(), list(leaves.values()))
        double = {k: v.double().cpu().requires_grad_() for k, v in given.items()}
        expected = scornn_loop(**double)
        theirs = torch.autograd.grad(expected.square().sum(), list(double.values()))
        worst = max(gap(a, b) for a, b in zip((rows, *mine), (expected, *theirs), strict=True))
        label = f"scoRNN with {units} units, {str(dtype)[6:]}{'' if is_biased else ', no b'}: rows and gradients"
        # In float64 the loop is no better than the kernel: each may be off.
        checks.add(label, worst, UNIT_ROUNDOFF[dtype] * units * 20 * (1 if dtype == SINGLE else 2))


def check_published(checks: Checks, device: str) -> None:
    """A peer that is timed must be right, too."""
    given = problem(60, 2, 33, device)
    peer = published(given)
    peer.forward()
    peer.backward()
    double = in_double(given)
    x = double.pop("x").requires_grad_()
    expected = torch_loop.forward(x, **double).y  # type: ignore[arg-type]
    (slope,) = torch.autograd.grad(expected.sum(), x)
    worst = max(gap(peer.y, expected.detach()), gap(peer.grad_x, slope))
    checks.add("the published kernel: y and dE/dx", worst, gradient_tolerance(60, SINGLE))


@dataclass(frozen=True)
class Published:
    """The two passes of the published kernel on one problem, and where they write y and dE/dx of E = Σ y."""

    forward: Callable[[], None]
    backward: Callable[[], None]
    y: Tensor
    grad_x: Tensor


def published(given: dict[str, Tensor], dt: float = 0.3) -> Published:
    """Launched as published: a thread a column, blocks of as many threads as the kernel takes at most.

    It has h = dt sigmoid(c), so that steps of ``given`` must lie below ``dt``.
    """
    x = given["x"]
    steps, batch, hidden = x.shape
    c = torch.logit(given["step_size"] / dt)
    y, grad_x, grad_y = torch.empty_like(x), torch.empty_like(x), torch.ones_like(x)
    y_last, z_last = x.new_empty(batch, hidden), x.new_empty(batch, hidden)
    sums = x.new_zeros(2, hidden)
    pointers = (x, given["w"], c, given["y0"], given["z0"], y_last, z_last, y, grad_y, grad_x, sums[0], sums[1])
    alpha = float(given["alpha"])

    def call(name: str) -> None:
        arguments = (*(each.data_ptr() for each in pointers), steps, batch, hidden, dt, alpha)
        kernel = catalogue.KERNELS[name]
        threads = min(kernel.threads, batch * hidden)
        grid = -(-batch * hidden // threads)
        module.launcher_for(x).launch(kernel, grid, arguments, threads=threads, shared=0)

    return Published(lambda: call("published_forward"), lambda: call("published_backward"), y, grad_x)


def scornn_problem(steps: int, batch: int, units: int, device: str) -> dict[str, Tensor]:
    """A drive, an orthogonal matrix, a bias and a first state."""
    g = torch.Generator().manual_seed(units)
    W = torch.linalg.qr(torch.randn(units, units, generator=g))[0].contiguous()
    made = {
        "x": torch.randn(steps, batch, units, generator=g),
        "W": W,
        "b": 0.1 * torch.randn(units, generator=g),
        "h0": torch.randn(batch, units, generator=g),
    }
    return {k: v.to(device) for k, v in made.items()}


def scornn_loop(x: Tensor, *, W: Tensor, b: Tensor | None = None, h0: Tensor) -> Tensor:
    """The formula, step by step; without b the activation is the identity."""
    h, rows = h0, []
    for drive in x:
        z = torch.addmm(drive, h, W.T)
        h = z if b is None else modrelu(z, b)
        rows.append(h)
    return torch.stack(rows)


# --- a device's own


def check_streams(checks: Checks) -> None:
    """A side stream, a thread of its own, a captured graph: the same bits as the default stream."""
    given = problem(300, 4, 33, "cuda")
    rest = without_x(given)
    expected = execution.outputs(given["x"], **rest).y
    side, found = torch.cuda.Stream(), []
    for _ in range(20):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            late = given["x"] * 1.0  # work that the launch must wait for
            found.append(execution.outputs(late, **rest).y * 1.0)
        torch.cuda.current_stream().wait_stream(side)
    checks.add("side stream: runs that differ", sum(not torch.equal(y, expected) for y in found), 0)

    results: list[Tensor] = []

    def train_once() -> None:
        results.append(gradients(execution.outputs, given)[0].y)

    workers = [threading.Thread(target=train_once) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    checks.add("threads: runs that differ or died", 3 - sum(torch.equal(y, expected) for y in results), 0)

    graph = torch.cuda.CUDAGraph()
    still = given["x"].clone()
    with torch.cuda.graph(graph):
        captured = execution.outputs(still, **rest).y
    still.copy_(given["x"].flip(0))
    graph.replay()
    torch.cuda.synchronize()
    fresh = execution.outputs(given["x"].flip(0), **rest).y
    checks.add("captured graph: replays that differ", int(not torch.equal(captured, fresh)), 0)


def check_captured_scornn(checks: Checks) -> None:
    """A training step of the whole cell in a graph, its Cayley transform included: the bits of the step without."""
    generator = torch.Generator("cuda").manual_seed(0)
    network = ScoRNN(3, 170, rho=17, signs="prefix", execution="cuda", device="cuda", generator=generator)
    u = torch.randn(100, 16, 3, device="cuda")

    def step() -> list[Tensor]:
        rows, _ = network(u)
        return [rows, *torch.autograd.grad(rows.square().sum(), list(network.parameters()))]

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph, outside = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    try:
        with torch.cuda.graph(graph, stream=side):
            kept = step()
    except BaseException:
        torch.cuda.set_stream(outside)  # torch leaves its own where the end of a capture fails
        raise
    u.copy_(u.flip(0))
    graph.replay()
    torch.cuda.synchronize()
    pairs = zip(kept, step(), strict=True)
    checks.add("captured step of scoRNN: arrays that differ", sum(not torch.equal(a, b) for a, b in pairs), 0)
