"""Tables about RNN graphs: one graph's sheet, its paths in time, the whole catalogue. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from odernn.architecture.catalogue import Entry, MeasuredEntry
from odernn.architecture.graph import RNNGraph
from odernn.architecture.growth import Growth, SlowClass, growth_limit
from odernn.architecture.measures import MeasureEvidence, Measures, longest_paths, shortest_paths
from odernn.architecture.walks import Walk
from odernn.certificate import Certificate
from odernn.written.lines import padded, room, strung, wrapped
from verification.report.formats.latex import escape
from verification.report.numbers import NOT_AVAILABLE, minus, plural
from verification.report.table import Cell, Column, Figure, Table

WORDS = {True: "yes", False: "no", None: "undecided"}
MOST_NODES_LISTED = 40
"""A graph with more nodes is not written out above its table."""
PAGE = 120
"""Characters in a line if no other width is asked for."""

NAMES = {"d_r": "recurrent depth d_r", "d_f": "feedforward depth d_f", "s": "recurrent skip coefficient s"}
LIMITS = {"longest": "D_i(n)/n → d_r for every i", "shortest": "d_i(n)/n → 1/s for every i"}
CONDITIONS = {
    "1": "(1) σ ≡ time(v) − time(u)",
    "2": "(2) has a cycle",
    "3": "(3) no closed walk of σ-sum 0",
    "U": "(U) every cycle has σ-sum > 0",
    "R": "(R) inputs reach every output",
}
LEGEND = "u -(σ)-> v: v at time t + σ reads u at time t; l counts edges, Σσ steps of time."
PROOF = "That no cycle or path does better is proved by an integer potential, which --format json prints."


# --- one graph --------------------------------------------------------------------------------------------------


def single(entry: Entry, measures: Measures) -> Table:
    """What reads what, the measures with their walks, the limits, the conditions."""
    graph = entry.graph
    certificates = _by_name(measures)
    rows: list[tuple[str | Cell, ...]] = []
    records: list[Mapping[str, Any]] = []
    for name, certificate in certificates.items():
        rows.append((NAMES[name], _value(certificate.value), _evidence(name, certificate, measures.d_r)))
        records.append(_record(NAMES[name], certificate))
    if measures.recurrent_depth:
        for kind, name in LIMITS.items():
            certificate = growth_limit(graph, "longest" if kind == "longest" else "shortest")
            rows.append((name, WORDS[certificate.holds], certificate.because))
            records.append(_record(name, certificate))
    for condition, certificate in graph.conditions().items():
        rows.append((CONDITIONS[condition], WORDS[certificate.holds], certificate.because))
        records.append(_record(CONDITIONS[condition], certificate))
    return Table(
        title=title(entry),
        columns=(Column("property"), Column("value"), Column("evidence", width=84)),
        rows=tuple(rows),
        caption=tuple(
            [
                *published(entry, certificates),
                *_note(entry),
                f"{LEGEND} {PROOF}" if measures.recurrent_depth else LEGEND,
            ]
        ),
        records=tuple(records),
        figure=figure(graph, certificates),
    )


def title(entry: Entry) -> str:
    """Name, size and source."""
    graph = entry.graph
    size = [f"period {graph.period}", plural(len(graph.nodes), "node"), plural(len(graph.edges), "edge")]
    return " · ".join([graph.name, *size, *([str(entry.source)] if entry.source else [])])


def published(entry: Entry, certificates: Mapping[str, Certificate]) -> list[str]:
    """What the source prints, beside what was computed."""
    same = [f"{name} = {value}" for name, value in entry.published.items() if certificates[name].value == value]
    lines = [f"The source prints {', '.join(same)}: as computed."] if same else []
    for name, value in entry.published.items():
        if certificates[name].value != value:
            lines.append(f"The source prints {name} = {value}: BUT IT IS {_value(certificates[name].value)}.")
    return lines


def _note(entry: Entry) -> list[str]:
    return [f"{entry.note[0].upper()}{entry.note[1:]}."] if entry.note else []


def _by_name(measures: Measures) -> dict[str, Certificate]:
    return {"d_r": measures.recurrent_depth, "s": measures.skip_coefficient, "d_f": measures.feedforward_depth}


def _value(value: Fraction | None) -> str:
    return NOT_AVAILABLE if value is None else minus(str(value))


def _evidence(name: str, certificate: Certificate, rate: Fraction | None) -> str:
    """The walk in words."""
    if not certificate:
        return certificate.because
    walk: Walk = certificate.witness.walk
    counts = f"{plural(walk.length, 'edge')} in {minus(plural(walk.sigma, 'step'))}"
    if name == "d_f":
        sigma = minus(str(walk.sigma)) if walk.sigma >= 0 else f"({minus(str(walk.sigma))})"
        sum_ = f"{walk.length} − {rate} · {sigma} = {_value(certificate.value)}"
        return f"path {walk}: {counts}, l − d_r Σσ = {sum_}; no path has more"
    return f"cycle {walk}: {counts}; no cycle has {'more' if name == 'd_r' else 'fewer'} edges a step"


def figure(graph: RNNGraph, certificates: Mapping[str, Certificate]) -> Figure:
    """What every node reads, for people; the graph and the potentials, for programs."""
    into: dict[str, list[str]] = {node: [] for node in graph.nodes}
    for edge in graph.edges:
        into[edge.head].append(f"{edge.tail}({_before(edge.sigma)})")
    lines = [
        (_at(graph, node), [f"reads {reads[0]}", *reads[1:]] if reads else ["reads nothing"], ", ")
        for node, reads in into.items()
        if node not in graph.inputs or reads
    ]
    if inputs := [_at(graph, node) for node in graph.inputs if not into[node]]:
        lines.insert(0, ("input", inputs, "; "))
    if len(graph.nodes) > MOST_NODES_LISTED:
        lines = [(plural(len(graph.nodes), "node"), ["too many to list; --json FILE writes the graph"], "")]
    latex = [rf"{escape(left)} & {escape(between.join(parts))} \\" for left, parts, between in lines]
    potentials = {
        name: dict(zip(graph.nodes, certificate.witness.potential, strict=True))
        for name, certificate in certificates.items()
        if isinstance(certificate.witness, MeasureEvidence)
    }
    data = {
        "name": graph.name,
        "period": graph.period,
        "nodes": dict(graph.nodes),
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "edges": [list(edge) for edge in graph.edges],
        "potentials": potentials,
    }

    def drawn(page: int) -> str:
        wide = max((room(left) for left, _, _ in lines), default=0) + 2
        if wide <= page // 2:
            each = (strung(right, page, between=by, first=padded(at, wide), rest=" " * wide) for at, right, by in lines)
        else:
            each = ([*wrapped(at, page), *_below(right, by, page)] for at, right, by in lines)
        return "\n".join(line for of_node in each for line in of_node)

    return Figure(
        text=drawn(PAGE),
        latex="\n".join([r"\begin{tabular}{lp{0.7\linewidth}}", *latex, r"\end{tabular}\par\medskip"]),
        data=(data,),
        drawn=drawn,
    )


def _below(parts: Sequence[str], between: str, page: int) -> list[str]:
    return strung(parts, page, between=between, first="    ", rest="    ")


def _at(graph: RNNGraph, node: str) -> str:
    return f"{node}(t)" if graph.period == 1 else f"{node}(t), t ≡ {graph.nodes[node]} mod {graph.period}"


def _before(sigma: int) -> str:
    return "t" if sigma == 0 else f"t − {sigma}" if sigma > 0 else f"t + {-sigma}"


def _record(name: str, certificate: Certificate) -> dict[str, Any]:
    """For programs: everything as plain data, fractions as text."""
    walk = getattr(certificate.witness, "walk", certificate.witness)
    shown = walk if isinstance(walk, Walk) else None
    return {
        "property": name,
        "holds": certificate.holds,
        "exact": certificate.exact,
        "value": _plain(certificate.value),
        "because": certificate.because,
        "start": None if shown is None else shown.start,
        "edges": None if shown is None else [str(edge) for edge in shown.edges],
        "length": None if shown is None else shown.length,
        "sigma": None if shown is None else shown.sigma,
        "witness": _plain(certificate.witness) if isinstance(certificate.witness, SlowClass) else None,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Growth):
        residues = {str(rate): list(of_rate) for rate, of_rate in value.residues.items()}
        return {"start": value.start, "modulus": value.modulus, "residues": residues}
    if isinstance(value, SlowClass):
        return {"start": value.start, "modulus": value.modulus, "residue": value.residue, "rate": str(value.rate)}
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return value


# --- its paths in time ------------------------------------------------------------------------------------------


def in_time(graph: RNNGraph, measures: Measures, steps: int) -> Table:
    """D_i(n), d_i(n) and D*_i(n) for every i in 0 … m − 1 and every n ≤ ``steps`` for which one is defined.

    Raises GraphError where condition (U) fails: paths are not bounded then.
    """
    rows, records = [], []
    for start in range(graph.period):
        longest, shortest = longest_paths(graph, start, steps), shortest_paths(graph, start, steps)
        between = longest_paths(graph, start, steps, between=True)
        for n in sorted(longest):
            ends = between.get(n)
            bound = None if measures.d_r is None or measures.d_f is None else n * measures.d_r + measures.d_f
            ratios = [Fraction(length[n], n) if n > 0 else None for length in (longest, shortest)]
            rows.append(
                (
                    str(start),
                    minus(str(n)),
                    str(longest[n]),
                    _value(ratios[0]),
                    str(shortest[n]),
                    _value(ratios[1]),
                    NOT_AVAILABLE if ends is None else str(ends),
                    _value(bound),
                )
            )
            records.append(
                {
                    "i": start,
                    "n": n,
                    "D": longest[n],
                    "D/n": _text(ratios[0]),
                    "d": shortest[n],
                    "d/n": _text(ratios[1]),
                    "D*": ends,
                    "bound": _text(bound),
                }
            )
    names = ("i", "n", "D_i(n)", "D_i(n)/n", "d_i(n)", "d_i(n)/n", "D*_i(n)", "bound")
    return Table(
        title=f"{graph.name}: paths from time i to time i + n · {measures}",
        columns=tuple(Column(name, "right") for name in names),
        rows=tuple(rows),
        caption=(
            "D, d: edges of the longest and the shortest path between any two nodes; D*: of the longest from an input "
            "to an output, and its bound n d_r + d_f. An n without a path has no row.",
        ),
        records=tuple(records),
    )


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


# --- the catalogue ----------------------------------------------------------------------------------------------


def listing(rows: Sequence[MeasuredEntry], families: Iterable[str]) -> Table:
    """One row for every architecture."""
    cells, records = [], []
    for row in rows:
        graph, wrong = row.entry.graph, []
        for name, value in row.entry.published.items():
            if row.values[name] != value:
                wrong.append(f"{name} = {value}")
        agrees = "as published" if row.entry.published else NOT_AVAILABLE
        verdict: str | Cell = Cell("", strong=f"published: {', '.join(wrong)}") if wrong else agrees
        values = {name: _value(row.values[name]) for name in ("d_r", "d_f", "s")}
        source = str(row.entry.source) if row.entry.source else NOT_AVAILABLE
        sizes = (str(graph.period), str(len(graph.nodes)), str(len(graph.edges)))
        cells.append((graph.name, *sizes, *values.values(), verdict, source))
        records.append(
            {
                "architecture": graph.name,
                "period": graph.period,
                "nodes": len(graph.nodes),
                "edges": len(graph.edges),
                **{name: _text(row.values[name]) for name in ("d_r", "d_f", "s")},
                "published": {name: str(value) for name, value in row.entry.published.items()},
                "differences": list(row.differences),
                "source": str(row.entry.source) if row.entry.source else None,
                "note": row.entry.note,
            }
        )
    numbers = ("m", "nodes", "edges", "d_r", "d_f", "s")
    return Table(
        title=f"{len(cells)} architectures",
        columns=(
            Column("architecture"),
            *(Column(name, "right") for name in numbers),
            Column("published"),
            Column("source", width=36, least=24),
        ),
        rows=tuple(cells),
        caption=(f"Families, with any numbers: {', '.join(families)}.",),
        records=tuple(records),
    )
