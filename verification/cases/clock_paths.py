"""Statements about the clock Hamiltonians of all circuits of up to eight gates, on any number of bits.

ΣU_l…U_1 ⊗ |l⟩⟨l| turns the gates into identities, so that only paths are left (docs/derivations/clock_hamiltonian.md);
what a circuit computes, U_T…U_1 x, is what it is by definition.
"""

from __future__ import annotations

from collections.abc import Callable

from verification.cases.decision import at, decided
from verification.certify import clock_paths as paths
from verification.certify.second import clock_paths as again
from verification.claim import Case, Decided, Parameters
from verification.exact_text import number

LONGEST = 8


def path_case(
    domain: str, quantity: str, claimed: str, first: Callable[[int], Decided], second: Callable[[int], Decided]
) -> Case:
    """A statement about every T up to ``LONGEST``."""

    def steps(parameters: Parameters) -> int:
        return int(number(parameters, "T"))

    return decided(
        f"every circuit with T ≤ {LONGEST}, {domain}",
        quantity,
        at(*({"T": str(T)} for T in range(1, LONGEST + 1))),
        lambda p: first(steps(p)),
        lambda p: second(steps(p)),
        box=f"all circuits with T ≤ {LONGEST} gates, any number of bits: ΣU_l…U_1 ⊗ |l⟩⟨l| turns the gates into "
        "identities",
        claimed=claimed,
        names=("flint", "fractions"),
    )


FULL = "H = H_in + H_prop"


def ground_state_case(quantity: str = "unique ground state") -> Case:
    return path_case(
        FULL, quantity, "dimension 1", paths.one_ground_state, lambda T: Decided(*again.one_ground_state(T))
    )


def gap_case(quantity: str = "a gap", stretch: int = 1) -> Case:
    """1 − cos(π/(2(T+1))), times ``stretch``: another one is a planted falsehood."""
    return path_case(
        FULL,
        quantity,
        "1 − cos(π/(2(T+1)))",
        lambda T: paths.smallest_is_the_gap(T, stretch),
        lambda T: Decided(*again.smallest_is(T, stretch)),
    )


def output_case(quantity: str = "projection on |T⟩", share: int = 1) -> Case:
    return path_case(
        FULL,
        quantity,
        "U_T…U_1 x, amplitude 1/√(T+1)",
        lambda T: paths.part_on_the_end(T, share),
        lambda T: Decided(*again.part_on_the_end(T, share)),
    )


def terms_case(quantity: str = "number of terms", more: int = 0) -> Case:
    return path_case(
        "H_prop alone",
        quantity,
        "T",
        lambda T: paths.terms_are_independent(T, more),
        lambda T: Decided(*again.independent_terms(T, more)),
    )
