"""Attacks on what ``certify`` says of every cell: inputs follow the gradient of a bounded quantity.

An attack returns, of every line of a report with a bound, the largest value found and the bound: ``Reached``. Networks
are those of ``_cell_kinds``, in float64; lines about computed states are attacked by runs in float32.
"""

from __future__ import annotations

import copy
import math
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from odernn.bounds import certify
from odernn.bounds.network import LayerBounds, NetworkBounds, QuantityBound
from odernn.bounds.network.lipschitz import ROUNDED
from odernn.bounds.network.report import EVERY_INPUT
from odernn.cells.lem import LEM
from verification.adversary.input_slopes import computed_ratio, is_about_inputs, rounding_found, worst_inputs

F64 = torch.float64
ROUNDING = 1e-9
"""Of what is measured in float64 over at most some dozen steps, relatively."""
INPUTS, SAMPLES, ASCENTS = 2, 12, 4

Blocks: TypeAlias = dict[str, Tensor]


@dataclass(frozen=True)
class Reached:
    """The largest value that an attack found of what a line bounds, and the bound: natural logarithms."""

    quantity: str
    log_value: float
    log_bound: float

    @property
    def is_exceeded(self) -> bool:
        return self.log_value > self.log_bound + ROUNDING * (1 + abs(self.log_bound))

    @property
    def share(self) -> float:
        """measured/bound."""
        return math.exp(self.log_value - self.log_bound)


def _power_of_ten(generator: torch.Generator, low: float, high: float) -> float:
    return float(10 ** (low + (high - low) * float(torch.rand((), generator=generator, dtype=F64))))


# --- one network, run layer by layer


def run(network: nn.Module, u: Tensor) -> list[Blocks]:
    """The states of every layer for inputs (N, samples, ·), from the initial state of the network; block by block."""
    if isinstance(network, nn.RNNBase):
        return _torch_run(network, u)
    found, below = [], u
    for layer in network.layers:  # type: ignore[union-attr]
        drives = layer.drives(below)
        states = list(_steps(layer, drives, _start(layer, drives), getattr(network, "start", 0)))
        blocks = {
            name: torch.stack(rows) for name, rows in zip(layer.state_names, zip(*states, strict=True), strict=True)
        }
        found.append(blocks)
        below = layer.output(tuple(blocks.values()))
    return found


def _start(layer: Any, drives: Tensor) -> tuple[Tensor, ...]:
    if getattr(layer, "h0", None) is not None:
        return (layer.h0.expand(drives.shape[1], -1),)
    return tuple(drives.new_zeros(drives.shape[1], size) for size in layer.state_sizes)


def _steps(layer: Any, drives: Tensor, state: tuple[Tensor, ...], time: int) -> Iterator[tuple[Tensor, ...]]:
    clocked = hasattr(layer, "steppers")
    step = None if clocked else layer.stepper()
    for n, drive in enumerate(drives):
        state = (layer.stepper(time + n) if clocked else step)(state, drive)
        yield state


def _torch_run(network: nn.RNNBase, u: Tensor) -> list[Blocks]:
    """Layer by layer, step by step, by the equations in torch's documentation."""
    found, below = [], u
    for k in range(network.num_layers):
        W_ih, W_hh = getattr(network, f"weight_ih_l{k}"), getattr(network, f"weight_hh_l{k}")
        b_ih, b_hh = getattr(network, f"bias_ih_l{k}"), getattr(network, f"bias_hh_l{k}")
        h = c = u.new_zeros(u.shape[1], network.hidden_size)
        rows: dict[str, list[Tensor]] = {"h": [], "c": []}
        for x in below:
            a, r = x @ W_ih.T + b_ih, h @ W_hh.T + b_hh
            if network.mode == "LSTM":
                i, f, g, o = (a + r).chunk(4, dim=1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
            elif network.mode == "GRU":
                (a_r, a_z, a_n), (r_r, r_z, r_n) = a.chunk(3, dim=1), r.chunk(3, dim=1)
                z = (a_z + r_z).sigmoid()
                h = (1 - z) * (a_n + (a_r + r_r).sigmoid() * r_n).tanh() + z * h
            else:
                h = (a + r).relu() if network.mode == "RNN_RELU" else (a + r).tanh()
            rows["h"].append(h)
            rows["c"].append(c)
        names = ("h", "c") if network.mode == "LSTM" else ("h",)
        found.append({name: torch.stack(rows[name]) for name in names})
        below = found[-1]["h"]
    return found


def output(blocks: Blocks) -> Tensor:
    """What E sees of the last layer: its first block."""
    return next(iter(blocks.values()))


# --- what a line is about


def plain(quantity: str) -> str:
    """Without hats and tildes: a line about computed states is about the same blocks."""
    return "".join(c for c in unicodedata.normalize("NFD", quantity) if not unicodedata.combining(c))


def size_of(quantity: str, blocks: Blocks) -> Tensor:
    """What a line about states bounds, of every sample: the largest over n ≤ N, (samples,)."""
    name = plain(quantity)
    chosen = [blocks[key] for key in blocks if f"{key}_n" in name] or list(blocks.values())
    if name.startswith("‖"):
        joined = torch.cat(list(blocks.values()) if name.startswith("‖X") else chosen, dim=2)
        return joined.norm(dim=2).amax(0)
    return torch.stack([block.abs().amax(dim=(0, 2)) for block in chosen]).amax(0)


def is_about_states(quantity: str) -> bool:
    """Of the exact recurrence."""
    return "n ≤ N" in quantity


# --- attacks


def attack(
    network: nn.Module, generator: torch.Generator, *, shift: float = 0.0, tries: int = 24, steps: int | None = None
) -> list[Reached]:
    """Every line of the report on this network that has an upper bound, with the worst found; N at random if not given.

    ``shift`` is added to the bounds: a planted fault if it is negative. ``tries`` drives and states for each change.
    """
    steps = steps or int(torch.tensor([1, 2, 5, 12])[torch.randint(4, (), generator=generator)])
    bound, aim = _power_of_ten(generator, -1.0, 1.0), _power_of_ten(generator, -1.0, 1.0)
    report: NetworkBounds[LayerBounds] = certify(network, input_bound=bound, steps=steps, target_bound=aim)
    found: list[Reached] = []

    def note(line: QuantityBound, value: float) -> None:
        assert line.log is not None
        found.append(Reached(line.quantity, math.log(value) if value > 0 else -math.inf, line.log + shift))

    gradients = worst_gradients(network, bound, aim, steps, generator, searches=tries >= 24)
    for layer in report.layers:
        for line in layer.bounds:
            if line.log is None or line.sign != "≤":
                continue
            if is_about_inputs(line.quantity):
                if "as computed" not in line.quantity:
                    shape = (steps, network.input_size)
                    of = run, network, layer.layer, line.quantity
                    note(line, worst_inputs(*of, shape, generator, ascents=tries // 12))
            elif is_about_states(line.quantity):
                limit = 1000 * bound if line.about.startswith(EVERY_INPUT) else bound
                note(line, worst_state(network, layer.layer, line.quantity, (bound, limit), steps, generator))
            elif line.quantity.startswith("|dE/dθ|"):
                note(line, gradients[layer.layer, line.quantity.rpartition("= ")[2]])
            elif "as computed" not in line.quantity:
                note(line, worst_change(network, layer.layer, line.quantity, steps, generator, tries))
    return found


def attack_in_float32(network: nn.Module, generator: torch.Generator) -> list[Reached]:
    """The lines about computed states, by runs in float32 on the float32 weights; measured in float64."""
    narrow = copy.deepcopy(network).float()
    wide = copy.deepcopy(narrow).double()
    steps, bound = int(torch.randint(1, 40, (), generator=generator)), _power_of_ten(generator, -1.0, 1.0)
    report: NetworkBounds[LayerBounds] = certify(narrow, input_bound=bound, steps=steps)
    lines = [
        (k, line) for k, layer in enumerate(report.layers) for line in layer.bounds if "as computed" in line.quantity
    ]
    inputs = [_first_inputs(steps, bound, generator)]
    for k, line in lines:
        if is_about_inputs(line.quantity):
            continue
        inputs.append(ascend(lambda v, k=k, q=line.quantity: size_of(q, run(wide, v)[k]), bound, steps, generator))
    with torch.no_grad():
        runs = [run(narrow, u.float().clamp(-bound, bound)) for u in inputs]
    found = []
    for k, line in lines:
        if line.log is not None and is_about_inputs(line.quantity):
            found.append(_of_pairs(narrow, report, k, line, torch.cat(inputs, dim=1).float().clamp(-bound, bound)))
        elif line.log is not None:
            computed = [{name: block.double() for name, block in each[k].items()} for each in runs]
            value = max(float(size_of(line.quantity, blocks).max()) for blocks in computed)
            found.append(Reached(line.quantity, math.log(value) if value > 0 else -math.inf, line.log))
    return found


def _of_pairs(narrow: nn.Module, report: NetworkBounds[LayerBounds], k: int, line: QuantityBound, u: Tensor) -> Reached:
    """A line about two runs in float32, by all pairs of these inputs."""
    assert line.log is not None
    if line.quantity == ROUNDED:
        value = rounding_found(run, narrow, k + 1, u)
    else:
        value = computed_ratio(run, narrow, k + 1, u, report.layers[k][ROUNDED].log or 0.0)
    return Reached(line.quantity, math.log(value) if value > 0 else -math.inf, line.log)


def _first_inputs(steps: int, bound: float, generator: torch.Generator) -> Tensor:
    u = bound * (2 * torch.rand(steps, SAMPLES, INPUTS, generator=generator, dtype=F64) - 1)
    u[:, ::3] = bound * u[:, ::3].sign()
    u[:, 1::3] = bound * u[:1, 1::3].sign()
    return u


def ascend(score: Callable[[Tensor], Tensor], bound: float, steps: int, generator: torch.Generator) -> Tensor:
    """Inputs (N, samples, ·) whose scores grew: to the corner that the gradient points to, or half way."""
    return _climb(score, _first_inputs(steps, bound, generator), bound)


def _climb(score: Callable[[Tensor], Tensor], u: Tensor, bound: float) -> Tensor:
    best = score(u).detach()
    for place in range(ASCENTS):
        u = u.detach().requires_grad_()
        (slope,) = torch.autograd.grad(score(u).sum(), u, allow_unused=True)
        if slope is None:
            break
        corner = bound * torch.where(slope == 0, u.sign(), slope.sign())
        moved = (corner if place % 2 == 0 else 0.5 * (u + corner)).detach()
        better = score(moved).detach()
        u = torch.where((better > best)[None, :, None], moved, u.detach())
        best = torch.maximum(best, better)
    return u.detach()


def worst_state(
    network: nn.Module, layer: int, quantity: str, bounds: tuple[float, ...], steps: int, generator: torch.Generator
) -> float:
    """The largest state that inputs within one of the bounds reach."""
    worst = 0.0
    for bound in dict.fromkeys(bounds):
        u = ascend(lambda v: size_of(quantity, run(network, v)[layer - 1]), bound, steps, generator)
        with torch.no_grad():
            worst = max(worst, float(size_of(quantity, run(network, u)[layer - 1]).max()))
    return worst


def worst_gradients(
    network: nn.Module, bound: float, aim: float, steps: int, generator: torch.Generator, *, searches: bool
) -> dict[tuple[int, str], float]:
    """The largest |dE/dθ| of every parameter: E the mean or the last term, targets opposed to the outputs.

    With ``searches`` the inputs follow the gradient of |dE/dθ| itself, too, parameter by parameter.
    """
    named = {place_of(key): parameter for key, parameter in network.named_parameters()}

    def slopes(u: Tensor, is_last: bool, wanted: list[Tensor], *, keep: bool = False) -> tuple[Tensor, ...]:
        rows = output(run(network, u)[-1])
        target = -aim * torch.where(rows.detach() == 0, torch.ones_like(rows), rows.detach().sign())
        errors = (rows - target).square().sum(dim=(1, 2)) / 2
        return torch.autograd.grad(errors[-1] if is_last else errors.mean(), wanted, create_graph=keep)

    u = ascend(lambda v: output(run(network, v)[-1]).square().sum(dim=(0, 2)), bound, steps, generator)
    largest: dict[tuple[int, str], tuple[float, int]] = dict.fromkeys(named, (0.0, 0))
    for sample in range(0, SAMPLES, 2):
        for is_last in (False, True):
            found = slopes(u[:, sample : sample + 1], is_last, list(named.values()))
            for place, slope in zip(named, found, strict=True):
                largest[place] = max(largest[place], (float(slope.abs().max()), sample))
    if searches:
        for place, parameter in named.items():

            def score(v: Tensor, parameter: Tensor = parameter) -> Tensor:
                (slope,) = slopes(v, True, [parameter], keep=True)
                return slope.abs().max()[None] + 0 * v.sum()

            sample = largest[place][1]
            v = _climb(score, u[:, sample : sample + 1], bound)
            largest[place] = max(largest[place], (float(score(v).max().detach()), sample))
    return {place: value for place, (value, _) in largest.items()}


def place_of(key: str) -> tuple[int, str]:
    """Layer from 1 and name of a parameter of a cell, "layers.0.W", or of torch's, "weight_ih_l0"."""
    if key.startswith("layers."):
        _, number, name = key.split(".", 2)
        return int(number) + 1, name
    return int(key.rpartition("_l")[2]) + 1, key


def worst_change(
    network: nn.Module, layer: int, quantity: str, steps: int, generator: torch.Generator, tries: int
) -> float:
    """The largest ‖∂X_N/∂X_1‖, or distance of two states, over drives that are free to be anything."""
    width, sizes, make = free_step(network, layer)
    worst, best = 0.0, None
    for place in range(tries):
        scale = _power_of_ten(generator, -2.0, 1.5)
        drives = scale * torch.randn(steps, width, generator=generator, dtype=F64)
        state = torch.randn(sum(sizes), generator=generator, dtype=F64) * _power_of_ten(generator, -2.0, 1.0)
        if best is not None and place % 2:
            drives = best[0] + 0.3 * drives * (torch.rand(steps, width, generator=generator, dtype=F64) < 0.3)
            state = best[1] + 0.1 * state
        if isinstance(network, LEM):  # its Jacobians depend on its states, which are those of a run from zero
            state = state.clamp(-lem_bound(network, layer), lem_bound(network, layer))
        value = _change(quantity, make, sizes, drives, state, generator)
        if value > worst:
            worst, best = value, (drives, state)
    return worst


def lem_bound(network: LEM, layer: int) -> float:
    """Of |y_1| and |z_1| from zero: z_1 = D tanh(…), D ≤ dt."""
    return min(1.0, float(network.layers[layer - 1].dt))


def free_step(network: nn.Module, layer: int) -> tuple[int, tuple[int, ...], Callable[[int], Any]]:
    """Width of a drive, sizes of the blocks, and the step at a time, of one layer; ValueError for LSTM and GRU."""
    if isinstance(network, nn.RNNBase):
        if not network.mode.startswith("RNN"):
            raise ValueError(f"network is a {network.mode}, about whose Jacobian no line has a bound. Write its step.")
        W = getattr(network, f"weight_hh_l{layer - 1}")
        sigma = torch.relu if network.mode == "RNN_RELU" else torch.tanh
        return len(W), (len(W),), lambda n: lambda state, x: (sigma(state[0] @ W.T + x),)
    own = network.layers[layer - 1]  # type: ignore[union-attr, index]
    probe = own.drives(torch.zeros(1, 1, own.input_size, dtype=F64))
    if hasattr(own, "steppers"):
        return probe.shape[-1], own.state_sizes, lambda n: own.stepper(int(network.start) + n)  # type: ignore[arg-type]
    step = own.stepper()
    return probe.shape[-1], own.state_sizes, lambda n: step


def _change(
    quantity: str, make: Any, sizes: tuple[int, ...], drives: Tensor, state: Tensor, generator: torch.Generator
) -> float:
    """Of the N − 1 steps after the first, from this state."""

    def after(x: Tensor) -> Tensor:
        blocks = tuple(x[None].split(sizes, dim=1))
        for n in range(1, len(drives)):
            blocks = make(n)(blocks, drives[n][None])
        return torch.cat(blocks, dim=1)[0]

    if "h'" in quantity:
        other = state + _power_of_ten(generator, -3.0, 0.0) * torch.randn(state.shape, generator=generator, dtype=F64)
        with torch.no_grad():
            return float((after(state) - after(other)).norm() / (state - other).norm())
    J = torch.autograd.functional.jacobian(after, state)
    return float(torch.linalg.matrix_norm(J, math.inf if "_∞" in quantity else 2))
