# Claims: sco-4.1b · sco-5.5.2 · sco-5.5.2-exp · thm-H-grad
"""Do gradients of hidden states keep their size through an orthogonal W and modReLU?   sco-4.1b, sco-5.5.2

Refutations of gradient statements are networks over the rationals: W = C(A) D exactly, so that ∂h_T/∂h_0 is a matrix of
fractions, and where units fall silent it becomes 0, not merely small.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, fmpq, fmpz_poly

from odernn.bounds import hidden_gradient
from odernn.published.sources import Source
from verification.cases.activation_slopes import active_slope_case, tanh_slope_case
from verification.cases.related import short
from verification.cases.scornn_parameters import ABOVE, Steps, order, signs
from verification.certify import modrelu_run
from verification.certify.modrelu_run import ModReLURun
from verification.certify.second import modrelu_run as modrelu_run_second
from verification.claim import GIVEN, Attempt, Case, Check, Claim, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import rationals
from verification.kinds import Constant, Kind, Listed, Rational
from verification.measure.cayley_exact import is_orthogonal
from verification.parameters import Declaration, Parameter, declared

# --- gradients through modReLU


def orthogonality_identity(swapped: int = -1) -> str:
    """C(A)ᵀC(A) = I for every n, as an identity between polynomials in A alone; "" if it is not one.

    Aᵀ = ``swapped`` A, −A in truth. With M = I + A, N = I − A and C(A) = M⁻¹N: as polynomials in one matrix commute,
    C(A)ᵀC(A) = Nᵀ (M Mᵀ)⁻¹ N is I iff NᵀN = MᵀM.
    """
    x = fmpz_poly([0, 1])
    M, N = 1 + x, 1 - x
    transposed = fmpz_poly([0, swapped])
    M_T, N_T = 1 + transposed, 1 - transposed
    if N_T * N != M_T * M:
        return ""
    return "(I − A)ᵀ(I − A) = (I + A)ᵀ(I + A) as polynomials in A, Aᵀ = −A, which commute: C(A) D is orthogonal"


@dataclass(frozen=True)
class GradientStatement:
    """What is claimed of gradients along a run.

    holds, holds_again   of the first back-end's run and of the second's text; False is a violation
    found                the numbers in words
    """

    claimed: str
    holds: Callable[[ModReLURun, Parameters], bool]
    holds_again: Callable[[Parameters], bool]
    found: Callable[[ModReLURun, Parameters], str]


def _final(parameters: Parameters) -> list[Fraction]:
    return [Fraction(word) for word in parameters["v"].split()]


def _ratio_text(run: ModReLURun, parameters: Parameters, every: bool) -> str:
    squares = modrelu_run.squared_gradients(run, _final(parameters), every)
    return f"‖∂L/∂h_1‖² = {squares[1]}, ‖∂L/∂h_T‖² = {squares[-1]}, T = {len(run.active)}"


def _keeps(run: ModReLURun, parameters: Parameters) -> bool:
    """JᵀJ = I."""
    return is_orthogonal(run.J)


def _keeps_again(parameters: Parameters) -> bool:
    columns = modrelu_run_second.jacobian(parameters)
    pairs = itertools.product(enumerate(columns), repeat=2)
    return all(sum(a * b for a, b in zip(x, y, strict=True)) == (i == j) for (i, x), (j, y) in pairs)


def _survives(run: ModReLURun, parameters: Parameters) -> bool:
    """∂h_T/∂h_0 ≠ 0."""
    return any(entry != 0 for entry in run.J.entries())


def _survives_again(parameters: Parameters) -> bool:
    return any(entry != 0 for column in modrelu_run_second.jacobian(parameters) for entry in column)


ISOMETRIC = GradientStatement("JᵀJ = I", _keeps, _keeps_again, lambda run, _: f"J = {run.J.entries()}")
NONZERO = GradientStatement(
    "‖∂h_T/∂h_0‖ does not vanish",
    _survives,
    _survives_again,
    lambda run, _: f"∂h_T/∂h_0 = {'0' if not any(run.J.entries()) else 'not 0'} at T = {len(run.active)}",
)


def loss_statement(claimed: str, every: bool, holds: Callable[[Any, Any], bool]) -> GradientStatement:
    """``holds``(‖∂L/∂h_1‖², ‖∂L/∂h_T‖²)."""

    def first(run: ModReLURun, parameters: Parameters) -> bool:
        squares = modrelu_run.squared_gradients(run, _final(parameters), every)
        return holds(squares[1], squares[-1])

    def again(parameters: Parameters) -> bool:
        steps = len(parameters["drive"].split()) // len(parameters["D"].split())
        ends = [modrelu_run_second.squared_gradient(parameters, t, every) for t in (1, steps)]
        return holds(*ends)

    return GradientStatement(claimed, first, again, lambda run, p: _ratio_text(run, p, every))


NO_LESS = loss_statement("‖∂L/∂h_1‖ ≥ ‖∂L/∂h_T‖/10", False, lambda early, late: 100 * early >= late)
NO_MORE = loss_statement("‖∂L/∂h_1‖ ≤ ‖∂L/∂h_T‖", False, lambda early, late: early <= late)
SAME = loss_statement("‖∂L/∂h_1‖ = ‖∂L/∂h_T‖", False, lambda early, late: early == late)
EVERY = loss_statement("‖∂L/∂h_1‖ ≤ 10 ‖∂L/∂h_T‖, loss at every step", True, lambda early, late: early <= 100 * late)


@dataclass(frozen=True)
class Biases:
    """Which biases and states a row is about: values to try, their kind, the premise on b and on the z_t of a run."""

    text: str
    values: tuple[Fraction, ...]
    kind: Kind
    admits: Callable[[list[Fraction], ModReLURun], bool]


def _z(run: ModReLURun) -> Iterator[fmpq]:
    return itertools.chain.from_iterable(run.z)


NEGATIVE = Biases(
    "b < 0",
    (Fraction(-1), Fraction(-1, 2), Fraction(-1, 4)),
    Rational(below=0),
    lambda b, _: all(value < 0 for value in b),
)
ACTIVE = Biases(
    "b ≥ 0, no z_t is 0",
    (Fraction(0), Fraction(1, 4), Fraction(1)),
    Rational(least=0),
    lambda b, run: all(value >= 0 for value in b) and all(value != 0 for value in _z(run)),
)
INITIAL = Biases(
    "b = 0 as initialised, no z_t is 0",
    (Fraction(0),),
    Constant(0),
    lambda b, run: not any(b) and all(value != 0 for value in _z(run)),
)
FREE = Biases("b free", (Fraction(-1, 2), Fraction(0), Fraction(1)), Rational(), lambda b, _: True)
AT_ZERO = Biases(
    "b ≥ 0, some z_t = 0 (derivative 0 there)",
    (Fraction(0), Fraction(1)),
    Rational(least=0),
    lambda b, run: all(value >= 0 for value in b) and any(value == 0 for value in _z(run)),
)

TRIALS = {"smoke": 60, "standard": 400, "deep": 1500}
LONGEST = 24


MOST_LETTERS = 2_000
"""Of a network that is typed, in all."""
MOST_UNITS = 4


def network_parameters(biases: Biases) -> Declaration:
    """W = C(A) D of 1 to ``MOST_UNITS`` units, up to ``LONGEST`` steps."""
    each_unit = order("D")
    return declared(
        Parameter("D", signs((1, MOST_UNITS))),
        Parameter(
            "A",
            Listed(Rational(), lambda v: len(v["D"]) * (len(v["D"]) - 1) // 2),
            order=ABOVE,
        ),
        Parameter("b", Listed(biases.kind, each_unit)),
        Parameter("h", Listed(Rational(), each_unit)),
        Parameter("drive", Steps("D", LONGEST, Rational()), order="a row a step"),
        Parameter("v", Listed(Rational(), each_unit)),
        rules=[short(MOST_LETTERS, "A", "b", "h", "drive", "v")],
    )


PLAIN = 8
"""Networks with D = I and no input come first: half of them with A = 0, half with one angle, cos t = 3/5."""


def networks(biases: Biases, count: int, seed: int, *, at_zero: bool = False) -> Iterator[Parameters]:
    """Rational networks of two and three units; those after the first ``PLAIN`` have random weights and inputs."""
    generator = random.Random(seed)
    for trial in range(count):
        n, plain = 2 + trial % 2, trial < PLAIN
        free = [Fraction(generator.randint(-4, 4), generator.randint(1, 4)) for _ in range(n * (n - 1) // 2)]
        if plain:
            free = [Fraction(int(trial >= PLAIN // 2 and place == 0), 2) for place in range(len(free))]
        steps = LONGEST if plain else generator.randint(2, LONGEST)
        drive = [Fraction(0 if plain or at_zero else generator.randint(-3, 3), 2) for _ in range(n * steps)]
        start = [Fraction(0 if at_zero else 2 if plain else generator.randint(-4, 4)) for _ in range(n)]
        yield {
            "A": rationals(free),
            "D": " ".join("1" if plain else generator.choice(("1", "-1")) for _ in range(n)),
            "b": rationals([generator.choice(biases.values) for _ in range(n)]),
            "h": rationals(start),
            "drive": rationals(drive),
            "v": rationals([Fraction(1)] * n),
        }


def gradient_case(
    biases: Biases, statement: GradientStatement, *, proof: Callable[[], str] = lambda: "", why: str = ""
) -> Case:
    """The statement for all runs that the biases admit: random rational networks, and ``proof`` where there is one.

    ``why`` says how the violation goes on for larger T.
    """

    def admitted(parameters: Parameters) -> tuple[ModReLURun, bool]:
        run = modrelu_run.run(parameters)
        return run, biases.admits([Fraction(word) for word in parameters["b"].split()], run)

    def ask(budget: Budget, seed: int) -> Attempt:
        tried, violations = 0, []
        for parameters in networks(biases, TRIALS[budget.name], seed, at_zero=biases is AT_ZERO):
            run, admits = admitted(parameters)
            if admits:
                tried += 1
                if not statement.holds(run, parameters):
                    violations.append(_shortened(parameters, admitted, statement))
        best = sorted(violations, key=lambda each: sum(map(len, each.values())))[:3]
        text = f"{tried} rational networks of 2 and 3 units, T ≤ {LONGEST}, exactly"
        proved = "" if violations else proof()
        shown = statement.found(modrelu_run.run(best[0]), best[0]) if best else "no exception"
        return Attempt(
            "; ".join(filter(None, (text, proved))),
            tried,
            found=shown,
            claimed=statement.claimed,
            candidates=tuple(best),
            proof=proved,
        )

    def check(parameters: Parameters) -> Check:
        run, admits = admitted(parameters)
        return Check(
            opinions=(
                Opinion("flint", not statement.holds(run, parameters), statement.found(run, parameters)),
                Opinion("fractions", not statement.holds_again(parameters), f"not {statement.claimed}, forwards"),
            ),
            premises=(Premise(f"{biases.text}, exactly", parameters["b"], admits),),
            words=f"W = C(A) D; {GIVEN}: {statement.found(run, parameters)}" + (f"; {why}" if why else ""),
        )

    return Case(biases.text, statement.claimed, ask, network_parameters(biases).guards(check))


def _shortened(
    parameters: Parameters, admitted: Callable[[Parameters], tuple[ModReLURun, bool]], statement: GradientStatement
) -> Parameters:
    """The same network after the fewest steps with which it still violates the statement."""
    n, drive = len(parameters["D"].split()), parameters["drive"].split()
    for steps in range(2, len(drive) // n):
        shorter = {**parameters, "drive": " ".join(drive[: n * steps])}
        run, admits = admitted(shorter)
        if admits and not statement.holds(run, shorter):
            return shorter
    return parameters


def _isometry() -> str:
    identity = orthogonality_identity()
    return identity and (
        f"{identity}; |z| + b > 0 for b ≥ 0 and z ≠ 0, so every D_t = I and J is a product of orthogonal matrices, "
        "for all n, T and inputs"
    )


def _contraction() -> str:
    identity = orthogonality_identity()
    return identity and (
        f"{identity}; ‖WᵀD_t g‖ = ‖D_t g‖ ≤ ‖g‖ as every diagonal entry of D_t is 0 or 1, for all n, T, b and inputs"
    )


# --- sco-5.5.2-exp: the initial network on the adding problem

SEQUENCES = {"smoke": 10, "standard": 50, "deep": 200}
SEEDS = 5
HORIZON = 500


RHO = {"adding-400": "", "adding-200": ", ρ = n/2"}
"""7n/10 and n/2, printed for T = 400, 750 and for T = 200; for T = 500 none is."""


def initial_case(initial: str, network: str = "adding-400") -> Case:
    """max_t / min_t of the mean gradient norm over T = 500 steps, the worst of five networks, against 10."""

    def ask(budget: Budget, seed: int) -> Attempt:
        from verification.measure import hidden_gradients

        count, ratios = SEQUENCES[budget.name], []
        for k in range(SEEDS):
            norms = hidden_gradients.on_adding(
                initial=initial,  # type: ignore[arg-type]
                steps=HORIZON,
                count=count,
                seed=seed + k,
                network=network,
            )
            ratios.append(float(norms.max() / norms.min()))
        worst = arb(max(ratios)).log()
        return Attempt(
            tried=f"{SEEDS} networks of n = 170, {count} sequences of T = {HORIZON} each, float32: largest over "
            f"smallest mean ‖∂L/∂h_t‖ between {min(ratios):.4g} and {max(ratios):.4g}; b = 0 at the start, "
            "so modReLU is the identity, W orthogonal and the ratio 1 but for rounding",
            evaluations=SEEDS * HORIZON,
            log_measured=float(worst.mid()),
            log_claimed=float(arb(10).log().mid()),
            found=f"a factor {max(ratios):.4g}",
            claimed="less than 10",
        )

    domain = f'adding, T = {HORIZON}{RHO[network]}, initial="{initial}"'
    return Case(domain, "max_t ‖∂L/∂h_t‖ / min_t ‖∂L/∂h_t‖", ask)


# --- thm-H-grad


def singular_value_case(quantity: str, lost: int = 1) -> Case:
    """I − JᵀJ ≥ 0, and n − rank(I − JᵀJ) ≥ n − ``lost`` Σ r_t, over Q; ``lost`` = 0 is false."""

    def violated(run: ModReLURun) -> bool:
        n = run.W.nrows()
        J = [[run.J[i, j] for j in range(n)] for i in range(n)]
        inertia = hidden_gradient.contraction_inertia(J)
        least = n - lost * (n - hidden_gradient.least_isometric_dimension(n, run.silent))
        return not inertia.is_semidefinite or hidden_gradient.isometric_dimension(J) < least

    def violated_again(parameters: Parameters) -> bool:
        """By counting: the isometric dimension is n − rank, the rank by elimination over fractions, and by pivots."""
        columns = modrelu_run_second.jacobian(parameters)
        _, slopes = modrelu_run_second.states(parameters)
        n = len(columns)
        gap = [
            [
                (i == j) - sum((a * b for a, b in zip(columns[i], columns[j], strict=True)), Fraction(0))
                for j in range(n)
            ]
            for i in range(n)
        ]
        silent = sum(int(1 - slope) for row in slopes for slope in row)
        return not _is_semidefinite(gap) or n - _rank(gap) < n - lost * silent

    def ask(budget: Budget, seed: int) -> Attempt:
        tried = [
            (violated(modrelu_run.run(parameters)), parameters)
            for parameters in networks(FREE, TRIALS[budget.name], seed)
        ]
        return Attempt(
            f"{len(tried)} rational networks of 2 and 3 units, T ≤ {LONGEST}, exact ranks and inertias",
            len(tried),
            candidates=tuple(parameters for wrong, parameters in tried if wrong)[:3],
        )

    def check(parameters: Parameters) -> Check:
        run = modrelu_run.run(parameters)
        return Check(
            opinions=(
                Opinion("flint", violated(run), f"silent units {run.silent}"),
                Opinion("fractions", violated_again(parameters), "by elimination"),
            ),
            words=f"{GIVEN}: silent units {run.silent}",
        )

    return Case("b free", quantity, ask, network_parameters(FREE).guards(check))


def _rank(rows: list[list[Fraction]]) -> int:
    rows, rank = [list(row) for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column] != 0), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] / rows[rank][column]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


def _is_semidefinite(rows: list[list[Fraction]]) -> bool:
    """By symmetric elimination: no pivot is negative, and a pivot that is 0 has nothing beside it."""
    rows = [list(row) for row in rows]
    for k, row in enumerate(rows):
        if row[k] < 0 or (row[k] == 0 and any(row[k:])):
            return False
        for other in rows[k + 1 :]:
            factor = other[k] / row[k] if row[k] else Fraction(0)
            other[k:] = [x - factor * y for x, y in zip(other[k:], row[k:], strict=True)]
    return True


_STAYS = "once 0, a product of Jacobians stays 0 at every later T"

CLAIMS = (
    Claim(
        id="sco-4.1b",
        source=Source("scornn", "Sec. 4.1"),
        statement="modReLU does not saturate: its slope is 1 at every z ≠ 0 with |z| + b > 0, b of either sign, where "
        "that of tanh is at most 1/(1 + z²)",
        semantics="real",
        dominated_by="thm-H-grad",
        cases=(
            gradient_case(NEGATIVE, NONZERO, why=_STAYS),
            gradient_case(ACTIVE, ISOMETRIC, proof=_isometry),
            gradient_case(AT_ZERO, NONZERO, why=_STAYS),
            active_slope_case(),
            tanh_slope_case(),
        ),
    ),
    Claim(
        id="sco-5.5.2",
        source=Source("scornn", "Secs. 3.2, 5.5.2"),
        statement="the size of ∂L/∂h_t varies little over the sequence, as measured in Sec. 5.5.2 for T = 500, loss at "
        "the end: it does not grow backwards, and before training it falls by less than a factor 10",
        semantics="real",
        dominated_by="thm-H-grad",
        cases=(
            gradient_case(FREE, NO_MORE, proof=_contraction),
            gradient_case(INITIAL, SAME, proof=_isometry),
            initial_case("small"),
            initial_case("small", "adding-200"),
            gradient_case(NEGATIVE, NO_LESS, why=_STAYS),
            gradient_case(ACTIVE, SAME, proof=_isometry),
            gradient_case(ACTIVE, EVERY, why="with A = 0, D = I, b = 0 and z ≠ 0, ∂L/∂h_t = (T − t + 1) v for every T"),
        ),
    ),
    Claim(
        id="sco-5.5.2-exp",
        source=Source("scornn", "Sec. 5.5.2, Fig. 5 left"),
        statement="before training ‖∂L/∂h_t‖ varies by less than a factor 10 over T = 500 steps of the adding problem, "
        "n = 170; ρ is not printed for this T",
        semantics="float",
        cases=(initial_case("small"), initial_case("small", "adding-200"), initial_case("glorot")),
    ),
    Claim(
        id="thm-H-grad",
        source=Source("library", "docs/derivations/modrelu_gradients.md"),
        statement="real network with orthogonal W, J = ∂h_T/∂h_t = Π D_k W, D_k diagonal with 0 at the r_k units that "
        "are silent at step k (or have z = 0) and 1 elsewhere: all singular values of J in [0, 1], at least "
        "n − Σ r_k of them 1",
        semantics="real",
        origin="library",
        cases=(singular_value_case("singular values of J in [0, 1], n − Σ r_k of them 1"),),
    ),
)
