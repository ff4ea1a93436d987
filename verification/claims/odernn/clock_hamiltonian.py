# Claims: ode-T5 · ode-T5-terms · ode-T5-fix · ode-T5-herm · ode-3.1-terms · thm-clock
"""Niu, Chuang, Horesh 2019, Theorem 5 and Appendix A: the clock Hamiltonian of a Boolean circuit, exactly.

(38)–(40) are not legible; H is Feynman's (``measure.clock_hamiltonian``), and (38) is read as Σ U_l ⊗ |l⟩⟨l−1|.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import flint
from flint import fmpz_mat, fmpz_poly

from odernn.bounds.numbers import BALLS
from odernn.published.sources import Source
from verification.cases.clock_paths import gap_case, ground_state_case, output_case, terms_case
from verification.cases.decision import Places, decided, listed
from verification.certify.clock import BITS, spectrum
from verification.certify.second import clock as again
from verification.claim import Case, Claim, Decided, Parameters
from verification.domains import BUDGETS, Budget
from verification.exact_text import number, numbers
from verification.kinds import Integer
from verification.measure.clock_hamiltonian import FULL_ADDER, HALF_ADDER, NOT, Circuit, gap, hamiltonian, kernel, terms
from verification.parameters import Declaration, Parameter, declared

CIRCUITS = {circuit.name: circuit for circuit in (NOT, HALF_ADDER, FULL_ADDER)}
BOX = "all inputs of the circuits not (T = 1, n = 1), half adder (T = 2, n = 3), full adder (T = 5, n = 4)"


def _inputs(_: Budget, __: int) -> Iterator[Parameters]:
    for circuit in CIRCUITS.values():
        for word in range(2**circuit.bits):
            yield {"circuit": circuit.name, "input": str(word)}


def _circuits(_: Budget, __: int) -> Iterator[Parameters]:
    for name in CIRCUITS:
        yield {"circuit": name, "input": "0"}


def _small_circuits(_: Budget, __: int) -> Iterator[Parameters]:
    """Every circuit of one or two gates on two bits, for the input 0: another input is another name of the words."""
    gates = list(itertools.permutations(range(4)))
    for circuit in [(gate,) for gate in gates] + list(itertools.product(gates, repeat=2)):
        yield {"bits": "2", "gates": " ".join(str(x) for gate in circuit for x in gate), "input": "0"}


def _as_listed(places: Places, *names: str) -> Declaration:
    return listed(names, lambda: places(BUDGETS["smoke"], 0))


PLACES: Mapping[Places, Declaration] = {
    _inputs: _as_listed(_inputs, "circuit", "input"),
    _circuits: _as_listed(_circuits, "circuit", "input"),
    _small_circuits: _as_listed(_small_circuits, "bits", "gates", "input"),
}
"""They are the same for every budget."""


def _typed(parameters: Parameters) -> tuple[Circuit, int]:
    """A circuit by name, or by its gates, the images of all words one gate after the other."""
    word = int(number(parameters, "input"))
    if "circuit" in parameters:
        return CIRCUITS[parameters["circuit"]], word
    bits, images = int(number(parameters, "bits")), [int(x) for x in numbers(parameters, "gates")]
    gates = tuple(tuple(images[k : k + 2**bits]) for k in range(0, len(images), 2**bits))
    return Circuit("as typed", bits, gates), word


def case(
    domain: str,
    quantity: str,
    first: Callable[[Circuit, int], Decided],
    second: Callable[[Circuit, int], Decided],
    *,
    claimed: str,
    places: Places = _inputs,
    box: str = BOX,
) -> Case:
    """A statement about a circuit and an input."""
    return decided(
        domain,
        quantity,
        places,
        lambda p: first(*_typed(p)),
        lambda p: second(*_typed(p)),
        box=box,
        claimed=claimed,
        parameters=PLACES[places],
        names=("flint", "integers"),
    )


# --- Theorem 5


def _zero_energy(circuit: Circuit, word: int) -> Decided:
    energies = spectrum(circuit, word)
    image = fmpz_mat([list(row) for row in hamiltonian(circuit, word)]) * fmpz_mat([[x] for x in kernel(circuit, word)])
    holds = energies.is_positive and not any(image.entries())
    return Decided(not holds, "no negative eigenvalue, and H Σ U_l…U_1|x⟩⊗|l⟩ = 0")


def _zero_energy_again(circuit: Circuit, word: int) -> Decided:
    annihilated, _ = again.kernel_of(circuit.gates, word)
    return Decided(
        not (annihilated and again.is_sum_of_squares(circuit.gates, word)), "2H is a sum of squares |(U_l ⊗ …)ψ|²"
    )


def _unique(with_input: bool) -> tuple[Callable[[Circuit, int], Decided], Callable[[Circuit, int], Decided]]:
    def first(circuit: Circuit, word: int) -> Decided:
        nullity = spectrum(circuit, word, with_input).nullity
        return Decided(nullity != 1, f"kernel of dimension {nullity} in {circuit.size}")

    def second(circuit: Circuit, word: int) -> Decided:
        if with_input:
            annihilated, most = again.kernel_of(circuit.gates, word, with_input)
            return Decided(not (annihilated and most == 1), f"dimension at least {int(annihilated)}, at most {most}")
        count = sum(again.kernel_of(circuit.gates, other, with_input)[0] for other in range(2**circuit.bits))
        return Decided(count > 1, f"the {count} histories of different inputs, with no place in common, are all in it")

    return first, second


def _is_gap(circuit: Circuit, word: int) -> Decided:
    energies = spectrum(circuit, word)
    closed = f"1 − cos(π/{2 * (circuit.steps + 1)}) = {float(gap(circuit.steps)):.9f}"
    return Decided(not energies.is_closed_form, f"smallest nonzero eigenvalue {closed}, {circuit.name}")


def _is_gap_again(circuit: Circuit, word: int) -> Decided:
    """LDLᵀ of H − λ in fractions just below and just above the closed form: 1 negative pivot, then at least 2."""
    with flint.ctx.workprec(BITS):
        value = Fraction(float(gap(circuit.steps, BALLS)))
    below, above = (
        again.negative_pivots(circuit.gates, word, value * (1 + sign * Fraction(1, 10**9))) for sign in (-1, 1)
    )
    return Decided(not (below == 1 < above), f"{below} eigenvalue below, {above} just above")


def _output(circuit: Circuit, word: int) -> Decided:
    vector = kernel(circuit, word)
    last = vector[-(2**circuit.bits) :]
    output = circuit.run(word)[-1]
    share = Fraction(sum(x * x for x in last), sum(x * x for x in vector))
    holds = [k for k, x in enumerate(last) if x] == [output] and share == Fraction(1, circuit.steps + 1)
    return Decided(not holds, f"the part on |T⟩ is the output, of squared amplitude {share}")


def _output_again(circuit: Circuit, word: int) -> Decided:
    output = again.computed(circuit.name, word)
    places = again.kernel_places(circuit.gates, word)
    holds = places[-1] == output and len(places) == circuit.steps + 1
    return Decided(not holds, f"{circuit.name} of {word} is {output}, by arithmetic")


# --- terms


def _term_count(with_input: bool) -> tuple[Callable[[Circuit, int], Decided], Callable[[Circuit, int], Decided]]:
    def first(circuit: Circuit, word: int) -> Decided:
        count = len(terms(circuit, word, with_input=with_input))
        return Decided(count != circuit.steps, f"{count} terms, T = {circuit.steps}")

    def second(circuit: Circuit, word: int) -> Decided:
        """Rank of the span of the terms as vectors: they are independent, so none can be saved by gathering."""
        rank = again.independent_terms(circuit.gates, word, with_input)
        return Decided(rank != circuit.steps, f"{rank} linearly independent terms")

    return first, second


def _polynomial_size(circuit: Circuit, word: int) -> Decided:
    count = len(terms(circuit, word))
    return Decided(count > circuit.steps + circuit.bits, f"T + n = {count} terms for {circuit.name}")


def _polynomial_size_again(circuit: Circuit, word: int) -> Decided:
    rank = again.independent_terms(circuit.gates, word, True)
    return Decided(rank > len(circuit.gates) + circuit.bits, f"{rank} independent terms")


# --- fixed points of i ψ' = H ψ and of ψ' = −H ψ


def _one_point(circuit: Circuit, word: int) -> Decided:
    """Fixed points of both equations are the kernel of H: a linear space."""
    nullity = spectrum(circuit, word).nullity
    return Decided(
        nullity > 0, f"ψ = 0 and every multiple of the kernel vector are fixed: a space of dimension {nullity}"
    )


def _one_point_again(circuit: Circuit, word: int) -> Decided:
    annihilated, _ = again.kernel_of(circuit.gates, word)
    return Decided(annihilated, "Hψ = 0 for ψ = 0, v and 2v")


def _attracts_schroedinger(circuit: Circuit, word: int) -> Decided:
    """i ψ' = H ψ, H = Hᵀ: d/dt |P ψ|² = 0 and d/dt |ψ|² = 0, P the projection on the kernel. A state with a part
    outside the kernel keeps that distance to it for ever.
    """
    H = fmpz_mat([list(row) for row in hamiltonian(circuit, word)])
    symmetric = H.transpose() == H
    distance = _distance(circuit, word)
    return Decided(
        symmetric and distance > 0, f"from |x⟩⊗|0⟩ the squared distance to the kernel is {distance} for all t"
    )


def _attracts_schroedinger_again(circuit: Circuit, word: int) -> Decided:
    symmetric = again.is_symmetric(circuit.gates, word)
    annihilated, most = again.kernel_of(circuit.gates, word)
    distance = 1 - Fraction(1, len(again.kernel_places(circuit.gates, word)))
    stays = symmetric and annihilated and most == 1 and distance > 0
    return Decided(stays, f"squared distance {distance}, conserved")


def _distance(circuit: Circuit, word: int) -> Fraction:
    """|ψ|² − ⟨v, ψ⟩²/⟨v, v⟩ of ψ = |x⟩⊗|0⟩."""
    vector = kernel(circuit, word)
    return 1 - Fraction(vector[word] ** 2, sum(x * x for x in vector))


def _attracts_heat(circuit: Circuit, word: int) -> Decided:
    """ψ' = −H ψ: the distance to the kernel falls like e^(−gap t), for H ≥ 0 with a gap; the limit is not 0."""
    energies = spectrum(circuit, word)
    holds = energies.is_positive and bool(energies.smallest > 0) and _distance(circuit, word) < 1
    return Decided(
        not holds,
        f"rate {float(energies.smallest):.6f}; from |x⟩⊗|0⟩ the limit has length² {1 - _distance(circuit, word)}",
    )


def _attracts_heat_again(circuit: Circuit, word: int) -> Decided:
    _, most = again.kernel_of(circuit.gates, word)
    holds = (
        again.is_sum_of_squares(circuit.gates, word) and most == 1 and word in again.kernel_places(circuit.gates, word)
    )
    return Decided(not holds, "H ≥ 0, one-dimensional kernel, overlap with |x⟩⊗|0⟩")


def _every_start(circuit: Circuit, word: int) -> Decided:
    """ψ' = −H ψ from a state orthogonal to the kernel: it goes to 0, which is no output."""
    vector = kernel(circuit, word)
    other = next(place for place, x in enumerate(vector) if not x)
    return Decided(vector[other] == 0, f"from the basis vector {other}, orthogonal to the kernel, the limit is 0")


def _every_start_again(circuit: Circuit, word: int) -> Decided:
    free = set(range(2**circuit.bits)) - {again.kernel_places(circuit.gates, word)[0]}
    return Decided(bool(free), f"from |{min(free)}⟩⊗|0⟩ the limit is 0")


# --- (38), (39)

LONGEST = 8


def _clock_lengths(_: Budget, __: int) -> Iterator[Parameters]:
    for steps in range(1, LONGEST + 1):
        yield {"T": str(steps)}


def _hopping(steps: int, sign: int) -> fmpz_mat:
    """Forward plus sign times backward, gates as identities: Σ |l⟩⟨l−1| + sign Σ |l−1⟩⟨l|."""
    size = steps + 1
    return fmpz_mat([[int(i == j + 1) + sign * int(j == i + 1) for j in range(size)] for i in range(size)])


def hop_case(
    quantity: str,
    sign: int,
    first: Callable[[fmpz_mat, int], Decided],
    second: Callable[[int, int], tuple[bool, str]],
    claimed: str,
) -> Case:
    domain = {0: "(38) alone", 1: "a step plus its inverse", -1: "a step minus its inverse"}[sign]

    return decided(
        domain,
        quantity,
        _clock_lengths,
        lambda p: first(_hopping(int(number(p, "T")), sign), int(number(p, "T"))),
        lambda p: Decided(*second(int(number(p, "T")), sign)),
        box=f"all circuits with T ≤ {LONGEST} gates: ΣU_l…U_1 ⊗ |l⟩⟨l| turns the gates into identities",
        claimed=claimed,
        parameters=declared(Parameter("T", Integer(1, LONGEST))),
        names=("flint", "integers"),
    )


def _unitary(A: fmpz_mat, _: int) -> Decided:
    gram = A.transpose() * A
    wrong = [k for k in range(A.nrows()) if gram[k, k] != 1]
    return Decided(
        bool(wrong), f"AᵀA has 0 at the place of |{wrong[0]}⟩: that state is sent to 0" if wrong else "AᵀA = I"
    )


def _nilpotent(A: fmpz_mat, steps: int) -> Decided:
    return Decided(any((A ** (steps + 1)).entries()), "A^(T+1) = 0: 0 is the only eigenvalue")


def _hermitian(A: fmpz_mat, _: int) -> Decided:
    return Decided(A.transpose() != A, "A = Aᵀ" if A.transpose() == A else "A ≠ Aᵀ")


def _imaginary(A: fmpz_mat, _: int) -> Decided:
    """Aᵀ = −A has imaginary eigenvalues only; a root whose ball excludes real part 0 shows the contrary."""
    if A.transpose() == -A:
        return Decided(False, "Aᵀ = −A")
    with flint.ctx.workprec(128):
        factors: Any = [factor for factor, _ in fmpz_poly(A.charpoly()).factor()[1]]
        roots = [root for factor in factors for root, _ in factor.complex_roots()]
        off = [root for root in roots if not root.real.contains(0)]
    if not off:
        raise ArithmeticError(f"neither antisymmetric nor with an eigenvalue off the axis: {A}")
    return Decided(True, f"an eigenvalue {off[0].real.str(6, radius=False)}")


def cosines_case(*, ends: int = 2) -> Case:
    """Steps plus their inverses, summed over T of them, have eigenvalues 2 cos(πk/(T + 2)). ``ends`` = 1 is planted."""

    def first(A: fmpz_mat, steps: int) -> Decided:
        """Of 2 cos(2πj/N), N = 2(T + ends), all but ±2 are the roots of the minimal polynomials of divisors of N."""
        full = 2 * (steps + ends)
        product = fmpz_poly([1])
        for divisor in range(3, full + 1):
            if full % divisor == 0:
                product *= fmpz_poly.cos_minpoly(divisor)
        good = A.transpose() == A and A.charpoly() == product
        return Decided(not good, f"det(x − A) is {'' if good else 'not '}the product of minimal polynomials of cosines")

    def second(steps: int, sign: int) -> tuple[bool, str]:
        symmetric, cosines = again.is_hermitian(steps, sign), again.has_cosines(steps, sign, ends)
        return symmetric[0] or cosines[0], f"{symmetric[1]}; {cosines[1]}"

    return hop_case(f"Hermitian, eigenvalues 2 cos(πk/(T + {ends}))", 1, first, second, "A = Aᵀ, real eigenvalues")


CLAIMS = (
    Claim(
        id="ode-T5",
        source=Source("odernn", "Theorem 5, (40)"),
        statement="polynomial-time Boolean functions correspond to unique fixed points, with "
        "polynomially many parameters: for T reversible gates H = H_in + H_prop (H_in "
        "reconstructed) has ground energy 0, one ground state, a gap, the output as its part "
        "on the last state of the clock, and at most T + n terms; also tried: H_prop alone",
        semantics="alg",
        dominated_by="thm-clock",
        cases=(
            case("H = H_in + H_prop", "energy exactly zero", _zero_energy, _zero_energy_again, claimed="0"),
            case("H = H_in + H_prop", "unique ground state", *_unique(True), claimed="dimension 1"),
            case(
                "every circuit with n = 2, T ≤ 2",
                "unique ground state",
                *_unique(True),
                claimed="dimension 1",
                places=_small_circuits,
                box="all 600 circuits of one or two gates on two bits",
            ),
            case("H_prop alone", "unique ground state", *_unique(False), claimed="dimension 1"),
            case("H = H_in + H_prop", "a gap", _is_gap, _is_gap_again, claimed="above 0"),
            case(
                "every circuit with n = 2, T ≤ 2",
                "a gap",
                _is_gap,
                _is_gap_again,
                claimed="above 0",
                places=_small_circuits,
                box="all 600 circuits of one or two gates on two bits",
            ),
            case("H = H_in + H_prop", "projection on |T⟩", _output, _output_again, claimed="the output"),
            case(
                "H = H_in + H_prop",
                "number of terms ≤ T + n",
                _polynomial_size,
                _polynomial_size_again,
                claimed="T + n",
                places=_circuits,
                box="the three circuits",
            ),
            ground_state_case("energy exactly zero, unique ground state"),
            gap_case(),
            output_case(),
            terms_case("T independent terms; the input adds n"),
        ),
    ),
    Claim(
        id="ode-T5-terms",
        source=Source("odernn", "end of Appendix A"),
        statement="H has as many terms as the machine has steps: those "
        "of H_prop; also tried: with the n terms that fix the input; three circuits",
        semantics="comb",
        dominated_by="thm-clock",
        cases=(
            case(
                "H = H_in + H_prop",
                "number of terms",
                *_term_count(True),
                claimed="T",
                places=_circuits,
                box="the three circuits",
            ),
            case(
                "H_prop alone",
                "number of terms",
                *_term_count(False),
                claimed="T",
                places=_circuits,
                box="the three circuits",
            ),
            terms_case(),
        ),
    ),
    Claim(
        id="ode-T5-fix",
        source=Source("odernn", "Theorem 5"),
        statement="one fixed point of an evolution, i ψ' = H ψ or ψ' = −H ψ, up to "
        "a factor; also tried: counting multiples and 0, and whether it attracts",
        semantics="real",
        dominated_by="thm-clock",
        cases=(
            case("both equations", "one fixed point", _one_point, _one_point_again, claimed="one"),
            case("both equations", "one fixed point up to a factor", *_unique(True), claimed="one ray"),
            case(
                "i ψ' = H ψ",
                "the ray attracts",
                _attracts_schroedinger,
                _attracts_schroedinger_again,
                claimed="distance to 0",
            ),
            case(
                "ψ' = −H ψ",
                "the ray attracts from |x⟩⊗|0⟩",
                _attracts_heat,
                _attracts_heat_again,
                claimed="distance to 0, limit not 0",
            ),
            case(
                "ψ' = −H ψ",
                "the limit is not 0 from every start ≠ 0",
                _every_start,
                _every_start_again,
                claimed="never 0",
            ),
            ground_state_case("both equations: one fixed point up to a factor"),
        ),
    ),
    Claim(
        id="ode-T5-herm",
        source=Source("odernn", "Appendix A, (38), (39)"),
        statement="a step of the machine with its inverse process added (the overall matrix, probably (39)) is "
        "Hermitian and is said to have imaginary eigenvalues (both together leave 0 alone, whatever the lost formulas "
        "are); also tried: (38) alone, said to be unitary, and a step minus its inverse",
        semantics="alg",
        dominated_by="thm-clock",
        cases=(
            hop_case("unitary", 0, _unitary, again.is_unitary, "AᵀA = I"),
            hop_case("0 is the only eigenvalue", 0, _nilpotent, again.is_nilpotent, "nilpotent"),
            hop_case("Hermitian", 1, _hermitian, again.is_hermitian, "A = Aᵀ"),
            hop_case("purely imaginary eigenvalues", 1, _imaginary, again.is_imaginary, "imaginary"),
            hop_case("Hermitian", -1, _hermitian, again.is_hermitian, "A = Aᵀ"),
            hop_case("purely imaginary eigenvalues", -1, _imaginary, again.is_imaginary, "imaginary"),
        ),
    ),
    Claim(
        id="ode-3.1-terms",
        source=Source("odernn", "Section 3.1"),
        statement="for a system of period T the clock Hamiltonian has a fixed number of terms proportional to T: those "
        "of H_prop along one period of T steps",
        semantics="comb",
        dominated_by="thm-clock",
        cases=(terms_case("one period: number of terms"),),
    ),
    Claim(
        id="thm-clock",
        source=Source("library", "docs/derivations/clock_hamiltonian.md"),
        statement="H ≥ 0, its kernel is spanned by Σ U_l…U_1|x⟩⊗|l⟩, its smallest "
        "nonzero eigenvalue is 1 − cos(π/(2(T+1))); the part of the kernel on |T⟩ "
        "is the output, of amplitude 1/√(T+1). Asked for every circuit of T ≤ 8 gates on "
        "any number of bits, as paths, and entry by entry for three circuits. Steps forth and their "
        "inverses, summed over T steps, are Hermitian, with the real eigenvalues 2 cos(πk/(T + 2)), k = 1 … T + 1",
        semantics="alg",
        origin="library",
        cases=(
            case("H = H_in + H_prop", "kernel", *_unique(True), claimed="dimension 1"),
            case(
                "H = H_in + H_prop",
                "smallest nonzero eigenvalue",
                _is_gap,
                _is_gap_again,
                claimed="1 − cos(π/(2(T+1)))",
            ),
            case("H = H_in + H_prop", "amplitude on |T⟩", _output, _output_again, claimed="1/√(T+1)"),
            ground_state_case("kernel"),
            gap_case("smallest nonzero eigenvalue"),
            output_case("amplitude on |T⟩"),
            cosines_case(),
        ),
    ),
)
