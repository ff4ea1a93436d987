"""A bound on states and what was measured, over n; and the slack of the bound over horizons and steps. As SVG.

A panel is a picture: a page sets them side by side, or one below the other. The numbers are decimal logarithms: a bound
of 10^410 has a place beside a state of 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

from verification.report.numbers import minus
from verification.report.pictures.inline import INK, drawing, inline, new_figure

LONG: Final = 50
"""Steps from which on the axis of n is logarithmic."""
PANEL: Final = (3.6, 2.4)
LEGEND: Final = 0.6
"""Inches, in which one panel is drawn, and what a legend below it takes."""
LINES: Final = ("first", "second", "third", "fourth", "fifth", "sixth")
SUPERSCRIPTS: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
MARKS: Final = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True)
class BoundCurve:
    """One run against a bound: decimal logarithms at ``steps``; ``crossing`` is the first n at which it is violated."""

    title: str
    where: str
    steps: tuple[int, ...]
    measured: tuple[float, ...]
    bound: tuple[float, ...]
    crossing: int | None


@dataclass(frozen=True)
class SlackLadder:
    """Slack in decades of a bound at one (α, T), for finer and finer dt."""

    label: str
    horizon: float
    dts: tuple[float, ...]
    slacks: tuple[float, ...]


@dataclass(frozen=True)
class SlackSpread:
    """Slack of one inequality over the free domain: ladders, and points that were drawn as (T, dt, slack)."""

    symbol: str
    ladders: tuple[SlackLadder, ...]
    drawn: tuple[tuple[float, float, float], ...]

    @property
    def slacks(self) -> list[float]:
        return [slack for ladder in self.ladders for slack in ladder.slacks] + [slack for *_, slack in self.drawn]

    @property
    def largest(self) -> float:
        """In size."""
        return max(map(abs, self.slacks))


def curve_svg(curve: BoundCurve, prefix: str) -> str:
    """One panel. ImportError without matplotlib."""
    with drawing():
        figure = new_figure(*PANEL)
        _curve(figure.subplots(), curve)
        return inline(figure, prefix)


def _curve(axes: Any, curve: BoundCurve) -> None:
    axes.plot(curve.steps, curve.bound, color=INK["bound"], linestyle="--", label="bound")
    axes.plot(curve.steps, curve.measured, color=INK["measured"], label="measured")
    if curve.crossing is not None:
        at = curve.steps.index(curve.crossing)
        axes.plot([curve.crossing], [curve.measured[at]], "o", color=INK["measured"], fillstyle="none", markersize=6)
        above = (curve.crossing, curve.measured[at])
        axes.annotate(f"n = {curve.crossing}", above, xytext=(-4, 8), textcoords="offset points", ha="right")
    if curve.steps[-1] >= LONG:
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(_power)
    axes.set_title(f"{curve.title}\n{curve.where}", loc="left", fontsize=8.5)
    axes.set(xlabel="n", ylabel="log₁₀")
    axes.grid(color=INK["rule"], linewidth=0.5)
    _labelled(axes, curve)


def _labelled(axes: Any, curve: BoundCurve) -> None:
    """The names of the lines at their right ends, apart from each other."""
    low, high = axes.get_ylim()
    ends = {"measured": curve.measured[-1], "bound": curve.bound[-1]}
    upper = max(ends, key=lambda name: ends[name])
    close = abs(ends["measured"] - ends["bound"]) < 0.14 * (high - low)
    for name, value in ends.items():
        shift = (5 if name == upper else -5) if close else 0
        axes.annotate(
            name,
            (curve.steps[-1], value),
            xytext=(4, shift),
            textcoords="offset points",
            color=INK[name],
            va="center",
            annotation_clip=False,
        )


def slack_svg(spread: SlackSpread, over: Literal["T", "dt"], prefix: str) -> str:
    """Slack over the horizon or over the step; one panel. ImportError without matplotlib."""
    with drawing():
        figure = new_figure(PANEL[0], PANEL[1] + LEGEND)
        _spread(figure.subplots(), spread, over)
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8.0)
        return inline(figure, prefix)


def _spread(axes: Any, spread: SlackSpread, over: Literal["T", "dt"]) -> None:
    places = [T if over == "T" else dt for T, dt, _ in spread.drawn]
    slacks = [slack for *_, slack in spread.drawn]
    axes.plot(places, slacks, linestyle="none", marker=".", color=INK["other"], markersize=3.5, label="drawn")
    for number, ladder in enumerate(spread.ladders):
        places = [ladder.horizon] * len(ladder.dts) if over == "T" else list(ladder.dts)
        marked = {"color": INK[LINES[number % len(LINES)]], "marker": MARKS[number % len(MARKS)]}
        axes.plot(places, ladder.slacks, label=ladder.label, markersize=3.5, linewidth=1.0, **marked)
    axes.set_xscale("log")
    if spread.largest > 10:
        axes.set_yscale("symlog", linthresh=1.0)
        axes.yaxis.set_major_formatter(_power)
    axes.margins(y=0.08)
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(_power)
    axes.axhline(0.0, color=INK["measured"], linewidth=0.8, linestyle="--")
    axes.set(xlabel=over, ylabel="slack (decades)")
    axes.grid(color=INK["rule"], linewidth=0.5)
    axes.set_title(
        f"{spread.symbol}, over {'the horizon T' if over == 'T' else 'the step dt'}", loc="left", fontsize=8.5
    )


def _power(value: float, place: int | None = None) -> str:
    """A tick of a logarithmic axis: 10³, −10², 0.1, 1, 10, 0."""
    if value == 0 or 0.1 <= abs(value) <= 10:
        return minus(f"{value:g}")
    exponent = str(round(math.log10(abs(value)))).replace("-", "⁻").translate(SUPERSCRIPTS)
    return f"{'−' if value < 0 else ''}10{exponent}"


def words_of_curve(curve: BoundCurve) -> str:
    """A curve in a sentence, for who cannot see it."""
    last = minus(f"measured 10^{curve.measured[-1]:.2f}, bound 10^{curve.bound[-1]:.2f}")
    crossing = "below the bound" if curve.crossing is None else f"above the bound first at n = {curve.crossing}"
    return f"{curve.title}, {curve.where}: {crossing}; at n = {curve.steps[-1]} {last}"


def words_of_spread(spread: SlackSpread) -> str:
    """The slacks in a sentence."""
    slacks = spread.slacks
    below = sum(s < 0 for s in slacks)
    extent = minus(f"from {min(slacks):.3g} to {max(slacks):.3g} decades")
    return f"{spread.symbol}: slack {extent} at {len(slacks)} points (α, dt, N), negative at {below}"
