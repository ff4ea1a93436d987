# Claims: both-2.3-memory · both-2.3-mem-vs-fast
"""both-2.3-memory, both-2.3-mem-vs-fast: how many floats one gradient needs with the inverse (Sec. 2.3)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TypeAlias

from odernn.published.sources import Source
from verification.cases.related import Small
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.kinds import Values
from verification.measure.memory import (
    Algorithm,
    TrainingSizes,
    Use,
    floats_of,
    interleaved,
    layer_parallel,
    stored,
    use,
)
from verification.parameters import Parameter, Rule, declared

CONSTANT = 10
"""What O(·) is taken to mean: y, z, p, q of every layer, as much again for the target and temporaries, and y, z of
every stored step."""
LARGEST = 2**23

Grid: TypeAlias = tuple[tuple[int, ...], ...]
"""The values of N, L, m, b and d; every combination is tried."""

# Counts of the interleaved and the stored gradient are affine or convex in every size: their quotient by the order is
# largest at a corner. That of the gradient made layer by layer is largest in between (L = 3 of 1 to 4). None of that is
# relied on: sizes in between are tried, too, and of the longest sequences, which cost most, the corners alone.
GRIDS: dict[str, tuple[Grid, ...]] = {
    "smoke": (((40, 160), (1, 3), (8, 48), (2, 6), (1, 4)),),
    "standard": (
        ((40, 160), (1, 2, 3, 4), (8, 48, 96), (2, 6), (1, 4)),
        ((640,), (1, 4), (8, 96), (2, 6), (1, 4)),
    ),
    "deep": (((40, 160, 640, 1280), (1, 2, 3, 4, 8), (8, 48, 96), (2, 6), (1, 4, 16)),),
}


def _linear(sizes: TrainingSizes) -> int:
    return sizes.claimed


def _with_steps(sizes: TrainingSizes) -> int:
    return sizes.claimed_stored


def _written(sizes: TrainingSizes) -> Parameters:
    values = (sizes.steps, sizes.layers, sizes.hidden, sizes.batch, sizes.inputs)
    return dict(zip("NLmbd", map(str, values), strict=True))


def _read(parameters: Parameters) -> TrainingSizes:
    return TrainingSizes(*(int(parameters[name]) for name in "NLmbd"))


def _fits(values: Values) -> bool:
    sizes = TrainingSizes(*(values[name] for name in "NLmbd"))
    held = sizes.claimed_stored + sizes.steps * sizes.batch * sizes.hidden + sizes.layers * sizes.hidden**2
    return bool(held <= LARGEST)


SIZES = declared(
    *(Parameter(name, Small(1, 4096)) for name in "NLmbd"), rules=(Rule(f"at most {LARGEST} floats", _fits),)
)


def _ask(algorithm: Algorithm, order: Callable[[TrainingSizes], int]) -> Callable[[Budget, int], Attempt]:
    """The peak at every point of the grids of sizes against ``CONSTANT`` times the printed order."""

    def ask(budget: Budget, seed: int) -> Attempt:
        grid = [TrainingSizes(*point) for axes in GRIDS[budget.name] for point in itertools.product(*axes)]
        counted = [(floats_of(algorithm, sizes, seed), sizes) for sizes in grid]
        counted.sort(key=lambda each: each[0] / order(each[1]), reverse=True)
        count, worst = counted[0]
        return Attempt(
            tried=f"{len(grid)} sizes (N, L, m, b, d), one gradient each, every array counted",
            evaluations=len(grid),
            log_measured=math.log(count),
            log_claimed=math.log(CONSTANT * order(worst)),
            found=f"{count:,} floats at {_shown(worst)}",
            claimed=f"{CONSTANT} · {order(worst):,}",
            candidates=tuple(_written(sizes) for count, sizes in counted[:3] if count > CONSTANT * order(sizes)),
        )

    return ask


def _shown(sizes: TrainingSizes) -> str:
    return ", ".join(f"{name} = {value}" for name, value in _written(sizes).items())


def _check(algorithm: Algorithm, order: Callable[[TrainingSizes], int], formula: str) -> Callable[[Parameters], Check]:
    def check(parameters: Parameters) -> Check:
        sizes = _read(parameters)
        used: Use = use(algorithm, sizes)
        allowed = CONSTANT * order(sizes)
        limit = f"{CONSTANT} · ({formula}) = {allowed:,}"
        return Check(
            opinions=(
                Opinion("counter", used.counted > allowed, f"{used.counted:,} live floats, {limit}"),
                Opinion("tracemalloc", used.traced > allowed, f"{used.traced:,.0f} floats allocated, {limit}"),
            ),
            words=f"{_shown(sizes)}: {used.counted:,} floats are live at once, {used.counted / order(sizes):.1f} "
            f"times {formula} = {order(sizes):,}; V y^(l−1)_n of a layer for all n alone is N b m = "
            f"{sizes.steps * sizes.batch * sizes.hidden:,}, which no constant times {formula} exceeds for all m and N",
            log_measured=math.log(used.counted),
            log_claimed=math.log(allowed),
        )

    return check


def _case(domain: str, algorithm: Algorithm, order: Callable[[TrainingSizes], int], formula: str) -> Case:
    return Case(
        domain,
        f"live floats against {formula}",
        _ask(algorithm, order),
        SIZES.guards(_check(algorithm, order, formula)),
    )


_INVERSE = "N b d + L b m"

CLAIMS = (
    Claim(
        id="both-2.3-memory",
        source=Source("icml", "Sec. 2.3"),
        statement="one gradient, of the loss at step N and without counting weights, takes O(N b d "
        "+ L b m) floats with the inverse, against O(N b d + L b m N) with stored states; of the "
        "sequences, u alone is kept. Asked with the constant 10 over a grid of sizes, both ours",
        semantics="comb",
        cases=(
            _case("all layers stepped back together", interleaved, _linear, _INVERSE),
            _case("stored states", stored, _with_steps, "N b d + L b m N"),
        ),
    ),
    Claim(
        id="both-2.3-mem-vs-fast",
        source=Source("icml", "Sec. 2.3, Sec. 4, App. B"),
        statement="a question of this library, no sentence of the paper: the implementation "
        "that computes V^l y^(l−1)_n in parallel over time takes O(N b d + L b m) floats, too",
        semantics="comb",
        cases=(_case("layer after layer, in parallel over time", layer_parallel, _linear, _INVERSE),),
    ),
)
