"""A bound on states and what was measured, over n; and the slack of the bound over horizons and steps. As SVG.

A panel is a picture: a page sets them side by side, or one below the other. The numbers are decimal logarithms: a bound
of 10^410 has a place beside a state of 3. Every panel has the width ``PANEL`` and letters of one size, so that a page
that shows panels at one width has letters of one size.
"""

from __future__ import annotations

import html
import math
import statistics
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from verification.report.numbers import minus
from verification.report.pictures.inline import INK, LETTERS, drawing, inline, new_figure

LONG: Final = 50
"""Steps from which on the axis of n is logarithmic."""
PANEL: Final = (344 / 72, 240 / 72)
"""Inches, 72 to an inch: the page shows 344 of them on 21.5rem, style.css."""
LETTERS_A_LINE: Final = 54
"""Of a title, in a panel."""
LINES: Final = ("first", "second", "third", "fourth", "fifth", "sixth")
SUPERSCRIPTS: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
MARKS: Final = {"o": "○", "s": "□", "^": "△", "D": "◇", "v": "▽", "*": "☆"}
"""Open marks, as matplotlib names them and as a line of text has them."""
DASHES: Final = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 2)))
SPREAD_FROM_MEDIAN: Final = 6
"""Medians of the distance from the median that an axis of slacks reaches to."""
LITTLE: Final = 2.0
"""An axis is not cut if it is at most so many times as long with everything on it."""
STEP_ASIDE: Final = 1.09
"""Marks of one dt stand side by side, each so many times farther right than the one before."""


@dataclass(frozen=True)
class BoundCurve:
    """One run against a bound: decimal logarithms at ``steps``; ``crossing`` is the first n at which it is violated.

    ``symbol`` is what was measured, ``network`` on which network, "" where ``where`` says it.
    """

    symbol: str
    network: str
    where: str
    steps: tuple[int, ...]
    measured: tuple[float, ...]
    bound: tuple[float, ...]
    crossing: int | None

    @property
    def title(self) -> str:
        return ", ".join(filter(None, (self.symbol, self.network)))


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

    @property
    def window(self) -> tuple[float, float]:
        """The slacks that an axis shows: most of them, the middle of every ladder and 0."""
        middles = [statistics.median(ladder.slacks) for ladder in self.ladders]
        middle = statistics.median(self.slacks)
        reach = SPREAD_FROM_MEDIAN * statistics.median(abs(slack - middle) for slack in self.slacks)
        near = [slack for slack in self.slacks if abs(slack - middle) <= reach]
        low, high = min([0.0, *near, *middles]), max([0.0, *near, *middles])
        least, most = min([0.0, *self.slacks]), max([0.0, *self.slacks])
        return (least, most) if most - least <= LITTLE * (high - low) else (low, high)


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
        axes.plot([curve.crossing], [curve.measured[at]], "o", color=INK["measured"], fillstyle="none", markersize=7)
        place = (curve.crossing, curve.measured[at])
        said = {"xytext": (-5, 9), "ha": "right"} if at > len(curve.steps) / 3 else {"xytext": (8, -14), "ha": "left"}
        axes.annotate(f"n = {curve.crossing}", place, textcoords="offset points", **said)
    if curve.steps[-1] >= LONG:
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(_power)
    axes.set_xlabel("n")
    axes.grid(color=INK["rule"], linewidth=0.6)
    _titled(axes, f"log₁₀ of {curve.symbol}", curve.network, curve.where)
    _labelled(axes, curve)


def _titled(axes: Any, upwards: str, *lines: str) -> None:
    """What the axis upwards counts, at its head and level; above it a title, its lines short enough for a panel."""
    axes.set_title(upwards, loc="left", fontsize=LETTERS)
    short = [part for line in lines if line for part in textwrap.wrap(line, LETTERS_A_LINE)]
    axes.figure.suptitle("\n".join(short), x=0.01, ha="left", fontsize=LETTERS)


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
    """Slack over the horizon or over the step; one panel. ImportError without matplotlib.

    The panel over T comes with a key in words of all ladders: that over dt, and those of other inequalities of the
    same claim, have the same ladders, and the page shows the first key alone.
    """
    with drawing():
        figure = new_figure(*PANEL)
        _spread(figure.subplots(), spread, over)
        return (_key(spread) if over == "T" else "") + inline(figure, prefix)


def _spread(axes: Any, spread: SlackSpread, over: Literal["T", "dt"]) -> None:
    low, high = spread.window
    margin = 0.06 * (high - low or 1.0)
    edges = (low - margin, high + margin)
    places = [T if over == "T" else dt for T, dt, _ in spread.drawn]
    drawn = {"linestyle": "none", "color": INK["other"], "alpha": 0.75}
    _cut(axes, places, [slack for *_, slack in spread.drawn], edges, {"marker": ".", "markersize": 4.0, **drawn})
    for number, ladder in enumerate(spread.ladders):
        aside = STEP_ASIDE ** (number - (len(spread.ladders) - 1) / 2)
        places = [ladder.horizon] * len(ladder.dts) if over == "T" else [dt * aside for dt in ladder.dts]
        kind = number % len(LINES)
        style = {"color": INK[LINES[kind]], "linestyle": DASHES[kind], "linewidth": 1.1}
        marked = {"marker": [*MARKS][kind], "fillstyle": "none", "markersize": 6.5, "markeredgewidth": 1.3}
        _cut(axes, places, ladder.slacks, edges, {**style, **marked})
    axes.set_xscale("log")
    axes.set_ylim(*edges)
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(_power)
    axes.axhline(0.0, color=INK["measured"], linewidth=1.0, linestyle="--")
    axes.set(xlabel=over if over == "T" or len(spread.ladders) < 2 else "dt (open marks of one dt side by side)")
    axes.grid(color=INK["rule"], linewidth=0.6)
    about = f"{spread.symbol}, over {'the horizon T' if over == 'T' else 'the step dt'}"
    _titled(axes, "slack in decades", about, beyond(spread))


def _cut(axes: Any, places: Sequence[float], slacks: Sequence[float], edges: tuple[float, float], style: Any) -> None:
    """A line of marks; those beyond the edges are filled arrows at the edges."""
    axes.plot(places, slacks, **style)
    low, high = edges
    for edge, arrow, side in ((low, "v", -1), (high, "^", 1)):
        outside = [place for place, slack in zip(places, slacks, strict=True) if side * slack > side * edge]
        plain = {"linestyle": "none", "marker": arrow, "markersize": 6.0, "clip_on": False, "zorder": 4}
        if outside:
            axes.plot(outside, [edge] * len(outside), color=style["color"], **plain)


def beyond(spread: SlackSpread) -> str:
    """ "▴ 80 above, to 240 ▾ 5 below, to −66.8": what an axis of slacks does not reach; "" if it reaches all."""
    low, high = spread.window
    above, below = [s for s in spread.slacks if s > high], [s for s in spread.slacks if s < low]
    said = [f"▴ {len(above)} above, to {_rounded(max(above))}"] if above else []
    return ";  ".join([*said, *([f"▾ {len(below)} below, to {_rounded(min(below))}"] if below else [])])


def _rounded(slack: float) -> str:
    return minus(f"{slack:,.0f}" if abs(slack) >= 100 else f"{slack:.3g}")


def _key(spread: SlackSpread) -> str:
    """The marks of the ladders, as a line of the page: its letters are the page's."""
    entries = [("other", "•", "drawn")]
    for number, ladder in enumerate(spread.ladders):
        kind = number % len(LINES)
        entries.append((LINES[kind], [*MARKS.values()][kind], ladder.label))
    said = (
        f'<span><b style="color: var(--plot-{name})">{mark}</b> {html.escape(label)}</span>'
        for name, mark, label in entries
    )
    return f'<p class="key" aria-hidden="true">{" ".join(said)}</p>\n'


def _power(value: float, place: int | None = None) -> str:
    """A tick of a logarithmic axis: 10⁻⁴, 0.001, 1, 1000, 10⁴, 0."""
    if value == 0 or 0.001 <= abs(value) <= 1000:
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
