"""The page in Chromium: filters, narrow screens, keyboard, dark, print, and not a word on the console.

A driver of a few lines shows the page in a frame and asks it questions; no library is needed. Without Chromium these
tests skip and say so, under `make browser-test` they fail (docs/testing.md).
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.tiers import only
from tests.verification.report.html.devtools import opened
from tests.verification.report.html.made_page import (
    CURVE,
    HOSTILE,
    QUESTION,
    SPREAD,
    STATE,
    made_page,
    many,
    sources,
    worded_run,
)
from verification.report.html.build import page as made
from verification.report.html.render import render
from verification.report.html.series import StateSeries
from verification.report.rows.ledger import title_of

pytestmark = pytest.mark.browser

NAMES = ("chromium", "chromium-browser", "google-chrome")
REQUIRED = "ODERNN_BROWSER"
SECONDS = 120
DRIVER = """<!DOCTYPE html><meta charset="utf-8"><body><iframe id="frame" src="page.html{query}" {sandbox}
style="border:0;width:{width}px;height:900px"></iframe><script>
frame.onload = async () => {{
  const w = frame.contentWindow, d = w.document;
  const shown = () => [...d.querySelectorAll("#index tbody tr:not([hidden]) a")].map((a) => a.textContent);
  const choose = (name, value) => {{
    const input = d.getElementById("filter").elements[name];
    input.value = value;
    input.dispatchEvent(new Event("input", {{bubbles: true}}));
  }};
  const rest = () => new Promise((done) => setTimeout(done, 50));
  const answer = await (async () => {{ {questions} }})();
  document.body.innerHTML = "<pre></pre>";
  document.querySelector("pre").textContent = JSON.stringify(answer);
}};
</script>"""


@dataclass(frozen=True)
class Chromium:
    """A browser and a folder with a page."""

    program: str
    folder: Path

    def __call__(self, *arguments: str) -> tuple[str, list[str]]:
        """What it printed, and what pages wrote to the console."""
        options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--no-first-run")
        own = (f"--user-data-dir={self.folder / 'profile'}", "--allow-file-access-from-files")
        command = [self.program, *options, *own, "--virtual-time-budget=5000", *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=SECONDS, check=True)
        return ended.stdout, [line for line in ended.stderr.splitlines() if "CONSOLE" in line]

    def asked(self, questions: str, *options: str, width: int = 1280, query: str = "", scripts: bool = True) -> Any:
        """What JavaScript about the page (``d`` its document, ``w`` its window) returns."""
        driver = self.folder / "driver.html"
        sandbox = "" if scripts else 'sandbox="allow-same-origin"'
        text = DRIVER.format(query=query, width=width, questions=questions, sandbox=sandbox)
        driver.write_text(text, "utf-8")
        size = f"--window-size={max(width, 600)},900"
        shown, console = self(size, *options, "--dump-dom", driver.as_uri())
        assert [line for line in console if scripts or "sandboxed" not in line] == []
        answer = re.search("<pre>(.*)</pre>", shown, flags=re.DOTALL)
        assert answer is not None, shown[:500]
        return json.loads(html.unescape(answer[1]))


@pytest.fixture(scope="module")
def page() -> str:
    return made_page()


@pytest.fixture
def browser(tmp_path: Path, page: str) -> Chromium:
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        reason = "there is no Chromium here: `make browser` installs it, `make browser-test` runs these tests"
        (pytest.fail if os.environ.get(REQUIRED) else pytest.skip)(reason)
    (tmp_path / "page.html").write_text(page, "utf-8")
    return Chromium(str(program), tmp_path)


def test_filters_narrow_the_table_and_the_sections(browser: Chromium) -> None:
    asked = browser.asked("""
      const all = shown();
      choose("verdict", "proved");
      const proved = shown(), sections = d.querySelectorAll("article:not([hidden])").length;
      const said = d.getElementById("shown").textContent;
      choose("text", "no such words");
      const none = shown();
      d.querySelector("#filter button").click();
      await rest();
      const again = shown();
      choose("text", "THM 1 made-2");
      const text = shown();
      choose("text", "");
      choose("paper", "unicornn");
      const paper = shown();
      choose("paper", "");
      choose("near", "0");
      const near = shown();
      choose("text", "refuting icml");
      return {all, proved, sections, said, none, again, text, paper, near, stem: shown()};""")
    assert len(asked["all"]) == 3 + len(HOSTILE) and asked["again"] == asked["all"]
    assert (asked["proved"], asked["sections"], asked["said"]) == (
        ["made-2"],
        1,
        f"1 of {len(asked['all'])} statements",
    )
    assert (asked["none"], asked["paper"]) == ([], ["icml-C.1"])
    assert "made-2" in asked["text"] and asked["near"] == asked["stem"] == ["icml-C.1"]


def test_the_address_tells_what_is_shown(browser: Chromium) -> None:
    """A filter goes into the address; a link out of the filter adds the one claim; Back takes it away again."""
    address = (browser.folder / "page.html").as_uri() + "?verdict=refuted&text=icml"
    with opened(browser.program, browser.folder, address) as pipe:
        asked = pipe.evaluate("""
        const form = document.getElementById("filter").elements, section = (name) => document.getElementById(name);
        const rows = () => [...document.querySelectorAll("#index tbody tr:not([hidden]) a")].map((a) => a.textContent);
        const view = () => [location.search + location.hash, rows(), section("shown").textContent];
        const seen = (name) => section(name).getClientRects().length > 0;
        const tick = () => new Promise((done) => setTimeout(done, 20));
        const moved = async (move) => {
          const arrived = new Promise((done) => addEventListener("hashchange", done, {once: true}));
          move();
          await arrived;
          await tick();
        };
        const choose = (name, value) => {
          form[name].value = value;
          form[name].dispatchEvent(new Event("input", {bubbles: true}));
        };
        const out = {opened: view()};
        await moved(() => { location.hash = "#c-made-2"; });
        out.followed = [...view(), seen("c-made-2"), seen("c-made-1")];
        await moved(() => history.back());
        out.back = [...view(), seen("c-made-2"), form.verdict.value];
        await moved(() => history.forward());
        out.forward = view();
        choose("text", "made-1");
        out.typed = view();
        await moved(() => { location.hash = "#c-made-1"; });
        choose("verdict", "");
        out.inside = view();
        choose("text", "no such words");
        out.none = [view(), seen("none"), seen("index"), section("none").textContent];
        document.querySelector("#filter button").click();
        await tick();
        out.cleared = [location.search, rows().length, seen("none"), seen("index")];
        return out;""")
    everything = 3 + len(HOSTILE)
    said = f"1 of {everything} statements"
    assert asked["opened"] == ["?verdict=refuted&text=icml", ["icml-C.1"], said]
    *followed, is_seen, other_is_seen = asked["followed"]
    beside = f"{said}; beside them made-2, which was followed"
    assert followed == ["?verdict=refuted&text=icml#c-made-2", ["icml-C.1", "made-2"], beside]
    assert is_seen and not other_is_seen
    assert asked["back"] == [*asked["opened"], False, "refuted"]
    assert asked["forward"] == followed
    assert asked["typed"] == ["?verdict=refuted&text=made-1", ["made-1"], said]
    assert asked["inside"] == ["?text=made-1#c-made-1", ["made-1"], said]
    none, says_none, shows_table, words = asked["none"]
    assert none == ["?text=no+such+words", [], f"0 of {everything} statements"]
    assert (says_none, shows_table) == (True, False)
    assert words.startswith("No claim matches.") and "Clear" in words
    assert asked["cleared"] == ["", everything, False, True]


@pytest.mark.slow
def test_what_an_address_asks_for_is_understood_or_said(browser: Chromium) -> None:
    title = quote(title_of("unicornn").upper())
    count = 3 + len(HOSTILE)
    asks = {
        "?paper=UNICORNN&verdict=Refuted": (1, ""),
        f"?paper={title}": (1, ""),
        "?paper=scoRNX": (count, "unknown paper: scoRNX; showing all"),
        "?verdict=refuted&papers=unicornn&text=icml": (1, "unknown filter: papers; not applied"),
    }
    asked = browser.asked(f"""
      const out = [];
      for (const query of {json.dumps([*asks])}) {{
        await new Promise((done) => {{ frame.onload = done; frame.src = "page.html" + query; }});
        const rows = frame.contentDocument.querySelectorAll("#index tbody tr:not([hidden])");
        out.push([rows.length, frame.contentDocument.getElementById("shown").textContent]);
      }}
      return out;""")
    for (number, doubt), (shown, said) in zip(asks.values(), asked, strict=True):
        assert shown == number
        assert said == "; ".join(filter(None, [f"{number} of {count} statements", doubt]))


WIDTHS = (320, 400, 600, 705, 768, 875, 1024)


def test_no_table_is_wider_than_its_place(browser: Chromium) -> None:
    """And where cells stand below each other evidence and code have the whole of the line, Copy above them."""
    (browser.folder / "page.html").write_text(made_page([STATE, QUESTION, *worded_run()]), "utf-8")
    asked = browser.asked(
        f"""const out = {{}};
        d.querySelectorAll("details").forEach((each) => {{ each.open = true; }});
        for (const width of {list(WIDTHS)}) {{
          frame.style.width = `${{width}}px`;
          await rest();
          const tables = [...d.querySelectorAll(".wide")];
          const why = d.querySelector(".evidence .why:has(pre)"), pre = why.querySelector("pre");
          const box = (each) => each.getBoundingClientRect();
          out[width] = {{
            wide: tables.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent),
            tables: tables.length, room: d.documentElement.clientWidth, page: d.documentElement.scrollWidth,
            why: why.clientWidth / why.parentElement.clientWidth,
            room_beside: parseFloat(w.getComputedStyle(pre).paddingRight),
            above: box(why.querySelector(".copy")).bottom <= box(pre).top,
            folded: w.getComputedStyle(d.querySelector("#index thead")).position === "absolute",
          }};
        }}
        return out;"""
    )
    for width in WIDTHS:
        found = asked[str(width)]
        assert found["tables"] >= 6 and found["wide"] == [], width
        assert found["page"] <= found["room"], width
        assert found["folded"] == (width < 992), width
        assert found["above"] and found["room_beside"] < 20, width
        assert found["why"] == 1 or not found["folded"], width


@pytest.mark.slow
def test_letters_of_pictures_have_one_size(browser: Chromium) -> None:
    inequalities = (SPREAD, replace(SPREAD, symbol="max abs(zₙ)"))
    plotted = {"icml-C.1": StateSeries((CURVE,), inequalities)}
    (browser.folder / "page.html").write_text(render(made(replace(sources([STATE]), series=plotted))), "utf-8")
    asked = browser.asked("""
      const size = (text) => parseFloat(w.getComputedStyle(text).fontSize) * text.getScreenCTM().a;
      const out = {keys: [...d.querySelectorAll(".key")].filter((each) => each.getClientRects().length > 0).length,
                   panels: [...d.querySelectorAll(".panels")].map((each) => each.children.length), sizes: []};
      for (const width of [400, 1280]) {
        frame.style.width = `${width}px`;
        await rest();
        out.sizes.push(...[...d.querySelectorAll(".plot text")].map(size));
      }
      return out;""")
    assert len(asked["sizes"]) > 80 and min(asked["sizes"]) > 12
    assert max(asked["sizes"]) - min(asked["sizes"]) < 0.1
    assert asked["keys"] == 1 and asked["panels"] == [1, 4]


@pytest.mark.slow
def test_paper_says_what_it_leaves_out(browser: Chromium) -> None:
    """The rules for paper, asked on the screen."""
    page = browser.folder / "page.html"
    page.write_text(page.read_text("utf-8").replace("@media print", "@media screen"), "utf-8")
    asked = browser.asked("""
      const seen = (each) => each.getClientRects().length > 0;
      const outermost = (each) => !each.parentElement.closest("details");
      const closed = [...d.querySelectorAll("details:not([open])")].filter(outermost);
      return {closed: closed.length, heads: closed.filter((each) => seen(each.querySelector("summary"))).length,
              mark: w.getComputedStyle(closed[0].querySelector("summary"), "::after").content,
              first: [...d.body.children].find(seen).textContent, form: seen(d.getElementById("filter"))};""")
    assert asked["closed"] == asked["heads"] > 10
    assert "not printed" in asked["mark"] and not asked["form"]
    assert "What is closed is not printed" in asked["first"]


@pytest.mark.parametrize("width", only([400, 1280], 400))
def test_nothing_is_wider_than_the_screen(browser: Chromium, width: int) -> None:
    asked = browser.asked(
        """d.querySelectorAll("details").forEach((each) => { each.open = true; });
        const root = d.documentElement;
        return {wide: root.scrollWidth, room: root.clientWidth,
                folded: w.getComputedStyle(d.querySelector("#index tbody td")).display,
                text: w.getComputedStyle(d.querySelector(".lead")).fontSize};""",
        width=width,
    )
    assert asked["wide"] <= asked["room"]
    assert asked["folded"] == ("block" if width == 400 else "table-cell")
    assert float(asked["text"].removesuffix("px")) >= 16


def test_hostile_names_run_nothing(browser: Chromium) -> None:
    asked = browser.asked("""
      return {scripts: d.scripts.length, handlers: d.querySelectorAll("[onmouseover]").length,
              heads: [...d.querySelectorAll("article h3")].map((head) => head.textContent)};""")
    assert (asked["scripts"], asked["handlers"]) == (1, 0)
    assert any(HOSTILE[0] in head for head in asked["heads"])


@pytest.mark.slow
def test_the_keyboard_finds_its_way(browser: Chromium) -> None:
    asked = browser.asked("""
      const skip = d.querySelector(".skip"), out = skip.getBoundingClientRect().left;
      skip.focus();
      const order = [...d.querySelectorAll("a[href], select, input, button, summary, pre[tabindex]")];
      return {out, seen: skip.getBoundingClientRect().left, first: order[0] === skip,
              tabs: order.filter((each) => each.tabIndex > 0).length};""")
    assert asked["out"] < 0 <= asked["seen"]
    assert asked["first"] and asked["tabs"] == 0


@pytest.mark.slow
def test_a_button_copies_or_selects_the_code_beside_it(browser: Chromium) -> None:
    asked = browser.asked("""
      d.querySelectorAll("details").forEach((each) => { each.open = true; });
      const button = d.querySelector("button.copy"), code = button.parentElement.querySelector("code").textContent;
      Object.defineProperty(w.navigator, "clipboard", {value: {writeText: (text) => { w.copied = text; }}});
      button.click();
      await rest();
      const copied = w.copied === code && button.textContent.startsWith("Copied");
      Object.defineProperty(w, "copied", {value: null});
      w.navigator.clipboard.writeText = () => { throw new Error("not allowed"); };
      button.click();
      await rest();
      return {copied, selected: w.getSelection().toString().trim() === code.trim(), label: button.textContent};""")
    assert asked["copied"] and asked["selected"] and asked["label"].startswith("Selected")


@pytest.mark.slow
def test_the_page_is_dark_where_the_reader_wants_it(browser: Chromium) -> None:
    question = """return {dark: w.matchMedia("(prefers-color-scheme: dark)").matches,
      paper: w.getComputedStyle(d.documentElement).backgroundColor,
      ink: w.getComputedStyle(d.querySelector(".plot text")).fill};"""

    def grey(colour: str) -> float:
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3

    light, dark = browser.asked(question), browser.asked(question, "--force-dark-mode")
    assert not light["dark"] and grey(light["paper"]) > 200 and grey(light["ink"]) < 80
    assert dark["dark"] and grey(dark["paper"]) < 60 and grey(dark["ink"]) > 180


def test_without_scripts_all_of_it_is_there(browser: Chromium) -> None:
    question = """const seen = (each) => each.getClientRects().length > 0;
      return {sections: [...d.querySelectorAll("article")].filter(seen).length, rows: shown().length,
              useless: [...d.querySelectorAll("#filter, button")].filter(seen).length};"""
    everything = {"sections": 3 + len(HOSTILE), "rows": 3 + len(HOSTILE), "useless": 0}
    assert browser.asked(question, scripts=False) == everything
    assert browser.asked(question)["useless"] > 1


def test_a_slip_would_be_seen_on_the_console(browser: Chromium) -> None:
    page = browser.folder / "page.html"
    page.write_text(page.read_text("utf-8").replace("</main>", "<script>alert(1)</script></main>"), "utf-8")
    _, console = browser("--dump-dom", page.as_uri())
    assert any("Content Security Policy" in line for line in console)


@pytest.mark.slow
def test_what_is_filtered_is_what_is_printed(browser: Chromium) -> None:
    page = browser.folder / "page.html"
    page.write_text(made_page(many(40, 2)), "utf-8")
    pages = []
    for query in ("", "?text=made-7"):
        paper = browser.folder / "page.pdf"
        _, console = browser(f"--print-to-pdf={paper}", "--no-pdf-header-footer", page.as_uri() + query)
        assert console == [] and paper.read_bytes().startswith(b"%PDF")
        pages.append(len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes())))
        paper.unlink()
    assert pages[0] > pages[1] + 3 >= 4
