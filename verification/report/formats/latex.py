"""A table as a LaTeX document that compiles as it is, with any LaTeX engine; the longtable can be pasted elsewhere."""

from __future__ import annotations

import re
import unicodedata

from verification.report.fit import allotted
from verification.report.table import Column, Entry, Table

PAGE = 785.0
"""Points between the margins of the page: 29.7 cm less 2 cm, of 28.45 pt each, less what rounding takes."""
PADDING = 3.0
"""Points on both sides of a column."""
POINTS = 4.6
"""Of a character in a line of text: more than the mean of ``SLIM`` and wide ones."""
SLIM, WIDE = 4.0, 7.3
"""Points of a digit or small letter of \\scriptsize, which is 7 pt, and of any other character, m, w and signs of
mathematics with the space around them included: what a word that has to fit is measured with.
"""
MOST = 120
"""Characters of a paragraph in a column that is as wide as its text wants to be: more are more lines."""
_PREAMBLE = r"""\documentclass{article}
\usepackage[a4paper,landscape,margin=1cm]{geometry}
\usepackage{array,booktabs,longtable}
\setlength{\tabcolsep}{3pt}
\setlength{\parindent}{0pt}
\pagestyle{empty}
\begin{document}
\scriptsize
\raggedright
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
    "⊗": r"\otimes",
    "⇒": r"\Rightarrow",
    "∓": r"\mp",
    "∫": r"\int",
    "≱": r"\not\geq",
    "≰": r"\not\leq",
    "⋯": r"\cdots",
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "∑": r"\sum",
    "∏": r"\prod",
    "∘": r"\circ",
    "∀": r"\forall",
    "′": "'",
    "″": "''",
    "°": r"^\circ",
    "½": r"\frac12",
    "ℓ": r"\ell",
    "∛": r"\sqrt[3]{}",
}
BREAK = "\u200b"
"""Where a line may be broken inside a word: Unicode's space of no width."""
_TEXT = {
    BREAK: r"\allowbreak{}",
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\symbol{36}",  # \$ asks for a font that small installations of TeX lack
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
_GROUP = r"\$[_^]\{((?:[^{}$])*)\}\$"
_GROUPS = re.compile(r"\$([_^])\{[^{}$]*\}\$(?:\$\1\{[^{}$]*\}\$)+")
_POWER = re.compile(r"10\^(−?[0-9]+(?:\.[0-9]+)?)")


def escape(text: str) -> str:
    r"""Text for LaTeX: powers of ten, Greek letters, sub- and superscripts, accents and signs become mathematics.

    >>> print(escape("α ≤ 10^410.2"), escape("yₙ & ŷ"), escape("log₁₀"))
    $\alpha$ $\leq$ $10^{410.2}$ y$_{n}$ \& $\hat{y}$ log$_{10}$
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
    return _GROUPS.sub(_one_group, "".join(done))


def _one_group(match: re.Match[str]) -> str:
    """Subscripts that stand side by side, or superscripts, are one: $_{1}$$_{0}$ is $_{10}$."""
    return f"${match[1]}{{{''.join(re.findall(_GROUP, match[0]))}}}$"


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


def breakable(text: str, points: float | None) -> str:
    """The text with a ``BREAK`` in every word that is wider, after a sign if there is one in the second half of a line.

    Powers of ten stay whole, and so does a character with its accents, its subscripts and superscripts.

    >>> breakable("a short one, x+1000000*y", 40).replace(BREAK, "|")
    'a short one, x+1000000|*y'
    """
    return text if points is None else re.sub(r"[^\s]+", lambda word: _broken(word[0], points), text)


def _broken(word: str, points: float) -> str:
    lines: list[list[str]] = [[]]
    for atom in _ATOM.findall(word):
        line = lines[-1]
        if line and _points("".join([*line, atom])) > points:
            signs = [place for place, each in enumerate(line, 1) if _SIGN.fullmatch(each) and place > len(line) // 2]
            at = signs[-1] if signs else len(line)
            lines[-1:] = [line[:at], line[at:]]
        lines[-1].append(atom)
    return BREAK.join("".join(line) for line in lines)


def _points(text: str) -> float:
    return sum(map(_points_of, text))


def _points_of(character: str) -> float:
    if character.isdigit() or character in ".,:;()/-abcdefghijklnopqrstuvxyz":
        return SLIM
    unknown = "{[}U+" in _escape_character(character)
    return WIDE * len("[U+0000]") if unknown else WIDE


_SIGN = re.compile(r"[^\w\s.({\[]")
_ATOM = re.compile(r"10\^−?[0-9]+(?:\.[0-9]+)?|.[\u0300-\u036f\u2070-\u209c\u00b2\u00b3\u00b9ⁿᵀᵢⱼ]*", re.DOTALL)
"""What is never broken: see ``breakable``."""


def render(table: Table) -> str:
    """A whole document: title, longtable with a repeated head, footnotes, caption.

    Columns are as wide as their text where the page has room for it, otherwise paragraphs that fill its width.
    """
    widths = _widths(table)
    columns = "".join(map(_specification, table.columns, widths))
    heads = [escape(breakable(column.name, wide)) for column, wide in zip(table.columns, widths, strict=True)]
    lines = [f"\\textbf{{{escape(table.title)}}}", ""] if table.title else []
    if table.figure is not None:
        lines += [_FIGURE, table.figure.latex, r"\endgroup", ""]
    lines += [f"\\begin{{longtable}}{{{columns}}}", r"\toprule", " & ".join(heads) + r" \\", r"\midrule", r"\endhead"]
    lines += [" & ".join(map(_cell, row, widths)) + r" \\" for row in table.rows]
    lines += [r"\bottomrule", r"\end{longtable}"]
    lines += [
        f"\\textsuperscript{{{number}}} {escape(breakable(note, PAGE / 4))}\\par"
        for number, note in enumerate(table.notes, 1)
    ]
    lines += [escape(breakable(line, PAGE / 4)) + r"\par" for line in table.caption]
    return _PREAMBLE + "\n".join(lines) + "\n" + _END


def _widths(table: Table) -> list[float | None]:
    """Points of the paragraphs in the columns; None throughout where the lines of the table fit as they are."""
    words = [[column.name, *(str(row[place]) for row in table.rows)] for place, column in enumerate(table.columns)]
    naturals = [max(map(len, texts)) for texts in words]
    taken = sum(column.width or wide for column, wide in zip(table.columns, naturals, strict=True)) * POINTS
    room = PAGE - 2 * PADDING * len(table.columns)
    if taken <= room and not any(column.width for column in table.columns):
        return [None] * len(table.columns)
    wanted = [max(min(wide, column.width or MOST), 2) for column, wide in zip(table.columns, naturals, strict=True)]
    leasts = [min(wide, 9) for wide in wanted]
    return [wide * POINTS for wide in allotted(wanted, leasts, int(room / POINTS))]


def _specification(column: Column, width: float | None) -> str:
    if width is None:
        return "r" if column.align == "right" else "l"
    ragged = r"\raggedleft" if column.align == "right" else r"\raggedright"
    return f">{{{ragged}\\arraybackslash}}p{{{width:.1f}pt}}"


def _cell(entry: Entry, width: float | None) -> str:
    if isinstance(entry, str):
        return escape(breakable(entry, width))
    strong = f"\\textbf{{{escape(breakable(entry.strong, width))}}}" if entry.strong else ""
    note = f"\\textsuperscript{{{entry.note}}}" if entry.note else ""
    return strong + escape(breakable(entry.weak, width)) + note
