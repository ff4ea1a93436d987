"""Stages that do not matter: reductions of a Runge–Kutta method to an equivalent one with fewer stages.

Dahlquist–Jeltsch: stages are *unused* if no weight and no other stage reads them: b_j = 0 and a_ij = 0 for all j in
the set and i outside. Hundsdorfer–Spijker: stages are *equal* if they coincide on every differential equation: the
coarsest partition into classes K with Σ_{j∈K} a_ij = Σ_{j∈K} a_kj whenever i, k share a class; each class becomes one
stage, its weight the sum. Hairer, Wanner 1996, Section IV.12.

The functions that are constant on classes are the smallest set of stage vectors that contains 1 and is closed under
sums, stagewise products and A. So equal stages can be merged in any basis of the stage space, and two methods have
the same B-series iff the difference of their weights vanishes on that set, taken for both methods side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from odernn.certificate import Certificate
from odernn.exact.coefficients import total
from odernn.exact.linear_algebra import (
    Rows,
    Vector,
    dot,
)
from odernn.properties.equal_within_rounding import near_stages, possible_classes
from odernn.properties.generated_spaces import generated, merged_form, without_unused
from odernn.tableaus.methods import Method, about_given, direct_sum, form_of, forms_of, in_one_field, is_exact, resolve
from odernn.tableaus.stages import stagewise
from odernn.tableaus.tableau import ButcherTableau


def used_stages(A: Rows, b: Vector) -> list[int]:
    """The stages (from 0) that a weight reads, b_j ≠ 0, or a stage in use, a_ij ≠ 0: the others are *unused*."""
    used = [j for j in range(len(b)) if b[j] != 0]
    for i in used:  # grows while it is read
        used += [j for j in range(len(b)) if j not in used and A[i][j] != 0]
    return sorted(used)


def equal_stages(matrices: Sequence[Rows], apart: Sequence[Any] | None = None) -> list[list[int]]:
    """The coarsest classes of stages (from 0) that coincide on every differential equation.

    Start from one class and split it by the row sums over the classes until nothing splits. Several matrices are
    those of a partitioned method, whose stages are equal if they are in every component. Stages with different labels
    in ``apart`` never are.
    """
    labels = [0] * len(matrices[0]) if apart is None else list(apart)
    classes = [[i for i, label in enumerate(labels) if label == one] for one in dict.fromkeys(labels)]
    while True:
        signatures: dict[tuple[Any, ...], list[int]] = {}
        for i, label in enumerate(labels):
            sums = tuple(total(A[i][j] for j in members) for A in matrices for members in classes)
            signatures.setdefault((label, *sums), []).append(i)
        refined = list(signatures.values())
        if len(refined) == len(classes):
            return refined
        classes = refined


def merge(A: Rows, b: Vector, classes: Sequence[Sequence[int]]) -> tuple[Rows, Vector]:
    """The method with one stage for each class of equal stages."""
    merged = tuple(tuple(total(A[members[0]][j] for j in columns) for columns in classes) for members in classes)
    return merged, tuple(total(b[i] for i in members) for members in classes)


def dj_irreducibility(method: Method) -> Certificate:
    """Whether every stage is used; ``witness`` of a "no" is the ``Reduction``. It rests on zeros, which are meant."""
    unused = dj_reduction(method)
    if not unused.is_trivial:
        return Certificate("DJ-irreducible", False, True, unused, str(unused))
    return about_given(method, Certificate("DJ-irreducible", True, True, None, "every stage is used"))


def hs_irreducibility(method: Method) -> Certificate:
    """Whether no two stages are equal; ``witness`` of a "no" is the ``Reduction``.

    Undecided where stages of rounded coefficients are equal within the roundings.
    """
    merged = hs_reduction(method)
    witness = None if merged.is_trivial else merged
    text = "no two stages are equal" if merged.is_trivial else str(merged)
    certificate = Certificate("HS-irreducible", merged.is_trivial, True, witness, text)
    if is_exact(method):
        return certificate
    near = near_stages(possible_classes(resolve(method)))
    if near:
        return replace(certificate, holds=None, exact=False, because=near)
    return about_given(method, certificate)


def dj_reduction(method: Method) -> Reduction:
    """Leave out the unused stages (Dahlquist, Jeltsch 1979)."""
    form = form_of(method)
    if form.modulus is not None:
        return Reduction(without_unused(method, form), form.dimension)
    used = used_stages(form.operator, form.weights)
    if not used or len(used) == form.dimension:  # b = 0 uses no stage, and a tableau has at least one
        return Reduction(resolve(method), form.dimension)
    A = [[form.operator[i][j] for j in used] for i in used]
    unused = tuple(j + 1 for j in range(form.dimension) if j not in used)
    reduced = _like(method, A, [form.weights[j] for j in used], "used stages")
    return Reduction(reduced, form.dimension, unused=unused)


def hs_reduction(method: Method) -> Reduction:
    """Merge equal stages (Hundsdorfer, Spijker 1981)."""
    form = form_of(method)
    if form.modulus is not None:
        return Reduction(merged_form(method, form), form.dimension)
    classes = equal_stages([form.operator])
    if len(classes) == form.dimension:
        return Reduction(resolve(method), form.dimension)
    A, b = merge(form.operator, form.weights, classes)
    named = tuple(tuple(i + 1 for i in members) for members in classes if len(members) > 1)
    return Reduction(_like(method, A, b, "equal stages merged"), form.dimension, classes=named)


def reduction(method: Method) -> Reduction:
    """Merge equal stages and leave out unused ones until neither is left. Stages keep the numbers they have here."""
    merged = hs_reduction(method)
    result = dj_reduction(merged.method)
    if result.is_trivial:
        return merged
    stages = form_of(method).dimension
    if form_of(method).modulus is not None:
        return Reduction(result.method, stages)
    gone = {i for members in merged.classes for i in members[1:]}
    first = [i for i in range(1, stages + 1) if i not in gone]  # the stage of the method given that leads each class
    members_of = {members[0]: members for members in merged.classes}
    unused = [i for k in result.unused for i in members_of.get(first[k - 1], (first[k - 1],))]
    classes = tuple(members for members in merged.classes if members[0] not in unused)
    return Reduction(result.method, stages, tuple(sorted(unused)), classes)


def are_equivalent(first: Method, second: Method) -> bool:
    """Whether two methods have the same B-series, that is, are one map on every differential equation.

    After merging equal stages and leaving out unused ones this is equality up to the numbering of stages.
    """
    left, right = forms_of(first), forms_of(second)
    if len(left) != len(right):
        return False
    unified = in_one_field(*left, *right)
    left, right = unified[: len(left)], unified[len(left) :]
    if all(form.modulus is None for form in left + right):
        sums = [direct_sum(x, y) for x, y in zip(left, right, strict=True)]
        classes = equal_stages([form.operator for form in sums])
        return all(total(form.weights[i] for i in members) == 0 for form in sums for members in classes)
    difference = [x.weights + tuple(-w for w in y.weights) for x, y in zip(left, right, strict=True)]
    vectors = generated(left, right)
    return all(dot(weights, u) == 0 for u in vectors for weights in difference)


@dataclass(frozen=True)
class Reduction:
    """An equivalent method with fewer stages, or the same one if nothing was found.

    method    the reduced method: a tableau of a tableau, else a ``StageForm``
    unused    the stages left out, counted from 1          classes   the sets of equal stages that became one, from 1
    stages    number of stages before; in a basis other than that of stages ``unused`` and ``classes`` are empty
    """

    method: Method
    stages: int
    unused: tuple[int, ...] = ()
    classes: tuple[tuple[int, ...], ...] = ()

    @property
    def is_trivial(self) -> bool:
        """Whether the method is irreducible in the sense asked."""
        return form_of(self.method).dimension == self.stages

    def __str__(self) -> str:
        if self.is_trivial:
            return "irreducible"
        parts = [f"stages {', '.join(map(str, members))} are equal" for members in self.classes]
        if self.unused:
            parts.append(f"unused: {', '.join(map(str, self.unused))}")
        return "; ".join(parts) or f"{self.stages} stages become {form_of(self.method).dimension}"


def _like(method: Method, A: Sequence[Sequence[Any]], b: Sequence[Any], remark: str) -> Method:
    method = resolve(method)
    if isinstance(method, ButcherTableau):
        name = f"{method.name}, {remark}"
        return ButcherTableau(A, b, name=name, source=method.source, digits=method.digits, is_float=method.is_float)
    return stagewise(A, b)
