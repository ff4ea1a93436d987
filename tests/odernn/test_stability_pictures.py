"""Stability regions and order stars: what the shaded sets are, by theorems, and the SVG is the same every time."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from odernn import order, tableaus
from odernn.stability import stability_function
from odernn.stability_pictures import LARGEST, SMALLEST, modulus, star, svg, window

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


@pytest.mark.parametrize("name", ["rk4", "radau iia 3"])
def test_the_picture_is_well_formed_and_the_same_every_time(name: str) -> None:
    text = svg(tableaus.get(name))
    assert text == svg(tableaus.get(name))
    ElementTree.fromstring(text)
    assert name in text and "order star" in text and "<dc:date>" not in text
    assert len(text) < 200_000


def test_a_pair_has_no_stability_function() -> None:
    with pytest.raises(TypeError, match="partitioned"):
        svg(tableaus.get("stoermer verlet"))
