"""docs/integrators.md says what the library computes, and what it computes is what the theorems say."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from tests import scripts
from tests.tiers import slow

CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = CHECKOUT / "docs" / "integrators.md"
SCRIPT = CHECKOUT / "docs" / "pictures" / "integrators.py"
REGENERATE = "Run `python docs/pictures/integrators.py`."
MOST_BYTES = 60_000


script = scripts.loaded(SCRIPT)


@functools.cache
def text() -> str:
    return PAGE.read_text(encoding="utf-8")


@functools.cache
def methods_table() -> str:
    found: str = script.methods_table()
    return found


def rows(table: str) -> dict[str, dict[str, str]]:
    """The rows of a table by method."""
    head, _, *body = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    return {row[0]: dict(zip(head, row, strict=True)) for row in body}


def generated(name: str, page: str) -> str:
    (found,) = re.findall(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", page, re.DOTALL)
    return str(found)


@pytest.mark.slow
def test_the_table_of_methods_on_the_page_is_what_is_computed() -> None:
    assert generated("methods", text()) == methods_table(), REGENERATE
    assert len(rows(methods_table())) == 10


@pytest.mark.slow
def test_the_slopes_on_the_page_are_what_is_measured() -> None:
    assert generated("slopes", text()) == script.slopes_table(), REGENERATE


def test_the_python_of_the_page_runs_and_prints_what_stands_beneath_it() -> None:
    assert text().count("```python") >= 10
    assert script.with_outputs(text()) == text(), REGENERATE
    assert torch.get_default_dtype() == torch.float32


def test_a_stale_output_is_seen() -> None:
    page = "```python\nx = 1\n```\nand\n```python\nprint(x + 1)\n```\n```text\n3\n```\n"
    assert script.with_outputs(page) == page.replace("3", "2")
    with pytest.raises(ZeroDivisionError):
        script.with_outputs("```python\n1 / 0\n```\n")


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="has 0 places for the table 'methods'"):
        script.with_tables("no table\n")


# --- the numbers, by other means


def test_measured_orders_are_the_implied_ones() -> None:
    for name, row in rows(generated("slopes", text())).items():
        for rule in script.RULES:
            measured, implied = re.fullmatch(r"(\S+) \((\d)\)", row[f'"{rule}"']).groups()  # type: ignore[union-attr]
            assert abs(float(measured) - int(implied)) < 0.2, (name, rule)


def test_what_is_symplectic_keeps_area_and_what_is_not_does_not() -> None:
    for name, row in rows(generated("methods", text())).items():
        assert (row["symplectic"] == "yes") == (script.defect(name) < script.ROUNDING_LEVEL), name
        assert (row["symplectic"] == "yes") == (row["phase area at t = 64"] == "1"), name


def test_energy_drifts_unless_the_method_is_symplectic() -> None:
    """Or has come to rest: implicit Euler."""
    for name, row in rows(generated("methods", text())).items():
        early, late = (float(row[f"energy error, t ≤ {t}"]) for t in (6.4, 64))
        assert (late / early < 1.2) == (row["symplectic"] == "yes" or name == "implicit euler"), name


def test_the_area_factor_of_an_euler_step_is_one_plus_h_squared_kappa() -> None:
    """det [[1, h], [−hκ, 1]] with κ at the old state; of the implicit method its inverse, at the new state."""
    h = script.STEP_SIZE
    for name, at, power in (("euler", slice(0, -1), 1), ("implicit euler", slice(1, None), -1)):
        found = script.orbit(name, h, 20)
        kappa = script.ALPHA + script.W / np.cosh(script.W * found.y[at].numpy() + script.DRIVE) ** 2
        assert np.allclose(script.area_factors(name, found), (1 + h**2 * kappa) ** power, rtol=1e-12, atol=0)


def test_the_disc_of_a_symplectic_method_keeps_the_area_that_a_linear_image_would() -> None:
    """A polygon's corners move exactly, its edges do not stay straight: equal to the second order of its size."""
    for name, other in (("stoermer verlet", "gauss 2"), ("rk4", "gauss 2")):
        areas = [[script.polygon_area(*image) for image in script.discs(one, (0, 12))] for one in (name, other)]
        assert np.allclose([late / early for early, late in areas], 1.0, atol=0.02)
    early, late = (script.polygon_area(*image) for image in script.discs("implicit euler", (0, 12)))
    assert late < 0.1 * early


@pytest.mark.parametrize(
    ("name", "stages"),
    [slow(("implicit midpoint", 1)), slow(("gauss 2", 2)), slow(("implicit euler", 1)), ("radau iia 2", 2)],
)
def test_an_explicit_step_takes_one_tanh_a_stage_and_an_implicit_one_more(name: str, stages: int) -> None:
    """One Newton iteration of s stages evaluates s forces and s derivatives; the start one more of each stage."""
    table = rows(generated("methods", text()))
    assert [table[name]["tanh a step"] for name in script.METHODS[:6]] == ["1", "2", "4", "1", "2", "6"]
    found = script.table_orbit(name)
    assert found.tanh == stages * (2 * found.iterations + script.STEPS)


def test_numbers_are_printed_as_everywhere_in_the_documents() -> None:
    values = (0.999999, 1234.5, 2.5e-5, 4e7, 0.0123456, 402.17)
    assert [script.readable(value) for value in values] == ["1.00", "1230", "10^−4.6", "10^7.6", "0.0123", "402"]
    assert script.above_rounding(1e-15) == "< 10^−12"


# --- the pictures


def test_the_page_shows_every_picture_and_each_is_small_and_names_every_method() -> None:
    shown = re.findall(r"!\[.+?\]\(pictures/(\w+\.svg)\)", text())
    pages = [page for page in (*PAGE.parent.glob("*.md"), PAGE.parent.parent / "README.md") if page != PAGE]
    elsewhere = "".join(page.read_text(encoding="utf-8") for page in pages)
    others = re.findall(r"!\[[^\]]+\]\((?:docs/)?pictures/(\w+\.svg)\)", elsewhere)
    assert sorted([*shown, *others]) == sorted(path.name for path in SCRIPT.parent.glob("*.svg")) and len(shown) == 3
    for name in shown:
        picture = (SCRIPT.parent / name).read_text(encoding="utf-8")
        assert len(picture.encode()) < MOST_BYTES
        assert all(f">{method}<" in picture for method in script.METHODS), REGENERATE
        assert "dc:date" not in picture


def test_equal_numbers_draw_equal_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="drawing needs the extra odernn[plots]")
    curves = {name: (np.array([1.0, 10.0]), np.array([1e-3, 1e-2])) for name in script.METHODS[:2]}
    written = []
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "picture.svg"
        script.draw_curves(curves, path, x="t", y="error", limits=(1e-4, 1.0))
        written.append(path.read_bytes())
    assert written[0] == written[1] and 1000 < len(written[0]) < MOST_BYTES


@pytest.mark.slow
def test_the_pictures_of_the_page_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="drawing needs the extra odernn[plots]")
    paths = script.draw_all(tmp_path, steps=8, counts=(20, 40))
    assert {path.name for path in paths} == set(re.findall(r"\(pictures/(\w+\.svg)\)", text()))
    portraits = "phase_portraits.svg"  # which depend on nothing that was shortened: the labels are those of the page
    drawn, shown = ((folder / portraits).read_text(encoding="utf-8") for folder in (tmp_path, SCRIPT.parent))
    labels = [re.findall(r"<(?:tspan|text)[^>]*>([^<]+)</", picture) for picture in (drawn, shown)]
    assert labels[0] == labels[1] and len(labels[0]) > 20, REGENERATE
