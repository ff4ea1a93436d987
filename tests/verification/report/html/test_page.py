"""The page of a run: well-formed, whole in itself, readable by whoever cannot see it, harmless whatever it shows."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from odernn import tableaus
from odernn.architecture import drawing
from tests.verification.report.html.made_page import (
    FACTS,
    HOSTILE,
    QUESTION,
    SCRIPT,
    STATE,
    Read,
    hostile_run,
    made_page,
    many,
    read,
    sources,
)
from verification import verdict
from verification.cli import main
from verification.commands import report as report_command
from verification.commands import tableau as tableau_command
from verification.commands.results import write_witnesses
from verification.domains import ANY_RUNG, TRAINED
from verification.readings.reading import KINDS
from verification.report.html import render as render_module
from verification.report.html import series, witness_curves
from verification.report.html.build import RULES, page
from verification.report.html.model import ClaimSection, ReportPage
from verification.report.html.render import TEMPLATES, render
from verification.report.html.sections import anchors_of
from verification.report.rows.claims import Facts
from verification.report.rows.nearness import RUNGS
from verification.run import provenance
from verification.run.store import Store
from verification.verdict import NOT_REFUTED, PROVED, REFUTED
from verification.witness.file import from_json
from verification.witness.script import script_of

MOST_BYTES_OF_1000_ROWS = 5_000_000
WITNESSES = Path(__file__).resolve().parents[4] / "docs" / "witnesses"


@pytest.fixture(scope="module")
def text() -> str:
    return made_page()


@pytest.fixture(scope="module")
def parsed(text: str) -> Read:
    return read(text)


# --- well-formed, and whole in itself ---------------------------------------------------------------------------


def test_the_reader_sees_a_planted_fault() -> None:
    assert read("<p><b>x</p></b>").faults
    assert read("<p id=a id=b>x</p>").faults
    assert read("<section><p>x</p>").faults


def test_every_tag_is_closed_where_it_was_opened(parsed: Read) -> None:
    assert parsed.faults == []
    assert len(parsed.all("article")) == 3 + len(HOSTILE)


def test_names_are_unique_and_every_link_leads_to_one(parsed: Read) -> None:
    names = [element.attributes["id"] for element in parsed.elements if "id" in element.attributes]
    assert len(names) == len(set(names))
    links = [element.attributes["href"] for element in parsed.elements if "href" in element.attributes]
    assert links and [link for link in links if not link.startswith("#") or link[1:] not in names] == []
    pointing = re.findall(r"url\(#([^)]+)\)", "".join(map(str, (e.attributes for e in parsed.elements))))
    assert pointing and set(pointing) <= set(names)
    described = [e.attributes["aria-labelledby"] for e in parsed.elements if "aria-labelledby" in e.attributes]
    assert set(described) <= set(names)


def test_nothing_is_fetched(parsed: Read, text: str) -> None:
    assert {element.tag for element in parsed.elements} & {"img", "link", "iframe", "object", "embed", "base"} == set()
    assert [element for element in parsed.elements if "src" in element.attributes] == []
    style = parsed.all("style")[0].text
    assert "@import" not in style and "url(" not in style
    assert re.findall(r"https?://", text) == []


def test_the_policy_allows_the_one_script_of_the_page(parsed: Read) -> None:
    (script,) = parsed.all("script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    policies = [e.attributes["content"] for e in parsed.all("meta") if "http-equiv" in e.attributes]
    assert len(policies) == 1 and f"script-src 'sha256-{digest}'" in policies[0]
    assert policies[0].startswith("default-src 'none'")


def test_a_large_run_keeps_within_its_size() -> None:
    rows = many(100, 10)
    size = len(render(page(sources(rows, draws=False))).encode())
    assert size < MOST_BYTES_OF_1000_ROWS * len(rows) / 1000
    pictures = len(made_page([STATE]).encode()) - len(render(page(sources([STATE], draws=False))).encode())
    assert pictures < 60_000


def test_the_same_run_gives_the_same_page(text: str) -> None:
    assert made_page() == text


# --- hostile names ----------------------------------------------------------------------------------------------


def test_hostile_names_are_shown_and_do_nothing(parsed: Read, text: str) -> None:
    assert SCRIPT not in text and "{{ 7 * 7 }}" in text and "49" not in parsed.all("h3")[0].text
    assert all(not name.startswith("on") for element in parsed.elements for name in element.attributes)
    heads = [element.text for element in parsed.all("h3")]
    for word in HOSTILE[:3]:
        assert any(word in head for head in heads), word
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\ud800-\udfff]", text)
    assert any("turned \ufffdgnol\ufffd" in head for head in heads)
    text.encode()


def test_a_page_without_escaping_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    open_to_all = render_module._environment().overlay(autoescape=False)
    monkeypatch.setattr(render_module, "_environment", lambda: open_to_all)
    text = render(page(sources(draws=False)))
    assert SCRIPT in text and read(text).faults


def test_ids_that_look_alike_have_sections_of_their_own() -> None:
    claims = ["a b", "a-b", "A(B)", "a-b-2", "中", "<>", ""]
    anchors = anchors_of(claims)
    assert len(set(anchors.values())) == len(claims)
    assert all(re.fullmatch(r"c-[a-z0-9-]+", anchor) for anchor in anchors.values())


# --- whoever cannot see it, or has no mouse ---------------------------------------------------------------------


def test_headings_come_in_order(parsed: Read) -> None:
    levels = [int(element.tag[1]) for element in parsed.elements if re.fullmatch("h[1-6]", element.tag)]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_tables_have_heads_with_a_scope_and_a_caption(parsed: Read) -> None:
    heads = parsed.all("th")
    assert (
        heads and [head.text for head in heads if head.attributes.get("scope") not in ("col", "row", "colgroup")] == []
    )
    assert len(parsed.all("caption")) == len(parsed.all("table")) > 5


def test_every_catalogue_says_in_a_sentence_what_it_is(text: str) -> None:
    for name in ("tableaus", "graphs", "training"):
        head, table, _ = text.partition(f'<section id="{name}"')[2].partition("<table")
        assert table and len(re.findall(r"<p>.{80,}\.</p>", head)) == 1, name
    assert "docs/training_runs.md" in text.partition('<section id="training"')[2]


def test_there_are_landmarks_and_a_way_past_them(parsed: Read) -> None:
    assert [len(parsed.all(tag)) for tag in ("header", "nav", "main", "footer", "form")] == [1, 1, 1, 1, 1]
    skip = parsed.all("a")[0]
    assert skip.attributes["href"] == "#main" and parsed.all("main")[0].attributes["id"] == "main"
    assert parsed.all("html")[0].attributes["lang"] == "en"
    assert all("label" in element.inside for tag in ("select", "input") for element in parsed.all(tag))


def test_pictures_are_said_in_words(parsed: Read) -> None:
    pictures = [element for element in parsed.elements if element.attributes.get("role") == "img"]
    assert len(pictures) == 4 == len(parsed.all("svg"))
    assert "above the bound first at n = 22" in pictures[0].attributes["aria-label"]
    assert "negative at 2" in pictures[2].attributes["aria-label"]
    assert all(element.attributes["aria-hidden"] == "true" for element in parsed.all("svg"))


def test_pictures_take_the_colours_of_the_page(text: str) -> None:
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))
    assert "var(--plot-measured)" in drawn
    assert re.findall(r"#[0-9a-fA-F]{6}\b", drawn) == []
    named = set(re.findall(r"var\((--plot-[a-z]+)\)", drawn))
    style = text.partition("</style>")[0]
    assert all(f"{name}:" in style for name in named)


def colours(text: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6});", text))


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.1 of two colours."""

    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_words_stand_out_on_light_dark_and_paper() -> None:
    style = TEMPLATES.joinpath("style.css").read_text("utf-8")
    light, rest = style.split("@media (prefers-color-scheme: dark)")
    dark, print_ = rest.split("@media print")
    schemes = [colours(light), colours(light) | colours(dark.partition("*,")[0]), colours(light) | colours(print_)]
    words = ("ink", "quiet", "link", "refuted", "proved", "tested", "open", "grey")
    lines = [f"plot-{name}" for name in ("measured", "bound", "first", "second", "third", "fourth", "fifth", "sixth")]
    assert len({scheme["paper"] for scheme in schemes}) == 3
    for scheme in schemes:
        assert {name for name in words if contrast(scheme[name], scheme["paper"]) < 5.5} == set()
        assert {name for name in words if contrast(scheme[name], scheme["tint"]) < 4.5} == set()
        assert {name for name in lines if contrast(scheme[name], scheme["paper"]) < 3} == set()
    assert contrast("#000", "#ffffff") == pytest.approx(21)


# --- the model --------------------------------------------------------------------------------------------------


@cache
def model() -> ReportPage:
    return page(sources())


def section(claim: str) -> ClaimSection:
    return next(each for each in model().claims if each.claim == claim)


def test_a_section_has_statement_verdict_evidence_and_what_to_type() -> None:
    made = section("made-1")
    assert (made.verdict, made.place, made.slack, made.cells) == (REFUTED, "Thm 1, made-1", "−0.300", 1)
    (group,) = made.groups
    (row,) = group.rows
    assert (group.counts, row.numbers, row.claimed, row.found) == ("1 refuted", (1,), "1.00", "2.01")
    assert json.loads(row.witness)["parameters"] == {"x": "2"}
    assert row.replay == f"odernn witness verify 'the '\"'\"'witnesses'\"'\"'/{row.file}'"
    assert made.again.splitlines() == [
        "odernn verify made-1 --budget smoke --seed 3",
        "odernn table --claim made-1",
        "odernn cite made-1",
    ]


@pytest.mark.parametrize("facts", [FACTS, replace(FACTS, commit="0123456789ab+", run="ef" * 8)])
def test_a_script_says_what_that_of_the_witness_says(facts: Facts, tmp_path: Path) -> None:
    """With commit and hash of the run, as `odernn witness script` prints it from the file beside the witness."""
    path = next(WITNESSES.glob("icml-c-1-step-*.json"))
    witness = from_json(path.read_text("utf-8"))
    cell = replace(
        QUESTION,
        claim=witness.claim,
        domain=witness.domain,
        quantity=witness.quantity,
        witness=path.read_text("utf-8"),
    )
    (made,) = page(replace(sources([cell], draws=False), facts=facts)).claims
    write_witnesses([cell], tmp_path, facts.provenance)
    assert made.script is not None
    printed = script_of(witness, provenance.beside(tmp_path / made.script.witness).words)
    assert made.script.text == printed and f"a witness of {facts.provenance.words};" in printed
    planted = replace(facts, commit='0123456\nprint("1")')
    (other,) = page(replace(sources([cell], draws=False), facts=planted)).claims
    assert other.script is not None and 'print("1")' not in other.script.text


def test_a_claim_has_the_nearest_place_to_practice_where_it_fails_and_those_that_fail_nowhere_have_none() -> None:
    made = section("icml-C.1")
    assert made.near == RUNGS.index(ANY_RUNG) and section("made-1").near is None
    assert made.nearness == "at the hyperparameters of RR, by 2.50 decades"
    assert model().rungs == ((made.near, str(ANY_RUNG)),)
    trained = replace(sources(draws=False), as_trained={"icml-C.1": "RR trained for a day, by 0.1 decades"})
    (other,) = [claim for claim in page(trained).claims if claim.claim == "icml-C.1"]
    assert other.near == RUNGS.index(TRAINED)
    (line,) = [line for line in page(trained).gravest if line.link.claim == "icml-C.1"]
    assert line.as_trained == other.as_trained != ""


def test_of_a_trained_network_the_page_says_which_and_how_to_try_it_again() -> None:
    settings = {"checkpoint": "my run", "sha256": "ef" * 32}
    trained = replace(sources(draws=False), settings=settings, facts=replace(FACTS, budget="none: a trained network"))
    made = page(trained)
    facts = dict(made.facts)
    assert facts["Again"] == "odernn verify --checkpoint 'my run'" and facts["Trained network"].startswith(
        "my run, SHA"
    )
    assert {claim.again for claim in made.claims} == {""}
    assert read(render(made)).faults == []


def test_a_refuted_claim_on_unicornn_says_which_trained_networks_exceed_it() -> None:
    """The line of ``odernn ledger --nearness``; a claim that does not fall has none, whatever the record has."""
    words = "RR trained on bidmc for 489 epochs, by 0.900 decades after 17 updates, by none at the best weights"
    held = replace(STATE, verdict=PROVED, witness="")
    for cell, count in ((STATE, 1), (held, 0)):
        made = sources([cell], draws=False)
        entries = {name: replace(entry, paper="icml") for name, entry in made.statements.items()}
        text = render(page(replace(made, statements=entries, as_trained={"icml-C.1": words})))
        assert text.count("<dt>As trained</dt><dd>RR trained on bidmc for 489 epochs") == count
        assert "As trained" not in render(page(replace(made, statements=entries)))


def test_what_is_meant_comes_first_and_repairs_are_linked() -> None:
    made = section("icml-C.1")
    assert made.groups[0].is_meant and made.meant and made.hypotheses
    assert {repair.link.claim for repair in made.repairs} > {"icml-C.1-table6"}
    assert not any(repair.link.anchor for repair in made.repairs), "no other claim is in this run"
    assert [len(plot.panels) for plot in made.plots] == [2, 2] and made.remarks


def test_a_refuted_claim_says_why_it_fails_and_a_proved_one_for_which_boxes() -> None:
    fallen, held = section("icml-C.1"), page(sources([replace(STATE, verdict=PROVED, witness="")], draws=False))
    assert "1 + 2βn dt for (1 + β dt)ⁿ" in fallen.fails and fallen.proved_on == ""
    (proved,) = held.claims
    assert proved.fails == "" and proved.proved_on == "UnICORNN, layer 1 · free (limit)"
    text = render(page(sources([STATE, replace(QUESTION, claim="icml-C.1-step")], draws=False)))
    assert '(<a href="#c-icml-c-1-step">icml-C.1-step</a>)' in text
    assert fallen.brief.startswith("For every α > 0") and len(fallen.brief) <= 110


def test_a_note_fails_and_only_a_claim_is_refuted() -> None:
    note = replace(QUESTION, claim="ode-T2-input")
    (made,) = page(sources([note], draws=False)).claims
    assert {row.verdict for group in made.groups for row in group.rows} == {"fails"}
    assert [group.counts for group in made.groups] == ["1 fails"]


def test_the_page_says_whose_claims_they_are_and_what_their_letters_are() -> None:
    made = page(replace(sources([STATE], draws=False), papers={"icml-C.1": "unicornn"})).introduction
    assert [key for key, _ in made.sources] == ["icml", "sam"]
    assert [network.paper for network in made.networks] == ["unicornn"] and made.networks[0].letters
    assert {f"Note, {kind}" for kind in KINDS} < {word for word, _ in made.words}
    assert page(sources([QUESTION], draws=False)).introduction.sources == ()


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("As icml-C.1-step, not icml-C.1.", ["icml-C.1-step", "icml-C.1"]),
        ("icml-C.10, my-icml-C.1 and icml-C.1/a are others", []),
        ("<b>icml-C.1</b>", ["icml-C.1"]),
        (SCRIPT, []),
    ],
)
def test_claims_that_are_named_are_links(text: str, links: list[str]) -> None:
    made = str(render_module.citing({"icml-C.1": "c-1", "icml-C.1-step": "c-2"})(text))
    assert re.findall(r'<a href="#c-[12]">([^<]*)</a>', made) == links
    assert "<b>" not in made and "<script>" not in made


def test_counts_add_up_to_the_claims() -> None:
    made = model()
    assert made.counts.rows[-1][1] == "All"
    assert sum(made.counts.rows[-1][2]) == len(made.claims) == len({cell.claim for cell in hostile_run()})
    assert [line.link.claim for line in made.gravest if line.link.anchor]


def test_near_misses_stand_on_the_dashboard() -> None:
    close, far = (replace(QUESTION, claim=f"made-{s}", verdict=NOT_REFUTED, slack=s, witness="") for s in (0.01, 0.5))
    made = page(sources([close, far], draws=False))
    assert [(line.link.claim, line.slack, line.place) for line in made.near] == [("made-0.01", "0.010", "|x_n|, all x")]
    assert "Near misses" in render(made) and "Near misses" not in render(replace(made, near=()))


def test_doubts_stand_on_top() -> None:
    doubtful = replace(QUESTION, verdict=verdict.ERROR, because="ZeroDivisionError", witness="")
    assert page(sources([doubtful], draws=False)).doubts == ("error: made-1, |x_n|, all x: ZeroDivisionError",)
    assert model().doubts == ()


def test_the_rules_are_those_that_decide() -> None:
    assert [rule.verdict for rule in RULES] == [word for word, _ in verdict.RULES]


def test_a_page_without_matplotlib_says_so() -> None:
    assert any("matplotlib is missing" in line for line in page(sources(draws=False)).remarks)


# --- the command ------------------------------------------------------------------------------------------------


def test_the_command_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = [tableaus.get(name) for name in ("radau iia 3", "gauss 2", "heun 3")]
    monkeypatch.setattr(tableau_command, "everything", lambda folders: iter(methods))
    monkeypatch.setattr(report_command, "_tableaus", report_command._tableaus.__wrapped__)  # made here alone, not kept
    with Store(tmp_path / "store.sqlite", writable=True) as store:
        store.begin_run("by hand", {"budget": "smoke", "seed": 5, "claims_dirs": []}, ["one"])
        store.put("one", kind="case", spec={"kind": "case"}, data=[QUESTION.to_plain()], arrays={}, wall_s=0.0)
        store.complete_run("by hand")
    record = tmp_path / "record.json"
    run = {
        "name": "a run",
        "task": "adding",
        "cell": "scornn",
        "seed": 0,
        "epochs": 5,
        "best_epoch": 5,
        "figure": "loss",
    }
    record.write_text(json.dumps({"runs": {"a": run | {"configuration": {}, "test": {"figure": 0.001}}}}))
    made = tmp_path / "made.html"
    arguments = ["report", "--store", str(tmp_path / "store.sqlite"), "--html", str(made), "--trained", str(record)]
    assert main(arguments) == 0
    assert "wrote" in capsys.readouterr().err
    parsed = read(made.read_text("utf-8"))
    assert parsed.faults == []
    stable = next(table for table in parsed.all("table") if "BN-stable" in table.text)
    assert "gauss 2" in stable.text and "figure 1(a)" in made.read_text("utf-8")
    assert "a run" in parsed.all("table")[-1].text


@pytest.mark.parametrize("has_matplotlib", [True, False])
def test_states_and_bounds_are_computed_where_they_can_be_drawn_and_only_there(
    has_matplotlib: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tableau_command, "everything", lambda folders: iter([tableaus.get("rk4")]))
    monkeypatch.setattr(report_command, "_tableaus", report_command._tableaus.__wrapped__)  # made here alone, not kept
    asked: list[str] = []
    monkeypatch.setattr(series, "state_series", lambda *_: asked.append("states") or {})
    monkeypatch.setattr(witness_curves, "witness_curves", lambda *_: asked.append("bounds") or {})
    if not has_matplotlib:

        def missing() -> None:
            raise ImportError("there is none")

        monkeypatch.setattr(drawing, "check_available", missing)
    with Store(tmp_path / "a.sqlite", writable=True) as store:
        store.begin_run("by hand", {"budget": "smoke", "seed": 5, "claims_dirs": []}, ["one"])
        store.put("one", kind="case", spec={"kind": "case"}, data=[QUESTION.to_plain()], arrays={}, wall_s=0.0)
        store.complete_run("by hand")
    assert main(["report", "--store", str(tmp_path / "a.sqlite"), "--html", str(tmp_path / "a.html")]) == 0
    assert asked == (["states", "bounds"] if has_matplotlib else [])
    assert ("the page is without plots: there is none" in capsys.readouterr().err) != has_matplotlib


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--html", "page.txt"), "must end in .html"),
        (("--html", "nowhere/page.html"), "does not exist"),
        (("--html", "page.html", "--store", "none.sqlite"), "none.sqlite"),
        (("--html", "page.html", "--trained", "none.json"), "no record of training runs"),
        (("--html", "page.html", "--nearness", "none.json"), "no record of nearness"),
    ],
)
def test_what_cannot_be_written_is_said_in_one_line(
    arguments: tuple[str, ...],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *arguments]) == 2
    said = capsys.readouterr().err
    assert reason in said and len(said.splitlines()) == 1
