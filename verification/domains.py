"""Domains: where a claim is tried. ``free`` leaves everything to the adversary; ``printed`` holds a row of Table 6.

A SearchPoint fixes what the adversary does not choose at that point: α, dt, N, L, m, d. The free domain is a ladder of
points: groups (α, T), each refined in dt, so that an asymptotic statement can be followed to its limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from odernn.published.networks import ROWS, PublishedRow

FREE = "free"

STEP_PARAMETER = 20.0
"""c of an adversary's neurons: σ̂(20) = 1 − 2.1e-9, so h is dt up to that."""


@dataclass(frozen=True)
class SearchPoint:
    """One rung: α, dt of every layer, N, hidden size m, input size d. ``group`` names the ladder (α, T) it belongs
    to.
    """

    domain: str
    alpha: Fraction
    dt: tuple[Fraction, ...]
    steps: int
    hidden_size: int
    input_size: int
    group: str

    @property
    def num_layers(self) -> int:
        return len(self.dt)

    def label(self, layer: int) -> str:
        """For people: "α = 1/4, dt = 1/20, N = 800"."""
        return f"α = {self.alpha}, dt = {self.dt[layer - 1]}, N = {self.steps}"


@dataclass(frozen=True)
class Budget:
    """How much is tried. ``full`` spending of it is what ``not-refuted`` refers to.

    ``ladders`` are (α, T, coarsest dt) of the free domain, each with ``refinements`` halvings after the first rung;
    ``coarse`` are single rungs (α, dt, N) near dt = 1; ``beam_steps`` is the longest horizon that the beam searches,
    ``pontryagin_steps`` that of the costates, which start from ``pontryagin_starts`` controls at random beside those
    found and are swept ``pontryagin_sweeps`` times.
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


_LADDERS = (
    ("1/100", "15", "1/10"),
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
    }


def point_from_plain(plain: dict[str, Any]) -> SearchPoint:
    dt = tuple(Fraction(text) for text in plain["dt"])
    rest = {name: plain[name] for name in ("domain", "steps", "hidden_size", "input_size", "group")}
    return SearchPoint(alpha=Fraction(plain["alpha"]), dt=dt, **rest)
