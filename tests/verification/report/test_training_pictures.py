"""What is drawn: the data of every line, and the scales of the axes, against the numbers that were given."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.tiers import spread
from verification.report.pictures import training as training_pictures

pytest.importorskip("matplotlib", reason="drawing needs the extra odernn[plots]")

CURVES = {
    "curves": [
        {"label": "one", "before": [4.0, 2.0, 1.0], "after": [0.1, 0.0, 0.3]},
        {"label": "two", "before": [5.0, 6.0, 7.0], "after": [8.0, 9.0, 10.0]},
    ]
}
DRIFT = {
    "panels": [
        {"title": "left", "curves": [{"label": "W", "updates": [1, 2, 4], "scores": [1e-6, 3e-6, 2e-6]}]},
        {"title": "right", "curves": [{"label": "V", "updates": [3, 9], "scores": [1e-5, 0.0]}]},
    ]
}
NEURONS = {
    "layers": [
        {
            "label": "layer 1",
            "dt": 0.3,
            "steps": {"before": [0.2, 0.1], "after": [0.25, 0.15]},
            "weights": {"before": [0.5, -0.5], "after": [2.0, 1.0]},
        }
    ],
    "norms": {"epochs": [0, 1], "largest": [[0.5, 2.0]]},
}


def axes(kind: str, numbers: Any) -> list[Any]:
    from matplotlib.figure import Figure

    figure = Figure()
    training_pictures.PICTURES[kind].draw(figure, numbers)
    return list(figure.axes)


def lines(of: Any) -> dict[str, tuple[list[float], list[float]]]:
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in of.lines}


def test_gradients_stand_over_n_from_1_on_a_logarithmic_axis_of_base_ten() -> None:
    found = axes("gradients", CURVES)
    assert [(each.get_title(), each.get_xscale(), each.get_yscale(), each.get_xlabel()) for each in found] == [
        ("before training", "linear", "log", "n"),
        ("after training", "linear", "log", "n"),
    ]
    assert {each.yaxis.get_transform().base for each in found} == {10.0}
    assert found[0].get_ylabel() == "‖∂L/∂Xₙ‖₂" and found[0].get_ylim() == found[1].get_ylim()
    assert lines(found[0]) == {"one": ([1, 2, 3], [4.0, 2.0, 1.0]), "two": ([1, 2, 3], [5.0, 6.0, 7.0])}
    smallest = training_pictures.SMALLEST  # a zero has no logarithm
    assert lines(found[1]) == {"one": ([1, 2, 3], [0.1, smallest, 0.3]), "two": ([1, 2, 3], [8.0, 9.0, 10.0])}


def test_orthogonality_stands_over_updates_on_two_logarithmic_axes() -> None:
    found = axes("orthogonality", DRIFT)
    assert [(each.get_title(), each.get_xscale(), each.get_yscale(), each.get_xlabel()) for each in found] == [
        ("left", "log", "log", "updates"),
        ("right", "log", "log", "updates"),
    ]
    assert found[0].get_ylabel() == "‖W*W − I‖, Frobenius"
    assert lines(found[0]) == {"W": ([1, 2, 4], [1e-6, 3e-6, 2e-6])}
    assert lines(found[1]) == {"V": ([3, 9], [1e-5, training_pictures.SMALLEST])}


def test_neurons_are_sorted_and_the_line_is_dt() -> None:
    steps, weights, largest = axes("neurons", NEURONS)
    titles = ["effective time step Δt σ̂(c)", "recurrent weight w", "largest |w|"]
    assert [each.get_title() for each in (steps, weights, largest)] == titles
    assert {each.get_yscale() for each in (steps, weights, largest)} == {"linear"}
    drawn = lines(steps)
    assert drawn.pop("layer 1, before") == ([1, 2], [0.1, 0.2])
    assert drawn.pop("layer 1, after") == ([1, 2], [0.15, 0.25])
    ((_, line),) = drawn.values()
    assert line == [0.3, 0.3] and steps.get_ylim()[0] == 0.0
    assert lines(weights) == {"layer 1, before": ([1, 2], [-0.5, 0.5]), "layer 1, after": ([1, 2], [1.0, 2.0])}
    assert list(lines(largest).values()) == [([0, 1], [0.5, 2.0])]
    colours = {line.get_color() for each in (steps, weights, largest) for line in each.lines} - {"0.5"}
    assert len(colours) == 1  # one a layer, in all panels
    assert len(axes("neurons", {"layers": NEURONS["layers"]})) == 2


@pytest.mark.parametrize(
    ("kind", "numbers"), spread([("gradients", CURVES), ("orthogonality", DRIFT), ("neurons", NEURONS)], 1)
)
def test_the_same_numbers_are_the_same_text_without_a_date(kind: str, numbers: Any) -> None:
    text = training_pictures.svg(kind, numbers)
    assert text == training_pictures.svg(kind, numbers) and "dc:date" not in text
    assert not re.search(r"<[^>]*\d\.\d{3,}[^>]*>", text)
