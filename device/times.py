"""What the CUDA kernels cost, beside their peers: the published kernel, cuDNN's LSTM, a copy of the arrays moved.

Peers take turns, round by round. On the CPU, inside of an emulator, every function runs as well, to try it; its times
then mean nothing.
"""

from __future__ import annotations

import contextlib
import gc
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cuda.odernn_kernels import execution, operations, orthogonal
from cuda.odernn_kernels.trajectories import extremes
from device.checks import problem, published, scornn_loop, scornn_problem, without_x
from odernn.cells.unicornn import UnICORNN
from odernn.executions.recurrence import ReconstructionWarning

Peers = dict[str, Callable[[], Any]]


REPLAYED_MS = 1.0
"""A graph holds a call so often that a replay of it lasts about so long."""

MOST_REPEATS = 200


@dataclass(frozen=True)
class Clock:
    """Milliseconds of the device for a call, and beside them the host's; rounds after uncounted ones.

    The device's time is that of a replayed CUDA graph with the call in it, so that no interpreter runs between its
    kernels: else small shapes would time Python. A call that waits for the device cannot be captured; its time is that
    between two events around it, host work and all, and the row says "events".
    """

    device: str
    rounds: int = 15
    warmup: int = 3

    def once(self, call: Callable[[], Any]) -> float:
        """One call, from a device that has nothing else to do."""
        if self.device != "cuda":
            started = time.perf_counter()
            call()
            return 1e3 * (time.perf_counter() - started)
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        call()
        stop.record()
        torch.cuda.synchronize()
        return float(start.elapsed_time(stop))

    def host(self, call: Callable[[], Any], count: int = 20) -> float:
        """Until a call returns, with the device left to itself: the host's work, or the device's if the call waits."""
        self._settle()
        started = time.perf_counter()
        for _ in range(count):
            call()
        took = 1e3 * (time.perf_counter() - started) / count
        self._settle()
        return took

    def _settle(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def prepared(self, call: Callable[[], Any]) -> tuple[Callable[[], Any], int, str]:
        """What to time in the place of a call, how many calls that is, and by which clock."""
        if self.device != "cuda":
            return call, 1, "process"
        try:
            graph = captured(call, 1)
            repeats = max(1, min(MOST_REPEATS, round(REPLAYED_MS / max(self.once(graph.replay), 1e-3))))
            if repeats > 1:
                graph = captured(call, repeats)
        except RuntimeError as error:
            torch.cuda.synchronize()
            sys.stdout.write(f"not captured: {str(error).splitlines()[0]}\n")
            return call, 1, "events"
        return graph.replay, repeats, "replay"

    def interleaved(self, peers: Peers, *, moved: dict[str, int] | None = None) -> list[dict[str, Any]]:
        """Of every peer the median, the spread and the median ratio of the first one's time by its own.

        moved: bytes that a peer must read or write at least. With a peer "copy", which moves as many as are named for
        it, their time at the rate of that copy by the peer's own time is its share of the memory bound.
        """
        timed = {name: self.prepared(call) for name, call in peers.items()}
        samples: dict[str, list[float]] = {name: [] for name in peers}
        for number in range(self.warmup + self.rounds):
            for name, (call, repeats, _) in timed.items():
                took = self.once(call) / repeats
                if number >= self.warmup:
                    samples[name].append(took)
        reference = next(iter(samples.values()))
        found = []
        for name, values in samples.items():
            ratio = statistics.median(a / b for a, b in zip(reference, values, strict=True))
            row = {
                "name": name,
                "median": statistics.median(values),
                "smallest": min(values),
                "largest": max(values),
                "ratio": ratio,
                "clock": timed[name][2],
            }
            if self.device == "cuda":
                row["host"] = self.host(peers[name], 5)
            if moved and name in moved:
                bound = statistics.median(samples["copy"]) * moved[name] / moved["copy"]
                row |= {"bytes": moved[name], "share of the memory bound": bound / row["median"]}
            found.append(row)
        return found


def captured(call: Callable[[], Any], repeats: int) -> torch.cuda.CUDAGraph:
    """A graph of so many calls, after two on a side stream. RuntimeError if the call waits for the device."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            call()
    return graph


@contextlib.contextmanager
def forced(way: str) -> Iterator[None]:
    """Both directions take this way, whatever the shape."""
    kept = operations.plan
    operations.plan = lambda *_: way  # type: ignore[assignment, return-value]
    try:
        yield
    finally:
        operations.plan = kept


def train(given: dict[str, Tensor], mode: str) -> None:
    """Forward and backward of Σ y with leaves that need gradients."""
    leaves = {k: v.detach().requires_grad_() for k, v in given.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReconstructionWarning)
        execution.outputs(leaves["x"], **without_x(leaves), backward=mode).y.sum().backward()  # type: ignore[arg-type]


MOST_SCANNED = 4096
"""Columns; a scan of more is far beyond any break-even, and takes minutes on a slow device."""


def ways(columns: int) -> tuple[str, ...]:
    return ("ring", "scan") if columns <= MOST_SCANNED else ("ring",)


def time_forward(clock: Clock, shape: tuple[int, int, int]) -> list[dict[str, Any]]:
    """The recurrence alone, x given: it reads x and writes y. The first peer is the published kernel."""
    given = problem(*shape, clock.device)
    x, rest = given["x"], without_x(given)
    target = torch.empty_like(x)
    peers: Peers = {"published kernel": published(given).forward, "copy": lambda: target.copy_(x)}
    for way in ways(shape[1] * shape[2]):
        peers[way] = _under(way, lambda: execution.outputs(x, **rest))
    for mode in ("reversible", "exact"):
        peers[mode] = lambda mode=mode: execution.outputs(x, **rest, backward=mode)  # type: ignore[misc]
    array = x.numel() * x.element_size()
    with torch.no_grad():
        return clock.interleaved(peers, moved={name: 2 * array for name in peers})


def _under(way: str, call: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        with forced(way):
            return call()

    return run


def time_backward(clock: Clock, shape: tuple[int, int, int]) -> list[dict[str, Any]]:
    """The backward pass alone, from a gradient by every row: "stored" reads x, y, ∂E/∂y and writes ∂E/∂x."""
    given = problem(*shape, clock.device)
    x, start = given["x"], (given["y0"], given["z0"])
    coefficients = tuple(given[name] for name in ("w", "step_size", "alpha"))
    target, grad_y = torch.empty_like(x), torch.ones_like(x)
    peer = published(given)
    peer.forward()
    array = x.numel() * x.element_size()
    peers: Peers = {"published kernel": peer.backward, "copy": lambda: target.copy_(x)}
    moved = {"published kernel": 3 * array, "copy": 2 * array}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ReconstructionWarning)
        y, _, z_last = operations.run_forward(x, *coefficients, *start, None)
        ends = (grad_y, None, None)
        for way in ways(shape[1] * shape[2]):
            stored = (x, *coefficients, start[0], None, y, z_last, grad_y, None, None, None)
            peers[f"stored, {way}"] = _under(way, lambda stored=stored: operations.run_stored(*stored))
            moved[f"stored, {way}"] = 4 * array
        _, *kept = operations.reversible(x, *coefficients, *start, None)
        peers["reversible"] = lambda: operations.reversible_backward(x, *coefficients, *start, None, *kept, *ends)
        *_, last = operations.exact(x, *coefficients, *start, None)
        peers["exact"] = lambda: operations.exact_backward(x, *coefficients, *start, None, last, *ends)
        moved |= {"reversible": 3 * array, "exact": 3 * array}
        return clock.interleaved(peers, moved=moved)


def time_layer(clock: Clock, shape: tuple[int, int, int]) -> list[dict[str, Any]]:
    """A layer of m inputs and its product, forward and backward, in each mode; first cuDNN's LSTM of the same size.

    The last peer's product is in bfloat16, as torch.autocast makes it (docs/executions.md); the recurrence is not.
    """
    steps, batch, hidden = shape
    u = problem(steps, batch, hidden, clock.device)["x"].requires_grad_()
    lstm = torch.nn.LSTM(hidden, hidden).to(clock.device)
    layer = UnICORNN(hidden, hidden, dt=0.1, alpha=1.0, execution="cuda", device=clock.device)

    def both(run: Callable[[], Tensor]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReconstructionWarning)
            run().sum().backward()

    peers: Peers = {"LSTM of torch": lambda: both(lambda: lstm(u)[0])}
    for mode in ("stored", "reversible", "exact"):
        peers[f"UnICORNN, {mode}"] = lambda mode=mode: both(lambda: layer(u, backward=mode)[0])  # type: ignore[misc]

    def drives_in_bfloat16() -> Tensor:
        with torch.autocast(clock.device, dtype=torch.bfloat16):
            return layer(u)[0]

    peers["UnICORNN, stored, drives in bfloat16"] = lambda: both(drives_in_bfloat16)
    return clock.interleaved(peers)


def crossover(clock: Clock, steps: int, columns: int) -> list[dict[str, Any]]:
    """Ring and scan on so many columns: where ``operations.SCAN_COLUMNS`` should lie."""
    hidden = min(columns, 32)
    given = problem(steps, columns // hidden, hidden, clock.device)
    a = tuple(given[k] for k in ("x", "w", "step_size", "alpha"))
    before = (given["y0"], given["z0"], None)
    peers: Peers = {}
    for way in ("ring", "scan"):
        peers[f"{way}, forward"] = _under(way, lambda: operations.run_forward(*a, *before))
        with forced(way):
            y, _, z = operations.run_forward(*a, *before)
        states = (given["y0"], None, y, z, torch.ones_like(y), None, None, None)
        peers[f"{way}, backward"] = _under(way, lambda states=states: operations.run_stored(*a, *states))
    return clock.interleaved(peers)


def time_scornn(clock: Clock, shape: tuple[int, int, int]) -> list[dict[str, Any]]:
    """psMNIST's scoRNN beside the torch loop, forward and backward."""
    given = scornn_problem(*shape, clock.device)

    def both(run: Callable[..., Tensor]) -> None:
        leaves = {k: v.detach().requires_grad_() for k, v in given.items()}
        run(leaves["x"], **without_x(leaves)).sum().backward()

    peers: Peers = {
        "torch loop": lambda: both(scornn_loop),
        "W on the chip": lambda: both(orthogonal.rows),
        "W on the chip, forward alone": lambda: orthogonal.rows(given["x"], **without_x(given)),
    }
    return clock.interleaved(peers)


def time_trajectories(clock: Clock, steps: int, columns: int) -> list[dict[str, Any]]:
    """Trajectories with their tangents, one shared drive; ``rate`` is steps of trajectories in a second."""
    peers: Peers = {}
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(steps, 1, device=clock.device, dtype=dtype).expand(steps, columns)
        w = torch.linspace(-2, 2, columns, device=clock.device, dtype=dtype)
        peers[str(dtype)[6:]] = lambda x=x, w=w: extremes(x, w=w, step_size=0.1, alpha=1.0)  # type: ignore[misc]
    found = clock.interleaved(peers)
    return [row | {"rate": 1e3 * steps * columns / row["median"]} for row in found]


HOST_SHAPES = tuple((steps, 8, hidden) for steps in (1000, 4096, 17984) for hidden in (4, 32, 256))
"""(steps, batch, hidden) at which the host's work is timed."""


def host_work(clock: Clock, shape: tuple[int, int, int]) -> dict[str, float]:
    """Milliseconds of the host for a call, forward and with its backward pass; the device goes on by itself."""
    given = problem(*shape, clock.device)
    leaves = {k: v.detach().requires_grad_() for k, v in given.items()}
    rest, ones = without_x(leaves), torch.ones_like(given["x"])

    def forward() -> Tensor:
        return execution.outputs(leaves["x"], **rest).y

    def both() -> None:
        torch.autograd.grad(forward(), list(leaves.values()), ones)

    found = {}
    for name, call in (("forward", forward), ("forward and backward", both)):
        call()
        found[name] = statistics.median(clock.host(call) for _ in range(5))
    return found


def memory(device: str, shape: tuple[int, int, int], layers: int) -> dict[str, float]:
    """Peak bytes of a training step beyond what was there, in arrays of N · b · m a layer; 1 input feature.

    The last way is ``network.last``, whose memory does not grow with N. Empty without a device, which alone counts.
    """
    steps, batch, hidden = shape
    u = torch.randn(steps, batch, 1, device=device)
    found: dict[str, float] = {}
    for label in ("stored", "reversible", "exact", "all layers through time together"):
        network = UnICORNN(1, hidden, layers, dt=0.03, alpha=1.0, execution="cuda", device=device)
        gc.collect()
        if device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReconstructionWarning)
            if label == "all layers through time together":
                network.last(u)[0][-1].sum().backward()
            else:
                network(u, backward=label)[0].sum().backward()  # type: ignore[arg-type]
        if device == "cuda":
            torch.cuda.synchronize()
            grown = torch.cuda.max_memory_allocated() - before
            found[label] = grown / (steps * batch * hidden * 4 * layers)
    return found
