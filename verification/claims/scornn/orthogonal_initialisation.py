# Claims: sco-4.2a · sco-4.2c · thm-init
"""The eigenvalues of W = C(A) D at the initialisation of scoRNN, and their law.   sco-4.2a, sco-4.2c, thm-init

An angle t with a rational s = tan(t/2) has a rational cosine: refutations are matrices over Q. Laws are exact, shares
of arcs and atoms (``measure.orthogonal_initialisation``); what is drawn is compared with them by Kolmogorov's distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from flint import fmpq

from odernn.published.networks import PublishedNetwork, networks
from odernn.published.sources import Source
from verification.cases.decision import at, decided
from verification.cases.scornn_parameters import signs
from verification.certify.block_spectra import as_poly, block_again, block_identity, computed_block, cosine, fraction
from verification.claim import Attempt, Case, Check, Claim, Decided, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number, numbers
from verification.kinds import Constant, Rational
from verification.measure.orthogonal_initialisation import (
    Blocks,
    SpectralLaw,
    kolmogorov_distance,
    log_failure_probability,
    spectral_law,
)
from verification.parameters import Parameter, declared

HALVES = (Fraction(1, 2), Fraction(1, 3), Fraction(2, 3), Fraction(1, 4))
"""s = tan(t/2) of angles in (0, π/2); cos t = 3/5, 4/5, 5/13, 15/17."""
HALF = Parameter("s", Rational(least=0, most=1))
"""tan(t/2) of an angle in [0, π/2]."""

# --- e^{±it}, or ±e^{it}


def rotation_identity(power: int = 2) -> str:
    """The eigenvalues of C([[0, s], [−s, 0]]) are e^{±it} where s^``power`` (1 + cos t) = 1 − cos t; "" if not."""
    if not block_identity(1, 1, power):
        return ""
    return (
        "det(xI − C(B_j)) = x² − 2x cos t_j + 1 as polynomials in x, s, cos t where s²(1 + cos t) = 1 − cos t: the "
        "eigenvalues of every block are e^{±it_j}"
    )


def conjugate_case(power: int = 2) -> Case:
    """The eigenvalues of a block are e^{it} and e^{−it}."""

    def ask(_: Budget, __: int) -> Attempt:
        proof = rotation_identity(power)
        return Attempt(
            proof or "one block, as polynomials", 1, proof=proof, candidates=() if proof else ({"s": "1/2"},)
        )

    def claimed(s: Fraction) -> Fraction:
        """2 cos t, t from s^power = (1 − cos t)/(1 + cos t)."""
        return 2 * (1 - s**power) / (1 + s**power)

    def check(parameters: Parameters) -> Check:
        return _trace_check(parameters, claimed)

    return Case("read as e^{±it_j}", "eigenvalues of C(A)", ask, declared(HALF).guards(check))


def opposite_case() -> Case:
    """The eigenvalues of a block are e^{it} and −e^{it}, as printed: their sum is 0."""

    def ask(_: Budget, __: int) -> Attempt:
        wrong = [s for s in HALVES if cosine(s) != 0]
        return Attempt(
            f"{len(HALVES)} rational angles",
            len(HALVES),
            found="e^{it}, e^{−it}",
            claimed="e^{it}, −e^{it}",
            candidates=tuple({"s": str(s)} for s in wrong),
        )

    def check(parameters: Parameters) -> Check:
        return _trace_check(parameters, lambda _: Fraction(0))

    return Case("as printed, ±e^{it_j}", "eigenvalues of C(A)", ask, declared(HALF).guards(check))


def _trace_check(parameters: Parameters, claimed: Callable[[Fraction], Fraction]) -> Check:
    s = number(parameters, "s")
    wanted = claimed(s)
    trace = -computed_block(s, 1, 1)[1]
    again = -block_again(s, 1, 1)[1]
    return Check(
        opinions=(
            Opinion("flint", trace != fmpq(wanted.numerator, wanted.denominator), f"trace {trace}"),
            Opinion("fractions", again != wanted, f"trace {again}"),
        ),
        words=f"s = {s}, cos t = {cosine(s)}: the trace of the block is {trace}, the sum of the eigenvalues claimed "
        f"{wanted}",
    )


SIGNS = ((1, 1), (-1, -1), (1, -1), (-1, 1))
"""The diagonal of D on a block: kept, reflected, and mixed in either order."""


def blocks_case(power: int = 2) -> Case:
    """A block with the signs d, e has x² − (d + e) cos t x + d e: e^{±it}, −e^{±it}, or 1 and −1 whatever t is."""

    def claimed(s: Fraction, d: int, e: int) -> list[Fraction]:
        cosine_of_t = (1 - s**power) / (1 + s**power)
        return [Fraction(d * e), -cosine_of_t * (d + e), Fraction(1)]

    def ask(_: Budget, __: int) -> Attempt:
        good = all(block_identity(d, e, power) for d, e in SIGNS)
        text = "det(xI − C(B_j) diag(d, e)) = x² − (d + e) x cos t_j + d e as polynomials in x, s_j, cos t_j, four d, e"
        wrong = [pair for pair in SIGNS if as_poly(claimed(HALVES[0], *pair)) != computed_block(HALVES[0], *pair)]
        return Attempt(
            text,
            len(SIGNS),
            found="as claimed" if good else f"{len(wrong)} exceptions",
            claimed="as claimed",
            proof=text if good else "",
            candidates=tuple({"s": str(HALVES[0]), "D": f"{d} {e}"} for d, e in wrong),
        )

    def check(parameters: Parameters) -> Check:
        s, D = number(parameters, "s"), [int(value) for value in numbers(parameters, "D")]
        wanted, first, again = claimed(s, *D), computed_block(s, *D), block_again(s, *D)
        return Check(
            opinions=(
                Opinion("flint", first != as_poly(wanted), f"{first}"),
                Opinion("fractions", again != wanted, f"{[str(c) for c in again]} of 1, x, x²"),
            ),
            words=f"s = {s}, D = diag({D[0]}, {D[1]}): {first}, not x² − ({D[0]} + {D[1]}) x cos t + {D[0] * D[1]}",
        )

    parameters = declared(HALF, Parameter("D", signs(2)))
    return Case("every t_j, D = ±1", "eigenvalues of a block of W", ask, parameters.guards(check))


# --- laws, exactly


def law_case(domain: str, quantity: str, D: Sequence[int], holds: Callable[[SpectralLaw], bool], claimed: str) -> Case:
    """The law of the angle of a random eigenvalue over t_j ~ U[0, π/2], for one D."""
    given, shown_D = list(D), " ".join(map(str, D))

    def ask(_: Budget, __: int) -> Attempt:
        law = spectral_law(Blocks.of(given))
        if law != law_again(given):
            raise ArithmeticError(f"D = {given}: {law} by blocks, {law_again(given)} by roots")
        shown = f"n = {len(given)}, ρ = {given.count(-1)}: {_text(law)}"
        good = holds(law)
        return Attempt(
            shown,
            1,
            found=shown,
            claimed=claimed,
            proof=f"{shown}, exactly" if good else "",
            candidates=() if good else ({"D": shown_D},),
        )

    def check(_: Parameters) -> Check:
        law, again = spectral_law(Blocks.of(given)), law_again(given)
        return Check(
            opinions=(
                Opinion("shares of blocks", not holds(law), _text(law)),
                Opinion("flint, by roots", not holds(again), _text(again)),
            ),
            words=f"n = {len(given)}, ρ = {given.count(-1)}: {_text(law)}, not {claimed}"
            + (f"; Kolmogorov distance to that {law.distance}" if holds is _uniform else ""),
        )

    return Case(domain, quantity, ask, declared(Parameter("D", Constant(shown_D))).guards(check))


def _text(law: SpectralLaw) -> str:
    return (
        f"share {law.right} uniform on the right and {law.left} on the left half circle, {law.at_one} at 1, "
        f"{law.at_minus_one} at −1"
    )


def law_again(D: Sequence[int]) -> SpectralLaw:
    """Once more by roots: those of a block that are the same for two angles are atoms, a trace > 0 is on the right."""
    n, counts = len(D), [0, 0, 0, 0]
    for k in range(n // 2):
        one, other = (computed_block(s, D[2 * k], D[2 * k + 1]) for s in HALVES[:2])
        if one == other:
            counts[2] += int(one(1) == 0)
            counts[3] += int(one(-1) == 0)
        else:
            counts[0 if fraction(one[1]) < 0 else 1] += 2
    if n % 2:
        counts[2 if D[-1] == 1 else 3] += 1
    return SpectralLaw(*(Fraction(count, n) for count in counts))


def _uniform(law: SpectralLaw) -> bool:
    return law.is_uniform


def _right(law: SpectralLaw) -> bool:
    return law.is_uniform_on_the_right


def signs_last(n: int, rho: int) -> list[int]:
    """The −1s last, as in the published code; for even n and ρ on whole blocks."""
    return [1] * (n - rho) + [-1] * rho


def half_case(network: PublishedNetwork) -> Case:
    """ρ = n/2, half rounded up, for the sizes that the paper uses it with: exactly uniform."""
    return law_case(
        f"printed {network.name}", "law of the eigenvalues of W", half_signs(network), _uniform, "uniform on the circle"
    )


def half_signs(network: PublishedNetwork) -> list[int]:
    """ρ = n/2, half rounded up, the −1s last."""
    n = network.hidden_size
    return signs_last(n, (n + 1) // 2)


def nearly_uniform_case(network: PublishedNetwork, pairs: Fraction = Fraction(1)) -> Case:
    """The law of the angle of an eigenvalue and the uniform one are at most ``pairs``/n apart: the one block that an
    odd ρ splits. ``pairs`` = 1/2 is a planted falsehood.
    """
    D = half_signs(network)
    n = len(D)

    def first(_: Parameters) -> Decided:
        distance = spectral_law(Blocks.of(D)).distance
        return Decided(distance > pairs / n, f"n = {n}, ρ = {D.count(-1)}: Kolmogorov distance {distance}")

    def second(_: Parameters) -> Decided:
        distance = distance_again(law_again(D))
        return Decided(distance * n > pairs, f"distance {distance}, by arcs")

    return decided(
        f"printed {network.name}",
        "law of the eigenvalues of W, at most 1/n from the uniform one",
        at({"D": " ".join(map(str, D))}),
        first,
        second,
        box=f"n = {n}, ρ = {D.count(-1)}, −1s last as in the published code",
        claimed=f"at most {pairs / n}",
        names=("shares of blocks", "roots and arcs"),
    )


def distance_again(law: SpectralLaw) -> Fraction:
    """Kolmogorov's distance to the uniform law, from two lists: arcs (from, to, probability), atoms, in units of π."""
    half = Fraction(1, 2)
    arcs = [(Fraction(k - 2, 2), Fraction(k - 1, 2), (law.right if k in (1, 2) else law.left) / 2) for k in range(4)]
    atoms = [(Fraction(0), law.at_one), (Fraction(1), law.at_minus_one)]

    def below(x: Fraction, *, closed: bool) -> Fraction:
        """The probability of an angle < x, or ≤ x."""
        spread = sum((p * min(max((x - a) / (b - a), Fraction(0)), Fraction(1)) for a, b, p in arcs), Fraction(0))
        return spread + sum((p for place, p in atoms if place < x or (closed and place == x)), Fraction(0))

    ends = [Fraction(k, 2) for k in range(-2, 3)]
    return max(abs(below(x, closed=closed) - (x + 1) * half) for x in ends for closed in (False, True))


def has_half(network: PublishedNetwork) -> bool:
    share = network.hyperparameters["rho"]
    return share == Fraction(network.hidden_size, 2)


def random_law(n: int) -> SpectralLaw:
    """Of a random eigenvalue over a random D with ρ = n/2, n even: blocks drawn without replacement."""
    half = n // 2
    mixed = Fraction(2 * half * (n - half), n * (n - 1))
    same = (1 - mixed) / 2
    return SpectralLaw(same, same, mixed / 2, mixed / 2)


def random_case(n: int) -> Case:
    """ρ = n/2 of the coordinates at random: an atom of more than 1/4 at each of 1 and −1, for every even n."""

    def ask(_: Budget, __: int) -> Attempt:
        shown = _text(random_law(n))
        good = random_law(n).is_uniform
        return Attempt(
            f"n = {n}: {shown}",
            1,
            found=shown,
            claimed="uniform on the unit circle",
            proof=shown if good else "",
            candidates=() if good else ({"n": str(n)},),
        )

    def check(_: Parameters) -> Check:
        law = random_law(n)
        chosen = list(combinations(range(n), n // 2))
        atoms = [law_again([-1 if place in subset else 1 for place in range(n)]).at_one for subset in chosen]
        atom = sum(atoms, Fraction(0)) / len(chosen)
        return Check(
            opinions=(
                Opinion("shares of blocks", not law.is_uniform, _text(law)),
                Opinion("flint, all placements", atom > 0, f"{len(chosen)} placements: {atom} at 1"),
            ),
            words=f"n = {n}, ρ = {n // 2} at random: {law.at_one} of the eigenvalues are 1 and "
            f"{law.at_minus_one} are −1, and for every even n n/(4(n − 1)) > 1/4 of them; Kolmogorov distance "
            f"{law.distance}",
        )

    parameters = declared(Parameter("n", Constant(n)))
    return Case(f"ρ = n/2 at random, n = {n}", "law of the eigenvalues of W", ask, parameters.guards(check))


# --- drawn spectra

DRAWN = {"smoke": (256,), "standard": (256, 512), "deep": (256, 512, 1024)}
LOG_RISK = math.log(1e-9)
"""A drawn spectrum may be further from its law than what is claimed with this probability."""


def tolerance(n: int, groups: int) -> float:
    """d with log_failure_probability(n, d) = LOG_RISK."""
    return math.sqrt((math.log(2 * groups) - LOG_RISK) / (4 * groups * n))


def drawn_case(groups: int, widened: float = 1.0) -> Case:
    """Eigenvalues of the computed W against the uniform law: right half circle (groups = 1, ρ = 0), or circle (2)."""

    def ask(budget: Budget, seed: int) -> Attempt:
        import torch

        from odernn.orthogonal.cayley import block_angles, scaled_cayley, signs_of

        worst, reach = (-math.inf, 0.0, 0.0, 0), math.pi / 2 if groups == 1 else math.pi
        for n in DRAWN[budget.name]:
            A = block_angles(n, generator=torch.Generator().manual_seed(seed % 2**31), dtype=torch.float64)
            W = scaled_cayley(A, signs_of(n, 0 if groups == 1 else n // 2))
            angles = np.angle(np.linalg.eigvals(W.numpy()))
            distance = kolmogorov_distance(angles, -reach * widened, reach * widened)
            claimed = tolerance(n, groups)
            assert abs(log_failure_probability(n, claimed, groups=groups) - LOG_RISK) < 1e-9
            worst = max(worst, (distance / claimed, distance, claimed, n))
        _, distance, claimed, n = worst
        return Attempt(
            f"spectra of W in float64, n = {', '.join(map(str, DRAWN[budget.name]))}",
            len(DRAWN[budget.name]),
            log_measured=math.log(distance),
            log_claimed=math.log(claimed),
            found=f"distance {distance:.4f} at n = {n}",
            claimed=f"at most {claimed:.4f} there, but with probability 1e-9",
        )

    domain = "drawn, ρ = 0" if groups == 1 else "drawn, ρ = n/2 on whole blocks"
    return Case(domain, "Kolmogorov distance to the uniform law", ask)


_ODD = signs_last(425, 0)
_HALF = [network for network in networks("scornn") if has_half(network)]

CLAIMS = (
    Claim(
        id="sco-4.2a",
        source=Source("scornn", "Sec. 4.2"),
        statement="with t_j ~ U[0, π/2], s_j = √((1 − cos t_j)/(1 + cos t_j)), C(A) has the eigenvalues e^{±it_j} (the "
        "sign stands before e in print), and these are uniform on the right half of |z| = 1",
        semantics="real",
        dominated_by="thm-init",
        cases=(
            opposite_case(),
            conjugate_case(),
            law_case("n even, n = 170", "law of the eigenvalues of C(A)", [1] * 170, _right, "uniform on the right"),
            law_case("n odd, n = 425 (TIMIT)", "law of the eigenvalues of C(A)", _ODD, _right, "uniform on the right"),
            law_case(
                "n odd, n = 425 (TIMIT)",
                "law of the n − 1 eigenvalues e^{±it_j} of C(A)",
                _ODD[:-1],
                _right,
                "uniform on the right",
            ),
            drawn_case(1),
        ),
    ),
    Claim(
        id="sco-4.2c",
        source=Source("scornn", "Sec. 5.1"),
        statement="ρ = n/2: the initial spectrum of W is uniform on the circle |z| = 1: the law of an eigenvalue "
        "taken at random is uniform",
        semantics="real",
        dominated_by="thm-init",
        cases=(
            *map(nearly_uniform_case, _HALF),
            *map(half_case, _HALF),
            random_case(8),
            drawn_case(2),
        ),
    ),
    Claim(
        id="thm-init",
        source=Source("library", "docs/derivations/orthogonal_initialisation.md"),
        statement="C(A) D has e^{±it} for each block without −1, −e^{±it} for each with two, 1 and −1 for each with "
        "one; with half of the blocks reflected the law is uniform on the circle",
        semantics="real",
        origin="library",
        cases=(
            conjugate_case(),
            blocks_case(),
            law_case("n = 512, ρ = 256", "law of the eigenvalues of W", signs_last(512, 256), _uniform, "uniform"),
        ),
    ),
)
