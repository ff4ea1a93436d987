"""Pictures of bounds: axes that say what they count, what lies beyond them in numbers, marks that are told apart."""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import replace

from tests.verification.report.html.made_page import CURVE, SPREAD
from verification.report.pictures.against_bounds import (
    LINES,
    MARKS,
    SlackLadder,
    SlackSpread,
    beyond,
    curve_svg,
    slack_svg,
)
from verification.report.pictures.inline import LETTERS

LEVEL = tuple((float(10**n), 0.01, 1.0 + n) for n in range(6))
FAR = replace(SPREAD, drawn=(*LEVEL, (1.0, 0.1, -94000.0), (2.0, 0.1, 260.0), (3.0, 0.1, 300.4)))
EQUAL = SlackSpread("y", tuple(SlackLadder(f"α = {n}", 2.0, (0.1, 0.05), (1.0, 1.0)) for n in range(6)), LEVEL)


def words(svg: str) -> list[str]:
    return [html.unescape(text) for text in re.findall("<text[^>]*>([^<]*)</text>", svg)]


def test_the_axis_upwards_says_what_it_counts() -> None:
    said = words(curve_svg(CURVE, "a"))
    assert f"log₁₀ of {CURVE.symbol}" in said and "log₁₀" not in said
    assert "slack in decades" in words(slack_svg(SPREAD, "T", "a"))


def test_what_an_axis_does_not_reach_is_said_in_numbers() -> None:
    low, high = FAR.window
    assert -10 < low <= 0 < max(slack for *_, slack in LEVEL) <= high < 100
    assert beyond(FAR) == "▴ 2 above, to 300;  ▾ 1 below, to −94,000"
    assert all(beyond(FAR) in words(svg) for svg in (slack_svg(FAR, "T", "a"), slack_svg(FAR, "dt", "a")))
    assert (beyond(SPREAD), SPREAD.window) == ("▴ 1 above, to 30", (-0.4, 3.0))


def test_nothing_is_cut_where_the_whole_is_as_easily_read() -> None:
    little = replace(SPREAD, drawn=(*LEVEL, (1.0, 0.1, 9.0)))
    assert beyond(little) == "" and little.window == (-0.4, 9.0)


def test_ladders_of_one_slack_are_told_apart() -> None:
    """Six colours, six marks, and six places of one dt beside each other."""
    drawn = slack_svg(EQUAL, "dt", "a")
    assert {f"var(--plot-{name})" for name in LINES} <= set(re.findall(r"var\(--plot-\w+\)", drawn))
    shapes = re.findall(r'<path id="[^"]*" d="([^"]*)"', drawn)
    assert len(set(shapes)) >= len(MARKS) == 6
    places = re.findall(r'<use [^>]*href="#[^"]*" x="([^"]*)" y="([^"]*)"', drawn)
    assert max(Counter(height for _, height in set(places)).values()) >= 12


def test_the_key_comes_with_the_first_panel_alone_and_is_escaped() -> None:
    named = replace(SPREAD, ladders=(replace(SPREAD.ladders[0], label="<b>α</b>"),))
    over_T, over_dt = slack_svg(named, "T", "a"), slack_svg(named, "dt", "b")
    assert over_T.count('class="key"') == 1 and "&lt;b&gt;α&lt;/b&gt;" in over_T
    assert "key" not in over_dt and "α" not in over_dt


def test_all_letters_have_one_size_and_all_panels_one_width() -> None:
    for svg in (curve_svg(CURVE, "a"), slack_svg(SPREAD, "T", "a"), slack_svg(FAR, "dt", "a")):
        assert set(re.findall(r"font-size: ([\d.]+)px", svg)) == {f"{LETTERS:g}"}
        assert "font-family" not in svg
        assert re.findall(r'viewBox="0 0 ([\d.]+) ', svg) == ["344"]
