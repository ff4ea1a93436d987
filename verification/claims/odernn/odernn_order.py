# Claims: ode-D1-n · ode-D1-t · thm-deg
"""Definition 1 of the ODERNN paper: how nonlinear n stages are, and what t coupled variables mean."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly_ctx, fmpq_poly

from odernn import tableaus
from odernn.published.sources import Source
from odernn.tableaus.methods import in_stages
from odernn.tableaus.tableau import ButcherTableau
from verification.cases.decision import premise
from verification.cases.identity import PolynomialIdentity
from verification.claim import GIVEN, Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number, numbers, rationals
from verification.kinds import STRICTLY_LOWER, Integer, Listed, Matrix, Rational
from verification.measure.polynomial_steps import companion, explicit_step, step_degree
from verification.parameters import Declaration, Parameter, Rule, declared

LARGEST_STAGES = {"smoke": 3, "standard": 3, "deep": 4}
DEGREES = (2, 3)
PRIME = 2**31 - 1
Degree = Callable[[int, int], int]
"""The degree that is claimed, of n and q."""


def power(n: int, q: int) -> int:
    return int(q**n)


def count(n: int, _: int) -> int:
    """The order n of nonlinearity, read as the degree."""
    return n


# --- the degree of a step


def chain_case(claimed: Degree = power, words: str = "degree qⁿ") -> Case:
    """f(y) = y^q, n stages, all a_{i,j} (j < i) and b_i unknowns: the leading coefficient of the step in y."""

    def ask(budget: Budget, _: int) -> Attempt:
        degrees, candidates = [], []
        for n, q in itertools.product(range(1, LARGEST_STAGES[budget.name] + 1), DEGREES):
            degree, leading = _leading(n, q)
            degrees.append(f"n = {n}, q = {q}: y^{degree} with {leading}")
            if degree != claimed(n, q):
                candidates.append(_chain(n, q))
        text = f"leading terms with a_ij, b_i as unknowns: {'; '.join(degrees)}"
        return Attempt(
            text,
            len(degrees),
            found=text,
            claimed=words,
            candidates=tuple(candidates[:3]),
            proof="" if candidates else text,
        )

    def check(parameters: Parameters) -> Check:
        return _degree_check(parameters, claimed, chained=True)

    return Case("a_{i+1,i} ≠ 0 for all i, b_n ≠ 0", words, ask, _tables(3, max(DEGREES) + 1).guards(check))


def all_tables_case(claimed: Degree = power) -> Case:
    """Every explicit table of n ≤ 3 stages with a_ij in {0, 1/2, 1}, b = e_n or (1, …, 1)/n, f(y) = y^q + 1."""

    def ask(_: Budget, __: int) -> Attempt:
        candidates, tried = [], 0
        for n, q in itertools.product((1, 2, 3), DEGREES):
            places = [(i, j) for i in range(n) for j in range(i)]
            for entries in itertools.product(("0", "1/2", "1"), repeat=len(places)):
                a = dict(zip(places, entries, strict=True))
                flat = " ".join(a.get((i, j), "0") for i in range(n) for j in range(n))
                for b in (" ".join(["0"] * (n - 1) + ["1"]), " ".join([f"1/{n}"] * n)):
                    tried += 1
                    parameters = {"a": flat, "b": b, "f": _monomial(q, 1)}
                    if _degree(parameters) != claimed(n, q):
                        candidates.append(parameters)
        text = f"{len(candidates)} of {tried} tables have another degree"
        return Attempt(text, tried, found=text, claimed="none", candidates=tuple(candidates[:3]))

    def check(parameters: Parameters) -> Check:
        return _degree_check(parameters, claimed, chained=False)

    return Case("every explicit table of n stages", "degree qⁿ", ask, _tables(3, max(DEGREES) + 1).guards(check))


def linear_case(claimed: int = 1) -> Case:
    """f(y) = λ y + μ, n ≤ 4 stages with unknown coefficients: the degree in y. Where R = 0 the step is a constant."""

    def ask(_: Budget, __: int) -> Attempt:
        degrees = {n: _leading(n, 1)[0] for n in (1, 2, 3, 4)}
        text = f"f(y) = y, a_ij and b_i as unknowns: degrees {degrees}"
        wrong = [n for n, degree in degrees.items() if degree != claimed]
        candidates = tuple({**_chain(n, 1), "f": "1 1"} for n in wrong[:2])
        return Attempt(
            text, 4, found=text, claimed=f"degree {claimed}", candidates=candidates, proof="" if wrong else text
        )

    def check(parameters: Parameters) -> Check:
        return _degree_check(parameters, lambda *_: claimed, chained=True, is_most=True)

    return Case("linear fields, n ≤ 4", f"degree {claimed}", ask, _tables(2, 2).guards(check))


def catalogue_case(largest: int = 5) -> Case:
    """Exact degrees for the explicit rational methods of the catalogue, against ``step_degree``."""

    def ask(_: Budget, __: int) -> Attempt:
        agreed, apart = 0, []
        for name in tableaus.names():
            method = in_stages(tableaus.get(name))
            if not _is_explicit(method) or method.stages > largest:
                continue
            for q in (1, *DEGREES) if method.stages <= 4 else (1, 2):
                degree = explicit_step(method, fmpq_poly([1] + [0] * (q - 1) + [1])).degree()
                if degree == step_degree(method, q) == _degree_modulo(method, q):
                    agreed += 1
                else:
                    apart.append(f"{name}, q = {q}: {degree}")
        text = f"{agreed} exact polynomials with f(y) = y^q + 1 have the degree q^n, n the longest chain"
        return Attempt(
            text,
            agreed + len(apart),
            found="; ".join(apart) or text,
            claimed="q^n",
            proof="" if apart else text,
            twice=f"and modulo {PRIME}, by convolution",
        )

    return Case(f"catalogue, explicit, at most {largest} stages", "degree q^n of the longest chain", ask)


def _is_explicit(method: Any) -> bool:
    return (
        isinstance(method, ButcherTableau)
        and all(isinstance(x, fmpq) for row in (*method.A, method.b) for x in row)
        and all(x == 0 for i, row in enumerate(method.A) for x in row[i:])
    )


def _leading(n: int, q: int) -> tuple[int, str]:
    """Degree in y and the leading coefficient of the step on f(y) = y^q, as a polynomial in the entries."""
    names = ["y", *(f"a{i + 1}{j + 1}" for i in range(n) for j in range(i)), *(f"b{i + 1}" for i in range(n))]
    ring = fmpq_mpoly_ctx.get(names, Ordering.lex)
    v = dict(zip(names, ring.gens(), strict=True))
    slopes: list[Any] = []
    for i in range(n):
        slopes.append(sum((v[f"a{i + 1}{j + 1}"] * slopes[j] for j in range(i)), v["y"]) ** q)
    end = sum((v[f"b{i + 1}"] * slope for i, slope in enumerate(slopes)), v["y"])
    terms = {powers: c for powers, c in end.to_dict().items()}
    degree = max(powers[0] for powers in terms)
    top = ring.from_dict({(0, *powers[1:]): c for powers, c in terms.items() if powers[0] == degree})
    return int(degree), str(top)


def _tables(least: int, most: int) -> Declaration:
    """An explicit table of up to 4 stages, and f with ``least`` to ``most`` coefficients, that of y⁰ first."""
    return declared(
        Parameter("b", Listed(Rational(), (1, 4))),
        Parameter("a", Matrix(lambda v: len(v["b"]), lambda v: len(v["b"]), structure=STRICTLY_LOWER)),
        Parameter("f", Listed(Rational(), (least, most))),
        rules=[Rule("the last coefficient of f, that of its degree, is not 0", lambda read: read["f"][-1] != 0)],
    )


def _monomial(q: int, constant: int = 0) -> str:
    return " ".join([str(constant)] + ["0"] * (q - 1) + ["1"])


def _chain(n: int, q: int) -> Parameters:
    a = " ".join(str(int(j == i - 1)) for i in range(n) for j in range(n))
    return {"a": a, "b": " ".join(["0"] * (n - 1) + ["1"]), "f": _monomial(q)}


def _table(parameters: Parameters) -> tuple[list[list[Fraction]], list[Fraction], list[Fraction]]:
    a, b, f = (numbers(parameters, name) for name in ("a", "b", "f"))
    n = len(b)
    return [a[i * n : (i + 1) * n] for i in range(n)], b, f


def _degree(parameters: Parameters) -> int:
    rows, b, f = _table(parameters)
    A = [[fmpq(x.numerator, x.denominator) for x in row] for row in rows]
    table = ButcherTableau(
        name="typed", A=A, b=[fmpq(x.numerator, x.denominator) for x in b], c=[sum(r, fmpq(0)) for r in A]
    )
    return int(explicit_step(table, fmpq_poly([fmpq(x.numerator, x.denominator) for x in f])).degree())


def _degree_again(parameters: Parameters) -> int:
    """Polynomials as lists of fractions, by Horner's rule and convolution."""
    rows, b, f = _table(parameters)

    def times(p: Sequence[Fraction], q: Sequence[Fraction]) -> list[Fraction]:
        product = [Fraction(0)] * (len(p) + len(q) - 1)
        for (i, x), (j, y) in itertools.product(enumerate(p), enumerate(q)):
            product[i + j] += x * y
        return product

    def plus(p: Sequence[Fraction], q: Sequence[Fraction]) -> list[Fraction]:
        return [x + y for x, y in itertools.zip_longest(p, q, fillvalue=Fraction(0))]

    slopes: list[list[Fraction]] = []
    for i, row in enumerate([*rows, b]):
        at = [Fraction(0), Fraction(1)]
        for weight, slope in zip(row, slopes, strict=False):
            at = plus(at, [weight * x for x in slope])
        if i == len(rows):
            return max((k for k, x in enumerate(at) if x), default=-1)
        value = [Fraction(0)]
        for coefficient in reversed(f):
            value = plus(times(value, at), [coefficient])
        slopes.append(value)
    raise AssertionError


def _degree_modulo(method: ButcherTableau, q: int) -> int:
    """Of the step on f(y) = y^q + 1 modulo a prime: never more than over the rationals."""

    def modulo(value: Any) -> int:
        return int(value.p) * pow(int(value.q), -1, PRIME) % PRIME

    slopes: list[list[int]] = []
    for row in (*method.A, method.b):
        at = [0, 1]
        for weight, slope in zip(map(modulo, row), slopes, strict=False):
            at = [(x + weight * y) % PRIME for x, y in itertools.zip_longest(at, slope, fillvalue=0)]
        value = [1]
        for _ in range(q):
            product = [0] * (len(value) + len(at) - 1)
            for (i, x), (j, y) in itertools.product(enumerate(value), enumerate(at)):
                product[i + j] = (product[i + j] + x * y) % PRIME
            value = product
        slopes.append([value[0] + 1, *value[1:]])
    return max(k for k, x in enumerate(at) if x)


def _degree_check(parameters: Parameters, claimed: Degree, *, chained: bool, is_most: bool = False) -> Check:
    """The degree against the claimed one, or against the largest that is claimed; of a chain, or of any method, whose
    weights add up to 1.
    """
    rows, b, f = _table(parameters)
    n, q = len(b), max((k for k, x in enumerate(f) if x), default=0)
    first, second, expected = _degree(parameters), _degree_again(parameters), claimed(n, q)
    links = [*(rows[i + 1][i] for i in range(n - 1)), b[-1]]
    if chained:
        premises = [premise("a_{i+1,i} ≠ 0 for all i, b_n ≠ 0", min(map(abs, links)))]
    else:
        premises = [premise("a method: Σ b_i = 1", -abs(sum(b) - 1), strict=False)]
    return Check(
        opinions=(
            Opinion("flint", first > expected if is_most else first != expected, f"degree {first}"),
            Opinion("fractions", second > expected if is_most else second != expected, f"degree {second}"),
        ),
        premises=tuple(premises),
        words=f"{GIVEN}: {n} stages, q = {q}, the step has the degree {first}, not {expected}",
    )


# --- t coupled variables


def companion_case(orders: Iterable[int] = (1, 2, 3, 4), shift: int = 0) -> Case:
    """x_{l+1} = F(x_l, …, x_{l−t+1}) for a function F of which nothing is known, and its first-order form.

    Every value of F is a new symbol, the same for the same arguments. ``shift`` hands on other entries: the falsehood.
    """
    known = tuple(orders)

    def ask(_: Budget, __: int) -> Attempt:
        differing = [t for t in known if not _same_sequence(t, shift)]
        text = f"t = {', '.join(map(str, known))}: 3t values from t unknown starts, F any function"
        named = tuple({"t": str(t), "weights": " ".join(map(str, range(1, t + 1)))} for t in differing[:2])
        proof = "" if differing else f"{text}: equal as symbols"
        return Attempt(
            text, len(known), found=f"{len(differing)} differ", claimed="equal", proof=proof, candidates=named
        )

    def check(parameters: Parameters) -> Check:
        """F(x) = Σ w_i x_i, starts 1, …, t, the newest first."""
        t, w = int(number(parameters, "t")), numbers(parameters, "weights")
        exact = [fmpq(x.numerator, x.denominator) for x in w]
        step = companion(lambda *x: sum((a * b for a, b in zip(exact, x, strict=True)), fmpq(0)), t)
        state = tuple(fmpq(k + 1) for k in range(t))
        values = [Fraction(t - k) for k in range(t)]  # the newest last
        history = [Fraction(k + 1) for k in range(t)]
        differs = again = False
        for _ in range(3 * t):
            values.append(sum((a * b for a, b in zip(w, reversed(values[-t:]), strict=True)), Fraction(0)))
            state = step(_shifted(state, shift))
            history = history[shift:] + history[:shift]
            history.insert(0, sum((a * b for a, b in zip(w, history, strict=True)), Fraction(0)))
            history.pop()
            differs = differs or state[0] != fmpq(values[-1].numerator, values[-1].denominator)
            again = again or history[0] != values[-1]
        return Check(
            opinions=(Opinion("flint", differs, str(state[0])), Opinion("fractions", again, str(history[0]))),
            words=f"F = Σ w_i x_i; {GIVEN}: {state[0]} against {values[-1]}",
        )

    parameters = declared(Parameter("t", Integer(1, max(known))), Parameter("weights", Listed(Rational(), "t")))
    return Case(
        f"recurrences, t ≤ {max(known)}", "x_l of the first-order system of t blocks", ask, parameters.guards(check)
    )


def _shifted(state: tuple[Any, ...], shift: int) -> tuple[Any, ...]:
    return state[shift:] + state[:shift]


def _same_sequence(t: int, shift: int) -> bool:
    calls: dict[tuple[str, ...], str] = {}

    def F(*x: str) -> str:
        return calls.setdefault(x, f"F{len(calls)}")

    starts = tuple(f"x{-k}" for k in range(t))
    step, state, values = companion(F, t), starts, list(reversed(starts))
    for _ in range(3 * t):
        state = step(_shifted(state, shift))
        values.append(F(*reversed(values[-t:])))
        if state != tuple(reversed(values[-t:])):
            return False
    return True


def derivative_case(order: int = 2, terms: int = 6, damping: int = 0) -> Case:
    """y⁽ᵗ⁾ = F and y_i' = y_{i+1}, y_t' = F with F quadratic, all coefficients unknown: Taylor coefficients of y.

    ``damping`` is put in front of −y_1 in the first equation: the planted falsehood.
    """

    def residual(v: Any) -> list[Any]:
        system, equation = _series_of_system(v, order, terms, damping), _series_of_equation(v, order, terms)
        return [x - y for x, y in zip(system, equation, strict=True)]

    def again(v: Any) -> list[Any]:
        """Picard's iteration on polynomials of ``terms`` coefficients: of the system, and of y by t integrals of F."""
        start, none = [v[f"y{k}"] for k in range(order)], [0 * v["y0"]] * (terms - 1)
        one = [0 * v["y0"] + 1, *none]

        def force(series: Sequence[Sequence[Any]]) -> list[Any]:
            u, total = [one, *series], [0 * v["y0"]] * terms
            for i, j in itertools.combinations_with_replacement(range(order + 1), 2):
                for a, b in itertools.product(range(terms), repeat=2):
                    if a + b < terms:
                        total[a + b] = total[a + b] + v[f"c{i}{j}"] * u[i][a] * u[j][b]
            return total

        def integral(rate: Sequence[Any], at_zero: Any) -> list[Any]:
            return [at_zero, *(x / k for k, x in enumerate(rate[: terms - 1], start=1))]

        system = [[y, *none] for y in start]
        scalar = [start[0], *none]
        for _ in range(terms):
            rates = [*system[1:], force(system)]
            rates[0] = [x - damping * y for x, y in zip(rates[0], system[0], strict=True)]
            system = [integral(rate, y) for rate, y in zip(rates, start, strict=True)]
            derivatives = [scalar]
            while len(derivatives) < order:
                last = derivatives[-1]
                derivatives.append([k * last[k] for k in range(1, terms)] + [0 * v["y0"]])
            scalar = force(derivatives)
            for y in reversed(start):
                scalar = integral(scalar, y)
        return [x - y for x, y in zip(system[0], scalar, strict=True)]

    names = (*(f"y{k}" for k in range(order)), *(f"c{i}{j}" for i in range(order + 1) for j in range(i, order + 1)))
    identity = PolynomialIdentity(
        names, residual, again, f"first {terms} Taylor coefficients, F quadratic, t = {order}"
    )
    return identity.case(f"y⁽ᵗ⁾ = F(y, …, y⁽ᵗ⁻¹⁾), t = {order}", "y of the first-order system of t-fold length")


def _quadratic(v: Any, series: list[list[Any]], order: int, k: int) -> Any:
    """Coefficient k of F = Σ c_ij u_i u_j, u_0 = 1, u_i the series."""
    zero = 0 * v["y0"]
    u = [[zero + 1] + [zero] * k, *series]
    total = zero
    for i in range(order + 1):
        for j in range(i, order + 1):
            total = total + v[f"c{i}{j}"] * sum((u[i][a] * u[j][k - a] for a in range(k + 1)), zero)
    return total


def _series_of_system(v: Any, order: int, terms: int, damping: int) -> list[Any]:
    """Coefficients of all t components together, one power at a time."""
    series = [[v[f"y{k}"]] for k in range(order)]
    for k in range(terms - 1):
        new = [series[i + 1][k] for i in range(order - 1)] + [_quadratic(v, series, order, k)]
        new[0] = new[0] - damping * series[0][k]
        for own, value in zip(series, new, strict=True):
            own.append(value * fmpq(1, k + 1))
    return series[0]


def _series_of_equation(v: Any, order: int, terms: int) -> list[Any]:
    """Coefficients of y alone: y⁽ⁱ⁾ has the coefficients (k + i)!/k! y_{k+i}."""
    y = [v[f"y{k}"] * fmpq(1, math.factorial(k)) for k in range(order)]
    for k in range(terms - order):
        raised = [[y[a + i] * (math.factorial(a + i) // math.factorial(a)) for a in range(k + 1)] for i in range(order)]
        y.append(_quadratic(v, raised, order, k) * fmpq(math.factorial(k), math.factorial(k + order)))
    return y[:terms]


HIGHEST = 9
"""Power of a state that is typed in."""


def converse_case(powers: Sequence[int] = (1, 2, 3)) -> Case:
    """x' = y^k, y' = 1: is x'' a function of x and x'?   x'' = k y^{k−1}"""

    def ask(_: Budget, __: int) -> Attempt:
        named = [
            {"k": str(k), "y": rationals([Fraction(p), Fraction(q)])}
            for k in powers
            for p, q in itertools.combinations(range(3, -4, -1), 2)
        ]
        named.sort(key=lambda p: sum(abs(Fraction(x)) for x in p["y"].split()))
        violating = [p for p in named if check(p).opinions[0].violated]
        text = f"{len(violating)} of {len(named)} pairs of states with x = 0 have the same x' and different x''"
        return Attempt(text, len(named), found=text, claimed="none", candidates=tuple(violating[:2]))

    def check(parameters: Parameters) -> Check:
        k, y = int(number(parameters, "k")), numbers(parameters, "y")
        field = fmpq_poly([0] * k + [1])
        first = [
            (field(fmpq(x.numerator, x.denominator)), field.derivative()(fmpq(x.numerator, x.denominator))) for x in y
        ]
        second = [(x**k, k * x ** (k - 1)) for x in y]
        return Check(
            opinions=(
                Opinion("flint", first[0][0] == first[1][0] and first[0][1] != first[1][1], f"(x', x'') = {first}"),
                Opinion("fractions", second[0][0] == second[1][0] and second[0][1] != second[1][1], f"{second}"),
            ),
            words=f"x' = y^{k}, y' = 1: at x = 0 and y = {y[0]}, {y[1]} the values of x and x' are the same, and x'' "
            f"is {first[0][1]} and {first[1][1]}",
        )

    parameters = declared(Parameter("k", Integer(1, HIGHEST)), Parameter("y", Listed(Rational(), 2)))
    return Case("t = 2 coupled variables", "x'' = F(x, x') for the first variable", ask, parameters.guards(check))


CLAIMS = (
    Claim(
        id="ode-D1-n",
        source=Source("odernn", "Def. 1"),
        statement="n stages of a Runge–Kutta step are said to make an order n of "
        "nonlinearity: n stages in a chain nest a field of degree q to the degree qⁿ in "
        "one explicit step; also tried: degree n, every explicit table, linear fields",
        semantics="alg",
        cases=(
            chain_case(),
            chain_case(count, "degree n"),
            all_tables_case(),
            linear_case(),
        ),
        dominated_by="thm-deg",
    ),
    Claim(
        id="ode-D1-t",
        source=Source("odernn", "Sec. 2.1"),
        statement="an ODE (or recurrence) of order t is one of first order for t blocks, the successive derivatives "
        "(or values) of one variable; also tried: any t coupled variables, which need not be an ODE of order t",
        semantics="alg",
        cases=(companion_case(), derivative_case(2), derivative_case(3, 5), converse_case()),
    ),
    Claim(
        id="thm-deg",
        source=Source("library", "docs/derivations/matrix_coefficients.md, mc-11"),
        statement="one explicit step whose longest chain of stages is n has at most the "
        "degree qⁿ on fields of degree q ≥ 2, and has it where the leading terms of longest "
        "chains do not cancel (asked of single chains and of the catalogue); degree 1 at "
        "most on linear fields; a recurrence of order t is a first-order system of t blocks",
        semantics="alg",
        cases=(chain_case(), linear_case(), catalogue_case(), companion_case()),
        origin="library",
    ),
)
