# Claims: sco-2.2b
"""sco-2.2b: how many unitary matrices the restricted-capacity parametrisation represents, by the rank of its
differential.
"""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

from flint import fmpq

from odernn.published.sources import Source
from verification.certify.second import cayley as again
from verification.claim import BOTH, Attempt, Case, Check, Claim, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number, numbers, rationals
from verification.kinds import Integer, Listed, Rational
from verification.measure import cayley_symbols as symbolic
from verification.measure import parameter_counts as counts
from verification.measure import reflection_ranks as ranks
from verification.parameters import Parameter, declared


def count_case(diagonals: int = 3) -> Case:
    """3 diagonals of n phases and 2 reflections by complex vectors, 3n + 2 · 2n = 7n real parameters, are fewer than
    the n² dimensions of the unitary group, for every n ≥ 8. Other numbers of ``diagonals`` are for tests.
    """
    parameters_per_row = diagonals + 2 * 2

    def tensors(n: int) -> int:
        """The same, tensor by tensor, of a network without inputs and outputs."""
        return counts.by_tensors("restricted uRNN", n, 0, 0, ()) + (diagonals - 3) * n

    def ask(_: Budget, __: int) -> Attempt:
        (t,) = symbolic.symbols("t")
        gap = (8 + t) ** 2 - parameters_per_row * (8 + t)
        text = f"{diagonals}n + 2 · 2n = {parameters_per_row}n real parameters; n = 8 + t: n² − that = {gap}"
        if gap(fmpq(0)) > 0 and all(c >= 0 for c in gap.coeffs()):
            proof = f"{text}, positive for t ≥ 0; a smooth image of fewer dimensions has measure 0"
            return Attempt(text, 1, found=f"{parameters_per_row}n", claimed="fewer than n²", proof=proof)
        return Attempt(text, 1, found=f"{parameters_per_row}n", claimed="fewer than n²", candidates=({"n": "8"},))

    def check(parameters: Parameters) -> Check:
        n = number(parameters, "n")
        enough = parameters_per_row * n >= n * n
        counted = tensors(int(n))
        text = f"n = {n}: {parameters_per_row * n} parameters, {n * n} dimensions"
        again = f"{counted} numbers in the tensors of W"
        return Check(
            opinions=(Opinion("formula", enough, text), Opinion("tensors", counted >= int(n) ** 2, again)),
            words=text,
        )

    parameters = declared(Parameter("n", Integer(8, 10**9)))
    return Case("n ≥ 8", "parameters of the restricted form against n²", ask, parameters.guards(check))


def generic_point(n: int, seed: int) -> ranks.Point:
    rng = random.Random(seed)
    order = list(range(n))
    rng.shuffle(order)
    return {
        "t": [Fraction(rng.randint(-9, 9), rng.randint(1, 9)) for _ in range(3 * n)],
        **{name: [Fraction(rng.randint(-9, 9) or 1) for _ in range(2 * n)] for name in "xy"},
        "order": [Fraction(k) for k in order],
    }


def rank_case(n: int, redundant: int = ranks.REDUNDANT, sign: int = -1) -> Case:
    """The parametrisation has a differential of rank n² somewhere: as it must to represent all unitary matrices.

    redundant   how many directions are said to leave W alone, at every point; sign   of the turn (``ranks``)
    """
    size = n * n
    most = 7 * n - redundant

    def ask(_: Budget, seed: int) -> Attempt:
        points = [generic_point(n, seed + k) for k in range(3)]
        point = max(points, key=ranks.rank)
        two_ranks = ranks.rank(point), ranks.rank_again(point)
        if two_ranks[0] != two_ranks[1]:
            raise ArithmeticError(f"n = {n}: rank {two_ranks[0]} in closed form, {two_ranks[1]} by dual numbers")
        described = f"rank {two_ranks[0]} of {7 * n} parameters, modulo two primes, at t = {rationals(point['t'])}"
        if two_ranks[0] == size:
            text = f"{described}, x = {rationals(point['x'])}, y = {rationals(point['y'])}: no less in Q(i, ζ_{n})"
            return Attempt(text, 3, found=str(size), claimed=str(size), proof=text, twice=BOTH)
        candidates = ({"a_re": _row(n, 1), "a_im": _row(n, 0), "b_re": _row(n, 2), "b_im": _row(n, 1)},)
        return Attempt(described, 3, found=str(two_ranks[0]), claimed=str(size), candidates=candidates)

    def check(parameters: Parameters) -> Check:
        a, b = (list(zip(numbers(parameters, f"{v}_re"), numbers(parameters, f"{v}_im"), strict=True)) for v in "ab")
        apart = any(
            again.times(p, s) != again.times(q, r)
            for (p, q), (r, s) in itertools.combinations(zip(a, b, strict=True), 2)
        )
        text = f"rank at most 7n − {redundant} = {most} at every point, {size} dimensions"
        return Check(
            opinions=(
                Opinion("flint", ranks.turn_commutes(sign) and most < size, f"{text}; the turn, as polynomials"),
                Opinion(
                    "fractions", ranks.turn_commutes_at(a, b, sign) and most < size, f"{text}; the turn, at a and b"
                ),
            ),
            premises=(Premise("a and b are not parallel", str(int(apart)), apart),),
            words=f"n = {n}: W stays the same along lengths and phases of v₁ and v₂ (4), phases moved between D₁, D₂, "
            f"D₃ (2), and turning the two reflections together (1), so the rank is at most {most} < {size}",
        )

    parameters = declared(*(Parameter(name, Listed(Rational(), n)) for name in ("a_re", "a_im", "b_re", "b_im")))
    can_fail = most < size  # else the rank says it all, and nothing typed in could be short of it
    domain = f"n = {n}"
    return Case(
        domain, "largest rank of the differential against n²", ask, parameters.guards(check) if can_fail else None
    )


def _row(n: int, k: int) -> str:
    return " ".join(str((j + 1) ** k % 7 + k) for j in range(n))


CLAIMS = (
    Claim(
        id="sco-2.2b",
        source=Source("scornn", "Sec. 2.2"),
        statement="the restricted-capacity form has 7n real parameters, fewer than the n² dimensions of U(n), and so "
        "cannot give every unitary matrix, for every n ≥ 8",
        semantics="alg",
        dominated_by="thm-U2",
        cases=(count_case(), *map(rank_case, range(2, 8))),
    ),
)
