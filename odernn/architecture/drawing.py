"""Panels of nodes and edges drawn as SVG with matplotlib; pictures.py says what they show, layout.py where it goes."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from xml.sax.saxutils import escape

from odernn.architecture.layout import RADIUS, Curve, Point

_VERMILION, _BLUE, _GREEN, _GREY = "#d55e00", "#0072b2", "#b5e3d3", "#707070"
_DASH: Final = (0, (2.2, 1.6))
_SCALE: Final = 0.62
"""Inches to a unit of the layout."""

STYLE: Final[Any] = {
    "svg.hashsalt": "odernn",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial"],
    "font.size": 8.0,
    "text.parse_math": False,
}


def check_available() -> None:
    """ImportError, with what to install, if there is no matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError('a picture needs matplotlib, which is not installed: pip install "odernn[plots]"') from error


@dataclass(frozen=True)
class Line:
    """An edge on the sheet."""

    name: str
    curve: Curve
    classes: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class Spot:
    """A node on the sheet."""

    name: str
    place: Point
    role: str
    label: str


@dataclass
class Box:
    """A panel: things in units of the layout, and the rectangle that they take."""

    heading: str
    lines: list[Line] = field(default_factory=list)
    spots: list[Spot] = field(default_factory=list)
    times: list[tuple[float, str]] = field(default_factory=list)

    @property
    def rectangle(self) -> tuple[float, float, float, float]:
        """left, bottom, right, top."""
        points = [p for line in self.lines for p in line.curve.points().tolist()]
        points += [[s.place[0] + dx, s.place[1] + dx] for s in self.spots for dx in (-RADIUS, RADIUS)]
        across, up = zip(*points, strict=True)
        room = 0.22
        return min(across) - room, min(up) - room - (0.3 if self.times else 0.0), max(across) + room, max(up) + room

    @property
    def width(self) -> float:
        left, _, right, _ = self.rectangle
        headed = max(0.115 * len(line) for line in self.heading.split("\n"))
        return max(right - left, headed)

    @property
    def height(self) -> float:
        _, bottom, _, top = self.rectangle
        return top - bottom + 0.3 * (1 + self.heading.count("\n"))


@dataclass
class Sheet:
    """The panels of one picture; it names the elements, and has their classes and titles for the SVG."""

    panels: int = 0
    about: dict[str, tuple[str, str]] = field(default_factory=dict)

    def named(self, panel: int, what: str, classes: str, title: str) -> str:
        """An identifier for an element with these classes and title."""
        name = f"panel-{panel}-{what}"
        self.about[name] = (classes, plain(title))
        return name

    def drawn(
        self,
        boxes: Sequence[Sequence[Box]],
        legend: Sequence[tuple[str, str]],
        *,
        title: str,
        description: str,
        caption: str = "",
    ) -> str:
        """The SVG: rows of panels from the top, the legend below."""
        check_available()
        import matplotlib as mpl
        from matplotlib.figure import Figure

        gap = 0.5
        words = [*((kind, text) for kind, text in legend), *([("", caption)] if caption else [])]
        width = max(
            *(sum(b.width for b in row) + gap * (len(row) - 1) for row in boxes),
            *(1.2 + 0.105 * len(text) for _, text in words),
        )
        heights = [max(box.height for box in row) for row in boxes]
        foot = 0.36 * len(words) + 0.1
        height = sum(heights) + gap * (len(boxes) - 1) + foot
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(width * _SCALE, height * _SCALE))
            axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
            axes.set(xlim=(0.0, width), ylim=(0.0, height))
            axes.set_axis_off()
            top = height
            for row, tall in zip(boxes, heights, strict=True):
                free = (width - sum(box.width for box in row)) / (len(row) + 1)
                left = free
                for box in row:
                    _draw_box(axes, box, left, top)
                    left += box.width + free
                top -= tall + gap
            _draw_legend(axes, words, foot)
            out = io.StringIO()
            about = {"Date": None, "Creator": "odernn", "Title": plain(title)}
            with warnings.catch_warnings():  # the text stays text: the reader's font draws it, not this one
                warnings.filterwarnings("ignore", message="Glyph .* missing from font")
                figure.savefig(out, format="svg", metadata=about, facecolor="white")
        return _finished(out.getvalue(), self.about, plain(title), plain(description))


def moved(curve: Curve, right: float, up: float) -> Curve:
    """The same curve elsewhere."""
    control = tuple((x + right, y + up) for x, y in curve.control)
    return Curve(control, (curve.label[0] + right, curve.label[1] + up))


def _draw_box(axes: Any, box: Box, left: float, top: float) -> None:
    x0, y0, x1, _ = box.rectangle
    right = left + (box.width - (x1 - x0)) / 2 - x0
    up = top - box.height - y0
    axes.text(
        left + box.width / 2,
        top - 0.12,
        "\n".join(map(plain, box.heading.split("\n"))),
        ha="center",
        va="top",
        linespacing=1.3,
    )
    for line in sorted(box.lines, key=lambda line: len(line.classes)):
        _draw_line(axes, line, moved(line.curve, right, up))
    for spot in box.spots:
        _draw_spot(axes, spot, (spot.place[0] + right, spot.place[1] + up))
    for x, text in box.times:
        axes.text(x + right, y0 + up + 0.12, text, ha="center", va="bottom", color=_GREY)


def _draw_line(axes: Any, line: Line, curve: Curve) -> None:
    """The band of a path below; the line; the dashes of the skip cycle above it; the head; σ."""
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    *_, before, tip = curve.control
    angle = math.atan2(tip[1] - before[1], tip[0] - before[0])
    strong = {"critical-cycle", "closed-walk"} & set(line.classes)
    colour = _VERMILION if strong else _BLUE if "skip-cycle" in line.classes else _GREY
    size = 0.17 if colour != _GREY else 0.13
    base = (tip[0] - size * math.cos(angle), tip[1] - size * math.sin(angle))
    codes = [Path.MOVETO, *[Path.CURVE3 if len(curve.control) == 3 else Path.CURVE4] * (len(curve.control) - 1)]

    def stroke(
        width: float, colour: str, z: float, style: Any = "-", name: str | None = None, end: Point = base
    ) -> None:
        path = Path([*curve.control[:-1], end], codes)
        axes.add_patch(
            PathPatch(
                path,
                facecolor="none",
                edgecolor=colour,
                linewidth=width,
                linestyle=style,
                zorder=z,
                capstyle="butt",
                gid=name,
                clip_on=False,
            )
        )

    z = 2.0 if colour == _GREY else 2.2
    if "critical-path" in line.classes:
        stroke(7.0, _GREEN, 1.0, end=tip)
    dashed = "skip-cycle" in line.classes
    stroke(2.0 if colour != _GREY else 0.8, colour, z, _DASH if dashed and not strong else "-", line.name)
    if dashed and strong:
        stroke(2.0, _BLUE, z + 0.05, _DASH)
    side = 0.36 * size
    wings = [(base[0] + s * side * math.sin(angle), base[1] - s * side * math.cos(angle)) for s in (1, -1)]
    axes.add_patch(
        Polygon([tip, *wings], closed=True, facecolor=colour, edgecolor="none", zorder=z + 0.1, clip_on=False)
    )
    if line.label:
        axes.text(
            *curve.label,
            line.label,
            ha="center",
            va="center",
            color="black" if colour == _GREY else colour,
            fontsize=7.0,
            zorder=3,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )


def _draw_spot(axes: Any, spot: Spot, place: Point) -> None:
    """A circle; an input is a square, an output has a double rim."""
    from matplotlib.patches import Circle, FancyBboxPatch

    x, y = place
    style: dict[str, Any] = {
        "facecolor": "white",
        "edgecolor": "black",
        "linewidth": 0.8,
        "zorder": 4,
        "clip_on": False,
    }
    if "input" in spot.role:
        side = 1.75 * RADIUS
        axes.add_patch(
            FancyBboxPatch(
                (x - side / 2, y - side / 2),
                side,
                side,
                gid=spot.name,
                boxstyle="round,pad=0,rounding_size=0.05",
                **style,
            )
        )
    else:
        axes.add_patch(Circle(place, RADIUS, gid=spot.name, **style))
    if "output" in spot.role:
        axes.add_patch(Circle(place, 0.83 * RADIUS, **style))
    parts = _broken(plain(spot.label))
    size = min(7.0, (22.0 if "output" in spot.role else 27.0) / max(map(len, parts)))
    axes.text(
        x,
        y,
        "\n".join(parts),
        ha="center",
        va="center_baseline" if len(parts) == 1 else "center",
        zorder=5,
        fontsize=size,
        linespacing=0.9,
    )


def plain(text: str) -> str:
    """Text that XML may hold: a name from a file can have any character."""
    return "".join(c if c.isprintable() else "�" for c in text)


def _broken(name: str) -> list[str]:
    """A name in one or two lines that fit into a node; the <title> of the node has all of it."""
    if len(name) <= 5:
        return [name]
    if len(name) <= 12:
        return [name[: (len(name) + 1) // 2], name[(len(name) + 1) // 2 :]]
    return [f"{name[:5]}…", name[-6:]]


def _draw_legend(axes: Any, words: Sequence[tuple[str, str]], foot: float) -> None:
    y = foot - 0.2
    for kind, text in words:
        if kind == "critical-path":
            axes.plot([0.25, 0.95], [y, y], color=_GREEN, linewidth=7.0, solid_capstyle="butt")
        elif kind:
            dashed = kind == "skip-cycle"
            axes.plot(
                [0.25, 0.95],
                [y, y],
                color=_BLUE if dashed else _VERMILION,
                linewidth=2.0,
                linestyle=_DASH if dashed else "-",
            )
        axes.text(1.1 if kind else 0.25, y, text, va="center_baseline")
        y -= 0.36


def _finished(text: str, about: Mapping[str, tuple[str, str]], title: str, description: str) -> str:
    """Two decimals; classes and titles of the named elements; the description for those who do not see the picture."""
    text = re.sub(r"\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), text)

    def name(match: re.Match[str]) -> str:
        if match[1] not in about:
            return match[0]
        classes, words = about[match[1]]
        return f'<g id="{match[1]}" class="{escape(classes)}"><title>{escape(words)}</title>'

    text = re.sub(r'<g id="(panel-[^"]+)">', name, text)
    text = re.sub(r'<g id="(?:patch|line2d|text)_\d+">', "<g>", text)
    text = re.sub(r"<!--.*?-->|; stroke-linejoin: miter", "", text, flags=re.DOTALL)
    text = re.sub(r"<title>.*?</title>", "", text, count=1, flags=re.DOTALL)
    head = f' role="img" aria-labelledby="title description">\n<title id="title">{escape(title)}</title>'
    head += f'\n<desc id="description">{escape(description)}</desc>'
    text = re.sub(r"(<svg\b[^>]*)>", lambda match: match[1] + head, text, count=1)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"
