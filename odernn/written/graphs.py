"""A graph of ``odernn.architecture`` in a notebook: the picture that ``pictures`` draws, or a table of its edges."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from odernn.architecture import pictures
from odernn.architecture.graph import RNNGraph
from odernn.architecture.measures import measures_of
from odernn.certificate import Certificate
from odernn.written.tables import paragraph, table

MOST_EDGES = 200
"""Of a table that is still read."""

DRAWN_NODES, DRAWN_EDGES = 32, 100
"""What is drawn while somebody waits: larger graphs take up to minutes, of which most go to the layout."""

NAMES = {"d_r": "recurrent depth d_r", "s": "recurrent skip coefficient s", "d_f": "feedforward depth d_f"}


def html(graph: RNNGraph) -> str:
    """Name and size, the three measures with the walks that attain them, and the picture.

    In the place of the picture its edges, and why: without matplotlib, or where drawing the graph would take long.
    """
    measures = measures_of(graph)
    certificates = dict(
        zip(NAMES, (measures.recurrent_depth, measures.skip_coefficient, measures.feedforward_depth), strict=True)
    )
    size = f": period {graph.period}, {len(graph.nodes)} nodes, {len(graph.edges)} edges"
    parts = [paragraph(size, strong=graph.name), _measures(certificates)]
    try:
        if len(graph.nodes) > DRAWN_NODES or len(graph.edges) > DRAWN_EDGES:
            raise pictures.PictureError(
                "of so many edges it takes long. odernn.architecture.pictures.svg(graph) draws it."
            )
        parts.append(_inline(pictures.svg(graph, measures=measures)))
    except (ImportError, pictures.PictureError) as error:
        parts += [_edges(graph), paragraph(f"No picture: {error}")]
    return f"<div>{''.join(parts)}</div>"


def _inline(picture: str) -> str:
    """The picture inside a page: without the head of a file, its title and description with names of their own."""
    own = hashlib.sha256(picture.encode()).hexdigest()[:8]
    picture = picture[picture.index("<svg") :]
    for name in ("title", "description"):
        picture = picture.replace(f' id="{name}"', f' id="{name}-{own}"', 1)
    labelled = 'aria-labelledby="title description"'
    return picture.replace(labelled, f'aria-labelledby="title-{own} description-{own}"', 1)


def _measures(certificates: Mapping[str, Certificate]) -> str:
    rows = []
    for name, certificate in certificates.items():
        walk = f"{certificate.witness.walk}" if certificate else certificate.because
        rows.append((NAMES[name], "–" if certificate.value is None else certificate.value, walk))
    return table(("measure", "value", "attained by"), rows, ("left", "right", "left"))


def _edges(graph: RNNGraph) -> str:
    rows = [
        (edge.tail, edge.head, edge.sigma, graph.role(edge.tail), graph.role(edge.head))
        for edge in graph.edges[:MOST_EDGES]
    ]
    made = table(("from", "to", "σ", "from is", "to is"), rows, ("left", "left", "right", "left", "left"))
    left_out = len(graph.edges) - len(rows)
    return made + (paragraph(f"and {left_out} more edges") if left_out else "")
