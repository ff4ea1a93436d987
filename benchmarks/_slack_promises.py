"""What docs/trained.md says of which rows of its record: promises, margins and sizes, in words. Data, no code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

OWN, EQUATION = "own eq.", "from the cell's own equation"
"""By the cell's own equation: in tables and in sentences."""

PAPERS = (
    "Names: icml is UnICORNN by Rusch and Mishra, ICML 2021, with its supplement; sam their report of it, SAM 2021-10; "
    "both, what both print; thm, the theorems of this library. A bound's slack is log₁₀(bound/measured), in decades: 0 "
    "where it is reached, 1 where it is ten times too large, below 0 where it is exceeded."
)


HEADLINES = {
    ("icml-C.1", "abs(yₙ, zₙ)"),
    ("icml-3.1", "abs(dE/dθ)"),
    ("icml-(25)", "‖dXₙ/dXₙ₋₁‖∞"),
    ("icml-(27)", "‖dX_N/dX₀‖∞"),
    ("icml-(27)", "‖dXᴸₙ/dXˡ₁‖∞"),
    ("thm-S", "max abs(yₙ, zₙ)"),
    ("thm-G", "abs(dE/dθ)"),
    ("thm-J", "‖dX_N/dX₀‖ₐ"),
    ("thm-F (a)", "inverse, float32"),
    ("thm-O-float", "‖WᵀW − I‖F"),
}
"""By whom, and the quantity in a table."""


@dataclass(frozen=True)
class Promise:
    """A statement in the words of the tables: which rows of the record are about it.

    ends  of the keys: "quantity | statement";  short  its quantity in a table
    step  where its slack is that of one step, in words: it is not ranked;  dtype  above whose largest it is vacuous
    """

    family: str
    ends: tuple[str, ...]
    words: str
    short: str
    by: str
    is_published: bool
    step: str = ""
    dtype: str = "float32"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(f"{self.family} | {end}" for end in self.ends)

    @property
    def is_headline(self) -> bool:
        """Whether the first sentences have its median."""
        return (self.by, self.short) in HEADLINES


def _of_states() -> Iterator[Promise]:
    states, of_unit, both = "states", "the states of a unit", "abs(yₙ, zₙ)"
    yield Promise(states, ("abs y | icml-C.1", "abs z | icml-C.1"), of_unit, both, "icml-C.1", True)
    yield Promise(
        states,
        ("norm y | sam-D.1-a", "norm z | sam-D.1-a"),
        "the norm of states, α > 0",
        "‖yₙ‖, ‖zₙ‖",
        "sam-D.1-a",
        True,
    )
    yield Promise(states, ("norm y | sam-D.1-b",), "the norm of states, α = 0", "‖yₙ‖", "sam-D.1-b", True)
    yield Promise(states, ("abs y | thm-S", "abs z | thm-S"), f"{of_unit}, at every n", both, "thm-S", False)
    yield Promise(
        states,
        ("largest abs y | thm-S", "largest abs z | thm-S"),
        "the states of a unit, all n ≤ N",
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
        "LinOSS: its first kick",
    )
    ends = ("largest abs y | own equation", "largest abs z | own equation")
    yield Promise(states, ends, f"{of_unit}, all n ≤ N", f"max {both}", OWN, False)
    yield Promise(
        states, ("norm h | own equation",), "the norm of states, at every n", "‖hₙ‖", OWN, False, "mostly n = 1"
    )
    ends = ("largest norm h | own equation",)
    yield Promise(states, ends, "the norm of states, all n ≤ N", "max ‖hₙ‖", OWN, False)


def _of_gradients() -> Iterator[Promise]:
    gradients = "parameter gradients"
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
    yield from _of_the_chain_rule()
    yield Promise(
        "state gradients",
        ("norm dE/dX_n | thm-H-grad",),
        "gradients of states",
        "‖∂E/∂hₙ‖",
        "thm-H-grad",
        False,
        "n = N",
    )


def _of_the_chain_rule() -> Iterator[Promise]:
    """By quantity of ``_slack_chain``: in words, in a table, and by whom."""
    for quantity, words, short, statements in (
        ("abs d⁺X_k/dθ", "the derivative of one step by weights", "abs(∂⁺Xₖ/∂θ)", ("icml-(39)", "sam-66")),
        ("abs dE_n/dX_n", "the derivative of an error by its states", "abs(∂Eₙ/∂Xₙ)", ("icml-(40)", "sam-67")),
        ("abs dE_k/dθ", "a summand of a gradient of weights", "abs(∂Eₙₖ/∂θ)", ("icml-(42)", "sam-69")),
        ("abs dE_n/dθ", "gradients of weights, the error of one n", "abs(∂Eₙ/∂θ)", ("icml-(43)", "sam-70")),
    ):
        for statement in statements:
            yield Promise("chain rule", (f"{quantity} | {statement}",), words, short, statement, True)


def _of_jacobians() -> Iterator[Promise]:
    steps = "step Jacobians"
    for statement in ("icml-(25)", "both-51-53"):
        yield Promise(
            steps, (f"‖dXₙ/dXₙ₋₁‖∞ | {statement}",), "the Jacobian of a step", "‖dXₙ/dXₙ₋₁‖∞", statement, True
        )
    whole = "the Jacobian of all N steps within one layer"
    words, ends, at_once = (
        "the Jacobian of n steps within one layer",
        ("‖dXₙ/dX₀‖∞ | ", "‖dX_N/dX₀‖∞, at N | "),
        "n = 1",
    )
    for statement in ("icml-(27)", "sam-54"):
        yield Promise(steps, (f"{ends[0]}{statement}",), words, "‖dXₙ/dX₀‖∞", statement, True, at_once)
    for statement in ("icml-(27)", "sam-54"):
        yield Promise(steps, (f"{ends[1]}{statement}",), whole, "‖dX_N/dX₀‖∞", statement, True)
    ends = ("‖dXₙ/dX₀‖ₐ of a neuron | thm-J", "‖dX_N/dX₀‖ₐ of a neuron, at N | thm-J")
    yield Promise(steps, ends[:1], f"{words}, in its best form", "‖dXₙ/dX₀‖ₐ", "thm-J", False, at_once)
    yield Promise(steps, ends[1:], f"{whole}, in its best form", "‖dX_N/dX₀‖ₐ", "thm-J", False)
    reached = "reached where all units are on"
    yield Promise(steps, ("σ_max | own equation",), "the Jacobian of a step", "σmax(Jₙ)", OWN, False, reached)
    yield Promise(steps, ("norm M^n | own equation",), "powers of the step without input", "‖Mⁿ‖₂", OWN, False)
    for statement in ("icml-(27)", "sam-54"):
        words = "the Jacobian of n steps from a lower layer to the last"
        yield Promise("through layers", (f"‖dXᴸₙ/dXˡ₁‖∞ | {statement}",), words, "‖dXᴸₙ/dXˡ₁‖∞", statement, True)


def _of_inverses_and_matrices() -> Iterator[Promise]:
    for dtype in ("float32", "bfloat16", "float16"):
        words = f"states rebuilt by stepping back in {dtype}"
        key, short = f"bound in {dtype} | thm-F (a)", f"inverse, {dtype}"
        yield Promise("inverse", (key,), words, short, "thm-F (a)", False, dtype=dtype)
    matrix = "orthogonality"
    words = "‖WᵀW − I‖ of scoRNN's recurrent matrix"
    yield Promise(matrix, ("‖W*W − I‖_F | sco-5.5.1-A",), words, "‖WᵀW − I‖F", "sco-5.5.1-A", True)
    yield Promise(matrix, ("‖W*W − I‖_F | thm-O-float (a)",), words, "‖WᵀW − I‖F", "thm-O-float", False)
    words = "the condition of I + A, from which scoRNN makes W"
    yield Promise(matrix, ("κ(I + A) | thm-SC-norm",), words, "κ(I + A)", "thm-SC-norm", False)
    words, short, back = "gradients of states, random v", "‖vᵀ∂h/∂h‖/‖v‖", "one step back"
    yield Promise(matrix, ("‖vᵀ ∂h_T/∂h_t‖/‖v‖ | thm-H-grad",), words, short, "thm-H-grad", False, back)


PROMISES = (*_of_states(), *_of_gradients(), *_of_jacobians(), *_of_inverses_and_matrices())
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
    "orthogonality | ‖W*W − I‖_F | ": "‖WᵀW − I‖F",
    "orthogonality | least ‖vᵀ ∂h_T/∂h_t‖/‖v‖ | ": "least ‖vᵀ∂h/∂h‖/‖v‖",
}
GRADIENT = "parameter gradients | abs dE/d"
MOVED = (
    (
        "the largest state",
        "state",
        ("states | largest abs y | ", "states | largest abs h | "),
    ),
    ("the largest ‖∂E/∂Xₙ‖", "‖∂E/∂Xₙ‖", ("state gradients | largest norm dE/dX_n | ",)),
    ("‖∂E/∂X₁‖/‖∂E/∂X_N‖", "its first/last", ("state gradients | first over last | ",)),
    ("the error of the inverse in float32", "inverse", ("inverse | error in float32 | ",)),
    (
        "‖WᵀW − I‖F",
        "‖WᵀW − I‖F",
        ("orthogonality | ‖W*W − I‖_F | ",),
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

WHAT_MOVES = "What training moves, cell by cell: last over first weights, median over runs."
MADE = (
    "Made by `python benchmarks/trained_slack.py --page` from `benchmarks/results/` alone (`trained_slack.json`; of "
    "`trained_certified.json`, `nearness.json` and `slack_by_hand.json` what they found of the same runs) and the "
    "verdicts of the ledger; without `--page` the same script trains and measures what its record lacks."
)
PICTURE_TEXT = (
    "Slack in decades (linear below 1) against updates (linear below 1): a line is the least over seeds and cells, a "
    "band their range, 0 is where a bound is exceeded. Names of statements are those of the ledger."
)
HOW = (
    "Slack is the least over layers, units, steps n and the first sequences of the validation split; in tables "
    'the worst seed. "First → last" are the untrained and the last measured weights; "least, after" is the least '
    "slack on the way, and the update; bound and measured stand where their slack is least, and max abs(y), max "
    "abs(z) are the largest of all. Medians are over runs: a task with three seeds counts three times. What is "
    "not over all n: through layers n = 2, 4, …, 24, and N with eight neurons, a lower bound of the norm; σmax at "
    "five steps of the first sequence; ‖vᵀ∂h/∂h‖ with random v. All runs are in float64 with the weights as they "
    "are; the inverse steps forward and back in the dtype named and takes the largest error of all rebuilt "
    "states; ‖WᵀW − I‖ is of W in its own dtype. Where the papers suppose a small Δt, dt < 1 is asked. A bound is "
    "vacuous above the largest float32, of the inverse above that of its dtype.",
    'E is (1/N) Σ ½‖yₙ‖², as in the papers, or where it says "task" the task\'s loss of one sequence. By "own eq." '
    "are bounds of cells that no paper here bounds, from their own equation: the impulse response of coRNN summed, the "
    "form that a step of LinOSS keeps, norms of scoRNN and expRNN step by step; the formulas are in "
    "`verification/measure/own_equations.py`, that of ‖Mⁿ‖ in `benchmarks/_slack_equations.py`. "
    "Bounds at every n are mostly nearest in the first steps, ‖dXₙ/dX₀‖ at n = 1; those for all n ≤ N "
    "and at N say what is left at the end. Exceeded means in floats; certified refutations are in the "
    "[ledger](ledger/README.md), and how near to practice they are in [nearness](nearness.md). Nothing was searched: a "
    "bound that holds here does so for these weights and sequences. Where a first input is 0, units with modReLU are "
    "silent and ‖∂E/∂X₁‖ is 0.",
    "With Eₙ = ½‖yₙ‖², the target 0: abs(∂Eₙ/∂Xₙ) is abs(yₙ) of the last layer, at every n (icml-(40), sam-67); "
    "abs(∂⁺Xₖ/∂θ) is of one step alone, for every k, layer and θ, V of the first layer too (icml-(39), sam-66); "
    "abs(∂Eₙₖ/∂θ) is a summand ∂Eₙ/∂Xₙ · dXₙ/dXₖ · ∂⁺Xₖ/∂θ of ∂Eₙ/∂θ, for every k and layer (icml-(42), sam-69), "
    "and abs(∂Eₙ/∂θ) is of their sum (icml-(43), sam-70), both for n = N, N/2, N/4, …, 1. icml-(41) and sam-68 "
    "have no row: they bound a summand by the product of three norms that are measured themselves, so that there "
    "is no number to be loose. ‖∂E/∂Xₙ‖ of UnICORNN along time is bounded by no equation: icml-(40) and sam-67 "
    "are of Eₙ by its own Xₙ. scoRNN's authors print that WᵀW = I up to the machine precision: sco-5.5.1-A is 5 "
    "√n eps/sin(π/2n), for abs(aᵢⱼ) ≤ 1, and the 5 is how the ledger reads it; it follows from n, float32 and 1 − "
    "max abs(aᵢⱼ).",
    "The small networks of six tasks share one setting and are not tuned; on digits by rows and spoken digits rate and "
    "one option of each cell are those that [the comparison of cells](cells.md) chose on its validation split for 64 "
    "units, here with 32. The large ones are those of [training runs](training_runs.md), as far as they came: a row "
    'says the epochs done of those planned. "Without input" is the loss of the task\'s best answer that sees no input, '
    "or the share of the most frequent class, row by row, on the validation split.",
)
BY_HAND = (
    "`python benchmarks/slack_by_hand.py` computes ten of these numbers again from archived weights, with numpy alone, "
    "drawn from {computed:,} of {archived:,} archived numbers ({share:.0%}): states, step Jacobians, gradients of the "
    "task's loss, factors of the chain rule, orthogonality of W, thm-S, the inverse in float32, margins. All "
    "{computed:,} were computed once: the largest difference is {largest} decades; of what is a rounding error itself, "
    "of other sums, {rounding}."
)
"""Of results/slack_by_hand.json."""
