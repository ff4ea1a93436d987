"""Pictures of training runs as SVG, from plain numbers alone: the same numbers draw the same text.

    gradients      ‖∂L/∂X_n‖ against n, a panel for the network before training and one for after it
    orthogonality  ‖W*W − I‖_F against the number of updates, a panel for each experiment
    neurons        effective time steps of all neurons and recurrent weights, layer by layer, before and after

The numbers are found by ``run_curves`` beside this file and the scripts of docs/pictures; JSON can hold them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from odernn.architecture.drawing import check_available

Numbers: TypeAlias = Mapping[str, Any]
"""What a JSON file holds."""

STYLE: Final[Any] = {
    "svg.hashsalt": "odernn",
    "svg.fonttype": "none",
    "font.size": 9.0,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.0,
    "legend.frameon": False,
    "axes.unicode_minus": True,
}
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#8a5a83", "#b8860b", "#56b4e9", "#555555")
DASHES: Final = ("-", "--", "-.", ":")
SMALLEST: Final = 1e-30
"""Smaller norms are drawn here: a zero has no place on a logarithmic axis."""
LEGEND: Final[Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}


def gradients(figure: Any, numbers: Numbers) -> None:
    """``numbers["curves"]``: each with label, before and after, which are norms for n = 1, 2, …"""
    panels = figure.subplots(1, 2, sharey=True)
    for axes, when in zip(panels, ("before", "after"), strict=True):
        for index, curve in enumerate(numbers["curves"]):
            values = [max(value, SMALLEST) for value in curve[when]]
            axes.semilogy(range(1, len(values) + 1), values, label=curve["label"], linewidth=1.2, **_line(index))
        axes.set(title=f"{when} training", xlabel="n")
        _grid(axes)
    panels[0].set_ylabel("‖∂L/∂Xₙ‖₂")
    panels[1].legend(**LEGEND)


def orthogonality(figure: Any, numbers: Numbers) -> None:
    """``numbers["panels"]``: each with title and curves; of a curve label, updates and scores."""
    panels = numbers["panels"]
    labels = list(dict.fromkeys(curve["label"] for panel in panels for curve in panel["curves"]))
    for axes, panel in zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True):
        for curve in panel["curves"]:
            axes.loglog(
                curve["updates"],
                [max(score, SMALLEST) for score in curve["scores"]],
                label=curve["label"],
                linewidth=1.2,
                marker="o",
                markersize=3.0,
                **_line(labels.index(curve["label"])),
            )
        axes.set(title=panel["title"], xlabel="updates")
        _grid(axes)
    figure.axes[0].set_ylabel("‖W*W − I‖, Frobenius")
    figure.axes[-1].legend(**LEGEND)


def neurons(figure: Any, numbers: Numbers) -> None:
    """``numbers["layers"]``: each with label, dt, steps and weights, of which before and after are one a neuron.

    Neurons are sorted, before and after each by itself. Where there is ``numbers["norms"]``, with epochs and for every
    layer its largest |w| at these epochs, a third panel shows it.
    """
    norms = numbers.get("norms")
    panels = figure.subplots(1, 3 if norms else 2)
    for axes, key in zip(panels, ("steps", "weights"), strict=False):
        for index, layer in enumerate(numbers["layers"]):
            for when, dash in (("before", ":"), ("after", "-")):
                values = sorted(layer[key][when])
                axes.plot(
                    range(1, len(values) + 1),
                    values,
                    color=_line(index)["color"],
                    linestyle=dash,
                    linewidth=1.2,
                    label=f"{layer['label']}, {when}",
                )
        axes.set(xlabel="neuron, sorted")
        _grid(axes)
    for dt in sorted({layer["dt"] for layer in numbers["layers"]}):
        panels[0].axhline(dt, color="0.5", linewidth=0.6)
    panels[0].set(title="effective time step Δt σ̂(c)", ylim=(0.0, None))
    panels[1].set_title("recurrent weight w")
    if norms:
        for index, largest in enumerate(norms["largest"]):
            panels[2].plot(norms["epochs"], largest, color=_line(index)["color"], linewidth=1.2)
        panels[2].set(title="largest |w|", xlabel="epochs", ylim=(0.0, None))
        _grid(panels[2])
    panels[-1].legend(*panels[0].get_legend_handles_labels(), **LEGEND)


def _line(index: int) -> dict[str, Any]:
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}


def _grid(axes: Any) -> None:
    axes.grid(color="0.9", linewidth=0.6)


@dataclass(frozen=True)
class Picture:
    """``width`` in inches, by the numbers; ``draw`` fills an empty figure."""

    title: str
    width: Callable[[Numbers], float]
    draw: Callable[[Any, Numbers], None]


PICTURES: Final[Mapping[str, Picture]] = {
    "gradients": Picture("Gradient norms against time, before and after training", lambda _: 7.6, gradients),
    "orthogonality": Picture(
        "Orthogonality of recurrent matrices during training",
        lambda numbers: 2.6 * len(numbers["panels"]) + 2.2,
        orthogonality,
    ),
    "neurons": Picture(
        "Time steps and recurrent weights of UnICORNN", lambda numbers: 10.0 if numbers.get("norms") else 7.6, neurons
    ),
}
HEIGHT: Final = 3.2


def svg(kind: str, numbers: Numbers) -> str:
    """The picture of that kind, a key of ``PICTURES``: two decimals, no date, no version.

    ImportError without matplotlib.
    """
    check_available()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    picture = PICTURES[kind]
    out = io.StringIO()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(picture.width(numbers), HEIGHT), layout="constrained")
        picture.draw(figure, numbers)
        about = {"Date": None, "Creator": "odernn", "Title": picture.title}
        figure.savefig(out, format="svg", metadata=about, facecolor="white")
    # Two decimals in the tags; what stands between them is text, such as the numbers of an axis.
    short = re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d{3,}", _two_decimals, tag[0]), out.getvalue())
    return "\n".join(line.strip() for line in short.splitlines()) + "\n"


def _two_decimals(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
