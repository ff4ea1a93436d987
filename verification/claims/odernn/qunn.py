# Claims: ode-D5q · ode-Q1 · ode-Q2 · ode-Q4 · thm-QUNN
"""Niu, Chuang, Horesh 2019, second Definition 5 and Section 3.2: what a QUNN computes, counts and remembers.

The formulas (32)–(36) are not legible; the QUNN is that of ``odernn.QUNN``, with all T + 1 states of its clock.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import mpmath
from flint import Ordering, arb, fmpq, fmpq_mpoly_ctx, fmpq_poly

from odernn.published.sources import Source
from verification.cases.decision import at, decided
from verification.cases.qunn_layers import non_expansion_case
from verification.certify.second.intervals import iv
from verification.claim import Case, Claim, Decided, Parameters
from verification.exact_text import number
from verification.measure import qunn_clock as clock
from verification.measure.linear_attention import linear_outputs
from verification.measure.qunn_clock import Depth, depth_of_output

BITS = 192


# --- the closed form, and what an output depends on


def _sizes(parameters: Parameters) -> tuple[int, int, int]:
    d, T, N = (int(number(parameters, name)) for name in ("d", "T", "N"))
    return d, T, N


def _symbols(d: int, count: int, N: int, extra: int = 0) -> tuple[list[list[Any]], list[Any], list[Any], list[Any]]:
    """Inputs, α, β and further symbols."""
    names = [f"x{l}_{i}" for l in range(count) for i in range(d)]
    names += [f"{kind}{i}" for kind in ("alpha", "beta") for i in range(1, N + 1)]
    names += [f"sigma{i}" for i in range(extra)]
    free: list[Any] = list(fmpq_mpoly_ctx.get(names, Ordering.degrevlex).gens())
    inputs = [free[l * d : (l + 1) * d] for l in range(count)]
    rest = free[count * d :]
    return inputs, rest[:N], rest[N : 2 * N], rest[2 * N :]


def _numbers(d: int, count: int, N: int) -> tuple[list[list[Fraction]], list[Fraction], list[Fraction]]:
    """Random rationals."""
    rng = random.Random(1000 * d + 10 * count + N)

    def draw(size: int) -> list[Fraction]:
        return [Fraction(rng.randint(-5, 5), rng.randint(1, 4)) for _ in range(size)]

    return [draw(d) for _ in range(count)], draw(N), draw(N)


def closed_form_case(weights: Callable[..., list[list[Any]]] = linear_outputs) -> Case:
    """o_l of the definition with σ the identity against Σ_i w_i ⟨x_{l−i}, x_l⟩ x_{l−i+1}."""

    def first(parameters: Parameters) -> Decided:
        d, T, N = _sizes(parameters)
        inputs, alpha, beta, _ = _symbols(d, T, N)
        computed = weights(inputs, alpha, beta)
        wrong = [k for k in range(T) if clock.output(inputs, k, T, alpha, beta) != computed[k]]
        return Decided(bool(wrong), f"place {wrong[0]} of the block differs" if wrong else "equal as polynomials")

    def second(parameters: Parameters) -> Decided:
        d, T, N = _sizes(parameters)
        inputs, alpha, beta = _numbers(d, T, N)
        computed = weights(inputs, alpha, beta)
        wrong = [k for k in range(T) if clock.output_by_matrices(inputs, k, T, alpha, beta) != computed[k]]
        return Decided(
            bool(wrong), f"place {wrong[0]} differs at random rationals" if wrong else "equal at random rationals"
        )

    places = [{"d": str(d), "T": str(T), "N": str(N)} for d in (1, 2) for T in (2, 3) for N in (1, 2, 3, T + 2)]
    return decided(
        "σ linear, d ≤ 2, T ≤ 3, N ≤ T + 2",
        "o_l = Σ w_i ⟨x_{l−i}, x_l⟩ x_{l−i+1}",
        at(*_unique(places)),
        first,
        second,
        box="all inputs, α and β: polynomials",
        claimed="equal",
        names=("polynomials", "Kronecker products in fractions"),
    )


def _unique(places: list[dict[str, str]]) -> list[dict[str, str]]:
    return [place for k, place in enumerate(places) if place not in places[:k]]


def blocks_case() -> Case:
    """The outputs of the second block with and without the inputs of the first."""

    def first(parameters: Parameters) -> Decided:
        d, T, N = _sizes(parameters)
        inputs, alpha, beta, pool = _symbols(d, 2 * T, N, extra=d * (T + 1) * (N + 1) * T)
        sigma = clock.Unknown(pool)
        blank = [[0 * x for x in row] for row in inputs[:T]] + inputs[T:]
        both = [[clock.output(given, l, T, alpha, beta, sigma) for l in range(T, 2 * T)] for given in (inputs, blank)]
        return Decided(both[0] != both[1], "equal for every σ with σ(0) = 0")

    def second(parameters: Parameters) -> Decided:
        d, T, N = _sizes(parameters)
        inputs, alpha, beta = _numbers(d, 2 * T, N)
        other = [[x + 1 for x in row] for row in inputs[:T]] + inputs[T:]
        both = [
            [clock.output_by_matrices(given, l, T, alpha, beta) for l in range(T, 2 * T)] for given in (inputs, other)
        ]
        return Decided(both[0] != both[1], "equal in fractions, linear σ")

    places = [{"d": "1", "T": str(T), "N": str(N)} for T in (2, 3) for N in (1, T)]
    return decided(
        "any σ with σ(0) = 0",
        "outputs depend on inputs of their block only",
        at(*places),
        first,
        second,
        box="two blocks, all inputs, α and β, the values of σ as symbols",
        claimed="equal",
        names=("polynomials", "fractions"),
    )


def two_states_case() -> Case:
    """The clock against its two states e_k, e_{k+1}."""

    def first(parameters: Parameters) -> Decided:
        d, T, N = _sizes(parameters)
        inputs, alpha, beta, pool = _symbols(d, T, N, extra=4 * d * (T + 1) * (N + 1) * T)
        sigma = clock.Unknown(pool)
        wrong = [
            k
            for k in range(T)
            if clock.output(inputs, k, T, alpha, beta, sigma)
            != clock.output_without_clock(inputs, k, T, alpha, beta, sigma)
        ]
        return Decided(bool(wrong), "equal for every σ with σ(0) = 0")

    def second(parameters: Parameters) -> Decided:
        d, T, N = _sizes(parameters)
        inputs, alpha, beta = _numbers(d, T, N)

        def square(u: Fraction) -> Fraction:
            return u * abs(u)

        both = [
            [function(inputs, k, T, alpha, beta, square) for k in range(T)]
            for function in (clock.output, clock.output_without_clock)
        ]
        return Decided(both[0] != both[1], "equal in fractions, σ(u) = u|u|")

    places = [{"d": str(d), "T": str(T), "N": str(N)} for d in (1, 2) for T in (2, 3) for N in (1, T, T + 1)]
    return decided(
        "any σ with σ(0) = 0",
        "two states of the clock give the same outputs",
        at(*places),
        first,
        second,
        box="all inputs, α and β, the values of σ as symbols",
        claimed="equal",
        names=("polynomials", "fractions"),
    )


# --- numbers of parameters


def _lstm_count(width: Any, inputs: Any) -> Any:
    """4 h (h + d + 2) with two biases as torch has them, over any ring."""
    return 4 * width * (width + inputs + 2)


def count_case() -> Case:
    """2 N for every d, N = T − 1 as in ``reach_case``: the entries of the module, and the formula of its class."""

    def first(parameters: Parameters) -> Decided:
        from odernn.cells.qunn import QUNN

        T, d = int(number(parameters, "T")), int(number(parameters, "d"))
        module = QUNN(d, block_length=T, depth=T - 1, device="meta")
        count = sum(parameter.numel() for parameter in module.parameters())
        return Decided(count != 2 * (T - 1), f"{count} parameters at T = {T}, d = {d}")

    def second(parameters: Parameters) -> Decided:
        from odernn.cells.qunn import QUNN

        T = int(number(parameters, "T"))
        counts = [QUNN.parameter_count(length, depth=length - 1) for length in (T, T + 1, T + 2)]
        steps = {after - before for before, after in itertools.pairwise(counts)}
        return Decided(steps != {2} or counts[0] != 2 * T - 2, f"{counts[0]}, and 2 more with every T")

    places = [{"T": str(T), "d": str(d)} for T in range(2, 12) for d in (1, 2, 5)]
    return decided(
        "2 ≤ T ≤ 11, d = 1, 2, 5",
        "N = T − 1: 2 N parameters, whatever d is",
        at(*places),
        first,
        second,
        box="N = T − 1 layers of two numbers",
        claimed="linear in T, no d",
        names=("modules", "formula"),
    )


def degree_case(domain: str, quantity: str, width: str, claimed: int, *, ratio: bool) -> Case:
    """The degree in T of the number of parameters of an LSTM of the given width, or of its ratio to 2 T."""

    def first(parameters: Parameters) -> Decided:
        h, d = number(parameters, "h"), number(parameters, "d")
        T = fmpq_poly([0, 1])
        wide = T if width == "T" else fmpq_poly([fmpq(h.numerator, h.denominator)])
        degree = _lstm_count(wide, fmpq(d.numerator, d.denominator)).degree() - (1 if ratio else 0)
        return Decided(degree != claimed, f"T^{degree}, d = {d}" + ("" if width == "T" else f", h = {h}"))

    def second(parameters: Parameters) -> Decided:
        """Counted entry by entry, at four T: as many differences as it takes until they vanish."""
        h, d = int(number(parameters, "h")), int(number(parameters, "d"))
        counts = [_entries(T if width == "T" else h, d) for T in range(1, 7)]
        degree = -1
        while any(counts):
            counts, degree = [b - a for a, b in itertools.pairwise(counts)], degree + 1
        degree -= 1 if ratio else 0
        return Decided(degree != claimed, f"degree {degree} by differences")

    return decided(
        domain,
        quantity,
        at({"h": "128", "d": "1"}),
        first,
        second,
        box="T as a symbol",
        claimed=f"T^{claimed}",
        names=("polynomials", "differences"),
    )


def _entries(h: int, d: int) -> int:
    """Gate by gate: input matrix, recurrent matrix, two biases."""
    return sum(h * d + h * h + h + h for _ in ("i", "f", "g", "o"))


def fewer_case() -> Case:
    """2 T < 4 h (h + d + 2) for every T."""

    def first(parameters: Parameters) -> Decided:
        T, h, d = (int(number(parameters, name)) for name in ("T", "h", "d"))
        return Decided(_lstm_count(h, d) <= 2 * T, f"QUNN {2 * T}, LSTM {_lstm_count(h, d)}")

    def second(parameters: Parameters) -> Decided:
        from odernn.cells.qunn import QUNN

        T, h, d = (int(number(parameters, name)) for name in ("T", "h", "d"))
        return Decided(
            QUNN.parameter_count(T) >= _entries(h, d), f"QUNN {QUNN.parameter_count(T)}, LSTM {_entries(h, d)}"
        )

    places = [{"T": str(T), "h": "8", "d": "1"} for T in (10, 100, 1000)]
    return decided(
        "an LSTM of fixed width",
        "a QUNN has fewer parameters at every T",
        at(*places),
        first,
        second,
        box="h = 8, d = 1",
        is_box=False,
        claimed="fewer",
        names=("formula", "entries"),
    )


# --- N-N-ODERNN, and memory


def depth_case(domain: str, first_is_linear: bool) -> Case:
    """n: the functions nested in an output of a QUNN with N layers, at the end of a block."""
    sigma_0 = clock.linear if first_is_linear else Depth.function

    def first(parameters: Parameters) -> Decided:
        N = int(number(parameters, "N"))
        nested = depth_of_output(N, N + 1, N, sigma_0).nested
        return Decided(nested != N, f"{nested} nested functions with N = {N}")

    def second(parameters: Parameters) -> Decided:
        """Without the clock: p_i and o_i nest i + 1 functions, or i if σ_0 is linear."""
        N = int(number(parameters, "N"))
        p, o = (0 if first_is_linear else 1), 0
        for _ in range(N):
            p, o = p + 1, max(p, o) + 1
        return Decided(o != N, f"n = {o}")

    return decided(
        domain,
        "n = N nested functions",
        at(*({"N": str(N)} for N in range(1, 9))),
        first,
        second,
        box="1 ≤ N ≤ 8, T = N + 1, the last place of a block",
        claimed="N",
        names=("definition", "recursion"),
    )


def reach_case(domain: str, gap: int) -> Case:
    """t: does some output depend on x_{l−N}? T = N + gap."""

    def first(parameters: Parameters) -> Decided:
        N = int(number(parameters, "N"))
        T = N + gap
        depths = [depth_of_output(l, T, N, Depth.function).of for l in range(2 * T)]
        reach = max(l - int(other) for l, seen in enumerate(depths) for other in seen)
        return Decided(reach != N, f"outputs reach {reach} inputs back, N = {N}, T = {T}")

    def second(parameters: Parameters) -> Decided:
        N = int(number(parameters, "N"))
        T = N + gap
        ones = [Fraction(1)] * N
        reached = 0
        for l in range(2 * T):
            inputs = [[Fraction(k + 2)] for k in range(2 * T)]
            before = clock.output_by_matrices(inputs, l, T, ones, ones)
            for lag in range(1, l + 1):
                moved = [[x + int(k == l - lag) for x in row] for k, row in enumerate(inputs)]
                if clock.output_by_matrices(moved, l, T, ones, ones) != before:
                    reached = max(reached, lag)
        return Decided(reached != N, f"a change {reached} steps back is seen, none further")

    return decided(
        domain,
        "t = N: an output that depends on x_{l−N}",
        at(*({"N": str(N)} for N in range(2, 6))),
        first,
        second,
        box="2 ≤ N ≤ 5, two blocks",
        claimed="N steps back",
        names=("definition", "fractions"),
    )


def memory_case(other: str) -> Case:
    """Two inputs that differ at time 0 only. A QUNN forgets it at the end of the block; the other cell does not."""

    def runs(parameters: Parameters) -> tuple[int, int, list[list[list[Fraction]]]]:
        T, l = int(number(parameters, "T")), int(number(parameters, "l"))
        values = [Fraction(word) for word in parameters["first"].split()]
        return T, l, [[[value], *([Fraction(1)] for _ in range(l))] for value in values]

    def first(parameters: Parameters) -> Decided:
        T, l, both = runs(parameters)
        ones = [Fraction(1)] * T
        same = clock.output(both[0], l, T, ones, ones) == clock.output(both[1], l, T, ones, ones)
        with flint.ctx.workprec(BITS):
            ends = [_cell(other, [arb(fmpq(*x.as_integer_ratio())) for (x,) in given], arb.tanh) for given in both]
            apart = ends[0] - ends[1]
            differs = not apart.contains(0)
            return Decided(same and differs, f"QUNN the same at l = {l}, {other} {apart.str(6, radius=False)} apart")

    def second(parameters: Parameters) -> Decided:
        T, l, both = runs(parameters)
        ones = [Fraction(1)] * T
        same = clock.output_by_matrices(both[0], l, T, ones, ones) == clock.output_by_matrices(
            both[1], l, T, ones, ones
        )
        with iv.workprec(BITS):
            ends = [_cell_again(other, [iv.mpf(x.numerator) / x.denominator for (x,) in given]) for given in both]
            apart = ends[0] - ends[1]
            return Decided(same and bool(apart.a > 0 or apart.b < 0), f"{other} {mpmath.nstr(apart.mid, 6)} apart")

    return decided(
        f"QUNN against {other}",
        f"inputs matter at least as long as in {other}",
        at({"T": "4", "l": "8", "first": "0 1"}),
        first,
        second,
        box="d = 1, all weights 1",
        is_box=False,
        claimed="at least as long",
        names=("balls", "mpmath"),
    )


def _cell(name: str, inputs: list[Any], tanh: Callable[[Any], Any]) -> Any:
    """The last output of one unit: LSTM with weights 1 and no bias, or URNN with W = −1, V = 1, modReLU with bias 0."""
    h = c = 0 * inputs[0]
    for x in inputs:
        if name == "URNN":
            h = -h + x  # modReLU with bias 0 is the identity
            continue
        a = h + x
        gate = (1 + tanh(a / 2)) / 2
        c = gate * c + gate * tanh(a)
        h = gate * tanh(c)
    return h


def _cell_again(name: str, inputs: list[Any]) -> Any:
    """The same for intervals: the logistic function and tanh from exponentials; the URNN as Σ (−1)^(l−k) x_k."""
    if name == "URNN":
        return sum(((-1) ** k * x for k, x in enumerate(reversed(inputs))), 0 * inputs[0])
    exp = iv.exp
    output = memory = iv.mpf(0)
    for x in inputs:
        logistic = 1 / (1 + exp(-x - output))
        memory = logistic * (memory + 1 - 2 / (exp(2 * (x + output)) + 1))
        output = logistic * (1 - 2 / (exp(2 * memory) + 1))
    return output


WIDE, FIXED = "an LSTM with one unit a step, h = T", "an LSTM of fixed width"
CLAIMS = (
    Claim(
        id="ode-D5q",
        source=Source("odernn", "second Definition 5, (32)–(36)"),
        statement="of the QUNN as it is reconstructed here (σ(0) = 0; layers of products of consecutive inputs of a "
        "block on a clock): no output depends on another block, and for linear σ the outputs are a sum over the block",
        semantics="alg",
        dominated_by="thm-QUNN",
        cases=(closed_form_case(), blocks_case()),
    ),
    Claim(
        id="ode-Q1",
        source=Source("odernn", "Abstract, Section 3.2"),
        statement="a QUNN has a number of parameters linear in the correlation length T, "
        "whatever the dimension d of the data: 2 N, two numbers a layer as the text has them, and N = T − 1 layers, as "
        "in ode-Q4 (their number is lost; with N = T it is 2 T)",
        semantics="comb",
        cases=(count_case(),),
    ),
    Claim(
        id="ode-Q2",
        source=Source("odernn", "Sections 3.2 and 4"),
        statement="parameters as a function of the correlation length T: QUNN linear, LSTM quadratic, if its "
        "width has to grow like h = T, which is assumed here; also tried: an LSTM of fixed width, and the ratio",
        semantics="comb",
        cases=(
            degree_case(FIXED, "its number of parameters grows like T²", "h", 2, ratio=False),
            fewer_case(),
            degree_case(WIDE, "its number of parameters grows like T², that of the QUNN like T", "T", 2, ratio=False),
            degree_case(WIDE, "the ratio grows like T²", "T", 2, ratio=True),
        ),
    ),
    Claim(
        id="ode-Q4",
        source=Source("odernn", "Section 3.2"),
        statement="a QUNN with N hidden layers has n = N nested functions; t = N, which exceeds the 2 of an LSTM "
        "for N ≥ 3, is tried of the reconstruction, for N = T − 1 and N = T; also tried: the first stage "
        "counted as a layer, and how long inputs matter beside LSTM and URNN",
        semantics="comb",
        cases=(
            depth_case("σ_0 linear", True),
            depth_case("σ_0 = σ", False),
            reach_case("N = T − 1", 1),
            reach_case("N = T", 0),
            memory_case("LSTM"),
            memory_case("URNN"),
        ),
    ),
    Claim(
        id="thm-QUNN",
        source=Source("library", "docs/derivations/qunn.md"),
        statement="σ linear: o_l = Σ_i w_i ⟨x_{l−i}, x_l⟩ x_{l−i+1}, w_i = β_i Π_{j≠i} "
        "α_j, i = 1, …, min(k, N), k the place of x_l in its block; σ(0) = 0: two "
        "states of the clock suffice, and outputs depend on inputs of their block only; where |α_i| + |β_i| "
        "|x_{l−i+1}| |x_{l−i}| ≤ 1 and σ is 1-Lipschitz, every layer is non-expansive",
        semantics="alg",
        origin="library",
        cases=(closed_form_case(), two_states_case(), blocks_case(), non_expansion_case()),
    ),
)
