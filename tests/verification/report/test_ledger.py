"""The ledger is a page that holds every statement, verdict and piece of evidence of a run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from verification.cli import main
from verification.commands.results import write_witnesses
from verification.report.formats import names as formats
from verification.report.rows.claims import Facts
from verification.report.rows.ledger import LedgerEntry, LedgerPages
from verification.run.provenance import Provenance, beside
from verification.verdict import Judgement
from verification.witness.file import Witness, read, to_json

CELL = Judgement(
    claim="me-1",
    domain="free",
    layer=0,
    quantity="x",
    norm="",
    symbol="|x|",
    reading="limit",
    verdict="refuted",
    because="x = 2: 2 > 1",
    evaluations=7,
    control=0.95,
    slack=-0.3,
    log_bound=0.0,
    log_worst=0.7,
    witness=to_json(Witness("me-1", "free", "|x|", {"x": "2"})),
)
STATEMENTS = {"me-1": LedgerEntry("me-1", "me", "Lemma 1", "|x| ≤ 1 for all x", "published, real", "thm-X")}


def page(judgements, statements, facts) -> str:
    return LedgerPages(judgements, statements, facts).page()


def test_a_section_quotes_the_statement_and_shows_verdict_evidence_and_witness():
    other = replace(CELL, domain="L = 2", verdict="not-refuted", witness="")
    text = page([CELL, other], STATEMENTS, Facts("0", "smoke", 3))
    for part in (
        "## me-1",
        "> |x| ≤ 1 for all x",
        "me, Lemma 1; published, real; **refuted**.",
        "Dominated by thm-X.",
        "| free (limit) | \\|x\\| | 1.00 | 2.01 | −0.300 | **refuted** | x = 2: 2 > 1; power control 0.95; witness 1 |",
        "| [me-1](#me-1) | Lemma 1 | **refuted** |  | 2 | −0.300 |",
        "seed 3",
    ):
        assert part in text, part


def test_a_claim_without_a_file_is_shown_all_the_same():
    assert "## me-1" in page([CELL], {}, Facts("0", "smoke", 0))


def test_a_notebook_shows_a_row_a_claim_and_every_name_is_only_text():
    hostile = replace(CELL, claim="<script>x</script>\u202e", verdict="not-refuted", witness="", slack=0.25)
    shown = LedgerPages([CELL, replace(CELL, slack=-0.5), hostile], STATEMENTS, Facts("0", "smoke", 3))._repr_html_()
    rows = [re.findall(r"<t[dh][^>]*>\s*(.*?)\s*</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", shown)]
    assert rows == [
        ["claim", "place", "verdict", "gravity", "least slack (decades)"],
        ["me-1", "Lemma 1", "refuted", "", "−0.500"],
        ["&lt;script&gt;x&lt;/script&gt;\ufffd", "", "not-refuted", "", "0.250"],
    ]
    assert "<script" not in shown and "2 tried on " in shown


def test_the_ledger_is_no_format_of_tables():
    assert "ledger" not in formats()


@pytest.mark.slow
def test_the_command_prints_the_page_of_the_latest_run(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["ledger"]) == 2
    assert "odernn.sqlite" in capsys.readouterr().err
    assert main(["verify", "sam-D.1-elem", "--jobs", "1"]) == 0
    capsys.readouterr()
    assert main(["ledger"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# The ledger") and "## sam-D.1-elem" in shown and "| all a, b, c |" in shown
    assert main(["ledger", "--claim", "icml-C.1"]) == 2
    assert main(["ledger", "--witnesses", "here"]) == 2
    assert main(["verify", "both-4-health", "--jobs", "1"]) == 0
    assert main(["ledger", "--folder", "pages/here"]) == 0
    (name,) = [path.name for path in Path("pages/witnesses").glob("*.json")]
    page_of_paper = Path("pages/here/unicornn.md").read_text("utf-8")
    assert "## both-4-health" in page_of_paper and f"[witness 1](../witnesses/{name})" in page_of_paper
    assert main(["witness", "verify", f"pages/witnesses/{name}", "--limit", "0"]) == 0
    assert main(["ledger", "--folder", "pages/here", "--witnesses", "pages/here/files"]) == 0
    assert f"[witness 1](files/{name})" in Path("pages/here/unicornn.md").read_text("utf-8")


def test_a_refutation_links_its_file_and_says_the_parameters_that_its_row_does_not():
    cells = [
        replace(CELL, given="W = [0 1; -1 0]"),
        replace(CELL, domain="other", because="W = [1]: too large", given="W = [1]"),
        replace(CELL, domain="third", witness="", verdict="proved"),
    ]
    for witnesses, first, second in (
        ("", "witness 1", "witness 2"),
        ("../w", "[witness 1](../w/", "[witness 2](../w/"),
    ):
        text = LedgerPages(cells, STATEMENTS, Facts("0", "smoke", 0), witnesses=witnesses).page()
        assert f"power control 0.95; {first}" in text and f"power control 0.95; {second}" in text
        lines = [line for line in text.splitlines() if line.startswith(f"- {first}")]
        assert len(lines) == 1 and lines[0].endswith("W = \\[0 1; -1 0\\]") and f"- {second}" not in text


@pytest.mark.usefixtures("elsewhere")
def test_the_folder_of_witnesses_has_those_of_the_run_and_no_others(tmp_path: Path):
    witnesses = tmp_path / "witnesses"
    first = Witness("me-1", "free", "|x|", {"x": "2"})
    cells = [CELL, replace(CELL, domain="other", witness=to_json(replace(first, domain="other")))]
    one, other = Provenance("0.1.0", "", "0123456789abcdef"), Provenance("0.2.0", "abcdef012345+", "f" * 16)
    write_witnesses(cells, witnesses, one)
    (witnesses / "notes.json").write_text('{"mine": 1}', "utf-8")
    assert {path.name for path in witnesses.iterdir()} == {
        "RUNS.txt",
        "me-1-free-x.json",
        "me-1-other-x.json",
        "notes.json",
    }
    write_witnesses(cells[:1], witnesses, other)
    assert (witnesses / "RUNS.txt").read_text("utf-8") == (
        f"me-1-free-x.json\t{other.words}\nme-1-other-x.json\t{one.words}\n"
    )
    assert [beside(witnesses / f"me-1-{name}-x.json") for name in ("free", "other")] == [other, one]
    write_witnesses(cells[:1], witnesses, one, alone=True)
    assert {path.name for path in witnesses.iterdir()} == {"RUNS.txt", "me-1-free-x.json", "notes.json"}
    assert (witnesses / "RUNS.txt").read_text("utf-8") == f"me-1-free-x.json\t{one.words}\n"
    assert read(witnesses / "me-1-free-x.json") == first


def entry(claim: str, paper: str, place: str) -> LedgerEntry:
    return LedgerEntry(claim, paper, place, "text", "published, real")


def test_a_folder_has_a_page_a_paper_with_theorems_first_and_links_that_lead_across_pages():
    places = {"a-sec": "Sec. 2", "a-table": "Table 1", "a-eq": "(3)", "a-thm": "Thm 1", "cplx-T3.2-uni": "Thms A.1-A.3"}
    statements = {claim: entry(claim, "complexity", place) for claim, place in places.items()}
    statements |= {"b-1": entry("b-1", "sam", "(1)"), "c-1": entry("c-1", "someone", "p. 3")}
    pages = LedgerPages(
        [replace(CELL, claim=claim) for claim in statements], statements, Facts("0", "smoke", 0)
    ).pages()
    assert list(pages) == ["README.md", "unicornn.md", "complexity.md", "others.md"]
    sections = [line[3:] for line in pages["complexity.md"].splitlines() if line.startswith("## ")]
    assert sections == ["a-thm", "cplx-T3.2-uni", "a-eq", "a-table", "a-sec"]
    assert "note to [cplx-T3.2/A.1](#cplx-t3-2-a-1)" in pages["complexity.md"]
    assert "[b-1](unicornn.md#b-1)" in pages["unicornn.md"] and '<a id="b-1"></a>' in pages["unicornn.md"]
    index = pages["README.md"]
    assert (
        "6 tried on 1 domain, 7 cells: 6 refuted · 1 that nobody claims" in index and "[UnICORNN](unicornn.md)" in index
    )
    assert "## " not in index and "budget smoke" in index


def test_the_layers_of_a_network_with_one_verdict_are_one_row():
    cells = [replace(CELL, layer=k, slack=s, witness="") for k, s in ((1, -0.3), (2, -0.7), (3, -0.1))]
    cells.append(replace(CELL, layer=4, verdict="not-refuted", slack=0.2, witness=""))
    rows = [line for line in page(cells, STATEMENTS, Facts("0", "smoke", 0)).splitlines() if "power control" in line]
    assert len(rows) == 2 and "layers 1, 2, 3" in rows[0] and "−0.700" in rows[0] and "layer 4" in rows[1]


@pytest.mark.parametrize("text", ["a|b", "a\nb"])
def test_text_stays_in_its_cell(text: str):
    shown = page([replace(CELL, because=text, witness="")], STATEMENTS, Facts("0", "smoke", 0))
    row = next(line for line in shown.splitlines() if line.startswith("| free"))
    assert row.replace("\\|", "").count("|") == 8


def test_a_bound_on_states_is_refuted_with_all_numbers_of_its_network():
    plain = {
        "format": "odernn-witness",
        "version": 2,
        "claim": "me-1",
        "domain": "free",
        "quantity": "|x|",
        "parameters": {
            "layer": 2,
            "step": 3,
            "steps": 3,
            "log_measured": "1",
            "log_bound": "0",
            "limit": None,
            "instance": {
                "system": "unicornn",
                "index": "icml",
                "alpha": "1/4",
                "layers": [
                    {"dt": "1/2", "groups": [group("0", 2)], "input_weights": [["1"]]},
                    {"dt": "1/2", "groups": [group("-1/3", 2)], "input_weights": [["1000"]]},
                ],
                "inputs": {"steps": 3, "size": 1, "runs": [[2, ["10"]], [1, ["-10"]]]},
            },
        },
    }
    text = page([replace(CELL, layer=2, witness=json.dumps(plain))], STATEMENTS, Facts("0", "smoke", 0))
    first, second = "layer 1: 2 × w = 0, c = 20, V = 1, b = 0", "layer 2: 2 × w = −1/3, c = 20, V = 1000, b = 0"
    assert f"{first}; {second}; u = 2 × 10, 1 × −10; " in text


def group(w: str, multiplicity: int) -> dict[str, object]:
    return {"multiplicity": multiplicity, "w": w, "c": "20", "bias": "0"}


def test_the_cells_of_a_claim_stand_together_wherever_they_are_in_the_run():
    first, last = (replace(CELL, domain=where, witness="") for where in ("L = 1", "L = 2"))
    between = replace(CELL, claim="me-2", witness="")
    book = LedgerPages([first, between, last], STATEMENTS, Facts("0", "smoke", 3))
    assert book.cells == {"me-1": [first, last], "me-2": [between]}
    assert all(f"| {where} (limit) |" in book.page() for where in ("L = 1", "L = 2"))
