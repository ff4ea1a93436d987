"""Pictures inside a page: SVG that takes the page's colours, so that it is dark where the page is, and few bytes.

matplotlib draws in the colours of ``INK``; the text that comes out has variables of the page's style sheet in their
place. Names inside a picture get its own prefix: a page has several.
"""

from __future__ import annotations

import io
import re
from typing import Any, Final

from odernn.architecture.drawing import check_available
from verification.report.pictures.training import STYLE

INK: Final = {
    "text": "#010203",
    "rule": "#e1e2e3",
    "measured": "#b03a2e",
    "bound": "#1f4e79",
    "other": "#6b6b6b",
    "first": "#0072b2",
    "second": "#d55e00",
    "third": "#009e73",
    "fourth": "#8a5a83",
    "fifth": "#b8860b",
    "sixth": "#56b4e9",
}
"""Colours by their names: the page calls them --plot-text, --plot-rule, …"""
LETTERS: Final = 12.5
"""Height of all letters, in the units of a picture, which are a page's pixels where it has the room."""
_STYLE: Final[Any] = {
    **STYLE,
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize"), LETTERS),
    "text.color": INK["text"],
    "axes.edgecolor": INK["text"],
    "axes.labelcolor": INK["text"],
    "axes.linewidth": 0.8,
    "xtick.color": INK["text"],
    "ytick.color": INK["text"],
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "lines.linewidth": 1.6,
}
_NOBODY: Final[Any] = {"Date": None, "Creator": None, "Format": None, "Type": None}


def new_figure(width: float, height: float) -> Any:
    """An empty figure of so many inches; draw inside ``drawing()``. ImportError without matplotlib."""
    check_available()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def drawing() -> Any:
    """The style of pictures inside a page, as a context."""
    check_available()
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)


def inline(figure: Any, prefix: str) -> str:
    """The figure as an <svg> for a page; call inside ``drawing()``. The same figure gives the same text."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata=_NOBODY, transparent=True)
    text = re.sub(r"<metadata>.*?</metadata>", "", out.getvalue(), flags=re.DOTALL)
    text = text[text.index("<svg") :]
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"-?\d+\.\d{2,}", _one_decimal, tag[0]), text)
    for name, colour in INK.items():
        text = text.replace(colour, f"var(--plot-{name})")
    # "px" of a font shrinks with the picture, as its lines do; the family is the page's. By version of matplotlib
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", text)
    text = re.sub(r" ?font-family: [^;\"]*;?", "", text)
    text = _renamed(_hoisted(text), prefix)
    shown = r'<svg viewBox="\1" aria-hidden="true" focusable="false">'
    text = re.sub(r'<svg [^>]*viewBox="([^"]*)"[^>]*>', shown, text, count=1)
    text = re.sub(r"<defs>\s*<style[^>]*>[^<]*</style>\s*</defs>", "", text)  # the page's style sheet has it
    return re.sub(r"\s*\n\s*", "\n", text).strip()


def _hoisted(text: str) -> str:
    """The style of markers that all look the same, once: on what is around them."""

    def once(group: re.Match[str]) -> str:
        styles = set(re.findall(r' style="([^"]*)"', group[2]))
        if len(styles) != 1:
            return group[0]
        uses = re.sub(r' style="[^"]*"', "", group[2])
        return f'{group[1][:-1]} style="{styles.pop()}">{uses}</g>'

    return re.sub(r"(<g(?: clip-path=\"[^\"]*\")?>)\s*((?:<use [^>]*/>\s*)+)</g>", once, text)


def _renamed(text: str, prefix: str) -> str:
    """Names that something points to, short and with the prefix; the others are dropped."""
    used = dict.fromkeys(re.findall(r"(?:href=\"#|url\(#)([^\")]+)", text))
    names = {name: f"{prefix}-{number}" for number, name in enumerate(used)}
    text = re.sub(r' id="([^"]+)"', lambda match: f' id="{names[match[1]]}"' if match[1] in names else "", text)
    pointing = r"(?:xlink:)?(href=\"#|url\(#)([^\")]+)"
    return re.sub(pointing, lambda match: f"{match[1]}{names[match[2]]}", text)


def _one_decimal(number: re.Match[str]) -> str:
    text = f"{float(number[0]):.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
