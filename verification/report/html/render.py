"""From the model to one self-contained page: Jinja2 with escaping on, a style sheet, a small script, nothing fetched.

A policy in the page (Content-Security-Policy) allows its own style and that one script by its digest: text of a claim
file that got past the escaping could still run nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from verification.report.html.model import ReportPage
from verification.report.html.typeset import typeset
from verification.report.table import Cell, Entry

TEMPLATES = Path(__file__).parent / "templates"
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]")
"""Control characters, halves of pairs, and those that turn the direction of the text behind them."""


def render(page: ReportPage) -> str:
    """The page as text of an .html file."""
    style, script = (TEMPLATES.joinpath(name).read_text("utf-8") for name in ("style.css", "filter.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = (
        _environment()
        .get_template("page.html.jinja")
        .render(
            page=page,
            style=Markup(style),  # ours, from the files beside this one
            script=Markup(script),
            cite=citing({claim.claim: claim.anchor for claim in page.claims}),
            policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
            "form-action 'none'",
        )
    )
    return text + "\n"


def citing(anchors: Mapping[str, str]) -> Callable[[str], Markup]:
    """Sets a text like ``typeset``, with the claims that it names as links to their sections."""
    names = "|".join(map(re.escape, sorted(anchors, key=len, reverse=True)))
    named = re.compile(rf"(?<![\w-])(?:{names})(?![\w-]|\.\d|/\w)") if names else None

    def cite(text: str) -> Markup:
        seen = str(_seen(text))
        parts, at = [], 0
        for match in named.finditer(seen) if named else ():
            link = Markup('<a href="#{}">{}</a>').format(anchors[match[0]], match[0])
            parts += [typeset(seen[at : match.start()]), link]
            at = match.end()
        return Markup("").join([*parts, typeset(seen[at:])])

    return cite


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_seen,
    )
    environment.filters |= {"typeset": lambda text: typeset(str(_seen(text))), "drawing": Markup, "entry": _entry}
    return environment


def _seen(value: object) -> object:
    """Text in which every character shows itself."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _UNSEEN.sub("\ufffd", value)
    return value


def _entry(entry: Entry) -> Markup:
    """A cell of a table, its strong part in front."""
    if isinstance(entry, Cell):
        strong = Markup("<strong>{}</strong>").format(typeset(entry.strong)) if entry.strong else Markup()
        return strong + typeset(str(_seen(entry.weak)))
    return typeset(str(_seen(entry)))
