"""Everything that only a GPU can tell of the CUDA kernels, in one run that needs no network.

    python benchmarks/device_suite.py                 build, check, sanitize, time; writes results/device_<name>.json
    python benchmarks/device_suite.py --emulated      the checks alone, on the CPU: a trial of this script

Machine code is taken from ODERNN_CUBINS or the cache where it is there, else compiled. PyCUDA is used where it is
installed; else the driver's C interface, and the result says so. Nothing is timed unless every check holds.

Peers: the structure of the published kernel (kernels/baseline.cu), cuDNN's LSTM of the same size, and a copy of the
arrays that a pass must read or write, which is the bound that memory sets.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from _harness import RESULTS, machine

from cuda.odernn_kernels import build, emulator, execution, module, orthogonal
from cuda.odernn_kernels.trajectories import extremes
from odernn.executions import torch_loop
from odernn.orthogonal import modrelu
from odernn.recurrence import UNIT_ROUNDOFF, admitted_error

SHAPES = {"EigenWorms (17984, 8, 32)": (17984, 8, 32), "psMNIST (784, 128, 256)": (784, 128, 256),
          "(1000, 128, 256)": (1000, 128, 256), "(1000, 30, 128)": (1000, 30, 128)}  # fmt: skip
MODES = ("stored", "reversible", "exact")
NAMES = ("x", "w", "step_size", "alpha", "y0", "z0")


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


def problem(steps: int, batch: int, hidden: int, device: str, seed: int = 0) -> dict[str, torch.Tensor]:
    """As in tests/kernels: κ stays positive, so that rounding and not chaos is compared."""
    g = torch.Generator().manual_seed(seed)
    made = {
        "x": torch.randn(steps, batch, hidden, generator=g),
        "w": (2 * torch.rand(hidden, generator=g) - 1) * min(1, 100 / steps),
        "step_size": 0.05 + 0.2 * torch.rand(hidden, generator=g), "alpha": torch.tensor(2.0),
        "y0": torch.randn(batch, hidden, generator=g), "z0": torch.randn(batch, hidden, generator=g),
    }  # fmt: skip
    return {name: value.to(device) for name, value in made.items()}


def gradients(
    run: Callable[..., Any], given: dict[str, torch.Tensor], **options: Any
) -> tuple[Any, list[torch.Tensor]]:
    """Outputs and the gradients of a fixed sum of them."""
    leaves = {k: v.detach().clone().requires_grad_() for k, v in given.items()}
    found = run(leaves["x"], **{k: v for k, v in leaves.items() if k != "x"}, **options)
    weights = torch.arange(found.y.numel(), dtype=found.y.dtype, device=found.y.device).cos().reshape(found.y.shape)
    energy = (found.y * weights).sum() + found.y_last.sum() + found.z_last.sum()
    return found, list(torch.autograd.grad(energy, list(leaves.values())))


def gap(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Largest error over largest entry, or over 1: a small gradient is a difference of terms that are not small."""
    expected = expected.detach().double().cpu()
    return float((found.detach().double().cpu() - expected).abs().max() / expected.abs().max().clamp(min=1.0))


def check_recurrence(checks: Checks, device: str, shapes: list[tuple[int, int, int]]) -> None:
    """Every mode against the float64 loop; twice, bit for bit."""
    for steps, batch, hidden in shapes:
        given = problem(steps, batch, hidden, device)
        double = {k: v.double().cpu() for k, v in given.items()}
        for lengths in (None, torch.arange(batch) * steps // max(batch - 1, 1)):
            expected, by_loop = gradients(torch_loop.outputs, double, lengths=lengths)
            rows = torch_loop.forward(**double)
            admitted = admitted_error(
                dtype=torch.float32, steps=steps, **{k: double[k] for k in ("w", "step_size", "alpha")},
                y_max=rows.y.abs().amax() + rows.y0.abs().amax(), z_max=rows.z.abs().amax() + rows.z0.abs().amax(),
            )  # fmt: skip
            ends = None if lengths is None else lengths.to(device)
            for mode in MODES:
                label = f"{mode} {steps, batch, hidden}{'' if lengths is None else ' ragged'}"
                found, mine = gradients(execution.outputs, given, lengths=ends, backward=mode)
                off = ((found.y.double().cpu() - expected.y).abs() / admitted.y).max()
                checks.add(f"{label}: y, in units of the admitted error", float(off), 1.0)
                worst = max(gap(a, b) for a, b in zip(mine, by_loop, strict=True))
                checks.add(f"{label}: gradients", worst, 8 * UNIT_ROUNDOFF[torch.float32] * (steps + 16))
                again, repeated = gradients(execution.outputs, given, lengths=ends, backward=mode)
                differ = sum(not torch.equal(a, b) for a, b in zip([found.y, *mine], [again.y, *repeated], strict=True))
                checks.add(f"{label}: arrays that differ in a second run", differ, 0)


def check_others(checks: Checks, device: str, *, count: int) -> None:
    """tanh, NaN, trajectories, scoRNN."""
    bits = torch.arange(0, 0x7F800000, 0x7F800000 // count, dtype=torch.int32)
    x = bits.view(torch.float32).to(device).reshape(1, 1, -1)
    z = execution.forward(x, w=0.0, step_size=1.0, alpha=0.0).z.flatten().cpu()
    exact = torch.tanh(x.double().cpu()).flatten()
    ulp = torch.exp2(torch.floor(torch.log2(exact.clamp(min=2.0**-126))) - 23)
    checks.add("tanh over all floats, ulp", float(((-z.double() - exact).abs() / ulp).max()), 2.0)

    given = problem(1100, 2, 1, device)
    given["x"][17, 1] = torch.nan
    y = execution.outputs(given["x"], **{k: v for k, v in given.items() if k != "x"}).y
    wrong = int((~y[17:, 1].isnan()).sum() + y[:17].isnan().sum() + y[:, 0].isnan().sum())
    checks.add("rows that a NaN reached wrongly", wrong, 0)

    steps, columns = 60, 100
    x = torch.randn(steps, columns, generator=torch.Generator().manual_seed(2)).to(device)
    w = torch.linspace(-1, 1, columns).to(device)
    found = extremes(x, w=w, step_size=0.1, alpha=1.0)
    loop = torch_loop.forward(x.double().cpu().unsqueeze(1), w=w.double().cpu(), step_size=0.1, alpha=1.0)
    checks.add("trajectories: max |y|", gap(found.y, loop.y.abs().amax(0).flatten()), 1e-5)
    checks.add("trajectories: max |z|", gap(found.z, loop.z.abs().amax(0).flatten()), 1e-5)
    determinant = torch.linalg.det(found.tangent.double()) * 4.0 ** found.exponent.double()
    checks.add("trajectories: det J = 1", float((determinant - 1).abs().max()), 1e-3)

    for units in (33, orthogonal.MOST_UNITS):
        given = scornn_problem(20, 5, units, device)
        leaves = {k: v.clone().requires_grad_() for k, v in given.items()}
        rows = orthogonal.rows(leaves["x"], **{k: v for k, v in leaves.items() if k != "x"})
        mine = torch.autograd.grad(rows.square().sum(), list(leaves.values()))
        double = {k: v.double().cpu().requires_grad_() for k, v in given.items()}
        expected = scornn_loop(**double)
        theirs = torch.autograd.grad(expected.square().sum(), list(double.values()))
        worst = max(gap(a, b) for a, b in zip((rows, *mine), (expected, *theirs), strict=True))
        checks.add(f"scoRNN with {units} units: rows and gradients", worst, UNIT_ROUNDOFF[torch.float32] * units * 20)


def check_streams(checks: Checks) -> None:
    """A side stream, a thread of its own, a captured graph: the same bits as the default stream."""
    given = problem(300, 4, 33, "cuda")
    rest = {k: v for k, v in given.items() if k != "x"}
    expected = execution.outputs(given["x"], **rest).y
    side, found = torch.cuda.Stream(), []
    for _ in range(20):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            late = given["x"] * 1.0   # work that the launch must wait for
            found.append(execution.outputs(late, **rest).y * 1.0)
        torch.cuda.current_stream().wait_stream(side)
    checks.add("side stream: runs that differ", sum(not torch.equal(y, expected) for y in found), 0)

    results: list[torch.Tensor] = []

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


def scornn_problem(steps: int, batch: int, units: int, device: str) -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(units)
    W = torch.linalg.qr(torch.randn(units, units, generator=g))[0].contiguous()
    made = {"x": torch.randn(steps, batch, units, generator=g), "W": W, "b": 0.1 * torch.randn(units, generator=g),
            "h0": torch.randn(batch, units, generator=g)}  # fmt: skip
    return {k: v.to(device) for k, v in made.items()}


def scornn_loop(x: torch.Tensor, *, W: torch.Tensor, b: torch.Tensor, h0: torch.Tensor) -> torch.Tensor:
    """The formula, step by step."""
    h, rows = h0, []
    for drive in x:
        h = modrelu(torch.addmm(drive, h, W.T), b)
        rows.append(h)
    return torch.stack(rows)


# --- timing


def timed(call: Callable[[], Any], *, rounds: int = 15, warmup: int = 3) -> dict[str, float]:
    """Milliseconds between events around one call."""
    samples = []
    for number in range(warmup + rounds):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        stop.record()
        torch.cuda.synchronize()
        if number >= warmup:
            samples.append(start.elapsed_time(stop))
    return {"median": statistics.median(samples), "smallest": min(samples), "largest": max(samples)}


@contextlib.contextmanager
def forced(way: str) -> Iterator[None]:
    """Both directions take this way, whatever the shape."""
    kept = execution.plan
    execution.plan = lambda *_: way  # type: ignore[assignment]
    try:
        yield
    finally:
        execution.plan = kept


def baseline(
    given: dict[str, torch.Tensor],
) -> tuple[Callable[[], None], Callable[[], None], torch.Tensor, torch.Tensor]:
    """Forward and backward of the published structure from y0 = z0 = 0, with their rows and dE/dx for E = Σ y."""
    x, dt = given["x"], 0.25
    steps, batch, hidden = x.shape
    y, grad_x, grad_y = torch.empty_like(x), torch.empty_like(x), torch.ones_like(x)
    y_last, z_last = x.new_empty(batch, hidden), x.new_empty(batch, hidden)
    gate, sums = given["step_size"] / dt, x.new_zeros(2, hidden)
    grid = -(-batch * hidden // 128)

    def call(name: str) -> None:
        pointers = (x, given["w"], gate, y, y_last, z_last, grad_y, grad_x, sums[0], sums[1])
        arguments = (*(each.data_ptr() for each in pointers), steps, batch, hidden, dt, float(given["alpha"]))
        kernel = module.KERNELS[name]
        module.launcher_for(x).launch(kernel, grid, arguments, threads=128, shared=0)

    return lambda: call("baseline_forward"), lambda: call("baseline_backward"), y, grad_x


def check_baseline(checks: Checks, device: str) -> None:
    """A peer that is timed must be right, too."""
    given = problem(60, 2, 33, device)
    forward, backward, y, grad_x = baseline(given)
    forward()
    backward()
    double = {k: v.double().cpu() for k, v in given.items() if k in ("w", "step_size", "alpha")}
    x = given["x"].double().cpu().requires_grad_()
    expected = torch_loop.forward(x, **double).y
    (slope,) = torch.autograd.grad(expected.sum(), x)
    checks.add("baseline: y and dE/dx", max(gap(y, expected.detach()), gap(grad_x, slope)), 1e-4)


def time_shape(steps: int, batch: int, hidden: int) -> dict[str, dict[str, float]]:
    """Each pass of the recurrence, and its peers, on one shape."""
    given = problem(steps, batch, hidden, "cuda")
    found: dict[str, dict[str, float]] = {}
    x = given["x"]
    call = {k: v for k, v in given.items() if k != "x"}
    start = (given["y0"], given["z0"])
    coefficients = tuple(given[k] for k in ("w", "step_size", "alpha"))
    target = torch.empty_like(x)
    found["copy of one array"] = timed(lambda: target.copy_(x))
    forward, backward, _, _ = baseline(given)
    found["published structure, forward"] = timed(forward)
    found["published structure, backward"] = timed(backward)
    for way in ("ring", "scan"):
        if way == "scan" and batch * hidden > 4096:
            continue   # far beyond any break-even, and minutes on a slow device
        with forced(way), torch.no_grad():
            found[f"{way}, forward"] = timed(lambda: execution.outputs(x, **call))
            y, _, z_last = execution._run_forward(x, *coefficients, *start, None)
            ones = torch.ones_like(x)
            found[f"{way}, stored backward"] = timed(
                lambda y=y, z=z_last, ones=ones: execution._run_stored(
                    x, *coefficients, start[0], None, y, z, ones, None, None, None
                )
            )
    for mode in ("reversible", "exact"):
        with torch.no_grad():
            found[f"{mode}, forward"] = timed(lambda mode=mode: execution.outputs(x, **call, backward=mode))
        found[f"{mode}, forward and backward"] = timed(lambda mode=mode: train(given, mode))
    found["stored, forward and backward"] = timed(lambda: train(given, "stored"))
    lstm = torch.nn.LSTM(hidden, hidden).cuda()
    with torch.no_grad():
        found["cuDNN LSTM, forward"] = timed(lambda: lstm(x))
    leaf = x.clone().requires_grad_()
    found["cuDNN LSTM, forward and backward"] = timed(lambda: lstm(leaf)[0].sum().backward())
    return found


def train(given: dict[str, torch.Tensor], mode: str) -> None:
    """Forward and backward of Σ y with leaves that need gradients."""
    leaves = {k: v.detach().requires_grad_() for k, v in given.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", execution.ReconstructionWarning)
        execution.outputs(leaves.pop("x"), **leaves, backward=mode).y.sum().backward()


def crossover(steps: int) -> dict[str, dict[str, dict[str, float]]]:
    """Ring and scan over the number of columns: where ``SCAN_COLUMNS`` should lie."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for columns in (32, 256, 1024, 2048, 4096, 8192, 16384):
        given = problem(steps, columns // 32, 32, "cuda")
        a = tuple(given[k] for k in ("x", "w", "step_size", "alpha"))
        row = {}
        for way in ("ring", "scan"):
            with forced(way):
                before = (given["y0"], given["z0"], None)
                row[f"{way}, forward"] = timed(lambda a=a, b=before: execution._run_forward(*a, *b), rounds=5)
                y, _, z = execution._run_forward(*a, *before)
                states = (given["y0"], None, y, z, torch.ones_like(y), None, None, None)
                row[f"{way}, backward"] = timed(lambda a=a, s=states: execution._run_stored(*a, *s), rounds=5)
        found[str(columns)] = row
    return found


def time_scornn() -> dict[str, dict[str, float]]:
    """psMNIST's scoRNN, 784 steps, 170 units, beside the torch loop."""
    given = scornn_problem(784, 128, 170, "cuda")
    rest = {k: v for k, v in given.items() if k != "x"}

    def both(run: Callable[..., torch.Tensor]) -> None:
        leaves = {k: v.detach().requires_grad_() for k, v in given.items()}
        run(leaves.pop("x"), **leaves).sum().backward()

    with torch.no_grad():
        found = {"on the chip, forward": timed(lambda: orthogonal.rows(given["x"], **rest)),
                 "torch loop, forward": timed(lambda: scornn_loop(given["x"], **rest), rounds=5)}  # fmt: skip
    found["on the chip, forward and backward"] = timed(lambda: both(orthogonal.rows))
    found["torch loop, forward and backward"] = timed(lambda: both(scornn_loop), rounds=5)
    return found


def time_trajectories() -> dict[str, Any]:
    """Steps of trajectories with their tangents in a second, one shared drive."""
    found: dict[str, Any] = {}
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(1000, 1, device="cuda", dtype=dtype).expand(1000, 65536)
        w = torch.linspace(-2, 2, 65536, device="cuda", dtype=dtype)
        took = timed(lambda x=x, w=w: extremes(x, w=w, step_size=0.1, alpha=1.0))
        found[str(dtype)[6:]] = took | {"steps a second": 65536e6 / took["median"]}
    return found


# --- the run


def launcher(options: argparse.Namespace) -> tuple[Any, str]:
    """What launches, and its name for the record."""
    if options.emulated:
        from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher

        return EmulatedLauncher(emulator.build()), "emulator"
    reason = module.unavailable_because()
    if reason is None:
        import pycuda

        return None, f"pycuda {pycuda.VERSION_TEXT}"
    from _ctypes_driver import CtypesDevice

    return CtypesDevice(), f"the driver's C interface, because {reason}"


def sanitized() -> dict[str, str]:
    """What compute-sanitizer says of small runs of every kernel; how it ended where it is missing."""
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        return {"compute-sanitizer": "not installed"}
    found = {}
    for check in ("memcheck", "racecheck", "initcheck", "synccheck"):
        command = [tool, "--tool", check, "--error-exitcode", "9", sys.executable, __file__, "--small"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=150)
        except subprocess.TimeoutExpired:
            found[check] = "not finished in 150 s"
            continue
        lines = [line for line in done.stdout.splitlines() if line.startswith("=====")]
        found[check] = f"exit status {done.returncode}; " + " | ".join(lines[-4:])
        sys.stdout.write(f"compute-sanitizer {check}: {found[check]}\n")
    return found


def run(options: argparse.Namespace) -> int:
    device = "cpu" if options.emulated else "cuda"
    if device == "cuda" and not torch.cuda.is_available():
        sys.stdout.write(f"device_suite: nothing was run: {execution.unavailable_because()}\n")
        return 1 if options.require_device else 0
    if device == "cuda":
        torch.zeros(1, device="cuda")   # torch makes the primary context
    override, loader = launcher(options)
    small = [(1, 1, 1), (101, 3, 11), (1100, 1, 3)]
    large = [*small, (784, 5, 33), (4096, 2, 16)]
    checks = Checks()
    started = time.perf_counter()
    with module.using(override) if override is not None else contextlib.nullcontext():
        with warnings.catch_warnings():
            warnings.simplefilter("error", execution.ReconstructionWarning)
            quick = options.emulated or options.small
            check_recurrence(checks, device, small if quick else large)
            check_others(checks, device, count=2000 if quick else 1 << 24)
            check_baseline(checks, device)
            if device == "cuda":
                check_streams(checks)
        if options.emulated or options.small:
            return 0 if checks.hold else 1
        record: dict[str, Any] = {
            "benchmark": "device_suite", "unit": "ms", "machine": machine(), "loader": loader,
            "arch": "sm_{}{}".format(*torch.cuda.get_device_capability()), "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(), "checks": checks.found, "all checks hold": checks.hold,
        }  # fmt: skip
        name = "".join(c if c.isalnum() else "_" for c in torch.cuda.get_device_name()).strip("_").lower()
        path = options.output / f"device_{name}.json"

        def save() -> None:
            """After every part: a machine may be taken away."""
            record["seconds"] = round(time.perf_counter() - started, 1)
            options.output.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(record, indent=1) + "\n")

        save()
        if checks.hold:
            parts: dict[str, Callable[[], Any]] = {
                **{f"times {label}": (lambda s=shape: time_shape(*s)) for label, shape in SHAPES.items()},
                "times scoRNN (784, 128, 170)": time_scornn, "times trajectories": time_trajectories,
                "ring and scan over columns, 8192 steps": lambda: crossover(8192),
                "registers": lambda: registers(record["arch"]),
            }  # fmt: skip
            for label, part in parts.items():
                try:
                    record[label] = part()
                except Exception as error:  # one part that fails must not cost the others
                    record[label] = {"failed": f"{type(error).__name__}: {error}"}
                sys.stdout.write(f"{label}\n{json.dumps(record[label], indent=1)}\n")
                save()
    record["sanitizer"] = sanitized()
    save()
    sys.stdout.write(f"wrote {path.name}\n")
    return 0 if checks.hold else 1


def registers(arch: str) -> Any:
    """Of every kernel, by nvcc where it is there."""
    if shutil.which("nvcc") is None:
        return "there is no nvcc"
    return {name: used.registers for unit in build.UNITS for name, used in build.nvcc(unit, arch)[1].items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulated", action="store_true", help="the checks, on the CPU")
    parser.add_argument("--small", action="store_true", help="the checks on small shapes only; no times, no record")
    parser.add_argument("--require-device", action="store_true", help="exit with 1 where there is no device")
    parser.add_argument("--output", type=Path, default=RESULTS)
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
