# Claims: ode-T2 · ode-T2-input · ode-2-stable · ode-4-chang · ode-T2-proof · thm-ARNN · thm-ARNN-drive
"""Niu, Chuang, Horesh 2019, Theorem 2 and the remark on AntisymmetricRNN: which steps stay bounded, for which η.

The condition of Theorem 2 is not legible. With a = η L_s max|λ_i(W)| it is put to the test as a < 2 (symplectic Euler)
and a < 1 (leapfrog), the sharp numbers of ``odernn.bounds.arnn``, and at and beyond them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
import mpmath
from flint import arb, fmpq

from odernn.bounds.arnn import THRESHOLDS, Scheme, largest_damped_step, resonant_word
from odernn.published.sources import Source
from verification.cases import frozen_slopes as frozen
from verification.cases.arnn_modes import (
    BITS,
    MOST_LETTERS,
    NAMES,
    drive_case,
    every_step_case,
    mode_case,
    modes_case,
    networks_case,
)
from verification.cases.decision import EXACT, at, decided, premise
from verification.cases.related import short
from verification.certify import power_bounded
from verification.certify.second.intervals import iv
from verification.claim import Case, Claim, Decided, Parameters
from verification.exact_text import number, numbers, text_of
from verification.kinds import Choice, Constant, Integer, Listed, Rational
from verification.parameters import Parameter, Rule, declared, rationals

# --- zero slopes: ReLU, no inputs


def relu_case() -> Case:
    """σ = ReLU is monotone with sup σ' = 1. From q = 1, p = 0 every step adds the same to p, for ever."""

    def first(parameters: Parameters) -> Decided:
        a, q, p = (fmpq(*number(parameters, name).as_integer_ratio()) for name in ("a", "q", "p"))
        after_p = p - a * max(q, 0 * q)
        after_q = q + a * max(after_p, 0 * a)
        # p ≤ 0 stays so and q does not move: the same step again, by induction
        forever = bool(p <= 0 and after_p < p and after_q == q)
        return Decided(forever, f"q_n = {q}, p_n = {p} − {a * q} n for all n")

    return decided(
        "symplectic Euler, ReLU, no inputs",
        "states bounded for η L_s max|λ| < 2",
        at({"a": "1/2", "q": "1", "p": "0"}),
        first,
        frozen.falls_for_ever,
        box="one neuron, S = 1",
        is_box=False,
        claimed="bounded states",
        parameters=declared(Parameter("a", Rational(above=0, below=2)), *rationals("q", "p")),
    )


# --- slopes that change with time

LONGEST, MOST_WORK = 1024, 8192
"""Slopes of a word, in pairs those of symplectic Euler; and those times the letters of the step."""
IN_PAIRS = "a step of symplectic Euler has two slopes"
ONE_AFTER_THE_OTHER = "one an activation, again and again"


def word_case(scheme: Scheme, values: Sequence[str], words: Sequence[tuple[tuple[Fraction, ...], ...]] = ()) -> Case:
    """ReLU, or a leaky one, with drives that choose the slopes: the difference of two runs with the same drives."""
    threshold = Fraction(THRESHOLDS[scheme])
    per_step = 2 if scheme == "symplectic_euler" else 1
    chosen: Sequence[Sequence[Sequence[Any]]] = words or [resonant_word(scheme, Fraction(a)) for a in values]
    places = [{"a": a, "slopes": text_of(word)} for a, word in zip(values, chosen, strict=True)]
    least = min(min(map(min, word)) for word in chosen)
    sigma = "ReLU" if least == 0 else f"σ(x) = max(x, {least} x)"

    return decided(
        f"{NAMES[scheme]}, {sigma}, biases that depend on time",
        f"bounded differences of two runs, η L_s max|λ| < {threshold}",
        at(*places),
        lambda p: power_bounded.powers(frozen.word(scheme, number(p, "a"), numbers(p, "slopes"))),
        lambda p: frozen.driven_runs(scheme, number(p, "a"), numbers(p, "slopes"), Fraction(least)),
        box="one mode, the slopes repeated for ever",
        is_box=False,
        claimed="bounded differences",
        parameters=declared(
            Parameter("a", Rational(above=0, below=threshold)),
            Parameter("slopes", Listed(Choice((str(least), "1")), (per_step, LONGEST)), order=ONE_AFTER_THE_OTHER),
            rules=(
                Rule(IN_PAIRS, lambda v: len(v["slopes"]) % per_step == 0),
                short(MOST_LETTERS, "a"),
                Rule(
                    f"at most {MOST_WORK} slopes times digits of a",
                    lambda v: len(v["slopes"]) * len(str(v["a"])) <= MOST_WORK,
                ),
            ),
        ),
        names=(EXACT, "two runs in fractions"),
    )


def tanh_case() -> Case:
    """σ = tanh, symplectic Euler: the Jacobian along a run whose pre-activations are 0 (slope 1) or C."""
    far, a = 10, Fraction(1)
    word = resonant_word("symplectic_euler", a)
    places = {"a": str(a), "preactivations": " ".join(str(0 if slope else far) for pair in word for slope in pair)}

    def first(parameters: Parameters) -> Decided:
        with flint.ctx.workprec(BITS):
            step = arb(fmpq(*number(parameters, "a").as_integer_ratio()))
            slopes = [1 - arb(fmpq(*x.as_integer_ratio())).tanh() ** 2 for x in numbers(parameters, "preactivations")]
            trace = frozen.word_trace(step, slopes)
            return Decided(bool(abs(trace) > 2), f"determinant 1, trace {trace.str(8, radius=False)} of the product")

    def second(parameters: Parameters) -> Decided:
        with iv.workprec(BITS):
            a = iv.mpf(number(parameters, "a").numerator) / number(parameters, "a").denominator
            product = [[iv.mpf(1), iv.mpf(0)], [iv.mpf(0), iv.mpf(1)]]
            slopes = [
                4 / (iv.exp(x) + iv.exp(-x)) ** 2
                for x in (iv.mpf(x.numerator) / x.denominator for x in numbers(parameters, "preactivations"))
            ]
            for s, t in zip(slopes[::2], slopes[1::2], strict=True):
                product = [[x - a * s * y for x, y in zip(*product, strict=True)], product[1]]
                product = [product[0], [y + a * t * x for x, y in zip(*product, strict=True)]]
            trace = product[0][0] + product[1][1]
            return Decided(bool(trace.a > 2 or trace.b < -2), f"trace {mpmath.nstr(trace.mid, 8)}")

    return decided(
        "symplectic Euler, tanh, biases that depend on time",
        "bounded Jacobians of n steps, η L_s max|λ| < 2",
        at(places),
        first,
        second,
        box="one mode, the pre-activations repeated for ever",
        is_box=False,
        claimed="bounded Jacobians",
        parameters=declared(
            Parameter("a", Rational(above=0, below=2)),
            Parameter("preactivations", Listed(Integer(-99, 99), (2, 64)), order=ONE_AFTER_THE_OTHER),
            rules=(Rule(IN_PAIRS, lambda v: len(v["preactivations"]) % 2 == 0),),
        ),
        premises=lambda p: (premise("0 < η L_s max|λ| < 2", min(number(p, "a"), 2 - number(p, "a"))),),
        names=("balls", "mpmath"),
    )


def drift_case() -> Case:
    """σ = tanh, a constant bias b, S = diag(1, 0): the second neuron has p_n = p_0 − n η tanh(b)."""

    def first(parameters: Parameters) -> Decided:
        with flint.ctx.workprec(BITS):
            eta, bias = (arb(fmpq(*number(parameters, name).as_integer_ratio())) for name in ("eta", "b"))
            pace = eta * bias.tanh()
            return Decided(
                bool(pace != 0), f"p of the second neuron falls by {pace.str(8, radius=False)} in every step"
            )

    def second(parameters: Parameters) -> Decided:
        with iv.workprec(BITS):
            eta, bias = (iv.mpf(x.numerator) / x.denominator for x in (number(parameters, n) for n in ("eta", "b")))
            pace = eta * (1 - 2 / (iv.exp(2 * bias) + 1))
            return Decided(0 not in pace, f"falls by {mpmath.nstr(pace.mid, 8)}")

    return decided(
        "symplectic Euler, tanh, constant biases",
        "states bounded for η L_s max|λ| < 2, S singular",
        at({"eta": "1", "b": "1"}),
        first,
        second,
        box="S = diag(1, 0)",
        is_box=False,
        claimed="bounded states",
        parameters=declared(
            Parameter("eta", Rational(above=0, below=2)), Parameter("b", Rational(least=-99, most=99, nonzero=True))
        ),
        names=("balls", "mpmath"),
    )


# --- AntisymmetricRNN: W − Wᵀ − γ I, forward Euler


def anti_hermitian_case(gamma: str) -> Case:
    """(W − Wᵀ − γ I)* = −(W − Wᵀ − γ I): n × n matrices of symbols, n ≤ 4."""

    def first(parameters: Parameters) -> Decided:
        return frozen.anti_hermitian(int(number(parameters, "n")), number(parameters, "gamma"))

    def second(parameters: Parameters) -> Decided:
        return frozen.anti_hermitian_again(int(number(parameters, "n")), number(parameters, "gamma"))

    return decided(
        f"γ = {gamma}",
        "W − Wᵀ − γ I is anti-Hermitian",
        at(*({"n": str(n), "gamma": gamma} for n in range(1, 5))),
        first,
        second,
        box="all real W of size n ≤ 4, entries as symbols",
        claimed="anti-Hermitian",
        parameters=declared(Parameter("n", Integer(1, 8)), Parameter("gamma", Constant(Fraction(gamma)))),
    )


def damped_case() -> Case:
    """|1 − ηγ + iηλ|² − 1 = η (η (γ² + λ²) − 2γ): not above 1 iff η ≤ 2γ/(γ² + λ²)."""

    def first(_: Parameters) -> Decided:
        return frozen.damped_identity()

    def second(_: Parameters) -> Decided:
        rng = random.Random(1)
        for _trial in range(200):
            gamma, frequency = Fraction(rng.randint(1, 30), 10), Fraction(rng.randint(-30, 30), 10)
            most = largest_damped_step(gamma, frequency)
            for share, holds in ((Fraction(1), True), (Fraction(9, 10), True), (Fraction(11, 10), False)):
                real, imaginary = 1 - share * most * gamma, share * most * frequency
                if (real * real + imaginary * imaginary <= 1) != holds:
                    return Decided(True, f"γ = {gamma}, λ = {frequency}, η = {share * most}")
        return Decided(False, "600 random rational points on both sides")

    return decided(
        "γ > 0, linear",
        "modes do not grow iff η ≤ 2γ/(γ² + λ²)",
        at({"γ, λ, η": "all"}),
        first,
        second,
        box="all real γ > 0, λ, η > 0: an identity of polynomials",
        claimed="the largest step",
        parameters=declared(Parameter("γ, λ, η", Constant("all"))),
    )


def damped_step_case() -> Case:
    """The condition of Theorem 2, which does not know γ, for the damped weight and its forward Euler step."""

    def matrix(p: Parameters) -> list[list[Fraction]]:
        eta, gamma, frequency = (number(p, name) for name in ("eta", "gamma", "lambda"))
        return [[1 - eta * gamma, -eta * frequency], [eta * frequency, 1 - eta * gamma]]

    return decided(
        "γ = 1/10, linear",
        "bounded powers for η |λ| < 2",
        at({"eta": "1/2", "gamma": "1/10", "lambda": "1"}),
        lambda p: power_bounded.powers(matrix(p)),
        lambda p: power_bounded.grows(matrix(p)),
        partial=True,
        box="one mode",
        is_box=False,
        claimed="bounded powers",
        parameters=declared(
            Parameter("eta", Rational(above=0)),
            Parameter("gamma", Constant(Fraction(1, 10))),
            Parameter("lambda", Rational()),
            rules=(short(MOST_LETTERS, "eta", "lambda"),),
        ),
        premises=lambda p: (premise("η |λ| < 2", 2 - number(p, "eta") * abs(number(p, "lambda"))),),
    )


# --- the proof of Theorem 2 refers to Theorem 5

THEOREM_5 = (
    "Boolean functions, uniform family, map, uniqueness, fixed point, evolution of an ODE, characteristic function, "
    "polynomial number, parameters"
)
"""The notions that Theorem 5 speaks of."""
PRINTED = {"definitions": "1 2 3 4 5 3 4 5", "theorems": "1 2 3 5"}
"""The numbers as they are printed, in order."""


def mentions_case() -> Case:
    """Theorem 5 speaks of what Theorem 2 asserts: a step size, stability, or an ARNN."""
    wanted = ("step", "stable", "stability", "arnn", "anti-hermitian", "eigenvalue")

    def first(parameters: Parameters) -> Decided:
        met = [word for word in wanted if re.search(re.escape(word), parameters["theorem 5"], re.IGNORECASE)]
        return Decided(not met, f"words of Theorem 2 in Theorem 5: {', '.join(met) or 'none'}")

    def second(parameters: Parameters) -> Decided:
        words = parameters["theorem 5"].casefold().split()
        met = [word for word in words if any(word.startswith(stem) for stem in wanted)]
        return Decided(not met, f"of its {len(words)} words {len(met)} are")

    return decided(
        "text of Theorem 5",
        "proves a condition on the step size",
        at({"theorem 5": THEOREM_5}),
        first,
        second,
        box="the notions of its statement",
        claimed="a statement about stability",
        parameters=declared(Parameter("theorem 5", Constant(THEOREM_5))),
        names=("patterns", "words"),
    )


def numbering_case(kind: str) -> Case:
    """No number twice."""

    def first(parameters: Parameters) -> Decided:
        printed_numbers = [int(x) for x in numbers(parameters, kind)]
        return Decided(
            len(set(printed_numbers)) < len(printed_numbers), f"{kind} {', '.join(map(str, printed_numbers))}"
        )

    def second(parameters: Parameters) -> Decided:
        printed_numbers = parameters[kind].split()
        twice = sorted({word for word in printed_numbers if printed_numbers.count(word) > 1})
        return Decided(bool(twice), f"twice {twice}")

    return decided(
        "numbering",
        f"no two {kind} have the same number",
        at({kind: PRINTED[kind]}),
        first,
        second,
        box="numbers in order",
        claimed="each once",
        parameters=declared(Parameter(kind, Constant(PRINTED[kind]))),
        names=("integers", "digits"),
    )


# --- the library's theorem

TWO, ONE = Fraction(2), Fraction(1)
HALF = Fraction(1, 2)

CLAIMS = (
    Claim(
        id="ode-T2",
        source=Source("odernn", "Theorem 2"),
        statement="symplectic Euler with W = iS, S symmetric, and monotone σ (1-2-ARNN) is stable "
        "for η below a bound in the eigenvalues λ of W, whose formula is lost; read as bounded "
        "powers at constant slopes in (0, L_s] for η L_s max|λ| < 2, reconstructed, which covers "
        "every stricter bound; also tried: the border, the leapfrog, other schemes, slope 0",
        semantics="real",
        dominated_by="thm-ARNN",
        cases=(
            modes_case("symplectic_euler", TWO),
            modes_case("leapfrog", ONE),
            networks_case("symplectic_euler"),
            networks_case("leapfrog"),
            mode_case("symplectic_euler", "powers bounded for η L_s max|λ| ≤ 2", ("1", "2"), TWO, closed=True),
            mode_case("leapfrog", "powers bounded for η L_s max|λ| ≤ 1", ("1/2", "1"), ONE, closed=True),
            mode_case("leapfrog", "powers bounded for η L_s max|λ| < 2", ("1/2", "3/2"), TWO, closed=False),
            mode_case("forward_euler", "powers bounded for η L_s max|λ| < 2", ("1/4", "3/2"), TWO, closed=False),
            every_step_case("forward_euler"),
            every_step_case("explicit_midpoint"),
            relu_case(),
        ),
    ),
    Claim(
        id="ode-T2-input",
        source=Source("odernn", "Theorem 2"),
        statement="the same for the recurrent network, driven by inputs (biases that depend on time): for "
        "η L_s max|λ| < 2 differences of two runs, or Jacobians of n steps, stay bounded; also tried: the leapfrog, "
        "bounded states. Smaller thresholds are no better (thm-ARNN-drive)",
        semantics="real",
        dominated_by="thm-ARNN-drive",
        cases=(
            word_case("symplectic_euler", ("1", "1/2", "1/10")),
            word_case("leapfrog", ("3/4", "1/2", "1/10")),
            word_case(
                "symplectic_euler",
                ("3/2", "1"),
                (((HALF, ONE), (ONE, ONE)), ((HALF, HALF), (HALF, HALF), (ONE, HALF), (ONE, ONE))),
            ),
            tanh_case(),
            drift_case(),
        ),
    ),
    Claim(
        id="ode-2-stable",
        source=Source("odernn", "Section 2, introduction"),
        statement="1-ARNN and 2-ARNN are stable, as ode-T2 reads it: symplectic Euler and the leapfrog have bounded "
        "powers at constant slopes in (0, L_s] below some threshold of η L_s max|λ|, here 2 and 1; also tried: the "
        "leapfrog up to 2",
        semantics="real",
        dominated_by="thm-ARNN",
        cases=(
            modes_case("symplectic_euler", TWO),
            modes_case("leapfrog", ONE),
            mode_case("leapfrog", "powers bounded for η L_s max|λ| < 2", ("1/2", "3/2"), TWO, closed=False),
        ),
    ),
    Claim(
        id="ode-4-chang",
        source=Source("odernn", "Conclusion"),
        statement="the AntisymmetricRNN of Chang et al. has the weight of an ARNN: W − Wᵀ is anti-Hermitian (its "
        "labels are lost and not asked); also tried: the damped weight W − Wᵀ − γ I, and whether the step by forward "
        "Euler is stable",
        semantics="real",
        dominated_by="thm-ARNN",
        cases=(
            anti_hermitian_case("0"),
            anti_hermitian_case("1/10"),
            every_step_case("forward_euler"),
            damped_step_case(),
            damped_case(),
        ),
    ),
    Claim(
        id="ode-T2-proof",
        source=Source("odernn", "proof of Theorem 2"),
        statement="errata: the proof of Theorem 2 refers to Theorem 5; numbers of definitions and theorems",
        semantics="reading",
        cases=(mentions_case(), numbering_case("definitions"), numbering_case("theorems")),
    ),
    Claim(
        id="thm-ARNN",
        source=Source("library", "docs/derivations/arnn.md"),
        statement="constant slopes in (0, L_s], a = η L_s max|λ|: powers of symplectic Euler are bounded if a < 2, of "
        "the leapfrog if a < 1; forward Euler of iλ − γ does not grow iff η ≤ 2γ/(γ² + λ²)",
        semantics="real",
        origin="library",
        cases=(modes_case("symplectic_euler", TWO), modes_case("leapfrog", ONE), damped_case()),
    ),
    Claim(
        id="thm-ARNN-drive",
        source=Source("library", "docs/derivations/arnn.md"),
        statement="slopes that change with time: for every a = η s |λ| > 0 some word of slopes in {0, s} has an "
        "eigenvalue outside the unit circle. Symplectic Euler: (s, s), then m − 1 times (0, s), m the least integer "
        "with m a² > 4; leapfrog: s, then m − 1 times 0, s, m the least integer with m a > 1",
        semantics="real",
        origin="library",
        cases=(drive_case("symplectic_euler"), drive_case("leapfrog")),
    ),
)
