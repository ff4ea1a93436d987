"""The picture of README.md: two refuted bounds beside what the networks of their witnesses do.

python docs/pictures/refuted_bounds.py
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import escape

from verification.registry import Registry
from verification.report.html.witness_curves import witness_curves
from verification.report.pictures.against_bounds import BoundCurve, curve_svg, words_of_curve
from verification.verdict import REFUTED, Judgement
from verification.witness.file import from_json

DOCS = Path(__file__).resolve().parents[1]
PICTURE = Path(__file__).with_suffix(".svg")
WITNESSES = {
    "icml-3-1-l-1-de-d.json": "the gradient |∂E/∂θ|, one layer",
    "icml-42-icml-s-42-l-l-e-k-l-2.json": "a term |∂E(k, l)/∂θ| of it, l < L",
}
"""What their claims bound."""

WIDTH, HEIGHT, APART = 420, 280, 20
STYLE = """:root { --plot-text: #222; --plot-rule: #ddd; --plot-measured: #a8321f; --plot-bound: #1b4f82; }
text { fill: var(--plot-text); font-family: sans-serif; }"""


def curves() -> list[BoundCurve]:
    """Both sides of each inequality after n steps, decimal logarithms."""
    made = []
    for name, what in WITNESSES.items():
        text = (DOCS / "witnesses" / name).read_text("utf-8")
        witness = from_json(text)
        claim = Registry(()).get(witness.claim).claim
        cell = Judgement(
            claim=witness.claim,
            domain=witness.domain,
            layer=0,
            quantity=witness.quantity,
            norm="",
            symbol=what,
            reading="",
            verdict=REFUTED,
            because="",
            slack=-1.0,
            witness=text,
        )
        found = witness_curves({claim.id: claim}, [cell])[claim.id]
        where = f"{witness.claim}: the network of its witness, after n steps"
        made.append(replace(found, symbol=what, network="", where=where))
    return made


def picture(shown: list[BoundCurve]) -> str:
    """An SVG by itself, with the words of its curves for who cannot see it. ImportError without matplotlib."""
    width = len(shown) * (WIDTH + APART) - APART
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}">'
    ]
    lines += [f"<desc>{escape('; '.join(map(words_of_curve, shown)))}</desc>", f"<style>{STYLE}</style>"]
    lines += ['<rect width="100%" height="100%" fill="#fff"/>']
    for number, curve in enumerate(shown):
        place = f'x="{number * (WIDTH + APART)}" width="{WIDTH}" height="{HEIGHT}"'
        lines.append(re.sub(r"^<svg ", f"<svg {place} ", curve_svg(curve, f"p{number}")))
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    PICTURE.write_text(picture(curves()), encoding="utf-8")


if __name__ == "__main__":
    main()
