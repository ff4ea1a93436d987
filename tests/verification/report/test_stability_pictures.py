"""Stability regions and order stars: what the shaded sets are, by theorems, and the SVG is the same every time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from odernn import order, tableaus
from odernn.properties.stability_function import stability_function
from odernn.tableaus.tableau import ButcherTableau
from tests.tiers import only, slow
from verification.report.pictures.stability import LARGEST, POINTS, SMALLEST, modulus, star, svg, window

pytest.importorskip("matplotlib", reason="pictures need the extra: plots")


@pytest.mark.parametrize("name", ["euler", "heun 2", "ssp (3,3)", "rk4", "gauss 2", "radau iia 2", "gauss 5"])
def test_the_order_star_has_order_plus_one_sectors_at_zero(name: str) -> None:
    """R(z) e^{−z} = 1 − C z^{p+1} + …: its modulus crosses 1 exactly 2(p + 1) times on a small circle."""
    method = tableaus.get(name)
    p = order(method).value
    circle = (1.5 if p > 6 else 0.5) * np.exp(2j * np.pi * (np.arange(720) + 0.37) / 720)
    signs = star(stability_function(method), circle) > 1
    assert int((signs != np.roll(signs, 1)).sum()) == 2 * (p + 1)


def test_regions_known_in_closed_form() -> None:
    line = np.linspace(-3, 3, 60)
    z = line[None, :] + 1j * line[:, None]
    euler, implicit = (stability_function(tableaus.get(name)) for name in ("euler", "implicit euler"))
    assert ((modulus(euler, z) <= 1) == (abs(1 + z) <= 1)).all()
    assert ((modulus(implicit, z) <= 1) == (abs(1 - z) >= 1)).all()
    assert modulus(implicit, np.array([1 + 0j])) == np.inf
    midpoint = stability_function(tableaus.get("implicit midpoint"))
    assert ((modulus(midpoint, z) <= 1) == (z.real <= 0)).all()


def test_the_window_holds_zeros_and_poles() -> None:
    assert window(stability_function(tableaus.get("euler"))) == SMALLEST
    assert SMALLEST < window(stability_function(tableaus.get("gauss 5"))) <= LARGEST


@pytest.mark.parametrize("name", only(["rk4", "radau iia 3"], "radau iia 3"))
def test_the_picture_is_well_formed_and_the_same_every_time(name: str) -> None:
    text = svg(tableaus.get(name))
    assert text == svg(tableaus.get(name))
    ElementTree.fromstring(text)
    assert name in text and "order star" in text and "<dc:date>" not in text
    assert len(text) < 200_000


def drawn(text: str) -> list[list[tuple[float, float]]]:
    """The corners of the boundary lines of each panel in the numbers of its axes: pixels scaled by the background."""
    half = float(window_of(text))
    panels = []
    for axes in ("axes_1", "axes_2"):
        (panel,) = (node for node in ElementTree.fromstring(text).iter() if node.get("id") == axes)
        lines: list[tuple[float, float]] = []
        square: list[tuple[float, float]] = []
        for node in panel.iter("{http://www.w3.org/2000/svg}path"):
            numbers = [float(x) for x in re.findall(r"-?\d+\.?\d*", node.get("d", ""))]
            corners = list(zip(numbers[::2], numbers[1::2], strict=True))
            style = node.get("style", "")
            square = square or corners  # the first path of a panel is its background
            if "stroke: #1f4e79" in style:
                lines += corners
        left, right = min(x for x, _ in square), max(x for x, _ in square)
        top, bottom = min(y for _, y in square), max(y for _, y in square)
        panels.append(
            [
                (half * (2 * (x - left) / (right - left) - 1), half * (2 * (bottom - y) / (bottom - top) - 1))
                for x, y in lines
            ]
        )
    return panels


def window_of(text: str) -> str:
    """The last label of the axis, for the methods here: the window of each ends at a label."""
    return re.findall(r">(\d+)</text>", text)[-1]


@pytest.mark.parametrize(("name", "sign"), [slow(("euler", 1)), ("implicit euler", -1)])
def test_the_boundaries_that_are_drawn_are_where_the_sets_end(name: str, sign: int) -> None:
    """|1 + z| = 1 and |1 − z| = 1; of the order star |R(z)| = |exp z| up to the slope times the width of the grid."""
    region, fingers = drawn(svg(tableaus.get(name)))
    step = 2 * SMALLEST / (POINTS - 1)
    assert len(region) > 50 and len(fingers) > 50
    assert max(abs(abs(complex(x, y) + sign) - 1) for x, y in region) < step
    assert min(sign * x for x, _ in region) == pytest.approx(-2, abs=step) and max(y for _, y in region) > 1 - step
    values = star(stability_function(tableaus.get(name)), np.array([complex(x, y) for x, y in fingers]))
    inside = [abs(np.log(v)) for v, (x, y) in zip(values, fingers, strict=True) if abs(complex(x, y) + sign) > 0.5]
    assert max(inside) < 4 * step  # |d log|R e^{-z}|| ≤ 1 + 1/|1 ± z| = 3 where this is 0.5 from the zero or pole


def test_the_shaded_side_is_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros of R lie in the stability region and not in the order star, poles the other way round."""
    from matplotlib.axes import Axes

    shaded = []
    drawn = Axes.contourf

    def recorded(self, x, y, values, *rest, levels, **options):  # type: ignore[no-untyped-def]
        shaded.append((x, y, (values >= levels[0]) & (values <= levels[1])))
        return drawn(self, x, y, values, *rest, levels=levels, **options)

    monkeypatch.setattr(Axes, "contourf", recorded)
    svg(tableaus.get("gauss 2"))  # poles 3 ± √3i, zeros −3 ± √3i
    at = [[bool(inside[abs(y - 3**0.5).argmin(), abs(x - re).argmin()]) for re in (-3, 3)] for x, y, inside in shaded]
    assert at == [[True, False], [False, True]]


def test_a_name_with_signs_of_markup_is_written_once_escaped() -> None:
    text = svg(ButcherTableau([[0]], [1], name="a & b <c>"))
    titles = [node.text for node in ElementTree.fromstring(text).iter("{http://purl.org/dc/elements/1.1/}title")]
    assert titles[0] == "a & b <c>"


def test_a_pair_has_no_stability_function() -> None:
    with pytest.raises(TypeError, match="partitioned"):
        svg(tableaus.get("stoermer verlet"))
