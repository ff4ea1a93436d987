"""The table of a whole run as LaTeX sets it: every claim, every note, as many pages as there are.

Of the run in ODERNN_STORE, if that names one; otherwise of one with the smallest budget, which takes minutes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests import latex
from verification.cli import main
from verification.commands.terminal import DONE
from verification.registry import Registry
from verification.report.formats.latex import escape

STORE = "ODERNN_STORE"
MOST_POINTS = 5.0
"""Past the margin, which is 28 points wide: a reader does not see less."""


def store(folder: Path) -> Path:
    if named := os.environ.get(STORE):
        return Path(named).resolve()
    made = folder / "run.sqlite"
    assert main(["verify", "--budget", "smoke", "--store", str(made), "--jobs", "2"]) == DONE
    return made


@pytest.mark.slow
@pytest.mark.latex
@pytest.mark.timeout(1800)
def test_the_table_of_a_whole_run_compiles_and_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    latex.needed()
    found = store(tmp_path)
    capsys.readouterr()
    assert main(["table", "--store", str(found), "--format", "latex"]) == DONE
    text = capsys.readouterr().out
    words = text.replace(r"\allowbreak{}", "")
    assert {claim for claim in Registry(()).ids() if escape(claim) not in words} == set()
    log = latex.compiled(text, tmp_path)
    assert latex.flaws(log, MOST_POINTS) == []
    pages = re.search(r"Output written on x\.pdf \((\d+) pages", log)
    assert pages is not None and int(pages[1]) > 30


@pytest.mark.latex
def test_what_does_not_fit_and_what_no_font_has_is_seen(tmp_path: Path) -> None:
    """Planted: a box 7 points wider than its line, and a sign that Computer Modern has not."""
    head = r"\documentclass{article}\begin{document}\noindent"
    wide = r"\hbox to \textwidth{\rule{\dimexpr\textwidth+7pt}{1pt}}"
    log = latex.compiled(f"{head}{wide}\n\\end{{document}}", tmp_path)
    assert latex.flaws(log, MOST_POINTS) != [] and latex.flaws(log, 7.5) == []
    lost = latex.compiled(f"{head}\\symbol{{200}}\n\\end{{document}}", tmp_path)
    assert len(latex.flaws(lost)) == 1


def test_flaws_are_read_from_a_log() -> None:
    log = "Overfull \\hbox (5.3pt too wide) in alignment\nMissing character: There is no ÿ in font cmr7!\nfine\n"
    assert len(latex.flaws(log, MOST_POINTS)) == 2 and len(latex.flaws(log, 5.5)) == 1 and latex.flaws("fine") == []
