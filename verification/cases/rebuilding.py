"""thm-F (a) on trial: a neuron run forward in a format and stepped back, the error against its bound.

    ‖x̃_0 − x̂_0‖_a ≤ σ (1 + ρ + … + ρ^{N−1})

ρ and σ are those of ``odernn.bounds.reconstruction`` at Y, Z = the largest |ŷ_n|, |ẑ_n| of the computed run. A check
replays the run over the rationals with every operation rounded here, tanh correctly, against the bound in balls; and
runs it in the library's own arithmetic, against the bound typed again in intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np

from odernn.bounds import forms, reconstruction
from odernn.bounds.gradient import FLOOR
from odernn.bounds.numbers import BALLS
from odernn.published.networks import PublishedRow
from verification.adversary import chaos
from verification.cases.related import FormatNumber
from verification.certify import float_replay
from verification.certify.float_replay import FORMATS, RoundingError, rounded
from verification.certify.second import intervals as second
from verification.certify.second import rebuilding as again
from verification.claim import Attempt, Case, Check, Opinion, Parameters, Premise
from verification.domains import Budget, printed_name
from verification.exact_text import number, numbers, rational, rationals
from verification.kinds import Constant, Kind, Rational, Rows
from verification.measure import float_steps
from verification.measure.polynomials import coefficient
from verification.parameters import Declaration, Look, Parameter, Rule, declared

QUANTITY = "‖x̃_0 − x̂_0‖_a"
BITS = 256
MOST_CHECKED = 2000
"""Steps of a check."""
WHOLE = Fraction(1)


@dataclass(frozen=True)
class Neurons:
    """A batch of single neurons, float64 arrays (neurons,), and their drives x_n, (time, neurons)."""

    w: np.ndarray
    h: np.ndarray
    alpha: np.ndarray
    x: np.ndarray


@dataclass(frozen=True)
class RebuiltRun:
    """Of every neuron, in float64: the numbers that it has in the format, e_0, and the largest |ŷ|, |ẑ| of its run."""

    given: Neurons
    y: np.ndarray
    z: np.ndarray
    largest_y: np.ndarray
    largest_z: np.ndarray
    rounded: float
    """The largest share of u that one sum of the run lost."""


def rebuild(neurons: Neurons, name: str) -> RebuiltRun:
    """Forward from 0 through all drives and back, in the format; not finite where something overflows."""
    arrays = (neurons.w, neurons.h, neurons.alpha, neurons.x)
    w, h, alpha, x = (float_steps.array(values, name) for values in arrays)
    cell = float_steps.FloatNeuron(w, h, alpha)
    y = z = 0 * w
    largest = [np.zeros(len(neurons.w)) for _ in range(2)]
    lost = 0.0
    with np.errstate(all="ignore"):
        for n in range(len(neurons.x)):
            before = y
            y, z = cell.step(y, z, x[n])
            states = [np.abs(float_steps.doubles(state)) for state in (y, z)]
            largest = [np.maximum(old, new) for old, new in zip(largest, states, strict=True)]
            if n < CONTROLLED:
                lost = max(lost, _lost(before, h * z, y, name))
        for n in range(len(neurons.x) - 1, -1, -1):
            y, z = cell.unstep(y, z, x[n])
    given = Neurons(*(float_steps.doubles(values) for values in (w, h, alpha, x)))
    return RebuiltRun(given, float_steps.doubles(y), float_steps.doubles(z), largest[0], largest[1], lost)


CONTROLLED = 64
"""Steps of which the control looks at every sum."""


def _lost(left: Any, right: Any, total: Any, name: str) -> float:
    """max |fl(a + b) − (a + b)| / (u |fl(a + b)|), by Knuth's two-sum in the format itself: at most 1."""
    kept = total - left
    error = float_steps.doubles((left - (total - kept)) + (right - kept))
    size = np.abs(float_steps.doubles(total)) * reconstruction.PRECISIONS[name].unit_roundoff
    return float(np.max(np.divide(np.abs(error), size, out=np.zeros_like(size), where=size > 0)))


# --- the bound in floats, for the search


def log_bounds(run: RebuiltRun, form: np.ndarray, name: str) -> np.ndarray:
    """log of the right side of every neuron. ValueError where the format is too coarse."""
    precision = reconstruction.PRECISIONS[name]
    given = run.given
    growth = reconstruction.error_growth(
        w=given.w,
        step_size=given.h,
        alpha=given.alpha,
        form=form,
        log_position=np.log(np.maximum(run.largest_y, FLOOR)),
        log_momentum=np.log(np.maximum(run.largest_z, FLOOR)),
        unit_roundoff=precision.unit_roundoff,
        underflow=precision.underflow,
    )
    logs: np.ndarray = growth.log_after(len(given.x))
    return logs


def _log_sizes(run: RebuiltRun, form: np.ndarray) -> np.ndarray:
    h = run.given.h
    square = (run.z - form * h * run.y / 2) ** 2 + form * (1 - form * h * h / 4) * run.y**2
    with np.errstate(divide="ignore"):
        sizes: np.ndarray = np.log(square) / 2
    return sizes


def _forms(given: Neurons) -> np.ndarray:
    low, high = given.alpha + np.minimum(given.w, 0), given.alpha + np.maximum(given.w, 0)
    return np.asarray(forms.best_form(kappa_low=low, kappa_high=high, step_size=given.h))


def searched(neurons: Neurons, name: str, tried: str, factor: Fraction = WHOLE) -> Attempt:
    """Every neuron of the batch; those that exceed, by most first, are candidates."""
    run = rebuild(neurons, name)
    form = _forms(run.given)
    try:
        bounds = log_bounds(run, form, name) + math.log(factor)
    except ValueError as error:
        return Attempt(tried, len(form), vacuous=str(error))
    sizes = _log_sizes(run, form)
    gaps = np.where(np.isfinite(bounds) & ~np.isnan(sizes), sizes - bounds, -np.inf)
    order = np.argsort(-gaps)
    worst = int(order[0])
    return Attempt(
        tried=tried,
        evaluations=len(form),
        log_measured=float(sizes[worst]),
        log_claimed=float(bounds[worst]),
        control=run.rounded,
        candidates=tuple(_written(run, form, int(i)) for i in order[:2] if gaps[i] > 0),
    )


def _written(run: RebuiltRun, form: np.ndarray, i: int) -> Parameters:
    given = run.given
    own = {"w": given.w[i], "h": given.h[i], "alpha": given.alpha[i]}
    return {
        **{name: rational(Fraction(float(value))) for name, value in own.items()},
        "form": rational(Fraction(float(form[i]))),
        "x": rationals([Fraction(float(value)) for value in given.x[:, i]]),
    }


# --- the check


def of_neuron(name: str, row: PublishedRow | None = None) -> Declaration:
    """One neuron, its form and its drive, numbers of the format but for the form; of a row, as it is initialised."""
    alpha: Kind = FormatNumber(name, 5, least=0)
    steps, weight, step = MOST_CHECKED, FormatNumber(name, 5), FormatNumber(name, 0, least=0)
    if row is not None:
        alpha, steps = Constant(rounded(row.alpha, FORMATS[name])), row.steps
        weight = FormatNumber(name, 0, least=0)
        step = FormatNumber(name, 0, least=0, most=rounded(max(row.dt), FORMATS[name]))
    return declared(
        Parameter("w", weight),
        Parameter("h", step),
        Parameter("alpha", alpha),
        Parameter("form", Rational(above=0)),
        Parameter("x", Rows(FormatNumber(name, 10), 1, lambda _: range(1, steps + 1), most=2**15)),
        rules=(
            Rule("h > 0", lambda values: values["h"] > 0),
            Rule("a h² < 4", lambda values: values["form"] * values["h"] ** 2 < 4),
        ),
    )


def check_of(name: str, factor: Fraction = WHOLE) -> Callable[[Parameters], Check]:
    """Both opinions on the bound, times ``factor`` if that is planted."""

    def check(parameters: Parameters) -> Check:
        given, drives = _typed(parameters)
        texts = {key: parameters[key] for key in ("w", "h", "alpha", "form")}
        fine, first = _replayed(given, drives, name, factor)
        other = _in_library(texts, given, drives, name, factor)
        shown = f"w = {given.w}, h = {given.h}, α = {given.alpha}, a = {given.form}, N = {len(drives)}"
        return Check(
            opinions=(first.opinion("replay"), other.opinion(float_steps.LIBRARY[name])),
            premises=(
                Premise("the format is fine enough: q > 0", fine.text, fine.holds),
                Premise("nothing overflows", None, first.finite and other.finite),
            ),
            words=f"in {name}, {shown}: {first.text}",
            log_measured=first.logs[0],
            log_claimed=first.logs[1],
        )

    return check


def look_of(name: str, factor: Fraction = WHOLE) -> Look:
    """Whether the rational replay alone exceeds the bound; None where it has none."""

    def look(parameters: Parameters) -> bool | None:
        fine, side = _replayed(*_typed(parameters), name, factor)
        return side.violated if fine.holds and side.finite else None

    return look


def _typed(parameters: Parameters) -> tuple[SimpleNamespace, list[Fraction]]:
    """The neuron with its form, and its drive."""
    given = {key: number(parameters, key) for key in ("w", "h", "alpha", "form")}
    return SimpleNamespace(**given), numbers(parameters, "x")


@dataclass(frozen=True)
class _Fine:
    text: str
    holds: bool


@dataclass(frozen=True)
class _OneSide:
    """What one back-end found."""

    violated: bool
    finite: bool
    text: str
    logs: tuple[float | None, float | None] = (None, None)

    def opinion(self, backend: str) -> Opinion:
        return Opinion(backend, self.violated and self.finite, self.text)


_OVERFLOWS = _OneSide(False, False, "something overflows")


def _replayed(given: Any, drives: list[Fraction], name: str, factor: Fraction) -> tuple[_Fine, _OneSide]:
    """The rational replay against the functions of the library in balls."""
    neuron = float_replay.Neuron(given.w, given.h, given.alpha, FORMATS[name])
    state = (Fraction(0), Fraction(0))
    largest = [Fraction(0), Fraction(0)]
    try:
        for x in drives:
            state = neuron.step(state, x)
            largest = [max(old, abs(new)) for old, new in zip(largest, state, strict=True)]
        for x in reversed(drives):
            state = neuron.unstep(state, x)
    except RoundingError:
        return _Fine("not known", False), _OVERFLOWS
    precision = reconstruction.PRECISIONS[name]
    floor = Fraction(FLOOR)
    with flint.ctx.workprec(BITS):
        balls = {key: BALLS.exact(value) for key, value in vars(given).items()}
        form, h = balls["form"], balls["h"]
        try:
            growth = reconstruction.error_growth(
                w=balls["w"],
                step_size=h,
                alpha=balls["alpha"],
                form=form,
                log_position=BALLS.exact(max(largest[0], floor)).log(),
                log_momentum=BALLS.exact(max(largest[1], floor)).log(),
                unit_roundoff=BALLS.exact(precision.unit_roundoff),
                underflow=BALLS.exact(precision.underflow),
                numbers=BALLS,
            )
        except ValueError:
            return _Fine("q ≤ 0", False), _OneSide(False, True, "the format is too coarse for a bound")
        right = growth.log_after(len(drives), numbers=BALLS).exp() * coefficient(factor)
        y, z = (BALLS.exact(value) for value in state)
        left = ((z - form * h * y / 2) ** 2 + form * (1 - form * h * h / 4) * y**2).sqrt()
        text = f"‖e_0‖_a = {left.str(6, radius=False)} against {right.str(6, radius=False)}"
        logs = (float(left.log().mid()), float(right.log().mid())) if left > 0 else (None, None)
        return _Fine("> 0", True), _OneSide(bool(left > right), True, text, logs)


def _in_library(texts: Parameters, given: Any, drives: list[Fraction], name: str, factor: Fraction) -> _OneSide:
    """The run of the library against the bound in intervals."""
    w, h, alpha = (np.array([float(getattr(given, key))]) for key in ("w", "h", "alpha"))
    run = rebuild(Neurons(w, h, alpha, np.array([[float(x)] for x in drives])), name)
    values = [float(part[0]) for part in (run.y, run.z, run.largest_y, run.largest_z)]
    if not all(map(math.isfinite, values)):
        return _OVERFLOWS
    iv = second.iv
    with iv.workprec(BITS):
        n = SimpleNamespace(**{key: second.number(text) for key, text in texts.items()})
        n.u, n.nu = again.roundings(name)
        y, z, n.Y, n.Z = map(iv.mpf, values)
        if not again.rest(n).a > 0:
            return _OneSide(False, True, "the format is too coarse for a bound")
        left = again.size(y, z, n.form, n.h)
        right = again.bound(n, len(drives)) * factor.numerator / factor.denominator
        text = f"‖e_0‖_a at least {float(left.a.mid):.6g}, the bound at most {float(right.b.mid):.6g}, in {name}"
        return _OneSide(bool(left.a > right.b), True, text)


# --- where neurons are drawn

COUNT = {"smoke": 64, "standard": 512, "deep": 4096}
STEPS = {"smoke": 60, "standard": 200, "deep": 1000}


def drawn(budget: Budget, seed: int) -> Neurons:
    """α in [0, 16], |w| ≤ 32, h from 1/100 to 1 with αh² < 3; drives of noise, square waves, and such that A ≈ 0."""
    rng = np.random.default_rng(seed)
    count, steps = COUNT[budget.name], STEPS[budget.name]
    alpha = 16 * rng.random(count) ** 2
    h = np.minimum(10 ** (-2 * rng.random(count)), np.sqrt(3 / np.maximum(alpha, 3)))
    w = rng.normal(size=count) * 8 ** rng.random(count)
    x = rng.normal(size=(steps, count)) * np.exp2(rng.integers(-6, 3, count))
    period = rng.integers(2, 40, count)
    waves = np.where((np.arange(steps)[:, None] // period) % 2, 3.0, -3.0)
    kind = np.arange(count) % 3
    return Neurons(w, h, alpha, np.where(kind == 0, x, np.where(kind == 1, waves, 0.01 * x)))


CHAOTIC = chaos.StackRange(1, (-20, 0), (0.01, 10), 3, (2, 3, 5, 8))
"""w < 0 and a square wave: bounded orbits with positive exponents."""
_SEARCHED = {"smoke": 800, "standard": 1200, "deep": 6000}


@cache
def chaotic(budget: Budget, seed: int) -> tuple[Neurons, float]:
    """The neurons whose bounded orbits separate fastest, and the largest exponent of them, by ``adversary.chaos``."""
    steps = STEPS[budget.name] // 4
    orbits, _ = chaos.stacks(CHAOTIC, _SEARCHED[budget.name], max(steps, 400), seed)
    stacks = [orbit.stack for orbit in orbits]
    x = [[float(s.V[0] * s.input[n % len(s.input)] + s.b[0]) for s in stacks] for n in range(steps)]
    w, h, alpha = (
        np.array([float(value) for value in column])
        for column in ([s.w[0] for s in stacks], [s.h[0] for s in stacks], [s.alpha for s in stacks])
    )
    return Neurons(w, h, alpha, np.array(x)), max(orbit.exponent for orbit in orbits)


def initialised(row: PublishedRow, budget: Budget, seed: int) -> Neurons:
    """w in [0, 1], |c| ≤ 1/10, N and α of the row, each dt of it: noise of the size of data, and square waves."""
    rng = np.random.default_rng(seed)
    count, steps = ROW_COUNT[budget.name], min(row.steps, ROW_STEPS[budget.name])
    dt = np.array([float(row.dt[i % row.num_layers]) for i in range(count)])
    h = dt / (1 + np.exp(0.2 * rng.random(count) - 0.1))
    x = rng.normal(size=(steps, count))
    period = np.maximum(1, np.rint(np.pi / (h * np.sqrt(float(row.alpha) + 0.5)))).astype(int)
    waves = np.where((np.arange(steps)[:, None] // period) % 2, 3.0, -3.0)
    return Neurons(rng.random(count), h, np.full(count, float(row.alpha)), np.where(np.arange(count) % 2, x, waves))


ROW_COUNT = {"smoke": 16, "standard": 64, "deep": 256}
ROW_STEPS = {"smoke": 400, "standard": 10**6, "deep": 10**6}


# --- the cases


def free_case(name: str, factor: Fraction = WHOLE) -> Case:
    """Neurons, drives and forms of all regimes."""

    def ask(budget: Budget, seed: int) -> Attempt:
        tried = f"{COUNT[budget.name]} neurons, N = {STEPS[budget.name]}, forward in {name} and back"
        return searched(drawn(budget, seed), name, tried, factor)

    check = of_neuron(name).guards(check_of(name, factor), look_of(name, factor))
    return Case(name, QUANTITY, ask, check, is_search=True)


def chaotic_case(name: str) -> Case:
    """Orbits with a positive exponent, where the error of every step grows exponentially."""

    def ask(budget: Budget, seed: int) -> Attempt:
        neurons, exponent = chaotic(budget, seed)
        tried = f"{len(neurons.w)} chaotic neurons, λ up to {exponent:.2g}, N = {len(neurons.x)}, in {name} and back"
        return searched(neurons, name, tried)

    return Case(
        f"{name}, chaotic", QUANTITY, ask, of_neuron(name).guards(check_of(name), look_of(name)), is_search=True
    )


def row_case(row: PublishedRow, name: str) -> Case:
    """Neurons of the row as they are initialised."""

    def ask(budget: Budget, seed: int) -> Attempt:
        neurons = initialised(row, budget, seed)
        return searched(neurons, name, f"{len(neurons.w)} neurons as initialised, N = {len(neurons.x)}, in {name}")

    check = of_neuron(name, row).guards(check_of(name), look_of(name))
    return Case(printed_name(row), f"{QUANTITY}, {name}", ask, check, reading="printed", is_search=True)
