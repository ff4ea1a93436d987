"""Domains: where a claim is tried. ``free`` leaves everything to the adversary; ``printed`` holds a row of Table 6.

A SearchPoint fixes what the adversary does not choose at that point: α, dt, N, L, m, d and c. The free domain is a
ladder of points: groups (α, T), each refined in dt, so that an asymptotic statement can be followed to its limit;
and points drawn by seed, where a bound may fail that holds on every ladder.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from odernn.published.networks import ROWS, PublishedRow

FREE = "free"

STEP_PARAMETER = Fraction(20)
"""c of an adversary's neurons where it is not drawn: σ̂(20) = 1 − 2.1e-9, so h is dt up to that."""
DRAWN = "drawn"
"""The group of points that are drawn: each stands alone, and is no rung of a ladder."""


@dataclass(frozen=True)
class SearchPoint:
    """One rung: α, dt of every layer, N, hidden size m, input size d, and c of every neuron, h = dt·σ̂(c). ``group``
    names the ladder (α, T) it belongs to. ``w`` is tried beside the recurrent weights that adversaries choose.
    """

    domain: str
    alpha: Fraction
    dt: tuple[Fraction, ...]
    steps: int
    hidden_size: int
    input_size: int
    group: str
    c: Fraction = STEP_PARAMETER
    w: Fraction = Fraction(0)

    @property
    def num_layers(self) -> int:
        return len(self.dt)

    def label(self, layer: int) -> str:
        """For people: "α = 1/4, dt = 1/20, N = 800", and c where it is drawn."""
        drawn = "" if self.c == STEP_PARAMETER else f", c = {self.c}"
        return f"α = {self.alpha}, dt = {self.dt[layer - 1]}, N = {self.steps}{drawn}"

    @property
    def is_drawn(self) -> bool:
        return self.group == DRAWN


@dataclass(frozen=True)
class Budget:
    """How much is tried. ``full`` spending of it is what ``not-refuted`` refers to.

    ``ladders`` are (α, T, coarsest dt) of the free domain, each with ``refinements`` halvings after the first rung;
    ``coarse`` are single rungs (α, dt, N) near dt = 1; ``drawn`` is the number of points drawn by seed; ``beam_steps``
    is the longest horizon that the beam searches, ``pontryagin_steps`` that of the costates, which start from
    ``pontryagin_starts`` controls at random beside those found and are swept ``pontryagin_sweeps`` times.
    """

    name: str
    free_layers: int
    refinements: int
    ladders: tuple[tuple[str, str, str], ...]
    coarse: tuple[tuple[str, str, int], ...]
    beam_width: int
    beam_steps: int
    detunings: tuple[float, ...]
    range_inputs: int
    pontryagin_steps: int = 600
    pontryagin_starts: int = 8
    pontryagin_sweeps: int = 2
    drawn: int = 60


_LADDERS = (
    ("1/100", "15", "1/10"),
    ("1/4", "4/5", "1/10"),
    ("1/4", "40", "1/10"),
    ("1", "60", "1/10"),
    ("10", "20", "1/10"),
    ("1000", "2", "1/10"),
    ("0", "1", "1/10"),
    ("0", "10", "1/10"),
    ("0", "60", "1/10"),
)
_COARSE = (("1", "9/10", 40), ("4", "9/10", 40), ("1", "99/100", 1), ("0", "49/100", 40), ("0", "49/100", 1))
_DETUNINGS = (1.0, 0.5, 0.9, 0.97, 1.03, 1.1)

_MORE_LADDERS = (*_LADDERS, ("3", "30", "1/10"), ("1/10", "100", "1/10"))
_MORE_DETUNINGS = (*_DETUNINGS, 0.99, 1.01, 2.0, 1 / 3)

BUDGETS = {
    "smoke": Budget(
        name="smoke",
        free_layers=2,
        refinements=2,
        ladders=_LADDERS,
        coarse=_COARSE,
        beam_width=64,
        beam_steps=4000,
        detunings=_DETUNINGS,
        range_inputs=32,
    ),
    "standard": Budget(
        name="standard",
        free_layers=3,
        refinements=4,
        ladders=_MORE_LADDERS,
        coarse=_COARSE,
        beam_width=128,
        beam_steps=4000,
        detunings=_MORE_DETUNINGS,
        range_inputs=96,
        pontryagin_steps=2400,
        pontryagin_starts=32,
        pontryagin_sweeps=8,
        drawn=400,
    ),
    "deep": Budget(
        name="deep",
        free_layers=3,
        refinements=6,
        ladders=(*_MORE_LADDERS, ("1/1000", "60", "1/10")),
        coarse=_COARSE,
        beam_width=512,
        beam_steps=20000,
        detunings=(*_MORE_DETUNINGS, 0.25, 1.5),
        range_inputs=256,
        pontryagin_steps=4800,
        pontryagin_starts=64,
        pontryagin_sweeps=12,
        drawn=2000,
    ),
}
WIDE = 16
"""Hidden size m of one more rung of every ladder: a bound on a Euclidean norm that forgets √m fails there."""


def printed_name(row: PublishedRow) -> str:
    """The domain of a row of Table 6."""
    return f"printed {row.name}"


def is_printed(domain: str) -> bool:
    """Whether a domain is a row of Table 6: such a network was run in float32."""
    return domain in map(printed_name, printed_rows())


# --- how near to practice a printed network is


WEIGHTS = ("any weights", "the initialisation's range", "as initialised", "as trained")
INPUTS = ("any inputs", "real inputs")
"""The rungs from all that a statement allows to what somebody has; "as initialised": every network that is drawn."""


@dataclass(frozen=True, order=True)
class Rung:
    """Weights and inputs of a network with the hyperparameters of Table 6, as places in ``WEIGHTS`` and ``INPUTS``: the
    nearer to practice, the larger.
    """

    weights: int
    inputs: int

    def __str__(self) -> str:
        return f"{WEIGHTS[self.weights]}, {INPUTS[self.inputs]}"


ANY_RUNG, RANGE, REAL_RANGE, INITIALISED, TRAINED = Rung(0, 0), Rung(1, 0), Rung(1, 1), Rung(2, 1), Rung(3, 1)


def rung_name(row: PublishedRow, rung: Rung) -> str:
    """The domain of a row on a rung: "printed RR, as initialised, real inputs"; on the lowest that of the row."""
    return printed_name(row) if rung == ANY_RUNG else f"{printed_name(row)}, {rung}"


def rung_of(domain: str) -> tuple[PublishedRow, Rung] | None:
    """The row and the rung that a domain names; None if it is not at the hyperparameters of Table 6."""
    rungs = (Rung(weights, inputs) for weights in range(len(WEIGHTS)) for inputs in range(len(INPUTS)))
    named = {rung_name(row, rung): (row, rung) for rung in rungs for row in printed_rows()}
    return named.get(domain)


def printed_point(row: PublishedRow) -> SearchPoint:
    """The point of a row: its α, dt per layer, N, m, d; weights and inputs are left to the adversary."""
    return SearchPoint(
        printed_name(row), row.alpha, row.dt, row.steps, row.hidden_size, row.input_size, f"printed {row.name}"
    )


def free_points(budget: Budget) -> tuple[SearchPoint, ...]:
    """All rungs of the free domain: ladders of one neuron a layer (neurons of a layer do not interact), the coarsest
    rung of each once more with ``WIDE`` equal neurons, and the single coarse rungs.
    """
    points = []
    for alpha_text, horizon_text, dt_text in budget.ladders:
        alpha, horizon, coarsest = Fraction(alpha_text), Fraction(horizon_text), Fraction(dt_text)
        for k in range(budget.refinements + 1):
            dt = coarsest / 2**k
            steps = horizon / dt
            assert steps.denominator == 1
            group = f"α = {alpha}, T = {horizon}"
            points.append(SearchPoint(FREE, alpha, (dt,) * budget.free_layers, int(steps), 1, 1, group))
        steps = horizon / coarsest
        group = f"α = {alpha}, T = {horizon}, m = {WIDE}"
        points.append(SearchPoint(FREE, alpha, (coarsest,) * budget.free_layers, int(steps), WIDE, 1, group))
    for alpha_text, dt_text, count in budget.coarse:
        alpha, dt = Fraction(alpha_text), Fraction(dt_text)
        group = f"α = {alpha}, dt = {dt}"
        points.append(SearchPoint(FREE, alpha, (dt,) * budget.free_layers, count, 1, 1, group))
    return tuple(points)


LONGEST_DRAWN = 120
STIFFEST_DRAWN = 16
"""Of α dt²: beyond 4 states grow exponentially, and at this no float overflows within ``LONGEST_DRAWN`` steps."""


def drawn_points(budget: Budget, seed: int) -> tuple[SearchPoint, ...]:
    """Points of the free domain drawn from the seed: α (0 for one in six), dt, h/dt, m, N and w.

    Each parameter is spread evenly over its range, half of its values in linear and half in logarithmic scale; what
    goes with what is drawn (a Latin hypercube). Where α dt² would be too large, dt is drawn anew below its limit.
    """
    rng = random.Random(f"drawn points {seed}")
    count = budget.drawn
    zeros = count // 6
    few = (count - zeros) // 2
    alphas = [0.0] * zeros + _spread(rng, few, 1e-3, 4.0) + _spread(rng, count - zeros - few, 1e-3, 1000.0)
    rng.shuffle(alphas)
    columns = [alphas, *(_spread(rng, count, low, high) for low, high in _DRAWN.values())]
    return tuple(_drawn_point(rng, budget.free_layers, *row) for row in zip(*columns, strict=True))


_DRAWN = {"dt": (1e-3, 0.999), "h/dt": (0.01, 0.99), "m": (0.5, 32.5), "N": (1.0, LONGEST_DRAWN), "w": (0.01, 16.0)}


def _spread(rng: random.Random, count: int, low: float, high: float) -> list[float]:
    """One number from each of ``count``/2 equal parts of the range, in linear and in logarithmic scale, shuffled."""
    half = count // 2
    even = [(k + rng.random()) / half for k in range(half)]
    rest = [(k + rng.random()) / (count - half) for k in range(count - half)]
    values = [low + (high - low) * share for share in even] + [low * (high / low) ** share for share in rest]
    rng.shuffle(values)
    return values


def _drawn_point(
    rng: random.Random, layers: int, alpha: float, dt: float, share: float, m: float, N: float, w: float
) -> SearchPoint:
    """Of numbers with three digits, short to write."""
    if alpha * dt**2 > STIFFEST_DRAWN:
        dt = math.sqrt(STIFFEST_DRAWN / alpha) * rng.uniform(0.01, 0.99)
    return SearchPoint(
        FREE,
        Fraction(f"{alpha:.3g}"),
        (Fraction(f"{dt:.3g}"),) * layers,
        steps=round(N),
        hidden_size=max(1, round(m)),
        input_size=1,
        group=DRAWN,
        c=Fraction(f"{math.log(share / (1 - share)):.3g}"),
        w=rng.choice((-1, 1)) * Fraction(f"{w:.3g}"),
    )


def printed_rows() -> tuple[PublishedRow, ...]:
    return ROWS


def point_to_plain(point: SearchPoint) -> dict[str, Any]:
    return {
        "domain": point.domain,
        "alpha": str(point.alpha),
        "dt": [str(dt) for dt in point.dt],
        "steps": point.steps,
        "hidden_size": point.hidden_size,
        "input_size": point.input_size,
        "group": point.group,
        "c": str(point.c),
        "w": str(point.w),
    }


def point_from_plain(plain: dict[str, Any]) -> SearchPoint:
    dt = tuple(Fraction(text) for text in plain["dt"])
    rest = {name: plain[name] for name in ("domain", "steps", "hidden_size", "input_size", "group")}
    alpha, c, w = (Fraction(plain[name]) for name in ("alpha", "c", "w"))
    return SearchPoint(alpha=alpha, dt=dt, c=c, w=w, **rest)
