"""Rooted trees: one for each order condition of a Runge–Kutta method.

A tree is [t₁, …, t_m], a root that carries the trees t₁, …, t_m; τ = [] is a single vertex. For y' = f(y) it stands for
one elementary differential, and a method has order p iff for each tree of order ≤ p

    Φ(t) = 1/γ(t),        Φ(t) = bᵀu(t),     u([t₁, …, t_m]) = Au(t₁) ∘ … ∘ Au(t_m),     u(τ) = 1.

For systems in several parts the vertices carry colours, a vertex of colour y standing for the right-hand side of y.
Hairer, Nørsett, Wanner 1993, Section II.2; Hairer, Lubich, Wanner 2006, Section III.2; Butcher 2016, Section 310.

**The order of trees** is that of the tables in Hairer, Nørsett, Wanner 1993, Section II.2: t comes before u if it has
fewer vertices; else if its root has more children; else if its root's colour is first in the alphabet; else if its list
of children, each list ascending, is lexicographically first. At order 4: [τ,τ,τ], [τ,[τ]], [[τ,τ]], [[[τ]]]. The bushy
tree is the first of its order, the tall one the last.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


class Tree:
    """A rooted tree with coloured vertices: ``Tree([t1, t2], "y")`` is [t₁,t₂]_y. Equal trees are one object.

    children   the trees on the root, ascending      order     ρ, the number of vertices
    colour     of the root; "" if there is one only   density   γ(t) = ρ(t) γ(t₁) ⋯ γ(t_m)
    """

    __slots__ = ("children", "colour", "density", "key", "order")
    children: tuple[Tree, ...]
    colour: str
    order: int
    density: int
    key: tuple[Any, ...]

    def __new__(cls, children: Iterable[Tree] = (), colour: str = "") -> Tree:
        branches = tuple(children)
        known = _TREES.get((colour, branches))
        if known is None:
            known = _canonical(tuple(sorted(branches, key=_key)), colour)
            _TREES[colour, branches] = known
        return known

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"A tree is immutable: {name} of {self} cannot be set.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A tree is immutable: {name} of {self} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Tree, (self.children, self.colour)

    def __lt__(self, other: Tree) -> bool:
        return self.key < other.key

    @property
    def symmetry(self) -> int:
        """σ(t), the number of automorphisms: σ of the children times m! for each child that occurs m times."""
        counts = Counter(self.children)
        return math.prod(math.factorial(times) * child.symmetry**times for child, times in counts.items())

    @property
    def labelings(self) -> int:
        """α(t) = ρ!/(σγ), the number of ways to number the vertices so that numbers grow away from the root."""
        return math.factorial(self.order) // (self.symmetry * self.density)

    def __str__(self) -> str:
        mark = f"_{self.colour}" if self.colour else ""
        return f"[{','.join(map(str, self.children))}]{mark}" if self.children else f"τ{mark}"

    def __repr__(self) -> str:
        return str(self)


_TREES: dict[tuple[str, tuple[Tree, ...]], Tree] = {}


def _key(tree: Tree) -> tuple[Any, ...]:
    return tree.key


def _canonical(children: tuple[Tree, ...], colour: str) -> Tree:
    """The one tree with these children, which are in ascending order."""
    known = _TREES.get((colour, children))
    if known is not None:
        return known
    tree = object.__new__(Tree)
    order = 1 + sum(child.order for child in children)
    facts = {
        "children": children,
        "colour": colour,
        "order": order,
        "density": order * math.prod(child.density for child in children),
        "key": (order, -len(children), colour, tuple(child.key for child in children)),
    }
    for name, value in facts.items():
        object.__setattr__(tree, name, value)
    return _TREES.setdefault((colour, children), tree)


TAU = Tree()


@dataclass(frozen=True)
class Family:
    """A set of trees: those that the order conditions of one kind of system need.

    colours   of the vertices, in alphabetical order
    links     the colours that children may have, for each colour
    roots     the colours that the root may have
    leaves    the colours that vertices without children may have, the root apart
    bushes    η for each colour: no vertex but the root has k − 1 leaves, 2 ≤ k ≤ η, and no other children
    lone      ζ for each colour: no root has k − 1 leaves, 1 ≤ k ≤ ζ, and one other child, which is of this colour

    The last two leave out what the simplifying assumptions make superfluous: see ``odernn.properties.order``.
    """

    colours: tuple[str, ...]
    links: tuple[tuple[str, ...], ...]
    roots: tuple[str, ...]
    leaves: tuple[str, ...]
    bushes: tuple[int, ...] = (0, 0)
    lone: tuple[int, ...] = (0, 0)

    def has_branch(self, tree: Tree) -> bool:
        """Whether a tree all of whose branches are admitted may sit on another tree."""
        if not tree.children:
            return tree.colour in self.leaves
        is_bush = not tree.children[-1].children
        return not (is_bush and len(tree.children) < self.bushes[self.colours.index(tree.colour)])

    def has_root(self, tree: Tree) -> bool:
        """Whether a tree all of whose branches are admitted is in the family."""
        if tree.colour not in self.roots:
            return False
        if not tree.children or not tree.children[-1].children:
            return True
        others = [child for child in tree.children if child.children]
        return len(others) > 1 or len(tree.children) > self.lone[self.colours.index(others[0].colour)]


ROOTED = Family(("",), (("",),), ("",), ("",))
"""y' = f(y): 1, 1, 2, 4, 9, 20, 48, 115, 286, 719, … trees of order 1, 2, …"""

PARTITIONED = Family(("y", "z"), (("y", "z"), ("y", "z")), ("y", "z"), ("y", "z"))
"""y' = f(y, z), z' = g(y, z): 2, 4, 14, 52, 214, 916, 4116, 18996, … trees. Hairer, Lubich, Wanner 2006, III.2."""

SEPARABLE = Family(("y", "z"), (("z",), ("y",)), ("y", "z"), ("y", "z"))
"""y' = f(z), z' = g(y): colours alternate, for f has no derivative by y; twice the number of rooted trees."""

CLOCKED = Family(("t", "y"), ((), ("t", "y")), ("y",), ("t", "y"))
"""y' = f(t, y), t' = 1 with abscissae of their own: a vertex t has no children, for the slope 1 is constant."""


def trees(order: int, family: Family = ROOTED) -> Iterator[Tree]:
    """The trees of this order in the family, each once, in the order of the module's docstring; made when asked for."""
    return (tree for tree in _vertices(order, family) if family.has_root(tree))


def tree_count(order: int, colours: int = 1) -> int:
    """How many trees of this order there are if each vertex has one of so many colours.

    n a_{n+1} = Σ_{k=1}^{n} (Σ_{d|k} d a_d) a_{n+1−k}, from the generating function T = m x exp(Σ T(xᵏ)/k).
    """
    counts = [0, colours]
    for n in range(1, order):
        divisors = [sum(d * counts[d] for d in range(1, k + 1) if k % d == 0) for k in range(1, n + 1)]
        counts.append(sum(divisors[k - 1] * counts[n + 1 - k] for k in range(1, n + 1)) // n)
    return counts[order]


def _vertices(order: int, family: Family) -> Iterator[Tree]:
    """The trees whose branches are admitted, of any colour."""
    if order == 1:
        yield from (_canonical((), colour) for colour in family.colours)
    for valency in range(order - 1, 0, -1):
        for colour, links in zip(family.colours, family.links, strict=True):
            for children in _forests(order - 1, valency, links, family, (1, 0)):
                yield _canonical(children, colour)


def _forests(
    total: int, count: int, colours: tuple[str, ...], family: Family, first: tuple[int, int]
) -> Iterator[tuple[Tree, ...]]:
    """Ascending lists of ``count`` branches with ``total`` vertices, none before place (order, index) ``first``."""
    if count == 1:
        start = first[1] if total == first[0] else 0
        yield from ((tree,) for tree in _branches(total, family, colours)[start:])
        return
    for order in range(first[0], total // count + 1):
        start = first[1] if order == first[0] else 0
        branches = _branches(order, family, colours)
        for index in range(start, len(branches)):
            for rest in _forests(total - order, count - 1, colours, family, (order, index)):
                yield (branches[index], *rest)


@functools.cache
def _branches(order: int, family: Family, colours: tuple[str, ...]) -> tuple[Tree, ...]:
    """The trees of this order that may sit on a vertex with these ``links``, in order."""
    return tuple(tree for tree in _vertices(order, family) if tree.colour in colours and family.has_branch(tree))
