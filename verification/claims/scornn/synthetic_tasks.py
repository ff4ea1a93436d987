# Claims: sco-5.1a · sco-5.1b · sco-5.2a · sco-5.2b · thm-base
"""Copying and adding: their baselines, and whether the text determines their layout.   sco-5.1, sco-5.2"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
from flint import arb, fmpq, fmpq_poly

from odernn.published.sources import Source
from verification.cases.decision import at, decided
from verification.cases.scornn_parameters import ADD_TO_ONE
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Claim, Decided, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Constant, Integer, Listed, Matrix, Rational
from verification.measure import baselines
from verification.parameters import Parameter, declared

BITS = 192

# --- copying: expected cross entropy


@dataclass(frozen=True)
class Strategy:
    """Probabilities of the right symbol at the ten steps of recall, 1/``choices``; right with certainty elsewhere."""

    choices: int
    text: str


UNIFORM = Strategy(8, "1/8 for each of eight letters")


def expected_loss(T: Any, strategy: Strategy, log: Callable[[int], Any], quotient: Callable[[Any], Any]) -> Any:
    """Σ over T + 20 targets of −log(probability of the right symbol), over T + 20: the T + 10 blanks cost log 1 = 0."""
    terms = (T + 10) * log(1) + 10 * log(strategy.choices)
    return terms / quotient(T + 20)


def copying_case(T: int, strategy: Strategy = UNIFORM, letters: int = 8, quantity: str = "") -> Case:
    """The strategy's loss is 10 log(letters)/(T + 20): a ball around 0, and equal powers of 2 where letters are."""

    def ask(_: Budget, __: int) -> Attempt:
        with flint.ctx.workprec(BITS):
            loss = expected_loss(T, strategy, lambda k: arb(k).log(), arb)
            claimed = 10 * arb(letters).log() / (T + 20)
            shown = f"{loss.str(8, radius=False)} against {claimed.str(8, radius=False)}"
            apart = bool(loss != claimed)
        exact = strategy.choices == letters
        text = f"T = {T}: {strategy.text}, certainty elsewhere; {shown}"
        return Attempt(
            text,
            1,
            found=shown.partition(" ")[0],
            claimed=shown.rpartition(" ")[2],
            proof=f"{text}: the same multiple 10/(T + 20) of log {letters}" if exact and not apart else "",
            candidates=({"T": str(T)},) if apart else (),
        )

    def check(_: Parameters) -> Check:
        with flint.ctx.workprec(BITS):
            loss = expected_loss(T, strategy, lambda k: arb(k).log(), arb)
            claimed = 10 * arb(letters).log() / (T + 20)
            first = Opinion("balls", bool(loss != claimed), f"{loss.str(8)} against {claimed.str(8)}")
        with iv.workprec(BITS):
            # once more step by step, from the last target to the first
            total = iv.mpf(0)
            for step in range(T + 20, 0, -1):
                total = total - iv.log(1 / iv.mpf(strategy.choices if step > T + 10 else 1))
            gap = total - iv.log(iv.mpf(letters)) * 10
            second = Opinion("mpmath", bool(gap.a > 0 or gap.b < 0), f"(T + 20) times the difference: {gap.mid}")
        return Check(
            opinions=(first, second),
            words=f"T = {T}: {first.text}",
        )

    quantity = quantity or f"cross entropy of {strategy.text}"
    return Case(f"T = {T}", quantity, ask, declared(Parameter("T", Constant(T))).guards(check))


def memoryless_case(factor: Fraction = Fraction(1)) -> Case:
    """No fixed probabilities q of eight letters have an expected loss −(1/8) Σ log q_s below ``factor`` · log 8."""

    def ask(budget: Budget, seed: int) -> Attempt:
        import numpy as np

        count = {"smoke": 2_000, "standard": 50_000, "deep": 1_000_000}[budget.name]
        generator = np.random.default_rng(seed)
        q = generator.dirichlet(np.full(8, 4.0), count)
        q[0] = 1 / 8
        losses = -np.log(q).mean(axis=1)
        claimed = float(factor) * np.log(8)
        best = int(losses.argmin())
        short = [Fraction(float(value)).limit_denominator(1000) for value in q[best][:-1]]
        short.append(1 - sum(short, Fraction(0)))
        below = losses[best] < claimed - 1e-9
        return Attempt(
            f"{count} distributions of eight letters, the uniform one among them",
            count,
            log_measured=float(np.log(claimed)),
            log_claimed=float(np.log(losses[best])),
            found=f"{losses[best]:.6f}",
            claimed=f"at least {claimed:.6f}",
            candidates=({"q": " ".join(map(str, short))},) if below else (),
        )

    def check(parameters: Parameters) -> Check:
        q = [Fraction(word) for word in parameters["q"].split()]
        with flint.ctx.workprec(BITS):
            loss = -sum((arb(fmpq(x.numerator, x.denominator)).log() for x in q), arb(0)) / 8
            bound = arb(8).log() * fmpq(factor.numerator, factor.denominator)
            first = Opinion("balls", bool(loss < bound), f"{loss.str(8)} against {bound.str(8)}")
        product = iv.mpf(1)
        for x in q:
            product = product * iv.mpf(x.numerator) / x.denominator
        gap = -iv.log(product) - iv.log(iv.mpf(8)) * 8 * factor.numerator / factor.denominator
        return Check(
            opinions=(first, Opinion("mpmath", bool(gap.b < 0), f"eight times the difference: {gap.mid}")),
            words=f"q = {parameters['q']}: {first.text}",
        )

    parameters = declared(Parameter("q", Matrix(1, 8, Rational(above=0, below=1), ADD_TO_ONE)))
    return Case("eight letters", "least loss of a fixed distribution: log 8", ask, parameters.guards(check))


# --- adding: the mean squared error of a constant


def squared_error_by_polynomials(prediction: Fraction) -> fmpq:
    """∫∫ (x + y − p)² over the unit square, x and y one after the other, by antiderivatives of polynomials."""
    p = fmpq(prediction.numerator, prediction.denominator)
    # ∫_0^1 (x + c)² dx = c² + c + 1/3 with c = y − p, then over y
    c = fmpq_poly([-p, 1])
    inner = c * c + c + fmpq(1, 3)
    outer: fmpq = inner.integral()(fmpq(1)) - inner.integral()(fmpq(0))
    return outer


def adding_case(prediction: Fraction = Fraction(1), printed: str = "0.167") -> Case:
    """The expected squared error of the constant, rounded to the digits printed."""
    digits = len(printed.partition(".")[2])

    def rounds(value: Fraction) -> bool:
        return abs(value - Fraction(printed)) <= Fraction(1, 2 * 10**digits)

    def ask(_: Budget, __: int) -> Attempt:
        error = squared_error_by_polynomials(prediction)
        value = Fraction(int(error.p), int(error.q))
        text = f"∫∫ (x + y − {prediction})² dx dy over the unit square = {value}"
        return Attempt(
            text,
            1,
            found=str(value),
            claimed=printed,
            proof=f"{text}, {printed} to its digits" if rounds(value) else "",
            candidates=() if rounds(value) else ({"prediction": str(prediction)},),
        )

    def check(_: Parameters) -> Check:
        error = squared_error_by_polynomials(prediction)
        by_variance = baselines.adding_squared_error(prediction)
        return Check(
            opinions=(
                Opinion("flint", not rounds(Fraction(int(error.p), int(error.q))), f"{error} by integration"),
                Opinion("fractions", not rounds(by_variance), f"{by_variance} = 2/12 + (p − 1)², by moments"),
            ),
            words=f"the constant {prediction} has expected squared error {error}, printed {printed}",
        )

    parameters = declared(Parameter("prediction", Constant(prediction)))
    return Case("real numbers in [0, 1]", f"E (X + Y − {prediction})²", ask, parameters.guards(check))


def drawn_case(printed: str = "0.167") -> Case:
    """The same for numbers k/2^24, k uniform in 0 .. 2^24 − 1, as float32 generators draw them: exactly."""
    tolerance = Fraction(1, 2 * 10 ** len(printed.partition(".")[2]))

    def first(parameters: Parameters) -> Decided:
        """By closed forms of Σk and Σk²."""
        N = 2 ** int(parameters["bits"])
        mean = Fraction(N - 1, 2 * N)
        square = Fraction((N - 1) * (2 * N - 1), 6 * N * N)
        value = 2 * (square - mean**2) + (2 * mean - 1) ** 2
        return Decided(abs(value - Fraction(printed)) > tolerance, f"{value}, {float(value):.12f}")

    def second(parameters: Parameters) -> Decided:
        """By adding up all k and k², in rows whose sums stay below 2⁶³, and 2 E X² + 2 (E X)² − 4 E X + 1."""
        import numpy as np

        N, row = 2 ** int(parameters["bits"]), 2**14
        rows = [np.arange(start, start + row, dtype=np.int64) for start in range(0, N, row)]
        mean = Fraction(sum(int(k.sum()) for k in rows), N * N)
        square = Fraction(sum(int((k * k).sum()) for k in rows), N**3)
        value = 2 * square + 2 * mean**2 - 4 * mean + 1
        return Decided(abs(value - Fraction(printed)) > tolerance, f"{value}")

    return decided(
        "multiples of 2^−24 below 1",
        "E (X + Y − 1)²",
        at({"bits": "24"}),
        first,
        second,
        box="X and Y uniform over the multiples of 2^−24",
        claimed=printed,
        names=("closed forms", "sums"),
    )


# --- layouts


@dataclass(frozen=True)
class Layout:
    """A sentence about positions 1..length. ``admits``(position of the 9, T): whether the words allow it."""

    text: str
    admits: Callable[[int, int], bool]


AFTER = Layout("ten time steps come after the 9", lambda p, T: T + 20 - p == 10)
TENTH = Layout("the 9 is the tenth entry from the end", lambda p, T: T + 20 - p + 1 == 10)
LAST_ELEVEN = Layout("the last 11 entries start with the 9", lambda p, T: p == T + 20 - 11 + 1)


def marker_case(domain: str, layouts: Sequence[Layout], T: int = 1000) -> Case:
    """All readings of the sentence put the 9 at one position."""

    def positions() -> list[int]:
        """By trying every position under every reading."""
        return [p for p in range(1, T + 21) if any(layout.admits(p, T) for layout in layouts)]

    def ask(_: Budget, __: int) -> Attempt:
        marked = positions()
        text = f"T = {T}, length {T + 20}: position {', '.join(map(str, marked))} under {len(layouts)} readings"
        one = len(marked) == 1
        return Attempt(
            text,
            (T + 20) * len(layouts),
            found=", ".join(map(str, marked)),
            claimed="one position",
            proof=text if one else "",
            candidates=() if one else ({"T": str(T), "p": " ".join(map(str, marked))},),
        )

    def check(parameters: Parameters) -> Check:
        named = [int(word) for word in parameters["p"].split()]
        tried = positions()
        # once more by writing the sequences out and reading them backwards
        admitted = []
        for p in named:
            sequence = "".join("9" if place == p else "0" for place in range(1, T + 21))
            tail = sequence[::-1].index("9")
            readings = {AFTER.text: tail == 10, TENTH.text: tail + 1 == 10, LAST_ELEVEN.text: sequence[-11:][0] == "9"}
            admitted.append(any(readings[layout.text] for layout in layouts))
        return Check(
            opinions=(
                Opinion("positions", len(tried) > 1, f"{tried}"),
                Opinion("written out", len(set(named)) > 1 and all(admitted), f"{named} all admitted"),
            ),
            partial=True,  # positions that are typed in need not be those that are admitted
            words=f"T = {T}: the 9 may be entry {' or '.join(map(str, tried))} of {T + 20}: "
            + "; or ".join(layout.text for layout in layouts),
        )

    parameters = declared(Parameter("T", Constant(T)), Parameter("p", Listed(Integer(1, T + 20), (1, 3))))
    return Case(domain, "one position of the 9", ask, parameters.guards(check))


def entries_case(base: int, T: int = 200) -> Case:
    """Every entry of a sequence with indices base .. base + T − 1 may be marked; markers in [1, T/2) and [T/2, T)."""

    def allowed() -> set[int]:
        return {k for k in range(base, base + T) if 1 <= k < Fraction(T, 2) or Fraction(T, 2) <= k < T}

    def ask(_: Budget, __: int) -> Attempt:
        never = sorted(set(range(base, base + T)) - allowed())
        text = f"T = {T}, indices from {base}: never marked {never}"
        return Attempt(
            text,
            T,
            found=f"{never} never",
            claimed="every entry",
            proof="" if never else text,
            candidates=({"T": str(T), "k": str(never[0])},) if never else (),
        )

    def check(parameters: Parameters) -> Check:
        k = int(number(parameters, "k"))
        inside = (k >= 1 and 2 * k < T) or (2 * k >= T and k < T)
        return Check(
            opinions=(
                Opinion("sets", k not in allowed(), f"{len(allowed())} of {T} entries may be marked"),
                Opinion("inequalities", not inside, f"k = {k} is in neither [1, {T}/2) nor [{T}/2, {T})"),
            ),
            words=f"T = {T}, indices from {base}: entry {k} is never marked",
        )

    parameters = declared(Parameter("T", Constant(T)), Parameter("k", Integer(base, base + T - 1)))
    return Case(f"indices from {base}", "every entry may be marked", ask, parameters.guards(check))


def base_case(bases: Sequence[int] = (0, 1), T: int = 200) -> Case:
    """Only one index base fits the intervals: all their indices exist in the sequence."""

    def fits(base: int) -> bool:
        return all(base <= k < base + T for k in range(1, T))

    def ask(_: Budget, __: int) -> Attempt:
        good = [base for base in bases if fits(base)]
        text = f"T = {T}: indices 1 to {T - 1} exist with the first index {' and '.join(map(str, good))}"
        return Attempt(
            text,
            len(bases),
            found=text,
            claimed="one index base",
            proof=text if len(good) == 1 else "",
            candidates=({"T": str(T)},) if len(good) > 1 else (),
        )

    def check(_: Parameters) -> Check:
        good = [base for base in bases if fits(base)]
        ends = [base for base in bases if base <= 1 and base + T - 1 >= T - 1]
        return Check(
            opinions=(
                Opinion("all indices", len(good) > 1, f"{good}"),
                Opinion("ends", len(ends) > 1, f"{ends}"),
            ),
            words=f"T = {T}: the intervals [1, T/2), [T/2, T) lie in 0..T−1 and in 1..T, and the text does not "
            "say which is meant; as steps, the markers differ by one",
        )

    parameters = declared(Parameter("T", Constant(T)))
    return Case("indices from 0 or from 1", "the index base is determined", ask, parameters.guards(check))


def distinct_case(largest: int = 400) -> Case:
    """The two markers never coincide: [1, T/2) and [T/2, T) are disjoint and not empty, T = 3 .. largest."""

    def first(parameters: Parameters) -> Decided:
        T = int(parameters["T"])
        early, late = {k for k in range(1, T) if 2 * k < T}, {k for k in range(1, T) if 2 * k >= T}
        return Decided(not early or not late or bool(early & late), f"{len(early)} and {len(late)} indices")

    def second(parameters: Parameters) -> Decided:
        """By the last index of the first interval and the first of the second."""
        T = int(parameters["T"])
        last, following = math.ceil(Fraction(T, 2)) - 1, math.ceil(Fraction(T, 2))
        return Decided(not 1 <= last < following <= T - 1, f"1 … {last} and {following} … {T - 1}")

    return decided(
        f"T = 3 to {largest}",
        "two different entries are marked",
        at(*({"T": str(T)} for T in range(3, largest + 1))),
        first,
        second,
        box=f"T = 3 to {largest}, every index: the two intervals are disjoint and not empty",
        claimed="two",
        names=("sets", "ends"),
    )


# --- the claims


def _place(place: str) -> Source:
    return Source("scornn", place)


CLAIMS = (
    Claim(
        id="sco-5.1a",
        source=_place("Sec. 5.1"),
        statement="zeros and then ten symbols uniform over eight letters have the expected cross entropy 10 log 8/(T "
        "+ 20)",
        semantics="real",
        dominated_by="thm-base",
        cases=(copying_case(1000), copying_case(2000)),
    ),
    Claim(
        id="sco-5.1b",
        source=Source("scornn", "Sec. 5.1; complexity Sec. 4.1"),
        statement="sequences of T + 20 entries, the first ten from 1 to 8, a 9 ten steps from the end: "
        "it is entry T + 10, and ten steps come after it",
        semantics="reading",
        cases=(
            marker_case("scornn alone", (AFTER, TENTH)),
            marker_case("with complexity Sec. 4.1", (LAST_ELEVEN,)),
            marker_case("ten steps after the 9", (AFTER, LAST_ELEVEN)),
        ),
    ),
    Claim(
        id="sco-5.2a",
        source=_place("Sec. 5.2"),
        statement='predicting 1 has expected mean squared error "approximately 0.167"',
        semantics="real",
        dominated_by="thm-base",
        cases=(adding_case(), drawn_case()),
    ),
    Claim(
        id="sco-5.2b",
        source=_place("Sec. 5.2"),
        statement="the markers are uniform in [1, T/2) and [T/2, T): exactly two different entries are marked",
        semantics="reading",
        cases=(distinct_case(), entries_case(1), entries_case(0), base_case()),
    ),
    Claim(
        id="thm-base",
        source=Source("library", "docs/derivations/baselines.md"),
        statement="without memory the least cross entropy of copying is 10 log 8/(T + 20), the least squared error of "
        "adding 1/6",
        semantics="real",
        origin="library",
        cases=(memoryless_case(), adding_case(printed="0.16667")),
    ),
)
