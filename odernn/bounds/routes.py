"""Routes through the layers of a stack and, with them, the sums over all lattice paths of time steps and climbs.

A route from layer l to layer L climbs an edge at a time; an edge goes from a lower level to a higher one, from l − 1
to l or, with residual stacking, from l − S − 1 to l. A route with p hops and j time steps in any order is C(j + p, p)
paths. Theorem names are those of docs/derivations/multilayer_paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from odernn.bounds.numbers import FLOATS, Numbers


def hop_number(num_layers: int, skip: int | None = None) -> int:
    """p(L, S) = ⌊(L−1)/(S+1)⌋ + ((L−1) mod (S+1)), the fewest hops from layer 1 to layer L; L − 1 without skips."""
    if skip is None:
        return num_layers - 1
    whole, rest = divmod(num_layers - 1, skip + 1)
    return whole + rest


def route_counts(num_layers: int, skip: int | None = None) -> dict[int, int]:
    """How many routes from layer 1 to layer L have p hops, for each p: C(p, s) with s skips, L − 1 = p + S s."""
    if skip is None:
        return {num_layers - 1: 1}
    skips = range((num_layers - 1) // (skip + 1) + 1)
    hops = [(num_layers - 1 - skip * s, s) for s in skips]
    return {p: math.comb(p, s) for p, s in reversed(hops)}


def log_route_sums(
    edges: Sequence[Mapping[int, Any]], *, source: int, target: int, numbers: Numbers = FLOATS
) -> dict[int, Any]:
    """log of Σ over routes with p hops of the product of their edges' weights, for every p that occurs.

    ``edges[q − 1]`` maps each level that layer q sees to the logarithm of that edge's weight; source and target are
    layers, 1 ≤ l ≤ L. Empty if no route leads from source to target.
    """
    sums: dict[int, dict[int, Any]] = {source: {0: numbers.exact(0)}}
    for layer in range(source + 1, target + 1):
        by_hops: dict[int, Any] = {}
        for below, log_weight in edges[layer - 1].items():
            for hops, log_sum in sums.get(below, {}).items():
                term = log_sum + log_weight
                by_hops[hops + 1] = numbers.log_add_exp(by_hops[hops + 1], term) if hops + 1 in by_hops else term
        sums[layer] = by_hops
    return sums[target]


def log_path_sum(*, hops: int, rate: Any, steps: int, numbers: Numbers = FLOATS) -> Any:
    """log Σ_{j=0..N−1} C(j + p, p) e^{jω}, p = ``hops`` ≥ 0, ω = ``rate`` ≥ 0, N = ``steps`` ≥ 1.   thm-G

    By Horner's rule from the last term, whose logarithm is taken out: nothing overflows, and all terms are positive, so
    that the relative error of the sum in floats is at most about 4N units of roundoff.
    """
    decay = numbers.exp(-rate)
    total = numbers.exact(1)
    for j in range(1, steps):
        total = 1 + total * decay * j / (j + hops)
    return numbers.log(total) + (steps - 1) * rate + log_paths(hops=hops, steps=steps - 1, numbers=numbers)


def log_paths(*, hops: int, steps: int, numbers: Numbers = FLOATS) -> Any:
    """log C(n + p, p): the number of orders of n = ``steps`` time steps and p = ``hops`` climbs.   thm-ML"""
    total = numbers.exact(0)
    for i in range(1, hops + 1):  # the integer itself may exceed the largest float
        total = total + numbers.log(numbers.exact(steps + i)) - numbers.log(numbers.exact(i))
    return total


def log_path_sum_limit(*, hops: int, rate: Any, steps: int, numbers: Numbers = FLOATS) -> Any:
    """log of ((N + p)^{p+1}/(p + 1)!) e^{Nω} ≥ the sum of ``log_path_sum``: its growth in closed form.   thm-G"""
    total = (hops + 1) * numbers.log(numbers.exact(steps + hops)) + steps * rate
    for i in range(2, hops + 2):
        total = total - numbers.log(numbers.exact(i))
    return total


def log_path_sums(*, hops: int, rates: np.ndarray, steps: int) -> np.ndarray:
    """``log_path_sum`` at several rates at once, float64: every term in logarithms."""
    j = np.arange(steps, dtype=float)
    log_count = np.zeros(steps)
    for i in range(1, hops + 1):
        log_count += np.log1p(j / i)
    terms = log_count + j * rates[..., None]
    largest = terms[..., -1]
    log_sums: np.ndarray = largest + np.log(np.exp(terms - largest[..., None]).sum(axis=-1))
    return log_sums
