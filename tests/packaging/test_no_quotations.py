"""No text of the repository has ten words in a row of a paper: statements are in our own words.

    ODERNN_PAPERS=FOLDER pytest tests/packaging/test_no_quotations.py     (the papers as *.txt, not in the repository)

A word has two letters or more. Numbers, symbols, punctuation and line ends do not end a run, and neither do formulas of
a paper, as far as their letters are mathematical ones. Ten words without a little one are a row of a table.
"""

from __future__ import annotations

import os
import re
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAPERS = os.environ.get("ODERNN_PAPERS", "")
TEXTS = ("*.cpp", "*.cu", "*.cuh", "*.h", "*.json", "*.md", "*.py", "*.pyi", "*.toml")
LENGTH = 10
LITTLE = frozenset(("an", "and", "are", "as", "be", "by", "for", "in", "is", "of", "on", "or", "that", "the", "to"))
FORMULA = r"\S*[\U0001d400-\U0001d7ff]\S*"


def runs(text: str) -> Iterator[tuple[str, ...]]:
    """Ten words after another, first with what a hyphen joins as one word, then as two."""
    text = unicodedata.normalize("NFKC", re.sub(FORMULA, " ", text)).lower().replace("\u00ad", "")
    text = re.sub(r"(?<=\w)[-‐]\s*\n\s*(?=\w)", "", text)
    for between in ("", " "):
        words = re.findall(r"[a-z]{2,}", re.sub(r"(?<=\w)[-‐‑–](?=\w)", between, text))
        yield from (run for run in zip(*(words[i:] for i in range(LENGTH)), strict=False) if LITTLE & {*run})


@pytest.mark.skipif(not PAPERS, reason="ODERNN_PAPERS names no folder with the papers as text")
def test_no_text_has_ten_words_in_a_row_of_a_paper() -> None:
    papers = [path.read_text("utf-8") for path in sorted(Path(PAPERS).glob("*.txt"))]
    printed = {run for paper in papers for run in runs(paper)}
    listed = subprocess.run(["git", "ls-files", *TEXTS], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    files = listed.stdout.splitlines()
    assert len(papers) >= 5 and len(printed) > 10_000 and len(files) > 500
    found = {name: [*printed.intersection(runs((CHECKOUT / name).read_text("utf-8")))] for name in files}
    assert {name: " ".join(quoted[0]) for name, quoted in found.items() if quoted} == {}


def test_a_planted_run_is_seen() -> None:
    paper = "We claim that well-behaved oscilla-\ntors, 12 of them, 𝑦𝑛y_{n} never meet twice in the same room."
    ours = 'x = "claim that well behaved oscillators, "\n    "[them], of y_n never meet twice"'
    quoted = 'x = f"that well behaved oscillators, {12} of them "\n    # never meet twice in\n'
    rows = "tanh rnn lstm gru urnn cornn exprnn indrnn scornn unicornn 1.5 2.5"
    assert not {*runs(paper)} & {*runs(ours)} and {*runs(paper)} & {*runs(quoted)} and not {*runs(rows)}
