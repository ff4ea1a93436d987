"""Graphs of architectures typed from their description in the text, beside those of the catalogue."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

Edges = Sequence[tuple[str, str, int]]
LARGEST_SKIP = 64
DEEPEST_STACK = 30

# --- the graphs, typed from the text: in -> h1 and top -> out with σ = 0, loops with σ = 1, unless stated


def layered(layers: int, more: Edges = (), *, entry: int = 1, leave: int | None = None, loop: int = 1) -> str:
    """A chain of layers with loops, from in to out, and more edges; as JSON."""
    hidden = [f"h{number}" for number in range(1, layers + 1)]
    edges = {(one, other, 0) for one, other in itertools.pairwise(hidden)} | {(h, h, loop) for h in hidden}
    edges |= {("in", f"h{entry}", 0), (f"h{leave or layers}", "out", 0), *more}
    nodes = dict.fromkeys(["in", *hidden, "out"], 0)
    return json.dumps(
        {"period": 1, "nodes": nodes, "inputs": ["in"], "outputs": ["out"], "edges": sorted(map(list, edges))}
    )


def nine(f: int, r: int) -> str:
    """Section 4.3: L = max(f − 1, r) layers; for r > 1 an edge hr -> h1 of σ = 1; in and out so that f − 1 nodes lie
    between them.
    """
    back = [(f"h{r}", "h1", 1)] if r > 1 else []
    return layered(f - 1, back) if f - 1 >= r else layered(r, back, entry=r - f + 2, leave=r)


def section_4_5(number: int, k: int) -> str:
    """Section 4.5: two layers, and connections over k steps: none (1), h1 -> h2 (2), h2 -> h1 (3), both loops (4)."""
    more: dict[int, Edges] = {
        1: (),
        2: [("h1", "h2", k)],
        3: [("h2", "h1", k)],
        4: [("h1", "h1", k), ("h2", "h2", k)],
    }
    return layered(2, more[number])


def hierarchical(k: int, levels: int) -> str:
    """Levels 0, 1, …, of which level l acts at the times that k^l divides; m is the pace of the slowest.

    A level reads itself as last computed, the level below at the same time, and the level above as last computed.
    """
    paces = [k**level for level in range(levels)]
    m = paces[-1]
    nodes = {f"in@{t}": t for t in range(m)} | {f"out@{t}": t for t in range(m)}
    nodes |= {f"h{level}@{t}": t for level, pace in enumerate(paces) for t in range(0, m, pace)}
    edges = [[f"in@{t}", f"h0@{t}", 0] for t in range(m)]
    edges += [[f"h{level}@{t - t % pace}", f"out@{t}", t % pace] for level, pace in enumerate(paces) for t in range(m)]
    for level, pace in enumerate(paces):
        for t in range(0, m, pace):
            for other, slow in list(enumerate(paces))[level : level + 2]:
                since = (t - 1) % slow + 1
                edges.append([f"h{other}@{(t - since) % m}", f"h{level}@{t}", since])
            if level:
                edges.append([f"h{level - 1}@{t}", f"h{level}@{t}", 0])
    inputs, outputs = ([f"{end}@{t}" for t in range(m)] for end in ("in", "out"))
    return json.dumps({"period": m, "nodes": nodes, "inputs": inputs, "outputs": outputs, "edges": edges})


FIGURE_1A = json.dumps(
    {
        "period": 2,
        "nodes": {str(p): int(p > 4) for p in range(1, 9)},
        "inputs": ["1", "5"],
        "outputs": ["4", "8"],
        "edges": [
            *([str(p), str(p + 1), 0] for p in (1, 2, 3, 5, 6, 7)),
            ["3", "6", 1],
            ["7", "3", 1],
            ["3", "3", 2],
        ],
    }
)
"""Period 2, the edge (1,7) -> (0,3) of weight 1, the loop of (0,3) of weight 2; the rest is reconstructed."""
