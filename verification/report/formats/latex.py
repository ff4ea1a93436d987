"""A table as a LaTeX document that compiles as it is, with any LaTeX engine; the longtable can be pasted elsewhere."""

from __future__ import annotations

import re
import unicodedata

from verification.report.table import Cell, Column, Entry, Table

_PREAMBLE = r"""\documentclass{article}
\usepackage[a4paper,landscape,margin=1cm]{geometry}
\usepackage{longtable}
\setlength{\tabcolsep}{3pt}
\setlength{\parindent}{0pt}
\pagestyle{empty}
\begin{document}
\scriptsize
"""
_FIGURE = r"\begingroup\renewcommand{\arraystretch}{1.4}"
_END = "\\end{document}\n"

_GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "varepsilon",
    "ζ": "zeta",
    "η": "eta",
    "θ": "theta",
    "κ": "kappa",
    "λ": "lambda",
    "μ": "mu",
    "ν": "nu",
    "ξ": "xi",
    "π": "pi",
    "ρ": "rho",
    "σ": "sigma",
    "τ": "tau",
    "φ": "varphi",
    "χ": "chi",
    "ψ": "psi",
    "ω": "omega",
    "Γ": "Gamma",
    "Δ": "Delta",
    "Θ": "Theta",
    "Λ": "Lambda",
    "Ξ": "Xi",
    "Π": "Pi",
    "Σ": "Sigma",
    "Φ": "Phi",
    "Ψ": "Psi",
    "Ω": "Omega",
}
_SIGNS = {
    "‖": r"\|",
    "|": "|",
    "<": "<",
    ">": ">",
    "≤": r"\leq",
    "≥": r"\geq",
    "≠": r"\neq",
    "≈": r"\approx",
    "≪": r"\ll",
    "≫": r"\gg",
    "·": r"\cdot",
    "×": r"\times",
    "±": r"\pm",
    "−": "-",
    "√": r"\surd",
    "∞": r"\infty",
    "≡": r"\equiv",
    "∂": r"\partial",
    "∈": r"\in",
    "→": r"\to",
    "⊙": r"\odot",
    "∑": r"\sum",
    "∀": r"\forall",
    "′": "'",
    "″": "''",
    "°": r"^\circ",
    "½": r"\frac12",
    "ℓ": r"\ell",
    "∛": r"\sqrt[3]{}",
}
_TEXT = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    '"': "''",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "\n": " ",
    "[": "{[}",
    "]": "{]}",
}
_ACCENTS = {
    "\u0302": r"\hat",
    "\u0304": r"\bar",
    "\u0303": r"\tilde",
    "\u0307": r"\dot",
    "\u0301": r"\acute",
    "\u0300": r"\grave",
    "\u0308": r"\ddot",
}
_POWER = re.compile(r"10\^(−?[0-9]+(?:\.[0-9]+)?)")


def escape(text: str) -> str:
    r"""Text for LaTeX: powers of ten, Greek letters, sub- and superscripts, accents and signs become mathematics.

    >>> print(escape("α ≤ 10^410.2"), escape("yₙ & ŷ"))
    $\alpha$ $\leq$ $10^{410.2}$ y$_{n}$ \& $\hat{y}$
    """
    done, at = [], 0
    for match in _POWER.finditer(text):
        done += [_escape_plain(text[at : match.start()]), f"$10^{{{match[1].replace('−', '-')}}}$"]
        at = match.end()
    return "".join([*done, _escape_plain(text[at:])])


def _escape_plain(text: str) -> str:
    done: list[str] = []
    for character in "".join(unicodedata.normalize("NFD", c) if c.isalpha() else c for c in text):
        if character in _ACCENTS and done:
            done[-1] = f"${_ACCENTS[character]}{{{done[-1].strip('$')}}}$"
        else:
            done.append(_escape_character(character))
    return "".join(done)


def _escape_character(character: str) -> str:
    if character in _TEXT:
        return _TEXT[character]
    if character in _SIGNS:
        return f"${_SIGNS[character]}$"
    if character in _GREEK:
        return f"$\\{_GREEK[character]}$"
    if " " <= character <= "~":
        return character
    kind, _, plain = unicodedata.decomposition(character).partition(" ")
    if kind in ("<sub>", "<super>"):
        base = _escape_character(chr(int(plain, 16))).strip("$")
        return f"${'_' if kind == '<sub>' else '^'}{{{base}}}$"
    return f"{{[}}U+{ord(character):04X}{{]}}"  # visible, and it compiles


def render(table: Table) -> str:
    """A whole document: title, longtable with a repeated head, caption."""
    columns = "".join(_specification(column) for column in table.columns)
    head = " & ".join(escape(column.name) for column in table.columns) + r" \\"
    lines = [f"\\textbf{{{escape(table.title)}}}", ""] if table.title else []
    if table.figure is not None:
        lines += [_FIGURE, table.figure.latex, r"\endgroup", ""]
    lines += [f"\\begin{{longtable}}{{{columns}}}", r"\hline", head, r"\hline", r"\endhead"]
    lines += [" & ".join(map(_cell, row)) + r" \\" for row in table.rows]
    lines += [r"\hline", r"\end{longtable}"]
    lines += [escape(line) + r"\par" for line in table.caption]
    return _PREAMBLE + "\n".join(lines) + "\n" + _END


def _specification(column: Column) -> str:
    if column.width is not None:
        return f"p{{{column.width * 0.5:g}em}}"
    return "r" if column.align == "right" else "l"


def _cell(entry: Entry) -> str:
    if isinstance(entry, Cell) and entry.strong:
        return f"\\textbf{{{escape(entry.strong)}}}{escape(entry.text)}"
    return escape(str(entry))
