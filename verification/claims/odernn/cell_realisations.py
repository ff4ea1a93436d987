# Claims: ode-C1 · ode-C1-lab · ode-C2 · ode-C3 · ode-C4 · ode-C* · thm-cells
"""Niu, Chuang, Horesh 2019, Claims 1 to 4: LSTM, GRU, URNN and clockwork networks as n-t-ODERNNs, exactly.

The tables are those of ``realisations``; functions are unknown, so that an equality holds for all of them. The
second look is at the formulas of the source as reconstructed (docs/derivations/cell_realisations.md), in fractions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import flint
from flint import Ordering, arb, fmpq, fmpq_mpoly_ctx, fmpq_poly

from odernn.cells.odernn import MatrixTableau, realisations
from odernn.published.sources import Source
from verification.cases.decision import at, decided
from verification.cases.gated_cells import (
    BITS,
    bounded_slopes_case,
    cell_case,
    one_stage_case,
    poles_case,
    relayed_case,
)
from verification.certify.second.intervals import iv
from verification.claim import Case, Claim, Decided, Parameters
from verification.exact_text import number, numbers
from verification.measure import cell_formulas as formulas
from verification.measure import gated_nesting as nesting
from verification.measure import tableau_algebra as algebra

FORMS: tuple[realisations.Form, ...] = ("gated", "constant")


# --- labels


def labels_case(domain: str, quantity: str, claimed: Callable[[int], int], proved: Callable[[int], int]) -> Case:
    """Claim and proof give the same number for every L."""

    def first(parameters: Parameters) -> Decided:
        L = int(number(parameters, "L"))
        return Decided(claimed(L) != proved(L), f"L = {L}: {claimed(L)} in the claim, {proved(L)} in the proof")

    def second(parameters: Parameters) -> Decided:
        L = number(parameters, "L")
        labels = {"claim": "2-?", "proof": f"{L}-2"}
        places = {"n-t, n-t": (0, 0), "t-n, t-n": (0, 0), "t-n, n-t": (0, 1)}[domain]
        one, other = (label.split("-")[place] for label, place in zip(labels.values(), places, strict=True))
        return Decided(one != other, f"{labels['claim']} against {labels['proof']}")

    return decided(
        domain,
        quantity,
        at(*({"L": str(L)} for L in (1, 3, 2, 4, 5))),
        first,
        second,
        box="L = 1 … 5, order of the two labels in the claim and in the proof",
        claimed="the same number",
        names=("integers", "labels"),
    )


# --- URNN, clockwork


SIMPLE_EDGES = {0: (), 1: ()}
"""A is 0: k_0 = y and k_1 = σ(…) are read by y₊ alone."""


def unitary_case(*, counted: bool = False) -> Case:
    """σ(W y + V x), layer upon layer: W any matrix of symbols, so complex and unitary ones too; σ any function, so
    modReLU too. ``counted``: with the labels of the table, n = L for L layers and t = 1.
    """

    def first(parameters: Parameters) -> Decided:
        L, d = (int(number(parameters, name)) for name in ("L", "d"))
        tableau = realisations.simple(d)
        equal = not algebra.simple_differs(tableau, L, d)
        unit = all(
            algebra.in_full(tableau.B[i].matrix, d, d) == [[fmpq(s * (j == k)) for k in range(d)] for j in range(d)]
            for i, s in ((0, -1), (1, 1))
        )
        labels = (algebra.depth(tableau, L), tableau.t)
        right = equal and unit and (not counted or labels == (L, 1))
        shown = f", (n, t) = {labels}" if counted else ""
        return Decided(not right, f"{'equal' if equal else 'different'} states, B_0 = −I, B_1 = I at L = {L}{shown}")

    def second(parameters: Parameters) -> Decided:
        """modReLU itself, of Gaussian rationals with rational modulus: y − y + z (|z| + b)₊/|z|."""
        L, d = (int(number(parameters, name)) for name in ("L", "d"))
        nested = nesting.chain_again(L, SIMPLE_EDGES, (0, 1))
        differ = formulas.unitary_differs(d, L)
        return Decided(differ or (counted and nested != L), "Gaussian rationals, W = diag(5/13 + 12i/13, …)")

    return decided(
        "coefficients ±I",
        "an ODERNN with the same states" + (", (n, t) = (L, 1)" if counted else ""),
        at(*({"L": str(L), "d": str(d)} for L in (1, 2) for d in (1, 2, 3))),
        first,
        second,
        box="L ≤ 2, d ≤ 3, all W, V, b, states and inputs, any σ: polynomials",
        claimed="equal",
        names=("polynomials", "Gaussian rationals"),
    )


PERIODS = ((1, 2), (1, 2, 4), (2, 3), (1, 3, 4))


def _clockwork_places() -> list[dict[str, str]]:
    return [
        {"periods": " ".join(map(str, periods)), "l": str(l)} for periods in PERIODS for l in range(math.lcm(*periods))
    ]


def _clockwork_equal(parameters: Parameters) -> tuple[bool, MatrixTableau]:
    periods, l = [int(x) for x in numbers(parameters, "periods")], int(number(parameters, "l"))
    g = len(periods)
    tableau = realisations.clockwork(periods, [1] * g, l)
    names = [*algebra.matrix_names("W", g, g), *algebra.matrix_names("U", g, 1)]
    names += [*algebra.vector_names("b", g), *algebra.vector_names("y", g), *algebra.vector_names("u", 1)]
    symbols = algebra.Symbols(names, 2 * g)
    full = symbols.matrix("W", g, g)
    W = [[x if j >= i else 0 * x for j, x in enumerate(row)] for i, row in enumerate(full)]
    U, b, y, u = symbols.matrix("U", g, 1), symbols.vector("b", g), symbols.vector("y", g), symbols.vector("u", 1)
    after = algebra.step(tableau, lambda _: (W, U, b), y, u, symbols.functions)
    proposed = algebra.simple(W, U, b, y, u, symbols.functions["tanh"])
    wanted = [new if l % period == 0 else old for period, new, old in zip(periods, proposed, y, strict=True)]
    return after == wanted, tableau


def clockwork_case(*, counted: bool = False) -> Case:
    """Every group at every time of a period. ``counted``: with the labels of the table, (n, t) = (1, 1)."""

    def first(parameters: Parameters) -> Decided:
        equal, tableau = _clockwork_equal(parameters)
        labels = (tableau.n, tableau.t)
        return Decided(not equal or (counted and labels != (1, 1)), f"(n, t) = {labels}" if counted else "equal states")

    def second(parameters: Parameters) -> Decided:
        periods, l = [int(x) for x in numbers(parameters, "periods")], int(number(parameters, "l"))
        return Decided(formulas.clockwork_differs(periods, l, random.Random(l)), "equal in fractions")

    return decided(
        "coefficients that depend on time",
        "an ODERNN with the same states" + (", (n, t) = (1, 1)" if counted else ""),
        at(*_clockwork_places()),
        first,
        second,
        box="periods (1,2), (1,2,4), (2,3), (1,3,4), every time of a period, all weights, any σ",
        claimed="equal",
        names=("polynomials", "formulas in fractions"),
    )


def clocks_case(label: str) -> Case:
    """n or t has to be the number of clocks."""

    def first(parameters: Parameters) -> Decided:
        equal, tableau = _clockwork_equal({**parameters, "l": "0"})
        clocks, value = len(numbers(parameters, "periods")), getattr(tableau, label)
        return Decided(equal and value < clocks, f"{clocks} clocks, a table with {label} = {value}")

    def second(parameters: Parameters) -> Decided:
        periods = [int(x) for x in numbers(parameters, "periods")]
        works = not any(formulas.clockwork_differs(periods, l, random.Random(l)) for l in range(math.lcm(*periods)))
        return Decided(works and len(periods) > 1, "one tanh on one block, gates 0 or 1 by the time")

    return decided(
        "coefficients that depend on time",
        f"no {label} smaller than the number of clocks",
        at({"periods": "1 2"}, {"periods": "1 2 4"}),
        first,
        second,
        box="two and three clocks",
        is_box=False,
        claimed="the number of clocks",
        names=("polynomials", "formulas in fractions"),
    )


def autonomous_case() -> Case:
    """Constant coefficients: equal states and inputs give equal new states. A clockwork network does not.

    The last group of the network at h = 0, V u + b = x: it becomes tanh x when its period divides l, and else stays 0.
    """

    def first(parameters: Parameters) -> Decided:
        periods = [int(value) for value in numbers(parameters, "periods")]
        g, argument = len(periods), fmpq(*number(parameters, "x").as_integer_ratio())
        with flint.ctx.workprec(BITS):
            values = [arb(0), arb(argument).tanh()]
            after = []
            for l in range(math.lcm(*periods)):
                B = algebra.in_full(realisations.clockwork(periods, [1] * g, l).B[1].matrix, g, g)
                after.append(values[int(B[g - 1][g - 1] != 0)])
            moved = [abs(one - after[0]) for one in after]
            shown = ", ".join(value.str(6, radius=False) for value in after)
            return Decided(any(bool(change > 0) for change in moved), f"h = 0 becomes {shown} at l = 0, 1, …")

    def second(parameters: Parameters) -> Decided:
        x, *_, last = number(parameters, "x"), *numbers(parameters, "periods")
        periods = [int(value) for value in numbers(parameters, "periods")]
        rests = {l % int(last) == 0 for l in range(math.lcm(*periods))}
        with iv.workprec(BITS):
            e = iv.exp(2 * iv.mpf(x.numerator) / x.denominator)
            moves = 0 not in (e - 1) / (e + 1)
        return Decided(moves and len(rests) == 2, "tanh x ≠ 0, and the group acts now and then")

    return decided(
        "constant coefficients",
        "an ODERNN with the same states",
        at({"periods": "1 2", "x": "1"}),
        first,
        second,
        box="the last group, V u + b = x, at two times",
        is_box=False,
        claimed="equal",
        names=("balls", "mpmath"),
    )


# --- scope


def every_map_case() -> Case:
    """k_1 = κ ≠ 0 constant, B = diag((Φ − y)/κ): y + B k_1 = Φ for every Φ."""

    def first(_: Parameters) -> Decided:
        phi, y, kappa = fmpq_mpoly_ctx.get(["phi", "y", "kappa"], Ordering.degrevlex).gens()
        with flint.ctx.workprec(BITS):
            nonzero = bool(arb(1).tanh() > 0)
        return Decided(
            not nonzero or y * kappa + (phi - y) * kappa != kappa * phi, "κ (y + B k_1) = κ Φ, κ = tanh 1 > 0"
        )

    def second(_: Parameters) -> Decided:
        rng = random.Random(3)
        kappa = Fraction(16, 21)
        for _trial in range(100):
            y, phi = Fraction(rng.randint(-99, 99), rng.randint(1, 9)), Fraction(rng.randint(-99, 99), 7)
            if y + (phi - y) / kappa * kappa != phi:
                return Decided(True, f"y = {y}, Φ = {phi}")
        return Decided(False, "100 rational points")

    return decided(
        "coefficients that depend on the state",
        "every map y₊ = Φ(y, x) is a 1-1-ODERNN",
        at({"Φ": "any"}),
        first,
        second,
        box="all real y and values of Φ",
        claimed="every map",
        names=("polynomials", "fractions"),
    )


def square_case() -> Case:
    """Φ(y) = y²: the change between y and y + 1 is 2y + 1, and bounded for any constant table with bounded slopes."""

    def first(parameters: Parameters) -> Decided:
        y = fmpq_poly([0, 1])
        change = (y + 1) ** 2 - y**2
        here = change(fmpq(*number(parameters, "y").as_integer_ratio()))
        return Decided(change.degree() == 1, f"the change is {change}, {here} at this y")

    def second(parameters: Parameters) -> Decided:
        y = number(parameters, "y")
        changes = [(y + k + 1) ** 2 - (y + k) ** 2 for k in range(3)]
        return Decided(
            changes[1] - changes[0] == changes[2] - changes[1] != 0, f"changes {', '.join(map(str, changes))}, …"
        )

    return decided(
        "constant coefficients, functions with bounded slopes, any n and t",
        "every map y₊ = Φ(y, x) is an ODERNN",
        at({"y": "1000"}),
        first,
        second,
        box="Φ(y) = y²",
        is_box=False,
        claimed="every map",
        names=("polynomials", "fractions"),
    )


CLAIMS = (
    Claim(
        id="ode-C1",
        source=Source("odernn", "Claim 1"),
        statement="for any LSTM with L hidden layers some ODERNN has the same outputs, "
        "its gates as coefficients, n = L and t = 2 (labels partly lost; idle stages "
        "make up for n < L); also tried: gates counted as stages, constant coefficients",
        semantics="alg",
        dominated_by="thm-cells",
        cases=(
            cell_case("lstm", "gated"),
            cell_case("lstm", "constant"),
            one_stage_case(),
            bounded_slopes_case("LSTM"),
            relayed_case(),
            poles_case(),
        ),
    ),
    Claim(
        id="ode-C1-lab",
        source=Source("odernn", "Claims 1 and 2 with their proofs"),
        statement="Claims 1 and 2 print the label 2 first, their proofs last (an "
        "erratum); read with n or with t in the first place: the same numbers",
        semantics="reading",
        cases=(
            labels_case("n-t, n-t", "n of claim and proof", lambda _: 2, lambda L: L),
            labels_case("t-n, t-n", "t of claim and proof", lambda _: 2, lambda L: L),
            labels_case("t-n, n-t", "t of claim and proof", lambda _: 2, lambda _: 2),
        ),
    ),
    Claim(
        id="ode-C2",
        source=Source("odernn", "Claim 2"),
        statement="for any GRU with L hidden layers some ODERNN has the same hidden states, "
        "its gates as coefficients, n = L and t = 2 (labels partly lost; idle stages and an idle "
        "block make up for n < L and t = 1); also tried: gates counted as stages, constant coefficients",
        semantics="alg",
        dominated_by="thm-cells",
        cases=(
            cell_case("gru", "gated"),
            cell_case("gru", "constant"),
            relayed_case("gru"),
            bounded_slopes_case("GRU"),
            poles_case("GRU"),
        ),
    ),
    Claim(
        id="ode-C3",
        source=Source("odernn", "Claim 3"),
        statement="for any URNN some ODERNN has the same hidden states; with coefficients ±I, for L ≤ 2 layers one on "
        "top of the other; also tried: its labels (n, t) = (L, 1), which are lost in the paper and reconstructed",
        semantics="alg",
        dominated_by="thm-cells",
        cases=(unitary_case(), unitary_case(counted=True)),
    ),
    Claim(
        id="ode-C4",
        source=Source("odernn", "Claim 4"),
        statement="some ODERNN realises the clockwork RNN, coefficients depending on time (its labels are lost); also "
        "tried: (n, t) = (1, 1), n or t below the number of clocks, constant coefficients",
        semantics="alg",
        dominated_by="thm-cells",
        cases=(clockwork_case(), clockwork_case(counted=True), clocks_case("n"), clocks_case("t"), autonomous_case()),
    ),
    Claim(
        id="ode-C*",
        source=Source("odernn", "Section 2.2 with Definition 1"),
        statement="a question of this library: which maps are "
        "n-t-ODERNNs if coefficients may depend on time, memory and state",
        semantics="alg",
        dominated_by="thm-cells",
        cases=(every_map_case(), square_case()),
    ),
    Claim(
        id="thm-cells",
        source=Source("library", "docs/derivations/cell_realisations.md"),
        statement="(n, t) of one layer: LSTM (2, 2) gated and (4, 2) constant, GRU (2, 1) and "
        "(4, 1), URNN (1, 1), clockwork (1, 1) with coefficients that depend on time; n times "
        "L for L layers, which are composed; with coefficients that depend on the state every "
        "map is a 1-1-ODERNN. Asked for L ≤ 2, widths d ≤ 2 and four sets of periods",
        semantics="alg",
        origin="library",
        cases=(
            *(
                replace(cell_case(kind, form), domain=f"{kind.upper()}, {form} coefficients")
                for kind in ("lstm", "gru")
                for form in FORMS
            ),
            replace(unitary_case(counted=True), domain="URNN, coefficients ±I"),
            replace(clockwork_case(counted=True), domain="clockwork, coefficients that depend on time"),
            every_map_case(),
        ),
    ),
)
