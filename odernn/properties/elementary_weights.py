"""Elementary weights Φ(t) of a method.

    Φ(t) = bᵀu(t),     u([t₁, …, t_m]) = Au(t₁) ∘ … ∘ Au(t_m),     u(τ) = 1

Hairer, Nørsett, Wanner 1993, Section II.2. For a partitioned method a branch with root of colour y is multiplied by the
A of y, and the root is weighed with the b of its colour. Branches, and products of the first few branches, are shared
between trees. The arithmetic is that of a ``Space``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from odernn.exact.linear_algebra import Vector
from odernn.properties.stage_spaces import Space
from odernn.properties.trees import Tree


class ElementaryWeights:
    """Φ(t) for the trees whose colours are those of ``spaces``; trees share what they have in common of u and Au."""

    def __init__(self, colours: Sequence[str], spaces: Sequence[Space]) -> None:
        self._spaces = dict(zip(colours, spaces, strict=True))
        self._any = spaces[0]
        self._u: dict[tuple[Tree, ...], Vector] = {(): spaces[0].one}
        self._Au: dict[Tree, Vector] = {}

    def __call__(self, tree: Tree) -> Any:
        """Φ(t) = bᵀu(t)."""
        space = self._spaces[tree.colour]
        return space.weight(space.weigh(self.u(tree.children)), tree.order)

    def u(self, children: tuple[Tree, ...]) -> Vector:
        """u([t₁, …, t_m]) = Au(t₁) ∘ … ∘ Au(t_m)."""
        known = self._u.get(children)
        if known is None:
            last = self.Au(children[-1])
            known = last if len(children) == 1 else self._any.product(self.u(children[:-1]), last)
            self._u[children] = known
        return known

    def Au(self, tree: Tree) -> Vector:
        """A u(t), with the A of the colour of its root."""
        known = self._Au.get(tree)
        if known is None:
            known = self._Au[tree] = self._spaces[tree.colour].apply(self.u(tree.children))
        return known
