"""Edges of an architecture graph and walks along them: what a certificate shows of a graph.

l = Σ 1, σ-sum = Σ σ over the edges of a walk   Zhang et al. 2016, Sec. 3
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, final


class Edge(NamedTuple):
    """``head`` at time t + sigma reads ``tail`` at time t."""

    tail: str
    head: str
    sigma: int

    def __str__(self) -> str:
        return f"{self.tail} -({self.sigma})-> {self.head}"


_SHOWN: Final = 12


@final
@dataclass(frozen=True)
class Walk:
    """A walk in the graph: ``parts`` one after the other, each (edges, times) a sequence of edges repeated.

    A walk that is no single part is closed and every part is closed at the node where it starts: the walk that shows
    a σ-sum of 0 may need its cycles as often as the largest σ, so it is never written out.
    """

    parts: tuple[tuple[tuple[Edge, ...], int], ...]
    start: str

    @classmethod
    def along(cls, edges: Iterable[Edge], *, start: str | None = None) -> Walk:
        """These edges one after the other; the empty walk needs its ``start``."""
        edges = tuple(edges)
        if not edges and start is None:
            raise ValueError("A walk without edges needs a start. Pass start=.")
        return cls(((edges, 1),), edges[0].tail if edges else str(start))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Every edge in order; as long as the walk."""
        return tuple(edge for part, times in self.parts for _ in range(times) for edge in part)

    @property
    def length(self) -> int:
        """Number of edges l."""
        return sum(len(part) * times for part, times in self.parts)

    @property
    def sigma(self) -> int:
        """Sum of σ."""
        return sum(times * sum(edge.sigma for edge in part) for part, times in self.parts)

    @property
    def end(self) -> str:
        return next((part[-1].head for part, times in reversed(self.parts) if part and times), self.start)

    @property
    def is_closed(self) -> bool:
        return self.length > 0 and self.start == self.end

    def __str__(self) -> str:
        parts = [f"{times} times ({_text(part)})" if times > 1 else _text(part) for part, times in self.parts if part]
        return " then ".join(parts) or self.start


def _text(part: tuple[Edge, ...]) -> str:
    steps = [f" -({edge.sigma})-> {edge.head}" for edge in part]
    if len(steps) > _SHOWN:
        half = _SHOWN // 2
        steps[half:-half] = [f" … {len(steps) - 2 * half} edges …"]
    return part[0].tail + "".join(steps)
