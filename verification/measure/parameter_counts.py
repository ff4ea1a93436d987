"""Parameters of the recurrent networks of Helfrich et al. 2018, counted by formula and once more tensor by tensor.

    scoRNN            n(n−1)/2 + n m + p n   + n (b)   + p (c)
    RNN               n² + n m + p n         + n       + p
    LSTM              4(n² + n m) + p n      + 4n      + p
    restricted uRNN   7n + 2nm + 2np         + n       + p    + 2n (h_0)        a complex number counts twice
    full uRNN         n² + 2nm + 2np         + n       + p    + 2n              n² real dimensions of the unitary group

m inputs, n hidden units, p outputs. A *convention* says which of hidden bias, readout bias and initial state are
counted. The full count is that of the table: without an initial state for the first three, with it for the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from odernn.published.networks import agrees, agrees_to_tens

MODELS = ("scoRNN", "RNN", "LSTM", "restricted uRNN", "full uRNN")
OPTIONAL = ("hidden bias", "readout bias", "initial state")
COMPLEX = ("restricted uRNN", "full uRNN")


def full_convention(model: str) -> frozenset[str]:
    """What the table above counts."""
    return frozenset(OPTIONAL if model in COMPLEX else OPTIONAL[:2])


def conventions() -> list[frozenset[str]]:
    """All subsets of ``OPTIONAL``."""
    return [frozenset(chosen) for size in range(4) for chosen in itertools.combinations(OPTIONAL, size)]


def by_formula(model: str, n: int, m: int, p: int, counted: Iterable[str]) -> int:
    """The formula; KeyError for a model that is not in ``MODELS``."""
    weights = {
        "scoRNN": n * (n - 1) // 2 + n * m + p * n,
        "RNN": n * n + n * m + p * n,
        "LSTM": 4 * (n * n + n * m) + p * n,
        "restricted uRNN": 7 * n + 2 * n * m + 2 * n * p,
        "full uRNN": n * n + 2 * n * m + 2 * n * p,
    }[model]
    optional = {
        "hidden bias": 4 * n if model == "LSTM" else n,
        "readout bias": p,
        "initial state": 2 * n if model in (*COMPLEX, "LSTM") else n,
    }
    return weights + sum(optional[name] for name in counted)


def shapes(model: str, n: int, m: int, p: int) -> list[tuple[str, tuple[int, ...]]]:
    """Every tensor of the network as (part, shape); the real and the imaginary part of a complex one are two."""
    both = 2 if model in COMPLEX else 1
    tensors: list[tuple[str, tuple[int, ...]]] = []
    if model == "scoRNN":
        tensors += [("weights", (length,)) for length in range(1, n)]  # the rows of the upper triangle
    elif model == "LSTM":
        tensors += [("weights", (n, n)), ("weights", (n, m)), ("hidden bias", (n,))] * 4
        tensors += [("initial state", (n,))] * 2
    elif model == "RNN":
        tensors += [("weights", (n, n))]
    elif model == "restricted uRNN":
        tensors += [("weights", (n,))] * 3 + [("weights", (n,))] * 4  # three diagonals, two complex vectors
    else:
        tensors += [("weights", (n, n))]
    if model != "LSTM":
        tensors += [("weights", (n, m))] * both + [("hidden bias", (n,))] + [("initial state", (n,))] * both
    return [*tensors, *[("weights", (p, n))] * both, ("readout bias", (p,))]


def by_tensors(model: str, n: int, m: int, p: int, counted: Iterable[str]) -> int:
    """The sum of the sizes of ``shapes``."""
    kept = {"weights", *counted}
    return sum(math.prod(shape) for part, shape in shapes(model, n, m, p) if part in kept)


def reads_as(count: int, printed: str) -> str:
    """How a count reads as printed: "rounded", "cut off", "the last 0 holding its place", or "" if it does not."""
    if agrees(count, printed):
        digits = printed.removesuffix("k").replace(",", "")
        twice = 2 * count * 10 ** len(digits.partition(".")[2])
        return "rounded" if twice < 1000 * (2 * int(digits.replace(".", "")) + 1) else "cut off"
    return f"the last 0 of {printed} holding its place" if agrees_to_tens(count, printed) else ""
