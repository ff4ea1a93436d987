"""The numbers and the pictures of docs/integrators.md: ten integrators on one field.

    python docs/pictures/integrators.py                 # tables, printed outputs and pictures, under two minutes
    python docs/pictures/integrators.py --no-pictures   # the text only; needs no matplotlib

Numbers are computed first and drawn afterwards: only the functions named ``draw_…`` import matplotlib.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy.integrate import solve_ivp
from tabulate import tabulate
from torch import Tensor

from odernn import bn_stability, order, symmetry, symplecticity, tableaus
from odernn.cells.integrator import InputRule, IntegratorRNN
from odernn.certificate import Certificate
from odernn.fields.field import State
from odernn.fields.oscillator import Oscillator
from odernn.integrators import Step, prepared, symplecticity_defect
from odernn.integrators.guarantees import order_on_inputs
from odernn.tableaus.tableau import PartitionedTableau

Numbers: TypeAlias = np.ndarray
Curves: TypeAlias = dict[str, tuple[Numbers, Numbers]]
"""For each method abscissae and ordinates."""

PICTURES = Path(__file__).resolve().parent
PAGE = PICTURES.parent / "integrators.md"

METHODS = (
    "euler",
    "heun 2",
    "rk4",
    "symplectic euler vt",
    "stoermer verlet",
    "yoshida 4",
    "implicit midpoint",
    "gauss 2",
    "implicit euler",
    "radau iia 2",
)
"""Explicit; explicit and symplectic; implicit and symplectic; implicit and dissipative."""
DRIVEN_METHODS = ("symplectic euler vt", "stoermer verlet", "rk4", "gauss 2")
"""Those of the table of input rules."""
RULES: tuple[InputRule, ...] = ("hold", "linear", "given")

W, ALPHA, DRIVE, START = 2.0, 0.25, 0.5, (1.5, 0.0)
STEP_SIZE, STEPS, LONG_STEPS = 0.25, 256, 4000
"""Of the table, ten periods of 6.4, and of the picture of energies."""
COARSE_STEP_SIZE = 0.5
"""Of the phase portraits, where differences should be seen."""
ROUNDING_LEVEL = 1e-12
"""A defect that is smaller is printed as such: its digits are those of the machine."""


def numbers(*values: float) -> Tensor:
    """(len(values),) in float64."""
    return torch.tensor(values, dtype=torch.float64)


# --- the runs


@dataclass
class Tally:
    """Number of tanh evaluated so far."""

    tanh: int = 0


@dataclass(frozen=True, eq=False)
class CountedOscillator(Oscillator):
    """The oscillator that counts: a force and a derivative of it take one tanh each, a neuron and a stage."""

    tally: Tally = field(default_factory=Tally)

    def force(self, y: Tensor, drive: Tensor) -> Tensor:
        self.tally.tanh += y.numel()
        return super().force(y, drive)

    def force_jacobian(self, y: Tensor, drive: Tensor) -> Tensor:
        self.tally.tanh += y.numel()
        return super().force_jacobian(y, drive)


@dataclass(frozen=True, eq=False)
class Orbit:
    """States n = 0..N of one neuron, y and z (N + 1,), and what they cost."""

    y: Tensor
    z: Tensor
    tanh: int
    iterations: int

    def energies(self) -> Numbers:
        """H, (N + 1,)."""
        found: Numbers = oscillator().energy((self.y[:, None], self.z[:, None]), numbers(DRIVE)).numpy()
        return found


def oscillator() -> CountedOscillator:
    """One neuron, counted from zero."""
    return CountedOscillator(numbers(W), ALPHA)


def stepper(method: str, step_size: float) -> Step:
    """The method on the oscillator."""
    return prepared(tableaus.get(method), oscillator(), step_size)


@torch.no_grad()
def orbit(method: str, step_size: float, steps: int) -> Orbit:
    """From START under the constant drive."""
    step, drive = stepper(method, step_size), numbers(DRIVE)
    state: State = (numbers(START[0]), numbers(START[1]))
    states, iterations = [state], 0
    for _ in range(steps):
        report = step(state, drive)
        state, iterations = report.state, iterations + report.iterations
        states.append(state)
    y, z = (torch.cat(block) for block in zip(*states, strict=True))
    assert isinstance(step.field, CountedOscillator)
    return Orbit(y, z, step.field.tally.tanh, iterations)


@functools.cache
def table_orbit(method: str) -> Orbit:
    """The orbit behind the table."""
    return orbit(method, STEP_SIZE, STEPS)


def area_factors(method: str, found: Orbit) -> Numbers:
    """det ∂(y₁, z₁)/∂(y₀, z₀) of the step from each state but the last, (N,): all of them are one batch."""
    y, z = (block[:-1, None].clone().requires_grad_() for block in (found.y, found.z))
    new = stepper(method, STEP_SIZE)((y, z), numbers(DRIVE)).state
    rows = [torch.autograd.grad(block.sum(), (y, z), retain_graph=True) for block in new]
    (a, b), (c, d) = rows
    determinants: Numbers = (a * d - b * c).flatten().numpy()
    return determinants


def defect(method: str) -> float:
    """max |JᵀΩJ − Ω| of one step at twelve states on the unit circle."""
    angle = torch.arange(12, dtype=torch.float64)[:, None] * (math.pi / 6)
    step, drive = stepper(method, STEP_SIZE), numbers(DRIVE)
    return symplecticity_defect(lambda state: step(state, drive).state, (angle.cos(), angle.sin()))


@torch.no_grad()
def discs(method: str, times: Sequence[int], corners: int = 20) -> list[tuple[Numbers, Numbers]]:
    """A disc of radius 1/4 around START as a polygon, after these numbers of steps."""
    angle = torch.arange(corners, dtype=torch.float64)[:, None] * (2 * math.pi / corners)
    step, drive = stepper(method, COARSE_STEP_SIZE), numbers(DRIVE)
    state: State = (START[0] + 0.25 * angle.cos(), START[1] + 0.25 * angle.sin())
    found = []
    for n in range(max(times) + 1):
        if n in times:
            found.append((state[0].flatten().numpy(), state[1].flatten().numpy()))
        state = step(state, drive).state
    return found


def polygon_area(y: Numbers, z: Numbers) -> float:
    """Gauss's formula."""
    return abs(float(np.sum(y * np.roll(z, -1) - z * np.roll(y, -1)))) / 2


def energy_errors(steps: int = LONG_STEPS, samples: int = 60) -> Curves:
    """max |H − H₀| up to t, at times that lie evenly on a logarithmic axis."""
    curves = {}
    for method in METHODS:
        energies = orbit(method, STEP_SIZE, steps).energies()
        largest = np.maximum.accumulate(np.abs(energies - energies[0]))
        at = np.unique(np.round(np.geomspace(1, steps, samples)).astype(int))
        curves[method] = (at * STEP_SIZE, largest[at])
    return curves


def exact_state(horizon: float, drive: Callable[[float], float], start: Sequence[float]) -> Numbers:
    """(y, z) at the horizon by SciPy's DOP853, which shares nothing with this library."""

    def slope(t: float, x: Sequence[float]) -> list[float]:
        return [x[1], -(math.tanh(W * x[0] + drive(t)) + ALPHA * x[0])]

    found = solve_ivp(slope, (0.0, horizon), list(start), method="DOP853", rtol=1e-13, atol=1e-14)
    state: Numbers = found.y[:, -1]
    return state


def work_and_errors(horizon: float = 20.0, counts: Sequence[int] = (25, 50, 100, 200, 400, 800, 1600)) -> Curves:
    """Number of tanh, and the distance to the exact state at the horizon, for each number of steps."""
    exact = exact_state(horizon, lambda t: DRIVE, START)
    curves = {}
    for method in METHODS:
        runs = [orbit(method, horizon / count, count) for count in counts]
        errors = [math.hypot(float(run.y[-1]) - exact[0], float(run.z[-1]) - exact[1]) for run in runs]
        curves[method] = (np.array([run.tanh for run in runs]), np.array(errors))
    return curves


# --- the order that inputs leave


def signal(t: float) -> float:
    """The smooth input of the table of input rules; zero at t = 0."""
    return math.sin(2.0 * t)


def driven_network(method: str, rule: InputRule, dt: float) -> IntegratorRNN:
    """One neuron whose drive is the input itself."""
    network = IntegratorRNN(
        Oscillator(numbers(W), ALPHA),
        tableaus.get(method),
        dt,
        input_size=1,
        inputs=rule,
        bias=False,
        dtype=torch.float64,
    )
    with torch.no_grad():
        network.layers[0].V.fill_(1.0)
    return network


@torch.no_grad()
def driven_error(method: str, rule: InputRule, steps: int, horizon: float = 2.0) -> float:
    """Distance to the exact state at the horizon, from rest."""
    dt = horizon / steps
    network = driven_network(method, rule, dt)
    ends = [1.0] if rule != "given" else network.layers[0].prepared().stage_times
    seen = torch.tensor([[signal((n + c) * dt) for c in ends] for n in range(steps)], dtype=torch.float64)
    _, (y, z) = network(seen)
    exact = exact_state(horizon, signal, (0.0, 0.0))
    return math.hypot(float(y) - exact[0], float(z) - exact[1])


def slope(method: str, rule: InputRule) -> float:
    """log₂ of the ratio of the errors with 40 and 80 steps."""
    return math.log2(driven_error(method, rule, 40) / driven_error(method, rule, 80))


# --- text


def readable(value: float) -> str:
    """Three digits; powers of ten as such from 10⁶ on and below 10⁻⁴, as in docs/conventions.md."""
    if not 1e-4 <= value < 1e6:
        return f"10^{math.log10(value):.1f}".replace("-", "−")
    rounded = float(f"{value:.3g}")
    return f"{rounded:.{max(2 - math.floor(math.log10(rounded)), 0)}f}"


def above_rounding(value: float) -> str:
    """The same, but without digits that are those of the machine."""
    return readable(value) if value >= ROUNDING_LEVEL else "< 10^−12"


def verdict(certificate: Certificate) -> str:
    """yes or no."""
    return {True: "yes", False: "no", None: "undecided"}[certificate.holds]


def is_pair(method: str) -> bool:
    """Whether positions and momenta have a table each."""
    return isinstance(getattr(tableaus.get(method), "tableau", tableaus.get(method)), PartitionedTableau)


def methods_table() -> str:
    """What each method is, decided, and what it does, measured."""
    rows, horizon = [], STEPS * STEP_SIZE
    for name in METHODS:
        method, found = tableaus.get(name), table_orbit(name)
        errors = np.abs(found.energies() - found.energies()[0])
        area = float(np.exp(np.log(area_factors(name, found)).sum()))
        rows.append(
            {
                "method": name,
                "order": order(method).value,
                "symplectic": verdict(symplecticity(method)),
                "symmetric": verdict(symmetry(method)),
                "BN-stable": "–" if is_pair(name) else verdict(bn_stability(method)),
                f"energy error, t ≤ {horizon / 10:g}": readable(float(errors[: STEPS // 10 + 1].max())),
                f"energy error, t ≤ {horizon:g}": readable(float(errors.max())),
                "JᵀΩJ − Ω, a step": above_rounding(defect(name)),
                f"phase area at t = {horizon:g}": "1" if abs(area - 1) < ROUNDING_LEVEL * STEPS else readable(area),
                "tanh a step": f"{found.tanh / STEPS:.3g}",
                "Newton iterations": f"{found.iterations / STEPS:.1f}" if found.iterations else "–",
            }
        )
    h0 = float(table_orbit(METHODS[0]).energies()[0])
    caption = (
        f"w = {W:g}, α = {ALPHA:g}, x = {DRIVE:g}, (y₀, z₀) = ({START[0]:g}, {START[1]:g}), H₀ = {h0:.3f}, "
        f"h = {STEP_SIZE:g}, N = {STEPS}, float64."
    )
    return f"{github(rows)}\n\n{caption}"


def slopes_table() -> str:
    """Measured orders for each rule, and what ``order_on_inputs`` says."""
    rows = []
    for name in DRIVEN_METHODS:
        row = {"method": name, "order": str(order(tableaus.get(name)).value)}
        for rule in RULES:
            row[f'"{rule}"'] = f"{slope(name, rule):.2f} ({order_on_inputs(tableaus.get(name), rule)})"
        rows.append(row)
    return github(rows)


def github(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table as GitHub reads it; numbers to the right, names and verdicts to the left."""
    left = {"method", "symplectic", "symmetric", "BN-stable"}
    texts = [{key: str(value) for key, value in row.items()} for row in rows]
    table: str = tabulate(
        texts,
        headers="keys",
        tablefmt="pipe",
        disable_numparse=True,
        colalign=["left" if key in left else "right" for key in rows[0]],
    )
    return table


BLOCKS: dict[str, Callable[[], str]] = {"methods": methods_table, "slopes": slopes_table}
"""What stands between <!-- name --> and <!-- /name --> on the page."""

_CODE = re.compile(r"```python\n(.*?)```\n(?:```text\n(.*?)```\n)?", re.DOTALL)


def printed(code: str, names: dict[str, Any]) -> str:
    """What a block of the page prints; ``names`` are those of the blocks before it, and gain its own."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, str(PAGE), "exec"), names)
    return out.getvalue()


def with_outputs(text: str) -> str:
    """The page with the output of each of its Python blocks beneath it, if it prints; they run in order, as one."""
    names: dict[str, Any] = {"__name__": "page"}

    def run(match: re.Match[str]) -> str:
        found = printed(match[1], names)
        return f"```python\n{match[1]}```\n" + (f"```text\n{found}```\n" if found else "")

    before = torch.get_default_dtype()
    try:
        with torch.random.fork_rng(devices=[]):
            return _CODE.sub(run, text)
    finally:
        torch.set_default_dtype(before)


def with_tables(text: str) -> str:
    """The page with its generated tables. Raises ValueError where the place of one is missing."""
    for name, made in BLOCKS.items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if len(place.findall(text)) != 1:
            raise ValueError(
                f"{PAGE.name} has {len(place.findall(text))} places for the table {name!r}, but it needs one. Write "
                f"<!-- {name} --> and <!-- /{name} --> on lines of their own where it belongs."
            )
        text = place.sub(rf"\g<1>{made()}\n\g<2>", text)  # tables hold no backslash
    return text


def current(text: str) -> str:
    """The page as it should be."""
    return with_outputs(with_tables(text))


# --- pictures

FAMILIES = ["#d55e00"] * 3 + ["#0072b2"] * 3 + ["#009e73"] * 2 + ["#8a5a83"] * 2
COLOURS = dict(zip(METHODS, FAMILIES, strict=True))
DASHES = dict(zip(METHODS, (":", "--", "-", ":", "--", "-", "--", "-", ":", "-"), strict=True))
"""A colour a family, a dash an order."""

STYLE: Any = {
    "svg.hashsalt": "odernn",
    "svg.fonttype": "none",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.0,
    "legend.frameon": False,
    "font.sans-serif": ["DejaVu Sans", "Arial"],
}


def _save(figure: Any, path: Path) -> None:
    """The picture as SVG with two decimals, without date and version, so that equal numbers make equal files."""
    out = io.StringIO()
    about = {"Date": None, "Creator": "docs/pictures/integrators.py"}
    figure.savefig(out, format="svg", metadata=about, facecolor="white")
    text = re.sub(r"\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), out.getvalue())
    path.write_text("\n".join(line.strip() for line in text.splitlines()) + "\n", encoding="utf-8")


def draw_curves(curves: Curves, path: Path, *, x: str, y: str, limits: tuple[float, float], marker: str = "") -> None:
    """All methods in one pair of logarithmic axes, with their names beside it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.0), layout="constrained")
        axes = figure.add_subplot()
        for name, (abscissae, ordinates) in curves.items():
            shown = np.where(ordinates > 0, ordinates, np.nan)
            axes.loglog(
                abscissae,
                shown,
                color=COLOURS[name],
                linestyle=DASHES[name],
                linewidth=1.4,
                marker=marker,
                markersize=3.0,
                label=name,
            )
        axes.set(xlabel=x, ylabel=y, ylim=limits)
        axes.grid(color="0.9", linewidth=0.6)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=2.6)
        _save(figure, path)


def level_set() -> tuple[Numbers, Numbers]:
    """The curve H = H₀, on which the exact orbit stays."""
    energy = functools.partial(oscillator().energy, drive=numbers(DRIVE))
    h0 = energy((numbers(START[0]), numbers(START[1])))
    y = torch.linspace(-4.0, START[0], 20001, dtype=torch.float64)
    height = 2 * (h0 - energy((y[:, None], torch.zeros_like(y)[:, None])))
    y, z = y[height >= 0], height[height >= 0].sqrt()
    # Even steps in the angle around the middle, not in y: the curve is steep at its ends.
    angle = torch.atan2(z, y - (y[0] + y[-1]) / 2)
    at = torch.searchsorted(-angle, -torch.linspace(math.pi, 0.0, 32, dtype=torch.float64)).clamp(max=len(y) - 1)
    y, z = y[at], z[at]
    return torch.cat([y, y.flip(0)]).numpy(), torch.cat([z, -z.flip(0)]).numpy()


def draw_portraits(path: Path, *, steps: int = 60, times: Sequence[int] = (0, 4, 8, 12)) -> None:
    """A panel a method: the exact orbit, the computed points, and a disc that is carried along."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.3), layout="constrained")
        grid = figure.subplots(2, 5, sharex=True, sharey=True)
        for axes, name in zip(grid.flat, METHODS, strict=True):
            axes.plot(*level_set(), color="0.75", linewidth=2.0)
            found = orbit(name, COARSE_STEP_SIZE, steps)
            axes.plot(found.y, found.z, color=COLOURS[name], linewidth=0.7)
            images = discs(name, times)
            for image in images:
                axes.fill(*image, facecolor=COLOURS[name], edgecolor=COLOURS[name], alpha=0.35, linewidth=0.8)
            ratio = polygon_area(*images[-1]) / polygon_area(*images[0])
            axes.set_title(f"{name}\narea × {ratio:.2f}")
            axes.set(xlim=(-3.6, 3.2), ylim=(-3.2, 3.2), xticks=(-2, 2), yticks=(-2, 2))
            axes.label_outer(remove_inner_ticks=True)
        for axes in grid[-1]:
            axes.set_xlabel("y")
        for axes in grid[:, 0]:
            axes.set_ylabel("z")
        _save(figure, path)


def draw_all(folder: Path, *, steps: int = LONG_STEPS, counts: Sequence[int] | None = None) -> list[Path]:
    """The three pictures of the page; fewer steps make other pictures, sooner."""
    energy, portraits, work = (folder / f"{name}.svg" for name in ("energy_error", "phase_portraits", "work_precision"))
    draw_curves(energy_errors(steps), energy, x="t", y="max |H − H₀| up to t", limits=(1e-6, 1e4))
    draw_portraits(portraits)
    runs = work_and_errors(counts=counts) if counts else work_and_errors()
    draw_curves(runs, work, x="tanh evaluated, a neuron", y="error at t = 20", limits=(1e-11, 1e2), marker="o")
    return [energy, portraits, work]


def main() -> None:
    """Write the page and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-pictures", action="store_true", help="the text only; needs no matplotlib")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    PAGE.write_text(current(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    if not arguments.no_pictures:
        draw_all(PICTURES)


if __name__ == "__main__":
    main()
