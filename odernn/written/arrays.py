"""A method as a book prints it: the Butcher array with its rules, in text, LaTeX and HTML. Pure functions of it.

    1/3 │ 5/12  −1/12
      1 │  3/4    1/4
    ────┼────────────
        │  3/4    1/4

Entries above the diagonal of explicit and diagonally implicit methods are left blank. A partitioned method is two
arrays, positions on the left; a composition is its base method and the fractions γ of the step. An array that is too
wide for a page is listed row by row. Abscissae that are roots of no quadratic polynomial are printed as decimals.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from odernn.exact.coefficients import subscript
from odernn.tableaus.families import Enclosures, PolynomialPair, PolynomialTableau
from odernn.tableaus.methods import Method, in_stages
from odernn.tableaus.nystrom import NystromTableau
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau
from odernn.written.formulas import Latex, Plain, Style, descending, latex_label, legend, named_fields
from odernn.written.lines import padded, room, strung, wrapped
from odernn.written.tables import harmless, paragraph

PAGE = 120
"""Characters in a line if no other width is asked for; a wider array is listed row by row."""

PLACES = 6
"""Decimals of coefficients that are not written out, if no number of them is asked for."""

_GAP = "     "


@dataclass(frozen=True)
class _Part:
    """One Butcher array: numbers (exact, or enclosures), and how they are to be read."""

    title: str
    c: tuple[Any, ...]
    A: tuple[tuple[Any, ...], ...]
    weights: tuple[tuple[str, tuple[Any, ...]], ...]
    style: Style
    remarks: tuple[str, ...] = ()
    is_nystrom: bool = False

    @property
    def stages(self) -> int:
        return len(self.c)

    def shown(self, i: int) -> range:
        """Printed columns of row i: zeros that make a method explicit or diagonally implicit are left blank."""
        s = self.stages
        for offset in (0, 1):
            if all(self.A[k][j] == 0 for k in range(s) for j in range(k + offset, s)):
                return range(i + offset)
        return range(s)


# --- text -------------------------------------------------------------------------------------------------------


def text(method: Method, places: int | None = None, *, title: str = "", page: int = PAGE) -> str:
    """The Butcher array, or arrays, in lines without a newline at the end, below the title if there is one."""
    parts = _parts(method, places)
    blocks = [_drawn(part, part.title if len(parts) > 1 else "", page) for part in parts]
    drawn = beside(blocks, page)
    notes = dict.fromkeys(note for part in parts for note in part.remarks)
    heads = [title, ""] if title else []
    heads += _composition_lines(method, places, page)
    below = [line for note in notes for line in wrapped(note, page)]
    return "\n".join([*heads, drawn, *(["", *below] if below else [])])


def _drawn(part: _Part, title: str, page: int) -> str:
    lines = _array(part)
    if max(map(room, lines)) > page:
        lines = _listing(part, page)
    return "\n".join([title, "", *lines] if title else lines)


def _array(part: _Part) -> list[str]:
    write = Plain(part.style)
    rows = [[write(row[j]) if j in part.shown(i) else "" for j in range(part.stages)] for i, row in enumerate(part.A)]
    feet = [[write(weight) for weight in weights] for _, weights in part.weights]
    left = [write(c) for c in part.c]
    labels = [label for label, _ in part.weights]
    width = max(map(room, [*left, *labels]))
    columns = [max(map(room, column)) for column in zip(*rows, *feet, strict=True)]

    def line(label: str, cells: Sequence[str]) -> str:
        entries = (padded(cell, wide, "right") for cell, wide in zip(cells, columns, strict=True))
        return f"{padded(label, width, 'right')} │ {'  '.join(entries)}"

    rule = "─" * (width + 1) + "┼" + "─" * (sum(columns) + 2 * (len(columns) - 1) + 1)
    body = [line(label, cells) for label, cells in zip(left, rows, strict=True)]
    return [entry.rstrip() for entry in (*body, rule, *map(line, labels, feet))]


def _listing(part: _Part, page: int) -> list[str]:
    """Row by row, as papers print the large ones; zeros are left out."""
    write = Plain(part.style)
    lines: list[str] = []
    for i, row in enumerate(part.A, 1):
        a_letter = "ā" if part.is_nystrom else "a"
        entries = [f"{a_letter}{subscript(i, j)} = {write(a)}" for j, a in enumerate(row, 1) if not _is_zero(a)]
        lines += _entries([f"c{subscript(i)} = {write(part.c[i - 1])}", *entries], page)
    lines.append("─" * (page // 2))
    for label, weights in part.weights:
        letter = "b̂" if label == "ŷ₁" else "b̄" if part.is_nystrom and label == "y₁" else "b"
        entries = [f"{letter}{subscript(j)} = {write(w)}" for j, w in enumerate(weights, 1) if not _is_zero(w)]
        lines += _entries(entries, page)
    return lines


def _entries(entries: Sequence[str], page: int) -> list[str]:
    return strung(entries, page, between="   ", rest="    ")


def _is_zero(value: Any) -> bool:
    return bool(value == 0)


def _composition_lines(method: Method, places: int | None, page: int) -> list[str]:
    """ "γ₁ = γ₃ = …" above the array of the base method."""
    if not isinstance(method, Composition):
        return []
    names = {} if places is not None else named_fields(method.gammas)
    style = Style(places, {field.label: name for name, field in names.items()}, method.digits is not None)
    write = Plain(style)
    equal: dict[Any, list[int]] = {}
    for k, gamma in enumerate(method.gammas, 1):
        equal.setdefault(gamma, []).append(k)
    lines = [*wrapped(f"{len(method.gammas)} steps of {method.base.name}, step k with γₖ h:", page), ""]
    lines += [
        line
        for gamma, indices in equal.items()
        for line in wrapped(" = ".join(f"γ{subscript(k)}" for k in indices) + f" = {write(gamma)}", page, rest="    ")
    ]
    legends = (line for name, field in names.items() for line in wrapped(legend(name, field), page, rest="    "))
    return [*lines, *legends, ""]


def beside(blocks: Sequence[str], page: int = PAGE) -> str:
    """Blocks of lines side by side, if the page is wide enough, else below each other."""
    split = [block.split("\n") for block in blocks]
    widths = [max(map(room, lines)) for lines in split]
    if len(blocks) < 2 or sum(widths) + len(_GAP) * (len(blocks) - 1) > page:
        return "\n\n".join(blocks)
    rows = itertools.zip_longest(*split, fillvalue="")
    side_by_side = (_GAP.join(padded(line, width) for line, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in side_by_side)


# --- LaTeX ------------------------------------------------------------------------------------------------------


def latex(method: Method, places: int | None = None, *, title: str = "") -> str:
    r"""Display mathematics with one ``array`` for each Butcher array; nothing but LaTeX itself is needed.

    ``title`` is text of LaTeX.
    """
    parts = _parts(method, places)
    lines = [rf"\[\textrm{{{title}}}\]"] if title else []
    if isinstance(method, Composition):
        fields = named_fields(method.gammas)
        style = Style(places, {field.label: name for name, field in fields.items()}, method.digits is not None)
        write = Latex(style)
        gammas = "\n\\quad ".join(f"$\\gamma_{{{k}}}={write(gamma)}$" for k, gamma in enumerate(method.gammas, 1))
        lines.append(f"\\par\\begingroup\\raggedright {gammas}\n\n\\endgroup")
        lines += [_latex_legend(field, style) for field in fields.values()]
    if _is_wide(parts):
        lines += [_latex_listing(part, part.title if len(parts) > 1 else "") for part in parts]
    else:
        arrays = "\n\\qquad\n".join(map(_latex_array, parts))
        lines.append(f"\\[\n{arrays}\n\\]")
    lines += [_latex_legend(field, parts[0].style) for field in named_fields(_coefficients(parts)).values()]
    return "\n".join(lines)


def _latex_array(part: _Part) -> str:
    write = Latex(part.style)
    rows = [
        " & ".join([write(c), *(write(row[j]) if j in part.shown(i) else "" for j in range(part.stages))])
        for i, (c, row) in enumerate(zip(part.c, part.A, strict=True))
    ]
    labels = {"y₁": "y_1", "ŷ₁": r"\hat y_1", "v₁": "v_1", "": ""}
    feet = [" & ".join([labels[label], *map(write, weights)]) for label, weights in part.weights]
    body = " \\\\\n".join([*rows, f"\\hline\n{feet[0]}", *feet[1:]])
    return f"\\begin{{array}}{{c|{'c' * part.stages}}}\n{body}\n\\end{{array}}"


def _latex_listing(part: _Part, title: str) -> str:
    """Row by row, in a paragraph that breaks between two coefficients."""
    body = "\n\n".join("\n\\quad ".join(f"${entry}$" for entry in entries) for entries in _latex_rows(part))
    return f"\\par\\begingroup\\raggedright {title}\n\n{body}\n\n\\endgroup\\medskip"


def _latex_rows(part: _Part) -> list[list[str]]:
    """The coefficients of every row, then those of the weights."""
    write = Latex(part.style)
    rows = [
        [f"c_{{{i}}}={write(part.c[i - 1])}", *_latex_entries(r"\bar a" if part.is_nystrom else "a", row, write, i)]
        for i, row in enumerate(part.A, 1)
    ]
    letters = {"ŷ₁": r"\hat b", "y₁": r"\bar b" if part.is_nystrom else "b"}
    return rows + [_latex_entries(letters.get(label, "b"), weights, write) for label, weights in part.weights]


def _latex_entries(letter: str, row: Sequence[Any], write: Latex, *index: int) -> list[str]:
    entries = enumerate(row, 1)
    return [f"{letter}_{{{','.join(map(str, (*index, j)))}}}={write(a)}" for j, a in entries if not _is_zero(a)]


def _latex_legend(field: Any, style: Style) -> str:
    return rf"\[{_latex_root(field, style)}\]"


def _latex_root(field: Any, style: Style) -> str:
    """What the generator is: its first digits, and the equation of which it is a root."""
    terms = Latex(Style())
    modulus = "".join(
        f"{'' if not k or str(terms(x)).startswith('-') else '+'}{terms(x) if not k or abs(x) != 1 else terms(x)[:-1]}"
        f"{'' if k == 0 else 'x' if k == 1 else f'x^{{{k}}}'}"
        for k, x in enumerate(field.modulus.coeffs())
        if x != 0
    )
    digits = Latex(Style(12))(field.generator())
    return rf"{latex_label(field, style.names)}={digits}\ldots,\quad {modulus}=0"


# --- notebooks --------------------------------------------------------------------------------------------------


def mathematics(method: Method) -> str:
    """Formulas between dollar signs, a paragraph each: what MathJax sets, and LaTeX, too."""
    parts = _parts(method, None)
    blocks = []
    if isinstance(method, Composition):
        fields = named_fields(method.gammas)
        style = Style(None, {field.label: name for name, field in fields.items()}, method.digits is not None)
        blocks.append([f"\\gamma_{{{k}}}={Latex(style)(gamma)}" for k, gamma in enumerate(method.gammas, 1)])
        blocks += [[_latex_root(field, style)] for field in fields.values()]
    if _is_wide(parts):
        blocks += [row for part in parts for row in _latex_rows(part)]
    else:
        blocks.append(["\n\\qquad\n".join(map(_latex_array, parts))])
    blocks += [[_latex_root(field, parts[0].style)] for field in named_fields(_coefficients(parts)).values()]
    return "\n\n".join("$$\n" + ",\\quad ".join(block) + "\n$$" for block in blocks if block)


def html(method: Method) -> str:
    """The name with its source, the arrays as tables with their rules, what is said below them; all escaped."""
    parts = _parts(method, None)
    source = f", {method.source}" if method.source is not None else ""
    above = [line for line in _composition_lines(method, None, PAGE) if line]
    if _is_wide(parts):
        blocks = [f"<pre>{escape(_drawn(part, part.title if len(parts) > 1 else '', PAGE))}</pre>" for part in parts]
    else:
        blocks = [_html_array(part, part.title if len(parts) > 1 else "") for part in parts]
    below = dict.fromkeys(note for part in parts for note in part.remarks)
    lines = [paragraph(source, strong=str(method.name)), *map(paragraph, above), *blocks, *map(paragraph, below)]
    return f"<div>{''.join(lines)}</div>"


def _html_array(part: _Part, title: str) -> str:
    write = Plain(part.style)
    feet = [(label, weights, range(part.stages)) for label, weights in part.weights]
    body = [(write(c), row, part.shown(i)) for i, (c, row) in enumerate(zip(part.c, part.A, strict=True))]
    lines = []
    for number, (left, row, shown) in enumerate((*body, *feet)):
        rule = "border-top:1px solid;" if number == part.stages else ""
        cells = [(left, f"{rule}border-right:1px solid;")]
        cells += [(write(entry) if j in shown else "", rule) for j, entry in enumerate(row)]
        lines.append("".join(f'<td style="{style}text-align:right">{escape(text)}</td>' for text, style in cells))
    caption = f"<caption>{escape(harmless(title))}</caption>" if title else ""
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="border-collapse:collapse;display:inline-table;margin-right:2em">{caption}{rows}</table>'


def _is_wide(parts: Sequence[_Part]) -> bool:
    """Whether an array is listed row by row."""
    return max(room(line) for part in parts for line in _array(part)) > PAGE


def _coefficients(parts: Sequence[_Part]) -> list[Any]:
    return [entry for part in parts for row in (*part.A, *(weights for _, weights in part.weights)) for entry in row]


# --- for programs -----------------------------------------------------------------------------------------------


def data(method: Method, places: int | None = None) -> dict[str, Any]:
    """The coefficients as exact strings that a tableau file may hold; decimals of those that are not written out."""
    if isinstance(method, Composition):
        gammas = list(map(str, method.gammas))
        return {"name": method.name, "gammas": gammas, "base": data(method.base, places)}
    table = in_stages(method)
    if isinstance(table, NystromTableau):
        vectors = {name: list(map(str, getattr(table, name))) for name in ("b_bar", "b", "c")}
        return {"name": table.name, "A_bar": [list(map(str, row)) for row in table.A_bar], **vectors}
    if isinstance(table, PartitionedTableau | PolynomialPair):
        halves = {"position": data(table.position, places), "momentum": data(table.momentum, places)}
        return {"name": table.name, **halves}
    if isinstance(table, ButcherTableau):
        coefficients: dict[str, Any] = {"name": table.name, "A": [list(map(str, row)) for row in table.A]}
        coefficients |= {"b": list(map(str, table.b)), "c": list(map(str, table.c))}
        return coefficients | ({} if table.b_hat is None else {"b_hat": list(map(str, table.b_hat))})
    (part,) = _parts(table, places or 30)
    write = Latex(part.style)
    return {
        "name": table.name,
        "decimals": places or 30,
        "A": [list(map(write, row)) for row in part.A],
        "b": list(map(write, part.weights[0][1])),
        "c": list(map(write, part.c)),
    }


# --- a method as arrays -----------------------------------------------------------------------------------------


def _parts(method: Method, places: int | None) -> tuple[_Part, ...]:
    return tuple(_each(method.base if isinstance(method, Composition) else method, places))


def _each(method: Method, places: int | None) -> Iterator[_Part]:
    table = in_stages(method)
    if isinstance(table, PartitionedTableau | PolynomialPair):
        for kind in ("position", "momentum"):
            (part,) = _each(getattr(table, kind), places)
            yield _Part(f"{kind}", part.c, part.A, part.weights, part.style, part.remarks)
    elif isinstance(table, NystromTableau):
        both = (("y₁", table.b_bar), ("v₁", table.b))
        yield _written(table, table.c, table.A_bar, both, table.entries, places)
    elif isinstance(table, ButcherTableau):
        weights = (("", table.b),) if table.b_hat is None else (("y₁", table.b), ("ŷ₁", table.b_hat))
        yield _written(table, table.c, table.A, weights, (*table.entries, *(table.b_hat or ())), places)
    else:
        assert isinstance(table, PolynomialTableau)
        yield _enclosed(table, PLACES if places is None else places)


def _written(
    table: ButcherTableau | NystromTableau, c: Any, A: Any, weights: Any, entries: Sequence[Any], places: int | None
) -> _Part:
    fields = {} if places is not None else named_fields(entries)
    style = Style(
        places, {field.label: name for name, field in fields.items()}, table.digits is not None, table.is_float
    )
    legends = [legend(name, field) for name, field in fields.items()]
    if table.digits is not None and places is None:
        legends.append(f"Decimals as the source prints them; {table.digits} places count.")
    return _Part(table.name, c, A, weights, style, tuple(legends), isinstance(table, NystromTableau))


def _ends(balls: Enclosures) -> Iterator[tuple[Any, Any]]:
    """First and last row sum of A beside first and last node: of some families they differ."""
    return zip((balls.c[0], balls.c[-1]), (balls.nodes[0], balls.nodes[-1]), strict=True)


def _enclosed(table: PolynomialTableau, places: int) -> _Part:
    balls = table.enclosures(64 + 4 * places)
    names = "c₁" if table.stages == 1 else f"c₁, …, c{subscript(table.stages)}"
    nodes = "The abscissae of the quadrature" if not all(x.overlaps(y) for x, y in _ends(balls)) else names
    remark = f"{nodes} are the roots of {descending(table.modulus)}; decimals are rounded to {places} places."
    return _Part(table.name, balls.c, balls.A, (("", balls.b),), Style(places), (remark,))
