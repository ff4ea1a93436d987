"""What docs/trained.md says of which rows of its record: promises, margins and sizes, in words. Data, no code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

OWN = "own eq."
"""By the cell's own equation."""


@dataclass(frozen=True)
class Promise:
    """A statement in the words of the tables: which rows of the record are about it.

    ends  of the keys: "quantity | statement";  short  its quantity in a table
    """

    family: str
    ends: tuple[str, ...]
    words: str
    short: str
    by: str
    is_published: bool

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(f"{self.family} | {end}" for end in self.ends)


def _all_promises() -> Iterator[Promise]:
    states, gradients, steps = "states", "parameter gradients", "step Jacobians"
    of_unit, both = "states of a unit", "abs(yₙ, zₙ)"
    yield Promise(states, ("abs y | icml-C.1", "abs z | icml-C.1"), of_unit, both, "icml-C.1", True)
    yield Promise(
        states,
        ("norm y | sam-D.1-a", "norm z | sam-D.1-a"),
        "norm of states, α > 0",
        "‖yₙ‖, ‖zₙ‖",
        "sam-D.1-a",
        True,
    )
    yield Promise(states, ("norm y | sam-D.1-b",), "norm of states, α = 0", "‖yₙ‖", "sam-D.1-b", True)
    yield Promise(states, ("abs y | thm-S", "abs z | thm-S"), f"{of_unit}, at every n", both, "thm-S", False)
    yield Promise(
        states,
        ("largest abs y | thm-S", "largest abs z | thm-S"),
        "states of a unit, all n ≤ N",
        "max abs(yₙ, zₙ)",
        "thm-S",
        False,
    )
    yield Promise(
        states,
        ("abs y | own equation", "abs z | own equation"),
        f"{of_unit}, at every n",
        both,
        OWN,
        False,
    )
    ends = ("largest abs y | own equation", "largest abs z | own equation")
    yield Promise(states, ends, f"{of_unit}, all n ≤ N", f"max {both}", OWN, False)
    yield Promise(states, ("norm h | own equation",), "norm of states, at every n", "‖hₙ‖", OWN, False)
    ends = ("largest norm h | own equation",)
    yield Promise(states, ends, "norm of states, all n ≤ N", "max ‖hₙ‖", OWN, False)
    for statement in ("sam-3.2", "sam-D.2", "icml-3.1", "icml-C.2"):
        yield Promise(gradients, (f"abs dE/dθ | {statement}",), "gradients of weights", "abs(dE/dθ)", statement, True)
    yield Promise(gradients, ("abs dE/dθ | thm-G",), "gradients of weights", "abs(dE/dθ)", "thm-G", False)
    yield Promise(
        gradients,
        ("abs dE/dθ, task | thm-G",),
        "gradients of weights, the task's loss",
        "abs(dE/dθ), task",
        "thm-G",
        False,
    )
    yield Promise(
        "state gradients", ("norm dE/dX_n | thm-H-grad",), "gradients of states", "‖∂E/∂hₙ‖", "thm-H-grad", False
    )
    for statement in ("icml-(25)", "both-51-53"):
        yield Promise(steps, (f"‖dXₙ/dXₙ₋₁‖∞ | {statement}",), "Jacobian of a step", "‖dXₙ/dXₙ₋₁‖∞", statement, True)
    for statement in ("icml-(27)", "sam-54"):
        yield Promise(steps, (f"‖dXₙ/dX₀‖∞ | {statement}",), "Jacobian of n steps", "‖dXₙ/dX₀‖∞", statement, True)
    yield Promise(
        steps, ("‖dXₙ/dX₀‖ₐ of a neuron | thm-J",), "Jacobian of n steps in a form", "‖dXₙ/dX₀‖ₐ", "thm-J", False
    )
    yield Promise(steps, ("σ_max | own equation",), "Jacobian of a step", "σmax(Jₙ)", OWN, False)
    yield Promise(steps, ("norm M^n | own equation",), "n steps without input", "‖Mⁿ‖₂", OWN, False)
    for statement in ("icml-(27)", "sam-54"):
        words = "Jacobian of n steps through layers"
        yield Promise("through layers", (f"‖dXᴸₙ/dXˡ₁‖∞ | {statement}",), words, "‖dXᴸₙ/dXˡ₁‖∞", statement, True)
    for dtype in ("float32", "bfloat16", "float16"):
        words = f"stepping back in {dtype}"
        yield Promise("inverse", (f"bound in {dtype} | thm-F (a)",), words, f"inverse, {dtype}", "thm-F (a)", False)
    matrix = "orthogonality"
    yield Promise(matrix, ("‖W*W − I‖_F | thm-O-float (a)",), "W is orthogonal", "‖WᵀW − I‖F", "thm-O-float", False)
    yield Promise(matrix, ("κ(I + A) | thm-SC-norm",), "W can be computed", "κ(I + A)", "thm-SC-norm", False)
    yield Promise(
        matrix, ("‖vᵀ ∂h_T/∂h_t‖/‖v‖ | thm-H-grad",), "gradients of states, any v", "‖vᵀ∂h/∂h‖/‖v‖", "thm-H-grad", False
    )


PROMISES = tuple(_all_promises())
MARGINS = {
    "margins | 4 − h²(α + max(w, 0)) | ": "4 − h²(α + w⁺)",
    "margins | w + α | ": "w + α",
    "margins | 4 − h²α | ": "4 − h²α",
    "margins | 4 − (dt²γ ± 2dtε) | ": "4 − dt²γ − 2dtε",
    "margins | 4 − dt²A | ": "4 − dt²A",
    "margins | A | ": "A of LinOSS",
    "margins | 1 − max|a_ij| | sco-T3.1": "1 − max abs(aᵢⱼ)",
    "margins | 1 − eps κ(I + A) | thm-O-float (b)": "1 − eps κ(I + A)",
}
SIZES = {
    "states | largest abs y | ": "max abs(y)",
    "states | largest abs z | ": "max abs(z)",
    "states | largest abs h | ": "max abs(h)",
    "states | largest abs c | ": "max abs(c)",
    "state gradients | largest norm dE/dX_n | ": "max ‖∂E/∂Xₙ‖",
    "state gradients | first over last | ": "its first/last",
    "step Jacobians | σ_max | ": "σmax(Jₙ)",
    "inverse | error in float32 | ": "inverse, float32",
    "inverse | error in bfloat16 | ": "inverse, bfloat16",
    "inverse | error in float16 | ": "inverse, float16",
    "orthogonality | ‖W*W − I‖_F | sco-5.5.1-A": "‖WᵀW − I‖F",
    "orthogonality | ‖W*W − I‖_F | ": "‖WᵀW − I‖F",
    "orthogonality | least ‖vᵀ ∂h_T/∂h_t‖/‖v‖ | ": "least ‖vᵀ∂h/∂h‖/‖v‖",
}
GRADIENT = "parameter gradients | abs dE/d"
MOVED = (
    (
        "the largest state (of UnICORNN the one nearest to icml-C.1)",
        "state",
        ("states | largest abs y | ", "states | largest abs h | ", "states | abs y | icml-C.1"),
    ),
    ("the largest ‖∂E/∂Xₙ‖", "‖∂E/∂Xₙ‖", ("state gradients | largest norm dE/dX_n | ",)),
    ("‖∂E/∂X₁‖/‖∂E/∂X_N‖", "its first/last", ("state gradients | first over last | ",)),
    ("the error of the inverse in float32", "inverse", ("inverse | error in float32 | ",)),
    (
        "‖WᵀW − I‖F",
        "‖WᵀW − I‖F",
        ("orthogonality | ‖W*W − I‖_F | sco-5.5.1-A", "orthogonality | ‖W*W − I‖_F | "),
    ),
)
"""What the head says of training: in words, in the head of a table, by the first of the keys that a network has."""

DRAWN = (
    ("|y|, icml-C.1", ("states | abs y | icml-C.1", "states | abs z | icml-C.1"), "tab:blue"),
    ("max |y|, thm-S", ("states | largest abs y | thm-S", "states | largest abs z | thm-S"), "tab:cyan"),
    ("|dE/dθ|, icml-3.1", ("parameter gradients | abs dE/dθ | icml-3.1",), "tab:red"),
    ("|dE/dθ|, thm-G", ("parameter gradients | abs dE/dθ | thm-G",), "tab:orange"),
    ("step, icml-(25)", ("step Jacobians | ‖dXₙ/dXₙ₋₁‖∞ | icml-(25)",), "tab:green"),
    ("through layers, icml-(27)", ("through layers | ‖dXᴸₙ/dXˡ₁‖∞ | icml-(27)",), "black"),
    ("inverse float32, thm-F", ("inverse | bound in float32 | thm-F (a)",), "tab:purple"),
    (
        "max |y|, own equation",
        ("states | largest abs y | own equation", "states | largest abs z | own equation"),
        "tab:pink",
    ),
    ("max ‖h‖, own equation", ("states | largest norm h | own equation",), "tab:brown"),
    ("‖WᵀW − I‖, thm-O-float", ("orthogonality | ‖W*W − I‖_F | thm-O-float (a)",), "tab:olive"),
)
"""Of the picture: in words, keys of which the least slack is drawn, colour."""
