"""What a change of the inputs becomes in a layer, term by term: sums of a few numbers, and each allowance once.

ALLOWANCE is 2⁻¹² under ``wide_allowance``, so that one that is missing, doubled or of another size is seen.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from odernn.bounds.network import lipschitz
from odernn.bounds.network.sweeps import NOTHING
from tests.odernn.bounds.unicornn_again import WIDE

LOGS = np.log([1.0, 2.0, 5.0])


def up(log: float, *sizes: float) -> float:
    return log + WIDE * (1 + abs(log) + sum(map(abs, sizes)))


def of_sum(value: float) -> float:
    """A sum of three terms."""
    log = math.log(value)
    return up(log, 3 * (1 + abs(log)))


def test_sums_norms_and_means_allow_once_for_each_of_their_terms(wide_allowance: None) -> None:
    assert lipschitz.total(LOGS) == pytest.approx(of_sum(8.0), rel=1e-12)
    assert lipschitz.euclidean(LOGS) == pytest.approx(of_sum(30.0) / 2, rel=1e-12)
    for scale in (1.0, 1 / 20):
        sums = [scale * x for x in (1.0, 3.0, 8.0)]
        means = [up(math.log(x / 3), 3 * (1 + abs(math.log(x)))) for x in sums]
        assert lipschitz.averaged(LOGS + math.log(scale)) == pytest.approx(means, rel=1e-12)
        assert lipschitz.total(LOGS + math.log(scale)) == pytest.approx(of_sum(8 * scale), rel=1e-12)


def test_a_level_adds_what_comes_from_below_to_what_it_rounds_off() -> None:
    """ω = 2 exactly and 3 as computed, ‖V‖ = 5: c_n = ω c_{n−1} + 5 c⁰_n, ε_n = 3 ε_{n−1} + 5 ε⁰_n + r_n."""
    exact, computed, error, rounded = [1.0, 4.0, 7.0], [2.0, 3.0, 11.0], [0.5, 0.25, 1.0], [1.0, 6.0, 2.0]
    below = lipschitz.Reach(np.log(exact), np.log(computed), np.log(error))
    found = below.above(math.log(2), math.log(3), math.log(5), np.log(rounded))
    wanted: list[list[float]] = [[], [], []]
    sums = [0.0, 0.0, 0.0]
    for values in zip(exact, computed, error, rounded, strict=True):
        sums = [2 * sums[0] + 5 * values[0], 3 * sums[1] + 5 * values[1], 3 * sums[2] + 5 * values[2] + values[3]]
        for one, each in zip(wanted, sums, strict=True):
            one.append(each)
    assert np.exp(found.exact) == pytest.approx(wanted[0])
    assert found.computed is not None and np.exp(found.computed) == pytest.approx(wanted[1])
    assert found.log_error is not None and np.exp(found.log_error) == pytest.approx(wanted[2])


@pytest.mark.parametrize("lacks", ["computed", "log_error", "rounding"])
def test_where_one_part_is_unknown_nothing_is_said_of_computed_runs(lacks: str) -> None:
    parts = {name: None if name == lacks else LOGS for name in ("computed", "log_error")}
    below = lipschitz.Reach(LOGS, **parts)
    above = below.above(0.0, 0.0, 0.0, None if lacks == "rounding" else LOGS)
    assert above.computed is None and above.log_error is None
    assert np.exp(above.exact) == pytest.approx([1.0, 3.0, 8.0])
    if lacks != "rounding":
        lines = {line.quantity: line for line in lipschitz.lines(below, "theorem")}
        assert lines[lipschitz.COMPUTED].log is None and lipschitz.ROUNDED not in lines and len(lines) == 4


def test_lines_are_norms_of_the_exact_and_the_computed_reach_and_twice_the_largest_error(wide_allowance: None) -> None:
    computed, error = LOGS + math.log(3), np.log([0.25, 4.0, 2.0])
    found = lipschitz.lines(lipschitz.Reach(LOGS, computed, error), "theorem", "rounding theorem")
    logs = {line.quantity: line.log for line in found}
    assert logs == {
        lipschitz.OVER_ALL: pytest.approx(of_sum(30.0) / 2),
        lipschitz.A_STEP: pytest.approx(of_sum(8.0)),
        lipschitz.OF_MEAN: pytest.approx(lipschitz.euclidean(lipschitz.averaged(LOGS))),
        lipschitz.COMPUTED: pytest.approx(of_sum(270.0) / 2),
        lipschitz.ROUNDED: pytest.approx(up(math.log(8.0))),
    }


def test_an_input_is_itself_at_one_time_and_has_no_error() -> None:
    reach = lipschitz.Reach.of_inputs(4)
    assert reach.exact == pytest.approx([0.0, NOTHING, NOTHING, NOTHING], abs=0)
    assert reach.computed is reach.exact and reach.log_error == pytest.approx([NOTHING] * 4, abs=0)
