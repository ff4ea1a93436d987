# Claims: sco-4.2b
"""sco-4.2b: does multiplication by D reflect ρ eigenvalues of C(A) across the imaginary axis?

With t_j in (0, π/2) no eigenvalue e^{±it_j}, kept or reflected, is 1 or −1; only an odd n has one such eigenvalue more.
A 2x2 block with one −1 has both. So one mixed block decides, whatever the other angles are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from odernn.published.networks import PublishedNetwork, networks
from odernn.published.sources import Source
from verification.cases.scornn_parameters import row_of_signs, signs
from verification.certify.block_spectra import (
    as_poly,
    block_again,
    block_identity,
    by_blocks,
    computed,
    computed_block,
    distinct_halves,
)
from verification.claim import GIVEN, Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import numbers, rationals
from verification.kinds import Listed, Rational
from verification.measure.orthogonal_initialisation import Blocks
from verification.parameters import Parameter, declared

Signs = Sequence[int]
KEPT_OR_TURNED = ((1, 1), (-1, -1))
ANY_ANGLE = "for every t_j: blocks have x² ∓ 2x cos t_j + 1, as polynomials in x, s_j, cos t_j"
EXHAUSTIVE = 6
"""Up to this n the characteristic polynomial is compared with that of every spectrum that the statement allows."""


def _parameters(D: Signs) -> Parameters:
    return {"D": " ".join(map(str, D)), "s": rationals(distinct_halves(len(D)))}


def _allowed(halves: Sequence[Fraction], n: int, rho: int) -> list[list[Fraction]]:
    """Spectra of C(A) with ρ eigenvalues reflected that a real matrix can have: whole pairs, and the 1 of an odd n."""
    rows = []
    for turned in range(n // 2 + 1):
        last = rho - 2 * turned
        if last not in ((0, 1) if n % 2 else (0,)):
            continue
        for chosen in combinations(range(n // 2), turned):
            D = [-1 if place // 2 in chosen else 1 for place in range(n // 2 * 2)] + [1 - 2 * last] * (n % 2)
            rows.append(by_blocks(halves, D))
    return rows


def is_reflected(halves: Sequence[Fraction], D: Signs) -> bool:
    """Whether the spectrum of C(A) D is that of C(A) with ρ eigenvalues reflected; FLINT."""
    if len(D) <= EXHAUSTIVE:
        polynomial = computed(halves, D)
        return any(polynomial == as_poly(spectrum) for spectrum in _allowed(halves, len(D), list(D).count(-1)))
    blocks = [computed_block(s, *D[2 * k : 2 * k + 2]) for k, s in enumerate(halves)]
    return all(block(1) != 0 and block(-1) != 0 for block in blocks)


def is_reflected_again(halves: Sequence[Fraction], D: Signs) -> bool:
    """Each block is e^{±it} or −e^{±it}, and twice the number of the latter (and one for a last −1) is ρ; fractions."""
    turned = 0
    for k, s in enumerate(halves):
        block, kept = block_again(s, *D[2 * k : 2 * k + 2]), block_again(s, 1, 1)
        if block == kept:
            continue
        if block != [kept[0], -kept[1], kept[2]]:
            return False
        turned += 2
    turned += int(len(D) % 2 == 1 and D[-1] == -1)
    return turned == list(D).count(-1)


def reflection_case(domain: str, placements: Callable[[], Sequence[Signs]], box: str, why: str = "") -> Case:
    """For every D of the row: exact characteristic polynomials at rational angles.

    ``why`` says how an exception goes on for larger n.
    """
    rows = placements()

    def ask(_: Budget, __: int) -> Attempt:
        wrong = [D for D in rows if not is_reflected(distinct_halves(len(D)), D)]
        text = f"{box}: {len(rows)} choices of D, exact characteristic polynomials"
        return Attempt(
            text,
            len(rows),
            found=f"{len(wrong)} exceptions" + (", every one" if len(wrong) == len(rows) else ""),
            claimed="ρ eigenvalues reflected",
            proof="" if wrong or not all(block_identity(*pair) for pair in KEPT_OR_TURNED) else f"{text}; {ANY_ANGLE}",
            candidates=tuple(_parameters(D) for D in wrong[:3]),
        )

    def check(parameters: Parameters) -> Check:
        D, halves = [int(value) for value in numbers(parameters, "D")], numbers(parameters, "s")
        mixed = [k + 1 for k in range(len(D) // 2) if D[2 * k] != D[2 * k + 1]]
        shown = f"blocks {', '.join(map(str, mixed[:4]))}{' …' if mixed[4:] else ''} have eigenvalues 1 and −1"
        return Check(
            opinions=(
                Opinion("flint", not is_reflected(halves, D), shown),
                Opinion("fractions", not is_reflected_again(halves, D), shown),
            ),
            words=f"n = {len(D)}, ρ = {D.count(-1)}: {shown} for every t_j > 0, neither e^{{±it_j}} nor reflections of "
            f"them" + (f"; {why}" if why else ""),
        )

    parameters = declared(Parameter("D", row_of_signs(rows)), HALVES)
    return Case(domain, "spectrum of C(A) D", ask, parameters.guards(check))


HALVES = Parameter("s", Listed(Rational(above=0, below=1), lambda v: len(v["D"]) // 2))
"""tan(t/2) of an angle in (0, π/2) for each block of two."""


def aligned(n: int) -> list[list[int]]:
    """Every D with its −1s on whole blocks, and either sign of a last 1x1 block."""
    lasts = ([1], [-1]) if n % 2 else ([],)
    return [
        [-1 if place // 2 in chosen else 1 for place in range(n // 2 * 2)] + last
        for turned in range(n // 2 + 1)
        for chosen in combinations(range(n // 2), turned)
        for last in lasts
    ]


def every(n: int) -> list[list[int]]:
    """Every D."""
    return [
        [-1 if place in chosen else 1 for place in range(n)]
        for rho in range(n + 1)
        for chosen in combinations(range(n), rho)
    ]


def of_odd_rho(sizes: Sequence[int]) -> list[list[int]]:
    """Every D with an odd number of −1s, of even sizes."""
    return [D for n in sizes for D in every(n) if D.count(-1) % 2]


def published_signs(network: PublishedNetwork) -> list[list[int]]:
    """D as in the published code, the −1s last; ρ the printed share of n, half rounded up."""
    share = network.hyperparameters["rho"]
    assert isinstance(share, Fraction)
    rho = int(share + Fraction(1, 2))
    return [[1] * (network.hidden_size - rho) + [-1] * rho]


def printed_case(network: PublishedNetwork) -> Case:
    """A network of the paper."""
    rho = published_signs(network)[0].count(-1)
    box = f"n = {network.hidden_size}, ρ = {rho}, the −1s last as in the published code"
    return reflection_case(f"printed {network.name}", lambda: published_signs(network), box)


# --- the weaker reading


def left_half_case(sizes: Sequence[int] = (1, 2, 3, 4, 5, 6, 7), off: int = 0) -> Case:
    """The number of eigenvalues with a negative real part is ρ + ``off``, for every D and t_j in [0, π/2)."""

    def ask(_: Budget, __: int) -> Attempt:
        tried = [D for n in sizes for D in every(n)]
        wrong = [D for D in tried if Blocks.of(D).left != D.count(-1) + off]
        text = (
            f"all {len(tried)} D with n ≤ {max(sizes)}: blocks with none, one, two −1 have 0, 1, 2 eigenvalues on the "
            "left for every t_j < π/2, and every D is made of these"
        )
        return Attempt(
            text,
            len(tried),
            found=f"{len(wrong)} exceptions",
            claimed="ρ on the left",
            proof="" if wrong else text,
            candidates=tuple(map(_parameters, wrong[:3])),
        )

    def check(parameters: Parameters) -> Check:
        D, halves = [int(value) for value in numbers(parameters, "D")], numbers(parameters, "s")
        roots: Any = computed(halves, D).complex_roots()  # pairs (enclosure, multiplicity)
        enclosed = sum(int(multiplicity) for root, multiplicity in roots if root.real < 0)
        counted = sum(int(sign == -1) for sign in D[-(len(D) % 2) or len(D) :])
        for k, s in enumerate(halves):
            constant, linear, _ = block_again(s, *D[2 * k : 2 * k + 2])
            counted += 1 if constant < 0 else 2 * (linear > 0)
        claimed = D.count(-1) + off
        return Check(
            opinions=(
                Opinion("flint", enclosed != claimed, f"{enclosed} enclosed roots on the left"),
                Opinion("fractions", counted != claimed, f"{counted} by signs of coefficients"),
            ),
            words=f"{GIVEN}: {counted} eigenvalues with a negative real part, not {claimed}",
        )

    parameters = declared(Parameter("D", signs((1, max(sizes)))), HALVES)
    return Case("any D, t_j < π/2", "eigenvalues with a negative real part: ρ", ask, parameters.guards(check))


CLAIMS = (
    Claim(
        id="sco-4.2b",
        source=Source("scornn", "Sec. 4.2"),
        statement="the scaling by D mirrors ρ eigenvalues in the imaginary axis: the spectrum of C(A) D is that of "
        "C(A) with ρ eigenvalues reflected",
        semantics="real",
        dominated_by="thm-init",
        cases=(
            reflection_case(
                "−1s on whole blocks", lambda: [D for n in range(1, 7) for D in aligned(n)], "n = 1 to 6, any angles"
            ),
            reflection_case("−1s anywhere", lambda: [D for n in range(2, 5) for D in every(n)], "n = 2 to 4"),
            reflection_case(
                "n even, ρ odd, every placement",
                lambda: of_odd_rho((2, 4, 6)),
                "n = 2, 4, 6",
                "an odd number of −1s on blocks of two splits one of them, wherever they stand, for every even n",
            ),
            *map(printed_case, networks("scornn")),
            left_half_case(),
        ),
    ),
)
