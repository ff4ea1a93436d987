"""Rooted trees against the literature and against a count of increasing numberings that knows no recursion of ours."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from odernn.properties.trees import CLOCKED, PARTITIONED, ROOTED, SEPARABLE, TAU, Family, Tree, tree_count, trees

ROOTED_COUNTS = (1, 1, 2, 4, 9, 20, 48, 115, 286, 719, 1842, 4766, 12486)  # OEIS A000081
TWO_COLOURED_COUNTS = (2, 4, 14, 52, 214, 916, 4116, 18996)  # OEIS A000151, twice
FIFTH = "[τ,τ,τ,τ] [τ,τ,[τ]] [τ,[τ,τ]] [τ,[[τ]]] [[τ],[τ]] [[τ,τ,τ]] [[τ,[τ]]] [[[τ,τ]]] [[[[τ]]]]"
# ρ, σ, γ, α of the trees of order ≤ 5, in this order: Hairer, Nørsett, Wanner 1993, Section II.2.
LITERATURE = {
    "τ": (1, 1, 1, 1),
    "[τ]": (2, 1, 2, 1),
    "[τ,τ]": (3, 2, 3, 1),
    "[[τ]]": (3, 1, 6, 1),
    "[τ,τ,τ]": (4, 6, 4, 1),
    "[τ,[τ]]": (4, 1, 8, 3),
    "[[τ,τ]]": (4, 2, 12, 1),
    "[[[τ]]]": (4, 1, 24, 1),
    "[τ,τ,τ,τ]": (5, 24, 5, 1),
    "[τ,τ,[τ]]": (5, 2, 10, 6),
    "[τ,[τ,τ]]": (5, 2, 15, 4),
    "[τ,[[τ]]]": (5, 1, 30, 4),
    "[[τ],[τ]]": (5, 2, 20, 3),
    "[[τ,τ,τ]]": (5, 6, 20, 1),
    "[[τ,[τ]]]": (5, 1, 40, 3),
    "[[[τ,τ]]]": (5, 2, 60, 1),
    "[[[[τ]]]]": (5, 1, 120, 1),
}


def parents(n: int):
    """All trees on 0, …, n − 1 with root 0 and numbers that grow away from it: vertex i hangs on any smaller one."""
    return itertools.product(*(range(i) for i in range(1, n)))


def shape(parent: tuple[int, ...], colours: str) -> str:
    """A name of the tree that does not depend on its numbering: brackets in the order of their text."""
    children: list[list[str]] = [[] for _ in range(len(parent) + 1)]
    for i in range(len(parent), 0, -1):
        children[parent[i - 1]].append(colours[i] + "(" + "".join(sorted(children[i])) + ")")
    return colours[0] + "(" + "".join(sorted(children[0])) + ")"


def own_shape(tree: Tree) -> str:
    return (tree.colour or "x") + "(" + "".join(sorted(map(own_shape, tree.children))) + ")"


def subtree_sizes(parent: tuple[int, ...]) -> list[int]:
    sizes = [1] * (len(parent) + 1)
    for i in range(len(parent), 0, -1):
        sizes[parent[i - 1]] += sizes[i]
    return sizes


@cache
def numberings(n: int) -> tuple[Counter[str], dict[str, int]]:
    """For each shape of order n how often it occurs among all numberings, α(t), and the product of subtree sizes."""
    occurs: Counter[str] = Counter()
    density = {}
    for parent in parents(n):
        name = shape(parent, "x" * n)
        occurs[name] += 1
        density[name] = math.prod(subtree_sizes(parent))
    return occurs, density


def test_the_trees_of_each_order_are_as_many_as_in_the_literature():
    assert tuple(sum(1 for _ in trees(n)) for n in range(1, 14)) == ROOTED_COUNTS
    assert tuple(tree_count(n) for n in range(1, 14)) == ROOTED_COUNTS


def test_two_colours_and_alternating_colours_are_counted():
    assert tuple(sum(1 for _ in trees(n, PARTITIONED)) for n in range(1, 8)) == TWO_COLOURED_COUNTS[:7]
    assert tuple(tree_count(n, 2) for n in range(1, 9)) == TWO_COLOURED_COUNTS
    assert tuple(sum(1 for _ in trees(n, SEPARABLE)) for n in range(1, 10)) == tuple(2 * m for m in ROOTED_COUNTS[:9])


@pytest.mark.parametrize("family", [ROOTED, PARTITIONED, SEPARABLE, CLOCKED], ids=["rooted", "pairs", "separable", "t"])
def test_no_tree_comes_twice_and_they_come_in_order(family: Family):
    for n in range(1, 7):
        found = list(trees(n, family))
        assert len(set(found)) == len(found) and all(a < b for a, b in itertools.pairwise(found))
        assert {tree.order for tree in found} == {n}


@pytest.mark.parametrize("n", range(1, 8))
def test_symmetry_density_and_labelings_agree_with_all_increasing_numberings(n: int):
    occurs, density = numberings(n)
    found = {own_shape(tree): tree for tree in trees(n)}
    assert found.keys() == occurs.keys() and sum(occurs.values()) == math.factorial(n - 1)
    for name, tree in found.items():
        assert (tree.labelings, tree.density) == (occurs[name], density[name])
        assert tree.symmetry * tree.density * occurs[name] == math.factorial(n)


def test_all_numberings_together_are_cayleys():
    for n in range(1, 10):
        assert sum(math.factorial(n) // tree.symmetry for tree in trees(n)) == n ** (n - 1)


@pytest.mark.parametrize("n", range(1, 6))
def test_coloured_trees_are_all_colourings_of_all_numberings(n: int):
    every = {shape(parent, "".join(word)) for parent in parents(n) for word in itertools.product("yz", repeat=n)}
    assert {own_shape(tree) for tree in trees(n, PARTITIONED)} == every
    alternating = set()
    for parent in parents(n):
        depth = [0] * n
        for i, above in enumerate(parent, 1):
            depth[i] = depth[above] + 1
        alternating |= {shape(parent, "".join(word[d % 2] for d in depth)) for word in ("yz", "zy")}
    assert {own_shape(tree) for tree in trees(n, SEPARABLE)} == alternating


def test_a_clock_has_no_children_and_is_no_root():
    for n in range(1, 6):
        want = {t for t in every_colouring(n, "ty") if "t(t" not in t and "t(y" not in t and t[0] == "y"}
        assert {own_shape(tree) for tree in trees(n, CLOCKED)} == want


def every_colouring(n: int, colours: str) -> set[str]:
    return {shape(parent, "".join(word)) for parent in parents(n) for word in itertools.product(colours, repeat=n)}


def test_the_table_of_the_literature():
    found = {str(tree): tree for n in range(1, 6) for tree in trees(n)}
    assert list(found) == list(LITERATURE) and " ".join(str(tree) for tree in trees(5)) == FIFTH
    for name, facts in LITERATURE.items():
        tree = found[name]
        assert (tree.order, tree.symmetry, tree.density, tree.labelings) == facts


def test_trees_print_with_their_colours():
    tree = Tree([Tree(colour="z"), Tree([Tree(colour="z")], "z"), Tree(colour="y")], "y")
    assert str(tree) == "[τ_y,τ_z,[τ_z]_z]_y"


def test_equal_trees_are_one_object_however_they_are_made():
    tall = Tree([Tree([TAU])])
    assert Tree([tall, TAU]) is Tree([TAU, tall]) and Tree([tall, TAU]).children == (TAU, tall)
    assert pickle.loads(pickle.dumps(tall)) is tall and copy.deepcopy(tall) is tall


def test_a_tree_cannot_be_changed():
    with pytest.raises(AttributeError, match="A tree is immutable: order of τ cannot be set"):
        TAU.order = 2
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del TAU.children


def superfluous(tree: Tree, eta: int, zeta: int) -> bool:
    """Whether a vertex not the root is a bush of order 2, …, η, or the root has one branch and below ζ leaves."""

    def has_bush(branch: Tree) -> bool:
        bush = 2 <= branch.order <= eta and len(branch.children) == branch.order - 1
        return bush or any(map(has_bush, branch.children))

    branches = [child for child in tree.children if child is not TAU]
    return any(map(has_bush, tree.children)) or (len(branches) == 1 and len(tree.children) <= zeta)


@pytest.mark.parametrize(("eta", "zeta"), [(1, 0), (1, 1), (2, 0), (2, 1), (3, 2), (2, 4), (5, 5)])
def test_a_reduced_family_leaves_out_the_superfluous_trees_and_no_others(eta: int, zeta: int):
    family = replace(ROOTED, bushes=(eta,), lone=(zeta,))
    for n in range(1, 10):
        assert list(trees(n, family)) == [tree for tree in trees(n) if not superfluous(tree, eta, zeta)]


def test_what_butchers_theorem_leaves_is_the_bushy_tree():
    for eta, zeta in itertools.product(range(1, 6), range(6)):
        for n in range(2, min(eta + zeta + 1, 2 * eta + 2) + 1):
            family = replace(ROOTED, bushes=(eta,), lone=(zeta,))
            assert [str(tree) for tree in trees(n, family)] == [str(Tree([TAU] * (n - 1)))]
    left = list(trees(7, replace(ROOTED, bushes=(2,), lone=(3,))))  # one order more: 7 = η + ζ + 2 = 2η + 3
    assert [str(tree) for tree in left] == ["[τ,τ,τ,τ,τ,τ]", "[τ,τ,τ,[τ,τ]]", "[[τ,τ],[τ,τ]]"]
