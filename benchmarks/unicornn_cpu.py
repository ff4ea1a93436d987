"""How long does a UnICORNN layer take in the cpu execution, beside torch's recurrent layers and the torch loop?

One thread, forward plus backward of a whole layer, V u + b and its weight gradient included, with a fixed cotangent of
all outputs; shapes (time, batch, hidden, input) of the paper's tasks. Then the recurrence alone, forwards and
backwards, beside copies of as many arrays as it has to move: the memory bound. Answers are checked against float64
before anything is timed. Every ratio is between peers that were timed in turn in one run.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from _harness import Timing, interleaved, report
from torch import Tensor, nn

from odernn.cells.unicornn import UnICORNN
from odernn.executions import torch_loop
from odernn.executions.cpu import execution as cpu

LAYERS = {
    "psMNIST (784, 128, 128, 1)": (784, 128, 128, 1, 1),
    "EigenWorms (17984, 8, 32, 6)": (17984, 8, 32, 6, 1),
    "CIFAR-10, three layers (1000, 30, 128, 96)": (1000, 30, 128, 96, 3),
}
TOLERANCE = 1e-3
"""Largest admitted float32 error of the checked run, relative to the largest value; measured errors are printed."""

ROUNDS = 5


def network(size: int, hidden: int, layers: int, **options: str) -> UnICORNN:
    generator = torch.Generator().manual_seed(0)
    return UnICORNN(size, hidden, layers, dt=0.19, alpha=30.65, generator=generator, **options)  # type: ignore[arg-type]


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found.double() - expected).abs().max() / expected.abs().max())


def checked_errors(u: Tensor, cotangent: Tensor, hidden: int, layers: int) -> float:
    """Largest relative error of outputs and weight gradients of the cpu execution in float32."""
    runs = []
    for dtype, execution in ((torch.float64, "torch"), (torch.float32, "cpu")):
        cell = network(u.shape[2], hidden, layers, execution=execution).to(dtype)
        if dtype == torch.float64:  # the same weights, those of float32
            cell.load_state_dict(network(u.shape[2], hidden, layers).state_dict())
        output = cell(u.to(dtype))[0]
        output.backward(cotangent.to(dtype))
        runs.append([output.detach(), *(p.grad for p in cell.parameters() if p.grad is not None)])
    worst = max(relative(found, expected) for expected, found in zip(*runs, strict=True))
    assert worst <= TOLERANCE, f"relative error {worst:.2e} exceeds {TOLERANCE}"
    return worst


def in_place(cell: UnICORNN, u: Tensor, cotangent: Tensor) -> None:
    """One layer by ``torch_loop`` without autograd: its loop in place, and its backward recursion."""
    layer, coefficients = cell.layers[0], cell.coefficients(0)
    with torch.no_grad():
        x = layer.drive(u, None)
        states = torch_loop.forward(x, **coefficients)
        found = torch_loop.backward(x, **coefficients, states=states, grad_y=cotangent)
        torch.einsum("nbi,nbj->ij", found.x, u)
        found.x.sum(dim=(0, 1))


def layer_case(shape: tuple[int, int, int, int, int]) -> tuple[list[Timing], float]:
    steps, batch, hidden, size, layers = shape
    generator = torch.Generator().manual_seed(1)
    u = torch.rand(steps, batch, size, generator=generator)
    cotangent = torch.randn(steps, batch, hidden, generator=generator)
    error = checked_errors(u, cotangent, hidden, layers)

    def both_ways(module: nn.Module) -> Callable[[], None]:
        def call() -> None:
            module.zero_grad()
            module(u)[0].backward(cotangent)

        return call

    peers: dict[str, Callable[[], None]] = {
        f"cpu, {mode}": both_ways(network(size, hidden, layers, execution="cpu", backward=mode))
        for mode in ("stored", "reversible", "exact")
    }
    loop = network(size, hidden, layers)
    if layers == 1:
        peers["torch loop, in place"] = lambda: in_place(loop, u, cotangent)
    peers["torch loop, autograd"] = both_ways(loop)
    peers |= {f"nn.{kind.__name__}": both_ways(kind(size, hidden, layers)) for kind in (nn.LSTM, nn.GRU, nn.RNN)}
    return interleaved(peers, rounds=ROUNDS), error


def bound_case(shape: tuple[int, int, int, int, int]) -> tuple[list[Timing], list[Timing]]:
    """The recurrence alone into memory that is there, beside copies: 2 arrays forwards, 4 backwards."""
    steps, batch, hidden = shape[:3]
    x = torch.randn(steps, batch, hidden, generator=torch.Generator().manual_seed(2))
    other, h = torch.empty_like(x), torch.full((hidden,), 0.1)
    coefficients = {"w": torch.rand(hidden), "step_size": h, "alpha": torch.tensor(30.65)}
    states = cpu.forward(x, **coefficients)

    def copies(count: int) -> Callable[[], None]:
        def call() -> None:
            for _ in range(count):
                other.copy_(x)

        return call

    forward = {"copy of one array": copies(1), "cpu forward": lambda: cpu.outputs(x, **coefficients)}
    backward = {
        "copies of two arrays": copies(2),
        "cpu backward": lambda: cpu.backward(x, **coefficients, states=states, grad_y=x),
    }
    with torch.no_grad():
        return interleaved(forward, rounds=ROUNDS), interleaved(backward, rounds=ROUNDS)


def main() -> None:
    torch.set_num_threads(1)
    cases: dict[str, list[Timing]] = {}
    checks: dict[str, float] = {}
    for name, shape in LAYERS.items():
        cases[f"layer, {name}"], checks[name] = layer_case(shape)
        cases[f"forward and bound, {name}"], cases[f"backward and bound, {name}"] = bound_case(shape)
    report("unicornn_cpu", cases, checks)


if __name__ == "__main__":
    main()
