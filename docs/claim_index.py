"""Writes docs/claim_index.md: which claim stands in which file. `python docs/claim_index.py`"""

from __future__ import annotations

from pathlib import Path

from verification.registry import CLAIMS, announced

PAGE = Path(__file__).resolve().with_name("claim_index.md")
PAPERS = {
    "unicornn": "UnICORNN: Rusch and Mishra 2021, both versions (`icml-`, `sam-`, `both-`)",
    "scornn": "scoRNN: Helfrich, Willmott and Ye 2018 (`sco-`)",
    "odernn": "ODERNN: Niu, Chuang and Horesh 2019 (`ode-`)",
    "complexity": "Architectural complexity: Zhang et al. 2016 (`cplx-`)",
    "library": "Theorems of this library, and links between the papers (`thm-`, `x-`)",
}


def page() -> str:
    """The page, from the first lines of the claim files."""
    lines = [
        "# Which claim stands in which file",
        "",
        "Made by `python docs/claim_index.py` from the first line of every file. What a claim says and how it fared:",
        "[ledger](ledger/README.md).",
    ]
    for folder, title in PAPERS.items():
        lines += ["", f"## {title}", "| file | claims |", "|:--|:--|"]
        for path in sorted((CLAIMS / folder).glob("[!_]*.py")):
            link = f"[{path.stem}](../verification/claims/{folder}/{path.name})"
            lines.append(f"| {link} | {', '.join(announced(path))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
